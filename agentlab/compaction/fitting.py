"""Making one message fit: without thinking, with valid text, and not larger than it may be.

A single result can be larger than the window, and then no summary of *other* messages helps. Its
beginning and its end stay, with a line between them that says how much is missing and how to get
it. The call before it stays whole, so the pair does too. What is not text, like an image or a
document, cannot be cut: the text that is in it stays, or a line that says what was there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentlab.compaction.facts import text_in
from agentlab.compaction.rounds import BOUND
from agentlab.messages import Block, Message, blocks_of, text
from agentlab.tokens import CHARS_PER_TOKEN, OVERHEAD, count_content, count_message

GONE = "[\u2026 {count:,} characters left out to make room; {pointer} \u2026]"
ASK_AGAIN = "for the rest make the call above again, for a smaller part"
NOT_HERE = "they are not in this conversation any more"
FRONT = 0.6  # of what is kept of a long text stands at its beginning
REMOVED = "[{kind} removed to make room]"


def lean(message: Message, most_tokens: float = float("inf")) -> Message:
    """A kept message: no thinking, at most about ``most_tokens`` tokens; itself if it is so.

    Its content may come out empty, where it was thinking and nothing else.
    """
    blocks = blocks_of(message)
    kept = [block for block in blocks if block["type"] not in BOUND]
    same = len(kept) == len(blocks) and blocks is message["content"]
    made = message if same else {**message, "content": kept}
    if most_tokens == float("inf") or count_message(made) <= most_tokens:
        return made
    return {**made, "content": fitted(kept, most_tokens - OVERHEAD)}


def fitted(blocks: Sequence[Block], most_tokens: float) -> list[Block]:
    """Blocks that together have at most about so many tokens; the largest are cut."""
    share = _share([count_content(block) for block in blocks], most_tokens)
    made = [_fitted(block, share) for block in blocks]
    cut = [old for old, new in zip(blocks, made, strict=True) if new["type"] != old["type"]]
    calls = {block.get("tool_use_id") for block in cut}  # of a server's tool: no result, no call
    return [_as_text(block) if block.get("id") in calls else block for block in made]


def joined(messages: Sequence[Message]) -> list[Message]:
    """Without empty messages, and user messages that follow one another as one."""
    out: list[Message] = []
    for message in messages:
        if not message["content"]:
            continue
        if out and out[-1]["role"] == message["role"] == "user":
            content = [*blocks_of(out[-1]), *blocks_of(message)]
            out[-1] = {**out[-1], "content": content}
        else:
            out.append(message)
    return out


def shorten(string: str, most_chars: int, pointer: str = NOT_HERE) -> str:
    """The beginning and the end of a text, with a note between them; never longer than that."""
    if len(string) <= most_chars:
        return string
    room = most_chars - len(GONE.format(count=len(string), pointer=pointer)) - 2
    note = GONE.format(count=len(string) - max(room, 0), pointer=pointer)
    if room <= 0:
        return note[: max(most_chars, 1)]
    front = int(room * FRONT)
    return f"{string[:front]}\n{note}\n{string[len(string) - (room - front) :]}"


def chars_for(tokens: float, string: str) -> int:
    """How many characters of a text fit into so many tokens, rather too few than too many."""
    return max(0, int(tokens * (CHARS_PER_TOKEN if string.isascii() else 1)))


def _share(sizes: list[int], most: float) -> float:
    """What each of the largest may have, so that all of them fit: the small ones stay whole."""
    left, share = most, most
    for place, size in enumerate(sorted(sizes)):
        share = left / (len(sizes) - place)
        if size > share:
            break
        left -= size
    return max(share, 0.0)


def _fitted(block: Block, most: float) -> Block:
    if count_content(block) <= most:
        return block
    room = most - OVERHEAD
    match block["type"]:
        case "text":
            return _shortened(block, most)
        case "tool_result":
            return {**block, "content": _fitted_content(block.get("content") or "", room)}
        case "tool_use" | "server_tool_use":
            strings = _strings(block["input"])
            share = _share([len(s) for s in strings], room * 2)  # JSON: 2.4 characters a token
            return {**block, "input": _fitted_value(block["input"], int(share))}
    return _shortened(_as_text(block), most)


def _as_text(block: Block) -> Block:
    """The text in a block of another kind, or a line that says that it was there."""
    return text(text_in(block) or REMOVED.format(kind=block["type"]))


def _shortened(block: Block, most: float, pointer: str = NOT_HERE) -> Block:
    """A text block, cut."""
    chars = max(1, chars_for(most, block["text"]))
    return {**block, "text": shorten(block["text"], chars, pointer)}


def _fitted_content(content: str | list[Block], room: float) -> str | list[Block]:
    """The content of a result, cut; images and the like go first."""
    if isinstance(content, str):
        return shorten(content, chars_for(room, content), ASK_AGAIN)
    texts = [b if b["type"] in ("text", "tool_reference") else _as_text(b) for b in content]
    share = _share([count_content(block) for block in texts], room)
    return [_shortened(b, share, ASK_AGAIN) if b["type"] == "text" else b for b in texts]


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [string for part in parts for string in _strings(part)]


def _fitted_value(value: Any, most_chars: int) -> Any:
    if isinstance(value, str):
        return shorten(value, most_chars)
    if isinstance(value, list):
        return [_fitted_value(part, most_chars) for part in value]
    if isinstance(value, dict):
        return {key: _fitted_value(part, most_chars) for key, part in value.items()}
    return value
