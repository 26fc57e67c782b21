"""The same task with a vague and with a specific description of one tool: what a few words save."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from agentlab.simulator.scenario import Chat, Result, Say, Turns, scenario

Steps = Generator[Say, Any, Result | None]  # turns that end in a result
GREETING = "Hello from `hello.py`!"
_PROGRAM = f'print("{GREETING}")'
# Three ways to get the quotes wrong, as every shell on earth has seen them, and the right one.
_SHELL_WAYS = (
    f"cat > {{script}} << 'EOF\n{_PROGRAM}\nEOF",
    f"cat > {{script}} << EOF\n{_PROGRAM}\nEOF",
    f'echo "{_PROGRAM}" > {{script}}',
    f"cat > {{script}} << 'EOF'\n{_PROGRAM}\nEOF",
)
_NO_PYTHON = re.compile(
    r"python\b.{0,20}(?:not found|no such file|not recogni[sz]ed)", re.IGNORECASE
)
_EXIT_CODE = re.compile(r"\W{0,2}(?:exit[ _]code|returncode)\b", re.IGNORECASE)
_ABOUT_FILES = re.compile(
    r"\b(?:create|write|writing|edit|save|crea|creare|scriv\w+|modific\w+)\b.{0,40}\bfiles?\b"
    r"|\bfiles?\b.{0,40}\b(?:create|write|edit|crea|creare|scriv\w+|modific\w+)\b",
    re.IGNORECASE | re.DOTALL,
)


def says_what_it_is_for(description: str, write_tool: str) -> bool:
    """Whether a shell's description tells a model where files are to be made instead."""
    about_files = _ABOUT_FILES.search(description) is not None
    named = re.search(rf"\b{re.escape(write_tool)}\b", description, re.IGNORECASE)
    return len(description.split()) >= 6 and (about_files or named is not None)


@scenario(
    "descriptions",
    chapter=3,
    opens=r"\b(?:write|scrivi) hello\.py\b",
    example="Write hello.py, which prints a greeting, and run it.",
)
def descriptions(chat: Chat) -> Turns:
    """Writes a file with the shell or with the write tool: as the shell's description says."""
    shell, write = chat.tool("Bash"), chat.tool("Write")
    about = str(chat.offered.tools[shell].get("description") or "") if shell else ""
    if write and (not shell or says_what_it_is_for(about, write)):
        ran = yield from _write_and_run(chat, "")
    else:
        ran = yield from _by_shell(chat)
        if write and chat.decide(not _greets(ran)):
            ran = yield from _write_and_run(
                chat, chat.pick("Enough of quotes. ", "Basta con gli apici. ")
            )
    yield chat.say(_verdict(chat, ran))


def _by_shell(chat: Chat) -> Steps:
    """Make the file with the shell, one quoting after the other; returns the last result."""
    python, said = "python", chat.pick(
        "I have a shell, so I write the file with it and run it at once.",
        "Ho una shell: scrivo il file con quella e lo eseguo subito.",
    )  # fmt: skip
    ran = None
    for way in _SHELL_WAYS:
        command = f"{way.format(script='hello.py')}\n{python} hello.py"
        ran = (yield chat.say(said).call("Bash", command=command))[0]
        if chat.decide(_NO_PYTHON.search(ran.text)):
            python = "python3"
            ran = (yield _other_python(chat))[0]
        if chat.decide(_greets(ran)):
            break
        said = chat.pick(
            f"That is not the greeting, but: {_last_line(ran)}\nSomething with the quotes.",
            f"Non è il saluto, ma: {_last_line(ran)}\nQualcosa con gli apici.",
        )
    return ran


def _write_and_run(chat: Chat, first: str) -> Steps:
    """Make the file with the write tool, then run it; returns the result of the run."""
    wrote = yield chat.say(
        first
        + chat.pick(
            "I write the file with the tool for files, then run it.",
            "Scrivo il file con lo strumento per i file, poi lo eseguo.",
        )
    ).call("Write", file_path="hello.py", content=_PROGRAM + "\n")
    if chat.decide(wrote[0].failed):
        return wrote[0]
    ran = (yield chat.say().call("Bash", command="python hello.py"))[0]
    if chat.decide(_NO_PYTHON.search(ran.text)):
        ran = (yield _other_python(chat))[0]
    return ran


def _other_python(chat: Chat) -> Say:
    said = chat.pick("No `python` here, maybe `python3`.", "Qui `python` non c'è: `python3`?")
    return chat.say(said).call("Bash", command="python3 hello.py")


def _greets(ran: Result | None) -> bool:
    """Whether the greeting stands alone on a line of what was printed."""
    return ran is not None and GREETING in (line.strip() for line in ran.text.splitlines())


def _last_line(ran: Result | None) -> str:
    """What a command said last, its exit code left aside."""
    lines = [line.strip() for line in ran.text.splitlines()] if ran else []
    told = [line for line in lines if line and not _EXIT_CODE.match(line)]
    return told[-1][:200] if told else "(nothing)"


def _verdict(chat: Chat, ran: Result | None) -> str:
    if not ran:
        return chat.pick(
            "hello.py was run, but its output is no longer in this conversation.",
            "hello.py è stato eseguito, ma l'output non è più in questa conversazione.",
        )
    if _greets(ran):
        return chat.pick(
            f"hello.py is written and runs. It prints: {GREETING}",
            f"hello.py è scritto e funziona. Stampa: {GREETING}",
        )
    return chat.pick(
        f"I did not get hello.py to print its greeting. The last I saw was: {_last_line(ran)}",
        f"hello.py non stampa il suo saluto. L'ultima cosa che ho visto: {_last_line(ran)}",
    )
