"""Files and large results: what a second read costs, and rebuilding a long history.

A cache hit stands beside the least that finds a change for sure, reading the bytes and comparing
them, in turn with it.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Report = Callable[[str, str, str, bool | None], None]
LINE = "A line of text, as long as lines are.\n"


def files_benchmark(report: Report) -> None:
    _cache_hit(report)
    _ten_thousand_messages(report)


def _cache_hit(report: Report, rounds: int = 301) -> None:
    """``Read`` of a file of 1 MB that has not changed, over reading it and comparing."""
    from agentlab.toolbox import file_tools

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "big.txt")
        path.write_text(LINE * 27_600)
        before = path.read_bytes()
        (read,) = (tool.function for tool in file_tools(folder) if tool.name == "Read")
        assert read("big.txt").startswith(LINE)
        bare, ours = [], []
        for _ in range(rounds):
            begun = time.perf_counter()
            same = path.read_bytes() == before
            middle = time.perf_counter()
            said = read("big.txt")
            ours.append(time.perf_counter() - middle)
            bare.append(middle - begun)
            assert same and "unchanged" in said
    mine, theirs = (statistics.median(taken) * 1e6 for taken in (ours, bare))
    shown = f"{mine:.0f} / {theirs:.0f} us = {mine / theirs:.2f}"
    report("cache hit on 1 MB over read and compare", shown, "at most 1.5", mine / theirs <= 1.5)


def _ten_thousand_messages(report: Report, rounds: int = 7) -> None:
    """Applying the decisions to a history as it arrived, every tenth of its results a large one."""
    from agentlab.messages import assistant, tool_result, tool_use, user
    from agentlab.previews import Previews, rebuild

    arrived: list[dict[str, Any]] = [user("the task")]
    for number in range(5_000):
        id, large = f"toolu_{number}", number % 10 == 0
        arrived.append(assistant("Next.", tool_use(id, "Bash", {"command": "ls"})))
        arrived.append(user(tool_result(id, LINE * (300 if large else 10))))
    with tempfile.TemporaryDirectory() as folder:
        previews = Previews(folder)
        for message in arrived[2::2]:
            previews.replace(message["content"][0]["tool_use_id"], message["content"][0])
        taken = []
        for _ in range(rounds):
            begun = time.perf_counter()
            sent = rebuild(arrived, previews.clone().state)
            taken.append(1000 * (time.perf_counter() - begun))
    assert sum(a is not b for a, b in zip(arrived, sent, strict=True)) == 500
    took = statistics.median(taken)
    report("rebuilding 10,000 messages", f"{took:.0f} ms", "under 200 ms", took < 200)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
    files_benchmark(lambda *row: print(*row, sep="   "))
