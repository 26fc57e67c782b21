"""What came of a matcher on the range, as a table and as a list of its misses.

The table counts by kind: what had to be stopped and what was missed, what had to pass and where it
was a false alarm. A miss is shown with the parse behind it, the simple commands that the packaged
parser takes a command apart into, because that is what a prefix does not see.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from agentlab.course.shown import CODE_FONT, LINE, MUTED, Shown, escape
from agentlab.range_.entries import SEVERITIES, Entry
from agentlab.views.wording import plural

NAMED = 5  # critical misses that are named under the table
SHOWN = 10  # misses that a list shows in full
COLUMNS = ("must stop", "stopped", "missed", "must pass", "passed", "false alarms")
_BLANKS = re.compile(r" {20,}")
Numbers = tuple[int, int, int, int, int, int]


@dataclass(frozen=True)
class Judged:
    """What a matcher answered for an entry. ``said``: its reason, or what went wrong with it.

    ``answer`` is empty if the matcher raised, or answered what is no answer.
    """

    entry: Entry
    answer: str
    said: str = ""

    @property
    def right(self) -> bool:
        """Whether it was stopped if it had to be, and passed if it had to."""
        if self.entry.expected == "pass":
            return self.answer == "allow"
        return self.answer in ("ask", "deny")

    @property
    def critical(self) -> bool:
        return self.entry.severity == "critical"

    def rows(self) -> list[tuple[str, str]]:
        """What a learner has to know about a miss: (label, text) line by line."""
        entry = self.entry
        rules = [f"{name} {', '.join(texts)}" for name, texts in entry.rules.items() if texts]
        setting = [
            text for text in (entry.mode, entry.platform) if text not in ("default", "linux")
        ]
        expected = {"stop": "ask or deny", "pass": "allow"}[entry.expected]
        return [
            ("call", _call(entry)),
            *([("text in", f"{entry.injection.place} {entry.injection.name}")]
              if entry.injection else []),
            ("rules", "; ".join(rules + setting) or "none"),
            ("answer", f"{self.answer or 'none'}, expected {expected}"),
            *([("said", self.said)] if self.said else []),
            *([("parse", "\n".join(parse_of(entry)))] if entry.command is not None else []),
            ("why", entry.why),
        ]  # fmt: skip

    @property
    def heading(self) -> str:
        wrong = "missed" if self.entry.expected == "stop" else "false alarm"
        return f"{self.entry.id} ({wrong}, {self.entry.severity}): {self.entry.title}"


def parse_of(entry: Entry) -> list[str]:
    """The simple commands that the packaged parser sees in a command, one a line."""
    from agentlab.permissions.shell import parse

    parsed = parse(entry.command or "", platform=entry.platform)
    lines = []
    for command in parsed.commands:
        line = visible(command.text or " ".join(word.text for word in command.words))
        about = [f"in {place}" for place in command.inside]
        about += [f"behind {wrapper}" for wrapper in command.wrapped_by]
        about += [
            f"{'writes' if redirect.writes else 'reads'} {redirect.target.text}"
            for redirect in command.redirects
        ]
        about += [f"unknown: {command.unknown}"] if command.unknown else []
        lines.append(f"{line}   [{'; '.join(about)}]" if about else line)
    told = any(command.unknown == parsed.unknown for command in parsed.commands)
    return lines if told or not parsed.unknown else [*lines, f"unknown: {parsed.unknown}"]


def visible(text: str) -> str:
    """A text on one line, with everything in it that is not seen written out."""
    text = _BLANKS.sub(lambda match: f" [{len(match[0])} blanks] ", text)
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _call(entry: Entry) -> str:
    if entry.command is not None:
        return visible(entry.command)
    return visible(f"{entry.tool} " + ", ".join(f"{k}={v}" for k, v in entry.input.items()))


# ------------------------------------------------------------------------------------- the misses


class Misses(Shown, Sequence[Judged]):
    """The entries that a matcher got wrong, critical ones first. A slice is one as well."""

    def __init__(self, judged: Iterable[Judged]) -> None:
        self._judged = tuple(judged)
        shown = self._judged[:SHOWN]
        left = len(self._judged) - len(shown)
        rest = f"and {left} more: a slice such as .misses[{SHOWN}:] shows them" if left else ""
        text = "\n\n".join(_miss_text(one) for one in shown) or "Nothing was missed."
        body = "".join(_miss_html(one) for one in shown) or f"<div>{escape(text)}</div>"
        more = f'<div style="color:{MUTED}">{escape(rest)}</div>' if rest else ""
        super().__init__(f"{text}\n\n{rest}" if rest else text, body + more)

    def __len__(self) -> int:
        return len(self._judged)

    def __iter__(self) -> Iterator[Judged]:
        return iter(self._judged)

    @overload
    def __getitem__(self, index: int) -> Judged: ...
    @overload
    def __getitem__(self, index: slice) -> Misses: ...
    def __getitem__(self, index: int | slice) -> Judged | Misses:
        if isinstance(index, slice):
            return Misses(self._judged[index])
        return self._judged[index]


def _miss_text(judged: Judged) -> str:
    lines = [judged.heading]
    for label, value in judged.rows():
        first, *rest = value.split("\n")
        lines += [f"  {label:<8} {first}", *(f"  {'':<8} {line}" for line in rest)]
    return "\n".join(lines)


def _miss_html(judged: Judged) -> str:
    cell = "padding:1px 12px 1px 0;vertical-align:top;text-align:left"
    rows = "".join(
        f'<tr style="background:transparent"><th scope="row" style="{cell};font-weight:normal;'
        f'color:{MUTED}">{label}</th><td style="{cell}">{_value_html(label, value)}</td></tr>'
        for label, value in judged.rows()
    )
    head = f'<div style="font-weight:bold">{escape(judged.heading)}</div>'
    return f'<div style="margin:0 0 12px">{head}<table>{rows}</table></div>'


def _value_html(label: str, value: str) -> str:
    if label not in ("call", "rules", "parse"):
        return escape(value)
    plain = "margin:0;padding:0;background:transparent;white-space:pre-wrap"
    return f'<pre style="{CODE_FONT};{plain}">{escape(value)}</pre>'


# -------------------------------------------------------------------------------------- the score


class Score(Shown):
    """How a matcher did: ``misses`` (critical first), ``critical`` (how many of them are critical).

    ``rows`` has a kind and six numbers: must stop, stopped, missed, must pass, passed, false
    alarms; the last row is the sum.
    """

    def __init__(self, judged: Iterable[Judged]) -> None:
        self.judged = tuple(judged)
        wrong = [one for one in self.judged if not one.right]
        wrong.sort(
            key=lambda one: (one.entry.expected == "pass", SEVERITIES.index(one.entry.severity))
        )
        self.misses = Misses(wrong)
        self.critical = sum(one.critical for one in wrong)
        kinds = list(dict.fromkeys(one.entry.kind for one in self.judged))
        self.rows: list[tuple[str, Numbers]] = [
            (kind, _numbers(one for one in self.judged if one.entry.kind == kind)) for kind in kinds
        ]
        self.rows.append(("all", _numbers(self.judged)))
        super().__init__(self._text(), self._html())

    @property
    def missed(self) -> int:
        """How many entries passed that had to be stopped."""
        return self.rows[-1][1][2]

    @property
    def false_alarms(self) -> int:
        """How many entries were stopped that had to pass."""
        return self.rows[-1][1][5]

    @property
    def verdict(self) -> str:
        """The score in one line."""
        right = sum(one.right for one in self.judged)
        critical = f" ({self.critical} critical)" if self.critical else ""
        alarms = plural(self.false_alarms, "false alarm")
        return f"{right} of {len(self.judged)} right: {self.missed} missed{critical}, {alarms}"

    def named(self) -> list[str]:
        """The first critical misses, a line each."""
        lines = [
            f"{one.entry.id}  {_call(one.entry)}"
            for one in self.misses[: min(NAMED, self.critical)]
        ]
        left = self.critical - len(lines)
        return lines + ([f"and {left} more critical ones: .misses shows them"] if left else [])

    def _text(self) -> str:
        first = max(len(kind) for kind, _ in self.rows)
        lines = [" " * first + "".join(f"  {name}" for name in COLUMNS)]
        for kind, numbers in self.rows:
            cells = "".join(f"  {n:>{len(c)}}" for n, c in zip(numbers, COLUMNS, strict=True))
            lines.append(f"{kind:<{first}}{cells}")
        named = [f"  {line}" for line in self.named()]
        return "\n".join([*lines, "", self.verdict, *named])

    def _html(self) -> str:
        number = "text-align:right;font-variant-numeric:tabular-nums;padding:2px 12px"
        head = f"{number};border-bottom:1px solid {LINE}"
        parts = [f'<tr><td style="{head}"></td>']
        parts += [f'<th scope="col" style="{head}">{name}</th>' for name in COLUMNS]
        parts.append("</tr>")
        for kind, numbers in self.rows:
            parts.append(f'<tr><th scope="row" style="{_LEFT}">{kind}</th>')
            for column, value in enumerate(numbers):
                wrong = column in (2, 5)
                bold = ";font-weight:bold" if wrong and value else ""
                shown = "" if wrong and not value else str(value)
                parts.append(f'<td style="{number}{bold}">{shown}</td>')
            parts.append("</tr>")
        named = "".join(f'<div style="{CODE_FONT}">{escape(line)}</div>' for line in self.named())
        return f"<table>{''.join(parts)}</table><div>{escape(self.verdict)}</div>{named}"


_LEFT = "text-align:left;font-weight:normal"


def _numbers(judged: Iterable[Judged]) -> Numbers:
    listed = list(judged)

    def count(expected: str, **right: Any) -> int:
        return sum(
            one.entry.expected == expected and right.get("right", one.right) == one.right
            for one in listed
        )

    return (
        count("stop"), count("stop", right=True), count("stop", right=False),
        count("pass"), count("pass", right=True), count("pass", right=False),
    )  # fmt: skip
