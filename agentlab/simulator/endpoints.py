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

from agentlab import models
from agentlab.clock import Clock
from agentlab.models import Model
from agentlab.simulator import broken, catalogue, playback, sse, wire
from agentlab.simulator.betas import BINDING
from agentlab.simulator.cache import PromptCache
from agentlab.simulator.exchange import Exchange, error_envelope, request_id_of, speed_of, tamed
from agentlab.simulator.faults import AT_ONCE, Fault, Faults
from agentlab.simulator.log import Entry, Log
from agentlab.simulator.playback import Played
from agentlab.simulator.prefix import Chain, chain
from agentlab.simulator.reply import Reply, make_reply
from agentlab.simulator.rules import Rejected
from agentlab.simulator.scenario import ScenarioError, UnknownScenario
from agentlab.simulator.validation import Validator, check_headers, refuse_thread, split_betas

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

    # POST /v1/messages

    async def create_message(self, exchange: Exchange) -> None:
        """Answer with a message, as JSON or as a stream, or break as a fault says."""
        fault = self._pick_fault(exchange)
        if fault is not None:
            exchange.facts["fault"] = fault.kind
        if fault is not None and fault.kind in AT_ONCE:
            await self._break_at_once(exchange, fault)
            return
        made = self._validated(exchange)
        if fault is not None and fault.kind == "error_event" and not exchange.body.get("stream"):
            await self._break_at_once(exchange, replace(fault, kind="status"))  # there is no stream
            return
        reply = self._reply(exchange, made)
        if fault is not None:
            reply = self._spoil(exchange, reply, fault)
        usage = reply.usage
        self._log(
            exchange,
            200,
            input_tokens=usage["input_tokens"],
            cache_write_tokens=usage["cache_creation_input_tokens"],
            cache_read_tokens=usage["cache_read_input_tokens"],
            output_tokens=usage["output_tokens"],
            stop_reason=reply.stop_reason,
        )
        await self._send(exchange, reply, fault)

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
            self._log(exchange, 0)
            await wire.break_off(exchange.scope, exchange.receive, reset=fault.kind == "reset")
            return
        self._log(exchange, fault.status)
        headers = exchange.answer_headers | {k.lower(): v for k, v in fault.headers.items()}
        envelope = fault.envelope(exchange.request_id)
        await wire.send_json(exchange.send, fault.status, envelope, headers)

    def _reply(self, exchange: Exchange, made: Chain) -> Reply:
        body, now = exchange.body if self.validate else tamed(exchange.body), self.clock.now()
        model = _model_of(body)
        if body.get("max_tokens") == 0:
            played = Played([], "max_tokens", scenario="cache pre-warm")
        else:
            played = self._play(exchange, made, now)
        exchange.facts.update(scenario=played.scenario, step=played.step, note=played.note)
        accounted = self.cache.account(body, made, model, now)
        reply = make_reply(body, played, model, accounted, made.total_tokens, made.whole)
        if BINDING in split_betas(exchange.headers):
            reply.extra["input_transformations"] = [
                {"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"}
                for path in exchange.facts.get("dropped", ())
            ]
        return reply

    def _play(self, exchange: Exchange, made: Chain, now: float) -> Played:
        wanted = exchange.headers.get("agentlab-scenario")
        try:
            return playback.play(exchange.body, made, scenario=wanted, now=now)
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
        made = self._validated(exchange, counting=True)
        answer: dict[str, Any] = {"input_tokens": made.total_tokens}
        self._log(exchange, 200, input_tokens=made.total_tokens)
        await wire.send_json(exchange.send, 200, answer, exchange.answer_headers)

    def _validated(self, exchange: Exchange, *, counting: bool = False) -> Chain:
        if self.validate:
            version, betas = check_headers(exchange.headers)
        body = exchange.body = wire.parse(exchange.raw)
        messages = body.get("messages")
        exchange.facts.update(
            model=str(body.get("model", "")),
            stream=bool(body.get("stream")),
            messages=len(messages) if isinstance(messages, list) else 0,
        )
        made = chain(body)
        if self.validate:
            dropped = self.validator.check(
                body, made, version=version, betas=betas, counting=counting
            )
            exchange.facts["dropped"] = dropped
        elif any(b.startswith("message-threads-") for b in split_betas(exchange.headers)):
            refuse_thread(body)
        return made

    # GET /v1/models

    async def list_models(self, exchange: Exchange) -> None:
        """Answer with one page of models."""
        if self.validate:
            check_headers(exchange.headers)
        query = parse_qs(exchange.scope["query_string"].decode("latin-1"))
        answer = catalogue.page(query, validate=self.validate)
        self._log(exchange, 200)
        await wire.send_json(exchange.send, 200, answer, exchange.answer_headers)

    async def get_model(self, exchange: Exchange) -> None:
        """Answer with one model."""
        if self.validate:
            check_headers(exchange.headers)
        answer = catalogue.one(exchange.scope["path_params"]["model_id"], validate=self.validate)
        self._log(exchange, 200)
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
        self._log(exchange, status)
        envelope = error_envelope(kind, message, request_id)
        return JSONResponse(envelope, status, exchange.answer_headers)

    async def refuse(self, exchange: Exchange, rejected: Rejected) -> None:
        """The answer to a request that broke a rule."""
        self._log(exchange, rejected.status, rule=rejected.rule)
        envelope = error_envelope(rejected.kind, rejected.message, exchange.request_id)
        if rejected.details:
            envelope["error"]["details"] = rejected.details
        headers = exchange.answer_headers
        headers |= {"agentlab-rule": rejected.header, "x-should-retry": "false"}
        await wire.send_json(exchange.send, rejected.status, envelope, headers)

    async def fail(self, exchange: Exchange, error: Exception) -> None:
        """The answer when a scenario, or the server itself, has a mistake in it."""
        status, kind = 500, "api_error"
        if isinstance(error, UnknownScenario):
            status, kind = 400, "invalid_request_error"
        if isinstance(error, ScenarioError):
            message = str(error)
        else:
            traceback.print_exception(error, file=sys.stderr)
            message = f"Internal server error: {type(error).__name__}: {error}"
        self._log(exchange, status, note=message)
        envelope = error_envelope(kind, message, exchange.request_id)
        headers = exchange.answer_headers | {"x-should-retry": "false"}
        await wire.send_json(exchange.send, status, envelope, headers)

    def _log(self, exchange: Exchange, status: int, **more: Any) -> None:
        facts = {k: v for k, v in exchange.facts.items() if k != "dropped"} | more
        scope = exchange.scope

        def make(number: int) -> Entry:
            return Entry(
                number,
                self.clock.now(),
                scope["method"],
                scope["path"],
                status,
                exchange.request_id,
                **facts,
            )

        self.log.add(make, exchange.raw)


class Endpoint:
    """One path of the server as an ASGI application."""

    def __init__(self, core: Core, handler: Handler) -> None:
        self.core = core
        self.handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send, wire.headers_of(scope))
        exchange.request_id = request_id_of(scope["path"].encode())
        try:
            exchange.raw = await wire.read_body(scope, receive)
            if exchange.raw:
                exchange.request_id = request_id_of(exchange.raw)
            await self.handler(exchange)
        except Rejected as rejected:
            await self.core.refuse(exchange, rejected)
        except wire.Gone:
            pass
        except Exception as error:  # a mistake in a scenario or here must reach the client
            await self.core.fail(exchange, error)


def _model_of(body: dict[str, Any]) -> Model:
    known = models.find_model(str(body.get("model")))
    return known or models.all_models()[models.default_model()]


def _halves(message: dict[str, Any]) -> list[sse.Event]:
    """A JSON answer in two pieces, so that a fault can come between them."""
    data = sse.event("json", **message).data.partition(b"data: ")[2].strip()
    middle = len(data) // 2
    return [sse.Event("half", data[:middle]), sse.Event("half", data[middle:])]


async def _nowhere(_: Any) -> None:
    raise RuntimeError("this exchange is answered elsewhere")
