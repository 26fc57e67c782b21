"""``LS`` and ``Glob``: which files there are. And what to say about one that is not there."""

from __future__ import annotations

import difflib
import itertools
import os
import re
from pathlib import Path

from agentlab.toolbox.paths import Confined
from agentlab.tools import Tool, ToolError, tool

NAMES_LOOKED_AT = 5_000  # for near names
MAX_NAMES = 1_000  # in one answer


def ls_tool(confined: Confined) -> Tool:
    """``LS``: the entries of one folder."""

    @tool(
        name="LS", is_read_only=True, permission="read", path_argument="path",
        root=confined.root, validate_input=confined.before("path"),
    )  # fmt: skip
    def ls(path: str = ".") -> str:
        """List a folder of the workspace: one entry a line, folders with a slash at the end.

        Links end with @. Hidden entries, whose names begin with a dot, are left out.
        """
        target = existing(confined, path)
        if not os.path.isdir(target):
            raise ToolError(f"{path} is a file. Use Read to read it.")
        names = [name for name in confined.entries(target) if not name.startswith(".")]
        return listed(names) or "(the folder is empty)"

    made: Tool = ls
    return made


def glob_tool(confined: Confined) -> Tool:
    """``Glob``: the files whose path fits a pattern."""

    @tool(
        name="Glob", is_read_only=True, permission="read", path_argument="path",
        root=confined.root, validate_input=confined.before("path"),
    )  # fmt: skip
    def glob(pattern: str, path: str = ".") -> str:
        """Find files by name, in the workspace or in one of its folders.

        Hidden files and folders are left out.

        Args:
            pattern: relative to path; * is any text without a slash, ** any folders, as in
                **/*.py, ? is one character, {a,b} is either
            path: the folder to look in
        """
        fits = glob_expression(pattern)
        target = existing(confined, path)
        if not os.path.isdir(target):
            raise ToolError(f"{path} is a file. Give the folder it is in.")
        prefix = target.relative_to(confined.root)
        names = [(prefix / n).as_posix() for n in confined.files(target) if fits.fullmatch(n)]
        return listed(names) or f"No file matches {pattern!r}."

    made: Tool = glob
    return made


def existing(confined: Confined, path: str, *, write: bool = False) -> Path:
    """Where a path leads, if something is there. Raises ToolError with near names if not."""
    target = confined.target(path, write=write)
    if os.path.exists(target):
        return target
    wanted = target.relative_to(confined.root).as_posix()
    names = list(itertools.islice(confined.files(confined.root), NAMES_LOOKED_AT))
    near = [name for name in names if name.rpartition("/")[2] == target.name]
    near += difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    hint = f" Near names: {', '.join(dict.fromkeys(near[:3]))}" if near else ""
    raise ToolError(f"{path} does not exist.{hint}")


def listed(names: list[str]) -> str:
    """Names, one a line, and how many were left out if there are very many."""
    more = len(names) - MAX_NAMES
    note = [f"[{more} more; ask for a part]"] if more > 0 else []
    return "\n".join(names[:MAX_NAMES] + note)


def glob_expression(pattern: str) -> re.Pattern[str]:
    """A glob as a regular expression over paths with slashes. Raises ToolError."""
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise ToolError(f"{pattern!r} can match nothing: write it relative to path, without '..'.")
    try:
        return re.compile(_GLOB.sub(_meaning, pattern.removeprefix("./")), re.DOTALL)
    except re.error:
        raise ToolError(f"Not a pattern for files: {pattern!r}") from None


_GLOB = re.compile(
    r"\*\*/|\*\*|\*|\?|\[(?P<set>!?\]?[^\]/]*)\]|\{(?P<either>[^{}]*)\}|.", re.DOTALL
)
_WILD = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _meaning(piece: re.Match[str]) -> str:
    if piece["set"] is not None:
        inside = re.sub(r"([\\\[\]&~|^])", r"\\\1", piece["set"].removeprefix("!"))
        return f"(?!/)[{'^' * piece['set'].startswith('!')}{inside}]"
    if piece["either"] is not None:
        return "(?:" + "|".join(_GLOB.sub(_meaning, p) for p in piece["either"].split(",")) + ")"
    return _WILD.get(piece[0]) or re.escape(piece[0])
