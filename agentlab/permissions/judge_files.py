"""What the rules say about one file that a call reads or writes.

It does not matter which tool does it: a `Read` rule binds all that reads, an `Edit` rule all that
writes, a command in the shell too. Writing to a few files is never settled by a wildcard: those
that hold the rules themselves, those of git (a hook there is a program that runs later) and those
that a shell reads when it starts. Built in chapter 05.
"""

from __future__ import annotations

from typing import Literal

from agentlab.permissions.decision import Behaviour, Decision
from agentlab.permissions.paths import Located, Place, inside, protected
from agentlab.permissions.patterns import exactly, fits, holds
from agentlab.permissions.rules import READERS, WRITERS, Rule, Rules

Access = Literal["read", "write"]
Below = Literal["nothing", "all", "visible"]
REASONS: dict[str, str] = {
    "deny": "a rule forbids it",
    "ask": "a rule says to ask first",
    "allow": "a rule allows it",
}
UNDECIDED = Decision("undecided", "default")
_ORDER: tuple[Behaviour, ...] = ("allow", "undecided", "ask", "deny")


def strictest(*decisions: Decision) -> Decision:
    """The most restrictive of several decisions: deny, then ask, then undecided, then allow.

    Of several that are equal one that a rule made, as it says most.
    """
    return max(decisions, key=lambda one: (_ORDER.index(one.behaviour), one.layer == "rule"))


def by_rule(behaviour: Behaviour, rule: Rule, part: str = "", reason: str = "") -> Decision:
    """A decision that a rule made."""
    return Decision(behaviour, "rule", reason or REASONS[behaviour], rule.placed, part)


def file_rules(rules: tuple[Rule, ...], access: Access, tool: str, allow: bool) -> list[Rule]:
    """Those of a list that are about the files which a tool ("" for the shell) reads or writes."""
    family = READERS if access == "read" else WRITERS
    if not allow:
        names = {"Read"} if access == "read" else WRITERS
    elif tool in family or not tool:
        names = {"Read"} if access == "read" else {"Edit"}
    else:
        names = set()
    return [r for r in rules if r.tool in names or (tool and r.names(tool)) or r.tool == "*"]


def judge_file(
    where: Located,
    access: Access,
    rules: Rules,
    place: Place,
    *,
    tool: str = "",
    part: str = "",
    below: Below = "nothing",
) -> Decision:
    """What the rules say about a file that a tool ("": the shell) reads or writes.

    ``below``: what in it is read or written too, if it is a folder.
    """
    decision = UNDECIDED
    for behaviour, listed in (("deny", rules.deny), ("ask", rules.ask)):
        for rule in file_rules(listed, access, tool, False):
            if fits(rule.pattern, where, place, generous=True):
                found = by_rule(behaviour, rule, part)  # type: ignore[arg-type]
            elif below != "nothing" and holds(rule.pattern, where, place, hidden=below == "all"):
                reason = f"a rule says {behaviour} for something in this folder"
                found = by_rule("ask", rule, part, reason)
            else:
                continue
            decision = strictest(found, decision)
            if decision.behaviour == "deny":
                return decision
    if decision.behaviour == "ask":
        return decision
    safe = access == "read" or not protected(where, place)
    for rule in file_rules(rules.allow, access, tool, True):
        fitting = fits(rule.pattern, where, place, generous=False)
        if fitting and (safe or exactly(rule.pattern, where, place)):
            return by_rule("allow", rule, part)
    return decision if safe else guarded(part)


def guarded(part: str = "") -> Decision:
    """The answer for a file that is never written on the word of a wildcard."""
    reason = "it writes to a file that decides what may run, or what runs later"
    return Decision("ask", "protected", reason, part=part)


def may_edit(where: Located, place: Place) -> bool:
    """Whether the mode accept_edits covers writing there."""
    return inside(where, place) and not protected(where, place)
