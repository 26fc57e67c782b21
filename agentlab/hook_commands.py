"""Running a hook that is a command: JSON on its standard input, its decision on the output.

Much can go wrong with a command. It may not start, not end, print without end, or never read what
it is given. So its input is a file (nothing blocks, and it ends), both of its outputs are drained
while it runs and only a bounded part of them is kept, and whatever ends the wait, a time limit or
a cancelled run, ends its whole process group. It runs in a plain shell, not a login shell, without
the harness's keys. It is no sandbox: a hook may do whatever you may do. Built in chapter 07.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentlab.hook_answers import Fields, HookFailed, bounded, of_text
from agentlab.hook_runners import MOST_BYTES, Situation
from agentlab.toolbox.shell import SECRETS, Ends

WINDOWS = sys.platform == "win32"
PROJECT = ("AGENTLAB_PROJECT_DIR", "CLAUDE_PROJECT_DIR")  # variables that hold the folder
DRAIN_S = 1.0  # for output that is still on its way when the command has ended
POLL_S = 0.02
# What an interpreter says when it has not even begun. Several end with 2 then, as a refusal does
# (CPython 3.11, perl 5.36, dash 0.5, bash 5.2, mawk 1.3, GNU make 4.3, R 4.2, uv 0.9).
NOT_STARTED = re.compile(
    r".*python[\w.]*: can't open file .*\[Errno|Can't open perl script "
    r"|\S*(?:sh|awk): .*can(?:not|'t) open |\S*sh: .*(?:syntax error|unexpected EOF)"
    r"|make: \*\*\* No |fatal error: cannot open file |error: failed to spawn"
    r"|.* is not recognized as an internal",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Command:
    """A command line for the shell, or a program with its arguments, in the project's folder."""

    command: str | tuple[str, ...]

    @property
    def name(self) -> str:
        words = self.command.split() if isinstance(self.command, str) else self.command
        words = [re.split(r"[/\\]", word)[-1].strip("\"'") for word in words]
        scripts = (word for word in words if re.search(r"\w\.(?:py|sh|js|mjs|ts|rb|pl|ps1)$", word))
        return next(scripts, " ".join(words)[:40])

    async def ask(self, now: Situation) -> Fields:
        with tempfile.TemporaryFile() as payload:
            payload.write(now.text.encode("utf-8", "backslashreplace"))
            payload.seek(0)
            process = self._start(payload, now.folder)
            outputs = [_Drained(process.stdout), _Drained(process.stderr)]
            try:
                await _ended(process)
                whole = await _drained(outputs)
            except BaseException:  # its time is up, or the run was cancelled
                _kill(process)
                raise
        out, err = (output.ends.text() for output in outputs)
        if process.returncode != 0:
            return _failed(process.returncode, out, err)
        fields = of_text(out, now.event)
        if not any(fields.values()) and outputs[0].ends.total > MOST_BYTES:
            raise HookFailed(f"it printed {outputs[0].ends.total} bytes and no answer among them")
        if not any(fields.values()) and not whole:
            text = "a process that it left behind still holds its output; redirect that output"
            raise HookFailed(text)
        return fields

    def _start(self, payload: Any, folder: str) -> subprocess.Popen[bytes]:
        command: list[str] | str = [_in_place(word, folder) for word in self.command]
        if isinstance(self.command, str):
            command = [shutil.which("bash") or "/bin/sh", "-c", self.command]
            if WINDOWS:
                command = f'{os.environ.get("COMSPEC", "cmd.exe")} /d /s /c "{self.command}"'
        try:
            return subprocess.Popen(
                command, cwd=folder, env=environment(folder), stdin=payload,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
                start_new_session=not WINDOWS,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise HookFailed(f"it could not be started: {error}") from None


def _in_place(word: str, folder: str) -> str:
    """A word with the project's folder in it, which a shell would have put there."""
    for name in PROJECT:
        word = word.replace(f"${{{name}}}", folder)
    return word


def environment(folder: str) -> dict[str, str]:
    """What a command sees: no keys of the harness, where the project is, and a ``python``."""
    kept = {key: value for key, value in os.environ.items() if key not in SECRETS}
    places = [kept.get("PATH", os.defpath), str(Path(sys.executable).parent)]
    return {**kept, "PATH": os.pathsep.join(places), **dict.fromkeys(PROJECT, folder)}


class _Drained:
    """One output of a command, read by a thread to its end, of which a bounded part is kept."""

    def __init__(self, pipe: Any) -> None:
        self.pipe, self.ends = pipe, Ends(MOST_BYTES // 2, MOST_BYTES // 2)
        self.thread = threading.Thread(target=self._read, daemon=True, name="agentlab-hook-output")
        self.thread.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError), self.pipe as pipe:
            while data := pipe.read(65_536):
                self.ends.add(data)


async def _ended(process: subprocess.Popen[bytes]) -> None:
    pause = 0.001
    while process.poll() is None:
        await asyncio.sleep(pause)
        pause = min(POLL_S, 1.5 * pause)


async def _drained(outputs: list[_Drained]) -> bool:
    """Wait a moment for what is on its way. False: something still holds the outputs open."""
    until = time.monotonic() + DRAIN_S
    while any(output.thread.is_alive() for output in outputs):
        if time.monotonic() > until:
            return False
        await asyncio.sleep(0.002)
    return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a command with everything it started, also if it has itself ended before."""
    if WINDOWS:
        tree = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
        subprocess.run(tree, capture_output=True, check=False)
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(1.0)


def _failed(code: int, out: str, err: str) -> Fields:
    """What an exit code other than 0 means: 2 is a refusal. Raises HookFailed for everything else.

    A program that ends with 2 because it could not begin is no policy that refuses. But neither is
    that consent: what it was about to judge is asked about.
    """
    said = bounded(err) or bounded(out) or "it gave no reason"
    if code in (126, 127, 9009) or (code in (1, 2) and NOT_STARTED.match(err.strip())):
        raise HookFailed(f"it could not be started, so it has judged nothing: {said}")
    if code == 2:
        return {"decision": "deny", "reason": said}
    how = f"it was killed (signal {-code})" if code < 0 else f"it ended with exit code {code}"
    raise HookFailed(f"{how}, which is no decision (0 and 2 are): {said}")
