"""A message as a stream of server-sent events, in the shapes of the real API.

Each event is a name, its bytes on the wire, and the tokens it carries, so that the server can pace
the stream and faults can find their place in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from agentlab.simulator.reply import Reply
from agentlab.tokens import CHARS_PER_TOKEN

# A few words: up to 24 characters, ending before white space where possible.
_PIECES = re.compile(r"[\s\S]{1,24}(?=\s|$)|[\s\S]{1,24}")
# What is known of the usage only when the stream ends.
_AT_THE_END = ("output_tokens_details", "iterations")
# A tool call that is cut off has no content_block_stop.
_CUT_OFF = ("max_tokens", "model_context_window_exceeded")


class Event(NamedTuple):
    """One event of the stream."""

    name: str
    data: bytes
    tokens: float = 0.0


def event(name: str, tokens: float = 0.0, **data: Any) -> Event:
    """An event with that data; its ``type`` is its name."""
    text = json.dumps({"type": name, **data}, ensure_ascii=False, separators=(",", ":"))
    return Event(name, f"event: {name}\ndata: {text}\n\n".encode(), tokens)


def events(reply: Reply) -> Iterator[Event]:
    """The stream of a reply."""
    usage = {k: v for k, v in reply.usage.items() if k not in _AT_THE_END}
    edits = {k: v for k, v in reply.extra.items() if k == "context_management"}
    opened = {
        **reply.message(),
        **dict.fromkeys(edits),  # null until the end
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
        "usage": {**usage, "output_tokens": 1},
    }
    yield event("message_start", message=opened)
    for index, block in enumerate(reply.content):
        last = index == len(reply.content) - 1
        yield _start(index, block)
        if index == 0:
            yield _PING
        partial = reply.partial_json if last else None
        yield from _deltas(index, block, partial)
        if partial is None or reply.stop_reason not in _CUT_OFF:
            yield event("content_block_stop", index=index)
    if not reply.content:
        yield _PING
    delta: dict[str, Any] = {"stop_reason": reply.stop_reason}
    delta["stop_sequence"] = reply.stop_sequence
    if reply.stop_details is not None:
        delta["stop_details"] = reply.stop_details
    usage = {k: v for k, v in reply.usage.items() if k not in ("service_tier", "cache_creation")}
    yield event("message_delta", delta=delta, usage=usage, **edits)
    yield event("message_stop")


_PING = event("ping")


def _start(index: int, block: dict[str, Any]) -> Event:
    kind = block["type"]
    if kind == "text":
        opened = {**block, "text": ""}
    elif kind == "thinking":
        opened = {"type": kind, "thinking": "", "signature": ""}
    elif kind in ("tool_use", "server_tool_use"):
        opened = {**block, "input": {}}
    elif kind == "compaction" and "signature" not in block:
        opened = {**block, "content": None}
    else:
        opened = block  # server tools' results, redacted thinking, signed summaries arrive whole
    return event("content_block_start", index=index, content_block=opened)


def _deltas(index: int, block: dict[str, Any], partial: str | None) -> Iterator[Event]:
    kind = block["type"]
    if kind == "text":
        yield from _split(index, "text_delta", "text", block["text"])
    elif kind == "thinking":
        yield from _split(index, "thinking_delta", "thinking", block["thinking"])
        if block["signature"]:
            signature = {"type": "signature_delta", "signature": block["signature"]}
            yield event("content_block_delta", index=index, delta=signature)
    elif kind in ("tool_use", "server_tool_use"):
        written = partial
        if written is None:
            written = json.dumps(block["input"], ensure_ascii=False)
        yield _delta(index, "input_json_delta", "partial_json", "")
        yield from _split(index, "input_json_delta", "partial_json", written)
    elif kind == "compaction" and "signature" not in block:  # in one piece
        yield _delta(index, "compaction_delta", "content", block["content"])


def _split(index: int, kind: str, key: str, text: str) -> Iterator[Event]:
    for piece in _PIECES.findall(text):
        yield _delta(index, kind, key, piece)


def _delta(index: int, kind: str, key: str, piece: str) -> Event:
    # Written out because it is most of every stream; the result is the same as that of `event`.
    data = (
        f'event: content_block_delta\ndata: {{"type":"content_block_delta","index":{index},'
        f'"delta":{{"type":"{kind}","{key}":{json.dumps(piece)}}}}}\n\n'
    )
    return Event("content_block_delta", data.encode(), len(piece) / CHARS_PER_TOKEN)
