"""What is decided about a call, by whom and why; and what a user is asked and answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Behaviour = Literal["allow", "ask", "deny", "undecided"]


@dataclass(frozen=True)
class Decision:
    """What may be done with one call.

    ``layer`` says who decided: rule, mode, harmless, read-only, shell (a command that cannot be
    known before it runs), protected, hook, classifier, user, headless (nobody could be asked) or
    default (nobody had an opinion). ``rule`` is the rule as written with where it stands, ``part``
    the part of a command that decided, ``allowed`` what would be allowed instead, for the model.
    """

    behaviour: Behaviour
    layer: str
    reason: str = ""
    rule: str = ""
    part: str = ""
    allowed: str = ""

    def to_dict(self) -> dict[str, str]:
        """As data of the event ``permission.decided``."""
        return {
            "decision": self.behaviour, "layer": self.layer, "reason": self.reason,
            "rule": self.rule, "part": self.part, "allowed": self.allowed,
        }  # fmt: skip

    def __str__(self) -> str:
        by = f"{self.layer} {self.rule}".strip()
        about = f", because of {self.part!r}" if self.part else ""
        return f"{self.behaviour} ({by}){about}: {self.reason or 'no reason given'}"


@dataclass(frozen=True)
class Question:
    """What a user is asked: exactly what will run, its parts, and why it is asked.

    ``id`` is the id of the call; an answer to another id is no answer. ``shown`` is the input as
    text, with everything invisible written out. ``parts`` are the commands that it consists of.
    ``rules`` are what "always for this class" would add, one for each part that has none.
    """

    id: str
    agent: str
    tool: str
    input: dict[str, Any]
    shown: str
    reason: str
    layer: str
    parts: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    cwd: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As data of the event ``permission.requested``."""
        return {
            "tool_use_id": self.id, "name": self.tool, "input": self.input, "shown": self.shown,
            "reason": self.reason, "layer": self.layer, "parts": list(self.parts),
            "rules": list(self.rules),
        }  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What the user said. ``input`` replaces the call's; ``note`` is passed on to the model.

    ``remember``: once, for this session, or always (saved to the settings file of the project).
    """

    behaviour: Literal["allow", "deny"]
    note: str = ""
    input: dict[str, Any] | None = None
    remember: Literal["once", "session", "always"] = "once"
    layer: str = "user"  # headless: nobody could be asked


Asker = Callable[[Question], Awaitable[Answer]]


@dataclass(frozen=True)
class Circumstances:
    """What is known about a turn when its calls are decided: for hooks and for the classifier."""

    agent: str = "main"
    turn: int = 0
    task: str = ""  # what the user asked for, in their words
    session: str = ""
    transcript: str = ""
    side_calls: Any = field(default=None, repr=False)  # agentlab.side_calls.SideCalls
