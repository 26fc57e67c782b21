"""Keeping a large result on disk: a name, a place, and never over something else.

The plain part of `agentlab.previews`, which chapter 11 builds. A result becomes a text file in a
folder of the workspace, so that the file tools can open it. Its name is made from the id of its
call. If there is a file of that name it is another run's, and this one gets the next free name; if
it holds the same, it is used again. The folder tells git to ignore it, so that checkpoints leave it
alone.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from agentlab.messages import valid_unicode
from agentlab.toolbox.paths import MAX_FILE_BYTES, Confined, read_in, told
from agentlab.tools import ToolError

FOLDER = ".agentlab/results"
KEPT_BYTES = MAX_FILE_BYTES  # more could not be read back
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class ResultFiles:
    """The kept results of one workspace. Raises NotADirectoryError if the folder is not there."""

    def __init__(self, workspace: str | os.PathLike[str]) -> None:
        self._confined = Confined(workspace)

    @property
    def workspace(self) -> Path:
        return self._confined.root

    def keep(self, tool_use_id: str, text: str) -> str:
        """Write a `storable` text to a file of its own; returns its path as Read takes it.

        Raises OSError, or ToolError if something stands in the way (a link, for instance).
        """
        place, data = self.workspace / FOLDER, text.encode()
        with self._confined.folder(place, create=True) as folder:
            _create(folder, place / ".gitignore", b"*\n")
            for name in names_for(tool_use_id):
                if _create(folder, place / name, data) or _holds(folder, place / name, data):
                    return f"{FOLDER}/{name}"
        raise ToolError("there is no free name for it")

    def remove_unless_named(self, text: str) -> int:
        """Delete the files whose paths do not stand in a text; returns how many they were."""
        place = self.workspace / FOLDER
        if not place.is_dir():
            return 0
        with told(FOLDER), self._confined.folder(place) as folder:
            names = os.listdir(place if folder is None else folder)
            gone = [n for n in names if n.endswith(".txt") and f"{FOLDER}/{n}" not in text]
            for name in gone:
                os.unlink(place / name if folder is None else name, dir_fd=folder)
        return len(gone)


def storable(text: str) -> str:
    """A text as it can be kept: valid Unicode, without NUL, and not too large to be read back."""
    text = valid_unicode(text).replace("\0", "")
    if 4 * len(text) <= KEPT_BYTES or len(data := text.encode()) <= KEPT_BYTES:
        return text
    ends = data[: KEPT_BYTES // 2], data[-(KEPT_BYTES // 2 - 100) :]
    head, tail = (part.decode("utf-8", "ignore") for part in ends)
    missing = len(text) - len(head) - len(tail)
    return (
        f"{head}\n[... {missing:,} of {len(text):,} characters were too many to keep ...]\n{tail}"
    )


def names_for(tool_use_id: str) -> Iterator[str]:
    """Names for a result, the best first, of characters that every system takes.

    An id that is not of the usual kind (``toolu_...``) may look like another one, or like a device
    (NUL, CON), so it is hashed too.
    """
    name = re.sub(r"[^A-Za-z0-9_-]", "_", tool_use_id)[:80]
    if name != tool_use_id or not re.match(r"[a-z]+_", name):
        digest = hashlib.sha256(tool_use_id.encode("utf-8", "surrogatepass")).hexdigest()
        name = f"result_{name}_{digest[:12]}"
    yield f"{name}.txt"
    yield from (f"{name}-{number}.txt" for number in range(2, 1_000))


def _create(folder: int | None, target: Path, data: bytes) -> bool:
    """Make a file in an open folder. False if there is one of that name already."""
    name = str(target) if folder is None else target.name
    try:
        opened = os.open(name, _CREATE, 0o600, dir_fd=folder)
    except FileExistsError:
        return False
    try:
        with os.fdopen(opened, "wb") as file:
            file.write(data)
    except BaseException:  # half a result is none
        os.unlink(name, dir_fd=folder)
        raise
    return True


def _holds(folder: int | None, target: Path, data: bytes) -> bool:
    """Whether a file holds just that: the same result once more."""
    try:
        return read_in(folder, target) == data
    except (OSError, ToolError):
        return False
