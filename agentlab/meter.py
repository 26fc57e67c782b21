"""One meter for a whole tree of agents: who spent how much, on what, with which model.

Everything that costs is an event: a turn of an agent, a side call (a classifier, a summary), a
turn of a sub-agent. So one reader of events sees it all, and what it adds up to is what the server
billed. Each call is kept once, under the message it made; if a stream of events tells of a message
more than once (snapshots while it grew), the last one counts.

A call of a model without a known price has no dollars, and then neither has a sum that contains
it; what is known is shown beside it. An attempt that broke off counts as far as it told; what the
server wrote after that, or for a call that was cancelled, no meter can know, so it says how many of
them there were.

Built in chapter 09.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from agentlab.costs import NO_USAGE, Usage, dollars, price
from agentlab.events import Event
from agentlab.tables import Table, Tabular, count

TURNS = "turns"  # the purpose of the calls that an agent makes itself
BROKEN_OFF = "broken off"  # and of those of them that broke off
UNNAMED = "a model without a name"
BY = ("agent", "purpose", "model")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model. ``usd``: dollars, None if the price is not known."""

    agent: str
    purpose: str
    model: str
    usage: Usage
    usd: float | None
    batch: bool = False


@dataclass(frozen=True)
class Line:
    """A sum of calls. ``usd`` is None if one of them has no known price; ``known_usd`` is not."""

    name: tuple[str, ...]
    calls: int
    usage: Usage
    usd: float | None
    known_usd: float
    unpriced: tuple[str, ...] = ()  # the models whose price is not known

    @classmethod
    def of(cls, name: tuple[str, ...], calls: list[Call]) -> Line:
        """The sum of these calls."""
        usage, known = NO_USAGE, 0.0
        unpriced: dict[str, None] = {}
        for call in calls:
            usage += call.usage
            if call.usd is None:
                unpriced[call.model] = None
            else:
                known += call.usd
        return cls(name, len(calls), usage, None if unpriced else known, known, tuple(unpriced))


class CostMeter(Tabular):
    """Counts what every call cost, event by event: ``meter.add(event)``.

    ``total`` is the sum, ``lines`` has one entry for each agent, purpose and model, and
    ``by("agent")`` groups otherwise. Its text and HTML are a table.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._failed = 0  # attempts that failed and were made again, and side calls without answer
        self._calls: dict[Any, Call] = {}
        self._made: dict[Any, list[Any]] = {}  # of each turn, its calls that have not ended yet
        self._runs: dict[str, int] = {}
        self._open: dict[str, int] = {}  # of each agent, the turns that have no message yet
        self._times: dict[Any, int] = {}  # how many turns made the very same message
        self._models: dict[str, str] = {}  # of each agent, as its session began
        for event in events:
            self.add(event)

    @classmethod
    def of(cls, events: Iterable[Event]) -> CostMeter:
        """The meter of a stream of events, of one run or of several one after another."""
        return cls(events)

    def add(self, event: Event) -> None:
        """Take one event. Types that say nothing about costs are passed over."""
        take = _TAKERS.get(event.type)
        if take is not None:
            take(self, event)

    @property
    def calls(self) -> list[Call]:
        """Every call, in the order in which they were first told of."""
        return list(self._calls.values())

    @property
    def lost(self) -> int:
        """Attempts without a whole reply: failed, cancelled, or not answered yet."""
        return self._failed + sum(self._open.values())

    @property
    def total(self) -> Line:
        """The sum of all calls."""
        return Line.of(("total",), self.calls)

    @property
    def lines(self) -> list[Line]:
        """One line for each agent, purpose and model."""
        return self.by(*BY)

    def by(self, *names: str) -> list[Line]:
        """One line for each value of ``agent``, ``purpose``, ``model`` or several of them."""
        for name in names:
            if name not in BY:
                raise ValueError(f"a meter is read by {', '.join(BY)}, not by {name!r}")
        groups: dict[tuple[str, ...], list[Call]] = {}
        for call in self._calls.values():
            key = tuple(str(getattr(call, name)) for name in names)
            groups.setdefault(key, []).append(call)
        return [Line.of(key, calls) for key, calls in groups.items()]

    def table(self) -> Table:
        """Agent, purpose, model, then tokens by bucket and dollars; the total last."""
        columns = (*BY, "calls", "input", "cached", "written", "output", "dollars")
        lines, total = self.lines, self.total
        rows = [(*line.name, *_numbers(line)) for line in lines]
        if len(lines) != 1:
            rows.append(("total", "", "", *_numbers(total)))
        notes = [f"the price of {model} is not known" for model in total.unpriced]
        if total.unpriced and total.known_usd:
            notes.append(f"the others cost {dollars(total.known_usd)}")
        if self.lost:
            without = f"attempts without a whole reply: {self.lost}"
            notes.append(f"{without} (counted as far as they told)")
        return Table("What was spent", columns, rows, words=BY, notes=notes)

    # what each type of event does

    def _start(self, event: Event) -> None:
        self._runs[event.agent] = self._runs.get(event.agent, 0) + 1
        self._models[event.agent] = str(event.data.get("model") or "")

    def _message(self, event: Event) -> None:
        usage = event.data.get("usage")
        if isinstance(usage, dict):
            model = str(event.data.get("model") or self._models.get(event.agent) or UNNAMED)
            used = Usage.from_dict(usage)
            key = self._key(event)
            if key not in self._calls:
                self._made.setdefault(self._turn(event), []).append(key)
            self._calls[key] = Call(event.agent, TURNS, model, used, price(used, model))

    def _turn_end(self, event: Event) -> None:
        """The price that the loop noted, if it knew one: it knows which model it had asked for.

        Of agents with one name that work at the same time, the usage tells whose turn has ended.
        """
        made = self._made.get(self._turn(event))
        if not made:
            return
        used = Usage.from_dict(event.data.get("usage") or {})
        key = next((key for key in made if self._calls[key].usage == used), None)
        if key is None:  # of a turn that began before a namesake's run
            return
        made.remove(key)
        cost = _dollars(event.data.get("cost_usd"))
        if cost is not None:
            self._calls[key] = replace(self._calls[key], usd=cost)

    def _side_call(self, event: Event) -> None:
        data = event.data
        model, batch = str(data.get("model") or UNNAMED), bool(data.get("batch"))
        used = Usage.from_dict(data.get("usage") or {})
        retries = data.get("retries")
        self._failed += len(retries) if isinstance(retries, list) else 0
        if not used.total_tokens:
            self._failed += 1
        cost = _dollars(data.get("cost_usd"))
        if cost is None:
            cost = price(used, model, batch=batch)
        purpose = str(data.get("purpose") or "side call")
        self._calls["side", len(self._calls)] = Call(event.agent, purpose, model, used, cost, batch)

    def _retry(self, event: Event) -> None:
        self._failed += 1

    def _turn_start(self, event: Event) -> None:
        self._open[event.agent] = self._open.get(event.agent, 0) + 1

    def _key(self, event: Event) -> tuple[Any, ...]:
        """What stands for the call that made a message.

        A message that comes again without a turn of its own is a newer snapshot of the same call.
        With one it is another call: of an agent of the same name that works at the same time.
        """
        told = (*self._turn(event), str(event.data.get("id")))
        if self._open.get(event.agent):
            self._open[event.agent] -= 1
            self._times[told] = self._times.get(told, 0) + 1
        return (*told, self._times.get(told, 0))

    def _turn(self, event: Event) -> tuple[str, int, int]:
        return event.agent, self._runs.get(event.agent, 0), event.turn


_TAKERS = {
    "session.start": CostMeter._start,
    "assistant.turn_start": CostMeter._turn_start,
    "assistant.message": CostMeter._message,
    "assistant.turn_end": CostMeter._turn_end,
    "model.side_call": CostMeter._side_call,
    "model.broken_off": CostMeter._side_call,
    "model.retry": CostMeter._retry,
}


def _dollars(value: Any) -> float | None:
    return value if isinstance(value, int | float) and 0 <= value < math.inf else None


def _numbers(line: Line) -> tuple[str, ...]:
    usage = line.usage
    return (
        count(line.calls), count(usage.input_tokens), count(usage.cache_read_tokens),
        count(usage.cache_write_tokens), count(usage.output_tokens), dollars(line.usd),
    )  # fmt: skip
