"""``agentlab doctor``: what must be there, whether it is, and how to mend what is not.

Each check really does the thing (a kernel computes, a port is bound, a message goes through the
SDK to the simulator), because "is installed" is not "works". A check returns one `Finding`; ``ok``
and ``warn`` let the course run, ``fail`` does not.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, NamedTuple

KERNEL_TIMEOUT_S = 60
MINIMUM_PYTHON = (3, 11)
REINSTALL = "install again: pip install -c constraints.txt -e . (in the checkout)"
_WIDGETS = ("anywidget", "@jupyter-widgets/jupyterlab-manager")


class Finding(NamedTuple):
    """The outcome of one check: what was looked at, what was found, how to mend it."""

    status: Literal["ok", "warn", "fail"]
    subject: str
    found: str
    mend: str = ""


def examine() -> Iterator[Finding]:
    """Run every check, each finding as soon as it is known. No check stops the others."""
    for check in (python, packages, kernel, ports, simulator, widgets, git, browser, chromium):
        try:
            yield from check()
        except Exception as error:  # a check that breaks is itself a finding
            text = f"the check broke: {type(error).__name__}: {error}"
            yield Finding("fail", check.__name__, text, REINSTALL)


def python() -> Iterator[Finding]:
    """The interpreter's version and where it is."""
    version = ".".join(map(str, sys.version_info[:3]))
    where = "in a virtual environment" if sys.prefix != sys.base_prefix else sys.prefix
    if sys.version_info < MINIMUM_PYTHON:
        yield Finding("fail", "Python", version, "install Python 3.11 or newer")
    else:
        yield Finding("ok", "Python", f"{version}, {where}")


def packages() -> Iterator[Finding]:
    """Each required package: its version against the range that agentlab supports."""
    from packaging.requirements import Requirement

    try:
        wanted = [Requirement(line) for line in metadata.requires("agentlab") or []]
    except metadata.PackageNotFoundError:
        yield Finding("fail", "agentlab", "runs from a folder, is not installed", REINSTALL)
        return
    yield Finding("ok", "agentlab", metadata.version("agentlab"))
    for requirement in wanted:
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        name = requirement.name
        supported = ",".join(sorted(map(str, requirement.specifier), reverse=True))
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield Finding("fail", name, "missing", f'pip install "{name}{supported}"')
            continue
        if requirement.specifier.contains(version, prereleases=True):
            yield Finding("ok", name, f"{version} (supported: {supported})")
        else:
            mend = f'pip install "{name}{supported}"'
            yield Finding("fail", name, f"{version} is not in {supported}", mend)


def kernel() -> Iterator[Finding]:
    """Start a kernel as `agentlab lab` does and let it compute 1 + 1."""
    from jupyter_client.manager import KernelManager

    from agentlab.lab import own_kernel

    mend = f"{REINSTALL}; if it goes on, look whether a firewall blocks 127.0.0.1"
    with own_kernel():
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel()
        client = manager.blocking_client()
        client.start_channels()
        said: list[str] = []

        def hear(message: dict[str, Any]) -> None:
            said.append(message["content"].get("text", ""))

        try:
            client.wait_for_ready(timeout=KERNEL_TIMEOUT_S)
            client.execute_interactive(
                "print(1 + 1)", timeout=KERNEL_TIMEOUT_S, output_hook=hear, allow_stdin=False
            )
        except (RuntimeError, TimeoutError) as error:
            yield Finding("fail", "kernel", f"does not answer: {error}", mend)
            return
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
    if "".join(said).strip() == "2":
        yield Finding("ok", "kernel", "starts and computes 1 + 1")
    else:
        yield Finding("fail", "kernel", f"computed 1 + 1 as {''.join(said)!r}", mend)


def ports() -> Iterator[Finding]:
    """Bind a free port of this machine and connect to it."""
    mend = "allow programs on this machine to connect to 127.0.0.1 (firewall, VPN client)"
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=5).close()
    except OSError as error:
        yield Finding("fail", "ports", f"127.0.0.1 cannot be used: {error}", mend)
    else:
        yield Finding("ok", "ports", "a local server can be reached on 127.0.0.1")


def simulator() -> Iterator[Finding]:
    """Send one message through the real SDK to the simulator."""
    from agentlab.providers import connect

    endpoint = connect("simulator")
    answers: list[Any] = []

    def ask() -> None:
        try:
            answers.append(
                endpoint.sync_client().messages.create(
                    model=endpoint.model,
                    max_tokens=256,
                    messages=[{"role": "user", "content": "What is 6 * 7?"}],
                )
            )
        except Exception as error:  # reported below, from the caller's thread
            answers.append(error)

    worker = threading.Thread(target=ask, daemon=True)
    worker.start()
    worker.join(30)
    answer = answers[0] if answers else TimeoutError("no answer within 30 s")
    if isinstance(answer, Exception):
        mend = REINSTALL
        if any(name.lower().endswith("_proxy") for name in os.environ):
            mend = "set NO_PROXY=127.0.0.1,localhost (a proxy is set for this shell)"
        yield Finding("fail", "simulator", f"{type(answer).__name__}: {answer}", mend)
    else:
        yield Finding("ok", "simulator", "answers a message sent with the anthropic SDK")


def widgets() -> Iterator[Finding]:
    """The prebuilt front ends that JupyterLab loads, and our own view's files."""
    from jupyter_core.paths import jupyter_path

    folders = [Path(folder) for folder in jupyter_path("labextensions")]
    missing = [name for name in _WIDGETS if not any(_built(folder / name) for folder in folders)]
    if missing:
        mend = "pip install --force-reinstall anywidget ipywidgets jupyterlab_widgets"
        yield Finding("fail", "widgets", f"JupyterLab will not find {', '.join(missing)}", mend)
        return
    assets = Path(__file__).parent / "views" / "static"
    if not any(assets.glob("*.js")):
        yield Finding("fail", "widgets", f"no front-end files in {assets}", REINSTALL)
        return
    yield Finding("ok", "widgets", "front ends of anywidget, ipywidgets and agentlab are there")


def _built(extension: Path) -> bool:
    return any((extension / "static").glob("remoteEntry*.js"))


def git() -> Iterator[Finding]:
    """Git, which later chapters and contributors use."""
    mend = "install git (later chapters use it; 00 to 02 do not)"
    if not shutil.which("git"):
        yield Finding("warn", "git", "not found", mend)
        return
    answer = subprocess.run(
        ["git", "--version"], capture_output=True, text=True, timeout=20, check=False
    )
    version = re.search(r"\d+(\.\d+)+", answer.stdout)
    if version:
        yield Finding("ok", "git", version[0])
    else:
        yield Finding("warn", "git", answer.stderr.strip() or "does not tell its version", mend)


def browser() -> Iterator[Finding]:
    """A browser that `agentlab lab` can open. Optional."""
    try:
        webbrowser.get()
    except webbrowser.Error:
        mend = "agentlab lab --no-browser prints the address to open elsewhere"
        yield Finding("warn", "browser", "none found", mend)
    else:
        yield Finding("ok", "browser", "found")


def chromium() -> Iterator[Finding]:
    """Chromium, for the browser tests only. Optional."""
    path = find_chromium()
    if path:
        yield Finding("ok", "chromium", path)
    else:
        mend = "only the browser tests need it: apt install chromium (or playwright's own)"
        yield Finding("warn", "chromium", "not found", mend)


def find_chromium() -> str | None:
    """Path of a Chromium or Chrome on this machine, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found: Callable[[str], str | None] = shutil.which
    return next((path for name in names if (path := found(name))), None)
