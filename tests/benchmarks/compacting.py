"""Compaction: the decision before every request, and rebuilding a long history at each level.

It is work of the processor alone, so its time is what is measured, whatever else the machine does.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from typing import Any

from agentlab.compaction import Compaction, compact, due, size
from agentlab.messages import assistant, text, tool_result, tool_use, user
from agentlab.side_calls import Answered

Report = Callable[[str, str, str, bool | None], None]
WINDOW = 1_000_000


class Instant:
    """A small model that answers at once: what is measured is everything else."""

    model = "small"

    async def ask(self, purpose: str, prompt: str, **_: Any) -> Answered:
        return Answered("Goals:\n- go on", {}, {"cost_usd": 0.0})


def history(messages: int) -> list[dict[str, Any]]:
    """A task, and rounds with thinking, a text, a call and a result of 40 lines."""
    made = [user("Go through all files.\nPin: never touch legacy/")]
    thinking = {"type": "thinking", "thinking": "One more file. " * 10, "signature": "s" * 60}
    for number in range(messages // 2):
        call = tool_use(f"toolu_{number}", "Read", {"file_path": f"src/file_{number}.py"})
        made.append(assistant(thinking, text(f"Now file {number}."), call))
        made.append(user(tool_result(f"toolu_{number}", "    total = total + 1\n" * 40)))
    return made


def milliseconds(work: Callable[[], Any], rounds: int = 21) -> float:
    taken = []
    for _ in range(rounds):
        begun = time.process_time()
        work()
        taken.append(time.process_time() - begun)
    return statistics.median(taken) * 1e3


def compaction_benchmark(report: Report) -> None:
    settings, thousand = Compaction(), history(1_000)

    def decide() -> str:
        tokens = size(thousand, 5_000, counted=200_000, counted_messages=len(thousand) - 2)
        return due(settings, thousand, tokens, window=WINDOW)

    took = milliseconds(decide)
    report("deciding to compact, 1,000 messages", f"{took:.3f} ms", "under 1 ms", took < 1)
    ten_thousand = history(10_000)
    for level in ("summary", "clear", "truncate"):

        def rebuild(level: str = level) -> None:
            asyncio.run(compact(ten_thousand, level, Instant(), window=WINDOW, reason="asked"))

        took = milliseconds(rebuild, 5)
        what = f"rebuilding 10,000 messages, {level}"
        report(what, f"{took:.0f} ms", "under 200 ms", took < 200)


if __name__ == "__main__":
    compaction_benchmark(lambda *row: print(*row))
