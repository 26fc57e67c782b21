"""The context view, "What is in the window?", drawn from the requests of `wire`.

A row for each request, and in it a bar of what it was made of, in the order in which the server
reads it: tools, system prompt, messages by kind. What is new since the request before stands behind
a line; what the server found in its prompt cache is underlined. A compaction has a row too, and
what it dropped stands below (`compactions`). A slider shows one step block by block (`xray`).

Nobody outside a server can count the tokens of one message, so the parts are estimates, scaled to
add up to what the server counted for the whole.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentlab.costs import dollars
from agentlab.events import Event
from agentlab.views.compactions import compaction_row, compaction_words, dropped
from agentlab.views.drawing import Scale, axis, bar, cell, esc, legend, track
from agentlab.views.page import page
from agentlab.views.palette import BUCKETS
from agentlab.views.palette import KINDS as PAINTS
from agentlab.views.requests import KINDS, Compaction, Part, Request, few_dollars, tokens_by_kind
from agentlab.views.requests import name_of as name_of
from agentlab.views.wire import Wire, WirePicture
from agentlab.views.wording import THIN, one_line, plural, tokens
from agentlab.views.xray import data_of, gauge, last_blocks

TEXT_ROWS = 12
NOTE = "Parts are estimates, scaled to add up to what the server counted."
SHORT = {
    "thinking": "think",
    "text": "text",
    "tool_call": "calls",
    "tool_result": "results",
    "earlier": "earlier",
    "summary": "summed",
    "preview": "preview",
}


class ContextPicture(WirePicture):
    """A context view in parts, growing as events are added."""

    title = "What is in the window?"
    name = "context"
    columns = 6

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.wire = Wire(events)
        self.add = self.wire.add
        self.drawn = self.wire.drawn_steps

    def rows(self) -> int:
        return len(self.wire.steps)

    def scale(self, live: bool) -> Scale:
        sent = (request.tokens + request.cleared for request in self.wire.requests)
        span = max([self.wire.widest, *sent])
        return Scale(span, live, _step(span))

    def head(self) -> str:
        """The last request by kind: the legend of the colours, and the answer in numbers."""
        if not self.wire.requests:
            return ""
        last = self.wire.requests[-1]
        parts = [
            (
                PAINTS[kind],
                KINDS[kind],
                f"{tokens(count)} ({100 * count / max(1, last.tokens):.0f}{THIN}%)"
                + (f", {few_dollars(last.paid[kind])}" if kind in last.paid else ""),
            )
            for kind, count in tokens_by_kind(last).items()
        ]
        said = "; in dollars what each kind has cost as input so far" if last.paid else ""
        words = f"<p>In the last request: {_size(last)}{self._window()}{said}</p>"
        return f'<div class="agentlab-instead">{words}{gauge(self.wire)}{legend(parts)}</div>'

    def heading(self, scale: Scale) -> str:
        step, marks = _step(scale.span), []
        for index in range(int(scale.span / step) + 1):
            if index * step <= scale.span * 0.88:
                marks.append((index * step, tokens(index * step)))
        columns = [
            ("turn", "Request", 14), ("chart", axis(marks, scale), 42), ("number", "Tokens", 11),
            ("number", "Cached", 11), ("number", "Window", 11), ("number", "Input cost", 11),
        ]  # fmt: skip
        cells = [cell(kind, name, "th", f" width={width}%") for kind, name, width in columns]
        return f"<tr>{''.join(cells)}</tr>"

    def row(self, index: int, scale: Scale) -> str:
        request, data = self.wire.steps[index], data_of(self.wire, index, scale.live)
        if isinstance(request, Compaction):
            return compaction_row(request, scale, data)
        bars, at, line = [], 0.0, False
        for part, count in request.shares():
            first = part.new and not line and at > 0
            line = line or part.new
            bars.append(self._bar(request, part, count, at, first, scale))
            at += count
        if request.cached:
            bars.append(self._cached(request, scale))
        if request.cleared:
            bars.append(self._cleared(request, scale))
        last = not scale.live and request is self.wire.requests[-1]
        return (
            f"<tr{data}>"
            f"{cell('turn', esc(name_of(request)), 'th', ' scope=row')}"
            f"{cell('chart', track(bars, 1, scale, extra=bool(request.cached)))}"
            f"{cell('number', _size(request, ''))}"
            f"{cell('number', tokens(request.cached) if request.usage else '')}"
            f"{cell('number', share(request, self.wire))}"
            f"{cell('number', dollars(request.cost) if request.usage else '')}</tr>"
            f"{last_blocks(self.wire, self.columns) if last else ''}"
        )

    def foot(self) -> str:
        paint = BUCKETS["cache_read"]
        style = f"display:inline-block;width:24px;height:6px;background-color:{paint.fill}"
        strip = f'<span class="agentlab-strip" style="{style}"></span>'
        line = '<span class="agentlab-newline" style="border-left:2px solid">&#8194;</span>'
        words = f"{strip} read from the prompt cache &#8194;{line}new since the request before"
        note = f'<p class="agentlab-ending">{esc(_said(self.wire))}</p>'
        return f'<p class="agentlab-legend">{words}</p>{dropped(self.wire)}{note}'

    def text(self) -> str:
        return context_text(self.wire)

    def _window(self) -> str:
        window = self.wire.known_model
        if window is None:
            return ", of a window whose size is not known"
        size = self.wire.window_tokens or window.context_tokens
        percent = percentage(self.wire.requests[-1].tokens, size)
        return f", {percent} of the {tokens(size)} of {esc(window.name)}"

    def _bar(
        self, request: Request, part: Part, count: float, at: float, line: bool, scale: Scale
    ) -> str:
        style = scale.place(at, count, PAINTS[part.kind])
        about = "" if part.kind == "earlier" else "about "
        old = "new" if part.new else "sent before"
        number = f"{about}{tokens(count)} tokens, {percentage(count, request.tokens)}"
        of = "" if part.count <= len(part.sources) else f" (last {len(part.sources)} in the JSON)"
        paid = f", {dollars(request.paid[part.kind])} so far" if part.kind in request.paid else ""
        if part.kind == "earlier":
            old, of = plural(part.count, "message"), ""
        elif part.kind not in ("system", "tools"):
            old = f"{plural(part.count, 'block')}, {old}"
        return bar(
            [KINDS[part.kind], tokens(count)],
            f"Request {name_of(request)}, {KINDS[part.kind]}: {number}, {old}{paid}{of}",
            part.kind,
            style + (";border-left:2px solid" if line and not scale.live else ""),
            status="running" if request.state == "waiting" else "done",
            sources=part.sources,
            ink=PAINTS[part.kind].ink,
            live=scale.live,
            more="agentlab-new" if line else "",
        )

    def _cached(self, request: Request, scale: Scale) -> str:
        words = f"{tokens(request.cached)} cached"
        detail = f"Request {name_of(request)}: the first {tokens(request.cached)} tokens, "
        detail += f"{percentage(request.cached, request.tokens)}, were read from the prompt cache"
        sources = () if request.frame is None else (request.frame,)
        style = scale.place(0.0, request.cached, BUCKETS["cache_read"], shape="under")
        return bar([words], detail, "cached", style, sources=sources, live=scale.live)

    def _cleared(self, request: Request, scale: Scale) -> str:
        """What was sent, and the model did not read."""
        style = scale.place(request.tokens, request.cleared, PAINTS["wait"], shape="hollow")
        detail = f"Request {name_of(request)}: {request.edits}"
        sources = () if request.frame is None else (request.frame,)
        words = ["cleared by the API", tokens(request.cleared)]
        return bar(words, detail, "before", style, sources=sources, live=scale.live)


def context_html(events: Iterable[Event]) -> str:
    """The context view of a run as one piece of HTML that needs nothing from outside."""
    return page(ContextPicture(events))


def context_text(events: Iterable[Event] | Wire) -> str:
    """The context view of a run as text: aligned lines of at most 100 characters, and a note."""
    wire = events if isinstance(events, Wire) else Wire(events)
    lines = [ContextPicture.title + (" (simulated model)" if wire.simulated else "")]
    by_request = {request.number: tokens_by_kind(request) for request in wire.requests}
    kinds = [kind for kind in KINDS if any(kind in sums for sums in by_request.values())]
    names = [*(SHORT.get(kind, kind) for kind in kinds), "total", "cached", "window", "cost"]
    width = min(8, 80 // (len(names) - 1))
    lines.append(f"{'':10}{_aligned([name[: width - 1] for name in names], width)}")
    shown: list[Request | Compaction | None] = [*wire.steps]
    left_out = len(shown) - TEXT_ROWS
    if left_out > 1:
        shown = [*wire.steps[: TEXT_ROWS - 4], None, *wire.steps[-3:]]
    for request in shown:
        if request is None:
            lines.append(f"  … {left_out + 1} more {'steps' if wire.compactions else 'requests'} …")
            continue
        if isinstance(request, Compaction):
            lines.append(one_line(f"compacted: {compaction_words(request)}", 100))
            continue
        counts = [by_request[request.number].get(kind, 0) for kind in kinds]
        total = f"{'' if request.usage else '~'}{_narrow(request.tokens, width)}"
        cached = _narrow(request.cached, width) if request.usage else ""
        cost = dollars(request.cost) if request.usage else ""
        cells = [*(_narrow(count, width) for count in counts), total, cached]
        cells += [share(request, wire), cost]
        lines.append(f"{'request':7}{name_of(request, 3):>3}{_aligned(cells, width)}")
    return "\n".join([*(line.rstrip() for line in lines), _said(wire)])


def _narrow(count: float, width: int) -> str:
    """Tokens for a column; in thousands where they would touch the next."""
    words = tokens(count)
    return words if len(words) < width - 1 else f"{count / 1000:.0f}k"


def _aligned(cells: list[str], width: int) -> str:
    return "".join(f"{text:>{width}}" for text in cells[:-1]) + f"{cells[-1]:>10}"


def percentage(part: float, whole: float) -> str:
    """``12 %``; ``0.3 %`` and ``<0.1 %`` where there is less."""
    percent = 100 * part / whole if whole else 0.0
    if 0 < percent < 0.05:
        return "<0.1\u202f%"
    return f"{percent:.1f}\u202f%" if percent < 9.95 else f"{percent:.0f}\u202f%"


def share(request: Request, wire: Wire) -> str:
    """How much of the model's window a request takes; nothing if that is not known."""
    return percentage(request.tokens, wire.window_tokens) if wire.window_tokens else ""


def _size(request: Request, unit: str = " tokens") -> str:
    return f"{'' if request.usage else '~'}{tokens(request.tokens)}{unit}"


def _said(wire: Wire) -> str:
    """What the numbers are, and what is not among them."""
    said = [NOTE]
    if any(request.missing for request in wire.requests):
        said.append("Messages from before these events are counted, but not known.")
    edited = [request for request in wire.requests if request.edits]
    if edited:
        last = edited[-1]
        times = "" if len(edited) == 1 else f", the last of {len(edited)} such"
        said.append(f"In request {name_of(last)}{times}, {last.edits}.")
    if any(request.cleared for request in edited):
        said.append("The reply does not say which: all parts are scaled down.")
    if wire.side_calls:
        said.append(f"{plural(wire.side_calls, 'side call')} not shown: no event holds messages.")
    if wire.simulated:
        said.append("Simulated model: list prices, nothing was spent.")
    return " ".join(said)


def _step(span: float) -> float:
    """The distance between two marks of an axis, in tokens: a round number."""
    step: float = 1
    while span / step > 5:
        step *= 2.5 if str(step)[0] == "2" else 2
    return step
