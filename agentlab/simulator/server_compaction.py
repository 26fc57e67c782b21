"""Compaction by the API: a summary in a block of its own, and what it does to later requests.

There are two kinds (both beta). **At a threshold**: an ordinary request carries the edit
``compact_20260112``; when its prompt reaches the trigger, the reply begins with a ``compaction``
block, and goes on from there or pauses. The client appends the reply as always; from then on
everything before the block is ignored, so sending it does no harm and leaving it out does neither.
**On demand**: a request with ``compaction`` gets the block and nothing else, signed. The client
puts it first, in place of what it summarises, and may not change it.

The summary is really made from the messages (`summarising`), and ends with the line that lets a
scenario go on from it. What else was in the messages is gone, for the model and for the scenario.

Sources: the vendor's pages on both kinds, and error texts that people measured on the live API,
both through public copies (2026-09 and 2026-10). What is refused stands in `validation_compaction`.
"""

from __future__ import annotations

from typing import Any

from agentlab.simulator import playback
from agentlab.simulator.betas import COMPACTING
from agentlab.simulator.prefix import Anchor, sign
from agentlab.simulator.summarising import goals_in, summarise

Block = dict[str, Any]
SUMMARY_CHARS = 6_000  # about 1,800 tokens, the most that the simulated model writes; an assumption
_INTRODUCTION = "[Summary of the conversation so far]\n"


# ------------------------------------------------------------------------------ what is read


def since_compaction(body: Block, betas: frozenset[str]) -> tuple[Block, int]:
    """The request from its last summary on, and how many whole messages stood before it.

    Blocks with null content are failed compactions and mean nothing. The messages may be
    anything: this is done before they are checked.
    """
    messages = body.get("messages")
    if not betas & COMPACTING or not isinstance(messages, list):
        return body, 0
    places = [
        (index, number, block)
        for index, message in enumerate(messages)
        for number, block in compactions(message)
    ]
    if not places:
        return body, 0
    first, number = next(((i, n) for i, n, b in reversed(places) if b.get("content")), (0, 0))
    kept = []
    for index, message in enumerate(messages[first:], first):
        if not any(True for _ in compactions(message)):
            kept.append(message)
            continue
        content = message["content"][number if index == first else 0 :]
        content = [b for b in content if not _is_compaction(b) or b.get("content") is not None]
        if content:
            kept.append({**message, "content": content})
    return {**body, "messages": kept}, first


def as_played(body: Block) -> Block:
    """The request as a scenario reads it: the summary as a text from the user's side.

    The goals that it names stand before it, each as a text of its own: one may have opened the
    scenario.
    """
    messages = body["messages"]
    found = dict(compactions(messages[0])) if messages else {}
    if 0 not in found:
        return body
    summary = found[0]["content"]
    texts = [*goals_in(summary), _INTRODUCTION + summary]
    told = {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}
    rest = messages[0]["content"][1:]
    after = [{**messages[0], "content": rest}] if rest else []
    return {**body, "messages": [told, *after, *messages[1:]]}


def compactions(message: Any) -> list[tuple[int, Block]]:
    """The summaries in a message, each with its place."""
    content = message.get("content") if isinstance(message, dict) else None
    return [
        (number, block)
        for number, block in enumerate(content if isinstance(content, list) else ())
        if _is_compaction(block)
    ]


def _is_compaction(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "compaction"


# ------------------------------------------------------------------------------ what is written


def make_block(body: Block, instructions: str | None, *, scenario: str | None = None) -> Block:
    """The block with the summary of a request's messages."""
    messages = as_played(body)["messages"]
    line = playback.standing(messages, scenario=scenario)
    room = SUMMARY_CHARS - len(line) - 1
    text = summarise(messages, limit_chars=room, instructions=instructions or "")
    return {"type": "compaction", "content": f"{text}\n{line}".strip()}


def signed_block(block: Block, anchor: Anchor) -> Block:
    """The block of a compaction on demand, with its signature."""
    return {**block, "signature": sign(block["content"], anchor)}


def with_block(body: Block, block: Block) -> Block:
    """The request after a compaction: tools, system prompt and the summary are left of it."""
    return {**body, "messages": [{"role": "assistant", "content": [block]}]}
