"""Comparing the words of a command with those of a rule, generously.

For ``deny`` and ``ask`` rules: options are a set, in any order and however they are spelt
(``-rf``, ``-f -r``, ``--recursive --force``, ``--recurs``), operands count in their order, options
that git takes before its subcommand do not count, and a path may be written in any way. If a word
is not known before the command runs, or may be the value of an option, the answer may be MAYBE.

It knows a few programs by name, those that people write such rules about. Built in chapter 05.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

NO, MAYBE, YES = 0, 1, 2
Values = tuple[str | None, ...]  # the words of a command; None: not known before it runs

# Options of git itself that take a value (its manual, 2026).
_GIT_VALUED = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"}
)
# Long options and the letters that mean the same (the programs' manuals, 2026).
_LONG = {
    "rm": {"recursive": "r", "force": "f", "dir": "d"},
    "cp": {"recursive": "r", "force": "f"},
    "chmod": {"recursive": "R"},
    "chown": {"recursive": "R"},
    "git": {"force": "f", "delete": "d"},
    "curl": {"request": "X", "data": "d", "upload-file": "T", "output": "o", "form": "F"},
    "sed": {"in-place": "i"},
    "npm": {"global": "g"},
}
_LETTERS = {"rm": {"R": "r"}, "cp": {"R": "r"}}
_WHOLE = frozenset({"find", "java", "openssl", "terraform", "go", "ffmpeg"})  # -name is one option


def compare(wanted: Sequence[str], words: Values, *, exact: bool, folds: bool) -> int:
    """Whether the words of a command begin with those of a rule (``exact``: are those)."""
    if not words or words[0] is None:
        return MAYBE if words else NO
    program = plain_name(wanted[0]) if wanted else ""
    if not _same(program, words[0], folds):
        return NO
    flags = [word for word in wanted[1:] if _is_option(word)]
    operands = [word for word in wanted[1:] if not _is_option(word) and word != "*"]
    options = _options(words)
    found = _follow(operands, words, folds, exact)
    found = min(found, _have(flags, options, program, None in words))
    if exact and not _covered(options, flags, program):
        return min(found, MAYBE if len(wanted) > 1 else NO)
    return found if exact else max(found, _bound(wanted[1:], words, program, folds))


@lru_cache(maxsize=2048)
def plain_name(program: str) -> str:
    """``/bin/rm``, ``RM.EXE``: the name that a program is known by."""
    name = re.split(r"[/\\]", program)[-1]
    return re.sub(r"\.(exe|com|cmd|bat)\Z", "", name, flags=re.IGNORECASE) or program


def _follow(operands: Sequence[str], words: Values, folds: bool, exact: bool = False) -> int:
    """Whether the operands begin with these. A word after an option may be its value."""
    certain, at, maybe_value, options_end = YES, 0, False, False
    for word in words[1:]:
        if at == len(operands) and not exact:
            break
        if word is None:
            return MAYBE
        if word == "--" and not options_end:
            options_end = True
        elif _is_option(word) and not options_end:
            maybe_value = "=" not in word
        elif at < len(operands) and _same(operands[at], word, folds):
            at, maybe_value = at + 1, False
        elif maybe_value:
            certain, maybe_value = MAYBE, False
        else:
            return NO
    return certain if at == len(operands) else NO


def _have(flags: Sequence[str], options: list[str], program: str, unknown: bool) -> int:
    """Whether all flags of a rule are among the options of a command, however they are spelt."""
    have = {letter for option in options for letter in _letters(option, program)}
    for flag in flags:
        need = _letters(flag, program)
        if flag in options or need <= have or any(fnmatchcase(one, flag) for one in options):
            continue
        short = [one for one in have if one.startswith("--") and flag.startswith(one)]
        if not short:  # an option may be cut short: --recurs
            return MAYBE if unknown else NO
    return YES


def _covered(options: list[str], flags: list[str], program: str) -> bool:
    allowed = {letter for flag in flags for letter in _letters(flag, program)}
    return all(_letters(option, program) <= allowed for option in options)


def _bound(wanted: Sequence[str], words: Values, program: str, folds: bool) -> int:
    """The same, with a word after an option of the rule taken for its value: ``curl -X POST``."""
    operands, pairs, flags = [], [], []
    for before, word in zip(("", *wanted), wanted, strict=False):
        if _is_option(word):
            flags.append(word)
        elif _is_option(before):
            pairs.append((_letters(flags.pop(), program), word))
        elif word != "*":
            operands.append(word)
    for letters, value in pairs:
        for option, after in zip(words[1:], (*words[2:], ""), strict=False):
            if option is None or not _is_option(option):
                continue
            name, _, glued = option.partition("=")
            cluster = letters <= _letters(name, program)
            if cluster and value in (after, glued, option[2:]):
                break
        else:
            return NO
    if not pairs:
        return NO
    rest = tuple(w for w in words if w not in {value for _, value in pairs})
    return min(_follow(operands, rest, folds), _have(flags, _options(words), program, False))


def _letters(option: str, program: str) -> set[str]:
    """What an option says, in one spelling: ``-rf`` and ``--recursive --force`` are r and f."""
    if option.startswith("--"):
        name = option[2:].partition("=")[0]
        long = _LONG.get(program, {})
        meant = [letter for whole, letter in long.items() if name and whole.startswith(name)]
        return {meant[0]} if len(meant) == 1 else {f"--{name}"}
    if program in _WHOLE:
        return {option}
    letters = _LETTERS.get(program, {})
    return {letters.get(letter, letter) for letter in option[1:].partition("=")[0]}


def _options(words: Values) -> list[str]:
    known = [word for word in words[1:] if word is not None]
    known = known[: known.index("--")] if "--" in known else known
    return [word for word in known if _is_option(word)]


def _is_option(word: str) -> bool:
    return word.startswith("-") and len(word) > 1


def _same(wanted: str, word: str, folds: bool) -> bool:
    if folds:
        wanted, word = wanted.casefold(), word.casefold()
    if wanted == word or ("*" in wanted and fnmatchcase(word, wanted)):
        return True
    if "/" in wanted and "/" in word and "://" not in word:
        return _plain_path(wanted) == _plain_path(word)
    return bool(re.search(r"[*?\[]", word)) and fnmatchcase(wanted, word)


def _plain_path(path: str) -> str:
    return posixpath.normpath(re.sub("/+", "/", path))


def without_globals(words: Values) -> Values:
    """The words of git after its own options; an alias given there may be any subcommand."""
    at, alias = 0, False
    while at < len(words):
        word = words[at]
        if word is None or not _is_option(word):
            break
        takes = word in _GIT_VALUED
        value = words[at + 1] if takes and at + 1 < len(words) else ""
        alias = alias or value is None or "alias." in f"{word} {value}".casefold()
        at += 2 if takes else 1
    return (None, *words[at + 1 :]) if alias else words[at:]
