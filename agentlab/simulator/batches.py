"""Message batches: many requests in one, answered later and at half the price.

A batch is processed on the simulator's clock. Nobody works on it in the background: its requests
come due one after another, evenly over `SECONDS`, and are played when somebody looks after the
batch has ended. So a harness with a virtual clock polls without waiting:

    while (batch := await client.messages.batches.retrieve(batch.id)).processing_status != "ended":
        await clock.sleep(30)

Looking moves no clock. What is not due when a batch is cancelled is cancelled, and what is not due
after 24 hours has expired. Until the end the counts show only what is processing.

Sources: the SDK's types, anthropic 2.14.0, and the vendor's page on batches, through public copies.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from agentlab.simulator.rules import Rejected
from agentlab.simulator.schema import check_shape
from agentlab.simulator.schema_context import BatchCreate

SECONDS = 60.0  # that a batch takes; an assumption. The real ones mostly take less than an hour
CANCEL_SECONDS = 5.0  # until a cancelled batch has ended; an assumption as well
EXPIRES_S = 24 * 3600.0
KEPT_S = 29 * 24 * 3600.0  # how long the results can be read, counted from the creation
COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
Result = dict[str, Any]
Process = Callable[[dict[str, Any], float], Result]  # params and when they came due -> its result


@dataclass
class Batch:
    """One batch. Times are seconds on the simulator's clock.

    The texts of what it refuses were not found; only the rules are documented.
    """

    id: str
    requests: list[dict[str, Any]]
    headers: dict[str, str]  # of the request that created it: they hold for each of its requests
    created: float
    born: datetime.datetime  # the same moment on the calendar
    seconds: float = SECONDS
    cancelled: float | None = None
    results: list[Result] | None = None  # None: nobody has looked since it ended

    @property
    def ended(self) -> float:
        """When it ends, or ended."""
        natural = self.created + min(self.seconds, EXPIRES_S)
        return natural if self.cancelled is None else min(natural, self.cancelled + CANCEL_SECONDS)

    def due(self, number: int) -> float:
        """When its request with that number (from 0) is answered."""
        return self.created + self.seconds * (number + 1) / len(self.requests)

    def settle(self, now: float, process: Process) -> None:
        """If it has ended, play the requests that came due and give the others their result."""
        if self.results is not None or now < self.ended:
            return
        stop = self.created + EXPIRES_S if self.cancelled is None else self.cancelled
        rest = "expired" if self.cancelled is None else "canceled"
        self.results = []
        for number, request in enumerate(self.requests):
            due = self.due(number)
            result = process(request["params"], due) if due <= stop else {"type": rest}
            self.results.append({"custom_id": request["custom_id"], "result": result})

    def status(self, now: float) -> str:
        """in_progress, canceling or ended."""
        if now >= self.ended:
            return "ended"
        return "in_progress" if self.cancelled is None else "canceling"

    def to_dict(self, now: float, base_url: str) -> dict[str, Any]:
        """The batch as the API shows it."""
        over = self.results is not None
        kinds = Counter(line["result"]["type"] for line in self.results or ())
        counts = {kind: kinds[kind] for kind in COUNTS}
        if not over:
            counts["processing"] = len(self.requests)
        gone = self.is_archived(now)
        url = f"{base_url}/v1/messages/batches/{self.id}/results"
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": self.status(now),
            "request_counts": counts,
            "created_at": self._date(self.created),
            "expires_at": self._date(self.created + EXPIRES_S),
            "ended_at": self._date(self.ended) if over else None,
            "archived_at": self._date(self.created + KEPT_S) if gone else None,
            "cancel_initiated_at": self._date(self.cancelled),
            "results_url": url if over and not gone else None,
        }

    def cancel(self, now: float) -> None:
        """Begin to cancel. Raises `Rejected` if it has ended; a second time changes nothing."""
        if self.status(now) == "ended":
            message = f"Message Batch '{self.id}' has ended and cannot be canceled."
            raise Rejected("batch-state", message)
        self.cancelled = now if self.cancelled is None else self.cancelled

    def read(self, now: float) -> list[Result]:
        """Its results. Raises `Rejected` while there are none, and 29 days later."""
        if self.results is None or self.is_archived(now):
            why = "not yet" if self.results is None else "no longer"
            message = f"The results of Message Batch '{self.id}' are {why} available."
            raise Rejected("batch-state", message, status=404, kind="not_found_error")
        return self.results

    def is_archived(self, now: float) -> bool:
        """Whether its results can no longer be read."""
        return now >= self.created + KEPT_S

    def _date(self, at: float | None) -> str | None:
        if at is None:
            return None
        moment = self.born + datetime.timedelta(seconds=at - self.created)
        return moment.isoformat().replace("+00:00", "Z")


@dataclass
class Batches:
    """All batches of a simulator. ``seconds``: how long the next ones take."""

    seconds: float = SECONDS
    _all: dict[str, Batch] = field(default_factory=dict)
    _made: int = 0

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, id: str) -> bool:
        return id in self._all

    def create(
        self, body: dict[str, Any], raw: bytes, headers: dict[str, str], now: float,
        born: datetime.datetime,
    ) -> Batch:  # fmt: skip
        """A new batch. Raises `Rejected` if it is none; its requests are checked later."""
        check_batch(body)
        self._made += 1
        digest = blake2b(raw + str(self._made).encode(), digest_size=12).hexdigest()
        batch = Batch(f"msgbatch_{digest}", body["requests"], headers, now, born, self.seconds)
        self._all[batch.id] = batch
        return batch

    def get(self, id: str) -> Batch:
        """The batch of that id. Raises `Rejected` (404)."""
        if id not in self._all:
            message = f"Message Batch '{id}' not found."
            raise Rejected("batch-state", message, status=404, kind="not_found_error")
        return self._all[id]

    def newest_first(self) -> Iterable[Batch]:
        """All batches, as the API lists them."""
        return reversed(self._all.values())

    def delete(self, batch: Batch, now: float) -> None:
        """Forget a batch. Raises `Rejected` while it is processing."""
        if batch.status(now) != "ended":
            message = f"Message Batch '{batch.id}' is still processing. Cancel it first."
            raise Rejected("batch-state", message)
        del self._all[batch.id]


def check_batch(body: dict[str, Any]) -> None:
    """Raise `Rejected` for a batch that is refused as a whole.

    The texts for a bad id are the API's own; for an id given twice and for streams only the rule is
    known.
    """
    try:
        check_shape(BatchCreate, body)
    except Rejected as rejected:
        raise Rejected("batch", rejected.message) from None
    seen: dict[str, int] = {}
    for number, request in enumerate(body["requests"]):
        id = request["custom_id"]
        if id in seen:
            raise Rejected(
                "batch",
                f"requests.{number}.custom_id: custom_id must be unique within a batch. "
                f"'{id}' is also that of requests.{seen[id]}.",
            )
        seen[id] = number
        if request["params"].get("stream"):
            message = f"requests.{number}.params.stream: streaming is not supported in a batch"
            raise Rejected("batch", message)
