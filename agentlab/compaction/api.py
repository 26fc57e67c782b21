"""Letting the API shorten the prompt: `clear_tool_uses`, `clear_thinking`, and its own summary.

A request can ask the API to clear old results, or old thinking, once the prompt is large. The
history stays whole on this side and is sent whole; the model reads the shortened one. So thinking
stays valid and nothing has to be rebuilt here, but the cached prefix still breaks where something
was cleared, and only servers that have this beta do it. Names and rules: the vendor's pages on
context editing and on compaction, and SDK 2.14.0 (2026-11).

The API's summary (``Compaction(api_summary=True)``) stands in a block at the front of a reply, and
everything before that block is ignored from then on: the task and the pinned constraints too. The
instructions ask for them word for word, but a model writes that summary. To be sure, the loop says
the pinned ones again with the next results (`reminder`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agentlab.compaction.kept import pinned, pins_in
from agentlab.compaction.rounds import THINKING
from agentlab.compaction.settings import Compaction, trigger
from agentlab.messages import Block, Message, blocks_of, text

EDITS_BETA, SUMMARY_BETA = "context-management-2025-06-27", "compact-2026-01-12"
LEAST_SUMMARY_TRIGGER = 50_000  # tokens; a lower one is refused
THINKING_TURNS = 1  # turns whose thinking stays; a turn lasts until the user speaks again
CLEARED_BY_API = "[tool result cleared]"  # stands for the API's own words, which are not documented


def with_api_edits(
    request: dict[str, Any],
    settings: Compaction,
    window: int,
    *,
    thinking: bool = False,
    pins: Iterable[str] = (),
) -> dict[str, Any]:
    """The same request, asking the API to clear what is old (and to summarise) when it is large.

    The result goes to ``messages.create(**request)``: the edits travel as extra body and header.
    ``thinking``: the model thinks, so that there is thinking to clear.
    """
    limit = max(trigger(settings, window, request["max_tokens"]), 1)  # 0 is refused
    edits: list[dict[str, Any]] = []
    if thinking:
        turns = {"type": "thinking_turns", "value": THINKING_TURNS}
        edits.append({"type": "clear_thinking_20251015", "keep": turns})
    edits.append(
        {
            "type": "clear_tool_uses_20250919",
            "trigger": {"type": "input_tokens", "value": limit},
            "keep": {"type": "tool_uses", "value": settings.keep_rounds},
            "clear_at_least": {
                "type": "input_tokens",
                "value": max(int(settings.min_saving * limit), 1),
            },
        }
    )
    betas = [EDITS_BETA]
    if settings.api_summary:
        limit = max(limit, LEAST_SUMMARY_TRIGGER)
        told = "\n".join(
            [settings.instructions, "Repeat word for word what the user wants and these:", *pins]
        )
        at = {"type": "input_tokens", "value": limit}
        edits.append({"type": "compact_20260112", "trigger": at, "instructions": told.strip()})
        betas.append(SUMMARY_BETA)
    header = request.get("extra_headers", {}).get("anthropic-beta")
    return {
        **request,
        "extra_headers": {
            **request.get("extra_headers", {}),
            "anthropic-beta": ",".join([*([header] if header else []), *betas]),
        },
        "extra_body": {**request.get("extra_body", {}), "context_management": {"edits": edits}},
    }


def unread(messages: Sequence[Message]) -> int:
    """How many messages at the front the API no longer reads: it has put a summary after them."""
    return max((i for i, m in enumerate(messages) if _holds_summary(m)), default=0)


def reminder(messages: Sequence[Message], pins: Iterable[str] = ()) -> str:
    """What to say to the model after the API's own summary: the pinned constraints, "" if none."""
    found = pins_in(messages, pins)
    return pinned(found) if found else ""


def as_edited(messages: Sequence[Message], keep_uses: int) -> list[Message]:
    """What the model reads once the API has cleared: an estimate for tables, by its rules.

    All results but those of the last ``keep_uses`` calls, and all thinking but that of the last
    turn, are gone.
    """
    ids = [b["tool_use_id"] for m in messages for b in blocks_of(m) if b["type"] == "tool_result"]
    old = set(ids[: max(0, len(ids) - keep_uses)])
    last = max((i for i, m in enumerate(messages) if _asks(m)), default=0)
    made = []
    for index, message in enumerate(messages):
        blocks = [
            {**b, "content": CLEARED_BY_API} if b.get("tool_use_id") in old else b
            for b in blocks_of(message)
            if index > last or b["type"] not in THINKING
        ]
        made.append({**message, "content": blocks or [text("(thinking)")]})
    return made


def _asks(message: Message) -> bool:
    blocks: list[Block] = blocks_of(message)
    return message["role"] == "user" and not any(b["type"] == "tool_result" for b in blocks)


def _holds_summary(message: Message) -> bool:
    return any(block["type"] == "compaction" for block in blocks_of(message))
