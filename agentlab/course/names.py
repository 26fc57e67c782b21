"""Reading Python text: what it defines, what it imports, what it needs from outside.

`show_source` uses it to cut one definition out of a module, `keep` to find out what a learner's
code needs before it can stand in a file of its own. Nothing is executed here.
"""

from __future__ import annotations

import ast
import builtins
import symtable
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_MODULE_NAMES = frozenset(("__name__", "__file__", "__doc__", "__builtins__"))
BUILTINS = frozenset(dir(builtins)) | _MODULE_NAMES


@dataclass(frozen=True)
class Import:
    """One imported name. ``name`` is None for ``import module``."""

    module: str
    name: str | None
    bound: str

    @property
    def top(self) -> str:
        """The distribution's top-level module: ``"anthropic"``."""
        return self.module.partition(".")[0]

    @property
    def standard(self) -> bool:
        return self.top in sys.stdlib_module_names


@dataclass(frozen=True)
class Piece:
    """One definition at the top level of a text: its name, its source, where it stands."""

    name: str
    source: str
    first: int  # lines, counted from 1, last one included
    last: int
    node: ast.stmt

    @property
    def alone(self) -> bool:
        """True unless the statement binds other names too (``a, b = 1, 2``)."""
        return len(list(_bound(self.node))) == 1


def pieces(text: str) -> dict[str, Piece]:
    """Functions, classes and assignments at the top level; of a name defined twice, the last."""
    return _pieces_of(ast.parse(text).body, text.splitlines())


def find(text: str, dotted: str) -> Piece | None:
    """One definition, also inside a class: ``find(text, "Agent.run")``. None if it is not there."""
    body, found = ast.parse(text).body, None
    lines = text.splitlines()
    for part in dotted.split("."):
        found = _pieces_of(body, lines).get(part)
        if found is None:
            return None
        body = found.node.body if isinstance(found.node, ast.ClassDef) else []
    return found


def imports(text: str) -> dict[str, Import]:
    """Every name that the text imports at its top level, with where it comes from."""
    found: dict[str, Import] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                found[bound] = Import(alias.name, None, bound)
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__" and not node.level:
            for alias in node.names:
                bound = alias.asname or alias.name
                found[bound] = Import(node.module or "", alias.name, bound)
    return found


def defined(text: str) -> set[str]:
    """Every name that exists after the text has run as a module, imported ones included."""
    table = symtable.symtable(text, "<text>", "exec")
    return {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}


def needed(text: str) -> set[str]:
    """Names that the text uses but neither defines nor finds among the builtins."""
    used: set[str] = set()
    for table in _tables(symtable.symtable(text, "<text>", "exec")):
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (top or symbol.is_global()):
                used.add(symbol.get_name())
    return used - defined(text) - BUILTINS


def needed_at_import(text: str) -> set[str]:
    """Names used while the module is being read: decorators, defaults, bases, constants."""
    used: set[str] = set()
    queue = [symtable.symtable(text, "<text>", "exec")]
    for table in queue:
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (top or symbol.is_global()):
                used.add(symbol.get_name())
        # bodies of functions run later; bodies of classes and comprehensions run now
        queue += [t for t in table.get_children() if t.get_type() == "class" or _is_inline(t)]
    return used


def import_lines(wanted: list[Import]) -> str:
    """The imports as tidy text: standard library first, one line a module, no name twice."""
    groups = []
    for standard in (True, False):
        chosen = [entry for entry in wanted if entry.standard is standard]
        lines = {_plain(entry) for entry in chosen if entry.name is None}
        by_module: dict[str, set[str]] = {}
        for entry in chosen:
            if entry.name is not None:
                renamed = "" if entry.name == entry.bound else f" as {entry.bound}"
                by_module.setdefault(entry.module, set()).add(entry.name + renamed)
        froms = [f"from {m} import {', '.join(sorted(n))}" for m, n in sorted(by_module.items())]
        if lines or froms:
            groups.append("\n".join([*sorted(lines), *froms]))
    return "\n\n".join(groups)


def _plain(entry: Import) -> str:
    if entry.bound in (entry.module, entry.top):
        return f"import {entry.module}"
    return f"import {entry.module} as {entry.bound}"


def _pieces_of(body: list[ast.stmt], lines: list[str]) -> dict[str, Piece]:
    found: dict[str, Piece] = {}
    for node in body:
        for name in _bound(node):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            while first > 1 and lines[first - 2].lstrip().startswith("#"):
                if lines[first - 2].startswith(("# ---", "# %%")):
                    break
                first -= 1
            last = node.end_lineno or node.lineno
            source = textwrap.dedent("\n".join(lines[first - 1 : last]))
            found[name] = Piece(name, source, first, last, node)
    return found


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    yield part.id
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
        yield node.target.id


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _is_inline(table: symtable.SymbolTable) -> bool:
    return table.get_name() in ("listcomp", "setcomp", "dictcomp", "genexpr")
