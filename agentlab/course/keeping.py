"""`keep`: the learner's own code, out of the notebook and into one file that runs.

`my_harness.py` grows chapter by chapter. `keep` copies the source of what it is given, finds what
that source needs (`agentlab.course.needs`), and writes the file so that it runs with the anthropic
package alone. What an earlier chapter would have provided is filled in with the course's own
version, said so in a comment. Run again, it replaces its own chapter and nothing else; what the
learner wrote between the managed parts stays.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

from agentlab.course import harness_store, reference
from agentlab.course.chapters import chapter as chapter_of
from agentlab.course.harness_file import MAIN, HarnessFile
from agentlab.course.harness_store import FILE
from agentlab.course.names import FUNCTION, Import, needed_at_import, pieces
from agentlab.course.needs import Plan, complete, constant, definition, in_order
from agentlab.course.notebook_names import NotebookNames
from agentlab.course.shown import CourseError, Shown, escape

THEIRS = "# The course's version of {name}: mine is not in this file yet."


class Kept(Shown):
    """What `keep` wrote. ``path`` is where."""

    def __init__(self, text: str, path: Path) -> None:
        self.path = path
        lines = "".join(f"<div>{escape(line)}</div>" for line in text.splitlines())
        super().__init__(text, lines)


def keep(*what: Any, chapter: int, main: Any = None, **constants: Any) -> Kept:
    """Put functions, classes and constants of the notebook into ``my_harness.py``.

    ``keep(State, run, chapter=2, MODEL=model, main=main)``. Give every piece of the chapter in
    one call: the chapter's part of the file is replaced. ``main`` is the function that runs when
    the file is run, with the words of the command line as its argument if it takes one; without
    it the course's own is used as soon as there is a loop to run. Raises CourseError, and leaves
    the file as it was, if the result could not run.
    """
    notebook = NotebookNames.of(sys._getframe(1).f_globals)
    about = chapter_of(chapter)
    path = harness_store.harness_path()
    file, notes = harness_store.read(path)

    asked = [_name(notebook, value) for value in what]
    entry = _name(notebook, main) if main is not None else _entry(asked, file, chapter)
    plan = Plan(own={name: _constant(notebook, name, value) for name, value in constants.items()})
    for name in asked if main is None else [*asked, entry]:
        plan.own.setdefault(name, _source(notebook, name))
    given = set(plan.own)
    complete(plan, notebook, file, about.key, [entry] if entry else [])

    file = file.put(about.key, about.title.lower(), in_order(plan.own))
    file = _with_theirs(file, plan)
    if entry:
        file = file.put(MAIN, "", _main_text(entry, file))
        plan.imports |= {name: Import(name, None, name) for name in ("asyncio", "sys")}
    harness_store.write(path, file.without_superseded().with_imports(plan.imports))
    return Kept("\n".join([*_summary(plan, about.key, given), *plan.notes, *notes]), path)


def _entry(asked: list[str], file: HarnessFile, chapter: int) -> str:
    """The function that runs the file: one kept now, the one that does already, the course's."""
    if "main" in asked:
        return "main"
    if written := re.search(
        r"^    (?:asyncio\.run\()?(\w+)\(.*\)$", file.text_of(MAIN), re.MULTILINE
    ):
        return written[1]
    return "main" if reference.find("main", chapter) else ""


def _name(notebook: NotebookNames, value: Any) -> str:
    """The name of what is to be kept; it may be given as the name itself."""
    if isinstance(value, str) and value in notebook.namespace:
        return value
    if name := notebook.name_of(value):
        return name
    shown = getattr(value, "__name__", None) or repr(value)[:40]
    raise CourseError(f"keep: {shown} has no name in this notebook; define it in a cell first")


def _source(notebook: NotebookNames, name: str) -> str:
    if text := definition(notebook, name):
        return text
    origin = notebook.imports.get(name)
    where = f" It comes from {origin.module}; keep what you built yourself." if origin else ""
    raise CourseError(f"keep: no cell of this notebook defines {name!r}.{where}")


def _constant(notebook: NotebookNames, name: str, value: Any) -> str:
    """``name = value``, as the notebook wrote it if that is where it stands."""
    if notebook.namespace.get(name) is value and (text := definition(notebook, name)):
        return text
    if text := constant(name, value):
        return text
    kind = type(value).__name__
    raise CourseError(f"keep: {name} is a {kind}; only plain values can be given as {name}=...")


def _with_theirs(file: HarnessFile, plan: Plan) -> HarnessFile:
    """Add the course's versions to the parts of the chapters that build them."""
    for home in map(chapter_of, sorted({found.chapter for found in plan.theirs.values()})):
        added = {
            name: f"{THEIRS.format(name=name)}\n{found.source}"
            for name, found in plan.theirs.items()
            if found.chapter == home.number
        }
        before = file.text_of(home.key)
        used = needed_at_import(before)
        above = in_order({name: text for name, text in added.items() if name in used})
        below = in_order({name: text for name, text in added.items() if name not in used})
        texts = filter(None, [above, before, below])
        file = file.put(home.key, home.title.lower(), "\n\n\n".join(texts))
    return file


def _main_text(entry: str, file: HarnessFile) -> str:
    """The lines that run the file; ``entry`` gets the words of the command line if it takes any."""
    piece = pieces(file.without(MAIN)).get(entry)
    node = piece.node if piece else None
    takes_task = isinstance(node, FUNCTION) and bool(node.args.args or node.args.posonlyargs)
    call = f'{entry}(" ".join(sys.argv[1:]))' if takes_task else f"{entry}()"
    if isinstance(node, ast.AsyncFunctionDef):
        call = f"asyncio.run({call})"
    lines = ['if __name__ == "__main__":']
    if takes_task:
        lines += [
            "    if len(sys.argv) < 2:",
            f"        sys.exit('usage: python {FILE} \"your task\"')",
        ]
    return "\n".join([*lines, f"    {call}"])


def _summary(plan: Plan, key: str, given: set[str]) -> list[str]:
    lines = [f"{FILE}, chapter {key}: {', '.join(n for n in plan.own if n in given)}"]
    if brought := [name for name in plan.own if name not in given]:
        lines.append(f"These came along, because the code needs them: {', '.join(brought)}")
    if plan.theirs:
        homes: dict[int, list[str]] = {}
        for name, found in sorted(plan.theirs.items()):
            homes.setdefault(found.chapter, []).append(name)
        listed = [f"{', '.join(homes[n])} (chapter {n:02d})" for n in sorted(homes)]
        lines.append(f"The course's version, since yours is not in the file: {'; '.join(listed)}")
    return lines
