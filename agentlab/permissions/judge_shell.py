"""What rules and mode say about a line for the shell.

`shell.parse` takes the line apart into simple commands. Each is judged alone, as if it were all
that there is, and so is every file that it opens; the most restrictive answer counts for the whole.
What cannot be known before it runs is a reason to ask and never allowed, not even by ``Bash(*)``.

A rule for a command says nothing about a redirection: to write to a file takes an `Edit` rule. Nor
does a `Read` rule that forbids a file care which program opens it. What a program does with a path
is known for many (`shell_files`); for others the path alone is a reason to ask. Chapter 05.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from agentlab.permissions.commands import allows, harmless, meets
from agentlab.permissions.comparing import MAYBE, NO, YES
from agentlab.permissions.decision import Decision
from agentlab.permissions.judge_files import (
    UNDECIDED,
    by_rule,
    file_rules,
    judge_file,
    may_edit,
    strictest,
)
from agentlab.permissions.opened import TEXT_ONLY, Part, Use, parsed
from agentlab.permissions.paths import Located, Place, inside
from agentlab.permissions.patterns import fits
from agentlab.permissions.readonly import reads_only
from agentlab.permissions.rules import WRITERS, Rule, Rules
from agentlab.permissions.shell_git import git_runs_programs

# Readers whose arguments may look like paths and be none; `readonly` knows which of them are.
_PATTERNS = frozenset({"grep", "egrep", "fgrep", "rg", "sed", "tr", "cut", "find", "date", "seq"})
_EDITORS = frozenset({"mkdir", "touch", "cp", "mv", "rmdir", "tee"})  # in the mode accept_edits


@dataclass(frozen=True)
class Line:
    """A line that is judged, and by what."""

    text: str
    rules: Rules
    place: Place
    mode: str = "default"

    @cached_property
    def shell(self) -> tuple[list[Rule], list[Rule], list[Rule]]:
        """The rules about commands: deny, ask, allow."""
        deny, ask, allow = ([r for r in listed if r.names("Bash")] for _, listed in self.rules)
        return deny, ask, allow

    @cached_property
    def files(self) -> list[Rule]:
        """The rules that forbid files or ask about them, each by a pattern."""
        listed = (*self.rules.deny, *self.rules.ask)
        return [r for r in listed if r.pattern and (r.tool == "Read" or r.tool in WRITERS)]

    @property
    def parts(self) -> list[Part]:
        """The simple commands in it."""
        found = parsed(self.text, platform=self.place.platform).commands
        return [Part(command, self.place) for command in found]

    def meets(self, rule: Rule, part: Part) -> int:
        """Whether a rule that forbids or asks is about a command."""
        folds = self.place.ignores_case
        return meets(rule.pattern, part.forms, folds=folds, whole=self.text)


def judge_line(line: Line) -> Decision:
    """What rules and mode say about a line: allow, ask, deny, or undecided."""
    parts = line.parts
    decisions = [judge_part(part, line) for part in parts]
    if why := parsed(line.text, platform=line.place.platform).unknown:
        decisions.append(_unknown(why, line.text, line))
    elif not parts:
        code = re.sub(r"(?m)^\s*(#.*)?$", "", line.text).strip()  # without comments
        nothing = not code or code.startswith(("[[", "(("))  # a test or a sum, no program
        decisions.append(Decision("allow", "harmless", "nothing runs") if nothing else UNDECIDED)
    return strictest(*decisions)


def judge_part(part: Part, line: Line) -> Decision:
    """What rules and mode say about one simple command and the files that it opens."""
    text = part.command.text
    decision = _command(part, line)
    if decision.behaviour == "deny":
        return decision
    decision = strictest(decision, *(_use(use, line) for use in part.uses))
    if decision.behaviour != "deny" and line.files:
        decision = strictest(decision, _names(part, line))
    opened = any(use.opened and use.access == "write" for use in part.uses)
    if decision.behaviour == "deny" or line.mode != "plan":
        return decision
    if opened or not _only_reads(part, anywhere=True):
        return Decision("deny", "mode", "in plan mode nothing may be changed", part=text)
    return decision


def _command(part: Part, line: Line) -> Decision:
    """What is said about a command itself, whatever files it opens."""
    text, doubt = part.command.text, None
    deny, ask, allow = line.shell
    for rule in deny:
        found = line.meets(rule, part)
        if found == YES:
            return by_rule("deny", rule, text)
        if found == MAYBE and doubt is None:
            reason = "a rule may forbid it: that is not known before it runs"
            doubt = by_rule("ask", rule, text, reason)
    if part.unknown:
        return _unknown(part.unknown, text, line)
    if doubt:
        return doubt
    for rule in ask:
        if line.meets(rule, part) != NO:
            return by_rule("ask", rule, text)
    for rule in allow:
        if allows(rule.pattern, part.command):
            return by_rule("allow", rule, text)
    return _unruled(part, line)


def _unruled(part: Part, line: Line) -> Decision:
    """What is said about a command that no rule is about."""
    text = part.command.text
    if not part.command.words:
        if _only_reads(part):
            return Decision("allow", "harmless", "it runs no program", part=text)
    elif part.place.readonly_autoallow and _only_reads(part):
        return Decision("allow", "read-only", "it only reads in the workspace", part=text)
    elif line.mode == "accept_edits" and _only_edits(part):
        return Decision("allow", "mode", "edits in the workspace are accepted", part=text)
    if line.mode == "bypass":
        return Decision("allow", "mode", "permissions are bypassed", part=text)
    return Decision("undecided", "default", part=text)


def _unknown(why: str, text: str, line: Line) -> Decision:
    if line.mode == "plan":
        reason = f"in plan mode nothing may be changed, and {why}"
        return Decision("deny", "mode", reason, part=text)
    if line.mode == "bypass" and not line.rules.deny and not line.rules.ask:
        return Decision("allow", "mode", "permissions are bypassed", part=text)
    return Decision("ask", "shell", why, part=text)


def _use(use: Use, line: Line) -> Decision:
    """What is said about a file that a command opens. A command that may run may open it."""
    if use.where is None:
        listed = (*line.rules.deny, *line.rules.ask)
        if bound := file_rules(listed, use.access, "", False):
            why = (
                f"a rule is about files, and which one it {use.access}s is not known before it runs"
            )
            return by_rule("ask", bound[0], use.text, why)
        decision = UNDECIDED
    else:
        decision = judge_file(
            use.where, use.access, line.rules, line.place, part=use.text, below=use.below
        )
    if decision.layer == "protected" and line.mode == "bypass":
        decision = UNDECIDED
    if decision.behaviour != "undecided":
        return decision
    if not use.opened or use.access == "read" or line.mode == "bypass":
        return Decision("allow", "harmless")
    if line.mode == "accept_edits" and use.where and may_edit(use.where, line.place):
        return Decision("allow", "mode", "edits in the workspace are accepted", part=use.text)
    return Decision("undecided", "default", "no rule lets it write there", part=use.text)


def _names(part: Part, line: Line) -> Decision:
    """What is said about a file that a command names, if it is not known what it does with it."""
    for where in part.named:
        for rule in line.files:
            if fits(rule.pattern, where, line.place, generous=True):
                reason = "it names a file that a rule is about"
                return by_rule("ask", rule, part.command.text, reason)
    return Decision("allow", "harmless")


# ------------------------------------------------------------------------ what needs no rule


def _only_reads(part: Part, *, anywhere: bool = False) -> bool:
    """Whether a command does nothing but read in the workspace (``anywhere``: or elsewhere)."""
    if not part.command.words:
        plain = all(harmless(n, w.value, alone=True) for n, w in part.command.assignments)
        return plain and (anywhere or _stays(part))
    argv = part.argv
    if part.unknown or argv is None or part.folder is None or not part.plain:
        return False
    if not reads_only(argv) or (argv[0] == "git" and git_runs_programs(part.folder)):
        return False
    if anywhere:
        return True
    wheres = [part.locate(".")]
    if argv[0] not in TEXT_ONLY | _PATTERNS:
        wheres += map(part.locate, _elsewhere(argv))
    return _stays(part, *wheres)


def _stays(part: Part, *wheres: Located | None) -> bool:
    """Whether what a command reads is in the workspace, or stands in the line itself.

    A file that the shell opens for it to write to is judged apart.
    """
    read = [use.where for use in part.uses if not (use.opened and use.access == "write")]
    known = all(word.value is not None for word in part.command.fed)
    return known and all(
        where is not None and inside(where, part.place) for where in (*read, *wheres)
    )


def _elsewhere(argv: list[str]) -> Iterator[str]:
    """Arguments of a program whose operands are not known that may lead out of the workspace."""
    for word in argv[1:]:
        path = re.sub(r"\A-+[^/~]*", "", word) if word.startswith("-") else word
        for piece in (path, path.partition("=")[2]):
            if piece.startswith(("/", "~")) or ".." in piece.split("/"):
                yield piece


def _only_edits(part: Part) -> bool:
    """Whether a command only makes or copies files in the workspace, none of them protected."""
    argv = part.argv
    if argv is None or argv[0] not in _EDITORS or not part.plain or part.folder is None:
        return False
    words = [word for word in argv[1:] if not word.startswith("-")]
    wheres = [use.where for use in part.uses if not use.opened]
    wheres += map(part.locate, (*words, *_elsewhere(argv)))
    return all(where is not None and may_edit(where, part.place) for where in wheres)
