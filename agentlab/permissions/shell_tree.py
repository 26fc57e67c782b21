"""The grammar: tree-sitter and its grammar of bash, loaded when first needed.

The tree says how statements nest and where ``$(...)`` begins and ends. It is made for editors, so
it guesses where it should refuse; `shell` believes it only where its own reading agrees. Chapter
05.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


@dataclass(frozen=True)
class Tree:
    """The tree, and the nodes of ``$(...)`` and ``<(...)`` in it by where they begin."""

    root: Any
    holes: dict[int, Any]


@cache
def _grammar() -> tuple[Any, Any]:
    import tree_sitter
    import tree_sitter_bash

    language = tree_sitter.Language(tree_sitter_bash.language())
    query = tree_sitter.Query(language, "[(command_substitution) (process_substitution)] @hole")
    return tree_sitter.Parser(language), tree_sitter.QueryCursor(query)


def tree(text: str) -> Tree:
    """The tree of ``text``. Positions in it are positions in the text: one byte a character."""
    parser, cursor = _grammar()
    root = parser.parse(_NOT_ASCII.sub("%", text).encode("ascii")).root_node
    holes = {}
    for node in cursor.captures(root).get("hole", ()):
        opening = node.children[0]
        if opening.type != "`":
            holes[opening.end_byte - 2] = node
    return Tree(root, holes)
