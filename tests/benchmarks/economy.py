"""What metering takes of a turn: reading the usage, pricing it, and the meter over every event.

An agent runs against the simulator in another process and its events are kept. Then what metering
did during that run is done again alone, on the same events and the same usages, and compared with
the CPU time of the run.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from typing import Any

TURNS = 50
USAGE = {
    "input_tokens": 12, "output_tokens": 105, "cache_creation_input_tokens": 210,
    "cache_read_input_tokens": 9_000, "output_tokens_details": {"thinking_tokens": 0},
    "cache_creation": {"ephemeral_5m_input_tokens": 210, "ephemeral_1h_input_tokens": 0},
}  # fmt: skip


async def economy_benchmark(
    report: Callable[..., None], server: Any, by_agent: Any, rounds: int = 5
) -> None:
    """Add the rows of this group to the table."""
    from agentlab import connect

    shares, spent, taken = [], [], []
    with server() as url, tempfile.TemporaryDirectory() as folder:
        endpoint = connect(url, model="claude-sonnet-5-5")
        await by_agent(endpoint, 5, folder)
        for _ in range(rounds):
            started = time.process_time()
            events = await by_agent(endpoint, TURNS, folder)
            turn = (time.process_time() - started) / (TURNS + 1)
            metering = min(_metering(events) for _ in range(3)) / (TURNS + 1)
            spent.append(metering * 1e6)
            taken.append(turn * 1e6)
            shares.append(metering / turn)
    share = sorted(shares)[len(shares) // 2]
    figures = f"{min(spent):.1f} of {min(taken):.0f} us = {share:.2%}"
    report("metering, of the CPU of a turn", figures, "under 1 %", share < 0.01)


def _metering(events: list[Any]) -> float:
    """Seconds of CPU that the metering of a run takes: usage, prices, sums, and a live meter."""
    from agentlab.costs import NO_USAGE, Usage, price
    from agentlab.limits import Limits, spent_share
    from agentlab.loop import State
    from agentlab.messages import History
    from agentlab.meter import CostMeter

    meter, total, state, limits = CostMeter(), NO_USAGE, State(History()), Limits(usd=1e9)
    started = time.process_time()
    for event in events:
        meter.add(event)
        if event.type == "assistant.turn_end":  # what the loop itself does at each turn
            used = Usage.from_api(USAGE)
            price(used, "claude-sonnet-5-5")
            price(used, "claude-sonnet-5-5")
            total += used
            used.to_dict(), used.to_dict(), total.to_dict()
            spent_share(limits, state)
    return time.process_time() - started
