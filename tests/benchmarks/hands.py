"""Tools at work: ten calls at once over a bare gather, and the loop with a plain function as tool.

Each figure stands beside its reference from the same run, in turn with it: how much longer
`run_batches` takes than ``asyncio.gather`` over the same ten waits, and what a turn of `Agent.run`
costs in CPU when its tool runs in a thread, over the loop that one writes by hand.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

Report = Callable[[str, str, str, bool | None], None]
Server = Callable[..., AbstractContextManager[str]]
WAIT_S, CALLS = 0.05, 10


async def hands_benchmark(report: Report, server: Server, by_hand: Callable[..., Any]) -> None:
    for kind in ("async", "sync"):
        await _ten_calls(report, kind)
    await _loop_with_threads(report, server, by_hand)
    _read_a_megabyte(report)


def _read_a_megabyte(report: Report, rounds: int = 201) -> None:
    """The ``Read`` function (confined, decoded, bounded) over reading the bytes alone."""
    from agentlab.toolbox import file_tools

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "big.txt")
        path.write_text("A line of text, as long as lines are.\n" * 27_600)
        (read,) = (tool.function for tool in file_tools(folder) if tool.name == "Read")
        bare, ours = [], []
        for _ in range(rounds):
            begun = time.perf_counter()
            path.read_bytes()
            middle = time.perf_counter()
            read("big.txt")
            ours.append(time.perf_counter() - middle)
            bare.append(middle - begun)
    mine, theirs = (statistics.median(taken) * 1e6 for taken in (ours, bare))
    shown = f"{mine:.0f} / {theirs:.0f} us = {mine / theirs:.1f}"
    report("Read of 1 MB over a bare read", shown, "under 3", mine / theirs < 3)


# ------------------------------------------------------------------------------- ten calls at once


async def wait() -> str:
    """Wait as a tool waits for a disk or a server."""
    await asyncio.sleep(WAIT_S)
    return "done"


def wait_in_thread() -> str:
    """The same as a plain function."""
    time.sleep(WAIT_S)
    return "done"


async def _ten_calls(report: Report, kind: str, rounds: int = 21) -> None:
    from agentlab.clock import RealClock
    from agentlab.messages import tool_use
    from agentlab.partition import DEFAULT_CAP, run_batches
    from agentlab.tools import prepare, tool

    made = tool(wait if kind == "async" else wait_in_thread, name="wait", is_read_only=True)
    calls = [prepare(tool_use(f"t{n}", "wait", {}), {"wait": made}) for n in range(CALLS)]
    loop, clock = asyncio.get_running_loop(), RealClock()

    async def ours() -> None:
        ended = [o async for _, o in run_batches(calls, clock, DEFAULT_CAP) if o is not None]
        assert len(ended) == CALLS and not any(outcome.is_error for outcome in ended)

    with ThreadPoolExecutor(CALLS) as pool:

        async def bare() -> None:
            if kind == "async":
                await asyncio.gather(*(wait() for _ in range(CALLS)))
            else:
                waits = (loop.run_in_executor(pool, wait_in_thread) for _ in range(CALLS))
                await asyncio.gather(*waits)

        await ours()  # both pools have their threads now
        await bare()
        pairs = [(await _milliseconds(ours), await _milliseconds(bare)) for _ in range(rounds)]
    over = statistics.median(mine - theirs for mine, theirs in pairs)
    mine, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
    report(
        f"ten calls of 50 ms over a bare gather, {kind} tools",
        f"{mine:.1f} - {theirs:.1f} = {over:.1f} ms",
        "at most 4 ms more",
        over <= 4,
    )


async def _milliseconds(work: Callable[[], Awaitable[None]]) -> float:
    started = time.perf_counter()
    await work()
    return 1000 * (time.perf_counter() - started)


# ------------------------------------------------------------------------------ the loop, threaded


async def _loop_with_threads(
    report: Report, server: Server, by_hand: Callable[..., Any], rounds: int = 7
) -> None:
    os.environ["ANTHROPIC_OPEN_TELEMETRY"] = "false"  # for both sides
    import anthropic

    from agentlab import connect

    with server() as url, tempfile.TemporaryDirectory() as folder:
        reference = anthropic.AsyncAnthropic(base_url=url, api_key="x", max_retries=0)
        endpoint = connect(url, model="claude-sonnet-5-5")
        await by_hand(reference, 5)
        await _by_agent(endpoint, 5, folder)
        for turns in (10, 50):
            mine, theirs = [], []
            for _ in range(rounds):
                started = time.process_time()
                await by_hand(reference, turns)
                middle = time.process_time()
                await _by_agent(endpoint, turns, folder)
                ended = time.process_time()
                theirs.append((middle - started) / (turns + 1) * 1e6)
                mine.append((ended - middle) / (turns + 1) * 1e6)
            ratio = statistics.median(a / b for a, b in zip(mine, theirs, strict=True))
            figures = f"{min(mine):.0f} / {min(theirs):.0f} us = {ratio:.2f}"
            goal, met = ("at most 0.85", ratio <= 0.85) if turns == 50 else ("", None)
            report(f"CPU a turn, tool in a thread, over by hand, {turns} turns", figures, goal, met)
        await reference.close()


async def _by_agent(endpoint: Any, turns: int, folder: str) -> None:
    """``agent.run`` with a plain function as its tool: events, transcript, limits and repair."""
    from agentlab import Agent, Limits, tool

    @tool
    def echo(text: str) -> str:
        """Return the text."""
        return text

    with tempfile.NamedTemporaryFile(dir=folder, suffix=".jsonl") as file:
        agent = Agent(
            tools=[echo],
            system="You are the subject of a benchmark.",
            endpoint=endpoint,
            limits=Limits(turns=turns + 1),
            transcript=file.name,
        )
        end = None
        async for event in agent.run(f"bench {turns}"):
            end = event if event.type == "session.end" else end
        agent.transcript.close()
        assert end is not None and end.status == "completed" and end.turns == turns + 1, end
