"""The loop: how runs end, and that nothing runs twice. Real SDK, real HTTP, scripted model."""

import asyncio
import datetime
import itertools
import json
from contextlib import aclosing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab import Agent, Limits, connect, tool
from agentlab.limits import larger
from agentlab.messages import calls_of
from agentlab.simulator.faults import Fault
from agentlab.toolbox import task_complete


class ServerTool:
    """A tool that the API runs itself: the harness only declares it."""

    name = "web_search"

    async def describe(self, context):
        return {"type": "web_search_20250305", "name": self.name}


def counter(name="Count"):
    """A tool that remembers how often it ran, and with what."""
    ran = []

    @tool(name=name)
    async def count(n: int = 0) -> str:
        """Count."""
        ran.append(n)
        return f"run {len(ran)}"

    return count, ran


@tool(name="Fail")
async def fail(n: int = 0) -> str:
    """Fail."""
    raise OSError("disk on fire")


def say(text):
    return lambda chat: chat.say(text)


def call(*names, **arguments):
    def turn(chat):
        said = chat.say("Working.")
        for name in names:
            said = said.call(name, **arguments)
        return said

    return turn


def stop(reason, text=""):
    return lambda chat: chat.say(text).stop(reason)


async def next_request_is_accepted(agent):
    """The strict server takes the history as it is now."""
    result = await Agent(
        endpoint=connect(),
        tools=list(agent._setup.tools.values()),
        history=agent.history,
        normalise=False,
    ).ask("go on")  # a new agent: no scenario, no repair
    return result.status != "error"


# ------------------------------------------------------------------------------------- the basics


async def test_it_runs_tools_until_the_model_is_done(play):
    count, ran = counter()
    agent = Agent(
        tools=[count], endpoint=play(call("Count", n=1), call("Count", n=2), say("Done: 2."))
    )
    result = await agent.ask("count")
    assert (result.status, result.text, result.turns, ran) == ("completed", "Done: 2.", 3, [1, 2])
    assert [m["role"] for m in agent.history] == ["user", "assistant"] * 3


async def test_events_come_in_the_order_that_is_promised(play):
    count, _ = counter()
    agent = Agent(
        tools=[count],
        endpoint=play(lambda c: c.think("hm").say("I count.").call("Count"), say("Done.")),
    )
    kinds = [e.type async for e in agent.run("count")]
    merged = [k for k, before in zip(kinds, ["", *kinds], strict=False) if k != before]
    assert merged == [
        "session.start",
        "user.message",
        "assistant.turn_start",
        "assistant.thinking_delta",
        "assistant.text_delta",
        "assistant.tool_delta",
        "assistant.message",
        "tool.execution_start",
        "tool.execution_complete",
        "assistant.turn_end",
        "assistant.turn_start",
        "assistant.text_delta",
        "assistant.message",
        "assistant.turn_end",
        "session.end",
        "session.idle",
    ]


async def test_requests_at_the_server_are_turns_plus_retries(play, faults):
    count, _ = counter()
    endpoint = play(call("Count"), say("Done."))
    faults.add(Fault("status", status=529, calls=[1, 3]))
    mark = endpoint.simulator.log.mark()
    result = await Agent(tools=[count], endpoint=endpoint).ask("count")
    kinds = [e.type for e in result.events]
    assert kinds.count("assistant.turn_end") == 2 and kinds.count("model.retry") == 2
    assert len(endpoint.simulator.log.since(mark)) == 4


async def test_times_never_go_back_and_are_the_same_every_time(play):
    def times():
        count, _ = counter()
        return Agent(tools=[count], endpoint=play(call("Count"), say("Done.")))

    runs = []
    for _ in range(2):
        events = [e async for e in times().run("count")]
        start = events[0].at
        assert all(a.at <= b.at for a, b in itertools.pairwise(events))
        runs.append([(e.type, round(e.at - start, 6)) for e in events])
    assert runs[0] == runs[1]


async def test_a_follow_up_continues_the_conversation(play):
    agent = Agent(endpoint=connect())
    await agent.ask("My first question is: what is 6 * 7?")
    messages = len(agent.history)
    result = await agent.ask("And what is 2 + 2?")
    assert result.ok and len(agent.history) > messages


async def test_c22_an_empty_task_sends_nothing(play):
    endpoint = play(say("x"))
    mark = endpoint.simulator.log.mark()
    agent = Agent(endpoint=endpoint)
    with pytest.raises(ValueError, match="nothing was sent"):
        await agent.ask("   \n")
    assert not agent.history and not endpoint.simulator.log.since(mark)


async def test_of_two_tasks_at_the_same_time_one_is_refused(play):
    agent = Agent(tools=[task_complete], endpoint=play(say("x"), say("y")))
    ended = await asyncio.gather(agent.ask("one"), agent.ask("two"), return_exceptions=True)
    assert [type(e) for e in ended].count(RuntimeError) == 1
    assert [m["role"] for m in agent.history] == ["user", "assistant"]


async def test_half_a_character_in_the_task_is_no_trouble(play, tmp_path):
    agent = Agent(endpoint=play(say("fine")), transcript=tmp_path / "t.jsonl")
    assert (await agent.ask("caf\udce9")).ok
    assert agent.history[0]["content"][0]["text"] == "caf\ufffd"


async def test_an_agent_at_work_takes_no_second_task(play):
    agent = Agent(endpoint=play(say("x")))
    async with aclosing(agent.run("one")) as events:
        await anext(events)
        with pytest.raises(RuntimeError, match="at work"):
            await agent.ask("two")


def test_ask_sync_in_a_script_and_twice(play):
    agent = Agent(endpoint=play(say("one"), say("two")))
    assert [agent.ask_sync("a").text, agent.ask_sync("b").text] == ["one", "two"]


async def test_ask_sync_in_a_running_loop_says_what_to_use(play):
    with pytest.raises(RuntimeError, match=r"await agent\.ask"):
        Agent(endpoint=play(say("x"))).ask_sync("a")


# ---------------------------------------------------------------------------------- stop reasons


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("end_turn", "completed"),
        ("stop_sequence", "completed"),
        ("max_tokens", "truncated"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "window_exceeded"),
    ],
)
async def test_every_stop_reason_has_a_status_of_its_own(play, reason, status):
    agent = Agent(endpoint=play(stop(reason, "some text")))
    result = await agent.ask("go")
    assert result.status == status
    assert await next_request_is_accepted(agent)


async def test_a_stop_reason_never_seen_before_is_no_success(play, faults):
    faults.add(Fault("unknown_stop"))
    result = await Agent(endpoint=play(say("looks fine"))).ask("go")
    assert result.status == "error" and "unknown stop reason" in result.detail


async def test_c15_a_paused_turn_goes_on_without_a_new_message(play):
    def paused(chat):
        return chat.say("Searching.").server_call("web_search", query="x").stop("pause_turn")

    search = ServerTool()
    agent = Agent(tools=[search], endpoint=play(paused, say("Found it.")))
    result = await agent.ask("search")
    assert (result.status, result.text, result.turns) == ("completed", "Found it.", 2)
    assert [m["role"] for m in agent.history] == ["user", "assistant", "assistant"]
    assert agent.history[1]["content"][1]["input"] == {"query": "x"}


async def test_c15_pauses_have_an_end(play):
    def paused(chat):
        return chat.say("Searching.").server_call("web_search", query="x").stop("pause_turn")

    search = ServerTool()
    endpoint = play(paused, forever=True)
    agent = Agent(tools=[search], endpoint=endpoint, limits=Limits(pauses=2))
    result = await agent.ask("go")
    assert result.status == "error" and "paused 3 times" in result.detail and result.turns == 3


async def test_c17_a_refusal_is_not_repeated_and_leaves_nothing_behind(play):
    agent = Agent(endpoint=play(stop("refusal")))
    result = await agent.ask("go")
    assert (result.status, result.turns, len(agent.history)) == ("refusal", 1, 1)


async def test_c20_an_empty_end_is_an_end(play):
    count, _ = counter()
    agent = Agent(tools=[count], endpoint=play(call("Count"), say("")))
    result = await agent.ask("go")
    assert result.status == "completed"
    assert all(m["content"] for m in agent.history)
    assert await next_request_is_accepted(agent)


async def test_k16_a_tool_call_announced_and_not_made_is_no_success(play):
    agent = Agent(endpoint=play(stop("tool_use"), forever=True))
    result = await agent.ask("go")
    assert result.status == "error" and "made none" in result.detail and result.turns == 2
    assert all(m["content"] for m in agent.history)


async def test_e12_unknown_events_and_blocks_are_passed_over(play, faults):
    faults.add(Fault("unknown_event"))
    assert (await Agent(endpoint=play(say("fine"))).ask("go")).ok
    faults.clear()
    faults.add(Fault("unknown_block"))
    assert (await Agent(endpoint=play(say("fine"))).ask("go")).text == "fine"


async def test_c18_thinking_comes_back_byte_for_byte(play):
    count, _ = counter()
    agent = Agent(
        tools=[count], endpoint=play(lambda c: c.think("Let me see.").call("Count"), say("ok"))
    )
    result = await agent.ask("go")  # the strict server checks the signature
    assert result.ok
    assert agent.history[1]["content"][0]["type"] == "thinking"
    assert agent.history[1]["content"][0]["signature"]


# ------------------------------------------------------------------------------- broken tool calls


async def test_c12_a_call_cut_off_is_not_run_and_the_model_is_told_and_gets_more_room(play):
    _, ran = counter()
    text = "word " * 400

    @tool
    async def write(content: str) -> str:
        """Write."""
        ran.append(content)
        return "written"

    agent = Agent(
        tools=[write], endpoint=play(call("write", content=text), say("done")), max_tokens=300
    )
    result = await agent.ask("write it")
    assert result.status == "completed" and ran == [text]
    told = [e for e in result.events if e.type == "user.message" and e.origin == "continue"]
    assert told and "cut off" in told[0].message["content"][0]["text"]
    assert await next_request_is_accepted(agent)


async def test_c14_a_call_that_never_fits_ends_truncated(play):
    count, ran = counter()
    huge = "x" * 20_000
    agent = Agent(
        tools=[count], endpoint=play(call("Count", n=1, pad=huge), forever=True), max_tokens=100
    )
    result = await agent.ask("go")
    assert (result.status, result.turns, ran) == ("truncated", 3, [])
    assert "max_tokens=400" in result.detail
    assert await next_request_is_accepted(agent)


def test_room_grows_up_to_what_the_model_can_write():
    assert larger(8192, "claude-sonnet-5-5") == 16384
    assert larger(100_000, "claude-sonnet-5-5") == 128_000


async def test_c25_input_that_is_not_json_is_quoted_back_and_not_run(play, faults):
    count, ran = counter()
    faults.add(Fault("bad_json", calls=[1]))
    agent = Agent(tools=[count], endpoint=play(call("Count", n=1), say("I see.")))
    result = await agent.ask("go")
    complete = next(e for e in result.events if e.type == "tool.execution_complete")
    assert complete.is_error and "not valid JSON" in complete.content
    assert ran == [] and result.ok


async def test_c08_c09_ids_of_calls_are_made_distinct_on_receipt(play, faults):
    count, _ = counter()
    faults.add(Fault("blank_ids", calls=[1]))
    agent = Agent(tools=[count], endpoint=play(call("Count", "Count", "Count"), say("ok")))
    result = await agent.ask("go")
    ids = [c["id"] for c in calls_of(agent.history[1])]
    assert result.ok and len(set(ids)) == len(ids) and all(ids)
    assert await next_request_is_accepted(agent)


async def test_c06_results_are_one_message_in_call_order(play):
    count, _ = counter()
    agent = Agent(tools=[count, fail], endpoint=play(call("Count", "Fail", "Count"), say("ok")))
    await agent.ask("go")
    ids = [c["id"] for c in calls_of(agent.history[1])]
    assert [b["tool_use_id"] for b in agent.history[2]["content"]] == ids
    assert [b.get("is_error", False) for b in agent.history[2]["content"]] == [False, True, False]


# ---------------------------------------------------------------------------------------- limits


async def test_k10_the_turn_limit_is_exact_and_named(play):
    count, _ = counter()
    endpoint = play(call("Count"), forever=True)
    mark = endpoint.simulator.log.mark()
    agent = Agent(tools=[count], endpoint=endpoint, limits=Limits(turns=3))
    result = await agent.ask("go")
    assert result.status == "turn_limit" and len(endpoint.simulator.log.since(mark)) == 3
    assert await next_request_is_accepted(agent)


async def test_the_default_limit_is_25_turns(play):
    count, ran = counter()
    result = await Agent(tools=[count], endpoint=play(call("Count"), forever=True)).ask("go")
    assert (result.status, result.turns, len(ran)) == ("turn_limit", 25, 25)


async def test_k12_the_dollar_limit_overshoots_by_one_call_or_not_at_all(play):
    count, _ = counter()

    def agent(**limits):
        return Agent(
            tools=[count], endpoint=play(call("Count"), forever=True), limits=Limits(**limits)
        )

    one = (await agent(turns=1).ask("go")).cost_usd
    overshot = await agent(usd=1.5 * one).ask("go")
    assert (
        overshot.status == "dollar_limit" and overshot.turns == 2 and overshot.cost_usd > 1.5 * one
    )
    strict = await agent(usd=1.5 * one, mode="strict").ask("go")
    assert strict.status == "dollar_limit" and strict.turns == 0
    assert strict.cost_usd <= 1.5 * one


async def test_k14_the_limit_of_tool_calls_holds_when_they_fail(play):
    agent = Agent(
        tools=[fail],
        endpoint=play(call("Fail", "Fail", "Fail"), forever=True),
        limits=Limits(tool_calls=5, failures=None, repeats=None),
    )
    result = await agent.ask("go")
    complete = [e for e in result.events if e.type == "tool.execution_complete"]
    assert result.status == "tool_call_limit"
    assert sum("disk on fire" in e.content for e in complete) == 5
    assert complete[-1].content.startswith("Not run")
    assert await next_request_is_accepted(agent)


async def test_token_and_time_limits(play):
    count, _ = counter()
    for limits, status in ((Limits(tokens=1), "token_limit"), (Limits(seconds=0.5), "time_limit")):
        result = await Agent(
            tools=[count], endpoint=play(call("Count"), forever=True), limits=limits
        ).ask("go")
        assert (result.status, result.turns) == (status, 1)


async def test_repeated_calls_and_repeated_failures_end_a_run(play):
    @tool
    async def status() -> str:
        """Status."""
        return "unchanged"

    result = await Agent(tools=[status], endpoint=play(call("status"), forever=True)).ask("go")
    assert (result.status, result.turns) == ("repeated_calls", 3)
    limits = Limits(repeats=None, near_repeats=None)
    result = await Agent(
        tools=[fail], endpoint=play(call("Fail"), forever=True), limits=limits
    ).ask("go")
    assert (result.status, result.turns) == ("repeated_failures", 5)


async def test_parallel_calls_of_one_turn_are_no_repetition_and_one_failure(play):
    count, ran = counter()
    agent = Agent(tools=[count], endpoint=play(call(*["Count"] * 6), say("done")))
    result = await agent.ask("go")
    assert (result.status, len(ran)) == ("completed", 6)
    agent = Agent(tools=[fail], endpoint=play(call(*["Fail"] * 6), say("done")))
    assert (await agent.ask("go")).status == "completed"


# ------------------------------------------------------------------------------- finishing a task


async def test_k15_autopilot_nudges_and_then_gives_up(play):
    for nudges in (0, 1, 3):
        agent = Agent(
            endpoint=play(say("Nearly."), forever=True),
            autopilot=True,
            limits=Limits(nudges=nudges),
        )
        result = await agent.ask("go")
        assert (result.status, result.turns) == ("no_completion", nudges + 1)


async def test_autopilot_ends_with_task_complete_which_is_stored(play):
    agent = Agent(
        endpoint=play(say("Half."), lambda c: c.call("TaskComplete", summary="All of it.")),
        autopilot=True,
    )
    result = await agent.ask("go")
    assert (result.status, result.text) == ("task_complete", "All of it.")
    assert [e.summary for e in result.events if e.type == "session.task_complete"] == ["All of it."]
    assert not any(e.type == "session.idle" for e in result.events)


@pytest.mark.parametrize("order", [("Count", "TaskComplete"), ("TaskComplete", "Count")])
async def test_k18_other_calls_beside_task_complete_are_run(play, order):
    count, ran = counter()

    def both(chat):
        said = chat.say("Last step.")
        for name in order:
            said = said.call(name, summary="Done.") if name == "TaskComplete" else said.call(name)
        return said

    agent = Agent(tools=[count, task_complete], endpoint=play(both))
    result = await agent.ask("go")
    assert (result.status, len(ran), result.turns) == ("task_complete", 1, 1)
    assert await next_request_is_accepted(agent)


async def test_a_completion_of_an_earlier_task_does_not_end_the_next(play, faults):
    agent = Agent(
        endpoint=play(lambda c: c.call("TaskComplete", summary="One."), say("Two.")),
        tools=[task_complete],
    )
    await agent.ask("first")
    faults.add(Fault("empty", calls=[1]))
    result = await agent.ask("second")
    assert result.status == "completed"


# ------------------------------------------------------------------------ failures of the endpoint


@pytest.mark.parametrize(
    ("fault", "attempts"),
    [
        (Fault("status", status=429), 11),
        (Fault("status", status=529), 4),
        (Fault("status", status=500), 4),
        (Fault("status", status=502), 4),
        (Fault("status", status=503), 4),
        (Fault("status", status=504), 4),
        (Fault("status", status=408), 4),
        (Fault("status", status=409), 4),
        (Fault("refuse"), 2),
        (Fault("reset"), 2),
        (Fault("cut_dirty"), 2),
        (Fault("cut_clean"), 2),
        (Fault("error_event"), 4),
        (Fault("error_event", status=429), 11),
        (Fault("error_event", status=500), 4),
        (Fault("error_event", status=400), 1),
        (Fault("status", status=400), 1),
        (Fault("status", status=401), 1),
        (Fault("status", status=402), 1),
        (Fault("status", status=403), 1),
        (Fault("status", status=404), 1),
        (Fault("status", status=413), 1),
        (Fault("status", status=422), 1),
        (Fault("status", status=529, headers={"x-should-retry": "false"}), 1),
        (Fault("status", status=429, headers={"x-should-retry": "true"}), 11),
        (Fault("status", status=400, headers={"x-should-retry": "true"}), 4),
    ],
    ids=lambda v: f"{v.kind}-{v.status}" if isinstance(v, Fault) else str(v),
)
async def test_e05_e20_only_what_can_pass_is_repeated(play, faults, fault, attempts):
    endpoint = play(say("fine"))
    faults.add(fault)
    mark = endpoint.simulator.log.mark()
    agent = Agent(endpoint=endpoint)
    result = await agent.ask("go")
    ended = "window_exceeded" if (fault.kind, fault.status) == ("status", 413) else "error"
    assert result.status == ended and result.detail
    assert len(endpoint.simulator.log.since(mark)) == attempts
    assert sum(e.type == "model.retry" for e in result.events) == attempts - 1
    assert [m["role"] for m in agent.history] == ["user"]
    if result.status == "error":
        assert next(e for e in result.events if e.type == "session.error").hint


@pytest.mark.parametrize("kind", ["error_event", "cut_clean", "cut_dirty"])
async def test_e07_e09_half_a_reply_is_never_an_answer(play, faults, kind):
    faults.add(Fault(kind, calls=[1], after=4))
    agent = Agent(endpoint=play(say("Hello there, this is the whole answer.")))
    events = [e async for e in agent.run("go")]
    end = next(e for e in events if e.type == "session.end")
    assert end.text == "Hello there, this is the whole answer."
    assert len(agent.history) == 2
    retry = [e.type for e in events].index("model.retry")
    shown = "".join(e.text for e in events[retry:] if e.type == "assistant.text_delta")
    assert shown == end.text


async def test_e11_silence_is_noticed(play, faults):
    faults.add(Fault("stall", calls=[1], after=3))
    agent = Agent(endpoint=play(say("fine")), limits=Limits(idle_s=0.3))
    async with asyncio.timeout(10):
        result = await agent.ask("go")
    assert result.ok and any(e.type == "model.retry" for e in result.events)


async def test_a_reply_that_takes_too_long_in_all_is_given_up(play):
    long = "word " * 2000  # half a minute at the speed of the virtual clock
    agent = Agent(endpoint=play(say(long), forever=True), limits=Limits(request_s=5))
    result = await agent.ask("go")
    assert result.status == "error" and "longer than 5 s" in result.detail
    assert sum(e.type == "model.retry" for e in result.events) == 1  # a timeout: once
    assert len(agent.history) == 1


async def test_e13_a_failing_request_never_repeats_a_tool(play, faults):
    count, ran = counter("charge")
    faults.add(Fault("status", status=500, calls=[2, 3]))
    result = await Agent(tools=[count], endpoint=play(call("charge"), say("done"))).ask("charge me")
    assert result.ok and len(ran) == 1


async def test_e01_retry_after_is_honoured(play, faults):
    faults.add(Fault("status", status=429, headers={"retry-after": "7"}, calls=[1]))
    result = await Agent(endpoint=play(say("fine"))).ask("go")
    retry = next(e for e in result.events if e.type == "model.retry")
    after = next(e for e in result.events if e.type == "assistant.message")
    assert retry.wait_s == 7.0 and 7.0 <= after.at - retry.at <= 8.5


async def test_e03_a_wait_of_an_hour_is_not_waited(play, faults):
    faults.add(Fault("status", status=429, headers={"retry-after": "3600"}))
    endpoint = play(say("fine"))
    mark = endpoint.simulator.log.mark()
    started = endpoint.clock.now()
    result = await Agent(endpoint=endpoint).ask("go")
    assert result.status == "error" and len(endpoint.simulator.log.since(mark)) == 1
    assert endpoint.clock.now() - started < 60
    back = endpoint.clock.wall() + datetime.timedelta(seconds=3600)
    error = next(e for e in result.events if e.type == "session.error")
    assert f"Come back at {back:%Y-%m-%d %H:%M}" in error.hint and "3600 s" in result.detail


async def test_an_endpoint_that_is_not_there_is_an_error_with_a_hint():
    endpoint = connect("http://127.0.0.1:9", model="llama")
    result = await Agent(endpoint=endpoint).ask("go")
    assert result.status == "error"
    assert "running" in next(e for e in result.events if e.type == "session.error").hint


# ------------------------------------------------------------------------------------- cancelling


async def test_c01_cancelling_a_tool_leaves_a_history_that_is_accepted(play):
    started = asyncio.Event()

    @tool
    async def sleep() -> str:
        """Sleep."""
        started.set()
        await asyncio.sleep(60)
        return "slept"

    agent = Agent(tools=[sleep], endpoint=play(call("sleep"), say("ok")))
    task = agent.start("go")
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (block,) = agent.history[2]["content"]
    assert block["is_error"] and "nterrupted" in block["content"]
    result = await agent.ask("go on")
    assert result.ok


async def test_e18_cancelling_ends_a_wait_at_once(play, faults, tmp_path):
    from agentlab.clock import RealClock
    from agentlab.transcript import load

    endpoint = play(say("fine"))
    endpoint.clock = RealClock()
    faults.add(Fault("status", status=429, headers={"retry-after": "50"}))
    mark = endpoint.simulator.log.mark()
    agent = Agent(endpoint=endpoint, transcript=tmp_path / "t.jsonl")
    task = agent.start("go")
    await asyncio.sleep(0.3)
    before = asyncio.get_running_loop().time()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled() and asyncio.get_running_loop().time() - before < 0.5
    events = load(tmp_path / "t.jsonl").events
    assert events[-1].type == "session.end" and events[-1].status == "cancelled"
    assert len(endpoint.simulator.log.since(mark)) <= 1  # no second attempt


async def test_leaving_the_stream_early_is_a_cancellation_and_is_written_down(play, tmp_path):
    from agentlab.transcript import load

    count, _ = counter()
    agent = Agent(
        tools=[count], endpoint=play(call("Count"), say("x")), transcript=tmp_path / "t.jsonl"
    )
    async with aclosing(agent.run("go")) as events:
        async for event in events:
            if event.type == "assistant.turn_end":
                break
    end = load(tmp_path / "t.jsonl").events[-1]
    assert end.status == "cancelled" and end.usage["output_tokens"] > 0
    assert await next_request_is_accepted(agent)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60))
def test_wherever_it_is_cancelled_the_next_request_is_accepted(steps):
    """The task is cancelled after so many steps of the event loop, wherever it then is."""
    from agentlab.simulator.scenario import scenario

    @scenario("test-cancel")
    def scripted(chat):
        """Two turns of calls."""
        yield chat.think("hm").say("I start.").call("Count", n=1).call("Wait")
        yield chat.say("And on.").call("Count", n=2)
        yield chat.say("Done.")

    async def main():
        count, ran = counter()

        @tool(name="Wait")
        async def wait() -> str:
            """Wait."""
            for _ in range(5):
                await asyncio.sleep(0)
            return "waited"

        agent = Agent(tools=[count, wait], endpoint=connect(scenario="test-cancel"))
        task = agent.start("go")
        for _ in range(steps):
            await asyncio.sleep(0.0005)
            if task.done():
                break
        task.cancel()
        await asyncio.wait([task])
        assert await next_request_is_accepted(agent)
        assert len(ran) == len(set(ran))

    asyncio.run(main())


# ------------------------------------------------------------------------------------- resuming


async def test_a_run_is_resumed_from_its_transcript(play, tmp_path):
    count, ran = counter()
    endpoint = play(call("Count", n=1), say("First."), say("Second."))
    path = tmp_path / "t.jsonl"
    first = await Agent(tools=[count], system="Be brief.", endpoint=endpoint, transcript=path).ask(
        "one"
    )
    agent = Agent.resume(path, tools=[count], endpoint=endpoint)
    second = await agent.ask("two")
    assert (first.text, second.text, ran) == ("First.", "Second.", [1])
    again = Agent.resume(path, tools=[count], endpoint=endpoint)
    assert list(again.history) == list(agent.history)


async def test_resuming_with_other_tools_drops_the_thinking_that_is_bound_to_them(play, tmp_path):
    count, _ = counter()
    endpoint = play(lambda c: c.think("hm").call("Count"), say("First."), say("Second."))
    path = tmp_path / "t.jsonl"
    await Agent(tools=[count], endpoint=endpoint, transcript=path).ask("one")
    agent = Agent.resume(path, tools=[count, fail], endpoint=endpoint)
    assert (await agent.ask("two")).ok  # the strict server would refuse thinking of another prefix
    assert not any(b["type"] == "thinking" for m in agent.history for b in m["content"])
    again = Agent.resume(path, tools=[count, fail], endpoint=endpoint)
    assert again.history == agent.history


async def test_e17_resuming_runs_nothing_again(play, tmp_path):
    count, ran = counter()
    path = tmp_path / "t.jsonl"
    endpoint = play(call("Count", "Count"), say("Only now."))
    agent = Agent(tools=[count], endpoint=endpoint, transcript=path)
    async with aclosing(agent.run("go")) as events:
        async for event in events:
            if event.type == "tool.execution_complete":
                break
    resumed = Agent.resume(path, tools=[count], endpoint=endpoint)
    result = await resumed.ask("please go on")
    assert result.ok and len(ran) == 1
    first, second = resumed.history[2]["content"][:2]
    assert first["content"] == "run 1" and second["is_error"]


async def test_c42_replaying_a_transcript_needs_no_server_and_runs_no_tool(play, tmp_path):
    from agentlab.transcript import load

    count, ran = counter()
    path = tmp_path / "t.jsonl"
    endpoint = play(call("Count"), say("Done."))
    agent = Agent(tools=[count], endpoint=endpoint, transcript=path)
    live = [e async for e in agent.run("go") if not e.live]
    mark = endpoint.simulator.log.mark()
    assert json.loads(json.dumps([e.to_dict() for e in load(path).events])) == json.loads(
        json.dumps([e.to_dict() for e in live])
    )
    assert len(ran) == 1 and not endpoint.simulator.log.since(mark)


@pytest.mark.parametrize("part", ["limits", "retry", "compaction", "permissions", "hooks"])
@pytest.mark.parametrize("wrong", [True, "low"])
def test_a_part_of_another_type_is_refused_at_once(part, wrong):
    with pytest.raises(TypeError, match=rf"{part}=.*give it {part.capitalize()}\(\.\.\.\)"):
        Agent(**{part: wrong})
