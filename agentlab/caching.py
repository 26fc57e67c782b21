"""The prompt cache: where the breakpoints go, and why a prefix was lost.

A history is sent again at every turn, so all turns together cost about the square of their number.
The server can keep what it has read: a request marks up to four places with ``cache_control``, and
the next request pays a fraction for everything up to a marked place, if it begins with exactly the
same bytes. So three things are wanted of a harness: mark the right places (`with_breakpoints`),
never change what was sent, and, if it was changed after all, say where and why (`prefix_report`).

The order is fixed: tools, system prompt, messages. One change invalidates everything behind it.
A cached prefix lives five minutes from its last use (an hour if asked for), and one that is too
short is silently not cached. Source: the vendor's prompt caching page, 2026-10.

Built in chapter 09.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agentlab.prefix_report import PrefixReport as PrefixReport
from agentlab.prefix_report import prefix_report as prefix_report

Part = dict[str, Any]
MOST = 4  # marks that a request may have; the API refuses a fifth
# What may carry a mark, by the SDK's types (anthropic 2.14.0, 2026-11). Thinking may not.
CARRIERS = frozenset(
    (
        "text", "image", "document", "search_result", "tool_use", "server_tool_use",
        "tool_result", "container_upload",
    )
)  # fmt: skip


def with_breakpoints(request: Part, *, ttl: str = "5m") -> Part:
    """The request with up to four breakpoints, as a new dict; nothing in the old one is changed.

    Marked are the last tool, the system prompt, the end of the last message, and the place where
    the request before this one ended. That one is looked up exactly: from a mark the server looks
    back over no more than 20 blocks, and one turn can add more. ``ttl``: how long it lasts, 5m or
    1h. A request that has a mark already is left as it is: whoever sets one sets them all.
    """
    if has_breakpoints(request):
        return request
    mark = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
    made = dict(request)
    if request.get("tools"):
        made["tools"] = _marked(request["tools"], lambda tool: not tool.get("defer_loading"), mark)
    if request.get("system"):
        made["system"] = _marked(_blocks(request["system"]), may_carry, mark)
    messages = list(map(_with_blocks, request.get("messages") or ()))
    for end in {len(messages) - 1, previous_end(messages)}:
        place = _carrier(messages, end)
        if place is not None:
            index, number = place
            content = list(messages[index]["content"])
            content[number] = {**content[number], "cache_control": mark}
            messages[index] = {**messages[index], "content": content}
    return {**made, "messages": messages}


def previous_end(messages: Sequence[Part]) -> int:
    """The message that the request before this one ended with, or -1.

    Each request is answered, so it is the message before the last one of the assistant.
    """
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].get("role") == "assistant":
            return index - 1
    return -1


def has_breakpoints(request: Part) -> bool:
    """Whether there is a ``cache_control`` anywhere in the request."""
    if request.get("cache_control") or _any_marked(request.get("tools")):
        return True
    contents = [m.get("content") for m in request.get("messages") or ()]
    return any(map(_any_marked, (request.get("system"), *contents)))


def _any_marked(parts: Any) -> bool:
    """Whether one of the tools or blocks is marked, or a block within a result."""
    if isinstance(parts, list):
        for part in parts:
            if not isinstance(part, dict):
                continue  # an object of the SDK: no reply has a mark
            if part.get("cache_control"):
                return True
            if "tool_use_id" in part and _any_marked(part.get("content")):
                return True
    return False


def may_carry(block: Part) -> bool:
    """Whether a block may be marked. Thinking and empty text may not."""
    kind = str(block.get("type"))
    if kind == "text":
        return bool(str(block.get("text", "")).strip())
    return kind in CARRIERS or kind.endswith("_tool_result")


def _marked(parts: Sequence[Part], fits: Callable[[Part], bool], mark: Part) -> list[Part]:
    """The parts, the last one that fits with a mark."""
    made = list(parts)
    for index in range(len(made) - 1, -1, -1):
        if fits(made[index]):
            made[index] = {**made[index], "cache_control": mark}
            break
    return made


def _carrier(messages: Sequence[Part], end: int) -> tuple[int, int] | None:
    """The last block that may carry a mark, at or before the end of that message."""
    for index in range(end, -1, -1):
        content = messages[index].get("content")
        for number in range(len(content) - 1 if isinstance(content, list) else -1, -1, -1):
            if may_carry(messages[index]["content"][number]):
                return index, number
    return None


def _with_blocks(message: Part) -> Part:
    """The message with a list of dicts: a text that has a mark today has none tomorrow, and it has
    to be the same bytes on both days. Blocks out of a reply may be objects of the SDK."""
    content = message.get("content")
    if isinstance(content, str) or any(hasattr(block, "to_dict") for block in content or ()):
        return {**message, "content": _blocks(content)}
    return message


def _blocks(content: Any) -> list[Part]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b.to_dict() if hasattr(b, "to_dict") else b for b in content or ()]
