"""One meter for a tree of agents: what it adds up to is what the server's log has."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab import Agent, connect, tool
from agentlab.costs import Usage, context_tokens, price, price_reply
from agentlab.events import Event
from agentlab.meter import CostMeter
from agentlab.models import default_model, small_model
from agentlab.retry import Retry
from agentlab.side_calls import SideCallFailed, SideCalls
from agentlab.simulator import Fault, batches, start
from agentlab.tables import THIN
from agentlab.toolbox import calculator

SONNET, HAIKU = "claude-sonnet-5-5", "claude-haiku-5-5"


def buckets(usage):
    return {name: n for name, n in usage.to_dict().items() if name != "thinking_tokens"}


async def tree_of_agents(endpoint):
    """An agent, two agents that work for it, and side calls of both: all of their events."""
    events = []

    async def run(name, task, **arguments):
        agent = Agent(endpoint=endpoint, name=name, tools=[calculator, notes], **arguments)
        events.extend([event async for event in agent.run(task)])

    @tool
    async def notes(text: str) -> str:
        """Take a note."""
        return text

    async def aside(agent, purpose, prompt):
        calls = SideCalls(endpoint.client(), small_model(), endpoint.clock)
        try:
            answered = (await calls.ask(purpose, prompt)).event
        except SideCallFailed as failed:
            answered = failed.event
        events.append(Event("model.side_call", 0.0, 1, agent, answered))

    await run("main", "What is 12 * 7?", system="You are careful. " * 200)
    await aside("main", "classifier", "Is `ls` harmless?")
    await run("helper", "What is 12 * 8?", system="You are careful. " * 200)
    await run("helper", "What is 12 * 8?", system="You are careful. " * 200)  # the same again
    await aside("helper", "summary", "Sum it up: " + "it rained. " * 300)
    await run("small", "What is 2 + 2?", model=HAIKU)
    return events


async def test_the_sum_is_what_the_server_billed(billed):
    endpoint = connect()
    mark = endpoint.simulator.log.mark()
    meter = CostMeter.of(await tree_of_agents(endpoint))
    usage, usd = billed(endpoint.simulator.log, mark)
    assert buckets(meter.total.usage) == buckets(usage)
    assert meter.total.usd == pytest.approx(usd) and usd > 0
    assert meter.total.calls == len(endpoint.simulator.log.since(mark))
    assert usage.cache_read_tokens > 0  # the second helper found the first one's prefix


@pytest.mark.parametrize("names", [("one", "two"), ("twin", "twin")])
async def test_agents_that_work_at_the_same_time_are_all_counted(names, billed):
    """Twins ask the same and get the same answers, with the same ids."""
    endpoint, meter = connect(), CostMeter()
    mark = endpoint.simulator.log.mark()
    endpoint.simulator.faults.add(Fault("status", status=529, calls=[2]))

    async def run(name):
        agent = Agent(endpoint=endpoint, name=name, tools=[calculator])
        async for event in agent.run("What is 12 * 7?"):
            meter.add(event)

    await asyncio.gather(*map(run, names))
    usage, usd = billed(endpoint.simulator.log, mark)
    assert (buckets(meter.total.usage), meter.total.calls) == (buckets(usage), 4)
    assert meter.total.usd == pytest.approx(usd) and meter.lost == 1


@pytest.mark.parametrize("retry", [Retry(), Retry({})], ids=["once", "for good"])
@pytest.mark.parametrize("kind", ["cut_clean", "cut_dirty", "error_event"])
async def test_an_attempt_that_broke_off_is_counted_as_far_as_it_told(kind, retry, billed):
    endpoint = connect()
    mark = endpoint.simulator.log.mark()
    endpoint.simulator.faults.add(Fault(kind, calls=[1]))
    agent = Agent(endpoint=endpoint, tools=[calculator], retry=retry)
    result = await agent.ask("What is 12 * 7?")
    endpoint.simulator.faults.clear()
    usage, usd = billed(endpoint.simulator.log, mark)
    meter = CostMeter.of(result.events)
    assert meter.total.usage.prompt_tokens == usage.prompt_tokens
    assert result.cost_usd == pytest.approx(meter.total.usd)
    assert 0 < meter.total.usd <= usd
    assert ("broken off",) in [line.name for line in meter.by("purpose")]


def test_a_foreign_transcript_is_read_as_far_as_it_makes_sense():
    """Ids, prices and counts of any type: what is no number counts as not told."""
    call = {"usage": {"input_tokens": 1_000, "output_tokens": "?"}, "model": SONNET}
    side = {"usage": None, "model": HAIKU, "cost_usd": "free", "purpose": None}
    meter = CostMeter.of(
        [
            Event("assistant.message", 0.0, 1, "main", {**call, "id": ["m", 1]}),
            Event("assistant.turn_end", 0.0, 1, "main", {"cost_usd": "x"}),
            Event("model.side_call", 0.0, 1, "main", side),
            Event("model.side_call", 0.0, 1, "main", {**side, "usage": "none", "retries": 3}),
        ]
    )
    assert meter.total.usd == pytest.approx(0.002) and meter.total.calls == 3
    assert "side call" in str(meter)


async def test_every_way_to_group_the_lines_adds_up_to_the_total():
    meter = CostMeter.of(await tree_of_agents(connect()))
    for names in (["agent"], ["purpose"], ["model"], ["agent", "model"], [], ["purpose", "agent"]):
        lines = meter.by(*names)
        assert sum(line.usd for line in lines) == pytest.approx(meter.total.usd)
        assert sum(line.calls for line in lines) == meter.total.calls
    assert {line.name for line in meter.by("agent")} == {("main",), ("helper",), ("small",)}
    assert {line.name[0] for line in meter.by("purpose")} == {"turns", "classifier", "summary"}
    assert {line.name[0] for line in meter.by("model")} == {default_model(), small_model()}
    with pytest.raises(ValueError, match="agent, purpose, model"):
        meter.by("colour")


async def test_a_run_costs_what_its_result_says():
    result = await Agent(tools=[calculator]).ask("What is 12 * 7?")
    total = CostMeter.of(result.events).total
    assert (total.usd, total.usage) == (pytest.approx(result.cost_usd), result.usage)


async def test_a_batch_is_counted_at_half_the_price(billed):
    endpoint = connect()
    client, mark = endpoint.client(), endpoint.simulator.log.mark()
    question = {"model": HAIKU, "max_tokens": 200,
                "messages": [{"role": "user", "content": "Hello! Who are you?"}]}  # fmt: skip
    requests = [{"custom_id": f"r{n}", "params": question} for n in range(3)]
    batch = await client.messages.batches.create(requests=requests)
    endpoint.clock.advance(batches.SECONDS)
    meter = CostMeter()
    async for line in await client.messages.batches.results(batch.id):
        used = Usage.from_api(line.result.message.usage)
        data = {"purpose": "batch", "model": HAIKU, "usage": used.to_dict(), "cost_usd": None}
        meter.add(Event("model.side_call", 0.0, 0, "main", {**data, "batch": True}))
    usage, usd = billed(endpoint.simulator.log, mark)
    assert buckets(meter.total.usage) == buckets(usage)
    assert meter.total.usd == pytest.approx(usd) == pytest.approx(price(usage, HAIKU) / 2)


def test_a_summary_that_the_server_makes_is_billed_as_a_step_of_its_own(billed):
    """On a model with price tiers, where a sum of the steps would be in the dearer one."""
    with start() as simulator:
        client = connect(simulator.base_url, model=HAIKU).sync_client()
        history = [{"role": "user", "content": "It rained. " * 30_000}]
        edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 60_000}}
        reply = client.beta.messages.create(
            model=HAIKU, max_tokens=2_000, messages=history, betas=["compact-2026-01-12"],
            context_management={"edits": [edit]},
        )  # fmt: skip
        usage, usd = billed(simulator.log, 0)
    assert [step.type for step in reply.usage.iterations] == ["compaction", "message"]
    assert buckets(Usage.from_api(reply.usage)) == buckets(usage)
    assert price_reply(reply.usage, HAIKU) == pytest.approx(usd)
    assert context_tokens(reply.usage) < 10_000 < Usage.from_api(reply.usage).total_tokens


@pytest.mark.parametrize("first_to_end", [0, 1])
def test_of_two_agents_with_one_name_each_is_charged_for_its_own_turn(first_to_end):
    """The price of a turn comes with its end, and turns end in any order."""
    turns = [({"input_tokens": 1_000}, 0.002), ({"input_tokens": 9_000}, 0.018)]

    def told(type, **data):
        return Event(type, 0.0, 1, "twin", data)

    starts = [told("assistant.turn_start") for _ in turns]
    said = [told("assistant.message", id=f"m{i}", model="new", usage=usage)
            for i, (usage, _) in enumerate(turns)]  # fmt: skip
    ends = [told("assistant.turn_end", usage=usage, cost_usd=usd) for usage, usd in turns]
    meter = CostMeter.of([*starts, *said, ends[first_to_end], ends[not first_to_end]])
    assert [call.usd for call in meter.calls] == [0.002, 0.018]


def test_the_end_of_a_turn_does_not_price_that_of_a_namesake_who_began_later():
    def told(type, **data):
        return Event(type, 0.0, 1, "twin", data)

    dear, cheap = {"input_tokens": 9_000}, {"input_tokens": 1_000}
    meter = CostMeter.of(
        [
            told("session.start", model=SONNET),
            told("assistant.message", id="m1", model=SONNET, usage=dear),
            told("session.start", model=HAIKU),
            told("assistant.message", id="m2", model=HAIKU, usage=cheap),
            told("assistant.turn_end", usage=dear, cost_usd=0.018),
            told("assistant.turn_end", usage=cheap, cost_usd=0.0001),
        ]
    )
    assert [call.usd for call in meter.calls] == [pytest.approx(0.018), 0.0001]


def test_a_call_of_no_named_model_is_said_to_be_one():
    meter = CostMeter.of(
        [Event("assistant.message", 0.0, 1, "main", {"usage": {"input_tokens": 5}})]
    )
    assert "the price of a model without a name is not known" in str(meter)


def side_call(model, purpose="summary", **usage):
    data = {"purpose": purpose, "model": model, "usage": Usage(**usage).to_dict()}
    return Event("model.side_call", 0.0, 1, "main", {**data, "cost_usd": None})


def test_a_model_without_a_price_makes_the_sum_unknown_and_hides_nothing():
    meter = CostMeter.of([side_call(HAIKU, input_tokens=10_000), side_call("llama-9", "guess")])
    total = meter.total
    assert (total.usd, total.unpriced) == (None, ("llama-9",))
    assert total.known_usd == pytest.approx(0.001)
    assert [line.usd for line in meter.by("purpose")] == [pytest.approx(0.001), None]
    text = str(meter)
    assert "the price of llama-9 is not known" in text and "$0.0010" in text
    assert "$0.0000" not in text


def test_it_shows_itself_as_a_table():
    meter = CostMeter.of([side_call(HAIKU, input_tokens=10_000, cache_read_tokens=5),
                          side_call(SONNET, "classifier", output_tokens=100)])  # fmt: skip
    lines = str(meter).replace(THIN, " ").splitlines()
    assert lines[1].split() == ["agent", "purpose", "model", "calls", "input", "cached",
                                "written", "output", "dollars"]  # fmt: skip
    assert lines[-1].split() == ["total", "2", "10", "000", "5", "0", "100", "$0.0020"]
    assert meter._repr_html_().count("<tr>") == 4


RETRY = {"attempt": 2, "reason": "", "wait_s": 1.0}


@pytest.mark.parametrize(
    ("type", "data"),
    [("model.retry", RETRY),
     ("assistant.turn_start", {}),  # and no message: it was cancelled, or failed for good
     ("model.side_call", {"purpose": "summary", "model": HAIKU, "usage": {}}),
     ("model.side_call", {"model": HAIKU, "usage": {"input_tokens": 1}, "retries": [RETRY]})],
)  # fmt: skip
def test_attempts_without_a_whole_reply_are_said(type, data):
    meter = CostMeter.of([Event(type, 0.0, 1, "main", data)])
    assert meter.lost == 1 and "without a whole reply: 1" in str(meter)


def test_an_empty_meter_has_spent_nothing():
    assert CostMeter().total.usd == 0 and "total" in str(CostMeter())


@given(
    st.lists(
        st.tuples(st.sampled_from(["main", "a", "b"]), st.integers(1, 3), st.integers(0, 999)),
        max_size=20,
    )
)
def test_adding_one_by_one_is_the_same_as_all_at_once(told):
    events = [
        Event("assistant.message", 0.0, turn, agent,
              {"usage": {"output_tokens": n}, "id": f"m{turn}", "model": SONNET})
        for agent, turn, n in told
    ]  # fmt: skip
    meter = CostMeter()
    for event in events:
        meter.add(event)
    last = {(agent, turn): n for agent, turn, n in told}
    assert meter.total == CostMeter.of(events).total
    assert meter.total.usage.output_tokens == sum(last.values())
