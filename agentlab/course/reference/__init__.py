"""The course's own version of what each chapter builds, for learners who skipped a chapter.

``chNN.py`` holds the pieces of chapter NN, written so that they run with the anthropic package
alone. `keep` copies a piece into `my_harness.py` when a later chapter needs it and the learner's
own is not there. The tests put all pieces together and run the result.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from agentlab.course import names
from agentlab.course.names import Import
from agentlab.models import default_model


@dataclass(frozen=True)
class Reference:
    """One piece: the chapter that builds it, its source, and the imports of its file."""

    name: str
    chapter: int
    source: str
    imports: dict[str, Import]


def find(name: str, chapter: int) -> Reference | None:
    """The newest version of ``name`` that chapters up to ``chapter`` build, None if none does."""
    versions = [pieces[name] for number, pieces in _all() if number <= chapter and name in pieces]
    return versions[-1] if versions else None


def pieces_of(chapter: int) -> dict[str, Reference]:
    """All pieces of one chapter, in the order of its file."""
    return next((pieces for number, pieces in _all() if number == chapter), {})


@functools.cache
def _all() -> list[tuple[int, dict[str, Reference]]]:
    found = []
    for path in sorted(Path(__file__).parent.glob("ch[0-9][0-9].py")):
        text, number = path.read_text("utf-8"), int(path.stem[2:])
        known = names.imports(text)
        pieces = {
            piece.name: Reference(piece.name, number, _filled(piece.source), known)
            for piece in names.pieces(text).values()
        }
        found.append((number, pieces))
    return found


def _filled(source: str) -> str:
    """Model names stand in one place, so a reference file says ``"{default_model}"`` instead."""
    return source.replace("{default_model}", default_model())
