"""The endpoints for message batches: create, list, look, cancel, delete, read the results."""

from __future__ import annotations

import functools
import json
from typing import Any
from urllib.parse import parse_qs

from agentlab.simulator import catalogue, wire
from agentlab.simulator.batches import Batch
from agentlab.simulator.endpoints import Core
from agentlab.simulator.exchange import Exchange, error_envelope, request_id_of
from agentlab.simulator.faults import AT_ONCE
from agentlab.simulator.rules import Rejected
from agentlab.simulator.validation import check_headers


class BatchDesk:
    """Takes batches in, and gives them out when the clock says that they have ended."""

    def __init__(self, core: Core) -> None:
        self.core = core

    async def create(self, exchange: Exchange) -> None:
        """POST /v1/messages/batches"""
        self._enter(exchange)
        core, now = self.core, self.core.clock.now()
        body = wire.parse(exchange.raw)
        headers = {k: v for k, v in exchange.headers.items() if k != "content-length"}
        batch = core.batches.create(body, exchange.raw, headers, now, core.clock.wall())
        await self._show(exchange, batch)

    async def list_all(self, exchange: Exchange) -> None:
        """GET /v1/messages/batches"""
        self._enter(exchange)
        now, base = self.core.clock.now(), _base_url(exchange)
        query = parse_qs(exchange.scope["query_string"].decode("latin-1"))
        shown = [batch.to_dict(now, base) for batch in self.core.batches.newest_first()]
        page = catalogue.cut_page(shown, query, "batch", validate=self.core.validate)
        await self._send(exchange, page)

    async def retrieve(self, exchange: Exchange) -> None:
        """GET /v1/messages/batches/{id}"""
        self._enter(exchange)
        await self._show(exchange, self._find(exchange))

    async def cancel(self, exchange: Exchange) -> None:
        """POST /v1/messages/batches/{id}/cancel"""
        self._enter(exchange)
        batch = self._find(exchange)
        if self.core.validate:
            batch.cancel(self.core.clock.now())
        await self._show(exchange, batch)

    async def delete(self, exchange: Exchange) -> None:
        """DELETE /v1/messages/batches/{id}"""
        self._enter(exchange)
        batch = self._find(exchange)
        if self.core.validate:
            self.core.batches.delete(batch, self.core.clock.now())
        await self._send(exchange, {"id": batch.id, "type": "message_batch_deleted"})

    async def results(self, exchange: Exchange) -> None:
        """GET /v1/messages/batches/{id}/results: one line of JSON for each request."""
        self._enter(exchange)
        results = self._find(exchange).read(self.core.clock.now())
        self.core.log_entry(exchange, 200)
        lines = (json.dumps(r, ensure_ascii=False, separators=(",", ":")) for r in results)
        data = "".join(f"{line}\n" for line in lines).encode()
        await wire.send_bytes(
            exchange.send, 200, data, exchange.answer_headers, "application/x-jsonl"
        )

    def _enter(self, exchange: Exchange) -> None:
        """Check the headers, and see which batches have ended by now."""
        if self.core.validate:
            check_headers(exchange.headers)
        now = self.core.clock.now()
        for batch in sorted(self.core.batches.newest_first(), key=lambda batch: batch.ended):
            batch.settle(now, functools.partial(self._process, batch))

    def _find(self, exchange: Exchange) -> Batch:
        """The batch that is asked for. Without validation there is one for every id."""
        id = str(exchange.scope["path_params"]["batch_id"])
        if not self.core.validate and id not in self.core.batches:
            clock = self.core.clock
            return Batch(id, [], {}, clock.now(), clock.wall(), seconds=0.0, results=[])
        return self.core.batches.get(id)

    def _process(self, batch: Batch, params: dict[str, Any], at: float) -> dict[str, Any]:
        """The result of one request of a batch, and its entry in the log."""
        core = self.core
        raw = json.dumps(params, ensure_ascii=False, separators=(",", ":")).encode()
        item = Exchange(_SCOPE, _nowhere, _nowhere, batch.headers, raw, params)
        item.request_id, item.at, item.batched = request_id_of(raw), at, True
        item.facts["kind"] = "batch"
        fault = core.faults.pick(str(params.get("model"))) if len(core.faults) else None
        if fault is not None:
            item.facts["fault"] = fault.kind
        try:
            if fault is not None and fault.kind in AT_ONCE:
                core.log_entry(item, fault.status, model=str(params.get("model", "")))
                return {"type": "errored", "error": fault.envelope(item.request_id)}
            reply = core.reply(item, core.read(item), fault)
        except Rejected as rejected:
            core.log_entry(item, rejected.status, rule=rejected.rule)
            error = error_envelope(rejected.kind, rejected.message, item.request_id)
        except Exception as problem:  # a mistake in a scenario or here
            error = core.failure(item, problem)[1]
        else:
            return {"type": "succeeded", "message": reply.message()}
        return {"type": "errored", "error": error}

    async def _show(self, exchange: Exchange, batch: Batch) -> None:
        await self._send(exchange, batch.to_dict(self.core.clock.now(), _base_url(exchange)))

    async def _send(self, exchange: Exchange, answer: dict[str, Any]) -> None:
        self.core.log_entry(exchange, 200)
        await wire.send_json(exchange.send, 200, answer, exchange.answer_headers)


_SCOPE = {"method": "POST", "path": "/v1/messages"}  # what a request of a batch would have been


def _base_url(exchange: Exchange) -> str:
    scheme = exchange.scope.get("scheme", "http")
    return f"{scheme}://{exchange.headers.get('host', '127.0.0.1')}"


async def _nowhere(*_: Any) -> Any:
    raise RuntimeError("the requests of a batch have no connection of their own")
