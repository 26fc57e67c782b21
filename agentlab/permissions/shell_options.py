"""Options of a program, read as most programs read them.

``-rf`` is ``-r -f``; ``-ofile`` is ``-o file``; ``--outp=x`` means ``--output=x`` if nothing else
begins like that; ``--`` ends the options. One small reader for all that ask what a command does
(POSIX Utility Syntax Guidelines, and getopt_long of the GNU C library manual, October 2025).
Chapter 05.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """``given``: names (``-o``, ``--output`` as typed) with their values. ``operands``: the rest.

    ``first`` is the index of the first operand, where a wrapped command would begin.
    """

    given: tuple[tuple[str, str | None], ...]
    operands: tuple[str, ...]
    first: int

    def has(self, letters: str = "", *longs: str) -> bool:
        """Whether one of them is given: short ones by letter, long ones also when shortened."""
        return any(self.named(name, letters, *longs) for name, _ in self.given)

    def values(self, letters: str = "", *longs: str) -> list[str]:
        """The values given with them."""
        return [
            value for name, value in self.given
            if value is not None and self.named(name, letters, *longs)
        ]  # fmt: skip

    @staticmethod
    def named(name: str, letters: str, *longs: str) -> bool:
        """Whether the option ``name`` is, or may be short for, one of those."""
        if name.startswith("--"):
            return any(long.startswith(name) for long in longs)
        return name[1:] in letters or name in longs


def options(args: Sequence[str], valued: str = "", *longs: str, stop: bool = False) -> Options:
    """Read ``args`` (without the program).

    ``valued`` are the letters, ``longs`` the long names that take a value. ``stop``: the options
    end at the first operand, as for programs that run another; else operands may be between them.
    """
    given: list[tuple[str, str | None]] = []
    operands: list[str] = []
    at, first = 0, -1
    while at < len(args):
        arg = args[at]
        at += 1
        if arg == "--":
            first = at if first < 0 else first
            operands += args[at:]
            break
        if arg.startswith("--"):
            name, equals, value = arg.partition("=")
            if not equals and any(long.startswith(name) for long in longs):
                value, at = (args[at] if at < len(args) else ""), at + 1
                equals = "="
            given.append((name, value if equals else None))
        elif arg.startswith("-") and len(arg) > 1:
            at = _cluster(arg, args, at, valued, longs, given)
        else:
            first = at - 1 if first < 0 else first
            operands.append(arg)
            if stop:
                break
    return Options(tuple(given), tuple(operands), len(args) if first < 0 else first)


def _cluster(
    arg: str, args: Sequence[str], at: int, valued: str, longs: tuple[str, ...],
    given: list[tuple[str, str | None]],
) -> int:  # fmt: skip
    """One argument with short options; gives the index of what follows."""
    if arg in longs:  # -name value, with one dash
        given.append((arg, args[at] if at < len(args) else ""))
        return at + 1
    for place, letter in enumerate(arg[1:], 2):
        if letter not in valued:
            given.append((f"-{letter}", None))
        elif arg[place:]:
            given.append((f"-{letter}", arg[place:]))
            break
        else:
            given.append((f"-{letter}", args[at] if at < len(args) else ""))
            return at + 1
    return at
