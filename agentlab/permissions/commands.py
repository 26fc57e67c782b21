"""Whether a rule such as ``Bash(git push:*)`` is about a simple command.

Comparing the beginning of a text does not do: ``rm -fr`` is ``rm -rf``, ``git -C x push`` is a
push, ``/bin/rm`` is rm, and ``"git status"`` is no git. So words are compared (`comparing`).

`meets`, for ``deny`` and ``ask``, is generous. Every form of the command is tried: with and without
assignments and wrappers, the program without its folder, the subcommand without the options before
it; options are a set, in any order and spelling. If a word is not known before the command runs,
the answer may be MAYBE, which is a reason to ask. `allows` is narrow: the program as typed, only
known words up to the end of the prefix, and only harmless assignments in front. Aliases that git or
the shell were given elsewhere are not known here. Built in chapter 05.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from agentlab.permissions.comparing import (
    MAYBE,
    NO,
    YES,
    Values,
    compare,
    plain_name,
    without_globals,
)
from agentlab.permissions.shell import Command

# Variables that change how something is shown, never what runs. A value is no path from the root.
_HARMLESS = re.compile(
    r"(?:NODE_ENV|CI|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR"
    r"|CLICOLOR_FORCE|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|RUST_BACKTRACE"
    r"|DEBIAN_FRONTEND|GIT_TERMINAL_PROMPT)=(?!.*\.\.)([A-Za-z0-9_][\w.,:@+/-]*)?",
    re.ASCII,
)

# Programs that run what stands behind them, some after a word of their own, or code in an argument.
# An allow rule for them is meant for that; a deny or ask rule about a word in it asks.
_RUN_WORDS = set(
    """npx bunx uvx pipx valgrind gdb perf hyperfine xvfb-run rlwrap entr dotenv direnv op faketime
    proxychains torify dbus-run-session cgexec firejail bwrap""".split()  # noqa: SIM905
)
_RUN_AFTER_A_WORD = set(
    """uv poetry pipenv pdm hatch rye conda mamba micromamba npm yarn pnpm bun bundle docker podman
    nerdctl kubectl oc lxc mise asdf nix vagrant heroku flatpak aws-vault doppler""".split()  # noqa: SIM905
)
_RUN_CODE = set(
    """awk gawk mawk nawk sed perl python python2 python3 pypy pypy3 node deno ruby php lua tclsh
    make gmake pwsh powershell cmd osascript R Rscript""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Pattern:
    """What stands in the parentheses of a rule for Bash; ``text``, if it holds a ``*``."""

    kind: Literal["all", "prefix", "exact", "text"]
    body: str = ""
    words: tuple[str, ...] = ()
    text: re.Pattern[str] | None = None


@dataclass(frozen=True)
class Forms:
    """Everything that a command may be called: as typed, as texts without quotes, as words."""

    typed: tuple[str, ...]
    texts: tuple[str, ...]
    words: tuple[Values, ...]
    inside: frozenset[str] = frozenset()  # of what it is given to run, for programs that run things


@lru_cache(maxsize=1024)
def pattern_of(written: str, folds: bool = False) -> Pattern:
    """A pattern as written, taken apart."""
    if written in ("", "*", ":*"):
        return Pattern("all")
    prefix = written.endswith((":*", " *")) and not written.endswith("\\ *")
    body = (written[:-2] if prefix else written).strip()
    words = tuple(_split(body))
    if not re.search(r"(?<!\\)\*", body):
        return Pattern("prefix" if prefix else "exact", body, words)
    parts = [part.replace("\\*", "*") for part in re.split(r"(?<!\\)\*", body)]
    expression = ".*".join(map(re.escape, parts)) + (r"(?:[ \t\n].*)?" if prefix else "")
    flags = re.DOTALL | (re.IGNORECASE if folds else 0)
    return Pattern("text", body, words, re.compile(expression, flags))


def forms(command: Command, may_be_option: Callable[[str], bool]) -> Forms:
    """All forms of a command. ``may_be_option``: whether a pattern for names may give an option."""
    values: Values = tuple(
        None if word.glob and may_be_option(word.value or "") else word.value
        for word in command.words
    )
    if command.words and command.words[0].glob:
        values = (None, *values[1:])
    plain = " ".join(word.text for word in command.words)
    typed = dict.fromkeys((command.text, plain, " ".join((*command.wrapped_by, plain))))
    found: dict[Values, None] = {}
    for wrappers in range(len(command.wrapped_by) + 1):
        outer = " ".join(command.wrapped_by[wrappers:]).split()
        _add_forms(found, (*outer, *values))
    known = tuple(word.value or word.text for word in command.words)
    texts = [" ".join("$" if w is None else w for w in words) for words in (known, *found)]
    return Forms(
        tuple(typed), tuple(dict.fromkeys((*typed, *texts))), tuple(found), _inside(command)
    )


def _inside(command: Command) -> frozenset[str]:
    """The words in what a program is given to run, if it is one that runs what it is given."""
    name = plain_name(command.program or "")
    if name in _RUN_WORDS or name in _RUN_CODE:
        first = 1
    elif name in _RUN_AFTER_A_WORD:
        first = 2
    else:
        return frozenset()
    return frozenset(
        re.findall(r"[^\s\"'`;|&(),$]+", " ".join(w.text for w in command.words[first:]))
    )


def _add_forms(found: dict[Values, None], words: Values) -> None:
    if not words:
        return
    name = None if words[0] is None else plain_name(words[0])
    found[words] = None
    found[(name, *words[1:])] = None
    if name == "git":
        found[("git", *without_globals(words[1:]))] = None


def meets(written: str, command: Forms, *, folds: bool = False, whole: str = "") -> int:
    """Whether a ``deny`` or ``ask`` rule is about a command: NO, MAYBE or YES.

    ``folds``: letter case does not matter. ``whole``: the line that the command stands in; a
    pattern with an operator in it (``curl * | sh``) can only be about that.
    """
    pattern = pattern_of(written, folds)
    if pattern.kind == "all":
        return YES
    if re.search("[|&;]", written) and _stands_in(pattern, whole):
        return YES
    if pattern.text:
        if any(pattern.text.fullmatch(text) for text in command.texts):
            return YES
    elif any(_begins(text, pattern) for text in command.typed):
        return YES
    exact = pattern.kind == "exact"
    found = (compare(pattern.words, words, exact=exact, folds=folds) for words in command.words)
    inside = bool(pattern.words) and command.inside.issuperset(pattern.words)
    return min(max(found, default=NO), MAYBE if pattern.text else YES) or (MAYBE if inside else NO)


def harmless(name: str, value: str | None, *, alone: bool = False) -> bool:
    """Whether an assignment cannot change what a command in the same line runs.

    ``alone``: it stands before no command, so that only variables which programs already have
    reach them. Those have names in capitals, as a rule, or are about proxies or npm.
    """
    if alone and re.fullmatch(r"(?!npm_)(?!.*_proxy)[a-z_][a-z0-9_]*", name):
        return True
    return value is not None and bool(_HARMLESS.fullmatch(f"{name}={value}"))


def allows(written: str, command: Command) -> bool:
    """Whether an ``allow`` rule covers a command."""
    words = command.words
    if command.unknown or not words or words[0].value is None or words[0].glob:
        return False
    pattern = pattern_of(written)
    if pattern.kind == "all":
        return True
    if any(word.value is None for _, word in command.assignments):
        return False
    if all(re.match(r"\w+=", word) for word in pattern.words):  # it names no program
        return False
    sets = [f"{name}={word.value}" for name, word in command.assignments]
    if all(harmless(name, word.value) for name, word in command.assignments):
        sets = []
    values = [*sets, *(word.value for word in words)]
    if pattern.text:
        known = [value for value in values if value is not None]
        typed = [*sets, *(word.text for word in words)]
        return len(known) == len(values) and all(
            pattern.text.fullmatch(" ".join(texts)) for texts in (typed, known)
        )
    size = len(pattern.words)
    if tuple(values[:size]) != pattern.words:
        return False
    return pattern.kind == "prefix" or len(values) == size


def _stands_in(pattern: Pattern, line: str) -> bool:
    return bool(pattern.text.search(line)) if pattern.text else pattern.body in line


def _begins(text: str, pattern: Pattern) -> bool:
    """Whether a text is the pattern, or for a prefix the pattern, a blank and more."""
    if text == pattern.body:
        return True
    rest = text.removeprefix(pattern.body)
    return pattern.kind == "prefix" and rest != text and rest[0] in " \t\n"


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
