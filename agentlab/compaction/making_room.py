"""In the loop: before each request, go on with a shorter history if the window is nearly full.

Between two turns every call has its result, so it is the one safe moment. What happens is told
while it happens: the hooks before and after, each side call, and the new history, or why the old
one stays. The new history takes over in the same step that tells it, so that a run which is
cancelled at any moment and its transcript hold the same.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentlab.compaction.compacting import CannotCompact, compact
from agentlab.compaction.settings import Compaction, due
from agentlab.limits import over_budget
from agentlab.models import find_model
from agentlab.tokens import count_request

if TYPE_CHECKING:
    from agentlab.loop import Setup, State

Piece = tuple[str, dict[str, Any]]


def window_of(settings: Compaction, model: str) -> int:
    """Tokens of the window: as set, else the model's; 0 if nobody knows."""
    known = find_model(model)
    return settings.window or (known.context_tokens if known else 0)


def reason_to_compact(setup: Setup, state: State, tokens: int) -> str:
    """Why the next request, of so many tokens, should not be sent like this; "" if it should.

    "refused": the server found the last one too long. Else as in `due`.
    """
    settings = setup.compaction
    if settings is None or state.refused:
        return "refused" if settings is not None else ""
    window, room = window_of(settings, setup.model), state.max_tokens or setup.max_tokens
    if not window:
        return ""
    return due(
        settings, state.history, tokens, window=window, max_tokens=room, blocked=state.blocked
    )


async def make_room(
    setup: Setup, state: State, tokens: int, reason: str
) -> AsyncGenerator[Piece, None]:
    """Compact the history, in place, yielding what to tell.

    ``tokens``: of the next prompt. ``reason``: from `reason_to_compact`, or "asked" by the user. A
    hook before it may put it off, unless the next request cannot be sent without it. The last
    piece but those of hooks is ``context.compacted`` or ``context.not_compacted``.
    """
    settings = setup.compaction or Compaction()
    about = {"trigger": "manual" if reason == "asked" else "auto"}
    yield "context.compacting", {"reason": reason, "tokens": tokens}
    given = {**about, "custom_instructions": settings.instructions}
    heard = await setup.gate.hooks.fire("PreCompact", given, setup.circumstances(state))
    for piece in heard.events():
        yield piece
    if heard.decision == "deny" and not _stuck(setup, tokens, reason):
        problem = f"put off by {heard.reason}"
        yield "context.not_compacted", {"reason": reason, "problem": problem, "tokens": tokens}
        return
    told_by_hooks = "\n".join(filter(None, [settings.instructions, heard.context]))
    # A summary reads all that the next request would have held.
    dear = reason != "asked" and over_budget(setup, state, tokens)[0]
    side_calls = None if dear else setup.circumstances(state).side_calls
    try:
        done = await compact(
            state.history,
            settings.level,
            side_calls,
            settings=replace(settings, instructions=told_by_hooks),
            window=window_of(settings, setup.model),
            max_tokens=state.max_tokens or setup.max_tokens,
            overhead=count_request(setup.system, list(setup.definitions), []),
            tokens=tokens,
            pins=setup.pins,
            request=state.task,
            reason=reason,
        )
    except CannotCompact as problem:
        for call in problem.side_calls:
            yield "model.side_call", call
        why = {"reason": reason, "problem": str(problem), "tokens": tokens}
        yield "context.not_compacted", why
        return
    for call in done.side_calls:
        yield "model.side_call", call
    state.history.take_over(done.messages)
    yield "context.compacted", done.to_dict()
    given = {**about, "compact_summary": done.summary}
    heard = await setup.gate.hooks.fire("PostCompact", given, setup.circumstances(state))
    for piece in heard.events():
        yield piece


def after_compaction(setup: Setup, state: State, kind: str, data: dict[str, Any]) -> State:
    """The state after a piece of `make_room`.

    A count of tokens from before is worthless now. If nothing helped, it is not tried again at
    once; and the run ends with "window_exceeded" if the next request cannot be sent.
    """
    if kind == "context.compacted":
        return replace(state, context_tokens=0, blocked=0)
    if kind != "context.not_compacted":
        return state
    state = replace(state, blocked=data["tokens"])
    if _stuck(setup, data["tokens"], data["reason"]):
        return replace(state, status="window_exceeded", detail=data["problem"])
    return state


def _stuck(setup: Setup, tokens: int, reason: str) -> bool:
    """Whether the next request cannot be sent with this history."""
    window = window_of(setup.compaction or Compaction(), setup.model)
    return reason == "refused" or bool(window and tokens >= window)
