"""Which commands only read: the program *with its flags*.

``sort names.txt`` reads, ``sort -o names.txt names.txt`` writes, ``find . -exec touch x {} +``
does whatever it likes. So a program is never read-only by its name. The table says for each reader
which of its options make it more than one; short ones are found in clusters (``-uo``), long ones
also when shortened (``--outp``). A program that is not in the table is not read-only.

``git`` is a reader only as far as the configuration of the repository lets it be: see
`git_runs_programs`. Nothing here looks at files, and nothing stops a program that lies about its
name. Chapter 05 builds it. From the manual pages of GNU coreutils 9.1, findutils 4.9, sed 4.9,
grep 3.8, diffutils 3.8, file 5.44, tree 2.1, jq 1.6, ripgrep 13, git 2.39 and bash 5.2 (read
October 2025).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentlab.permissions.shell_files import reads, writes
from agentlab.permissions.shell_git import git_reads_only, git_runs_programs
from agentlab.permissions.shell_operands import XXD
from agentlab.permissions.shell_options import options

__all__ = ["git_runs_programs", "reads", "reads_only", "writes"]


@dataclass(frozen=True)
class Reader:
    """A program that reads unless one of these is given.

    ``never`` are letters, ``longs`` long names of options that make it more than a reader,
    ``valued`` the letters of options with a value. ``operands``: how many there may be at most;
    what follows the first counts as one, since not every system reads options after it.
    """

    never: str = ""
    longs: tuple[str, ...] = ()
    valued: str = ""
    operands: int | None = None


READERS: dict[str, Reader] = {
    "cat": Reader(), "tac": Reader(), "rev": Reader(), "nl": Reader(valued="bdfhilnsvw"),
    "head": Reader(valued="nc"), "tail": Reader(valued="ncs"), "wc": Reader(),
    "ls": Reader(valued="ITw"), "du": Reader(valued="BdtX"), "df": Reader(valued="Btx"),
    "stat": Reader(valued="cf"), "file": Reader("CzZ", ("--compile", "--uncompress"), "efFmP"),
    "tree": Reader("oR", ("--output",), "LPIHT"), "pwd": Reader(), "cd": Reader(),
    "basename": Reader(valued="s"), "dirname": Reader(), "realpath": Reader(),
    "readlink": Reader(), "grep": Reader(valued="ABCDdefm"), "egrep": Reader(valued="ABCDdefm"),
    "fgrep": Reader(valued="ABCDdefm"),
    "rg": Reader("z", ("--pre", "--hostname-bin", "--search-zip"), "ABCEdefgjmMrtT"),
    "sort": Reader("oT", ("--output", "--compress-program", "--temporary-directory"), "kotST"),
    "uniq": Reader(valued="fsw", operands=1), "cut": Reader(valued="bcdf"), "tr": Reader(),
    "diff": Reader("l", ("--paginate",), "CFISUWx"), "cmp": Reader(valued="in"), "comm": Reader(),
    "paste": Reader(valued="d"), "join": Reader(valued="12aejotv"), "fold": Reader(valued="w"),
    "od": Reader(valued="AjNStw"), "hexdump": Reader(valued="efns"),
    "strings": Reader(valued="nteTs"), "base64": Reader("o", ("--output",), "wo"),
    "md5sum": Reader(), "sha1sum": Reader(), "sha256sum": Reader(), "sha512sum": Reader(),
    "b2sum": Reader(valued="l"), "cksum": Reader(valued="al"), "jq": Reader(valued="fL"),
    "yq": Reader("is", ("--inplace", "--in-place", "--split-exp")), "echo": Reader(),
    "true": Reader(), "false": Reader(), ":": Reader(), "seq": Reader(valued="fs"),
    "sleep": Reader(), "which": Reader(), "type": Reader(), "whoami": Reader(), "id": Reader(),
    "groups": Reader(), "uname": Reader(), "arch": Reader(), "nproc": Reader(),
    "uptime": Reader(), "ps": Reader(), "free": Reader(valued="cs"), "tty": Reader(),
    "hostname": Reader("Fb", ("--file", "--boot"), operands=0),
    "exit": Reader(operands=1),
}  # fmt: skip

_FIND = re.compile(r"-(?:exec|ok|delete|fprint|fls)")
_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/I?)"
_SUBSTITUTE = r"s([/|#,:@!%])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiIm0-9]*"
_SED = re.compile(
    rf"\s*(?:{_ADDRESS}(?:,\s*[+~]?{_ADDRESS})?\s*!?\s*)?"
    rf"(?:[pdlnNhHgGxDP=]|[qQ]\s*\d*|{_SUBSTITUTE})?\s*(?:[;\n]|$)"
)
_SED_OPTIONS = {"-n", "-e", "-E", "-r", "-s", "-u", "-z", "--quiet", "--silent", "--expression",
                "--regexp-extended", "--null-data", "--separate", "--unbuffered"}  # fmt: skip
_SET = re.compile(r"[-+][euxv]*o?|pipefail|errexit|nounset|xtrace")


def reads_only(argv: Sequence[str]) -> bool:
    """Whether the command, with these arguments, does nothing but read files and print.

    The program is looked up by its bare name: a path may lead to any program.
    """
    if not argv:
        return False
    program, *args = argv
    if special := _SPECIAL.get(program):
        return special(args)
    reader = READERS.get(program)
    if reader is None:
        return False
    read = options(args, reader.valued)
    if read.has(reader.never, *reader.longs):
        return False
    return reader.operands is None or len(args) - read.first <= reader.operands


def _find(args: list[str]) -> bool:
    return not any(_FIND.match(arg) for arg in args)


def _sed(args: list[str]) -> bool:
    """Only commands that print, delete from the output or substitute; no file is written."""
    read = options(args, "e", "--expression")
    if not {name for name, _ in read.given} <= _SED_OPTIONS:
        return False
    scripts = read.values("e", "--expression") or list(read.operands[:1])
    return bool(scripts) and all(_only_prints(script) for script in scripts)


def _only_prints(script: str) -> bool:
    at = 0
    while at < len(script):
        command = _SED.match(script, at)
        if command is None or command.end() == at:
            return False
        at = command.end()
    return True


def _xxd(args: list[str]) -> bool:
    """A second file is written to; an option after the first one is such a file."""
    return len(args) - options(args, "", *XXD, stop=True).first <= 1


def _date(args: list[str]) -> bool:
    args = [arg for arg in args if not re.match(r"-I[a-z]*$", arg)]
    read = options(args, "drf", "--date", "--reference", "--file")
    return not read.has("s", "--set") and all(operand[:1] == "+" for operand in read.operands)


def _printenv(args: list[str]) -> bool:
    return any(args)  # alone it shows all variables, and with them keys that stand in them


def _printf(args: list[str]) -> bool:
    return not args[:1] or not args[0].startswith("-v")


def _test(args: list[str]) -> bool:
    return not any(re.search(r"\$\(|`", arg) for arg in args)  # -v evaluates a name


def _command(args: list[str]) -> bool:
    return args[:1] in (["-v"], ["-V"])


def _set(args: list[str]) -> bool:
    return bool(args) and all(_SET.fullmatch(arg) for arg in args)


_SPECIAL: dict[str, Callable[[list[str]], bool]] = {
    "find": _find, "sed": _sed, "date": _date, "printf": _printf, "printenv": _printenv,
    "command": _command, "set": _set, "xxd": _xxd, "test": _test, "[": _test, "git": git_reads_only,
}  # fmt: skip
