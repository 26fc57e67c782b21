"""The role "hook": what the simulated small model says to a prompt hook.

It looks for what the rule puts in backticks or quotation marks, in the values of the event's input
or prompt, and objects to what it finds. That is all it understands of a rule: a real model reads
the words around it too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from agentlab.simulator.roles import role
from agentlab.simulator.scenario import Chat, Turns


@role("hook", "Judge this event of an agent's run.")
def hook(chat: Chat) -> Turns:
    """Judges one event under one rule: ok or not, with a reason."""
    content = chat.request["messages"][0]["content"]
    prompt = content if isinstance(content, str) else content[0]["text"]
    rule = re.search(r"^Rule: (.*?)\n\n<event>", prompt, re.DOTALL | re.MULTILINE)
    event = json.loads(prompt[prompt.rindex("<event>") + 7 : prompt.rindex("</event>")])
    named = re.findall(r"[`\"“]([^`\"“”\n]+)[`\"”]", rule[1] if rule else "")
    texts = [*_texts(event.get("tool_input")), str(event.get("prompt", ""))]
    found = [name for name in named if any(name in text for text in texts)]
    reason = f"It holds {', '.join(found)}, which the rule names." if found else ""
    yield chat.say(json.dumps({"ok": not found, "reason": reason}))


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)
