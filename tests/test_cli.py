"""The command line as a user meets it: real processes, their output and their exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentlab.course.chapters import demos as demo_names
from agentlab.demos import DEMOS
from agentlab.models import default_model
from agentlab.transcript import load

MODEL = default_model()
COMMANDS = ("lab", "demo", "run", "range", "ratchet", "serve", "replay", "doctor")
posix = pytest.mark.skipif(os.name != "posix", reason="sends SIGINT, as Ctrl-C does")


def environment(**more: str) -> dict[str, str]:
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("AGENTLAB_", "ANTHROPIC_"))}
    return {**ours, "PYTHONUNBUFFERED": "1", "COLUMNS": "100", **more}


def agentlab(*arguments: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "agentlab", *arguments],
        cwd=cwd,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def transcripts(folder: Path) -> list[Path]:
    return sorted((folder / "agentlab-runs").glob("*.jsonl"))


def start(*arguments: str, cwd: Path, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "agentlab", *arguments],
        cwd=cwd,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


# ------------------------------------------------------------------------------------------- help


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str, tmp_path: Path) -> None:
    done = agentlab(command, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert re.search(rf"Examples?:\n +agentlab {command}", done.stdout)


def test_help_lists_the_commands_without_loading_what_they_need(tmp_path: Path) -> None:
    code = "import sys; sys.argv[1:] = ['--help']; from agentlab.cli import main\n"
    code += "try: main()\nexcept SystemExit: print(*{n.partition('.')[0] for n in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(f"\n  {command} " in done.stdout for command in COMMANDS)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert {"anthropic", "uvicorn", "jupyterlab", "pydantic"} & loaded == set()


# ------------------------------------------------------------------------------------ run, replay


def test_run_does_a_task_and_writes_a_transcript(tmp_path: Path) -> None:
    done = agentlab("run", "What is 17 * 23?", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "391" in done.stdout
    [path] = transcripts(tmp_path)
    assert f"Transcript: {path.relative_to(tmp_path)}" in done.stderr
    assert load(path).events[-1].type == "session.end"


def test_run_reads_in_its_workspace(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "plan.txt").write_text("Water the heliotropes.")
    done = agentlab("run", "Read plan.txt", "--workspace", "notes", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "heliotropes" in done.stdout


def test_a_run_at_a_server_that_is_not_there_failed(tmp_path: Path) -> None:
    done = agentlab("run", "x", "--endpoint", "http://127.0.0.1:9", "--model", "any", cwd=tmp_path)
    assert done.returncode == 1
    assert "could not be reached" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert "To go on: agentlab run --resume" in done.stderr


def test_a_run_that_hits_its_limit_failed_and_can_be_resumed(tmp_path: Path) -> None:
    cut = agentlab("run", "What is 17 * 23?", "--max-turns", "1", cwd=tmp_path)
    assert cut.returncode == 1
    [path] = transcripts(tmp_path)
    name = str(path.relative_to(tmp_path))
    assert f"To go on: agentlab run --resume {name}" in cut.stderr
    done = agentlab("run", "--resume", name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "391" in done.stdout
    assert transcripts(tmp_path) == [path]


def test_replay_shows_what_the_run_showed_and_survives_a_torn_line(tmp_path: Path) -> None:
    agentlab("run", "What is 17 * 23?", cwd=tmp_path)
    [path] = transcripts(tmp_path)
    whole = agentlab("replay", str(path), cwd=tmp_path)
    assert (whole.returncode, whole.stderr) == (0, "")
    assert "Calculator" in whole.stdout and "391" in whole.stdout
    path.write_bytes(path.read_bytes()[:-40])
    torn = agentlab("replay", str(path), cwd=tmp_path)
    assert torn.returncode == 0
    assert "Calculator" in torn.stdout
    assert re.fullmatch(r"agentlab: .+\.jsonl, line \d+: torn, skipped\n", torn.stderr)


def test_where_the_folder_is_read_only_the_transcript_goes_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "agentlab-runs").write_text("a file in the way")
    home = tmp_path / "home"
    done = agentlab("run", "What is 1 + 1?", cwd=tmp_path, HOME=str(home), APPDATA=str(home))
    assert done.returncode == 0, done.stderr
    path = Path(re.findall(r"Transcript: (.+)", done.stderr)[0])
    assert path.is_relative_to(home)
    assert load(path).events


@posix
def test_ctrl_c_ends_a_run_cleanly_and_says_where_the_transcript_is(tmp_path: Path) -> None:
    with start("run", "What is 17 * 23?", cwd=tmp_path, AGENTLAB_SPEED="2") as process:
        try:
            deadline = time.monotonic() + 60
            while not transcripts(tmp_path) or not transcripts(tmp_path)[0].stat().st_size:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=30)[0]
        finally:
            process.kill()
    assert process.returncode == 1
    [path] = transcripts(tmp_path)
    assert f"Transcript: {path.relative_to(tmp_path)}" in said
    assert "Traceback" not in said
    assert load(path).events[-1].data["status"] == "cancelled"


# -------------------------------------------------------------------------------------- bad input


def in_one_line(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """It is bad usage, and one line on standard error says so."""
    assert done.returncode == 2, done
    assert re.fullmatch(r"agentlab: .+\n", done.stderr), done.stderr
    assert all(word in done.stderr for word in words), done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run"], ["say what to do"]),
        (["run", "  "], ["say what to do"]),
        (["run", "x", "--budget", "0"], ["positive"]),
        (["run", "x", "--workspace", "nowhere"], ["no folder nowhere", "--workspace"]),
        (["run", "x", "--workspace", "a-file"], ["no folder a-file"]),
        (["run", "x", "--scenario", "no-such"], ["no-such"]),
        (["run", "x", "--endpoint", "openai"], ["'openai'", "simulator", "anthropic"]),
        (["run", "x", "--endpoint", "anthropic"], ["ANTHROPIC_API_KEY"]),
        (["run", "x", "--endpoint", "http://127.0.0.1:9"], ["model"]),
        (["run", "x", "--model", "gpt"], ["'gpt'"]),
        (["run", "x", "--resume", "missing.jsonl"], ["missing.jsonl"]),
        (["run", "x", "--resume", "a-file"], ["a-file", "not an agentlab transcript"]),
        (["replay", "missing.jsonl"], ["missing.jsonl"]),
        (["replay", "a-file"], ["a-file", "not an agentlab transcript"]),
        (["replay", "other.jsonl"], ["other.jsonl", "not an agentlab transcript"]),
        (["replay", "."], ["folder"]),
        (["demo", "no-such"], ["no-such", "agentlab demo"]),
        (["serve", "--faults", "missing.json"], ["missing.json"]),
        (["serve", "--faults", "a-file"], ["a-file", "not JSON"]),
        (["lab", "a-file", "--no-browser"], ["a-file", "agentlab lab DIR"]),
        (["lab", "--reset", "99"], ["99", "00"]),
        (["lab", "--check", "--in-place"], ["--check"]),
        (["lab", "--in-place", "--reset", "00"], ["--in-place"]),
    ],
    ids=" ".join,
)
def test_bad_input_gets_one_line_that_says_what_to_do(
    arguments: list[str], words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "a-file").write_text("not ours")
    (tmp_path / "other.jsonl").write_text('{"role": "user"}\n{"type": "message"}\n')
    in_one_line(agentlab(*arguments, cwd=tmp_path), *words)
    assert transcripts(tmp_path) == []


@pytest.mark.parametrize("command", ["serve", "lab"])
def test_a_port_in_use_is_named(command: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        in_one_line(agentlab(command, "--port", port, cwd=tmp_path), port)
    assert not (tmp_path / "agentlab-course").exists()


def test_a_run_at_another_endpoint_is_not_resumed_by_accident(tmp_path: Path) -> None:
    agentlab("run", "What is 1 + 1?", cwd=tmp_path)
    [path] = transcripts(tmp_path)
    path.write_text(path.read_text("utf-8").replace('"endpoint": "simulator"', '"endpoint": "x"'))
    done = agentlab("run", "--resume", str(path), cwd=tmp_path)
    in_one_line(done, "is a run at x", "--endpoint x")


# --------------------------------------------------------------------------------- demo and serve


def test_demo_without_a_name_lists_what_there_is(tmp_path: Path) -> None:
    done = agentlab("demo", cwd=tmp_path)
    assert done.returncode == 0
    assert re.search(r"^loop +chapter 02 ", done.stdout, re.MULTILINE)


def test_the_demos_are_those_of_the_index() -> None:
    assert set(DEMOS) == set(demo_names())


@pytest.mark.parametrize("name", list(DEMOS))
def test_every_demo_plays_to_its_end(name: str, tmp_path: Path) -> None:
    done = agentlab("demo", name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "simulated model" in done.stdout
    assert list(tmp_path.iterdir()) == []


@posix
def test_serve_answers_the_sdk_at_the_address_it_prints_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    from anthropic import Anthropic, InternalServerError

    (tmp_path / "faults.json").write_text(
        json.dumps([{"kind": "status", "status": 529, "calls": [1]}])
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with start("serve", "--port", port, "--faults", "faults.json", cwd=tmp_path) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(3)]
            [url] = set(re.findall(r"http://[\d.:]+", "".join(lines)))
            client = Anthropic(base_url=url, api_key="any", max_retries=0)
            question = {"role": "user", "content": "Hello"}
            with pytest.raises(InternalServerError):
                client.messages.create(model=MODEL, max_tokens=64, messages=[question])
            answer = client.messages.create(model=MODEL, max_tokens=64, messages=[question])
            assert answer.content
            process.send_signal(signal.SIGINT)
            rest = process.communicate(timeout=30)[0]
        finally:
            process.kill()
    assert process.returncode == 0
    assert rest.strip().endswith("Stopped.")
