"""How the inspector words the blocks of a message: in one line, and as JSON to read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from agentlab.views.blocks import mapping
from agentlab.views.page import shorten
from agentlab.views.palette import PAIRS
from agentlab.views.requests import Request
from agentlab.views.wire import Wire
from agentlab.views.wording import one_line, plural, tokens

FIRST, LAST = 10, 40  # messages of a request, blocks of a message, that are drawn
GIST = 140  # characters of a block that are seen before it is unfolded
_PAINTED = {
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "tool_call",
    "server_tool_use": "tool_call",
    "system": "system",
    "tool": "tools",
}


def gist(block: dict[str, Any]) -> str:
    """A block in one line."""
    kind = block.get("type")
    if kind in ("tool_use", "server_tool_use"):
        words = f"{block.get('name', '')} {compact(block.get('input'))}"
    elif kind == "tool_result":
        content = block.get("content")
        words = content if isinstance(content, str) else compact(content)
    else:
        held = block.get("text", block.get("thinking"))
        words = held if isinstance(held, str) else compact(block)
    return one_line(words, GIST)


def pretty(value: Any) -> str:
    """JSON to read: long strings and lists cut, what cannot be seen as escapes."""
    text = json.dumps(shorten(value), indent=2, ensure_ascii=False)
    return re.sub(
        r"[\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]",
        lambda found: f"\\u{ord(found[0]):04x}",
        text,
    )


def paint_of(kind: str, role: str) -> str:
    """The kind, in the words of the palette, of a block in a message of ``role``."""
    if kind.endswith("tool_result"):
        return "tool_result"
    return _PAINTED.get(kind) or ("text" if role == "assistant" else "user")


def pair_of(wire: Wire, request: Request, block: dict[str, Any]) -> int:
    """The number that a call shares with its result; 0 for other blocks."""
    call = block.get("id") or block.get("tool_use_id")
    agent = request.agent or wire.main or "main"
    return wire.pairs.get((agent, call), 0) if isinstance(call, str) else 0


def numbered(value: Any, wire: Wire, request: Request) -> Any:
    """A block whose ids are numbers, and whose signature is left out."""
    block = dict(mapping(value)) or value
    call = pair_of(wire, request, mapping(value))
    for key in ("id", "tool_use_id"):
        if call and key in block:
            block[key] = f"call {call}"
    if isinstance(block, dict) and "signature" in block:
        block["signature"] = "…"
    return block


def tag(call: int) -> str:
    paint = PAIRS[call % len(PAIRS)]
    style = f"padding:0 5px;border-radius:8px;background-color:{paint.fill};color:{paint.ink}"
    return f'<span class="agentlab-pair" style="{style}">call {call}</span>'


def ends(items: Sequence[int]) -> list[int | str]:
    """The items, or if there are many the first and the last with words in the middle."""
    more = len(items) - FIRST - LAST
    if more <= 0:
        return list(items)
    return [*items[:FIRST], f"… {more} more", *items[-LAST:]]


def summary(request: Request) -> str:
    """A request in one line: how much of it is new, and its tokens."""
    parts = [plural(request.messages, "message")]
    if request.compacted:
        parts.append("after a compaction all of them new")
    if request.sent or request.missing:
        parts.append(f"{len(request.new)} new")
    if request.missing:
        parts.append(f"{request.missing} from before these events, not known")
    counted = "" if request.usage else "~"
    parts.append(f"{counted}{tokens(request.tokens)} tokens")
    if request.cached:
        parts.append(f"{tokens(request.cached)} from the cache")
    if request.attempts > 1:
        parts.append(f"sent {request.attempts} times")
    return ", ".join(parts)


def compact(value: Any) -> str:
    return json.dumps(shorten(value), ensure_ascii=False, separators=(", ", ": "))
