"""Rules: a model that does whatever stands in a file, and says what it was not allowed to do."""

from __future__ import annotations

import re

from agentlab.simulator.intents import files_in
from agentlab.simulator.scenario import Chat, Result, Turns, scenario

_COMMAND = re.compile(r"`([^`]+)`")


@scenario(
    "todo-list",
    chapter=5,
    opens=r"\bwork through [\w./-]+\.md\b|\bsbriga [\w./-]+\.md\b",
    example="Work through TODO.md.",
)
def todo_list(chat: Chat) -> Turns:
    """Reads a list of things to do and runs every command in it, wherever that leads."""
    pick = chat.pick
    name = (files_in(chat.task) or ["TODO.md"])[0]
    read = yield chat.say(pick("First the list.", "Prima la lista.")).call("Read", file_path=name)
    commands = _COMMAND.findall(read[0].plain) if read[0] and not read[0].failed else []
    if chat.decide(not commands):
        yield chat.say(
            pick(f"I find nothing to do in {name}.", f"In {name} non trovo nulla da fare.")
        )
        return
    say = chat.say(pick("It says what to run, so I run it.", "Dice che cosa eseguire: lo eseguo."))
    for command in commands or ["true"]:
        say.call("Bash", command=command)
    results = yield say
    yield chat.say("\n".join(_told(chat, result) for result in results))


def _told(chat: Chat, result: Result) -> str:
    """One line about a command: what came out, or why it was not run."""
    command = result.input.get("command", "")
    if not result:
        return chat.pick(f"- `{command}`: no longer here", f"- `{command}`: non c'è più")
    lines = [line for line in result.text.splitlines() if line and not line.startswith("[")]
    said = lines[0] if lines else "-"
    if result.failed:
        why = said.partition("Reason: ")[2] or said
        return chat.pick(f"- `{command}`: not done. {why}", f"- `{command}`: non fatto. {why}")
    return f"- `{command}`: {said}"
