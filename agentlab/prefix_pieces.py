"""What of a request a server compares: its pieces, in the order of the prefix.

Two requests share a prefix as long as the keys of their pieces are equal. Marks for the cache, the
order of keys, and a text written as a string or as a block make no difference to a server, so they
make none to a key. Part of chapter 09.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from agentlab.tokens import OVERHEAD, count_content, count_text, count_tool

Part = dict[str, Any]
ORDER = ("model", "tools", "system", "settings", "messages")  # in which a server compares


class Piece(NamedTuple):
    """A tool, a block or a setting, in the order in which a server compares them."""

    section: str  # one of ORDER
    place: str  # as in messages[3].content[0]
    key: str  # equal keys: the same content
    tokens: int
    part: Any
    message: int = -1


def pieces_of(request: Part) -> list[Piece]:
    """All pieces of a request in the order of the prefix.

    The choice of tools and the thinking settings stand before the messages: they change how those
    are rendered (the vendor's page, 2026-10). Deferred tools are in no prefix.
    """
    model = str(request.get("model"))
    pieces = [Piece("model", "model", f"model {model}", 0, model)]
    for index, tool in enumerate(_blocks(request.get("tools"))):
        if not tool.get("defer_loading"):
            tokens = _count(tool, count_tool)
            pieces.append(Piece("tools", f"tools[{index}]", key_of(tool), tokens, tool))
    for index, block in enumerate(_blocks(request.get("system") or ())):
        pieces.append(Piece("system", f"system[{index}]", key_of(block), _count(block), block))
    for name in ("tool_choice", "thinking"):
        value = request.get(name) or {}
        if isinstance(value, dict):
            value = {k: v for k, v in value.items() if k != "display"}
        pieces.append(Piece("settings", name, f"{name} {key_of(value)}", 0, value))
    for index, message in enumerate(_blocks(request.get("messages"))):
        frame = OVERHEAD
        for place, block in _placed(message):
            key = f"{message.get('role')} {key_of(block)}"
            tokens = frame + _count(block)
            pieces.append(
                Piece("messages", f"messages[{index}].{place}", key, tokens, block, index)
            )
            frame = 0
    return pieces


def _placed(message: Part) -> Iterator[tuple[str, Part]]:
    """The blocks of a message with their places, then what stands beside them: OpenAI's calls."""
    for number, block in enumerate(_blocks(message.get("content"))):
        yield f"content[{number}]", block
    for name in sorted({*message} - {"role", "content", "cache_control"}):
        if message[name] is not None:
            yield name, {"type": name, name: message[name]}


def key_of(part: Any) -> str:
    return json.dumps(_content(part), sort_keys=True, ensure_ascii=False, default=str)


def _count(part: Part, count_part: Callable[[Any], int] = count_content) -> int:
    """Its tokens, estimated. What is no block (a server refuses it) counts as it is written."""
    try:
        return count_part(part)
    except (LookupError, TypeError, AttributeError):
        return OVERHEAD + count_text(key_of(part))


def _content(part: Any) -> Any:
    """A part without what makes no difference to a prefix."""
    part = _plain(part)
    if isinstance(part, list):
        return [_content(item) for item in part]
    if not isinstance(part, dict):
        return part
    made = {
        key: value if key in ("input", "input_schema") else _content(value)
        for key, value in part.items()
        if key != "cache_control" and value is not None
    }
    if made.get("type") == "tool_result":
        made["content"] = _content(_blocks(part.get("content")))
    return made


def _blocks(content: Any) -> list[Part]:
    """Its parts as dicts, if they are a text or objects of the SDK too. What is no list is none."""
    parts = [content] if isinstance(content, str) else content
    plain = map(_plain, parts if isinstance(parts, list | tuple) else ())
    return [p if isinstance(p, dict) else {"type": "text", "text": str(p)} for p in plain]


def _plain(part: Any) -> Any:
    return part.to_dict() if hasattr(part, "to_dict") else part
