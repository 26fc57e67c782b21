"""10,000 random paths against the file tools, while threads put links in their way.

    python tests/benchmarks/paths.py [how many]

Every path is made of names that lead inside, outside, up, home or nowhere, and of folders that are
exchanged for links to the outside all the time. Exit code 1 if anything outside was read or
written. A few hundred of them run with the tests; this is the full number.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from agentlab.messages import tool_use
from agentlab.toolbox import toolbox
from agentlab.tools import Outcome, ToolError, prepare

NAMES = ["..", ".", "a", "b", "sub", "door", "swap", "key", "app", "outside", "link", "~", "CON"]
SECRET = "the secret outside"


@dataclass
class Found:
    """What an attack did: paths tried, reached, refused, and what leaked (nothing, one hopes)."""

    tried: int = 0
    reached: int = 0
    refused: int = 0
    leaks: list[str] = field(default_factory=list)


def attack(folder: Path, count: int, seed: int = 0) -> Found:
    """Try ``count`` random paths in a new workspace below ``folder``."""
    outside, workspace = folder / "outside", folder / "app"
    for place in (outside / "sub", workspace / "sub"):
        place.mkdir(parents=True)
    for file in (outside / "key", outside / "sub" / "key"):
        file.write_text(SECRET)
    for file in (workspace / "key", workspace / "sub" / "key"):
        file.write_text("plain")
    (workspace / "link").symlink_to(outside)
    before = _state(folder, workspace)
    tools = {t.name: t for t in toolbox(workspace, shell=False)}
    found, choose = Found(), random.Random(seed)
    with _exchanging(workspace, outside):
        for _ in range(count):
            _try(tools, _path(choose, workspace), choose.choice(CALLS), found)
    after = _state(folder, workspace)
    if after != before:
        found.leaks.append(f"outside: {sorted(after ^ before)}")
    return found


CALLS: list[tuple[str, str, dict[str, str]]] = [
    ("Read", "file_path", {}),
    ("Write", "file_path", {"content": "broken in"}),
    ("Edit", "file_path", {"old_string": "plain", "new_string": "broken in"}),
    ("LS", "path", {}),
    ("Glob", "path", {"pattern": "**"}),
    ("Grep", "path", {"pattern": "plain|secret"}),
]


def _try(
    tools: dict[str, object], path: str, call: tuple[str, str, dict[str, str]], found: Found
) -> None:
    name, argument, more = call
    found.tried += 1
    prepared = prepare(tool_use("t", name, {argument: path, **more}), tools)  # type: ignore[arg-type]
    if isinstance(prepared, Outcome):
        found.refused += 1
        said = str(prepared.block["content"])
    else:
        try:
            said = prepared.tool.function(**prepared.arguments)
            found.reached += 1
        except ToolError as error:
            found.refused += 1
            said = str(error)
    if SECRET in said:
        found.leaks.append(f"{name} {path}: {said}")


def _path(choose: random.Random, workspace: Path) -> str:
    parts = choose.choices(NAMES, k=choose.randint(1, 5))
    start = choose.choice(["", "", "", "/", f"{workspace}/", "swap/", "door/sub/"])
    return start + "/".join(parts)


@contextmanager
def _exchanging(workspace: Path, outside: Path) -> Iterator[None]:
    """While this is open, ``door`` and ``swap`` are folders, links, files, gone, in quick turn."""
    stop = threading.Event()

    def exchange(place: Path) -> None:
        beside = place.with_name(f".{place.name}")
        while not stop.is_set():
            with suppress(OSError):
                beside.symlink_to(outside)
                beside.rename(place)
            time.sleep(0.0002)
            with suppress(OSError):
                place.unlink()
                place.mkdir()
                (place / "sub").mkdir()
                (place / "key").write_text("plain")
            time.sleep(0.0002)
            with suppress(OSError):
                place.rename(workspace / f".old-{place.name}-{time.monotonic_ns()}")

    threads = [threading.Thread(target=exchange, args=(workspace / n,)) for n in ("door", "swap")]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _state(folder: Path, workspace: Path) -> set[tuple[str, bytes]]:
    """Every file outside of the workspace, with what it holds."""
    return {
        (str(file), file.read_bytes())
        for here, folders, names in os.walk(folder)
        if Path(here) != workspace and not Path(here).is_relative_to(workspace)
        for file in (Path(here, name) for name in names)
    }


def paths_benchmark(report: Callable[[str, str, str, bool | None], None]) -> None:
    """10,000 paths while links are exchanged, as a row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        found = attack(Path(folder).resolve(), 10_000, seed=time.time_ns())
    shown = f"{len(found.leaks)} of {found.tried}"
    report("paths that reached something outside", shown, "none", not found.leaks)


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        found = attack(Path(folder).resolve(), count, seed=time.time_ns())
    print(
        f"{found.tried} paths in {time.perf_counter() - started:.1f} s: {found.reached} reached, "
        f"{found.refused} refused, {len(found.leaks)} leaks"
    )
    print("\n".join(found.leaks[:10]), end="")
    return 1 if found.leaks else 0


if __name__ == "__main__":
    sys.exit(main())
