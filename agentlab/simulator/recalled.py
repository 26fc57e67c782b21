"""What a note such as "[notes.md is unchanged since you read it ...]" stands for: the earlier text.

A harness with a file cache does not send a file twice; it says that the text stands further up. A
model then looks there. So does this one: before a scenario sees the results, a note is replaced by
what the same call gave before. If that is no longer in the request, the result counts as cleared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

Block = dict[str, Any]
NOTE = re.compile(r"\s*\[?[^\n]{1,400} is unchanged since you read [^\n]{1,400}\]?\s*")
GONE = "[the text was cleared]"


class Recalled:
    """The results of one request so far, by what was asked."""

    def __init__(self) -> None:
        self._asked: dict[str, str] = {}  # id of a call -> what it asks for
        self._given: dict[str, Any] = {}  # what was asked -> content of the last result

    def calls(self, blocks: Iterable[Block]) -> None:
        """Hear what the assistant asked for."""
        for block in blocks:
            if block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
                wanted = {k: v for k, v in block["input"].items() if k != "again"}
                asked = f"{block.get('name')} {sorted(wanted.items(), key=str)}"
                self._asked[str(block.get("id"))] = asked

    def results(self, blocks: Iterable[Block]) -> list[Block]:
        """The same blocks, with the earlier text for each note."""
        return [self._result(b) if b.get("type") == "tool_result" else b for b in blocks]

    def _result(self, block: Block) -> Block:
        asked = self._asked.get(str(block.get("tool_use_id")), "")
        content = block.get("content")
        text = content
        if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
            text = content[0].get("text")
        if isinstance(text, str) and len(text) < 1_000 and NOTE.fullmatch(text):
            return {**block, "content": self._given.get(asked, GONE)}
        self._given[asked] = content
        return block
