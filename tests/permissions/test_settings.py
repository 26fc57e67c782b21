"""Settings files: every rule that is written counts, or nothing starts."""

import json
import os
import subprocess
import sys
import threading

import pytest

from agentlab.permissions import Permissions, SettingsError
from agentlab.permissions.rules import RuleError
from agentlab.permissions.settings import (
    default_mode,
    load_rules,
    read_settings,
    rules_of,
    save_rules,
    setting_files,
)


@pytest.fixture
def at(tmp_path):
    """``at(place, data)``: write a settings file; places are as in ``setting_files``."""
    (tmp_path / "home").mkdir()
    (tmp_path / "ws").mkdir()

    def write(place, data):
        path = tmp_path / place
        path.parent.mkdir(exist_ok=True)
        raw = (
            data
            if isinstance(data, bytes)
            else (data if isinstance(data, str) else json.dumps(data)).encode()
        )
        path.write_bytes(raw)
        return path

    write.home, write.workspace = tmp_path / "home", tmp_path / "ws"
    write.load = lambda **more: load_rules(write.workspace, home=write.home, **more)[0]
    return write


def allowing(*rules):
    return {"permissions": {"allow": list(rules)}}


def test_all_files_count_together_and_say_where_a_rule_stands(at):
    for index, place in enumerate(
        ("home/.agentlab/settings.json", "ws/.agentlab/settings.json",
         "ws/.agentlab/settings.local.json", "home/.claude/settings.json",
         "ws/.claude/settings.json", "ws/.claude/settings.local.json")
    ):  # fmt: skip
        at(place, allowing(f"Bash(x{index})"))
    assert [rule.placed for rule in at.load().allow] == [
        "Bash(x0) in ~/.agentlab/settings.json",
        "Bash(x1) in .agentlab/settings.json",
        "Bash(x2) in .agentlab/settings.local.json",
        "Bash(x3) in ~/.claude/settings.json",
        "Bash(x4) in .claude/settings.json",
        "Bash(x5) in .claude/settings.local.json",
    ]


def test_no_file_means_no_rules(at):
    rules, save_to = load_rules(at.workspace, home=at.home)
    assert (rules.deny, rules.ask, rules.allow) == ((), (), ())
    assert save_to == at.workspace / ".agentlab" / "settings.local.json"
    assert len(setting_files(at.workspace, home=at.home)) == 6


def test_settings_of_another_harness_work_unchanged(at):
    at("ws/.claude/settings.json", """
    {
      "$schema": "https://json.schemastore.org/claude-code-settings.json",
      "permissions": {
        "allow": ["Bash(npm run lint)", "Bash(npm run test *)", "Read(~/.zshrc)", "Skill(x)",
                  "mcp__puppeteer", "Agent(Explore)", "WebSearch", "Bash(git push*)"],
        "ask": ["Bash(git push:*)"],
        "deny": ["Bash(curl:*)", "Read(./.env)", "Read(./secrets/**)", "WebFetch"],
        "defaultMode": "acceptEdits",
        "additionalDirectories": ["../docs/"]
      },
      "env": {"FOO": "1"}, "model": "x", "hooks": {"PreToolUse": []}
    }
    """)  # fmt: skip
    rules = at.load()
    assert (len(rules.allow), len(rules.ask), len(rules.deny)) == (8, 1, 4)
    assert default_mode(at.workspace, home=at.home) == "accept_edits"
    assert read_settings(at.workspace / ".claude/settings.json")["hooks"] == {"PreToolUse": []}


def test_a_file_may_be_given_by_its_path(at, tmp_path):
    path = at("team.json", allowing("Bash(x)"))
    assert [rule.source for rule in at.load(files=[path]).allow] == [str(path)]
    with pytest.raises(SettingsError, match="no such file"):
        at.load(files=[tmp_path / "missing.json"])


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ('{"permissions": {"deny": ["Bash(rm:*)",]}}', 1, 40, "a comma too many"),
        ('{\n "permissions": {\n  "deny": [\n   "Bash(rm:*"\n  ]\n }\n}', 4, 4, "'Bash(rm:*'"),
        ('{"permissions": {"deny": ["Read", "Bash()"]}}', 1, 35, "nothing between"),
        ('{"permissions": {"deny": "Bash"}}', 1, 26, "list"),
        ('{"permissions": {"deny": null}}', 1, 26, "list"),
        ('{"permissions": {"deny": {"a": 1}}}', 1, 26, "list"),
        ('{"permissions": {"deny": [["Bash"]]}}', 1, 27, "is no rule"),
        ('{"permissions": {"deny": [1]}}', 1, 27, "is no rule"),
        ('{"permissions": []}', 1, 17, "object"),
        ('{"permissions":\n {"denny": []}}', 2, 12, "'denny' is not known"),
        ('{"permissions": {"deny": [], "deny": []}}', 1, 30, "second time"),
        ('{"permissions": {}, "permissions": {}}', 1, 21, "second time"),
        ('{"deny": []}', 1, 10, "belongs in"),
        ('{"permissions": {"defaultMode": "yolo"}}', 1, 33, "no mode"),
        ('{"permissions": {"defaultMode": ["plan"]}}', 1, 33, "no mode"),
        ("[]", 1, 1, "object"),
        ("", 1, 1, "the file is empty"),
        ("{} x", 1, 4, "not JSON"),
        ("// a comment\n{}", 1, 1, "no comments"),
        ('{"a": NaN}', 1, 1, "NaN"),
        ("[" * 100_000, 1, 1, "nested too deep"),
        ('{"permission": {"deny": ["Bash"]}}', 1, 16, "has to be called"),
        ('{"permissions": {"deny": ["bash(rm:*)"]}}', 1, 27, "the tool is called Bash"),
        ('{"permissions": {"deny": ["Bash(git:*x)"]}}', 1, 27, "only at the end"),
        (b"\xef\xbb\xbf{}", 1, 1, "byte order mark"),
        (b'{"a":\n "\xff"}', 2, 3, "UTF-8"),
        ('{"a": 1}'.encode("utf-16"), 1, 1, "UTF-8"),
        ('{"a": "\n"}', 1, 8, "not JSON"),
    ],
)
def test_a_file_that_cannot_be_read_whole_is_an_error_with_its_place(at, text, line, column, says):
    path = at("ws/.agentlab/settings.json", text)
    with pytest.raises(SettingsError) as error:
        at.load()
    assert str(error.value).startswith(f"{path}:{line}:{column}: ")
    assert says in str(error.value)
    with pytest.raises(SettingsError):
        Permissions.load(at.workspace, home=at.home)


def test_a_file_that_is_there_but_cannot_be_opened_is_an_error(at):
    (at.workspace / ".agentlab" / "settings.json").mkdir(parents=True)
    with pytest.raises(SettingsError, match="cannot be read"):
        at.load()


@pytest.mark.skipif(os.name == "nt", reason="made of links")
def test_a_link_to_nothing_is_no_missing_file(at):
    (at.workspace / ".agentlab").mkdir()
    (at.workspace / ".agentlab" / "settings.json").symlink_to("nowhere.json")
    with pytest.raises(SettingsError, match="cannot be read"):
        at.load()


def test_keys_in_an_escape_are_the_same_keys(at):
    at("ws/.agentlab/settings.json", '{"permissions": {"deny": ["Bash"], "d\\u0065ny": []}}')
    with pytest.raises(SettingsError, match="second time"):
        at.load()


def test_a_project_cannot_ask_for_bypass(at):
    at("ws/.claude/settings.json", {"permissions": {"defaultMode": "bypassPermissions"}})
    assert default_mode(at.workspace, home=at.home) is None
    at("home/.claude/settings.json", {"permissions": {"defaultMode": "bypassPermissions"}})
    assert default_mode(at.workspace, home=at.home) == "bypass"
    at("ws/.claude/settings.local.json", {"permissions": {"defaultMode": "plan"}})
    assert default_mode(at.workspace, home=at.home) == "plan"


# ------------------------------------------------------------------------------------------- saving


def test_saving_makes_the_file_and_its_folder(tmp_path):
    path = tmp_path / "a" / ".agentlab" / "settings.local.json"
    save_rules(path, allow=["Bash(git add:*)", "Bash(git add:*)"])
    assert json.loads(path.read_text()) == allowing("Bash(git add:*)")
    assert [str(rule) for rule in rules_of(path).allow] == ["Bash(git add:*)"]


def test_saving_loses_nothing_and_keeps_the_order(at):
    data = {"z": {"deep": [1, 2.5, None]}, "permissions": {"deny": ["Read(é)"], "allow": ["A"],
                                                           "ask": []},
            "a": "ü", "hooks": {"Stop": []}}  # fmt: skip
    path = at("ws/.agentlab/settings.json", data)
    os.chmod(path, 0o600)
    save_rules(path, allow=["B", "A", "C"])
    saved = json.loads(path.read_text("utf-8"))
    assert list(saved) == list(data) and list(saved["permissions"]) == ["deny", "allow", "ask"]
    assert saved["permissions"]["allow"] == ["A", "B", "C"]
    saved["permissions"]["allow"] = ["A"]
    assert saved == data
    assert "é" in path.read_text("utf-8")
    if os.name != "nt":
        assert path.stat().st_mode & 0o777 == 0o600


def test_saving_what_is_there_changes_nothing(at):
    path = at("ws/.agentlab/settings.json", '{"permissions":{"allow":["A"]}}')
    save_rules(path, allow=["A"])
    assert path.read_text() == '{"permissions":{"allow":["A"]}}'


@pytest.mark.parametrize("text", ["{", '{"permissions": []}', '{"permissions": {"allow": 1}}'])
def test_a_file_that_is_broken_is_not_replaced(at, text):
    path = at("ws/.agentlab/settings.json", text)
    with pytest.raises(SettingsError):
        save_rules(path, allow=["A"])
    assert path.read_text() == text


def test_a_rule_that_makes_no_sense_is_not_saved(at):
    path = at("ws/.agentlab/settings.json", "{}")
    with pytest.raises(RuleError):
        save_rules(path, allow=["A", "Bash("])
    assert path.read_text() == "{}"


def test_writers_in_threads_lose_nothing(tmp_path):
    path = tmp_path / "settings.json"
    threads = [
        threading.Thread(target=lambda n=n: [save_rules(path,
                                                        allow=[f"T{n}x{i}"]) for i in range(10)])
        for n in range(6)
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rules_of(path).allow) == 60


def test_writers_in_processes_lose_nothing(tmp_path):
    path = tmp_path / "settings.json"
    program = (
        "import sys; from agentlab.permissions.settings import save_rules\n"
        "for i in range(20): save_rules(sys.argv[1], allow=[f'P{sys.argv[2]}x{i}', 'Same'])"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, path, str(n)]) for n in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    rules = [str(rule) for rule in rules_of(path).allow]
    assert len(rules) == 61 == len(set(rules))
    assert sorted(p.name for p in tmp_path.iterdir()) == [".settings.json.lock", "settings.json"]


def test_what_the_user_always_allows_is_there_the_next_time(at):
    permissions = Permissions.load(at.workspace, home=at.home)
    assert permissions.explain("Bash", command="make test").behaviour == "ask"
    permissions.remember(["Bash(make test:*)"], always=True)
    again = Permissions.load(at.workspace, home=at.home)
    assert again.explain("Bash", command="make test").rule == (
        "Bash(make test:*) in .agentlab/settings.local.json"
    )
