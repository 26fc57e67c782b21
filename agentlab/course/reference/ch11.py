"""Chapter 11: large results kept on disk, decided once; files that are not sent twice."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LIMIT, ROOM = 8_000, 1_000  # characters
RESULTS = Path(".agentlab", "results")


def preview(text: str, path: str, limit: int = LIMIT, room: int = ROOM) -> str:
    """The text, or its first and last lines and where the rest can be read."""
    if len(text) <= limit:
        return text
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    first, last = 0, len(lines)
    while len("".join(lines[: first + 1])) <= room:
        first += 1
    while len("".join(lines[last - 1 :])) <= room:
        last -= 1
    missing = f"lines {first + 1} to {last} of {len(lines)}"
    note = f"[{missing} are in {path}: Read it with offset={first + 1}]\n"
    return "".join([*lines[:first], note, *lines[last:]])


def keep_result(id: str, text: str) -> str:
    """Write a result to a file of its own, and give the preview that stands for it."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    data, stem = text.encode("utf-8", "replace"), re.sub(r"[^A-Za-z0-9_-]", "_", id)
    path, number = RESULTS / f"{stem}.txt", 1
    while path.exists() and path.read_bytes() != data:  # another run's
        number += 1
        path = RESULTS / f"{stem}-{number}.txt"
    path.write_bytes(data)
    return preview(text, path.as_posix())


def replace_large(
    results: list[dict[str, Any]], decided: dict[str, str], limit: int = LIMIT
) -> list[dict[str, Any]]:
    """Tool results as they are sent. What was decided once, whole or preview, stays decided."""
    sent = []
    for result in results:
        id, content = result["tool_use_id"], result["content"]
        if isinstance(content, str):
            if id not in decided:
                decided[id] = content if len(content) <= limit else keep_result(id, content)
            result = {**result, "content": decided[id]}
        sent.append(result)
    return sent


class FileCache:
    """What each file held when it was read, the least recently used ones dropped."""

    def __init__(self, files: int = 100, size: int = 25_000_000) -> None:
        self.files, self.size = files, size
        self.held: dict[Path, bytes] = {}

    def read(self, path: str) -> str:
        """The text of a file, or a note if it was read before and has not changed."""
        key = Path(path).resolve()
        if not key.is_file():
            self.held.pop(key, None)
            raise FileNotFoundError(f"{path} does not exist")
        before, data = self.held.get(key), key.read_bytes()
        self.remember(key, data)
        if before == data:
            return f"[{path} is unchanged since you read it in this conversation]"
        return data.decode("utf-8", "replace")

    def check(self, path: str) -> None:
        """Raise ValueError if a file may not be changed: it was not read as it is now."""
        key = Path(path).resolve()
        if not key.exists():
            return
        if key not in self.held:
            raise ValueError(f"Read {path} first, then change it.")
        if self.held[key] != key.read_bytes():
            raise ValueError(f"{path} has changed since it was read. Read it again.")

    def remember(self, key: Path, data: bytes) -> None:
        """Keep what a file holds now, as the one that was used last."""
        self.held.pop(key, None)
        self.held[key] = data
        while len(self.held) > 1 and (
            len(self.held) > self.files or sum(map(len, self.held.values())) > self.size
        ):
            del self.held[next(iter(self.held))]

    def clone(self) -> FileCache:
        """The same for a child, which goes its own way from here."""
        child = FileCache(self.files, self.size)
        child.held = dict(self.held)
        return child
