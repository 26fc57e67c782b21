"""Side calls in the simulator: roles, each a small scenario that works on the text it is given.

A harness asks a small model one question beside the conversation: may this command run? Such a
request is no conversation and opens no scenario. It is known by the first line of its only
message, and the role that has this line answers it, whatever scenario is played otherwise (also
one that ``connect(scenario=...)`` forces). A role sees what every scenario sees, the request and
nothing else. The roles themselves stand in ``roles_*.py`` beside this file.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from agentlab.simulator.conversation import Conversation, Place
from agentlab.simulator.scenario import Function, Scenario

_ROLES: dict[str, Scenario] = {}  # by the first line, in small letters
_SHIPPED = {  # loaded when needed
    "decide whether this tool call may run.": "roles_classifier",
    "judge this event of an agent's run.": "roles_hook",
    "summarise this part of an agent's conversation.": "roles_summary",
}


def role(name: str, first_line: str) -> Callable[[Function], Function]:
    """Register a generator function as the role that answers prompts with that first line."""

    def register(function: Function) -> Function:
        _ROLES[first_line.strip().lower()] = Scenario(name, function)
        return function

    return register


def play_of(talk: Conversation) -> Place | None:
    """The place of the role that a request asks for; None if it is an ordinary one."""
    texts = talk.rounds[0].notes if len(talk.rounds) == 1 else []
    if len(texts) != 1:
        return None
    line = texts[0].partition("\n")[0].strip().lower()
    if line in _SHIPPED and line not in _ROLES:
        importlib.import_module(f"{__package__}.{_SHIPPED[line]}")
    found = _ROLES.get(line)
    return Place(found, texts[0], forced=True) if found else None
