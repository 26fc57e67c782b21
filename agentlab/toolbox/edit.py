"""``Write`` and ``Edit``: changing files, a whole one or one place in it.

`Edit` replaces one text by another, literally: no pattern, nothing to escape. The old text must be
there exactly once, or the call says how often and where. It is all or nothing (a new file takes the
old one's name), and every byte that was not meant stays as it is.

A model that changes a file from memory changes what is no longer there. So a file must have been
read before it is edited, all of it before it is overwritten, and it must still be what was read
then, whoever else may have changed it. A new file needs no reading, and neither does an empty one.
"""

from __future__ import annotations

import os
import unicodedata

from agentlab.file_cache import FileCache
from agentlab.toolbox.files import asks, known
from agentlab.toolbox.paths import Confined
from agentlab.toolbox.texts import Text, is_utf8
from agentlab.tools import Tool, ToolError, tool

LINES_TOLD = 20
CHANGED = (
    "{path} has changed since it was last read or written here, so nothing was done. Read it again."
)
PARTIAL = (
    "Not all of {path} has been read in this conversation before this turn, and what you have not "
    "seen would be lost, so nothing was done. Read all of it first, or change a part with Edit."
)
LOSSY = (
    "{path} holds bytes that are not UTF-8, which Read shows as \ufffd. To write that sign in "
    "their place would lose them, so nothing was done. Change a part of the file with Edit."
)


def write_tool(confined: Confined, cache: FileCache) -> Tool:
    """``Write``; it overwrites what ``cache`` knows all of, and what it wrote counts as read."""

    @tool(
        name="Write", permission="write", path_argument="file_path",
        root=confined.root, validate_input=asks(confined, cache, write=True), cache=cache,
    )  # fmt: skip
    def write(file_path: str, content: str) -> str:
        """Write a text file (UTF-8), replacing what it held; missing folders are made.

        The path is relative to the workspace, wherever a shell's working directory is. A file
        that is there already must have been read, all of it. To change a part of a file use Edit.
        """
        target = confined.target(file_path, write=True)
        if os.path.isdir(target):
            raise ToolError(f"{file_path} is a folder.")
        try:
            data = content.encode("utf-8")
        except UnicodeEncodeError:
            raise ToolError("The content holds half a character (a lone surrogate).") from None
        if os.path.exists(target) and (before := confined.read(target)):
            match cache.state(target, before):
                case "unread":
                    raise ToolError(f"{file_path} is there already. Read it first, then write it.")
                case "changed":
                    raise ToolError(CHANGED.format(path=file_path))
                case "partial":
                    raise ToolError(PARTIAL.format(path=file_path))
            if "\ufffd" in content and not is_utf8(before):
                raise ToolError(LOSSY.format(path=file_path))
        confined.write(target, data)
        cache.wrote(target, data)
        return f"Wrote {confined.shown(target)} ({len(data)} bytes)"

    made: Tool = write
    return made


def edit_tool(confined: Confined, cache: FileCache) -> Tool:
    """``Edit``, for files that ``cache`` knows."""

    @tool(
        name="Edit", permission="write", path_argument="file_path",
        root=confined.root, validate_input=confined.before("file_path", write=True), cache=cache,
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
        target = known(confined, cache, file_path, write=True)
        if os.path.isdir(target):
            raise ToolError(f"{file_path} is a folder.")
        data = confined.read(target)
        state = cache.state(target, data)
        if state == "unread":
            raise ToolError(f"Read {file_path} first, then edit it.")
        if state == "changed":
            raise ToolError(CHANGED.format(path=file_path))
        changed, lines = replaced(data, old_string, new_string, replace_all)
        confined.write(target, changed)
        cache.edited(target, changed)
        places = f"{len(lines)} places, lines" if len(lines) > 1 else "1 place, line"
        return f"Changed {confined.shown(target)} in {places} {_told(lines)}"

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
    literal = "\r" in old  # a line end that is spelt out is meant
    try:
        found, put = text.meant(old), new.encode(text.encoding) if literal else text.meant(new)
    except UnicodeEncodeError:
        raise ToolError("The text holds half a character (a lone surrogate).") from None
    if found == put:
        raise ToolError("old_string and new_string are equal: no change was made.")
    places = _places(text, found, step=len(found))
    if len(places) == 1 and not replace_all:
        places = _places(text, found, step=1)
    lines = _lines(data, places, text.encoding)
    if not places:
        raise ToolError(_not_there(text.shown(text.plain()), old))
    if len(places) > 1 and not replace_all:
        raise ToolError(
            f"old_string is there {len(places)} times (lines {_told(lines)}), so nothing was "
            "changed. Give more of what stands around it, or set replace_all."
        )
    out, done = [], 0
    for place in places:
        out += [data[done:place], put]
        done = place + len(found)
    return b"".join([*out, data[done:]]), lines


def _places(text: Text, old: bytes, step: int) -> list[int]:
    """Where ``old`` is, from the left, and only where a character begins.

    ``step`` is how far behind one place the next may begin: a text may overlap with itself.
    """
    places, start = [], len(text.mark)
    width = 1 if text.encoding == "utf-8" else 2
    while (start := text.data.find(old, start)) >= 0:
        if start % width:
            start += 1
        else:
            places.append(start)
            start += step
    return places


def _lines(data: bytes, places: list[int], encoding: str) -> list[int]:
    """The number of the line of each place."""
    numbers, number, at = [], 1, 0
    for place in places:
        number += data[at:place].decode(encoding, "replace").count("\n")
        numbers.append(number)
        at = place
    return numbers


def _told(lines: list[int]) -> str:
    """The first of the lines, each once."""
    numbers = list(dict.fromkeys(lines))
    return ", ".join(map(str, numbers[:LINES_TOLD])) + ", ..." * (len(numbers) > LINES_TOLD)


def _not_there(text: str, old: str) -> str:
    """What to say when the text is not there: perhaps only its blanks or accents differ."""
    said = "old_string is not in the file, so nothing was changed."
    if old in text:
        return said + " What Read shows as \ufffd is no text: name only what stands around it."
    if _loosely(old) in _loosely(text):
        said += " It is there with other blanks, line ends or accents:"
        return said + " copy it as Read shows it."
    return said + " Read the file again and copy the text from it."


def _loosely(text: str) -> str:
    """A text in which an accent is a part of its letter, and all blanks are one."""
    return " ".join(unicodedata.normalize("NFKC", text).split())
