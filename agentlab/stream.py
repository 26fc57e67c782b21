"""One reply of the model, put together from the pieces that stream in.

The server sends a reply as small events: a block starts, grows, stops; at the end comes the stop
reason. `Reply` builds the message from them, as plain dicts, and `stream_reply` drives it: it
passes on the pieces as they arrive, repeats a request that failed for a passing reason, and makes
sure that a stream which merely ended is not taken for a finished reply.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from agentlab.clock import FIRST_TOKEN_S
from agentlab.costs import Usage, context_tokens, latest, price_reply
from agentlab.failures import StreamIncomplete
from agentlab.messages import Block, Message, distinct_ids
from agentlab.prices import prices
from agentlab.retry import Tries
from agentlab.tokens import count_content

if TYPE_CHECKING:
    from agentlab.loop import Setup

Piece = tuple[str, dict[str, Any]]


class Reply:
    """A message while it grows. Complete once ``done``; until then it may be cut anywhere."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin again: what came so far is void."""
        self.id = self.model = ""
        self.blocks: list[Block] = []
        self.stop_reason: str | None = None
        self.stop_detail = ""
        self.broken_json: dict[str, str] = {}  # call id -> what was sent instead of JSON
        self.edits: list[dict[str, Any]] = []  # what the API left out of the prompt, as asked
        self.done = False
        self._usage: dict[str, Any] = {}
        self._json: dict[int, list[str]] = {}

    @property
    def message(self) -> Message:
        return {"role": "assistant", "content": self.blocks}

    @property
    def usage(self) -> Usage:
        return Usage.from_api(self._usage)

    @property
    def context_tokens(self) -> int:
        """How much of the window the conversation fills with this reply."""
        return context_tokens(self._usage)

    def cost_usd(self, model: str) -> float | None:
        """Dollars of this reply, None if the price is not known. ``model``: the one asked for.

        Another may have answered: then its price holds, if that is known.
        """
        return price_reply(self._usage, self.model if self.model in prices() else model)

    def broken_off(self, model: str) -> dict[str, Any]:
        """What an attempt used that broke off, in the form of a side call; {} if it had not begun.

        The server told its prompt at the start. What it wrote is estimated from what arrived.
        """
        if not self.id:
            return {}
        written = max(count_content(self.blocks), self.usage.output_tokens)
        self._usage = latest(self._usage, {"output_tokens": written})
        return {
            "purpose": "broken off",
            "model": self.model or model,
            "usage": self.usage.to_dict(),
            "cost_usd": self.cost_usd(model),
        }

    def calls(self) -> list[Block]:
        """The tool calls, in order."""
        return [block for block in self.blocks if block["type"] == "tool_use"]

    @property
    def summarised(self) -> bool:
        """Whether the API put its own summary first, and ignores all that stood before."""
        return any(block["type"] == "compaction" for block in self.blocks)

    def distinct_ids(self, seen: set[str]) -> None:
        """Mend ids that are blank, invalid or used before, before the message is stored."""
        self.blocks, renamed = distinct_ids(self.blocks, seen)
        for old, new in renamed.items():
            if old in self.broken_json:
                self.broken_json.update(dict.fromkeys(new, self.broken_json[old]))

    def to_dict(self) -> dict[str, Any]:
        """As data of an event."""
        return {
            "message": self.message,
            "stop_reason": self.stop_reason,
            "usage": self.usage.to_dict(),
            "model": self.model,
            "id": self.id,
        }

    def feed(self, raw: Any) -> Piece | None:
        """Take one event of the SDK's stream; returns what is worth showing, if anything."""
        match raw.type:
            case "content_block_delta":
                return self._grow(raw.index, raw.delta)
            case "content_block_start":
                block = {k: v for k, v in raw.content_block.to_dict().items() if v is not None}
                self.blocks.append(block)
                if block["type"] in ("tool_use", "server_tool_use"):
                    self._json[raw.index] = []
                    return "assistant.tool_delta", {
                        "tool_use_id": block["id"],
                        "name": block["name"],
                        "json": "",
                    }
            case "content_block_stop":
                if raw.index in self._json:
                    self._parse(raw.index)
            case "message_start":
                self.id, self.model = raw.message.id, raw.message.model
                self._usage = latest({}, raw.message.usage)
            case "message_delta":
                self.stop_reason = raw.delta.stop_reason
                details = getattr(raw.delta, "stop_details", None)
                self.stop_detail = (getattr(details, "explanation", None) or "") if details else ""
                self._usage = latest(self._usage, raw.usage)
                told = raw.to_dict().get("context_management") or {}
                self.edits = list(told.get("applied_edits") or ())
            case "message_stop":
                self.done = True
        return None

    def _grow(self, index: int, delta: Any) -> Piece | None:
        if index >= len(self.blocks):
            return None
        block = self.blocks[index]
        match delta.type:
            case "text_delta":
                block["text"] = block.get("text", "") + delta.text
                return "assistant.text_delta", {"text": delta.text}
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta.thinking
                return "assistant.thinking_delta", {"text": delta.thinking}
            case "input_json_delta" if index in self._json:
                self._json[index].append(delta.partial_json)
                piece = {
                    "tool_use_id": block["id"],
                    "name": block["name"],
                    "json": delta.partial_json,
                }
                return "assistant.tool_delta", piece
            case "signature_delta":
                block["signature"] = delta.signature
            case "compaction_delta":  # the API's own summary, in one piece
                block |= {k: v for k, v in delta.to_dict().items() if k != "type" and v is not None}
            case "citations_delta":
                block.setdefault("citations", []).append(delta.citation.to_dict())
        return None

    def _parse(self, index: int) -> None:
        block, written = self.blocks[index], "".join(self._json[index])
        try:
            value = json.loads(written or "{}", parse_constant=_refuse)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            self.broken_json[block["id"]] = written
            value = {"invalid_json": written[:500]}
        block["input"] = value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


async def stream_reply(
    setup: Setup, request: dict[str, Any], reply: Reply
) -> AsyncGenerator[Piece, None]:
    """Send ``request`` and fill ``reply``, yielding the pieces to show as they arrive.

    A passing failure is repeated as `Retry` says, with a ``model.retry`` piece before each wait:
    the whole request, since half a reply cannot be gone on with. What had been shown of the
    attempt is void, but it has cost: a ``model.broken_off`` piece tells how much. Raises the
    SDK's error when it gives up, or ComeBackLater.
    """
    import anthropic

    limits, clock = setup.limits, setup.clock
    tries = Tries(setup.retry, clock)
    timeout = anthropic.Timeout(limits.request_s, read=limits.idle_s, connect=10.0)
    while True:
        started = clock.now()
        try:
            stream = await setup.client.messages.create(**request, stream=True, timeout=timeout)
            clock.advance(FIRST_TOKEN_S)
            try:
                async for raw in stream:
                    piece = reply.feed(raw)
                    if piece is not None:
                        clock.streamed(len(piece[1].get("text") or piece[1].get("json", "")))
                        yield piece
                    if clock.now() - started > limits.request_s:
                        raise StreamIncomplete(f"the reply took longer than {limits.request_s:g} s")
            finally:
                await stream.close()
            if not reply.done:
                raise StreamIncomplete("the stream ended before the message was complete")
            return
        except Exception as error:
            if lost := reply.broken_off(setup.model):
                yield "model.broken_off", lost
            again = tries.after(error)
            if again is None:
                raise
        reply.forget()
        yield "model.retry", again
        await clock.sleep(again["wait_s"])
