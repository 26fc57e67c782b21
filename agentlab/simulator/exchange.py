"""One request on its way through the server, and what its answers have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from starlette.types import Receive, Scope, Send

from agentlab.simulator.betas import PLAYED


@dataclass
class Exchange:
    """One request on its way through the server."""

    scope: Scope
    receive: Receive
    send: Send
    headers: dict[str, str]
    raw: bytes = b""
    body: dict[str, Any] = field(default_factory=dict)
    request_id: str = ""
    facts: dict[str, Any] = field(default_factory=dict)  # for the log
    at: float | None = None  # when it is answered, if not now: seconds on the simulator's clock
    batched: bool = False  # one of a batch

    @property
    def answer_headers(self) -> dict[str, str]:
        return {"request-id": self.request_id, "agentlab-simulator": "1"}


def request_id_of(seed: bytes) -> str:
    """An id for a request, made from its body: the same request, the same id."""
    return "req_" + blake2b(seed, digest_size=12).hexdigest()


def error_envelope(kind: str, message: str, request_id: str) -> dict[str, Any]:
    """The error envelope of the API."""
    return {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": request_id,
    }


def tamed(body: dict[str, Any]) -> dict[str, Any]:
    """The body of a request that was not validated, without what is not of the right type.

    What a beta would have the server do to the prompt is left out as well.
    """
    kinds: dict[str, type] = {
        "thinking": dict,
        "tool_choice": dict,
        "max_tokens": int,
        "stop_sequences": list,
    }
    tame: dict[str, Any] = {
        k: v for k, v in body.items() if isinstance(v, kinds.get(k, object)) and k not in PLAYED
    }
    sequences = [s for s in tame.get("stop_sequences", ()) if isinstance(s, str)]
    return {**tame, "stop_sequences": sequences}


def speed_of(headers: dict[str, str], default: float) -> float:
    """The speed that a request asks for, in tokens a second."""
    try:
        return max(0.0, float(headers.get("agentlab-speed", default)))
    except ValueError:
        return default
