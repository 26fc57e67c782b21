"""`show_source`: the packaged code, quoted from the file that really runs, so it cannot drift."""

from __future__ import annotations

import importlib
import inspect
import sys
from types import ModuleType
from typing import Any

from agentlab.course import names
from agentlab.course.notebook_names import NotebookNames
from agentlab.course.shown import CourseError, Shown, code_html, escape, framed

ELIDED = "# ..."


class Source(Shown):
    """A quoted piece of source. ``code`` is its text, ``where`` the file it stands in."""

    def __init__(self, code: str, where: str) -> None:
        self.code, self.where = code, where
        super().__init__(f"# {where}\n{code}", framed(escape(where), code_html(code)))


def show_source(what: Any, *members: str, lines: tuple[int, int] | None = None) -> Source:
    """Show the real source of a function, class or module.

    ``what`` may also be a module's name. With ``members`` only these definitions of a module or
    class are shown, in the order given: ``show_source("agentlab.events", "LIVE", "Event")``.
    ``lines=(1, 30)`` shows a part, counted from 1, both ends included. Raises CourseError if
    there is no such source.
    """
    where, code = _quote(_resolve(what), members)
    if lines is not None:
        code = _cut(code, lines)
    return Source(code, where)


def _resolve(what: Any) -> Any:
    if not isinstance(what, str):
        return what
    try:
        return importlib.import_module(what)
    except ImportError:
        raise CourseError(f"show_source: there is no module {what!r}") from None


def _quote(what: Any, members: tuple[str, ...]) -> tuple[str, str]:
    if isinstance(what, ModuleType):
        text, where, prefix = _module_text(what), _file_name(what), ""
        if not members:
            return where, text.rstrip()
    else:
        what = _definition(what)
        module = sys.modules.get(what.__module__)
        if module is None or module.__name__ == "__main__":
            return "this notebook", _own_source(what, members)
        text, where, prefix = _module_text(module), _file_name(module), what.__qualname__
    wanted = [f"{prefix}.{member}" if prefix else member for member in members] or [prefix]
    found = {name: names.find(text, name) for name in wanted}
    if missing := [name for name, piece in found.items() if piece is None]:
        there = ", ".join(names.pieces(text))
        raise CourseError(f"{where} defines no {missing[0]!r}; it defines {there}")
    code = "\n\n\n".join(piece.source for piece in found.values() if piece)
    return f"{where} · {', '.join(wanted)}", code


def _definition(what: Any) -> Any:
    """The function or class behind ``what``: wrappers are taken off."""
    what = inspect.unwrap(what)
    function = getattr(what, "function", None)  # a Tool: show the function behind it
    if not hasattr(what, "__qualname__") and callable(function):
        what = inspect.unwrap(function)
    what = getattr(what, "__func__", what)
    if not hasattr(what, "__qualname__") or not hasattr(what, "__module__"):
        raise CourseError(
            f"show_source shows functions, classes and modules, not {type(what).__name__} objects"
        )
    return what


def _own_source(what: Any, members: tuple[str, ...]) -> str:
    """The source of something that a cell of the notebook defines."""
    piece = NotebookNames.of(vars(sys.modules["__main__"])).piece(what.__name__)
    if piece is None:
        raise CourseError(f"the source of {what.__qualname__} is lost; run its cell again")
    found = [names.find(piece.source, f"{piece.name}.{member}") for member in members]
    if None in found:
        raise CourseError(f"{piece.name} defines no {members[found.index(None)]!r}")
    return "\n\n\n".join(part.source for part in found if part) or piece.source


def _module_text(module: ModuleType) -> str:
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):
        raise CourseError(f"{module.__name__} has no Python source to show") from None


def _file_name(module: ModuleType) -> str:
    path = module.__name__.replace(".", "/")
    return f"{path}/__init__.py" if hasattr(module, "__path__") else f"{path}.py"


def _cut(code: str, lines: tuple[int, int]) -> str:
    every = code.splitlines()
    first, last = lines
    if not 1 <= first <= last or first > len(every):
        raise CourseError(f"lines=({first}, {last}): there are lines 1 to {len(every)}")
    before = [ELIDED] if first > 1 else []
    after = [ELIDED] if last < len(every) else []
    return "\n".join([*before, *every[first - 1 : last], *after])
