"""A storm of retries, simulated: what many clients do to a server that is already overloaded.

One client that tries again is no trouble. Thousands are, and no single client can see it. So here
is the crowd: tasks come in, each needs one answer, and for a while the server can do less than
what comes in. What a client does after a failure is a function, so that policies can be compared
on the same tasks, second by second. The simulation goes from event to event on a clock of its own;
nothing waits, and the same input gives the same numbers.

It is a model, and its numbers are no measurement of any real service. `Server` lists what is
assumed. Clients are independent of each other, and nobody gives up because it takes too long.
Chapter 08 uses it; `agentlab.views.storm_chart` draws it.
"""

from __future__ import annotations

import functools
import heapq
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentlab.retry import Retry

if TYPE_CHECKING:
    from agentlab.views.storm_chart import StormChart

UNTIL_S = 150.0  # seconds that are simulated


@dataclass(frozen=True)
class Server:
    """The server and its load. All of it is assumed; change what you doubt."""

    tasks_per_s: float = 25.0  # come in at random moments, for ``tasks_s`` seconds
    tasks_s: float = 60.0
    background: float = 0.5  # the share of tasks that nobody waits for
    capacity_per_s: float = 40.0  # answers it can begin in good times
    low_per_s: float = 10.0  # ... while overloaded (which breaks off running answers); 0: down
    from_s: float = 10.0
    to_s: float = 30.0
    queue_s: float = 2.0  # work that may wait in line; more is turned away with 529
    refusal: float = 0.02  # what turning a request away costs, as a share of answering it
    answer_s: float = 4.0  # from the moment it is begun to its last token
    network_s: float = 0.05  # until a client knows that it was turned away
    says_when: bool = False  # whether a refusal says ``retry-after``: when there will be room

    def capacity(self, at: float) -> float:
        """Answers that it can begin per second at that moment."""
        return self.low_per_s if self.from_s <= at < self.to_s else self.capacity_per_s


@dataclass(frozen=True)
class Failed:
    """A failed request, as its client sees it."""

    attempt: int  # of the next try: 2 is the second
    foreground: bool  # whether somebody waits for the answer
    client: int  # a number of its own
    asked_s: float | None = None  # what the server asked to wait


Policy = Callable[[Failed], float | None]  # seconds to wait before the next try, or None: give up


@dataclass(frozen=True)
class Outcome:
    """What a policy led to. "Met" are the tasks that met the overload."""

    tasks: int
    requests: int
    met: int
    amplification: float  # requests for each task that met the overload
    per_s: tuple[int, ...]  # requests of each second
    busiest_tenth: int  # requests in the busiest tenth of a second
    foreground: float  # share of the tasks that met it, and got an answer: somebody waits for it
    background: float  # ... nobody waits for it
    recovery_s: float  # from the end of the overload to the last request that was turned away


def run(policy: Policy, server: Server | None = None, seed: int = 1) -> Outcome:
    """Let all clients follow ``policy``, and count."""
    return _Run(policy, server or Server(), seed).outcome()


class _Run:
    def __init__(self, policy: Policy, server: Server, seed: int) -> None:
        self.policy, self.server = policy, server
        self.tasks = list(_tasks(server, random.Random(seed)))  # (when, foreground)
        self.sent: list[list[float]] = [[] for _ in self.tasks]  # when each task sent its requests
        self.answered = [False] * len(self.tasks)
        self.free_at = self.promised = self.last_refusal = 0.0
        # What happens next: when, which task, the number of the try, and whether it breaks off.
        self.next = [(at, number, 1, False) for number, (at, _) in enumerate(self.tasks)]
        heapq.heapify(self.next)
        while self.next and self.next[0][0] < UNTIL_S:
            self._step(*heapq.heappop(self.next))

    def _step(self, now: float, task: int, attempt: int, breaks_off: bool) -> None:
        asked = None
        if not breaks_off:
            self.sent[task].append(now)
            taken, asked = self._arrives(now)
            if taken:
                self._answer(now, task, attempt)
                return
            self.last_refusal = now
            now += self.server.network_s
        self.answered[task] = False
        wait = self.policy(Failed(attempt + 1, self.tasks[task][1], task, asked))
        if wait is not None:
            heapq.heappush(self.next, (now + wait, task, attempt + 1, False))

    def _arrives(self, now: float) -> tuple[bool, float | None]:
        """Whether a request is taken, and if not, how long the server asks to wait."""
        server, capacity = self.server, self.server.capacity(now)
        if not capacity:  # it is down: it turns away whatever comes, and cannot say for how long
            return False, None
        taken, each = self.free_at - now < server.queue_s, 1 / capacity
        self.free_at = max(self.free_at, now) + each * (1 if taken else server.refusal)
        if taken or not server.says_when:
            return taken, None
        self.promised = max(self.promised, now + 1) + each  # a place in line for each
        return False, self.promised - now

    def _answer(self, now: float, task: int, attempt: int) -> None:
        self.answered[task] = True
        if now < self.server.from_s < self.free_at + self.server.answer_s:
            heapq.heappush(self.next, (self.server.from_s, task, attempt, True))

    def outcome(self) -> Outcome:
        server = self.server
        met = [n for n, (at, _) in enumerate(self.tasks)
               if server.from_s - server.answer_s <= at < server.to_s]  # fmt: skip
        moments = [at for sent in self.sent for at in sent]
        seconds, tenths = [0] * int(UNTIL_S), [0] * int(10 * UNTIL_S)
        for at in moments:
            seconds[int(at)] += 1
            tenths[int(10 * at)] += 1
        return Outcome(
            len(self.tasks), len(moments), len(met),
            sum(len(self.sent[n]) for n in met) / max(1, len(met)),
            tuple(seconds), max(tenths),
            _share(self.answered[n] for n in met if self.tasks[n][1]),
            _share(self.answered[n] for n in met if not self.tasks[n][1]),
            max(0.0, self.last_refusal - server.to_s),
        )  # fmt: skip


def _tasks(server: Server, dice: random.Random) -> Iterator[tuple[float, bool]]:
    if not server.tasks_per_s:
        return
    at = dice.expovariate(server.tasks_per_s)
    while at < server.tasks_s:
        yield at, dice.random() >= server.background
        at += dice.expovariate(server.tasks_per_s)


def _share(answered: Iterator[bool]) -> float:
    values = list(answered)
    return sum(values) / len(values) if values else 1.0


# ---------------------------------------------------------------------------------- the policies


def no_retry(failed: Failed) -> float | None:
    """Give up at the first failure."""
    return None


def at_once(failed: Failed) -> float | None:
    """Ten more tries, each as soon as the last one failed."""
    return 0.0 if failed.attempt <= 11 else None


def every_second(failed: Failed) -> float | None:
    """Ten more tries, a second apart."""
    return 1.0 if failed.attempt <= 11 else None


def doubling(failed: Failed) -> float | None:
    """Three more tries after 0.5, 1 and 2 seconds."""
    return 0.5 * 2 ** (failed.attempt - 2) if failed.attempt <= 4 else None


def spread(failed: Failed) -> float | None:
    """The same, each wait shortened at random by up to a half."""
    wait = doubling(failed)
    dice = random.Random(f"{failed.client}/{failed.attempt}")
    return None if wait is None else wait * (0.5 + 0.5 * dice.random())


def packaged(failed: Failed) -> float | None:
    """What `agentlab.retry.Retry` says to a 529, each client with a seed of its own."""
    error = _overloaded(failed.asked_s)
    return Retry(seed=failed.client).wait(error, failed.attempt, foreground=failed.foreground)


@functools.cache
def _overloaded(asked_s: float | None) -> Exception:
    import anthropic
    import httpx2

    headers = {} if asked_s is None else {"retry-after": str(asked_s)}
    request = httpx2.Request("POST", "http://localhost/v1/messages")
    response = httpx2.Response(529, headers=headers, request=request)
    return anthropic.APIStatusError("Overloaded", response=response, body=None)


POLICIES: Mapping[str, Policy] = {
    "no retry": no_retry,
    "10 times at once": at_once,
    "10 times, every second": every_second,
    "3 times, doubling": doubling,
    "... and spread": spread,
    "... and not in the background": packaged,
}
SAYS_WHEN = "... and the server says when"


def compare(
    policies: Mapping[str, Policy] | None = None, server: Server | None = None, seed: int = 1
) -> StormChart:
    """The policies side by side, on the same tasks: an object that draws itself.

    Without ``policies``, the six of this module, and the packaged one again with a server that says
    when to come back.
    """
    from agentlab.views.storm_chart import StormChart

    server = server or Server()
    outcomes = {name: run(each, server, seed) for name, each in (policies or POLICIES).items()}
    if policies is None:
        outcomes[SAYS_WHEN] = run(packaged, replace(server, says_when=True), seed)
    return StormChart(outcomes, server)
