"""Bytes in and bytes out: reading a body, sending an answer, pacing it, breaking it off.

This is plain ASGI rather than request and response objects, because two things need it: speed (an
unpaced stream is sent as one piece) and faults (a connection that closes in the middle of a
stream, or before the first byte).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import Iterable
from typing import Any

from pydantic_core import from_json
from starlette.types import Receive, Scope, Send

from agentlab.simulator.rules import Rejected
from agentlab.simulator.sse import Event

MAX_BODY_BYTES = 32 * 1024 * 1024
MAX_BATCH_BYTES = 256 * 1024 * 1024
TRANSPORT = "agentlab.transport"  # the key in the scope under which the connection is kept
Headers = dict[str, str]


class Gone(Exception):
    """The client closed the connection."""


async def read_body(scope: Scope, receive: Receive, max_bytes: int | None = None) -> bytes:
    """The body of a request. Raises `Rejected` (413) beyond so many bytes, 32 MB by default."""
    max_bytes = MAX_BODY_BYTES if max_bytes is None else max_bytes
    declared = headers_of(scope).get("content-length", "")
    too_large = declared.isdigit() and int(declared) > max_bytes
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        too_large = too_large or size > max_bytes
        if not too_large:
            parts.append(part)
    if too_large:  # after reading it all: a client that is still sending would not see the answer
        message_text = "Request exceeds the maximum size"
        raise Rejected("size", message_text, status=413, kind="request_too_large")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def parse(raw: bytes) -> dict[str, Any]:
    """The body as a dict. Raises `Rejected` if it is not a JSON object in valid Unicode."""
    try:
        body = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise Rejected("json", f"The request body is not valid JSON: {_detail(error)}") from None
    if not isinstance(body, dict):
        raise Rejected("field", "Input should be a valid dictionary")
    return body


def _detail(error: ValueError) -> str:
    """The parser's complaint in the API's form: ``expected value: line 1 column 1 (char 0)``."""
    what, _, place = str(error).rpartition(" at ")
    if "surrogate" in what or "hex escape" in what:
        what = "no low surrogate in string"
    column = place.rpartition(" ")[2]
    char = f" (char {int(column) - 1})" if column.isdigit() and int(column) else ""
    return f"{what}: {place}{char}"


def headers_of(scope: Scope) -> Headers:
    """The headers of a request, with lower-case names."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


async def send_json(send: Send, status: int, data: dict[str, Any], headers: Headers) -> None:
    """Send a whole answer."""
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    await send_bytes(send, status, body, headers, "application/json")


async def send_bytes(
    send: Send, status: int, body: bytes, headers: Headers, content_type: str
) -> None:
    """Send a whole answer that is written already."""
    about = {"content-type": content_type, "content-length": str(len(body))}
    await _begin(send, status, headers | about)
    await send({"type": "http.response.body", "body": body})


async def send_events(
    scope: Scope,
    receive: Receive,
    send: Send,
    events: Iterable[Event],
    headers: Headers,
    *,
    speed: float = 0.0,
    content_type: str = "text/event-stream; charset=utf-8",
) -> None:
    """Send a stream of events, at ``speed`` tokens a second or, if that is 0, all at once.

    Two names of events are not sent but done: ``stall`` waits for as many seconds as it has
    tokens, ``cut`` breaks the connection.
    """
    events = list(events)  # what goes wrong in making them goes wrong before the answer begins
    await _begin(send, 200, headers | {"content-type": content_type, "cache-control": "no-cache"})
    watch: asyncio.Task[None] | None = None
    waiting: list[bytes] = []
    try:
        for event in events:
            if event.name not in ("stall", "cut"):
                waiting.append(event.data)
            pause = event.tokens if event.name == "stall" else event.tokens / speed if speed else 0
            if not pause and event.name != "cut":
                continue
            await send({"type": "http.response.body", "body": b"".join(waiting), "more_body": True})
            waiting = []
            if event.name == "cut":
                await break_off(scope, receive)
                return
            watch = watch or asyncio.ensure_future(_until_gone(receive))
            await asyncio.wait([watch], timeout=pause)
            if watch.done():
                return
        await send({"type": "http.response.body", "body": b"".join(waiting)})
    finally:
        if watch:
            watch.cancel()


async def break_off(scope: Scope, receive: Receive, *, reset: bool = False) -> None:
    """Close the connection under the client, with a TCP reset if ``reset``."""
    transport = scope.get(TRANSPORT)
    if transport is None:
        raise RuntimeError("this server cannot break connections off; serve with uvicorn")
    if reset:
        with contextlib.suppress(OSError, AttributeError):
            linger = struct.pack("ii", 1, 0)
            peer = transport.get_extra_info("socket")
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    transport.abort()
    await _until_gone(receive)


async def _begin(send: Send, status: int, headers: Headers) -> None:
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
