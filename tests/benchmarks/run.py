"""Benchmarks: one command, one table. Ratios within one run; times mean little across machines.

    python tests/benchmarks/run.py            # everything, about three minutes
    python tests/benchmarks/run.py gate       # one or more groups: loop, hands, paths, gate ...

Not part of the tests: a busy machine may miss a goal. Exit code 1 if one was missed.
"""

from __future__ import annotations

import asyncio
import compileall
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentlab.events import Event

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SYSTEM = "You are the subject of a benchmark."
ECHO = {
    "name": "echo",
    "description": "Return the text.",
    "input_schema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
}
rows: list[tuple[str, str, str, str]] = []


def report(what: str, measured: str, goal: str, met: bool | None) -> None:
    verdict = {True: "met", False: "MISSED", None: ""}[met]
    rows.append((what, measured, goal, verdict))
    print(f"{what:58} {measured:>22}   {goal:24} {verdict}", flush=True)


@contextlib.contextmanager
def server(*flags: str) -> Iterator[str]:
    """The simulator in another process; yields its URL."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "server.py"), *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC_", "AGENTLAB_"))}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}


# --------------------------------------------------------------------------------------- the loop


async def by_hand(client: object, turns: int) -> None:
    """The loop that one writes by hand over the SDK's stream helper: the reference."""
    messages: list[object] = [{"role": "user", "content": f"bench {turns}"}]
    while True:
        async with client.messages.stream(  # type: ignore[attr-defined]
            model="claude-sonnet-5-5",
            max_tokens=8192,
            system=SYSTEM,
            tools=[ECHO],
            messages=messages,
        ) as stream:
            async for _ in stream:
                pass
            reply = await stream.get_final_message()
        messages.append({"role": "assistant", "content": reply.content})
        if reply.stop_reason != "tool_use":
            return
        results = [
            {"type": "tool_result", "tool_use_id": b.id, "content": b.input["text"]}
            for b in reply.content
            if b.type == "tool_use"
        ]
        messages.append({"role": "user", "content": results})


async def by_agent(endpoint: object, turns: int, folder: str) -> list[Event]:
    """The same with ``agent.run``: every event, a transcript on disk, limits and repair."""
    from agentlab import Agent, Limits, tool

    @tool
    async def echo(text: str) -> str:
        """Return the text."""
        return text

    with tempfile.NamedTemporaryFile(dir=folder, suffix=".jsonl") as file:
        agent = Agent(
            tools=[echo],
            system=SYSTEM,
            endpoint=endpoint,
            limits=Limits(turns=turns + 1),
            transcript=file.name,
        )
        events = [event async for event in agent.run(f"bench {turns}")]
        agent.transcript.close()
        end = next(event for event in reversed(events) if event.type == "session.end")
        assert end.status == "completed" and end.turns == turns + 1, end
        return events


async def loop_benchmark(rounds: int = 7) -> None:
    os.environ["ANTHROPIC_OPEN_TELEMETRY"] = "false"  # for both sides
    import anthropic

    from agentlab import connect

    added = {}
    with server() as url, tempfile.TemporaryDirectory() as folder:
        reference = anthropic.AsyncAnthropic(base_url=url, api_key="x", max_retries=0)
        endpoint = connect(url, model="claude-sonnet-5-5")
        await by_hand(reference, 5)
        await by_agent(endpoint, 5, folder)
        for turns in (10, 50, 200):
            ratios, mine, theirs = [], [], []
            for _ in range(rounds if turns < 200 else 3):
                started = time.process_time()
                await by_hand(reference, turns)
                middle = time.process_time()
                await by_agent(endpoint, turns, folder)
                ended = time.process_time()
                theirs.append((middle - started) / (turns + 1) * 1e6)
                mine.append((ended - middle) / (turns + 1) * 1e6)
                ratios.append(mine[-1] / theirs[-1])
            ratio = statistics.median(ratios)
            figures = f"{min(mine):.0f} / {min(theirs):.0f} us = {ratio:.2f}"
            goal, met = ("at most 0.80", ratio <= 0.80) if turns == 50 else ("", None)
            report(f"CPU a turn, agent.run over a loop by hand, {turns} turns", figures, goal, met)
            added[turns] = await _added(endpoint, url, turns, folder)
        await reference.close()
        growth = added[200] / added[10]
        shown = f"{added[10]:.0f}, {added[50]:.0f}, {added[200]:.0f} us"
        report(
            "what we add over a raw loop at 10, 50, 200 turns",
            shown,
            "flat (at most 1.5 times)",
            growth <= 1.5,
        )


async def raw_loop(client: object, turns: int) -> None:
    """The least that can be done: the SDK's raw events, a history of dicts, and nothing else."""
    import json

    messages: list[dict[str, object]] = [{"role": "user", "content": f"bench {turns}"}]
    while True:
        stream = await client.messages.create(  # type: ignore[attr-defined]
            model="claude-sonnet-5-5",
            max_tokens=8192,
            system=SYSTEM,
            tools=[ECHO],
            messages=messages,
            thinking={"type": "adaptive", "display": "summarized"},
            stream=True,
        )
        blocks: list[dict[str, object]] = []
        written, reason = "", None
        async for event in stream:
            if event.type == "content_block_start":
                blocks.append(event.content_block.to_dict())
            elif event.type == "content_block_delta":
                if event.delta.type == "text_delta":
                    blocks[-1]["text"] += event.delta.text  # type: ignore[operator]
                elif event.delta.type == "input_json_delta":
                    written += event.delta.partial_json
            elif event.type == "content_block_stop" and written:
                blocks[-1]["input"], written = json.loads(written), ""
            elif event.type == "message_delta":
                reason = event.delta.stop_reason
        messages.append({"role": "assistant", "content": blocks})
        if reason != "tool_use":
            return
        call = blocks[-1]
        messages.append(
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": "x"}],
            }
        )


async def _added(endpoint: object, url: str, turns: int, folder: str) -> float:
    """Microseconds a turn that agent.run takes more than `raw_loop`."""
    import anthropic

    raw = anthropic.AsyncAnthropic(base_url=url, api_key="x", max_retries=0)
    differences = []
    for _ in range(5 if turns < 200 else 3):
        started = time.process_time()
        await raw_loop(raw, turns)
        middle = time.process_time()
        await by_agent(endpoint, turns, folder)
        ended = time.process_time()
        differences.append(((ended - middle) - (middle - started)) / (turns + 1) * 1e6)
    await raw.close()
    return statistics.median(differences)


# ------------------------------------------------------------------------------------- the import


def import_benchmark(rounds: int = 7) -> None:
    compileall.compile_dir(ROOT / "agentlab", quiet=2)
    heavy = ("anthropic", "pydantic", "ipywidgets", "starlette")
    check = f"import sys, agentlab; print(*(m for m in {heavy} if m in sys.modules))"
    extra = subprocess.run(
        [sys.executable, "-c", check], env=environment(), capture_output=True, text=True
    ).stdout.strip()
    times: dict[str, list[float]] = {"pass": [], "import agentlab": [], "import anthropic": []}
    for _ in range(rounds):
        for statement, taken in times.items():
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], env=environment(), check=True)
            taken.append(time.perf_counter() - started)
    bare, ours, theirs = (statistics.median(taken) for taken in times.values())
    share = (ours - bare) / (theirs - bare)
    shown = f"{1000 * (ours - bare):.0f} of {1000 * (theirs - bare):.0f} ms = {share:.2f}"
    report("import agentlab over import anthropic", shown, "at most 0.20", share <= 0.2)
    report("  and it brings in", extra or "nothing", "nothing", not extra)


PARTS = ("loop", "hands", "paths", "gate", "economy", "import", "simulator")


def main() -> int:
    wanted = sys.argv[1:] or list(PARTS)
    if unknown := [w for w in wanted if w not in PARTS]:
        print(
            f"There is no benchmark {unknown[0]!r}. There are: {', '.join(PARTS)}.", file=sys.stderr
        )
        return 2
    sys.path.insert(0, str(ROOT))
    if "import" in wanted:
        import_benchmark()
    if "loop" in wanted:
        asyncio.run(loop_benchmark())
    sys.path.insert(0, str(HERE))
    if "hands" in wanted:
        from hands import hands_benchmark

        asyncio.run(hands_benchmark(report, server, by_hand))
    if "paths" in wanted:
        from paths import paths_benchmark

        paths_benchmark(report)
    if "gate" in wanted:
        from gate import gate_benchmark

        asyncio.run(gate_benchmark(report, server, by_agent))
    if "economy" in wanted:
        from economy import economy_benchmark

        asyncio.run(economy_benchmark(report, server, by_agent))
        from compacting import compaction_benchmark
        from files import files_benchmark

        compaction_benchmark(report)
        files_benchmark(report)
    if "simulator" in wanted:
        from load import simulator_benchmark

        simulator_benchmark(report, server)
    return 1 if any(verdict == "MISSED" for *_, verdict in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
