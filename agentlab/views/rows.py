"""The pieces of a timeline: a row for each turn or message, and the bars in it."""

from __future__ import annotations

from dataclasses import dataclass, field

# The kinds of bars, in the order of the legend, and how they are called.
BARS = {
    "wait": "waiting",
    "retry": "retry wait",
    "thinking": "thinking",
    "text": "text",
    "tool_call": "writing calls",
    "tool_result": "running tools",
}


@dataclass(slots=True, eq=False)
class Bar:
    """What went on between two moments (seconds from the start).

    While ``status`` is running, ``end`` is the last sign of life; `Layout.until` says how far to
    draw. ``events`` are the numbers of the events that it stands for (`Layout.events`).
    """

    kind: str
    start: float
    end: float
    label: str
    status: str = "running"  # running | done | failed | cancelled
    lane: int = 0
    events: tuple[int, ...] = ()
    key: str = ""  # the tool_use_id, where there is one
    attempt: int = 0  # of a retry: the number of the try that follows
    due: float = 0.0  # of a retry: when that try starts
    estimated: bool = False  # its times are, as the message came whole

    @property
    def named(self) -> str:
        """The label, and the status unless all went well."""
        return self.label if self.status in ("done", "running") else f"{self.label} {self.status}"


@dataclass(slots=True, eq=False)
class Row:
    """One line of the timeline: a turn, or a message of the user."""

    kind: str  # user | turn
    turn: int
    agent: str
    start: float
    end: float
    text: str = ""  # what was said
    origin: str = ""  # of a message: user, or continue (said by the harness)
    bars: list[Bar] = field(default_factory=list)
    events: tuple[int, ...] = ()
    open: bool = True
    spent: dict[str, float] = field(default_factory=dict)  # seconds by kind, when last drawn

    @property
    def lanes(self) -> int:
        return max((bar.lane for bar in self.bars), default=0) + 1

    def what(self) -> str:
        """The row in a few words: the tools it ran, or else what the model said."""
        calls = [bar for bar in self.bars if bar.kind == "tool_result"]
        return ", ".join(bar.named for bar in calls) or self.text
