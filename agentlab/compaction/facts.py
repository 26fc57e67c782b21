"""What can be looked for word for word: the facts of a conversation that are easy to find.

Nobody can say in general what a compaction lost. But some things are either there or not: a value
that was set (``API_PORT = 8443``), a file that was touched, a constraint that was pinned. They are
found in the old messages and looked for in the new ones, and views list them. What is not on the
list may be lost as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agentlab.compaction.kept import pins_in
from agentlab.messages import Message, blocks_of

MOST = 200  # facts of each kind that are followed; the latest are worth more than the first
_VALUE = re.compile(r"\b[A-Z][A-Z0-9_]{2,40} ?= ?[^\s,;]{1,80}")
_PATHS = ("file_path", "path", "notebook_path")
_OPAQUE = (
    "id", "tool_use_id", "signature", "type", "role", "media_type", "encrypted_content",
)  # fmt: skip


@dataclass(frozen=True)
class Fact:
    """Something that stood in the old messages; ``kept``: it stands in the new ones, literally."""

    kind: str  # pinned, value, file
    text: str
    kept: bool

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "text": self.text, "kept": self.kept}


def facts_in(before: Sequence[Message], after: Sequence[Message]) -> tuple[Fact, ...]:
    """The facts that are found in the old messages, and whether the new ones have them."""
    now = text_in(after)
    return tuple(Fact(kind, text, text in now) for kind, text in _found(before))


def text_in(messages: Any) -> str:
    """Every text in messages or blocks, however deep, in order: what a model could read there."""
    parts: list[str] = []
    queue: list[Any] = [messages]
    while queue:
        part = queue.pop()
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, dict):
            plain = part.get("type") == "text"  # else data is that of an image, or encrypted
            hidden = _OPAQUE if plain else (*_OPAQUE, "data")
            queue.extend(part[key] for key in reversed(part) if key not in hidden)
        elif isinstance(part, (list, tuple)):
            queue.extend(reversed(part))
    return "\n".join(parts)


def _found(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    for pin in pins_in(messages):
        yield "pinned", pin
    values: dict[str, None] = {}
    files: dict[str, None] = {}
    for message in messages:
        for block in blocks_of(message):
            if block["type"] == "tool_use":
                for path in (block["input"].get(name) for name in _PATHS):
                    if isinstance(path, str) and path:
                        files[path] = files.pop(path, None)
            elif block["type"] in ("text", "tool_result"):
                text = block["text"] if block["type"] == "text" else text_in(block.get("content"))
                for value in _VALUE.findall(text):
                    value = value.rstrip(" .;,)")
                    values[value] = values.pop(value, None)
    for kind, found in (("value", values), ("file", files)):
        for text in list(found)[-MOST:]:
            yield kind, text
