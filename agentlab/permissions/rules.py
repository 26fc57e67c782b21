"""Rules: what may be done, in a line each, as people write them in settings files.

A rule is the name of a tool and, in parentheses, which of its calls. There are three lists. A call
is looked up in ``deny`` first, then in ``ask``, then in ``allow``, and the first list with a match
decides: a narrow allow never beats a broad deny. What a pattern matches is in `commands` for the
shell, in `patterns` for files and in `hosts` for addresses. A rule that makes no sense is an error:
an agent that starts with fewer rules than were written is worse than one that does not start.

    Bash(p:*)   p, or p and a blank and anything; the same as Bash(p *)
    Bash(x)     exactly x; a * elsewhere stands for any text, over several words and lines too
    Read(x)     what reads: Read, Grep, Glob, LS, and readers in the shell (cat, head ...)
    Edit(x)     what writes: Edit, Write, and redirections and writers in the shell (cp, mv ...)
    Write(x)    in ``allow`` the tool Write alone; in ``deny`` and ``ask`` the same as Edit
    mcp__s      all tools of the server s; a * in the name of a tool stands for any text
    Other(x)    another tool: one of its text arguments fits x (in ``allow``: all of them do);
                Other(name:x): the argument of that name does

The form is the widely used one (code.claude.com/docs/en/permissions, as quoted in 2026), with
what it leaves open decided here: matching is generous in ``deny`` and ``ask`` and narrow in
``allow``. Built in chapter 05.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from agentlab.permissions.hosts import wrong_host
from agentlab.permissions.patterns import wrong_pattern

READERS = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead"})
WRITERS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_FORM = re.compile(r"(?P<tool>[\w*./:-]+)(?:\((?P<pattern>.*)\))?", re.DOTALL)


class RuleError(ValueError):
    """A rule that makes no sense; the message names it and says why."""


@dataclass(frozen=True)
class Rule:
    """One rule. ``pattern`` is empty for a bare tool name; ``source`` says where it stands."""

    tool: str
    pattern: str = ""
    source: str = "code"

    @classmethod
    def parse(cls, text: str, source: str = "code") -> Rule:
        """The rule that a text says. Raises RuleError if it makes no sense."""
        if not isinstance(text, str):
            raise RuleError(f"{text!r} is no rule: a rule is a text such as 'Bash(git status:*)'")
        found = _FORM.fullmatch(text.strip())
        if not found:
            raise RuleError(f"{text!r} is no rule: write a tool, or Tool(pattern)")
        tool, pattern = found["tool"], (found["pattern"] or "").strip()
        if wrong := _misspelt(tool) or (found["pattern"] is not None and _wrong(tool, pattern)):
            raise RuleError(f"{text!r} makes no sense: {wrong}")
        return cls(tool, pattern, source)

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool

    @property
    def placed(self) -> str:
        """The rule and where it stands, for people: ``Bash(git:*) in .agentlab/settings.json``."""
        return f"{self} in {self.source}"

    def names(self, tool: str) -> bool:
        """Whether the rule is about a tool of this name."""
        return self.tool == tool or bool(_tools(self.tool).fullmatch(tool))


@dataclass(frozen=True)
class Rules:
    """Three lists of rules; the order in which they are asked is deny, ask, allow."""

    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    allow: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        for rule in (*self.deny, *self.ask, *self.allow):
            if not isinstance(rule, Rule):
                raise TypeError(f"{rule!r} is no Rule; to make rules from texts: Rules.of(...)")

    @classmethod
    def of(
        cls,
        *,
        deny: Iterable[str] = (),
        ask: Iterable[str] = (),
        allow: Iterable[str] = (),
        source: str = "code",
    ) -> Rules:
        """Rules from texts. Raises RuleError for one that makes no sense."""
        return cls(*(tuple(Rule.parse(t, source) for t in texts) for texts in (deny, ask, allow)))

    def __add__(self, other: Rules) -> Rules:
        return Rules(self.deny + other.deny, self.ask + other.ask, self.allow + other.allow)

    def __iter__(self) -> Iterator[tuple[str, tuple[Rule, ...]]]:
        yield from (("deny", self.deny), ("ask", self.ask), ("allow", self.allow))

    def __str__(self) -> str:
        texts = (f"{name}: {', '.join(map(str, rules))}" for name, rules in self if rules)
        return "; ".join(texts) or "no rules"


@lru_cache(maxsize=1024)
def _tools(name: str) -> re.Pattern[str]:
    """The names of tools that a name in a rule stands for."""
    expression = ".*".join(map(re.escape, name.split("*")))
    server = re.fullmatch(r"mcp__[^*]+?", name) and name.count("__") == 1
    return re.compile(expression + ("(?:__.+)?" if server else ""), re.DOTALL)


def _misspelt(tool: str) -> str | None:
    """Why a name is that of no tool, if only its case is wrong: such a rule would do nothing."""
    right = {name.casefold(): name for name in (*READERS, *WRITERS, "Bash", "WebFetch")}
    name = right.get(tool.casefold(), tool)
    return None if name == tool else f"the tool is called {name}"


def _wrong(tool: str, pattern: str) -> str | None:
    """Why a pattern makes no sense for a tool, or None."""
    if not pattern:
        return (
            "there is nothing between the parentheses (a bare tool name stands for all its calls)"
        )
    if "*" in tool:
        return "a tool with a * in its name takes no pattern"
    if "\0" in pattern:
        return "it holds a NUL character"
    if tool == "Bash":
        return "':*' stands only at the end" if ":*" in pattern[:-1] else None
    if tool in READERS | WRITERS:
        return wrong_pattern(pattern)
    if tool == "WebFetch":
        return wrong_host(pattern)
    return None
