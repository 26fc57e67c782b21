"""What kept code needs besides itself, and where that can come from.

A name that the code uses is looked for in this order: in the file already; among the notebook's
imports (standard library and anthropic only); among the notebook's own definitions, which then
come along; among the course's reference pieces. A name found nowhere is an error that says so.
"""

from __future__ import annotations

import ast
import pprint
from dataclasses import dataclass, field

from agentlab.course import names, reference
from agentlab.course.harness_file import IMPORTS, HarnessFile
from agentlab.course.harness_store import FILE
from agentlab.course.names import Import
from agentlab.course.notebook_names import NotebookNames
from agentlab.course.shown import CourseError

LONGEST_VALUE = 200  # characters of a plain value that comes along unasked


@dataclass
class Plan:
    """What will be written: name -> source, by where it comes from."""

    own: dict[str, str] = field(default_factory=dict)
    theirs: dict[str, reference.Reference] = field(default_factory=dict)
    imports: dict[str, Import] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def complete(
    plan: Plan, notebook: NotebookNames, file: HarnessFile, key: str, wanted: list[str]
) -> None:
    """Add to the plan what its code needs, directly or not. Raises CourseError for what is missing.

    ``wanted`` are names that have to be in the file whoever uses them. Other chapters' parts are
    looked through too: they may have relied on what this chapter's part held until now. What they
    miss is filled in or noted, never an error.
    """
    there = names.defined(file.without(key, IMPORTS))
    queue = [("the file", name) for name in wanted]
    for user, text in plan.own.items():
        queue += [(user, name) for name in sorted(names.needed(text))]
    while queue:
        user, name = queue.pop(0)
        if name in there or name in plan.own or name in plan.theirs or name in plan.imports:
            continue
        origin = notebook.imports.get(name)
        if origin and _allowed(origin):
            plan.imports[name] = origin
            continue
        if text := "" if origin else _helper(notebook, name):
            plan.own = {name: text, **plan.own}
        elif not (text := _from_course(plan, name, key)):
            raise CourseError(_missing(name, user, origin))
        queue += [(name, other) for other in sorted(names.needed(text))]
    _mend_others(plan, file, key)


def in_order(sources: dict[str, str]) -> str:
    """The pieces as one text: constants first, each after what it uses while it is being read."""
    done: dict[str, str] = {}

    def add(name: str, above: tuple[str, ...] = ()) -> None:
        if name in done or name in above:
            return
        for other in sources:
            if other != name and other in names.needed_at_import(sources[name]):
                add(other, (*above, name))
        done[name] = sources[name]

    for name in sorted(sources, key=lambda n: not _is_assignment(sources[n])):
        add(name)
    return "\n\n\n".join(dict.fromkeys(done.values()))


def constant(name: str, value: object) -> str:
    """The assignment that gives ``name`` this plain value, "" if it is not one."""
    text = pprint.pformat(value, width=88, sort_dicts=False)
    try:
        plain = ast.literal_eval(text) == value
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ""
    return f"{name} = {text}" if plain else ""


def definition(notebook: NotebookNames, name: str) -> str:
    """The source of a name of the notebook, "" if no cell defines it.

    An assignment that had to run something (``MODEL = endpoint.model``) becomes the plain value
    it gave, if it gave one.
    """
    piece = notebook.piece(name)
    if piece is None:
        return ""
    if not _is_assignment(piece.source) or _runs_nothing(piece.node, notebook):
        return piece.source
    return constant(name, notebook.namespace.get(name)) or piece.source


def _helper(notebook: NotebookNames, name: str) -> str:
    """A definition of the notebook that may come along unasked: no long data, no code that runs."""
    text, piece = definition(notebook, name), notebook.piece(name)
    if piece is None or not _is_assignment(text) or _runs_nothing(piece.node, notebook):
        return text
    is_value = text != piece.source
    return text if is_value and len(text) <= LONGEST_VALUE else ""


def _from_course(plan: Plan, name: str, key: str) -> str:
    """Plan the course's own version of ``name``; its source, "" if there is none."""
    found = reference.find(name, int(key))
    if found is None:
        return ""
    plan.theirs[name] = found
    for bound in names.needed(found.source) & found.imports.keys():
        if _allowed(found.imports[bound]):
            plan.imports[bound] = found.imports[bound]
    return found.source


def _allowed(origin: Import) -> bool:
    """Whether the file may import it: it has to run with the anthropic package alone."""
    return origin.standard or origin.top == "anthropic"


def _mend_others(plan: Plan, file: HarnessFile, key: str) -> None:
    there = names.defined(file.without(key)) | set(plan.own) | set(plan.theirs) | set(plan.imports)
    for part in file.parts:
        if not part.key.isdigit() or part.key == key:
            continue
        queue = sorted(names.needed(part.text) - there)
        while queue:
            name = queue.pop(0)
            text = _from_course(plan, name, part.key)
            if text:
                there |= {name, *plan.imports}
                queue += sorted(names.needed(text) - there)
            else:
                plan.notes.append(f"Chapter {part.key} needs {name!r}, which is not in {FILE}")


def _missing(name: str, user: str, origin: Import | None) -> str:
    start = f"keep: {user} needs {name!r}"
    if origin and origin.top == "agentlab":
        return (
            f"{start}, which comes from {origin.module}, and {FILE} has to run without agentlab. "
            f"Write your own {name}, or give its value: keep(..., {name}=...)"
        )
    if origin:
        return f"{start} from {origin.module}, and {FILE} has to run with anthropic alone"
    return f"{start}, which is not in {FILE}. Keep it too, or make it an argument of {user}"


def _runs_nothing(node: ast.stmt, notebook: NotebookNames) -> bool:
    """Whether an assignment only writes down values, names and things out of modules."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call | ast.Await):
            return False
        if isinstance(part, ast.Attribute | ast.Subscript):
            base: ast.expr = part.value
            while isinstance(base, ast.Attribute | ast.Subscript):
                base = base.value
            if not isinstance(base, ast.Name) or base.id not in notebook.imports:
                return False
    return True


def _is_assignment(source: str) -> bool:
    return isinstance(ast.parse(source).body[0], ast.Assign | ast.AnnAssign)
