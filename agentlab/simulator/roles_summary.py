"""The role "summary": what the simulated small model writes of a conversation.

The prompt holds the messages as text. They are taken apart again, and
`agentlab.simulator.summarising` picks from them what fits into the characters that it is given; so
a small limit really loses facts, and a summary of a summary loses more. At the end stands the line
that a scenario goes on from: where it stood is found by the ids of its calls, which the text holds.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from agentlab.simulator.playback import standing
from agentlab.simulator.roles import role
from agentlab.simulator.scenario import Chat, ScenarioError, Turns
from agentlab.simulator.summarising import summarise

Message = dict[str, Any]
CHARS = 6_000  # where the prompt names no limit; the most that this model writes anyway
_LIMIT = re.compile(r"\bat most (\d+) characters")
_ABOVE_ALL = re.compile(r"^Above all: (.*)$", re.MULTILINE)
_DATA = re.compile(r"^<conversation-(\w+)>\n(.*)\n</conversation-\1>", re.DOTALL | re.MULTILINE)
_SPEAKER = re.compile(r"^(user|assistant): ", re.MULTILINE)
_SUMMARY = "[Summary so far]\n"


@role("summary", "Summarise this part of an agent's conversation.")
def summary(chat: Chat) -> Turns:
    """Picks the goals, constraints, decisions, facts, files, errors and the next step."""
    content = chat.request["messages"][0]["content"]
    prompt = content if isinstance(content, str) else "\n".join(b.get("text", "") for b in content)
    messages = read(prompt)
    line = _standing(messages)
    asked = _LIMIT.search(prompt)
    room = min(int(asked[1]) if asked else CHARS, CHARS) - len(line) - 1
    told = _ABOVE_ALL.search(prompt)
    text = summarise(messages, limit_chars=room, instructions=told[1] if told else "")
    yield chat.say(f"{text}\n{line}".strip())


def read(prompt: str) -> list[Message]:
    """The messages that a prompt holds.

    Also those of a prompt in other words, if they stand there as ``user: ...`` and
    ``assistant: ...``; a text without any of that is the user's.
    """
    found = _DATA.search(prompt)
    messages: list[Message] = []
    for role_name, block in _blocks(found[1], found[2]) if found else _told(prompt):
        if messages and messages[-1]["role"] == role_name:
            messages[-1]["content"].append(block)
        else:
            messages.append({"role": role_name, "content": [block]})
    return messages


def _blocks(mark: str, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    parts = re.split(rf"^#{mark} (.*)\n", text, flags=re.MULTILINE)
    for head, body in zip(parts[1::2], parts[2::2], strict=True):
        kind, _, rest = head.removeprefix("failed ").partition(" ")
        body = body.removesuffix("\n")
        if kind == "call":
            id, _, name = rest.partition(" ")
            yield "assistant", {"type": "tool_use", "id": id, "name": name, "input": _input(body)}
        elif kind == "result":
            failed = head.startswith("failed ")
            result = {"type": "tool_result", "tool_use_id": rest, "content": body}
            yield "user", {**result, "is_error": failed}
        elif kind == "summary":
            yield "user", {"type": "text", "text": _SUMMARY + body}
        else:
            yield kind, {"type": "text", "text": body}


def _told(prompt: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Messages written plainly: a role, a colon, and a text or what Python prints of blocks."""
    before, *parts = _SPEAKER.split(prompt)
    for speaker, body in zip(parts[::2], parts[1::2], strict=True):
        try:
            value = ast.literal_eval(body.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = body.strip()
        blocks = value if isinstance(value, list) else [value]
        if not all(isinstance(block, dict) and "type" in block for block in blocks):
            blocks = [{"type": "text", "text": body.strip()}]
        for block in blocks:
            yield speaker, block
    if not parts:
        yield "user", {"type": "text", "text": before.partition("\n")[2]}


def _input(body: str) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:  # a call that was cut between two portions
        return {}
    return value if isinstance(value, dict) else {}


def _standing(messages: list[Message]) -> str:
    """The line that a scenario goes on from; none where its own is not known here."""
    try:
        return standing(messages)
    except ScenarioError:
        return ""
