"""Which tool calls run together, and running them.

A model may ask for several calls in one turn. Three reads can run at the same time without a
thought; a write may depend on the read before it. So consecutive calls that only read form a batch
that runs together, any other call runs alone, and the batches keep the order asked. A call that is
invalid or unknown counts as one that does not only read.

`partition` is the decision, a pure function. `run_batches` is the rest: at most ``cap`` calls at a
time, each in a task of its own, results in the order of the calls whatever finishes first. A
failing call does not stop its siblings; cancelling stops them all. Two calls that write to the same
path never overlap, not even those of two agents. Built in chapter 04.
"""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import aclosing, nullcontext
from dataclasses import dataclass
from weakref import WeakKeyDictionary, WeakValueDictionary

from agentlab.clock import TOOL_S, Clock, Together
from agentlab.tools import Outcome, Prepared, failure, perform

# The index of a call, and its outcome once it has ended; None: it starts.
Happening = tuple[int, Outcome | None]
Execute = Callable[[Prepared, Executor], Awaitable[Outcome]]  # how one call is run
STUCK_S = 1.0  # real seconds without anything happening, after which virtual time moves on anyway
DEFAULT_CAP = 10  # as many as a harness may keep open files, sockets and processes for at once


@dataclass(frozen=True)
class Batch:
    """Calls that run together, by their place in the turn: the first, and how many."""

    first: int
    size: int
    together: bool

    @property
    def indices(self) -> range:
        return range(self.first, self.first + self.size)


def partition(reads_only: Sequence[bool]) -> list[Batch]:
    """Batches for calls of which it is known whether they only read, in the order asked."""
    batches: list[Batch] = []
    for index, reads in enumerate(reads_only):
        if reads and batches and batches[-1].together:
            last = batches[-1]
            batches[-1] = Batch(last.first, last.size + 1, True)
        else:
            batches.append(Batch(index, 1, reads))
    return batches


def concurrency_cap(given: int | None = None) -> int:
    """How many calls may run at once: ``given``, AGENTLAB_MAX_TOOL_CONCURRENCY, or 10.

    Raises ValueError for anything but a positive whole number.
    """
    if given is None:
        text = os.environ.get("AGENTLAB_MAX_TOOL_CONCURRENCY") or str(DEFAULT_CAP)
        given = int(text) if text.isdecimal() else 0
    if given < 1:
        raise ValueError("AGENTLAB_MAX_TOOL_CONCURRENCY must be a whole number, 1 or more")
    return given


def pool(cap: int) -> ThreadPoolExecutor:
    """Threads for plain functions, as many as may run at once (Python's own pool is smaller).

    They belong to the event loop that runs: a tool that runs an agent of its own, in its thread,
    has a loop and a pool of its own, and never waits for a thread that waits for it.
    """
    pools = _pools.setdefault(asyncio.get_running_loop(), {})
    if cap not in pools:
        pools[cap] = ThreadPoolExecutor(cap, thread_name_prefix="agentlab-tool")
    return pools[cap]


_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, ThreadPoolExecutor]]
_pools = WeakKeyDictionary()


async def run_batches(
    calls: Sequence[Prepared | Outcome], clock: Clock, cap: int, execute: Execute = perform
) -> AsyncGenerator[Happening, None]:
    """Run the calls of one turn, batch after batch; yields what happens, as it happens.

    An `Outcome` among the calls was decided before and is passed on. Closing the generator, or
    cancelling whoever reads it, stops everything that runs, and waits until it has stopped.
    """
    reads_only = [isinstance(call, Prepared) and call.runs_beside_others for call in calls]
    for batch in partition(reads_only):
        async with aclosing(_run_batch(calls, batch, clock, cap, execute)) as happenings:
            async for happening in happenings:
                yield happening


async def _run_batch(
    calls: Sequence[Prepared | Outcome], batch: Batch, clock: Clock, cap: int, execute: Execute
) -> AsyncGenerator[Happening, None]:
    happened: asyncio.Queue[Happening] = asyncio.Queue()
    group, tasks, waiting = clock.together(), [], list(batch.indices)

    def start_next() -> None:
        if waiting:
            index = waiting.pop(0)
            happened.put_nowait((index, None))
            group.join()
            tasks.append(asyncio.create_task(run_one(index)))

    async def run_one(index: int) -> None:
        call = calls[index]
        if isinstance(call, Prepared):
            group.enter(index)
            started = clock.now()
            outcome = await _answer(call, cap, execute)
            if clock.now() == started:  # it did not say how long it takes
                await group.sleep(TOOL_S)
        else:
            outcome = call
        happened.put_nowait((index, outcome))

    try:
        for _ in range(cap):
            start_next()
        for _ in range(2 * batch.size):
            index, outcome = await _next(happened, group)
            if outcome is not None:
                start_next()
                group.leave()
            yield index, outcome
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _next(happened: asyncio.Queue[Happening], group: Together) -> Happening:
    while True:
        try:
            async with asyncio.timeout(STUCK_S):
                return await happened.get()
        except TimeoutError:  # tools that wait for each other, not for the clock
            group.move_on()


async def _answer(call: Prepared, cap: int, execute: Execute) -> Outcome:
    """The outcome of a call, whatever it does: someone waits for it, and would wait for ever."""
    try:
        path = None if call.runs_beside_others else call.path
        async with _path_lock(path) if path else nullcontext():
            return await execute(call, pool(cap))
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is None or task.cancelling():
            raise
        text = "Something that it waited for was cancelled. It may have taken effect."
        return failure(call.call, text, traceback.format_exc())
    except (Exception, SystemExit) as error:  # a path with NUL in it, a tool that calls exit()
        return failure(call.call, f"{type(error).__name__}: {error}", traceback.format_exc())


_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[str, asyncio.Lock]]
_locks = WeakKeyDictionary()


def _path_lock(path: str) -> asyncio.Lock:
    """The lock of a path: one in this event loop, whichever agent asks."""
    locks = _locks.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    lock = locks.get(path)
    if lock is None:
        lock = locks[path] = asyncio.Lock()
    return lock
