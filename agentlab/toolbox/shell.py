"""``Bash``: run a command, and always come back.

What makes a shell tool hard is not starting a process but ending it. A command may wait for input
(there is none: its stdin is empty), run forever (a timeout kills it *and everything it started*, as
one process group), leave a child behind that keeps the output open (the call ends when the shell
ends), print without end (the first 4 MB and the last one are kept, while it is read), or be called
off (the same kill). The working directory stays from call to call, but only inside the workspace.

What is kept is the result. How much of it the model gets is decided where that of every tool is:
it is cut, or kept on disk with a preview in its place (`agentlab.previews`).

This is not a sandbox: a command may do whatever you may do. A child that leaves its process group
(``setsid``) outlives the kill, and one that was put into the background goes on running.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agentlab.toolbox.paths import WINDOWS, Confined
from agentlab.tools import Tool, ToolContext, ToolError, tool

TIMEOUT_S = 120.0
MAX_TIMEOUT_S = 600.0
HEAD_BYTES, TAIL_BYTES = 4_000_000, 1_000_000  # kept of one output; a choice (2026-11-30)
_CONTINUED = bytes(range(0x80, 0xC0))  # bytes in the middle of a character
DRAIN_S = 0.25  # for output that is still on its way when the shell has ended
POLL_S = 0.02
SECRETS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")  # no command needs the harness's own keys

# The command is evaluated in a shell that says, as it ends, where it stands. Nothing of this is
# visible to the command: its variables are not exported, and its arguments are empty again.
_WRAPPER = """__command=$1 __folder=$2; shift 2
trap '{ pwd -P 2>/dev/null || printf "%s\\n" "$PWD"; } >"$__folder"' EXIT
eval "$__command"
"""


class Ends:
    """The beginning and the end of a stream of bytes, in bounded memory."""

    def __init__(self, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self.head, self.tail, self.total = bytearray(), bytearray(), 0
        self._sizes = head, tail

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._sizes[0] - len(self.head)
        self.head += data[:room]
        self.tail += data[room:]
        if len(self.tail) > 2 * self._sizes[1]:
            del self.tail[: -self._sizes[1]]

    def text(self) -> str:
        """What was kept, decoded, with a line that says how much is missing."""
        head, tail = bytes(self.head), bytes(self.tail)
        if not (missing := self.missing):
            return (head + tail).decode("utf-8", "replace")
        tail = tail[-self._sizes[1] :]
        whole = codecs.getincrementaldecoder("utf-8")("replace").decode(head)  # no half character
        return (
            f"{whole}\n[... {missing:,} of {self.total:,} bytes left out; ask for a part ...]\n"
            f"{tail.lstrip(_CONTINUED).decode('utf-8', 'replace')}"
        )

    @property
    def missing(self) -> int:
        """How many bytes were not kept."""
        return max(0, self.total - sum(self._sizes))


@dataclass
class Running:
    """A command that has been started: its process, what it prints, and where it will stand."""

    process: subprocess.Popen[bytes]
    output: Ends
    reader: threading.Thread

    @classmethod
    def start(cls, command: list[str] | str, cwd: Path) -> Running:
        flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        try:
            process = subprocess.Popen(
                command, cwd=cwd, env={k: v for k, v in os.environ.items() if k not in SECRETS},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                bufsize=0, start_new_session=not WINDOWS, creationflags=flags,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise ToolError(f"The command could not be started: {error}") from None
        running = cls(process, Ends(), threading.Thread(target=lambda: None))
        running.reader = threading.Thread(target=running._read, daemon=True)
        running.reader.start()
        return running

    def _read(self) -> None:
        """Read to the very end, even after the call: whoever still writes must not be blocked."""
        assert self.process.stdout
        with suppress(OSError, ValueError), self.process.stdout as pipe:
            while data := pipe.read(65_536):
                self.output.add(data)

    async def wait(self, seconds: float) -> bool:
        """Wait for the shell itself, not for what it left behind. False: the time is up."""
        until, pause = time.monotonic() + seconds, 0.001
        while self.process.poll() is None:
            if time.monotonic() >= until:
                return False
            await asyncio.sleep(pause)
            pause = min(POLL_S, 1.5 * pause)
        return True

    async def drain(self) -> str:
        """What it printed, after a moment for what is still on its way."""
        until = time.monotonic() + DRAIN_S
        while self.reader.is_alive() and time.monotonic() < until:  # noqa: ASYNC110 (a thread)
            await asyncio.sleep(0.002)
        return self.output.text()

    def kill(self) -> None:
        """End the shell and its whole group, if the shell still runs. Harmless otherwise."""
        if self.process.poll() is not None:
            return
        if WINDOWS:
            tree = ["taskkill", "/F", "/T", "/PID", str(self.process.pid)]
            subprocess.run(tree, capture_output=True, check=False)
        else:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)


def bash_tool(confined: Confined, *, timeout_s: float = TIMEOUT_S) -> Tool:
    """``Bash`` in a workspace, with the time in seconds that a command has if it does not say."""

    @tool(
        name="Bash", description=_description, permission="execute", root=confined.root,
        where=lambda: confined.cwd,
    )  # fmt: skip
    async def bash(command: str, timeout: float | None = None) -> str:  # noqa: ASYNC109 (its name)
        """Run a command.

        Args:
            command: what to run
            timeout: how many seconds it may take (at most 600)
        """
        if "\0" in command:
            raise ToolError("The command holds a NUL character, so nothing was run.")
        seconds = min(timeout_s if timeout is None else timeout, MAX_TIMEOUT_S)
        if not seconds > 0:
            raise ToolError("timeout counts seconds: it must be more than 0.")
        notes = _come_back(confined)
        with tempfile.TemporaryDirectory(prefix="agentlab-") as folder:
            place = Path(folder, "cwd")
            running = Running.start(_argv(command, place), confined.cwd)
            try:
                ended = await running.wait(seconds)
            finally:
                running.kill()
            if ended:
                notes += _go_to(confined, place)
        code = running.process.returncode
        if ended:
            notes.append(
                f"[exit code {code}]" if code >= 0 else f"[exit code {128 - code}, killed]"
            )
        else:
            notes.append(
                f"[timed out after {seconds:g} s; the command and its children were killed]"
            )
        output = await running.drain()
        if missing := running.output.missing:
            total = running.output.total
            notes.insert(0, f"[{missing:,} of its {total:,} bytes of output were not kept]")
        text = "\n".join([output.removesuffix("\n") or "(no output)", *notes])
        if not ended:
            raise ToolError(text)
        return text

    made: Tool = bash
    return made


async def _description(context: ToolContext) -> str:
    """What the model is told, which depends on the system that the command will run on."""
    both = (
        "The result holds what it printed (of long output the beginning and the end) and its exit "
        "code. It gets no input. After the timeout (in seconds, 120 if not given) it is killed "
        "with everything it started. To leave something running, put it in the background and "
        "send its output to a file."
        " Use it to list files, run scripts and run tests. Do not use it to create or change "
        "files: Write and Edit do that."
    )
    if context.platform == "win32":
        return (
            "Run a command in cmd.exe on Windows. Every command starts in the workspace: cd does "
            f"not last. {both}"
        )
    system = {"linux": "Linux", "darwin": "macOS"}.get(context.platform, context.platform)
    return (
        f"Run a command in a {Path(_shell()).name} shell on {system}. The working directory stays "
        "from one command to the next, as long as it is inside the workspace; file tools always "
        f"start from the workspace itself. {both}"
    )


def _shell() -> str:
    return shutil.which("bash") or "/bin/sh"


def _argv(command: str, place: Path) -> list[str] | str:
    if WINDOWS:
        return f'{os.environ.get("COMSPEC", "cmd.exe")} /d /s /c "{command}"'
    return [_shell(), "-c", _WRAPPER, "bash", command, str(place)]


def _come_back(confined: Confined) -> list[str]:
    """Before a command: if the working directory is gone, go to the workspace and say so."""
    if confined.cwd.is_dir() and Path(os.path.realpath(confined.cwd)) == confined.cwd:
        return []
    gone = confined.cwd.relative_to(confined.root).as_posix()
    confined.cwd = confined.root
    return [f"[the working directory {gone} is gone; this ran in the workspace]"]


def _go_to(confined: Confined, said: Path) -> list[str]:
    """After a command: stand where it said it ended, if that is inside the workspace."""
    try:
        place = Path(os.fsdecode(said.read_bytes().removesuffix(b"\n")))
    except FileNotFoundError:  # it did not say: it was replaced (exec), or killed
        return []
    if place.exists():
        place = Path(os.path.realpath(place))
    if not place.is_absolute() or not place.is_relative_to(confined.root):
        confined.cwd = confined.root
        return ["[cd led out of the workspace; the next command starts in the workspace again]"]
    confined.cwd = place
    if place == confined.root:
        return []
    return [f"[working directory: {place.relative_to(confined.root).as_posix()}]"]
