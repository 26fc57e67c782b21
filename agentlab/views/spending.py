"""The money in the meter: running dollars as a line, and who spent them on what.

The line is what was spent up to each call. The ghost line above it is what the same calls would
have cost without the prompt cache: the distance between them is what the cache saved, or, where the
ghost is below, what writing to a cache that nobody read has cost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agentlab.costs import dollars
from agentlab.views.drawing import cell, esc
from agentlab.views.ledger import Entry, Ledger
from agentlab.views.palette import BUCKETS
from agentlab.views.wording import one_line, plural, tokens

POINTS = 200  # of a line; more cannot be seen
WIDE, HIGH, ROOM = 640, 90, 6  # of the chart and its margin, in pixels
MOST_LINES = 12
SPENT = "currentColor"  # the ink of the text: seen on a light page and on a dark one
GHOST = BUCKETS["cache_write"].fill
TURNS = "turns"


@dataclass(frozen=True)
class Spent:
    """What an agent spent on one purpose. ``cost``: dollars, None if a price is not known."""

    agent: str
    purpose: str
    calls: int
    tokens_in: float
    tokens_out: float
    cost: float | None


def by_purpose(ledger: Ledger) -> list[Spent]:
    """A line for each agent and purpose, in the order in which they first spent something.

    The same lines as `agentlab.meter.CostMeter` has, from events of any shape.
    """
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in ledger.entries:
        if entry.state in ("counted", "priced") and entry.kind != "task":
            purpose = TURNS if entry.kind == "turn" else entry.name
            groups.setdefault((entry.agent or ledger.main or "main", purpose), []).append(entry)
    lines = []
    for (agent, purpose), entries in groups.items():
        costs = [entry.cost for entry in entries]
        known = None if None in costs else sum(cost for cost in costs if cost is not None)
        used = (sum(e.tokens_in for e in entries), sum(e.tokens_out for e in entries))
        lines.append(Spent(agent, purpose, len(entries), *used, known))
    return lines


def saved(ledger: Ledger) -> str:
    """What the prompt cache did, in words; "" if it was not used or a price is not known."""
    cost, without = ledger.cost, ledger.uncached
    if not ledger.caches or cost is None or not without:
        return ""
    percent = round(100 * (without - cost) / without)
    change = f"{abs(percent)} % {'less' if percent >= 0 else 'more'} with it"
    return f"{dollars(without)} without cache ({change})"


def chart(ledger: Ledger) -> str:
    """Running dollars over the calls, with the ghost line; "" for less than two calls."""
    paid = (e for e in ledger.entries if e.so_far is not None and e.so_far_uncached is not None)
    entries = sorted(paid, key=_moment)  # agents that work side by side pay out of turn
    if len(entries) < 2:
        return ""
    step = max(1, -(-len(entries) // POINTS))
    entries = [*entries[:-1:step], entries[-1]]
    spent = [0.0, *(entry.so_far or 0.0 for entry in entries)]
    ghost = [0.0, *(entry.so_far_uncached or 0.0 for entry in entries)]
    top = max(*spent, *ghost)
    if not top:
        return ""
    cost, without = dollars(ledger.cost), dollars(ledger.uncached)
    said = f"Running cost: {cost}"
    lines = ""
    if ledger.caches:
        said += f"; without the cache it would be {without}"
        lines = f'<polyline points="{_points(ghost, top)}" fill="none" stroke="{GHOST}" '
        lines += 'stroke-width="1.5" stroke-dasharray="5 4"/>'
    lines += f'<polyline points="{_points(spent, top)}" fill="none" stroke="{SPENT}" '
    lines += 'stroke-width="2.5"/>'
    legend = _key("cost so far", SPENT, "solid", cost)
    if ledger.caches:
        legend += " &#8194;"
        legend += _key("without cache", GHOST, "dashed", without)
    return (
        f'<svg class="agentlab-spend" role="img" aria-label="{esc(said)}" '
        f'viewBox="0 0 {WIDE} {HIGH}" preserveAspectRatio="none" '
        f'style="display:block;width:100%;height:{HIGH}px">'
        f'<line x1="0" x2="{WIDE}" y1="{HIGH - 1}" y2="{HIGH - 1}" stroke="#8c8c8c"/>'
        f'{lines}</svg><p class="agentlab-legend">{legend}</p>'
    )


def purposes(ledger: Ledger) -> str:
    """Who spent how much on what, as a table; "" where there is only one line."""
    lines = by_purpose(ledger)
    if len(lines) < 2:
        return ""
    names = [("who", "Agent"), ("who", "For"), ("number", "Calls"), ("number", "In"),
             ("number", "Out"), ("number", "Cost")]  # fmt: skip
    rows = [f"<tr>{''.join(cell(kind, name, 'th') for kind, name in names)}</tr>"]
    for line in lines[:MOST_LINES]:
        cells = [
            cell("who", esc(one_line(line.agent, 24))), cell("who", esc(line.purpose)),
            *(cell("number", tokens(n)) for n in (line.calls, line.tokens_in, line.tokens_out)),
            cell("number", _price(line.cost)),
        ]  # fmt: skip
        rows.append(f"<tr>{''.join(cells)}</tr>")
    more = len(lines) - MOST_LINES
    note = f"<p>… {plural(more, 'more line')} …</p>" if more > 0 else ""
    return f'<table class="agentlab-purposes">{"".join(rows)}</table>{note}'


def purposes_text(ledger: Ledger) -> Iterable[str]:
    """The same in a line of text for each, as far as there are more than one."""
    lines = by_purpose(ledger)
    for line in lines[:MOST_LINES] if len(lines) > 1 else []:
        name = one_line(f"{line.agent}, {line.purpose}", 30)
        yield f"  {name:30}{plural(line.calls, 'call'):>9}{_price(line.cost):>10}"


def _price(cost: float | None) -> str:
    return "not known" if cost is None else dollars(cost)


def _moment(entry: Entry) -> tuple[float, float]:
    """When a call was paid for: what is spent only grows."""
    return entry.so_far or 0.0, entry.so_far_uncached or 0.0


def _points(values: list[float], top: float) -> str:
    across = WIDE / (len(values) - 1)
    down = HIGH - 1 - ROOM
    return " ".join(
        f"{index * across:.1f},{ROOM + down * (1 - value / top):.1f}"
        for index, value in enumerate(values)
    )


def _key(name: str, colour: str, line: str, value: str) -> str:
    style = f"display:inline-block;width:24px;border-top:3px {line} {colour}"
    strip = f'<span style="{style};vertical-align:middle"></span>'
    return f"<span>{strip} {name} <b>{value}</b></span>"
