"""What a failed request means: which class of failure it is, and what to do about it.

The same trouble arrives in several forms: an HTTP status, an ``error`` event inside a stream that
HTTP had called a success, an exception of the transport, or a stream that simply ends. Here all of
them are read once, by type and status and never by searching their text, and sorted into the
classes that `agentlab.retry` has a rule for. The one exception is a conversation that is too long:
the API says so with a plain 400, so `too_long` has to read its words.

Nothing is decided here about waiting or repeating. Chapter 08.
"""

from __future__ import annotations

import email.utils
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime

_NUMBER = re.compile(r"\s*\d+(\.\d*)?\s*", re.ASCII)  # as HTTP writes it: no "1_0", no "nan"
ABSURD_S = 365 * 86_400.0  # a server that asks for a longer wait than a year is not believed


class StreamIncomplete(Exception):
    """The stream ended without its last event, so the message may be cut anywhere."""


# What the API writes into an error, and the status that it has outside of a stream
# (platform.claude.com/docs, errors; SDK 2.14.0, read 2026-11-30).
STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
SPENT = ("contract_spend_limit_reached", "enforced_spend_limit_reached")  # a 429 that stays one


def status_of(error: Exception) -> int:
    """The HTTP status of an error, 0 if the API did not answer.

    An error event comes inside a stream whose status was 200; its type says which status it would
    have had. A type that nobody knows yet counts as 500: the request itself had been accepted.
    """
    status = int(getattr(error, "status_code", 0) or 0)
    return STATUS.get(getattr(error, "type", None) or "", 500) if status == 200 else status


def kind_of(error: Exception) -> str:
    """``rate_limit``, ``overloaded``, ``connection`` or ``refused``: the classes of `Retry`.

    A server that says ``x-should-retry`` knows better: false makes any error ``refused``, and true
    makes one that would be refused ``overloaded``.
    """
    status = status_of(error)
    kind = "refused"
    if status == 429 and getattr(error, "error_code", None) not in SPENT:
        kind = "rate_limit"
    elif status >= 500 or status in (408, 409):
        kind = "overloaded"
    elif not status and _broken(error):
        kind = "connection"
    told = _headers(error).get("x-should-retry", "").strip().lower()
    if told == "false":
        return "refused"
    return "overloaded" if told == "true" and kind == "refused" else kind


def _broken(error: Exception) -> bool:
    """Whether there was no answer, or one that broke off: also a piece that is not JSON."""
    import anthropic
    import httpx2

    transport = (anthropic.APIConnectionError, httpx2.TransportError, httpx2.DecodingError)
    return isinstance(
        error, (StreamIncomplete, *transport, ConnectionError, TimeoutError, json.JSONDecodeError)
    )


def retry_after(error: Exception, now: datetime | None = None) -> float | None:
    """How many seconds the server asks to wait, None if it does not say.

    ``retry-after-ms`` goes before ``retry-after``, which is a number of seconds or a date (RFC
    9110, 10.2.3). A date counts from the answer's own ``date``, so that a wrong clock on this side
    does no harm, and from ``now`` if it has none. What cannot be meant is ignored: zero, negative,
    not a number, in the past, more than a year.
    """
    headers = _headers(error)
    milliseconds = _number(headers.get("retry-after-ms"))
    asked = [None if milliseconds is None else milliseconds / 1000]
    asked.append(_number(headers.get("retry-after")))
    if until := _date(headers.get("retry-after")):
        since = _date(headers.get("date")) or now or datetime.now(UTC)
        asked.append((until - since).total_seconds())
    return next((wait for wait in asked if wait is not None and 0 < wait <= ABSURD_S), None)


def _headers(error: Exception) -> Mapping[str, str]:
    headers: Mapping[str, str] = getattr(getattr(error, "response", None), "headers", None) or {}
    return headers


def _number(text: str | None) -> float | None:
    return float(text) if text and _NUMBER.fullmatch(text) else None


def _date(text: str | None) -> datetime | None:
    try:
        date = email.utils.parsedate_to_datetime(text or "")
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


# How endpoints say that a conversation does not fit: the API (400, as pasted in claude-code#12186
# and docker-agent#569), llama.cpp, and servers in OpenAI's manner. Read 2026-11-30.
_TOO_LONG = re.compile(
    r"prompt is too long|exceed(s|ed)? (the )?(available )?context (limit|size|length|window)"
    r"|maximum context length|context_length_exceeded|exceed_context_size",
    re.IGNORECASE,
)


def too_long(error: Exception) -> bool:
    """Whether the request was refused because the conversation is too long: compact it."""
    status = status_of(error)
    return status == 413 or (status == 400 and bool(_TOO_LONG.search(str(error))))


def end_status(error: Exception) -> str:
    """How a run ends that this error ends."""
    own = getattr(error, "end_status", "")
    return str(own) or ("window_exceeded" if too_long(error) else "error")


# ------------------------------------------------------------------------------------ in words

_HINTS = {
    401: "The endpoint does not accept this key. Set ANTHROPIC_API_KEY, or use connect().",
    402: "The account has no credit left. Add some where it is managed, or use connect().",
    403: "This key may not do that. Use another key or model, or ask whoever gave it to you.",
    404: "The endpoint does not know this model. Name one that it has: connect(model='...').",
    413: "The request is too large. Send less: compact the conversation, or begin a new one.",
    429: "The endpoint limits how much you may send. Wait a while, then ask again.",
    529: "The endpoint is overloaded. Nothing is wrong with the request; ask again in a minute.",
}
_TOO_LONG_HINT = "The conversation is too long for this model. Compact it, or begin a new one."
_SPENT_HINT = "This account has spent what it may. Waiting does not help; raise the limit first."
_REFUSED_HINT = "The endpoint refused the request, and would again; the message says what to mend."
_NO_ANSWER_HINT = "The endpoint failed or could not be reached. Is it running? Ask again to go on."


def hint(error: Exception) -> str:
    """What to do about an error of the endpoint, in one line."""
    status, own = status_of(error), getattr(error, "hint", "")
    if own:
        return str(own)
    if getattr(error, "error_code", None) in SPENT:
        return _SPENT_HINT
    if status in _HINTS:
        return _HINTS[status]
    if not 400 <= status < 500 or status in (408, 409):
        return _NO_ANSWER_HINT
    return _TOO_LONG_HINT if too_long(error) else getattr(error, "rule", "") or _REFUSED_HINT


def short(error: Exception) -> str:
    """An error in one line: the API's own message where there is one."""
    text = getattr(error, "api_message", None) or str(error) or type(error).__name__
    return " ".join(text.split())[:300]
