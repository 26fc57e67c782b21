"""Which commands only read: the program *with its flags*.

``sort names.txt`` reads, ``sort -o names.txt names.txt`` writes, ``find . -exec touch x {} +``
does whatever it likes. The table says for each reader which of its options make it more than one;
short ones are found in clusters (``-uo``), long ones also when shortened (``--outp``). Many have
none. A program that is in no table here is not read-only, nor is one that shows the environment
(`env`, `printenv`, ``ps e``), for keys stand in it.

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

from agentlab.permissions.shell_git import git_reads_only
from agentlab.permissions.shell_operands import XXD
from agentlab.permissions.shell_options import options


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


# They read, whatever options they get. Which files these are is said in `shell_operands`.
ALWAYS = frozenset(
    """cat tac rev nl head tail ls df stat pwd cd basename dirname realpath readlink grep egrep
    fgrep cut tr cmp comm paste join fold od hexdump md5sum sha1sum sha256sum sha512sum b2sum
    cksum echo true false : seq sleep which type whoami id groups uname nproc uptime free
    tty""".split()  # noqa: SIM905
)
_LISTED = "--files0-from"  # the files are named in a file: which they are is only known later
READERS: dict[str, Reader] = {
    "wc": Reader("", (_LISTED,)), "du": Reader("", (_LISTED,)), "uniq": Reader("", (), "fsw", 1),
    "file": Reader("CzZf", ("--compile", "--uncompress", "--files-from"), "eFmP"),
    "tree": Reader("oR", ("--output",), "LPIHT"), "base64": Reader("o", ("--output",), "wi"),
    "rg": Reader("z", ("--pre", "--hostname-bin", "--search-zip"), "ABCEdefgjmMrtT"),
    "sort": Reader("oT", ("--output", "--compress-program", "--temporary-directory", _LISTED),
        "kotST"),
    "diff": Reader("l", ("--paginate",), "CFISUWx"), "arch": Reader(operands=0),
    "hostname": Reader("Fb", ("--file", "--boot"), operands=0), "exit": Reader(operands=1),
}  # fmt: skip

_GREP = ("R", "--dereference-recursive")  # these also read what links in a folder lead to
_FOLLOW = {"grep": _GREP, "egrep": _GREP, "fgrep": _GREP, "rg": ("L", "--follow"),
           "diff": ("r", "--recursive")}  # fmt: skip
_FIND = re.compile(r"-(?:exec|ok|delete|fprint|fls|files0-from)")
_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/I?)"
_SUBSTITUTE = r"s([/|#,:@!%])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiIm0-9]*"
_SED = re.compile(
    rf"\s*(?:{_ADDRESS}(?:,\s*[+~]?{_ADDRESS})?\s*!?\s*)?"
    rf"(?:[pdlnNhHgGxDP=]|[qQ]\s*\d*|{_SUBSTITUTE})?\s*(?:[;\n]|$)"
)
_SED_OPTIONS = {"-n", "-e", "-E", "-r", "-s", "-u", "-z", "--quiet", "--silent", "--expression",
                "--regexp-extended", "--null-data", "--separate", "--unbuffered"}  # fmt: skip
# In a filter of jq or yq: variables of the environment, other files, and code made of text.
_FILTER = re.compile(r"\$ENV|(?<![.\w])(?:env|strenv|envsubst|import|include|load\w*|eval)\b")
_JQ = Reader("fL", ("--from-file", "--rawfile", "--slurpfile", "--argfile", "--library-path"))
_YQ = Reader("is", ("--inplace", "--in-place", "--split-exp", "--from-file"))
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
    return program in ALWAYS or (program in READERS and _reads(READERS[program], args))


def _reads(reader: Reader, args: list[str]) -> bool:
    read = options(args, reader.valued)
    if read.has(reader.never, *reader.longs):
        return False
    return reader.operands is None or len(args) - read.first <= reader.operands


def follows_links(argv: Sequence[str]) -> bool:
    """Whether it reads what links in a folder lead to, and not only what is in it."""
    return argv[0] in _FOLLOW and options(argv[1:]).has(*_FOLLOW[argv[0]])


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
    return not read.has("sf", "--set", "--file") and all(
        operand[:1] == "+" for operand in read.operands
    )


def _ps(args: list[str]) -> bool:
    """Not with the environment of each process, in which keys stand: ``ps e``, ``ps -E``."""
    return not any("E" in arg if arg.startswith("-") else "e" in arg for arg in args)


def _filters(reader: Reader) -> Callable[[list[str]], bool]:
    return lambda args: _reads(reader, args) and not any(map(_FILTER.search, args))


def _strings(args: list[str]) -> bool:
    return not any(arg.startswith("@") for arg in args)  # @x: more arguments stand in the file x


def _printf(args: list[str]) -> bool:
    return not args[:1] or not args[0].startswith("-v")


def _test(args: list[str]) -> bool:
    return not any(re.search(r"\$\(|`", arg) for arg in args)  # -v evaluates a name


def _command(args: list[str]) -> bool:
    return args[:1] in (["-v"], ["-V"])


def _set(args: list[str]) -> bool:
    return bool(args) and all(_SET.fullmatch(arg) for arg in args)


_SPECIAL: dict[str, Callable[[list[str]], bool]] = {
    "find": _find, "sed": _sed, "date": _date, "printf": _printf, "ps": _ps, "jq": _filters(_JQ),
    "yq": _filters(_YQ), "strings": _strings, "command": _command, "set": _set, "xxd": _xxd,
    "test": _test, "[": _test, "git": git_reads_only,
}  # fmt: skip
