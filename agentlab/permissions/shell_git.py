"""When git only reads.

Three things decide: the subcommand, its options, and the configuration of the repository. The last
is the one that people forget: ``git diff`` runs whatever ``diff.external`` names, and a repository
that was copied from elsewhere brings its own ``.git/config``. So a reading git is only trusted
after `git_runs_programs` has looked. It does not look into submodules, nor at what the user
configured for all repositories. Chapter 05. From the manual pages of git 2.39 (read October 2025).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentlab.permissions.shell_options import options

# Options of any subcommand that write a file or run a program. %G in a format runs gpg.
_NEVER = ("--output", "--ext-diff", "--textconv", "--show-signature", "--exec", "--upload-pack",
          "--receive-pack", "--open-files-in-pager", "--no-index")  # fmt: skip
_GLOBAL = ("--no-pager", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects")


@dataclass(frozen=True)
class Subcommand:
    """``never`` letters and ``longs`` make it write; with operands one of ``listing`` must be."""

    never: str = ""
    longs: tuple[str, ...] = ()
    listing: tuple[str, ...] = ()
    valued: tuple[str, ...] = ()


_PICKS = (
    "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--sort", "--format",
)  # fmt: skip
_ALWAYS = """status log diff show shortlog rev-parse rev-list ls-files ls-tree blame describe
    name-rev merge-base show-ref for-each-ref diff-tree diff-index diff-files count-objects
    check-ignore cherry version""".split()  # noqa: SIM905
SUBCOMMANDS: dict[str, Subcommand] = {
    **dict.fromkeys(_ALWAYS, Subcommand()),
    "cat-file": Subcommand("", ("--filters",)), "grep": Subcommand("O", ("--untracked",)),
    "branch": Subcommand(
        "dDmMcCfut",
        ("--delete", "--move", "--copy", "--force", "--set-upstream-to", "--unset-upstream",
         "--edit-description", "--track", "--no-track", "--create-reflog"),
        ("--list", "-l", *_PICKS[:4]), _PICKS,
    ),
    "tag": Subcommand(
        "dfasumFvet",
        ("--delete", "--force", "--annotate", "--sign", "--local-user", "--message", "--file",
         "--verify", "--create-reflog"),
        ("--list", "-l", "-n", *_PICKS[:5]), _PICKS,
    ),
    "config": Subcommand(
        "e",
        ("--edit", "--add", "--unset", "--unset-all", "--replace-all", "--rename-section",
         "--remove-section", "--default", "--fixed-value"),
        ("--get", "--get-all", "--get-regexp", "--list", "-l"),
    ),
}  # fmt: skip
_WORDS = {  # subcommands whose first operand says what they do
    "remote": ("get-url",), "stash": ("list",), "worktree": ("list",), "reflog": ("show",),
    "bisect": ("log",), "notes": ("list",),
}  # fmt: skip

_SECTION = re.compile(r'\s*\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_KEY = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*))?")
_RUNS = re.compile(
    r"diff\.external|diff\..+\.(?:command|textconv)|core\.(?:fsmonitor|pager|editor|sshcommand|gitproxy"
    r"|askpass|alternaterefscommand)|pager\..+|sequence\.editor|gpg\.(?:.+\.)?program"
    r"|filter\..+\.(?:clean|smudge|process)|merge\..+\.driver|interactive\.difffilter|log\.showsignature"
    r"|credential\.(?:.+\.)?helper|trailer\..+\.(?:command|cmd)|include\.path|includeif\..+\.path"
    r"|uploadpack\.packobjectshook|tar\..+\.command|difftool\..+\.cmd|mergetool\..+\.cmd"
)
_SWITCHES = ("true", "false", "yes", "no", "0", "1")
_HOOK = "post-index-change"  # the one hook that reading runs: status and diff may refresh the index


def git_reads_only(args: Sequence[str]) -> bool:
    """Whether ``git`` with these arguments only reads, as far as the configuration lets it."""
    rest = list(args)
    while rest and rest[0] in _GLOBAL:
        rest.pop(0)
    if rest in (["--version"], ["-v"]):
        return True
    if not rest or any("%G" in arg for arg in rest):
        return False
    name, *rest = rest
    if name in _WORDS:
        read = options(rest)
        if read.has("", *_NEVER) or (not read.operands and name not in ("remote", "reflog")):
            return False
        return not read.operands or read.operands[0] in _WORDS[name]
    known = SUBCOMMANDS.get(name)
    if known is None:
        return False
    read = options(rest, "", *known.valued)
    if read.has(known.never, *known.longs, *_NEVER):
        return False
    asks = any(option in known.listing for option, _ in read.given)
    if name == "config":  # git config user.name
        return asks or (not read.given and len(read.operands) == 1 and "." in read.operands[0])
    return not known.listing or not read.operands or asks


def git_runs_programs(folder: str) -> str:
    """The first setting of the repository at ``folder`` by which reading runs a program, or "".

    Only what comes with the repository counts; it is read, git itself is not run.
    """
    where = _git_folder(Path(os.path.realpath(folder)))
    if where is None:
        return ""
    common = where
    if (pointer := _text(where / "commondir")) is not None:
        common = where / pointer.strip()
    hooks = common / "hooks"
    for file in (common / "config", where / "config.worktree"):
        for key, value in _settings(_text(file) or ""):
            if key == "core.hookspath":
                hooks = Path(folder) / Path(value).expanduser()
            elif key == "core.fsmonitor" and value.lower() in _SWITCHES:
                continue  # git's own watcher, or none
            elif _RUNS.fullmatch(key) or (key.startswith("alias.") and value.startswith("!")):
                return key
    return f"hooks/{_HOOK}" if (hooks / _HOOK).exists() else ""


def _git_folder(folder: Path) -> Path | None:
    """Where git keeps the repository that ``folder`` is in; None if it is in none."""
    for parent in (folder, *folder.parents):
        inside = parent / ".git"
        if inside.is_dir():
            return inside
        if (pointer := _text(inside)) is not None and pointer.startswith("gitdir:"):
            return parent / pointer.partition(":")[2].strip()
        if all((parent / name).exists() for name in ("HEAD", "objects", "refs")):
            return parent
    return None


def _text(file: Path) -> str | None:
    try:
        return file.read_text("utf-8-sig", "replace")
    except OSError:
        return None


def _settings(text: str) -> list[tuple[str, str]]:
    """Keys (section and name in small letters) and values, as git reads them."""
    found: list[tuple[str, str]] = []
    section = ""
    for line in text.replace("\\\n", "").splitlines():
        if head := _SECTION.match(line):
            section = head.group(1).lower() + (f".{head.group(2)}" if head.group(2) else "")
            line = line[head.end() :]
        if setting := _KEY.match(line):
            value = re.sub(r'(?<!\\)"', "", (setting.group(2) or "true").strip())
            found.append((f"{section}.{setting.group(1).lower()}", value))
    return found
