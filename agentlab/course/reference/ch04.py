"""Chapter 04: which calls run together, and running them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any


def partition(reads_only: list[bool]) -> list[list[int]]:
    """Which calls run together, by their places: consecutive reads, anything else alone."""
    batches: list[list[int]] = []
    for index, reads in enumerate(reads_only):
        if reads and batches and reads_only[batches[-1][-1]]:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


async def run_all(
    calls: list[tuple[bool, Callable[[], Awaitable[Any]]]], cap: int = 10
) -> list[Any]:
    """Run (reads_only, function) pairs, batch after batch; the results in the order of the calls.

    At most ``cap`` run at once. One that fails gives an "error: ..." text and stops no other.
    """
    results: list[Any] = [None] * len(calls)
    places = asyncio.Semaphore(cap)

    async def run_one(index: int) -> None:
        async with places:
            try:
                results[index] = await calls[index][1]()
            except Exception as error:
                results[index] = f"error: {error}"

    for batch in partition([reads for reads, _ in calls]):
        await asyncio.gather(*(run_one(index) for index in batch))
    return results
