"""What the gate costs: judging a command, a long script, and a turn of an agent with and without.

CPU time of this process. Times in milliseconds depend on the machine; the share of a turn is a
ratio within one run.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from agentlab.permissions import Circumstances, Permissions, Rules
from agentlab.permissions.gate import Gate
from agentlab.permissions.opened import parsed

RULES = Rules.of(
    deny=["Read(.env)", "Read(secrets/**)", "Edit(//etc/**)", "Bash(rm -rf:*)", "Read(~/.ssh/**)"],
    ask=["Bash(git push:*)", "Edit(package.json)"],
    allow=["Bash(git:*)", "Bash(npm run test:*)", "Bash(pytest:*)", "Bash(ls:*)", "Edit(src/**)"],
)
COMMANDS = (
    "git status",
    'git add -A && git commit -m "fix: x && y"',
    "npm run test -- -t x 2>&1 | tail -20",
    "cat src/a.py | head -50 > src/b.py",
    "cd src && timeout 60 pytest -q tests/test_a.py",
)
SCRIPT = "\n".join(f"if test -f {n}.txt; then cp {n}.txt out/{n}; fi" for n in range(400))[:10_000]


async def gate_benchmark(report: Callable[..., None], server: Any, by_agent: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        permissions = Permissions(RULES, workspace=folder, home=folder)
        typical = max(_judged_ms(permissions, command, 100) for command in COMMANDS)
        report("judging a typical command, the slowest of five", f"{typical:.2f} ms",
               "under 1 ms", typical < 1)  # fmt: skip
        script = _judged_ms(permissions, SCRIPT, 9)
        report("judging a script of 10 kB", f"{script:.1f} ms", "under 50 ms", script < 50)
        gate = await _gate_us(permissions)
    turn = await _turn_us(server, by_agent)
    share = gate / turn
    shown = f"{gate:.0f} of {turn:.0f} us = {share:.1%}"
    report("the gate in a turn with one command, no hooks", shown, "under 5 %", share < 0.05)


def _judged_ms(permissions: Permissions, command: str, rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        parsed.cache_clear()
        started = time.process_time()
        permissions.explain("Bash", command=command)
        taken.append(1000 * (time.process_time() - started))
    return statistics.median(taken)


async def _gate_us(permissions: Permissions, rounds: int = 200) -> float:
    """Deciding and executing one command, less the same without permissions."""
    from agentlab import tool
    from agentlab.messages import tool_use
    from agentlab.tools import prepare

    @tool(name="Bash", permission="execute")
    async def bash(command: str) -> str:
        """Run."""
        return "ran"

    taken: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for gated in (True, False):
            gate = Gate(permissions if gated else None)
            calls = [prepare(tool_use("t", "Bash", {"command": COMMANDS[0]}), {"Bash": bash})]
            parsed.cache_clear()
            started = time.process_time()
            async with aclosing(gate.decide(calls, Circumstances())) as pieces:
                async for _ in pieces:
                    pass
            await gate.execute(calls[0])  # type: ignore[arg-type]
            taken[gated].append(1e6 * (time.process_time() - started))
    return statistics.median(taken[True]) - statistics.median(taken[False])


async def _turn_us(server: Any, by_agent: Any, turns: int = 50) -> float:
    from agentlab import connect

    with server() as url, tempfile.TemporaryDirectory() as folder:
        endpoint = connect(url, model="claude-sonnet-5-5")
        await by_agent(endpoint, 5, folder)
        taken = []
        for _ in range(5):
            started = time.process_time()
            await by_agent(endpoint, turns, folder)
            taken.append(1e6 * (time.process_time() - started) / (turns + 1))
        return statistics.median(taken)
