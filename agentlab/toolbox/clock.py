"""``Clock``: the date and time, on the clock of the run."""

from __future__ import annotations

from agentlab.clock import Clock
from agentlab.tools import Tool, tool


def clock_tool(clock: Clock) -> Tool:
    """The ``Clock`` tool on the given clock."""

    @tool(name="Clock", is_read_only=True)
    async def read_clock() -> str:
        """Return the current date and time (ISO 8601). Use it when the answer depends on now."""
        return clock.wall().isoformat(timespec="minutes")

    made: Tool = read_clock
    return made
