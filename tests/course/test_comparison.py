"""`compare` puts two results side by side."""

import pytest

from agentlab.agent import Result
from agentlab.costs import Usage
from agentlab.course import compare
from agentlab.course.shown import CourseError
from agentlab.events import Event


def _done(is_error: bool) -> Event:
    data = {
        "tool_use_id": "t",
        "name": "Read",
        "content": "",
        "is_error": is_error,
        "traceback": "",
    }
    return Event("tool.execution_complete", 0.0, 1, "main", data)


MUCH = Usage(input_tokens=12_000, output_tokens=300)
WITHOUT = Result(
    "turn_limit", "", 25, MUCH, 0.0213, 40.26, "25 turns used",
    events=(_done(True), _done(False)),
)  # fmt: skip
USED = Usage(input_tokens=400, output_tokens=90, cache_read_tokens=1_500)
WITH = Result("completed", "Done.", 3, USED, 0.0013, 4.0, simulated=True)


def _row(comparison, name):
    return next(row[1:] for row in comparison.rows if row[0] == name)


def test_every_number_stands_under_its_label():
    table = compare(WITHOUT, WITH)
    assert _row(table, "turns") == ("25", "3")
    assert _row(table, "tokens in") == ("12\u202f000", "1\u202f900")
    assert _row(table, "of these cached") == ("", "1\u202f500")
    assert _row(table, "dollars") == ("$0.0213", "$0.0013")
    assert _row(table, "tool calls") == ("2", "0")
    assert _row(table, "calls that failed") == ("1", "")


def test_what_broke_is_said_only_where_something_did():
    assert _row(compare(WITHOUT, WITH), "what broke") == ("25 turns used", "")
    assert "what broke" not in repr(compare(WITH, WITH))


def test_the_text_form_is_an_aligned_table_with_both_labels():
    lines = repr(compare(WITHOUT, WITH, labels=("bare", "with the loop"))).splitlines()
    assert lines[-1] == "(simulated model)"
    assert len({len(line) for line in lines[:-1]}) == 1
    assert lines[0].endswith("with the loop")


def test_a_run_on_a_real_model_does_not_say_simulated():
    assert "simulated" not in repr(compare(WITHOUT, WITHOUT))


def test_an_unknown_price_is_shown_as_unknown():
    unpriced = Result("completed", "", 1, Usage(input_tokens=1), None, 0.0)
    assert _row(compare(unpriced, WITH), "dollars")[0] == "unknown"


def test_html_is_escaped():
    nasty = Result(
        "error", "", 1, Usage(input_tokens=1), 0.0, 0.0, detail="<script>alert(1)</script>"
    )
    assert "<script>" not in compare(nasty, WITH, labels=("<b>", "y")).html


def test_what_is_not_a_result_is_refused():
    with pytest.raises(CourseError, match="not a str"):
        compare("hello", WITH)
