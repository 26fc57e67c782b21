"""The window block by block: the gauge, the blocks of a request, and the data for the slider.

A gauge shows the last request against the window, and where a compaction is due. The blocks of the
last request stand in a table to unfold. With scripts a slider goes through all steps
(static/xray.js), and what it shows stands in the rows as data: each block once, where it comes
first, and for each step how many blocks it shares with the one before, and what a token cost.
From these the script works out every step, so the data grows as the run does.
"""

from __future__ import annotations

import json
from typing import Any

from agentlab.costs import dollars
from agentlab.views.compactions import block_table, compaction_words, note_of
from agentlab.views.drawing import esc
from agentlab.views.page import FIRST_ROWS, LAST_ROWS
from agentlab.views.palette import FAILED, KINDS
from agentlab.views.requests import KINDS as NAMES
from agentlab.views.requests import (
    Block,
    Compaction,
    Request,
    Slice,
    few_dollars,
    name_of,
    tokens_by_kind,
)
from agentlab.views.wire import Wire
from agentlab.views.wording import THIN, plural, tokens

BLOCKS = 40  # of a request that are listed
ROUNDING = 4  # tokens that are not told apart from none, as sizes are estimates


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


def last_blocks(wire: Wire, columns: int) -> str:
    """A row to unfold, below the last request: its blocks, or the dearest of them."""
    request = wire.requests[-1]
    slices = list(request.slices(wire.blocks(request)))
    dearest = sorted(slices, key=lambda each: (-each.block.paid, -each.tokens))[:BLOCKS]
    listed = {each.block.number for each in dearest}
    rows = [
        (each.block, [_size(each), state_of(each, request), _cost(each.block, request)])
        for each in slices
        if each.block.number in listed
    ]
    more = _rest(request, [each for each in slices if each.block.number not in listed], slices)
    table = block_table(["Tokens", "Cache", "Cost so far"], rows, more)
    head = esc(f"Request {name_of(request)} block by block: {plural(len(slices), 'block')}")
    unfold = f"<details><summary>{head}</summary>{table}</details>"
    return f'<tr class="agentlab-instead"><td colspan={columns}>{unfold}</td></tr>'


def _rest(request: Request, left_out: list[Slice], slices: list[Slice]) -> str:
    words = []
    if left_out:
        count = tokens(sum(each.tokens for each in left_out))
        words.append(f"… and {len(left_out)} more, {count} tokens")
    gone = sum(request.paid.values()) - sum(each.block.paid for each in slices)
    if gone > 1e-9:
        words.append(f"blocks that are no longer there: {few_dollars(gone)}")
    return "; ".join(words)


def _size(each: Slice) -> str:
    return "" if each.ignored else tokens(each.tokens)


def _cost(block: Block, request: Request) -> str:
    return few_dollars(block.paid) if request.paid else ""


def state_of(each: Slice, request: Request) -> str:
    """What the cache did for a block: cached, a share of it, new, or sent again without it."""
    if each.ignored:
        return "ignored"
    if not request.usage or not each.tokens:
        return ""
    if each.cached and each.tokens - each.cached <= ROUNDING:
        return "cached"
    if each.cached > ROUNDING:
        return f"{100 * each.cached / each.tokens:.0f}{THIN}% cached"
    return "new" if each.block.first >= request.number else "not cached"


# ------------------------------------------------------------------------------- for the slider


def data_of(wire: Wire, index: int, live: bool) -> str:
    """The step ``index`` as an attribute of its row.

    A page leaves out rows of a long run; the first row after them has their steps too.
    """
    count = len(wire.steps)
    after_gap = not live and count > FIRST_ROWS + LAST_ROWS and index == count - LAST_ROWS
    steps = range(FIRST_ROWS if after_gap else index, index + 1)
    data = [_step(wire, wire.steps[at]) for at in steps]
    return f' data-x="{esc(json.dumps(data, ensure_ascii=False, separators=(",", ":")))}"'


def _step(wire: Wire, step: Request | Compaction) -> dict[str, Any]:
    told = {"agent": step.agent, "window": wire.window_tokens, "trigger": wire.trigger}
    if isinstance(step, Compaction):
        return {
            **told,
            "title": f"Compaction {step.number}: {compaction_words(step)}",
            "carried": step.carried,
            "blocks": [_entry(block, True) for block in step.blocks],  # no request had them yet
            "gone": [[each.block.number, each.left] for each in step.gone],
        }
    scale, left = step.scale()
    return {
        **told,
        "title": request_title(step),
        "number": step.number,
        "carried": step.carried,
        "blocks": [_entry(block, block.first >= step.number) for block in step.blocks],
        "scale": float(f"{scale:.9g}"),
        "left": round(left),
        "cached": step.cached if step.usage else -1,
        "rates": [float(f"{rate:.9g}") for rate in step.rates or ()],
        "ignored": step.ignored,
    }


def request_title(request: Request) -> str:
    """A request in one line."""
    about = "" if request.usage else "~"
    words = f"Request {name_of(request)}: {about}{tokens(request.tokens)} tokens"
    if request.usage:
        words += f", {tokens(request.cached)} of them cached, input {dollars(request.cost)}"
    return "; ".join(filter(None, [words, request.edits]))


def _entry(block: Block, first: bool) -> Any:
    """A block where it comes first; after that its number."""
    if not first:
        return block.number
    size = None if block.kind == "earlier" else block.estimate
    name, fill = NAMES[block.kind], KINDS[block.kind].fill
    return [block.number, name, fill, block.gist, size, block.first, note_of(block)]
