"""The attack range: its data, how a matcher is scored, and injections that are really obeyed."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from agentlab import range_
from agentlab.course.shown import CourseError
from agentlab.range_.entries import SEVERITIES, site
from agentlab.range_.table import parse_of, visible
from agentlab.resources import data_path

ENTRIES = range_.load()
INJECTIONS = [entry for entry in ENTRIES if entry.injection]
HARMLESS = [entry for entry in ENTRIES if entry.expected == "pass"]
bash = shutil.which("bash")
posix = pytest.mark.skipif(os.name != "posix" or not bash, reason="runs bash")
SOURCE = re.compile(r"common knowledge|[\w.-]+/[\w.-]+ (issue|PR) #\d+|https://\S+")
# What the rules of the range allow and a machine may not have; each does nothing, and does it well.
FAKES = ("npm", "make", "cargo", "pytest", "curl", "rg", "tree", "node", "date", "docker")


def ids(entries):
    return [pytest.param(entry, id=entry.id) for entry in entries]


# ----------------------------------------------------------------------------------------- the data


def test_there_are_many_entries_and_a_third_of_them_is_harmless():
    assert len(ENTRIES) >= 190
    assert 0.28 < len(HARMLESS) / len(ENTRIES) < 0.4
    assert len(INJECTIONS) >= 25


def test_every_file_of_the_range_is_a_kind_and_every_entry_stands_in_its_own():
    files = {path.stem: json.loads(path.read_text()) for path in data_path("range").glob("*.json")}
    assert set(files) == set(range_.KINDS)
    for kind, entries in files.items():
        assert {entry["kind"] for entry in entries} == {kind}
        assert {"stop", "pass"} == {entry["expected"] for entry in entries}


@pytest.mark.parametrize("entry", ids(ENTRIES))
def test_an_entry_says_what_is_expected_and_where_it_is_from(entry):
    assert entry.id.startswith(entry.kind)
    assert entry.severity in SEVERITIES
    assert (entry.severity == "low") == (entry.expected == "pass")
    assert entry.title and entry.why.endswith((".", "?"))
    assert all(SOURCE.fullmatch(source) for source in entry.source)
    assert entry.kind.startswith("injection") == bool(entry.injection)


def test_no_entry_is_there_twice():
    ids = [entry.id for entry in ENTRIES]
    assert len(set(ids)) == len(ids)
    calls = [repr((e.tool, e.input, e.rules, e.mode, e.platform, e.files, e.links, e.injection))
             for e in ENTRIES]  # fmt: skip
    assert len(set(calls)) == len(calls)


def test_what_everybody_gets_is_a_fresh_list():
    range_.load().clear()
    assert range_.load() == ENTRIES


# What the entries claim about the shell is tried: those that must be stopped really do it.

COMMANDS = [e for e in ENTRIES if e.command and e.platform == "linux"]
STOPPED = [e for e in COMMANDS if e.expected == "stop"]
MARKING = [
    e for e in STOPPED
    if "touch pwned" in f"{e.command}{e.files}" and "git config" not in e.command
]  # fmt: skip
NOT_HERE = ("sudo", "xargs", "find", "watch", "parallel", "busybox", "flock")
DELETING = [
    e for e in STOPPED
    if "Bash(rm" in str(e.rules["deny"]) and not any(name in e.command for name in NOT_HERE)
]  # fmt: skip
DISGUISED = [e for e in COMMANDS if e.expected == "pass" and "rm -rf" in e.command]


def run(command, here, tmp_path):
    """Run a command with bash, in the folders of an entry, with programs that do nothing."""
    fakes = tmp_path / "fakes"
    fakes.mkdir()
    for name in FAKES:
        (fakes / name).write_text("#!/bin/sh\nexit 0\n")
        (fakes / name).chmod(0o755)
    names = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")
    who = {f"GIT_{name}": "nobody@x.test" for name in names}
    path = f"{fakes}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": here.home, "GIT_CONFIG_NOSYSTEM": "1", **who}
    subprocess.run(
        [bash, "-c", here.named(command)], cwd=here.workspace, env=environment,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False,
    )  # fmt: skip


def commit(here):
    """A first commit, so that git has something to compare what stands there with."""
    readme, config = (here.outer / "ws" / name for name in ("README.md", ".git/config"))
    as_set = readme.read_text(), config.read_text()
    readme.write_text("words\n")
    config.write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
    who = ["-c", "user.name=x", "-c", "user.email=x@x.test"]
    for arguments in (["add", "README.md"], ["commit", "-qm", "first"]):
        command = ["git", *who, *arguments]
        subprocess.run(command, cwd=here.workspace, capture_output=True, check=True)
    readme.write_text(as_set[0])
    config.write_text(as_set[1])


def left_by(command, entry, tmp_path):
    """The names of all files that are there after a command was run, ``build/out`` among them."""
    with site(entry) as here:
        (here.outer / "ws" / "build" / "out").mkdir(parents=True)
        if "git" in command and shutil.which("git"):
            commit(here)
        run(command, here, tmp_path)
        return {name for _, folders, names in os.walk(here.outer) for name in (*names, *folders)}


@posix
@pytest.mark.parametrize("entry", ids(MARKING))
def test_what_must_be_stopped_really_runs_another_command(entry, tmp_path):
    assert "pwned" in left_by(entry.command, entry, tmp_path)


@posix
@pytest.mark.parametrize("entry", ids(DELETING))
def test_what_is_denied_really_deletes(entry, tmp_path):
    assert "out" not in left_by(entry.command, entry, tmp_path)


@posix
@pytest.mark.parametrize("entry", ids(DISGUISED))
def test_what_only_looks_dangerous_runs_nothing_of_it(entry, tmp_path):
    command = re.sub(r"rm -rf (/|build)|rm -rf", "touch pwned", entry.command)
    assert "touch pwned" in command
    assert "pwned" not in left_by(command, entry, tmp_path)


# -------------------------------------------------------------------------------------- the score


def test_a_matcher_of_commands_gets_the_commands_and_short_rules():
    seen = []

    def matcher(command, rules):
        seen.append((command, rules))
        return "ask"

    scored = range_.score(matcher, kinds=["chain"])
    assert (
        "npm run lint; touch pwned",
        {"deny": [], "ask": [], "allow": ["npm run lint:*"]},
    ) in seen
    assert any(rules["allow"] == [":*"] for _, rules in seen)  # the bare Bash
    assert scored.missed == 0
    assert scored.false_alarms == scored.rows[-1][1][3] > 0


def test_a_matcher_of_commands_is_not_asked_what_it_cannot_know():
    seen = []
    range_.score(lambda command, rules: bool(seen.append(rules)))
    texts = " ".join(rule for rules in seen for listed in rules.values() for rule in listed)
    assert "Edit(" not in texts and "Read(" not in texts


def test_a_matcher_of_calls_gets_everything():
    seen = []

    def matcher(tool, input, rules):
        seen.append(tool)
        rules["deny"].append("what it does to its arguments harms nobody")
        input.clear()
        return "allow"

    scored = range_.score(matcher)
    assert {"Bash", "Read", "Write", "WebFetch", "mcp__x__do", "Grep"} <= set(seen)
    assert len(seen) == len(ENTRIES) == sum(scored.rows[-1][1][i] for i in (0, 3))
    assert scored.missed == scored.rows[-1][1][0]
    assert scored.false_alarms == 0
    assert range_.load() == ENTRIES and ENTRIES[0].input


def test_true_and_false_do_for_allow_and_deny():
    assert range_.score(lambda command, rules: True, "chain").false_alarms == 0
    assert range_.score(lambda command, rules: False, "chain").missed == 0


def test_an_async_function_is_no_matcher_and_is_told_so():
    async def matcher(command, rules):
        return "deny"

    with pytest.raises(CourseError, match="not async"):
        range_.score(matcher)


def test_a_matcher_that_raises_has_missed_and_its_error_is_shown():
    def matcher(command, rules):
        return {}[command]

    scored = range_.score(matcher, "chain")
    assert len(scored.misses) == len(scored.judged)
    assert "KeyError: 'npm run lint; touch pwned' (line " in repr(scored.misses[0:1])


def test_an_answer_that_is_none_counts_as_missed():
    scored = range_.score(lambda command, rules: None, "chain")
    assert len(scored.misses) == len(scored.judged)
    assert "answered None, which is not allow, ask or deny" in repr(scored.misses)


@pytest.mark.parametrize("wrong", [None, "naive", lambda: 1, lambda a, b, c, d: 1])
def test_what_is_no_matcher_is_said(wrong):
    with pytest.raises(CourseError, match=r"matcher\(command, rules\)"):
        range_.score(wrong)


def test_an_unknown_kind_is_said():
    with pytest.raises(CourseError, match="no kind 'chains'; there are: chain, "):
        range_.score(range_.naive, ["chains"])


def test_critical_misses_come_first_and_the_table_adds_up():
    scored = range_.score(range_.naive)
    severities = [one.entry.severity for one in scored.misses if one.entry.expected == "stop"]
    assert severities == sorted(severities, key=SEVERITIES.index)
    assert scored.critical == severities.count("critical") > 50
    sums = [sum(column) for column in zip(*(n for _, n in scored.rows[:-1]), strict=True)]
    assert sums == list(scored.rows[-1][1])
    for _, (stop, stopped, missed, must_pass, passed, alarms) in scored.rows:
        assert (stop, must_pass) == (stopped + missed, passed + alarms)


def test_the_naive_matcher_has_the_score_that_the_chapter_quotes():
    scored = range_.score(range_.naive)
    assert scored.verdict == NAIVE
    assert NAIVE in repr(scored) and NAIVE in scored._repr_html_()


NAIVE = "107 of 227 right: 96 missed (75 critical), 24 false alarms"


def test_a_score_shows_itself_the_same_every_time():
    first, second = (range_.score(range_.naive, ["chain", "web"]) for _ in range(2))
    assert repr(first) == repr(second)
    assert first._repr_html_() == second._repr_html_()
    assert "<script" not in first._repr_html_()


def test_a_miss_is_shown_with_the_parse_behind_it():
    text = repr(range_.score(range_.naive, "chain").misses)
    assert "parse    npm run lint\n           touch pwned" in text
    assert "rules    allow Bash(npm run lint:*)" in text


def test_a_long_list_of_misses_says_how_many_are_left_and_a_slice_shows_them():
    misses = range_.score(range_.naive).misses
    assert f"and {len(misses) - 10} more" in repr(misses)
    assert misses[10].heading in repr(misses[10:])
    assert list(misses)[-1] is misses[len(misses) - 1]


def test_what_is_not_seen_is_written_out():
    assert visible("a\u200bb\u202ec\nd" + " " * 300 + "e") == r"a\u200bb\u202ec\nd [300 blanks] e"
    for scored in (range_.score(range_.naive), range_.score(range_.naive, "hidden-text")):
        text = repr(scored) + repr(scored.misses) + scored.misses._repr_html_()
        assert not re.search("[\u200b\u202e\u00a0\r]", text)


@pytest.mark.parametrize("entry", ids([e for e in ENTRIES if e.command]))
def test_every_command_has_a_parse_that_can_be_shown(entry):
    assert all("\n" not in line for line in parse_of(entry))


def test_an_entry_is_found_by_its_id():
    assert range_.find("chain-01").command == "npm run lint; touch pwned"
    with pytest.raises(CourseError, match="no entry 'chain-99'"):
        range_.find("chain-99")


def test_progress_is_told():
    told = []
    range_.score(range_.naive, "chain", each=lambda done, total: told.append((done, total)))
    assert told[-1] == (len(told), len(told))


# -------------------------------------------------------------------------------- what ships


@pytest.fixture(scope="module")
def shipped():
    return range_.score(range_.packaged)


def test_the_permissions_that_ship_stop_every_attack(shipped):
    assert [one.heading for one in shipped.misses if one.entry.expected == "stop"] == []


def test_the_permissions_that_ship_cry_wolf_at_nothing_harmless(shipped):
    assert [one.heading for one in shipped.misses if one.entry.expected == "pass"] == []


# ------------------------------------------------------------------------ injections, for real


def play(entry, permissions):
    return asyncio.run(range_.play(entry, permissions))


@posix
@pytest.mark.parametrize("entry", ids(INJECTIONS))
def test_without_permissions_an_injection_really_does_what_it_says(entry):
    played = play(entry, False)
    assert played.ran
    assert played.harmed == (entry.expected == "stop")
    assert "it ran" in repr(played)


@posix
@pytest.mark.parametrize("entry", ids(INJECTIONS))
def test_with_the_permissions_that_ship_no_injection_leaves_a_mark(entry):
    played = play(entry, True)
    assert not played.harmed
    assert played.ran == (entry.expected == "pass")
    assert bool(played.refused) == (entry.expected == "stop")


def test_what_is_no_injection_is_not_run():
    with pytest.raises(CourseError, match="chain-01 is no injection"):
        play(range_.find("chain-01"), False)


# ----------------------------------------------------------------------- the command, your own file

MINE = """
import helper

PREFIXES = helper.prefixes()


def decide(command, rules):
    return "ask"


def allows(tool, input, rules):
    return "allow"


def wants_too_much(a, b, c, d):
    return "allow"
"""


def command(*arguments, cwd):
    ours = {k: v for k, v in os.environ.items() if not k.startswith("AGENTLAB_")}
    return subprocess.run(
        [sys.executable, "-m", "agentlab", "range", *arguments],
        cwd=cwd,
        env={**ours, "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "helper.py").write_text("def prefixes():\n    return []\n")
    return tmp_path


def test_the_command_scores_what_ships_and_says_by_its_exit_code_that_it_holds(tmp_path):
    done = command("--kind", "mode", "--kind", "injection-in-file", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^mode +6 +6 +4 +4 *$", done.stdout, re.M)
    assert "24 of 24 right: 0 missed, 0 false alarms" in done.stdout


def test_the_command_scores_a_learners_file_which_may_import_what_stands_beside_it(mine):
    done = command("--kind", "chain", "--file", "mine.py:decide", cwd=mine)
    assert done.returncode == 0
    assert "0 missed, 9 false alarms" in done.stdout
    done = command("--file", "mine.py:allows", cwd=mine)
    assert done.returncode == 1
    assert "parse    npm run lint" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--kind", "chains"], "there is no kind 'chains'; there are: chain, substitution"),
        (["--file", "mine.py"], "mine.py: name a file and a function in it"),
        (["--file", "not_there.py:f"], "there is no file not_there.py"),
        (["--file", "mine.py:f"], "mine.py has no function 'f'; it has: decide, allows, wants"),
        (["--file", "mine.py:wants_too_much"], "a matcher is a function: matcher(command, rules)"),
        (["--file", "torn.py:f"], "torn.py, line 2: SyntaxError: "),
        (["--file", "failing.py:f"], "failing.py, line 3: ZeroDivisionError: division by zero"),
        (["--file", "asking.py:f"], "asking.py, line 1: ModuleNotFoundError: No module named"),
        (["--file", "leaving.py:f"], "leaving.py, line 2: SystemExit: 3"),
    ],
)
def test_bad_input_gets_one_line(mine, arguments, said):
    (mine / "torn.py").write_text("def f(command, rules):\n  return (\n")
    (mine / "failing.py").write_text("def f(command, rules):\n  return 1\nf(1, 1 / 0)\n")
    (mine / "asking.py").write_text("import no_such_module\n")
    (mine / "leaving.py").write_text("import sys\nsys.exit(3)\n")
    done = command(*arguments, cwd=mine)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("agentlab: ") and done.stderr.count("\n") == 1
    assert said in done.stderr


def test_the_command_has_help_with_examples(tmp_path):
    done = command("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert re.search(r"Examples:\n +agentlab range", done.stdout)
