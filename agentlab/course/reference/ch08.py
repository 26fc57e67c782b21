"""Chapter 08: which errors deserve another attempt, and a loop that waits and asks again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic

TRIES = {"rate limit": 10, "overloaded": 3, "connection": 1, "refused": 0}
IN_STREAM = {
    "rate_limit_error": 429,
    "overloaded_error": 529,
    "api_error": 500,
    "timeout_error": 504,
}


class Incomplete(ConnectionError):
    """The stream ended without its last event."""


def kind_of(error: Exception) -> str:
    """What an error deserves; an error event in a stream has status 200 and says what it is."""
    status = getattr(error, "status_code", None) or 0
    if status == 200:
        status = IN_STREAM.get(getattr(error, "type", None) or "", 400)
    if status == 429:
        return "rate limit"
    if status in (408, 409) or status >= 500:
        return "overloaded"
    broken = (anthropic.APIConnectionError, ConnectionError)
    return "connection" if isinstance(error, broken) else "refused"


def wait_before(
    attempt: int,
    error: Exception,
    waited: float = 0.0,
    foreground: bool = True,
    most: float = 120.0,
) -> float | None:
    """Seconds to wait before that attempt (2 is the second), or None: give up."""
    kind = kind_of(error)
    tries = 0 if kind == "overloaded" and not foreground else TRIES[kind]
    if attempt > 1 + tries:
        return None
    response = getattr(error, "response", None)
    try:
        wait = float(response.headers["retry-after"]) if response is not None else 0.0
    except (KeyError, ValueError):
        wait = 0.0
    if not 0 < wait < float("inf"):
        wait = min(0.5 * 2 ** (attempt - 2), 16.0) * (0.5 + 0.5 * random.random())
    return wait if waited + wait <= most else None


async def retrying(
    call: Callable[[], Awaitable[Any]],
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    foreground: bool = True,
) -> Any:
    """Call, and call again as long as the errors deserve it."""
    attempt, waited = 1, 0.0
    while True:
        try:
            return await call()
        except (anthropic.APIError, ConnectionError) as error:
            attempt += 1
            wait = wait_before(attempt, error, waited, foreground)
            if wait is None:
                raise
        await sleep(wait)
        waited += wait
