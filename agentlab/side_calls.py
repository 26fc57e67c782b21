"""Calls of a model beside the main one: short, on a small model, and never hidden.

A classifier, a hook that is a prompt, a summary: each asks a small model one question and needs an
answer in a known form, soon or not at all. A side call is a plain request without history. It is
an event of its own kind (``model.side_call``), so that requests at the server = turns + retries +
side calls, and its cost counts for the run that made it. It is repeated as what runs in the
background is (`agentlab.retry`): nobody is waiting, so an overloaded server is left alone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentlab.clock import FIRST_TOKEN_S, Clock
from agentlab.costs import NO_USAGE, Usage, price
from agentlab.retry import Retry, Tries


class SideCallFailed(Exception):
    """There is no usable answer; ``event`` is the data of its event, as a call was made."""

    def __init__(self, message: str, event: dict[str, Any]) -> None:
        super().__init__(message)
        self.event = event


@dataclass(frozen=True)
class Answered:
    """An answer: its text, the object in it if one was asked for, and the data of its event."""

    text: str
    data: dict[str, Any]
    event: dict[str, Any]


@dataclass(frozen=True)
class SideCalls:
    """Who can make them: a client, the model to ask, and the clock that they take time on."""

    client: Any  # anthropic.AsyncAnthropic
    model: str
    clock: Clock
    max_tokens: int = 1000
    retry: Retry = field(default_factory=Retry)

    async def ask(
        self,
        purpose: str,
        prompt: str,
        *,
        system: str = "",
        schema: dict[str, Any] | None = None,
        deadline_s: float = 10.0,
        max_tokens: int = 0,
    ) -> Answered:
        """Ask one question; with ``schema`` (JSON Schema of an object) the answer is in ``data``.

        Raises SideCallFailed: an error of the endpoint, no answer in ``deadline_s`` (real)
        seconds, a refusal, or an answer that does not fit the schema.
        """
        request: dict[str, Any] = {
            "model": self.model,
            "max_tokens": max_tokens or self.max_tokens,
            "messages": [{"role": "user", "content": prompt}],
        }
        if system:
            request["system"] = system
        if schema is not None:
            request["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        retries: list[dict[str, Any]] = []
        try:
            async with asyncio.timeout(deadline_s):
                reply = await self._send(request, retries)
        except TimeoutError:
            nothing = self._event(purpose, NO_USAGE, retries)
            raise SideCallFailed(f"no answer within {deadline_s:g} s", nothing) from None
        except Exception as error:
            nothing = self._event(purpose, NO_USAGE, retries)
            raise SideCallFailed(f"{type(error).__name__}: {error}", nothing) from error
        usage = Usage.from_api(reply.usage)
        text = "".join(block.text for block in reply.content if block.type == "text")
        self.clock.advance(FIRST_TOKEN_S)
        self.clock.streamed(len(text))
        event = self._event(purpose, usage, retries)
        if reply.stop_reason == "refusal":
            raise SideCallFailed("the model declined to answer", event)
        return Answered(text, _object(text, schema, event), event)

    async def _send(self, request: dict[str, Any], retries: list[dict[str, Any]]) -> Any:
        """The reply to a request. Adds each wait to ``retries``: why, how long, which attempt."""
        tries = Tries(self.retry, self.clock, foreground=False)
        while True:
            try:
                return await self.client.messages.create(**request)
            except Exception as error:
                again = tries.after(error)
                if again is None:
                    raise
                retries.append(again)
            await self.clock.sleep(again["wait_s"])

    def _event(
        self, purpose: str, usage: Usage, retries: Sequence[dict[str, Any]] = ()
    ) -> dict[str, Any]:
        """The data of the event of a call, also of one that was not answered."""
        event = {
            "purpose": purpose,
            "model": self.model,
            "usage": usage.to_dict(),
            "cost_usd": price(usage, self.model),
        }
        return {**event, "retries": list(retries)} if retries else event


def _object(text: str, schema: dict[str, Any] | None, event: dict[str, Any]) -> dict[str, Any]:
    if schema is None:
        return {}
    import jsonschema

    try:
        data = json.loads(text)
        jsonschema.validate(data, schema)
    except (ValueError, RecursionError, jsonschema.ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise SideCallFailed(
            f"the answer does not have the form asked for: {reason}", event
        ) from None
    return data
