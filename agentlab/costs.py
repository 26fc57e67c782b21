"""From tokens to dollars.

Every reply says how many tokens it used, in buckets that do not overlap: fresh input, input
written to the prompt cache, input read from it, and output (thinking is a part of the output). A
price per million tokens of each bucket gives dollars. An unknown model has an unknown price: None,
never 0. Chapter 09 builds on this.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from agentlab.models import find_model


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, or a sum of calls. ``cache_1h_tokens`` is a part of the cache writes."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_1h_tokens: int = 0
    thinking_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_creation_input_tokens + other.cache_creation_input_tokens,
            self.cache_read_input_tokens + other.cache_read_input_tokens,
            self.cache_1h_tokens + other.cache_1h_tokens,
            self.thinking_tokens + other.thinking_tokens,
        )

    @property
    def prompt_tokens(self) -> int:
        """All input, cached or not."""
        return self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens

    @property
    def total_tokens(self) -> int:
        """Input and output."""
        return self.prompt_tokens + self.output_tokens

    def to_dict(self) -> dict[str, int]:
        """The buckets as a plain dict, for events."""
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_api(cls, usage: dict[str, Any]) -> Usage:
        """From the ``usage`` of a reply. Missing and null counters count as 0."""
        writes = usage.get("cache_creation") or {}
        details = usage.get("output_tokens_details") or {}
        return cls(
            usage.get("input_tokens") or 0,
            usage.get("output_tokens") or 0,
            usage.get("cache_creation_input_tokens") or 0,
            usage.get("cache_read_input_tokens") or 0,
            writes.get("ephemeral_1h_input_tokens") or 0,
            details.get("thinking_tokens") or 0,
        )

    @classmethod
    def from_dict(cls, counts: dict[str, int]) -> Usage:
        """The inverse of `to_dict`; keys it does not know are ignored."""
        return cls(**{name: counts.get(name, 0) for name in _FIELDS})


NO_USAGE = Usage()
_FIELDS = tuple(field.name for field in fields(Usage))


def price(usage: Usage, model: str) -> float | None:
    """Dollars for that usage on that model, or None if the model is not in the price table."""
    known = find_model(model)
    if known is None:
        return None
    rate = known.price(usage.prompt_tokens)
    return (
        usage.input_tokens * rate.input
        + usage.output_tokens * rate.output
        + (usage.cache_creation_input_tokens - usage.cache_1h_tokens) * rate.cache_write_5m
        + usage.cache_1h_tokens * rate.cache_write_1h
        + usage.cache_read_input_tokens * rate.cache_read
    ) / 1_000_000


def dollars(amount: float | None) -> str:
    """An amount to the precision that matters: ``$0.0013``, ``$1.20``, ``unknown``."""
    if amount is None:
        return "unknown"
    return f"${amount:.2f}" if amount >= 1 else f"${amount:.4f}"
