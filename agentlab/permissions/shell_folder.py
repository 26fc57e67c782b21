"""Where the shell stands: following ``cd`` through a line.

``cd a && rm x`` removes ``a/x``. After ``cd a; rm x`` there are two answers, since the first may
fail: both are kept, and a command that may run in two places is judged for each. What cannot be
known (``cd $X``, ``cd``, ``popd`` without a ``pushd``) is None. Chapter 05.
"""

from __future__ import annotations

import posixpath

from agentlab.permissions.shell_command import Command, Word

Standing = tuple[str | None, ...]  # the folder, the one before it, and those put aside by pushd
Where = tuple[Standing, ...]  # all that are possible; empty: the line does not get there
START: Where = (("", None),)
NOWHERE: Where = ((None, None),)
MOST = 3  # possible folders that are told apart
MOVES = ("cd", "pushd", "popd", ".", "source", "eval")
_HERE = ("time", "command", "builtin")  # wrappers in which a cd is still one of this shell


def join(*ways: Where) -> Where:
    """All places where one may stand that came by one of these ways."""
    places = tuple(dict.fromkeys(standing for way in ways for standing in way))
    return places if len(places) <= MOST else NOWHERE


def after(command: Command, where: Where) -> tuple[Where, Where]:
    """Where the shell stands after the command, if it succeeded and if it failed."""
    wrappers = [wrapper.split()[0] for wrapper in command.wrapped_by]
    failed = where if command.redirects else ()  # a redirection that fails keeps the shell alive
    if "exec" in wrappers:
        return (), failed
    if not command.words or any(wrapper not in _HERE for wrapper in wrappers):
        return where, where
    program = command.program
    if program is None or command.words[0].glob or program in (".", "source"):
        return NOWHERE, NOWHERE
    if program == "exit" and _one_word(command.words[1:]):
        return (), failed
    if program in ("cd", "pushd", "popd"):
        return join(tuple(_moved(command, standing) for standing in where)), where
    return where, where


def _one_word(words: tuple[Word, ...]) -> bool:
    """Whether it is one argument at most: with more, exit only complains."""
    known = ("$?", '"$?"')
    return len(words) < 2 and all(
        word.text in known or (word.value is not None and not word.glob) for word in words
    )


def _moved(command: Command, standing: Standing) -> Standing:
    here, before, *stack = standing
    words = command.words[1:]
    if command.program == "popd":
        return (stack[0], here, *stack[1:]) if stack and not words else (None, None)
    options = [
        word.value for word in words if (word.value or "").startswith("-") and word.value != "-"
    ]
    target = words[-1] if len(words) == 1 + len(options) else None
    if target is None or target.value is None or target.glob or set(options) - {"--", "-L", "-e"}:
        return (None, None)
    if target.value == "-" and command.program == "cd":
        return (before, here, *stack)
    if target.value[:1] in ("~", "+", "-"):
        return (None, None)
    if target.value.startswith("/"):
        there: str | None = posixpath.normpath("/" + target.value.lstrip("/"))
    elif here is None:
        there = None
    else:
        there = posixpath.normpath(posixpath.join(here, target.value))
        there = "" if there == "." else there
    return (there, here, *([here] if command.program == "pushd" else []), *stack)
