"""Chapter 01: messages as they go over the wire, and mending a history."""

from __future__ import annotations

from typing import Any

INTERRUPTED = "Interrupted: it is unknown whether this was done. Check before repeating it."


def text(content: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": content}


def user(*blocks: Any) -> dict[str, Any]:
    """A user message of texts and blocks."""
    return {"role": "user", "content": [text(b) if isinstance(b, str) else b for b in blocks]}


def assistant(*blocks: Any) -> dict[str, Any]:
    """An assistant message of texts and blocks."""
    return {"role": "assistant", "content": [text(b) if isinstance(b, str) else b for b in blocks]}


def tool_result(call_id: str, content: str, is_error: bool = False) -> dict[str, Any]:
    """The answer to the tool call of that id."""
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": content,
        "is_error": is_error,
    }


def mend(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The history with a result for every call that was never answered."""
    mended = []
    for i, message in enumerate(messages):
        mended.append(message)
        calls = [b["id"] for b in message["content"] if b["type"] == "tool_use"]
        after = messages[i + 1]["content"] if i + 1 < len(messages) else []
        answered = {b["tool_use_id"] for b in after if b["type"] == "tool_result"}
        if missing := [tool_result(c, INTERRUPTED, True) for c in calls if c not in answered]:
            mended.append(user(*missing))
    return mended
