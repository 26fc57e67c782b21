"""The steps of drawing that the views share.

A view is a `Picture`: a title, a head, column headings, rows and a foot. The live widget is sent
these parts one by one as they change; `page.page` puts them together for the static form.

A picture must survive without its style sheet (a notebook that JupyterLab does not trust yet) and
even without any style at all (GitHub). So everything stands in a real table, every bar carries its
words, and its place and colour stand in the element itself.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from agentlab.events import Event
from agentlab.views.palette import FAILED, Paint
from agentlab.views.wording import clean

HEIGHT, GAP = 22, 3  # of a bar, and between lanes, in pixels
CROSSED = (  # two diagonals, from corner to corner
    "background-image:linear-gradient(to top right,transparent 48%,currentColor 49% 51%,"
    "transparent 52%),linear-gradient(to top left,transparent 48%,currentColor 49% 51%,"
    "transparent 52%)"
)
NARROW = 6  # percent of the axis; in a narrower bar no word can be read
UNDER = 7  # more height for a line below the bars


class Scale:
    """Places bars along an axis of ``span`` units (seconds, tokens), with a mark every ``step``.

    Live, a bar says where it is in units and the style sheet divides by the span, so that a longer
    axis moves all bars without drawing one again. In the static form the place is a percentage.
    """

    def __init__(self, span: float, live: bool, step: float = 0.0) -> None:
        self.span = max(span, 1e-9)
        self.live = live
        self.grid = f"{100 * step / self.span:.3f}%" if step else ""  # from one line to the next

    def place(
        self, start: float, length: float, paint: Paint, *, lane: int = 0, shape: str = "full"
    ) -> str:
        """The ``style`` of a bar.

        ``shape``: full, thin (a line), under (a line below it), dashed or hollow (a border), or
        group (behind the lanes 0 to ``lane``).
        """
        if self.live:
            return f"--a:{start:.3f};--n:{length:.3f}" + (f";--lane:{lane}" if lane else "")
        left, width = 100 * start / self.span, 100 * length / self.span
        top, height = GAP + lane * (HEIGHT + GAP), HEIGHT
        size = f"font-size:{12 if width >= NARROW else 0}px"
        look = f"{size};background-color:{paint.fill}"
        if shape == "thin":
            top, height = top + 8, 6
            look = f"font-size:0;background-color:{paint.fill}"
        elif shape == "under":
            top, height = GAP + HEIGHT + 2, 5
            look = f"font-size:0;background-color:{paint.fill}"
        elif shape == "group":
            top, height = 1, GAP + (lane + 1) * (HEIGHT + GAP) - 2
            look = "font-size:0;background-color:rgba(128,128,128,0.25)"
        elif shape == "dashed":
            look = f"{size};border:1px dashed {paint.fill}"
        elif shape == "hollow":
            look = f"{size};border:2px solid {paint.fill}"
        return (
            f"position:absolute;left:{left:.2f}%;width:{width:.2f}%;min-width:2px;top:{top}px;"
            f"height:{height}px;line-height:{height}px;overflow:hidden;box-sizing:border-box;{look}"
        )


class Shown(Protocol):
    """What a bar stands for: something that can be shown as JSON (an event, a message)."""

    def to_dict(self) -> dict[str, Any]: ...


class Picture(Protocol):
    """What a page and the live widget need of a view."""

    title: str
    name: str
    columns: int

    @property
    def events(self) -> Sequence[Shown]: ...
    @property
    def simulated(self) -> bool: ...
    @property
    def running(self) -> bool: ...
    def add(self, event: Event) -> None: ...
    def idle(self, seconds: float) -> None: ...
    def drawn(self) -> list[int]: ...
    def rows(self) -> int: ...
    def scale(self, live: bool) -> Scale: ...
    def head(self) -> str: ...
    def heading(self, scale: Scale) -> str: ...
    def row(self, index: int, scale: Scale) -> str: ...
    def foot(self) -> str: ...
    def text(self) -> str: ...


def esc(text: Any) -> str:
    """Text for HTML: no markup, no control characters."""
    return html.escape(clean(text))


def bar(
    words: list[str],
    detail: str,
    kind: str,
    style: str,
    *,
    status: str = "done",
    sources: tuple[int, ...] = (),
    ink: str = "",
    more: str = "",
    live: bool = False,
) -> str:
    """A bar. Its ``words`` are shown as far as they fit; ``detail`` says all of it.

    ``sources``: the numbers of its events. ``more``: names for the style sheet.
    """
    names = f"agentlab-bar agentlab-{kind.replace('_', '-')} agentlab-is-{status}"
    names += f" {more}" if more else ""
    spans = " ".join(f"<span>{esc(word)}</span>" for word in words if word)
    numbers = f'data-e="{",".join(map(str, sources))}"'
    if live:
        told = f'role="button" tabindex="-1" aria-label="{esc(detail)}" {numbers}'
        return f'<span class="{names}" style="{style}" {told}><span>{spans}</span></span>'
    if status == "failed" and kind != "wait":
        style += f";border:2px solid {FAILED}"
    if status == "denied":
        style += f";background-color:transparent;border:1px solid {FAILED};{CROSSED}"
    colour = f' style="color:{ink}"' if ink else ""
    told = f'title="{esc(detail)}" {numbers}'
    return f'<span class="{names}" style="{style}" {told}><span{colour}>{spans}</span></span>'


def track(bars: list[str], lanes: int, scale: Scale, extra: bool = False) -> str:
    """The strip that bars lie in. Without styles they are words with semicolons between them.

    ``extra``: there is a line below the bars.
    """
    pixels = GAP + lanes * (HEIGHT + GAP) + UNDER * extra
    height = f"--high:{pixels}px"
    if not scale.live:
        height = f"position:relative;height:{pixels}px;font-size:0;overflow:hidden"
    return f'<div class="agentlab-track" style="{height}">{"; ".join(bars)}</div>'


def axis(marks: Iterable[tuple[float, str]], scale: Scale) -> str:
    """The marks of an axis: where (in units), and what is written there."""
    ticks = []
    for at, words in marks:
        style = f"position:absolute;top:0;left:{100 * at / scale.span:.2f}%;font-size:12px"
        ticks.append(f'<span class="agentlab-tick" style="{style}">{words}</span>')
    style = "position:relative;height:18px;font-size:0"
    return f'<div class="agentlab-axis" style="{style}">{" ".join(ticks)}</div>'


def swatch(paint: Paint) -> str:
    """A small square in the colour of a kind."""
    style = f"display:inline-block;width:12px;height:12px;background-color:{paint.fill}"
    return f'<span class="agentlab-swatch" style="{style}"></span>'


def legend(parts: list[tuple[Paint, str, str]]) -> str:
    """Colours, what they mean, and how much of each there was."""
    items = [f"<span>{swatch(paint)} {name} <b>{value}</b></span>" for paint, name, value in parts]
    return f'<p class="agentlab-legend">{" &#8194;".join(items)}</p>'


def cell(kind: str, content: str, tag: str = "td", attributes: str = "") -> str:
    """A cell of ``kind`` turn, what, chart or number (these stand at the right)."""
    side = "right" if kind == "number" else "left"
    place = f'align="{side}" style="text-align:{side}"'
    return f'<{tag} class="agentlab-{kind}" {place}{attributes}>{content}</{tag}>'


def said(
    who: str,
    text: str,
    kind: str,
    scale: Scale,
    paint: Paint,
    columns: int,
    sources: tuple[int, ...],
) -> str:
    """A row with what somebody said, across all columns."""
    style = "" if scale.live else f"background-color:{paint.fill}"
    detail = f"{who}: {text}"
    mark = bar([who], detail, kind, style, sources=sources, ink=paint.ink, live=scale.live)
    first = cell("who", mark, "th", " scope=row")
    words = cell("words", esc(text), attributes=f" colspan={columns - 1}")
    return f'<tr class="agentlab-said">{first}{words}</tr>'
