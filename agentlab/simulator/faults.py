"""Faults on purpose: what can go wrong between a harness and an API, when you want it to.

    simulator.faults.add(Fault("status", status=529, calls=[1, 2]))   # the next two calls
    simulator.faults.add(Fault("cut_dirty", probability=0.1, seed=7))  # one in ten, repeatable
    stall = simulator.faults.add(Fault("stall", seconds=60))           # every call …
    stall.on = False                                                   # … until switched off
    simulator.faults.add(Fault("loop", times=2))           # twice, at the first calls that it can

Calls are requests for a message, counted from when the fault was added; retries count. Of several
faults the first that applies is played; one that then finds nothing to spoil, as ``bad_json`` in a
reply without a tool call, was not played. The same can be written in a JSON file, see
`load_faults`. In a notebook, `agentlab.views.Board` has a switch for each of the common ones.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

Kind = Literal[
    "status",  # an HTTP status with its error envelope, and headers
    "refuse",  # the connection is closed without a byte: to the SDK, a connection error
    "reset",  # the connection is reset without a byte
    "cut_clean",  # the stream ends early, as if it were complete
    "cut_dirty",  # the connection breaks in mid-stream
    "error_event",  # an `error` event in mid-stream
    "stall",  # silence in mid-stream
    "bad_json",  # tool input that is not JSON
    "truncate",  # cut off after some tokens, stop reason max_tokens
    "duplicate_ids",  # a tool call takes the id of an earlier one
    "blank_ids",  # tool calls with an empty id
    "empty",  # a message without content
    "unknown_event",  # an event type that nobody knows yet
    "unknown_block",  # a block type that nobody knows yet
    "unknown_stop",  # a stop reason that nobody knows yet
    "loop",  # the model makes its last tool call again, instead of going on
]
KINDS: tuple[str, ...] = get_args(Kind)
AT_ONCE = frozenset(("status", "refuse", "reset"))  # played before the request is looked at

ERRORS = {  # HTTP status -> error type and message
    400: ("invalid_request_error", "Bad request"),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "Your credit balance is too low to access the Anthropic API."),
    403: ("permission_error", "Your API key does not have permission to use this resource."),
    404: ("not_found_error", "Not found"),
    408: ("timeout_error", "Request timed out"),
    409: ("conflict_error", "Conflict"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your organization's rate limit."),
    500: ("api_error", "Internal server error"),
    504: ("timeout_error", "Request timed out"),
    529: ("overloaded_error", "Overloaded"),
}


class FaultError(Exception):
    """A file of faults that cannot be used; the text says where and what is allowed."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Fault:
    """One fault. Without ``calls``, ``probability`` and ``times`` it is played at every call."""

    kind: Kind
    calls: tuple[int, ...] = ()  # which calls, counted from 1
    probability: float | None = Field(default=None, ge=0, le=1)  # of each call
    seed: int = 0  # same seed, same calls
    times: int | None = Field(default=None, ge=1)  # at most so often
    model: str = ""  # only for requests for this model
    status: int = Field(default=529, ge=400, le=599)  # for status, and for error_event
    message: str = ""  # default: what the API says with that status
    error_type: str = ""  # default: the one that belongs to the status
    error_code: str = ""
    headers: dict[str, str] = Field(default_factory=dict)  # such as {"retry-after": "2"}
    after: int = Field(default=3, ge=0)  # events sent before cut, stall, error or unknown event
    seconds: float = Field(default=3600.0, ge=0)  # of a stall; they really pass
    tokens: int | None = Field(default=None, ge=0)  # left by truncate; None: all but the last few

    def applies(self, call: int, model: str) -> bool:
        """Whether the fault is played at that call."""
        if self.model and self.model != model:
            return False
        if self.calls:
            return call in self.calls
        if self.probability is not None:
            return random.Random(f"{self.seed}/{call}").random() < self.probability
        return True

    def envelope(self, request_id: str) -> dict[str, Any]:
        """The error envelope of ``status`` and ``error_event``."""
        family = ERRORS.get(self.status) or ERRORS[400 if self.status < 500 else 500]
        error: dict[str, Any] = {
            "type": self.error_type or family[0],
            "message": self.message or family[1],
        }
        if self.error_code:
            error["details"] = {"error_code": self.error_code}
        return {"type": "error", "error": error, "request_id": request_id}


class Armed:
    """A fault that was added. Set ``on`` to False to switch it off, and to True again.

    ``tell`` is called, in the server's thread, when it was played.
    """

    def __init__(self, fault: Fault, tell: Callable[[], None] | None = None) -> None:
        self.fault = fault
        self.tell = tell
        self.on = True
        self.calls = 0  # calls since it was added
        self.played = 0  # how often it was played

    @property
    def spent(self) -> bool:
        """Whether it was played as often as it may be."""
        return self.fault.times is not None and self.played >= self.fault.times

    def __repr__(self) -> str:
        state = "on" if self.on else "off"
        return f"<{self.fault.kind}, {state}, played {self.played} of {self.calls} calls>"


class Faults:
    """The faults of a simulator. ``on`` is the switch for all of them."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self.on = True
        self._armed: list[Armed] = [Armed(fault) for fault in faults]
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Armed]:
        return iter(list(self._armed))

    def __len__(self) -> int:
        return len(self._armed)

    def __repr__(self) -> str:
        return f"<faults {'on' if self.on else 'off'}: {list(self._armed)}>"

    def add(self, fault: Fault, tell: Callable[[], None] | None = None) -> Armed:
        """Arm a fault; the answer is its switch. ``tell`` is called when it was played."""
        armed = Armed(fault, tell)
        with self._lock:
            self._armed.append(armed)
        return armed

    def remove(self, armed: Armed) -> None:
        """Take one fault away; nothing happens if it is not there any more."""
        with self._lock, suppress(ValueError):
            self._armed.remove(armed)

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._armed.clear()

    def pick(self, model: str = "") -> Fault | None:
        """Count one call for every fault, and choose the first that is played at it."""
        with self._lock:
            chosen: Armed | None = None
            for armed in self._armed:
                armed.calls += 1
                ready = self.on and armed.on and not armed.spent
                if ready and chosen is None and armed.fault.applies(armed.calls, model):
                    chosen = armed
            if chosen is None:
                return None
            chosen.played += 1
        if chosen.tell:
            chosen.tell()
        return chosen.fault

    def put_back(self, fault: Fault) -> None:
        """A fault that was picked found nothing to spoil, so it was not played."""
        armed = next((a for a in self if a.fault is fault and a.played), None)
        if armed is not None:
            with self._lock:
                armed.played -= 1
            if armed.tell:
                armed.tell()


def load_faults(path: str | Path) -> list[Fault]:
    """The faults in a JSON file: a list of objects with the fields of `Fault`.

        [{"kind": "status", "status": 529, "calls": [1, 2]},
         {"kind": "stall", "seconds": 5, "probability": 0.1, "seed": 7}]

    Raises FaultError, which names the file, the entry, the field and what is allowed.
    """
    path = Path(path)
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise FaultError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise FaultError(f"{path}: is not JSON ({error})") from None
    if not isinstance(data, list):
        raise FaultError(f"{path}: should be a list of faults, such as " + _EXAMPLE)
    return [_fault(entry, f"{path}: fault {number}") for number, entry in enumerate(data, 1)]


_EXAMPLE = '[{"kind": "status", "status": 529, "calls": [1, 2]}]'
_ADAPTER = TypeAdapter(Fault)


def _fault(entry: Any, place: str) -> Fault:
    if not isinstance(entry, dict):
        raise FaultError(f"{place}: should be an object, such as {_EXAMPLE[1:-1]}")
    allowed = [field.name for field in fields(Fault)]
    for name in entry:
        if name not in allowed:
            raise FaultError(f"{place}: no field {name!r}. Allowed: {', '.join(allowed)}")
    if "kind" not in entry:
        raise FaultError(f"{place}: 'kind' is missing. Allowed: {', '.join(KINDS)}")
    try:
        return _ADAPTER.validate_python(entry)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise FaultError(f"{place}: {name}: {first['msg']}, not {first['input']!r}") from None
