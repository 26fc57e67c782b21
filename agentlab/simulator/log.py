"""What came to the server and what it answered: a bounded log, so that tests can count and add up.

    mark = simulator.log.mark()
    ...
    assert len(simulator.log.since(mark)) == turns + retries + side_calls

An entry is there before the last byte of its answer is sent, so a client that has its answer can
look it up at once. Two kinds of entries are no requests of a client: ``batch``, one request of a
message batch, and ``compaction``, the summary that the API made within a request; each has the
tokens that it is billed for. So the tokens of all entries are all that was billed.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

ENTRIES = 5000
BODIES = 64  # the last request bodies are kept as they came …
BODY_BYTES = 1_000_000  # … unless they are larger than this


@dataclass(frozen=True, slots=True)
class Entry:
    """One request, or what is billed like one. Token counts are estimates.

    ``at`` is seconds on the simulator's clock.
    """

    number: int  # counts from 1
    at: float
    method: str
    path: str
    status: int  # 0: the connection was closed without an answer
    request_id: str = ""
    model: str = ""
    stream: bool = False
    messages: int = 0
    input_tokens: int = 0  # neither read from the cache nor written to it
    cache_write_tokens: int = 0  # for five minutes or an hour …
    cache_write_1h_tokens: int = 0  # … and those of them that are kept for an hour
    cache_read_tokens: int = 0
    output_tokens: int = 0
    stop_reason: str = ""
    scenario: str = ""
    step: int = 0
    rule: str = ""  # the rule that the request broke
    fault: str = ""  # the kind of fault that was played
    note: str = ""
    kind: str = "request"  # or batch (at half the price), or compaction


class Log:
    """The last requests, oldest first. Safe to read while the server writes."""

    def __init__(self, entries: int = ENTRIES) -> None:
        self._entries: deque[Entry] = deque(maxlen=entries)
        self._bodies: dict[int, bytes] = {}
        self._count = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many requests there have been, also those that the log no longer holds."""
        return self._count

    def __iter__(self) -> Iterator[Entry]:
        with self._lock:
            return iter(list(self._entries))

    def __repr__(self) -> str:
        statuses = ", ".join(f"{n} with {s}" for s, n in sorted(self.count(by="status").items()))
        return f"<{self._count} requests: {statuses}>" if self._count else "<no requests>"

    @property
    def last(self) -> Entry:
        """The newest entry. Raises IndexError if there is none."""
        with self._lock:
            return self._entries[-1]

    def mark(self) -> int:
        """A place in the log, for `since`."""
        return self._count

    def since(self, mark: int) -> list[Entry]:
        """The entries after a mark, as far as the log still holds them."""
        with self._lock:
            return [entry for entry in self._entries if entry.number > mark]

    def count(self, *, by: str = "path", since: int = 0) -> dict[Any, int]:
        """How many entries there are for each value of a field: ``count(by="status")``."""
        return dict(Counter(getattr(entry, by) for entry in self.since(since)))

    def body(self, number: int) -> dict[str, Any] | None:
        """The body of that request, or None if it is too old, was too large, or was no JSON."""
        raw = self._bodies.get(number)
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            return None
        return body if isinstance(body, dict) else None

    def add(self, make: Callable[[int], Entry], body: bytes = b"") -> Entry:
        """Append the entry that ``make`` gives for the next number."""
        with self._lock:
            self._count += 1
            entry = make(self._count)
            self._entries.append(entry)
            if body and len(body) <= BODY_BYTES:
                self._bodies[self._count] = body
            self._bodies.pop(self._count - BODIES, None)
        return entry


def counts_of(usage: dict[str, Any]) -> dict[str, int]:
    """What an entry keeps of a usage, by its fields."""
    return {
        "input_tokens": usage["input_tokens"],
        "cache_write_tokens": usage["cache_creation_input_tokens"],
        "cache_write_1h_tokens": usage["cache_creation"]["ephemeral_1h_input_tokens"],
        "cache_read_tokens": usage["cache_read_input_tokens"],
        "output_tokens": usage["output_tokens"],
    }
