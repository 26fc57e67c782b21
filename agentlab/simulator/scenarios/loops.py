"""Models that do not stop by themselves: each of these is what a harness has to notice."""

from __future__ import annotations

import itertools
import re
from typing import Any

from agentlab.simulator.scenario import Chat, Turns, scenario

Call = tuple[str, dict[str, Any]]
# Harmless calls whose result does not change by itself, in the order in which they are preferred.
_STEADY: list[Call] = [
    ("LS", {"path": "."}),
    ("Read", {"file_path": "README.md"}),
    ("Bash", {"command": "ls"}),
    ("Grep", {"pattern": "TODO"}),
    ("Calculator", {"expression": "1 + 1"}),
    ("Read", {"file_path": "data.csv"}),
    ("Bash", {"command": "pwd"}),
    ("Calculator", {"expression": "2 + 2"}),
    ("Clock", {}),
]


def steady_calls(chat: Chat) -> list[Call]:
    """The harmless calls that the offered tools allow, different ones first."""
    return [call for call in _STEADY if chat.offers(call[0])]


NOTHING = (
    "I would go on for ever here, but the request offers none of the tools for it "
    "(such as LS, Read, Bash or Calculator)."
)


@scenario(
    "runaway",
    chapter=2,
    opens=r"until the (?:build|light) is green",
    example="Keep looking until the build is green.",
)
def runaway(chat: Chat) -> Turns:
    """Makes the same call with the same arguments for ever."""
    calls = steady_calls(chat)
    if not calls:
        yield chat.say(NOTHING)
        return
    tool, arguments = calls[0]
    for turn in itertools.count():
        yield chat.say("Not green yet, I look again." if turn else "I'll look.").call(
            tool, **arguments
        )


@scenario(
    "ping-pong",
    chapter=2,
    opens=r"(?:which|what) came first",
    example="Which came first, the list or the file? Look at both until you are sure.",
)
def ping_pong(chat: Chat) -> Turns:
    """Makes two calls in turn, A B A B, for ever."""
    calls = steady_calls(chat)
    if len(calls) < 2:
        yield chat.say(NOTHING)
        return
    for turn in itertools.count():
        tool, arguments = calls[turn % 2]
        yield chat.say("Then again, the other one." if turn else "One first.").call(
            tool, **arguments
        )


@scenario(
    "failing",
    chapter=2,
    opens=r"monthly reports?",
    example="Read the monthly reports of 2026 and give me their total.",
)
def failing(chat: Chat) -> Turns:
    """Reads one file after another, all of them missing, and never asks why."""
    for turn in itertools.count():
        name = f"reports/2026-{turn % 12 + 1:02}.md"
        result = yield chat.say("Next month, then." if turn else "January first.").call(
            "Read", file_path=name
        )
        if chat.decide(result[0] and not result[0].failed):
            yield chat.say(f"{name} is there after all. It says:\n{result[0].plain[:300]}")
            return


_DONE = re.compile(r"\b(?:done|finished|complete[d]?|succeeded|100 ?%)", re.IGNORECASE)
_NOT_DONE = re.compile(r"\bnot (?:yet )?(?:done|finished|complete)", re.IGNORECASE)


def _status_call(chat: Chat) -> Call | None:
    for name, tool in chat.offered.tools.items():
        if re.search(r"status|poll|job|progress", name, re.IGNORECASE):
            required = (tool.get("input_schema") or {}).get("required") or []
            return name, dict.fromkeys(required, "1")
    choices = [("Read", {"file_path": "status.txt"}), ("Bash", {"command": "cat status.txt"})]
    return next((call for call in choices if chat.offers(call[0])), None)


@scenario(
    "poller",
    chapter=2,
    opens=r"\bpoll (?:the|it|until)\b|(?:wait|check) (?:for|on) the job",
    example="Poll the job until it is done.",
)
def poller(chat: Chat) -> Turns:
    """Asks the same question again and again, and stops when the answer says that it is done."""
    call = _status_call(chat)
    if call is None:
        yield chat.say("I would poll here, but I am offered no tool to ask for a status with.")
        return
    tool, arguments = call
    last = ""
    for _ in itertools.count():
        result = yield chat.say(
            f"Not done yet ({last})." if last else "I'll ask how far it is."
        ).call(tool, **arguments)
        last = " ".join(result[0].text.split())[:60]
        if chat.decide(_DONE.search(last) and not _NOT_DONE.search(last) and not result[0].failed):
            yield chat.say(
                f"It is done. The last answer was: {last or '(no longer in this conversation)'}"
            )
            return
