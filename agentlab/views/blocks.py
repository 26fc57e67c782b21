"""What the views read out of a message: its text, its blocks, and how long writing each took.

Views are also shown foreign or torn transcripts, so nothing here trusts the shape of what it is
given: what is missing or of the wrong type counts as empty.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from agentlab.clock import FIRST_TOKEN_S, TOKENS_PER_S
from agentlab.tokens import count_json, count_text

_KINDS = {
    "thinking": "thinking",
    "text": "text",
    "tool_use": "tool_call",
    "server_tool_use": "tool_call",
}


class Share(NamedTuple):
    """The stretch of time (seconds) that writing a block took, by estimate."""

    kind: str
    block: dict[str, Any]
    start: float
    end: float


def number(value: Any) -> float:
    """A finite number as it is, anything else as 0."""
    good = isinstance(value, (int, float)) and abs(value) < 1e15
    return float(value) if good and math.isfinite(value) else 0.0


def mapping(value: Any) -> dict[str, Any]:
    """A dict as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def blocks_of(message: Any) -> list[dict[str, Any]]:
    """The content blocks of a message (or of a tool's content); a string is one text block."""
    content = message.get("content") if isinstance(message, dict) else message
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )


def text_of(message: Any) -> str:
    """The text of a message or of a tool's content; what is not text is named: ``[image]``."""
    parts = []
    for block in blocks_of(message):
        if block.get("type") == "text":
            parts.append(str(block.get("text", "")))
        elif block.get("type") not in (*_KINDS, "redacted_thinking", "tool_result"):
            parts.append(f"[{block.get('type', 'block')}]")
    return "\n".join(parts)


def share_out(message: Any, usage: Any, start: float, end: float, waited: bool) -> list[Share]:
    """Share the time of a whole message out among its blocks, by their length.

    Only the two ends are known (seconds). A block gets the time that writing it takes at
    `TOKENS_PER_S`; if the model was waited for, what is left at the beginning was that. If they do
    not fit between ``start`` and ``end``, all shrink alike.
    """
    parts = []
    for block in blocks_of(message):
        kind = _KINDS.get(str(block.get("type")))
        if kind:
            parts.append((kind, block, _tokens(kind, block, usage) / TOKENS_PER_S))
    writing = sum(part for _, _, part in parts)
    waiting = max(FIRST_TOKEN_S, end - start - writing) if waited else 0.0
    scale = (end - start) / (waiting + writing) if waiting + writing else 0.0
    shares, at = [], start + waiting * scale
    for kind, block, part in parts:
        until = min(end, at + part * scale)
        shares.append(Share(kind, block, min(at, until), until))
        at = until
    return shares


def _tokens(kind: str, block: dict[str, Any], usage: Any) -> float:
    if kind == "tool_call":
        return count_json(block.get("input"))
    if kind == "text":
        return count_text(str(block.get("text", "")))
    # Thinking whose text is not shown is still counted.
    return count_text(str(block.get("thinking", ""))) or number(
        mapping(usage).get("thinking_tokens")
    )
