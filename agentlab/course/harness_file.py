"""The file `my_harness.py` as text: what belongs to which chapter, and what the learner wrote.

Managed parts stand between a line that opens them and a line that closes them::

    # --- chapter 02: the loop ---
    ...
    # --- end of chapter 02 ---

Everything outside such lines is the learner's and stays exactly as it is. Managed are: the
imports, one part a chapter, and the part that runs the file. Nothing here touches the disk.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from agentlab.course import names
from agentlab.course.names import Import

IMPORTS, MAIN = "imports", "main"
HEADER = '''"""The agent harness that I built in the agentlab course, chapter by chapter.

Run it:  python my_harness.py "your task"

It needs the anthropic package and nothing else. The key comes from ANTHROPIC_API_KEY; another
server than the vendor's from ANTHROPIC_BASE_URL. `keep` rewrites the parts between the lines
"# --- chapter ... ---" and "# --- end of ... ---"; what I write outside of them is mine.
"""

from __future__ import annotations
'''
_OPEN = re.compile(r"# --- (?:chapter (?P<chapter>\d\d): .+|(?P<other>imports|main)) ---")
_GAP = "\n\n"


@dataclass(frozen=True)
class Part:
    """A stretch of the file. ``key``: "imports", "02", "main", or "" for the learner's own text."""

    key: str
    text: str
    opening: str = ""
    closed: bool = True

    @property
    def title(self) -> str:
        """The words after the chapter's number."""
        return self.opening.partition(": ")[2].removesuffix(" ---")

    def render(self) -> str:
        if not self.key:
            return self.text
        return f"{self.opening}\n\n{self.text}\n\n{_closing(self.key)}\n"


@dataclass(frozen=True)
class HarnessFile:
    """The whole file, as parts in order. Methods return a new file."""

    parts: tuple[Part, ...]

    @classmethod
    def new(cls) -> HarnessFile:
        return cls((Part("", HEADER + "\n"),))

    @classmethod
    def parse(cls, text: str) -> HarnessFile:
        """Read a file back. A part that is never closed runs to the next opening line."""
        parts: list[Part] = []
        key, opening, lines = "", "", []
        for line in text.splitlines(keepends=True):
            bare = line.rstrip()
            found = _OPEN.fullmatch(bare)
            if not found and not (key and bare == _closing(key)):
                lines.append(line)
                continue
            parts.append(_part(key, opening, lines, closed=not found))
            key = (found["chapter"] or found["other"]) if found else ""
            opening, lines = bare if found else "", []
        parts.append(_part(key, opening, lines, closed=not key))
        return cls(tuple(p for p in parts if p.key or p.text))

    def render(self) -> str:
        return "".join(part.render() for part in self.parts)

    @property
    def unclosed(self) -> list[str]:
        """Keys of parts whose closing line is missing: their end cannot be told."""
        return [part.key for part in self.parts if not part.closed]

    def text_of(self, key: str) -> str:
        """The text of a managed part, "" if there is none."""
        return next((part.text for part in self.parts if part.key == key), "")

    def without(self, *keys: str) -> str:
        """All text but that of the parts named, to see what is there besides."""
        return "\n\n".join(part.text for part in self.parts if part.key not in keys)

    def needed(self) -> set[str]:
        """Names that the file uses and does not define, managed imports not counted."""
        texts = [part.text for part in self.parts if part.key != IMPORTS]
        return set().union(*map(names.needed, texts)) - set().union(*map(names.defined, texts))

    def put(self, key: str, title: str, text: str) -> HarnessFile:
        """Set a managed part: in its place if it is there, else where its number belongs."""
        part = Part(key, text.strip("\n"), _opening(key, title))
        present = [i for i, old in enumerate(self.parts) if old.key == key]
        if present:
            kept = [p for i, p in enumerate(self.parts) if p.key != key or i == present[0]]
            at = kept.index(self.parts[present[0]])
            return replace(self, parts=(*kept[:at], part, *kept[at + 1 :]))
        at = _place(self.parts, key)
        before, after = self.parts[:at], self.parts[at:]
        space = () if not before or before[-1].render().endswith(_GAP) else (Part("", _GAP),)
        trail = () if not after or after[0].render().startswith(_GAP) else (Part("", _GAP),)
        return replace(self, parts=_joined((*before, *space, part, *trail, *after)))

    def with_imports(self, known: dict[str, Import]) -> HarnessFile:
        """With an imports part of exactly those names in ``known`` that the file needs."""
        needed = self.needed()
        known = names.imports(self.text_of(IMPORTS)) | known
        lines = names.import_lines([known[name] for name in sorted(needed) if name in known])
        if not lines and not self.text_of(IMPORTS):
            return self
        return self.put(IMPORTS, "", lines or "# none needed yet")

    def without_superseded(self) -> HarnessFile:
        """Leave out what a later chapter defines again, if nothing in between needs the old one."""
        parts = list(self.parts)
        chapters = [i for i, part in enumerate(parts) if part.key.isdigit()]
        for i in chapters:
            found = [p for p in names.pieces(parts[i].text).values() if p.alone]
            for piece in sorted(found, key=lambda p: p.first, reverse=True):
                name = piece.name
                later = [j for j in chapters if j > i and name in names.pieces(parts[j].text)]
                if not later:
                    continue
                note = f"# {name}: built again in chapter {parts[later[0]].key}"
                cut = _cut(parts[i].text, piece, note)
                between = "\n".join([cut, *(p.text for p in parts[i + 1 : later[0]])])
                if name not in names.needed_at_import(between):
                    parts[i] = replace(parts[i], text=cut)
        return replace(self, parts=tuple(parts))


def _part(key: str, opening: str, lines: list[str], *, closed: bool) -> Part:
    text = "".join(lines)
    return Part(key, text.strip("\n"), opening, closed) if key else Part("", text)


def _opening(key: str, title: str) -> str:
    return f"# --- chapter {key}: {title} ---" if key.isdigit() else f"# --- {key} ---"


def _closing(key: str) -> str:
    return f"# --- end of {f'chapter {key}' if key.isdigit() else key} ---"


def _place(parts: tuple[Part, ...], key: str) -> int:
    """Where a new part goes: imports, then chapters by number; the main part at the very end."""
    if key == MAIN:
        return len(parts)
    managed = [i for i, part in enumerate(parts) if part.key]
    earlier = [i for i in managed if _rank(parts[i].key) < _rank(key)]
    if earlier:
        return earlier[-1] + 1
    return managed[0] if managed else min(1, len(parts))


def _rank(key: str) -> int:
    return {IMPORTS: -1, MAIN: 100}.get(key) if not key.isdigit() else int(key)  # type: ignore[return-value]


def _joined(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Neighbouring stretches of the learner's text as one, as `parse` would read them."""
    out: list[Part] = []
    for part in parts:
        if out and not part.key and not out[-1].key:
            out[-1] = replace(out[-1], text=out[-1].text + part.text)
        else:
            out.append(part)
    return tuple(out)


def _cut(text: str, piece: names.Piece, note: str) -> str:
    lines = text.splitlines()
    return "\n".join([*lines[: piece.first - 1], note, *lines[piece.last :]])
