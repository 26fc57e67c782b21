"""The window of one agent, block by block: what its next request carries, and what each block cost.

A block that goes out again word for word is the same block, also where a compaction put a shorter
history in the place of the old one. So what it has cost is summed on from the first request that
carried it. A block that takes the place of others (a summary, a cleared result) knows how large
they were.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Any

from agentlab.messages import Message
from agentlab.tokens import OVERHEAD, count_tool
from agentlab.views.blocks import mapping
from agentlab.views.conversation import Conversation
from agentlab.views.requests import (
    PROMPT,
    Block,
    Compaction,
    Gone,
    Part,
    Request,
    charge,
    estimate,
    join,
    parts_of,
    rates_of,
)
from agentlab.views.wire_kinds import api_summary, gist_of, kind_of, whole_of
from agentlab.views.wording import call_label


class Window:
    """What one agent sends: its conversation, the records of it, and its blocks."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.talk = Conversation()
        self.sent: list[int] = []  # records of the messages that were answered
        self.open: Request | None = None
        self.reply: int | None = None  # its record
        self.prompt: tuple[Any, Any, int] = "", [], -1  # system, tools and their record
        self.paid: dict[str, float] = {}  # dollars of all input so far, by kind
        self.compacted = False  # since the last reply
        self.summaries: set[str] = set()  # texts that stand for what was cut away
        self._blocks: list[Block] = []  # of the last request, or what a compaction made of them
        self._settled = 0  # so many of them were answered
        self._before: dict[tuple[bool, int], Part] = {}  # these, by kind
        self._special = False  # not all messages are known, or the API ignores some
        self._listed: list[Block] = []  # at the last step
        self._unanswered = 0  # its number, until it is answered
        self._scale = 1.0, 0.0  # of the last that was
        self._again: dict[str, list[Block]] = {}  # what may be sent again, by its JSON
        self._calls: dict[str, str] = {}  # id -> the call in a few words
        self._made = 0

    def forget(self) -> None:
        """Whatever comes next is sent anew."""
        self.sent, self._settled, self._before = [], 0, {}

    def carry(self, request: Request, messages: Sequence[Message]) -> None:
        """A request is sent: what was answered before, and behind it these ``messages``.

        Fills in its blocks and parts.
        """
        again = self._blocks[self._settled :]
        for block in again:
            block.first = 0 if block.first == self._unanswered else block.first
        self._recall(again)
        kept = self._blocks[: self._settled] or self._prompt()
        self._special = self._special or bool(request.missing)
        kept = self._with_earlier(kept, request.missing) if self._special else kept
        self._blocks = kept + self._of_messages(messages, request.new)
        for block in self._blocks[self._settled :]:
            block.first = block.first or request.number
        request.ignored = self._ignored() if self._special else (0, 0)
        self._list(request, self._blocks)
        request.parts = self._parts(request, kept)
        request.paid = dict(self.paid)
        self._unanswered = request.number

    def answered(self, request: Request) -> None:
        """The server has counted: the blocks of the request have cost something."""
        request.rates = rates_of(request)
        for kind, dollars in charge(request, self._listed).items():
            self.paid[kind] = self.paid.get(kind, 0.0) + dollars
        request.paid = dict(self.paid)
        fresh = parts_of(self._blocks[self._settled :], set(), 0)
        self._before = join(self._before, fresh)
        self._scale, self._settled, self._unanswered = request.scale(), len(self._blocks), 0
        self.sent.extend(request.new)
        self.compacted = False

    def compact(
        self, made: Compaction, unsent: Sequence[Message], after: Sequence[Message]
    ) -> None:
        """Another history takes over.

        ``unsent``: the messages of the old one that no answered request has carried. A summary
        stands for the messages that were dropped. Fills in the blocks, and what is gone of them.
        """
        self._recall(self._blocks[self._settled :])
        prompt = [block for block in self._blocks if block.kind in PROMPT]
        old = (self._blocks[: self._settled] or prompt) + self._of_messages(unsent)
        self._recall(old)
        new = prompt + self._of_messages(after)
        known, there = ({block.number for block in blocks} for blocks in (old, new))
        fresh = [block for block in new if block.number not in known]
        made.gone = self._gone([block for block in old if block.number not in there], fresh)
        summary = next((block for block in fresh if block.kind == "summary"), None)
        if summary is not None:
            dropped = [each.block for each in made.gone if not each.left]
            self._stand_for(summary, dropped, made.dropped)
        self._list(made, old)
        self.forget()
        self._blocks, self.compacted = new, True

    # small steps

    def _list(self, step: Request | Compaction, blocks: list[Block]) -> None:
        """These ``blocks`` are in the window at a step, which keeps where they part from before."""
        step.carried = _common(self._listed, blocks)
        step.blocks = blocks[step.carried :]
        self._listed = blocks

    def _parts(self, request: Request, kept: list[Block]) -> list[Part]:
        """By kind. What was sent before is added up already, unless something is special."""
        if self._settled and not self._special:
            before = [dataclasses.replace(part) for part in self._before.values()]
            return before + parts_of(self._blocks[len(kept) :], set(), 0)
        start, stop = request.ignored
        sent = {block.number for block in (kept if self._settled else ())}
        return parts_of(self._blocks[:start] + self._blocks[stop:], sent, request.missing)

    def _recall(self, blocks: Iterable[Block]) -> None:
        """These blocks may be sent again, and no others."""
        self._again = {}
        for block in blocks:
            self._again.setdefault(_key(block.kind, block.content), []).append(block)

    def _block(self, kind: str, content: Any, size: float, record: int, label: str = "") -> Block:
        same = self._again.get(_key(kind, content)) if self._again else None
        if same:
            block = same.pop(0)
        else:
            self._made += 1
            block = Block(self._made, kind, gist_of(kind, content, label), size, content)
            block.instead = whole_of(content) if kind == "preview" else 0.0
            self._special = self._special or (kind == "summary" and api_summary(content))
        block.record = record
        return block

    def _prompt(self) -> list[Block]:
        system, tools, record = self.prompt
        made = [
            self._block("tools", tool, estimate(tool, count_tool), record) for tool in tools or ()
        ]
        return made + ([self._block("system", system, estimate(system), record)] if system else [])

    def _with_earlier(self, blocks: list[Block], missing: int) -> list[Block]:
        """With a block for the messages that no event tells of, if there are any."""
        earlier = [block for block in blocks if block.kind == "earlier"]
        if bool(missing) == bool(earlier):
            return blocks
        prompt = [block for block in blocks if block.kind in PROMPT]
        rest = [block for block in blocks if block.kind not in (*PROMPT, "earlier")]
        return [*prompt, *([] if earlier else [self._block("earlier", missing, 0.0, -1)]), *rest]

    def _of_messages(self, messages: Sequence[Message], records: Sequence[int] = ()) -> list[Block]:
        made = []
        for message, record in zip(messages, records or [-1] * len(messages), strict=True):
            frame = float(OVERHEAD)
            for content in message["content"]:
                kind = kind_of(message["role"], content, self.summaries)
                label = self._label(content)
                made.append(self._block(kind, content, estimate(content) + frame, record, label))
                frame = 0.0
        return made

    def _label(self, content: dict[str, Any]) -> str:
        """A call in a few words, also where its result stands."""
        if content["type"].endswith("tool_use"):
            label = call_label(content.get("name", ""), content.get("input"), 60)
            self._calls[str(content.get("id"))] = label
            return label
        return self._calls.get(str(content.get("tool_use_id")), "")

    def _tokens(self, block: Block) -> float:
        """Of a block, as it was in the last request."""
        scale, left = self._scale
        return left if block.kind == "earlier" else block.estimate * scale

    def _gone(self, blocks: list[Block], fresh: list[Block]) -> list[Gone]:
        """What became of blocks: what answers the same call stands in the place of a result."""
        place = {id: block for block in fresh if (id := _call(block))}
        gone = []
        for block in blocks:
            stands = place.get(_call(block)) if block.kind != "tool_call" else None
            if stands is not None:
                stands.instead = block.instead or self._tokens(block)
            gone.append(Gone(block, self._tokens(block), self._tokens(stands) if stands else 0.0))
        return gone

    def _stand_for(self, summary: Block, blocks: Sequence[Block], messages: int) -> None:
        """A summary stands for these blocks, and for what the summaries among them stood for."""
        summary.messages, summary.instead = messages, 0.0
        for block in blocks:
            older = block.kind == "summary"
            summary.messages += block.messages
            summary.instead += block.instead if older else self._tokens(block)

    def _ignored(self) -> tuple[int, int]:
        """Which blocks the server ignores: all messages before the summary that it made itself."""
        start = sum(block.kind in PROMPT for block in self._blocks)
        cuts = [
            index
            for index, block in enumerate(self._blocks)
            if block.kind == "summary" and api_summary(block.content)
        ]
        for before, cut in itertools.pairwise([start, *cuts]):
            if not self._blocks[cut].instead:
                old = self._blocks[before:cut]
                messages = {block.record for block in old if block.kind != "summary"}
                self._stand_for(self._blocks[cut], old, len(messages))
        return (start, cuts[-1]) if cuts else (0, 0)


def _call(block: Block) -> str:
    """The id of the call that a result answers; "" for other blocks."""
    return str(mapping(block.content).get("tool_use_id") or "")


def _key(kind: str, content: Any) -> str:
    return kind + json.dumps(content, default=str, skipkeys=True)


def _common(one: list[Block], other: list[Block]) -> int:
    """How many blocks both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a is not b), min(len(one), len(other)))
