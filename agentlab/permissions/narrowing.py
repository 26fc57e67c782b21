"""The permissions of a child: its parent's, and something less.

A sub-agent must not be a way round a rule. So a child does not get a copy of its parent's rules,
which would drift from them, but a reference to the parent, and rules of its own beside it. Both are
asked about every call and the more restrictive answer counts: whatever a child is given, it cannot
become wider than its parent, nor than the parent of that. What is denied to the parent later is
denied to the child; what the user allows a child for the session is allowed to the parent too.
Built in chapter 05.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from agentlab.permissions.decision import Decision
from agentlab.permissions.judge import Call, Place, describe, judge
from agentlab.permissions.judge_files import strictest
from agentlab.permissions.policy import Permissions
from agentlab.permissions.rules import Rules

if TYPE_CHECKING:
    from agentlab.permissions.policy import Mode
    from agentlab.tools import Prepared

_WIDER: tuple[Mode, ...] = ("plan", "default", "accept_edits", "bypass")


class Narrowed(Permissions):
    """Made by `Permissions.narrow`.

    ``closed``: nothing is allowed but what the child's own rules allow too; if not, they only
    forbid and ask. ``mode`` None: that of the parent, whatever it becomes.
    """

    def __init__(
        self, parent: Permissions, rules: Rules, *, closed: bool, mode: Mode | None
    ) -> None:
        self.parent, self.rules, self.closed = parent, rules, closed
        self.mode = narrower(parent.mode, mode or parent.mode)
        self._own_mode = self.mode if mode else narrower(parent.mode, "default")
        self.classifier, self.ask, self.save_to = parent.classifier, parent.ask, parent.save_to
        self._place = parent._place

    def __repr__(self) -> str:
        return f"Narrowed({self.rules}, mode={self.mode!r}, of {self.parent})"

    def _judge(self, call: Call, place: Place) -> Decision:
        """The more restrictive of what the parent's rules and mode say, and the child's own."""
        return _judge(self, call, place, self.mode)

    def describe(self, call: Prepared) -> dict[str, Any]:
        """What a user is shown about a call; its rules are those that either of the two lacks."""
        about = self.parent.describe(call)
        if self.closed:
            own = describe(Call.of(call), self.rules, self.place(call))
            about["rules"] = tuple(dict.fromkeys((*about["rules"], *own["rules"])))
        return about

    def remember(self, rules: Iterable[str], *, always: bool = False) -> None:
        """Allow more from now on, to the parent as well: else the child would gain nothing."""
        rules = list(rules)
        self.parent.remember(rules, always=always)
        if self.closed:
            self.rules += Rules.of(allow=rules, source="this session")


def narrower(one: Mode, other: Mode) -> Mode:
    """The mode of the two in which less is allowed."""
    return min(one, other, key=_WIDER.index)


def _judge(permissions: Permissions, call: Call, place: Place, mode: Mode) -> Decision:
    """What is said about a call in a mode that may be narrower than that of the permissions."""
    mode = narrower(mode, permissions.mode)
    if not isinstance(permissions, Narrowed):
        return judge(call, permissions.rules, place, mode)
    above = _judge(permissions.parent, call, place, mode)
    own_mode = narrower(mode, permissions._own_mode) if permissions.closed else mode
    own = judge(call, permissions.rules, place, own_mode)
    forbids = own.behaviour == "deny" or (own.behaviour == "ask" and own.layer in ("rule", "shell"))
    return strictest(above, own) if permissions.closed or forbids else above
