"""From events to requests: what the context view and the inspector show, before it is drawn.

`Wire` takes events one by one and keeps a `Request` for each call of the main model: its parts
(tools, system prompt, messages by kind), which of them are new since the request before, what the
server counted, and the reply. Side calls of the harness (a summary, a classifier) are only counted:
their messages are not in the events.

A message is kept once, as a numbered record, however often it was sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from agentlab.costs import Usage, price
from agentlab.events import Event
from agentlab.messages import Message
from agentlab.models import Model, find_model
from agentlab.tokens import OVERHEAD, count_tool
from agentlab.views.blocks import mapping, number, text_of
from agentlab.views.conversation import Conversation, sound
from agentlab.views.requests import (
    KINDS,
    MOST_SOURCES,
    Compaction,
    Part,
    Record,
    Request,
    dollars_by_kind,
    estimate,
    merge,
)
from agentlab.views.wire_kinds import compaction_of, kind_of
from agentlab.views.wording import one_line


class _Line:
    """The requests of one agent so far: its conversation, and the records it was sent in."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.talk = Conversation()
        self.forget()
        self.open: Request | None = None
        self.reply: int | None = None
        self.prompt: tuple[Any, Any, int] | None = None
        self.paid: dict[str, float] = {}  # dollars of all input so far, by kind
        self.compacted = False  # since the last reply

    def forget(self) -> None:
        self.sent: list[int] = []
        self.parts: dict[str, Part] = {}


class Wire:
    """The requests of a stream of events, growing as events are added."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.requests: list[Request] = []
        self.compactions: list[Compaction] = []
        self.steps: list[Request | Compaction] = []  # both, in order
        self.records: list[Record] = []
        self.pairs: dict[tuple[str, str], int] = {}  # (agent, call id) -> number, as they appear
        self.status = self.detail = self.model = ""
        self.simulated = False
        self.runs = self.side_calls = 0
        self.widest = 1.0  # tokens of the largest request
        self.window_tokens = self.trigger = 0.0  # of the last run; 0: not known
        self.main: str | None = None
        self._lines: dict[str, _Line] = {}
        self._summaries: set[str] = set()  # texts that stand for what was cut away
        self._changed: set[int] = set()
        self._compacted: list[int] = []  # steps that are new
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take one event. Types that say nothing about requests are passed over."""
        take = _TAKERS.get(event.type)
        if take is not None:
            take(self, event)

    def drawn(self) -> list[int]:
        """The requests that changed since the last call, in order."""
        changed, self._changed = sorted(self._changed), set()
        return changed

    def drawn_steps(self) -> list[int]:
        """The steps that changed since the last call, in order."""
        changed = {self.requests[index].place for index in self.drawn()} | {*self._compacted}
        self._compacted.clear()
        return sorted(changed)

    @property
    def window(self) -> Model | None:
        """The model, if its window is known."""
        return find_model(self.model)

    def message(self, record: int) -> Message:
        """A message as it was sent."""
        return self.records[record].data

    # what each type of event does

    def _start(self, event: Event) -> None:
        data = event.data
        if not self._nested(event):
            self._lose_all()
            self.main, self.status, self.detail = event.agent, "", ""
            self.model = one_line(data.get("model") or "", 60)
            self.simulated = bool(data.get("simulated"))
            self.runs += 1
            told = mapping(data.get("compaction"))  # of the harness, if it says
            known = self.window.context_tokens if self.window else 0
            self.window_tokens = number(told.get("window")) or float(known)
            self.trigger = number(told.get("trigger"))
        line = self._line(event)
        if line.talk.start(data.get("system"), data.get("tools"), data.get("history")):
            line.forget()

    def _user(self, event: Event) -> None:
        message = sound(event.data.get("message"))
        if message is not None:
            self._line(event).talk.add(message)
            if event.data.get("origin") == "summary":
                self._summaries.add(text_of(message))

    def _turn_start(self, event: Event) -> None:
        line = self._line(event)
        self._lose(line)
        told = int(number(event.data.get("messages")))
        new, missing, other = line.talk.send(told)
        if other:
            line.forget()
        prompt, fresh = self._prompt(line)
        parts = self._fixed(line, prompt, fresh and not missing)
        earlier = [replace(part) for part in line.parts.values()]
        numbers = [self._message_record(line, message) for message in new]
        added = self._parts(new, numbers)
        parts += [Part("earlier", False, count=missing)] if missing else []
        parts += [*earlier, *added]
        request = Request(
            len(self.requests) + 1, event.turn, self._who(event), self.model, prompt, line.sent,
            len(line.sent), numbers, missing, parts, number(event.data.get("input_tokens")), fresh,
            line.reply, compacted=line.compacted, place=len(self.steps), paid=dict(line.paid),
        )  # fmt: skip
        self.steps.append(request)
        line.open = request
        self._changed.add(len(self.requests))
        self.requests.append(request)
        self.widest = max(self.widest, request.tokens)

    def _retry(self, event: Event) -> None:
        request = self._line(event).open
        if request is not None and request.state == "waiting":
            request.attempts += 1
            self._changed.add(request.number - 1)

    def _message(self, event: Event) -> None:
        line, message = self._line(event), sound(event.data.get("message"))
        kept = event.data.get("kept", True) is not False
        request = line.open
        if request is not None and request.state == "waiting":
            self._answer(line, request, event, message, kept)
            line.talk.answered()
        if message is not None and kept:
            line.talk.add(message)

    def _result(self, event: Event) -> None:
        data = event.data
        talk = self._line(event).talk
        talk.result(data.get("tool_use_id"), data.get("content"), bool(data.get("is_error")))

    def _turn_end(self, event: Event) -> None:
        self._lose(self._line(event))

    def _compact(self, event: Event) -> None:
        """A shorter history takes over; all of it is sent anew."""
        line = self._line(event)
        before = list(line.talk.history)
        if not line.talk.take_over(event.data.get("messages")):
            return
        self._lose(line)
        line.forget()
        line.compacted = True
        after = list(line.talk.history)
        made = compaction_of(event, self._who(event), before, after)
        made.number, made.place = len(self.compactions) + 1, len(self.steps)
        made.source = self._record({"type": event.type, **event.data})
        self.compactions.append(made)
        self.steps.append(made)
        self._compacted.append(made.place)
        self.widest = max(self.widest, made.before)

    def _side_call(self, event: Event) -> None:
        self.side_calls += 1

    def _error(self, event: Event) -> None:
        request = self._line(event).open
        if request is not None and request.state == "waiting":
            request.error = one_line(event.data.get("error") or "", 200)
            self._changed.add(request.number - 1)

    def _end(self, event: Event) -> None:
        if self._nested(event):
            self._lose(self._line(event))
            return
        self._lose_all()
        self.status = str(event.data.get("status") or "ended")
        self.detail = str(event.data.get("detail") or "")

    # small steps

    def _nested(self, event: Event) -> bool:
        return self.runs > 0 and not self.status and event.agent != self.main

    def _who(self, event: Event) -> str:
        return "" if event.agent in ("main", self.main) else event.agent

    def _line(self, event: Event) -> _Line:
        if event.agent not in self._lines:
            self._lines[event.agent] = _Line(event.agent)
        return self._lines[event.agent]

    def _record(self, data: dict[str, Any]) -> int:
        self.records.append(Record(data))
        return len(self.records) - 1

    def _prompt(self, line: _Line) -> tuple[int, bool]:
        """The record of system and tools; True if it is a new one."""
        system, tools = line.talk.system, line.talk.tools
        if line.prompt is None or line.prompt[:2] != (system, tools):
            data = {"model": self.model, "system": system, "tools": tools}
            line.prompt = (system, tools, self._record({k: v for k, v in data.items() if v}))
            return line.prompt[2], True
        return line.prompt[2], not line.sent

    def _fixed(self, line: _Line, prompt: int, new: bool) -> list[Part]:
        system, tools = line.talk.system, line.talk.tools
        parts = []
        if tools:
            size = sum(estimate(tool, count_tool) for tool in tools)
            parts.append(Part("tools", new, size, len(tools), (prompt,)))
        if system:
            parts.append(Part("system", new, estimate(system), 1, (prompt,)))
        return parts

    def _message_record(self, line: _Line, message: Message) -> int:
        """The record of a message; a reply that is sent back as it came has one already."""
        if line.reply is not None and self.records[line.reply].data == message:
            return line.reply
        for block in message["content"]:
            for key in ("id", "tool_use_id"):
                self._pair(line, block.get(key))
        return self._record(message)

    def _pair(self, line: _Line, call: Any) -> None:
        """Number a call, the first time that its id is seen."""
        if isinstance(call, str) and call:
            self.pairs.setdefault((line.agent, call), len(self.pairs) + 1)

    def _parts(self, messages: list[Message], numbers: list[int]) -> list[Part]:
        parts: dict[str, Part] = {}
        for message, record in zip(messages, numbers, strict=True):
            frame = float(OVERHEAD)
            for block in message["content"]:
                kind = kind_of(message["role"], block, self._summaries)
                part = parts.setdefault(kind, Part(kind, True))
                part.estimate += estimate(block) + frame
                part.count, frame = part.count + 1, 0.0
                if record not in part.sources[-1:]:
                    part.sources = (*part.sources, record)[-MOST_SOURCES:]
        return [parts[kind] for kind in KINDS if kind in parts]

    def _answer(
        self, line: _Line, request: Request, event: Event, message: Message | None, kept: bool
    ) -> None:
        """The reply is there: what was sent counts as sent, and the server's numbers hold."""
        counts = {k: int(number(v)) for k, v in mapping(event.data.get("usage")).items()}
        usage = Usage.from_dict({**counts, "output_tokens": 0, "thinking_tokens": 0})
        names = ("cache_read_tokens", "cache_write_tokens", "input_tokens")
        request.usage = {name: float(getattr(usage, name)) for name in names}
        request.model = one_line(event.data.get("model") or self.model, 60)
        request.cost, request.state, request.kept = price(usage, request.model), "answered", kept
        for kind, dollars in dollars_by_kind(request).items():
            line.paid[kind] = line.paid.get(kind, 0.0) + dollars
        request.paid = dict(line.paid)
        keys = ("id", "model", "stop_reason", "usage")
        request.frame = self._record({key: event.data.get(key) for key in keys})
        if message is not None:
            for block in message["content"]:
                self._pair(line, block.get("id"))
            request.reply = line.reply = self._record(message)
        line.compacted = False
        line.sent.extend(request.new)
        merge(line.parts, request.parts)
        self.widest = max(self.widest, request.tokens)
        self._changed.add(request.number - 1)

    def _lose(self, line: _Line) -> None:
        if line.open is not None:
            if line.open.state == "waiting":
                line.open.state = "lost"
                self._changed.add(line.open.number - 1)
            line.open = None

    def _lose_all(self) -> None:
        for line in self._lines.values():
            self._lose(line)


_TAKERS = {
    "session.start": Wire._start,
    "user.message": Wire._user,
    "assistant.turn_start": Wire._turn_start,
    "model.retry": Wire._retry,
    "assistant.message": Wire._message,
    "tool.execution_complete": Wire._result,
    "assistant.turn_end": Wire._turn_end,
    "model.side_call": Wire._side_call,
    "context.compacted": Wire._compact,
    "session.error": Wire._error,
    "session.end": Wire._end,
}


class WirePicture:
    """What the pictures drawn from a `Wire` have in common."""

    wire: Wire

    @property
    def events(self) -> Sequence[Record]:
        return self.wire.records

    @property
    def simulated(self) -> bool:
        return self.wire.simulated

    @property
    def running(self) -> bool:
        return not self.wire.status

    def idle(self, seconds: float) -> None:
        """Waiting sends nothing and adds nothing."""
