"""Which failed requests are worth repeating, and after how long.

Only failures that can pass by themselves are repeated: an overloaded or broken server, a rate
limit, a connection that broke, a stream that ended in the middle. A request the server refused
(400, 401, 404 ...) is refused again if it is sent again. The SDK's own retries are off, so that
every attempt is seen, as a ``model.retry`` event. Chapter 08 builds the full policy.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 8.0


class StreamIncomplete(Exception):
    """The stream ended without its last event, so the message may be cut anywhere."""


@dataclass(frozen=True)
class Retry:
    """``attempts`` more tries after the first; a wait longer than ``max_wait_s`` is not waited."""

    attempts: int = 2
    max_wait_s: float = 60.0

    def wait(self, error: Exception, attempt: int) -> float | None:
        """Seconds to wait before try number ``attempt`` (2 is the second), or None: give up."""
        if attempt > self.attempts + 1 or not transient(error):
            return None
        asked = _retry_after(error)
        wait = (
            asked if asked is not None else min(FIRST_WAIT_S * 2 ** (attempt - 2), LONGEST_WAIT_S)
        )
        return wait if wait <= self.max_wait_s else None


def transient(error: Exception) -> bool:
    """True if the same request may succeed later."""
    import anthropic
    import httpx2

    if isinstance(error, (StreamIncomplete, anthropic.APIConnectionError, httpx2.TransportError)):
        return True
    if not isinstance(error, anthropic.APIStatusError):
        return False
    told = error.response.headers.get("x-should-retry")
    if told in ("true", "false"):
        return told == "true"
    if error.status_code == 200:  # an error event inside a stream
        return error.type in ("overloaded_error", "api_error", "rate_limit_error", "timeout_error")
    return error.status_code in (408, 409, 429) or error.status_code >= 500


def _retry_after(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", {})
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / unit)
        except (KeyError, ValueError):
            continue
    return None
