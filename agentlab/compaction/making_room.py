"""In the loop: before each request, go on with a shorter history if the window is nearly full.

Between two turns every call has its result, so it is the one safe moment. What happens is told: the
hooks before and after, each side call, and the new history, or why the old one stays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentlab.compaction.compacting import CannotCompact, compact
from agentlab.compaction.settings import Compaction, due
from agentlab.models import find_model
from agentlab.tokens import count_request

if TYPE_CHECKING:
    from agentlab.loop import Setup, State

Piece = tuple[str, dict[str, Any]]


def window_of(settings: Compaction, model: str) -> int:
    """Tokens of the window: as set, else the model's; 0 if nobody knows."""
    known = find_model(model)
    return settings.window or (known.context_tokens if known else 0)


async def make_room(
    setup: Setup, state: State, tokens: int, reason: str = ""
) -> tuple[State, list[Piece]]:
    """The state to go on with, and the events to tell.

    ``tokens``: of the next prompt. ``reason``: "refused" if the server has refused it as too long,
    "asked" if the user wants it now; otherwise it is decided here (`due`). If nothing helps and the
    next request cannot be sent, the state has the status "window_exceeded".
    """
    settings = setup.compaction
    if settings is None:
        return state, []
    window = window_of(settings, setup.model)
    room = state.max_tokens or setup.max_tokens
    if not reason and window:
        blocked = state.blocked
        reason = due(
            settings, state.history, tokens, window=window, max_tokens=room, blocked=blocked
        )
    if not reason:
        return state, []
    about = {"trigger": "manual" if reason == "asked" else "auto"}
    given = {**about, "custom_instructions": settings.instructions}
    heard = await setup.gate.hooks.fire("PreCompact", given, setup.circumstances(state))
    told = list(heard.events())
    if heard.decision == "deny" and reason != "refused" and (not window or tokens < window):
        return replace(state, blocked=tokens), told
    told_by_hooks = "\n".join(filter(None, [settings.instructions, heard.context]))
    try:
        done = await compact(
            state.history,
            settings.level,
            setup.circumstances(state).side_calls,
            settings=replace(settings, instructions=told_by_hooks),
            window=window,
            max_tokens=room,
            overhead=count_request(setup.system, list(setup.definitions), []),
            tokens=tokens,
            pins=setup.pins,
            request=state.task,
            reason=reason,
        )
    except CannotCompact as problem:
        told += [("model.side_call", call) for call in problem.side_calls]
        why = {"reason": reason, "problem": str(problem), "tokens": tokens}
        told.append(("context.not_compacted", why))
        if reason == "refused" or (window and tokens >= window):
            state = replace(state, status="window_exceeded", detail=str(problem))
        return replace(state, blocked=tokens), told
    state.history.take_over(done.messages)
    told += [("model.side_call", call) for call in done.side_calls]
    told.append(("context.compacted", done.to_dict()))
    heard = await setup.gate.hooks.fire(
        "PostCompact", {**about, "compact_summary": done.summary}, setup.circumstances(state)
    )
    return replace(state, context_tokens=0, blocked=0), [*told, *heard.events()]
