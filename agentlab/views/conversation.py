"""What one agent has sent and will send, put together again from its events.

The events do not hold requests: a request repeats everything before it, so storing each would
square the size of a transcript. They hold what was *added*, and that is enough, because a history
only grows; where a compaction puts a shorter one in its place, its event holds that one.
`Conversation` adds in the order of the loop, and mends with the very function the loop mends with
(`messages.normalise`), so what it rebuilds is what was sent.

Not everything is in the events: settings such as ``max_tokens``, and what was said before the first
of them. How many messages a request had is, so `send` says how many are missing.
"""

from __future__ import annotations

from typing import Any

from agentlab.messages import INTERRUPTED, History, Message, normalise, tool_result
from agentlab.views.blocks import blocks_of, mapping

_NEEDS: dict[str, dict[str, Any]] = {  # keys that a block has to have, and what stands for them
    "text": {"text": ""},
    "tool_use": {"id": "", "name": "", "input": {}},
    "tool_result": {"tool_use_id": ""},
}


class Conversation:
    """The prompt and the history of one agent, growing as its events are added."""

    def __init__(self) -> None:
        self.system: Any = ""
        self.tools: list[Any] = []
        self.history = History()
        self._since = 0  # messages that were there when the session started
        self._waiting: dict[str, tuple[Message, int]] = {}  # call -> the place of its result

    def start(self, system: Any, tools: Any, history: Any) -> bool:
        """A session starts. True if what was sent before counts no more, as the prompt changed."""
        tools = tools if isinstance(tools, list) else []
        changed = (self.system, self.tools) != (system, tools) and bool(self.history)
        self.system, self.tools = system, tools
        if isinstance(history, list) and history:
            self.history = History(filter(None, map(sound, history)))
            changed = True
        elif changed:  # a resumed agent with another prompt leaves out what is bound to the old one
            self.history = History(map(_without_thinking, self.history))
        self._since = len(self.history)
        self._waiting.clear()
        return changed

    def add(self, message: Any) -> None:
        """A message of the user, or a reply that was kept; its calls count as interrupted."""
        message = sound(message)
        if message is None:
            return
        self.history.append(message)
        calls = [block for block in message["content"] if block["type"] == "tool_use"]
        if calls and message["role"] == "assistant":
            results = [tool_result(call["id"], INTERRUPTED, True) for call in calls]
            self.history.append({"role": "user", "content": results})
            self._waiting = {c["id"]: (self.history[-1], i) for i, c in enumerate(calls)}

    def result(self, tool_use_id: Any, content: Any, is_error: bool) -> None:
        """A call has ended."""
        place = self._waiting.pop(str(tool_use_id), None)
        if place is not None:
            message, index = place
            message["content"][index] = tool_result(str(tool_use_id), content, is_error)

    def take_over(self, messages: Any) -> bool:
        """Go on with a shorter history, which a compaction made. False if it is not told."""
        if not isinstance(messages, list):
            return False
        self.history.take_over(filter(None, map(sound, messages)))
        self._since = 0
        self._waiting.clear()
        return True

    def send(self, told: int) -> tuple[list[Message], int, bool]:
        """The next request is sent, with ``told`` messages.

        Returns the messages that are new in it, how many there were that no event tells of, and
        whether all before them turned out to be another conversation.
        """
        self._waiting.clear()
        fresh = self.history[self._since :]
        other = 0 < told < len(self.history) and told == len(fresh) and self.history.sent > 0
        if other:
            self.history, self._since = History(fresh), 0
        sent, as_it_is = self.history.sent, self.history[self.history.sent :]
        normalise(self.history)
        if told == sent + len(as_it_is) != len(self.history):  # this harness does not mend
            self.history[sent:] = as_it_is
        return self.history[self.history.sent :], max(0, told - len(self.history)), other

    def answered(self) -> None:
        """The server has seen it; from here on it is not changed again."""
        self.history.mark_sent()


def sound(message: Any) -> Message | None:
    """A copy of a message in which each block has the keys that it needs; None if it is none."""
    role = mapping(message).get("role")
    if role not in ("user", "assistant"):
        return None
    blocks = []
    for block in blocks_of(message):
        kind = block.get("type")
        if isinstance(kind, str):
            needs = _NEEDS.get(kind, {})
            lacks = {k: v for k, v in needs.items() if not isinstance(block.get(k), type(v))}
            blocks.append({**block, **lacks})
    return {"role": role, "content": blocks}


def _without_thinking(message: Message) -> Message:
    signed = ("thinking", "redacted_thinking")
    return {**message, "content": [b for b in message["content"] if b["type"] not in signed]}
