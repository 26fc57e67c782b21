"""Asking the user: who is asked, how a question looks, and what counts as an answer.

An asker is an async function from a `Question` to an `Answer`. There are three: buttons in a
notebook (`agentlab.views.approval`), a prompt in a terminal (`agentlab.permissions.terminal`), and
answers written down beforehand.
Where nobody can be asked there is none, and what would be asked is denied.

A question shows the whole call, in characters that can all be seen: padding that would push a part
of it out of sight is written as a number of blanks. Only an answer that says yes is a yes: an empty
line, the end of the input and Ctrl-C are not. Waiting never blocks the event loop, so a run can be
cancelled while somebody thinks. Built in chapter 06.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass, field
from typing import Any

from agentlab.permissions.decision import Answer, Asker, Question
from agentlab.permissions.suggest import visible

ANSWERS = "AGENTLAB_ANSWERS"  # answers written down beforehand, for tests and builds
LONGEST = 20_000  # characters of a call that are shown; what is cut is said
REASONS = {"classifier_unavailable": "no rule decides it, and the classifier gave no answer"}


def best_asker() -> Asker | None:
    """Whoever can be asked here: a notebook, a terminal, or nobody (None).

    If the environment variable AGENTLAB_ANSWERS is set, its answers are given instead, and the last
    one again and again. They are separated by newlines or commas, or are a JSON list.
    """
    if written := os.environ.get(ANSWERS):
        return scripted(*_split(written), repeat=True)
    from agentlab.views.watching import in_kernel

    if in_kernel():
        from agentlab.views import approval

        return approval.asker()
    if sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        from agentlab.permissions.terminal import Terminal

        return Terminal()
    return None


# ------------------------------------------------------------------------ answers written down


@dataclass
class Scripted:
    """An asker that gives prepared answers; ``questions`` are those that it was asked."""

    answers: list[Answer]
    repeat: bool = False
    questions: list[Question] = field(default_factory=list)

    async def __call__(self, question: Question) -> Answer:
        number = len(self.questions)
        self.questions.append(question)
        if number < len(self.answers):
            return self.answers[number]
        if self.repeat and self.answers:
            return self.answers[-1]
        given = len(self.answers)
        return Answer("deny", f"no answer was left ({given} written down, question {number + 1})")


def scripted(*answers: str | Answer, repeat: bool = False) -> Scripted:
    """An asker with prepared answers; when they run out, it denies (``repeat``: the last again).

    An answer is ``approve``, ``deny``, ``deny: a note``, ``edit: {"command": "ls"}``, ``session``,
    ``always``, or an `Answer`. Raises ValueError for any other.
    """
    return Scripted([a if isinstance(a, Answer) else answer(a) for a in answers], repeat)


def answer(text: str) -> Answer:
    """The answer that a text means. Raises ValueError, which says what there is."""
    what, colon, rest = text.strip().partition(":")
    rest = rest.strip()
    match what.strip().lower():
        case "approve" if not colon:
            return Answer("allow")
        case "session" if not colon:
            return Answer("allow", remember="session")
        case "always" if not colon:
            return Answer("allow", remember="always")
        case "deny":
            return Answer("deny", rest)
        case "edit":
            return Answer("allow", input=edited(rest))
    raise ValueError(
        f"{text!r} is no answer. There are: approve, deny, deny: NOTE, edit: JSON, session, always"
    )


def edited(text: str) -> dict[str, Any]:
    """The input that a user wrote. Raises ValueError if it is no JSON object."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"this is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError('the input has to be a JSON object, such as {"command": "ls"}')
    return value


def _split(text: str) -> list[str]:
    if text.lstrip().startswith("["):
        return [str(item) for item in json.loads(text)]
    return [part for part in re.split(r"\n" if "\n" in text else ",", text) if part.strip()]


# ------------------------------------------------------------------------ how a question looks


def headline(question: Question) -> str:
    """Who wants what: ``The agent wants to use Bash``."""
    who = "The agent" if question.agent == "main" else f"The agent {question.agent!r}"
    return f"{who} wants to use {question.tool}"


def why(question: Question) -> str:
    """Why the user is asked, in words."""
    by = {"classifier": "the classifier is unsure", "hook": "a hook asks", "rule": "a rule asks"}
    reason = REASONS.get(question.reason)
    if reason:
        return reason
    said = by.get(question.layer, "")
    return f"{said}: {question.reason}" if said and question.reason else question.reason or said


def whole(text: str) -> str:
    """A text in which nothing is out of sight; a very long one is cut in the middle and says so."""
    text = visible(text)
    if len(text) <= LONGEST:
        return text
    half, left = LONGEST // 2, len(text) - LONGEST
    return f"{text[:half]}\n[{left} CHARACTERS ARE NOT SHOWN]\n{text[-half:]}"


def outcome(answered: Answer) -> str:
    """What was decided, in a few words: ``approved for this session``."""
    if answered.behaviour == "deny":
        return f"denied: {answered.note}" if answered.note else "denied"
    if answered.input is not None:
        return "approved with changes"
    ends = {"once": "", "session": " for this session", "always": " always"}
    return f"approved{ends[answered.remember]}"
