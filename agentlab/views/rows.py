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
    "side_call": "side calls",
    "summary": "compacting",
    "asking": "asking you",
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
    status: str = "running"  # running | done | failed | denied | cancelled
    lane: int = 0
    group: int = 0  # calls of one group ran together
    events: tuple[int, ...] = ()
    key: str = ""  # the tool_use_id, where there is one
    attempt: int = 0  # of a retry: the number of the try that follows
    due: float = 0.0  # of a retry: when that try starts
    estimated: bool = False  # its times are, as the message came whole

    @property
    def named(self) -> str:
        """The label, and the status unless all went well."""
        return self.label if self.status in ("done", "running") else f"{self.label} {self.status}"


@dataclass(frozen=True, slots=True)
class Group:
    """Calls of one row that ran together; ``most`` of them at one time."""

    calls: tuple[Bar, ...]
    most: int


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

    @property
    def calls(self) -> list[Bar]:
        """The calls that ran, in the order in which they started."""
        return [bar for bar in self.bars if bar.kind == "tool_result"]

    @property
    def only_beside(self) -> bool:
        """True if the harness worked here, and the model was not asked (yet)."""
        return all(bar.kind in ("side_call", "summary") for bar in self.bars)

    def groups(self) -> list[Group]:
        """What ran together: calls that overlap, in groups of two or more."""
        members: dict[int, list[Bar]] = {}
        for call in self.calls:
            members.setdefault(call.group, []).append(call)
        return [
            Group(tuple(calls), 1 + max(call.lane for call in calls))
            for calls in members.values()
            if len(calls) > 1
        ]

    def what(self, beside: str = ", ") -> str:
        """The row in a few words: the tools it ran, or else what the model said.

        ``beside`` stands between calls that ran together.
        """
        words, group = "", 0
        for call in self.calls:
            between = (beside if call.group == group else ", ") if words else ""
            words, group = words + between + call.named, call.group
        words = words or self.text
        compacted = any(bar.kind == "summary" for bar in self.bars)
        return f"compacted; {words}" if compacted and not self.only_beside else words

    def together(self, cap: int | None) -> str:
        """How many calls ran together, and the ``cap`` if it is known: ``5 together (cap 10)``."""
        counts = " and ".join(f"{len(group.calls)} together" for group in self.groups())
        return f"{counts} (cap {cap})" if counts and cap else counts
