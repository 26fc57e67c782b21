"""What a reply means: whether the run goes on, how it ended, and what the model is told next.

Every stop reason is mapped here, and one that was never seen is not success. These are small
functions from one state of the loop to the next; they send nothing and run nothing.

Built in chapter 02.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agentlab.compaction.api import reminder
from agentlab.limits import WINDOW, Signature, alike, larger, repeating, signature
from agentlab.messages import Block, Message, text_of
from agentlab.stream import Reply

if TYPE_CHECKING:
    from agentlab.loop import Setup, State

NUDGE = (
    "You stopped, but you have not said that the task is complete. If work is left, go on with it "
    "now instead of describing it. Call TaskComplete only when everything is done: not while a "
    "question is open (decide it yourself), not right after an error (mend it first), not while "
    "a part of the task is left."
)
CUT_OFF = (
    "Your reply was cut off at max_tokens in the middle of a call to {name}, so nothing of it was "
    "run. You have room for {room} tokens now. Make the call again, in smaller pieces if need be."
)


def keeps(reply: Reply) -> bool:
    """Whether a reply enters the history: not if it is empty, refused, or cut off within a call."""
    if not reply.blocks or reply.stop_reason == "refusal":
        return False
    return not reply.calls() or reply.stop_reason in ("tool_use", "end_turn")


def interpret(setup: Setup, state: State, reply: Reply) -> State:
    """The state after a reply: its stop reason says whether the run goes on, or how it ended."""
    limits, room = setup.limits, state.max_tokens or setup.max_tokens
    again, state = state.refused, replace(state, refused=False)
    if keeps(reply):
        state = replace(state, text=text_of(reply.message))

    def end(status: str, detail: str = "") -> State:
        return replace(state, status=status, detail=detail)

    match reply.stop_reason:
        case "tool_use" | "end_turn" if reply.calls():
            return replace(state, max_tokens=0, cut_offs=0, pauses=0, empty_replies=0)
        case "end_turn" | "stop_sequence":
            return end("completed")
        case "pause_turn" | "compaction" if state.pauses < limits.pauses:
            return replace(state, pauses=state.pauses + 1)
        case "pause_turn" | "compaction":
            return end("error", f"the model paused {limits.pauses + 1} times in a row")
        case "max_tokens" if reply.calls() and state.cut_offs < limits.cut_offs:
            return replace(state, cut_offs=state.cut_offs + 1, max_tokens=larger(room, setup.model))
        case "max_tokens":
            return end("truncated", f"the reply did not fit into max_tokens={room}")
        case "tool_use" if state.empty_replies < limits.empty_replies:  # announced, but none made
            return replace(state, empty_replies=state.empty_replies + 1)
        case "tool_use":
            return end("error", "the model announced a tool call and made none")
        case "refusal":
            return end("refusal", reply.stop_detail or "the model declined to answer")
        case "model_context_window_exceeded" if setup.compaction is not None and not again:
            return replace(state, refused=True)  # compact, and ask once more
        case "model_context_window_exceeded":
            return end("window_exceeded", "the conversation no longer fits into the model's window")
        case other:
            return end("error", f"unknown stop reason {other!r}, which is not taken for success")


def decide(setup: Setup, state: State, summary: str | None) -> State:
    """The state at the end of a turn: done, going round in circles, or (autopilot) not done."""
    if summary is not None:
        return replace(state, status="task_complete", text=summary)
    if state.status == "completed" and setup.autopilot:
        if state.nudges < setup.limits.nudges:
            return replace(state, status="", nudges=state.nudges + 1)
        detail = f"stopped {state.nudges + 1} times without TaskComplete"
        return replace(state, status="no_completion", detail=detail)
    if not state.status:
        status, detail = repeating(setup.limits, state.recent, state.failures)
        return replace(state, status=status, detail=detail)
    return state


def completion(calls: list[Block], results: Message) -> str | None:
    """The summary, if one of the calls was a TaskComplete that went well."""
    for call, result in zip(calls, results["content"], strict=False):
        if call["name"] == "TaskComplete" and not result.get("is_error"):
            return str(call["input"].get("summary", ""))
    return None


def follow_up(setup: Setup, state: State, reply: Reply) -> str:
    """What the harness itself says to the model before the next turn, if anything."""
    if reply.stop_reason == "max_tokens" and reply.calls():
        return CUT_OFF.format(name=reply.calls()[-1]["name"], room=state.max_tokens)
    if reply.stop_reason in ("end_turn", "stop_sequence") and not reply.calls():
        return NUDGE
    return reminder(state.history, setup.pins) if reply.calls() and reply.summarised else ""


def remember(state: State, calls: list[Block], results: Message) -> State:
    """The state after the calls of a turn: counted, and remembered to detect repetition.

    Repeating and failing are counted over turns: of calls that are alike within one turn only one
    is remembered, and a tool has failed in a turn if all of its calls have.
    """
    news: list[Signature] = []
    failed, well = [], set()
    for call, result in zip(calls, results["content"], strict=False):
        made = signature(call, result)
        if not any(alike(made, other) for other in news):
            news.append(made)
        if result.get("is_error"):
            failed.append(call["name"])
        else:
            well.add(call["name"])
    return replace(
        state,
        tool_calls=state.tool_calls + len(calls),
        recent=(*state.recent, *news)[-WINDOW:],
        failures=_failures(state.failures, [name for name in failed if name not in well]),
    )


def _failures(before: tuple[str, int], failed: list[str]) -> tuple[str, int]:
    name, count = before
    if name in failed:
        return name, count + 1
    return (failed[0], 1) if failed else ("", 0)
