"""The switches of the fault board: what can go wrong, how often, and which chapter handles it.

A `Switch` that is on has a fault armed in the simulator (see `agentlab.simulator.faults`), and the
harness meets it as it would meet the real thing. Slow tools are the exception: no server makes a
tool slow, so `slowed` makes copies of tools that wait before they do their work.

A switch is played always, once (it then goes off by itself) or at one call in three, the same ones
every time it is switched on. Of several that are on, the first that applies is played. It is what
`agentlab.views.board` shows.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, fields, replace
from typing import Any

from agentlab.simulator.faults import Armed, Fault, Faults
from agentlab.tools import Input, Tool
from agentlab.views.wording import plural

SLOW_TOOLS = "slow tools"
SEED = 1980  # of "one call in three"; with it each switch is played within its first three calls
HOW: dict[str, dict[str, Any]] = {
    "always": {},
    "once": {"times": 1},
    "one call in three": {"probability": 1 / 3},
}


@dataclass(frozen=True)
class Kind:
    """What can go wrong: in the words of the board, as a fault, and the chapter that handles it."""

    name: str
    what: str
    chapter: int
    title: str
    fault: Fault

    @property
    def handled(self) -> str:
        """The chapter by number and title."""
        return f"{self.chapter:02d} {self.title}"


# Of the fault for slow tools only the seconds are used; nothing in a stream stalls.
KINDS = (
    Kind("429", "Too many requests; wait two seconds", 8, "Retry",
         Fault("status", status=429, headers={"retry-after": "2"})),
    Kind("529", "The server is overloaded", 8, "Retry", Fault("status", status=529)),
    Kind("resets", "The connection breaks before an answer comes", 8, "Retry", Fault("reset")),
    Kind("cut streams", "A reply stops in the middle, and nothing says so", 8, "Retry",
         Fault("cut_clean", after=6)),
    Kind("truncation", "A reply is cut off at max_tokens", 2, "The loop", Fault("truncate")),
    Kind("bad JSON", "The input of a tool call is not JSON", 3, "Tools", Fault("bad_json")),
    Kind(SLOW_TOOLS, "Every tool takes longer", 4, "Running calls together", Fault("stall")),
    Kind("loops", "The model makes its last tool call again", 2, "The loop", Fault("loop")),
)  # fmt: skip


class Switch:
    """One fault of a board: ``on``, ``how`` often (see `HOW`), and how often it was ``played``.

    ``faults`` is where it is armed; ``tell`` is called when anything about it changed.
    """

    def __init__(self, kind: Kind, faults: Faults, tell: Callable[[], None]) -> None:
        self.kind = kind
        self.needs = ""  # what it cannot be switched on without
        self._faults, self._tell = faults, tell
        self._armed: Armed | None = None
        self._how = "always"
        self._before = 0  # how often it was played until it was last switched off
        self._lock = threading.RLock()  # a widget may be heard in a thread of its own

    def __repr__(self) -> str:
        return f"<{self.kind.name}: {self.state}, played {plural(self.played, 'time')}>"

    @property
    def on(self) -> bool:
        """Whether it is on. Set it. Raises ValueError if it cannot be switched on."""
        return self._armed is not None and not self._armed.spent

    @on.setter
    def on(self, on: bool) -> None:
        if on and self.needs:
            raise ValueError(f"the switch for {self.kind.name} needs {self.needs}")
        with self._lock:
            if not on or not self.on:
                self._disarm()
            if on and self._armed is None:
                fault = replace(self.kind.fault, **HOW[self.how])
                self._armed = self._faults.add(fault, self._tell)
        self._tell()

    @property
    def how(self) -> str:
        """How often: always, once, or one call in three. Set it, also while it is on."""
        return self._how

    @how.setter
    def how(self, how: str) -> None:
        if how not in HOW:
            raise ValueError(f"there is no {how!r}; there are: {', '.join(HOW)}")
        with self._lock:
            was_on = self.on
            if how != self._how:
                self._disarm()
                self._how = how
            self.on = was_on

    @property
    def played(self) -> int:
        """How often it was played since the board was made."""
        return self._before + (self._armed.played if self._armed else 0)

    @property
    def state(self) -> str:
        """In words: ``off``, or ``on, once``."""
        return f"on, {self.how}" if self.on else "off"

    @property
    def what(self) -> str:
        """What happens, or what it needs."""
        return f"Needs {self.needs}" if self.needs else self.kind.what

    def _disarm(self) -> None:
        if self._armed is not None:
            self._faults.remove(self._armed)
            self._before += self._armed.played
            self._armed = None


@dataclass(frozen=True)
class _Slow(Tool):
    """A tool that waits before it does what the one it was made from does."""

    made_from: Any = None
    wait: Any = None

    async def run(self, arguments: Input, pool: Executor | None = None) -> Any:
        await self.wait()
        return await self.made_from.run(arguments, pool)


def slowed(tool: Tool, wait: Callable[[], Awaitable[None]]) -> Tool:
    """The tool, but each call first awaits ``wait()``. One that was slowed before is not twice."""
    if isinstance(tool, _Slow):
        tool = tool.made_from
    contract = {each.name: getattr(tool, each.name) for each in fields(Tool)}
    return _Slow(**contract, made_from=tool, wait=wait)
