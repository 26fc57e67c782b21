"""``Write`` and ``Edit``: changing files, a whole one or one place in it.

`Edit` replaces one text by another, literally: no pattern, nothing to escape. The old text must be
there exactly once, or the call says how often and where. It is all or nothing (a new file takes the
old one's name), every byte that was not meant stays as it is, and a file must have been read
before: a model that edits from memory edits what is no longer there.
"""

from __future__ import annotations

import os

from agentlab.toolbox.listing import existing
from agentlab.toolbox.paths import Confined
from agentlab.toolbox.texts import Seen, Text
from agentlab.tools import Tool, ToolError, tool

LINES_TOLD = 20


def write_tool(confined: Confined, seen: Seen) -> Tool:
    """``Write``; what it wrote counts as read."""

    @tool(
        name="Write", permission="write", path_argument="file_path",
        root=confined.root, validate_input=confined.before("file_path", write=True),
    )  # fmt: skip
    def write(file_path: str, content: str) -> str:
        """Write a text file (UTF-8), replacing what it held; missing folders are made.

        The path is relative to the workspace, wherever a shell's working directory is. To change
        a part of a file use Edit.
        """
        target = confined.target(file_path, write=True)
        if os.path.isdir(target):
            raise ToolError(f"{file_path} is a folder.")
        try:
            data = content.encode("utf-8")
        except UnicodeEncodeError:
            raise ToolError("The content holds half a character (a lone surrogate).") from None
        confined.write(target, data)
        seen.remember(target, data)
        return f"Wrote {confined.shown(target)} ({len(data)} bytes)"

    made: Tool = write
    return made


def edit_tool(confined: Confined, seen: Seen) -> Tool:
    """``Edit``, for files that ``seen`` knows."""

    @tool(
        name="Edit", permission="write", path_argument="file_path",
        root=confined.root, validate_input=confined.before("file_path", write=True),
    )  # fmt: skip
    def edit(file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> str:
        """Replace a text in a file that you have read. The texts are taken literally.

        Args:
            file_path: the file, relative to the workspace
            old_string: the text to replace, as Read shows it; with enough around it that it is
                there only once
            new_string: what to put there
            replace_all: replace it wherever it is
        """
        target = existing(confined, file_path, write=True)
        if os.path.isdir(target):
            raise ToolError(f"{file_path} is a folder.")
        data = confined.read(target)
        state = seen.state(target, data)
        if state == "unread":
            raise ToolError(f"Read {file_path} first, then edit it.")
        if state == "changed":
            raise ToolError(f"{file_path} has changed since it was read. Read it again.")
        changed, lines = replaced(data, old_string, new_string, replace_all)
        confined.write(target, changed)
        seen.remember(target, changed)
        where = ", ".join(map(str, lines[:LINES_TOLD])) + ", ..." * (len(lines) > LINES_TOLD)
        places = f"{len(lines)} places, lines" if len(lines) > 1 else "1 place, line"
        return f"Changed {confined.shown(target)} in {places} {where}"

    made: Tool = edit
    return made


def replaced(data: bytes, old: str, new: str, replace_all: bool) -> tuple[bytes, list[int]]:
    """The bytes with ``old`` replaced, and the numbers of the lines where it was.

    Raises ToolError if it is not there, is there more often than meant, or nothing would change.
    """
    text = Text.of(data)
    if text is None:
        raise ToolError("It is a binary file; only text is edited.")
    if not old:
        raise ToolError("old_string is empty. Use Write to make a file or to replace all of it.")
    if old == new:
        raise ToolError("old_string and new_string are equal: no change was made.")
    literal = "\r" in old + new  # a line end that is spelt out is meant
    try:
        encoded = [
            part.encode(text.encoding) if literal else text.meant(part) for part in (old, new)
        ]
    except UnicodeEncodeError:
        raise ToolError("The text holds half a character (a lone surrogate).") from None
    width = 1 if text.encoding == "utf-8" else 2
    places = _places(data, encoded[0], len(text.mark), width)
    lines = _lines(data, places, text.encoding)
    if not places:
        raise ToolError(_not_there(text.shown(text.plain()), old))
    if len(places) > 1 and not replace_all:
        numbers = ", ".join(map(str, lines[:LINES_TOLD]))
        raise ToolError(
            f"old_string is there {len(places)} times (lines {numbers}), so nothing was changed. "
            "Give more of what stands around it, or set replace_all."
        )
    out, done = [], 0
    for place in places:
        out += [data[done:place], encoded[1]]
        done = place + len(encoded[0])
    return b"".join([*out, data[done:]]), lines


def _places(data: bytes, old: bytes, start: int, width: int) -> list[int]:
    """Where ``old`` is, from the left, without overlaps, and only where a character begins."""
    places = []
    while (start := data.find(old, start)) >= 0:
        if start % width:
            start += 1
        else:
            places.append(start)
            start += len(old)
    return places


def _lines(data: bytes, places: list[int], encoding: str) -> list[int]:
    """The number of the line of each place."""
    numbers, number, at = [], 1, 0
    for place in places:
        number += data[at:place].decode(encoding, "replace").count("\n")
        numbers.append(number)
        at = place
    return numbers


def _not_there(text: str, old: str) -> str:
    """What to say when the text is not there: perhaps only its blanks differ."""
    said = "old_string is not in the file, so nothing was changed."
    if " ".join(old.split()) in " ".join(text.split()):
        return said + " It is there with other blanks or line ends: copy it as Read shows it."
    return said + " Read the file again and copy the text from it."
