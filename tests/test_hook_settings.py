"""Settings files with hooks: the widely used form works, and what means nothing is an error."""

import json
import shutil
import sys
import threading
from http.server import HTTPServer

import pytest

from agentlab.hooks import Hooks, on
from agentlab.messages import tool_use
from agentlab.permissions import Circumstances, SettingsError
from agentlab.permissions.gate import Gate
from agentlab.resources import data_path
from agentlab.toolbox import toolbox
from agentlab.tools import Prepared, prepare

SAMPLE = {
    "permissions": {"allow": ["Bash(ls:*)"]},
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [{"type": "command", "command": "echo no >&2; exit 2", "timeout": 60}],
            }
        ],
        "PostToolUse": [
            {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "ruff ."}]},
            {"hooks": [{"type": "http", "url": "https://example.org/hook"}]},
        ],
        "Stop": [{"hooks": [{"type": "prompt", "prompt": "Is it done? $ARGUMENTS"}]}],
    },
}


def write(folder, settings, name=".agentlab/settings.json"):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(settings if isinstance(settings, str) else json.dumps(settings, indent=1))


def one(**entry):
    return {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", **entry}]}]}}


async def test_the_widely_used_form_works_unchanged(tmp_path):
    hooks = Hooks.from_settings(SAMPLE, tmp_path)
    assert len(hooks.hooks) == 4 and not hooks.ignored
    assert [hook.event for hook in hooks.hooks] == ["PreToolUse", *["PostToolUse"] * 2, "Stop"]
    assert hooks.on("PostToolUse", "Read") and not hooks.on("PreToolUse", "Read")
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
    said = await hooks.fire("PreToolUse", call)
    assert said.decision == "deny" and "no" in said.reason


def test_the_files_of_user_and_project_add_up(tmp_path):
    home, project = tmp_path / "home", tmp_path / "project"
    names = []
    for folder in (home, project):
        folder.mkdir()
        for name in ("settings.json", "settings.local.json"):
            for kind in (".claude", ".agentlab"):
                names.append(f"{folder.name}{kind}{name}")
                write(folder, one(command="true", name=names[-1]), f"{kind}/{name}")
    found = [hook.name for hook in Hooks.load(project, home=home).hooks]
    assert sorted(found) == sorted(n for n in names if not n.startswith("home") or "local" not in n)


def test_no_files_no_hooks(tmp_path):
    assert not Hooks.load(tmp_path, home=tmp_path)


def test_a_file_that_is_both_the_users_and_the_projects_counts_once(tmp_path):
    write(tmp_path, one(command="true"))
    assert len(Hooks.load(tmp_path, home=tmp_path).hooks) == 1


def test_a_file_that_does_not_parse_is_an_error_with_line_and_column(tmp_path):
    write(tmp_path, '{\n "hooks": {,}\n}')
    with pytest.raises(SettingsError, match=r"settings.json:2:12"):
        Hooks.load(tmp_path, home=tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hooks": []}, r"hooks: it must be an object"),
        ({"hooks": {"PreTolUse": []}}, r"hooks.PreTolUse"),
        (
            {"hooks": {"PreTolUse": [{"hooks": [{"command": "x"}]}]}},
            r"hooks.PreTolUse: there is no event 'PreTolUse'; did you mean PreToolUse",
        ),
        ({"hooks": {"Stop": {}}}, r"hooks.Stop: it must be a list"),
        ({"hooks": {"Stop": ["x"]}}, r"hooks.Stop\[0\]: it must be an object"),
        ({"hooks": {"Stop": [{}]}}, r"hooks.Stop\[0\].hooks: it must be a list"),
        ({"hooks": {"Stop": [{"matcher": 5, "hooks": []}]}}, r"hooks.Stop\[0\].matcher"),
        (one(), r"PreToolUse\[0\].hooks\[0\].command: it must be a text"),
        (one(type="comand", command="x"), r"type: 'comand' is not one of command, http, prompt"),
        (one(type="agent", prompt="x"), r"type: 'agent' is not one of"),
        (one(type="http"), r"url: it must be a text"),
        (one(type="http", url="localhost:8787"), r"url: it cannot be 'localhost:8787'"),
        (one(command=" "), r"command: it cannot be ' '"),
        (one(type="prompt", prompt=""), r"prompt: it cannot be ''"),
        (one(command="x", timeout="60"), r"timeout: it must be a number"),
        (one(command="x", timeout=0), r"more than 0 seconds"),
        (one(command="x", **{"if": "Bash("}), r"no rule"),
        (
            {"hooks": {"PreToolUse": [{"matcher": "Bash(", "hooks": [{"command": "x"}]}]}},
            r"hooks.PreToolUse\[0\].hooks\[0\]: matcher 'Bash\(' is no regular expression",
        ),
    ],
)
def test_what_means_nothing_is_an_error_that_names_the_place(settings, message, tmp_path):
    write(tmp_path, settings)
    with pytest.raises(SettingsError, match=message):
        Hooks.load(tmp_path, home=tmp_path)
    with pytest.raises(SettingsError, match=message):
        Hooks.from_settings(settings, tmp_path)


def test_events_and_fields_of_other_harnesses_are_left_out_and_named(tmp_path):
    settings = one(command="true", once=True)
    settings["hooks"]["Notification"] = [{"hooks": [{"type": "command", "command": "beep"}]}]
    settings["hooks"]["SubagentStop"] = settings["hooks"]["PermissionRequest"] = []
    write(tmp_path, settings)
    hooks = Hooks.load(tmp_path, home=tmp_path)
    assert len(hooks.hooks) == 1 and repr(hooks).endswith("; 4 left out, see .ignored)")
    once, *events = sorted(hooks.ignored, key=lambda text: "once" not in text)
    assert "PreToolUse[0].hooks[0].once" in once
    assert [event.split("(hooks.")[1].split(")")[0] for event in events] == [
        "Notification", "SubagentStop", "PermissionRequest",
    ]  # fmt: skip


async def test_a_program_with_arguments_finds_the_project_without_a_shell(tmp_path):
    project = tmp_path / "a project"
    project.mkdir()
    (project / "deny.py").write_text("import sys; sys.exit(2 * (sys.argv[1] == '$HOME'))")
    there = ["${CLAUDE_PROJECT_DIR}/deny.py", "$HOME"]
    hooks = Hooks.from_settings(one(command=sys.executable, args=there), project)
    said = await hooks.fire("PreToolUse", {"tool_name": "Bash", "tool_input": {}})
    assert said.decision == "deny" and "gave no reason" in said.reason


def test_all_hooks_can_be_switched_off(tmp_path):
    write(tmp_path, {**SAMPLE, "disableAllHooks": True})
    hooks = Hooks.load(tmp_path, home=tmp_path)
    assert not hooks and "4 hooks are off" in hooks.ignored[0]


async def test_an_error_names_file_and_line_of_the_hook(tmp_path):
    write(tmp_path, one(command="exit 1"))
    hooks = Hooks.load(tmp_path, home=tmp_path)
    said = await hooks.fire("PreToolUse", {"tool_name": "Bash", "tool_input": {}})
    assert "take it out of .agentlab/settings.json:7 (hooks.PreToolUse[0].hooks[0])" in said.reason


@pytest.mark.parametrize(
    ("matcher", "yes", "no"),
    [
        ("", ["Bash", "mcp__a__b"], []),
        ("*", ["Bash", "Edit"], []),
        ("Bash", ["Bash"], ["bash", "BashOutput", "MyBash"]),
        ("Edit|Write", ["Edit", "Write"], ["MultiEdit", "Writer", "NotebookEdit"]),
        ("Edit | Write", ["Edit", "Write"], ["Read"]),
        ("Edit,Write", ["Edit", "Write"], ["Read"]),
        ("mcp__.*", ["mcp__a__b"], ["Bash"]),
        ("mcp__git__(push|merge)", ["mcp__git__push_files", "mcp__git__push"], ["mcp__git__log"]),
        ("Edit.*", ["MultiEdit", "Edit", "Editor"], ["Write"]),
        ("^Notebook.*", ["NotebookEdit", "Notebook"], ["MyNotebook"]),
        ("^mcp__", ["mcp__a__b"], ["my_mcp__a"]),
        ("Edit$", ["MultiEdit", "Edit"], ["Editor"]),
        ("^(Edit|Write)$", ["Edit"], ["MultiEdit"]),
        ("mcp__(a|b)__.*|Bash", ["mcp__a__x", "Bash"], ["mcp__c__x"]),
    ],
)
def test_a_matcher_fits_whole_names_or_is_a_regular_expression(matcher, yes, no):
    hooks = Hooks([on("PreToolUse", matcher, "true")])
    assert [hooks.on("PreToolUse", name) for name in yes + no] == [True] * len(yes) + [False] * len(
        no
    )


async def test_a_rule_says_which_calls_a_hook_is_for(tmp_path):
    pushes = on("PreToolUse", "Bash", lambda e: "deny", only_if="Bash(git push:*)")
    tools = {tool.name: tool for tool in toolbox(tmp_path)}

    async def decision(command):
        call = {"tool_name": "Bash", "tool_input": {"command": command}}
        return (await Hooks([pushes]).fire("PreToolUse", call, tool=tools["Bash"])).decision

    assert await decision("git status") == ""
    assert await decision("git push origin") == "deny"
    assert await decision("cd x && git push") == "deny"
    assert await decision("g=push; git $g") == "deny"  # it cannot be known: the hook is asked


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: on("Pretooluse", "", "true"),
        lambda: on("PreToolUse", "(", "true"),
        lambda: on("PreToolUse", "", "true", timeout_s=0),
        lambda: on("PreToolUse", "", "true", only_if="Bash("),
        lambda: on("PreToolUse", "", ""),
        lambda: on("PreToolUse", "", []),
        lambda: on("PreToolUse", "", 5),
    ],
)
def test_a_hook_that_makes_no_sense_is_an_error_in_python_too(wrong):
    with pytest.raises(ValueError):
        wrong()


# ------------------------------------------------------------------------------------ data/hooks


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project that has all the ready-made hooks. Its pytest starts without our many plugins."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    folder = tmp_path / "project"
    shutil.copytree(data_path("hooks"), folder / ".agentlab" / "hooks")
    shutil.copy(data_path("hooks", "settings.json"), folder / ".agentlab" / "settings.json")
    return folder


async def decide(project, tool, **input):
    """Decision and reason of the ready-made hooks about a call, which is run if it may."""
    gate = Gate(None, Hooks.load(project, home=project))
    tools = {made.name: made for made in toolbox(project)}
    calls = [prepare(tool_use("t1", tool, input), tools)]
    async for _ in gate.decide(calls, Circumstances()):
        pass
    call = calls[0]
    outcome = await gate.execute(call) if isinstance(call, Prepared) else call
    return isinstance(call, Prepared), str(outcome.block["content"])


def test_each_ready_made_hook_has_ten_lines_or_less():
    for path in data_path("hooks").glob("*.py"):
        lines = [line for line in path.read_text().splitlines() if line and line[:3] != '"""']
        assert len(lines) <= 10, path.name
        assert f"`{path.name}`" in data_path("hooks", "README.md").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of a POSIX shell")
@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("rm -r build", True),
        ("rm -rf ./build *.pyc", True),
        ("rm plan.txt", True),
        ("echo rm -rf /", True),
        ("ls / && rm -r build", True),
        ("rm -rf /nowhere/at/all", False),
        ("rm -fr ~/x", False),
        ("/bin/rm --recursive --force ../other", False),
        ("rm ../other -r", False),
        ("sudo rm -rf /nowhere", False),
        ("true; rm -rf $HOME/x", False),
        ("cd / && rm -rf nowhere", False),
        ("bash -c 'rm -rf /nowhere'", False),
        ("rm -rf .", False),
        ("rm -rf 'unclosed", False),
    ],
)
async def test_block_rm_keeps_recursive_removal_in_the_project(command, runs, project):
    (project / "build").mkdir()
    gate = Gate(None, Hooks.load(project, home=project))
    tools = {made.name: made for made in toolbox(project)}
    calls = [prepare(tool_use("t1", "Bash", {"command": command}), tools)]
    [piece async for piece in gate.decide(calls, Circumstances())]
    # `echo rm -rf /` is refused as well: the hook reads words. It errs on this side.
    assert isinstance(calls[0], Prepared) == (runs and not command.startswith("echo"))


async def test_stay_in_project_refuses_other_places_and_the_settings(project, tmp_path):
    assert (await decide(project, "Write", file_path="notes/a.txt", content="x"))[0]
    allowed, text = await decide(
        project, "Write", file_path=".agentlab/settings.json", content="{}"
    )
    assert not allowed and "not to its settings" in text
    gate = Gate(None, Hooks.load(project, home=project))
    tools = {made.name: made for made in toolbox(tmp_path)}  # a wider toolbox
    calls = [prepare(tool_use("t1", "Write", {"file_path": "out.txt", "content": "x"}), tools)]
    [piece async for piece in gate.decide(calls, Circumstances())]
    assert not isinstance(calls[0], Prepared)


async def test_deprecated_import_refuses_what_was_replaced(project):
    text = "import math\nfrom flat_earth import distance\n"
    allowed, said = await decide(project, "Write", file_path="trip.py", content=text)
    assert not allowed and "import sphere instead" in said
    assert not (project / "trip.py").exists()
    notes = "# we no longer import flat_earth\nimport sphere\n"
    assert (await decide(project, "Write", file_path="trip.py", content=notes))[0]
    assert (await decide(project, "Write", file_path="notes.md", content=text))[0]


async def test_pytest_after_edit_is_silent_or_tells_what_failed(project):
    test = "from sums import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n"
    (project / "test_sums.py").write_text(test)
    wrong, right = (f"def add(a, b):\n    return a {sign} b\n" for sign in "-+")
    _, said = await decide(project, "Write", file_path="sums.py", content=wrong)
    assert "[hook pytest_after_edit.py]" in said and "assert 0 == 4" in said
    assert "1 failed" in said and "failed in" not in said
    (project / "sums.py").unlink()
    _, said = await decide(project, "Write", file_path="sums.py", content=right)
    assert "hook" not in said
    assert "hook" not in (await decide(project, "Write", file_path="a.md", content="x"))[1]


async def test_log_writes_notes_every_write(project):
    for name in ("a.txt", "b.txt"):
        _, said = await decide(project, "Write", file_path=name, content="x")
        assert "hook" not in said
    lines = (project / ".agentlab" / "writes.jsonl").read_text().splitlines()
    assert [json.loads(line)["file"] for line in lines] == ["a.txt", "b.txt"]


async def test_the_webhook_refuses_a_push_to_main(project, monkeypatch):
    servers = []

    class Caught(HTTPServer):
        def __init__(self, address, handler):
            super().__init__(address, handler)
            handler.log_message = lambda *_: None
            servers.append(self)

        def serve_forever(self, *_):
            pass

    monkeypatch.setattr("http.server.HTTPServer", Caught)
    monkeypatch.setattr(sys, "argv", ["webhook.py", "0"])
    exec(compile(data_path("hooks", "webhook.py").read_text(), "webhook.py", "exec"), {})
    [server] = servers
    thread = threading.Thread(target=lambda: HTTPServer.serve_forever(server), daemon=True)
    thread.start()
    path = project / ".agentlab" / "settings.json"
    path.write_text(path.read_text().replace("8787", str(server.server_port)))
    try:
        allowed, text = await decide(project, "Bash", command="git push origin main")
        assert not allowed and "open a pull request" in text
        assert (await decide(project, "Bash", command="git push --dry-run origin topic"))[0]
    finally:
        server.shutdown()
        server.server_close()
    allowed, text = await decide(project, "Bash", command="git push origin topic")
    assert not allowed and "To turn this hook off" in text  # nobody answers: an error, no consent
