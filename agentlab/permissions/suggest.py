"""What a user is shown about a call, and the narrowest rule that would allow more of its kind.

A person who is asked must see what will run. So nothing in the text stays invisible: control
characters, those that turn the direction of writing, those without width and strange blanks are
written out, and long runs of blanks become a count, because they push what follows out of sight.

"Always for this class" is the most dangerous button of a harness. What it saves is decided here:
for a program that only checks or prints its prefix, for one with subcommands the prefix with the
subcommand, and for whatever can do anything (interpreters, shells, wrappers, rm, curl) the exact
command or nothing. Never a keyword, never several lines, nothing for a protected file. Chapter 06.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agentlab.permissions.hosts import hosts
from agentlab.permissions.judge_files import Access, judge_file
from agentlab.permissions.judge_shell import Line, judge_part
from agentlab.permissions.opened import Part, parsed
from agentlab.permissions.paths import Located, Place, inside, locate, protected
from agentlab.permissions.rules import RuleError, Rules

MAX_EXACT = 200  # characters of a command that is saved as it is
_BLANK_LOOKING = set("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SEEN = {"\n", "\t", " "}
# Programs that check or print. Readers are not among them: in the workspace they need no rule, and
# elsewhere a prefix would open every file.
_PLAIN = frozenset(
    {
        "pytest", "mypy", "pyright", "ruff", "flake8", "eslint", "tsc", "jest", "vitest", "echo",
        "printf",
    }
)  # fmt: skip
# Programs with subcommands; those listed can run or change anything, and are saved exactly.
_SUBCOMMANDS: dict[str, frozenset[str]] = {
    "git": frozenset({"config", "submodule", "bisect", "filter-branch", "difftool"}),
    "npm": frozenset({"exec", "x", "config"}), "pnpm": frozenset({"exec", "dlx"}),
    "yarn": frozenset({"exec", "dlx", "node"}), "cargo": frozenset({"run"}),
    "go": frozenset({"run", "generate"}), "pip": frozenset({"config"}),
    "docker": frozenset({"run", "exec"}), "kubectl": frozenset({"exec", "run", "delete"}),
    "uv": frozenset({"run"}), "poetry": frozenset({"run"}), "gh": frozenset({"api", "alias"}),
    "make": frozenset(), "just": frozenset(), "bundle": frozenset({"exec"}),
    "apt": frozenset(), "apt-get": frozenset(), "brew": frozenset(), "systemctl": frozenset(),
}  # fmt: skip
_DEEPER = {("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("docker", "compose"), ("gh", "pr")}


# --------------------------------------------------------------------------------------- showing


def visible(text: str) -> str:
    """A text in which nothing is hidden: escapes for what cannot be seen, counts for long gaps."""
    text = re.sub(r"\n(?:[ \t]*\n){3,}", _blank_lines, text)
    text = re.sub(r"[ \t]{9,}", lambda found: f"[{len(found[0])} blanks]", text)
    return "".join(one if one in _SEEN or _is_seen(one) else _escape(one) for one in text)


def describe_input(tool: str, input: Any, place: Place) -> tuple[str, tuple[str, ...]]:
    """The input as text, and the parts that it consists of."""
    command = input.get("command") if isinstance(input, dict) else None
    if tool == "Bash" and isinstance(command, str):
        return visible(command), tuple(map(visible, _parts(command, place)))
    try:
        text = json.dumps(input, ensure_ascii=False, indent=2, default=str)
    except (TypeError, ValueError, RecursionError):
        text = repr(input)
    return visible(text), ()


def _parts(command: str, place: Place) -> Iterator[str]:
    for part in Line(command, Rules(), place).parts:
        yield part.command.text
        for redirect in part.command.redirects:
            yield f"{redirect.operator} {redirect.target.text}"
    if why := parsed(command, platform=place.platform).unknown:
        yield f"(the rest cannot be read: {why})"


def _is_seen(one: str) -> bool:
    if one in _BLANK_LOOKING or "\ufe00" <= one <= "\ufe0f":
        return False
    return unicodedata.category(one) not in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs")


def _escape(one: str) -> str:
    number = ord(one)
    letter, width = ("x", 2) if number < 256 else ("u", 4) if number < 65536 else ("U", 8)
    return f"\\{letter}{number:0{width}x}"


def _blank_lines(found: re.Match[str]) -> str:
    return f"\n[{found[0].count(chr(10)) - 1} blank lines]\n"


# ------------------------------------------------------------------------------------ suggesting


def suggest_rules(
    tool: str, input: dict[str, Any], path: Any, access: Access | None, rules: Rules, place: Place
) -> tuple[str, ...]:
    """What "always for this class" would add: a rule for each part that has none, or nothing."""
    if tool == "Bash":
        command = input.get("command")
        found = list(_for_command(command, rules, place)) if isinstance(command, str) else []
    elif tool == "WebFetch":
        named = hosts(input["url"]) if isinstance(input.get("url"), str) else set()
        found = [f"WebFetch(domain:{host})" for host in named] if len(named) == 1 else []
    elif access and isinstance(path, str) and "\0" not in path:
        found = [_for_file(locate(path, place), access, place)]
    else:
        found = [tool]
    return tuple(dict.fromkeys(rule for rule in found if _makes_sense(rule)))


def _for_command(command: str, rules: Rules, place: Place) -> Iterator[str]:
    line = Line(command, rules, place)
    for part in line.parts:
        if judge_part(part, line).behaviour in ("allow", "deny"):
            continue
        words = part.command.words
        alone = Part(replace(part.command, redirects=()), place)
        if words and judge_part(alone, line).behaviour != "allow":
            yield _for_part(part)
        for use in part.uses:
            if use.opened and use.access == "write" and use.where is not None:
                found = judge_file(use.where, "write", rules, place)
                if found.behaviour == "undecided":
                    yield _for_file(use.where, "write", place, exact=True)


def _for_part(part: Part) -> str:
    command = part.command
    values = [word.value for word in command.words]
    program = values[0] or ""
    if part.unknown or not part.plain or not re.fullmatch(r"[\w.+-]+", program):
        return _exact(part)
    first = values[1] if len(values) > 1 else None
    if program in _PLAIN:
        return f"Bash({program}:*)"
    if program in _SUBCOMMANDS and first and _is_name(first):
        if first in _SUBCOMMANDS[program]:
            return _exact(part)
        second = values[2] if len(values) > 2 else None
        if (program, first) in _DEEPER:
            return f"Bash({program} {first} {second}:*)" if _is_name(second) else _exact(part)
        return f"Bash({program} {first}:*)"
    return _exact(part)


def _exact(part: Part) -> str:
    """The command as it is, if a rule can say exactly that; else nothing."""
    command = part.command
    text = " ".join(word.text for word in command.words)
    known = not part.unknown and part.plain and command.argv is not None
    if not known or len(text) > MAX_EXACT or any(word.glob for word in command.words):
        return ""
    if "*" in text or "\n" in text or visible(text) != text or text != text.strip():
        return ""
    return f"Bash({text})"


def _for_file(where: Located, access: Access, place: Place, *, exact: bool = False) -> str:
    name = "Read" if access == "read" else "Edit"
    real = where.real
    if real is None or real != where.typed or (access == "write" and protected(where, place)):
        return ""
    root = place.workspace.replace("\\", "/")
    if not inside(where, place):
        return f"{name}({_literal('/' + real if real.startswith('/') else real)})"
    below = real[len(root) + 1 :]
    folder, _, _ = below.rpartition("/")
    if folder and not exact:
        return f"{name}({_literal(folder)}/**)"
    return f"{name}(./{_literal(below)})" if below else ""


def _literal(path: str) -> str:
    return re.sub(r"([*?\[{\\])", r"\\\1", path)


def _is_name(word: str | None) -> bool:
    return word is not None and bool(re.fullmatch(r"[a-z][\w:.-]*", word, re.ASCII))


def _makes_sense(rule: str) -> bool:
    if not rule or "\n" in rule:
        return False
    try:
        Rules.of(allow=[rule])
    except RuleError:
        return False
    return True
