"""A context shortened by the API, by a reply that no longer fitted, or because the user asks."""

import asyncio
from contextlib import aclosing

import pytest

from agentlab.agent import Agent
from agentlab.compaction import Compaction, validate
from agentlab.compaction.kept import LATEST, PINNED, pins_in
from agentlab.events import EVENTS
from agentlab.hooks import Hooks, on
from agentlab.messages import blocks_of, text_of
from agentlab.providers import connect
from agentlab.simulator.scenario import scenario
from agentlab.toolbox import file_tools
from agentlab.tools import tool
from agentlab.transcript import history_of, load

FILES = 8
TASK = f"read them all: {FILES}"


@pytest.fixture(autouse=True)
def scenarios(read_them_all):
    """Two more scenarios."""

    @scenario("crowded", opens=r"^say it in a full window")
    def crowded(chat):
        """Breaks off because the window is full, as long as it sees the old messages or is told."""
        if chat.decide(chat.sees("answer 0:") or "always" in chat.task):
            yield chat.say("It begins with").stop("model_context_window_exceeded")
        yield chat.say("It begins with A.")

    @scenario("again", opens=r"^read all pages, then")
    def again(chat):
        """Reads the first page once more at the end."""
        for number in [*range(FILES), 0]:
            yield chat.call("Read", file_path=f"f{number}.txt")
        yield chat.say("Done.")


@tool(name="Look", is_read_only=True)
def look(name: str) -> str:
    """Look at a file."""
    return f"PORT_{name.upper()} = 1\n" + "word " * 600


@tool(name="Look", is_read_only=True)
def look_at_much(name: str) -> str:
    """Look at a large file."""
    return f"PORT_{name.upper()} = 1\n" + "word " * 12_000


def agent(tools=(look,), **arguments):
    return Agent(tools=list(tools), max_tokens=1_000, endpoint=connect(), **arguments)


async def events_of(made, task=TASK):
    return [event async for event in made.run(task) if not event.live]


def of(events, *types):
    return [event for event in events if event.type in types]


async def test_what_the_api_cleared_is_told_before_the_reply(tmp_path):
    path = tmp_path / "run.jsonl"
    settings = Compaction("api", window=9_000, summary_tokens=400)
    events = await events_of(agent(compaction=settings, transcript=path))
    edited = of(events, "context.edited")
    assert edited
    for event in edited:
        assert set(event.data) == set(EVENTS["context.edited"])
        assert any(edit["cleared_input_tokens"] > 0 for edit in event.edits)
        after = events[events.index(event) + 1]
        assert (after.type, after.turn) == ("assistant.message", event.turn)
    kinds = {edit["type"] for event in edited for edit in event.edits}
    assert "clear_tool_uses_20250919" in kinds
    assert of(load(path).events, "context.edited")
    assert len(history_of(load(path).events)) == 2 * FILES + 2  # here it is whole


async def test_cancelled_when_the_apis_edits_are_told_the_transcript_holds_the_same(tmp_path):
    path = tmp_path / "run.jsonl"
    settings = Compaction("api", window=9_000, summary_tokens=400)
    made = agent(compaction=settings, transcript=path)
    async with aclosing(made.run(TASK)) as events:
        async for event in events:
            if event.type == "context.edited":
                break
    assert event.type == "context.edited"
    assert history_of(load(path).events) == made.history


@pytest.mark.parametrize("settings", [None, Compaction("api", window=9_000, summary_tokens=400)])
async def test_what_the_api_cleared_is_sent_again_when_it_is_read_again(tmp_path, settings):
    for number in range(FILES):
        (tmp_path / f"f{number}.txt").write_text(f"page {number}\n" + "word " * 600)
    made = agent(file_tools(tmp_path), compaction=settings)
    events = await events_of(made, "read all pages, then the first again")
    assert bool(of(events, "context.edited")) == bool(settings)
    last = text_of(made.history[-2]["content"][0])
    assert ("page 0" in last) == bool(settings)


async def test_a_summary_of_the_api_is_kept_and_the_pinned_constraints_are_said_again():
    settings = Compaction("api", at=0.5, window=100_000, keep_rounds=100, api_summary=True)
    made = agent([look_at_much], compaction=settings)
    made.pin("never touch legacy/")
    events = await events_of(made)
    summaries = [b for m in made.history for b in blocks_of(m) if b["type"] == "compaction"]
    assert summaries
    assert all(block["content"] for block in summaries)
    assert of(events, "session.end")[0].text == f"All {FILES} read; pinned: True"
    for index, message in enumerate(made.history[:-1]):
        if any(block["type"] == "compaction" for block in blocks_of(message)):
            told = [b["text"] for b in made.history[index + 1]["content"] if b["type"] == "text"]
            assert f"{PINNED}\n- never touch legacy/" in told
    assert validate(made.history) == []


async def test_with_the_next_task_a_constraint_is_said_again_if_the_api_dropped_it():
    history = [
        {"role": "user", "content": f"{TASK}\n{PINNED}\n- never touch legacy/"},
        {"role": "assistant", "content": [
            {"type": "compaction", "content": "All was read."}, {"type": "text", "text": "Done."},
        ]},
    ]  # fmt: skip
    made = agent(history=history, compaction=Compaction("api", api_summary=True))
    made.pin("never touch legacy/")
    await events_of(made, "and now?")
    said = [block["text"] for block in blocks_of(made.history[2]) if block["type"] == "text"]
    assert said == ["and now?", f"{PINNED}\n- never touch legacy/"]


@pytest.mark.parametrize("level", [None, "summary", "api"])
async def test_a_conversation_with_the_apis_summary_goes_on_where_it_is_not_asked_for(
    level, tmp_path
):
    settings = Compaction("api", at=0.5, window=100_000, keep_rounds=100, api_summary=True)
    await events_of(agent([look_at_much], compaction=settings, transcript=tmp_path / "run.jsonl"))
    later = Compaction(level) if level else None
    for _ in range(2):
        again = Agent.resume(tmp_path / "run.jsonl", tools=[look_at_much], compaction=later)
        assert (await again.ask("and now?")).ok
        assert history_of(load(tmp_path / "run.jsonl").events) == again.history


async def test_a_reply_that_the_full_window_cut_off_is_asked_for_again_after_a_compaction():
    made = agent(compaction=Compaction("truncate", keep=0.05, window=40_000))
    made.history.extend(_talk())
    events = await events_of(made, "say it in a full window")
    assert [event.reason for event in of(events, "context.compacted")] == ["refused"]
    assert of(events, "session.end")[0].status == "completed"
    assert [event.kept for event in of(events, "assistant.message")] == [False, True]
    assert text_of(made.history[-1]) == "It begins with A."


async def test_if_the_window_is_full_once_more_the_run_ends():
    made = agent(compaction=Compaction("truncate", keep=0.05, window=40_000))
    made.history.extend(_talk())
    events = await events_of(made, "say it in a full window, always")
    assert of(events, "session.end")[0].status == "window_exceeded"
    assert len(of(events, "assistant.message")) == 2


def _talk():
    for number in range(12):
        yield {"role": "user", "content": f"question {number}: " + "what " * 300}
        yield {"role": "assistant", "content": f"answer {number}: " + "that " * 300}


async def test_a_history_is_compacted_when_the_user_asks(tmp_path):
    path = tmp_path / "run.jsonl"
    heard = []

    @on("PreCompact")
    def before(event):
        heard.append((event["trigger"], event["custom_instructions"]))

    made = agent(transcript=path, hooks=Hooks([before]))
    made.pin("never touch legacy/")
    await events_of(made)
    old = len(made.history)
    events = await made.compact("the ports")
    assert [event.type for event in events][-1] == "context.compacted"
    assert events[-1].level == "summary"
    assert heard == [("manual", "the ports")]
    assert len(made.history) < old
    assert validate(made.history) == []
    assert history_of(load(path).events) == made.history
    done = await made.ask("anything else?")
    assert done.status == "completed"
    assert history_of(load(path).events) == made.history
    assert len(Agent.resume(path, tools=[look]).history) == len(made.history)


async def test_a_history_is_compacted_though_the_last_run_was_cancelled_within_a_call():
    made = agent()
    async with aclosing(made.run(TASK)) as events:
        async for event in events:
            if event.type == "assistant.message" and event.turn == FILES:
                break
    events = await made.compact()
    assert events[-1].type == "context.compacted"
    assert validate(made.history) == []
    assert (await made.ask(TASK)).ok


async def test_an_attempt_to_compact_after_a_cancelled_call_loses_nothing(tmp_path):
    path = tmp_path / "run.jsonl"
    no = Hooks([on("PreCompact", "", lambda e: {"decision": "block", "reason": "not now"})])
    made = agent(transcript=path, hooks=no)
    async with aclosing(made.run(TASK)) as events:
        async for event in events:
            if event.type == "assistant.message":
                break
    assert (await made.compact())[-1].type == "context.not_compacted"
    assert (await made.ask("hello")).ok
    assert len(made.history) > 3 and history_of(load(path).events) == made.history


async def test_what_was_taken_back_and_is_pinned_again_by_code_does_not_stop_a_compaction():
    made = agent()
    await made.ask(f"{TASK}\nPin: use tabs")
    await made.ask("hello\nUnpin: use tabs")
    made.pin("use tabs")
    assert (await made.compact())[-1].type == "context.compacted"
    assert made.pins == ("use tabs",)
    await made.ask("hello")
    assert pins_in(made.history) == ("use tabs",)


async def test_what_the_harness_said_last_is_not_kept_as_what_the_user_asked(tmp_path):
    path = tmp_path / "run.jsonl"
    made = agent(transcript=path, autopilot=True)
    await made.ask(TASK)
    await made.ask("hello, say something about cents")
    await made.ask("Pin: use tabs")  # with a nudge after it
    made = Agent.resume(path, tools=[look], compaction=Compaction(keep_rounds=0))
    [*_, compacted] = await made.compact()
    texts = [block.get("text") for block in compacted.messages[0]["content"]]
    assert texts[texts.index(LATEST) + 1] == "Pin: use tabs"


async def test_cancelled_right_after_a_compaction_the_transcript_holds_the_same_history(
    tmp_path,
):
    path, waiting = tmp_path / "run.jsonl", asyncio.Event()

    @on("PostCompact")
    async def hangs(event):
        waiting.set()
        await asyncio.sleep(60)

    settings = Compaction(window=9_000, summary_tokens=400)
    made = agent(compaction=settings, hooks=Hooks([hangs]), transcript=path)
    task = made.start(TASK)
    await asyncio.wait_for(waiting.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert of(load(path).events, "context.compacted")
    assert history_of(load(path).events) == made.history


async def test_that_it_began_is_told_at_once_and_that_a_hook_put_it_off_too():
    @on("PreCompact")
    def before(event):
        return {"decision": "block", "reason": "not now"}

    settings = Compaction(window=40_000, at=0.1)
    made = agent(compaction=settings, hooks=Hooks([before]))
    events = [event async for event in made.run(TASK)]
    began = [index for index, event in enumerate(events) if event.type == "context.compacting"]
    assert began
    told = of(events, "context.not_compacted")
    assert {event.problem for event in told} == {"put off by [hook before] not now"}
    assert len(told) == len(began)
    assert not of(events, "context.compacted")


async def test_what_cannot_be_made_shorter_stays_and_says_why():
    made = agent()
    assert [event.type for event in await made.compact()] == ["context.not_compacted"]
    await made.ask("hello")
    before = list(made.history)
    events = await made.compact()
    assert events[-1].type == "context.not_compacted"
    assert events[-1].problem
    assert list(made.history) == before


async def test_nothing_is_compacted_while_the_agent_is_at_work():
    made = agent()
    async for event in made.run(TASK):
        if event.type == "assistant.turn_start" and event.turn == 2:
            with pytest.raises(RuntimeError, match="at work"):
                await made.compact()
            break
