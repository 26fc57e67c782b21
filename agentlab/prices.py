"""The price table: what a million tokens of each kind cost, on each model, and since when.

Prices are data (``data/prices.json``), each row with its source and date, because they change and
because lists of prices that people copy are often old. A model may have tiers: above a prompt size
all tokens cost more. What a row does not say is derived from the input price by the vendor's usual
multipliers, and the price says so in its ``notes``.

Providers, gateways and logs spell one model in many ways (dated, with the vendor before it, with a
version behind it), so a name is stripped step by step until the table knows it. A model that it
does not know has no price: that is an answer, and not the price 0.

It knows nothing of discounts that were agreed on, of fast or priority service, and of tools that
the vendor runs and bills apart (web search). Chapter 09 reads it.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentlab.resources import data_path
from agentlab.tables import Table, Tabular

# The vendor's multipliers of the input price (pricing page, 2026-10). Reads: 0.1 for most models.
MULTIPLIERS = {"cache_write_5m": 1.25, "cache_write_1h": 2.0, "cache_read": 0.1}
BATCH = 0.5  # a batch costs half, cached or not (the same page)
LONGEST_NAME = 500  # characters; the names of cloud resources take up to about 150


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens, for prompts of up to ``up_to_prompt_tokens`` tokens."""

    model: str
    input: float
    output: float
    cache_write_5m: float
    cache_write_1h: float
    cache_read: float
    up_to_prompt_tokens: int | None = None  # None: any size
    batch: float = BATCH  # what a batch costs, as a part of the plain price
    source: str = ""
    date: str = ""
    notes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: str, row: Mapping[str, Any]) -> Price:
        """A price from a row of the table; what the row does not say is derived, with a note.

        Raises ValueError for a row without a price for input or output, or with one that is none.
        """
        if not (isinstance(model, str) and model and isinstance(row, Mapping)):
            raise ValueError(f"no row of prices: {row!r}; give a dict with model, input and output")
        for name in ("input", "output", *MULTIPLIERS, "batch", "up_to_prompt_tokens"):
            said = row.get(name)
            needed = said is not None or name in ("input", "output")
            if needed and not (isinstance(said, int | float) and 0 <= said < math.inf):
                raise ValueError(f"the price of {model}: {name}={said!r}; give a number, 0 or more")
        values: dict[str, Any] = {"model": model, "input": row["input"], "output": row["output"]}
        notes = [row["note"]] if row.get("note") else []
        for name, factor in MULTIPLIERS.items():
            values[name] = row.get(name)
            if values[name] is None:
                values[name] = row["input"] * factor
                notes.append(f"{name} is not in the table: taken as {factor:g} times the input")
        for name in ("up_to_prompt_tokens", "batch"):
            if row.get(name) is not None:
                values[name] = row[name]
        values |= {name: str(row.get(name) or "") for name in ("source", "date")}
        aliases = row.get("aliases") or ()
        aliases = tuple(aliases) if isinstance(aliases, list | tuple) else (aliases,)
        if not all(isinstance(alias, str) for alias in aliases):
            raise ValueError(f"the price of {model}: aliases={aliases!r}; give names")
        return cls(**values, notes=tuple(notes), aliases=aliases)


class PriceTable(Tabular):
    """Prices by model name.

    ``rows``: dicts with ``model``, or a dict of dicts by model. ``sources``: what the names of
    sources in the rows stand for. Raises ValueError for rows that are no prices, for two of one
    model that hold for the same prompts (which of them is old, nobody could say), and for a name
    that two models have.
    """

    def __init__(
        self,
        rows: Iterable[Mapping[str, Any]] | Mapping[str, Mapping[str, Any]],
        sources: Mapping[str, str] | None = None,
    ) -> None:
        self.sources = dict(sources or {})
        named: Iterable[tuple[str, Mapping[str, Any]]]
        named = rows.items() if isinstance(rows, Mapping) else ((_model(row), row) for row in rows)
        self._tiers: dict[str, list[Price]] = {}
        for name, row in named:
            self._tiers.setdefault(name, []).append(Price.of(name, row))
        self._known: dict[str, list[Price]] = {}
        for tiers in self._tiers.values():
            tiers.sort(key=lambda tier: tier.up_to_prompt_tokens or float("inf"))
            sizes = {tier.up_to_prompt_tokens for tier in tiers}
            if len(sizes) < len(tiers):
                name = tiers[0].model
                raise ValueError(f"two prices of {name} for the same prompts; keep the newer row")
            for name in dict.fromkeys(n.lower() for n in (tiers[0].model, *tiers[0].aliases)):
                if name in self._known:
                    other = self._known[name][0].model
                    raise ValueError(f"{name} would be both {other} and {tiers[0].model}")
                self._known[name] = tiers

    def __iter__(self) -> Iterator[str]:
        return iter(self._tiers)

    def __contains__(self, model: object) -> bool:
        return self.find(model) is not None

    def find(self, model: object, prompt_tokens: int = 0) -> Price | None:
        """The price of that model for a prompt of that size, however its name is spelled.

        ``prompt_tokens`` counts the whole prompt, cached or not. None: the table does not know the
        model, or no price for a prompt of that size.
        """
        if not isinstance(model, str):
            return None
        tiers = self._known.get(model) or self._resolve(model)
        for price in tiers:
            if price.up_to_prompt_tokens is None or prompt_tokens <= price.up_to_prompt_tokens:
                return price
        return None

    def _resolve(self, model: str) -> list[Price]:
        found = next((self._known[name] for name in spellings(model) if name in self._known), [])
        if found:
            self._known[model] = found  # asked for again at every turn
        return found

    def table(self) -> Table:
        """One line for each model and tier, with its source and date."""
        columns = ("model", "input", "output", "write 5m", "write 1h", "read", "date", "source")
        rows = [
            (
                _tier(price), *map(_rate, (price.input, price.output, price.cache_write_5m)),
                *map(_rate, (price.cache_write_1h, price.cache_read)), price.date, price.source,
            )
            for tiers in self._tiers.values()
            for price in tiers
        ]  # fmt: skip
        title = "Prices (dollars per million tokens; a batch costs half)"
        notes = [f"{name}: {about}" for name, about in self.sources.items()]
        return Table(title, columns, rows, words=("date", "source"), notes=notes)


_SUFFIX = re.compile(
    r"(?:\[\w+\]"  # claude-x-4[1m]
    r"|-v\d+(?::\d+)?(?::\d+k)?"  # claude-x-4-v1:0, claude-x-4-v1:0:200k
    r"|[-@](?:\d{8}|\d{4}-\d{2}-\d{2})"  # claude-x-4-20250929, gpt-x-2025-08-07
    r"|[-@](?:latest|default))$"
)
_VENDOR = re.compile(r"^(?:[a-z][a-z_-]*[.:])+(?=[a-z])")  # us.anthropic.claude-x-4, openai:gpt-x


def spellings(model: str) -> Iterator[str]:
    """The name as it is, then with less and less around it. It is never cut within a word.

    What is longer than any name is none: a server may say anything, and each step costs time.
    """
    if len(model) > LONGEST_NAME:
        return
    name = model.strip().lower()
    yield name
    name = name.rsplit("/", 1)[-1]  # openrouter/anthropic/claude-x-4
    yield name
    for candidate in (name, _VENDOR.sub("", name)):
        stripped = candidate
        while True:
            yield stripped
            yield re.sub(r"(?<=\d)\.(?=\d)", "-", stripped)  # claude-x-4.5
            shorter = _SUFFIX.sub("", stripped)
            if shorter == stripped:
                break
            stripped = shorter


@functools.cache
def _file() -> dict[str, Any]:
    return json.loads(data_path("prices.json").read_text("utf-8"))


@functools.cache
def prices() -> PriceTable:
    """The table that comes along, ``data/prices.json``."""
    return PriceTable(_file()["prices"], _file()["sources"])


@dataclass(frozen=True)
class SeedPrice:
    """A price as a tutorial has it, and the one that holds. Dollars per million tokens."""

    model: str
    said: tuple[float, float]  # input, output
    right: tuple[float, float]
    since: str  # how long the right one has held
    why: str


class SeedPrices(Tabular):
    """What a widely read tutorial says that tokens cost, beside what they do cost."""

    def __init__(self, rows: list[SeedPrice], date: str) -> None:
        self.rows, self.date = rows, date

    def table(self) -> Table:
        """One line for each price of the tutorial."""
        columns = ("model", f"said in {self.date}", "right", "since", "")
        rows = [
            (row.model, _pair(row.said), _pair(row.right), row.since, row.why) for row in self.rows
        ]
        title = "Input / output, dollars per million tokens: what was said and what is right"
        return Table(title, columns, rows, words=("since", ""))


def seed_prices() -> SeedPrices:
    """The prices of the tutorial that this course grew out of, some of them wrong."""
    about, rows = _file()["seed_prices"], []
    for row in about["prices"]:
        right = prices().find(row["model"])
        assert right is not None, row["model"]
        said = (row["said"]["input"], row["said"]["output"])
        now = (right.input, right.output)
        rows.append(SeedPrice(row["model"], said, now, row["since"], row["why"]))
    return SeedPrices(rows, about["date"])


def _model(row: Any) -> str:
    return str(row.get("model") or "") if isinstance(row, Mapping) else ""


def _tier(price: Price) -> str:
    if price.up_to_prompt_tokens is None:
        return price.model
    return f"{price.model}, up to {price.up_to_prompt_tokens / 1000:g}k"


def _rate(amount: float) -> str:
    return f"{amount:.3f}".rstrip("0").ljust(4, "0") if amount < 1 else f"{amount:.2f}"


def _pair(pair: tuple[float, float]) -> str:
    return " / ".join(map(_rate, pair))
