"""The prompt cache: which part of a request was already paid for, by the published rules.

A request marks up to four places with ``cache_control``; each mark writes one entry, the hash of
everything up to there, in the order tools, system, messages. The next request looks at each of its
own marks, and from there back over up to 20 positions, for an entry that an earlier request wrote.
The longest one found is read for a fraction of the price; what follows it, up to the last mark, is
written for a little more than the plain price. Entries live five minutes or an hour, counted from
the last request that wrote or read them. A prefix that is too short for the model is silently not
cached.

Tool choice and thinking settings belong to the message part of the prefix: change them and the
messages are written anew, while tools and system are still read.

Source: the vendor's prompt caching page, through public copies (2026-07 to 2026-10). Left out: two
requests at the same moment both write there; here the second one reads.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from agentlab.models import Model
from agentlab.simulator.prefix import THINKING, Chain, ttl_of

LIFETIMES = {"5m": 300.0, "1h": 3600.0}  # seconds
LOOKBACK = 20  # positions looked at for each breakpoint, itself included
MAX_ENTRIES = 8192
_RUNS = frozenset(("tool_use", "tool_result"))  # a run of these counts as one position


@dataclass(frozen=True)
class Accounted:
    """How the input tokens of one request divide. The four numbers are disjoint."""

    input_tokens: int
    read_tokens: int
    write_5m_tokens: int
    write_1h_tokens: int

    @property
    def write_tokens(self) -> int:
        return self.write_5m_tokens + self.write_1h_tokens


@dataclass
class _Entry:
    ttl: str
    expires: float


class PromptCache:
    """The entries of all models, and the accounting of one request after another."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, bytes], _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def account(self, body: dict[str, Any], chain: Chain, model: Model, now: float) -> Accounted:
        """Divide the request's input tokens, and write and refresh its entries.

        ``now``: seconds on the simulator's clock.
        """
        total = chain.total_tokens
        points = [
            (block, ttl)
            for block, ttl in breakpoints(body, chain)
            if chain.tokens[block + 1] >= model.min_cache_tokens
        ]
        if not points:
            return Accounted(total, 0, 0, 0)
        hashes = chain.cache_hashes(_salt(body))
        hit = self._find(points, hashes, chain, model.id, now)
        read = chain.tokens[hit + 1]
        long = max((block for block, ttl in points if ttl == "1h"), default=-1)
        upto_long = max(read, chain.tokens[long + 1])
        upto_last = max(upto_long, chain.tokens[points[-1][0] + 1])
        self._refresh(hit, hashes, model.id, now)
        for block, ttl in points:
            self._write(hashes[block + 1], model.id, ttl, now)
        return Accounted(total - upto_last, read, upto_last - upto_long, upto_long - read)

    def _find(
        self,
        points: list[tuple[int, str]],
        hashes: list[bytes],
        chain: Chain,
        model_id: str,
        now: float,
    ) -> int:
        """The block at which the longest live entry ends, or -1."""
        for start, _ in reversed(points):
            positions, block = 0, start
            while block >= 0:
                if not _continues_run(chain, block, start):
                    positions += 1
                if positions > LOOKBACK:
                    break
                entry = self._entries.get((model_id, hashes[block + 1]))
                if entry and entry.expires > now:
                    return block
                block -= 1
        return -1

    def _refresh(self, block: int, hashes: list[bytes], model_id: str, now: float) -> None:
        if block >= 0:
            entry = self._entries[model_id, hashes[block + 1]]
            entry.expires = now + LIFETIMES[entry.ttl]

    def _write(self, digest: bytes, model_id: str, ttl: str, now: float) -> None:
        key = (model_id, digest)
        entry = self._entries.pop(key, None)  # the newest entries stand last
        if entry is None or entry.expires <= now or ttl == "1h":
            entry = _Entry(ttl, now + LIFETIMES[ttl])
        entry.expires = now + LIFETIMES[entry.ttl]
        if len(self._entries) >= MAX_ENTRIES:
            self._entries.pop(next(iter(self._entries)))
        self._entries[key] = entry


def breakpoints(body: dict[str, Any], chain: Chain) -> list[tuple[int, str]]:
    """The blocks that are marked, in order, each with its lifetime.

    ``cache_control`` at the top of the request marks the last block that can be cached.
    """
    points = list(chain.breakpoints)
    top = ttl_of(body)
    if top:
        last = len(chain.kinds) - 1
        while last >= 0 and chain.kinds[last] in THINKING:
            last -= 1
        if last >= 0 and all(block != last for block, _ in points):
            points.append((last, top))
    return sorted(points)


def _continues_run(chain: Chain, block: int, start: int) -> bool:
    kind = chain.kinds[block]
    return block < start and kind in _RUNS and chain.kinds[block + 1] == kind


def _salt(body: dict[str, Any]) -> str:
    thinking = {k: v for k, v in (body.get("thinking") or {}).items() if k != "display"}
    return json.dumps([body.get("tool_choice"), thinking], sort_keys=True)
