"""From events to requests: what the context view and the inspector show, before it is drawn.

`Wire` takes events one by one and keeps a `Request` for each call of the main model: its parts
(tools, system prompt, messages by kind), which of them are new since the request before, what the
server counted, and the reply. Side calls of the harness (a summary, a classifier) are only counted:
their messages are not in the events.

A message is kept once, as a numbered record, however often it was sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agentlab.costs import Usage, price
from agentlab.events import Event
from agentlab.messages import Message
from agentlab.models import Model, find_model
from agentlab.views.blocks import mapping, number, text_of
from agentlab.views.conversation import sound
from agentlab.views.requests import Block, Compaction, Record, Request
from agentlab.views.window import Window
from agentlab.views.wire_kinds import api_summary, compaction_of, edits_of
from agentlab.views.wording import one_line


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
        self._windows: dict[str, Window] = {}
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
    def known_model(self) -> Model | None:
        """The model, if its window is known."""
        return find_model(self.model)

    def message(self, record: int) -> Message:
        """A message as it was sent."""
        return self.records[record].data

    def blocks(self, request: Request) -> list[Block]:
        """All blocks of a request, in the order of the window."""
        blocks: list[Block] = []
        for each in self.steps[: request.place + 1]:
            if each.agent == request.agent:
                blocks = blocks[: each.carried] + each.blocks
        return blocks

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
            known = self.known_model.context_tokens if self.known_model else 0
            self.window_tokens = number(told.get("window")) or float(known)
            self.trigger = number(told.get("trigger"))
        window = self._window(event)
        if window.talk.start(data.get("system"), data.get("tools"), data.get("history")):
            window.forget()

    def _user(self, event: Event) -> None:
        message = sound(event.data.get("message"))
        if message is not None:
            self._window(event).talk.add(message)
            if event.data.get("origin") == "summary":
                self._window(event).summaries.add(text_of(message))

    def _turn_start(self, event: Event) -> None:
        window = self._window(event)
        self._lose(window)
        told = int(number(event.data.get("messages")))
        new, missing, other = window.talk.send(told)
        if other:
            window.forget()
        fresh = self._prompt(window)
        numbers = [self._message_record(window, message) for message in new]
        request = Request(
            len(self.requests) + 1, event.turn, self._who(event), self.model, window.prompt[2],
            window.sent, len(window.sent), numbers, missing, number(event.data.get("input_tokens")),
            fresh, window.reply, compacted=window.compacted, place=len(self.steps),
        )  # fmt: skip
        window.carry(request, new)
        self.steps.append(request)
        window.open = request
        self._changed.add(len(self.requests))
        self.requests.append(request)
        self.widest = max(self.widest, request.tokens)

    def _retry(self, event: Event) -> None:
        request = self._window(event).open
        if request is not None and request.state == "waiting":
            request.attempts += 1
            self._changed.add(request.number - 1)

    def _message(self, event: Event) -> None:
        window, message = self._window(event), sound(event.data.get("message"))
        kept = event.data.get("kept", True) is not False
        request = window.open
        if request is not None and request.state == "waiting":
            self._answer(window, request, event, message, kept)
            window.talk.answered()
        if message is not None and kept:
            window.talk.add(message)

    def _result(self, event: Event) -> None:
        data = event.data
        talk = self._window(event).talk
        talk.result(data.get("tool_use_id"), data.get("content"), bool(data.get("is_error")))

    def _turn_end(self, event: Event) -> None:
        self._lose(self._window(event))

    def _edited(self, event: Event) -> None:
        """The API changed the prompt before the model read it; the history stays as it is."""
        request = self._window(event).open
        if request is not None and request.state == "waiting":
            request.edits, request.cleared = edits_of(event.data.get("edits"))

    def _compact(self, event: Event) -> None:
        """A shorter history takes over; all of it is sent anew."""
        window = self._window(event)
        before, sent = list(window.talk.history), window.talk.history.sent
        if not window.talk.take_over(event.data.get("messages")):
            return
        self._lose(window)
        after = list(window.talk.history)
        made = compaction_of(event, self._who(event), before, after)
        window.compact(made, before[sent:], after)
        made.number, made.place = len(self.compactions) + 1, len(self.steps)
        made.source = self._record({"type": event.type, **event.data})
        self.compactions.append(made)
        self.steps.append(made)
        self._compacted.append(made.place)
        self.widest = max(self.widest, made.before)

    def _side_call(self, event: Event) -> None:
        self.side_calls += 1

    def _error(self, event: Event) -> None:
        request = self._window(event).open
        if request is not None and request.state == "waiting":
            request.error = one_line(event.data.get("error") or "", 200)
            self._changed.add(request.number - 1)

    def _end(self, event: Event) -> None:
        if self._nested(event):
            self._lose(self._window(event))
            return
        self._lose_all()
        self.status = str(event.data.get("status") or "ended")
        self.detail = str(event.data.get("detail") or "")

    # small steps

    def _nested(self, event: Event) -> bool:
        return self.runs > 0 and not self.status and event.agent != self.main

    def _who(self, event: Event) -> str:
        return "" if event.agent in ("main", self.main) else event.agent

    def _window(self, event: Event) -> Window:
        if event.agent not in self._windows:
            self._windows[event.agent] = Window(event.agent)
        return self._windows[event.agent]

    def _record(self, data: dict[str, Any]) -> int:
        self.records.append(Record(data))
        return len(self.records) - 1

    def _prompt(self, window: Window) -> bool:
        """Keep system and tools as a record; True if they are sent for the first time."""
        system, tools = window.talk.system, window.talk.tools
        if window.prompt[2] < 0 or window.prompt[:2] != (system, tools):
            data = {"model": self.model, "system": system, "tools": tools}
            window.prompt = (system, tools, self._record({k: v for k, v in data.items() if v}))
            return True
        return not window.sent

    def _message_record(self, window: Window, message: Message) -> int:
        """The record of a message; a reply that is sent back as it came has one already."""
        if window.reply is not None and self.records[window.reply].data == message:
            return window.reply
        for block in message["content"]:
            for key in ("id", "tool_use_id"):
                self._pair(window, block.get(key))
        return self._record(message)

    def _pair(self, window: Window, call: Any) -> None:
        """Number a call, the first time that its id is seen."""
        if isinstance(call, str) and call:
            self.pairs.setdefault((window.agent, call), len(self.pairs) + 1)

    def _answer(
        self, window: Window, request: Request, event: Event, message: Message | None, kept: bool
    ) -> None:
        """The reply is there: what was sent counts as sent, and the server's numbers hold."""
        counts = {k: int(number(v)) for k, v in mapping(event.data.get("usage")).items()}
        usage = Usage.from_dict({**counts, "output_tokens": 0, "thinking_tokens": 0})
        names = ("cache_read_tokens", "cache_write_tokens", "input_tokens")
        request.usage = {name: float(getattr(usage, name)) for name in names}
        request.model = one_line(event.data.get("model") or self.model, 60)
        request.cost, request.state, request.kept = price(usage, request.model), "answered", kept
        keys = ("id", "model", "stop_reason", "usage")
        request.frame = self._record({key: event.data.get(key) for key in keys})
        if message is not None:
            for block in message["content"]:
                self._pair(window, block.get("id"))
            request.reply = window.reply = self._record(message)
            if any(map(api_summary, message["content"])):
                said = "the API summarised all before it answered (it counts both)"
                request.edits = "; ".join(filter(None, [request.edits, said]))
        window.answered(request)
        self.widest = max(self.widest, request.tokens)
        self._changed.add(request.number - 1)

    def _lose(self, window: Window) -> None:
        if window.open is not None:
            if window.open.state == "waiting":
                window.open.state = "lost"
                self._changed.add(window.open.number - 1)
            window.open = None

    def _lose_all(self) -> None:
        for window in self._windows.values():
            self._lose(window)


_TAKERS = {
    "session.start": Wire._start,
    "user.message": Wire._user,
    "assistant.turn_start": Wire._turn_start,
    "model.retry": Wire._retry,
    "context.edited": Wire._edited,
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
