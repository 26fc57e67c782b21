"""Asking the user in a terminal: the whole call, why it is asked, and a key for each answer.

The line is read in a thread that can be called off, so the run goes on being cancellable while
somebody thinks. Ctrl-C and the end of the input answer the question with no; only the next Ctrl-C
ends the run. Part of chapter 06.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from agentlab.permissions.asking import edited, headline, outcome, whole, why
from agentlab.permissions.decision import Answer, Question

POLL_S = 0.1  # how soon a reading thread notices that nobody waits for it any more
KEYS = {
    "a": "approve", "d": "deny", "n": "note", "e": "edit", "s": "session", "A": "always",
}  # fmt: skip


class Terminal:
    """An asker that prints to a `rich.console.Console` and reads from the standard input."""

    def __init__(self, console: Any = None) -> None:
        from rich.console import Console

        self.console: Any = console or Console(highlight=False)

    async def __call__(self, question: Question) -> Answer:
        _forget_typed()  # it was typed before the question was there, so it is no answer to it
        self._show(question)
        while True:
            given = await self._answer(question, await self._line("> "))
            if given is not None:
                self._print(outcome(given))
                return given

    async def _answer(self, question: Question, line: str | None) -> Answer | None:
        """What a line means; None if it settles nothing."""
        if line is None:
            return Answer("deny", "the question was not answered")
        match KEYS.get(line.strip(), line.strip().lower()):
            case "approve":
                return Answer("allow")
            case "deny":
                return Answer("deny")
            case "note":
                note = await self._line("What should the model know? ")
                return Answer("deny", (note or "").strip())
            case "edit":
                return await self._edit(question)
            case "session" if question.rules:
                return Answer("allow", remember="session")
            case "always" if question.rules:
                said = await self._line(f"Save {', '.join(question.rules)}? (yes/no) ")
                if (said or "").strip().lower() in ("y", "yes"):
                    return Answer("allow", remember="always")
                self._print("Nothing was saved, and nothing approved.")
            case _:
                self._print("Please answer with one of the letters.")
        return None

    def _show(self, question: Question) -> None:
        from rich.panel import Panel
        from rich.text import Text

        shown = Text(whole(question.shown))
        self.console.print(Panel(shown, title=Text(headline(question)), title_align="left"))
        for number, part in enumerate(question.parts if len(question.parts) > 1 else (), 1):
            self._print(f"  {number}. {whole(part)}")
        self._print(f"Why you are asked: {why(question)}.")
        if question.cwd:
            self._print(f"It would run in {question.cwd}.")
        self._print("a approve · d deny · n deny with a note · e edit")
        if question.rules:
            self._print(f"s approve for this session · A always: {', '.join(question.rules)}")

    async def _edit(self, question: Question) -> Answer | None:
        """The changed call; None if what was typed cannot be one."""
        bash = question.tool == "Bash"
        old = whole(question.shown) if bash else json.dumps(question.input, ensure_ascii=False)
        self._print(f"It was: {old}")
        line = await self._line("New command: " if bash else "New input, as JSON: ")
        text = (line or "").strip()
        if bash and text and not text.startswith("{"):
            return Answer("allow", input={**question.input, "command": text})
        try:
            return Answer("allow", input=edited(text))
        except ValueError as error:
            self._print(f"Not approved: {error}.")
            return None

    def _print(self, text: str, end: str = "\n") -> None:
        self.console.print(text, markup=False, end=end)

    async def _line(self, prompt: str) -> str | None:
        """One line of input; None at its end, and at Ctrl-C."""
        self._print(prompt, end="")
        loop, stopped = asyncio.get_running_loop(), threading.Event()
        line: asyncio.Future[str | None] = loop.create_future()

        def give(value: str | None) -> None:
            if not line.done():
                line.set_result(value)

        def wait() -> None:
            got = None
            with suppress(OSError, ValueError):  # the input is gone
                got = read_line(stopped)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(give, got)

        restore = _on_ctrl_c(lambda *_: loop.call_soon_threadsafe(give, None))
        threading.Thread(target=wait, daemon=True, name="agentlab-asking").start()
        try:
            return await line
        finally:
            stopped.set()
            restore()


def read_line(stopped: threading.Event) -> str | None:
    """The next line of the standard input, without its end; None at the end or once stopped."""
    if sys.platform == "win32":
        return _read_keys(stopped)
    import select

    while not stopped.is_set():
        if select.select([sys.stdin], [], [], POLL_S)[0]:
            line = sys.stdin.readline()
            return line.rstrip("\r\n") if line else None
    return None


def _read_keys(stopped: threading.Event) -> str | None:
    """The same on Windows, where one cannot wait for a line: key by key."""
    import msvcrt

    typed = ""
    while not stopped.is_set():
        if not msvcrt.kbhit():  # type: ignore[attr-defined]
            stopped.wait(POLL_S / 4)
            continue
        key = msvcrt.getwch()  # type: ignore[attr-defined]
        if key in "\r\n":
            sys.stdout.write("\n")
            return typed
        if key in "\x03\x1a":  # Ctrl-C, Ctrl-Z
            return None
        typed = typed[:-1] if key == "\b" else typed + key
        sys.stdout.write("\b \b" if key == "\b" else key)
        sys.stdout.flush()
    return None


def _forget_typed() -> None:
    """Throw away what was typed and not read yet."""
    if os.name == "nt":
        return
    import termios

    with suppress(termios.error, OSError, ValueError):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


def _on_ctrl_c(handler: Callable[..., Any]) -> Callable[[], object]:
    """Call ``handler`` at Ctrl-C; returns what puts back the former handler."""
    if threading.current_thread() is not threading.main_thread():
        return lambda: None  # only the main thread hears it
    before = signal.signal(signal.SIGINT, handler)
    return lambda: signal.signal(signal.SIGINT, before or signal.default_int_handler)
