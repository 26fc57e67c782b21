"""The rules for messages: roles, blocks, pairs of calls and results, thinking, the end.

Consecutive messages of one role are one turn to the API, so pairs are looked for between such
runs: the results of an assistant run stand first in the user run that follows it.
"""

from __future__ import annotations

from typing import Any

from agentlab.models import Model
from agentlab.simulator.prefix import THINKING, Chain
from agentlab.simulator.rules import Rejected
from agentlab.simulator.schema import SERVER_RESULTS, CompactedMessage, Message, check_shape
from agentlab.simulator.validation_thinking import blocks_of, check_first, check_signatures

Block = dict[str, Any]
_ONLY_IN = {
    "tool_use": "assistant",
    "server_tool_use": "assistant",
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    **dict.fromkeys(SERVER_RESULTS, "assistant"),
    "tool_result": "user",
    "image": "user",
    "container_upload": "user",
}


def check_messages(
    body: dict[str, Any],
    chain: Chain,
    model: Model,
    version: str,
    known: int,
    *,
    bound: bool = False,
    drop: bool = False,
    compacting: bool = False,
) -> list[str]:
    """Raise `Rejected` for the first rule that the messages break.

    The first ``known`` messages were found valid before and only matter for what follows them.
    ``bound``: the request may control how thinking is bound; ``drop``: it asks to drop what is
    bound to another beginning. ``compacting``: there may be summaries by the API in it. Returns the
    paths of the blocks to drop.
    """
    messages = body["messages"]
    if not messages:
        raise Rejected("no-messages", "messages: at least one message is required")
    shape = CompactedMessage if compacting else Message
    for index in range(known, len(messages)):
        check_shape(shape, messages[index], ("messages", index))
    _check_roles(messages, known, model)
    for index in range(known, len(messages)):
        _check_blocks(messages, index, version)
    _check_pairs(messages, chain, known)
    _check_tool_names(body, known)
    dropped = check_signatures(messages, chain, known, bound, drop)
    _check_end(body, model)
    return dropped


def _check_roles(messages: list[dict[str, Any]], known: int, model: Model) -> None:
    if messages[0]["role"] == "system":
        message = "messages.0: use the top-level 'system' parameter for the initial system prompt"
        raise Rejected("system-role", message)
    blocks = blocks_of(messages[0])
    compacted = bool(blocks) and blocks[0]["type"] == "compaction"
    if messages[0]["role"] != "user" and not compacted:
        raise Rejected("first-user", 'messages: first message must use the "user" role')
    for index in range(known, len(messages)):
        before = messages[index - 1] if index else None
        if messages[index]["role"] == "system":
            if not model.system_messages:
                raise Rejected("system-role", "role 'system' is not supported on this model")
            if before and not _may_precede_system(before):
                raise Rejected(
                    "system-role",
                    f"messages.{index}: role 'system' must follow a 'user' message or an "
                    "'assistant' message ending in a server tool result",
                )
        elif before and before["role"] == "system" and messages[index]["role"] != "assistant":
            raise Rejected(  # documented; its text was not found
                "system-role",
                f"messages.{index - 1}: role 'system' must be the last message or be followed by "
                "an 'assistant' message",
            )


def _may_precede_system(message: dict[str, Any]) -> bool:
    if message["role"] == "assistant":
        blocks = blocks_of(message)
        return bool(blocks) and blocks[-1]["type"] in SERVER_RESULTS
    return message["role"] == "user"


def _check_blocks(messages: list[dict[str, Any]], index: int, version: str) -> None:
    message = messages[index]
    role, blocks = message["role"], blocks_of(message)
    last = index == len(messages) - 1
    if not message["content"]:
        if not (last and role == "assistant"):
            raise Rejected(
                "empty-message",
                f"messages.{index}: all messages must have non-empty content except for the "
                "optional final assistant message",
            )
        return
    for number, block in enumerate(blocks):
        kind, place = block["type"], f"messages.{index}.content.{number}"
        needed = _ONLY_IN.get(kind, role)
        if needed != role or (role == "system" and kind != "text"):
            raise Rejected(
                "block-role",
                f"messages.{index}: `{kind}` blocks can only be in `{needed}` messages"
                if needed != role
                else f"{place}: Input tag '{kind}' found using 'type' does not match any of the "
                "expected tags: 'text'",
            )
        if kind == "text":
            _check_text(block, place, role, version)
        elif kind == "tool_result":
            _check_result(block, place)
        elif kind == "document" and role == "assistant" and version != "2023-06-01":
            message_text = "`document` blocks can only be in `user` messages"
            raise Rejected("block-role", f"messages.{index}: {message_text}")
    if role == "assistant" and not last and blocks[-1]["type"] in THINKING:
        raise Rejected(
            "thinking-last",
            f"messages.{index}: The final block in an assistant message cannot be `thinking`.",
        )


def _check_text(block: Block, place: str, role: str, version: str) -> None:
    text = block["text"]
    if not text:
        if block.get("cache_control"):
            message = f"{place}.text: cache_control cannot be set for empty text blocks"
            raise Rejected("cache-empty", message)
        raise Rejected("empty-text", "messages: text content blocks must be non-empty")
    if not text.strip():
        message = "messages: text content blocks must contain non-whitespace text"
        raise Rejected("empty-text", message)
    if block.get("citations") and role == "user" and version != "2023-06-01":
        raise Rejected("citations", f"{place}.text.citations: Extra inputs are not permitted")


def _check_result(block: Block, place: str) -> None:
    content = block.get("content")
    if block.get("is_error") and not content:
        raise Rejected(
            "error-content", f"{place}.tool_result: content cannot be empty if `is_error` is true"
        )
    if isinstance(content, list):
        for inner in content:
            if inner["type"] == "text" and not inner["text"]:
                raise Rejected("empty-text", "messages: text content blocks must be non-empty")


def _check_pairs(messages: list[dict[str, Any]], chain: Chain, known: int) -> None:
    if len(set(chain.call_ids)) < len(chain.call_ids):
        _find_repeated_id(messages)
    start = min(known, len(messages) - 1)
    while start and not _starts_assistant_run(messages, start):
        start -= 1
    calls: dict[str, int] = {}  # open calls, and the message that each stands in
    answered: set[str] = set()
    index = start
    while index < len(messages):
        end = index + 1
        while end < len(messages) and messages[end]["role"] == messages[index]["role"]:
            end += 1
        if messages[index]["role"] == "assistant":
            calls, answered = _calls_of_run(messages, index, end), set()
        elif messages[index]["role"] == "user":
            answered = _check_results_of_run(messages, index, end, calls)
            calls = {}
        index = end
    missing = [call for call in calls if call not in answered]
    if missing:
        raise _missing(calls, missing)


def _starts_assistant_run(messages: list[dict[str, Any]], index: int) -> bool:
    return messages[index]["role"] == "assistant" and messages[index - 1]["role"] != "assistant"


def _find_repeated_id(messages: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for index, message in enumerate(messages):
        for number, block in enumerate(blocks_of(message)):
            if block["type"] in ("tool_use", "server_tool_use"):
                if block["id"] in seen:
                    raise Rejected(
                        "unique-ids",
                        f"messages.{index}.content.{number}: `tool_use` ids must be unique",
                    )
                seen.add(block["id"])


def _calls_of_run(messages: list[dict[str, Any]], start: int, end: int) -> dict[str, int]:
    calls: dict[str, int] = {}
    server_calls: set[str] = set()
    for index in range(start, end):
        for number, block in enumerate(blocks_of(messages[index])):
            kind = block["type"]
            if kind == "tool_use":
                calls[block["id"]] = index
            elif kind == "server_tool_use":
                server_calls.add(block["id"])
            elif kind in SERVER_RESULTS and block["tool_use_id"] not in server_calls:
                raise Rejected(
                    "server-result",
                    f"messages.{index}.content.{number}: unexpected `tool_use_id` found in "
                    f"`{kind}` blocks: {block['tool_use_id']}. Each `{kind}` block must have a "
                    "corresponding `server_tool_use` block before it.",
                )
    return calls


def _check_results_of_run(
    messages: list[dict[str, Any]], start: int, end: int, calls: dict[str, int]
) -> set[str]:
    first: set[str] = set()  # results that stand before everything else
    results: list[tuple[int, int, str]] = []
    leading = True
    for index in range(start, end):
        for number, block in enumerate(blocks_of(messages[index])):
            if block["type"] != "tool_result":
                leading = False
                continue
            results.append((index, number, block["tool_use_id"]))
            if leading:
                first.add(block["tool_use_id"])
    missing = [call for call in calls if call not in first]
    if missing:
        raise _missing(calls, missing)
    seen: set[str] = set()
    for index, number, call in results:
        place = f"messages.{index}.content.{number}"
        if call not in calls:
            raise Rejected(
                "orphan-result",
                f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {call}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous "
                "message.",
            )
        if call in seen:
            raise Rejected(
                "one-result",
                f"{place}: each tool_use must have a single result. Found multiple `tool_result` "
                f"blocks with id: {call}",
            )
        seen.add(call)
    return first


def _missing(calls: dict[str, int], missing: list[str]) -> Rejected:
    return Rejected(
        "missing-result",
        f"messages.{calls[missing[0]]}: `tool_use` ids were found without `tool_result` blocks "
        f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a corresponding "
        "`tool_result` block in the next message.",
    )


def _check_tool_names(body: dict[str, Any], known: int) -> None:
    names = {tool.get("name") for tool in body.get("tools") or []}
    for message in body["messages"][known:]:
        for block in blocks_of(message):
            if block["type"] == "server_tool_use" and block["name"] not in names:
                message_text = f"Tool '{block['name']}' not found in provided tools"
                raise Rejected("unknown-tool", message_text)
            for name in _references(block):
                if name not in names:
                    raise Rejected(
                        "tool-reference",
                        f"Tool reference '{name}' has no corresponding tool definition",
                    )


def _references(block: Block) -> list[str]:
    content = block.get("content")
    if block["type"] == "tool_search_tool_result" and isinstance(content, dict):
        content = content.get("tool_references")
    if not isinstance(content, list):
        return []
    return [
        str(inner.get("tool_name"))
        for inner in content
        if isinstance(inner, dict) and inner.get("type") == "tool_reference"
    ]


def _check_end(body: dict[str, Any], model: Model) -> None:
    messages = body["messages"]
    thinking = (body.get("thinking") or {}).get("type") or model.default_thinking
    if thinking == "enabled":
        check_first(messages)
    last = messages[-1]
    if last["role"] != "assistant" or body.get("compaction") is not None:
        return
    blocks = blocks_of(last)
    end = blocks[-1] if blocks else {"type": ""}
    paused = end["type"] in ("server_tool_use", "compaction") or end["type"] in SERVER_RESULTS
    if paused:
        return
    if not model.prefill:
        raise Rejected(
            "prefill",
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message.",
        )
    if thinking == "disabled":
        for number, block in enumerate(blocks):
            if block["type"] in THINKING:
                raise Rejected(
                    "thinking-off",
                    f"messages.{len(messages) - 1}.content.{number}: When thinking is disabled, an "
                    "`assistant` message in the final position cannot contain `thinking`. To use "
                    "thinking blocks, enable `thinking` in your request.",
                )
    if end["type"] == "text" and end["text"] != end["text"].rstrip():
        message = "messages: final assistant content cannot end with trailing whitespace"
        raise Rejected("trailing-space", message)
