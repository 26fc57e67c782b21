"""From events to rows and bars: what the timeline shows, before anything is drawn.

Turns go down, time runs right. `Layout` takes events one by one and keeps a row for each message
of the user and each turn; in a turn's row stand the bars: waiting for the first token, thinking,
text, writing a tool call, waiting before a retry, and the tools that ran. Tools that ran together
lie in lanes below each other. HTML, text and the live widget are all drawn from these rows.

Pieces of a stream are merged into the bar they belong to as they come; none is stored. A
transcript has no pieces, so there the time of a reply is shared out among its blocks by their
length. Any sequence of events is accepted, also one that is cut or out of order: what never ended
stays "running" until the run ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from agentlab.clock import TOKENS_PER_S
from agentlab.compaction.summary import PURPOSE
from agentlab.events import Event
from agentlab.tokens import CHARS_PER_TOKEN
from agentlab.views.blocks import mapping, number, share_out, text_of
from agentlab.views.rows import BARS, Bar, Row
from agentlab.views.wording import call_label, one_line, plural, seconds, status_words, tokens

_DELTAS = {
    "assistant.thinking_delta": "thinking",
    "assistant.text_delta": "text",
    "assistant.tool_delta": "tool_call",
}


class Layout:
    """The rows of a stream of events, growing as events are added."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.rows: list[Row] = []
        self.events: list[Event] = []  # those that a bar or a message stands for
        self.spent: dict[str, float] = {}  # seconds by kind, as of the last `drawn`
        self.status = self.detail = self.error = ""  # of the last run; no status while it goes on
        self.model = ""
        self.simulated = False
        self.cap: int | None = None  # how many calls may run together, if the run says so
        self.runs = 0
        self.now = 0.0
        self.ahead = 0.0  # seconds since the last event, while nothing is heard
        self._changed: set[int] = set()
        self._shift = 0.0
        self._heard = False
        self.main: str | None = None
        self._first_row, self._started = 0, 0.0  # of the last run
        self._open: dict[str, int] = {}  # agent -> its row that is still open
        self._calls: dict[str, tuple[int, Bar]] = {}  # tool_use_id -> row and bar that run
        self._denied: set[str] = set()  # tool_use_ids that may not run
        self._before = 0.0  # when the event before this one happened
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take one event. Types that the timeline does not show are passed over."""
        take = _TAKERS.get(event.type)
        if take is None:
            return
        at = number(event.at)
        if not self._heard or (event.type == "session.start" and not self._nested(event)):
            self._shift, self._heard = self.now - at, True  # runs follow each other without a gap
        self._before = self.now
        self.now, self.ahead = max(self.now, at + self._shift), 0.0
        take(self, event)

    def until(self, bar: Bar) -> float:
        """How far a bar reaches (seconds): to now, while it runs."""
        return max(bar.end, self.reach) if bar.status == "running" else bar.end

    @property
    def reach(self) -> float:
        """Where the drawing ends, in seconds."""
        return self.now + self.ahead

    def took(self, row: Row) -> float:
        """How long a row took, in seconds."""
        return (self.reach if row.open else row.end) - row.start

    def drawn(self) -> list[int]:
        """The rows that changed since the last call, in order. Brings ``spent`` up to date."""
        self._changed |= {*self._open.values(), *(index for index, _ in self._calls.values())}
        changed, self._changed = sorted(self._changed), set()
        for index in changed:
            row = self.rows[index]
            spent = self._measure(row)
            for kind in {*spent, *row.spent}:
                change = spent.get(kind, 0.0) - row.spent.get(kind, 0.0)
                self.spent[kind] = max(0.0, self.spent.get(kind, 0.0) + change)
            row.spent = spent
        return changed

    def ending(self) -> str:
        """How it stands, in words: the final status, or that it is running."""
        if not self.rows:
            return "No events yet"
        rows = self.rows[self._first_row :]
        turns = sum(row.kind == "turn" and not row.only_beside for row in rows)
        took = f"{plural(turns, 'turn')}, {seconds(self.reach - self._started)}"
        words = status_words(self.status, self.error or self.detail) if self.status else "Running"
        return f"{words} ({took})"

    # what each type of event does

    def _start(self, event: Event) -> None:
        if self._nested(event):
            return
        self._finish("cancelled")
        self.main = event.agent
        self.status = self.detail = self.error = ""
        self.model = one_line(event.data.get("model") or "", 60)
        self.simulated = bool(event.data.get("simulated"))
        self.cap = int(number(mapping(event.data.get("limits")).get("concurrency"))) or None
        self._first_row, self._started = len(self.rows), self.now
        self.runs += 1

    def _user(self, event: Event) -> None:
        text = one_line(text_of(event.data.get("message")), 400)
        row = Row("user", event.turn, event.agent, self.now, self.now, text, open=False)
        row.origin = str(event.data.get("origin") or "user")
        row.events = (self._keep(event),)
        self._changed.add(len(self.rows))
        self.rows.append(row)

    def _turn_start(self, event: Event) -> None:
        index = self._open.get(event.agent)
        if index is None or not self.rows[index].only_beside:
            self._close_row(event.agent, "cancelled")
        row = self._row_of(event)  # what was done for a turn before it began stands in its row
        row.turn = event.turn
        row.bars.append(Bar("wait", self.now, self.now, BARS["wait"], events=(self._keep(event),)))

    def _delta(self, event: Event) -> None:
        kind, key = _DELTAS[event.type], str(event.data.get("tool_use_id", ""))
        row = self._row_of(event)
        last = self._running(row)
        if last is None or (last.kind, last.key) != (kind, key):
            # A piece arrives when it is written: what it belongs to began where the last one ended.
            start = self.now if last is None else self._stop(last, event)
            label = f"writing {one_line(event.data.get('name') or 'a call', 30)}"
            last = Bar(kind, start, start, label if kind == "tool_call" else BARS[kind], key=key)
            row.bars.append(last)
        last.end = self.now

    def _retry(self, event: Event) -> None:
        row, source = self._row_of(event), self._keep(event)
        self._running(row)
        for bar in row.bars:  # what was shown of the failed attempt is void
            if bar.kind not in ("retry", "tool_result") and bar.status in ("running", "done"):
                bar.end = self.now if bar.status == "running" else bar.end
                bar.status, bar.events = "failed", (*bar.events, source)
        retry = Bar("retry", self.now, self.now, BARS["retry"], events=(source,))
        retry.attempt = int(number(event.data.get("attempt")))
        retry.due = self.now + max(0.0, number(event.data.get("wait_s")))
        row.bars.append(retry)

    def _message(self, event: Event) -> None:
        row, source = self._row_of(event), self._keep(event)
        message, usage = event.data.get("message"), event.data.get("usage")
        last = self._running(row)
        written = [b for b in row.bars if b.kind in _DELTAS.values() and b.status != "failed"]
        if last is not None:
            last.end, last.status = self.now, "done"
        if not written:
            waited = last is not None and last.kind == "wait"
            start = last.start if last is not None else row.start
            for share in share_out(message, usage, start, self.now, waited):
                name = f"writing {one_line(share.block.get('name') or 'a call', 30)}"
                label = name if share.kind == "tool_call" else BARS[share.kind]
                written.append(Bar(share.kind, share.start, share.end, label, estimated=True))
            if last is not None and waited and written:
                last.end = written[0].start
            row.bars += written
        for bar in written:
            bar.status, bar.events = "done", (source,)
        row.text = _quoted(event)

    def _tool_start(self, event: Event) -> None:
        row, key = self._row_of(event), str(event.data.get("tool_use_id", ""))
        self._end_call(key, "cancelled")
        index = self._open[event.agent]
        beside = [bar for other, bar in self._calls.values() if other == index]
        taken = {bar.lane for bar in beside}
        label = call_label(str(event.data.get("name") or "tool"), event.data.get("input"))
        bar = Bar("tool_result", self.now, self.now, label, key=key, events=(self._keep(event),))
        bar.lane = next(lane for lane in range(len(taken) + 1) if lane not in taken)
        bar.group = beside[0].group if beside else 1 + max((c.group for c in row.calls), default=0)
        row.bars.append(bar)
        self._calls[key] = (index, bar)

    def _tool_complete(self, event: Event) -> None:
        key = str(event.data.get("tool_use_id", ""))
        if key not in self._calls:
            self._tool_start(event)
        bar = self._calls[key][1]
        bar.events = (*bar.events, self._keep(event))
        failed = "denied" if key in self._denied else "failed"
        self._end_call(key, failed if event.data.get("is_error") else "done")

    def _asked(self, event: Event) -> None:
        name = one_line(event.data.get("name") or "a call", 30)
        key, source = str(event.data.get("tool_use_id", "")), self._keep(event)
        bar = Bar("asking", self.now, self.now, f"asking: {name}", key=key, events=(source,))
        self._row_of(event).bars.append(bar)

    def _decided(self, event: Event) -> None:
        key = str(event.data.get("tool_use_id", ""))
        denied = event.data.get("decision") != "allow"
        if denied:
            self._denied.add(key)
        row = self._row_of(event)
        for bar in row.bars:
            if bar.kind == "asking" and bar.key == key and bar.status == "running":
                bar.end, bar.status = self.now, "denied" if denied else "done"
                bar.events = (*bar.events, self._keep(event))

    def _side_call(self, event: Event) -> None:
        first = event.agent not in self._open
        row, label = self._row_of(event), one_line(event.data.get("purpose") or "side call", 30)
        row.start = self._before if first else row.start  # it is told when it is over
        start = max(self._before, row.start)
        bar = Bar("side_call", start, self.now, label, "done", events=(self._keep(event),))
        row.bars.append(bar)

    def _compacting(self, event: Event) -> None:
        self._row_of(event).bars.append(Bar("summary", self.now, self.now, "compacting"))

    def _compacted(self, event: Event) -> None:
        """One bar for a compaction, over the side calls that wrote its summary."""
        row, source = self._row_of(event), self._keep(event)
        self._no_longer_compacting(row)
        calls: list[Bar] = []
        while row.bars and row.bars[-1].label == PURPOSE:
            calls.insert(0, row.bars.pop())
        before, after = (number(event.data.get(f"{when}_tokens")) for when in ("before", "after"))
        start = calls[0].start if calls else self.now
        label = f"compacted {tokens(before)} to {tokens(after)}"
        bar = Bar("summary", start, self.now, label, "done")
        bar.events = (*(number for call in calls for number in call.events), source)
        self._refused(row, start)
        row.bars.append(bar)
        row.text = row.text or f"{label} tokens ({one_line(event.data.get('level') or '', 20)})"

    def _no_longer_compacting(self, row: Row) -> None:
        """What it came to has a bar of its own."""
        row.bars = [b for b in row.bars if (b.kind, b.status) != ("summary", "running")]

    def _refused(self, row: Row, at: float) -> None:
        """The request that a row waits for was too long: the compaction is the answer to it."""
        for bar in row.bars:
            if bar.kind == "wait" and bar.status == "running":
                bar.end, bar.status = at, "failed"

    def _warned(self, event: Event) -> None:
        """What the harness has to say (budget, a compaction that failed), in a line of its own."""
        if event.agent in self._open:
            self._no_longer_compacting(self.rows[self._open[event.agent]])
            if not self.rows[-1].bars:  # nothing else has begun in it
                self.rows.pop()
                del self._open[event.agent]
        row = Row("user", event.turn, event.agent, self.now, self.now, open=False)
        words = event.data.get("text") or f"not compacted: {event.data.get('problem') or ''}"
        row.text, row.origin = one_line(words, 400), "warning"
        row.events = (self._keep(event),)
        self._changed.add(len(self.rows))
        self.rows.append(row)

    def _turn_end(self, event: Event) -> None:
        self._close_row(event.agent, "done")

    def _session_error(self, event: Event) -> None:
        parts = (event.data.get("error"), event.data.get("hint"))
        self.error = one_line(". ".join(str(part).rstrip(".") for part in parts if part), 240)
        self._close_row(event.agent, "failed", self._keep(event))

    def _end(self, event: Event) -> None:
        status = str(event.data.get("status") or "ended")
        left = "failed" if status == "error" else "cancelled"
        if self._nested(event):
            self._close_row(event.agent, left)
            return
        self.status, self.detail = status, str(event.data.get("detail") or "")
        self._finish(left)

    # small steps

    def _nested(self, event: Event) -> bool:
        """True for an agent that another agent's run, still going on, has started."""
        return self.runs > 0 and not self.status and event.agent != self.main

    def _keep(self, event: Event) -> int:
        self.events.append(event)
        return len(self.events) - 1

    def _row_of(self, event: Event) -> Row:
        """The open row of the event's agent; a new one if there is none."""
        if event.agent not in self._open:
            self._open[event.agent] = len(self.rows)
            self.rows.append(Row("turn", event.turn, event.agent, self.now, self.now))
        return self.rows[self._open[event.agent]]

    def _running(self, row: Row) -> Bar | None:
        """What the model is doing in a row. A retry wait is over when something is heard again."""
        bars = reversed(row.bars)
        bar = next((b for b in bars if b.status == "running" and b.kind != "tool_result"), None)
        if bar is None or bar.kind != "retry":
            return bar
        bar.end, bar.status = min(bar.due, self.now), "done"
        again = Bar("wait", bar.end, bar.end, BARS["wait"], events=bar.events)
        row.bars.append(again)
        return again

    def _stop(self, bar: Bar, piece: Event) -> float:
        """End a bar before the piece of another one; returns the moment (seconds)."""
        if bar.kind == "wait":
            bar.end = self.now
            if self.simulated:  # the virtual clock has moved on by the time that the piece took
                written = str(piece.data.get("text") or piece.data.get("json") or "")
                took = len(written) / CHARS_PER_TOKEN / TOKENS_PER_S
                bar.end = max(bar.start, self.now - took)
        bar.status = "done"
        return bar.end

    def _end_call(self, key: str, status: str) -> None:
        if key in self._calls:
            index, bar = self._calls.pop(key)
            bar.end, bar.status = self.now, status
            self.rows[index].end = max(self.rows[index].end, self.now)
            self._changed.add(index)

    def _close_row(self, agent: str, status: str, source: int | None = None) -> None:
        index = self._open.pop(agent, None)
        if index is None:
            return
        row = self.rows[index]
        row.open, row.end = False, self.now
        if any(
            bar.kind == "retry" and bar.status == "running" and bar.due <= self.now
            for bar in row.bars
        ):
            self._running(row)
        for bar in row.bars:
            if bar.status == "running" and bar.kind != "tool_result":
                bar.end, bar.status = self.now, status
                bar.events = bar.events if source is None else (*bar.events, source)
        self._changed.add(index)

    def _finish(self, status: str) -> None:
        for key in list(self._calls):
            self._end_call(key, status)
        for agent in list(self._open):
            self._close_row(agent, status)

    def _measure(self, row: Row) -> dict[str, float]:
        """Seconds of a row by kind; tools that ran together count once."""
        spent: dict[str, float] = {}
        busy = -math.inf
        for bar in sorted(row.bars, key=lambda bar: bar.start):
            start, end = bar.start, self.until(bar)
            if bar.kind == "tool_result":
                start, busy = max(start, busy), max(end, busy)
            spent[bar.kind] = spent.get(bar.kind, 0.0) + max(0.0, end - start)
        return spent


_TAKERS = {
    "session.start": Layout._start,
    "user.message": Layout._user,
    "assistant.turn_start": Layout._turn_start,
    "assistant.thinking_delta": Layout._delta,
    "assistant.text_delta": Layout._delta,
    "assistant.tool_delta": Layout._delta,
    "model.retry": Layout._retry,
    "assistant.message": Layout._message,
    "permission.requested": Layout._asked,
    "permission.decided": Layout._decided,
    "model.side_call": Layout._side_call,
    "context.compacting": Layout._compacting,
    "context.compacted": Layout._compacted,
    "context.not_compacted": Layout._warned,
    "budget.warning": Layout._warned,
    "tool.execution_start": Layout._tool_start,
    "tool.execution_complete": Layout._tool_complete,
    "assistant.turn_end": Layout._turn_end,
    "session.error": Layout._session_error,
    "session.end": Layout._end,
}


def _quoted(event: Event) -> str:
    text = one_line(text_of(event.data.get("message")), 200)
    if text:
        return f"“{text}”"
    reason = str(event.data.get("stop_reason") or "")
    return "" if reason in ("tool_use", "end_turn") else one_line(reason.replace("_", " "), 40)
