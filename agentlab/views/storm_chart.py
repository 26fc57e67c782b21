"""The picture of a storm of retries: a row for each policy, and the requests of each second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentlab.storm import UNTIL_S, Outcome, Server
from agentlab.views.drawing import cell, esc, swatch
from agentlab.views.page import style_sheet
from agentlab.views.palette import KINDS, Paint
from agentlab.views.wording import seconds

TITLE = "What do many clients do to a server that is overloaded?"
SHOWN_S, MOST_PER_S = 75, 260  # of the axes; what is higher is cut off
HIGH = 44  # of a strip, in pixels
SENT, ROOM = KINDS["retry"], KINDS["text"]
SHADE = Paint("rgba(128,128,128,0.28)", "#000000")
HEADS = ("requests a task", "busiest second", "answered, awaited", "answered, not awaited",
         "recovery")  # fmt: skip


class StormChart:
    """Policies side by side. ``outcomes`` holds the numbers, by the name of the policy."""

    def __init__(self, outcomes: Mapping[str, Outcome], server: Server) -> None:
        self.outcomes, self.server = dict(outcomes), server

    def __repr__(self) -> str:
        rows = [
            ("", *HEADS),
            *((name, *self._numbers(each)) for name, each in self.outcomes.items()),
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS) + 1)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        ]
        return "\n".join([*lines, f"({self._assumed()})"])

    def _repr_html_(self) -> str:
        number = ' style="width:9.5%;text-align:right;white-space:normal"'
        heads = "".join(f'<th class="agentlab-number"{number}>{head}</th>' for head in HEADS)
        chart = f"requests a second, up to {MOST_PER_S}; {SHOWN_S} seconds from left to right"
        head = f'<tr><th style="width:19%">policy</th>{heads}'
        head += f'<th style="padding-left:1em">{chart}</th></tr>'
        body = "".join(self._row(name, each) for name, each in self.outcomes.items())
        legend = (
            f"{swatch(SENT)} requests that were sent &#8194;{swatch(ROOM)} what it can answer "
            f"&#8194;{swatch(SHADE)} overloaded"
        )
        return (
            f'<div class="agentlab-view agentlab-static"><style>{style_sheet()}</style>'
            f'<p class="agentlab-title"><b>{TITLE}</b></p><p class="agentlab-legend">{legend}</p>'
            f'<table style="width:100%;border-collapse:collapse;table-layout:fixed">'
            f"<thead>{head}</thead><tbody>{body}</tbody></table><p>{esc(self._assumed())}.</p></div>"
        )

    def _row(self, name: str, each: Outcome) -> str:
        cells = "".join(cell("number", esc(words)) for words in self._numbers(each))
        style = ' style="white-space:normal;padding:0.2em 0.6em 0.2em 0"'
        first = f'<th scope="row" class="agentlab-what"{style}>{esc(name)}</th>'
        return f"<tr>{first}{cells}{cell('chart', self._strip(name, each))}</tr>"

    def _strip(self, name: str, each: Outcome) -> str:
        """Bars for the seconds, in front of the overload, behind what the server can answer."""
        server = self.server
        shade = f'<rect x="{server.from_s:g}" y="0" width="{server.to_s - server.from_s:g}" '
        shade += f'height="{HIGH}" fill="{SHADE.fill}"/>'
        bars = "".join(
            f"M{at} {HIGH}V{HIGH - _high(sent):.1f}H{at + 1}V{HIGH}"
            for at, sent in enumerate(each.per_s[:SHOWN_S])
            if sent
        )
        room = "".join(f"L{at:g} {HIGH - _high(rate):.1f}" for at, rate in self._room())
        peak = max(each.per_s)
        about = f"{name}: at most {peak} requests in a second"
        return (
            f'<svg viewBox="0 0 {SHOWN_S} {HIGH}" preserveAspectRatio="none" role="img" '
            f'aria-label="{esc(about)}" style="display:block;width:100%;height:{HIGH}px">'
            f'<title>{esc(about)}</title>{shade}<path d="{bars}" fill="{SENT.fill}"/>'
            f'<path d="M{room[1:]}" fill="none" stroke="{ROOM.fill}" stroke-width="1.5" '
            f'vector-effect="non-scaling-stroke"/></svg>'
        )

    def _room(self) -> Iterator[tuple[float, float]]:
        server, good = self.server, self.server.capacity_per_s
        yield from ((0, good), (server.from_s, good), (server.from_s, server.low_per_s))
        yield from ((server.to_s, server.low_per_s), (server.to_s, good), (SHOWN_S, good))

    def _numbers(self, each: Outcome) -> tuple[str, ...]:
        ended = each.recovery_s < UNTIL_S - self.server.to_s - 1
        return (
            f"{each.amplification:.1f}",
            str(max(each.per_s)),
            f"{each.foreground:.0%}",
            f"{each.background:.0%}",
            seconds(each.recovery_s) if ended else "no end seen",
        )

    def _assumed(self) -> str:
        s = self.server
        return (
            f"Assumed: {s.tasks_per_s:g} tasks a second, room for {s.capacity_per_s:g}, but for "
            f"{s.low_per_s:g} from second {s.from_s:g} to {s.to_s:g}; {s.background:.0%} of the "
            f"tasks are awaited by nobody; a refusal costs the server {s.refusal:.0%} of an answer"
        )


def _high(rate: float) -> float:
    return HIGH * min(rate, MOST_PER_S) / MOST_PER_S
