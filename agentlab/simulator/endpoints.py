"""The endpoints: what the server does with one request, from its bytes to its answer."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from agentlab.clock import Clock
from agentlab.simulator import (
    answering,
    broken,
    catalogue,
    context_edits,
    playback,
    server_compaction,
    sse,
    wire,
)
from agentlab.simulator.answering import Read
from agentlab.simulator.batches import Batches
from agentlab.simulator.cache import PromptCache
from agentlab.simulator.exchange import Exchange, error_envelope, request_id_of, speed_of, tamed
from agentlab.simulator.faults import AT_ONCE, Fault, Faults
from agentlab.simulator.log import Entry, Log, counts_of
from agentlab.simulator.playback import Played
from agentlab.simulator.prefix import Chain, chain
from agentlab.simulator.reply import Reply
from agentlab.simulator.rules import Rejected
from agentlab.simulator.scenario import ScenarioError, UnknownScenario
from agentlab.simulator.validation import (
    Validator,
    check_headers,
    check_length,
    refuse_thread,
    split_betas,
)

Handler = Callable[[Exchange], Awaitable[None]]


class Core:
    """What the endpoints share: the rules' memory, the prompt cache, the log and the switches."""

    def __init__(self, validate: bool, faults: Faults, speed: float, clock: Clock) -> None:
        self.validate = validate
        self.faults = faults
        self.speed = speed
        self.clock = clock
        self.log = Log()
        self.cache = PromptCache()
        self.validator = Validator()
        self.batches = Batches()

    # POST /v1/messages

    async def create_message(self, exchange: Exchange) -> None:
        """Answer with a message, as JSON or as a stream, or break as a fault says."""
        fault = self._pick_fault(exchange)
        if fault is not None:
            exchange.facts["fault"] = fault.kind
        if fault is not None and fault.kind in AT_ONCE:
            await self._break_at_once(exchange, fault)
            return
        read = self.read(exchange)
        if fault is not None and fault.kind == "error_event" and not exchange.body.get("stream"):
            await self._break_at_once(exchange, replace(fault, kind="status"))  # there is no stream
            return
        await self._send(exchange, self.reply(exchange, read, fault), fault)

    def read(self, exchange: Exchange, *, counting: bool = False) -> Read:
        """Read a request's body, and check it if the server is strict. Raises `Rejected`."""
        version, betas = "", split_betas(exchange.headers)
        if self.validate:
            version, betas = check_headers(exchange.headers)
        whole = exchange.body = exchange.body or wire.parse(exchange.raw)
        messages = whole.get("messages")
        exchange.facts.update(
            model=str(whole.get("model", "")),
            stream=bool(whole.get("stream")),
            messages=len(messages) if isinstance(messages, list) else 0,
        )
        wanted = exchange.headers.get("agentlab-scenario")
        if not self.validate:
            if any(beta.startswith("message-threads-") for beta in betas):
                refuse_thread(whole)
            made, tame = chain(whole), tamed(whole)
            return Read(tame, made, context_edits.Edited(tame, made), scenario=wanted)
        body, skipped = server_compaction.since_compaction(whole, betas)
        made = chain(body)
        dropped = self.validator.check(
            body, made, version=version, betas=betas, counting=counting,
            whole=whole, skipped=skipped, batched=exchange.batched,
        )  # fmt: skip
        prompt = context_edits.edit(body, made, counting=counting)
        check_length(prompt.chain.total_tokens, body)
        return Read(body, made, prompt, betas, dropped, wanted)

    def reply(self, exchange: Exchange, read: Read, fault: Fault | None = None) -> Reply:
        """Play the reply to a request, spoil it if a fault says so, and log it."""
        now = self.clock.now() if exchange.at is None else exchange.at

        def play(request: dict[str, Any], bound_to: Chain) -> Played:
            played = self._play(read, request, bound_to, now)
            exchange.facts.update(scenario=played.scenario, step=played.step, note=played.note)
            return played

        reply = answering.answer(read, play, self.cache, now)
        if exchange.batched:
            reply = replace(reply, usage={**reply.usage, "service_tier": "batch"})
        if fault is not None:
            reply = self._spoil(exchange, reply, fault)
        for iteration in reply.usage.get("iterations") or ():
            if iteration["type"] == "compaction":
                kind = "batch" if exchange.batched else "compaction"
                self.log_entry(exchange, 200, **counts_of(iteration), kind=kind)
        self.log_entry(exchange, 200, **counts_of(reply.usage), stop_reason=reply.stop_reason)
        return reply

    def _spoil(self, exchange: Exchange, reply: Reply, fault: Fault) -> Reply:
        """The reply with the fault in it. A fault that finds nothing to spoil was not played."""
        spoilt = broken.spoil_reply(reply, fault, exchange.body)
        if spoilt == reply and fault.kind not in broken.IN_STREAM:
            self.faults.put_back(fault)
            del exchange.facts["fault"]
        return spoilt

    def _pick_fault(self, exchange: Exchange) -> Fault | None:
        if not len(self.faults):
            return None
        try:
            model = str(wire.parse(exchange.raw).get("model"))
        except Rejected:
            model = ""
        return self.faults.pick(model)

    async def _break_at_once(self, exchange: Exchange, fault: Fault) -> None:
        if fault.kind != "status":
            self.log_entry(exchange, 0)
            await wire.break_off(exchange.scope, exchange.receive, reset=fault.kind == "reset")
            return
        self.log_entry(exchange, fault.status)
        headers = exchange.answer_headers | {k.lower(): v for k, v in fault.headers.items()}
        envelope = fault.envelope(exchange.request_id)
        await wire.send_json(exchange.send, fault.status, envelope, headers)

    def _play(self, read: Read, request: dict[str, Any], bound_to: Chain, now: float) -> Played:
        if request.get("max_tokens") == 0:
            return Played([], "max_tokens", scenario="cache pre-warm")
        try:
            seen = server_compaction.as_played(request)
            return playback.play(seen, bound_to, scenario=read.scenario, now=now)
        except UnknownScenario:
            raise
        except Exception:
            if self.validate:
                raise
            # Without validation the body may be anything, and there is always an answer.
            return Played([{"type": "text", "text": "Hello."}], "end_turn", note="not understood")

    async def _send(self, exchange: Exchange, reply: Reply, fault: Fault | None) -> None:
        headers = exchange.answer_headers
        events: Iterable[sse.Event]
        if exchange.body.get("stream"):
            content_type = "text/event-stream; charset=utf-8"
            events = sse.events(reply)
        elif fault is not None and fault.kind in ("cut_clean", "cut_dirty", "stall"):
            content_type = "application/json"
            events = _halves(reply.message())
            fault = replace(fault, after=min(fault.after, 1))
        else:
            await wire.send_json(exchange.send, 200, reply.message(), headers)
            return
        if fault is not None:
            events = broken.spoil_stream(events, fault, exchange.request_id)
        await wire.send_events(
            exchange.scope,
            exchange.receive,
            exchange.send,
            events,
            headers,
            speed=speed_of(exchange.headers, self.speed),
            content_type=content_type,
        )

    # POST /v1/messages/count_tokens

    async def count_tokens(self, exchange: Exchange) -> None:
        """Answer with the estimated input tokens."""
        read = self.read(exchange, counting=True)
        count = read.prompt.chain.total_tokens
        answer: dict[str, Any] = {"input_tokens": count}
        if read.body.get("context_management") is not None:
            answer["context_management"] = {"original_input_tokens": read.sent.total_tokens}
        self.log_entry(exchange, 200, input_tokens=count)
        await wire.send_json(exchange.send, 200, answer, exchange.answer_headers)

    # GET /v1/models

    async def list_models(self, exchange: Exchange) -> None:
        """Answer with one page of models."""
        if self.validate:
            check_headers(exchange.headers)
        query = parse_qs(exchange.scope["query_string"].decode("latin-1"))
        answer = catalogue.page(query, validate=self.validate)
        self.log_entry(exchange, 200)
        await wire.send_json(exchange.send, 200, answer, exchange.answer_headers)

    async def get_model(self, exchange: Exchange) -> None:
        """Answer with one model."""
        if self.validate:
            check_headers(exchange.headers)
        answer = catalogue.one(exchange.scope["path_params"]["model_id"], validate=self.validate)
        self.log_entry(exchange, 200)
        await wire.send_json(exchange.send, 200, answer, exchange.answer_headers)

    # Everything else

    async def not_found(self, request: Request, _: Exception) -> Response:
        """The answer to a path that is not there."""
        return self._refusal(request, 404, "not_found_error", "Not found")

    async def wrong_method(self, request: Request, _: Exception) -> Response:
        """The answer to a method that the path does not take."""
        return self._refusal(request, 405, "invalid_request_error", "Method Not Allowed")

    def _refusal(self, request: Request, status: int, kind: str, message: str) -> Response:
        request_id = request_id_of(request.url.path.encode())
        exchange = Exchange(request.scope, request.receive, _nowhere, {}, request_id=request_id)
        self.log_entry(exchange, status)
        envelope = error_envelope(kind, message, request_id)
        return JSONResponse(envelope, status, exchange.answer_headers)

    async def refuse(self, exchange: Exchange, rejected: Rejected) -> None:
        """The answer to a request that broke a rule."""
        self.log_entry(exchange, rejected.status, rule=rejected.rule)
        envelope = error_envelope(rejected.kind, rejected.message, exchange.request_id)
        if rejected.details:
            envelope["error"]["details"] = rejected.details
        headers = exchange.answer_headers
        headers |= {"agentlab-rule": rejected.header, "x-should-retry": "false"}
        await wire.send_json(exchange.send, rejected.status, envelope, headers)

    async def fail(self, exchange: Exchange, error: Exception) -> None:
        """The answer when a scenario, or the server itself, has a mistake in it."""
        status, envelope = self.failure(exchange, error)
        headers = exchange.answer_headers | {"x-should-retry": "false"}
        await wire.send_json(exchange.send, status, envelope, headers)

    def failure(self, exchange: Exchange, error: Exception) -> tuple[int, dict[str, Any]]:
        """The status and the envelope for such a mistake. It is logged."""
        status, kind = 500, "api_error"
        if isinstance(error, UnknownScenario):
            status, kind = 400, "invalid_request_error"
        if isinstance(error, ScenarioError):
            message = str(error)
        else:
            traceback.print_exception(error, file=sys.stderr)
            message = f"Internal server error: {type(error).__name__}: {error}"
        self.log_entry(exchange, status, note=message)
        return status, error_envelope(kind, message, exchange.request_id)

    def log_entry(self, exchange: Exchange, status: int, **more: Any) -> None:
        """Write down what became of a request."""
        facts = exchange.facts | more
        scope, at = exchange.scope, self.clock.now() if exchange.at is None else exchange.at

        def make(number: int) -> Entry:
            return Entry(
                number, at, scope["method"], scope["path"], status, exchange.request_id, **facts
            )

        self.log.add(make, exchange.raw)


class Endpoint:
    """One path of the server as an ASGI application."""

    def __init__(self, core: Core, handler: Handler, max_bytes: int | None = None) -> None:
        self.core = core
        self.handler = handler
        self.max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send, wire.headers_of(scope))
        exchange.request_id = request_id_of(scope["path"].encode())
        try:
            exchange.raw = await wire.read_body(scope, receive, self.max_bytes)
            if exchange.raw:
                exchange.request_id = request_id_of(exchange.raw)
            await self.handler(exchange)
        except Rejected as rejected:
            await self.core.refuse(exchange, rejected)
        except wire.Gone:
            pass
        except Exception as error:  # a mistake in a scenario or here must reach the client
            await self.core.fail(exchange, error)


def _halves(message: dict[str, Any]) -> list[sse.Event]:
    """A JSON answer in two pieces, so that a fault can come between them."""
    data = sse.event("json", **message).data.partition(b"data: ")[2].strip()
    middle = len(data) // 2
    return [sse.Event("half", data[:middle]), sse.Event("half", data[middle:])]


async def _nowhere(_: Any) -> None:
    raise RuntimeError("this exchange is answered elsewhere")
