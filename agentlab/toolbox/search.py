"""``Grep``: the lines that match, found fast where ripgrep is there, and the same where it is not.

Two search programs never agree on everything: what a word character is, which files count as
binary, in which order lines come. So ripgrep only says *which files may hold a match*, and for
that it gets a pattern that matches at least as much (`loosely`); the lines themselves are always
found and written by the same Python code. Where ripgrep is missing, or the pattern has something
that it has no word for, every file is looked at. The answer is the same, only later.

Of a long line the parts around its matches are given, each with the column where it begins.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from agentlab.toolbox.listing import existing, glob_expression
from agentlab.toolbox.paths import Confined, read_in, told
from agentlab.toolbox.texts import Text
from agentlab.tools import Tool, ToolError, tool

# A pattern such as [[a] is fine today; that its meaning may change is no matter for the learner.
warnings.filterwarnings("ignore", category=FutureWarning, module=re.escape(__name__))
MAX_LINES = 1_000
MAX_LINE_CHARS = 500
RIPGREP_S = 20.0


def grep_tool(confined: Confined, *, ripgrep: str | None = "rg") -> Tool:
    """``Grep``; ``ripgrep`` is the program's name, or None to do without."""

    @tool(
        name="Grep", is_read_only=True, permission="read", path_argument="path",
        root=confined.root, validate_input=confined.before("path"),
    )  # fmt: skip
    def grep(pattern: str, path: str = ".", glob: str = "") -> str:
        """Find the lines that match a regular expression, as file:line: text.

        Hidden files, files over 10 MB and binary files are left out.

        Args:
            pattern: a regular expression as in Python, matched line by line; (?i) ignores case
            path: the file or folder to look in
            glob: only files that fit, as *.py (at any depth) or notes/**/*.md
        """
        try:
            wanted = re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise ToolError(f"Not a regular expression: {pattern!r} ({error})") from None
        fits = glob_expression(glob if "/" in glob else f"**/{glob}") if glob else None
        target = existing(confined, path)
        if not target.is_dir() and Text.of(confined.read(target)) is None:  # it was asked for
            raise ToolError(f"{path} is a binary file, so it was not searched.")
        likely = None if ripgrep is None else candidates(ripgrep, pattern, target)
        found: list[str] = []
        for file, folder in _files(confined, target):
            name = file.relative_to(confined.root).as_posix()
            below = file.relative_to(target).as_posix() if file != target else file.name
            if fits is not None and not fits.fullmatch(below):
                continue
            if likely is not None and below not in likely:
                continue
            for number, part in islice(matches(wanted, file, folder), MAX_LINES + 1):
                found.append(f"{name}:{number}: {part}")
            if len(found) > MAX_LINES:
                found[MAX_LINES:] = [f"[more than {MAX_LINES} lines; ask for less]"]
                break
        return "\n".join(found) or f"No line matches {pattern!r}."

    made: Tool = grep
    return made


def matches(wanted: re.Pattern[str], file: Path, folder: int | None) -> Iterator[tuple[int, str]]:
    """The matching lines of one file: number, and the line as it is told, or a part of it.

    What cannot be read has none.
    """
    try:
        with told(file.name):
            data = read_in(folder, file)
    except ToolError:
        return
    text = Text.of(data)
    if text is None:
        return
    lines = text.shown(text.plain()).split("\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, 1):
        for part in parts(wanted, line.removesuffix("\r")):
            yield number, part


def parts(wanted: re.Pattern[str], line: str) -> Iterator[str]:
    """A line if it matches; of a long one the part around each match, and where it begins."""
    if len(line.strip()) <= MAX_LINE_CHARS:
        if wanted.search(line):
            yield line.strip()
        return
    end = 0
    while end < len(line) and (match := wanted.search(line, end)):
        first = max(0, min(match.start() - MAX_LINE_CHARS // 2, len(line) - MAX_LINE_CHARS))
        end = first + MAX_LINE_CHARS
        yield f"[from column {first + 1} of {len(line)}] {line[first:end]}"


def _files(confined: Confined, target: Path) -> Iterator[tuple[Path, int | None]]:
    if not target.is_dir():
        with told(target.name), confined.folder(target.parent) as folder:
            yield target, folder
        return
    for here, names, folder in confined.walk(target):
        yield from ((here / name, folder) for name in names)


# ---------------------------------------------------------------------------------------- ripgrep

_PIECE = re.compile(
    r"""(?P<any>\\[dDwWsS]|\.|\[\^?\]?(?:\\.|[^\]\\])*\])
      | (?P<nothing>\\[bBAZ]|\^|\$)
      | (?P<open>\(\?:|\((?!\?))
      | (?P<same>[)|*+?]|\{\d+(?:,\d*)?\})
      | \\(?P<escaped>[^a-zA-Z0-9\n])
      | (?P<literal>[^\\(\[{\n\0\ufffd])""",
    re.VERBOSE | re.DOTALL,
)
_ANY = r"(?-u:[^\n]{1,4})"  # one character, valid or not, is one to four bytes


def loosely(pattern: str) -> str | None:
    """A pattern for ripgrep that matches wherever ``pattern`` does. None: it cannot be said.

    Character classes become any character, and conditions such as ``\\b`` are dropped: those are
    where the two differ, and a file too many costs little.
    """
    out, rest = "", 0
    while rest < len(pattern):
        piece = _PIECE.match(pattern, rest)
        if piece is None:
            return None
        kind, text = piece.lastgroup, piece[piece.lastgroup or 0]
        if kind in ("escaped", "literal"):
            out += text if text.isalnum() or text in " _-" else f"\\x{{{ord(text):x}}}"
        else:
            out += {"any": _ANY, "nothing": "(?:)", "open": "(?:", "same": text}[kind or ""]
        rest = piece.end()
    return out


def candidates(program: str, pattern: str, target: Path) -> set[str] | None:
    """The files below ``target`` in which ripgrep finds something; None: ask every file."""
    found, loose = shutil.which(program), loosely(pattern)
    if found is None or not loose or not target.is_dir():
        return None
    flags = ["--no-config", "--no-ignore", "--text", "--null", "--files-with-matches"]
    try:
        done = subprocess.run(
            [found, *flags, "--regexp", loose, "."], cwd=target, timeout=RIPGREP_S,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    if done.returncode not in (0, 1):
        return None
    names = (os.fsdecode(name) for name in done.stdout.split(b"\0") if name)
    return {Path(name).as_posix() for name in names}
