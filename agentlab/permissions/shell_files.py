"""Which files a command opens, for the programs of which it is known.

``cat .env`` reads a file that a rule about `Read` may forbid; ``tee x`` writes one.
`shell_operands` says where the paths stand for most; those that read and write (`cp`), or have a
way of their own (`tar`, `curl`, `find`), are here. It is a help for rules about files, not a wall:
`python` and `make` open what they like. Chapter 05.

From the manual pages of GNU coreutils 9.1, findutils 4.9, tar 1.34, curl 7.88, wget 1.21 and
others (read October 2025).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise, takewhile

from agentlab.permissions.shell_operands import READS, WRITES, XXD, Files, named, operands
from agentlab.permissions.shell_options import options

Special = Callable[[list[str]], list[str]]


def reads(argv: Sequence[str]) -> list[str] | None:
    """The files that a command reads, as written; None if that is not known of its program."""
    return _files(argv, READS, _READS)


def writes(argv: Sequence[str]) -> list[str] | None:
    """The files that a command writes, makes, changes or removes; None if that is not known."""
    return _files(argv, WRITES, _WRITES)


def _files(
    argv: Sequence[str], table: dict[str, Files], special: dict[str, Special]
) -> list[str] | None:
    if not argv:
        return None
    program, args = argv[0].rpartition("/")[2], list(argv[1:])
    if program in special:
        return special[program](args)
    return operands(args, table[program]) if program in table else None


def _copy(valued: str, args: list[str]) -> tuple[list[str], list[str]]:
    """Sources and targets: the last operand, or the folder given with ``-t``."""
    read = options(args, valued, "--target-directory", "--suffix", "--mode", "--owner", "--group")
    folder = read.values("t" if "t" in valued else "", "--target-directory")
    if folder:
        return list(read.operands), folder
    return list(read.operands[:-1]), list(read.operands[-1:])


def _from(valued: str) -> Special:
    return lambda args: _copy(valued, args)[0]


def _to(valued: str) -> Special:
    return lambda args: _copy(valued, args)[1]


def _move(args: list[str]) -> list[str]:
    sources, targets = _copy("St", args)
    return sources + targets


def _dd(letters: str) -> Special:
    return lambda args: [arg[3:] for arg in args if arg.startswith(letters + "=")]


_FIND_OPTION = re.compile(r"-[LPH]|-O.*|-D|--")  # they stand before the folders
_FIND_TEST = re.compile(r"-|[(!]\Z")


def _find_reads(args: list[str]) -> list[str]:
    at = 0
    while at < len(args) and _FIND_OPTION.fullmatch(args[at]):
        at += 2 if args[at] == "-D" else 1
    return list(takewhile(lambda arg: not _FIND_TEST.match(arg), args[at:])) or ["."]


def _find_writes(args: list[str]) -> list[str]:
    found = _find_reads(args) if "-delete" in args else []
    return found + [b for a, b in pairwise(args) if re.match(r"-f(?:print|ls)", a)]


_TAR = ("--file", "--directory", "--exclude", "--files-from", "--exclude-from",
        "--strip-components")  # fmt: skip


def _tar(args: list[str]) -> tuple[str, list[str], list[str], list[str]]:
    """What tar does, its archives, other files, and the folders it works in."""
    if args and not args[0].startswith("-"):
        args = ["-" + args[0], *args[1:]]
    read = options(args, "fCXTbHIKLNVg", *_TAR)
    names = {name for name, _ in read.given}
    does = next((letter for letter in "xctrud" if f"-{letter}" in names), "")
    does = does or ("x" if read.has("", "--extract") else "c" if read.has("", "--create") else "")
    return does, read.values("f", "--file"), list(read.operands), read.values("C", "--directory")


def _tar_reads(args: list[str]) -> list[str]:
    does, archives, others, _ = _tar(args)
    return archives if does in ("x", "t", "d") else others


def _tar_writes(args: list[str]) -> list[str]:
    does, archives, _, folders = _tar(args)
    return [] if does in ("t", "d") else (folders or ["."]) if does == "x" else archives


_CURL = ("--output", "--output-dir", "--data", "--data-binary", "--data-urlencode", "--data-raw",
         "--form", "--header", "--request", "--user", "--upload-file", "--config", "--cookie",
         "--cookie-jar", "--dump-header", "--cert", "--key", "--cacert", "--netrc-file", "--url",
         "--json", "--max-time", "--connect-timeout", "--retry", "--user-agent", "--proxy",
         "--write-out")  # fmt: skip
_CURL_LETTERS = "odFHXuTKbcDEmAexUwYyztPQrC"
_AT_FILE = re.compile(r"[\w.-]*=?[@<]([^;]+)")


def _curl_reads(args: list[str]) -> list[str]:
    read = options(args, _CURL_LETTERS, *_CURL)
    longs = ("--data", "--data-binary", "--data-urlencode", "--form", "--json", "--header")
    found = [
        match.group(1) for sent in read.values("dFH", *longs) if (match := _AT_FILE.match(sent))
    ]
    longs = ("--upload-file", "--config", "--cert", "--key", "--cacert", "--netrc-file")
    found += read.values("TKE", *longs)
    found += [value for value in read.values("b", "--cookie") if "=" not in value]
    urls = [*read.operands, *read.values("", "--url")]
    file_url = re.compile(r"file:(?://(?:localhost)?)?")
    return found + [file_url.sub("", url, count=1) for url in urls if file_url.match(url)]


def _curl_writes(args: list[str]) -> list[str]:
    read = options(args, _CURL_LETTERS, *_CURL)
    found = read.values("ocD", "--output", "--output-dir", "--cookie-jar", "--dump-header")
    return found + (["."] if read.has("O", "--remote-name", "--remote-name-all") else [])


_WGET = (
    "--output-document", "--directory-prefix", "--output-file", "--append-output", "--post-file",
    "--body-file", "--input-file", "--load-cookies", "--save-cookies", "--header",
)  # fmt: skip


def _wget_reads(args: list[str]) -> list[str]:
    read = options(args, "OPoaieUtTQl", *_WGET)
    return read.values("i", "--post-file", "--body-file", "--input-file", "--load-cookies")


def _wget_writes(args: list[str]) -> list[str]:
    read = options(args, "OPoaieUtTQl", *_WGET)
    found = read.values("OPoa", *_WGET[:4], "--save-cookies")
    return found if read.has("OP", *_WGET[:2]) else [*found, "."]


def _sed_writes(args: list[str]) -> list[str]:
    in_place = any(re.match(r"-[nErsuz]*[iI]|--in", arg) for arg in args)
    return operands(args, READS["sed"]) if in_place else []


def _perl_writes(args: list[str]) -> list[str]:
    in_place = any(re.match(r"-[a-zA-Z0]*i", arg) for arg in args)
    return operands(args, READS["perl"]) if in_place else []


def _option_writes(valued: str, *names: str) -> Special:
    longs = [name for name in names if len(name) > 1]
    return lambda args: named(options(args, valued, *longs), names)


def _second(valued: str, *longs: str) -> Special:
    def second(args: list[str]) -> list[str]:
        read = options(args, valued, *longs, stop=True)
        return args[read.first + 1 :][:1]

    return second


def _unzip_writes(args: list[str]) -> list[str]:
    read = options(args, "dxP")
    return [] if read.has("lptZ") else read.values("d") or ["."]


def _zip_writes(args: list[str]) -> list[str]:
    return list(options(args, "bntx").operands[:1])


def _patch_writes(args: list[str]) -> list[str]:
    return list(options(args, "dipoBDFrVYz").operands[:1]) or ["."]


def _yq_writes(args: list[str]) -> list[str]:
    return operands(args, READS["yq"]) if options(args).has("i", "--inplace", "--in-place") else []


_NAMED_FILES = ("--slurpfile", "--rawfile", "--argfile")  # a name, and the file behind it


def _jq_reads(args: list[str]) -> list[str]:
    files, rest = [], list(args)
    while at := next((i for i, arg in enumerate(rest, 1) if arg in _NAMED_FILES), 0):
        files += rest[at + 1 : at + 2]
        del rest[at - 1 : at + 2]
    return operands(rest, READS["jq"]) + files


def _tee(args: list[str]) -> list[str]:
    return [arg for arg in args if not arg.startswith("-")]


_READS: dict[str, Special] = {
    "cp": _from("St"), "mv": _from("St"), "install": _from("Stmog"), "rsync": _from("eTfBM"),
    "scp": _from("cDFiJloPSX"), "dd": _dd("if"), "find": _find_reads, "tar": _tar_reads,
    "curl": _curl_reads, "wget": _wget_reads, "jq": _jq_reads,
}  # fmt: skip
_WRITES: dict[str, Special] = {
    "cp": _to("St"), "mv": _move, "ln": _to("St"), "install": _to("Stmog"), "rsync": _to("eTfBM"),
    "scp": _to("cDFiJloPSX"), "dd": _dd("of"), "find": _find_writes, "tar": _tar_writes,
    "curl": _curl_writes, "wget": _wget_writes, "sed": _sed_writes, "perl": _perl_writes,
    "tee": _tee, "yq": _yq_writes, "unzip": _unzip_writes, "zip": _zip_writes,
    "patch": _patch_writes, "uniq": _second("fsw"), "xxd": _second("", *XXD),
    "sort": _option_writes("kotST", "o", "--output"), "tree": _option_writes("LPIHTo", "o"),
    "openssl": _option_writes("", "-out"), "iconv": _option_writes("fto", "o"),
    "base64": _option_writes("wio", "o"),
}  # fmt: skip
