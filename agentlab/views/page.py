"""The static form of a view: what a saved notebook shows, without a kernel and without network."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

from agentlab.views.drawing import Picture, esc
from agentlab.views.palette import variables

STATIC = Path(__file__).parent / "static"
FIRST_ROWS, LAST_ROWS = 150, 50  # that are shown of a long run
LONGEST, MOST = 1000, 50  # characters of a string and items of a list, in JSON that is shown


def page(picture: Picture, interactive: bool = False) -> str:
    """A view as one piece of HTML that needs nothing from outside.

    ``interactive`` adds the events and a script, so that a click shows them; where scripts do not
    run, the rest is the same. Outputs that are committed do without.
    """
    scale, count = picture.scale(live=False), picture.rows()
    picture.drawn()
    first, last = range(min(count, FIRST_ROWS)), range(max(FIRST_ROWS, count - LAST_ROWS), count)
    rows = [picture.row(index, scale) for index in first]
    left_out = count - len(first) - len(last)
    if left_out:
        words = f"… {left_out} more rows, not drawn here …"
        rows.append(f'<tr><td colspan="{picture.columns}">{words}</td></tr>')
    rows += [picture.row(index, scale) for index in last]
    body = "".join(rows)
    if not interactive:
        body = re.sub(r' data-(?:(?:e|whole)="[0-9,:]*"|x="[^"]*")', "", body)
    grid = f' style="--grid:{scale.grid}"' if scale.grid else ""
    return (
        f'<div class="agentlab-view agentlab-static agentlab-{picture.name}"{grid}>'
        f"<style>{style_sheet(picture.name)}</style>{heading(picture)}{picture.head()}"
        f'<table style="width:100%;border-collapse:collapse;table-layout:fixed">'
        f"<thead>{picture.heading(scale)}</thead><tbody>{body}</tbody></table>"
        f"{picture.foot()}{_script(picture, body) if interactive else ''}</div>"
    )


def heading(picture: Picture) -> str:
    """The question that the view answers, and whether the model is simulated."""
    marker = ' <span class="agentlab-simulated">simulated model</span>' if picture.simulated else ""
    return f'<p class="agentlab-title"><b>{esc(picture.title)}</b>{marker}</p>'


def shorten(value: Any) -> Any:
    """JSON that is worth reading: long strings and lists are cut, and say by how much."""
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[:LONGEST]}… ({len(value) - LONGEST} more characters)"
    if isinstance(value, dict):
        return {str(key): shorten(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        more = [f"… ({len(value) - MOST} more)"] if len(value) > MOST else []
        return [shorten(item) for item in value[:MOST]] + more
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


@functools.cache
def style_sheet(name: str = "") -> str:
    """The style sheet with the palette in it, without what only its readers need.

    It is what all views share, and what the view of that ``name`` adds.
    """
    css = (STATIC / "view.css").read_text("utf-8").replace("/* palette */", variables())
    own = STATIC / f"{name}.css"
    css += own.read_text("utf-8") if name and own.exists() else ""
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    return re.sub(r"\s*([{};,])\s*", r"\1", re.sub(r"\s+", " ", css)).strip()


@functools.cache
def script(name: str) -> str:
    """A script of this package, without its comments and indents."""
    text = (STATIC / name).read_text("utf-8")
    return re.sub(r"^\s*//.*\n| //.*$|^ +", "", text, flags=re.MULTILINE)


def _script(picture: Picture, body: str) -> str:
    groups = re.findall(r' data-e="([0-9,]+)"', body)
    numbers = sorted({int(number) for group in groups for number in group.split(",")})
    events = {number: shorten(picture.events[number].to_dict()) for number in numbers}
    data = json.dumps(events).replace("<", r"\u003c")  # nothing in it can end the script
    return (
        "<script>(() => {const root = document.currentScript?.closest('.agentlab-view');"
        f"if (!root) return;const events = {data};{script('interact.js')}"
        f"{script('xray.js') if picture.name == 'context' else ''}"
        "agentlabInteract(root, (number) => events[number]).adopt();})();</script>"
    )
