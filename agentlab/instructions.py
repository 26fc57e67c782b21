"""AGENTS.md: what a project asks of every agent that works in it.

A file in plain words, read once when a session starts, that becomes part of the system prompt. It
is advice: the model reads it, mostly follows it, and in a long session may no longer think of it.
What must hold in any case is a hook or a rule. It is paid for with every request, so keep it short
(60 lines is a good limit), and let each line come from something that went wrong.

Read is the file that is nearest: in the folder itself or, inside a git repository, in a folder
above it. ``AGENTS.md`` comes before ``CLAUDE.md``. Files that it names are not read. Whoever can
write it speaks to the model with your voice: look at it before you run an agent in a folder that
is not yours. Built in chapter 07.
"""

from __future__ import annotations

import os
from pathlib import Path

from agentlab.messages import valid_unicode

NAMES = ("AGENTS.md", "CLAUDE.md")
MOST_CHARS = 40_000


def read_instructions(folder: str | os.PathLike[str]) -> str:
    """The text of the nearest file with instructions, under a heading; "" if there is none.

    A longer one than 40,000 characters is cut, and says so. Raises OSError if it cannot be read.
    """
    found = find_instructions(folder)
    if found is None:
        return ""
    text = found.read_bytes().decode("utf-8", "replace").lstrip("\ufeff").replace("\0", "")
    text = valid_unicode(text).strip()
    if len(text) > MOST_CHARS:
        text = f"{text[:MOST_CHARS]}\n[{found.name} is cut here, at {MOST_CHARS} characters]"
    return f"What this project asks of you ({found.name}):\n\n{text}" if text else ""


def find_instructions(folder: str | os.PathLike[str]) -> Path | None:
    """The nearest file: here, or above as far as this git repository goes. None: there is none.

    A link that leads out of the project is not followed: its text would go to the model.
    """
    here = Path(folder).resolve()
    above = [here, *here.parents]
    top = next((n for n, place in enumerate(above) if (place / ".git").exists()), 0)
    for place in above[: top + 1]:
        for path in (place / name for name in NAMES):
            if path.is_file() and path.resolve().is_relative_to(above[top]):
                return path
    return None
