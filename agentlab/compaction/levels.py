"""The levels: four ways to make a new history out of an old one. Pure functions, no model.

* **truncate** drops the oldest rounds.
* **clear** keeps every round and replaces the results of old calls by a line.
* **summary** puts a summary in place of the old rounds.
* **summary+memory** adds the notes of the project, which no summary can lose.

Each gives a new list; the old one stays as it is. The front of it (`agentlab.compaction.kept`)
holds the task, the pinned constraints and the last request, whatever the level.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from agentlab.compaction.fitting import fitted, joined, lean
from agentlab.compaction.kept import (
    DROPPED,
    SUMMARY,
    Head,
    asked_at,
    head_of,
    opening,
    pins_and_unpinned,
    pins_in,
)
from agentlab.compaction.rounds import BOUND, cut
from agentlab.messages import Block, Message, blocks_of, valid_unicode
from agentlab.tokens import count_content, count_message

CLEARED = "[old tool result cleared to make room; make the call again if it is needed]"
LEAST_CLEARED = 2 * count_content(CLEARED)  # tokens; a shorter result is not worth it


@dataclass(frozen=True)
class Room:
    """How much may stay, in tokens: the last rounds, any one message of them, and the texts of
    the user at the front, which are only cut where the window leaves no other way."""

    rounds: int
    tail: float
    front: float

    @property
    def whole(self) -> float:
        """For a kept message with what the user asked last: no less than it had at the front."""
        return max(self.front, self.tail)


@dataclass(frozen=True)
class Plan:
    """What goes and what stays: the head, and the index from which on messages are kept."""

    messages: Sequence[Message]
    first: int
    start: int  # messages before it are the opening
    head: Head
    room: Room
    asked: int  # the index of what the user asked last; -1: it stands in the opening

    @property
    def old(self) -> Sequence[Message]:
        """What a summary has to stand for: what is dropped, after the opening that says what it
        was about."""
        return self.messages[: self.first]

    @property
    def dropped(self) -> int:
        """How many messages go."""
        return self.first - self.start


def plan(
    messages: Sequence[Message],
    room: Room,
    *,
    pins: Iterable[str] = (),
    memory: str = "",
    request: str = "",
) -> Plan:
    """Where to cut, and what the head holds. ``pins``, ``memory``, ``request``: as in `head_of`."""
    start = opening(messages).stop
    first = max(_cut(messages, room), start)
    head = head_of(messages, first, pins=pins, memory=memory, request=request)
    return Plan(messages, first, start, head, room, asked_at(messages, request))


def build(plan: Plan, summary: str = "") -> list[Message]:
    """The new history: the head, with a summary or a line that says that there is none, and the
    kept messages without their thinking. An earlier summary stays if there is no new one."""
    found = opening(plan.messages)
    missing = DROPPED if plan.dropped or found.after else found.head.dropped
    head = replace(
        plan.head,
        task=tuple(_within(plan.head.task, plan.room.front)),
        latest=tuple(_within(plan.head.latest, plan.room.front)),
        summary=f"{SUMMARY}\n{summary}" if summary else found.head.summary,
        dropped="" if summary else missing,
    )
    tail = (
        lean(plan.messages[index], plan.room.whole if index == plan.asked else plan.room.tail)
        for index in range(plan.first, len(plan.messages))
    )
    return joined([head.message(), *tail])


def clear(
    messages: Sequence[Message],
    room: Room,
    pins: Iterable[str] = (),
    sizes: Sequence[int] | None = None,
    request: str = "",
) -> tuple[list[Message], int]:
    """The same rounds without the results of old calls, and how many were cleared.

    The last rounds keep theirs, but what is larger than it may be is cut. What stands before the
    first change stays exactly as it is, with its thinking, and is still cached. The front is only
    made anew where it has to be: it is too large, or a pinned constraint would get lost. ``sizes``:
    tokens of each message, if they are known.
    """
    sizes = sizes or [count_message(message) for message in messages]
    found, first, asked = opening(messages), _cut(messages, room), asked_at(messages, request)
    holding, gone = pins_and_unpinned(messages, pins)

    def rest(front: list[Message]) -> tuple[list[Message], int]:
        changed, cleared, made = bool(front), 0, front
        for index in range(found.stop if front else 0, len(messages)):
            message = messages[index]
            most = room.whole if index < found.stop or index == asked else room.tail
            kept = lean(message, most if sizes[index] > most else float("inf"))
            if index < first and kept["role"] == "user":
                blocks = [_cleared(block) for block in kept["content"]]
                cleared += sum(a is not b for a, b in zip(blocks, kept["content"], strict=True))
                kept = {**kept, "content": blocks}
            changed = changed or kept["content"] != [b for b in blocks_of(message) if not _bound(b)]
            made.append(kept if changed else message)
        return joined(made), cleared

    if holding == pins_in(messages) and all(size <= room.front for size in sizes[: found.stop]):
        made, cleared = rest([])
        if pins_in(made) == holding:
            return made, cleared
    return rest(_front(replace(found.head, pins=holding, unpinned=gone), found.after, room))


def _front(head: Head, after: Sequence[Block], room: Room) -> list[Message]:
    """A new opening: the head, and what the user said after it."""
    head = replace(
        head,
        task=tuple(_within(head.task, room.front)),
        latest=tuple(_within(head.latest, room.front)),
    )
    return [head.message(), {"role": "user", "content": _within(after, room.front)}]


def _bound(block: Block) -> bool:
    return block["type"] in BOUND


def _cut(messages: Sequence[Message], room: Room) -> int:
    def size(message: Message) -> int:
        return int(min(count_message(lean(message)), room.tail))  # a larger one is cut to that

    return cut(messages, room.rounds, room.tail, size)


def _cleared(block: Block) -> Block:
    if block["type"] != "tool_result" or count_content(block) <= LEAST_CLEARED:
        return block
    return {**block, "content": CLEARED}


def _within(blocks: Sequence[Block], most: float) -> list[Block]:
    clean: list[Block] = valid_unicode(list(blocks))
    return clean if sum(map(count_content, clean)) <= most else fitted(clean, most)
