"""Checkpoints with the real git: what was there comes back, and nothing else is touched."""

import os
import shutil
import subprocess

import pytest

from agentlab.course.workspaces import workspace
from agentlab.toolbox import checkpoint, rollback, safety
from agentlab.tools import ToolError

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
pytestmark = needs_git


@pytest.fixture(autouse=True)
def a_user(tmp_path, monkeypatch):
    """A home of its own with settings that must not take part, and must not change."""
    home = tmp_path / "home"
    home.mkdir()
    settings = "[core]\n\tautocrlf = true\n[commit]\n\tgpgSign = true\n[user]\n\tname = Somebody\n"
    (home / ".gitconfig").write_text(settings)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "wrong"))
    yield
    assert (home / ".gitconfig").read_text() == settings
    assert [p.name for p in home.iterdir()] == [".gitconfig"]
    assert not (tmp_path / "wrong").exists()


def git(folder, *arguments):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


def tree(folder):
    """Every file of a folder with its bytes, without git's own."""
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file() and ".git" not in p.parts
    }


def test_a_rollback_brings_everything_back_and_can_be_taken_back(hands):
    folder = hands.folder
    (folder / "a.txt").write_bytes(b"one\r\ntwo\n")
    (folder / "sub").mkdir()
    (folder / "sub" / "b.bin").write_bytes(bytes(range(256)))
    before = tree(folder)
    assert checkpoint(folder) == 1
    (folder / "a.txt").write_text("changed")
    (folder / "sub" / "b.bin").unlink()
    (folder / "new").mkdir()
    (folder / "new" / "c.txt").write_text("new")
    after = tree(folder)
    assert rollback(folder) == (1, 2)
    assert tree(folder) == before and not (folder / "new").exists()
    assert rollback(folder, 2) == (2, 3)
    assert tree(folder) == after
    assert rollback(folder) == (1, 4)  # the last that was asked for, not what rollbacks kept
    assert tree(folder) == before


def test_the_tools_do_it_too_and_an_edit_must_look_again(hands):
    hands.ok("Write", file_path="a.txt", content="one")
    assert hands.ok("Checkpoint", label="before the change") == "Checkpoint 1 kept."
    hands.ok("Write", file_path="a.txt", content="two")
    assert "Back at checkpoint 1" in hands.ok("Rollback")
    assert (hands.folder / "a.txt").read_text() == "one"
    stale = hands.error("Edit", file_path="a.txt", old_string="one", new_string="x")
    assert "changed since" in stale
    assert "no checkpoint 9" in hands.error("Rollback", checkpoint=9)


def test_there_is_nothing_to_go_back_to_yet(hands):
    assert "none yet" in hands.error("Rollback")
    assert not (hands.folder / ".git").exists()


def test_branch_index_and_history_of_a_project_stay_as_they_are(hands):
    folder = hands.folder
    git(folder, "init", "-q", "-b", "work")
    (folder / "a.txt").write_text("one")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=Me", "-c", "user.email=me@x", "-c", "commit.gpgSign=false",
        "commit", "-qm", "mine")  # fmt: skip
    (folder / "a.txt").write_text("two")
    (folder / "staged.txt").write_text("staged")
    git(folder, "add", "staged.txt")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "x.log").write_text("kept by nobody")
    hook = folder / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch hook-ran\n")
    hook.chmod(0o755)
    status, log = git(folder, "-c", "core.hooksPath=/dev/null", "status", "--short"), "mine"
    checkpoint(folder)
    assert not (folder / "hook-ran").exists()
    (folder / "a.txt").write_text("three")
    (folder / "x.log").write_text("still here")
    rollback(folder)
    assert git(folder, "log", "--format=%s") == log
    assert git(folder, "branch", "--format=%(refname:short)") == "work"
    assert git(folder, "status", "--short") == status
    assert (folder / "x.log").read_text() == "still here"


def test_a_part_of_a_larger_repository_is_left_alone(hands):
    git(hands.folder, "init", "-q")
    inner = hands.folder / "inner"
    inner.mkdir()
    with pytest.raises(ToolError, match="part of the repository"):
        checkpoint(inner)
    assert not (inner / ".git").exists()


def test_without_git_a_checkpoint_says_how_to_get_it(hands, monkeypatch):
    monkeypatch.setattr(safety.shutil, "which", lambda _: None)
    assert "git is missing" in hands.error("Checkpoint")
    assert "git-scm.com" in hands.error("Checkpoint")
    with workspace() as folder:  # works all the same, only without a repository
        assert (folder / "README.md").exists()
        assert not os.path.exists(os.path.join(folder, ".git"))


def test_workspaces_are_repositories_with_one_commit_and_an_identity():
    with workspace() as folder:
        assert git(folder, "log", "--format=%an: %s") == "agentlab: The project as it was given"
        assert git(folder, "status", "--short") == ""
        first = git(folder, "rev-parse", "HEAD")
        assert os.path.isdir(os.path.join(folder, ".git"))
        for listed in (folder.iterdir(), folder.glob("*"), folder.rglob("*")):
            assert all(".git" not in path.parts for path in listed)
        (folder / "new.txt").write_text("new")
        git(folder, "add", ".")
        git(folder, "-c", "commit.gpgSign=false", "commit", "-qm", "by a command")
        assert git(folder, "log", "-1", "--format=%an") == "agentlab"
    with workspace() as again:
        assert git(again, "rev-parse", "HEAD") == first  # the same on every machine
