"""`check`, `hint` and `solution`, with code as learners write it."""

import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentlab.course import checking, exercises
from agentlab.course.checking import check, hint, solution
from agentlab.course.exercises import Case, exercise
from agentlab.course.shown import CourseError


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Two small exercises, in place of the real ones."""
    monkeypatch.setattr(exercises, "_registry", {})
    monkeypatch.setattr(exercises, "load_all", lambda: dict(exercises._registry))
    monkeypatch.setattr(checking, "_hints_given", {})

    @exercise(
        "90.1",
        "Double",
        cases=[
            Case("one", (1,), 2),
            Case("a list", ([1, 2],), [1, 2, 1, 2]),
            Case("none", (0,), 0),
        ],
        hints=["Think.", "Multiply."],
        limit_s=0.3,
    )
    def double(value):
        """Twice the value."""
        return value * 2

    @exercise(
        "90.2",
        "Count down",
        cases=[Case("from two", (2,), [2, 1])],
        hints=["Loop.", "Yield."],
        stream=True,
        limit_s=0.3,
    )
    async def countdown(start):
        while start:
            yield start
            start -= 1


def test_a_right_answer_passes(notebook):
    notebook.run("def double(v):\n    return v + v")
    checked = check("90.1", notebook["double"])
    assert checked.ok and repr(checked) == "90.1 passed: all 3 cases"


def test_an_async_answer_passes_too(notebook):
    notebook.run(
        "import asyncio\nasync def double(v):\n    await asyncio.sleep(0)\n    return v * 2"
    )
    assert check("90.1", notebook["double"]).ok


async def test_it_works_while_an_event_loop_runs(notebook):
    notebook.run("async def double(v):\n    return v * 2")
    assert check("90.1", notebook["double"]).ok


def test_the_first_failing_case_shows_input_expected_and_got(notebook):
    notebook.run("def double(v):\n    return 2")
    assert repr(check("90.1", notebook["double"])) == (
        "90.1 case 2 of 3: a list\n"
        "  input     double([1, 2])\n"
        "  expected  [1, 2, 1, 2]\n"
        "  got       2"
    )


@pytest.mark.parametrize(
    "body",
    [
        "...",
        '"""Twice."""',
        '"""Twice."""\n    ...',
        "pass",
        "raise NotImplementedError",
        "return ...",
    ],
)
def test_an_exercise_nobody_started_is_one_quiet_line(notebook, body):
    notebook.run(f"def double(v):\n    {body}")
    checked = check("90.1", notebook["double"])
    assert checked.status == "not attempted" and repr(checked) == "90.1 not attempted yet"


def test_returning_nothing_is_an_attempt(notebook):
    notebook.run("def double(v):\n    v * 2")
    assert check("90.1", notebook["double"]).status == "failed"


def test_an_exception_names_the_learners_line_and_shows_no_traceback(notebook):
    notebook.run("def helper(v):\n    return {}['key']\n\ndef double(v):\n    return helper(v)")
    text = repr(check("90.1", notebook["double"]))
    assert "got       your code raised KeyError: 'key'\n" in text
    assert "in line 2 of the cell: return {}['key']" in text
    assert "Traceback" not in text and "ipython-input" not in text


@pytest.mark.parametrize(
    "body",
    [
        "while True:\n        pass",
        "while True:\n        try:\n            sum(range(10))\n        except:\n            pass",
    ],
)
def test_an_endless_loop_is_stopped_and_leaves_no_thread_spinning(notebook, body):
    notebook.run(f"def double(v):\n    {body}")
    begun = time.monotonic()
    checked = check("90.1", notebook["double"])
    assert "no result after 0.3 seconds" in repr(checked)
    assert time.monotonic() - begun < 5
    if "except" not in body:
        assert not [t for t in threading.enumerate() if t.name == "agentlab-check"]


def test_waiting_for_ever_is_stopped(notebook):
    notebook.run("import asyncio\nasync def double(v):\n    await asyncio.Event().wait()")
    assert "no result after 0.3 seconds" in repr(check("90.1", notebook["double"]))


def test_a_timeout_of_the_learners_own_is_not_taken_for_the_limit(notebook):
    notebook.run("async def double(v):\n    raise TimeoutError('mine')")
    assert "your code raised TimeoutError: mine" in repr(check("90.1", notebook["double"]))


def test_sys_exit_does_not_end_the_notebook(notebook):
    notebook.run("import sys\ndef double(v):\n    sys.exit(3)")
    assert "your code raised SystemExit: 3" in repr(check("90.1", notebook["double"]))


def test_changing_the_input_is_a_failure_and_does_not_spoil_the_next_check(notebook):
    notebook.run("def double(v):\n    v *= 2\n    return v")
    for _ in range(2):
        checked = check("90.1", notebook["double"])
        assert checked.status == "failed" and "changed its input" in repr(checked)


def test_what_the_code_printed_is_shown_with_the_failing_case_only(notebook, capsys):
    notebook.run("def double(v):\n    print('got', v)\n    return 2")
    assert "printed   got [1, 2]" in repr(check("90.1", notebook["double"]))
    notebook.run("def double(v):\n    print('noise')\n    return v * 2")
    check("90.1", notebook["double"])
    assert capsys.readouterr().out == ""


def test_a_bool_is_not_taken_for_a_number(notebook):
    notebook.run("def double(v):\n    return False if v == 0 else v * 2")
    assert "case 3 of 3" in repr(check("90.1", notebook["double"]))


def test_addresses_in_a_value_are_left_out(notebook):
    notebook.run("def double(v):\n    return object()")
    assert "got       <object object>" in repr(check("90.1", notebook["double"]))


def test_a_value_that_cannot_be_shown_or_compared(notebook):
    notebook.run(
        "class Bad:\n    def __repr__(self): raise ValueError\n"
        "    def __eq__(self, other): raise ValueError\n"
        "def double(v):\n    return Bad()"
    )
    assert "a Bad that cannot be shown" in repr(check("90.1", notebook["double"]))


def test_a_stream_is_judged_by_what_it_yields(notebook):
    notebook.run("async def countdown(n):\n    for i in range(n, 0, -1):\n        yield i")
    assert check("90.2", notebook["countdown"]).ok


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("def countdown(n):\n    return [2, 1]", "should be an async generator"),
        ("def countdown(n):\n    yield 2\n    yield 1", "it gave generator"),
        ("async def countdown(n):\n    while True:\n        yield n", "goes on after 1000 items"),
    ],
)
def test_a_stream_of_the_wrong_kind_says_so(notebook, text, complaint):
    notebook.run(text)
    assert complaint in repr(check("90.2", notebook["countdown"]))


def test_a_generator_where_a_value_is_asked_for(notebook):
    notebook.run("async def double(v):\n    yield v")
    assert "this one should return" in repr(check("90.1", notebook["double"]))


def test_calling_it_wrongly_is_explained():
    with pytest.raises(CourseError, match=r'without calling it: check\("90.1", double\)'):
        check("90.1", 2)
    with pytest.raises(CourseError, match=r"no exercise '9.9'; there is: 90.1, 90.2"):
        check("9.9", len)


def test_something_callable_without_source_can_be_checked():
    assert check("90.1", lambda v: v * 2).ok
    assert check("90.1", len).status == "failed"


def test_hints_come_one_by_one_and_the_last_one_stays():
    assert repr(hint("90.1")) == "Hint 1 of 2: Think."
    last = 'Hint 2 of 2: Multiply. That was the last; solution("90.1").'
    assert [repr(hint("90.1")), repr(hint("90.1"))] == [last, last]
    assert repr(hint("90.2")) == "Hint 1 of 2: Loop."


def test_the_solution_is_shown_without_its_decorator():
    assert solution("90.1").code.startswith('def double(value):\n    """Twice the value."""')


def test_a_course_error_shows_only_its_message_in_a_notebook():
    assert CourseError("do this")._render_traceback_() == ["do this"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40
)
@given(VALUES)
def test_whatever_is_returned_check_answers_with_text(value):
    checked = check("90.1", lambda _: value)
    assert checked.status in ("failed", "passed")
    assert checked.text and checked.html
