"""``agentlab lab``: a working copy of the course, opened in JupyterLab, or checked without it.

The notebooks that come with the package stay as they are; a learner works in a copy. A copy is
made once and never written over: later runs only add chapters that are not there yet. One chapter
can be restored, and then the learner's version is kept under another name.

JupyterLab runs in this process and with this Python as its kernel, whatever other kernels the
machine has. Nothing here is taught by a chapter.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentlab.resources import notebooks_path

FOLDER = Path("agentlab-course")
SPEED = "120"  # tokens per second of the simulator, so that text is seen to move
CELL_TIMEOUT_S = 120
_CHAPTER = re.compile(r"(\d\d)_\w+\.ipynb")
# Defaults, not orders: what a user has chosen in JupyterLab's settings holds.
_SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",  # no question about "Jupyter news" over the buttons
        "checkForUpdates": False,
    }
}
_NOT_COPIED = {"src", ".ipynb_checkpoints", "__pycache__"}


class LabError(Exception):
    """What cannot be done, and what to do instead, in one line."""


@dataclass
class Copied:
    """What `prepare` did: names of chapters it added and of chapters it left alone."""

    added: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def chapters(folder: Path) -> dict[str, Path]:
    """The chapters in a folder by their two digits: ``{"00": …/00_start_here.ipynb}``."""
    found: dict[str, Path] = {}
    for path in sorted(folder.glob("*.ipynb")):
        if match := _CHAPTER.fullmatch(path.name):
            found.setdefault(match[1], path)
    return found


def first_chapter(folder: Path) -> Path:
    """Chapter 00 of a folder. Raises LabError if it is not there."""
    try:
        return chapters(folder)["00"]
    except KeyError:
        raise LabError(
            f"There is no chapter 00 in {folder}. Install agentlab again: notebooks are missing."
        ) from None


def prepare(folder: Path) -> Copied:
    """Copy what is missing of the course into ``folder``; never write over a file."""
    source = notebooks_path()
    first_chapter(source)
    done = Copied()
    with _explained(folder):
        for path in sorted(source.rglob("*")):
            inside = path.relative_to(source)
            if path.is_dir() or _NOT_COPIED & set(inside.parts):
                continue
            copy = folder / inside
            if copy.exists():
                done.kept += [copy.name] if _CHAPTER.fullmatch(copy.name) else []
                continue
            _copy(path, copy)
            done.added += [copy.name] if _CHAPTER.fullmatch(copy.name) else []
    return done


def reset(folder: Path, number: str) -> tuple[Path, Path | None]:
    """Restore one chapter of a working copy; returns it and where the learner's version went.

    There is no second path where there was nothing to keep.
    """
    shipped = chapters(notebooks_path())
    chapter = shipped.get(number.zfill(2) if number else "")
    if chapter is None:
        raise LabError(f"There is no chapter {number!r}. The chapters are {', '.join(shipped)}.")
    if not chapters(folder):
        raise LabError(f"There is no course in {folder}. Make one first: agentlab lab {folder}")
    current, backup = folder / chapter.name, None
    with _explained(folder):
        if current.exists() and current.read_bytes() != chapter.read_bytes():
            names = (f"{current.stem}.mine-{n}.ipynb" for n in range(1, 10_000))
            backup = next(folder / name for name in names if not (folder / name).exists())
            current.rename(backup)
        _copy(chapter, current)
    return current, backup


def checkout_notebooks() -> Path:
    """The notebooks of the checkout this package runs from. Raises LabError in a wheel."""
    folder = notebooks_path()
    if not (folder.parent / "pyproject.toml").is_file():
        raise LabError(
            "--in-place edits the notebooks of a checkout, and this agentlab was installed from a "
            "wheel. Leave it out to work in a copy, or clone the repository and pip install -e it."
        )
    return folder


def require_free(port: int) -> None:
    """Raise LabError unless a server can listen on that port of 127.0.0.1."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise LabError(
                f"Port {port} cannot be used ({error.strerror}). Take another, or leave --port out."
            ) from None


def serve(folder: Path, *, port: int | None = None, browser: bool = True) -> None:
    """Run JupyterLab on chapter 00 of ``folder`` until it is stopped with Ctrl-C."""
    first = first_chapter(folder)
    from jupyter_core.application import NoStart
    from jupyterlab.labapp import LabApp

    os.environ.setdefault("AGENTLAB_SPEED", SPEED)  # kernels inherit it
    options = [
        f"--ServerApp.root_dir={folder.resolve()}",
        f"--LabApp.default_url=/lab/tree/{first.name}",
        "--LabApp.news_url=None",  # this and the next two: ask nobody outside
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
        "--ServerApp.answer_yes=True",  # Ctrl-C asks nothing
        "--ServerApp.log_level=ERROR",
        "--LabApp.log_level=ERROR",
        f"--ServerApp.open_browser={browser}",
    ]
    if port is not None:
        options += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")
    with own_kernel(), contextlib.suppress(NoStart):
        LabApp.initialize_server(argv=options).start()


def check(say: Callable[[str], None]) -> bool:
    """Execute chapter 00 in a temporary copy, without a browser. True if every cell ran.

    ``say`` gets one line for each cell: its number, its seconds, its first line of code. The run
    is always against the simulator.
    """
    import nbformat
    from nbclient import NotebookClient

    source = first_chapter(notebooks_path())
    notebook: Any = nbformat.read(source, as_version=4)
    code = [(i, c) for i, c in enumerate(notebook.cells) if c.cell_type == "code" and c.source]
    env = {k: v for k, v in os.environ.items() if not k.startswith("AGENTLAB_")}
    say(f"Running {source.name}: {len(code)} code cells, headless, against the simulator.")
    begun = time.monotonic()
    with own_kernel(), tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=CELL_TIMEOUT_S,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        )
        try:
            with client.setup_kernel(env=env):
                for count, (index, cell) in enumerate(code, start=1):
                    if not _run_cell(client, cell, index, f"{count:3}/{len(code)}", say):
                        return False
        except RuntimeError as error:  # the kernel did not start, or died
            say(f"The kernel failed: {error}. agentlab doctor looks for the reason.")
            return False
    say(f"{source.name}: all {len(code)} cells ran in {time.monotonic() - begun:.1f} s.")
    return True


def _run_cell(client: Any, cell: Any, index: int, count: str, say: Callable[[str], None]) -> bool:
    from nbclient.exceptions import CellExecutionError, CellTimeoutError

    title = cell.source.strip().splitlines()[0][:60]
    begun = time.monotonic()
    try:
        client.execute_cell(cell, index)
    except CellExecutionError as error:
        say(f"{count}  FAILED  {title}")
        say(f"The cell raised {error.ename}: {error.evalue}")
        return False
    except CellTimeoutError:
        say(f"{count}  FAILED  {title}")
        say(f"The cell did not end within {CELL_TIMEOUT_S} s.")
        return False
    say(f"{count}  {time.monotonic() - begun:5.1f} s  {title}")
    return True


@contextlib.contextmanager
def own_kernel() -> Iterator[None]:
    """Let ``python3`` mean this Python, even where the user has another kernel of that name.

    The spec lies in a temporary folder that Jupyter searches first, with defaults for JupyterLab's
    settings beside it.
    """
    from ipykernel.kernelspec import write_kernel_spec

    names = ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH")
    before = {name: os.environ.get(name) for name in names}
    with tempfile.TemporaryDirectory(prefix="agentlab-jupyter-") as folder:
        quiet = ["--IPKernelApp.log_level=40"]  # errors only
        write_kernel_spec(Path(folder) / "kernels" / "python3", extra_arguments=quiet)
        settings = Path(folder) / "labconfig" / "default_setting_overrides.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps(_SETTINGS), "utf-8")
        for name, value in before.items():
            os.environ[name] = os.pathsep.join(filter(None, (folder, value)))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def _copy(source: Path, target: Path) -> None:
    """Copy a file so that it is there whole or not at all; a notebook is trusted, as ours."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    shutil.copyfile(source, part)
    if target.suffix == ".ipynb":
        import nbformat
        from nbformat.sign import NotebookNotary

        NotebookNotary().sign(nbformat.read(part, as_version=4))
    part.replace(target)


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise LabError(
            f"Cannot write the course to {folder}: {reason}. Name another folder: agentlab lab DIR"
        ) from None
