"""What the context view says beside its bars: the gauge, the compactions, and one step in detail.

A gauge shows the last request against the window, and where a compaction is due. A compaction is a
row of its own, the window before and after it, and below the table stands what it dropped, and
which facts of it can still be found. Each row also carries its numbers as data, so that a slider
can go through the run (static/xray.js).
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from agentlab.costs import dollars
from agentlab.views.drawing import Scale, bar, cell, esc, track
from agentlab.views.palette import FAILED, KINDS
from agentlab.views.requests import KINDS as NAMES
from agentlab.views.requests import Compaction, Request, tokens_by_kind
from agentlab.views.wire import Wire
from agentlab.views.wording import one_line, plural, tokens

FACTS, TABS = 24, 8  # facts of a compaction, and compactions, that are listed
GIST = 600  # characters of a summary


def gauge(wire: Wire) -> str:
    """The last request against the window, with the mark where compaction is due."""
    if not wire.requests or not wire.window_tokens:
        return ""
    last, whole = wire.requests[-1], max(wire.window_tokens, wire.requests[-1].tokens)
    said = f"{tokens(last.tokens)} of {tokens(wire.window_tokens)} tokens"
    parts, at = [], 0.0
    for kind, count in tokens_by_kind(last).items():
        parts.append(_piece(at / whole, f"width:{100 * count / whole:.2f}%", KINDS[kind].fill))
        at += count
    marks = {"largest request": wire.widest} if wire.widest < whole else {}
    if wire.trigger:
        said += f", compaction is due at {tokens(wire.trigger)}"
        edge = f"border-left:2px dashed {FAILED}"
        parts.append(_piece(min(1.0, wire.trigger / whole), edge, "transparent"))
    for name, count in marks.items():
        said += f", {name} {tokens(count)}"
        parts.append(_piece(count / whole, "border-left:1px solid currentColor", "transparent"))
    style = "position:relative;height:14px;overflow:hidden;border:1px solid #8c8c8c"
    strip = f'<div class="agentlab-gauge" role="img" aria-label="{said}" style="{style}">'
    return f"{strip}{''.join(parts)}</div><p>{said}</p>"


def _piece(at: float, look: str, fill: str) -> str:
    style = f"position:absolute;top:0;height:100%;left:{100 * at:.2f}%;{look};background:{fill}"
    return f'<span style="{style}"></span>'


def compaction_row(made: Compaction, scale: Scale) -> str:
    """A compaction: the window before it, and below it after it."""
    words = f"Compaction {made.number}: {compaction_words(made)}"
    before = bar(
        ["before", tokens(made.before)], words, "before",
        scale.place(0.0, made.before, KINDS["wait"], shape="hollow"),
        sources=(made.source,), live=scale.live,
    )  # fmt: skip
    after = bar(
        ["after", tokens(made.after)], words, "summary",
        scale.place(0.0, made.after, KINDS["summary"], lane=1), ink=KINDS["summary"].ink,
        sources=(made.source,), more="agentlab-lower", live=scale.live,
    )  # fmt: skip
    freed = f"{_percent(made.after - made.before, made.before)}" if made.before else ""
    kept = facts_kept(made)
    cells = [
        cell("turn", "compacted", "th", " scope=row"),
        cell("chart", track([before, after], 2, scale)),
        cell("number", f"~{tokens(made.after)}"), cell("number", freed),
        cell("number", ""), cell("number", ""),
    ]  # fmt: skip
    rows = [["", "before", tokens(made.before), "", "", ""]]
    rows.append([KINDS["summary"].fill, "after", f"~{tokens(made.after)}", "", "", kept])
    return f'<tr class="agentlab-compacted"{_data(words, rows)}>{"".join(cells)}</tr>'


def compaction_words(made: Compaction) -> str:
    """A compaction in one line."""
    level = f" ({made.level})" if made.level else ""
    words = f"{tokens(made.before)} to ~{tokens(made.after)} tokens{level}"
    words += f", {plural(made.dropped, 'message')} dropped"
    return ", ".join(filter(None, [words, facts_kept(made)]))


def facts_kept(made: Compaction) -> str:
    """How many of the facts that can be looked for are still there; "" if there were none."""
    kept = sum(fact.kept for fact in made.facts)
    return f"{kept} of {plural(len(made.facts), 'fact')} kept" if made.facts else ""


def data_of(request: Request, name: str) -> str:
    """The numbers of a request as an attribute of its row, for the slider."""
    hits: dict[str, float] = {}
    blocks: dict[str, int] = {}
    fresh: dict[str, int] = {}
    at = 0.0
    for part, count in request.shares():
        hits[part.kind] = hits.get(part.kind, 0.0) + min(max(request.cached - at, 0.0), count)
        blocks[part.kind] = blocks.get(part.kind, 0) + part.count
        fresh[part.kind] = fresh.get(part.kind, 0) + part.count * part.new
        at += count
    rows = []
    for kind, count in tokens_by_kind(request).items():
        of = "message" if kind == "earlier" else "tool" if kind == "tools" else "block"
        note = plural(blocks[kind], of) + (f", {fresh[kind]} new" if fresh[kind] else "")
        paid = dollars(request.paid[kind]) if kind in request.paid else ""
        cached = tokens(hits[kind]) if request.usage else ""
        rows.append([KINDS[kind].fill, NAMES[kind], tokens(count), cached, paid, note])
    about = "" if request.usage else "~"
    title = f"Request {name}: {about}{tokens(request.tokens)} tokens"
    if request.usage:
        title += f", {tokens(request.cached)} of them cached, input {dollars(request.cost)}"
    return _data(title, rows)


def _data(title: str, rows: list[list[str]]) -> str:
    return f' data-x="{esc(json.dumps([title, rows], ensure_ascii=False))}"'


def dropped(wire: Wire) -> str:
    """What each compaction dropped, and which facts survived, to unfold."""
    made = wire.compactions
    tabs = [_tab(each) for each in made[-TABS:]]
    if len(made) > TABS:
        tabs.insert(0, f"<p>… {plural(len(made) - TABS, 'earlier compaction')} …</p>")
    return "".join(tabs)


def _tab(made: Compaction) -> str:
    gone = ", ".join(f"{NAMES[kind]} {count}" for kind, count in made.gone.items())
    lines = [f"<p><b>Dropped blocks:</b> {gone}</p>"] if gone else []
    lines += [_facts("Lost", (f for f in made.facts if not f.kept))]
    lines.append(_facts("Survived", (f for f in made.facts if f.kept)))
    if made.summary.strip():
        lines.append(f"<p><b>Summary:</b> {esc(one_line(made.summary, GIST))}</p>")
    if not made.facts:
        lines.insert(0, "<p>No value, file or pinned constraint stood in the old messages.</p>")
    head = esc(f"Compaction {made.number}: {compaction_words(made)}")
    body = "".join(lines)
    return f'<details class="agentlab-dropped"><summary>{head}</summary>{body}</details>'


def _facts(title: str, facts: Iterable[tuple[str, str, bool]]) -> str:
    listed = [f"{kind} <code>{esc(text)}</code>" for kind, text, _ in facts]
    more = len(listed) - FACTS
    end = f" … and {more} more" if more > 0 else ""
    return f"<p><b>{title}:</b> {'; '.join(listed[:FACTS])}{end}</p>" if listed else ""


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:+.0f}\u202f%".replace("-", "\u2212")
