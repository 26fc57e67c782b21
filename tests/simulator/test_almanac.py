"""The scenario of chapter 11: what the model can know depends on what came back of a large page."""

import pytest

from agentlab.previews import preview
from agentlab.simulator.rehearsal import rehearse
from agentlab.simulator.scenario import get
from agentlab.simulator.scenarios.previews import NOTE, PAGE, almanac
from agentlab.tools import bound

TASK = get("almanac").example
GAUGE = "The gauge overflows at 40 mm, so Thursday the 12th reads 40."
KEPT = ".agentlab/results/toolu_1.txt"
KNOWS = f"46.2 mm fell on 17 September 2026. The gauge overflows at 40 mm, says {NOTE}, so"


def tools(page, **more):
    """A tool that fetches this page, and one that reads the note and what is kept of the page."""

    def read(file_path, offset="1", limit="1000"):
        text = GAUGE if file_path == NOTE else {KEPT: almanac()}[file_path]
        lines = text.splitlines(keepends=True)
        return "".join(lines[int(offset) - 1 : int(offset) - 1 + int(limit)])

    return {"fetch_page": lambda url: page, "Read": read, **more}


def test_the_page_is_of_100_kb_with_a_line_a_day():
    assert 100_000 < len(almanac()) < 110_000
    assert almanac().count("<tr ") == 365 == almanac().count("</tr>\n")
    assert almanac() == almanac()


def test_with_the_whole_page_it_finds_the_day():
    talk = rehearse(TASK, tools(almanac()))
    assert talk.text.startswith(KNOWS)
    assert talk.calls == [
        ("fetch_page", {"url": PAGE}),
        ("Read", {"file_path": NOTE}),
        ("Read", {"file_path": NOTE}),
    ]


def test_of_a_page_that_was_cut_it_knows_nothing_and_says_so():
    assert rehearse(TASK, tools(bound(almanac()))).text.startswith("I do not know. 17 September")


def test_with_a_preview_it_reads_only_the_lines_around_the_day():
    talk = rehearse(TASK, tools(preview(almanac(), KEPT)))
    assert talk.text.startswith(KNOWS)
    name, read = talk.calls[2]
    assert name == "Read" and read == {"file_path": KEPT, "offset": 267, "limit": 3}
    assert talk.calls[3] == ("Read", {"file_path": NOTE})


def test_any_preview_that_names_the_file_will_do():
    page = f"{almanac()[:800]}\n[the rest is in {KEPT}]\n"
    assert rehearse(TASK, tools(page)).text.startswith(KNOWS)


def test_if_it_reckoned_wrong_it_searches():
    def grep(pattern, path="."):
        return next(line for line in almanac().splitlines() if "17 September" in line)

    page = f"[too large; it is in {KEPT}]"  # not a line of it is shown
    talk = rehearse(TASK, tools(page, Grep=grep))
    assert [name for name, _ in talk.calls] == ["fetch_page", "Read", "Read", "Grep", "Read"]
    assert talk.text.startswith(KNOWS)
    assert "I do not know" in rehearse(TASK, tools(page)).text


@pytest.mark.parametrize(
    ("task", "says"),
    [
        (f"Fetch {PAGE}: how much rain fell on 1 March?", "8.0 mm fell on 1 March 2026. The"),
        (f"Prendi {PAGE}: quanta pioggia è caduta il 17 settembre?", "Il 17 settembre 2026 sono"),
        (f"Fetch {PAGE}: how much rain fell on 31 April?", "46.2 mm fell on 17 September"),
    ],
)
def test_it_answers_for_the_day_that_was_asked_about(task, says):
    assert rehearse(task, tools(almanac())).text.startswith(says)


@pytest.mark.parametrize(
    ("offered", "says"),
    [
        ({}, "I would need"),
        ({"fetch_page": lambda url: 1 / 0}, "I could not get the page: division by zero"),
        ({"fetch_page": None, "Bash": lambda command: almanac()}, KNOWS),
    ],
)
def test_what_it_is_offered_decides(offered, says):
    have = {k: v for k, v in ({**tools("x"), **offered}).items() if v} if offered else {}
    assert says in rehearse(TASK, have).text
