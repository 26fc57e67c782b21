"""A request to the model, taken apart: its blocks, its parts by kind, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentlab.costs import dollars
from agentlab.prices import prices
from agentlab.tokens import count_content, count_text
from agentlab.views.wording import one_line

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
PROMPT = ("tools", "system")  # kinds that are no messages
FIXED = (*PROMPT, "earlier")  # stand at the front, whatever is new
ORDER = {kind: place for place, kind in enumerate(KINDS)}
MOST_SOURCES = 20  # records that a part names


class Record(NamedTuple):
    """A piece of JSON as it stood on the wire: a prompt, a message, or the frame of a reply."""

    data: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return self.data


@dataclass(slots=True, eq=False)
class Block:
    """One piece of a window. It goes out with every request from its first to its last."""

    number: int  # of all blocks of its agent
    kind: str  # one of `KINDS`
    gist: str  # what it is, in one line
    estimate: float = 0.0  # tokens
    content: Any = None  # as it stands in its message
    record: int = -1
    first: int = 0  # number of the request that was the first to carry it
    instead: float = 0.0  # tokens of what it stands for: the whole result, the old messages
    messages: int = 0  # that a summary stands for
    paid: float = 0.0  # dollars of the input so far


class Slice(NamedTuple):
    """A block in one request."""

    block: Block
    tokens: float  # 0 if the server ignores it
    cached: float  # of them
    ignored: bool = False


class Gone(NamedTuple):
    """A block that a compaction took away."""

    block: Block
    tokens: float
    left: float  # tokens of what stands in its place


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
    facts: tuple[Survived, ...]
    carried: int = 0  # so many blocks of the step before (of this agent) were still there
    blocks: list[Block] = field(default_factory=list)  # those that followed
    gone: list[Gone] = field(default_factory=list)
    place: int = 0  # in `Wire.steps`
    source: int = 0  # its record


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
    expected: float  # tokens, by the harness before it was sent
    fresh_prompt: bool  # system and tools are sent for the first time
    echo: int | None  # record of the reply before, which may be among the new messages
    carried: int = 0  # so many blocks of the step before (of this agent) are sent again
    blocks: list[Block] = field(default_factory=list)  # those that follow
    ignored: tuple[int, int] = (0, 0)  # from and to: these blocks are ignored by the server
    parts: list[Part] = field(default_factory=list)
    usage: dict[str, float] = field(default_factory=dict)
    cost: float | None = None  # dollars of the input
    rates: tuple[float, float] | None = None  # dollars a token, cached and not
    edits: str = ""  # what the API said that it did to the prompt
    cleared: float = 0.0  # tokens that it cleared
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

    def scale(self) -> tuple[float, float]:
        """Tokens for each estimated one, so that all add up to `tokens`, and what is left over.

        If messages are missing there is nothing to scale to, and they get what is left over.
        """
        whole = sum(part.estimate for part in self.parts)
        scale = self.tokens / whole if whole else 0.0
        if all(part.kind != "earlier" for part in self.parts):
            return scale, 0.0
        scale = min(1.0, scale)
        return scale, self.tokens - scale * whole

    def shares(self) -> list[tuple[Part, float]]:
        """The parts with their tokens."""
        scale, left = self.scale()
        return [(p, left if p.kind == "earlier" else p.estimate * scale) for p in self.parts]

    def slices(self, blocks: Iterable[Block]) -> Iterator[Slice]:
        """All its ``blocks`` with their tokens. The first tokens are those that the cache had."""
        (scale, left), at = self.scale(), 0.0
        cached, (start, stop) = self.cached, self.ignored
        for index, block in enumerate(blocks):
            ignored = start <= index < stop
            count = left if block.kind == "earlier" else block.estimate * scale
            count = 0.0 if ignored else count
            end = at + count
            hit = count if end <= cached else max(cached - at, 0.0)
            yield Slice(block, count, hit, ignored)
            at = end


def parts_of(blocks: Iterable[Block], sent: set[int], missing: int) -> list[Part]:
    """Blocks by kind: the prompt, those that were ``sent`` (numbers), and then those that are new.

    Within each the order is that of `KINDS`. ``missing`` is how many messages "earlier" stands
    for; if there are any, the prompt was sent with them.
    """
    parts: dict[tuple[int, int], Part] = {}
    records: dict[tuple[int, int], dict[int, None]] = {}  # each once, in order
    for block in blocks:
        fixed = block.kind in FIXED
        new = block.number not in sent and not (fixed and missing)
        place = (0 if fixed else 1 + new, ORDER[block.kind])
        part = parts.get(place)
        if part is None:
            part = parts[place] = Part(block.kind, new)
            records[place] = {}
        part.estimate += block.estimate
        part.count += 1
        records[place][block.record] = None
    for place, part in parts.items():
        part.sources = tuple(record for record in records[place] if record >= 0)[-MOST_SOURCES:]
        part.count = missing if part.kind == "earlier" else part.count
    return [parts[place] for place in sorted(parts)]


def tokens_by_kind(request: Request) -> dict[str, float]:
    """Tokens of a request by kind, old and new together, in the order of `KINDS`."""
    sums = dict.fromkeys(KINDS, 0.0)
    for part, tokens in request.shares():
        sums[part.kind] += tokens
    return {kind: tokens for kind, tokens in sums.items() if tokens}


def rates_of(request: Request) -> tuple[float, float] | None:
    """Dollars for each token of the input, cached and not; None if the price is not known."""
    row = prices().find(request.model, int(request.tokens))
    if row is None or request.cost is None:
        return None
    cached, rest = request.cached, request.tokens - request.cached
    each = row.cache_read / 1_000_000
    return each, (request.cost - cached * each) / rest if rest else 0.0


def charge(request: Request, blocks: Iterable[Block]) -> dict[str, float]:
    """Add what each block has cost in this request; dollars by kind, empty if not known."""
    if request.rates is None:
        return {}
    hit, miss = request.rates
    (scale, left), (start, stop) = request.scale(), request.ignored
    sums: dict[str, float] = {}
    rest = request.cached  # a plain loop, as it goes over all blocks at every request
    for index, block in enumerate(blocks):
        if start <= index < stop:
            continue
        count = block.estimate * scale if block.kind != "earlier" else left
        if rest >= count:
            rest -= count
            cost = count * hit
        else:
            cost = rest * hit + (count - rest) * miss
            rest = 0.0
        block.paid += cost
        sums[block.kind] = sums.get(block.kind, 0.0) + cost
    return sums


def join(
    before: dict[tuple[bool, int], Part], more: Iterable[Part]
) -> dict[tuple[bool, int], Part]:
    """Parts of what was sent before, with ``more`` of it, in the order of `parts_of`."""
    for part in more:
        place = part.kind not in FIXED, ORDER[part.kind]
        old = before.setdefault(place, Part(part.kind, False))
        old.estimate += part.estimate
        old.count += part.count
        old.sources = (*old.sources, *part.sources)[-MOST_SOURCES:]
    return dict(sorted(before.items()))


def name_of(request: Request, width: int = 8) -> str:
    """The number of a request, with the agent if it is not the main one."""
    agent = f"{one_line(request.agent, width)} " if request.agent else ""
    return f"{agent}{request.number}"


def few_dollars(amount: float) -> str:
    """As `dollars`; but where many stand together ``<$0.0001`` reads better than ``$0.000085``."""
    return "<$0.0001" if 0 < amount < 0.0001 else dollars(amount)


def estimate(value: Any, count: Any = count_content) -> float:
    """Tokens of a block, a prompt or a tool, by the estimate of `agentlab.tokens`."""
    try:
        return float(count(value))
    except (KeyError, TypeError, ValueError, AttributeError):
        return float(count_text(str(value)))  # no block that the estimate knows
