"""From what the simulated model says to the message that the client gets.

The server, not the scenario, applies what the request asks for: ``stop_sequences``, ``max_tokens``,
the size of the context window, and whether thinking is shown. Then it counts the output.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Protocol

from pydantic_core import from_json

from agentlab import tokens
from agentlab.models import Model
from agentlab.simulator.cache import Accounted

Block = dict[str, Any]


class Spoken(Protocol):
    """What the reply is made from: one turn of a scenario, see `playback.Played`."""

    @property
    def content(self) -> list[Block]: ...
    @property
    def stop_reason(self) -> str: ...
    @property
    def stop_sequence(self) -> str | None: ...
    @property
    def stop_details(self) -> Block | None: ...


@dataclass(frozen=True)
class Reply:
    """One answer, complete: as JSON it is `message`, as a stream it is `sse.events`."""

    id: str
    model: str
    content: list[Block]
    stop_reason: str
    usage: dict[str, Any]
    stop_sequence: str | None = None
    stop_details: Block | None = None
    partial_json: str | None = None  # of the last block, if it was cut in the middle
    extra: dict[str, Any] = field(default_factory=dict)  # top-level fields that a beta adds

    def message(self) -> dict[str, Any]:
        """The message as the API sends it when it does not stream."""
        content = self.content
        if self.partial_json is not None:
            content = [*content[:-1], {**content[-1], "input": _readable(self.partial_json)}]
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": self.stop_reason,
            "stop_sequence": self.stop_sequence,
            "stop_details": self.stop_details,
            "usage": self.usage,
            **self.extra,
        }


def make_reply(
    body: dict[str, Any],
    spoken: Spoken,
    model: Model,
    accounted: Accounted,
    prompt_tokens: int,
    prefix: str,
) -> Reply:
    """The reply to a request, cut to what the request allows.

    Args:
        body: the request.
        spoken: what the scenario said.
        accounted: how the input tokens divide.
        prompt_tokens: all input tokens, for the context window.
        prefix: the hash of the request, from which the message takes its id.
    """
    content, reason, sequence = spoken.content, spoken.stop_reason, spoken.stop_sequence
    partial: str | None = None
    if reason in ("end_turn", "tool_use"):  # a scenario that sets another reason is left alone
        found = _stop_at(content, body.get("stop_sequences") or [])
        if found:
            content, sequence = found
            reason = "stop_sequence"
        room = max(0, model.context_tokens - prompt_tokens)
        asked = body.get("max_tokens")
        limit = min(room, asked) if isinstance(asked, int) else room
        if _count(content) > limit:
            content, partial = cut(content, limit)
            sequence = None
            reason = "max_tokens" if limit == asked else "model_context_window_exceeded"
    output = tokens.count_content(content) if partial is None else limit
    thought = sum(_count([block]) for block in content if block["type"] == "thinking")
    name = str(body.get("model"))
    identity = f"{prefix}\n{name}\n{json.dumps(content)}\n{reason}".encode()
    return Reply(
        id="msg_" + blake2b(identity, digest_size=12).hexdigest(),
        model=name,
        content=_displayed(content, body, model),
        stop_reason=reason,
        stop_sequence=sequence,
        stop_details=spoken.stop_details,
        usage=usage_of(accounted, max(output, 1 if content else 0), thought),
        partial_json=partial,
    )


def cut(content: list[Block], limit: int) -> tuple[list[Block], str | None]:
    """The content up to ``limit`` tokens, and the JSON of its last block if that was cut."""
    kept: list[Block] = []
    for block in content:
        room = limit - _count(kept)
        if _count([block]) <= room:
            kept.append(block)
            continue
        if block["type"] == "text" and (text := _fit(block["text"], room)):
            kept.append({**block, "text": text})
        elif block["type"] == "thinking":
            text = _fit(block["thinking"], room - tokens.OVERHEAD)
            if text:
                kept.append({**block, "thinking": text, "signature": ""})
        elif block["type"] == "tool_use":
            room -= tokens.OVERHEAD + tokens.count_text(block["name"])
            if room >= 0:
                written = json.dumps(block["input"], ensure_ascii=False)
                kept.append(block)
                return kept, _fit(written, room, tokens.JSON_CHARS_PER_TOKEN)
        break
    return kept, None


def _fit(text: str, room: int, chars_per_token: float = tokens.CHARS_PER_TOKEN) -> str:
    """The longest beginning of a text that counts at most ``room`` tokens."""
    low, high = 0, min(len(text), max(0, int(room * chars_per_token) + 1))
    while low < high:
        middle = (low + high + 1) // 2
        if tokens.count_text(text[:middle], chars_per_token) <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def _stop_at(content: list[Block], sequences: list[str]) -> tuple[list[Block], str] | None:
    for number, block in enumerate(content):
        if block["type"] != "text":
            continue
        text = block["text"]
        found = [(text.find(s), -len(s), s) for s in sequences if s and s in text]
        if found:
            place, _, sequence = min(found)
            kept = content[:number]
            if place:
                kept = [*kept, {**block, "text": text[:place]}]
            return kept, sequence
    return None


def _count(content: list[Block]) -> int:
    return tokens.count_content(content)


def _readable(partial: str) -> Any:
    try:
        return from_json(partial, allow_partial="trailing-strings") if partial else {}
    except ValueError:
        return {}


def _displayed(content: list[Block], body: dict[str, Any], model: Model) -> list[Block]:
    """The content with its thinking emptied, if the request or the model's default omits it.

    Models that take a thinking budget show thinking by default; later ones omit it.
    """
    thinking = body.get("thinking")
    display = thinking.get("display") if isinstance(thinking, dict) else None
    if not display:
        display = "summarized" if "enabled" in model.thinking else "omitted"
    if display != "omitted":
        return content
    return [{**b, "thinking": ""} if b["type"] == "thinking" else b for b in content]


def usage_of(accounted: Accounted, output: int, thought: int) -> dict[str, Any]:
    """The usage as the API writes it: how the input divides, the output, the thinking in it."""
    return {
        "input_tokens": accounted.input_tokens,
        "cache_creation_input_tokens": accounted.write_tokens,
        "cache_read_input_tokens": accounted.read_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": accounted.write_5m_tokens,
            "ephemeral_1h_input_tokens": accounted.write_1h_tokens,
        },
        "output_tokens": output,
        "output_tokens_details": {"thinking_tokens": thought},
        "service_tier": "standard",
    }
