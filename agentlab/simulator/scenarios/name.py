"""Knowing a name only while it stands in the request: statelessness, shown."""

from __future__ import annotations

import re

from agentlab.simulator.scenario import Chat, Turns, scenario

_TOLD = re.compile(r"\b(?:my name is|mi chiamo|il mio nome è)\s+([^\W\d_][\w'-]*)", re.IGNORECASE)
_ASKED = r"\bwhat(?: is|'s) my name\b|\bcome mi chiamo\b|\bqual è il mio nome\b"


def _name(chat: Chat) -> str:
    """The last name that the user has told within this request, or nothing."""
    told = ""
    for message in chat.request["messages"]:
        if message["role"] == "user":
            content = message["content"]
            texts = [content] if isinstance(content, str) else [b.get("text", "") for b in content]
            told = next((m[1] for m in map(_TOLD.search, texts) if m), told)
    return told


@scenario(
    "name",
    chapter=1,
    opens=rf"{_TOLD.pattern}|{_ASKED}|\bnice to be here\b",
    example="My name is Ada.",
)
def name(chat: Chat) -> Turns:
    """Remembers a name as long as it stands in the request, and not a moment longer."""
    known = chat.decide(_name(chat)) and _name(chat)
    if re.search(_ASKED, chat.task, re.IGNORECASE):
        yield chat.say(
            chat.pick(f"Your name is {known}.", f"Ti chiami {known}.")
            if known
            else chat.pick(
                "I don't know your name: nothing in this request tells it.",
                "Non so come ti chiami: in questa richiesta non c'è scritto.",
            )
        )
    elif _TOLD.search(chat.task):
        yield chat.say(chat.pick(f"Nice to meet you, {known}!", f"Piacere, {known}!"))
    else:
        yield chat.say(chat.pick("Nice to have you here.", "Che bello averti qui."))
