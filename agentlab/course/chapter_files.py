"""The chapters on disk: a percent script each, and the notebook that is built from it.

``notebooks/src/02_loop.py`` is where a chapter is written; ``notebooks/02_loop.ipynb`` is built
from it, with its outputs, and is what people read. The script is the only source of truth.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

from agentlab.course.shown import CourseError
from agentlab.resources import notebooks_path

CELL_TAGS = ("core", "more")
_FILTER = {"jupytext": {"notebook_metadata_filter": "-all", "cell_metadata_filter": "tags,-all"}}


def scripts(folder: Path | None = None) -> dict[str, Path]:
    """The chapters' scripts by their two digits, in order."""
    source = (folder or notebooks_path()) / "src"
    return {path.stem[:2]: path for path in sorted(source.glob("[0-9][0-9]_*.py"))}


def script(key: str, folder: Path | None = None) -> Path:
    """One chapter's script. Raises CourseError, naming those that exist."""
    there = scripts(folder)
    found = there.get(key.zfill(2))
    if found is None:
        known = ", ".join(there) or "none"
        raise CourseError(f"there is no script for chapter {key}; there is: {known}")
    return found


def notebook_of(path: Path) -> Path:
    """Where the notebook of a script belongs."""
    return path.parent.parent / f"{path.stem}.ipynb"


def read_script(path: Path) -> Any:
    """A script as a notebook without outputs."""
    import jupytext

    return jupytext.reads(path.read_text("utf-8"), fmt="py:percent")


def read_notebook(path: Path) -> Any:
    """A notebook as it is stored. Raises CourseError if it is not one."""
    import nbformat

    try:
        return nbformat.reads(path.read_text("utf-8"), as_version=4)
    except FileNotFoundError:
        raise CourseError(f"{path.name} is missing; build it") from None
    except (nbformat.reader.NotJSONError, nbformat.ValidationError, UnicodeDecodeError):
        raise CourseError(f"{path.name} is not a notebook") from None


def script_text(notebook: Any) -> str:
    """A notebook's cells and tags as a percent script, outputs left out."""
    import jupytext

    bare = copy.deepcopy(notebook)
    bare.metadata.clear()
    bare.metadata.update(_FILTER)
    text = str(jupytext.writes(bare, fmt="py:percent"))
    return re.sub(r"\n{2,}(?=# %%)", "\n\n", text)  # one blank line between cells, always


def cells(notebook: Any) -> list[tuple[str, str, tuple[str, ...]]]:
    """Type, source and tags of each cell: what script and notebook must agree on."""
    return [(c.cell_type, c.source, tuple(c.metadata.get("tags", ()))) for c in notebook.cells]
