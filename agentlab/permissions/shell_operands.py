"""Where the files stand among the arguments of a program: tables for the common ones.

After a pattern (`grep`), after a mode (`chmod`), in an option (``sort -f``), or simply all of
them. What has a way of its own (`cp`, `tar`, `curl`) is in `shell_files`, which asks these tables.
Chapter 05.

From the manual pages of GNU coreutils 9.1, grep 3.8, sed 4.9, gawk 5.2, ripgrep 13, jq 1.6 and
others (read October 2025).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentlab.permissions.shell_options import Options, options


@dataclass(frozen=True)
class Files:
    """Where the files stand: all operands but the first ``skip``.

    ``valued``, ``longs``: options that always have a value. ``instead``: options that take the
    place of what is skipped (a pattern given with ``-e``). ``named``: options whose value is a
    file, letters and long names. ``alone``: what it takes if no file is given.
    """

    skip: int = 0
    valued: str = ""
    longs: tuple[str, ...] = ()
    instead: str = ""
    named: tuple[str, ...] = ()
    alone: str = ""


_ALL = Files()
XXD = ("-c", "-g", "-l", "-s", "-o", "-n", "-len", "-cols", "-seek")  # -ps takes no value
_GREP = Files(
    1, "ABCDdefm",
    ("--regexp", "--file", "--include", "--exclude", "--exclude-dir", "--exclude-from", "--context",
     "--after-context", "--before-context", "--max-count"),
    "ef", ("f", "--file", "--exclude-from"),
)  # fmt: skip
_SUM = Files(valued="l")
_SHELL = Files(valued="cOo", longs=("--rcfile", "--init-file"))
_PYTHON = Files(valued="cmWX")

READS: dict[str, Files] = {
    "cat": _ALL, "tac": _ALL, "rev": _ALL, "less": _ALL, "more": _ALL,
    "strings": Files(valued="nteTs"), "nl": Files(valued="bdfhilnsvw"),
    "head": Files(valued="nc", longs=("--lines", "--bytes")),
    "tail": Files(valued="ncs", longs=("--lines", "--bytes", "--pid", "--sleep-interval")),
    "wc": Files(longs=("--files0-from",), named=("--files0-from",)),
    "ls": Files(valued="ITw", alone="."), "stat": Files(valued="c"), "realpath": _ALL,
    "readlink": _ALL, "file": Files(valued="efFmP", named=("f", "m")), "cd": _ALL, "pushd": _ALL,
    "du": Files(valued="BdtX", longs=("--max-depth", "--files0-from"), named=("--files0-from",),
        alone="."), "df": Files(valued="Btx"), "tree": Files(valued="LPIHTo", alone="."),
    "grep": _GREP, "egrep": _GREP, "fgrep": _GREP, "zgrep": _GREP,
    "rg": Files(1, "ABCEdefgjmMrtT", ("--regexp", "--file", "--glob", "--type", "--ignore-file"),
        "ef", ("f", "--file", "--ignore-file"), "."), "ag": Files(1, "ABCGm", alone="."),
    "ack": Files(1, "ABCgm", alone="."),
    "sort": Files(valued="kotST", longs=("--files0-from", "--key", "--output"),
        named=("--files0-from",)), "uniq": Files(valued="fsw"),
    "cut": Files(valued="bcdf", longs=("--output-delimiter",)), "paste": Files(valued="d"),
    "join": Files(valued="12aejotv"), "comm": _ALL, "fold": Files(valued="w"),
    "fmt": Files(valued="w"), "column": Files(valued="cos"), "expand": _ALL,
    "diff": Files(valued="CFISUWx", longs=("--from-file", "--to-file"), named=("--from-file",
        "--to-file")), "sdiff": Files(valued="ow"), "cmp": Files(valued="in"), "vimdiff": _ALL,
    "od": Files(valued="AjNSt"), "xxd": Files(longs=XXD),
    "hexdump": Files(valued="efns", named=("f",)), "base64": Files(valued="wio", named=("i",)),
    "base32": Files(valued="w"), "md5sum": _SUM, "sha1sum": _SUM, "sha224sum": _SUM,
    "sha256sum": _SUM, "sha384sum": _SUM, "sha512sum": _SUM, "shasum": Files(valued="a"),
    "b2sum": _SUM, "cksum": Files(valued="al"), "sum": _ALL, "md5": Files(valued="s"),
    "jq": Files(1, "fL", ("--from-file",), "f", ("f", "--from-file")),
    "yq": Files(1, "op"), "awk": Files(1, "fvFi", ("--file", "--assign"), "f", ("f", "--file")),
    "gawk": Files(1, "fvFi", ("--file", "--assign"), "f", ("f", "--file")),
    "sed": Files(1, "ef", ("--expression", "--file"), "ef", ("f", "--file")), "source": _ALL,
    ".": _ALL, "python": _PYTHON, "python3": _PYTHON,
    "node": Files(valued="er", longs=("--require", "--eval", "--import", "--env-file"),
        named=("r", "--require", "--import", "--env-file")),
    "ruby": Files(valued="erIEC"), "perl": Files(valued="eEI"), "php": Files(valued="r"),
    "bash": _SHELL, "sh": _SHELL, "zsh": _SHELL, "zip": Files(1, "bntx"),
    "gzip": Files(valued="S"), "gunzip": _ALL, "zcat": _ALL, "bzip2": _ALL, "bunzip2": _ALL,
    "bzcat": _ALL, "xz": Files(valued="T"), "unxz": _ALL, "xzcat": _ALL,
    "zstd": Files(valued="o"), "unzip": Files(valued="dxP"),
    "patch": Files(valued="dipoBDFrVY", named=("i",)), "mapfile": Files(valued="unOscCd"),
    "readarray": Files(valued="unOscCd"), "split": Files(valued="abCln"),
    "iconv": Files(valued="fto"), "ssh-keygen": Files(valued="fNPCtb", named=("f",)), "bat": _ALL,
    "openssl": Files(1, longs=("-in", "-inkey", "-key"), named=("-in", "-inkey", "-key")),
    "gpg": Files(valued="ru"), "vim": Files(valued="cSsu"), "vi": Files(valued="cSsu"),
    "nano": _ALL, "test": _ALL, "[": _ALL, "ln": Files(valued="St"),
    "psql": Files(valued="fcdhpU", named=("f",)),
}  # fmt: skip
_MODE = Files(1, longs=("--reference",), instead="\0")
WRITES: dict[str, Files] = {
    "rm": _ALL, "rmdir": _ALL, "unlink": _ALL, "mkdir": Files(valued="m", longs=("--mode",)),
    "touch": Files(valued="drt", longs=("--date", "--reference")), "mkfifo": Files(valued="m"),
    "mknod": Files(valued="m"), "truncate": Files(valued="sr", longs=("--size", "--reference")),
    "shred": Files(valued="ns"), "chmod": _MODE, "chown": _MODE, "chgrp": _MODE,
    "chattr": Files(1, "pv"), "gzip": Files(valued="S"), "gunzip": _ALL, "bzip2": _ALL,
    "bunzip2": _ALL, "xz": Files(valued="T"), "unxz": _ALL,
    "zstd": Files(valued="o", named=("o",)), "vim": Files(valued="cSsu"),
    "vi": Files(valued="cSsu"), "nano": _ALL, "setfacl": Files(valued="mxMX"),
}  # fmt: skip


_INSTEAD = ("--regexp", "--file", "--files", "--expression", "--from-file", "--reference")


def operands(args: Sequence[str], where: Files) -> list[str]:
    """The files among the arguments, as written."""
    read = options(args, where.valued, *where.longs)
    given = where.instead and read.has(where.instead, *_INSTEAD)
    found = list(read.operands[0 if given else where.skip :])
    if not found and (where.alone or (where is _GREP and read.has("rR", "--recursive"))):
        found = ["."]
    return found + named(read, where.named)


def named(read: Options, names: Sequence[str]) -> list[str]:
    """The values of these options: letters, and long names."""
    letters = "".join(name for name in names if len(name) == 1)
    return read.values(letters, *(name for name in names if len(name) > 1))
