"""Text that arrives in pieces, wrapped into lines as it comes.

A terminal breaks long lines anywhere. `Flow` holds a word back until it is whole, and starts a new
line before one that does not fit, so a stream reads like text that was set at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rich.cells import cell_len

_PIECES = re.compile(r"\n|[^\S\n]+|\S+")


class Flow:
    """Writes pieces of text with ``write``, indented, in lines of at most ``width`` cells."""

    def __init__(self, write: Callable[[str], None], width: int, indent: str) -> None:
        self._write, self._indent = write, indent
        self._width = max(width - cell_len(indent), 12)
        self._column = 0
        self._space = self._word = ""

    def feed(self, text: str) -> None:
        """Take the next piece."""
        out: list[str] = []
        for piece in _PIECES.findall(text.expandtabs(4)):
            if not piece.isspace():
                self._word += piece
                continue
            self._flush(out)
            if piece == "\n":
                out.append("\n")
                self._column, self._space = 0, ""
            else:
                self._space += piece
        if out:
            self._write("".join(out))

    def end(self) -> None:
        """Write what was held back, and end the line."""
        out: list[str] = []
        self._flush(out)
        if self._column:
            out.append("\n")
        self._column, self._space = 0, ""
        if out:
            self._write("".join(out))

    def _flush(self, out: list[str]) -> None:
        word, self._word = self._word, ""
        if not word:
            return
        space = self._space[: self._width // 2]
        if self._column and self._column + len(space) + cell_len(word) > self._width:
            out.append("\n")
            self._column, space = 0, ""
        out += ([] if self._column else [self._indent]) + [space]
        self._column, self._space = self._column + len(space), ""
        for character in word:
            wide = cell_len(character)
            if self._column + wide > self._width:  # one word longer than a line
                out += ["\n", self._indent]
                self._column = 0
            out.append(character)
            self._column += wide
