"""Generated commands are judged, and those that are allowed are really run by bash.

The rules allow two programs, ``aa`` and ``bb``, and a few that run others. ``xx`` is never allowed.
Each of them writes down that it ran. Whatever ran although no rule names it is a way around.
"""

import json
import os
import random
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from agentlab.permissions import Rules
from agentlab.permissions.judge import Call, Place, judge

FUZZ = json.loads((Path(__file__).parent / "fuzz_pieces.json").read_text("utf-8"))
JOINTS = (" ; ", " && ", " || ", " | ", "\n", " & ", " |& ")
NOISE = " ;|&\n\"'\\$`(){}#<>=x~*!"
RULES = Rules.of(
    allow=[
        f"Bash({program}:*)"
        for program in ("aa", "bb", "echo", "env", "xargs", "bash", "cd", "cat")
    ]
)
TOOLS = ("env", "xargs", "nice", "timeout", "cat", "find", "sh", "bash", "nohup", "touch", "sleep")
COUNT, SEED = 2_500, 11
BASH = shutil.which("bash")


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def line(self):
        text = self.piece()
        if self.random.random() < 0.15:
            at = self.random.randrange(len(text) + 1)
            text = text[:at] + self.random.choice(NOISE) + text[at:]
        if text and self.random.random() < 0.08:
            at = self.random.randrange(len(text))
            text = text[:at] + text[at + 1 :]
        return text

    def piece(self, depth=0):
        roll = self.random.random()
        if depth > 2 or roll < 0.45:
            return self.random.choice(FUZZ["pieces"])
        if roll < 0.75:
            joint = self.random.choice(JOINTS)
            return self.piece(depth + 1) + joint + self.piece(depth + 1)
        return self.random.choice(FUZZ["around"]).format(self.piece(depth + 1))


@pytest.mark.skipif(not BASH or os.name == "nt", reason="needs bash")
def test_no_program_runs_that_no_rule_allows(tmp_path):
    programs, log = tmp_path / "bin", tmp_path / "log"
    programs.mkdir()
    (tmp_path / "home").mkdir()
    for name in ("aa", "bb", "xx", "yy"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} >> {log}\n")
        (programs / name).chmod(0o755)
    for name in TOOLS:
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    workspace = tmp_path / "ws"
    generate, allowed, ran_allowed = Generator(SEED), 0, 0
    for _ in range(COUNT):
        line = generate.line()
        shutil.rmtree(workspace, ignore_errors=True)
        workspace.mkdir()
        place = Place.of(workspace, home=tmp_path / "home", platform="linux")
        if judge(Call("Bash", {"command": line}), RULES, place).behaviour != "allow":
            continue
        allowed += 1
        log.write_text("")
        _run(line, workspace, {"PATH": str(programs), "HOME": str(tmp_path / "home")})
        ran = set(log.read_text().split())
        assert not ran - {"aa", "bb"}, f"{line!r} ran {ran}"
        assert not list(workspace.iterdir()), f"{line!r} wrote a file, and no rule allows it"
        ran_allowed += bool(ran)
    assert allowed > 150 and ran_allowed > 80  # the test looks at something


def _run(line, workspace, environment):
    process = subprocess.Popen(
        [BASH, "-c", 'eval "$1"', "bash", line], cwd=workspace, env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    with suppress(subprocess.TimeoutExpired):
        process.wait(5)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
