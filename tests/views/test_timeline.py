import re

import pytest

from agentlab.views.timeline import ticks, timeline_html, timeline_text

TEXT = """\
Where did the time go? (simulated model)
   user  How many words do the files hold?
turn  1  ......~=++!!!!!!                               2.1 s  Read a.txt | Read b.txt failed
turn  2                  !!!!!!!xxx.......+###          2.6 s  LS .
turn  3                                      .......=   0.9 s  “Together they hold 42 words.”
. waiting 3.2 s   x retry wait 0.5 s   ~ thinking 0.1 s   = text 0.2 s   + writing calls 0.2 s
# running tools 1.5 s   a | b together
Completed (3 turns, 5.7 s)"""


def bare(page):
    """The page as a reader without any style sees it (GitHub)."""
    page = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))


def test_the_text_form(demo):
    assert timeline_text(demo.events) == TEXT


def test_the_text_form_of_a_long_run_is_short_and_narrow(stream):
    run = stream().start("Find " + "everything " * 40)
    for index in range(40):
        run.turn_of(calls=[("Read", {"file_path": f"src/part_{index}/{'deeper/' * 9}module.py"})])
    lines = timeline_text(run.end("turn_limit", "40 turns used").events).split("\n")
    assert len(lines) == 15 and max(map(len, lines)) <= 100
    assert "… 30 more rows …" in lines[9]
    assert lines[-1].startswith("Stopped at the turn limit: 40 turns used (40 turns, ")


def test_nothing_that_changes_from_run_to_run_is_in_a_stored_output(demo):
    demo.events[4].data["tool_use_id"] = "toolu_zzz"
    for output in (timeline_html(demo.stored), timeline_text(demo.stored)):
        assert not re.search(r"toolu_|msg_|sig\b|20\d\d-\d\d", output)


def test_absolute_paths_are_cut_to_their_names(stream):
    calls = [("Read", {"file_path": "/home/someone/course/notes.md"})]
    text = timeline_text(stream().start().turn_of(calls=calls).end().events)
    assert "Read notes.md" in text and "someone" not in text


def test_the_page_is_a_table_that_can_be_read_without_styles(demo):
    page, words = timeline_html(demo.events), bare(timeline_html(demo.events))
    assert page.count("<table") == 1 and page.count("<tr") == 5
    assert "How many words do the files hold?" in words
    assert "waiting 0.8 s ; thinking 0.1 s ; text 0.1 s" in words
    assert "Read b.txt failed 1.0 s" in words
    assert "Completed (3 turns, 5.7 s)" in words and "simulated model" in words


def test_the_page_needs_nothing_from_outside_and_runs_nothing(demo):
    page = timeline_html(demo.events)
    assert not re.search(r"https?:|url\(|@import|<script|<link|<img|src=", page)


def test_what_ran_together_is_named_with_the_cap_if_the_run_says_it(stream):
    calls = [("Read", {"file_path": f"{letter}.txt"}) for letter in "abc"]
    for limits, words in (({"concurrency": 10}, "3 together (cap 10)"), ({}, "3 together")):
        run = stream().start(limits=limits).turn_of(calls=calls, together=True, tool_s=0.05)
        html = timeline_html(run.turn_of(calls=calls).end().events)
        assert f'agentlab-together">{words}<' in html
        assert "at most 3 at a time" in html and "; one after another 0.3 s" in html
        text = timeline_text(run.events)
        assert "Read a.txt | Read b.txt | Read c.…" in text and "Read a.txt, Read b.txt" in text
        assert ("a | b together (cap 10)" in text) == bool(limits)


def test_each_call_says_how_long_it_took_itself(stream):
    calls = [("Read", {"file_path": f"{letter}.txt"}) for letter in "ab"]
    run = stream().start().turn_of(calls=calls, together=True, tool_s=0.03).end()
    assert "Read a.txt 30 ms ; Read b.txt 60 ms" in bare(timeline_html(run.events))


def test_words_beside_a_bar_are_given_the_room_that_there_is(stream):
    calls = [("Read", {}), ("LS", {})]
    run = stream().start().turn_of(calls=calls, together=True, tool_s=0.05)
    html = timeline_html(run.events)
    first, second = re.findall(r"agentlab-last[^>]*?--agentlab-room:([\d.]+)cqw([^\"]*)", html)
    end = 100 / 1.2  # a run that ends with calls leaves room on its axis
    share = 0.05 / run.now * end
    assert float(first[0]) == pytest.approx(100 - end + share, abs=0.01) and not first[1]
    assert float(second[0]) == pytest.approx(end - 2 * share, abs=0.01)  # left of the bar
    assert second[1] == ";--agentlab-right:0"


@pytest.mark.parametrize("where", ["task", "text", "name", "input", "model", "detail"])
def test_hostile_text_is_shown_and_not_run(stream, where):
    bad = "<script>alert(1)</script>\"'><img src=x onerror=y>\x1b[31m"
    said = {where: bad}
    run = stream().start(said.get("task", "x"), model=said.get("model", "m"))
    calls = [(said.get("name", "Read"), {"path": said.get("input", "a")})]
    run.turn_of(text=said.get("text", "hello")).turn_of(calls=calls)
    for events in (run.end("error", said.get("detail", "")).events, run.stored):
        page = timeline_html(events)
        assert "<script" not in page and "<img" not in page and "\x1b" not in page
        if where != "model":
            assert "&lt;script&gt;" in page


def test_a_bar_stands_where_its_time_is(stream):
    run = stream().start()
    run.now += 1.2  # 0.8 seconds of waiting follow
    run.turn_of(text="x").end()
    page = timeline_html(run.events)
    left, width = re.search(r"agentlab-wait.*?left:([\d.]+)%;width:([\d.]+)%", page).groups()
    assert float(left) == pytest.approx(100 * 1.2 / run.now, abs=0.01)
    assert float(width) == pytest.approx(100 * 0.8 / run.now, abs=0.01)


def test_a_long_page_says_what_it_leaves_out(stream):
    run = stream().start()
    for _ in range(300):
        run.turn_of(text="x")
    page = timeline_html(run.end().events)
    assert "… 101 more rows, not drawn here …" in page and page.count("<tr") == 202


@pytest.mark.parametrize("span", [0.1, 0.7, 3, 9, 50, 70, 500, 4000, 90_000, 10_000_000])
def test_an_axis_has_a_few_marks(span):
    marks = ticks(span)
    assert 2 <= len(marks) <= 9 and marks[0] == 0 and marks[-1] <= span
