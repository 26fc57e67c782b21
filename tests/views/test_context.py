import itertools
import re

import pytest

from agentlab.views.context import ContextPicture, context_html, context_text, percentage
from agentlab.views.page import page
from agentlab.views.requests import KINDS
from agentlab.views.wording import THIN

TOOLS = [{"name": "Read", "description": "Read a file.", "input_schema": {"type": "object"}}]
TEXT = """\
What is in the window? (simulated model)
             tools  system    user   think    text   calls results   total  cached  window      cost
request  1      68       5      25       0       0       0       0     100       0  <0.1 %   $0.0002
request  2      91       7      34      32       9      37      27     240     140  <0.1 %   $0.0002
Parts are estimates, scaled to add up to what the server counted. Simulated model: list prices, nothing was spent."""  # noqa: E501


@pytest.fixture
def run(stream):
    """Two requests; the server has kept 140 tokens of the second."""
    built = stream().start("How many words do the files hold?", system="Be brief.", tools=TOOLS)
    built.turn_of("I can read it.", "I'll read.", [("Read", {"file_path": "a.txt"})])
    used = {"input_tokens": 100, "cache_read_tokens": 140}
    return built.turn_of(text="42 words.", **used).end()


def bare(html):
    html = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html)).replace(THIN, " ")


def test_the_text_form(run):
    assert context_text(run.events).replace(THIN, " ") == TEXT


def test_the_text_form_of_a_long_run_is_short_and_narrow(stream):
    built = stream().start(system="s", tools=TOOLS)
    for _ in range(40):
        built.turn_of("Hm.", "x", [("Read", {})])
    lines = context_text(built.end().events).split("\n")
    assert len(lines) == 15 and "… 29 more requests …" in lines[10]
    assert max(map(len, lines[:-1])) <= 100


def test_large_numbers_in_the_text_form_do_not_touch(stream):
    built = stream().start(system="s", tools=TOOLS)
    for turn in range(4):
        used = {"input_tokens": 250_000, "cache_read_tokens": 900_000 * (turn > 0)}
        built.turn_of("Hm. " * 900, "x", [("Read", {})], **used)
    lines = context_text(built.end().events).replace(THIN, "").split("\n")[1:-1]
    assert len({len(line.split()) for line in lines[1:]}) == 1 and "1150k" in lines[-1]
    assert max(map(len, lines)) <= 100


def test_the_page_says_the_numbers_without_styles(run):
    words = bare(context_html(run.events))
    assert "In the last request: 240 tokens" in words
    assert "tools 91 ; system 7 ; user 34 ; thinking 32 ; assistant text 9" in words
    assert "140 cached 240 140" in words  # the mark in the bar, then the columns
    assert "Simulated model: list prices" in words


def test_the_cached_prefix_is_as_long_as_the_server_said(run):
    html = context_html(run.events).split("</style>")[1]
    marks = re.findall(r"agentlab-cached[^>]*left:([\d.]+)%;width:([\d.]+)%", html)
    assert [(float(a), float(n)) for a, n in marks] == [
        (0.0, pytest.approx(100 * 140 / 240, abs=0.01))
    ]


def test_what_is_new_stands_behind_a_line(run):
    rows = context_html(run.events).split("<tbody>")[1].split("</tr>")
    assert "agentlab-new" not in rows[0]  # all of it is
    assert re.findall(r"agentlab-bar agentlab-([a-z-]+) [^>]*agentlab-new", rows[1]) == ["thinking"]


def test_bars_follow_each_other_without_gaps(run):
    picture = ContextPicture(run.events)
    row = picture.row(1, picture.scale(live=True))
    places = [(float(a), float(n)) for a, n in re.findall(r"--a:([\d.]+);--n:([\d.]+)", row)]
    *bars, cached = places
    assert cached == (0.0, 140.0)
    for (a, n), (b, _) in itertools.pairwise(bars):
        assert a + n == pytest.approx(b, abs=0.01)
    assert sum(bars[-1]) == pytest.approx(240, abs=0.01)


def test_before_the_server_has_counted_numbers_are_estimates(stream):
    events = stream().start().open().events
    assert "~100" in context_text(events) and "agentlab-is-running" in context_html(events)


def test_a_model_whose_window_is_not_known_has_no_share_of_it(stream):
    built = stream().start(model="some-other-model", simulated=False)
    built.turn_of(text="x")
    built.events[-2].data["model"] = "some-other-model"
    html, text = context_html(built.end().events), context_text(built.events)
    assert "of a window whose size is not known" in html
    assert "%" not in text and "unknown" in text and "imulated model" not in html + text


def test_messages_that_no_event_tells_of_are_a_part_of_their_own(stream):
    built = stream().start().turn_of(text="x", input_tokens=900).end()
    next(e for e in built.events if e.type == "assistant.turn_start").data["messages"] = 5
    assert KINDS["earlier"] in bare(context_html(built.events))
    assert "Messages from before these events are counted, but not known." in context_text(
        built.events
    )


@pytest.mark.parametrize("where", ["task", "text", "model", "system", "name"])
def test_hostile_text_is_not_run(stream, where):
    bad = "</style><script>alert(1)</script>\"'><img src=x onerror=y>\x1b[31m"
    said = {where: bad}
    built = stream().start(
        said.get("task", "x"), model=said.get("model", "m"), system=said.get("system", ""),
        tools=[{"name": said.get("name", "n")}],
    )  # fmt: skip
    built.turn_of(text=said.get("text", "hello")).end()
    html = context_html(built.events)
    assert "<script" not in html and "<img" not in html and "\x1b" not in html
    live = page(ContextPicture(built.events), interactive=True)
    assert live.count("<script") == live.count("</script") == 1


def test_nothing_that_changes_from_run_to_run_is_in_a_stored_output(run):
    for output in (context_html(run.stored), context_text(run.stored)):
        assert not re.search(r"toolu_|msg_|sig\b", output)


def test_shares_are_written_to_the_precision_that_matters():
    shares = [percentage(part, 1000) for part in (0, 0.1, 3, 99, 500)]
    assert [share.replace(THIN, " ") for share in shares] == [
        "0.0 %", "<0.1 %", "0.3 %", "9.9 %", "50 %",
    ]  # fmt: skip
