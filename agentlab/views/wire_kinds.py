"""What a block in the window is: the user's words, a result, or what a harness put in its place.

A harness that makes room leaves marks: a summary and the pinned constraints stand under a line in
square brackets, a large result became a preview that says where the whole is, an old one was
cleared. The views show these in colours of their own. Here it is also worded, in one line each,
what a block is and what the API says that it did to a prompt.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentlab.compaction.api import CLEARED_BY_API
from agentlab.compaction.facts import facts_in
from agentlab.compaction.kept import DROPPED, MEMORY, PINNED, SUMMARY, UNPINNED
from agentlab.compaction.levels import CLEARED
from agentlab.events import Event
from agentlab.messages import Message
from agentlab.previews import NOTE
from agentlab.tokens import CHARS_PER_TOKEN
from agentlab.views.blocks import mapping, number, text_of
from agentlab.views.requests import Compaction, Survived
from agentlab.views.wording import one_line, plural, tokens

MOST_FACTS = 400  # that are looked for in a compaction
GIST = 72  # characters
_BLOCKS = {
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "tool_call",
    "server_tool_use": "tool_call",
    "compaction": "summary",
}
_MARKS = {
    SUMMARY: "summary", DROPPED: "summary", PINNED: "pinned", UNPINNED: "pinned", MEMORY: "pinned",
}  # fmt: skip


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
    return "preview" if NOTE.search(content) else "tool_result"


def gist_of(kind: str, content: Any, label: str = "") -> str:
    """What a block is, in one line. ``label`` is the call that it makes or answers."""
    block = mapping(content)
    if kind == "tools":
        words = ": ".join(str(block[key]) for key in ("name", "description") if block.get(key))
    elif kind == "earlier":
        words = plural(int(number(content)), "message")
    elif kind in ("tool_call", "cleared"):
        words = label
    elif kind in ("tool_result", "preview"):
        words = " → ".join(filter(None, [label, text_of(block.get("content"))]))
    elif kind == "thinking":
        words = str(block.get("thinking") or "(not shown)")
    else:
        words = text_of([block] if block else content)
        words = words.partition("\n")[2] if words.startswith(tuple(_MARKS)) else words
        words = str(block["content"]) if api_summary(block) else words
    return one_line(words, GIST)


def whole_of(preview: dict[str, Any]) -> float:
    """About how many tokens the whole result has that a preview stands for."""
    found = NOTE.search(text_of(preview.get("content")))
    return int(found[1].replace(",", "") or 0) / CHARS_PER_TOKEN if found else 0.0


def api_summary(block: Any) -> bool:
    """Whether a block is the API's own summary. One without words is nothing to the server."""
    content = mapping(block).get("content")
    return mapping(block).get("type") == "compaction" and isinstance(content, str) and content != ""


def edits_of(edits: Any) -> tuple[str, float]:
    """What the API did to a prompt by its ``applied_edits``, in words, and the tokens it cleared.

    Names: the vendor's page on context editing (2026-11). Another edit is called by its type.
    """
    words, total = [], 0.0
    for edit in map(mapping, edits if isinstance(edits, (list, tuple)) else ()):
        results, turns = (
            int(number(edit.get(key))) for key in ("cleared_tool_uses", "cleared_thinking_turns")
        )
        what = plural(results, "result") if results else ""
        what = f"the thinking of {plural(turns, 'turn')}" if turns else what
        count = number(edit.get("cleared_input_tokens"))
        size = f" ({tokens(count)} tokens)" if count else ""
        words.append((what or one_line(edit.get("type") or "something", 40)) + size)
        total += count
    return f"the API cleared {' and '.join(words)}" if words else "", total


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
        count, str(data.get("summary") or ""), facts[:MOST_FACTS],
    )  # fmt: skip
