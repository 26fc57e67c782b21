"""Context edits: what the API takes out of a prompt before the model reads it.

A request may ask for it with ``context_management`` (beta): old results of tools, or old thinking,
are cleared once the prompt is large. The client keeps its whole history and sends it whole every
time; the edits are made anew for every request, on a copy. So what the client signed for still
stands as it was sent, and thinking stays valid. But the prompt that the model reads is another one
from the first cleared block on, and the prompt cache is broken there: ``clear_at_least`` keeps an
edit from being made for little.

Nothing is remembered between two requests. What was cleared before is found again by going through
the history as it grew: a result that was cleared once stays cleared, and the next clearing comes
when what is left has grown beyond the trigger. So a cleared prompt can be cached until then, as the
vendor's page says it can; how the real API goes about it is not documented. Source: that page, on
context editing, through a public copy (2026-09). Chapter 10 compares this with the other ways to
keep a history small.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentlab import tokens
from agentlab.models import find_model
from agentlab.simulator.prefix import THINKING, Chain, chain

Block = dict[str, Any]
TOOL_USES, THOUGHTS, COMPACT = (
    "clear_tool_uses_20250919",
    "clear_thinking_20251015",
    "compact_20260112",
)
TRIGGER_TOKENS, KEEP_TOOL_USES = 100_000, 3  # the documented defaults of `clear_tool_uses`
COMPACT_TRIGGER, MIN_COMPACT_TRIGGER = 150_000, 50_000  # tokens; the default and the least
CLEARED_TEXT = "[tool result cleared to save context]"  # the API's own wording is not documented


@dataclass(frozen=True)
class Edited:
    """A prompt after its edits. ``due`` is the compaction that its size asks for, if one is."""

    body: dict[str, Any]
    chain: Chain
    applied: list[Block] = field(default_factory=list)  # as the response reports them
    due: Block | None = None


def edit(body: dict[str, Any], sent: Chain, *, counting: bool = False) -> Edited:
    """Make the edits that a request asks for, in its order.

    Args:
        body: a request that was found valid.
        sent: its chain.
        counting: only tokens are asked for, so nothing is compacted.
    """
    now = Edited(body, sent)
    for asked in (body.get("context_management") or {}).get("edits") or ():
        if asked["type"] == THOUGHTS:
            now = _clear_thinking(now, asked)
        elif asked["type"] == TOOL_USES:
            now = _clear_tool_uses(now, asked)
        elif not counting and now.chain.total_tokens >= trigger_of(asked):
            return Edited(now.body, now.chain, now.applied, asked)
    return now


def trigger_of(compact: Block) -> int:
    """From how many input tokens on a ``compact_20260112`` edit compacts."""
    return (compact.get("trigger") or {}).get("value", COMPACT_TRIGGER)


# ------------------------------------------------------------------------------ thinking


def _clear_thinking(now: Edited, asked: Block) -> Edited:
    kept = _kept_turns(now, asked)
    if kept is None:
        return now
    messages = list(now.body["messages"])
    turns = [turn for turn in _turns(messages) if any(_thinks(messages[i]) for i in turn)]
    old = turns[: max(0, len(turns) - kept)]
    for index in (i for turn in old for i in turn if _thinks(messages[i])):
        content = [b for b in messages[index]["content"] if b["type"] not in THINKING]
        messages[index] = {**messages[index], "content": content}
    return _after(now, messages, THOUGHTS, "cleared_thinking_turns", len(old))


def _kept_turns(now: Edited, asked: Block) -> int | None:
    """How many turns keep their thinking; None: all.

    By default models of the 4.5 generation keep the last one and later ones keep all. (The one
    exception, an Opus of that generation that keeps all, is not made here.)
    """
    keep = asked.get("keep")
    if isinstance(keep, dict):
        return keep.get("value")
    model = find_model(str(now.body.get("model")))
    return 1 if keep is None and model is not None and model.prefill else None


def _turns(messages: list[Block]) -> list[list[int]]:
    """The assistant's messages by turn: a turn begins where the user says something.

    Results of tools do not end a turn, so a whole loop over tools is one.
    """
    turns: list[list[int]] = [[]]
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            turns[-1].append(index)
        elif not any(block["type"] == "tool_result" for block in _blocks(message)):
            turns.append([])
    return turns


def _thinks(message: Block) -> bool:
    return any(block["type"] in THINKING for block in _blocks(message))


# ------------------------------------------------------------------------------ tools


def _clear_tool_uses(now: Edited, asked: Block) -> Edited:
    messages = list(now.body["messages"])
    calls = {b["id"]: b["name"] for m in messages for b in _blocks(m) if b["type"] == "tool_use"}
    inputs = asked.get("clear_tool_inputs") or ()
    emptied = {id for id, name in calls.items() if inputs is True or (inputs and name in inputs)}
    old = _old_uses(now, asked, calls, emptied)
    for index, message in enumerate(messages):
        content = [_cleared(block, old, emptied) for block in _blocks(message)]
        if any(a is not b for a, b in zip(content, _blocks(message), strict=True)):
            messages[index] = {**message, "content": content}
    return _after(now, messages, TOOL_USES, "cleared_tool_uses", len(old))


def _old_uses(now: Edited, asked: Block, calls: dict[str, str], emptied: set[str]) -> set[str]:
    """The ids of the calls to clear, found by going through the requests that led here.

    At each of them: if what was left of the prompt exceeded the trigger, and enough could be
    cleared, it was.
    """
    trigger = asked.get("trigger") or {"type": "input_tokens", "value": TRIGGER_TOKENS}
    keep = (asked.get("keep") or {}).get("value", KEEP_TOOL_USES)
    at_least = (asked.get("clear_at_least") or {}).get("value", 1)
    spared = asked.get("exclude_tools") or ()
    messages, made = now.body["messages"], now.chain
    answered: list[str] = []
    savings: dict[str, int] = dict.fromkeys(calls, 0)
    old: set[str] = set()
    for index, message in enumerate(messages):
        for block in _blocks(message):
            id = str(block.get("tool_use_id") or block.get("id") or "")
            if id in calls:
                shorter = _cleared(block, {id}, emptied)
                savings[id] += tokens.count_content(block) - tokens.count_content(shorter)
                answered += [id] if block["type"] == "tool_result" else []
        if index + 1 < len(messages) and messages[index + 1]["role"] != "assistant":
            continue  # no request ended here
        size = made.tokens[made.starts[index + 1]] - sum(savings[id] for id in old)
        if trigger["type"] == "tool_uses":
            size = len(answered) - len(old)
        more = {id for id in answered[: max(0, len(answered) - keep)] if calls[id] not in spared}
        more -= old
        if size > trigger["value"] and sum(savings[id] for id in more) >= at_least:
            old |= more
    return old


def _cleared(block: Block, old: set[str], emptied: set[str]) -> Block:
    if block["type"] == "tool_result" and block["tool_use_id"] in old:
        return {**block, "content": CLEARED_TEXT}
    if block["type"] == "tool_use" and block["id"] in old & emptied and block["input"]:
        return {**block, "input": {}}
    return block


def _after(now: Edited, messages: list[Block], kind: str, count: str, cleared: int) -> Edited:
    """The prompt with these messages, if anything was cleared."""
    if not cleared:
        return now
    body = {**now.body, "messages": messages}
    made = chain(body)
    saved = now.chain.total_tokens - made.total_tokens
    report = {"type": kind, count: cleared, "cleared_input_tokens": saved}
    return Edited(body, made, [*now.applied, report])


def _blocks(message: Block) -> list[Block]:
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]
