"""What a compaction keeps word for word, and the one message at the front that holds it.

A summary is written by a model and may leave out anything, so what must not get lost does not go
through it: the task, the pinned constraints, what the user asked last. They stand in the first
message of the new history, each under a line in square brackets that says what it is, and the
summary after them. The next compaction takes that message apart again, so nothing of this is ever
summarised, however often the history is compacted.

A user pins a constraint with a line or a sentence that begins with ``Pin:``, anywhere in a message
of theirs; a line that is only ``Pin:`` pins the lines under it, up to an empty one::

    Port the parser to Rust.
    Pin: never touch legacy/

``Unpin:`` with the same words takes it back. What a task pins still stands there, so the front says
which of it no longer holds. Only what stands in user messages counts, and what a harness pins it
writes there (`pinned`, `unpinned`). Files, results of tools and summaries pin nothing: whoever
wrote them could otherwise give lasting orders.
A task so large that the window cannot hold it is the one thing here that is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentlab.messages import Block, Message, blocks_of, text, valid_unicode

PINNED = "[Pinned by the user. These hold throughout:]"
UNPINNED = "[No longer pinned. The user has taken these back:]"
MEMORY = "[Memory of this project:]"
LATEST = "[What the user asked last, word for word:]"
SUMMARY = "[Summary of the conversation so far, written by a model:]"
DROPPED = "[Earlier messages were dropped to make room. What they said is not known here.]"
_OURS = (PINNED, UNPINNED, MEMORY, LATEST, SUMMARY, DROPPED)
# Behind whatever marks a list, a quotation or bold type (and what no one sees at the beginning of a
# pasted file), or behind the end of a sentence. Colon and full stop may be the wide ones of Chinese
# and Japanese keyboards.
_PIN = re.compile(
    r"(?:^[\s\d>*_`#+•.)\ufeff\u200b\u2013\u2014-]*(?:\[[ x]\]\s*)?|[.!?;…][\s*_`]+"
    r"|[\u3002\uff01\uff1f]\s*)((?:un)?pins?)([*_`]* ?[:\uff1a](?:[*_`]+(?=\s))?)(.*)",
    re.IGNORECASE,
)
_UNDER = re.compile(r"\s*(?:(?:[-*+•\u2013\u2014]|\d+[.)])\s+)?(\S.*)")


@dataclass(frozen=True)
class Head:
    """The parts of the first message. ``latest`` is empty where the kept rounds hold it."""

    task: tuple[Block, ...]
    pins: tuple[str, ...] = ()
    unpinned: tuple[str, ...] = ()
    memory: str = ""
    latest: tuple[Block, ...] = ()
    summary: str = ""  # with its line in brackets
    dropped: str = ""  # a line in brackets that says what is missing without one

    def message(self) -> Message:
        """The message. The summary comes last: it tells what happened after all the rest."""
        blocks = list(self.task)
        if self.pins:
            blocks.append(text(pinned(self.pins)))
        if self.unpinned:
            blocks.append(text(unpinned(self.unpinned)))
        if self.memory.strip():
            blocks.append(text(f"{MEMORY}\n{self.memory.strip()}"))
        if self.latest:
            blocks += [text(LATEST), *self.latest]
        blocks += [text(note) for note in (self.summary, self.dropped) if note]
        return {"role": "user", "content": blocks}


@dataclass(frozen=True)
class Opening:
    """What stands before the model's first word, taken apart: a `Head`, and what was asked then."""

    stop: int  # so many messages
    head: Head
    after: tuple[Block, ...]  # what the user said after the summary


def opening(messages: Sequence[Message]) -> Opening:
    """Take the beginning of a history apart. The first block of all is always the task's."""
    stop = next((i for i, m in enumerate(messages) if m["role"] != "user"), len(messages))
    blocks = [block for message in messages[:stop] for block in blocks_of(message)]
    parts: dict[str, list[Block]] = {"": blocks[:1]}
    part = ""
    for block in blocks[1:]:
        users = part == "after" or (part == LATEST and LATEST not in parts)
        mark = "" if users else _mark_of(block, part)
        if mark:
            part = mark
        elif part not in ("", LATEST):
            part = "after"
        if mark != LATEST:
            parts.setdefault(part, []).append(block)

    def said(mark: str) -> str:
        return next((block["text"] for block in parts.get(mark, [])), "")

    head = Head(
        task=tuple(parts[""]),
        pins=_listed(said(PINNED)),
        unpinned=_listed(said(UNPINNED)),
        memory=said(MEMORY).removeprefix(MEMORY).strip(),
        latest=tuple(parts.get(LATEST, [])),
        summary=said(SUMMARY),
        dropped=said(DROPPED),
    )
    return Opening(stop, head, tuple(parts.get("after", [])))


def head_of(
    messages: Sequence[Message],
    first: int,
    *,
    pins: Iterable[str] = (),
    memory: str = "",
    request: str = "",
) -> Head:
    """The head of a history whose messages from ``first`` on are kept as they are.

    ``pins`` are added to those that the history holds. ``request``: what the user asked last, if
    that is known; otherwise it is the last text that the user wrote.
    """
    found = opening(messages)
    index, latest = _latest(messages, found, valid_unicode(request))
    latest = () if index >= first else latest
    return Head(found.head.task, *pins_and_unpinned(messages, pins), memory, latest)


def asked_at(messages: Sequence[Message], request: str = "") -> int:
    """The index of the message with what the user asked last; -1: that stands in the opening."""
    return _latest(messages, opening(messages), valid_unicode(request))[0]


def pinned(pins: Iterable[str]) -> str:
    """Constraints as a harness writes them into a user message, to pin them."""
    return "\n".join([PINNED, *(f"- {pin}" for pin in pins)])


def unpinned(pins: Iterable[str]) -> str:
    """Constraints that hold no longer, as a harness writes them into a user message."""
    return "\n".join([UNPINNED, *(f"- {pin}" for pin in pins)])


def pins_in(messages: Sequence[Message], more: Iterable[str] = ()) -> tuple[str, ...]:
    """Every pinned constraint of a history, the oldest first, each once; ``more`` are added."""
    return pins_and_unpinned(messages, more)[0]


def pins_and_unpinned(
    messages: Sequence[Message], more: Iterable[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The pinned constraints that hold, as in `pins_in`, and those that were taken back."""
    pins = _all_pins(messages, more)
    return tuple(p for p in pins if pins[p]), tuple(p for p in pins if not pins[p])


def _all_pins(messages: Sequence[Message], more: Iterable[str]) -> dict[str, bool]:
    """Every constraint that was ever pinned, and whether it holds: what was said last counts."""
    found = opening(messages)
    later = [b for m in messages[found.stop :] if m["role"] == "user" for b in blocks_of(m)]
    said = [(pin, True) for pin in found.head.pins]
    said += said_in(found.head.task)
    said += [(pin, False) for pin in found.head.unpinned]
    said += said_in((*found.head.latest, *found.after, *later))
    said += [(line.strip(), True) for pin in more for line in pin.split("\n")]
    pins: dict[str, bool] = {}
    for pin, holds in said:
        pin = valid_unicode(pin)
        if pin and (holds or pin in pins):
            pins[pin] = holds
    return pins


def said_in(blocks: Iterable[Block]) -> Iterator[tuple[str, bool]]:
    """What the user pins (True) and takes back (False), in order."""
    for block in blocks:
        if _is_own(block):
            yield from _pins_of(block["text"])


def _latest(
    messages: Sequence[Message], found: Opening, request: str
) -> tuple[int, tuple[Block, ...]]:
    """The index of the message with the user's last request, and its blocks; -1: the opening."""
    for index in range(len(messages) - 1, found.stop - 1, -1):
        if messages[index]["role"] == "user":
            said = [b for b in blocks_of(messages[index]) if b["type"] != "tool_result"]
            if _asks(said, request):
                return index, tuple(said)
    for blocks in (found.after, found.head.latest, found.head.task):
        if _asks(blocks, request):
            return -1, () if blocks is found.head.task else blocks
    return _latest(messages, found, "") if request else (-1, ())


def _asks(blocks: Iterable[Block], request: str) -> bool:
    """Whether the user asks something in these blocks: this very thing, if it is given."""
    if request:
        return any(block.get("text") == request for block in blocks)
    return any(_is_own(block) for block in blocks)


def _is_own(block: Block) -> bool:
    """Whether the user wrote it: not what a harness or a hook adds, which it puts in brackets."""
    return block["type"] == "text" and not block["text"].startswith(("[hook ", "<system-reminder"))


def _pins_of(said: str) -> Iterator[tuple[str, bool]]:
    if said.startswith((PINNED, UNPINNED)):
        yield from ((pin, said.startswith(PINNED)) for pin in _listed(said))
        return
    under = False  # a line that says only "Pin:"
    holds = True
    for line in re.split(r"\r\n?|\n", said):
        if found := _PIN.search(line):
            holds, pin = found[1].lower().startswith("p"), found[3].strip()
            if found[2].strip() in ":\uff1a":  # bold type that goes on ends with the constraint
                before = line[: found.start(1)]
                pin = pin.removesuffix(before[len(before.rstrip("*_`")) :])
            under = not pin
        else:
            found = _UNDER.match(line) if under else None
            under = bool(found)
            pin = found[1].strip() if found else ""
        if pin:
            yield pin, holds


def _listed(block: str) -> tuple[str, ...]:
    return tuple(line.removeprefix("- ") for line in block.split("\n")[1:])


def _mark_of(block: Block, part: str) -> str:
    """The mark that a block begins with. They stand in order: an earlier one is the user's text."""
    if block["type"] != "text":
        return ""
    later = _OURS[_OURS.index(part) + 1 :] if part else _OURS
    return next((mark for mark in later if block["text"].startswith(mark)), "")
