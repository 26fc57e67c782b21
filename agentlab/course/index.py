"""The chapter list, written where people read it: ``python -m agentlab.course.index --write``.

The README's table stands between ``<!-- chapters -->`` and ``<!-- /chapters -->``; the first cell
of a chapter's script is its header. ``--check`` says what is out of date and exits 1.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentlab.course.chapter_files import scripts
from agentlab.course.chapters import available, header_markdown, table_markdown
from agentlab.resources import notebooks_path

BEGIN, END = "<!-- chapters -->", "<!-- /chapters -->"


def updated_readme(text: str) -> str | None:
    """The README with the current table, None if the markers are not there."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}\n{table_markdown()}\n{end}{after}" if end else None


def updated_script(text: str, number: int) -> str:
    """A chapter's script with the current header as its first cell."""
    lines = text.splitlines(keepends=True)
    starts = [i for i, line in enumerate(lines) if re.match(r"# %%(?!%)", line)]
    header = ['# %% [markdown] tags=["core"]']
    header += [f"# {line}".rstrip() for line in header_markdown(number).splitlines()]
    if starts and _is_header(lines, starts):
        lines = lines[starts[1] :] if len(starts) > 1 else []
    return "\n".join(header) + "\n\n" + "".join(lines)


def stale(root: Path | None = None) -> Iterator[tuple[Path, str | None]]:
    """Files that are out of date, each with the text it should have (None: it cannot be mended)."""
    notebooks = root / "notebooks" if root else notebooks_path()
    readme = notebooks.parent / "README.md"
    if not readme.exists():
        yield readme, None
    elif (text := readme.read_text("utf-8")) != (wanted := updated_readme(text)):
        yield readme, wanted
    there = scripts(notebooks)
    for chapter in available():
        path = there.get(chapter.key, notebooks / "src" / f"{chapter.stem}.py")
        if path.stem != chapter.stem or not path.exists():
            yield notebooks / "src" / f"{chapter.stem}.py", None
        elif (text := path.read_text("utf-8")) != (wanted := updated_script(text, chapter.number)):
            yield path, wanted


def main(arguments: Sequence[str] | None = None, root: Path | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m agentlab.course.index", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true", help="bring README and headers up to date")
    what.add_argument("--check", action="store_true", help="say what is out of date")
    options = parser.parse_args(arguments)
    bad = 0
    for path, wanted in stale(root):
        if wanted is None:
            bad = 1
            need = f"the lines {BEGIN} and {END}" if path.name == "README.md" else "a script"
            print(f"{path.name}: missing, or without {need}")
        elif options.write:
            path.write_text(wanted, encoding="utf-8", newline="\n")
            print(f"{path.name}: brought up to date")
        else:
            bad = 1
            print(f"{path.name}: out of date; python -m agentlab.course.index --write")
    return bad


def _is_header(lines: list[str], starts: list[int]) -> bool:
    """Whether the first cell is a markdown cell that begins with the chapter's title."""
    first = "".join(lines[starts[0] : starts[0] + 2])
    return re.match(r"# %% \[markdown\].*\n# # \d\d · ", first) is not None


if __name__ == "__main__":
    sys.exit(main())
