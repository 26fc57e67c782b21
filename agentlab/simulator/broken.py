"""Playing the faults: how a good reply, or its stream, is spoilt. See `faults` for their names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from agentlab import tokens
from agentlab.simulator import marks
from agentlab.simulator.conversation import Conversation
from agentlab.simulator.faults import Fault
from agentlab.simulator.prefix import chain
from agentlab.simulator.reply import Block, Reply, cut
from agentlab.simulator.sse import Event, event

_LAST_FEW = 3  # tokens
IN_STREAM = frozenset(("cut_clean", "cut_dirty", "error_event", "stall", "unknown_event"))


def spoil_reply(reply: Reply, fault: Fault, body: dict[str, Any]) -> Reply:
    """The reply with the fault in it; the same reply if the fault is one of the stream."""
    content = reply.content
    calls = [block for block in content if block["type"] == "tool_use"]
    match fault.kind:
        case "truncate":
            whole = tokens.count_content(content)
            limit = max(1, whole - _LAST_FEW) if fault.tokens is None else fault.tokens
            kept, partial = cut(content, limit)
            usage = _written(reply.usage, max(1, min(limit, whole)))  # no reply is billed at 0
            return replace(
                reply, content=kept, partial_json=partial, stop_reason="max_tokens", usage=usage
            )
        case "empty":
            return replace(reply, content=[], stop_reason="end_turn", partial_json=None)
        case "blank_ids":
            return replace(reply, content=_with_id(content, ""))
        case "duplicate_ids" if calls:
            taken = _earlier_id(body) or calls[0]["id"]
            return replace(reply, content=_with_id(content, taken))
        case "unknown_block":
            return replace(reply, content=[{"type": "future_block", "data": "?"}, *content])
        case "unknown_stop":
            return replace(reply, stop_reason="future_stop")
        case "bad_json" if calls:
            return _broken_json(reply)
        case "loop":
            return _repeated(reply, body)
    return reply


def _written(usage: Block, output_tokens: int) -> Block:
    """The usage with other output tokens, also in the step (if any) that wrote the reply."""
    changed = {**usage, "output_tokens": output_tokens}
    if steps := usage.get("iterations"):
        written = {"output_tokens": output_tokens}
        changed["iterations"] = [s | written if s["type"] == "message" else s for s in steps]
    return changed


def spoil_stream(events: Iterable[Event], fault: Fault, request_id: str) -> Iterator[Event]:
    """The stream with the fault in it, after ``fault.after`` events."""
    if fault.kind not in IN_STREAM:
        yield from events
        return
    for number, item in enumerate(events):
        if number == fault.after:
            yield from _inserted(fault, request_id)
            if fault.kind not in ("stall", "unknown_event"):
                return
        yield item


def _inserted(fault: Fault, request_id: str) -> Iterator[Event]:
    match fault.kind:
        case "cut_dirty":
            yield Event("cut", b"")
        case "stall":
            yield Event("stall", b"", fault.seconds)
        case "unknown_event":
            yield event("future_event", note="an event type that nobody knows yet")
        case "error_event":
            yield event("error", **_without_type(fault.envelope(request_id)))


def _without_type(envelope: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in envelope.items() if key != "type"}


def _with_id(content: list[Block], call_id: str) -> list[Block]:
    return [{**b, "id": call_id} if b["type"] == "tool_use" else b for b in content]


def _earlier_id(body: dict[str, Any]) -> str | None:
    """The id of the latest tool call in the history."""
    for message in reversed(body.get("messages") or []):
        content = message.get("content") if isinstance(message, dict) else None
        for block in reversed(content if isinstance(content, list) else []):
            if isinstance(block, dict) and block.get("type") == "tool_use":
                return str(block.get("id"))
    return None


def _broken_json(reply: Reply) -> Reply:
    """The last call's input, without its closing brace and with a bare word in it."""
    last = max(i for i, block in enumerate(reply.content) if block["type"] == "tool_use")
    written = json.dumps(reply.content[last]["input"], ensure_ascii=False)
    return replace(
        reply,
        content=[*reply.content[: last + 1]],
        partial_json=written.rstrip("}") + ("," if len(written) > 2 else "") + ' "broken": nope',
    )


def _repeated(reply: Reply, body: dict[str, Any]) -> Reply:
    """A reply that makes the last call again, if its result is all that has come since.

    The new id has the mark of the old one (the same step of the same scenario), so that is where
    the scenario goes on once the loop ends. After a new task nothing is repeated: the history
    would then stand in the scenario of the old one.
    """
    call = _answered_call(body)
    if call is None:
        return reply
    before = chain(body).whole
    mark = marks.decode(str(call["id"]))
    fresh = f"toolu_{before}"  # for a call with an id from elsewhere
    if mark is not None:
        fresh = marks.encode_tool_id(replace(mark, prefix=before), mark.call)
    content = [{**call, "id": fresh}]
    usage = _written(reply.usage, tokens.count_content(content))
    usage["output_tokens_details"] = {"thinking_tokens": 0}
    return replace(
        reply,
        content=content,
        partial_json=None,
        stop_reason="tool_use",
        stop_sequence=None,
        stop_details=None,
        usage=usage,
    )


def _answered_call(body: dict[str, Any]) -> Block | None:
    """The last call of the history, if the request ends with its result and still offers it."""
    try:
        last = Conversation(body).last
        offered = {tool.get("name") for tool in body.get("tools") or ()}
        may_call = (body.get("tool_choice") or {}).get("type") != "none"
        if last.texts or not may_call or not last.calls:
            return None
        call = last.calls[-1]
        answered = call["id"] in last.results and call["name"] in offered
    except (AttributeError, KeyError, TypeError):  # validation is off: anything may stand there
        return None
    return {key: call[key] for key in ("type", "id", "name", "input")} if answered else None
