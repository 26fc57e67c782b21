"""File tools."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

from agentlab.tools import Tool, ToolError, tool


def file_tools(workspace: str | os.PathLike[str]) -> list[Tool]:
    """``Read``, ``LS`` and ``Grep``, confined to one folder. They only read.

    Raises NotADirectoryError if the folder is not there.
    """
    root = Path(workspace).resolve()
    if not root.is_dir():
        raise NotADirectoryError(f"The workspace {str(workspace)!r} is not a folder")

    def inside(path: str) -> Path:
        target = (root / path).resolve()
        if not target.is_relative_to(root):
            raise ToolError(f"{path} is outside the workspace. Use a path relative to it.")
        if not target.exists():
            names = [_relative(p, root) for p in _files(root)]
            near = difflib.get_close_matches(path, names, n=3, cutoff=0.5)
            raise ToolError(
                f"{path} does not exist." + (f" Near names: {', '.join(near)}" if near else "")
            )
        return target

    @tool(name="Read", is_read_only=True, permission="read", path_argument="file_path", root=root)
    def read(file_path: str) -> str:
        """Read a text file. The path is relative to the workspace."""
        target = inside(file_path)
        if target.is_dir():
            raise ToolError(f"{file_path} is a folder. Use LS to list it.")
        data = target.read_bytes()
        if b"\0" in data[:8192]:
            raise ToolError(f"{file_path} is a binary file of {len(data)} bytes.")
        return data.decode("utf-8", "replace") or "(the file is empty)"

    @tool(name="LS", is_read_only=True, permission="read", path_argument="path", root=root)
    def ls(path: str = ".") -> str:
        """List a folder of the workspace: one entry a line, folders with a slash at the end."""
        target = inside(path)
        if not target.is_dir():
            raise ToolError(f"{path} is a file. Use Read to read it.")
        entries = (p for p in target.iterdir() if not p.name.startswith("."))
        return (
            "\n".join(sorted(p.name + "/" * p.is_dir() for p in entries)) or "(the folder is empty)"
        )

    @tool(name="Grep", is_read_only=True, permission="read", path_argument="path", root=root)
    def grep(pattern: str, path: str = ".") -> str:
        """Find the lines that match a regular expression, as file:line: text."""
        try:
            wanted = re.compile(pattern)
        except re.error as error:
            raise ToolError(f"Not a regular expression: {pattern!r} ({error})") from None
        target = inside(path)
        found = []
        for file in _files(target) if target.is_dir() else [target]:
            if not file.resolve().is_relative_to(root) or not file.is_file():
                continue
            data = file.read_bytes()
            if b"\0" in data[:8192]:
                continue
            for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
                if wanted.search(line):
                    found.append(f"{_relative(file, root)}:{number}: {line.strip()}")
        return "\n".join(found) or f"No line matches {pattern!r}."

    return [read, ls, grep]


def _files(folder: Path) -> list[Path]:
    """All files below a folder, sorted, without hidden ones."""
    found = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        found += [Path(here, name) for name in sorted(names) if not name.startswith(".")]
    return found


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
