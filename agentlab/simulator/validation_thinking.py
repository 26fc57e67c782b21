"""The rules for thinking blocks: signatures, what they are bound to, and where they must stand.

A thinking block comes with a signature, and the signature is bound to everything that stood before
it: tools, system prompt and messages. Editing any of that makes the block invalid, which is how a
history that is not append-only gets caught. Old thinking may be left out as a whole, never edited.
"""

from __future__ import annotations

from typing import Any

from agentlab.simulator import marks
from agentlab.simulator.betas import BINDING
from agentlab.simulator.prefix import THINKING, Chain
from agentlab.simulator.rules import Rejected

Block = dict[str, Any]
_DOCS = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"


def blocks_of(message: dict[str, Any]) -> list[Block]:
    """The content of a message as a list of blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def check_signatures(
    messages: list[dict[str, Any]], chain: Chain, known: int, bound: bool, drop: bool
) -> list[str]:
    """Raise `Rejected` for a block that was edited, or moved to another conversation.

    With ``drop`` the blocks of another conversation are returned as paths instead, and with them
    every later one.
    """
    dropped: list[str] = []
    latest = max((i for i, m in enumerate(messages) if m["role"] == "assistant"), default=-1)
    for index in range(known, len(messages)):
        if messages[index]["role"] != "assistant" or isinstance(messages[index]["content"], str):
            continue
        for number, block in enumerate(messages[index]["content"]):
            if block["type"] not in THINKING:
                continue
            place = f"messages.{index}.content.{number}"
            mark = _mark_of(block, place, index == latest)
            if dropped or not _belongs(mark, messages, chain, index, number):
                if not drop:
                    raise _other_conversation(place, bound)
                dropped.append(place)
    return dropped


def _mark_of(block: Block, place: str, latest: bool) -> marks.Mark:
    field = "data" if block["type"] == "redacted_thinking" else "signature"
    mark = marks.decode(block[field])
    if mark is None:
        message = f"{place}: Invalid `{field}` in `{block['type']}` block"
        raise Rejected("signature", message)
    # A block whose text was omitted comes back with empty text under the same signature.
    edited = field == "signature" and block["thinking"]
    if edited and not marks.signs(block["signature"], block["thinking"]):
        if not latest:
            raise Rejected("signature", f"{place}: Invalid `signature` in `thinking` block")
        raise Rejected(
            "thinking-edited",
            f"{place}: `thinking` or `redacted_thinking` blocks in the latest assistant message "
            "cannot be modified. These blocks must remain as they were in the original response.",
        )
    return mark


def _belongs(
    mark: marks.Mark, messages: list[dict[str, Any]], chain: Chain, index: int, number: int
) -> bool:
    """Whether what the block was bound to stands before it, within its run of messages."""
    start = index
    while start and messages[start - 1]["role"] == "assistant":
        start -= 1
    first, last = chain.starts[start], chain.starts[index] + number
    return chain.holds_between(first, last, mark.prefix)


def _other_conversation(place: str, bound: bool) -> Rejected:
    message = (
        f"{place}: Invalid `signature` in `thinking` block. The block is bound to a different "
        "conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` "
        'to "drop_block".'
    )
    if not bound:
        message += f" That setting requires the `{BINDING}` value in the `anthropic-beta` header."
    return Rejected("prefix-changed", message)


def check_first(messages: list[dict[str, Any]]) -> None:
    """Raise `Rejected` if the turn that results are coming in for lost its first thinking."""
    index = len(messages) - 1
    first = None
    while index >= 0:
        blocks = blocks_of(messages[index])
        if messages[index]["role"] == "assistant":
            first = index
        elif not any(block["type"] == "tool_result" for block in blocks):
            break
        index -= 1
    if first is None or first == len(messages) - 1:
        return
    kinds = [b["type"] for b in blocks_of(messages[first]) if b["type"] != "compaction"]
    kind = kinds[0] if kinds else ""
    if kind and kind not in THINKING:
        raise Rejected(
            "thinking-first",
            f"messages.{first}.content.0.type: Expected `thinking` or `redacted_thinking`, but "
            f"found `{kind}`. When `thinking` is enabled, a final `assistant` message must start "
            "with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` "
            "blocks). We recommend you include thinking blocks from previous turns. To avoid this "
            f"requirement, disable `thinking`. Please consult our documentation at {_DOCS}",
        )
