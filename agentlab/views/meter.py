"""The meter, "What did it cost?", drawn from the entries of `ledger`.

A few numbers, then the running cost as a line, with a ghost line: the same without the prompt
cache. Below, a row for each call: tokens in, tokens out, a bar of what they were, dollars. The
darker a part of the bar, the dearer its tokens; what came from the prompt cache is pale. Last, who
spent how much on what.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentlab.costs import budget, dollars
from agentlab.events import Event
from agentlab.views.drawing import Scale, bar, cell, esc, legend, said, track
from agentlab.views.ledger import BUCKETS, INPUT, OUTPUT, Entry, Ledger
from agentlab.views.page import page
from agentlab.views.palette import BUCKETS as PAINTS
from agentlab.views.palette import KINDS
from agentlab.views.spending import chart, purposes, purposes_text, saved
from agentlab.views.wording import one_line, tokens

TEXT_ROWS = 12
NOTE = "simulated model: list prices, nothing was spent"


class MeterPicture:
    """A meter in parts, growing as events are added."""

    title = "What did it cost?"
    name = "meter"
    columns = 6

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.ledger = Ledger(events)
        self.add = self.ledger.add
        self.drawn = self.ledger.drawn

    @property
    def events(self) -> list[Event]:
        return self.ledger.events

    @property
    def simulated(self) -> bool:
        return self.ledger.simulated

    @property
    def running(self) -> bool:
        return not self.ledger.status

    def idle(self, seconds: float) -> None:
        """Waiting costs nothing."""

    def rows(self) -> int:
        return len(self.ledger.entries)

    def scale(self, live: bool) -> Scale:
        return Scale(self.ledger.widest, live)

    def head(self) -> str:
        """Turns, tokens in and out, dollars, and the budget if there is one."""
        ledger = self.ledger
        about = "~" if ledger.estimated else ""
        figures = [
            ("Turns", tokens(ledger.turns)),
            ("Tokens in", about + tokens(ledger.total(*INPUT))),
            ("Tokens out", about + tokens(ledger.total(*OUTPUT))),
            ("Cost", dollars(ledger.cost)),
        ]
        if ledger.limit_usd is not None:
            figures.append(("Budget", f"{_share(ledger)} of {budget(ledger.limit_usd)}"))
        if saved(ledger):
            figures.insert(4, ("Without cache", dollars(ledger.uncached)))
        names = "".join(cell("figure", name, "th") for name, _ in figures)
        values = "".join(cell("figure", f"<b>{value}</b>") for _, value in figures)
        table = f'<table class="agentlab-figures"><tr>{names}</tr><tr>{values}</tr></table>'
        return table + chart(ledger)

    def heading(self, scale: Scale) -> str:
        columns = [
            ("turn", "Turn", 12), ("number", "In", 11), ("number", "Out", 11),
            ("chart", "Tokens", 40), ("number", "Cost", 13), ("number", "So far", 13),
        ]  # fmt: skip
        cells = [cell(kind, name, "th", f" width={width}%") for kind, name, width in columns]
        return f"<tr>{''.join(cells)}</tr>"

    def row(self, index: int, scale: Scale) -> str:
        entry = self.ledger.entries[index]
        if entry.kind == "task":
            paint = KINDS["user"]
            return said("user", entry.name, "user", scale, paint, self.columns, entry.events)
        about = "~" if entry.state in ("running", "lost") else ""
        bars, at = [], 0.0
        for name, words in BUCKETS.items():
            count = entry.usage[name]
            if count:
                style = scale.place(at, count, PAINTS[name])
                bars.append(self._bar(name, f"{about}{tokens(count)} {words}", entry, style, scale))
                at += count
        cost, so_far = (
            (dollars(entry.cost), dollars(entry.so_far)) if entry.state == "priced" else ("", "")
        )
        if entry.state == "lost":
            cost = "not known"
        return (
            f"<tr>{cell('turn', esc(_name(entry)), 'th', ' scope=row')}"
            f"{cell('number', about + tokens(entry.tokens_in))}"
            f"{cell('number', about + tokens(entry.tokens_out))}"
            f"{cell('chart', track(bars, 1, scale))}"
            f"{cell('number', cost)}{cell('number', so_far)}</tr>"
        )

    def foot(self) -> str:
        """The legend, which is also the bill by bucket, and what the dollars mean."""
        total = self.ledger.total
        parts = [(PAINTS[name], words, tokens(total(name))) for name, words in BUCKETS.items()]
        note = f'<p class="agentlab-ending">{NOTE}</p>' if self.ledger.simulated else ""
        warned = self.ledger.warning
        told = f'<p class="agentlab-ending">Warned: {esc(warned)}</p>' if warned else ""
        return legend(parts) + purposes(self.ledger) + told + note

    def text(self) -> str:
        return meter_text(self.ledger)

    def _bar(self, name: str, words: str, entry: Entry, style: str, scale: Scale) -> str:
        status = "running" if entry.state == "running" else "done"
        detail = (
            f"{_name(entry)}: {words}" if entry.kind == "side" else f"Turn {_name(entry)}: {words}"
        )
        return bar(
            [words], detail, f"use-{name}", style,
            status=status, sources=entry.events, ink=PAINTS[name].ink, live=scale.live,
        )  # fmt: skip


def meter_html(events: Iterable[Event]) -> str:
    """The meter of a run as one piece of HTML that needs nothing from outside."""
    return page(MeterPicture(events))


def meter_text(events: Iterable[Event] | Ledger) -> str:
    """The meter of a run in a few aligned lines of text."""
    ledger = events if isinstance(events, Ledger) else Ledger(events)
    lines = [MeterPicture.title + (f" ({NOTE})" if ledger.simulated else "")]
    lines.append(f"{'':12}{'in':>9}{'cached':>9}{'out':>9}{'cost':>10}{'so far':>10}")
    entries = ledger.entries
    shown: list[Entry | None] = [*entries]
    left_out = len(entries) - TEXT_ROWS
    if left_out > 1:
        shown = [*entries[: TEXT_ROWS - 4], None, *entries[-3:]]
    for entry in shown:
        if entry is None:
            lines.append(f"  … {left_out + 1} more calls …")
        elif entry.kind == "task":
            lines.append(f"user: {one_line(entry.name, 60)}")
        else:
            name = f"turn {_name(entry)}" if entry.kind == "turn" else _name(entry)
            lines.append(_line(name, entry.usage, entry.cost, entry.so_far, entry.state))
    total = {name: ledger.total(name) for name in BUCKETS}
    lines.append(_line("total", total, ledger.cost, None, "priced"))
    lines += [saved(ledger)] if saved(ledger) else []
    lines += purposes_text(ledger)
    lines += [f"Warned: {ledger.warning}"] if ledger.warning else []
    if ledger.limit_usd is not None:
        lines.append(f"{_share(ledger)} of the budget of {budget(ledger.limit_usd)} spent")
    return "\n".join(lines)


def _line(
    name: str, usage: dict[str, float], cost: float | None, so_far: float | None, state: str
) -> str:
    about = "~" if state in ("running", "lost") else ""
    columns = [
        about + tokens(sum(usage[bucket] for bucket in INPUT)),
        about + tokens(usage["cache_read"]),
        about + tokens(sum(usage[bucket] for bucket in OUTPUT)),
    ]
    spent = dollars(cost) if state == "priced" else ("" if state == "running" else "not known")
    running = "" if so_far is None else dollars(so_far)
    return (
        f"{one_line(name, 12):12}"
        + "".join(f"{c:>9}" for c in columns)
        + f"{spent:>10}{running:>10}"
    ).rstrip()


def _name(entry: Entry) -> str:
    if entry.kind == "side":
        return entry.name
    return f"{one_line(entry.agent, 8)} {entry.name}" if entry.agent else entry.name


def _share(ledger: Ledger) -> str:
    if ledger.run_cost is None or not ledger.limit_usd:
        return "unknown"
    return f"{100 * ledger.run_cost / ledger.limit_usd:.1f}{chr(0x202F)}%"
