"""Messages as they go over the wire, and the rules that a history has to keep.

A conversation with a model is a list of dicts, and the whole list is sent again on every turn,
because the server remembers nothing. This module has three things:

* small helpers that write the dicts (`user`, `tool_result`, ...), so that what you see is what is
  sent;
* `History`, that list, with a mark for how much of it has been sent;
* `normalise`, which mends what the API would refuse: a tool call without its result, results out
  of order, an id used twice, empty text, broken Unicode. It looks only at what was not sent yet,
  and never changes what was: the API compares earlier messages with what it saw before.

It does not shorten a history (that is compaction) and does not touch thinking blocks (they are
signed). Built in chapter 01.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

Block = dict[str, Any]
Message = dict[str, Any]

INTERRUPTED = (
    "Interrupted: this call did not finish, so its effect is unknown. Check before repeating it."
)
NO_BEGINNING = "[The conversation before this point is not available.]"


def text(content: str) -> Block:
    """A text block."""
    return {"type": "text", "text": content}


def tool_use(id: str, name: str, input: dict[str, Any]) -> Block:
    """A tool call, as the model writes it."""
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def tool_result(tool_use_id: str, content: str | list[Block], is_error: bool = False) -> Block:
    """The answer to the tool call of that id. It belongs into the next user message."""
    block: Block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}
    return {**block, "is_error": True} if is_error else block


def user(*content: str | Block) -> Message:
    """A user message of texts and blocks."""
    return {"role": "user", "content": [text(c) if isinstance(c, str) else c for c in content]}


def assistant(*content: str | Block) -> Message:
    """An assistant message of texts and blocks."""
    return {"role": "assistant", "content": [text(c) if isinstance(c, str) else c for c in content]}


def blocks_of(message: Message) -> list[Block]:
    """The content as a list of blocks (a plain string is one text block)."""
    content = message["content"]
    return [text(content)] if isinstance(content, str) else content


def text_of(message: Message) -> str:
    """All text of a message, without thinking and calls."""
    return "".join(b["text"] for b in blocks_of(message) if b["type"] == "text")


def calls_of(message: Message) -> list[Block]:
    """The tool calls of a message, in order."""
    return [b for b in blocks_of(message) if b["type"] == "tool_use"]


class History(list[Message]):
    """The messages of one conversation, oldest first. Append only.

    ``sent`` counts the messages that a server has already seen; `normalise` leaves those alone.
    ``ids`` holds every tool-call id among them, ``past`` those that a compaction took away.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        super().__init__(messages)
        self.sent = 0
        self.ids: set[str] = set()
        self.past: set[str] = set()  # never used again: what was decided about a call stays

    def take_over(self, messages: Iterable[Message]) -> None:
        """Go on as another history, of which nothing has been sent: a compaction made it."""
        self.past |= {call["id"] for message in self for call in calls_of(message)}
        self[:] = messages
        self.sent, self.ids = 0, set()

    def mark_sent(self) -> None:
        """From here on, what is in the list now is never changed again."""
        for message in self[self.sent :]:
            if message["role"] == "assistant":
                self.ids.update(call["id"] for call in calls_of(message))
        self.sent = len(self)


def normalise(history: History) -> list[str]:
    """Make the unsent part of ``history`` one that the API accepts, in place.

    Returns what was mended, a line each; doing it again returns nothing. The cost grows with the
    unsent messages only. Rules: the vendor's error texts as users reported them, 2024 to 2026.
    """
    notes: list[str] = []
    mended: list[Message] = []
    seen = set(history.ids)
    open_calls = calls_of(history[history.sent - 1]) if history.sent else []
    renamed: dict[str, list[str]] = {}

    for index, message in enumerate(history[history.sent :], history.sent):
        where = f"messages.{index}"
        blocks = _clean(blocks_of(message), where, notes)
        if message["role"] == "assistant":
            if open_calls:
                mended.append(user(*_answers(open_calls, [], renamed, where, notes)))
            blocks, renamed = distinct_ids(blocks, seen, where, notes)
            open_calls = [b for b in blocks if b["type"] == "tool_use"]
        else:
            blocks = _answers(open_calls, blocks, renamed, where, notes)
            open_calls, renamed = [], {}
        _append(mended, {**message, "content": blocks}, where, notes)

    if open_calls:
        mended.append(user(*_answers(open_calls, [], renamed, "the end", notes)))
    if history.sent == 0 and mended and mended[0]["role"] == "assistant":
        notes.append("messages.0: the first message must be the user's")
        mended.insert(0, user(NO_BEGINNING))
    history[history.sent :] = mended
    return notes


def distinct_ids(
    blocks: list[Block], seen: set[str], where: str = "message", notes: list[str] | None = None
) -> tuple[list[Block], dict[str, list[str]]]:
    """Give every call of an assistant message an id of its own; adds them to ``seen``.

    The very same call twice under one id (a reconnect artefact) becomes one. Different calls that
    share an id, or have none, keep the first and rename the others. Used when a message arrives,
    before it enters the history. Returns the blocks, and old id -> new ids in call order.
    """
    notes = [] if notes is None else notes
    out: list[Block] = []
    renamed: dict[str, list[str]] = defaultdict(list)
    mine: dict[str, Block] = {}
    for block in blocks:
        if block["type"] != "tool_use":
            out.append(block)
            continue
        old = block["id"] or ""
        twin = mine.get(old)
        if twin and (twin["name"], twin["input"]) == (block["name"], block["input"]):
            notes.append(f"{where}: call {old} stood there twice")
            continue
        new = stem = re.sub(r"[^a-zA-Z0-9_-]", "_", old) or "toolu_unnamed"
        count = 1
        while new in seen:
            count += 1
            new = f"{stem}_{count}"
        if new != old:
            notes.append(f"{where}: call id {old!r} became {new!r}")
            block = {**block, "id": new}
        seen.add(new)
        mine.setdefault(old, block)
        renamed[old].append(new)
        out.append(block)
    return out, renamed


def _answers(
    calls: list[Block],
    blocks: list[Block],
    renamed: dict[str, list[str]],
    where: str,
    notes: list[str],
) -> list[Block]:
    """The blocks of a user message: a result for each call, in call order, then everything else."""
    others = [block for block in blocks if block["type"] != "tool_result"]
    results = [block for block in blocks if block["type"] == "tool_result"]
    waiting = {call["id"] for call in calls}
    found: dict[str, Block] = {}
    queues = {old: list(new) for old, new in renamed.items()}
    for result in results:
        old = result["tool_use_id"]
        queue = queues.get(old)
        new = queue.pop(0) if queue else old
        if new not in waiting or new in found:
            notes.append(f"{where}: result for {old!r} answers no open call, dropped")
            continue
        found[new] = result if new == old else {**result, "tool_use_id": new}
    for call in calls:
        if call["id"] not in found:
            notes.append(f"{where}: call {call['id']} had no result")
    answers = [found.get(c["id"]) or tool_result(c["id"], INTERRUPTED, True) for c in calls]
    if [b for b in blocks if b in answers or b in others] != [
        b for b in answers + others if b in blocks
    ]:
        notes.append(f"{where}: results put first, in the order of the calls")
    return answers + others


def _append(messages: list[Message], message: Message, where: str, notes: list[str]) -> None:
    """Add a message, unless it is empty; a user message joins the user message before it."""
    if not message["content"]:
        notes.append(f"{where}: empty message dropped")
    elif messages and messages[-1]["role"] == message["role"] == "user":
        notes.append(f"{where}: joined to the user message before it")
        joined = messages[-1]["content"] + message["content"]
        messages[-1] = {**messages[-1], "content": joined}
    else:
        messages.append(message)


def _clean(blocks: list[Block], where: str, notes: list[str]) -> list[Block]:
    """Without empty texts and without broken Unicode; thinking blocks exactly as they came."""
    out = []
    for block in blocks:
        if block["type"] in ("thinking", "redacted_thinking"):
            out.append(block)
            continue
        clean = valid_unicode(block)
        if clean != block:
            notes.append(f"{where}: invalid Unicode replaced")
        if clean["type"] == "text" and not clean["text"].strip():
            notes.append(f"{where}: empty text dropped")
            continue
        out.append(clean)
    return out


def valid_unicode(value: Any) -> Any:
    """The same value with lone surrogates, which no JSON body can carry, replaced by U+FFFD."""
    if isinstance(value, str):
        return (
            value
            if is_valid(value)
            else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    if isinstance(value, list):
        return [valid_unicode(v) for v in value]
    if isinstance(value, dict):
        return {valid_unicode(k): valid_unicode(v) for k, v in value.items()}
    return value


def is_valid(value: Any) -> bool:
    """Whether there is no lone surrogate in it."""
    parts = [value]
    for part in parts:
        if isinstance(part, str):
            if part.isascii():  # known to every string, so no look at its characters
                continue
            try:
                part.encode()
            except UnicodeEncodeError:
                return False
        elif isinstance(part, dict):
            parts += part
            parts += part.values()
        elif isinstance(part, list):
            parts += part
    return True
