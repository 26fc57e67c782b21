"""Exercises as data: what is asked, hidden cases, hints, a solution, and answers that are wrong.

A chapter's exercises stand in ``chNN.py`` beside this file. An exercise is its own solution, an
ordinary function under ``@exercise``; the stub that learners start from is cut out of it, so the
two cannot drift apart. Under ``@broken`` stand answers that look right and are not: the tests make
sure that the hidden cases catch every one of them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from agentlab.course import names
from agentlab.course.shown import CourseError

F = TypeVar("F", bound=Callable[..., Any])
CASE_LIMIT_S = 2.0  # how long one hidden case may take; endless loops end here


@dataclass(frozen=True)
class Case:
    """One hidden case: call the learner's function with ``args``, expect ``expected``.

    ``says`` names it in a few words. ``run`` replaces the plain call where an exercise needs more
    around it (a fake model, a cancelled task): it gets the function and returns the result,
    possibly as an awaitable. ``shows`` replaces the printed input then.
    """

    says: str
    args: tuple[Any, ...] = ()
    expected: Any = None
    run: Callable[[Callable[..., Any]], Any] | None = None
    shows: str = ""


@dataclass
class Exercise:
    """One exercise. ``stream``: the answer is an async generator, judged by what it yields."""

    id: str
    title: str
    function: Callable[..., Any]
    cases: tuple[Case, ...]
    hints: tuple[str, ...]
    stream: bool
    limit_s: float
    broken: dict[str, Callable[..., Any]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def solution(self) -> str:
        """The solution's text: the imports it needs, then the function."""
        return self._with_imports(self._function_text())

    @property
    def stub(self) -> str:
        """What learners start from: imports, signature and docstring, and ``...`` for the rest."""
        text = self._function_text()
        node = ast.parse(text).body[0]
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        first = node.body[0]
        documented = ast.get_docstring(node) is not None
        head = text.splitlines()[: first.end_lineno if documented else first.lineno - 1]
        return self._with_imports("\n".join([*head, "    ..."]))

    def _with_imports(self, function: str) -> str:
        known = names.imports(inspect.getsource(sys.modules[self.function.__module__]))
        wanted = sorted(names.needed(function) & known.keys())
        lines = names.import_lines([known[name] for name in wanted])
        return f"{lines}\n\n\n{function}" if lines else function

    def _function_text(self) -> str:
        text = textwrap.dedent(inspect.getsource(self.function))
        node = ast.parse(text).body[0]
        return "\n".join(text.splitlines()[node.lineno - 1 :])  # without the decorator


_registry: dict[str, Exercise] = {}


def exercise(
    exercise_id: str,
    title: str,
    *,
    cases: Iterable[Case],
    hints: Iterable[str],
    stream: bool = False,
    limit_s: float = CASE_LIMIT_S,
) -> Callable[[F], F]:
    """Register the decorated function as the solution of an exercise."""

    def register(function: F) -> F:
        _registry[exercise_id] = Exercise(
            exercise_id, title, function, tuple(cases), tuple(hints), stream, limit_s
        )
        return function

    return register


def broken(exercise_id: str, how: str) -> Callable[[F], F]:
    """Register the decorated function as an answer that is wrong in the way ``how`` says."""

    def register(function: F) -> F:
        _registry[exercise_id].broken[how] = function
        return function

    return register


def load_all() -> dict[str, Exercise]:
    """Every exercise of every chapter, by id."""
    for path in sorted(Path(__file__).parent.glob("ch[0-9][0-9].py")):
        importlib.import_module(f"{__name__}.{path.stem}")
    return dict(sorted(_registry.items()))


def find(exercise_id: str) -> Exercise:
    """The exercise of that id. Raises CourseError, naming those that exist."""
    everything = load_all()
    if exercise_id not in everything:
        there = ", ".join(everything) or "none"
        raise CourseError(f"there is no exercise {exercise_id!r}; there is: {there}")
    return everything[exercise_id]
