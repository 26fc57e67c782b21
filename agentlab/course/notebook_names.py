"""What stands in the learner's notebook: the text of their cells, and the names they bound.

`keep` asks here for the source of a function or class and for the import that brought a name in.
In a notebook that is IPython's record of the cells that were run; in a plain script it is the
script itself. Nothing is read from the notebook's file, which may be older than the kernel.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
from functools import cached_property
from typing import Any

from agentlab.course import names
from agentlab.course.names import Import, Piece


def function_text(function: Any) -> str:
    """The text of the file or notebook cell in which a function was defined, "" if it is lost."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "".join(linecache.getlines(code.co_filename)) if code else ""


class NotebookNames:
    """The caller's namespace and the texts that made it, oldest first."""

    def __init__(self, namespace: dict[str, Any], texts: list[str]) -> None:
        self.namespace = namespace
        self._all_texts = texts

    @classmethod
    def of(cls, namespace: dict[str, Any]) -> NotebookNames:
        """Of the notebook, or the script, whose global names these are."""
        history = namespace.get("In")
        if "get_ipython" in namespace and isinstance(history, list):
            return cls(namespace, [*_unrecorded_cells(history), *history])
        lines = linecache.getlines(namespace.get("__file__") or "", namespace)
        return cls(namespace, ["".join(lines)])

    @cached_property
    def texts(self) -> list[str]:
        """The texts that are Python, oldest first."""
        return [text for text in self._all_texts if _parses(text)]

    def name_of(self, value: Any) -> str:
        """The name that ``value`` has in the notebook, "" if it has none."""
        own = getattr(value, "__name__", "")
        if own and self.namespace.get(own) is value:
            return str(own)
        bound = [n for n, v in self.namespace.items() if v is value and not n.startswith("_")]
        return bound[-1] if bound else ""

    def piece(self, name: str) -> Piece | None:
        """The definition of ``name``: where its function says it is from, else the last one."""
        value = self.namespace.get(name)
        own_module = getattr(value, "__module__", None) == self.namespace.get("__name__")
        if own_module and inspect.isfunction(value) and _parses(text := function_text(value)):
            return names.pieces(text).get(name) or self._pieces.get(name)
        return self._pieces.get(name)

    @cached_property
    def imports(self) -> dict[str, Import]:
        """Every import of the notebook, the last one of each name."""
        found: dict[str, Import] = {}
        for text in self.texts:
            found |= names.imports(text)
        return found

    @cached_property
    def _pieces(self) -> dict[str, Piece]:
        found: dict[str, Piece] = {}
        for text in self.texts:
            found |= names.pieces(text)
        return found


def _unrecorded_cells(history: list[str]) -> list[str]:
    """Cells that ran without entering the history, as some runners (nbval) do it."""
    cells = [name for name in linecache.cache if re.search("ipykernel|ipython-input", name)]
    texts = ["".join(linecache.getlines(name)) for name in cells]
    known = {text.strip() for text in history}
    return [text for text in texts if text.strip() not in known]


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
