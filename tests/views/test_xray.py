"""The context view over a run with compaction, previews and the cache."""

import html
import itertools
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab.agent import Agent
from agentlab.compaction import Compaction
from agentlab.compaction.kept import PINNED, SUMMARY
from agentlab.compaction.levels import CLEARED
from agentlab.costs import Usage, dollars, price
from agentlab.models import default_model
from agentlab.previews import preview
from agentlab.providers import connect
from agentlab.simulator.scenario import scenario
from agentlab.tokens import CHARS_PER_TOKEN
from agentlab.tools import tool
from agentlab.transcript import load
from agentlab.views.compactions import note_of
from agentlab.views.context import ContextPicture, context_html, context_text
from agentlab.views.inspector import inspector_text
from agentlab.views.meter import meter_html, meter_text
from agentlab.views.page import FIRST_ROWS, LAST_ROWS, page
from agentlab.views.requests import tokens_by_kind
from agentlab.views.timeline import TimelinePicture, timeline_text
from agentlab.views.widgets import Context
from agentlab.views.wire import Wire
from agentlab.views.wire_kinds import kind_of
from agentlab.views.wording import THIN, tokens
from agentlab.views.xray import state_of

FILES = 12
TURN = st.fixed_dictionaries(
    {
        "thinking": st.text("abc ", max_size=20),
        "text": st.text("abc ", max_size=20),
        "calls": st.lists(st.sampled_from([("Read", {"file_path": "a"}), ("LS", {})]), max_size=3),
        "cache_read_tokens": st.integers(0, 500),
        "cache_write_5m_tokens": st.integers(0, 500),
    }
)


@tool(name="Look", is_read_only=True)
def look(name: str) -> str:
    """Look at a file."""
    return f"PORT_{name.upper()} = 1\n" + "word " * 600


@pytest.fixture
def long_run(tmp_path, own_scenarios):
    """``await long_run(level)``: the events of a real run, its transcript, and what was sent."""

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
        run.entries = log.since(mark)
        entries = [entry for entry in run.entries if entry.scenario != "summary"]
        return events, load(path).events, [log.body(entry.number) for entry in entries]

    return run


def numbers(view):
    """The cells with numbers of each row that has some."""
    rows = re.findall(r"<tr[ >].*?</tr>", view)
    cells = [re.findall(r'<td class="agentlab-number"[^>]*>(.*?)</td>', row) for row in rows]
    return [row for row in cells if row]


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


async def test_the_numbers_that_are_shown_are_those_of_the_servers_log(long_run, used):
    events, stored, _ = await long_run()
    bills = [used(entry) for entry in long_run.entries]
    turns = [
        bill for bill, e in zip(bills, long_run.entries, strict=True) if e.scenario != "summary"
    ]
    for told in (events, stored):
        rows = [row for row in numbers(context_html(told)) if row[0][0] != "~"]
        assert [row[:2] for row in rows] == [
            [tokens(usage.prompt_tokens), tokens(usage.cache_read_tokens)] for usage, _ in turns
        ]
        inputs = [price(replace(usage, output_tokens=0), default_model()) for usage, _ in turns]
        assert [row[3] for row in rows] == [dollars(cost) for cost in inputs]

        sums = list(itertools.accumulate(cost for _, cost in bills))
        calls, lines = numbers(meter_html(told))[: len(bills)], numbers(meter_html(told))[-2:]
        assert calls == [
            [
                tokens(usage.prompt_tokens),
                tokens(usage.output_tokens),
                dollars(cost),
                dollars(so_far),
            ]
            for (usage, cost), so_far in zip(bills, sums, strict=True)
        ]
        whole = sum((usage for usage, _ in bills), Usage())
        without = dollars(sum(price(u.uncached(), e.model) for (u, _), e in
                              zip(bills, long_run.entries, strict=True)))  # fmt: skip
        for view in (bare(meter_html(told)), meter_text(told).replace(THIN, " ")):
            assert dollars(sums[-1]) in view and without in view
            assert tokens(whole.prompt_tokens, " ") in view
        assert [line[:2] for line in lines] == [
            [str(len(turns)), tokens(sum(usage.prompt_tokens for usage, _ in turns))],
            ["1", tokens(whole.prompt_tokens - sum(u.prompt_tokens for u, _ in turns))],
        ]


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


@pytest.mark.parametrize("level", ["summary", "clear", "truncate"])
async def test_a_compaction_is_shown_with_all_that_was_in_the_window(long_run, level):
    events, _, _ = await long_run(level)
    wire = Wire(events)
    made = wire.compactions[0]
    before, after = (wire.steps[made.place + step] for step in (-1, 1))
    held = wire.blocks(before)[: made.carried] + made.blocks
    assert [block.kind for block in held[-2:]] == ["tool_call", "tool_result"]
    assert held[-1] in wire.blocks(after), "the last round was never sent before, and is kept"
    assert {each.block for each in made.gone} < {*held}
    assert before.scale()[0] * sum(block.estimate for block in held) == pytest.approx(
        made.before, rel=0.01
    )
    [step] = [step for step in data_in(page(ContextPicture(events), True)) if "gone" in step][:1]
    assert [block[0] for block in step["blocks"]] == [block.number for block in made.blocks]
    assert step["carried"] == made.carried


def test_compacted_twice_in_a_row_the_prompt_is_still_there(stream):
    run = compacted(stream, dropped=1)
    [first] = [event for event in run.events if event.type == "context.compacted"]
    run.events.insert(run.events.index(first), first)
    run.events[0].data.update(system="Be brief.")
    wire = Wire(run.events)
    assert len(wire.compactions) == 2 and wire.compactions[1].gone == []
    [before] = [b for b in wire.blocks(wire.requests[0]) if b.kind == "system"]
    assert before in wire.blocks(wire.requests[1]) and before.first == 1


def test_what_was_dropped_and_what_survived_stands_below(stream):
    words = bare(context_html(compacted(stream).events))
    assert "Compaction 1: 900 to ~200 tokens (summary), 3 messages dropped, 2 of 3 facts" in words
    assert "Dropped blocks: thinking 1, assistant text 1, tool calls 1, tool results 1" in words
    assert "tool results Read a.txt → API_PORT = 8443" in words.split("Dropped blocks")[1]
    assert "Lost: value API_PORT = 8443" in words
    assert "Survived: pinned be kind ; file a.txt" in words


def test_of_many_dropped_blocks_the_first_are_listed(stream):
    run = stream().start("Look.")
    for number in range(10):
        run.turn_of("Hm.", calls=[("Read", {"file_path": f"{number}.txt"})])
    run.add("context.compacted", level="truncate", reason="share", before_tokens=900, dropped=20,
            after_tokens=20, summary="", messages=[run.events[1].data["message"]])  # fmt: skip
    words = bare(context_html(run.end().events))
    tab = words.split("Dropped blocks: ")[1]
    assert tab.startswith("thinking 10, tool calls 10, tool results 10")
    assert "Read 6.txt" in tab and "Read 7.txt" not in tab and "… and 10 more, " in tab


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


def paid_by_kind(blocks):
    sums = {}
    for block in blocks:
        sums[block.kind] = sums.get(block.kind, 0.0) + block.paid
    return sums


@given(turns=st.lists(TURN, min_size=1, max_size=5), again=st.booleans())
def test_dollars_of_blocks_add_up_by_kind_and_to_what_the_input_cost(stream, turns, again):
    run = stream().start("Count.", system="Be brief. " * 20, tools=[{"name": "Read"}])
    for turn in turns:
        run.turn_of(**turn)
    if again:  # another prompt: all is sent anew
        run.end().start("And now?", system="Be long.", history=[]).turn_of(text="Well.")
    wire = Wire(run.end().events)
    seen = {}
    for request in wire.requests:
        blocks = wire.blocks(request)
        seen |= {block.number: block for block in blocks}
        slices = list(request.slices(blocks))
        assert sum(each.tokens for each in slices) == pytest.approx(request.tokens)
        assert sum(each.cached for each in slices) == pytest.approx(request.cached)
    last, paid = wire.requests[-1], paid_by_kind(seen.values())
    assert paid == pytest.approx(last.paid)
    assert sum(paid.values()) == pytest.approx(sum(request.cost for request in wire.requests))


@pytest.mark.parametrize("level", ["summary", "clear", "truncate"])
async def test_blocks_go_on_costing_over_compactions(long_run, level):
    events, _, _ = await long_run(level)
    wire = Wire(events)
    seen = {block.number: block for r in wire.requests for block in wire.blocks(r)}
    whole = sum(request.cost for request in wire.requests)
    assert sum(block.paid for block in seen.values()) == pytest.approx(whole)
    assert paid_by_kind(seen.values()) == pytest.approx(wire.requests[-1].paid)
    there = wire.blocks(wire.requests[-1])
    [task] = [block for block in there if block.kind == "user"]
    assert (task.first, task.gist) == (1, "look at them all")
    gone = {each.block.number for each in wire.compactions[-1].gone}
    assert gone and not gone & {block.number for block in there}


def test_blocks_stand_in_the_order_of_the_window_and_say_what_they_are(stream):
    tools = [{"name": "Read", "description": "Read a file."}]
    run = stream().start("Count \n the words.", system="Be brief.", tools=tools)
    run.turn_of("Hm.", "Ok.", [("Read", {"file_path": "src/app.py"})]).turn_of(text="Done.")
    wire = Wire(run.end().events)
    assert [(b.kind, b.gist, b.first) for b in wire.blocks(wire.requests[1])] == [
        ("tools", "Read: Read a file.", 1),
        ("system", "Be brief.", 1),
        ("user", "Count the words.", 1),
        ("thinking", "Hm.", 2),
        ("text", "Ok.", 2),
        ("tool_call", "Read src/app.py", 2),
        ("tool_result", "Read src/app.py → result 0", 2),
    ]


def test_each_block_says_what_the_cache_did_for_it(stream):
    run = stream().start("Count. " * 20).turn_of("Hm. " * 30, "Ok. " * 30, [("Read", {})])
    run.turn_of(text="x", calls=[("LS", {})], input_tokens=250, cache_read_tokens=150)
    run.turn_of(text="y", input_tokens=500)
    wire = Wire(run.end().events)
    second, third = wire.requests[1:]

    def states(request):
        return [
            state_of(each, request).replace(THIN, " ")
            for each in request.slices(wire.blocks(request))
        ]

    told = states(second)
    assert (told[0], told[-1]) == ("cached", "new") and re.fullmatch(r"\d+ % cached", told[1])
    assert states(third)[0] == "not cached" and states(third)[-1] == "new"


def test_a_request_that_was_lost_and_sent_again_has_its_blocks_once(stream):
    run = stream().start("Count.").turn_of("Hm.", "Ok.", [("Read", {})]).open()
    run.turn -= 1
    run.turn_of(text="Done.")
    wire = Wire(run.end().events)
    _, lost, again = wire.requests
    assert (lost.state, again.state) == ("lost", "answered")
    assert wire.blocks(lost) == wire.blocks(again)
    assert wire.blocks(again)[-1].first == again.number, "it was new when it was answered"


@pytest.mark.parametrize("level", ["summary", "clear"])
async def test_what_stands_for_something_says_how_large_that_was(long_run, level):
    events, _, _ = await long_run(level)
    wire = Wire(events)
    made = wire.compactions[0]
    notes = {}
    for block in wire.blocks(wire.steps[made.place + 1]):
        notes.setdefault(block.kind, note_of(block).replace(THIN, ""))
    if level == "summary":
        gone = sum(each.tokens for each in made.gone)
        assert notes["summary"] == f"for {made.dropped} messages, {int(gone)} tokens"
    else:
        [first, *_] = [each for each in made.gone if each.left]
        assert notes["cleared"] == f"{int(first.tokens)} tokens before"
        assert first.block.gist.startswith("Look f0 → PORT_F0") and first.left < first.tokens / 10


def test_a_preview_says_how_large_the_whole_is(stream):
    run = stream().start().turn_of(calls=[("Read", {"file_path": "a.txt"})])
    whole = "a line of it\n" * 5_000
    run.events[-2].data["content"] = preview(whole, ".agentlab/results/1.txt")
    wire = Wire(run.turn_of(text="x").end().events)
    block = wire.blocks(wire.requests[-1])[-1]
    assert (block.kind, block.gist[:20]) == ("preview", "Read a.txt → a line ")
    about = int(len(whole) / CHARS_PER_TOKEN)
    assert note_of(block) == f"of about {tokens(about)} tokens"


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


def data_in(whole):
    groups = re.findall(r'data-x="([^"]*)"', whole)
    return [step for group in groups for step in json.loads(html.unescape(group))]


def test_every_step_carries_its_numbers_for_the_slider_and_a_stored_page_does_not(stream):
    run = compacted(stream)
    live = page(ContextPicture(run.events), interactive=True)
    steps = data_in(live)
    titles = [step["title"].split(":")[0] for step in steps]
    assert titles == ["Request 1", "Compaction 1", "Request 2"]
    assert [block[1] for block in steps[2]["blocks"] if isinstance(block, list)] == [
        "pinned", "summary",
    ]  # fmt: skip
    assert "data-x" not in context_html(run.events) and "agentlabXray" in live


def test_the_data_for_the_slider_grows_as_the_run_does(stream):
    def size(turns):
        run = stream().start()
        for _ in range(turns):
            run.turn_of("Hm.", "x", [("Read", {"file_path": "a.txt"})])
        picture = ContextPicture(run.end().events)
        scale = picture.scale(live=True)
        return len("".join(re.findall(r'data-x="[^"]*"', picture.row(at, scale))[0]
                           for at in range(picture.rows())))  # fmt: skip

    assert size(80) < 2.2 * size(40)


def test_rows_that_a_page_leaves_out_are_steps_all_the_same(stream):
    run = stream().start()
    for _ in range(FIRST_ROWS + LAST_ROWS + 30):
        run.turn_of(text="x", calls=[("Read", {})])
    picture = ContextPicture(run.end().events)
    steps = data_in(page(picture, interactive=True))
    assert [step["number"] for step in steps] == list(range(1, picture.rows() + 1))


def test_the_blocks_of_the_last_request_unfold_without_scripts(stream):
    run = stream().start("Count.", system="Be brief.")
    for _ in range(15):
        run.turn_of("Hm.", "x", [("Read", {"file_path": "a.txt"})])
    words = bare(context_html(run.end().events))
    assert "Request 15 block by block: 58 blocks" in words
    assert "tool results Read a.txt → result 0" in words
    assert re.search(r"… and 18 more, \d+ tokens", words)
    short = bare(context_html(stream().start("Count.").turn_of(text="x").end().events))
    assert "user Count. 100 new $0.0002" in short and "more," not in short


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


# ----------------------------------------------------------------------- what the API itself edits

CLEARED_RESULTS = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 3,
                   "cleared_input_tokens": 5_000}  # fmt: skip
CLEARED_THINKING = {"type": "clear_thinking_20251015", "cleared_thinking_turns": 1,
                    "cleared_input_tokens": 800}  # fmt: skip


def edited(run, edits):
    """Tell of edits, right before the last reply."""
    at = max(i for i, event in enumerate(run.events) if event.type == "assistant.message")
    run.events.insert(at, run.events[at]._replace(type="context.edited", data={"edits": edits}))
    return run


def test_what_the_api_cleared_is_said_and_drawn(stream):
    run = stream().start().turn_of(text="x").turn_of(text="y")
    picture = ContextPicture(edited(run, [CLEARED_RESULTS, CLEARED_THINKING]).end().events)
    said = "the API cleared 3 results (5 000 tokens) and the thinking of 1 turn (800 tokens)"
    steps = data_in(page(picture, interactive=True))
    assert steps[1]["title"].replace(THIN, " ").endswith(said)
    row = picture.row(1, picture.scale(live=True))
    assert "--a:200.000;--n:5800.000" in row and "cleared by the API" in row
    assert picture.scale(live=True).span == 6_000, "the axis has room for it"
    text = context_text(run.events).replace(THIN, " ")
    assert f"In request 2, {said}. The reply does not say which" in text


@pytest.mark.parametrize("edits", [None, "x", 3, [], [None], [{}], [{"type": "new_edit_2027"}]])
def test_edits_of_another_form_are_no_error(stream, edits):
    run = edited(stream().start().turn_of(text="x"), edits).end()
    assert "Request 1" in page(ContextPicture(run.events), interactive=True)
    assert ("new_edit_2027" in context_text(run.events)) == ("new_edit" in str(edits))


def summarised(stream, content="It was read."):
    """A run in which the reply to the second request begins with the API's own summary."""
    run = stream().start("Count.", system="Be brief.").turn_of("Hm.", "Ok.", [("Read", {})])
    run.turn_of(text="On.", calls=[("Read", {})])
    reply = next(e for e in reversed(run.events) if e.type == "assistant.message")
    reply.data["message"]["content"].insert(0, {"type": "compaction", "content": content})
    return run.turn_of(text="Done.", cache_read_tokens=30).end()


def test_what_stands_before_the_apis_own_summary_is_ignored_by_the_server(stream):
    wire = Wire(summarised(stream).events)
    last = wire.requests[-1]
    slices = list(last.slices(wire.blocks(last)))
    assert [(each.block.kind, each.ignored) for each in slices] == [
        ("system", False), ("user", True), ("thinking", True), ("text", True),
        ("tool_call", True), ("tool_result", True), ("summary", False), ("text", False),
        ("tool_call", False), ("tool_result", False),
    ]  # fmt: skip
    assert sum(each.tokens for each in slices) == pytest.approx(last.tokens)
    assert "thinking" not in tokens_by_kind(last)
    summary = slices[6].block
    assert summary.gist == "It was read." and note_of(summary).startswith("for 3 messages, ")
    seen = {block.number: block for r in wire.requests for block in wire.blocks(r)}
    whole = sum(request.cost for request in wire.requests)
    assert sum(block.paid for block in seen.values()) == pytest.approx(whole)
    words = bare(context_html(summarised(stream).events))
    assert "thinking Hm. ignored" in words and "the API summarised all before it" in words


@pytest.mark.parametrize("content", [None, "", 3, []])
def test_a_summary_of_the_api_without_words_changes_nothing(stream, content):
    wire = Wire(summarised(stream, content).events)
    assert not any(each.ignored for r in wire.requests for each in r.slices(wire.blocks(r)))
    assert "summarised" not in context_text(wire)


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
