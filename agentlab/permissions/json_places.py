"""Where each value of a JSON text stands, which `json` does not tell.

An error in a settings file names line and column. `places` walks over a text that `json` has
accepted, and notes the position of every value, and a key that stands twice in one object, of which
`json` would keep the second without a word. Plumbing: no chapter builds it.
"""

from __future__ import annotations

import json
import re

Places = dict[tuple[str | int, ...], tuple[int, int]]
_BLANK = re.compile(r"[ \t\n\r]*")
_SIMPLE = re.compile(r"[-+.\w]+")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


def places(text: str) -> tuple[Places, tuple[tuple[int, int], str] | None]:
    """Line and column (from 1) of each value by its path, and the first key that stands twice."""
    found: Places = {}
    twice: list[tuple[tuple[int, int], str]] = []

    def position(at: int) -> tuple[int, int]:
        return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)

    def skip(at: int) -> int:
        blank = _BLANK.match(text, at)
        return blank.end() if blank else at

    def value(at: int, path: tuple[str | int, ...]) -> int:
        found[path] = position(at)
        if text[at] not in "[{":
            simple = (_TEXT if text[at] == '"' else _SIMPLE).match(text, at)
            return simple.end() if simple else at + 1
        keys: list[str | int] = []
        opened, at = text[at], skip(at + 1)
        while text[at] not in "]}":
            key: str | int = len(keys)
            if opened == "{":
                start = at
                at = value(at, (*path, ""))
                key = json.loads(text[start:at])
                if key in keys:
                    twice.append((position(start), str(key)))
                at = skip(skip(at) + 1)
            keys.append(key)
            at = skip(value(at, (*path, key)))
            if text[at] == ",":
                at = skip(at + 1)
        return at + 1

    value(skip(0), ())
    return found, twice[0] if twice else None
