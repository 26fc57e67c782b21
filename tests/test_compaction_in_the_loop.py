"""Compaction in a run: before a request, told as events, paid for, and never in the way."""

import asyncio
import itertools

import anthropic
import httpx2
import pytest

from agentlab.agent import Agent
from agentlab.compaction import Compaction, pinned, pins_in, size, text_in, validate
from agentlab.compaction.kept import UNPINNED
from agentlab.events import EVENTS
from agentlab.hooks import Hooks, on
from agentlab.limits import Limits
from agentlab.messages import text, text_of
from agentlab.providers import connect
from agentlab.side_calls import SideCallFailed, SideCalls
from agentlab.stream import Reply
from agentlab.tools import tool
from agentlab.transcript import history_of, load

FILES = 14
TASK = f"read them all: {FILES}"
pytestmark = pytest.mark.usefixtures("read_them_all")


@tool(name="Look", is_read_only=True)
def look(name: str) -> str:
    """Look at a file."""
    return f"PORT_{name.upper()} = 1\n" + "word " * 600


def agent(**arguments):
    settings = arguments.pop("compaction", Compaction(window=16_000, summary_tokens=400))
    return Agent(
        tools=[look], compaction=settings, max_tokens=1_000, endpoint=connect(), **arguments
    )


async def events_of(made, task=TASK):
    return [event async for event in made.run(task) if not event.live]


def of(events, *types):
    return [event for event in events if event.type in types]


async def test_a_long_run_goes_on_to_its_end_in_a_small_window():
    made = agent()
    made.pin("never touch legacy/")
    mark = made.endpoint.simulator.log.mark()
    events = await events_of(made)
    assert of(events, "session.end")[0].text == f"All {FILES} read; pinned: True"
    compacted = of(events, "context.compacted")
    assert len(compacted) >= 1
    assert {event.level for event in compacted} == {"summary"}
    entries = made.endpoint.simulator.log.since(mark)
    assert len(entries) == FILES + 1 + len(of(events, "model.side_call"))
    assert {entry.status for entry in entries} == {200}
    assert all(entry.input_tokens + entry.cache_read_tokens < 16_000 for entry in entries)
    for event in compacted:
        assert event.after_tokens < 0.8 * event.before_tokens
        assert validate(event.messages) == []
        assert set(event.data) == set(EVENTS["context.compacted"])
    costs = [e.cost_usd for e in of(events, "assistant.turn_end", "model.side_call")]
    assert of(events, "session.end")[0].cost_usd == pytest.approx(sum(costs))


@pytest.mark.parametrize("level", ["clear", "truncate", "api"])
async def test_the_other_levels_get_there_too(level):
    events = await events_of(agent(compaction=Compaction(level, window=16_000)))
    assert of(events, "session.end")[0].text.startswith(f"All {FILES} read")


async def test_d11_a_compaction_is_not_followed_by_another_one_in_the_next_turn():
    events = await events_of(agent())
    turns = [event.turn for event in of(events, "context.compacted")]
    assert all(later - earlier > 1 for earlier, later in itertools.pairwise(turns))


async def test_d09_an_overhead_above_the_threshold_is_told_once_and_the_turns_go_on():
    made = agent(system="Be brief. " * 6_000, compaction=Compaction(window=32_000, at=0.5))
    events = await events_of(made)
    assert len(of(events, "context.compacted")) <= 1
    told = of(events, "context.not_compacted")
    assert "cannot be reached: system prompt and tools take" in told[0].problem
    assert len(of(events, "assistant.turn_end")) >= 3
    assert events[-2].type == "session.end" or events[-1].type == "session.end"


async def test_d13_a_result_larger_than_the_window_does_not_end_the_run():
    made = agent(compaction=Compaction(window=9_000, summary_tokens=400))
    made.tools["Look"] = _huge()
    mark = made.endpoint.simulator.log.mark()
    events = await events_of(made)
    assert of(events, "session.end")[0].text.startswith(f"All {FILES} read")
    entries = made.endpoint.simulator.log.since(mark)
    main = [entry for entry in entries if entry.scenario != "summary"]
    assert all(entry.input_tokens + entry.cache_read_tokens < 9_000 for entry in main)


def _huge():
    @tool(name="Look", is_read_only=True)
    def look(name: str) -> str:
        """Look at a file."""
        return f"{name} " * 9_000

    return look


async def test_d21_without_a_summary_the_next_level_is_taken_and_the_attempt_is_told(monkeypatch):
    async def fails(self, purpose, prompt, **about):
        raise SideCallFailed("overloaded", self._event(purpose, _nothing()))

    monkeypatch.setattr(SideCalls, "ask", fails)
    events = await events_of(agent())
    assert of(events, "session.end")[0].text.startswith(f"All {FILES} read")
    assert {event.level for event in of(events, "context.compacted")} <= {"clear", "truncate"}
    assert of(events, "model.side_call")


def _nothing():
    from agentlab.costs import NO_USAGE

    return NO_USAGE


async def test_hooks_hear_of_it_may_put_it_off_and_say_what_matters():
    heard = []

    def before(event):
        heard.append((event["hook_event_name"], event["trigger"]))
        return {"decision": "block", "reason": "not now"} if len(heard) == 1 else None

    def after(event):
        heard.append((event["hook_event_name"], "Facts:" in event["compact_summary"]))

    hooks = Hooks([on("PreCompact", "", before), on("PostCompact", "", after)])
    events = await events_of(agent(hooks=hooks, compaction=Compaction(window=40_000, at=0.1)))
    assert heard[0] == ("PreCompact", "auto")
    assert ("PostCompact", True) in heard
    assert heard.count(("PreCompact", "auto")) >= 2
    assert len(of(events, "context.compacted")) == heard.count(("PostCompact", True))


async def test_a_transcript_holds_the_new_history_and_is_resumed_from_it(tmp_path):
    made = agent(transcript=tmp_path / "run.jsonl")
    made.pin("never touch legacy/")
    await events_of(made)
    assert history_of(load(tmp_path / "run.jsonl").events) == made.history
    again = Agent.resume(tmp_path / "run.jsonl", tools=[look], compaction=Compaction(window=16_000))
    assert "never touch legacy/" in text_in(list(again.history))
    result = await again.ask(TASK)
    assert result.ok


async def test_a_strict_budget_is_kept_for_the_request_that_will_really_be_sent():
    settings = Compaction("truncate", window=16_000)
    free = await agent(compaction=settings).ask(TASK)
    first = of(free.events, "context.compacted")[0]
    place = free.events.index(first)
    spent = of(free.events[:place], "assistant.turn_end")[-1].total_usage
    used = sum(spent[name] for name in spent if name != "thinking_tokens")
    room = used + first.before_tokens + 1_000  # for the reply; too little for the old prompt
    made = agent(compaction=settings, limits=Limits(tokens=room, mode="strict"))
    events = await events_of(made)
    assert of(events, "context.compacted")
    assert of(events, "session.end")[0].status == "token_limit"
    assert of(events, "assistant.turn_start")[-1].turn > first.turn


async def test_a_strict_budget_that_has_no_room_for_a_summary_gets_what_costs_nothing():
    free = await agent().ask(TASK)
    first = of(free.events, "context.compacted")[0]
    spent = of(free.events[: free.events.index(first)], "assistant.turn_end")[-1].total_usage
    used = sum(spent[name] for name in spent if name != "thinking_tokens")
    limits = Limits(tokens=used + 2_000, mode="strict")  # no room for the old prompt
    result = await agent(limits=limits).ask(TASK)
    [compacted] = of(result.events, "context.compacted")
    assert compacted.level == "clear" and "no budget" in compacted.tried[0]
    assert result.usage.total_tokens <= limits.tokens


async def test_cancelling_during_a_summary_leaves_the_old_history():
    made = agent()
    waiting = asyncio.Event()

    async def hangs(self, purpose, prompt, **about):
        waiting.set()
        await asyncio.sleep(60)

    original, SideCalls.ask = SideCalls.ask, hangs
    try:
        task = made.start(TASK)
        await asyncio.wait_for(waiting.wait(), 20)
        before = list(made.history)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    finally:
        SideCalls.ask = original
    assert list(made.history) == before
    assert validate(made.history) == []
    assert (await made.ask(TASK)).ok


async def test_a_prompt_that_the_server_refuses_as_too_long_is_compacted_and_sent_again(
    monkeypatch,
):
    made = agent(compaction=Compaction(window=90_000, keep_rounds=2))
    refused = []
    original = made.endpoint.client().messages.create

    async def create(**request):  # a server whose window is smaller than we think
        if request.get("tools") and size(request["messages"]) > 6_000:
            refused.append(request)
            body = {"error": {"message": "prompt is too long: 9999 tokens > 6000 maximum"}}
            response = httpx2.Response(400, request=httpx2.Request("POST", "http://x"), json=body)
            raise anthropic.BadRequestError(body["error"]["message"], response=response, body=body)
        return await original(**request)

    monkeypatch.setattr(made.endpoint.client().messages, "create", create)
    events = await events_of(made)
    assert of(events, "session.end")[0].text.startswith(f"All {FILES} read")
    assert {event.reason for event in of(events, "context.compacted")} == {"refused"}
    assert len(of(events, "context.compacted")) == len(refused)
    assert [e.turn for e in of(events, "assistant.turn_end")] == list(range(1, FILES + 2))


def test_a_pin_is_one_line():
    made = agent()
    for wrong in ("", " \n ", "one\ntwo"):
        with pytest.raises(ValueError, match="one line"):
            made.pin(wrong)


async def test_a_pin_is_told_with_the_next_task_and_only_once():
    made = agent()
    made.pin("use tabs")
    await made.ask("hello")
    await made.ask("hello again")
    told = [text_of(m) for m in made.history if m["role"] == "user"]
    assert sum("- use tabs" in text for text in told) == 1


async def test_a_pin_that_is_taken_back_is_told_with_the_next_task_and_only_once():
    made = agent()
    made.pin("use tabs")
    await made.ask("hello\nPin: no new types")
    assert set(made.pins) == {"no new types", "use tabs"}
    made.unpin("use tabs")
    made.unpin(" no new types ")
    assert made.pins == ()
    await made.ask("hello again")
    await made.ask("and again")
    told = [text_of(m) for m in made.history if m["role"] == "user"]
    assert [text.count(UNPINNED) for text in told] == [0, 1, 0]
    assert made.pins == pins_in(made.history) == ()


async def test_a_pin_that_is_taken_back_stays_away_after_compaction_and_resume(tmp_path):
    made = agent(transcript=tmp_path / "run.jsonl")
    made.pin("use tabs")
    await made.ask("hello\nPin: never touch legacy/")
    made.unpin("never touch legacy/")
    events = await events_of(made)
    assert of(events, "context.compacted")
    assert of(events, "session.end")[0].text == f"All {FILES} read; pinned: True"
    again = Agent.resume(tmp_path / "run.jsonl", tools=[look], compaction=Compaction(window=16_000))
    assert again.pins == ("use tabs",)
    await again.compact()
    assert again.pins == ("use tabs",)


async def test_what_is_pinned_again_holds_again():
    made = agent()
    made.pin("use tabs")
    made.unpin("use tabs")
    made.pin("use tabs")
    await made.ask("hello")
    made.unpin("use tabs")
    await made.ask("hello again")
    await made.ask("Pin: use tabs")
    await made.ask("and again")
    assert made.pins == pins_in(made.history) == ("use tabs",)


async def test_the_words_of_a_task_are_later_than_what_code_said_before_it():
    made = agent()
    made.pin("use tabs")
    await made.ask("hello\nUnpin: use tabs")
    assert made.pins == pins_in(made.history) == ()
    await made.ask("hello\nPin: use tabs")
    made.unpin("use tabs")
    await made.ask("hello again\nPin: use tabs")
    assert made.pins == pins_in(made.history) == ("use tabs",)


async def test_the_user_may_take_back_what_was_pinned_from_code(tmp_path):
    made = agent(transcript=tmp_path / "run.jsonl")
    made.pin("use tabs")
    made.pin("never touch legacy/")
    await made.ask("hello")
    events = await events_of(made, f"{TASK}\nUnpin: use tabs")
    front = of(events, "context.compacted")[-1].messages[0]["content"]
    assert text(pinned(["never touch legacy/"])) in front
    assert made.pins == pins_in(made.history) == ("never touch legacy/",)
    made.pin("use tabs")
    await made.ask("hello")
    again = Agent.resume(tmp_path / "run.jsonl", tools=[look])
    assert set(again.pins) == set(made.pins) == {"never touch legacy/", "use tabs"}


async def test_a_pin_waits_for_a_task_that_a_hook_lets_through():
    answers = iter([None, {"decision": "block", "reason": "no"}, None])
    made = agent(hooks=Hooks([on("UserPromptSubmit", "", lambda event: next(answers))]))
    made.pin("use tabs")
    await made.ask("hello")
    made.unpin("use tabs")
    made.pin("no new types")
    assert (await made.ask("hello")).status == "blocked"
    assert pins_in(made.history) == ("use tabs",)
    await made.ask("hello")
    assert made.pins == pins_in(made.history) == ("no new types",)


def test_what_is_not_pinned_cannot_be_taken_back_and_the_error_says_what_can():
    made = agent()
    made.pin("use tabs")
    with pytest.raises(ValueError, match=r"not pinned: 'tabs'; pinned: use tabs"):
        made.unpin("tabs")


async def test_a_call_id_is_never_used_again_though_its_call_was_dropped(monkeypatch):
    taken = []
    mend = Reply.distinct_ids
    monkeypatch.setattr(
        Reply, "distinct_ids", lambda reply, seen: (taken.append(set(seen)), mend(reply, seen))
    )
    made = agent()
    events = await events_of(made)
    assert of(events, "context.compacted")
    calls = {event.tool_use_id for event in of(events, "tool.execution_start")}
    assert len(calls) == FILES and calls <= taken[-1]  # a preview belongs to an id
