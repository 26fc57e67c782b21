"""A request to the model, taken apart: its parts by kind, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentlab.prices import prices
from agentlab.tokens import count_content, count_text

# What a window holds, in the order in which the server reads it (and caches it).
KINDS = {
    "tools": "tools",
    "system": "system",
    "earlier": "not in these events",
    "user": "user",
    "pinned": "pinned",
    "summary": "summary",
    "thinking": "thinking",
    "text": "assistant text",
    "tool_call": "tool calls",
    "tool_result": "tool results",
    "preview": "previews of results",
    "cleared": "cleared results",
}
MOST_SOURCES = 20  # records that a part names


class Record(NamedTuple):
    """A piece of JSON as it stood on the wire: a prompt, a message, or the frame of a reply."""

    data: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return self.data


@dataclass(slots=True)
class Part:
    """All of one kind in a request, either what was sent before or what is new in it."""

    kind: str
    new: bool
    estimate: float = 0.0  # tokens
    count: int = 0  # blocks (of earlier messages: messages)
    sources: tuple[int, ...] = ()  # the last records of this kind


class Survived(NamedTuple):
    """Something that could be looked for word for word, and whether it outlived a compaction."""

    kind: str  # pinned | value | file
    text: str
    kept: bool


@dataclass(slots=True, eq=False)
class Compaction:
    """One compaction: how the window was before it and after it, and what it cost in facts."""

    number: int
    agent: str  # empty: the main one
    level: str
    reason: str
    before: float  # tokens
    after: float
    dropped: int  # messages
    summary: str
    gone: dict[str, int]  # blocks by kind that are no longer there
    facts: tuple[Survived, ...]
    place: int  # in `Wire.steps`
    source: int  # its record


@dataclass(slots=True, eq=False)
class Request:
    """One request of the main model, and what came back."""

    number: int
    turn: int
    agent: str  # empty: the main one
    model: str
    prompt: int  # record of system and tools
    before: Sequence[int]  # records of messages; only the first ``sent`` are of this request
    sent: int
    new: list[int]  # records of the messages that are new
    missing: int  # messages that no event tells of
    parts: list[Part]
    expected: float  # tokens, by the harness before it was sent
    fresh_prompt: bool  # system and tools are sent for the first time
    echo: int | None  # record of the reply before, which may be among the new messages
    usage: dict[str, float] = field(default_factory=dict)
    cost: float | None = None  # dollars of the input
    state: str = "waiting"  # waiting | answered | lost
    attempts: int = 1
    reply: int | None = None  # record of the message
    frame: int | None = None  # record of id, model, stop reason and usage
    kept: bool = True
    error: str = ""
    compacted: bool = False  # the first with a history that a compaction made
    place: int = 0  # in `Wire.steps`
    paid: dict[str, float] = field(default_factory=dict)  # dollars of the input so far, by kind

    @property
    def messages(self) -> int:
        """How many messages it carried."""
        return self.missing + self.sent + len(self.new)

    @property
    def tokens(self) -> float:
        """What the server counted; until it has, what the harness expected, or an estimate."""
        if self.usage:
            return sum(self.usage.values())
        return self.expected or sum(part.estimate for part in self.parts)

    @property
    def cached(self) -> float:
        return self.usage.get("cache_read_tokens", 0.0)

    def shares(self) -> list[tuple[Part, float]]:
        """The parts with their tokens, scaled so that they add up to `tokens`.

        If messages are missing there is nothing to scale to: they get what is left over.
        """
        whole = sum(part.estimate for part in self.parts)
        if self.missing:
            left = max(0.0, self.tokens - whole)
            return [(p, left if p.kind == "earlier" else p.estimate) for p in self.parts]
        scale = self.tokens / whole if whole else 0.0
        return [(part, part.estimate * scale) for part in self.parts]


def tokens_by_kind(request: Request) -> dict[str, float]:
    """Tokens of a request by kind, old and new together, in the order of `KINDS`."""
    sums = dict.fromkeys(KINDS, 0.0)
    for part, tokens in request.shares():
        sums[part.kind] += tokens
    return {kind: tokens for kind, tokens in sums.items() if tokens}


def dollars_by_kind(request: Request) -> dict[str, float]:
    """Dollars of a request's input by kind; empty if it is not counted, or the price not known.

    The first tokens are those that the cache had; they cost less.
    """
    row = prices().find(request.model, int(request.tokens))
    if row is None or request.cost is None or not request.usage:
        return {}
    cached = min(request.cached, request.tokens)
    each_cached = row.cache_read / 1_000_000
    rest = request.tokens - cached
    each = (request.cost - cached * each_cached) / rest if rest else 0.0
    sums: dict[str, float] = {}
    at = 0.0
    for part, count in request.shares():
        hit = min(max(cached - at, 0.0), count)
        sums[part.kind] = sums.get(part.kind, 0.0) + hit * each_cached + (count - hit) * each
        at += count
    return sums


def merge(before: dict[str, Part], parts: list[Part]) -> None:
    """Count the new messages of a request among those that were sent before."""
    for part in parts:
        if part.new and part.kind not in ("tools", "system"):
            old = before.setdefault(part.kind, Part(part.kind, False))
            old.estimate += part.estimate
            old.count += part.count
            old.sources = (*old.sources, *part.sources)[-MOST_SOURCES:]
    order = list(KINDS)
    ordered = sorted(before.items(), key=lambda item: order.index(item[0]))
    before.clear()
    before.update(ordered)


def estimate(value: Any, count: Any = count_content) -> float:
    """Tokens of a block, a prompt or a tool, by the estimate of `agentlab.tokens`."""
    try:
        return float(count(value))
    except (KeyError, TypeError, ValueError, AttributeError):
        return float(count_text(str(value)))  # no block that the estimate knows
