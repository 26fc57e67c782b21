"""From tokens to dollars.

Every reply says how many tokens it used. The counts are kept in buckets that do not overlap: fresh
input, input read from the prompt cache, input written to it for five minutes or for an hour, and
output (thinking is a part of the output). Each bucket has a price per million tokens, so one
multiplication and one sum give dollars. Vendors count in different ways, one adapter each: what
Anthropic calls input leaves cached tokens out, what OpenAI calls input contains them.

An unknown model has an unknown price: None, said so, never 0. What servers bill apart from tokens
(their own web searches) is not counted.

Built in chapter 09.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from agentlab.prices import Price, PriceTable, prices
from agentlab.tables import Table, Tabular, count


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one call, or a sum of calls, in disjoint buckets.

    ``thinking_tokens`` alone is no bucket: it is a part of ``output_tokens``.
    """

    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    output_tokens: int = 0
    thinking_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_5m_tokens=self.cache_write_5m_tokens + other.cache_write_5m_tokens,
            cache_write_1h_tokens=self.cache_write_1h_tokens + other.cache_write_1h_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            thinking_tokens=self.thinking_tokens + other.thinking_tokens,
        )

    @property
    def cache_write_tokens(self) -> int:
        """All input that was written to the cache."""
        return self.cache_write_5m_tokens + self.cache_write_1h_tokens

    @property
    def prompt_tokens(self) -> int:
        """All input, cached or not: what fills the window."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        """Input and output."""
        return self.prompt_tokens + self.output_tokens

    def uncached(self) -> Usage:
        """The same tokens, had there been no prompt cache."""
        return Usage(
            input_tokens=self.prompt_tokens,
            output_tokens=self.output_tokens,
            thinking_tokens=self.thinking_tokens,
        )

    def to_dict(self) -> dict[str, int]:
        """The counts as a plain dict, for events."""
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_dict(cls, counts: Mapping[str, Any]) -> Usage:
        """The inverse of `to_dict`; other keys are ignored. Reads older transcripts too."""
        counts = _plain(counts)
        counts = {**counts, **_renamed(counts)}
        return cls(**{name: _tokens(counts.get(name)) for name in _FIELDS})

    @classmethod
    def from_api(cls, usage: Any) -> Usage:
        """From the ``usage`` of a reply (a dict or the SDK's object), all its steps together.

        Counts that are missing or null, or no numbers from 0 on, are 0: what a server reports badly
        must not end a run that was paid.
        """
        total = NO_USAGE
        for _, used in steps_of(usage):
            total += used
        return total

    @classmethod
    def from_openai(cls, usage: Any) -> Usage:
        """From a usage in which the prompt's tokens contain the cached ones.

        Chat completions and responses, and servers that speak the same. Reasoning is thinking.
        """
        counts = _plain(usage)
        of_prompt = _plain(_first(counts, "prompt_tokens_details", "input_tokens_details"))
        of_reply = _plain(_first(counts, "completion_tokens_details", "output_tokens_details"))
        prompt = _tokens(_first(counts, "prompt_tokens", "input_tokens"))
        output = _tokens(_first(counts, "completion_tokens", "output_tokens"))
        cached = {**counts, **{name: n for name, n in of_prompt.items() if n is not None}}
        read = min(prompt, _tokens(_first(cached, *_CACHED)))
        written = min(prompt - read, _tokens(_first(cached, *_WRITTEN)))
        return cls(
            input_tokens=prompt - read - written,
            cache_read_tokens=read,
            cache_write_5m_tokens=written,
            output_tokens=output,
            thinking_tokens=min(output, _tokens(of_reply.get("reasoning_tokens"))),
        )


NO_USAGE = Usage()
_FIELDS = tuple(field.name for field in fields(Usage))
# What servers that count like OpenAI call their cached tokens; the last name is a proxy's.
_CACHED = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
_WRITTEN = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
_BESIDE = ("compaction", "advisor_message")  # steps that are no part of the answer
_MOST_TOKENS = 10**12  # no call and no sum of calls has more: what says so is no count

# The buckets with their words, in the order in which a bill lists them.
BUCKETS = {
    "input_tokens": "input",
    "cache_read_tokens": "cache read",
    "cache_write_5m_tokens": "cache write, 5 min",
    "cache_write_1h_tokens": "cache write, 1 h",
    "output_tokens": "output",
}


def latest(before: Mapping[str, Any], now: Any) -> dict[str, Any]:
    """The usage of a stream after one more report: it is cumulative, so later replaces earlier.

    A later 0 takes no count back: some proxies fill in what they do not know. With steps it does:
    their tokens may stand in no other number.
    """
    told = {name: value for name, value in _plain(now).items() if value is not None}
    if not told.get("iterations"):
        told = {name: n for name, n in told.items() if not _is_zero(n) or not before.get(name)}
    return {**before, **told}


def _is_zero(count: Any) -> bool:
    """Whether a count is 0, or all counts of a group (``cache_creation``) are."""
    return not (any(count.values()) if isinstance(count, Mapping) else count)


def steps_of(usage: Any) -> list[tuple[str | None, Usage]]:
    """What is billed in a reply: for each step its model (None: the one asked for) and its tokens.

    Mostly one step. A server that summarised first, or asked another model, lists its steps in
    ``iterations``; the tokens of a summary are in no other number of that usage (API reference,
    2026-10). Each step has a price tier of its own.
    """
    counts = _plain(usage)
    listed = _iterations(counts)
    if not listed:
        return [(None, _step(counts))]
    steps = [(step.get("model"), _step(step)) for step in listed]
    thinking = _thinking(counts)
    if thinking and not any(used.thinking_tokens for _, used in steps):
        model, last = steps[-1]  # only the top says how much of the output was thinking
        steps[-1] = (model, replace(last, thinking_tokens=min(thinking, last.output_tokens)))
    return steps


def context_tokens(usage: Any) -> int:
    """How much of the window a conversation fills after a reply: its prompt and the reply.

    Takes a `Usage`, the usage of a reply, or one in OpenAI's style. Tokens that were read from the
    cache fill the window like all others. The summary that a server made within a request does not
    count: what holds is the last step that answered. 0 if there is none.
    """
    if isinstance(usage, Usage):
        return usage.total_tokens
    counts = _plain(usage)
    if counts.get("prompt_tokens") is not None:
        return Usage.from_openai(counts).total_tokens
    listed = _iterations(counts)
    if not listed:
        return _step(counts).total_tokens
    answers = [step for step in listed if step.get("type") not in _BESIDE]
    return _step(answers[-1]).total_tokens if answers else 0


def price(
    usage: Usage, model: str | None, *, batch: bool = False, table: PriceTable | None = None
) -> float | None:
    """Dollars for the usage of one call, or None if the table does not know the model.

    A sum of calls has no price tier: price each call, and add the dollars. ``batch``: it was part
    of a batch. ``table``: other prices than those that come along.
    """
    row = (table or prices()).find(model, usage.prompt_tokens)
    if row is None:
        return None
    amount = (
        usage.input_tokens * row.input
        + usage.cache_read_tokens * row.cache_read
        + usage.cache_write_5m_tokens * row.cache_write_5m
        + usage.cache_write_1h_tokens * row.cache_write_1h
        + usage.output_tokens * row.output
    )
    return amount * (row.batch if batch else 1) / 1_000_000


def price_reply(usage: Any, model: str | None) -> float | None:
    """Dollars for a reply by the ``usage`` in it, step by step; None if a price is not known.

    A reply of a batch says so in its ``service_tier``, and costs what a batch costs.
    """
    batch = _plain(usage).get("service_tier") == "batch"
    total = 0.0
    for asked, used in steps_of(usage):
        cost = price(used, asked or model, batch=batch)
        if cost is None:
            return None
        total += cost
    return total


def dollars(amount: float | None) -> str:
    """An amount to the precision that matters: ``$0.0013``, ``$1.20``, ``unknown``.

    What cost something is not shown as nothing: one small call can cost ``$0.000045``.
    """
    if amount is None:
        return "unknown"
    if amount >= 1:
        return f"${amount:.2f}"
    if 0 < amount < 0.000001:
        return "under $0.000001"
    return f"${amount:.6f}" if 0 < amount < 0.0001 else f"${amount:.4f}"


def budget(amount: float) -> str:
    """A limit in dollars, without the zeros that say nothing: ``$0.50``, ``$0.4987``."""
    if 0 < amount < 0.000001:
        return dollars(amount)
    whole, _, rest = f"{amount:.6f}".partition(".")
    return f"${whole}.{rest.rstrip('0'):0<2}"


@dataclass(frozen=True, repr=False)
class Bill(Tabular):
    """What one call cost, bucket by bucket. ``usd`` is None if the model's price is not known."""

    usage: Usage
    model: str
    price: Price | None
    batch: bool = False

    @property
    def usd(self) -> float | None:
        """The sum, in dollars."""
        if self.price is None:
            return None
        return sum(amount for *_, amount in self.lines() if amount is not None)

    def lines(self) -> list[tuple[str, int, float | None, float | None]]:
        """(bucket, tokens, dollars per million, dollars), for each bucket that is not empty."""
        lines: list[tuple[str, int, float | None, float | None]] = []
        for name, words in BUCKETS.items():
            tokens = getattr(self.usage, name)
            if tokens:
                rate = self._rate(name.removesuffix("_tokens"))
                lines.append((words, tokens, rate, rate and tokens * rate / 1_000_000))
        return lines

    def _rate(self, bucket: str) -> float | None:
        if self.price is None:
            return None
        rate: float = getattr(self.price, bucket)
        return rate * (self.price.batch if self.batch else 1)

    def table(self) -> Table:
        """Bucket, tokens, dollars per million, dollars; then the source of the price."""
        rows = [
            (words, count(tokens), "unknown" if rate is None else f"${rate:g}", dollars(amount))
            for words, tokens, rate, amount in self.lines()
        ]
        rows.append(("total", count(self.usage.total_tokens), "", dollars(self.usd)))
        title = f"{self.model}{' in a batch' if self.batch else ''}"
        if self.price is None:
            notes = [f"the price of {self.model} is not known"]
        else:
            origin = f"price of {self.price.date}" if self.price.date else ""
            notes = [note for note in (origin, *self.price.notes) if note]
        return Table(title, ("", "tokens", "per million", "dollars"), rows, notes=notes)


def bill(usage: Usage, model: str, *, batch: bool = False, table: PriceTable | None = None) -> Bill:
    """The `Bill` of one call; same arguments as `price`."""
    return Bill(usage, model, (table or prices()).find(model, usage.prompt_tokens), batch)


# ------------------------------------------------------------------------- reading what is counted


def _step(counts: Mapping[str, Any]) -> Usage:
    """One step of a reply. What of the writes is not said to be for an hour is for five minutes."""
    writes = _plain(counts.get("cache_creation"))
    hour = _tokens(writes.get("ephemeral_1h_input_tokens"))
    five = _tokens(writes.get("ephemeral_5m_input_tokens"))
    output = _tokens(counts.get("output_tokens"))
    return Usage(
        input_tokens=_tokens(counts.get("input_tokens")),
        cache_read_tokens=_tokens(counts.get("cache_read_input_tokens")),
        cache_write_5m_tokens=max(five, _tokens(counts.get("cache_creation_input_tokens")) - hour),
        cache_write_1h_tokens=hour,
        output_tokens=output,
        thinking_tokens=min(output, _thinking(counts)),
    )


def _thinking(counts: Mapping[str, Any]) -> int:
    return _tokens(_plain(counts.get("output_tokens_details")).get("thinking_tokens"))


def _iterations(counts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = counts.get("iterations")
    steps = map(_plain, found) if isinstance(found, list | tuple) else ()
    listed = [step for step in steps if _step(step).total_tokens]  # others tell nothing to bill
    answered = any(step.get("type") not in _BESIDE for step in listed)
    if listed and not answered and _step(counts).total_tokens:
        listed.append({**counts, "type": "message"})  # the answer is told at the top alone
    return listed


def _tokens(value: Any) -> int:
    """A count as it was told, or 0 if that is no number or below 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return round(value) if 0 < value <= _MOST_TOKENS else 0


def _renamed(counts: Mapping[str, Any]) -> dict[str, int]:
    """The counts of a transcript that was written before the buckets had their names."""
    old = ("cache_creation_input_tokens", "cache_read_input_tokens", "cache_1h_tokens")
    if not any(name in counts for name in old):
        return {}
    written, read, hour = (_tokens(counts.get(name)) for name in old)
    return {
        "cache_read_tokens": read,
        "cache_write_5m_tokens": max(0, written - hour),
        "cache_write_1h_tokens": hour,
    }


def _plain(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    made = value.to_dict() if hasattr(value, "to_dict") else None
    return made if isinstance(made, Mapping) else {}


def _first(counts: Mapping[str, Any], *names: str) -> Any:
    return next((counts[name] for name in names if counts.get(name) is not None), None)
