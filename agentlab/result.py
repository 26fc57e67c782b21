"""What a run of an agent came to: its status, its answer, and what it took."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agentlab.costs import Usage, dollars
from agentlab.events import Event

GOOD = ("completed", "task_complete")


@dataclass(frozen=True)
class Result:
    """How a run ended, and what it took. ``events`` are the stored ones."""

    status: str
    text: str
    turns: int
    usage: Usage
    cost_usd: float | None
    seconds: float
    detail: str = ""
    simulated: bool = False
    events: tuple[Event, ...] = ()

    @property
    def ok(self) -> bool:
        """True if the agent finished, rather than being stopped."""
        return self.status in GOOD

    @classmethod
    def from_events(cls, events: Iterable[Event]) -> Result:
        """The result of the last run in a stream of events. Raises ValueError if it holds none."""
        stored = [event for event in events if not event.live]
        start = max((i for i, e in enumerate(stored) if e.type == "session.start"), default=-1)
        run = stored[max(start, 0) :]
        end = next((e for e in reversed(run) if e.type == "session.end"), None)
        if end is None:
            raise ValueError("these events hold no finished run: session.end is missing")
        return cls(
            end.status, end.text, end.turns, Usage.from_dict(end.usage), end.cost_usd,
            run[-1].at - run[0].at, end.detail, bool(run[0].data.get("simulated")), tuple(run),
        )  # fmt: skip

    def __repr__(self) -> str:
        why = f" ({self.detail})" if self.detail else ""
        numbers = (
            f"{self.turns} turns, {self.usage.total_tokens:,} tokens, {dollars(self.cost_usd)}"
        )
        simulated = ", simulated model" if self.simulated else ""
        return f"{self.status}{why}: {numbers}{simulated}\n{self.text}"
