"""The timeline, "Where did the time go?", drawn from the rows of `layout`.

Turns go down, time runs right. The legend answers the question: seconds by kind, and their share.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentlab.events import Event
from agentlab.views.drawing import Scale, axis, bar, cell, esc, legend, said, track
from agentlab.views.layout import Layout
from agentlab.views.page import page
from agentlab.views.palette import KINDS
from agentlab.views.rows import BARS, Bar, Group, Row
from agentlab.views.wording import duration, one_line, seconds

# Between two marks of an axis, in seconds.
STEPS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
INK = {
    "wait": ".",
    "retry": "x",
    "thinking": "~",
    "text": "=",
    "tool_call": "+",
    "side_call": "-",
    "summary": "S",
    "asking": "?",
    "tool_result": "#",
}
TEXT_ROWS, TEXT_BARS, TEXT_WHAT = 12, 44, 34  # rows and characters of the text form


class TimelinePicture:
    """A timeline in parts, growing as events are added."""

    title = "Where did the time go?"
    name = "timeline"
    columns = 4

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.layout = Layout(events)
        self.add = self.layout.add
        self.drawn = self.layout.drawn

    @property
    def events(self) -> list[Event]:
        return self.layout.events

    @property
    def simulated(self) -> bool:
        return self.layout.simulated

    @property
    def running(self) -> bool:
        return not self.layout.status

    def idle(self, seconds: float) -> None:
        """Let time pass where it passes by itself, so that a wait is seen to grow."""
        if self.running and not self.layout.simulated:
            self.layout.ahead = seconds

    def rows(self) -> int:
        return len(self.layout.rows)

    def scale(self, live: bool) -> Scale:
        """Finished, the axis ends with the run; running, there is room on it to grow into.

        If the run ends with calls, there is room for their names.
        """
        reach = max(self.layout.reach, 0.1)
        calls = [call for row in self.layout.rows[-3:] for call in row.calls]
        if any(self.layout.until(call) > 0.85 * reach for call in calls):
            reach *= 1.2
        span = reach if not live or self.layout.status else 5.0
        while span < reach:
            span *= 1.5
        return Scale(span, live, step_of(span))

    def head(self) -> str:
        """Seconds by kind: the answer in numbers, and the legend of the colours."""
        whole = max(self.layout.reach, 1e-9)
        parts = []
        for kind, name in BARS.items():
            spent = self.layout.spent.get(kind, 0.0)
            if spent > 0.0005 or kind == "wait":
                share = f"{seconds(spent)} ({100 * spent / whole:.0f} %)"
                parts.append((KINDS[kind], name, share))
        return legend(parts)

    def heading(self, scale: Scale) -> str:
        """The column headings, with the axis in seconds."""
        marks = axis([(at, _tick(at)) for at in ticks(scale.span)], scale)
        return (
            f"<tr>{cell('turn', 'Turn', 'th', ' width=9%')}"
            f"{cell('what', 'What happened', 'th', ' width=25%')}"
            f"{cell('chart', marks, 'th', ' width=57%')}"
            f"{cell('number', 'Took', 'th', ' width=9%')}</tr>"
        )

    def row(self, index: int, scale: Scale) -> str:
        row = self.layout.rows[index]
        return self._said(row, scale) if row.kind == "user" else self._turn(row, scale)

    def foot(self) -> str:
        return f'<p class="agentlab-ending">{esc(self.layout.ending())}</p>'

    def text(self) -> str:
        return timeline_text(self.layout)

    def _said(self, row: Row, scale: Scale) -> str:
        who, kind = ("user", "user") if row.origin == "user" else ("harness", "system")
        text = one_line(row.text, 240)
        return said(who, text, kind, scale, KINDS[kind], self.columns, row.events)

    def _turn(self, row: Row, scale: Scale) -> str:
        last = {each.lane: each for each in row.calls}
        bars = [self._bar(each, row, scale, each is last.get(each.lane)) for each in row.bars]
        bars += [self._group(group, row, scale) for group in row.groups()]
        nested = row.agent not in ("main", self.layout.main)
        turn = f"{one_line(row.agent, 12)} {row.turn}" if nested else f"{row.turn}"
        what = esc(one_line(row.what(), 120))
        title = f' title="{what}"'
        together = row.together(self.layout.cap)
        if together:
            what += f'<br><span class="agentlab-together">{together}</span>'
        return (
            f"<tr>{cell('turn', esc(turn), 'th', ' scope=row')}"
            f"{cell('what', what, attributes=title)}"
            f"{cell('chart', track(bars, row.lanes, scale))}"
            f"{cell('number', seconds(self.layout.took(row)))}</tr>"
        )

    def _bar(self, each: Bar, row: Row, scale: Scale, last: bool) -> str:
        until = self.layout.until(each)
        took = (duration if each.kind == "tool_result" else seconds)(until - each.start)
        shape = {"wait": "thin", "retry": "dashed", "asking": "hollow"}.get(each.kind, "full")
        paint, length = KINDS[each.kind], until - each.start
        style = scale.place(each.start, length, paint, lane=each.lane, shape=shape)
        more, room = self._beside(each, until, scale) if last else ("", "")
        if each.kind == "wait" and each.status == "failed":
            paint = KINDS["retry"]
        return bar(
            _words(each, took),
            f"Turn {row.turn}, {_named(each)}: {'about ' if each.estimated else ''}{took}, "
            f"from {seconds(each.start)} to {seconds(until)}, {each.status}",
            each.kind,
            style + room,
            status=each.status,
            sources=each.events,
            more=more,
            ink="" if each.kind in ("retry", "asking") or each.status == "denied" else paint.ink,
            live=scale.live,
        )

    def _beside(self, each: Bar, until: float, scale: Scale) -> tuple[str, str]:
        """Names and style for the words of a short bar: they stand right of it, cut to the room.

        Near the end of the axis they stand left, except in the first lane, where that is taken.
        """
        more = "agentlab-last agentlab-either" if each.lane else "agentlab-last"
        if scale.live:
            return more, ""
        left = each.lane > 0 and until > 0.75 * scale.span
        free = (each.start if left else scale.span - until) / scale.span
        room = f";--agentlab-room:{max(0.0, 100 * free):.2f}cqw"
        return more, room + (";--agentlab-right:0" if left else "")

    def _group(self, group: Group, row: Row, scale: Scale) -> str:
        """What stands behind calls that ran together."""
        start = min(call.start for call in group.calls)
        until = max(self.layout.until(call) for call in group.calls)
        each = sum(self.layout.until(call) - call.start for call in group.calls)
        words = f"{len(group.calls)} together"
        cap = f" (cap {self.layout.cap})" if self.layout.cap else ""
        detail = (
            f"Turn {row.turn}, {words}, at most {group.most} at a time{cap}: "
            f"{duration(until - start)}; one after another {duration(each)}"
        )
        style = scale.place(start, until - start, KINDS["wait"], lane=group.most - 1, shape="group")
        sources = tuple(number for call in group.calls for number in call.events)
        return bar([words], detail, "group", style, sources=sources, live=scale.live)


def timeline_html(events: Iterable[Event]) -> str:
    """The timeline of a run as one piece of HTML that needs nothing from outside."""
    return page(TimelinePicture(events))


def timeline_text(events: Iterable[Event] | Layout) -> str:
    """The timeline of a run in a few lines of text, at most 100 characters wide."""
    layout = events if isinstance(events, Layout) else Layout(events)
    layout.drawn()
    lines = [TimelinePicture.title + (" (simulated model)" if layout.simulated else "")]
    rows = layout.rows
    shown: list[Row | None] = [*rows]
    left_out = len(rows) - TEXT_ROWS
    if left_out > 1:
        shown = [*rows[: TEXT_ROWS - 4], None, *rows[-3:]]
    for row in shown:
        if row is None:
            lines.append(f"      … {left_out + 1} more rows …")
        elif row.kind == "user":
            name = "user" if row.origin == "user" else "harness"
            lines.append(f"{name:>7}  {one_line(row.text, 90)}")
        else:
            agent = "turn" if row.agent in ("main", layout.main) else one_line(row.agent, 4)
            what = one_line(row.what(" | "), TEXT_WHAT)
            took = seconds(layout.took(row))
            lines.append(
                f"{agent:>4}{row.turn:3d}  {_drawn(row, layout)}  {took:>6}  {what}".rstrip()
            )
    spent = [
        f"{INK[kind]} {name} {seconds(layout.spent[kind])}"
        for kind, name in BARS.items()
        if layout.spent.get(kind, 0.0) > 0.0005
    ]
    if any(row.groups() for row in rows):
        spent.append("a | b together" + (f" (cap {layout.cap})" if layout.cap else ""))
    return "\n".join([*lines, *_wrapped(spent), layout.ending()])


def _wrapped(parts: list[str], width: int = 100) -> list[str]:
    lines = [""]
    for part in parts:
        line = f"{lines[-1]}   {part}" if lines[-1] else part
        lines[-1:] = [line] if len(line) <= width else [lines[-1], part]
    return lines if parts else []


def step_of(span: float) -> float:
    """The distance between two marks of an axis, in seconds."""
    return next((step for step in STEPS if span / step <= 8), STEPS[-1] * (span // 20000 + 1))


def ticks(span: float) -> list[float]:
    """Moments for the marks of an axis, in seconds: round numbers, at most nine of them."""
    step = step_of(span)
    return [index * step for index in range(int(span / step) + 1) if index * step <= span * 0.97]


def _drawn(row: Row, layout: Layout) -> str:
    """The bars of a row in characters, at least one each as far as there is room."""
    slices = [" "] * TEXT_BARS
    unit = max(layout.reach, 0.1) / TEXT_BARS
    free = 0  # where the next thing the model did may start
    for each in row.bars:
        first = min(max(int(each.start / unit), free), TEXT_BARS - 1)
        last = max(first + 1, min(round(layout.until(each) / unit), TEXT_BARS))
        ink = {"failed": "!", "denied": "/"}.get(each.status, INK[each.kind])
        slices[first:last] = ink * (last - first)
        free = free if each.kind == "tool_result" else last
    return "".join(slices)


def _tick(at: float) -> str:
    if at >= 60:
        return seconds(at)
    return f"{at:g} s"


def _named(each: Bar) -> str:
    return f"retry wait before try {each.attempt}" if each.kind == "retry" else each.named


def _words(each: Bar, took: str) -> list[str]:
    if each.kind == "retry":
        return [f"try {each.attempt}", "after", took]
    name, _, rest = (
        each.label.partition(" ")
        if each.kind in ("tool_result", "summary")
        else (each.label, "", "")
    )
    status = "" if each.status == "done" else each.status
    return [name, rest, status, took]
