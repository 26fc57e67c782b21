"""Large results: kept on disk, with a preview in their place.

A page of 100 kB that a tool brought goes over the wire with every request from then on, though the
model needs three lines of it. So a result over a bound is written to a file of the workspace, and
what the model gets is its beginning, its end, and where the rest can be read: with ``Read`` and an
offset, or with ``Grep``.

This is decided once, when the result arrives, and never revised: to shorten a result later is to
change a message that was sent, and everything behind it has to be paid for again. The decisions
are a `ReplacementState`. A child agent that is given its parent's history is given them too; so it
sends the same bytes, and its requests find the parent's in the cache.

Each result is judged alone, so it does not matter in which order those of one turn arrive. If all
of them together are too much, a compaction has to make room. Only blocks of text are replaced;
images, documents and search results stay.

The files are in ``.agentlab/results`` of the workspace. Nothing there is overwritten, and nothing
is deleted by itself, because a conversation that sleeps in a transcript may point to it:
`remove_kept` deletes what no history needs any more. Built in chapter 11.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from agentlab.messages import Block, Message, calls_of
from agentlab.result_files import KEPT_BYTES, ResultFiles, storable
from agentlab.tools import MAX_RESULT_CHARS, Tool, ToolError, bound

LIMIT_CHARS = 8_000  # a choice (2026-11-30): some 2,500 tokens, which most results stay below
PREVIEW_CHARS = 2_000  # of which three quarters are its beginning
LEAST_LIMIT = 1_000  # below that a preview would be as long as what it stands for
NOTE = re.compile(  # by which a view knows a preview; the group is the size of the whole
    r"^\[\.\.\. [\d,]+ of ([\d,]+) characters left out, .*The whole result is in ", re.MULTILINE
)


@dataclass(frozen=True)
class Decision:
    """What was decided about one result. ``text`` takes its place; None: it stays as it is.

    ``path`` is where all of it is kept, as Read takes it (empty if it is not); ``chars`` and
    ``lines`` are its size.
    """

    text: str | None = None
    path: str = ""
    chars: int = 0
    lines: int = 0


AS_IT_IS = Decision()


class ReplacementState(Mapping[str, Decision]):
    """The decision about each result so far, by the id of its call. It never changes."""

    def __init__(self, decisions: Mapping[str, Decision] | None = None) -> None:
        self._decisions = dict(decisions or {})

    def __getitem__(self, tool_use_id: str) -> Decision:
        return self._decisions[tool_use_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._decisions)

    def __len__(self) -> int:
        return len(self._decisions)

    def __repr__(self) -> str:
        replaced = sum(decision.text is not None for decision in self.values())
        return f"ReplacementState({len(self)} results, {replaced} replaced)"


class Previews:
    """Replaces the large results of one conversation.

    ``workspace`` is the folder in which results are kept, the one that ``Read`` is confined to;
    ``limit`` is how many characters a result may have and stay whole, at least 1,000; ``state``
    holds what was decided before. Raises ValueError for any other limit, and NotADirectoryError
    if the folder is not there.
    """

    def __init__(
        self,
        workspace: str | os.PathLike[str],
        *,
        limit: int = LIMIT_CHARS,
        state: ReplacementState | None = None,
    ) -> None:
        if not isinstance(limit, int) or limit < LEAST_LIMIT:
            wants = f"a whole number of at least {LEAST_LIMIT} characters"
            raise ValueError(f"limit must be {wants}, not {limit!r}")
        self.limit = limit
        self._decisions = dict(state or {})  # only ever added to
        self._files = ResultFiles(workspace)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Previews(over {self.limit:,} characters, {self.state})"

    @property
    def state(self) -> ReplacementState:
        """What is decided by now."""
        with self._lock:
            return ReplacementState(self._decisions)

    def clone(self) -> Previews:
        """For a child: the same decisions so far, and from now on its own."""
        return Previews(self._files.workspace, limit=self.limit, state=self.state)

    def room(self, tool: Tool) -> int:
        """How many characters a result of that tool may have when it comes here.

        The tool's own bound would cut what is to be kept, so it holds only for what is not.
        """
        return KEPT_BYTES if replaceable(tool) else tool.max_result_chars

    def replace(self, tool_use_id: str, block: Block, tool: Tool | None = None) -> Block:
        """A result as the model gets it: as it is, or with a preview for its text.

        This is where it is decided, if it was not yet. ``tool`` is the one that was called: its
        ``max_result_chars`` is a limit too, and it may want its results left alone.
        """
        limit, most = self.limit, MAX_RESULT_CHARS
        if tool is not None:
            limit, most = min(limit, tool.max_result_chars), tool.max_result_chars
        with self._lock:
            if tool_use_id not in self._decisions:
                whole = (tool is not None and not replaceable(tool)) or len(text_in(block)) <= limit
                made = AS_IT_IS if whole else self._kept(tool_use_id, block, limit, most)
                self._decisions[tool_use_id] = made
            return applied(block, self._decisions[tool_use_id])

    def decide_all(
        self, messages: Iterable[Message], limit: int, alone: Container[str] = ()
    ) -> None:
        """Decide about every result of a history: those over ``limit`` characters are kept.

        ``alone`` holds the ids of calls whose results stay as they are.
        """
        with self._lock:
            for result in results_in(messages):
                id = result["tool_use_id"]
                if id not in self._decisions:
                    large = len(text_in(result)) > limit and id not in alone
                    made = self._kept(id, result, limit, limit) if large else AS_IT_IS
                    self._decisions[id] = made

    def _kept(self, tool_use_id: str, block: Block, limit: int, most: int) -> Decision:
        """Keep a result on disk. If that fails it is cut to ``most`` characters, and says so."""
        text = storable(text_in(block))
        size = len(text), text.count("\n") + (not text.endswith("\n"))
        try:
            path = self._files.keep(tool_use_id, text)
        except (OSError, ToolError) as error:
            why = str(getattr(error, "strerror", None) or error).rstrip(".")
            note = f"[It could not be kept on disk ({why}): what is not shown here is lost.]"
            return Decision(f"{bound(text, most)}\n{note}", "", *size)
        return Decision(preview(text, path, limit), path, *size)


def replaceable(tool: Tool) -> bool:
    """Whether a preview may stand for a result of that tool."""
    return tool.preview and tool.max_result_chars >= LEAST_LIMIT


# ------------------------------------------------------------------------------- the preview


def preview(text: str, path: str, limit: int = LIMIT_CHARS) -> str:
    """The beginning and the end of a text, and between them where all of it can be read.

    Both are cut at a line if one ends near. Lines and columns are counted as Read counts them.
    A text of at most ``limit`` characters needs none and is returned as it is.
    """
    if len(text) <= limit:
        return text
    room = min(PREVIEW_CHARS, limit // 2)
    head = text[: _head_end(text, room * 3 // 4)]
    tail = text[_tail_start(text, len(text) - room // 4) :]
    first, column = head.count("\n") + 1, len(head) - head.rfind("\n")
    column -= first == 1 and text.startswith("\ufeff")  # Read takes it for a mark, not a character
    last = text.count("\n", 0, len(text) - len(tail) - 1) + 1
    lines = text.count("\n") + (not text.endswith("\n"))
    left_out = f"lines {first:,} to {last:,}" if last > first else f"a part of line {first:,}"
    where = f"offset={first}" + (f", column={column}" if column > 1 else "")
    note = (
        f"[... {len(text) - len(head) - len(tail):,} of {len(text):,} characters left out, "
        f"{left_out} of {lines:,}. The whole result is in {path}. To go on from here Read that "
        f"file with {where}; for another place Grep it, then Read it with offset and limit. ...]"
    )
    return f"{head}{'' if head.endswith(chr(10)) else chr(10)}{note}\n{tail}"


def _head_end(text: str, most: int) -> int:
    end = text.rfind("\n", most // 2, most) + 1 or most
    return end - 1 if text[end - 1 : end + 1] == "\r\n" else end


def _tail_start(text: str, least: int) -> int:
    start = text.find("\n", least, (least + len(text)) // 2) + 1 or least
    return start + 1 if text[start - 1 : start + 1] == "\r\n" else start


# ------------------------------------------------------------------------------- histories


def rebuild(messages: Iterable[Message], state: ReplacementState) -> list[Message]:
    """A history with every decision applied. A message that stays as it is stays the same dict."""
    return [_rebuilt(message, state) for message in messages]


def shrink(
    messages: Iterable[Message],
    previews: Previews,
    limit: int | None = None,
    tools: Iterable[Tool] = (),
) -> list[Message]:
    """A history that was loaded and in which a result is too large, as a new one that can be sent.

    Results of more than ``limit`` characters (at least the limit of ``previews``, which is also
    what holds if it is left out) are kept on disk now, and the calls keep their results; those of
    ``tools`` that want no previews stay. Behind the first change there is no thinking any more,
    because it is bound to what stood before it. If nothing is too large nothing changes.
    """
    before = list(messages)
    left_alone = {tool.name for tool in tools if not replaceable(tool)}
    calls = (call for message in before for call in calls_of(message))
    alone = {call["id"] for call in calls if call["name"] in left_alone}
    previews.decide_all(before, max(previews.limit, limit or 0), alone)
    after = rebuild(before, previews.state)
    first = next((i for i, message in enumerate(after) if message is not before[i]), len(after))
    behind = (_without_thinking(message) for message in after[first:])
    return after[:first] + [message for message in behind if message["content"]]


def remove_kept(workspace: str | os.PathLike[str], *histories: list[Message]) -> int:
    """Delete the kept results of a workspace, but those that a history names; returns how many.

    ``histories`` are those of all conversations that go on, or may be resumed: what a preview
    points to must stay. Call it while no agent is at work in the folder. Raises
    NotADirectoryError if the workspace is not there, and ToolError for what cannot be deleted.
    """
    return ResultFiles(workspace).remove_unless_named(json.dumps(histories))


def results_in(messages: Iterable[Message]) -> Iterator[Block]:
    """Every tool result of a history, in order."""
    for message in messages:
        if message["role"] == "user" and isinstance(message["content"], list):
            yield from (block for block in message["content"] if block["type"] == "tool_result")


def text_in(block: Block) -> str:
    """All text of a result; several blocks of it on lines of their own."""
    content = block.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(inner["text"] for inner in content if inner["type"] == "text")


def applied(block: Block, decision: Decision) -> Block:
    """A result block as it was decided: its text replaced, everything else as it is."""
    content = block.get("content")
    if decision.text is None or content == decision.text:
        return block
    if not isinstance(content, list):
        return {**block, "content": decision.text}
    texts = [index for index, inner in enumerate(content) if inner["type"] == "text"]
    shown = {"type": "text", "text": decision.text}
    if not texts or [content[index] for index in texts] == [shown]:
        return block
    inner = [shown if i == texts[0] else b for i, b in enumerate(content) if i not in texts[1:]]
    return {**block, "content": inner}


def _rebuilt(message: Message, state: ReplacementState) -> Message:
    content = message["content"]
    if message["role"] != "user" or not isinstance(content, list):
        return message
    blocks = [
        applied(b, state.get(b["tool_use_id"], AS_IT_IS)) if b["type"] == "tool_result" else b
        for b in content
    ]
    changed = any(new is not old for new, old in zip(blocks, content, strict=True))
    return {**message, "content": blocks} if changed else message


def _without_thinking(message: Message) -> Message:
    content = message["content"]
    if message["role"] != "assistant" or isinstance(content, str):
        return message
    kept = [b for b in content if b["type"] not in ("thinking", "redacted_thinking")]
    return message if len(kept) == len(content) else {**message, "content": kept}
