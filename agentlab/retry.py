"""Which failed requests deserve another attempt, and when.

Most failures of an API pass by themselves, and then a second attempt is all it takes. Everywhere
else it does harm: a request that was refused is refused again, and a server that is overloaded
has more to do the more clients ask again. So it depends on the class of the failure, and the whole
policy is one small `TABLE`. The waits double and are spread, so that clients which failed together
do not come back together. A wait that the server asks for goes before our own; all waits of one
request together are bounded, and one that would be too long is not begun.

This is the only layer that repeats anything: the SDK's retries are off (`agentlab.client`), since
layers multiply. It repeats a request to the model as a whole, and never a tool. It does not change
the request: one that is too long is handed over (`agentlab.failures.too_long`).
Chapter 08 builds it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from agentlab.clock import Clock
from agentlab.failures import kind_of, retry_after, short, status_of

DOUBLINGS = 30  # more than any wait below a year needs


@dataclass(frozen=True)
class Chances:
    """What a class of failures deserves: more tries after the first, and the wait before them.

    ``foreground``: while somebody waits for the answer. ``background``: while nobody does.
    ``first_s``: the first wait in seconds; each further one is twice as long.
    """

    foreground: int
    background: int
    first_s: float = 0.5


TABLE: Mapping[str, Chances] = MappingProxyType(
    {
        "rate_limit": Chances(foreground=10, background=10),  # 429: it passes by definition
        "overloaded": Chances(foreground=3, background=0),  # 529, other 5xx, 408, 409
        "connection": Chances(foreground=1, background=1),  # no answer, or one that broke off
    }
)


@dataclass(frozen=True)
class Retry:
    """The policy. What is not in its table is not repeated, so ``Retry({})`` repeats nothing.

    ``max_wait_s`` bounds all waits of one request together, ``longest_s`` each of our own: with
    these, ten waits fit into the two minutes (95.5 s at most).

    The spread of the waits follows from ``seed`` and the number of the try, so the same seed waits
    the same every time. That is for lessons and tests. Clients that share a server need waits that
    differ: ``seed=None`` draws them anew each time.
    """

    table: Mapping[str, Chances] = field(default_factory=lambda: TABLE)
    max_wait_s: float = 120.0
    longest_s: float = 16.0
    seed: int | None = 0

    def tries(self, error: Exception, foreground: bool = True) -> int:
        """How many more tries an error like this one gets after the first."""
        chances = self.table.get(kind_of(error), Chances(0, 0))
        return chances.foreground if foreground else chances.background

    def wait(
        self,
        error: Exception,
        attempt: int,
        *,
        waited_s: float = 0.0,
        foreground: bool = True,
        now: datetime | None = None,
    ) -> float | None:
        """Seconds to wait before try number ``attempt`` (2 is the second), or None: give up.

        ``waited_s`` is what was waited before for this request. ``now`` is for a server that says
        until which time to wait, instead of how long.
        """
        if attempt > 1 + self.tries(error, foreground):
            return None
        wait = retry_after(error, now)
        if wait is None:
            doubled = self.table[kind_of(error)].first_s * 2 ** min(attempt - 2, DOUBLINGS)
            wait = min(doubled, self.longest_s) * self._spread(attempt)
        return wait if waited_s + wait <= self.max_wait_s else None

    def _spread(self, attempt: int) -> float:
        """Between a half and one."""
        seed = None if self.seed is None else f"{self.seed}/{attempt}"
        return 0.5 + 0.5 * random.Random(seed).random()


class ComeBackLater(Exception):
    """The server asks for a longer wait than is left. ``at`` is when to come back.

    ``wait_s`` is the same in seconds from now, ``error`` what the server said.
    """

    def __init__(self, error: Exception, wait_s: float, left_s: float, now: datetime) -> None:
        self.error, self.wait_s = error, wait_s
        self.at = now + timedelta(seconds=wait_s)
        self.status_code = status_of(error)
        self.hint = f"Come back at {self.at:%Y-%m-%d %H:%M:%S %Z}".rstrip() + "."
        asked = f"The server asks for a wait of {wait_s:g} s, and {left_s:g} s are left"
        super().__init__(f"{short(error)} {asked}. {self.hint}")


class Tries:
    """The tries of one request: counts the failures of each class, and adds up the waits."""

    def __init__(self, retry: Retry, clock: Clock, foreground: bool = True) -> None:
        self.retry, self.clock, self.foreground = retry, clock, foreground
        self.waited_s = 0.0
        self._failed: Counter[str] = Counter()

    def after(self, error: Exception) -> dict[str, Any] | None:
        """What follows a failure: data of a ``model.retry`` event, or None if it is final.

        Raises ComeBackLater if only the length of the wait stands against another try.
        """
        kind, now = kind_of(error), self.clock.wall()
        self._failed[kind] += 1
        failed, left_s = self._failed[kind], self.retry.max_wait_s - self.waited_s
        more = self.retry.tries(error, self.foreground) - failed
        wait = self.retry.wait(
            error, failed + 1, waited_s=self.waited_s, foreground=self.foreground, now=now
        )
        if wait is None:
            asked = retry_after(error, now)
            if more >= 0 and asked is not None:
                raise ComeBackLater(error, asked, left_s, now) from error
            return None
        self.waited_s += wait
        attempt = self._failed.total() + 1
        return {
            "attempt": attempt,
            "of": attempt + more,
            "status": status_of(error),
            "reason": f"{type(error).__name__}: {short(error)}",
            "wait_s": wait,
        }
