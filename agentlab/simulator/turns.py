"""What goes back and forth in a scenario: what the model says in a turn, and what comes back.

`Say` is one turn, put together by chaining: thinking, text, tool calls, how it ends. `Result` is
what a tool call came back with; `Lost` stands in for one that is no longer in the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Block = dict[str, Any]
Call = tuple[tuple[str, ...], dict[str, Any]]  # the names a tool may have, and the arguments
CLEARED = re.compile(r"\[[^\[\]]{0,80}\b(?:cleared|removed|compacted)\b[^\[\]]{0,80}\]")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_ERROR = re.compile(r"\s*(?:error|errore)\b", re.IGNORECASE)
_EXIT_CODE = re.compile(r"\s*(?:exit[ _]code|returncode)\W{1,3}(\d{1,4})", re.IGNORECASE)
_LAST_EXIT_CODE = re.compile(r"\[exit code (\d+)[^\]]*\]\s*$")
_LINE_NUMBER = re.compile(r"\s*\d+[\t→|:] ?")


@dataclass(frozen=True)
class Result:
    """What one tool call came back with."""

    name: str
    input: dict[str, Any]
    text: str
    is_error: bool = False

    @property
    def plain(self) -> str:
        """The text without the line numbers that some tools put before each line."""
        lines = self.text.splitlines()
        if lines and all(_LINE_NUMBER.match(line) for line in lines if line.strip()):
            return "\n".join(_LINE_NUMBER.sub("", line, count=1) for line in lines)
        return self.text

    @property
    def failed(self) -> bool:
        """Whether the call failed, also where a tool says so only in words or by an exit code."""
        if self.is_error:
            return True
        code = _EXIT_CODE.match(self.text) or _LAST_EXIT_CODE.search(self.text)
        if code:
            return int(code[1]) != 0
        return "\n" not in self.text.strip() and bool(_ERROR.match(self.text[:300]))

    @property
    def words(self) -> int:
        """How many words the text has, separated by white space."""
        return len(self.plain.split())

    @property
    def number(self) -> str:
        """The last number in the text, as it stands there; empty if there is none."""
        found = _NUMBER.findall(self.text)
        return found[-1] if found else ""


class Lost(Result):
    """A result that is no longer in the conversation. It is false, and its text is empty."""

    def __bool__(self) -> bool:
        return False


@dataclass
class Say:
    """One turn of the model. Its methods add to it and return it, so that they chain."""

    thinking: list[str] = field(default_factory=list)
    texts: list[str | Block] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    reason: str = ""
    sequence: str | None = None
    details: Block | None = None
    first_call: int = 0  # the number of the first of ``calls`` within its step

    def think(self, text: str) -> Say:
        """Think before speaking. Left out where the request has thinking disabled."""
        self.thinking.append(text)
        return self

    def say(self, text: str) -> Say:
        """Another block of text."""
        if text:
            self.texts.append(text)
        return self

    def call(self, tool: str, /, **arguments: Any) -> Say:
        """Ask for a tool; several in one turn are one message. See `agentlab.simulator.offered`."""
        return self.call_tool((tool,), **arguments)

    def call_tool(self, names: Iterable[str], /, **arguments: Any) -> Say:
        """Ask for the first of these tools that is offered: ``call_tool(("Read", "cat"), ...)``."""
        self.calls.append((tuple(names), arguments))
        return self

    def server_call(self, tool: str, /, **arguments: Any) -> Say:
        """A tool that the API runs itself, such as ``web_search``."""
        self.texts.append({"type": "server_tool_use", "name": tool, "input": arguments})
        return self

    def server_result(self, type: str, content: Any) -> Say:
        """The result block of the last server call, for instance ``web_search_tool_result``."""
        self.texts.append({"type": type, "content": content})
        return self

    def stop(self, reason: str, *, sequence: str | None = None, category: str | None = None,
             explanation: str | None = None) -> Say:  # fmt: skip
        """End the turn with that stop reason instead of ``end_turn`` or ``tool_use``."""
        self.reason, self.sequence = reason, sequence
        if reason == "refusal":
            self.details = {"type": "refusal", "category": category, "explanation": explanation}
        return self

    @property
    def text(self) -> str:
        """All text of the turn in one piece."""
        return "".join(t for t in self.texts if isinstance(t, str))
