"""The ratchet: failures are logged with their rule and hook, and replayed with each hook off."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from agentlab.cli import app
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


def test_a_file_keeps_its_line_endings_and_a_rule_is_one_line(tmp_path):
    (tmp_path / "AGENTS.md").write_bytes(b"# Rules\r\n- One.")
    record(tmp_path, Failure("x", "Bash", {}, rule="Two,\nand more."))
    assert (tmp_path / "AGENTS.md").read_bytes() == b"# Rules\r\n- One.\n- Two, and more.\n"


def test_whatever_was_logged_can_be_read_again(tmp_path):
    odd = Failure("a\u2028b\x85c", "Write", {"file_path": "è.txt", "content": "\x0c\n\ud800"})
    record(tmp_path, odd)
    [found] = failures(tmp_path)
    assert found.what == odd.what and found.input["content"] == "\x0c\n\ufffd"


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (b"{broken", "failures.jsonl:3 is no failure: Invalid JSON"),
        (b"[1]", "failures.jsonl:3 is no failure"),
        (b'{"what": "x", "tool": "Write", "input": "x"}', "failures.jsonl:3.input is no failure"),
        (b'{"what": "x", "input": {}}', "failures.jsonl:3.tool is no failure"),
        (b"\xff", "failures.jsonl:3 is no failure"),
    ],
)
def test_a_log_that_cannot_be_read_names_the_line(line, place, tmp_path):
    record(tmp_path, SUM)
    with (tmp_path / LOG).open("ab") as log:
        log.write(b"\n" + line + b"\n")
    with pytest.raises(ValueError, match=place):
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


async def test_a_file_that_is_in_the_project_by_now_is_written_again(project):
    wrong = {"file_path": "sums.py", "content": "def add(a, b):\n    return a - b\n"}
    record(project, Failure("wrote it anew, and wrong", "Write", wrong))
    replayed = await replay(project, Hooks.load(project, home=project))
    assert replayed.caught == (("pytest_after_edit.py",),)


async def test_whole_paths_lead_into_the_copy(project):
    path = str(project / "sums.py")
    record(project, Failure("x", "Edit", {**SUM.input, "file_path": path}, files={path: "a + b\n"}))
    heard = []
    look = on("PreToolUse", "Edit", lambda event: heard.append(event["tool_input"]["file_path"]))
    hooks = Hooks([*Hooks.load(project, home=project).hooks, look])
    replayed = await replay(project, hooks)
    assert replayed.caught == (("pytest_after_edit.py",),)
    assert path not in heard and heard[0].endswith("project/sums.py")
    assert (project / "sums.py").read_text() == "def add(a, b):\n    return b + a\n"


async def test_a_hook_that_cannot_start_is_not_said_to_catch_anything(project):
    record(project, IMPORT)
    gone = on("PreToolUse", "Write", "python gone.py", name="gone.py")
    replayed = await replay(project, Hooks([gone]))
    assert replayed.missed == [IMPORT] and replayed.idle == []
    assert "gone.py  nobody knows, because it failed: it could not be started" in str(replayed)


async def test_hooks_of_one_name_are_told_apart(project):
    record(project, IMPORT)
    guards = [
        on("PreToolUse", "Write", lambda event: "deny", name="guard"),
        on("PreToolUse", "Write", lambda event: None, name="guard"),
    ]
    replayed = await replay(project, Hooks(guards))
    assert replayed.slips == {"guard": (IMPORT,), "guard (2)": ()}
    assert replayed.idle == ["guard (2)"]


def test_in_the_terminal_a_failure_that_would_happen_again_is_exit_code_1(project):
    def ratchet():
        done = CliRunner().invoke(app, ["ratchet", str(project)])
        return done.exit_code, done.output

    record(project, IMPORT)
    assert ratchet()[0] == 0
    (project / ".agentlab" / "settings.json").unlink()
    assert ratchet()[0] == 1 and "NOTHING CATCHES IT" in ratchet()[1]


async def test_a_folder_without_failures_says_so(tmp_path):
    assert "No failures are in .agentlab/failures.jsonl yet" in str(await replay(tmp_path, Hooks()))


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        (
            Failure("x", "Edit", {**SUM.input, "old_string": "a * b"}),
            "old_string is not in the file",
        ),
        (Failure("x", "Write", {"file_path": "a.txt"}), "content"),
        (Failure("x", "Wriet", {}), "Wriet"),
    ],
)
async def test_a_call_that_cannot_be_made_any_more_is_not_said_to_slip_through(
    failure, why, project
):
    record(project, failure)
    replayed = await replay(project, Hooks())
    assert replayed.missed == [failure]
    assert "it cannot be made again: " in str(replayed) and why in str(replayed)


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
