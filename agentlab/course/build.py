"""Building the notebooks: ``python -m agentlab.course.build [NN ...] [--check]``.

Each script in ``notebooks/src`` is executed and written beside it as a notebook with its outputs.
``--check`` builds in memory and compares bytes, so that a stored notebook cannot be out of date.
``--from-notebook NN`` goes the other way, for a chapter that was edited in JupyterLab.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from agentlab.course import chapter_files as files
from agentlab.course.executing import execute, normalise
from agentlab.course.shown import CourseError

MOST_DIFFERENCES = 20  # lines shown of a notebook that differs


def built(path: Path) -> str:
    """The notebook of a script, executed, as text. Raises CellFailed."""
    notebook = files.read_script(path)
    execute(notebook, path.stem)
    return normalise(notebook, path.stem[:2])


def difference(old: str, new: str) -> str:
    """The first lines in which two notebooks differ."""
    before, after = old.splitlines(), new.splitlines()
    lines = difflib.unified_diff(before, after, "stored", "built", n=2, lineterm="")
    shown = [line[:200] for line in lines]
    cut = ["..."] if len(shown) > MOST_DIFFERENCES else []
    return "\n".join(shown[:MOST_DIFFERENCES] + cut)


def check(path: Path) -> str:
    """What differs between the stored notebook of a script and a fresh build, "" if nothing."""
    target = files.notebook_of(path)
    if not target.exists():
        return f"{target.name} is missing: python -m agentlab.course.build {path.stem[:2]}"
    # bytes, because reading as text would hide line ends that git or an editor changed
    stored, fresh = target.read_bytes().decode("utf-8", "replace"), built(path)
    return "" if stored == fresh else difference(stored, fresh) or "only line ends differ"


def from_notebook(key: str, folder: Path | None = None) -> Path:
    """Write a chapter's notebook back to its script; returns the script."""
    root = folder or files.notebooks_path()
    found = sorted(root.glob(f"{key.zfill(2)}_*.ipynb"))
    if not found:
        raise CourseError(f"there is no notebook of chapter {key} in {root.name}/")
    target = root / "src" / f"{found[0].stem}.py"
    target.parent.mkdir(exist_ok=True)
    text = files.script_text(files.read_notebook(found[0]))
    target.write_text(text, encoding="utf-8", newline="\n")
    return target


def main(arguments: Sequence[str] | None = None, folder: Path | None = None) -> int:
    """The command; returns its exit code: 0 fine, 1 a chapter failed or differs, 2 bad usage."""
    parser = argparse.ArgumentParser(prog="python -m agentlab.course.build", description=__doc__)
    parser.add_argument("chapters", nargs="*", metavar="NN", help="chapters to build; all if none")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument(
        "--from-notebook", metavar="NN", help="write an edited notebook back to its script"
    )
    options = parser.parse_args(arguments)
    try:
        if options.from_notebook:
            print(f"wrote src/{from_notebook(options.from_notebook, folder).name}")
            return 0
        chosen = [files.script(key, folder) for key in options.chapters]
        paths = chosen or list(files.scripts(folder).values())
    except CourseError as error:
        print(error, file=sys.stderr)
        return 2
    return max([_one(path, options.check) for path in paths], default=0)


def _one(path: Path, only_check: bool) -> int:
    begun = time.monotonic()
    print(f"{path.stem:<20} ", end="", flush=True)
    try:
        if only_check:
            problem = check(path)
        else:
            text, problem = built(path), ""
            files.notebook_of(path).write_text(text, encoding="utf-8", newline="\n")
    except CourseError as error:
        problem = str(error)
    took = f"{time.monotonic() - begun:.1f} s"
    if problem:
        print(f"{'differs' if only_check else 'failed'}, {took}\n{problem}")
        return 1
    print(f"{'the same' if only_check else 'built'}, {took}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
