"""The SDK's clients with two things added, both around the whole of a request.

A refused request says, in one more line, which rule it broke and which chapter explains it (the
simulator names the rule in a response header). And where a budget is set, every request that is
sent through the client is counted, streams included, and none is sent that could pass it. What
requests under way may still cost is kept back for them, so that many agents can share a budget: a
request that fits only if they cost less than that waits for them. A batch costs when it is read, so
for it the most is kept back until then.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

# The SDK traces every request when OpenTelemetry's API is installed, which costs 7 to 19 % of a
# turn (measured 2026-11-30). Set ANTHROPIC_OPEN_TELEMETRY=true to have it.
os.environ.setdefault("ANTHROPIC_OPEN_TELEMETRY", "false")

import anthropic
import httpx2

from agentlab.costs import Usage, budget, dollars, latest, price_reply
from agentlab.limits import cost_bound
from agentlab.prices import BATCH
from agentlab.tokens import count_request, count_text

if TYPE_CHECKING:
    from agentlab.providers import Endpoint


LOOK_S, LOOKS = 0.05, 2_400  # a request that waits for others looks again, for two minutes
HELD = (
    "Requests that are under way (or streams that were never closed) may cost what is left of the "
    "budget, so nothing was sent. Ask again when they are done."
)


class BudgetSpent(anthropic.AnthropicError):
    """The endpoint's budget is spent, so the request was not sent."""

    end_status = "dollar_limit"
    hint = "To go on, make an endpoint with a larger budget: connect(..., budget_usd=...)."


def explain(error: anthropic.APIStatusError) -> None:
    """Add the rule that a refused request broke to the error's text, if the server named it."""
    rule = error.response.headers.get("agentlab-rule")
    if rule:
        name, chapter, says = rule.split("; ", 2)
        line = f"Rule {name} (chapter {chapter.removeprefix('chapter=')}): {says}."
        error.rule = line  # type: ignore[attr-defined]
        error.message = f"{error.message}\n{line}"
        error.args = (error.message, *error.args[1:])


class _Async(anthropic.AsyncAnthropic):
    async def request(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return await super().request(*args, **kwargs)
        except anthropic.APIStatusError as error:
            explain(error)
            raise


class _Sync(anthropic.Anthropic):
    def request(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().request(*args, **kwargs)
        except anthropic.APIStatusError as error:
            explain(error)
            raise


def async_client(endpoint: Endpoint) -> anthropic.AsyncAnthropic:
    """An asynchronous client for the endpoint."""
    meter = None if endpoint.budget_usd is None else _AsyncMeter(endpoint)
    # A client of our own: the SDK's tries to close itself when it is collected, in whatever event
    # loop runs then, and fails loudly.
    http = anthropic.DefaultAsyncHttpxClient(transport=meter)
    return _Async(
        base_url=endpoint.base_url, api_key=endpoint.api_key, max_retries=0,
        default_headers=_headers(endpoint), http_client=http,
    )  # fmt: skip


def sync_client(endpoint: Endpoint) -> anthropic.Anthropic:
    """A plain client for the endpoint."""
    meter = None if endpoint.budget_usd is None else _SyncMeter(endpoint)
    http = anthropic.DefaultHttpxClient(transport=meter)
    return _Sync(
        base_url=endpoint.base_url, api_key=endpoint.api_key, max_retries=0,
        default_headers=_headers(endpoint), http_client=http,
    )  # fmt: skip


# ------------------------------------------------------------------------------------ the budget


def _headers(endpoint: Endpoint) -> dict[str, str]:
    # A compressed body could not be read as it passes by.
    metered = {} if endpoint.budget_usd is None else {"accept-encoding": "identity"}
    return {**endpoint.headers, **metered}


class _Count:
    """Reads the usage out of a body that passes by: JSON, event stream, results of a batch."""

    def __init__(self, endpoint: Endpoint, reserved: float, request: httpx2.Request) -> None:
        self.endpoint, self.reserved, self.path = endpoint, reserved, request.url.path
        self.body, self.whole = bytearray(), False

    def close(self) -> None:
        """Add what the response cost, and only then let go of what was kept back for it."""
        try:
            self._charge()
        finally:
            self.endpoint.reserved_usd -= self.reserved
            self.reserved = 0.0

    def _charge(self) -> None:
        """Add what the response cost. Usage in a stream is cumulative: later replaces earlier."""
        usage: dict[str, Any] = {}
        model = self.endpoint.model
        batch: list[dict[str, Any]] = []
        for event in _objects(self.body, b'"usage"', b'"custom_id"'):
            if event.get("type") == "message_batch" and self.reserved:
                self.endpoint.batches[str(event.get("id"))] = self.reserved
            if "custom_id" in event:
                batch.append(event)
                continue
            message = _object(event, "message") or event
            model = message.get("model") or model
            usage = latest(usage, _object(message, "usage"))
        if b'"message_start"' in self.body and b'"message_stop"' not in self.body:
            written = max(_written(self.body), Usage.from_api(usage).output_tokens)
            usage = latest(usage, {"output_tokens": written})
        self.body.clear()
        if usage:
            self.endpoint.charge(model, price_reply(usage, model))
        for result in batch:
            self._charge_once(result)
        if batch and self.whole:
            self.endpoint.batches.pop(self.path.removesuffix("/results").rsplit("/", 1)[-1], None)

    def _charge_once(self, result: dict[str, Any]) -> None:
        """Add what one reply of a batch cost; its results may be read again."""
        reply = _object(_object(result, "result"), "message")
        name = f"{result['custom_id']} {reply.get('id')}"
        if reply.get("usage") and name not in self.endpoint.charged:
            self.endpoint.charged.add(name)
            model = reply.get("model") or self.endpoint.model
            self.endpoint.charge(model, price_reply(reply["usage"], model))


def _objects(body: bytearray, *marks: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects in a body: the body itself, or those in the lines that hold a mark."""
    try:
        found = [json.loads(body)]
    except (ValueError, RecursionError):
        found = []
        for line in body.split(b"\n"):
            if any(mark in line for mark in marks):
                with contextlib.suppress(ValueError, RecursionError):
                    found.append(json.loads(line.removeprefix(b"data:")))
    return (item for item in found if isinstance(item, dict))


def _written(body: bytearray) -> int:
    """Tokens of output in a stream that broke off, estimated: the server tells them at its end."""
    deltas = (_object(event, "delta") for event in _objects(body, b'"delta"'))
    parts = ("text", "thinking", "partial_json")
    return count_text("".join(str(delta.get(part, "")) for delta in deltas for part in parts))


def _object(holder: dict[str, Any], name: str) -> dict[str, Any]:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def _reserve(endpoint: Endpoint, request: httpx2.Request) -> float | None:
    """Keep back what a request may cost, and return it; None: wait for others that are under way.

    Raises BudgetSpent if it would not fit even without them.
    """
    if endpoint.budget_usd is None or _is_free(request):
        return 0.0
    limit = budget(endpoint.budget_usd)
    if endpoint.unpriced:
        raise BudgetSpent(
            f"A request went to {endpoint.unpriced}, whose price is not known, so the budget of "
            f"{limit} cannot be kept and nothing was sent. Make a new endpoint with connect(), and "
            "name a model that has a price."
        )
    kept = sum(endpoint.batches.values())
    most, left = _most(request), endpoint.budget_usd - endpoint.spent_usd - kept
    if left <= 0 or most > left:
        could = f"this request could cost {dollars(most)} more, and " if left > 0 else ""
        batches = f" (and up to {dollars(kept)} by batches whose results were not read yet)"
        raise BudgetSpent(
            f"{could}${endpoint.spent_usd:.4f} of {limit} is spent{batches if kept else ''}, so "
            "nothing was sent. To go on: "
            f"connect(..., budget_usd=...){', or a smaller max_tokens' if could else ''}."
        )
    if most > left - endpoint.reserved_usd:
        return None
    endpoint.reserved_usd += most
    return most


def _is_free(request: httpx2.Request) -> bool:
    """Whether it only reads, counts, cancels or deletes: that is allowed with no money left."""
    return request.method != "POST" or request.url.path.endswith(("/cancel", "/count_tokens"))


def _most(request: httpx2.Request) -> float:
    """About the most dollars that a request can cost, 0 if it asks no model or none with a price.

    As in `cost_bound`, with the prompt as `count_request` estimates it.
    """
    try:
        asked, hour = json.loads(request.content), b'"1h"' in request.content
        if "requests" in asked:
            return BATCH * sum(_bound(one["params"], hour) for one in asked["requests"])
        return _bound(asked, hour)
    except (ValueError, LookupError, TypeError, AttributeError, httpx2.StreamError):
        return 0.0  # no question to a model, or one that the server refuses


def _bound(asked: dict[str, Any], hour: bool) -> float:
    prompt = count_request(asked.get("system"), asked.get("tools") or [], asked["messages"])
    return cost_bound(prompt, asked["max_tokens"], asked["model"], hour=hour) or 0.0


class _AsyncMeter(httpx2.AsyncHTTPTransport):
    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__()
        self._endpoint = endpoint

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        for _ in range(LOOKS):
            reserved = _reserve(self._endpoint, request)
            if reserved is not None:
                break
            await asyncio.sleep(LOOK_S)  # they may run in other threads, with other event loops
        else:
            raise BudgetSpent(HELD)
        count = _Count(self._endpoint, reserved, request)
        try:
            response = await super().handle_async_request(request)
        except BaseException:
            count.close()
            raise
        response.stream = _AsyncCounted(response.stream, count)
        return response


class _AsyncCounted(httpx2.AsyncByteStream):
    def __init__(self, stream: Any, count: _Count) -> None:
        self._stream, self._count = stream, count

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._count.body += chunk
            yield chunk
        self._count.whole = True

    async def aclose(self) -> None:
        self._count.close()
        await self._stream.aclose()


class _SyncMeter(httpx2.HTTPTransport):
    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__()
        self._endpoint = endpoint

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        reserved = _reserve(self._endpoint, request)
        if reserved is None:  # to wait here could stop the very event loop that they need
            raise BudgetSpent(HELD)
        count = _Count(self._endpoint, reserved, request)
        try:
            response = super().handle_request(request)
        except BaseException:
            count.close()
            raise
        response.stream = _SyncCounted(response.stream, count)
        return response


class _SyncCounted(httpx2.SyncByteStream):
    def __init__(self, stream: Any, count: _Count) -> None:
        self._stream, self._count = stream, count

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            self._count.body += chunk
            yield chunk
        self._count.whole = True

    def close(self) -> None:
        self._count.close()
        self._stream.close()
