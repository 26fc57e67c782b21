"""What survives: a bench that compacts conversations with planted facts and asks for each of them.

A compaction that made room always looks like a success. What it lost shows only when it is needed.
Here it is known what there was (`agentlab.planted`): after one to four compactions, with more work
between them, every fact is looked for, word for word, in what is left of the context. The score is
a table by level and by number of compactions. `ask_model` checks the same by asking: a model can
only answer from what it was sent.

The numbers belong to these conversations and, against the simulator, to a summariser that picks
lines instead of writing. The shape is what to take from it: dropping loses at once, summaries lose
a little each time, and what is pinned stays. Chapter 10 runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentlab.compaction import LEVELS, CannotCompact, Compaction, compact, text_in
from agentlab.compaction.api import as_edited
from agentlab.messages import Message, blocks_of, text, text_of, user
from agentlab.planted import Planted, Talk, talk
from agentlab.tables import Table, Tabular, count
from agentlab.tokens import count_message

SMALL = Compaction(window=24_000, summary_tokens=450, keep_rounds=3)  # so that it has to choose
QUESTION = "From what you can still see here: what do you know about `{cue}`? Quote it."


@dataclass(frozen=True)
class Score:
    """How many of the planted facts were left at a level after so many compactions."""

    level: str
    compactions: int
    kept: int
    of: int
    pinned_kept: int
    pinned: int
    tokens: int  # of the context that was left, on average
    by_kind: dict[str, tuple[int, int]]

    @property
    def share(self) -> float:
        return self.kept / self.of


@dataclass(frozen=True, repr=False)
class Retention(Tabular):
    """The scores, as a table."""

    scores: tuple[Score, ...]

    def of(self, level: str, compactions: int) -> Score:
        """One score. Raises KeyError if it was not measured."""
        for score in self.scores:
            if (score.level, score.compactions) == (level, compactions):
                return score
        raise KeyError((level, compactions))

    def table(self) -> Table:
        """A line for each level, a column for each number of compactions."""
        counts = sorted({score.compactions for score in self.scores})
        columns = ["level", *(f"after {number}" for number in counts), "pinned", "tokens"]
        rows = []
        for level in dict.fromkeys(score.level for score in self.scores):
            mine = [self.of(level, number) for number in counts]
            pinned = min(score.pinned_kept / score.pinned for score in mine)
            shares = (f"{score.share:.0%}" for score in mine)
            rows.append([level, *shares, f"{pinned:.0%}", count(mine[-1].tokens)])
        return Table("How many of the facts are left?", columns, rows)


async def bench(
    side_calls: Any,
    *,
    seeds: Iterable[int] = (0, 1, 2),
    levels: Iterable[str] = LEVELS,
    compactions: int = 4,
    settings: Compaction = SMALL,
) -> Retention:
    """Score every level over conversations made from these seeds.

    Args:
        side_calls: an `agentlab.side_calls.SideCalls`, for the summaries.
        seeds: one conversation each.
        levels: of `agentlab.compaction.LEVELS`.
        compactions: how many, with work between them.
        settings: how much may stay.

    Raises ValueError: a level that does not exist, or nothing to score.
    """
    talks = [talk(seed, compactions - 1) for seed in seeds]
    if not talks or compactions < 1:
        raise ValueError("a score takes at least one seed and one compaction")
    scores = []
    for level in levels:
        contexts = [await after_each(each, level, side_calls, settings) for each in talks]
        for number in range(compactions):
            pairs = [
                (each.facts, context[number]) for each, context in zip(talks, contexts, strict=True)
            ]
            scores.append(_score(level, number + 1, pairs))
    return Retention(tuple(scores))


async def after_each(
    talk: Talk, level: str, side_calls: Any, settings: Compaction = SMALL
) -> list[list[Message]]:
    """What the model would see after the first compaction, after the second, and so on."""
    messages: list[Message] = []
    seen: list[list[Message]] = []
    settings = replace(settings, memory=talk.memory)
    for part in talk.parts:
        messages = [*messages, *part]
        if level == "api":  # the API clears anew for every request; the history stays whole
            seen.append(as_edited(messages, settings.keep_rounds))
            continue
        try:
            done = await compact(
                messages, level, side_calls, settings=settings, reason="asked", only=True
            )
            messages = done.messages
        except CannotCompact:
            pass  # nothing was lost, then
        seen.append(messages)
    return seen


def missing(messages: Sequence[Message], facts: Iterable[Planted]) -> list[Planted]:
    """The facts that do not stand in the messages, word for word."""
    there = text_in(messages)
    return [fact for fact in facts if fact.text not in there]


async def ask_model(
    client: Any, model: str, messages: Sequence[Message], facts: Iterable[Planted], **request: Any
) -> list[Planted]:
    """Ask the model for each fact, one request each; returns those that it could not tell.

    ``request``: more of the request, such as the tools that the messages use.
    """
    unknown = []
    for fact in facts:
        asked = _and(messages, QUESTION.format(cue=fact.cue))
        reply = await client.messages.create(
            **{"model": model, "max_tokens": 1000, **request, "messages": asked}
        )
        if fact.answer not in text_of({"role": "assistant", "content": reply.to_dict()["content"]}):
            unknown.append(fact)
    return unknown


def _and(messages: Sequence[Message], question: str) -> list[Message]:
    """The messages with a question of the user at the end."""
    last = messages[-1]
    if last["role"] != "user":
        return [*messages, user(question)]
    return [*messages[:-1], {**last, "content": [*blocks_of(last), text(question)]}]


def _score(
    level: str, number: int, pairs: list[tuple[tuple[Planted, ...], list[Message]]]
) -> Score:
    by_kind: dict[str, tuple[int, int]] = {}
    for facts, context in pairs:
        lost = missing(context, facts)
        for fact in facts:
            kept, of = by_kind.get(fact.kind, (0, 0))
            by_kind[fact.kind] = (kept + (fact not in lost), of + 1)
    kept, of = (sum(column) for column in zip(*by_kind.values(), strict=True))
    tokens = sum(sum(map(count_message, context)) for _, context in pairs) // len(pairs)
    return Score(level, number, kept, of, *by_kind["pinned"], tokens, by_kind)
