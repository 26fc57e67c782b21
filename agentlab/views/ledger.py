"""From events to tokens and dollars: what the meter shows, before anything is drawn.

`Ledger` takes events one by one and keeps an entry for each call of the model: the main one of a
turn, and side calls. What a reply used stands in its last event; until that comes, the entry holds
an estimate, made from the request's size and the characters streamed so far.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from agentlab.costs import Usage, price
from agentlab.events import Event
from agentlab.tokens import CHARS_PER_TOKEN
from agentlab.views.blocks import mapping, number, text_of
from agentlab.views.wording import one_line

# The buckets in which tokens are counted; they do not overlap. In the order of the bars.
BUCKETS = {
    "cache_read": "cache read",
    "input": "input",
    "cache_write": "cache write",
    "thinking": "thinking",
    "output": "output",
}
INPUT = ("cache_read", "input", "cache_write")
OUTPUT = ("thinking", "output")


@dataclass(slots=True, eq=False)
class Entry:
    """One call of the model and what it used, or the task that starts a follow-up run."""

    kind: str  # turn | side | task
    name: str
    agent: str = ""  # empty: the main one
    usage: dict[str, float] = field(default_factory=lambda: dict.fromkeys(BUCKETS, 0.0))
    cost: float | None = None  # dollars
    state: str = "running"  # running | counted | priced | lost
    so_far: float | None = None  # dollars of the run up to here
    uncached: float | None = None  # dollars, had there been no prompt cache
    so_far_uncached: float | None = None
    events: tuple[int, ...] = ()

    @property
    def tokens_in(self) -> float:
        return sum(self.usage[name] for name in INPUT)

    @property
    def tokens_out(self) -> float:
        return sum(self.usage[name] for name in OUTPUT)


class Ledger:
    """The entries of a stream of events, growing as events are added."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.entries: list[Entry] = []
        self.events: list[Event] = []  # those that an entry stands for
        self.usage = dict.fromkeys(BUCKETS, 0.0)  # of all that is counted
        self.limit_usd: float | None = None  # of the last run
        self.status = self.detail = self.model = ""
        self.simulated = False
        self.runs = 0
        self.warning = ""  # of the last run: that its budget is nearly spent
        self.widest = 1.0  # tokens of the largest call
        self._changed: set[int] = set()
        self._paid, self._unpriced = 0.0, 0  # dollars, and calls whose price is not known
        self._uncached: float | None = 0.0
        self._open: dict[str, int] = {}
        self._closed: dict[str, int] = {}  # by agent, a call that was given up: it may still end
        self.main: str | None = None
        self._first = 0  # entry of the last run
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take one event. Types that say nothing about costs are passed over."""
        take = _TAKERS.get(event.type)
        if take is not None:
            take(self, event)

    def drawn(self) -> list[int]:
        """The entries that changed since the last call, in order."""
        changed, self._changed = sorted(self._changed), set()
        return changed

    def total(self, *names: str) -> float:
        """Tokens in these buckets, with the estimate of the calls that are being made."""
        running = [
            self.entries[i].usage for i in self._open.values() if self.entries[i].state == "running"
        ]
        return sum(usage[name] for usage in (self.usage, *running) for name in names)

    @property
    def cost(self) -> float | None:
        """Dollars for all that is counted; None if the price of a call is not known."""
        return None if self._unpriced else self._paid

    @property
    def uncached(self) -> float | None:
        """The same calls without the prompt cache, in dollars; None if a price is not known."""
        return self._uncached

    @property
    def caches(self) -> bool:
        """Whether a call read from the prompt cache or wrote to it."""
        return bool(self.usage["cache_read"] or self.usage["cache_write"])

    @property
    def run_cost(self) -> float | None:
        """Dollars of the last run; None if the price of a call is not known."""
        run = self.entries[self._first :]
        costs = [e.cost for e in run if e.state == "priced" and e.kind != "task"]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def turns(self) -> int:
        """Calls of the main model, the one that is being made included."""
        return sum(entry.kind == "turn" for entry in self.entries)

    @property
    def estimated(self) -> bool:
        """True while the totals hold an estimate."""
        return any(self.entries[i].state == "running" for i in self._open.values())

    # what each type of event does

    def _start(self, event: Event) -> None:
        if self._nested(event):
            return
        self._close_all()
        self.main, self.status, self.detail, self.warning = event.agent, "", "", ""
        self._first = len(self.entries)
        self.model = one_line(event.data.get("model") or "", 60)
        self.simulated = bool(event.data.get("simulated"))
        limit = number(mapping(event.data.get("limits")).get("usd"))
        self.limit_usd = limit if limit > 0 else None
        self.runs += 1

    def _user(self, event: Event) -> None:
        if self.runs > 1 and event.data.get("origin", "user") == "user" and not self._nested(event):
            text = one_line(text_of(event.data.get("message")), 200)
            self._new(Entry("task", text, state="priced"), event)

    def _turn_start(self, event: Event) -> None:
        self._close(event.agent)
        self._closed.pop(event.agent, None)
        entry = Entry("turn", str(event.turn), self._who(event))
        entry.usage["input"] = number(event.data.get("input_tokens"))
        self._open[event.agent] = self._new(entry, event)
        self._widen(entry)

    def _delta(self, event: Event) -> None:
        entry = self._entry(event)
        if entry is not None:
            bucket = "thinking" if event.type == "assistant.thinking_delta" else "output"
            piece = event.data.get("text") or event.data.get("json") or ""
            entry.usage[bucket] += len(str(piece)) / CHARS_PER_TOKEN
            self._widen(entry)

    def _retry(self, event: Event) -> None:
        entry = self._entry(event)
        if entry is not None:
            entry.usage.update(thinking=0.0, output=0.0)

    def _message(self, event: Event) -> None:
        index = self._index(event)
        self._count(index, event)
        if self.entries[index].state == "counted":  # its turn's end will say the same
            cost = price(usage_of(event.data.get("usage")), str(event.data.get("model")))
            self._settle(index, cost, event)
            self._without_cache(index, event.data.get("model"), event)

    def _turn_end(self, event: Event) -> None:
        index = self._index(event)
        self._count(index, event)
        self._settle(index, event.data.get("cost_usd"), event)
        self._without_cache(index, self.model, event)
        self._open.pop(event.agent)

    def _side_call(self, event: Event) -> None:
        name = one_line(event.data.get("purpose") or "side call", 24)
        index = self._new(Entry("side", name, self._who(event)), event)
        self._count(index, event)
        model, cost = str(event.data.get("model") or ""), event.data.get("cost_usd")
        if cost is None:
            batch = event.data.get("batch") is True
            cost = price(usage_of(event.data.get("usage")), model, batch=batch)
        self._settle(index, cost, event)
        self._without_cache(index, model, event)

    def _warned(self, event: Event) -> None:
        self.warning = one_line(event.data.get("text") or "", 160)

    def _end(self, event: Event) -> None:
        if self._nested(event):
            self._close(event.agent)
            return
        self._close_all()
        self.status = str(event.data.get("status") or "ended")
        self.detail = str(event.data.get("detail") or "")

    # small steps

    def _nested(self, event: Event) -> bool:
        return self.runs > 0 and not self.status and event.agent != self.main

    def _who(self, event: Event) -> str:
        return "" if event.agent in ("main", self.main) else event.agent

    def _new(self, entry: Entry, event: Event) -> int:
        self.events.append(event)
        entry.events = (len(self.events) - 1,)
        self._changed.add(len(self.entries))
        self.entries.append(entry)
        return len(self.entries) - 1

    def _entry(self, event: Event) -> Entry | None:
        """The call that the agent is making, if it is still running."""
        index = self._open.get(event.agent)
        if index is None or self.entries[index].state != "running":
            return None
        self._changed.add(index)
        return self.entries[index]

    def _index(self, event: Event) -> int:
        if event.agent not in self._open and event.agent in self._closed:
            index = self._open[event.agent] = self._closed.pop(event.agent)
            entry = self.entries[index]  # it was at work beside the agent whose run has ended
            entry.state = "running" if entry.state == "lost" else entry.state
        elif event.agent not in self._open:
            entry = Entry("turn", str(event.turn), self._who(event))
            self._open[event.agent] = self._new(entry, event)
        return self._open[event.agent]

    def _count(self, index: int, event: Event) -> None:
        entry = self.entries[index]
        if entry.state == "running" and isinstance(event.data.get("usage"), dict):
            entry.usage, entry.state = buckets(event.data["usage"]), "counted"
            for name, count in entry.usage.items():
                self.usage[name] += count
            self._widen(entry)
        self._changed.add(index)

    def _settle(self, index: int, cost: Any, event: Event) -> None:
        """A call is paid for: what it cost, and what the run has cost at that moment.

        The end of a turn says again what its reply has cost; side calls may have come in between.
        """
        entry, old = self.entries[index], self.entries[index].cost
        new, cost = entry.state != "priced", None if cost is None else number(cost)
        if new or cost != old:
            self._paid += (cost or 0.0) - (old or 0.0)
            self._unpriced += (cost is None) - (old is None and not new)
            entry.cost, entry.state, entry.so_far = cost, "priced", self.cost
        self.events.append(event)
        entry.events = (len(self.events) - 1,)

    def _without_cache(self, index: int, model: Any, event: Event) -> None:
        """What the call would have cost without the prompt cache."""
        entry = self.entries[index]
        if entry.uncached is None:
            used = usage_of(event.data.get("usage")).uncached()
            batch = event.data.get("batch") is True
            entry.uncached = price(used, str(model or ""), batch=batch)
            known = None not in (entry.uncached, self._uncached)
            self._uncached = (self._uncached or 0.0) + (entry.uncached or 0.0) if known else None
            entry.so_far_uncached = self._uncached

    def _widen(self, entry: Entry) -> None:
        self.widest = max(self.widest, entry.tokens_in + entry.tokens_out)

    def _close(self, agent: str) -> None:
        index = self._open.pop(agent, None)
        if index is not None:
            self._closed[agent] = index
            entry = self.entries[index]
            entry.state = "lost" if entry.state == "running" else entry.state
            self._changed.add(index)

    def _close_all(self) -> None:
        for agent in list(self._open):
            self._close(agent)


def buckets(usage: Any) -> dict[str, float]:
    """The tokens of a ``usage`` by bucket. There, output includes thinking; here it does not."""
    used = usage_of(usage)
    thinking = min(used.thinking_tokens, used.output_tokens)
    return {
        "cache_read": float(used.cache_read_tokens),
        "input": float(used.input_tokens),
        "cache_write": float(used.cache_write_tokens),
        "thinking": float(thinking),
        "output": float(used.output_tokens - thinking),
    }


def usage_of(counts: Any) -> Usage:
    """The usage of an event, whatever stands in it."""
    return Usage.from_dict({name: int(number(n)) for name, n in mapping(counts).items()})


_TAKERS = {
    "session.start": Ledger._start,
    "user.message": Ledger._user,
    "assistant.turn_start": Ledger._turn_start,
    "assistant.thinking_delta": Ledger._delta,
    "assistant.text_delta": Ledger._delta,
    "assistant.tool_delta": Ledger._delta,
    "model.retry": Ledger._retry,
    "assistant.message": Ledger._message,
    "assistant.turn_end": Ledger._turn_end,
    "model.side_call": Ledger._side_call,
    "model.broken_off": Ledger._side_call,
    "budget.warning": Ledger._warned,
    "session.end": Ledger._end,
}
