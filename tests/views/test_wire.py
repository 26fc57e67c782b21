"""Requests put together again from events, checked against what the server really got."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab.agent import Agent
from agentlab.events import Event
from agentlab.models import default_model
from agentlab.prices import prices
from agentlab.providers import connect
from agentlab.toolbox import calculator
from agentlab.transcript import load
from agentlab.views.requests import tokens_by_kind
from agentlab.views.wire import Wire

TURN = st.fixed_dictionaries(
    {
        "thinking": st.text("abc ", max_size=20),
        "text": st.text("abc ", max_size=20),
        "calls": st.lists(st.sampled_from([("Read", {"file_path": "a"}), ("LS", {})]), max_size=3),
        "together": st.booleans(),
        "cache_read_tokens": st.integers(0, 500),
    }
)


def sent(wire, index):
    """All messages of a request."""
    request = wire.requests[index]
    return [wire.message(n) for n in [*request.before[: request.sent], *request.new]]


def bodies_since(endpoint, mark):
    log = endpoint.simulator.log
    return [log.body(entry.number) for entry in log.since(mark)]


async def collect(agent, *tasks):
    return [event for task in tasks for event in [e async for e in agent.run(task)]]


async def test_the_messages_are_those_that_the_server_got(tmp_path):
    endpoint, path = connect(speed=0), tmp_path / "run.jsonl"
    mark = endpoint.simulator.log.mark()
    agent = Agent(
        tools=[calculator], endpoint=endpoint, system="Be brief.", transcript=path, autopilot=True,
        cache=False,  # marks for the prompt cache are in no event
    )  # fmt: skip
    events = await collect(agent, "What is 12 * 7?", "And what is 12 * 8?")
    bodies = bodies_since(endpoint, mark)
    for wire in (Wire(events), Wire(load(path).events)):
        assert len(wire.requests) == len(bodies) >= 4
        for index, body in enumerate(bodies):
            prompt = wire.records[wire.requests[index].prompt].data
            assert sent(wire, index) == body["messages"]
            assert (prompt["system"], prompt["tools"]) == (body["system"], body["tools"])


async def test_a_resumed_conversation_goes_on_where_its_transcript_ends(tmp_path):
    endpoint, path = connect(speed=0), tmp_path / "run.jsonl"
    await collect(Agent(tools=[calculator], endpoint=endpoint, transcript=path), "What is 2 * 7?")
    mark = endpoint.simulator.log.mark()
    agent = Agent.resume(
        path, tools=[calculator], endpoint=endpoint, system="Another prompt.", cache=False
    )
    await collect(agent, "And what is 2 * 8?")
    bodies = bodies_since(endpoint, mark)
    wire = Wire(load(path).events)
    assert sent(wire, -len(bodies)) == bodies[0]["messages"]
    assert wire.requests[-len(bodies)].missing == 0


@given(turns=st.lists(TURN, min_size=1, max_size=5))
def test_each_request_is_the_one_before_with_more_at_its_end(stream, turns):
    run = stream().start(system="s", tools=[{"name": "LS", "input_schema": {}}])
    for turn in turns:
        run.turn_of(**turn)
    wire = Wire(run.end().events)
    for index in range(1, len(wire.requests)):
        before, now = sent(wire, index - 1), sent(wire, index)
        assert now[: len(before)] == before
        assert wire.requests[index].sent == len(before)


@given(turns=st.lists(TURN, min_size=1, max_size=5))
def test_the_parts_add_up_to_what_the_server_counted(stream, turns):
    run = stream().start(system="s", tools=[{"name": "LS", "input_schema": {}}])
    for turn in turns:
        run.turn_of(**turn)
    for request in Wire(run.end().events).requests:
        counted = 100 * request.turn + request.cached
        assert request.tokens == counted
        assert abs(sum(tokens_by_kind(request).values()) - counted) < 1e-6
        assert all(tokens >= 0 for _, tokens in request.shares())


@given(turns=st.lists(TURN, max_size=3), cut=st.floats(0, 1))
def test_a_stream_and_its_transcript_give_the_same_requests(stream, turns, cut):
    run = stream().start()
    for turn in turns:
        run.turn_of(**turn)
    events = run.end().events
    events = events[: round(cut * len(events))]
    live, stored = Wire(events), Wire(e for e in events if not e.live)
    assert live.records == stored.records
    assert [r.state for r in live.requests] == [r.state for r in stored.requests]


def test_kinds_of_blocks(stream):
    run = stream().start(system="s" * 33, tools=[{"name": "LS"}])
    run.turn_of("hm", "look", [("LS", {})]).turn_of(text="done").end()
    first, second = Wire(run.events).requests
    assert [(p.kind, p.new) for p in first.parts] == [
        ("tools", True), ("system", True), ("user", True),
    ]  # fmt: skip
    assert [(p.kind, p.new) for p in second.parts] == [
        ("tools", False), ("system", False), ("user", False),
        ("thinking", True), ("text", True), ("tool_call", True), ("tool_result", True),
    ]  # fmt: skip


def test_a_summary_has_a_kind_of_its_own(stream):
    run = stream().start().turn_of(text="one")
    message = {"role": "user", "content": [{"type": "text", "text": "What happened so far."}]}
    run.add("user.message", message=message, origin="summary")
    wire = Wire(run.turn_of(text="two").events)
    assert "summary" in tokens_by_kind(wire.requests[-1])


def test_the_input_costs_what_the_table_says_and_cached_input_less(stream):
    run = stream().start().turn_of(text="one").turn_of(text="two", cache_read_tokens=1000)
    one, two = Wire(run.events).requests
    rate = prices().find(default_model())
    assert one.cost == pytest.approx(100 * rate.input / 1e6)
    assert two.cost == pytest.approx((200 * rate.input + 1000 * rate.cache_read) / 1e6)


def test_a_second_run_alone_says_how_many_messages_it_does_not_know(stream):
    run = stream().start("One").turn_of(text="1").end()
    first = len(run.events)
    run.start("Two").turn_of(text="2").end()
    alone = run.events[first:]
    start = next(i for i, e in enumerate(alone) if e.type == "assistant.turn_start")
    alone[start] = alone[start]._replace(data={"messages": 3, "input_tokens": 90})
    (request,) = Wire(alone).requests
    assert (request.missing, request.messages) == (2, 3)
    assert dict((p.kind, t) for p, t in request.shares())["earlier"] > 0


def test_two_agents_one_after_the_other_do_not_share_their_messages(stream):
    run = stream().start("One").turn_of(text="1").end()
    run.start("Two").turn_of(text="2").end()
    wire = Wire(run.events)  # each says that it sent one message
    assert [len(sent(wire, index)) for index in (0, 1)] == [1, 1]


def test_what_was_not_kept_does_not_come_back(stream):
    run = stream().start().turn_of(text="I would rather not.")
    index = next(i for i, e in enumerate(run.events) if e.type == "assistant.message")
    run.events[index].data["kept"] = False
    run.turn_of(text="Well.").end()
    wire = Wire(run.events)
    assert not wire.requests[0].kept
    assert all(m["role"] == "user" for m in sent(wire, 1))


def test_a_request_without_a_reply_is_lost_and_says_why(stream):
    run = stream().start().open(retries=2)
    run.add("session.error", status="error", error="Overloaded.", hint="")
    (request,) = Wire(run.end("error").events).requests
    assert (request.state, request.attempts, request.error) == ("lost", 3, "Overloaded.")


def test_a_call_and_its_result_have_one_number(stream):
    run = stream().start().turn_of(calls=[("Read", {}), ("LS", {})]).turn_of(text="x").end()
    assert list(Wire(run.events).pairs.values()) == [1, 2]


def test_an_agent_within_a_run_has_a_conversation_of_its_own(stream):
    run = stream().start().open()
    helper = stream("helper")
    run.events += helper.start("Look").turn_of(text="found").end().events
    wire = Wire(run.events)
    assert [(r.agent, r.messages) for r in wire.requests] == [("", 1), ("helper", 1)]
    assert wire.requests[0].state == "waiting" and not wire.status


@given(data=st.data(), turns=st.lists(TURN, max_size=2))
def test_events_in_any_order_and_of_any_shape_are_taken(stream, data, turns):
    run = stream().start()
    for turn in turns:
        run.turn_of(**turn)
    junk = [None, "x", 3, float("nan"), [], ["x"], {}, {"content": 3}, [{"type": 1}]]
    junk.append({"role": "user", "content": [{"type": "text"}, {"type": "tool_result", "id": 3}]})
    junk.append({"role": "assistant", "content": [{"type": "tool_use", "id": 4}, {"type": "x"}]})
    events = run.end().stored
    broken = [
        Event(e.type, e.at, e.turn, e.agent, {k: data.draw(st.sampled_from(junk)) for k in e.data})
        for e in data.draw(st.lists(st.sampled_from(events), max_size=8))
    ]
    wire = Wire(data.draw(st.permutations(events + broken)))
    for index, request in enumerate(wire.requests):
        assert len(sent(wire, index)) + request.missing == request.messages
        assert sum(tokens_by_kind(request).values()) >= 0
