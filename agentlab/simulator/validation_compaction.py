"""The rules for context edits and for compaction: what may be asked for, and what comes back.

The texts were measured on the live API by people who published them (2026-09 and 2026-10): the
order of edits, the least trigger, a block without its edit, a changed or unsigned summary. For the
others only the rule is documented; their texts follow the shape of their neighbours.
"""

from __future__ import annotations

from typing import Any

from agentlab.models import Model
from agentlab.simulator.betas import COMPACT_AT_THRESHOLD, COMPACT_ON_DEMAND
from agentlab.simulator.context_edits import COMPACT, MIN_COMPACT_TRIGGER, THOUGHTS, trigger_of
from agentlab.simulator.prefix import sign, signed
from agentlab.simulator.rules import Rejected
from agentlab.simulator.schema import CompactedMessage, check_shape
from agentlab.simulator.schema_context import ClearingEdits, CompactingEdits, Summarize
from agentlab.simulator.server_compaction import compactions

Block = dict[str, Any]


def check_edits(body: Block, betas: frozenset[str], model: Model) -> None:
    """Raise `Rejected` if ``context_management`` is not one that the API takes."""
    asked = body.get("context_management")
    if asked is None:
        return
    shape = CompactingEdits if COMPACT_AT_THRESHOLD in betas else ClearingEdits
    check_shape(shape, asked, ("context_management",))
    edits = asked.get("edits") or []
    kinds = [edit["type"] for edit in edits]
    if THOUGHTS in kinds[1:]:
        raise Rejected(
            "context-edits",
            f"context_management: `{THOUGHTS}` must be the first strategy in "
            "`context_management.edits` when provided",
        )
    thinking = (body.get("thinking") or {}).get("type") or model.default_thinking
    if THOUGHTS in kinds and thinking == "disabled":
        raise Rejected(
            "context-edits", f"`{THOUGHTS}` strategy requires `thinking` to be enabled or adaptive"
        )
    for number, edit in enumerate(edits):
        if edit["type"] == COMPACT:
            _check_compact(edit, f"context_management.edits.{number}", body["model"], model)


def _check_compact(edit: Block, place: str, name: str, model: Model) -> None:
    if trigger_of(edit) < MIN_COMPACT_TRIGGER:
        message = f"{place}.{COMPACT}: trigger.value must be at least {MIN_COMPACT_TRIGGER}"
        raise Rejected("context-edits", message)
    if not compacts(model):
        message = f"'{name}' does not support the '{COMPACT}' context management strategy."
        raise Rejected("context-edits", message)


def compacts(model: Model) -> bool:
    """Whether a model can compact. The 4.6 models brought it, as they ended the prefill."""
    return not model.prefill


def check_request(body: Block, model: Model) -> None:
    """Raise `Rejected` if a compaction on demand is asked for together with what it excludes.

    Which fields those are is documented, the texts are not.
    """
    if body.get("compaction") is None:
        return
    check_shape(Summarize, body["compaction"], ("compaction",))
    if not compacts(model):
        raise Rejected("compaction", f"compaction: '{body['model']}' does not support compaction.")
    excluded = {
        "context_management": body.get("context_management"),
        "stop_sequences": body.get("stop_sequences"),
        "output_config.format": (body.get("output_config") or {}).get("format"),
        "tool_choice": (body.get("tool_choice") or {}).get("type") in ("any", "tool"),
    }
    for field, present in excluded.items():
        if present:
            raise Rejected("compaction", f"compaction: cannot be combined with `{field}`")
    messages = body["messages"]
    if not messages:
        raise _coded("nothing_to_summarize", "messages: there is nothing to summarize")
    last = messages[-1] if isinstance(messages[-1], dict) else {}
    content = last.get("content") if last.get("role") == "assistant" else None
    blocks = content if isinstance(content, list) else []
    if any(isinstance(block, dict) and block.get("type") == "tool_use" for block in blocks):
        raise _coded(
            "incomplete_turn",
            f"messages.{len(messages) - 1}: the last `assistant` turn has a tool call without a "
            "result. Send the result first, then compact.",
        )


def check_skipped(whole: Block, betas: frozenset[str], skipped: int) -> None:
    """Raise `Rejected` for what stands before the last summary, or for a summary itself.

    ``skipped`` messages stand before it; of them only the shape is looked at. A summary must not
    have been changed, nor moved.
    """
    for index, message in enumerate(whole["messages"]):
        if index <= skipped or compactions(message):
            check_shape(CompactedMessage, message, ("messages", index))
    _check_blocks(whole, betas)


def _check_blocks(body: Block, betas: frozenset[str]) -> None:
    edits = (body.get("context_management") or {}).get("edits") or ()
    at_threshold = any(edit["type"] == COMPACT for edit in edits)
    places = [
        (index, number, block)
        for index, message in enumerate(body["messages"])
        for number, block in compactions(message)
        if block.get("content") is not None
    ]
    for index, number, block in places:
        place = f"messages.{index}.content.{number}"
        if not block["content"]:
            raise Rejected("compaction", f"{place}.compaction.content: content cannot be empty")
        if body["messages"][index]["role"] == "system":
            raise _coded("block_misplaced", f"{place}: `compaction` blocks cannot be in `system`")
        if block.get("signature") is None:
            _check_unsigned(place, at_threshold, betas)
        else:
            _check_signed(block, place, at_threshold, betas, first=(index, number) == (0, 0))
    if len(places) > 1 and not at_threshold:
        message = "messages: more than one `compaction` block with content. Send only the newest."
        raise _coded("block_ambiguous", message)


def _check_unsigned(place: str, at_threshold: bool, betas: frozenset[str]) -> None:
    if at_threshold:
        return
    if COMPACT_AT_THRESHOLD not in betas:
        message = f"{place}: a `compaction` block with `content` requires its `signature`"
        raise Rejected("compaction", message)
    raise Rejected(
        "compaction",
        f"{place}: `compaction` blocks require a `{COMPACT}` strategy in "
        "`context_management.edits`.",
    )


def _check_signed(
    block: Block, place: str, at_threshold: bool, betas: frozenset[str], *, first: bool
) -> None:
    if COMPACT_ON_DEMAND not in betas:
        message = f"{place}.compaction: `signature` requires anthropic-beta: {COMPACT_ON_DEMAND}"
        raise Rejected("compaction", message)
    if at_threshold:
        message = f"{place}: a signed `compaction` block cannot be combined with `{COMPACT}`"
        raise Rejected("compaction", message)
    if not first:
        message = f"{place}: the `compaction` block must be the first block of the conversation"
        raise _coded("block_misplaced", message)
    anchor = signed(block["signature"])
    if anchor is None:
        message = f"{place}: `compaction` block has an invalid `signature`"
        raise _coded("signature_invalid", message)
    if sign(block["content"], anchor) != block["signature"]:
        message = f"{place}: `compaction` block `content` does not match its `signature`"
        raise _coded("content_mismatch", message)


def _coded(code: str, message: str) -> Rejected:
    details = {"error_code": f"compaction_{code}"}
    return Rejected("compaction", message, details=details)
