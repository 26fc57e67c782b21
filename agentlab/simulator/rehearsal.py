"""Trying a scenario out without a server: `rehearse` plays it against plain Python functions.

    talk = rehearse("Read a.txt", {"Read": lambda file_path: "three small words"})
    print(talk.text)

For tests of scenarios, and for writing one. Nothing is validated and nothing streams; what the
harness does in between is the plainest loop there is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agentlab.models import default_model
from agentlab.simulator.playback import Played, play
from agentlab.simulator.prefix import chain

Tools = dict[str, Callable[..., str]]


@dataclass
class Rehearsal:
    """A conversation that was played: its messages, and the replies that were in it."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    played: list[Played] = field(default_factory=list)

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """Every tool call, in order: name and input."""
        blocks = [b for p in self.played for b in p.content if b["type"] == "tool_use"]
        return [(b["name"], b["input"]) for b in blocks]

    @property
    def text(self) -> str:
        """The text of the last reply."""
        return "".join(b["text"] for b in self.played[-1].content if b["type"] == "text")


def definitions(tools: Tools) -> list[dict[str, Any]]:
    """The tools as they go over the wire, every parameter without a default required."""
    made = []
    for name, function in tools.items():
        parameters = inspect.signature(function).parameters.values()
        made.append(
            {
                "name": name,
                "input_schema": {
                    "type": "object",
                    "properties": {p.name: {"type": "string"} for p in parameters},
                    "required": [p.name for p in parameters if p.default is p.empty],
                },
            }
        )
    return made


def rehearse(
    task: str | None,
    tools: Tools | None = None,
    *,
    talk: Rehearsal | None = None,
    scenario: str | None = None,
    turns: int = 30,
    **request: Any,
) -> Rehearsal:
    """Play a task to its end, or for so many turns.

    Args:
        task: the user's text; None goes on with ``talk`` as it is.
        tools: functions by tool name; an exception becomes an error result.
        talk: a conversation to go on with (it is changed).
        scenario: plays this one, whatever the task says.
        turns: stop after so many replies.
        request: further fields of the request, such as ``system``.
    """
    tools, talk = tools or {}, talk or Rehearsal()
    if task is not None:
        talk.messages.append({"role": "user", "content": task})
    for _ in range(turns):
        body = {
            "model": default_model(),
            "max_tokens": 4096,
            "tools": definitions(tools),
            **request,
            "messages": talk.messages,
        }
        played = play(body, chain(body), scenario=scenario)
        talk.played.append(played)
        if played.content:
            talk.messages.append({"role": "assistant", "content": played.content})
        results = [_run(b, tools) for b in played.content if b["type"] == "tool_use"]
        if results:
            talk.messages.append({"role": "user", "content": results})
        elif played.stop_reason != "pause_turn":
            break
    return talk


def _run(call: dict[str, Any], tools: Tools) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": call["id"]}
    try:
        return {**result, "content": tools[call["name"]](**call["input"])}
    except Exception as error:
        return {**result, "content": str(error), "is_error": True}
