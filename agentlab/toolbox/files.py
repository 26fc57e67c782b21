"""``Read``: looking at a file.

`Read` gives a text file as it is, or the range of lines that was asked for, and never more than
`READ_CHARS`: a large file is read in parts, and each part says where the next one begins. What
cannot be read says what it is and what to do instead.
"""

from __future__ import annotations

import os

from agentlab.toolbox.listing import existing, ls_tool
from agentlab.toolbox.paths import Confined
from agentlab.toolbox.search import grep_tool
from agentlab.toolbox.texts import Seen, Text
from agentlab.tools import Tool, ToolError, tool

READ_CHARS = 20_000  # of one Read; ten of them fit into a window of 200,000 characters


def file_tools(workspace: str | os.PathLike[str]) -> list[Tool]:
    """``Read``, ``LS`` and ``Grep``, confined to one folder. They only read.

    Raises NotADirectoryError if the folder is not there.
    """
    confined = Confined(workspace)
    return [read_tool(confined, Seen()), ls_tool(confined), grep_tool(confined)]


def read_tool(confined: Confined, seen: Seen) -> Tool:
    """``Read``, which tells ``seen`` what it has read."""

    @tool(
        name="Read", is_read_only=True, permission="read", path_argument="file_path",
        root=confined.root, validate_input=confined.before("file_path"),
        max_result_chars=READ_CHARS + 1_000,
    )  # fmt: skip
    def read(file_path: str, offset: int = 1, limit: int | None = None) -> str:
        """Read a text file. The path is relative to the workspace.

        A long file comes in parts, and each part says how to get the next. CRLF is shown as a
        plain line end, and stays CRLF when the file is edited.

        Args:
            file_path: the file
            offset: the first line to read, counted from 1
            limit: how many lines to read at most
        """
        if offset < 1 or (limit is not None and limit < 1):
            raise ToolError("offset and limit count lines: both must be 1 or more.")
        target = existing(confined, file_path)
        if os.path.isdir(target):
            raise ToolError(f"{file_path} is a folder. Use LS to list it.")
        data = confined.read(target)
        text = Text.of(data)
        if text is None:
            raise ToolError(f"{file_path} is a binary file of {len(data)} bytes.")
        seen.remember(target, data)
        if len(data) == len(text.mark):
            return "(the file is empty)"
        return part(text, offset, limit)

    made: Tool = read
    return made


def part(text: Text, offset: int, limit: int | None) -> str:
    """Some lines of a file, with a note if more follow, or if it is not plain UTF-8."""
    notes = [f"encoded as {text.encoding}, with a byte order mark"] if text.mark else []
    data = text.plain()
    start = line_start(data, offset)
    window = data[start : start + 4 * READ_CHARS]  # a character is at most four bytes
    decoded = text.shown(window)
    shown = decoded
    if limit is not None and len(lines := decoded.split("\n", limit)) > limit:
        shown = "\n".join(lines[:limit]) + "\n"
    if len(shown) > READ_CHARS:
        shown = shown[: shown.rfind("\n", 0, READ_CHARS) + 1 or READ_CHARS]
    if "\ufffd" in shown and "\ufffd".encode() not in window:
        notes.append("what is not UTF-8 is shown as \ufffd")
    more = len(shown) < len(decoded) or start + len(window) < len(data)
    following = offset + shown.count("\n")
    if more and not shown.endswith("\n"):
        notes.append(f"line {offset} is cut after {len(shown)} characters")
        following += 1
        more = -1 < data.find(b"\n", start) < len(data) - 1
    if more:
        notes.append(f"the file has {len(data)} bytes and goes on: offset={following}")
    if not notes:
        return shown
    return f"{shown}{'' if shown.endswith(chr(10)) else chr(10)}[{'; '.join(notes)}]"


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
