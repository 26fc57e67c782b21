"""Hooks: what each kind may say, what an error means, and how many of them become one.

The cases of tests/cases/hooks.json go through a real agent and its gate; the commands are real
processes. Scripts are written in Python, so that the tests mean the same on every system.
"""

import asyncio
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import psutil
import pytest

from agentlab import Agent, Limits, tool
from agentlab.events import EVENTS as EVENT_TYPES
from agentlab.hooks import EVENTS, HookResult, Hooks, Merged, Prompt, Webhook, on
from agentlab.messages import tool_use
from agentlab.permissions import Answer, Circumstances, Permissions, Rules
from agentlab.permissions.gate import Gate
from agentlab.side_calls import SideCallFailed
from agentlab.toolbox import toolbox
from agentlab.tools import prepare

ALLOW = Rules.of(allow=["Bash(*)", "Edit(**)", "Write(**)"])
STEP = 0.05


@pytest.fixture
def script(tmp_path):
    """``script(text)``: a hook that is this Python program."""
    numbers = iter(range(100))
    folder = tmp_path / "scripts"
    folder.mkdir()

    def make(text):
        path = folder / f"hook{next(numbers)}.py"
        path.write_text("import json, os, sys, time\n" + text)
        return [sys.executable, str(path)]

    return make


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "ws"
    made.mkdir()
    return made


def says(**answer):
    """A program that prints an answer."""
    return f"print({json.dumps(json.dumps(answer))})\n"


def calls(*made):
    """One turn of the model with these calls, each a tool and its input."""

    def turn(chat):
        said = chat.say("Working.")
        for name, input in made:
            said = said.call(name, **input)
        return said

    return turn


def bash(command):
    return calls(("Bash", {"command": command}))


def done(chat):
    return chat.say("done")


async def run(endpoint, folder, hooks, *, tools=None, rules=ALLOW, ask=None, **arguments):
    """One task to its end; the agent has the toolbox, these hooks and the rules of the cases."""
    permissions = Permissions(rules, workspace=folder, ask=ask)
    tools = tools or toolbox(folder)
    agent = Agent(
        tools=tools, endpoint=endpoint, permissions=permissions, hooks=Hooks(hooks), **arguments
    )
    return await agent.ask("go"), agent


def results(result):
    """Text and error mark of every tool result, in order."""
    done = [event for event in result.events if event.type == "tool.execution_complete"]
    return [(str(event.content), event.is_error) for event in done]


def decisions(result):
    decided = [event for event in result.events if event.type == "permission.decided"]
    return [(event.decision, event.layer) for event in decided]


def heard(result):
    return [event.data for event in result.events if event.type == "hook.result"]


async def fire(*hooks, event="PreToolUse", folder=None, now=None, **payload):
    """What hooks say to one event, without an agent."""
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1"}
    return await Hooks(hooks, folder=folder).fire(event, {**call, **payload}, now)


def gone(pid, within=1.0):
    until = time.monotonic() + within
    while time.monotonic() < until:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


# ----------------------------------------------------------------------------- exit codes, starting


async def test_b01_exit_2_blocks_every_kind_of_tool(play, folder, script):
    started = []

    @tool(name="Task")
    async def task(prompt: str) -> str:
        """Start a child agent."""
        started.append(prompt)
        return "started"

    policy = on("PreToolUse", "*", script("print('policy', file=sys.stderr); sys.exit(2)"))
    turn = calls(
        ("Bash", {"command": "touch m1"}),
        ("Write", {"file_path": "m2", "content": "x"}),
        ("Task", {"prompt": "touch m3"}),
    )
    result, _ = await run(play(turn, done), folder, [policy], tools=[*toolbox(folder), task])
    assert not list(folder.iterdir()) and not started
    assert len(results(result)) == 3
    assert all(failed and "policy" in text for text, failed in results(result))


async def test_b03_exit_1_of_a_gating_hook_is_not_consent(play, folder, script):
    policy = on("PreToolUse", "*", script("print('violation', file=sys.stderr); sys.exit(1)"))
    result, _ = await run(play(bash("touch m"), done), folder, [policy])
    assert decisions(result) == [("deny", "headless")]
    assert not (folder / "m").exists()
    [error] = heard(result)
    assert error["decision"] == "error"
    assert "exit code 1" in error["reason"] and "violation" in error["reason"]


async def test_an_error_asks_whoever_can_be_asked(play, folder, script):
    asked = []

    async def approve(question):
        asked.append(question)
        return Answer("allow")

    policy = on("PreToolUse", "*", script("sys.exit(1)"))
    await run(play(bash("touch m"), done), folder, [policy], ask=approve)
    assert (folder / "m").exists()
    assert "exit code 1" in asked[0].reason and asked[0].layer == "hook"


async def test_b04_a_missing_script_is_not_called_a_policy(play, folder):
    missing = on("PreToolUse", "*", [sys.executable, "no_such_file.py"])
    result, _ = await run(play(bash("touch m"), done), folder, [missing])
    # The case prefers deny and takes ask; the issue counts a failed start as an error, so: ask.
    assert decisions(result) == [("deny", "headless")]
    [(text, _)] = results(result)
    assert "could not be started" in text and "has judged nothing" in text
    assert "To turn this hook off" in text and "Hooks([...])" in text


@pytest.mark.parametrize(
    "command",
    [
        "python3 no_such_file.py",
        "python3 'no such file.py'",
        "perl no_such_file.pl",
        "dash no_such_file.sh",
        "bash no_such_file.sh",
        "awk -f no_such_file.awk </dev/null",
        "if then",
        "no-such-program --check",
        "./no_such_file.py",
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
async def test_whatever_did_not_start_has_judged_nothing(command, folder):
    said = await fire(on("PreToolUse", "*", command), folder=folder)
    assert said.decision == "ask" and said.results[0].decision == "error"
    assert "could not be started, so it has judged nothing" in said.reason
    stop = await fire(on("Stop", "", command), event="Stop", folder=folder)
    assert stop.decision == "" and stop.results[0].decision == "error"


async def test_b05_a_program_that_is_not_there_is_an_error(play, folder):
    missing = on("PreToolUse", "*", "/no/such/hook")
    result, _ = await run(play(bash("touch m"), done), folder, [missing])
    assert decisions(result) == [("deny", "headless")]
    assert not (folder / "m").exists()
    assert heard(result)[0]["decision"] == "error"


@pytest.mark.parametrize("command", [["/no/such/hook"], ["bad\0name"], "/no/such/hook", "exit 126"])
async def test_a_failed_start_is_an_error_in_every_form(command):
    said = await fire(on("PreToolUse", "*", command))
    assert said.decision == "ask" and said.results[0].decision == "error"
    assert "could not be started" in said.reason


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_a_hook_that_was_killed_is_an_error(script):
    said = await fire(on("PreToolUse", "*", script(f"os.kill(os.getpid(), {signal.SIGKILL})")))
    assert said.decision == "ask" and "signal 9" in said.reason


async def test_exit_2_is_a_deny_whatever_was_printed(script):
    said = await fire(on("PreToolUse", "*", script(says(decision="allow") + "sys.exit(2)")))
    assert said.decision == "deny"


async def test_a_deny_on_the_output_does_not_count_with_another_exit_code(script):
    said = await fire(on("PreToolUse", "*", script(says(decision="deny") + "sys.exit(3)")))
    assert said.decision == "ask" and said.results[0].decision == "error"


# ---------------------------------------------------------------------------------- time and cancel


async def test_b07_a_slow_deny_does_not_become_an_allow(play, folder, script, tmp_path):
    mark = tmp_path / "pid"
    slow = f"open({str(mark)!r}, 'w').write(str(os.getpid()))\ntime.sleep(8)\n"
    hook = on("PreToolUse", "*", script(slow + says(permissionDecision="deny")), timeout_s=1)
    started = time.monotonic()
    result, _ = await run(play(bash("touch m"), done), folder, [hook])
    assert time.monotonic() - started < 3
    assert decisions(result) == [("deny", "headless")]
    assert not (folder / "m").exists()
    assert "did not answer within 1 s" in heard(result)[0]["reason"]
    assert gone(int(mark.read_text()))


@pytest.mark.parametrize("kind", ["plain function", "async function", "stubborn function"])
async def test_a_function_that_is_too_slow_does_not_become_an_allow(kind):
    def plain(event):
        time.sleep(0.4)
        return "allow"

    async def waits(event):
        await asyncio.sleep(5)
        return "allow"

    async def stubborn(event):
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            return "allow"

    function = {"plain": plain, "async": waits, "stubborn": stubborn}[kind.split()[0]]
    said = await fire(on("PreToolUse", "*", function, timeout_s=0.1))
    assert said.decision == "ask" and "did not answer within 0.1 s" in said.reason


async def test_b09_a_cancelled_run_ends_its_hooks(play, folder, script, tmp_path):
    mark = tmp_path / "pids"
    tree = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)'])\n"
        f"open({str(mark)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(30)\n"
    )
    hook = on("PreToolUse", "*", script(tree), timeout_s=20)
    agent = Agent(
        tools=toolbox(folder),
        endpoint=play(bash("touch m"), done),
        permissions=Permissions(ALLOW, workspace=folder),
        hooks=Hooks([hook]),
    )
    running = agent.start("go")
    while not mark.exists() or not mark.read_text():  # noqa: ASYNC110 (another process)
        await asyncio.sleep(STEP)
    started = time.monotonic()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert time.monotonic() - started < 1
    assert not (folder / "m").exists()
    assert all(gone(int(pid)) for pid in mark.read_text().split())


async def test_a_time_limit_ends_the_whole_group(script, tmp_path):
    mark = tmp_path / "pid"
    tree = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)'])\n"
        f"open({str(mark)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(30)\n"
    )
    said = await fire(on("PreToolUse", "*", script(tree), timeout_s=1))
    assert said.decision == "ask"
    assert gone(int(mark.read_text()))


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
async def test_a_time_limit_ends_what_a_hook_that_has_ended_left_behind(folder):
    leaves = on("PreToolUse", "*", "sleep 30 & echo $! > pid", timeout_s=0.5)
    said = await fire(leaves, folder=folder)
    assert said.decision == "ask" and "did not answer within 0.5 s" in said.reason
    assert gone(int((folder / "pid").read_text()))


# --------------------------------------------------------------------------------- what is printed


async def test_b10_a_decision_is_found_among_chatter(play, folder, script):
    text = "print('Shell ready')\n" + says(permissionDecision="deny", reason="r")
    result, _ = await run(
        play(bash("touch m"), done), folder, [on("PreToolUse", "*", script(text))]
    )
    assert decisions(result) == [("deny", "hook")]
    assert not (folder / "m").exists()


async def test_b12_json_that_is_cut_off_is_an_error(play, folder, script):
    cut = script('print(\'{"permissionDecision": "de\')')
    result, _ = await run(play(bash("touch m"), done), folder, [on("PreToolUse", "*", cut)])
    assert decisions(result) == [("deny", "headless")]
    assert heard(result)[0]["decision"] == "error"


@pytest.mark.parametrize(
    ("printed", "decision"),
    [
        ("", ""),
        ("  \n", ""),
        ("all is well", ""),
        ("{}", ""),
        ("deny", "deny"),
        ('{"decision": "block", "reason": "r"}', "deny"),
        ('{"decision": "approve"}', "allow"),
        ('{"decision": "allow"}', "allow"),
        ('{"decision": "Deny"}', "deny"),
        ('{"permissionDecision": "ask"}', "ask"),
        ('{"hookSpecificOutput": {"permissionDecision": "deny"}}', "deny"),
        ('{"decision": "approve", "hookSpecificOutput": {"permissionDecision": "deny"}}', "deny"),
        ('{"continue": false, "stopReason": "enough"}', "deny"),
        ('{"continue": true, "suppressOutput": true}', ""),
        ('\ufeff{"decision": "block"}', "deny"),
        ('\x1b[32mready\x1b[0m\n{\n  "decision": "block"\n}\nbye', "deny"),
        ('{"level": "info"}\n{"decision": "block"}', "deny"),
        ("foo() { echo; }\n", ""),
        ("using {profile} of {user}", ""),
        ('"deny"', "deny"),
        ("{decision: 'block'}", "error"),  # as JavaScript shows an object
        ("ready\n{ decision: 'block', reason: 'r' }", "error"),
        ("{deny}", "error"),
        ('ready {"decision": "bl', "error"),
        ('{"decision": "allow"}{"decision": "de', "error"),
        ('{"decision": "allow"}\n{"decision": "block"}', "error"),
        ("{'decision': 'block'}", "error"),
        ('{"decision": "perhaps"}', "error"),
        ('{"decision": ["block"]}', "error"),
        ('{"permission_decision": "deny"}', "error"),
        ('{"hookSpecificOutput": "deny"}', "error"),
        ('{"hookSpecificOutput": []}', "error"),
        ('{"updatedInput": "ls"}', "error"),
        ('{"decision": false}', "error"),
        ('{"decision": null, "permissionDecision": ""}', ""),
        ('{"continue": "false"}', "error"),
        ('{"rollback": "yes"}', "error"),
        ('{"a":' * 5000, "error"),
    ],
)
async def test_what_a_hook_prints_means(printed, decision, script):
    hook = script(f"sys.stdout.buffer.write({printed.encode()!r})")
    said = await fire(on("PreToolUse", "*", hook))
    assert said.results[0].decision == decision


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig", "latin-1"])
async def test_a_decision_is_read_in_the_encodings_that_systems_print(encoding, script):
    printed = '{"decision": "block", "reason": "not today"}'.encode(encoding)
    said = await fire(on("PreToolUse", "*", script(f"sys.stdout.buffer.write({printed!r})")))
    assert said.decision == "deny" and "not today" in said.reason


async def test_bytes_that_are_no_text_do_no_harm(script):
    text = 'sys.stdout.buffer.write(b\'\\xff\\xfe {"decision": "block", "reason": "\\xff"}\')'
    assert (await fire(on("PreToolUse", "*", script(text)))).decision == "deny"


async def test_b14_a_megabyte_of_stderr_blocks_nothing(play, folder, script):
    hook = on("PreToolUse", "*", script("sys.stderr.write('x' * 1_000_000)"), timeout_s=20)
    result, _ = await run(play(bash("touch m"), done), folder, [hook])
    assert (folder / "m").exists()
    said = await fire(
        on("PreToolUse", "*", script("sys.stderr.write('x' * 1_000_000); sys.exit(2)"))
    )
    assert said.decision == "deny" and len(said.reason) < 11_000
    assert len(json.dumps(result.events[-1].data)) < 11_000


async def test_a_megabyte_of_stdout_may_hide_a_decision_and_is_an_error(script):
    chatter = "print('x' * 1_000_000)\n"
    assert (await fire(on("PreToolUse", "*", script(chatter)))).decision == "ask"
    last = await fire(on("PreToolUse", "*", script(chatter + says(decision="block"))))
    assert last.decision == "deny"
    middle = await fire(on("PreToolUse", "*", script(chatter + says(decision="block") + chatter)))
    assert middle.decision == "ask"


async def test_b15_a_hook_that_does_not_read_two_megabytes(folder, script):
    """No model writes two megabytes in a turn, so this call is given to the gate by hand."""
    hooks = Hooks([on("PreToolUse", "*", script("sys.exit(0)"))])
    gate = Gate(Permissions(ALLOW, workspace=folder), hooks)
    tools = {tool.name: tool for tool in toolbox(folder)}
    input = {"file_path": "big.txt", "content": "x" * 2_000_000}
    calls = [prepare(tool_use("t1", "Write", input), tools)]
    pieces = [piece async for piece in gate.decide(calls, Circumstances())]
    assert [(kind, data["decision"]) for kind, data in pieces] == [("permission.decided", "allow")]
    assert not (await gate.execute(calls[0])).is_error
    assert (folder / "big.txt").stat().st_size == 2_000_000


async def test_two_megabytes_arrive_whole(script):
    count = (
        "print(json.dumps({'decision': 'block', 'reason': str(len(json.load(sys.stdin)['x']))}))"
    )
    said = await fire(on("PreToolUse", "*", script(count)), x="é" * 2_000_000)
    assert "2000000" in said.reason


async def test_b17_the_input_ends_after_the_payload(script):
    hook = on("PreToolUse", "*", script("sys.stdin.read(); print('deny')"), timeout_s=5)
    await fire(hook)
    started = time.monotonic()
    assert (await fire(hook)).decision == "deny"
    assert time.monotonic() - started < 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
async def test_an_output_that_is_left_open_is_not_silence():
    said = await fire(on("PreToolUse", "*", "sleep 3 & echo ready"))
    assert said.decision == "ask" and "redirect that output" in said.reason
    redirected = await fire(on("PreToolUse", "*", "sleep 3 >/dev/null 2>&1 & echo ready"))
    assert redirected.decision == ""


# ------------------------------------------------------------------------------------------ merging


@pytest.mark.parametrize("swapped", [False, True])
async def test_b18_deny_wins_over_allow_whoever_is_first(swapped, play, folder, script):
    hooks = [
        on("PreToolUse", "*", script(says(permissionDecision="allow"))),
        on("PreToolUse", "*", script("time.sleep(0.3)\n" + says(permissionDecision="deny"))),
    ]
    result, _ = await run(play(bash("touch m"), done), folder, hooks[::-1] if swapped else hooks)
    assert decisions(result) == [("deny", "hook")]
    assert not (folder / "m").exists()


@pytest.mark.parametrize("swapped", [False, True])
async def test_b20_a_changed_input_survives_a_silent_sibling(swapped, play, folder, script):
    hooks = [
        on("PreToolUse", "*",
           script(says(permissionDecision="allow", updatedInput={"command": "echo MODIFIED"}))),
        on("PreToolUse", "*", script("")),
    ]  # fmt: skip
    result, _ = await run(
        play(bash("echo ORIGINAL"), done), folder, hooks[::-1] if swapped else hooks
    )
    [(text, failed)] = results(result)
    assert text.startswith("MODIFIED") and "ORIGINAL" not in text and not failed
    assert "A hook changed the input of this call" in text


async def test_b22_a_changed_input_is_judged_by_the_rules_again(play, folder, script):
    (folder / "build").mkdir()
    rules = Rules.of(allow=["Bash(*)"], deny=["Bash(rm:*)"])
    hook = on("PreToolUse", "*", script(says(updatedInput={"command": "rm -rf build"})))
    result, _ = await run(play(bash("ls"), done), folder, [hook], rules=rules)
    assert decisions(result) == [("deny", "rule")]
    assert (folder / "build").exists()


async def test_b23_a_changed_input_that_breaks_the_schema_does_not_run(play, folder, script):
    hook = on("PreToolUse", "*", script(says(updatedInput={"cmd": 5})))
    result, _ = await run(play(bash("touch m"), done), folder, [hook])
    [(text, failed)] = results(result)
    assert failed and "invalid input" in text and "hook" in text
    assert not list(folder.iterdir())


async def test_b24_two_changes_are_chained_in_the_order_of_configuration(play, folder, script):
    def append(text, after=0.0):
        async def change(event):
            await asyncio.sleep(after)
            return {"updatedInput": {"command": event["tool_input"]["command"] + text}}

        return on("PreToolUse", "*", change)

    for _ in range(100):
        said = await fire(
            append(" -v", after=0.003), append(" -y"), tool_input={"command": "echo x"}
        )
        assert said.input == {"command": "echo x -v -y"}
    add = "c = json.load(sys.stdin)['tool_input']['command']\n"
    answer = "print(json.dumps({'updatedInput': {'command': c + ' %s'}}))"
    hooks = [
        on("PreToolUse", "*", script(f"time.sleep(0.3)\n{add}{answer % '-v'}")),
        on("PreToolUse", "*", script(add + answer % "-y")),
    ]
    result, _ = await run(play(bash("echo x"), done), folder, hooks)
    assert results(result)[0][0].startswith("x -v -y\n")


def recording(answer, seen, name):
    """A hook that notes what it is asked, and answers by a function of the command."""

    def hook(event):
        seen.append((name, event["tool_input"]["command"]))
        return answer(event["tool_input"]["command"])

    return on("PreToolUse", "*", hook, name=name)


async def test_a_guard_sees_what_another_hook_made_of_the_input():
    seen = []
    guard = recording(lambda c: {"decision": "block"} if "rm" in c else None, seen, "guard")
    change = recording(lambda c: {"updatedInput": {"command": "rm -r x"}}, seen, "change")
    said = await fire(guard, change)
    assert said.decision == "deny"
    assert seen == [("guard", "ls"), ("change", "ls"), ("guard", "rm -r x")]


async def test_without_a_change_every_hook_runs_once():
    seen = []
    hooks = [recording(lambda c: "allow", seen, name) for name in "abc"]
    assert (await fire(*hooks)).decision == "allow"
    assert len(seen) == 3


async def test_an_allow_counts_only_for_the_final_input():
    change = on("PreToolUse", "*", lambda e: {"updatedInput": {"command": "make"}})
    knows = on("PreToolUse", "*", lambda e: "allow" if e["tool_input"]["command"] == "ls" else None)
    said = await fire(knows, change)
    assert said.decision == "" and said.input == {"command": "make"}
    own = on(
        "PreToolUse", "*", lambda e: {"decision": "allow", "updatedInput": {"command": "make"}}
    )
    assert (await fire(own)).decision == "allow"
    more = on("PreToolUse", "*", lambda e: {"updatedInput": {"command": "make all"}})
    assert (await fire(own, more)).decision == ""


async def test_a_deny_stops_the_changes():
    seen = []
    first = recording(lambda c: {"updatedInput": {"command": c + " 1"}}, seen, "first")
    second = recording(lambda c: {"updatedInput": {"command": c + " 2"}}, seen, "second")
    deny = recording(lambda c: {"decision": "deny", "reason": "no"}, seen, "deny")
    said = await fire(first, second, deny)
    assert said.decision == "deny" and said.input is None and len(seen) == 3


async def test_a_change_that_comes_too_late_is_a_question():
    to_rm = on("PreToolUse", "*", lambda e: {"updatedInput": {"command": "rm x"}}, name="to_rm")

    def trash(event):
        if event["tool_input"]["command"] == "rm x":
            return {"updatedInput": {"command": "trash x"}}

    said = await fire(on("PreToolUse", "*", trash), to_rm)
    assert said.decision == "ask" and said.input == {"command": "rm x"} and "trash x" in said.reason


async def test_the_same_input_again_is_no_change():
    said = await fire(on("PreToolUse", "*", lambda e: {"updatedInput": e["tool_input"]}))
    assert said.input is None


async def test_an_allow_of_a_hook_does_not_lift_an_ask_rule(play, folder):
    rules = Rules.of(allow=["Bash(*)"], ask=["Bash(touch:*)"])
    allow = on("PreToolUse", "*", lambda event: "allow")
    result, _ = await run(play(bash("touch m"), done), folder, [allow], rules=rules)
    assert decisions(result) == [("deny", "headless")]
    assert not (folder / "m").exists()


async def test_an_allow_of_a_hook_decides_what_no_rule_does(play, folder):
    allow = on("PreToolUse", "*", lambda event: "allow")
    result, _ = await run(play(bash("touch m"), done), folder, [allow], rules=Rules())
    assert decisions(result) == [("allow", "hook")]
    assert (folder / "m").exists()


async def test_hooks_run_at_the_same_time():
    async def slow(event):
        await asyncio.sleep(0.2)

    started = time.monotonic()
    await fire(*(on("PreToolUse", "*", slow) for _ in range(10)))
    assert time.monotonic() - started < 1


# ------------------------------------------------------------------------------------- after a tool


async def test_after_a_tool_success_is_silent_and_failure_is_verbose(play, folder):
    def tests(event):
        if "wrong" in event["tool_input"]["content"]:
            return {"decision": "block", "reason": "1 test failed"}

    writes = [
        calls(("Write", {"file_path": "a.py", "content": text})) for text in ("wrong", "right")
    ]
    result, _ = await run(play(*writes, done), folder, [on("PostToolUse", "Edit|Write", tests)])
    (first, failed), (second, _) = results(result)
    assert "[hook tests] 1 test failed" in first and not failed
    assert "hook" not in second
    assert [data["decision"] for data in heard(result)] == ["deny"]


@pytest.mark.parametrize("existed", [True, False])
async def test_a_hook_may_ask_for_a_rollback(existed, play, folder):
    if existed:
        (folder / "a.txt").write_text("before")
    undo = on("PostToolUse", "Write", lambda e: {"rollback": True, "reason": "no good"})
    turns = [calls(("Read", {"file_path": "a.txt"}))] * existed
    turns.append(calls(("Write", {"file_path": "a.txt", "content": "after"})))
    result, _ = await run(play(*turns, done), folder, [undo])
    assert "rollback" in results(result)[-1][0]
    assert (folder / "a.txt").read_text() == "before" if existed else not list(folder.iterdir())


async def test_a_rollback_knows_a_path_in_the_home_folder(play, folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))  # its name on Windows
    undo = on("PostToolUse", "Write", lambda e: {"rollback": True, "reason": "no good"})
    write = calls(("Write", {"file_path": "~/a.txt", "content": "after"}))
    result, _ = await run(play(write, done), folder, [undo])
    assert "as it was before" in results(result)[-1][0]
    assert not list(folder.iterdir())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
async def test_a_call_on_a_pipe_does_not_wait_for_somebody_to_write(play, folder):
    os.mkfifo(folder / "pipe")
    undo = on("PostToolUse", "Write", lambda e: {"rollback": True, "reason": "no good"})
    write = calls(("Write", {"file_path": "pipe", "content": "after"}))
    result, _ = await run(play(write, done), folder, [undo])
    assert "not an ordinary file" in results(result)[-1][0]
    assert (folder / "pipe").is_fifo()


async def test_a_path_that_no_system_takes_ends_no_run(play):
    @tool(name="Save", permission="write", path_argument="path")
    def save(path: str) -> str:
        """Save."""
        return "saved"

    undo = on("PostToolUse", "Save", lambda e: {"rollback": True, "reason": "no good"})
    endpoint = play(calls(("Save", {"path": "x" * 300})), done)
    result = await Agent(tools=[save], endpoint=endpoint, hooks=Hooks([undo])).ask("go")
    assert result.ok and results(result)[0][0].startswith("saved")


async def test_a_file_that_could_not_be_read_before_is_not_deleted_by_a_rollback(
    play, folder, monkeypatch
):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    @tool(name="Touch", permission="write", path_argument="file_path", root=folder)
    def touch(file_path: str) -> str:
        """Write a file that nobody may read."""
        (folder / file_path).write_text("after")
        return "written"

    (folder / "a.txt").write_text("before")
    undo = on("PostToolUse", "Touch", lambda e: {"rollback": True, "reason": "no good"})
    monkeypatch.setattr(type(folder), "read_bytes", refuse)
    turns = play(calls(("Touch", {"file_path": "a.txt"})), done)
    result, _ = await run(turns, folder, [undo], tools=[touch], rules=Rules.of(allow=["Touch"]))
    assert "could not be read before" in results(result)[-1][0]
    assert (folder / "a.txt").read_text() == "after"


async def test_a_hook_may_add_a_context_before_a_tool_runs(play, folder):
    hint = on("PreToolUse", "Bash", lambda e: {"additionalContext": "use make"}, name="hint")
    result, _ = await run(play(bash("ls"), done), folder, [hint])
    assert results(result)[0][0].endswith("[hook hint] use make")
    assert [data["reason"] for data in heard(result)] == ["use make"]


async def test_colours_are_taken_out_of_what_a_hook_says(script):
    red = script("sys.stderr.write('\\x1b[31mno\\x1b[0m'); sys.exit(2)")
    said = await fire(on("PreToolUse", "*", red))
    assert said.results[0].reason == "no"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python3 .claude/hooks/check.py --strict", "check.py"),
        ('"$CLAUDE_PROJECT_DIR"/.claude/hooks/style.sh', "style.sh"),
        (["/usr/bin/python3", "-B", "/a/b/guard.py"], "guard.py"),
        (["/usr/bin/python3", "-c", "pass"], "python3 -c pass"),
        ("ruff check .", "ruff check ."),
    ],
)
def test_a_command_is_called_by_its_script(command, name):
    assert on("PreToolUse", "", command).name == name


async def test_an_error_after_a_tool_is_told_and_recorded(play, folder, script):
    hook = on("PostToolUse", "Write", script("sys.exit(1)"))
    write = calls(("Write", {"file_path": "a.txt", "content": "x"}))
    result, _ = await run(play(write, done), folder, [hook])
    [(text, failed)] = results(result)
    assert "exit code 1" in text and not failed
    assert heard(result)[0]["decision"] == "error"
    assert (folder / "a.txt").exists()


async def test_a_call_that_failed_has_an_event_of_its_own(play, folder):
    told = []
    hooks = [
        on("PostToolUseFailure", "Read", lambda event: told.append(event)),
        on("PostToolUse", "Read", lambda event: told.append("never")),
    ]
    await run(play(calls(("Read", {"file_path": "none.txt"})), done), folder, hooks)
    [event] = told
    assert event["hook_event_name"] == "PostToolUseFailure" and "none.txt" in event["error"]


# ---------------------------------------------------------------------- stopping, prompts, sessions


async def test_b26_a_stop_hook_that_always_blocks_is_capped(play, folder, script):
    endpoint = play(done, forever=True)
    mark = endpoint.simulator.log.mark()
    stop = on("Stop", "*", script("sys.exit(2)"))
    result, _ = await run(endpoint, folder, [stop], limits=Limits(stop_blocks=3))
    assert result.status == "stop_hook_capped" and not result.ok
    assert len(endpoint.simulator.log.since(mark)) == 4


async def test_b27_stop_hook_active_is_true_also_after_tool_calls(play, folder, script, tmp_path):
    mark = tmp_path / "flags"
    text = (
        "event = json.load(sys.stdin)\n"
        f"open({str(mark)!r}, 'a').write(f\"{{event['stop_hook_active']}}\\n\")\n"
        "if not event['stop_hook_active']:\n    print('not yet', file=sys.stderr); sys.exit(2)\n"
    )
    result, agent = await run(play(done, bash("ls"), done), folder, [on("Stop", "*", script(text))])
    assert mark.read_text().split() == ["False", "True"]
    assert result.status == "completed"
    assert any("not yet" in str(message["content"]) for message in agent.history)


async def test_an_error_of_a_stop_hook_is_recorded_and_the_run_ends(play, folder, script):
    result, _ = await run(play(done), folder, [on("Stop", "", script("sys.exit(1)"))])
    assert result.status == "completed" and heard(result)[0]["decision"] == "error"


async def test_a_stop_hook_that_says_stop_is_not_taken_for_a_block():
    said = await fire(
        on("Stop", "", lambda e: {"continue": False, "decision": "block"}), event="Stop"
    )
    assert said.decision == ""


async def test_a_prompt_can_be_refused_before_anything_is_sent(play, folder):
    endpoint = play(done)
    mark = endpoint.simulator.log.mark()
    refuse = on("UserPromptSubmit", run=lambda e: {"decision": "block", "reason": "no secrets"})
    result, agent = await run(endpoint, folder, [refuse])
    assert result.status == "blocked" and "no secrets" in result.detail
    assert not endpoint.simulator.log.since(mark) and not agent.history


async def test_an_error_at_a_prompt_blocks_because_nobody_can_be_asked(script):
    said = await fire(on("UserPromptSubmit", run=script("sys.exit(1)")), event="UserPromptSubmit")
    assert said.decision == "deny" and "To turn this hook off" in said.reason
    start = await fire(on("SessionStart", run=script("sys.exit(1)")), event="SessionStart")
    assert start.decision == "" and list(start.events())


async def test_plain_text_is_context_where_a_session_or_a_prompt_begins(play, folder, script):
    hello = script("print('It is Monday.')")
    hooks = [on(event, "", hello) for event in EVENTS]
    result, agent = await run(play(bash("ls"), done), folder, hooks)
    assert result.status == "completed"
    first = [block["text"] for block in agent.history[0]["content"]]
    assert first[0] == "go" and first[1:] == ["[hook hook0.py] It is Monday."] * 2
    assert "Monday" not in str(agent.history[1:])


async def test_the_events_of_a_session_are_told_in_order_with_their_fields(play, folder, tmp_path):
    told = []
    hooks = [on(event, "", lambda e: told.append(e)) for event in EVENTS]
    await run(play(bash("ls"), done), folder, hooks, transcript=tmp_path / "run.jsonl")
    assert [event["hook_event_name"] for event in told] == [
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd",
    ]  # fmt: skip
    start, prompt, before, after, stop, end = told
    assert {"session_id", "transcript_path", "cwd", "permission_mode"} <= start.keys()
    assert start["source"] == "startup" and start["session_id"] == "run"
    assert prompt["prompt"] == "go" and end["reason"] == "completed"
    assert before["tool_name"] == "Bash" and before["tool_input"] == {"command": "ls"}
    assert before["tool_use_id"] == after["tool_use_id"] and "exit code 0" in after["tool_response"]
    assert before["cwd"] == str(folder.resolve()) and stop["stop_hook_active"] is False


async def test_compaction_events_can_be_fired():
    for event in ("PreCompact", "PostCompact"):
        hook = on(event, "auto", lambda e: {"decision": "block", "reason": "keep it"})
        assert (await Hooks([hook]).fire(event, {"trigger": "auto"})).decision == "deny"
        assert (await Hooks([hook]).fire(event, {"trigger": "manual"})) == Merged()


# --------------------------------------------------------------------------------- the other kinds


async def test_a_function_may_answer_in_every_form():
    async def later(event):
        return {"hookSpecificOutput": {"permissionDecision": "deny", "reason": "later"}}

    def whole(event):
        return HookResult("", "", "ask", "whole", context=None)

    for function, decision in [
        (later, "deny"), (whole, "ask"), (lambda e: None, ""), (lambda e: "allow", "allow"),
        (lambda e: {}, ""), (lambda e: later(e), "deny"),
    ]:  # fmt: skip
        assert (await fire(on("PreToolUse", "*", function))).decision == decision


def test_a_function_that_is_no_hook_yet_says_how_to_make_one():
    with pytest.raises(TypeError, match=r"is no hook; make one: on\('PreToolUse'"):
        Hooks([lambda event: "deny"])


@pytest.mark.parametrize(
    "function",
    [
        lambda e: 1 / 0,
        lambda e: False,
        lambda e: True,
        lambda e: ["deny"],
        lambda e: {"decison": "block"},
        lambda e: {"updatedInput": {"command": object()}},
        lambda e: HookResult("", "", "maybe"),
        lambda e: HookResult("", "", "error", "it could not tell"),
        lambda e: HookResult("", "", "allow", input="ls"),
        lambda e: sys.exit(2),
        lambda e: (_ for _ in ()).throw(asyncio.CancelledError()),
    ],
)
async def test_a_function_that_fails_or_answers_nonsense_is_an_error(function):
    said = await fire(on("PreToolUse", "*", function))
    assert said.decision == "ask" and said.results[0].decision == "error"


async def test_a_function_cannot_change_what_others_see():
    def spoil(event):
        event["tool_input"]["command"] = "rm"

    seen = []
    payload = {"command": "ls"}
    await fire(
        on("PreToolUse", "*", spoil),
        on("PreToolUse", "*", lambda e: seen.append(e["tool_input"])),
        tool_input=payload,
    )
    assert seen == [{"command": "ls"}] and payload == {"command": "ls"}


def test_a_decorator_makes_a_hook():
    @on("PreToolUse", "Bash", timeout_s=5)
    def guard(event):
        return "deny"

    hooks = Hooks([guard])
    assert hooks and hooks.on("PreToolUse", "Bash") and not hooks.on("PreToolUse", "Read")
    assert guard.name == "guard" and not Hooks() and not hooks.on("Stop")
    assert repr(hooks) == "Hooks(PreToolUse guard)"


class Answering(BaseHTTPRequestHandler):
    """A webhook: the path says how it answers."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.told.append((body, dict(self.headers)))
        code, _, text = self.path.strip("/").partition("/")
        if text == "slow":
            time.sleep(2)
        answers = {"deny": '{"decision": "block", "reason": "said the server"}', "cut": '{"deci'}
        self.send_response(int(code))
        if code == "302":
            self.send_header("location", "/200/allow")
        self.send_header("content-type", "text/html" if text == "page" else "text/plain")
        self.end_headers()
        self.wfile.write(answers.get(text, text * 1).encode() if text != "long" else b"x" * 200_000)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        server.told = []
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        ("/200/deny", "deny"), ("/204/", ""), ("/200/", ""), ("/201/allow", "allow"),
        ("/200/cut", "error"), ("/500/", "error"), ("/404/deny", "error"), ("/302/", "error"),
        ("/200/long", "error"), ("/200/slow", "error"), ("/200/page", "error"),
    ],
)  # fmt: skip
async def test_a_webhook_decides_with_a_good_status_alone(path, decision, server):
    said = await fire(on("PreToolUse", "Bash", server.url + path, timeout_s=1))
    assert said.results[0].decision == decision
    [(body, _)] = server.told
    assert body["tool_input"] == {"command": "ls"}


async def test_a_webhook_that_is_not_there_is_an_error():
    said = await fire(on("PreToolUse", "Bash", "http://127.0.0.1:9/x"))
    assert said.decision == "ask" and said.results[0].hook == "127.0.0.1:9/x"


async def test_a_header_of_a_webhook_takes_named_variables_only(server, monkeypatch):
    monkeypatch.setenv("HOOK_TOKEN", "abc")
    monkeypatch.setenv("OTHER", "secret")
    headers = {"Authorization": "Bearer ${HOOK_TOKEN}", "X-Other": "<$OTHER>"}
    hook = Webhook(server.url + "/200/", headers, ("HOOK_TOKEN",))
    await fire(on("PreToolUse", "Bash", hook))
    [(_, got)] = server.told
    assert got["Authorization"] == "Bearer abc" and got["X-Other"] == "<>"


async def test_a_prompt_hook_asks_the_small_model_and_the_call_is_counted(play, folder):
    endpoint = play(bash("git push --force"), bash("ls"), done)
    mark = endpoint.simulator.log.mark()
    rule = Prompt("No `--force` in a command. $ARGUMENTS")
    result, _ = await run(endpoint, folder, [on("PreToolUse", "Bash", rule)])
    (first, failed), (_, second_failed) = results(result)
    assert failed and "--force" in first and not second_failed
    asked = [event for event in result.events if event.type == "model.side_call"]
    assert [event.purpose for event in asked] == ["hook", "hook"]
    assert len(endpoint.simulator.log.since(mark)) == result.turns + len(asked)


async def test_a_prompt_hook_without_an_answer_is_an_error():
    assert (await fire(on("PreToolUse", "*", Prompt("No.")))).decision == "ask"

    class Broken:
        async def ask(self, *_, **__):
            event = {"purpose": "hook", "model": "m", "usage": {}, "cost_usd": 0.1}
            raise SideCallFailed("the answer does not have the form asked for", event)

    now = Circumstances(side_calls=Broken())
    said = await fire(on("PreToolUse", "*", Prompt("No.")), now=now)
    assert said.decision == "ask"
    assert [kind for kind, _ in said.events()] == ["model.side_call", "hook.result"]


# ------------------------------------------------------------------------------------- surroundings


async def test_a_command_sees_the_project_and_no_keys(script, folder, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    text = (
        "names = ('AGENTLAB_PROJECT_DIR', 'CLAUDE_PROJECT_DIR', 'ANTHROPIC_API_KEY')\n"
        "seen = [os.environ.get(n, '-') for n in names] + [os.getcwd()]\n"
        "print(json.dumps({'decision': 'deny', 'reason': ' '.join(seen)}))\n"
    )
    said = await fire(on("PreToolUse", "*", script(text)), folder=folder)
    where = str(folder)
    assert said.reason.partition("] ")[2] == f"{where} {where} - {where}"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
async def test_a_command_line_runs_in_a_plain_shell(folder, monkeypatch, tmp_path):
    for name in (".bash_profile", ".profile", ".bashrc"):
        (tmp_path / name).write_text('echo \'{"decision": "block"}\'\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    assert (await fire(on("PreToolUse", "*", "true"), folder=folder)).decision == ""
    assert (await fire(on("PreToolUse", "*", "python --version"), folder=folder)).decision == ""


async def test_commands_run_in_the_folder_of_the_tool_if_no_other_is_named(play, folder, script):
    hook = on("PostToolUse", "Write", script("open('here', 'w')"))
    write = calls(("Write", {"file_path": "a.txt", "content": "x"}))
    await run(play(write, done), folder, [hook])
    assert (folder / "here").exists()


def test_what_was_said_becomes_text_and_events():
    results = [
        HookResult("quiet", "PostToolUse"),
        HookResult("tests", "PostToolUse", "deny", "1 failed"),
        HookResult("broken", "PostToolUse", "error", "exit code 1"),
        HookResult("note", "PostToolUse", context="see docs"),
    ]
    said = Merged.of(results)
    assert said.decision == "deny"
    lines = ["[hook tests] 1 failed", "[hook broken] exit code 1", "[hook note] see docs"]
    assert said.text().splitlines() == lines
    events = list(said.events("t1"))
    assert [data["hook"] for _, data in events] == ["tests", "broken", "note"]
    for kind, data in events:
        assert set(data) == set(EVENT_TYPES[kind])


async def test_hooks_leave_no_processes_and_no_threads_behind(script):
    before = threading.active_count()
    await fire(*(on("PreToolUse", "*", script("sys.exit(0)")) for _ in range(5)))
    await asyncio.sleep(0.1)
    assert threading.active_count() <= before + 1
    children = psutil.Process(os.getpid()).children()
    assert not [c for c in children if c.status() != psutil.STATUS_ZOMBIE and "hook" in str(c)]
