"""Programs that run other programs: what is inside them.

``timeout 5 rm x`` is an ``rm``. A rule about ``rm`` must see it, whoever runs it. Two kinds: a
*transparent* wrapper (`timeout`, `nice`, `time` ...) changes nothing about what is run, so it is
taken off and only noted; every other one (`sudo`, `env`, `xargs`, `find -exec`, `bash -c` ...)
stays a command of its own, and what it runs is judged beside it. What they run may be words, or a
text for a shell, which is parsed like the whole. A program that is not listed here is an ordinary
command: if a rule allows it by name, it may run what it likes. Chapter 05.

Options are from the manual pages of GNU coreutils 9, findutils 4.9, sudo 1.9, util-linux 2.38,
bash 5.2, OpenSSH 9, procps 4 (read October 2025).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from agentlab.permissions.shell_command import Command, Word
from agentlab.permissions.shell_options import Options, options
from agentlab.permissions.shell_words import literal

_SYSTEM = ("", "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin")
_ASSIGNS = re.compile(r"([A-Za-z_]\w*)(?:\[.*\])?\+?=", re.ASCII)  # for the shell
_ANYTHING = re.compile(r"([^=]*)=")  # for env and sudo
_UNKNOWN = "\0"  # stands for a word whose value is not known; no real word can be it
SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish"))
_OTHER_SHELLS = ("zsh", "ksh", "mksh", "fish")
# What other shells read as something else: $'x', [[ x ]], ((x)), {fd}>x, &>x, function f.
_BASH_ONLY = re.compile(r"\$['\"]|\[\[|(?<!\$)\(\(|\}[<>]|&>|\bfunction\b")
ELSEWHERE = "it runs on another machine"
MORE = Word("...", None)  # arguments that are only known when it runs

# Options with a value, long ones with a value, how many operands stand before the command.
Shape = tuple[str, tuple[str, ...], int]
_TRANSPARENT: dict[str, Shape] = {
    "timeout": ("ks", ("--kill-after", "--signal"), 1),
    "nice": ("n", ("--adjustment",), 0),
    "nohup": ("", (), 0),
    "stdbuf": ("ioe", ("--input", "--output", "--error"), 0),
    "time": ("", (), 0),
    "command": ("", (), 0),
    "builtin": ("", (), 0),
    "exec": ("a", (), 0),
}
_RUNS: dict[str, Shape] = {
    "sudo": ("aCcDghpRrtTUu", ("--close-from", "--chdir", "--group", "--host", "--prompt",
        "--chroot", "--role", "--type", "--command-timeout", "--other-user", "--user"), 0),
    "doas": ("uCa", (), 0), "setsid": ("", (), 0),
    "ionice": ("cnpPu", ("--class", "--classdata", "--pid", "--pgid", "--uid"), 0),
    "chrt": ("pTPD", ("--pid", "--sched-runtime", "--sched-period", "--sched-deadline"), 1),
    "taskset": ("p", ("--pid",), 1), "chroot": ("", ("--groups", "--userspec"), 1),
    "unshare": ("SGRw", ("--setuid", "--setgid", "--root", "--wd"), 0),
    "nsenter": ("tSG", ("--target", "--setuid", "--setgid"), 0),
    "strace": ("aeEIoOpPsSuUXb", (), 0), "ltrace": ("aAeDFlnopsuwx", (), 0),
    "prlimit": ("po", ("--pid", "--output"), 0), "pkexec": ("", ("--user",), 0),
    "gosu": ("", (), 1), "busybox": ("", (), 0), "toybox": ("", (), 0), "coproc": ("", (), 0),
    "unbuffer": ("", (), 0), "caffeinate": ("tw", (), 0),
    "fakeroot": ("lsib", ("--lib", "--faked"), 0),
    "systemd-run": ("HMpuE", ("--unit", "--property", "--slice", "--description", "--uid",
        "--gid", "--working-directory", "--setenv", "--host", "--machine"), 0),
    "watch": ("nqs", ("--interval", "--equexit"), 0),
    "flock": ("wE", ("--timeout", "--conflict-exit-code", "--wait"), 1), "jobs": ("", (), 0),
}  # fmt: skip


@dataclass(frozen=True)
class Inner:
    """What a command runs: ``words``, or a ``script`` for a shell (``shares``: this very shell).

    ``moved``: where it runs is not known. ``unknown``: why what it does is not known.
    """

    label: str
    words: tuple[Word, ...] = ()
    script: str | None = None
    assignments: tuple[tuple[str, Word], ...] = ()
    shares: bool = False
    moved: bool = False
    unknown: str = ""


def basename(program: str | None) -> str:
    """The name of a program without its folder; "" if not known."""
    return program.rpartition("/")[2] if program else ""


def peel(command: Command) -> Command:
    """The command without the transparent wrappers in front of it."""
    while command.words and command.program:
        folder, name = posixpath.split(command.program)
        if name not in _TRANSPARENT or folder not in _SYSTEM:
            break
        read, first = _read(command, _TRANSPARENT[name])
        if first >= len(command.words) or (name == "command" and read.has("vV")):
            break
        if name == "time" and read.given not in ((), (("-p", None),)):
            return replace(command, unknown="time with options that the shell does not have")
        taken, words = command.words[:first], command.words[first:]
        assignments = list(command.assignments)
        if name == "time":  # a word of the grammar: assignments may follow it
            words = _assigned(words, assignments, _ASSIGNS)
        command = replace(
            command, words=words, assignments=tuple(assignments),
            text=" ".join(word.text for word in words),
            wrapped_by=(*command.wrapped_by, " ".join(word.text for word in taken)),
            unknown=command.unknown or _unclear(taken),
        )  # fmt: skip
    return command


def inner(command: Command) -> list[Inner]:
    """What the command runs, if it is known to run something."""
    name = basename(command.program)
    if name in SHELLS:
        return _shell(command)
    if special := _SPECIAL.get(name):
        return special(command)
    if name in _TRANSPARENT and "/" in (command.program or ""):  # ./timeout: anything may be in it
        return _plain(command, _TRANSPARENT[name])
    return _plain(command, _RUNS[name]) if name in _RUNS else []


def _values(words: tuple[Word, ...]) -> list[str]:
    return [_UNKNOWN if (value := literal(word)) is None else value for word in words]


def _unclear(words: tuple[Word, ...]) -> str:
    vague = [word.text for word in words if word.value is None or word.glob]
    return f"where the inner command begins depends on {vague[0]}" if vague else ""


def _read(command: Command, shape: Shape) -> tuple[Options, int]:
    """The wrapper's options, and the index of the word where the inner command begins."""
    valued, longs, positional = shape
    read = options(_values(command.words[1:]), valued, *longs, stop=True)
    return read, 1 + read.first + positional


def _plain(command: Command, shape: Shape) -> list[Inner]:
    """A program, options, and a command in the words that follow."""
    name = basename(command.program)
    read, first = _read(command, shape)
    words, moved = command.words[first:], name in ("chroot", "unshare", "nsenter", "systemd-run")
    assignments: list[tuple[str, Word]] = []
    if name == "sudo":
        moved = read.has("iDR", "--login", "--chdir", "--chroot")
        if not words and not read.has("lvkKeVh", "--list", "--validate", "--edit", "--version"):
            return [Inner(name, unknown="a shell that reads its commands from its input")]
        if read.has("e", "--edit"):
            return []
    if name in ("sudo", "doas", "coproc"):
        words = _assigned(words, assignments, _ASSIGNS if name == "coproc" else _ANYTHING)
    if not words:
        return []
    unclear = _unclear(command.words[1:first])
    if name == "watch" and not read.has("x", "--exec"):
        return [Inner(name, script=_joined(words), unknown=unclear)]
    if name == "flock" and words[0].value in ("-c", "--command"):
        return [Inner(name, script=_joined(words[1:]), unknown=unclear)]
    return [Inner(name, words, assignments=tuple(assignments), moved=moved, unknown=unclear)]


def _assigned(
    words: tuple[Word, ...], assignments: list[tuple[str, Word]], pattern: re.Pattern[str]
) -> tuple[Word, ...]:
    """Take the ``NAME=value`` words off the front."""
    while words and (name := pattern.match(words[0].value or words[0].text)):
        text, value = words[0].text.partition("=")[2], words[0].value
        assignments.append((name.group(1), Word(text, value and value.partition("=")[2])))
        words = words[1:]
    return words


def _joined(words: tuple[Word, ...]) -> str | None:
    """Words as one text for a shell; None if not all are known."""
    values = [literal(word) for word in words]
    if any(word.glob for word in words):
        return None
    return None if None in values else " ".join(value or "" for value in values)


def _shell(command: Command) -> list[Inner]:
    """``bash -c TEXT``; a shell without a file reads commands from its input."""
    name, values = basename(command.program), _values(command.words)
    at, letters = 1, ""
    while at < len(values) and values[at][:1] in ("-", "+") and values[at] not in ("-", "--"):
        if values[at].startswith("--"):
            if values[at] in ("--version", "--help"):
                return []
            at += values[at] in ("--rcfile", "--init-file")
        else:  # an -o or -O takes its value from the words that follow, wherever it stands
            letters += values[at][1:] if values[at][0] == "-" else ""
            at += values[at].count("o") + values[at].count("O")
        at += 1
    at += values[at : at + 1] in (["-"], ["--"])
    unclear = _unclear(command.words[1:at])
    if "c" in letters:
        script = literal(command.words[at]) if at < len(values) else None
        other = name not in ("bash", "rbash") and _BASH_ONLY.search(script or "")
        if other or name in _OTHER_SHELLS:
            unclear = "it is for another shell than bash"
        return [Inner(f"{name} -c", script=script, unknown=unclear)]
    if at < len(values) and "s" not in letters:
        return []
    return [Inner(name, unknown="a shell that reads its commands from its input")]


def _eval(command: Command) -> list[Inner]:
    words = command.words[1:]
    if words and words[0].value == "--":
        words = words[1:]
    return [Inner("eval", script=_joined(words), shares=True)] if words else []


def _trap(command: Command) -> list[Inner]:
    words = tuple(word for word in command.words[1:] if word.value not in ("--", "-p", "-l", "-P"))
    if len(words) < 2 or words[0].value == "-":
        return []
    return [Inner("trap", script=literal(words[0]), moved=True)]


def _env(command: Command) -> list[Inner]:
    read, first = _read(command, ("uCSP", ("--unset", "--chdir", "--split-string"), 0))
    moved = read.has("C", "--chdir")
    if texts := read.values("S", "--split-string"):
        if not re.fullmatch(r"[\w./:=,+@% -]+", texts[-1], re.ASCII):
            return [Inner("env -S", unknown="env -S takes a text apart in its own way")]
        split = tuple(Word(text, text) for text in texts[-1].split())
        command = replace(command, words=(command.words[0], *split, *command.words[first:]))
        first = 1
    assignments: list[tuple[str, Word]] = []
    words = _assigned(command.words[first:], assignments, _ANYTHING)
    if not words:
        return []
    unclear = _unclear(command.words[1:first])
    return [Inner("env", words, assignments=tuple(assignments), moved=moved, unknown=unclear)]


def _xargs(command: Command) -> list[Inner]:
    longs = ("--arg-file", "--delimiter", "--max-args", "--max-procs", "--max-chars",
             "--process-slot-var")  # fmt: skip
    read, first = _read(command, ("adEILnPsJRS", longs, 0))
    words, unclear = command.words[first:], _unclear(command.words[1:first])
    if not words:
        return []
    if read.has("IiJ", "--replace"):
        mark = (*read.values("IJ", "--replace"), "{}")[0]
        words = tuple(
            replace(word, value=None) if mark in (word.value or mark) else word for word in words
        )
    else:
        words = (*words, MORE)
    return [Inner("xargs", words, unknown=unclear)]


def _find(command: Command) -> list[Inner]:
    found: list[Inner] = []
    values = _values(command.words)
    for start, value in enumerate(values):
        if value not in ("-exec", "-execdir", "-ok", "-okdir"):
            continue
        end = start + 1
        while end < len(values) and not (
            values[end] == ";" or (values[end] == "+" and values[end - 1] == "{}")
        ):
            end += 1
        words = tuple(
            replace(word, value=None) if "{}" in (word.value or "") else word
            for word in command.words[start + 1 : end]
        )
        found.append(Inner(f"find {value}", words, moved=value.endswith("dir")))
    return found


def _su(command: Command) -> list[Inner]:
    """``su [options] [-] [user] -c TEXT``, ``runuser -u user command``, ``script -c TEXT``."""
    name = basename(command.program)
    longs = ("--command", "--session-command", "--group", "--shell", "--user",
             "--whitelist-environment")  # fmt: skip
    letters = "cITOBEo" if name == "script" else "cgGsuwTIOBEo"
    read = options(_values(command.words[1:]), letters, *longs)
    texts = read.values("c", "--command", "--session-command")
    if texts:
        return [Inner(f"{name} -c", script=None if _UNKNOWN in texts else texts[-1], moved=True)]
    if name == "runuser" and read.has("u", "--user"):
        return _plain(command, ("gGsuw", longs, 0))
    return [Inner(name, unknown="a shell that reads its commands from its input")]


def _ssh(command: Command) -> list[Inner]:
    _, first = _read(command, ("BbcDEeFIiJLlmOopQRSWw", (), 1))
    words = command.words[first:]
    return [Inner("ssh", script=_joined(words), moved=True, unknown=ELSEWHERE)] if words else []


def _parallel(command: Command) -> list[Inner]:
    """What GNU parallel runs is made of a template and lines from elsewhere: never known."""
    _, first = _read(command, ("ajINnPLSsX", ("--jobs", "--arg-file", "--colsep", "--delay"), 0))
    words = []
    for word in command.words[first:]:
        if (word.value or "").startswith(":::"):
            break
        words.append(word)
    return [Inner("parallel", (*words, MORE), unknown="parallel puts the command together")]


def _nix(command: Command) -> list[Inner]:
    read = options(_values(command.words[1:]), "pAEI", "--run", "--command")
    texts = read.values("", "--run", "--command")
    return (
        [Inner("nix-shell --run", script=None if _UNKNOWN in texts else texts[-1])] if texts else []
    )


_SPECIAL: dict[str, Callable[[Command], list[Inner]]] = {
    "env": _env, "xargs": _xargs, "find": _find, "eval": _eval, "trap": _trap, "su": _su,
    "runuser": _su, "script": _su, "ssh": _ssh, "parallel": _parallel, "nix-shell": _nix,
}  # fmt: skip
