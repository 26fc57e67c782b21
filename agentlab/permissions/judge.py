"""What rules and mode say about one call, before anybody is asked.

Deny first, then ask, then allow. What is left is undecided, unless it is harmless (a clock), only
reads in the workspace, or is settled by the mode:

    default        nothing more
    accept_edits   files of the workspace may be written
    plan           whatever does more than read is denied, even if a rule allows it
    bypass         everything that no rule forbids or asks about

Pure functions: nothing is run, and of the disk only names and links are looked at. The shell is
judged in `judge_shell`, a file in `judge_files`. Built in chapter 05.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from agentlab.permissions.decision import Decision
from agentlab.permissions.hosts import covers
from agentlab.permissions.judge_files import (
    UNDECIDED,
    Access,
    Below,
    by_rule,
    judge_file,
    may_edit,
    strictest,
)
from agentlab.permissions.judge_shell import Line, judge_line
from agentlab.permissions.paths import Located, Place, inside, locate
from agentlab.permissions.patterns import forget
from agentlab.permissions.rules import Rule, Rules
from agentlab.permissions.suggest import describe_input, suggest_rules
from agentlab.tools import Permission, Prepared

__all__ = ["Call", "Place", "describe", "judge", "strictest"]

# The tools that people have rules about: what a call does, and which argument says where.
SHIPPED: dict[str, tuple[Permission, str]] = {
    "Read": ("read", "file_path"), "Grep": ("read", "path"), "Glob": ("read", "path"),
    "LS": ("read", "path"), "NotebookRead": ("read", "notebook_path"),
    "Edit": ("write", "file_path"), "Write": ("write", "file_path"),
    "MultiEdit": ("write", "file_path"), "NotebookEdit": ("write", "notebook_path"),
    "Checkpoint": ("write", ""), "Rollback": ("write", ""), "Bash": ("execute", ""),
    "WebFetch": ("network", ""), "Calculator": ("none", ""), "Clock": ("none", ""),
    "TaskComplete": ("none", ""),
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A call to be judged. ``permission`` None: by the name of a tool that ships, else unknown."""

    tool: str
    input: dict[str, Any] = field(default_factory=dict)
    permission: Permission | None = None
    path_argument: str = ""

    @classmethod
    def of(cls, call: Prepared) -> Call:
        """Of a call that was validated."""
        tool = call.tool
        return cls(tool.name, call.call["input"], tool.permission, tool.path_argument)

    @property
    def does(self) -> Permission | None:
        """What it does to the world, as far as that is known; an MCP server's word is no proof."""
        if self.tool.startswith("mcp__"):
            return None
        return self.permission or SHIPPED.get(self.tool, (None, ""))[0]

    @property
    def where(self) -> str:
        """The name of the argument that says which file it is about; empty if there is none."""
        return self.path_argument or SHIPPED.get(self.tool, ("", ""))[1]

    @property
    def path(self) -> Any:
        """The path that it is about, as written."""
        return self.input.get(self.where, ".") if self.where else None


def judge(call: Call, rules: Rules, place: Place, mode: str = "default") -> Decision:
    """What rules and mode say about a call: allow, ask, deny, or undecided. Never raises."""
    forget()
    decision = _judge(call, rules, place, mode)
    if decision.behaviour == "allow":
        return decision
    return replace(decision, allowed=allowed(call.tool, rules))


def _judge(call: Call, rules: Rules, place: Place, mode: str) -> Decision:
    given: Any = call.input  # whoever explains a call may write anything
    if not isinstance(given, dict):
        return _unreadable("the input is not an object")
    if call.tool == "Bash":
        command = given.get("command", "")
        if not isinstance(command, str) or "\0" in command:
            return _unreadable("the command is no text that a shell can run")
        return judge_line(Line(command, rules, place, mode))
    where = None
    if call.where:
        if not isinstance(call.path, str) or "\0" in call.path:
            return _unreadable("the path is no text that a file can be called")
        where = locate(call.path, place)
    if where is not None and (access := _access(call)):
        below: Below = "visible" if call.tool == "Grep" else "nothing"
        decision = judge_file(where, access, rules, place, tool=call.tool, below=below)
    else:
        decision = _by_name(call, rules)
    return _by_mode(call, where, decision, place, mode)


def describe(call: Call, rules: Rules, place: Place) -> dict[str, Any]:
    """What a user is shown about a call.

    ``shown``: the input with everything invisible written out; ``parts``: the commands it consists
    of; ``rules``: what "always for this class" would add, for each part that nothing allows yet,
    or nothing, if the question would come back all the same.
    """
    forget()
    shown, parts = describe_input(call.tool, call.input, place)
    given: Any = call.input
    suggested: tuple[str, ...] = ()
    if isinstance(given, dict):
        suggested = suggest_rules(call.tool, given, call.path, _access(call), rules, place)
        if judge(call, rules + Rules.of(allow=suggested), place).behaviour != "allow":
            suggested = ()
    return {"shown": shown, "parts": parts, "rules": suggested, "cwd": place.cwd}


def allowed(tool: str, rules: Rules) -> str:
    """The allow rules for a tool, for the model: what it may do instead."""
    names = [str(rule) for rule in rules.allow if rule.tool == tool or rule.names(tool)]
    return ", ".join(dict.fromkeys(names[:20]))


def _access(call: Call) -> Access | None:
    return call.does if call.does in ("read", "write") else None


def _by_name(call: Call, rules: Rules) -> Decision:
    """What the rules say about a call of a tool that is not about one file."""
    for behaviour, listed in rules:
        for rule in listed:
            if rule.names(call.tool) and _covers(rule, call, generous=behaviour != "allow"):
                return by_rule(behaviour, rule)  # type: ignore[arg-type]
    return UNDECIDED


def _covers(rule: Rule, call: Call, *, generous: bool) -> bool:
    if not rule.pattern or rule.pattern == "*":
        return True
    if call.tool == "WebFetch":
        url = call.input.get("url")
        return isinstance(url, str) and covers(rule.pattern, url, generous=generous)
    name, _, wanted = rule.pattern.partition(":")
    if name in call.input:
        return fnmatchcase(str(call.input[name]), wanted)
    found = [fnmatchcase(text, rule.pattern) for text in _texts(call.input)]
    return any(found) if generous else bool(found) and all(found)


def _texts(value: Any) -> Iterator[str]:
    """All texts in an input."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _by_mode(
    call: Call, where: Located | None, decision: Decision, place: Place, mode: str
) -> Decision:
    """What is left when the rules have spoken."""
    if decision.behaviour == "deny":
        return decision
    if mode == "plan" and call.does not in ("none", "read", "network"):
        return Decision("deny", "mode", "in plan mode nothing may be changed")
    if mode == "bypass" and (decision.behaviour == "undecided" or decision.layer == "protected"):
        return Decision("allow", "mode", "permissions are bypassed")
    if decision.behaviour != "undecided":
        return decision
    if call.does == "none":
        return Decision("allow", "harmless", "it changes nothing and reads nothing of yours")
    if call.does == "read" and place.readonly_autoallow and (not where or inside(where, place)):
        return Decision("allow", "read-only", "it only reads in the workspace")
    if mode == "accept_edits" and call.does == "write" and where and may_edit(where, place):
        return Decision("allow", "mode", "edits in the workspace are accepted")
    return decision


def _unreadable(reason: str) -> Decision:
    return Decision("deny", "default", reason)
