"""Whether a rule such as ``Edit(src/**)`` is about a path.

A pattern is a path with wildcards, and it is made a regular expression over absolute paths:

    src/**  ./src  /src  relative to the workspace; a folder stands for all that is in it
    .env    *.pem        a bare name: at any depth, as in a .gitignore file
    ~/x     //x          in the home folder; an absolute path (on Windows also C:\\x)
    * ? [a-z] {a,b} **   text within a name, one character, one of these, either, any folders

A ``deny`` or ``ask`` rule matches *generously*: the path as typed or as resolved, and one that
leads nowhere; a bare name outside the workspace too. An ``allow`` rule matches *narrowly*: the path
must fit both as typed and as resolved. Built in chapter 05.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from itertools import islice

from agentlab.permissions.paths import (
    MAGIC,
    Located,
    Place,
    fold,
    forget_links,
    plain,
    resolved,
    slashes,
    walk,
    within,
)

MAX_WALKED = 5_000  # entries of a folder, to see whether something in it fits a rule
_GROUP = re.compile(r"\[[!^]?\]?[^\]]*\]")
_BELOW = "(?:/.*)?"


def wrong_pattern(pattern: str) -> str | None:
    """Why a pattern for files makes no sense, or None."""
    if pattern.startswith("!"):
        return "exceptions with ! are not supported: write what is meant, deny goes before allow"
    if re.search(r"\[[^\]]*$", pattern) and not re.search(r"\\\[[^\]]*$", pattern):
        return "a [ is not closed"
    return None


def fits(pattern: str, where: Located, place: Place, *, generous: bool) -> bool:
    """Whether a pattern is about a path; an empty pattern is about all of them."""
    if not pattern or (generous and where.real is None):
        return True
    if where.real is None:
        return False
    test = _test(pattern, place, generous)
    if where.real == where.typed:
        return bool(test.fullmatch(where.typed))
    typed, real = bool(test.fullmatch(where.typed)), bool(test.fullmatch(where.real))
    return typed or real if generous else typed and real


def forget() -> None:
    """Look at the disk anew: where links lead counts for one judgement only."""
    forget_links()
    _test.cache_clear()


def holds(pattern: str, folder: Located, place: Place, *, hidden: bool = True) -> bool:
    """Whether a pattern may be about something in a folder: looked up, and if in doubt yes.

    ``hidden``: also about what is hidden there, by a dot before its name.
    """
    real = folder.real
    if not place.native or real is None or not os.path.isdir(real):
        return False
    for base, rest, _ in _alternatives(pattern, place, True):
        seen = hidden or "/." not in base.removeprefix(real)
        if base.startswith(f"{real}/") and os.path.lexists(base):
            if seen:
                return True
            continue
        if rest != _BELOW and (not base or within(real, base)):
            below = islice(walk(real, hidden), MAX_WALKED + 1)
            test = _test(pattern, place, True)
            for count, path in enumerate(below):
                if count == MAX_WALKED or test.fullmatch(fold(path, place)):
                    return True
    return False


def has_links(folder: Located, place: Place) -> bool:
    """Whether there is a link in a folder; of a very large one this is assumed."""
    real = folder.real
    if not place.native or real is None or not os.path.isdir(real):
        return False
    below = enumerate(islice(walk(real, True), MAX_WALKED + 1))
    return any(count == MAX_WALKED or os.path.islink(path) for count, path in below)


def exactly(pattern: str, where: Located, place: Place) -> bool:
    """Whether a pattern is the name of this one file: only such a rule allows what is protected."""
    if not pattern or MAGIC.search(pattern) or where.real != where.typed:
        return False
    return [base for base, *_ in _alternatives(pattern, place, False)] == [where.typed]


@lru_cache(maxsize=1024)
def _test(pattern: str, place: Place, generous: bool) -> re.Pattern[str]:
    """The expression for a pattern: as written, or with the links in its folders resolved."""
    tests = []
    for base, rest, test in _alternatives(pattern, place, generous):
        tests.append(test)
        real = resolved(base) if base and place.native else base
        if not real or (real := fold(real, place)) == base:
            continue
        root = fold(place.workspace, place)  # a link out of it may have been put there by a call
        if generous or within(real, root) or not within(base, root):
            tests.append(_expression(real, rest))
    return _either(tuple(tests))


@lru_cache(maxsize=1024)
def _either(tests: tuple[re.Pattern[str], ...]) -> re.Pattern[str]:
    whole = "|".join(f"(?:{test.pattern})" for test in tests)
    return tests[0] if len(tests) == 1 else re.compile(whole, re.DOTALL)


@lru_cache(maxsize=1024)
def _alternatives(
    pattern: str, place: Place, generous: bool
) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """For each way to read the braces: the folders before a wildcard, the rest, the test."""
    return tuple(_alternative(one, place, generous) for one in _braces(pattern))


def _alternative(pattern: str, place: Place, generous: bool) -> tuple[str, str, re.Pattern[str]]:
    pattern = slashes(pattern, place)
    root = slashes(place.workspace, place)
    drive = place.windows and re.match(r"/?/?([a-zA-Z]):?/", pattern)
    if pattern == "~" or pattern.startswith("~/"):
        path = slashes(place.home, place) + pattern[1:]
    elif drive and (pattern[1] == ":" or pattern.startswith("//")):
        path = f"{drive[1]}:/{pattern[drive.end() :]}"
    elif pattern.startswith("//"):
        path = pattern[1:]
    else:
        bare = pattern.rstrip("/").removeprefix("**/")
        anywhere = "/" not in bare and bare not in ("", ".", "..", "**")
        above = "" if anywhere and generous else root
        path = f"{above}/**/{bare}" if anywhere else f"{root}/{pattern.lstrip('/')}"
    parts = fold(path, place).rstrip("/").split("/")
    first = next((i for i, part in enumerate(parts) if MAGIC.search(part)), len(parts))
    base = plain("/".join(parts[:first]) or "/") if first > 1 or parts[0] else ""
    folder = generous or not MAGIC.search(parts[-1])
    rest = _translated(parts[first:], _BELOW if base else "(?:.*)?") + (_BELOW if folder else "")
    return base, rest, _expression(base, rest)


@lru_cache(maxsize=4096)
def _expression(base: str, rest: str) -> re.Pattern[str]:
    return re.compile(re.escape(base if base != "/" else "") + rest, re.DOTALL)


def _translated(parts: list[str], first: str) -> str:
    """Names with wildcards as a regular expression; ``first`` is what ``**`` is at the start."""
    done = ""
    for part in parts:
        done += (_BELOW if done else first) if part == "**" else "/" + _name(part)
    return done


def _name(part: str) -> str:
    done, at = "", 0
    while at < len(part):
        one = part[at]
        group = _GROUP.match(part, at)
        if one == "*":
            done += "[^/]*"
        elif one == "?":
            done += "[^/]"
        elif one == "[" and group:
            inner = group[0][1:-1].replace("\\", "\\\\").replace("[", "\\[")
            negated = inner[:1] in ("!", "^")
            done += f"(?!/)[{'^' if negated else ''}{inner[negated:]}]"
            at = group.end() - 1
        elif one == "\\" and at + 1 < len(part):
            at += 1
            done += re.escape(part[at])
        else:
            done += re.escape(one)
        at += 1
    return done


def _braces(pattern: str) -> list[str]:
    """``a.{b,c}`` is ``a.b`` and ``a.c``."""
    found = re.search(r"\{([^{}/]*,[^{}/]*)\}", pattern)
    if not found:
        return [pattern]
    before, after = pattern[: found.start()], pattern[found.end() :]
    return [one for text in found[1].split(",") for one in _braces(before + text + after)]
