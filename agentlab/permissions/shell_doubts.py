"""Commands that can be read and still not be known: their arguments are code, or change what runs.

``git -c core.pager=x log`` runs x. ``PATH=. ls`` runs another ls. ``printf -v 'a[$(x)]'`` runs x.
None of this is visible in the name of the program, so a rule that allows the name does not allow
this: the command is marked, and someone is asked. The list is short and cannot be complete: many
programs have options that run others, and a rule that allows such a program allows them. Chapter
05.

From the manual pages of bash 5.2, git 2.39, GNU tar 1.34, coreutils 9, rsync 3.2, OpenSSH 9 (read
October 2025).
"""

from __future__ import annotations

import re

from agentlab.permissions.shell_command import Command, Word
from agentlab.permissions.shell_options import options
from agentlab.permissions.wrappers import SHELLS, basename

# What a variable of this name decides is which programs run, or what they load before they begin.
_DECIDES = re.compile(
    r"(?:PATH|CDPATH|ENV|HOME|SHELL|PS4|SHELLOPTS|BASHOPTS|BASH_\w+|PROMPT_COMMAND|LD_\w+|DYLD_\w+|IFS"
    r"|EXECIGNORE|GIT_\w+|\w*PAGER|\w*EDITOR|VISUAL|BROWSER|LESSOPEN|LESSCLOSE|MAKEFLAGS|MANOPT"
    r"|PYTHON(?:PATH|HOME|STARTUP|INSPECT|BREAKPOINT|WARNINGS|USERBASE)|NODE_(?:OPTIONS|PATH)"
    r"|PERL\w*(?:OPT|LIB|DB)|RUBY(?:OPT|LIB)|GEM_\w+|JAVA_TOOL_OPTIONS|_?JAVA_OPTIONS|CLASSPATH"
    r"|RUSTC\w*|RUSTFLAGS|CARGO_\w+|GO(?:FLAGS|PATH|ROOT)|NPM_CONFIG_\w+|npm_config_\w+|PIP_\w+"
    r"|UV_\w+|SSH_ASKPASS|RSYNC_RSH|TAR_OPTIONS|GREP_OPTIONS|XDG_CONFIG_\w+|GCONV_PATH|TMPDIR)"
)
_HARMLESS = frozenset(("", "0", "1", "true", "false", "cat", ":", "never", "no"))  # not for a PATH
_LOOKED_UP = re.compile(r".*PATH|HOME|LD_\w+|DYLD_\w+|ENV|IFS|BASH_\w+")
_CONFIGURED = "configuration given on the command line may run programs"
_EVALUATES = "a name in it is evaluated, and may run a command"
_OTHERS = "an option that runs another program"
_LATER = "it changes what later commands mean"

# Programs with options that run another: short ones, those of them with a value, long ones.
_RUNNERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "tar": ("IF", "CfbHIKLNTVXgF", ("--to-command", "--checkpoint-action", "--use-compress-program",
            "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command")),
    "sort": ("", "kotST", ("--compress-program",)),
    "rsync": ("e", "eTfBM", ("--rsh", "--rsync-path")),
    "man": ("PH", "CrRLmMsSePEpH", ("--pager", "--html", "--preprocessor")),
    "ssh": ("oFI", "BbcDEeFIiJLlmOopQRSWw", ()),
    "scp": ("oFS", "cDFiJloPSX", ()),
    "sftp": ("oFSD", "BbcDFiJloPRSsX", ()),
    "zip": ("", "bint", ("--unzip-command", "-TT")),
    "rg": ("", "ABCEdefgjmMrtT", ("--pre", "--hostname-bin")),
    "ctags": ("", "fILloRx", ("--options",)),
    "split": ("", "abCln", ("--filter",)),
    "make": ("", "CfIjloW", ("--eval",)),
    "vim": ("cSsuUwW", "cSsuUwWTir", ("--cmd",)),
    "vi": ("cSsuUwW", "cSsuUwWTir", ("--cmd",)),
    "nvim": ("cSsuUlwW", "cSsuUlwWir", ("--cmd",)),
    "emacs": ("f", "fltuL", ("--eval", "--load", "--funcall", "-eval", "-batch")),
}  # fmt: skip
_ASSIGNS = re.compile(r"['\"]*([A-Za-z_]\w*)\+?=", re.ASCII)
_GIT_RUNS = ("--upload-pack", "--receive-pack", "--exec", "--ext-diff", "--textconv",
             "--open-files-in-pager", "--extcmd", "--tool")  # fmt: skip
DECLARING = ("declare", "typeset", "local", "export", "readonly")
_NAMING = (*DECLARING, "let", "unset", "read", "mapfile", "readarray", "getopts", "printf",
           "test", "[", "wait")  # fmt: skip


def doubt(command: Command) -> str:
    """Why the command cannot be known before it runs, though it can be read; "" if it can."""
    name = basename(command.program)
    if name in (".", "source"):
        return "the commands in a file are run in this shell"
    if name in _NAMING and (reason := _naming(command, name)):
        return reason
    values = [word.value or "" for word in command.words[1:]]
    if name == "git":
        return _git(values)
    if name in ("compgen", "complete", "bind", "enable", "fc") and values:
        return "its arguments may be code"
    if name == "hash" and options(values, "p").has("p"):
        return _LATER
    if name in _RUNNERS:
        letters, valued, longs = _RUNNERS[name]
        return _OTHERS if options(values, valued, *longs).has(letters, *longs) else ""
    return ""


def doubts_all(command: Command) -> str:
    """Why after this command no other one can be known; "" if it leaves them alone."""
    name = basename(command.program)
    values = [word.value or "" for word in command.words[1:]]
    if name == "alias" and any("=" in word.text for word in command.words[1:]):
        return "an alias changes what later words mean"
    if name == "shopt" and {"expand_aliases", "lastpipe", "execfail"} & set(values):
        return _LATER
    if name == "set" and (
        {"posix", "keyword", "history", "histexpand"} & set(values)
        or any(re.match(r"-\w*[kH]", value) for value in values)
    ):
        return _LATER
    if name in ("hash", "enable") and doubt(command):
        return _LATER
    if name in SHELLS and "expand_aliases" in values:
        return _LATER
    return ""


def names_set(command: Command) -> set[str]:
    """Names of variables that the command gives a value from elsewhere."""
    name = basename(command.program)
    if name == "printf" and not any((word.value or "").startswith("-v") for word in command.words):
        return set()
    if name not in ("read", "mapfile", "readarray", "getopts", "printf", "unset", "wait"):
        return set()
    found = {re.sub(r"^-v", "", word.value or "") for word in command.words[1:]}
    return found | {"REPLY", "MAPFILE", "OPTARG"}


def declared(command: Command) -> list[tuple[str, Word]]:
    """Assignments among the arguments of export and the like."""
    if command.program not in DECLARING:
        return []
    return [
        (name.group(1), Word(word.text[name.end() :], word.value and word.value[name.end() :]))
        for word in command.words[1:]
        if (name := _ASSIGNS.match(word.value or word.text))
    ]


def decides(name: str, value: Word) -> str:
    """Why a variable with this name and value makes a command unknown; "" if it does not."""
    if not _DECIDES.fullmatch(name):
        return ""
    if value.value in _HARMLESS and not _LOOKED_UP.fullmatch(name):
        return ""
    return f"{name} decides what is run"


def _naming(command: Command, name: str) -> str:
    """Builtins that evaluate a name that they are given: ``a[$(x)]`` runs x."""
    words = command.words[1:]
    values = [word.value for word in words]
    if name in ("test", "["):
        if not {"-v", "-R", None} & set(values):
            return ""
        if None in values and not any("-v" in word.text or "-R" in word.text for word in words):
            return ""
    elif name in ("printf", "wait"):
        letter = "v" if name == "printf" else "p"
        if not any((value or "").startswith(f"-{letter}") for value in values):
            return ""
        if name == "printf":
            words = words[:2]
    if name in ("mapfile", "readarray") and any((v or "").startswith("-C") for v in values):
        return _EVALUATES
    if name in DECLARING and any(re.match(r"-\w*[in]", value or "") for value in values):
        return _EVALUATES
    for word in words:
        assigned = name in DECLARING and re.match(r"\w+\+?=", word.text, re.ASCII)
        if name in DECLARING and word.value is not None and re.search(r"\$\(|`", word.value):
            return _EVALUATES
        if not assigned and (word.value is None or re.search(r"\$|`", word.value)):
            if word.value is None and name in ("test", "["):
                continue
            return _EVALUATES
    return ""


def _git(values: list[str]) -> str:
    """``git`` options before its subcommand that configure it, or say where its parts are."""
    read = options(values, "Cc", "--git-dir", "--work-tree", "--namespace", stop=True)
    configures = ("--config-env", "--exec-path", "--git-dir", "--work-tree", "--attr-source")
    for name, value in read.given:
        if name == "-c" or (name in configures and value is not None):
            return _CONFIGURED
    if not read.operands:
        return ""
    rest = values[read.first + 1 :]
    if options(rest).has("", *_GIT_RUNS):
        return _OTHERS
    if read.operands[0] in ("filter-branch", "submodule", "bisect", "rebase") and (
        {"foreach", "run", "-x", "--exec"} & set(rest) or read.operands[0] == "filter-branch"
    ):
        return _OTHERS
    if read.operands[0] == "grep" and any(value.startswith("-O") for value in rest):
        return _OTHERS
    return ""
