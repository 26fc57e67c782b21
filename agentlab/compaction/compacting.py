"""From an old history to a new one: build it, check it, and only then let it take over.

A level is tried; if it fails, or what it gives is not sound, or does not free enough, the next one
is: clear old results, then drop the oldest rounds. The old history is never touched, so that a
failure at any point costs nothing but the attempt. If no level is left, `CannotCompact` says why.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentlab.compaction.facts import Fact, facts_in
from agentlab.compaction.kept import pins_in
from agentlab.compaction.levels import Plan, Room, build, clear, plan
from agentlab.compaction.rounds import open_calls, validate
from agentlab.compaction.settings import NEXT, Compaction, trigger
from agentlab.compaction.summary import SummaryFailed, summarise
from agentlab.messages import Message, is_valid, valid_unicode
from agentlab.tokens import count_message, count_text

FRONT = 0.4  # of the limit: what the task may take up, and the last request, before they are cut
LEAST_FRONT = 200  # tokens; what the user wrote is never cut to less


class CannotCompact(Exception):
    """No level gave a history that is small enough. ``tried`` says why not, a line for each.

    ``side_calls`` are the data of the calls that were made all the same: they cost.
    """

    def __init__(
        self, message: str, tried: Sequence[str] = (), side_calls: Sequence[dict[str, Any]] = ()
    ) -> None:
        super().__init__(message)
        self.tried, self.side_calls = tuple(tried), tuple(side_calls)


class _Unusable(Exception):
    """One level does not do."""


@dataclass(frozen=True, repr=False)
class Compacted:
    """A new history that may take over, and what it took.

    ``dropped`` counts what is no longer there: messages, or results at level "clear". ``tried``
    says why other levels did not do. ``side_calls`` are the data of their events.
    """

    messages: list[Message]
    level: str
    before_tokens: int
    after_tokens: int
    dropped: int = 0
    summary: str = ""
    reason: str = ""
    tried: tuple[str, ...] = ()
    side_calls: tuple[dict[str, Any], ...] = ()
    before: Sequence[Message] = ()

    @functools.cached_property
    def facts(self) -> tuple[Fact, ...]:
        """What can be looked for word for word, and whether it is still there."""
        return facts_in(self.before, self.messages)

    def __repr__(self) -> str:
        tokens = f"{self.before_tokens:,} to {self.after_tokens:,} tokens"
        what = "results" if self.level == "clear" else "messages"
        return f"Compacted({self.level}: {tokens}, {self.dropped} {what} gone)"

    def to_dict(self) -> dict[str, Any]:
        """As data of the event ``context.compacted``; with ``tried`` if another level failed."""
        event = {
            "level": self.level, "reason": self.reason, "before_tokens": self.before_tokens,
            "after_tokens": self.after_tokens, "dropped": self.dropped, "summary": self.summary,
            "messages": self.messages,
        }  # fmt: skip
        return {**event, "tried": list(self.tried)} if self.tried else event


_Make = Callable[[float], tuple[list[Message], int]]  # from the room for each text of the user


@dataclass(frozen=True)
class _Task:
    """One compaction: what is known about it."""

    messages: Sequence[Message]
    sizes: list[int]
    settings: Compaction
    room: Room
    pins: tuple[str, ...]
    request: str
    side_calls: Any
    events: list[dict[str, Any]]
    overhead: int
    scale: float  # how far the estimate of the old history was off
    most: int

    def plan(self, memory: str = "") -> Plan:
        return plan(self.messages, self.room, pins=self.pins, memory=memory, request=self.request)

    async def build(self, level: str) -> tuple[list[Message], int, int, str]:
        """The new history of a level, how much it dropped, its tokens, and its summary."""
        if level == "clear":
            return *self.fit(self.cleared), ""
        if level == "truncate":
            room = replace(self.room, rounds=len(self.messages), tail=2 * self.room.tail)
            planned = replace(self, room=room).plan()
            return *self.fit(functools.partial(_built, planned, "")), ""
        if level == "api":
            raise _Unusable("what the API itself cleared was not enough")
        planned = self.plan(self.settings.memory if level == "summary+memory" else "")
        if not planned.dropped:
            raise _Unusable("all that could be dropped belongs to the last rounds")
        if self.side_calls is None:
            raise _Unusable("there is no model to ask, or no budget for it")
        try:
            done = await summarise(
                planned.old,
                self.side_calls,
                tokens=self.settings.summary_tokens,
                chunk_tokens=self.settings.chunk_tokens,
                deadline_s=self.settings.deadline_s,
                instructions=self.settings.instructions,
            )
        except SummaryFailed as failed:
            self.events.extend(failed.events)
            raise _Unusable(str(failed)) from failed
        self.events.extend(done.events)
        return *self.fit(functools.partial(_built, planned, done.text)), done.text

    def cleared(self, front: float) -> tuple[list[Message], int]:
        room = replace(self.room, front=front)
        return clear(self.messages, room, self.pins, self.sizes, self.request)

    def fit(self, make: _Make) -> tuple[list[Message], int, int]:
        """What is made of the history, with the texts of the user whole if that is small enough."""
        for front in (float("inf"), self.room.front):
            made, dropped = make(front)
            tokens = self.measured(made)
            if tokens <= self.most:
                break
        return made, dropped, tokens

    def measured(self, made: Sequence[Message]) -> int:
        """Tokens of a new history, corrected by how far the estimate of the old one was off."""
        known = {id(message): size for message, size in zip(self.messages, self.sizes, strict=True)}
        sizes = (known.get(id(message)) or count_message(message) for message in made)
        return int((self.overhead + sum(sizes)) * min(max(self.scale, 0.5), 2.0))


def _built(plan: Plan, summary: str, front: float) -> tuple[list[Message], int]:
    return build(replace(plan, room=replace(plan.room, front=front)), summary), plan.dropped


async def compact(
    history: Sequence[Message],
    level: str,
    side_calls: Any = None,
    *,
    settings: Compaction | None = None,
    window: int = 0,
    max_tokens: int = 8192,
    overhead: int = 0,
    tokens: int = 0,
    pins: Iterable[str] = (),
    request: str = "",
    reason: str = "",
    only: bool = False,
) -> Compacted:
    """A shorter history that says the same, as far as that can be done.

    Args:
        history: the old one; it stays as it is.
        level: the first one to try, of `LEVELS`.
        side_calls: an `agentlab.side_calls.SideCalls`; without one there is no summary.
        settings: how much may stay.
        window: tokens of the model's window; 0: that of the settings, else what there is now.
        max_tokens: room for the reply.
        overhead: estimated tokens of system prompt and tools, which nothing here can shorten.
        tokens: of the next prompt, as measured (`size`); 0: estimated.
        pins: constraints to keep besides those that the history holds.
        request: what the user asked last, if known.
        reason: "share" of the window used up, or "refused" by the server as too long: it must save
            the minimum. "window": the next request would not fit, so whatever fits is enough.
            "asked", or anything else: whatever is shorter.
        only: do not try other levels.

    Raises CannotCompact: calls are open, or no level does; ValueError: there is no such level.
    """
    settings = replace(settings or Compaction(), level=level)
    if not history:
        raise CannotCompact("there is nothing to compact yet")
    if open_calls(history):
        raise CannotCompact("a tool call has no result yet; after it there is time")
    sizes = [count_message(message) for message in history]
    estimate = overhead + sum(sizes)
    before = tokens or estimate
    window = window or settings.window or before + max_tokens
    limit, most = _limits(settings, reason, before, window, max_tokens)
    pins = tuple(pins)
    _floor(history, pins, overhead, limit)
    room = _room(settings, limit, overhead)
    task = _Task(
        history, sizes, settings, room, pins, request, side_calls, [], overhead,
        scale=before / max(estimate, 1), most=most,
    )  # fmt: skip
    tried: list[str] = []
    for name in (level, *(() if only else NEXT[level])):
        try:
            made, dropped, after, summary = await task.build(name)
            if not is_valid(made):
                made, history = valid_unicode(made), valid_unicode(list(history))
            _check(made, history, pins, after, most)
        except _Unusable as problem:
            tried.append(f"{name}: {problem}")
            continue
        about = (dropped, summary, reason, tuple(tried), tuple(task.events), list(history))
        return Compacted(made, name, before, after, *about)
    goal = f"brought down to {most:,}" if most < before - 1 else "made fewer"
    why = f"{before:,} tokens could not be {goal}"
    if problems := validate(history):
        why = f"the API would not take the history itself: {problems[0]}; mend it first"
    raise CannotCompact(f"{why} ({'; '.join(tried)})", tried, task.events)


def _limits(
    settings: Compaction, reason: str, before: int, window: int, max_tokens: int
) -> tuple[int, int]:
    """The size that is shared out to what stays, and the most tokens that count as a success."""
    fits = max(window - max_tokens, window // 4)
    limit = trigger(settings, window, max_tokens) if reason == "share" else fits
    saved = int((1 - settings.min_saving) * before)
    goals = {"share": min(limit, saved), "window": fits, "refused": min(fits, saved)}
    return limit, min(goals.get(reason, before), before - 1)


def _room(settings: Compaction, limit: int, overhead: int) -> Room:
    """How much may stay. What system prompt and tools take up is not there to be shared."""
    share = max(limit - overhead, limit // 10)
    return Room(settings.keep_rounds, settings.keep * share, max(FRONT * share, LEAST_FRONT))


def _check(
    made: list[Message], before: Sequence[Message], pins: Sequence[str], after: int, most: int
) -> None:
    if problems := validate(made, before):
        raise _Unusable(f"not sound: {problems[0]}")
    if lost := set(pins_in(before, pins)) - set(pins_in(made)):
        raise _Unusable(f"a pinned constraint would be lost: {min(lost)}")
    if after > most:
        raise _Unusable(f"{after:,} tokens would be left, and {most:,} may be")


def _floor(history: Sequence[Message], pins: Iterable[str], overhead: int, limit: int) -> None:
    """Do not even try where what has to stay is too much: no summary is paid for in vain."""
    pinned = count_text("\n".join(pins_in(history, pins)))
    if overhead + pinned >= limit:
        raise CannotCompact(
            f"the threshold of {limit:,} tokens cannot be reached: system prompt and tools take "
            f"{overhead:,}, pinned constraints {pinned:,}, and compaction shortens neither. Use "
            "fewer tools or a larger window, or raise the threshold (at=...)"
        )
