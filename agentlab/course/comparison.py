"""`compare`: the same task without a component and with it, side by side.

Two results in, one small table out: turns, tokens, dollars, seconds, how it ended, what broke.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentlab.costs import dollars
from agentlab.course.shown import LINE, MUTED, CourseError, Shown, escape
from agentlab.views.wording import one_line, seconds, status_words, tokens

if TYPE_CHECKING:
    from agentlab.agent import Result

DECIDED = "permission.decided"
Row = tuple[str, str, str]


class Comparison(Shown):
    """A table of two runs. ``rows`` holds (what, without, with)."""

    def __init__(self, rows: list[Row], labels: tuple[str, str], note: str) -> None:
        self.rows = rows
        super().__init__(_text(rows, labels, note), _html(rows, labels, note))


def compare(
    without: Result, with_: Result, labels: tuple[str, str] = ("without", "with")
) -> Comparison:
    """Put two results of the same task side by side."""
    for result in (without, with_):
        if not hasattr(result, "status") or not hasattr(result, "usage"):
            kind = type(result).__name__
            raise CourseError(f"compare wants two results of `await agent.ask(...)`, not a {kind}")
    left, right = _facts(without), _facts(with_)
    rows = [(name, left[name], right[name]) for name in left if left[name] or right[name]]
    simulated = without.simulated or with_.simulated
    return Comparison(rows, labels, "simulated model" if simulated else "")


def _facts(result: Result) -> dict[str, str]:
    """Name -> value as shown; an empty value on both sides leaves the row out."""
    usage = result.usage
    cached = usage.cache_read_tokens
    finished = [e for e in result.events if e.type == "tool.execution_complete"]
    failed = sum(bool(e.data.get("is_error")) for e in finished)
    kinds = [e.type for e in result.events]
    denied = sum(e.data.get("decision") == "deny" for e in result.events if e.type == DECIDED)
    return {
        "ended": status_words(result.status),
        "what broke": "" if result.ok else one_line(result.detail, 60),
        "turns": str(result.turns),
        "tool calls": str(len(finished)),
        "calls that failed": str(failed) if failed else "",
        "questions asked": str(kinds.count("permission.requested") or ""),
        "calls denied": str(denied or ""),
        "retries": str(kinds.count("model.retry") or ""),
        "side calls": str(kinds.count("model.side_call") or ""),
        "tokens in": tokens(usage.prompt_tokens),
        "of these cached": tokens(cached) if cached else "",
        "tokens out": tokens(usage.output_tokens),
        "dollars": dollars(result.cost_usd),
        "time": seconds(result.seconds),
    }


def _text(rows: list[Row], labels: tuple[str, str], note: str) -> str:
    table = [("", *labels), *((name, a or "-", b or "-") for name, a, b in rows)]
    first, second, third = (max(len(row[i]) for row in table) for i in range(3))
    lines = [f"{n:<{first}}  {a:>{second}}  {b:>{third}}" for n, a, b in table]
    return "\n".join([*lines, f"({note})"] if note else lines)


def _html(rows: list[Row], labels: tuple[str, str], note: str) -> str:
    number = "text-align:right;font-variant-numeric:tabular-nums;padding:2px 12px"
    head = f"{number};border-bottom:1px solid {LINE}"
    parts = [f'<tr><td style="{head}"></td>']
    parts += [f'<th scope="col" style="{head}">{escape(label)}</th>' for label in labels]
    parts.append("</tr>")
    for name, *values in rows:
        parts.append(f'<tr><th scope="row" style="text-align:left;font-weight:normal">{name}</th>')
        parts += [f'<td style="{number}">{escape(value or "-")}</td>' for value in values]
        parts.append("</tr>")
    caption = f'<div style="color:{MUTED}">{note}</div>' if note else ""
    return f"<table>{''.join(parts)}</table>{caption}"
