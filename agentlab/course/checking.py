"""`check`, `hint`, `solution`: what a learner calls under an exercise.

``check`` runs hidden cases and stops at the first that fails: what went in, what was expected,
what came out. An exercise that nobody has started yet gets one quiet line.
"""

from __future__ import annotations

import ast
import inspect
import pprint
from collections.abc import Callable
from typing import Any

from agentlab.course import names
from agentlab.course.exercises import Case, Exercise, find
from agentlab.course.notebook_names import function_text
from agentlab.course.running import Outcome, run_case
from agentlab.course.shown import CODE_FONT, MUTED, CourseError, Shown, escape, without_addresses
from agentlab.course.sources import Source

MOST_LINES = 12  # of a shown value
_hints_given: dict[str, int] = {}


class Checked(Shown):
    """What `check` found. ``status`` is passed, failed or not attempted."""

    def __init__(self, status: str, first: str, rows: tuple[tuple[str, str], ...] = ()) -> None:
        self.status = status
        text = "\n".join([first, *(_row(label, value) for label, value in rows)])
        super().__init__(text, _html(status, first, rows))

    @property
    def ok(self) -> bool:
        return self.status == "passed"


def check(exercise_id: str, function: Any) -> Checked:
    """Run the hidden cases of an exercise on your function: ``check("02.1", repeats)``.

    Functions, async functions and, where the exercise says so, async generators. Each case has
    a time limit, so a loop that does not end is stopped. Raises CourseError if there is no such
    exercise or ``function`` is not one.
    """
    exercise = find(exercise_id)
    if not callable(function):
        raise CourseError(
            f"check wants the function itself, without calling it: "
            f'check("{exercise.id}", {exercise.name})'
        )
    if _is_stub(function):
        return Checked("not attempted", f"{exercise.id} not attempted yet")
    total = len(exercise.cases)
    for number, case in enumerate(exercise.cases, 1):
        outcome = run_case(exercise, case, function)
        if outcome.got is ...:
            return Checked("not attempted", f"{exercise.id} not attempted yet")
        if rows := _complaint(exercise, case, outcome):
            return Checked("failed", f"{exercise.id} case {number} of {total}: {case.says}", rows)
    return Checked("passed", f"{exercise.id} passed: all {total} cases")


def hint(exercise_id: str) -> Shown:
    """The next hint for an exercise; each call says a little more."""
    hints = find(exercise_id).hints
    given = min(_hints_given.get(exercise_id, 0), len(hints) - 1)
    _hints_given[exercise_id] = given + 1
    more = "" if given + 1 < len(hints) else f' That was the last; solution("{exercise_id}").'
    text = f"Hint {given + 1} of {len(hints)}: {hints[given]}{more}"
    return Shown(text, f"<p>{escape(text)}</p>")


def solution(exercise_id: str) -> Source:
    """One way to solve an exercise."""
    exercise = find(exercise_id)
    return Source(exercise.solution, f"{exercise.id} · {exercise.title}")


def _is_stub(function: Callable[..., Any]) -> bool:
    """True if the body is still empty: ``...``, ``pass`` or ``raise NotImplemented…``."""
    text = function_text(function)
    name = getattr(inspect.unwrap(function), "__name__", "")
    try:
        piece = names.find(text, name) if text and name.isidentifier() else None
    except SyntaxError:
        return False
    if piece is None or not isinstance(piece.node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return all(_is_empty(statement) for statement in piece.node.body)


def _is_empty(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return statement.exc is not None and "NotImplemented" in ast.unparse(statement.exc)
    is_constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_constant or isinstance(statement, ast.Pass)


def _complaint(exercise: Exercise, case: Case, outcome: Outcome) -> tuple[tuple[str, str], ...]:
    """The rows to show for a failing case, none if it passes."""
    given = case.shows or f"{exercise.name}({', '.join(_value(arg) for arg in case.args)})"
    rows = [("input", given), ("expected", _value(case.expected))]
    if outcome.problem:
        rows.append(("got", without_addresses(outcome.problem)))
    elif not _equal(outcome.got, case.expected):
        rows.append(("got", _value(outcome.got)))
    elif not outcome.kept_input:
        rows = [("input", given), ("but", "your code changed its input; build a new value instead")]
    else:
        return ()
    if printed := outcome.printed.strip():
        rows.append(("printed", "\n".join(printed.splitlines()[-MOST_LINES:])))
    return tuple(rows)


def _equal(got: Any, expected: Any) -> bool:
    """Equality that tells True from 1: a learner's answer should be of the right kind."""
    try:
        same = bool(got == expected)
    except Exception:
        return False
    return same and isinstance(got, bool) == isinstance(expected, bool)


def _value(value: Any) -> str:
    try:
        text = pprint.pformat(value, width=72, sort_dicts=False)
    except Exception as error:
        text = f"(a {type(value).__name__} that cannot be shown: {type(error).__name__})"
    lines = without_addresses(text).splitlines()
    return "\n".join(lines[:MOST_LINES] + ["..."] * (len(lines) > MOST_LINES))


def _row(label: str, value: str) -> str:
    first, *rest = value.split("\n")
    return "\n".join([f"  {label:<9} {first}", *(f"  {'':<9} {line}" for line in rest)])


def _html(status: str, first: str, rows: tuple[tuple[str, str], ...]) -> str:
    mark = {"passed": "●", "failed": "○", "not attempted": "·"}[status]
    weight = "normal" if status == "not attempted" else "bold"
    colour = MUTED if status == "not attempted" else "inherit"
    parts = [f'<div style="font-weight:{weight};color:{colour}">{mark} {escape(first)}</div>']
    if rows:
        cell = "padding:2px 12px 2px 0;vertical-align:top;text-align:left"
        name = f"{cell};font-weight:normal;color:{MUTED}"
        plain = "margin:0;padding:0;background:transparent"  # no stripes: these rows are one thing
        parts.append("<table>")
        for label, value in rows:
            body = f'<pre style="{CODE_FONT};{plain};white-space:pre-wrap">{escape(value)}</pre>'
            parts.append(
                f'<tr style="background:transparent"><th scope="row" style="{name}">{label}</th>'
                f'<td style="{cell}">{body}</td></tr>'
            )
        parts.append("</table>")
    return "".join(parts)
