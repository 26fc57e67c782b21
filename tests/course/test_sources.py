"""`show_source` quotes the file that really runs."""

import inspect

import pytest

from agentlab import clock, events
from agentlab.course.shown import CourseError
from agentlab.course.sources import show_source
from agentlab.toolbox import calculator


def test_a_function_is_quoted_word_for_word():
    shown = show_source(clock.VirtualClock.advance)
    assert shown.code == inspect.cleandoc("\n" + inspect.getsource(clock.VirtualClock.advance))
    assert shown.where == "agentlab/clock.py · VirtualClock.advance"


def test_a_class_a_module_and_a_module_by_name():
    assert show_source(events.Event).code.startswith("class Event(NamedTuple):")
    assert show_source(events).code == inspect.getsource(events).rstrip()
    assert show_source("agentlab.events").code == show_source(events).code


def test_members_are_shown_in_the_order_asked_for_constants_too():
    code = show_source("agentlab.events", "Event", "SCHEMA_VERSION").code
    assert code.index("class Event") < code.index("SCHEMA_VERSION = ")


def test_the_function_behind_a_tool():
    assert "async def calculator(expression: str)" in show_source(calculator).code


def test_a_part_says_that_it_is_one():
    every = show_source(events).code.splitlines()
    assert show_source(events, lines=(3, 4)).code.splitlines() == ["# ...", *every[2:4], "# ..."]
    assert show_source(events, lines=(1, len(every))).code.splitlines() == every


@pytest.mark.parametrize("lines", [(0, 3), (5, 4), (100_000, 100_001)])
def test_lines_that_are_not_there(lines):
    with pytest.raises(CourseError, match="there are lines 1 to"):
        show_source(events, lines=lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("agentlab.nothing",), "no module 'agentlab.nothing'"),
        (("agentlab.events", "Evnt"), r"defines no 'Evnt'; it defines .*Event"),
        ((42,), "not int objects"),
        ((len,), "no Python source"),
    ],
)
def test_what_cannot_be_shown_says_why(arguments, message):
    with pytest.raises(CourseError, match=message):
        show_source(*arguments)


def test_nothing_shown_depends_on_the_machine():
    shown = show_source(events.Event)
    root = inspect.getsourcefile(events).rpartition("/agentlab/")[0]
    assert root not in shown.text and root not in shown.html


def test_the_html_holds_the_same_text_and_escapes_it():
    import html
    import re

    shown = show_source(events, "Event")
    plain = html.unescape(re.sub(r"<[^>]*>", "", shown.html))
    assert shown.code in plain
    assert "->" not in re.sub(r"<[^>]*>", "", shown.html)
