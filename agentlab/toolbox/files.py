"""``Read``: looking at a file.

`Read` gives a text file as it is, or the range of lines that was asked for, and never more than
`READ_CHARS`: a large file is read in parts, and each part says where the next one begins, in the
middle of a line if the line is that long. What has not changed since it was read, and is still in
the conversation, is not sent again. What cannot be read says what it is and what to do instead.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from agentlab.file_cache import FileCache, Span
from agentlab.toolbox.listing import existing, ls_tool
from agentlab.toolbox.paths import Confined
from agentlab.toolbox.search import grep_tool
from agentlab.toolbox.texts import Text
from agentlab.tools import Tool, ToolError, tool

READ_CHARS = 20_000  # of one Read; ten of them fit into a window of 200,000 characters
UNCHANGED = (
    "[{path} is unchanged since you read this part of it in this conversation; the text stands "
    "there. To get it once more call Read with again=true.]"
)


def file_tools(workspace: str | os.PathLike[str], cache: FileCache | None = None) -> list[Tool]:
    """``Read``, ``LS`` and ``Grep``, confined to one folder. They only read.

    ``cache`` is what is known of the files, nothing yet if left out. Raises NotADirectoryError if
    the folder is not there.
    """
    confined = Confined(workspace)
    cache = FileCache() if cache is None else cache
    return [read_tool(confined, cache), ls_tool(confined), grep_tool(confined)]


def read_tool(confined: Confined, cache: FileCache) -> Tool:
    """``Read``, which tells ``cache`` what it has read."""

    @tool(
        name="Read", is_read_only=True, permission="read", path_argument="file_path",
        root=confined.root, validate_input=asks(confined, cache),
        max_result_chars=READ_CHARS + 1_000, preview=False, cache=cache,
    )  # fmt: skip
    def read(
        file_path: str,
        offset: int = 1,
        limit: int | None = None,
        column: int = 1,
        again: bool = False,
    ) -> str:
        """Read a text file. The path is relative to the workspace.

        A long file comes in parts, and each part says how to get the next. CRLF is shown as a
        plain line end, and stays CRLF when the file is edited.

        Args:
            file_path: the file
            offset: the first line to read, counted from 1
            limit: how many lines to read at most
            column: the first character to read of that line, counted from 1, if it is a long one
            again: send a text that you have read and that has not changed once more
        """
        if offset < 1 or column < 1 or (limit is not None and limit < 1):
            raise ToolError("offset, limit and column count from 1: each must be 1 or more.")
        target = confined.target(file_path)
        try:
            data = confined.read(target)
        except (ToolError, ValueError):  # ValueError: the workspace itself
            if os.path.isdir(known(confined, cache, file_path)):
                raise ToolError(f"{file_path} is a folder. Use LS to list it.") from None
            raise
        asked = (offset, limit, column)
        if not again and cache.shows(target, data, asked):
            return UNCHANGED.format(path=file_path)
        text = Text.of(data)
        if text is None:
            raise ToolError(f"{file_path} is a binary file of {len(data)} bytes.")
        plain = text.plain()
        shown, span = part(text, plain, *asked) if plain else ("(the file is empty)", (0, 0))
        if not again and cache.shows(target, data, span):  # the same text, asked for otherwise
            return UNCHANGED.format(path=file_path)
        cache.read(target, data, asked, span, len(plain))
        return shown

    made: Tool = read
    return made


def asks(confined: Confined, cache: FileCache, *, write: bool = False) -> Any:
    """A ``validate_input`` that judges the path and tells ``cache`` that a turn asks for a file."""
    judge = confined.before("file_path", write=write)

    def validate(**arguments: Any) -> None:
        cache.asked()
        judge(**arguments)

    return validate


def known(confined: Confined, cache: FileCache, path: str, *, write: bool = False) -> Path:
    """Where a path leads. Raises ToolError if nothing is there, and forgets what was."""
    try:
        return existing(confined, path, write=write)
    except ToolError:
        cache.forget(confined.judge(path))
        raise


def part(
    text: Text, plain: bytes, offset: int, limit: int | None = None, column: int = 1
) -> tuple[str, Span]:
    """Some lines of a file, with a note if more follow or if it is not plain UTF-8.

    ``plain`` is ``text.plain()``. Returns also which of its bytes they are. Raises ToolError if
    the file has no such line or column.
    """
    notes = [f"encoded as {text.encoding}, with a byte order mark"] if text.mark else []
    start = line_start(plain, offset)
    if column > 1:
        start = column_start(plain, start, column)
    window = plain[start : start + 4 * READ_CHARS + 2]  # four bytes a character, and a line end
    raw = window.decode("utf-8", "surrogateescape")  # so that every byte can be counted
    if limit is not None and raw.count("\n") >= limit:
        raw = raw[: -len(raw.split("\n", limit)[limit]) or None]
    raw = raw[: _cut(raw)]
    taken = raw.encode("utf-8", "surrogateescape")
    shown, end = text.shown(taken), start + len(taken)
    if "\ufffd" in shown and "\ufffd".encode() not in taken:
        notes.append("what is not UTF-8 is shown as \ufffd")
    if end < len(plain):
        following = f"offset={offset + raw.count(chr(10))}"
        if not raw.endswith("\n"):
            following += f", column={column + len(raw)}"  # it is a part of one line
        notes.append(f"the file has {len(text.data)} bytes and goes on: {following}")
    if notes:
        shown = f"{shown}{'' if shown.endswith(chr(10)) else chr(10)}[{'; '.join(notes)}]"
    return shown, (start, end)


def _cut(raw: str) -> int:
    """Where to end: after a whole line if there is one, and never just before a line end."""
    if len(raw) <= READ_CHARS:
        return len(raw)
    if whole := raw.rfind("\n", 0, READ_CHARS) + 1:
        return whole
    line_end = next((e for e in ("\n", "\r\n") if raw.startswith(e, READ_CHARS)), "")
    return READ_CHARS + len(line_end)


def column_start(plain: bytes, start: int, column: int) -> int:
    """Where a character of the line at ``start`` begins. Raises ToolError if it is too short."""
    end = plain.find(b"\n", start)
    line = plain[start : end if end >= 0 else len(plain)].decode("utf-8", "surrogateescape")
    if column > len(line):
        raise ToolError(f"There is no column {column}: the line has {len(line)} characters.")
    return start + len(line[: column - 1].encode("utf-8", "surrogateescape"))


def line_start(data: bytes, number: int) -> int:
    """Where a line begins, counted from 1. Raises ToolError if there are not so many."""
    start = 0
    for _ in range(number - 1):
        start = data.find(b"\n", start) + 1
        if start == 0:
            break
    if number > 1 and start in (0, len(data)):
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        raise ToolError(f"There is no line {number}: the file has {lines} lines.")
    return start
