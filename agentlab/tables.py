"""Small tables that show themselves: aligned text everywhere, HTML in a notebook.

Plumbing for the results of a component (a bill, a meter, a report). The views draw pictures of a
run; these are plain tables of numbers, and a component may return them without importing a view.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

THIN = "\u202f"  # between thousands, as in the views


def count(number: float) -> str:
    """A whole number with a thin space between thousands: ``12 345``."""
    return f"{round(number):,}".replace(",", THIN)


class Table:
    """Rows of text under headings: the first column is words, the others are numbers.

    Columns named in ``words`` hold words too. ``notes`` are lines below the table.
    """

    def __init__(
        self,
        title: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        notes: Iterable[str] = (),
        words: Iterable[str] = (),
    ) -> None:
        self.title, self.columns = title, tuple(columns)
        self.rows = [tuple(row) for row in rows]
        self.notes = tuple(notes)
        left = {self.columns[0], *words}
        self._left = [name in left for name in self.columns]

    def __str__(self) -> str:
        lines = [self.columns, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        shown = [self._line(line, widths) for line in lines]
        return "\n".join([self.title, *shown, *(f"({note})" for note in self.notes)])

    def _line(self, line: Sequence[str], widths: Sequence[int]) -> str:
        cells = zip(line, widths, self._left, strict=True)
        return "  ".join(f"{c:<{w}}" if left else f"{c:>{w}}" for c, w, left in cells).rstrip()

    def _repr_html_(self) -> str:
        head = "".join(self._cell("th", name, i) for i, name in enumerate(self.columns))
        body = "".join(
            "<tr>" + "".join(self._cell("td", cell, i) for i, cell in enumerate(row)) + "</tr>"
            for row in self.rows
        )
        notes = "".join(f"<div>{html.escape(note)}</div>" for note in self.notes)
        return (
            f"<div><b>{html.escape(self.title)}</b></div>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"
        )

    def _cell(self, tag: str, text: str, column: int) -> str:
        align = "left" if self._left[column] else "right"
        style = f"text-align:{align};font-variant-numeric:tabular-nums;padding:2px 12px"
        return f'<{tag} style="{style}">{html.escape(text)}</{tag}>'


class Tabular:
    """Shows itself as the `Table` that its ``table`` method returns."""

    def table(self) -> Table:
        """The table of what it holds."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.table())

    def __repr__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()
