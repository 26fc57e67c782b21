"""The loop: ask the model, run what it asks for, send back what came out, until it is done.

`run` is an async generator: it yields an event for everything that happens, while it happens. What
it knows stands in one frozen `State`, which every turn takes apart at the top and builds anew at
the bottom; there are no globals and nothing is hidden. One turn is one call of the main model with
the tools it asked for.

The loop decides nothing about the task, only whether to go on (`agentlab.deciding`). Limits are
checked before each request, so that a run can end between two turns but never in the middle of a
tool call. Wherever it is cancelled, the history stays one that the API accepts.

It does not shorten the history, decide what is allowed or remember anything: those are components
of their own. Built in chapter 02.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from agentlab.caching import with_breakpoints
from agentlab.clock import ANSWER_S, Clock
from agentlab.compaction.api import with_api_edits
from agentlab.compaction.making_room import (
    after_compaction,
    make_room,
    reason_to_compact,
    window_of,
)
from agentlab.compaction.settings import Compaction
from agentlab.costs import NO_USAGE, Usage
from agentlab.deciding import completion, decide, follow_up, interpret, keeps, remember
from agentlab.events import Event
from agentlab.failures import end_status, hint, short, too_long
from agentlab.limits import (
    Limits,
    Signature,
    calls_left,
    over_budget,
    over_limit,
    spent_share,
    warning,
)
from agentlab.messages import INTERRUPTED, Block, History, normalise, tool_result, user
from agentlab.partition import DEFAULT_CAP, run_batches
from agentlab.permissions.decision import Circumstances
from agentlab.permissions.gate import Gate
from agentlab.retry import Retry
from agentlab.side_calls import SideCalls
from agentlab.stream import Piece, Reply, stream_reply
from agentlab.tokens import count_message, count_request
from agentlab.tools import Outcome, Prepared, Tool, failure, prepare


@dataclass(frozen=True)
class Setup:
    """What stays the same for a whole run: the model, what it may use, and the rules."""

    client: Any  # anthropic.AsyncAnthropic
    model: str
    clock: Clock
    tools: dict[str, Tool] = field(default_factory=dict)
    system: str = ""
    limits: Limits = field(default_factory=Limits)
    retry: Retry = field(default_factory=Retry)
    autopilot: bool = False
    max_tokens: int = 8192
    thinking: dict[str, Any] | None = None
    normalise: bool = True
    definitions: tuple[dict[str, Any], ...] = ()  # of the tools, as described for this session
    cap: int = DEFAULT_CAP
    gate: Gate = field(default_factory=Gate)
    cache: bool = True  # mark the request for the prompt cache
    small_model: str = ""  # for side calls; empty: the main one
    compaction: Compaction | None = None
    pins: tuple[str, ...] = ()  # constraints that no compaction may lose
    name: str = "main"
    session: str = ""  # what hooks are told about it: a name, and the path of its transcript
    transcript: str = ""

    def request(self, state: State) -> dict[str, Any]:
        """The whole request of the next turn, as it goes over the wire."""
        request: dict[str, Any] = {
            "model": self.model,
            "max_tokens": state.max_tokens or self.max_tokens,
        }
        if self.system:
            request["system"] = self.system
        if self.tools:
            request["tools"] = list(self.definitions)
        if self.thinking:
            request["thinking"] = self.thinking
        request["messages"] = state.history
        if self.compaction is not None and self.compaction.level == "api":
            window = window_of(self.compaction, self.model)
            if window:
                request = with_api_edits(
                    request, self.compaction, window, thinking=bool(self.thinking), pins=self.pins
                )
        return with_breakpoints(request) if self.cache else request

    def circumstances(self, state: State) -> Circumstances:
        """What the gate may know about a turn."""
        small = self.small_model or self.model
        side_calls = SideCalls(self.client, small, self.clock, retry=self.retry)
        about = {"session": self.session, "transcript": self.transcript}
        return Circumstances(self.name, state.turn, state.task, **about, side_calls=side_calls)

    def event(self, type: str, turn: int, **data: Any) -> Event:
        """An event of this run, now."""
        return Event(type, self.clock.now(), turn, self.name, data)


@dataclass(frozen=True, slots=True)
class State:
    """Everything that changes, in one place. ``status`` is empty as long as the run goes on."""

    history: History
    turn: int = 0
    usage: Usage = NO_USAGE
    cost_usd: float | None = 0.0  # None once a call had no known price
    started_at: float = 0.0
    context_tokens: int = 0  # prompt and reply of the last call, as counted by the server
    blocked: int = 0  # tokens at the last compaction that could not free enough
    refused: bool = False  # the last request was too long, or left no room for the reply
    max_tokens: int = 0  # more room after a reply that was cut off; 0: as in the setup
    tool_calls: int = 0
    recent: tuple[Signature, ...] = ()  # the last calls with their results
    failures: tuple[str, int] = ("", 0)  # a tool, and how often it failed in a row
    cut_offs: int = 0
    pauses: int = 0
    empty_replies: int = 0
    nudges: int = 0
    stop_blocks: int = 0  # how often a Stop hook has sent the model on
    warned: bool = False  # that the budget is nearly spent
    task: str = ""  # what the user asked for
    text: str = ""  # of the last reply
    status: str = ""
    detail: str = ""  # why it ended, in one line
    hint: str = ""  # after an error: what to do next


async def run(setup: Setup, state: State) -> AsyncGenerator[Event, None]:
    """Turn after turn, until something ends the run; the last events say what, and why.

    The task is the last message of ``state.history``, which grows as the run goes on. Close the
    generator (`contextlib.aclosing`) if you stop early. A failing endpoint does not raise: it is a
    ``session.error`` event. Only cancelling raises.
    """
    history, turn = state.history, 0
    while not state.status:
        if setup.normalise:
            normalise(history)
        tokens = _next_prompt(setup, state)
        reason = reason_to_compact(setup, state, tokens)
        status, detail = _over_limit(setup, state, tokens, reason)
        if reason and not status:
            async with aclosing(make_room(setup, state, tokens, reason)) as pieces:
                async for kind, data in pieces:
                    state = after_compaction(setup, charge(state, kind, data), kind, data)
                    yield setup.event(kind, state.turn, **data)
            if state.status:
                break
            tokens = _next_prompt(setup, state)
            status, detail = over_limit(setup, state, tokens)
        if status:
            state = replace(state, status=status, detail=detail)
            break

        # One call of the model.
        turn = state.turn + 1
        yield setup.event("assistant.turn_start", turn, messages=len(history), input_tokens=tokens)
        reply = Reply()
        try:
            async with aclosing(stream_reply(setup, setup.request(state), reply)) as pieces:
                async for kind, data in pieces:
                    state = charge(state, kind, data)
                    yield setup.event(kind, turn, **data)
                    if kind == "model.retry":  # what broke off has cost too
                        status, detail = over_budget(setup, state, tokens)
                    if status:
                        break
        except Exception as error:
            if too_long(error) and setup.compaction is not None and not state.refused:
                state = replace(state, refused=True)  # compact, and ask once more
                continue
            state = replace(state, status=end_status(error), detail=short(error), hint=hint(error))
            break
        if status:
            state = replace(state, status=status, detail=detail)
            break
        history.mark_sent()
        reply.distinct_ids(history.ids | history.past)

        # What does its end mean? The reply enters the history only if it is whole.
        state = interpret(setup, _count(setup, replace(state, turn=turn), reply), reply)
        kept = keeps(reply) and not state.refused
        if reply.edits:
            yield setup.event("context.edited", turn, edits=reply.edits)
        if kept:  # in the same step that tells it: a run may be cancelled where something is told
            history.append(reply.message)
        yield setup.event("assistant.message", turn, **reply.to_dict(), kept=kept)

        # Run what it asked for. The results stand in the history before the first tool starts.
        calls = reply.calls() if kept else []
        if calls:
            history.append(user(*(tool_result(call["id"], INTERRUPTED, True) for call in calls)))
        async with aclosing(run_calls(setup, state, reply, calls)) as pieces:
            async for kind, data in pieces:
                state = charge(state, kind, data)
                yield setup.event(kind, turn, **data)
        state = remember(state, calls, history[-1])

        yield turn_end(setup, state, reply)
        if not state.warned and (words := warning(setup.limits, state)):
            state = replace(state, warned=True)
            share = spent_share(setup.limits, state)
            yield setup.event("budget.warning", turn, text=words, share=share)

        # Go on, or not?
        state = decide(setup, state, completion(calls, history[-1]))
        state, note, heard = await hear_stop_hooks(setup, state, follow_up(setup, state, reply))
        for kind, data in heard:
            state = charge(state, kind, data)
            yield setup.event(kind, turn, **data)
        if state.status == "task_complete":
            yield setup.event("session.task_complete", turn, summary=state.text)
        if note and not state.status:
            history.append(user(note))
            yield setup.event("user.message", turn, message=history[-1], origin="continue")

    if setup.normalise:
        normalise(history)
    for event in ending(setup, state, turn):
        yield event


def turn_end(setup: Setup, state: State, reply: Reply) -> Event:
    """The event that closes a turn: what it cost, and what the run has cost so far."""
    return setup.event(
        "assistant.turn_end",
        state.turn,
        stop_reason=reply.stop_reason,
        usage=reply.usage.to_dict(),
        cost_usd=reply.cost_usd(setup.model),
        total_usage=state.usage.to_dict(),
        total_usd=state.cost_usd,
    )


def ending(setup: Setup, state: State, turn: int) -> Iterator[Event]:
    """The last events of a run: the error, if it failed; how it ended and what it took; idle."""
    if state.status == "error" or state.hint:
        about = {"status": state.status, "error": state.detail, "hint": state.hint}
        yield setup.event("session.error", turn, **about)
    yield setup.event(
        "session.end",
        state.turn,
        status=state.status,
        text=state.text,
        turns=state.turn,
        usage=state.usage.to_dict(),
        cost_usd=state.cost_usd,
        detail=state.detail,
    )
    yield setup.event("session.idle", state.turn, status=state.status)


async def hear_stop_hooks(setup: Setup, state: State, note: str) -> tuple[State, str, list[Piece]]:
    """Before a run ends well: Stop hooks may send the model on, a bounded number of times.

    Returns the state, what the model is told if it goes on, and the events to tell.
    """
    if state.status not in ("completed", "task_complete"):
        return state, note, []
    stop = await setup.gate.stop(setup.circumstances(state), state.stop_blocks > 0)
    if stop.decision == "deny":
        blocks, note = state.stop_blocks + 1, stop.reason
        state = replace(state, status="", stop_blocks=blocks)
        if blocks > setup.limits.stop_blocks:
            detail = f"a Stop hook still sends it on after {blocks - 1} times: {note}"
            state = replace(state, status="stop_hook_capped", detail=detail)
    return state, note, list(stop.events())


def charge(state: State, kind: str, data: dict[str, Any]) -> State:
    """The state with the cost of a side call or a broken-off attempt added, if it is one."""
    if kind not in ("model.side_call", "model.broken_off"):
        return state
    cost, so_far = data["cost_usd"], state.cost_usd
    total = None if cost is None or so_far is None else so_far + cost
    return replace(state, usage=state.usage + Usage.from_dict(data["usage"]), cost_usd=total)


async def run_calls(
    setup: Setup, state: State, reply: Reply, calls: list[Block]
) -> AsyncGenerator[Piece, None]:
    """Check and decide all calls of a turn, then run them; the results go into the history."""
    history = state.history
    decided = prepare_all(setup, state, reply, calls)
    async with aclosing(setup.gate.decide(decided, setup.circumstances(state))) as pieces:
        async for kind, data in pieces:
            yield kind, data
            if kind == "permission.requested":
                setup.clock.advance(ANSWER_S)
    running = run_batches(decided, setup.clock, setup.cap, setup.gate.execute)
    async with aclosing(running) as happenings:
        async for index, outcome in happenings:
            if outcome is not None:
                history[-1]["content"][index] = outcome.block
            for piece in tool_events(calls[index], decided[index], outcome):
                yield piece


def prepare_all(
    setup: Setup, state: State, reply: Reply, calls: list[Block]
) -> list[Prepared | Outcome]:
    """Check the input of every call of a turn before any of it runs."""
    decided: list[Prepared | Outcome] = []
    left = calls_left(setup.limits, state.tool_calls)
    for number, call in enumerate(calls):
        broken = reply.broken_json.get(call["id"])
        if number >= left:
            decided.append(failure(call, "Not run: the limit of tool calls is reached."))
        elif broken is not None:
            text = (
                f"The input of {call['name']} is not valid JSON, so nothing was run: {broken[:500]}"
            )
            decided.append(failure(call, text))
        else:
            decided.append(prepare(call, setup.tools))
    return decided


def tool_events(
    call: Block, decided: Prepared | Outcome, outcome: Outcome | None
) -> Iterator[Piece]:
    """Type and data of the events for a call that starts (no outcome yet) or has ended.

    It starts with the input that it runs with, which a hook or the user may have changed.
    """
    about = {"tool_use_id": call["id"], "name": call["name"]}
    if outcome is None:
        run = decided.call if isinstance(decided, Prepared) else call
        yield "tool.execution_start", {**about, "input": run["input"]}
        return
    yield "tool.execution_complete", {**about, **outcome.to_dict()}
    yield from outcome.told


def _count(setup: Setup, state: State, reply: Reply) -> State:
    """The state with the tokens and dollars of a reply added."""
    cost = reply.cost_usd(setup.model)
    total = None if cost is None or state.cost_usd is None else state.cost_usd + cost
    return replace(
        state,
        usage=state.usage + reply.usage,
        cost_usd=total,
        context_tokens=reply.context_tokens,
    )


def _over_limit(setup: Setup, state: State, tokens: int, reason: str) -> tuple[str, str]:
    """As `over_limit`. If there is a reason to compact, the prompt is bounded only after that."""
    if reason:
        state, tokens = replace(state, context_tokens=0), 0
    return over_limit(setup, state, tokens)


def _next_prompt(setup: Setup, state: State) -> int:
    """Tokens of the next prompt: what the server counted last, plus an estimate of what is new."""
    if not state.context_tokens:
        return count_request(setup.system, list(setup.definitions), state.history)
    return state.context_tokens + sum(map(count_message, state.history[state.history.sent + 1 :]))
