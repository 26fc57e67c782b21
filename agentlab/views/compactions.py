"""Compactions in the context view: each a row, and below the table what it dropped.

The row shows the window before and after. What was dropped unfolds: the blocks one by one, which
facts of the old messages can still be found in the new, and the summary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from agentlab.views.drawing import Scale, bar, cell, esc, track
from agentlab.views.palette import KINDS
from agentlab.views.requests import KINDS as NAMES
from agentlab.views.requests import Block, Compaction
from agentlab.views.wire import Wire
from agentlab.views.wording import one_line, plural, tokens

FACTS, TABS = 24, 8  # facts of a compaction, and compactions, that are listed
BLOCKS = 20  # that a compaction dropped, and are listed
SUMMARY = 600  # characters of a summary


def compaction_row(made: Compaction, scale: Scale, data: str) -> str:
    """A compaction: the window before it, and below it after it. ``data``: for the slider."""
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
    cells = [
        cell("turn", "compacted", "th", " scope=row"),
        cell("chart", track([before, after], 2, scale)),
        cell("number", f"~{tokens(made.after)}"), cell("number", freed),
        cell("number", ""), cell("number", ""),
    ]  # fmt: skip
    return f'<tr class="agentlab-compacted"{data}>{"".join(cells)}</tr>'


def compaction_words(made: Compaction) -> str:
    """A compaction in one line."""
    level = f" ({made.level})" if made.level else ""
    words = f"{tokens(made.before)} to ~{tokens(made.after)} tokens{level}"
    what, gone = ("result", "cleared") if made.level == "clear" else ("message", "dropped")
    words += f", {plural(made.dropped, what)} {gone}"
    return ", ".join(filter(None, [words, facts_kept(made)]))


def facts_kept(made: Compaction) -> str:
    """How many of the facts that can be looked for are still there; "" if there were none."""
    kept = sum(fact.kept for fact in made.facts)
    return f"{kept} of {plural(len(made.facts), 'fact')} kept" if made.facts else ""


def note_of(block: Block) -> str:
    """What a block stands for, if it stands in the place of something."""
    if not block.instead:
        return ""
    if block.kind == "summary":
        return f"for {plural(block.messages, 'message')}, {tokens(block.instead)} tokens"
    if block.kind == "preview":
        return f"of about {tokens(block.instead)} tokens"
    return f"{tokens(block.instead)} tokens before"


def block_table(heads: list[str], rows: Iterable[tuple[Block, list[str]]], more: str) -> str:
    """Blocks one by one: what they are, and beside it what ``heads`` say. ``more`` closes it."""
    widths = [100 - 14 * len(heads), *[14] * len(heads)]
    cells = zip(["Block", *heads], widths, strict=True)
    lines = ["".join(f"<th width={width}%>{head}</th>" for head, width in cells)]
    for block, words in rows:
        note = f" <i>({note_of(block)})</i>" if block.instead else ""
        name = f"<b>{NAMES[block.kind]}</b>{note} {esc(block.gist)}"
        edge = f"border-left:10px solid {KINDS[block.kind].fill}"
        numbers = "".join(f"<td align=right>{esc(word)}</td>" for word in words)
        lines.append(f'<td style="{edge}">{name}</td>{numbers}')
    if more:
        lines.append(f"<td colspan={len(widths)}>{esc(more)}</td>")
    return f'<table class="agentlab-blocks"><tr>{"</tr><tr>".join(lines)}</tr></table>'


def dropped(wire: Wire) -> str:
    """What each compaction dropped, and which facts survived, to unfold."""
    made = wire.compactions
    tabs = [_tab(each) for each in made[-TABS:]]
    if len(made) > TABS:
        tabs.insert(0, f"<p>… {plural(len(made) - TABS, 'earlier compaction')} …</p>")
    return "".join(tabs)


def _tab(made: Compaction) -> str:
    lines = [_facts("Lost", (f for f in made.facts if not f.kept))]
    lines.append(_facts("Survived", (f for f in made.facts if f.kept)))
    if made.summary.strip():
        lines.append(f"<p><b>Summary:</b> {esc(one_line(made.summary, SUMMARY))}</p>")
    if not made.facts:
        lines.insert(0, "<p>No value, file or pinned constraint stood in the old messages.</p>")
    lines.append(_gone(made))
    head = esc(f"Compaction {made.number}: {compaction_words(made)}")
    body = "".join(lines)
    return f'<details class="agentlab-dropped"><summary>{head}</summary>{body}</details>'


def _gone(made: Compaction) -> str:
    """The blocks that are no longer there, or only in short."""
    kinds = Counter(NAMES[each.block.kind] for each in made.gone)
    words = ", ".join(f"{name} {count}" for name, count in kinds.items())
    rows = [
        (
            each.block,
            [tokens(each.tokens), f"{tokens(each.left)} left" if each.left else "dropped"],
        )
        for each in made.gone[:BLOCKS]
    ]
    rest = made.gone[BLOCKS:]
    count = tokens(sum(each.tokens for each in rest))
    more = f"… and {len(rest)} more, {count} tokens" if rest else ""
    table = block_table(["Tokens", "Now"], rows, more)
    title = "Cleared and dropped" if any(each.left for each in made.gone) else "Dropped"
    return f"<p><b>{title} blocks:</b> {words}</p>{table}" if made.gone else ""


def _facts(title: str, facts: Iterable[tuple[str, str, bool]]) -> str:
    listed = [f"{kind} <code>{esc(text)}</code>" for kind, text, _ in facts]
    more = len(listed) - FACTS
    end = f" … and {more} more" if more > 0 else ""
    return f"<p><b>{title}:</b> {'; '.join(listed[:FACTS])}{end}</p>" if listed else ""


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:+.0f}\u202f%".replace("-", "\u2212")
