"""The context view over a run with compaction, previews and the cache."""

import html
import json
import re

import pytest

from agentlab.agent import Agent
from agentlab.compaction import Compaction
from agentlab.compaction.kept import PINNED, SUMMARY
from agentlab.compaction.levels import CLEARED
from agentlab.previews import preview
from agentlab.providers import connect
from agentlab.simulator.scenario import _REGISTRY, all_scenarios, scenario
from agentlab.tools import tool
from agentlab.transcript import load
from agentlab.views.context import ContextPicture, context_html, context_text
from agentlab.views.inspector import inspector_text
from agentlab.views.page import page
from agentlab.views.requests import dollars_by_kind, tokens_by_kind
from agentlab.views.timeline import TimelinePicture, timeline_text
from agentlab.views.widgets import Context
from agentlab.views.wire import Wire
from agentlab.views.wire_kinds import kind_of
from agentlab.views.wording import THIN

FILES = 12


@tool(name="Look", is_read_only=True)
def look(name: str) -> str:
    """Look at a file."""
    return f"PORT_{name.upper()} = 1\n" + "word " * 600


@pytest.fixture
def long_run(tmp_path):
    """``await long_run(level)``: the events of a real run, its transcript, and what was sent."""
    all_scenarios()
    before = dict(_REGISTRY)

    @scenario("xray-files", opens=r"^look at them all")
    def many(chat):
        """Looks at files one after the other."""
        for number in range(FILES):
            yield chat.think(f"File {number}.").call("Look", name=f"f{number}")
        yield chat.say("All read.")

    async def run(level="summary"):
        endpoint, path = connect(speed=0), tmp_path / "run.jsonl"
        mark = endpoint.simulator.log.mark()
        agent = Agent(
            tools=[look], endpoint=endpoint, max_tokens=1_000, system="Be careful. " * 200,
            compaction=Compaction(level, window=14_000, summary_tokens=400), transcript=path,
        )  # fmt: skip
        agent.pin("never touch legacy/")
        events = [event async for event in agent.run("look at them all")]
        log = endpoint.simulator.log
        entries = [entry for entry in log.since(mark) if entry.scenario != "summary"]
        return events, load(path).events, [log.body(entry.number) for entry in entries]

    yield run
    _REGISTRY.clear()
    _REGISTRY.update(before)


def unmarked(value):
    """A request without the marks for the cache, which are in no event."""
    if isinstance(value, dict):
        return {k: unmarked(v) for k, v in value.items() if k != "cache_control"}
    return [unmarked(item) for item in value] if isinstance(value, list) else value


def compacted(stream, **data):
    """A hand-made run: a turn that reads a value and a file, then a compaction."""
    run = stream().start("Look at a.txt.\nPin: be kind")
    run.turn_of("Hm.", "Ok.", [("Read", {"file_path": "a.txt"})])
    run.events[-2].data["content"] = "API_PORT = 8443"
    blocks = [{"type": "text", "text": "Look at a.txt.\nPin: be kind"}]
    blocks.append({"type": "text", "text": f"{PINNED}\n- be kind"})
    blocks.append({"type": "text", "text": f"{SUMMARY}\nIt was looked at a.txt."})
    about = {"level": "summary", "reason": "share", "before_tokens": 900, "after_tokens": 200}
    about |= {"dropped": 3, "summary": "It was looked at a.txt.", "messages": [
        {"role": "user", "content": blocks}]}  # fmt: skip
    run.add("context.compacted", **{**about, **data})
    run.turn_of(text="Done.", input_tokens=200)
    next(e for e in reversed(run.events) if e.type == "assistant.turn_start").data["messages"] = 1
    return run.end()


def bare(page):
    page = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)).replace(THIN, " ")


async def test_requests_after_a_compaction_are_those_that_the_server_got(long_run):
    events, stored, bodies = await long_run()
    for told in (events, stored):
        wire = Wire(told)
        assert wire.compactions and len(wire.requests) == len(bodies) > FILES
        for request, body in zip(wire.requests, bodies, strict=True):
            sent = [wire.message(n) for n in [*request.before[: request.sent], *request.new]]
            assert unmarked(sent) == unmarked(body["messages"]), request.number
            assert request.missing == 0


@pytest.mark.parametrize("level", ["summary", "clear", "truncate"])
async def test_a_compaction_is_a_step_with_its_numbers_and_facts(long_run, level):
    events, _, _ = await long_run(level)
    wire = Wire(events)
    made = wire.compactions[0]
    [event, *_] = [e for e in events if e.type == "context.compacted"]
    assert (made.level, made.before, made.after, made.dropped) == (
        event.level, event.before_tokens, event.after_tokens, event.dropped,
    )  # fmt: skip
    assert wire.steps.index(made) == made.place
    after = wire.steps[made.place + 1]
    assert after.tokens < 0.8 * made.before and after.sent == 0
    facts = {fact.text: fact.kept for fact in made.facts}
    assert facts["never touch legacy/"] and "PORT_F0 = 1" in facts
    if level == "truncate":
        assert not facts["PORT_F0 = 1"]
        assert "Lost: value PORT_F0 = 1" in bare(context_html(events))
    if level == "clear":
        assert tokens_by_kind(after)["cleared"] > 0
    if level == "summary":
        assert {"summary", "pinned"} <= set(tokens_by_kind(after))


def test_what_was_dropped_and_what_survived_stands_below(stream):
    words = bare(context_html(compacted(stream).events))
    assert "Compaction 1: 900 to ~200 tokens (summary), 3 messages dropped, 2 of 3 facts" in words
    assert "Dropped blocks: thinking 1, assistant text 1, tool calls 1, tool results 1" in words
    assert "Lost: value API_PORT = 8443" in words
    assert "Survived: pinned be kind ; file a.txt" in words


def test_a_compaction_is_a_row_with_the_window_before_and_after(stream):
    page_of = context_html(compacted(stream).events)
    [row] = re.findall(r'<tr class="agentlab-compacted".*?</tr>', page_of)
    assert "before 900 ; after 200" in bare(row) and "~200" in bare(row)
    text = context_text(compacted(stream).events)
    assert "compacted: 900 to ~200 tokens (summary), 3 messages dropped, 2 of 3 facts kept" in text
    assert max(map(len, text.split("\n")[:-1])) <= 100


def test_the_gauge_stands_against_the_window_and_the_trigger_of_the_run(stream):
    run = stream().start(compaction={"window": 1_000, "trigger": 800}).turn_of(text="x")
    run.turn_of(text="y", input_tokens=250)
    words = ContextPicture(run.end().events).head()
    assert "250 of 1\u202f000 tokens, compaction is due at 800" in words
    assert "left:80.00%" in words and "25\u202f% of the 1\u202f000" in words


def test_without_word_of_the_run_the_gauge_has_the_models_window(stream):
    run = stream().start().turn_of(text="x").end()
    head = ContextPicture(run.events).head()
    assert "compaction is due" not in head and "agentlab-gauge" in head
    unknown = stream().start(model="some-other-model").turn_of(text="x").end()
    assert "agentlab-gauge" not in ContextPicture(unknown.events).head()


def test_dollars_by_kind_add_up_to_what_the_input_cost(stream):
    run = stream().start("Count.", system="Be brief. " * 20)
    run.turn_of("Hm.", "Ok.", [("Read", {"file_path": "a"})], cache_write_5m_tokens=50)
    run.turn_of(text="Done.", input_tokens=100, cache_read_tokens=250)
    wire = Wire(run.end().events)
    for request in wire.requests:
        assert sum(dollars_by_kind(request).values()) == pytest.approx(request.cost)
    whole = sum(request.cost for request in wire.requests)
    assert sum(wire.requests[-1].paid.values()) == pytest.approx(whole)


def test_a_result_is_known_as_a_preview_or_as_cleared():
    def result(text):
        return kind_of("user", {"type": "tool_result", "tool_use_id": "t", "content": text})

    long = "line\n" * 5_000
    assert result(preview(long, ".agentlab/results/1.txt")) == "preview"
    assert result(CLEARED) == "cleared"
    assert result("characters left out") == result(f"{CLEARED} more") == "tool_result"


def test_only_what_the_user_role_says_is_a_summary_or_pinned():
    for role, kind in (("user", "summary"), ("assistant", "text")):
        assert kind_of(role, {"type": "text", "text": f"{SUMMARY}\nx"}) == kind
    assert kind_of("user", {"type": "text", "text": f"{PINNED}\n- x"}) == "pinned"


def test_every_step_carries_its_numbers_for_the_slider_and_a_stored_page_does_not(stream):
    run = compacted(stream)
    live = page(ContextPicture(run.events), interactive=True)
    steps = [json.loads(html.unescape(data)) for data in re.findall(r'data-x="([^"]*)"', live)]
    assert [title.split(":")[0] for title, _ in steps] == ["Request 1", "Compaction 1", "Request 2"]
    assert ["#000000", "summary"] in [row[:2] for row in steps[2][1]]
    assert "data-x" not in context_html(run.events) and "agentlabXray" in live


def test_the_live_rows_come_in_order_and_each_once(stream):
    view, rows = Context(), []
    view.send = lambda patch: rows.extend(patch["rows"])
    for event in compacted(stream).events:
        view.add(event)
        view.flush()
    assert sorted(set(rows)) == [0, 1, 2] and rows.count(1) == 1


@pytest.mark.parametrize("messages", [None, "x", 3, {}, [None, 3, {"role": "x"}], []])
def test_a_torn_compaction_is_no_error(stream, messages):
    run = compacted(stream, messages=messages, before_tokens="x", dropped=None, summary=3)
    assert "Request" in context_html(run.events) and context_text(run.events)
    assert timeline_text(run.events)


def test_hostile_words_of_a_compaction_are_not_run(stream):
    bad = "</style><script>alert(1)</script>\"'><img src=x onerror=y>"
    run = compacted(stream, level=bad, summary=bad, reason=bad)
    run.events[1].data["message"]["content"][0]["text"] = f"Pin: {bad}\nXY = {bad}"
    whole = context_html(run.events)
    assert "<script" not in whole and "<img" not in whole
    assert page(ContextPicture(run.events), interactive=True).count("<script") == 1


# ------------------------------------------------------------------------------ in the timeline


def test_a_compaction_is_a_bar_in_the_turn_that_it_made_room_for(stream):
    run = stream().start().turn_of(text="x")
    run.now += 2.0
    run.add("model.side_call", purpose="summary", model="m", usage={}, cost_usd=0.0)
    run.add(
        "context.compacted", level="summary", reason="share", before_tokens=900,
        after_tokens=200, dropped=3, summary="s", messages=[],
    )  # fmt: skip
    layout = TimelinePicture(run.turn_of(text="y").end().events).layout
    assert [row.turn for row in layout.rows if row.kind == "turn"] == [1, 2]
    first, *rest = layout.rows[-1].bars
    assert (first.kind, first.end - first.start) == ("summary", pytest.approx(2.0))
    assert {bar.kind for bar in rest} == {"wait", "text"} and "2 turns" in layout.ending()
    assert "S compacting 2.0 s" in timeline_text(run.events)


def test_a_request_that_was_too_long_is_seen_to_fail(stream):
    run = stream().start().turn_of(text="x").open()
    run.add(
        "context.compacted", level="clear", reason="refused", before_tokens=900,
        after_tokens=200, dropped=3, summary="", messages=[],
    )  # fmt: skip
    run.turn -= 1
    layout = TimelinePicture(run.turn_of(text="y").end().events).layout
    refused = layout.rows[-2].bars
    assert [(bar.kind, bar.status) for bar in refused] == [("wait", "failed"), ("summary", "done")]


def test_a_warning_about_the_budget_is_a_line_of_the_harness(stream):
    run = stream().start().turn_of(text="x").add("budget.warning", text="80 % spent", share=0.8)
    assert "harness  80 % spent" in timeline_text(run.end().events)


def test_the_inspector_says_why_all_messages_are_new(stream):
    text = inspector_text(compacted(stream).events)
    assert text.count("after a compaction all of them new") == 1
    assert "1 message, after a compaction all of them new" in text


def test_a_compaction_that_failed_says_so(stream):
    run = stream().start().turn_of(text="x")
    run.add("context.not_compacted", reason="share", problem="no room", tokens=9)
    assert "harness  not compacted: no room" in timeline_text(run.end().events)
