"""Time, injected: a real clock, and a virtual one that only moves when it is told to.

Against the simulator nothing really waits, so real times would differ on every machine and say
nothing. A `VirtualClock` is moved by what happens instead: text that streams in, tools that take
their declared time, waits. Same input, same times, same pictures.
"""

from __future__ import annotations

import asyncio
import datetime
import heapq
import threading
import time
from contextvars import ContextVar
from typing import Protocol

from agentlab.tokens import CHARS_PER_TOKEN

FIRST_TOKEN_S = 0.8  # a plausible time to first token; an assumption, not a measurement
TOKENS_PER_S = 80.0  # a plausible generation speed; likewise
TOOL_S = 0.05  # what a tool call takes if it does not say; likewise
ANSWER_S = 4.0  # what a user needs to read a question and answer it; likewise
EPOCH = datetime.datetime(2026, 11, 30, 9, 17, tzinfo=datetime.UTC)


class Clock(Protocol):
    """What the harness asks of time. Seconds everywhere."""

    def now(self) -> float: ...
    def wall(self) -> datetime.datetime: ...
    async def sleep(self, seconds: float) -> None: ...
    def advance(self, seconds: float) -> None: ...
    def streamed(self, characters: int) -> None: ...
    def together(self) -> Together: ...


class Together:
    """Things that happen at once, each in a task of its own. A real clock needs none of this.

    Whoever starts one calls ``join`` before and ``leave`` after; the task itself calls ``enter``.
    """

    def join(self) -> None:
        pass

    def leave(self) -> None:
        pass

    def enter(self, order: int) -> None:
        pass

    async def sleep(self, seconds: float) -> None:
        pass

    def move_on(self) -> None:
        """Let the next one wake although not all sleep: those awake may be waiting for it."""


class RealClock:
    """The machine's clock. ``advance`` and ``streamed`` do nothing: time passes by itself."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def now(self) -> float:
        return time.monotonic() - self._start

    def wall(self) -> datetime.datetime:
        return datetime.datetime.now().astimezone()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def advance(self, seconds: float) -> None:
        pass

    def streamed(self, characters: int) -> None:
        pass

    def together(self) -> Together:
        return Together()


class VirtualClock:
    """A clock that stands still until something moves it. Safe to share between threads.

    ``wall()`` starts at 09:17 UTC on 30 November 2026, so "minutes since midnight" is 557 on
    every machine.
    """

    def __init__(self, start: datetime.datetime = EPOCH) -> None:
        self._start = start
        self._now = 0.0
        self._sleeping: list[float] = []  # when those wake who sleep outside of a turn's tools
        self._lock = threading.Lock()

    def now(self) -> float:
        return self._now

    def wall(self) -> datetime.datetime:
        return self._start + datetime.timedelta(seconds=self._now)

    async def sleep(self, seconds: float) -> None:
        """Move time on without waiting. Sleeps of tasks that run together overlap."""
        here = _here.get()
        if here is not None and here[0].clock is self:
            await here[0].sleep(seconds)
            return
        wake_at = self._now + max(0.0, seconds)
        self._sleeping.append(wake_at)
        try:
            await asyncio.sleep(0)  # who starts together goes to sleep before anyone wakes
            while wake_at > min(self._sleeping):  # noqa: ASYNC110 (it waits for its place)
                await asyncio.sleep(0)
            self.advance(wake_at - self._now)
        finally:
            self._sleeping.remove(wake_at)

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._now += max(0.0, seconds)

    def streamed(self, characters: int) -> None:
        """Move on by the time a model takes to write that many characters."""
        self.advance(characters / CHARS_PER_TOKEN / TOKENS_PER_S)

    def together(self) -> Together:
        return _VirtualTogether(self)


class _VirtualTogether(Together):
    """Sleeps that overlap: time moves only when all who joined sleep, then to the next to wake.

    Of several that wake at the same time the first asked wakes first, so that the order is the
    same on every machine, however fast the tasks really were.
    """

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self._awake = 0
        self._asleep: list[tuple[float, int, int, asyncio.Future[None]]] = []
        self._count = 0

    def join(self) -> None:
        self._awake += 1

    def leave(self) -> None:
        self._awake -= 1
        self._wake_next()

    def enter(self, order: int) -> None:
        _here.set((self, order))

    async def sleep(self, seconds: float) -> None:
        here = _here.get()
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        wake_at = self.clock.now() + max(0.0, seconds)
        heapq.heappush(self._asleep, (wake_at, here[1] if here else 0, self._count, woken))
        self.leave()
        await woken

    def move_on(self) -> None:
        self._wake_next(although=self._awake)

    def _wake_next(self, although: int = 0) -> None:
        if self._awake <= although and self._asleep:
            wake_at, _, _, woken = heapq.heappop(self._asleep)
            self.clock.advance(wake_at - self.clock.now())
            self._awake += 1
            if not woken.done():
                woken.set_result(None)


_here: ContextVar[tuple[_VirtualTogether, int] | None] = ContextVar("together", default=None)
