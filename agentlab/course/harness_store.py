"""`my_harness.py` on disk: where it is, reading it whatever state it is in, writing it whole.

A learner's file is never lost: one that does not parse is copied aside before anything is written,
and writing replaces the file in one step.
"""

from __future__ import annotations

import ast
import os
import tempfile
from pathlib import Path

from agentlab.course.harness_file import HarnessFile
from agentlab.course.shown import CourseError

FILE = "my_harness.py"
FRESH = ":fresh:"  # AGENTLAB_HARNESS_DIR for builds and tests: an empty folder for each process
_fresh: list[tempfile.TemporaryDirectory[str]] = []


def harness_path() -> Path:
    """Where the file is: in AGENTLAB_HARNESS_DIR, else in the current folder."""
    folder = os.environ.get("AGENTLAB_HARNESS_DIR", "")
    if folder == FRESH:
        if not _fresh:
            _fresh.append(tempfile.TemporaryDirectory(prefix="agentlab-harness-"))
        folder = _fresh[0].name
    return Path(folder) / FILE


def read(path: Path) -> tuple[HarnessFile, list[str]]:
    """The file as it is, a new one if there is none, and what to tell the learner about it."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return HarnessFile.new(), []
    except OSError as error:
        raise CourseError(f"keep: cannot read {FILE}: {error.strerror}") from None
    try:
        text = data.decode("utf-8")
        ast.parse(text)
    except (SyntaxError, ValueError) as error:
        return _salvage(path, data, error)
    file = HarnessFile.parse(text)
    if file.unclosed:
        missing = ", ".join(file.unclosed)
        aside = _set_aside(path, data)
        return file, [f"The closing line of {missing} was missing; the file as it was: {aside}"]
    return file, []


def write(path: Path, file: HarnessFile) -> None:
    """Write the file whole or not at all, and only if it is Python."""
    text = file.render()
    try:
        compile(text, FILE, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        why = f"the result would not run ({error}); {FILE} is as it was"
        raise CourseError(f"keep: {why}") from None
    part = path.with_name(f".{FILE}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8", newline="\n")
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise CourseError(
            f"keep: cannot write {FILE}: {error.strerror}. "
            "Set AGENTLAB_HARNESS_DIR to a folder that you can write to."
        ) from None


def _salvage(path: Path, data: bytes, error: Exception) -> tuple[HarnessFile, list[str]]:
    """A new file with those managed parts of a broken one that still parse."""
    aside = _set_aside(path, data)
    where = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    file = HarnessFile.new()
    for part in HarnessFile.parse(data.decode("utf-8", "replace")).parts:
        if part.key and _parses(part.text):
            file = file.put(part.key, part.title, part.text)
    return file, [f"{FILE} had a syntax error{where}. Yours is now {aside}; a new file was begun."]


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _set_aside(path: Path, data: bytes) -> str:
    """Copy the file under a name that is free (or that holds the same already)."""
    number = 1
    while True:
        aside = path.with_name(f"my_harness.broken-{number}.py")
        if not aside.exists() or aside.read_bytes() == data:
            aside.write_bytes(data)
            return aside.name
        number += 1
