"""`Permissions`: the rules, the mode, the classifier and the user, as one argument of `Agent`."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from agentlab.permissions.decision import Asker, Decision
from agentlab.permissions.judge import Call, Place, describe, judge
from agentlab.permissions.rules import Rules
from agentlab.permissions.settings import default_mode, load_rules, save_rules
from agentlab.tools import Prepared

if TYPE_CHECKING:
    from agentlab.permissions.classifier import Classifier

Mode = Literal["default", "accept_edits", "plan", "bypass"]


class Permissions:
    """What an agent may do in one workspace, and who is asked where that is not written down.

    ``rules``: from `Rules` or `Permissions.load`. ``mode``: default; accept_edits (files in the
    workspace may be written); plan (nothing may be changed); bypass (everything that no rule
    denies or asks about: only in a throw-away environment). ``classifier``: judges what no rule
    decides, or None. ``ask``: who is asked; None: nobody, and what would be asked is denied.
    ``home`` and ``platform`` (as `sys.platform`) are for tests and teaching.
    """

    def __init__(
        self,
        rules: Rules | None = None,
        *,
        workspace: str | os.PathLike[str] = ".",
        mode: Mode = "default",
        classifier: Classifier | None = None,
        ask: Asker | None = None,
        home: str | os.PathLike[str] | None = None,
        platform: str = sys.platform,
        save_to: str | os.PathLike[str] | None = None,
    ) -> None:
        if mode not in get_args(Mode):
            raise ValueError(f"there is no mode {mode!r}; there are: {', '.join(get_args(Mode))}")
        if mode == "bypass":
            text = "permissions are bypassed: whatever no rule denies will run without a question"
            warnings.warn(text, stacklevel=2)
        self.rules = rules or Rules()
        self.mode = mode
        self.classifier = classifier
        self.ask = ask
        self.save_to = Path(save_to) if save_to else None
        self._place = Place.of(workspace, home=home, platform=platform)

    @classmethod
    def load(cls, workspace: str | os.PathLike[str] = ".", **arguments: Any) -> Permissions:
        """With the rules of the settings files of this user and of this project, and their mode.

        Raises SettingsError, with line and column, if one of them cannot be read whole.
        """
        home = arguments.get("home")
        rules, save_to = load_rules(workspace, home=home)
        mode: Any = arguments.pop("mode", None) or default_mode(workspace, home=home) or "default"
        return cls(rules, workspace=workspace, mode=mode, **{"save_to": save_to, **arguments})

    def __repr__(self) -> str:
        return f"Permissions({self.rules}, mode={self.mode!r}, in {self._place.workspace})"

    def judge(self, call: Prepared) -> Decision:
        """What rules and mode say about a call."""
        return self._judge(Call.of(call), self.place(call))

    def explain(self, call: str | Mapping[str, Any] | Prepared, **input: Any) -> Decision:
        """What would be decided about a call before anybody is asked; nothing is run.

        ``explain("Bash", command="ls")``, or a ``tool_use`` block, or a call that was prepared.
        """
        if isinstance(call, Prepared):
            decision = self.judge(call)
        elif isinstance(call, str):
            decision = self._judge(Call(call, input), self._place)
        elif isinstance(call, Mapping) and isinstance(call.get("name"), str):
            decision = self._judge(Call(call["name"], call.get("input", {})), self._place)
        else:
            what = f'explain("Bash", command="ls"), or a tool_use block, and not {call!r}'
            raise TypeError(f"it is not clear which call is meant: give {what}")
        if decision.behaviour != "undecided":
            return decision
        reason = "no rule says whether this may run"
        return replace(decision, behaviour="ask", reason=decision.reason or reason)

    def _judge(self, call: Call, place: Place) -> Decision:
        return judge(call, self.rules, place, self.mode)

    def place(self, call: Prepared) -> Place:
        """Where a call would run: a shell may have gone to another folder of the workspace."""
        return replace(self._place, cwd=str(call.tool.where())) if call.tool.where else self._place

    def describe(self, call: Prepared) -> dict[str, Any]:
        """What a user is shown about a call: ``shown``, ``parts``, ``rules`` and ``cwd``."""
        return describe(Call.of(call), self.rules, self.place(call))

    def remember(self, rules: Iterable[str], *, always: bool = False) -> None:
        """Allow more from now on; ``always``: also in the settings file of the project."""
        rules = list(rules)
        self.rules = self.rules + Rules.of(allow=rules, source="this session")
        if always and self.save_to is not None:
            save_rules(self.save_to, allow=rules)

    def narrow(
        self,
        *,
        deny: Iterable[str] = (),
        ask: Iterable[str] = (),
        allow: Iterable[str] | None = None,
        mode: Mode | None = None,
    ) -> Permissions:
        """The permissions of a child: never wider than these, whatever is asked for.

        ``deny`` and ``ask`` are added. ``allow`` None: what is allowed here; a list: of that, only
        what these rules allow too. A ``mode`` that is wider than this one changes nothing.
        """
        from agentlab.permissions.narrowing import Narrowed

        own = Rules.of(deny=deny, ask=ask, allow=() if allow is None else allow)
        return Narrowed(self, own, closed=allow is not None, mode=mode)
