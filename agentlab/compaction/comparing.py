"""The levels side by side, over one history: tokens, dollars, facts kept, cache broken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentlab.compaction.api import as_edited
from agentlab.compaction.compacting import CannotCompact, compact
from agentlab.compaction.facts import text_in
from agentlab.compaction.settings import LEVELS, Compaction
from agentlab.costs import Usage, dollars, price
from agentlab.messages import Message, blocks_of
from agentlab.models import default_model, find_model
from agentlab.tables import Table, Tabular, count
from agentlab.tokens import count_message


@dataclass(frozen=True)
class Row:
    """One level. Tokens of the next prompt, and US dollars (None: the price is not known).

    ``reused_tokens``: so much of the old prefix is still there and comes from the cache.
    ``summary_usd``: the side calls. ``next_usd``: the input of the next request, where what is new
    has to be written to the cache. ``later_usd``: that of each one after it.
    """

    level: str
    after_tokens: int
    reused_tokens: int
    summary_usd: float | None
    next_usd: float | None
    later_usd: float | None
    kept: int
    problem: str = ""


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """A table of the levels."""

    before_tokens: int
    facts: int
    rows: tuple[Row, ...]

    def table(self) -> Table:
        """A line for each level, and the first one for the history as it was."""
        columns = ["level", "tokens", "from cache", "summary", "next prompt", "each later", "facts"]
        body = [["none", count(self.before_tokens), "all", "", "", "", self._of(self.facts)]]
        body += [[row.level, *self._cells(row)] for row in self.rows]
        notes = [f"{row.level}: {row.problem}" for row in self.rows if row.problem]
        return Table(
            "What does each level leave, and what does it cost?", columns, body, notes=notes
        )

    def _cells(self, row: Row) -> list[str]:
        summary = "" if row.summary_usd == 0 else dollars(row.summary_usd)
        if row.problem:
            return ["not done", "", summary, "", "", ""]
        tokens = [count(row.after_tokens), count(row.reused_tokens)]
        return [*tokens, summary, dollars(row.next_usd), dollars(row.later_usd), self._of(row.kept)]

    def _of(self, kept: int) -> str:
        return f"{kept} of {self.facts}" if self.facts else ""


async def compare_levels(
    messages: Sequence[Message],
    side_calls: Any,
    *,
    settings: Compaction | None = None,
    levels: Iterable[str] = LEVELS,
    facts: Sequence[str] = (),
    memory: str = "",
    pins: Iterable[str] = (),
    model: str = "",
    overhead: int = 0,
) -> Comparison:
    """Compact one history at each level, each alone.

    Args:
        messages: the history; it stays as it is.
        side_calls: an `agentlab.side_calls.SideCalls`, for the summaries.
        settings: how much may stay.
        facts: texts that are looked for, word for word, in what is left.
        memory: notes of the project, for "summary+memory".
        pins: constraints to keep.
        model: whose prices count; the default model if left out.
        overhead: tokens of system prompt and tools, which stay cached whatever the level.
    """
    settings = replace(settings or Compaction(), memory=memory or (settings or Compaction()).memory)
    given = tuple(pins)
    rows = []
    for level in levels:
        cost: float | None = 0.0
        try:
            made: Sequence[Message] = as_edited(messages, settings.keep_rounds)
            if level != "api":
                done = await compact(
                    messages, level, side_calls, settings=settings, overhead=overhead,
                    pins=given, reason="asked", only=True,
                )  # fmt: skip
                made, cost = done.messages, _sum(done.side_calls)
        except CannotCompact as problem:
            rows.append(Row(level, 0, 0, _sum(problem.side_calls), 0, 0, 0, str(problem)))
            continue
        rows.append(_row(level, messages, made, cost, facts, model or default_model(), overhead))
    before = overhead + sum(map(count_message, messages))
    return Comparison(before, len(facts), tuple(rows))


def _row(
    level: str,
    before: Sequence[Message],
    after: Sequence[Message],
    cost: float | None,
    facts: Sequence[str],
    model: str,
    overhead: int,
) -> Row:
    pairs = enumerate(zip(before, after, strict=False))
    same = next(
        (i for i, (a, b) in pairs if blocks_of(a) != blocks_of(b)), min(len(before), len(after))
    )
    reused = overhead + sum(map(count_message, after[:same]))
    known = find_model(model)
    if known and reused < known.min_cache_tokens:
        reused = 0  # so short a prefix is not cached at all
    tokens = overhead + sum(map(count_message, after))
    now = text_in(after)
    return Row(
        level,
        tokens,
        reused,
        cost,
        _prompt_usd(model, reused, tokens - reused),
        _prompt_usd(model, tokens, 0),
        sum(fact in now for fact in facts),
    )


def _prompt_usd(model: str, read: int, written: int) -> float | None:
    """Dollars for a prompt of which so much is read from the cache and so much written to it."""
    buckets = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    return price(Usage.from_dict(buckets), model)


def _sum(calls: Sequence[dict[str, Any]]) -> float | None:
    costs = [call["cost_usd"] for call in calls]
    return None if None in costs else sum(costs)
