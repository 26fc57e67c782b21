"""Streams of events, made by hand: what a run would yield, without a model."""

import json

import pytest

from agentlab.clock import FIRST_TOKEN_S, TOKENS_PER_S
from agentlab.costs import Usage, price
from agentlab.events import SCHEMA_VERSION, Event
from agentlab.models import default_model
from agentlab.tokens import CHARS_PER_TOKEN


class Stream:
    """Builds a stream event by event, on a clock of its own, in the order the loop has."""

    def __init__(self, agent="main"):
        self.events = []
        self.now = 0.0
        self.agent, self.turn = agent, 0
        self.usage, self.usd = Usage(), 0.0

    def add(self, type, **data):
        self.events.append(Event(type, round(self.now, 6), self.turn, self.agent, data))
        return self

    def start(self, task="Count the words.", **data):
        self.turn, self.usage, self.usd = 0, Usage(), 0.0
        about = {"schema": SCHEMA_VERSION, "model": default_model(), "endpoint": "simulator"}
        about |= {"simulated": True, "system": "", "tools": [], "limits": {}, "history": []}
        self.add("session.start", **{**about, **data})
        message = {"role": "user", "content": [{"type": "text", "text": task}]}
        return self.add("user.message", message=message, origin="user")

    def open(self, retries=0):
        """A turn starts, and the model is waited for."""
        self.turn += 1
        self.add("assistant.turn_start", messages=2 * self.turn - 1, input_tokens=100 * self.turn)
        for attempt in range(2, retries + 2):
            self.now += FIRST_TOKEN_S
            self.add("model.retry", attempt=attempt, reason="Overloaded", wait_s=0.5)
            self.now += 0.5
        self.now += FIRST_TOKEN_S
        return self

    def write(self, kind, text, **data):
        key = "json" if kind == "tool" else "text"
        for at in range(0, len(text), 8):
            piece = text[at : at + 8]
            self.now += len(piece) / CHARS_PER_TOKEN / TOKENS_PER_S
            self.add(f"assistant.{kind}_delta", **{key: piece}, **data)
        return self

    def turn_of(
        self,
        thinking="",
        text="",
        calls=(),
        together=False,
        failing=(),
        retries=0,
        tool_s=0.5,
        **used,
    ):
        """A whole turn. ``calls``: (name, input); ``failing``: which of them fail."""
        self.open(retries)
        blocks = []
        if thinking:
            self.write("thinking", thinking)
            blocks.append({"type": "thinking", "thinking": thinking, "signature": "sig"})
        if text:
            self.write("text", text)
            blocks.append({"type": "text", "text": text})
        ids = [f"toolu_{self.agent}_{self.turn}_{index}" for index in range(len(calls))]
        for call_id, (name, arguments) in zip(ids, calls, strict=True):
            self.write("tool", json.dumps(arguments), tool_use_id=call_id, name=name)
            blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
        usage = Usage(**{"input_tokens": 100 * self.turn, "output_tokens": 40, **used})
        self.usage += usage
        cost = price(usage, default_model())
        self.usd += cost
        reason = "tool_use" if calls else "end_turn"
        common = {"stop_reason": reason, "usage": usage.to_dict()}
        message = {"role": "assistant", "content": blocks}
        self.add(
            "assistant.message",
            message=message,
            model=default_model(),
            id="msg_1",
            kept=True,
            **common,
        )
        self._run(calls, ids, together, failing, tool_s)
        total = {"total_usage": self.usage.to_dict(), "total_usd": self.usd}
        return self.add("assistant.turn_end", cost_usd=cost, **common, **total)

    def _run(self, calls, ids, together, failing, tool_s):
        def finish(index):
            self.now += tool_s
            failed = index in failing
            content = "no such file" if failed else f"result {index}"
            self.add(
                "tool.execution_complete", tool_use_id=ids[index], name=calls[index][0],
                content=content, is_error=failed, traceback=None,
            )  # fmt: skip

        for index, (name, arguments) in enumerate(calls):
            self.add("tool.execution_start", tool_use_id=ids[index], name=name, input=arguments)
            if not together:
                finish(index)
        for index in range(len(calls) if together else 0):
            finish(index)

    def end(self, status="completed", detail="", text=""):
        self.add(
            "session.end", status=status, text=text, turns=self.turn, usage=self.usage.to_dict(),
            cost_usd=self.usd, detail=detail,
        )  # fmt: skip
        return self.add("session.idle", status=status)

    @property
    def stored(self):
        """What a transcript of it holds."""
        return [event for event in self.events if not event.live]


@pytest.fixture(scope="session")
def stream():
    """``stream()``: a `Stream` to build on."""
    return Stream


@pytest.fixture
def demo():
    """A run with a bit of everything: thinking, tools together, a failure, a retry, the cache."""
    run = Stream().start("How many words do the files hold?", limits={"usd": 0.5})
    reads = [("Read", {"file_path": name}) for name in ("a.txt", "b.txt")]
    run.turn_of("I can read both at once.", "I'll read both.", reads, together=True, failing={1})
    run.turn_of(
        calls=[("LS", {"path": "."})], retries=1,
        input_tokens=20, cache_write_5m_tokens=600, thinking_tokens=10,
    )  # fmt: skip
    run.turn_of(text="Together they hold 42 words.", input_tokens=30, cache_read_tokens=620)
    return run.end()
