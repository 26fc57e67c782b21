"""How the views take a stream to its end, also one that ends without saying so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import Any

from agentlab.events import Event


def closed(events: AsyncIterator[Event]) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
    """``async with closed(events) as stream``: a generator is closed at the end, come what may."""
    return aclosing(events) if hasattr(events, "aclose") else nullcontext(events)  # type: ignore


def missing_end(events: Sequence[Event], status: str, detail: str = "") -> Event | None:
    """The ``session.end`` of a run that has none (cancelled, or torn), with what it took so far.

    None if the last run in ``events`` has one, or if there are no events.
    """
    if not events:
        return None
    start = max((i for i, e in enumerate(events) if e.type == "session.start"), default=0)
    run, agent = events[start:], events[start].agent
    if any(event.type == "session.end" and event.agent == agent for event in run):
        return None
    turns = [e.data for e in run if e.type == "assistant.turn_end" and e.agent == agent]
    last: dict[str, Any] = turns[-1] if turns else {}
    data = {
        "status": status,
        "text": "",
        "turns": len(turns),
        "usage": last.get("total_usage") or {},
        "cost_usd": last.get("total_usd", 0.0),
        "detail": detail,
    }
    return Event("session.end", run[-1].at, run[-1].turn, agent, data)
