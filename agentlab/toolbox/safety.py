"""Checkpoints: the state of a folder, kept by git, so that nothing an agent does is final.

`checkpoint` keeps every file of the workspace that git does not ignore, `rollback` puts them back.
Both use the real git, but beside the branch, the index and the history that you see: a checkpoint
is a commit under ``refs/agentlab``, made with an index of its own. So this also works in a project
of yours without leaving a trace in ``git log``. Settings of the user and hooks take no part.

What remains outside: files that git ignores, empty folders, and repositories inside the workspace.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from agentlab.tools import Tool, ToolError, tool

REFS = "refs/agentlab/checkpoints"
BEFORE = "before rollback to"  # begins the label of what a rollback keeps by itself
NO_GIT = (
    "git is missing, so there are no checkpoints. It is free: https://git-scm.com/downloads, or "
    "'apt install git', 'brew install git', 'winget install Git.Git'. Then start again."
)
GIT_S = 60.0
_DATE = "2026-11-30T09:17:00+00:00"  # always the same, so that the same files give the same commit
_PLAIN = (
    "core.hooksPath=" + os.devnull, "core.fsmonitor=false", "core.autocrlf=false",
    "core.safecrlf=false", "core.quotePath=false", "commit.gpgSign=false", "gc.auto=0",
    "init.defaultBranch=main", "advice.addEmbeddedRepo=false",
)  # fmt: skip


def checkpoint(folder: str | os.PathLike[str], label: str = "") -> int:
    """Keep the state of ``folder``; returns the number to go back to.

    A folder without a repository becomes one. Raises ToolError if git is missing or fails, or if
    the folder is a part of a larger repository.
    """
    _own_repository(Path(folder))
    number = max(checkpoints(folder), default=0) + 1
    git(folder, "add", "--all", ".", private=True)
    tree = git(folder, "write-tree", private=True)
    commit = git(folder, "commit-tree", tree, "-m", label or f"checkpoint {number}")
    git(folder, "update-ref", f"{REFS}/{number}", commit)
    return number


def rollback(folder: str | os.PathLike[str], number: int | None = None) -> tuple[int, int]:
    """Put the files of a checkpoint back: the last one that was asked for, or ``number``.

    What was there is kept first; returns the number gone back to and the number of what was there.
    Raises ToolError if there is no such checkpoint.
    """
    kept = checkpoints(folder)
    if number is None:
        asked_for = [n for n, label in kept.items() if not label.startswith(BEFORE)]
        number = max(asked_for, default=None)
    if number not in kept:
        there = ", ".join(map(str, kept)) or "none yet"
        raise ToolError(f"There is no checkpoint {number or ''}. There are: {there}.")
    before = checkpoint(folder, f"{BEFORE} {number}")
    git(folder, "read-tree", "--reset", "-u", f"{REFS}/{number}", private=True)
    return number, before


def checkpoints(folder: str | os.PathLike[str]) -> dict[int, str]:
    """The checkpoints of a folder: number and label."""
    if not (Path(folder) / ".git").exists():
        return {}
    listed = git(folder, "for-each-ref", "--format=%(refname:lstrip=3) %(subject)", REFS)
    pairs = (line.partition(" ") for line in listed.splitlines())
    return dict(sorted((int(n), label) for n, _, label in pairs if re.fullmatch(r"\d+", n)))


def first_commit(folder: str | os.PathLike[str]) -> bool:
    """Make ``folder`` a repository with one commit of all it holds. False if git cannot do it."""
    try:
        _init(folder)
        git(folder, "add", "--all", ".")
        git(folder, "commit", "--quiet", "--allow-empty", "-m", "The project as it was given")
    except ToolError:  # git is missing, or broken: the folder is good without it
        return False
    return True


def safety_tools(root: Path) -> list[Tool]:
    """``Checkpoint`` and ``Rollback`` for one folder."""

    @tool(name="Checkpoint", permission="write", root=root)
    def keep(label: str = "") -> str:
        """Keep the state of all files in the workspace, so that Rollback can bring it back.

        Do it before a change that may go wrong. Files that git ignores are not kept.
        """
        return f"Checkpoint {checkpoint(root, label)} kept."

    @tool(name="Rollback", permission="write", root=root)
    def go_back(checkpoint: int | None = None) -> str:
        """Put all files of the workspace back to a checkpoint; newer files are removed.

        Args:
            checkpoint: its number; the last one made with Checkpoint if left out
        """
        number, before = rollback(root, checkpoint)
        return f"Back at checkpoint {number}. What was there before is checkpoint {before}."

    return [keep, go_back]


def git(folder: str | os.PathLike[str], *arguments: str, private: bool = False) -> str:
    """Run git in ``folder``, without the user's settings; returns what it printed.

    ``private``: with agentlab's own index. Raises ToolError if git is missing or fails.
    """
    program = shutil.which("git")
    if program is None:
        raise ToolError(NO_GIT)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "agentlab", "GIT_AUTHOR_EMAIL": "agentlab@localhost",
        "GIT_COMMITTER_NAME": "agentlab", "GIT_COMMITTER_EMAIL": "agentlab@localhost",
        "GIT_AUTHOR_DATE": _DATE, "GIT_COMMITTER_DATE": _DATE, "LC_ALL": "C",
    }  # fmt: skip
    if private:
        environment["GIT_INDEX_FILE"] = str(_git_folder(Path(folder)) / "agentlab-index")
    settings = [word for setting in _PLAIN for word in ("-c", setting)]
    try:
        done = subprocess.run(
            [program, *settings, *arguments], cwd=folder, env=environment, timeout=GIT_S,
            stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"git {arguments[0]} did not run: {error}") from None
    if done.returncode:
        raise ToolError(f"git {arguments[0]} failed: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


def _init(folder: str | os.PathLike[str]) -> None:
    """A new repository with an identity of its own, so that commands in it can commit too."""
    git(folder, "init", "--quiet", "--template=")
    git(folder, "config", "user.name", "agentlab")
    git(folder, "config", "user.email", "agentlab@localhost")


def _own_repository(folder: Path) -> None:
    if (folder / ".git").exists():
        return
    try:
        above = git(folder, "rev-parse", "--show-toplevel")
    except ToolError:
        if shutil.which("git") is None:
            raise
        _init(folder)
        return
    raise ToolError(f"This folder is a part of the repository {above}: commit there instead.")


def _git_folder(folder: Path) -> Path:
    """Where the repository's own files are (in a worktree ``.git`` is a file that says where)."""
    return Path(folder, git(folder, "rev-parse", "--git-dir"))
