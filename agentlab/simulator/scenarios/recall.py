"""Asked what it still knows: the model can only quote what stands in the request."""

from __future__ import annotations

import re
from typing import Any

from agentlab.simulator.scenario import Chat, Turns, scenario

_CUE = re.compile(r"^From what you can still see here: .*?`([^`]+)`")


@scenario(
    "recall",
    chapter=10,
    opens=_CUE.pattern,
    example="From what you can still see here: what do you know about `API_PORT`? Quote it.",
)
def recall(chat: Chat) -> Turns:
    """Quotes the last line of the conversation that speaks of a word, if there is one."""
    found = _CUE.search(chat.task)
    cue = found[1] if found else ""
    lines = [line for line in _lines(chat.request.get("messages")) if cue and cue in line]
    quoted = lines[-1].strip()[:500] if lines else ""
    yield chat.say(quoted or f"Nothing that I can see speaks of {cue or 'that'}.")


def _lines(part: Any) -> list[str]:
    """Every line of text in the messages, in order, without the questions of this kind."""
    if isinstance(part, str):
        return [] if _CUE.search(part) else part.splitlines()
    if isinstance(part, dict):
        part = [value for key, value in part.items() if key in ("content", "text", "input")] or [
            value for value in part.values() if isinstance(value, str)
        ]
    return [line for each in part or () for line in _lines(each)] if isinstance(part, list) else []
