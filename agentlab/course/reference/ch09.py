"""Chapter 09: what a reply costs, where the breakpoints go, and where two requests part."""

from __future__ import annotations

from typing import Any

# Dollars per million tokens: what the vendor's page said in October 2026. Prices change.
PRICES: dict[str, dict[str, float]] = {
    "{default_model}": {
        "input": 2.0,
        "cache_read": 0.1,
        "cache_write_5m": 2.5,
        "cache_write_1h": 4.0,
        "output": 10.0,
    },
}


def buckets(usage: dict[str, Any]) -> dict[str, int]:
    """Tokens of a reply in five buckets that do not overlap; missing and null are 0."""
    hour = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
    return {
        "input": usage.get("input_tokens") or 0,
        "cache_read": usage.get("cache_read_input_tokens") or 0,
        "cache_write_5m": (usage.get("cache_creation_input_tokens") or 0) - hour,
        "cache_write_1h": hour,
        "output": usage.get("output_tokens") or 0,
    }


def cost(usage: dict[str, Any], model: str) -> float | None:
    """Dollars of a reply, or None: the price of that model is not known."""
    price = PRICES.get(model)
    if price is None:
        return None
    return sum(tokens * price[name] for name, tokens in buckets(usage).items()) / 1_000_000


def mark_last(blocks: list[Any]) -> list[Any]:
    """The blocks, the last one marked for the prompt cache. The old list is not changed."""
    mark = {"cache_control": {"type": "ephemeral"}}
    return [*blocks[:-1], {**blocks[-1], **mark}] if blocks else blocks


def with_breakpoints(request: dict[str, Any]) -> dict[str, Any]:
    """The request with up to four marks: tools, system prompt, and two places in the messages."""
    made, messages = dict(request), list(request["messages"])
    if request.get("tools"):
        made["tools"] = mark_last(request["tools"])
    if request.get("system"):
        made["system"] = mark_last([{"type": "text", "text": request["system"]}])
    for index in {len(messages) - 1, len(messages) - 3}:  # here, and where the last request ended
        if index >= 0:
            content = messages[index]["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            messages[index] = {**messages[index], "content": mark_last(blocks)}
    return {**made, "messages": messages}


def parts_at(before: dict[str, Any], now: dict[str, Any]) -> str:
    """The first place where a request parts from the one before it, "" if it goes on."""
    old, new = before.get("tools", []), now.get("tools", [])
    for index in range(max(len(old), len(new))):
        if old[index : index + 1] != new[index : index + 1]:
            return f"tools[{index}]"
    if before.get("system") != now.get("system"):
        return "system"
    for index, (one, other) in enumerate(zip(before["messages"], now["messages"], strict=False)):
        if one != other:
            return f"messages[{index}]"
    return ""
