"""Asking for a yes before something is changed. Until there are permissions, this is the gate.

Against the simulator, tools change throw-away copies, so nothing is asked. On every other endpoint
a call of a tool that writes or executes is shown, and run only if somebody says yes. Where nobody
can answer, the answer is no. Chapters 05 and 06 replace this by rules that can be written down.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable

from agentlab.tools import Outcome, Prepared, failure

Confirm = Callable[[Prepared], Awaitable[bool]]
ASKED_FOR = ("write", "execute")


async def allow(call: Prepared | Outcome, confirm: Confirm | None) -> Prepared | Outcome:
    """The call, or a refusal if it changes something and the answer is not yes."""
    if confirm is None or isinstance(call, Outcome) or call.tool.permission not in ASKED_FOR:
        return call
    if await confirm(call):
        return call
    text = f"The user did not allow this call of {call.tool.name}, so nothing was run."
    return failure(call.call, text)


async def ask_the_user(call: Prepared) -> bool:
    """Show the call and wait for yes or no: in the terminal, or in the notebook's input line."""
    if not can_ask():
        return False
    shown = json.dumps(call.call["input"], ensure_ascii=False, indent=1)
    question = f"The model wants to use {call.tool.name}:\n{shown}\nRun it? [y/N] "
    try:
        # Blocking is meant: while somebody is asked, nothing else should go on.
        answer = input(question)  # noqa: ASYNC250
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")


def can_ask() -> bool:
    """Whether there is somebody who could answer."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    in_notebook = getattr(getattr(shell, "kernel", None), "_allow_stdin", False)
    return bool(in_notebook or (sys.stdin and sys.stdin.isatty()))
