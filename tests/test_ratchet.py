"""The ratchet: failures are logged with their rule and hook, and replayed with each hook off."""

import json
import shutil

import pytest

from agentlab.hooks import Hooks, on
from agentlab.ratchet import LOG, Failure, failures, record, replay
from agentlab.resources import data_path

TEST = "from sums import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n"
IMPORT = Failure(
    "imports the deprecated flat_earth",
    "Write",
    {"file_path": "trip.py", "content": "import flat_earth\n"},
    rule="Do not import flat_earth; use sphere.",
    hook="deprecated_import.py",
)
SUM = Failure(
    "subtracts instead of adding",
    "Edit",
    {"file_path": "sums.py", "old_string": "a + b", "new_string": "a - b"},
    files={"sums.py": "def add(a, b):\n    return a + b\n"},
    hook="pytest_after_edit.py",
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    folder = tmp_path / "project"
    shutil.copytree(data_path("hooks"), folder / ".agentlab" / "hooks")
    settings = json.loads(data_path("hooks", "settings.json").read_text())
    del settings["hooks"]["PreToolUse"][0]["hooks"][1]  # the webhook
    (folder / ".agentlab" / "settings.json").write_text(json.dumps(settings))
    (folder / "test_sums.py").write_text(TEST)
    (folder / "sums.py").write_text("def add(a, b):\n    return b + a\n")
    return folder


def test_a_failure_is_logged_and_its_rule_added_once(tmp_path):
    record(tmp_path, IMPORT)
    record(tmp_path, IMPORT)
    assert failures(tmp_path) == [IMPORT, IMPORT]
    assert (tmp_path / "AGENTS.md").read_text() == f"# Rules\n- {IMPORT.rule}\n"


def test_a_rule_goes_to_the_end_of_the_file_that_is_there(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("# How we work\n\n- Be kind.")
    record(tmp_path, IMPORT)
    assert (tmp_path / "CLAUDE.md").read_text().endswith(f"- Be kind.\n- {IMPORT.rule}\n")


def test_a_log_that_cannot_be_read_names_the_line(tmp_path):
    record(tmp_path, SUM)
    with (tmp_path / LOG).open("a") as log:
        log.write("{broken\n")
    with pytest.raises(ValueError, match=r"failures.jsonl:2"):
        failures(tmp_path)


async def test_a_replay_names_the_hooks_that_catch_and_those_that_do_not(project):
    record(project, IMPORT)
    record(project, SUM)
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    replayed = await replay(project, Hooks.load(project, home=project))
    assert replayed.caught == (("deprecated_import.py",), ("pytest_after_edit.py",))
    assert replayed.slips["deprecated_import.py"] == (IMPORT,)
    assert replayed.slips["pytest_after_edit.py"] == (SUM,)
    assert replayed.idle == ["block_rm.py", "stay_in_project.py", "log_writes.py"]
    assert not replayed.missed
    assert "no longer catches anything" in str(replayed)
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


async def test_a_hook_that_another_one_covers_is_not_idle(project):
    record(project, IMPORT)
    hooks = Hooks.load(project, home=project)
    same = on("PreToolUse", "Write", lambda e: "deny", name="no_writes")
    replayed = await replay(project, Hooks([*hooks.hooks, same]))
    assert replayed.slips["no_writes"] == replayed.slips["deprecated_import.py"] == ()
    assert "no_writes" not in replayed.idle
    assert "others catch the same" in str(replayed)


async def test_a_failure_that_nothing_catches_is_named(project):
    record(project, IMPORT)
    replayed = await replay(project, Hooks())
    assert replayed.missed == [IMPORT] and "NOTHING CATCHES IT" in str(replayed)


async def test_what_was_dangerous_is_not_run_again(project, tmp_path):
    victim = tmp_path / "victim"
    victim.mkdir()
    record(project, Failure("removed a folder", "Bash", {"command": f"rm -rf {victim}"}))
    replayed = await replay(project, Hooks.load(project, home=project))
    assert replayed.caught == (("block_rm.py",),)
    assert [failure.what for failure in replayed.slips["block_rm.py"]] == ["removed a folder"]
    assert victim.exists()


async def test_a_log_cannot_write_outside_the_copy(project):
    record(project, Failure("x", "Write", IMPORT.input, files={"../out.txt": "x"}))
    with pytest.raises(ValueError, match="not in the project"):
        await replay(project, Hooks())
