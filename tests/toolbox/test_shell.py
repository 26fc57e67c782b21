"""A command always comes back: after a timeout, a cancel, a child left behind, endless output."""

import asyncio
import os
import signal
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import psutil
import pytest

from agentlab import Agent
from agentlab.clock import VirtualClock
from agentlab.messages import tool_use
from agentlab.partition import run_batches
from agentlab.previews import Previews
from agentlab.result_files import KEPT_BYTES
from agentlab.toolbox import toolbox
from agentlab.toolbox.shell import HEAD_BYTES, TAIL_BYTES, Ends
from agentlab.tools import MAX_RESULT_CHARS, Prepared, ToolContext, prepare

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are for a POSIX shell")


def timed(hands, **input):
    """The outcome of a command, and the seconds it took."""
    started = time.monotonic()
    outcome = hands.call("Bash", **input)
    return outcome, outcome.block["content"], time.monotonic() - started


def running(mark):
    """Processes that still run with this word in their command line."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or [])
        if mark in line and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(line)
    return found


def gone(mark, seconds=2.0):
    """Whether all of them end within a moment."""
    until = time.monotonic() + seconds
    while running(mark) and time.monotonic() < until:
        time.sleep(0.02)
    return not running(mark)


def test_j01_a_timeout_kills_the_whole_group(hands):
    sleeper = "import time; print('started', flush=True); time.sleep(300) # j01-sleeper"
    command = f'{sys.executable} -c "{sleeper}" ; true'
    outcome, said, seconds = timed(hands, command=command, timeout=1)
    assert outcome.is_error and seconds < 3
    assert said.startswith("started") and "timed out after 1 s" in said
    assert gone("j01-sleeper")


def test_j04_a_cancelled_command_is_gone_and_answered_once(hands):
    call = prepare(tool_use("t", "Bash", {"command": "sleep 300.04"}), hands.tools)
    results = []

    async def consume():
        async for _, outcome in run_batches([call], VirtualClock(), 10):
            results.append(outcome)

    async def main():
        task = asyncio.create_task(consume())
        await asyncio.sleep(0.5)
        assert running("sleep 300.04")
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - started

    assert asyncio.run(main()) < 2
    assert gone("sleep 300.04")
    assert results == [None]  # started, and never completed: the loop's own answer stands


async def test_j04_the_history_holds_one_result_for_a_cancelled_command(hands, play):
    endpoint = play(lambda chat: chat.say("Wait.").call("Bash", command="sleep 300.14"))
    agent = Agent(tools=list(hands.tools.values()), endpoint=endpoint)
    task = agent.start("wait")
    while not running("sleep 300.14"):  # noqa: ASYNC110 (another process)
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    blocks = [b for m in agent.history for b in m["content"] if b["type"] == "tool_result"]
    assert len(blocks) == 1 and blocks[0]["is_error"]
    assert gone("sleep 300.14")


def test_j05_a_child_in_the_background_does_not_hold_the_call_open(hands):
    outcome, said, seconds = timed(hands, command="sleep 15.5 & echo done", timeout=20)
    try:
        assert not outcome.is_error and "done" in said and seconds < 3
        assert running("sleep 15.5")  # it was asked for, so it goes on
    finally:
        for process in psutil.process_iter(["cmdline"]):
            if process.info["cmdline"] == ["sleep", "15.5"]:
                process.send_signal(signal.SIGKILL)


def test_j07_a_child_that_left_the_group_does_not_hold_the_call_open(hands):
    _, said, seconds = timed(hands, command="setsid sleep 6.07 & echo started", timeout=3)
    assert "started" in said and seconds < 3
    _, said, seconds = timed(hands, command="setsid sleep 4.07 & sleep 60.07", timeout=1)
    assert "timed out" in said and seconds < 3 and gone("sleep 60.07")


def test_j08_there_is_no_input_to_wait_for(hands):
    command = "read -p 'Proceed? ' x; echo \"got:$x rc:$?\"; cat; head -1 </dev/tty || echo no-tty"
    _, said, seconds = timed(hands, command=command, timeout=20)
    assert "got: rc:1" in said and "no-tty" in said and seconds < 5


async def test_j10_the_working_directory_stays_and_every_text_says_so(hands):
    async def bash(command):
        return (await hands.acall("Bash", command=command)).block["content"]

    sub = hands.folder / "sub"
    assert (await bash("mkdir -p sub; cd sub; pwd")).startswith(str(sub))
    assert (await bash("pwd")).startswith(str(sub))
    assert "[working directory: sub]" in await bash("true")
    written = (await hands.acall("Write", file_path="x.txt", content="x")).block["content"]
    place = str(hands.folder / "x.txt")
    assert place in written  # absolute, because "x.txt" would mean another place to the shell
    assert f"{place}\n" in await bash(f"ls '{place}'")
    told = (await hands.tools["Bash"].describe(ToolContext(platform="linux")))["description"]
    assert "working directory stays" in told and "file tools always start from the work" in told
    assert (await bash("cd ..; ls x.txt")).startswith("x.txt")
    again = await hands.acall("Write", file_path="x.txt", content="x")
    assert str(hands.folder) not in again.block["content"]  # "." means the same to both again


def test_j12_a_working_directory_that_is_gone_is_told(hands):
    hands.ok("Bash", command="mkdir d; cd d; rm -rf ../d")
    said = hands.ok("Bash", command="pwd")
    assert said.startswith(f"{hands.folder}\n")
    assert "the working directory d is gone; this ran in the workspace" in said
    assert "gone" not in hands.ok("Bash", command="pwd")


@pytest.mark.parametrize("command", ["cd /", "cd ..", "ln -s / out; cd out; cd tmp"])
def test_the_working_directory_stays_inside(hands, command):
    assert "cd led out of the workspace" in hands.ok("Bash", command=command)
    assert hands.ok("Bash", command="pwd").startswith(f"{hands.folder}\n")


def test_a_working_directory_that_became_a_link_is_left(hands):
    hands.ok("Bash", command="mkdir d; cd d; rmdir ../d; ln -s / ../d")
    assert hands.ok("Bash", command="pwd").startswith(f"{hands.folder}\n")


def test_c32_output_that_is_not_utf8_is_replaced(hands):
    said = hands.ok("Bash", command="printf 'ok \\360\\377 end'")
    assert said.startswith("ok \ufffd\ufffd end\n")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("true", "(no output)\n[exit code 0]"),
        ("exit 7", "(no output)\n[exit code 7]"),
        ("set -e; false; echo never", "(no output)\n[exit code 1]"),
        ("echo out; echo err >&2; false", "out\nerr\n[exit code 1]"),
        ("trap 'echo bye' EXIT; echo hi", "hi\nbye\n[exit code 0]"),
        ("exec printf replaced", "replaced\n[exit code 0]"),
        ("kill -9 $$", "(no output)\n[exit code 137, killed]"),
        ("cat <<EOF\na $((1 + 1))\nEOF", "a 2\n[exit code 0]"),
        ('echo "$# [$1]"', "0 []\n[exit code 0]"),
        ("printf 'a\\0b'", "ab\n[exit code 0]"),
        ("", "(no output)\n[exit code 0]"),
    ],
)
def test_what_a_command_gives(hands, command, said):
    assert hands.ok("Bash", command=command) == said


def test_a_command_that_is_no_command_is_an_answer(hands):
    said = hands.ok("Bash", command='echo "unfinished')
    assert "unexpected EOF" in said and "[exit code 2]" in said
    assert "[exit code 127]" in hands.ok("Bash", command="no-such-program-here")
    assert "could not be started" in hands.error("Bash", command="#" + "x" * 3_000_000)
    assert "NUL" in hands.error("Bash", command="echo a\0b")
    assert "more than 0" in hands.error("Bash", command="true", timeout=0)


def test_output_without_end_keeps_both_ends_in_bounded_memory(hands):
    tracemalloc.start()
    try:
        command = "echo first; yes 0123456789 | head -c 40000000; echo; echo last"
        said = hands.ok("Bash", command=command)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert said.startswith("first\n") and len(said) < MAX_RESULT_CHARS + 100
    assert said.endswith(
        "last\n[35,000,012 of its 40,000,012 bytes of output were not kept]\n[exit code 0]"
    )
    assert "characters left out; ask for a part" in said  # as of the result of any tool
    assert peak < 8 * (HEAD_BYTES + TAIL_BYTES)


async def test_what_a_command_printed_is_kept_whole_where_there_are_previews(tmp_path):
    agent = Agent(tools=toolbox(tmp_path), previews=Previews(tmp_path))
    gate, bash = agent._setup.gate, agent.tools["Bash"]
    input = {"command": "seq 300000; echo done; exit 3"}
    outcome = await gate.execute(Prepared(tool_use("toolu_1", "Bash", input), bash, input))
    shown = outcome.block["content"]
    assert len(shown) < 2_500 and shown.endswith("\ndone\n[exit code 3]")
    kept = (tmp_path / ".agentlab/results/toolu_1.txt").read_text()
    assert kept == "".join(f"{n}\n" for n in range(1, 300_001)) + "done\n[exit code 3]"


def test_a_flood_that_never_ends_is_cut_off(hands):
    outcome, said, seconds = timed(hands, command="yes flood-without-end", timeout=0.5)
    assert outcome.is_error and seconds < 3 and len(said) < MAX_RESULT_CHARS + 100
    assert gone("flood-without-end")


@pytest.mark.parametrize("size", [0, 1, 10, 29, 30, 31, 100, 1000])
def test_both_ends_are_kept_and_what_is_missing_is_counted(size):
    data = "".join(chr(0x61 + n % 26) for n in range(size))
    ends = Ends(10, 20)
    for start in range(0, size, 7):
        ends.add(data[start : start + 7].encode())
    text = ends.text()
    if size <= 30:
        assert text == data
    else:
        assert text.startswith(data[:10]) and text.endswith(data[-20:])
        assert f"{size - 30:,} of {size:,} bytes left out" in text
    assert len(ends.head) <= 10 and len(ends.tail) <= 47
    assert HEAD_BYTES + TAIL_BYTES < KEPT_BYTES


def test_no_half_character_stands_at_the_cut():
    ends = Ends(10, 20)
    ends.add("€".encode() * 100)
    assert "\ufffd" not in ends.text()


def test_a_command_does_not_see_the_harness_own_key(hands, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-of-this-test")
    monkeypatch.setenv("OTHER", "visible")
    assert hands.ok("Bash", command="echo [$ANTHROPIC_API_KEY] $OTHER").startswith("[] visible")


async def test_the_description_is_the_one_of_the_platform(hands):
    bash = hands.tools["Bash"]
    told = {p: (await bash.describe(ToolContext(platform=p)))["description"] for p in PLATFORMS}
    assert "Linux" in told["linux"] and "macOS" in told["darwin"] and "cmd.exe" in told["win32"]
    assert "cd does not last" in told["win32"] and "cd does not" not in told["linux"]


PLATFORMS = ("linux", "darwin", "win32")


async def test_other_things_go_on_while_a_command_runs(hands):
    task = asyncio.create_task(hands.acall("Bash", command="sleep 0.3"))
    ticks = 0
    while not task.done():
        await asyncio.sleep(0.01)
        ticks += 1
    assert ticks > 10 and not task.result().is_error


def test_nothing_is_left_in_the_temporary_folder(hands, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    hands.ok("Bash", command="echo x")
    hands.error("Bash", command="sleep 5", timeout=0.2)
    assert [p for p in Path(tmp_path).iterdir() if p.name.startswith("agentlab-")] == []
