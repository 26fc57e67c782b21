"""The same run at other prices: on other models, without caching, as a batch.

A transcript holds the tokens of every call, so what it would have cost elsewhere is arithmetic:
nothing is run again. The answer is rough on purpose. Another model would have said other things in
other turns, and counts tokens in its own way; here turns and tokens stay as they were. Attempts
that broke off go along with their turns; side calls stay on the model that made them.

Built in chapter 09.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agentlab.costs import dollars, price
from agentlab.events import Event
from agentlab.meter import BROKEN_OFF, TURNS, Call, CostMeter
from agentlab.prices import PriceTable, prices, spellings
from agentlab.tables import Table, Tabular

MAIN = (TURNS, BROKEN_OFF)  # what an agent asks its own model for


@dataclass(frozen=True)
class Elsewhere:
    """What the run costs on a model, in dollars; None: a price is not known."""

    model: str
    cached: float | None  # with the prompt cache used as in the run
    uncached: float | None
    batch: float | None  # as a batch, cached as in the run


@dataclass(frozen=True, repr=False)
class WhatIf(Tabular):
    """A run at other prices: ``rows`` by model, the cheapest first, and what it cost itself."""

    calls: int
    models: tuple[str, ...]  # that the run asked for
    spent: float | None
    rows: tuple[Elsewhere, ...]

    def __getitem__(self, model: str) -> Elsewhere:
        """The row of that model, however its name is spelled. Raises KeyError."""
        wanted = set(spellings(model))
        for row in self.rows:
            if wanted.intersection(spellings(row.model)):
                return row
        raise KeyError(f"{model} is not in this table; it has {', '.join(r.model for r in self)}")

    def __iter__(self) -> Any:
        return iter(self.rows)

    def table(self) -> Table:
        """Model, then dollars as it ran, without the cache, and as a batch."""
        rows = [
            (
                row.model + (" (this run)" if row.model in self.models else ""),
                dollars(row.cached), dollars(row.uncached), dollars(row.batch),
            )
            for row in self.rows
        ]  # fmt: skip
        notes = ["the same turns and tokens; another model would take others"]
        if not self.calls:
            notes = ["no call of a model is in it"]
        notes += [f"the price of {r.model} is not known" for r in self.rows if r.cached is None]
        title = f"The same run elsewhere (it cost {dollars(self.spent)})"
        columns = ("model", "as it ran", "without cache", "as a batch")
        return Table(title, columns, rows, notes=notes)


def what_if(
    source: Iterable[Event] | str | os.PathLike[str] | Any,
    models: Iterable[str] | str | None = None,
    *,
    table: PriceTable | None = None,
) -> WhatIf:
    """What a run would have cost elsewhere.

    ``source``: its events, the path of its transcript, or its result. ``models``: the name or the
    names to compare; all of the price table if left out, and the run's own in any case.
    """
    table = table or prices()
    calls = CostMeter.of(_events(source)).calls
    own = tuple(dict.fromkeys(call.model for call in calls if call.purpose == TURNS))
    models = [models] if isinstance(models, str) else models
    names = [*own, *(table if models is None else models)]
    spelled: dict[str, str] = {}  # one row for a model, however its name is spelled
    for name in names:
        row = table.find(name)
        spelled.setdefault(row.model if row else name, name)
    rows = [_elsewhere(name, calls, table) for name in spelled.values()]
    rows.sort(key=lambda row: (row.cached is None, row.cached or 0.0))
    return WhatIf(len(calls), own, _sum(call.usd for call in calls), tuple(rows))


def _elsewhere(model: str, calls: list[Call], table: PriceTable) -> Elsewhere:
    """The sums for one model. Each call is priced alone, because each has a tier of its own."""

    def total(*, cached: bool = True, batch: bool = False) -> float | None:
        return _sum(
            price(
                call.usage if cached else call.usage.uncached(),
                model if call.purpose in MAIN else call.model,
                batch=batch or call.batch,
                table=table,
            )
            for call in calls
        )

    return Elsewhere(model, total(), total(cached=False), total(batch=True))


def _sum(amounts: Iterable[float | None]) -> float | None:
    total = 0.0
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total


def _events(source: Any) -> Iterable[Event]:
    if isinstance(source, str | os.PathLike):
        from agentlab.transcript import load

        return load(source).events
    events: Iterable[Event] = getattr(source, "events", source)
    return events
