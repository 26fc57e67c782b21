"""The range in a terminal: ``agentlab range``."""

from __future__ import annotations

import time
from collections.abc import Iterable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from agentlab.range_.scoring import Matcher, score
from agentlab.range_.table import COLUMNS, Score

PATIENCE_S = 2.0  # from then on it is shown how far it is
MISSES = 3  # shown in full under the table


def run(matcher: Matcher, kinds: Iterable[str] | None, console: Console) -> Score:
    """Score a matcher, showing how far it is if that takes longer."""
    columns = (TextColumn("the range"), BarColumn(), MofNCompleteColumn())
    progress = Progress(*columns, console=console, transient=True)
    task, began = progress.add_task("range"), time.monotonic()

    def each(done: int, total: int) -> None:
        if console.is_terminal and time.monotonic() - began > PATIENCE_S:
            progress.start()
        progress.update(task, completed=done, total=total)

    try:
        return score(matcher, kinds, each=each)
    finally:
        progress.stop()


def show(scored: Score, console: Console) -> None:
    """Print the table, the verdict, and the first misses with the parse behind them."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for kind, numbers in scored.rows:
        cells = [Text(str(number)) for number in numbers]
        for wrong in (2, 5):
            cells[wrong] = Text(str(numbers[wrong]), style="bold red") if numbers[wrong] else Text()
        table.add_row(Text(kind, style="bold" if kind == "all" else ""), *cells)
    console.print(table)
    console.print()
    console.print(Text(scored.verdict, style="bold"))
    if scored.misses:
        shown = scored.misses[:MISSES]
        left = len(scored.misses) - len(shown)
        console.print()
        console.print(Text(repr(shown)), soft_wrap=True)
        if left:
            console.print(Text(f"\nand {left} more", style="dim"))
