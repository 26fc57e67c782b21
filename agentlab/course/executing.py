"""Running a chapter's notebook the same way every time, and bringing it into its stored form.

The kernel gets an environment in which nothing varies: the simulator as endpoint, views drawn
once, no pacing, a harness folder of its own, its own IPython profile, UTC. What still differs
between two runs (ids of cells, tracebacks, widget views) is taken out by `normalise`. So the same
script gives the same bytes on every machine.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

from agentlab.course.harness_store import FRESH
from agentlab.course.shown import CourseError

CELL_LIMIT_S = 120
STEADY = {
    "AGENTLAB_STATIC_VIEWS": "1",
    "AGENTLAB_SPEED": "0",
    "AGENTLAB_HARNESS_DIR": FRESH,
    "AGENTLAB_ANSWERS": "approve",
    "PYTHONHASHSEED": "0",
    "TZ": "UTC",
}
# Nothing in a build or a test may reach a real model or spend money.
LIVE = (
    "AGENTLAB_ENDPOINT", "AGENTLAB_MODEL", "AGENTLAB_BUDGET_USD", "AGENTLAB_API_KEY",
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL",
)  # fmt: skip
_PACKAGE_PARENT = Path(__file__).resolve().parents[2]
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class CellFailed(CourseError):
    """A cell raised, or did not end. The text holds chapter, cell and error."""


def steady_environment(harness_dir: str = FRESH) -> dict[str, str]:
    """This process's environment without anything that could make two runs differ."""
    env = {key: value for key, value in os.environ.items() if key not in LIVE}
    path = os.pathsep.join(filter(None, (str(_PACKAGE_PARENT), env.get("PYTHONPATH"))))
    return env | STEADY | {"PYTHONPATH": path, "AGENTLAB_HARNESS_DIR": harness_dir}


def execute(notebook: Any, name: str, *, harness_dir: str = FRESH) -> None:
    """Run all cells, in a temporary folder; outputs go into ``notebook``. Raises CellFailed."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    from agentlab.lab import own_kernel

    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory(prefix="agentlab-build-") as folder, own_kernel():
        work = Path(folder, "work")
        work.mkdir()
        client = NotebookClient(
            notebook,
            timeout=CELL_LIMIT_S,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            store_widget_state=False,
            resources={"metadata": {"path": str(work)}},
        )
        env = steady_environment(harness_dir) | {"IPYTHONDIR": str(Path(folder, "ipython"))}
        try:
            client.execute(env=env)
        except CellExecutionError as error:
            raise CellFailed(_failure(notebook, name, f"{error.ename}: {error.evalue}")) from None
        except CellTimeoutError:
            took = f"it did not end within {CELL_LIMIT_S} seconds"
            raise CellFailed(_failure(notebook, name, took)) from None
        except DeadKernelError:
            raise CellFailed(_failure(notebook, name, "the kernel died")) from None


def normalise(notebook: Any, key: str) -> str:
    """The notebook in its stored form, as text: nothing in it that differs between two runs."""
    import nbformat

    stored = nbformat.v4.new_notebook(
        metadata={
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    count = 0
    for position, cell in enumerate(notebook.cells):
        tags = list(cell.metadata.get("tags", ()))
        fields = {"source": cell.source, "metadata": {"tags": tags} if tags else {}}
        if cell.cell_type == "code":
            count += 1 if cell.execution_count is not None else 0
            new = nbformat.v4.new_code_cell(**fields)
            new.execution_count = count if cell.execution_count is not None else None
            new.outputs = [_steady_output(output, count) for output in cell.outputs]
        else:
            new = nbformat.v4.new_markdown_cell(**fields)
        new.id = f"{key}-{position:02d}"
        stored.cells.append(new)
    nbformat.validate(stored)
    return str(nbformat.writes(stored)).rstrip("\n") + "\n"


def _steady_output(output: Any, count: int) -> Any:
    """One output without widget views, display ids and the frames of a traceback."""
    output.pop("transient", None)
    if "data" in output:
        output.data.pop("application/vnd.jupyter.widget-view+json", None)
    if output.output_type == "execute_result":
        output.execution_count = count
    if output.output_type == "error":
        output.traceback = [_COLOURS.sub("", f"{output.ename}: {output.evalue}")]
    return output


def _failure(notebook: Any, name: str, what: str) -> str:
    """Which cell it was: the last one that was started."""
    started = [
        (position, cell)
        for position, cell in enumerate(notebook.cells)
        if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None)
    ]
    position, cell = started[-1] if started else (0, notebook.cells[0])
    source = "\n".join(f"    {line}" for line in cell.source.splitlines())
    return _COLOURS.sub("", f"{name}, cell {position} failed: {what}\n{source}")
