"""What a block in the window is: the user's words, a result, or what a harness put in its place.

A harness that makes room leaves marks: a summary and the pinned constraints stand under a line in
square brackets, a large result became a preview that says where the whole is, an old one was
cleared. The views show these in colours of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from agentlab.compaction.api import CLEARED_BY_API
from agentlab.compaction.facts import facts_in
from agentlab.compaction.kept import DROPPED, MEMORY, PINNED, SUMMARY
from agentlab.compaction.levels import CLEARED
from agentlab.events import Event
from agentlab.messages import Message
from agentlab.views.blocks import number, text_of
from agentlab.views.requests import Compaction, Survived
from agentlab.views.wording import one_line

MOST_FACTS = 400  # that are looked for in a compaction
_BLOCKS = {
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "tool_call",
    "server_tool_use": "tool_call",
    "compaction": "summary",
}
_MARKS = {SUMMARY: "summary", DROPPED: "summary", PINNED: "pinned", MEMORY: "pinned"}
_PREVIEW = re.compile(
    r"^\[\.\.\. \d+ of \d+ characters left out, .*The whole result is in ", re.MULTILINE
)


def kind_of(role: str, block: dict[str, Any], summaries: Iterable[str] = ()) -> str:
    """The kind of a block, one of `requests.KINDS`. ``summaries``: texts known to be one."""
    if block["type"].endswith("tool_result"):
        return _result(text_of(block.get("content")))
    if role == "user" and block["type"] == "text":
        if block["text"] in summaries:
            return "summary"
        return next(
            (kind for mark, kind in _MARKS.items() if block["text"].startswith(mark)), "user"
        )
    return _BLOCKS.get(block["type"]) or ("text" if role == "assistant" else "user")


def _result(content: str) -> str:
    if content in (CLEARED, CLEARED_BY_API):
        return "cleared"
    return "preview" if _PREVIEW.search(content) else "tool_result"


def compaction_of(
    event: Event, who: str, before: list[Message], after: list[Message]
) -> Compaction:
    """What an event tells of a compaction, and which facts of the old messages are in the new.

    Its numbers in the wire are still 0.
    """
    data = event.data
    facts = tuple(Survived(f.kind, one_line(f.text, 100), f.kept) for f in facts_in(before, after))
    dropped = data.get("dropped")
    count = len(dropped) if isinstance(dropped, (list, tuple)) else int(number(dropped))
    level, reason = (one_line(data.get(key) or "", 20) for key in ("level", "reason"))
    return Compaction(
        0, who, level, reason, number(data.get("before_tokens")), number(data.get("after_tokens")),
        count, str(data.get("summary") or ""), _kinds(before) - _kinds(after), facts[:MOST_FACTS],
        0, 0,
    )  # fmt: skip


def _kinds(messages: list[Message]) -> Counter[str]:
    return Counter(kind_of(m["role"], block) for m in messages for block in m["content"])
