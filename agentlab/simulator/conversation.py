"""The history of a request, read for one question: which scenario plays, and where does it stand?

Messages are grouped into rounds (an assistant message with all that the user's side answered to
it), and `Conversation.locate` walks them back from the end. See `agentlab.simulator.playback`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agentlab.simulator import marks
from agentlab.simulator.improviser import understands
from agentlab.simulator.marks import Mark
from agentlab.simulator.recalled import Recalled
from agentlab.simulator.scenario import IMPROVISER, Scenario, get, opening
from agentlab.simulator.turns import Block

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


@dataclass
class Round:
    """An assistant message (None before the first one) and the user's blocks that follow it."""

    said: list[Block] | None
    answer: list[Block] = field(default_factory=list)

    @functools.cached_property
    def mark(self) -> Mark | None:
        """The last mark in the assistant's message."""
        for block in reversed(self.said or ()):
            carrier = block.get("id") or block.get("signature")
            if isinstance(carrier, str) and (mark := marks.decode(carrier)):
                return mark
        return None

    @functools.cached_property
    def calls(self) -> list[Block]:
        """The tool calls of the assistant's message."""
        return [b for b in self.said or () if b.get("type") == "tool_use"]

    @functools.cached_property
    def text(self) -> str:
        """The text of the assistant's message."""
        return "".join(str(b.get("text", "")) for b in self.said or () if b.get("type") == "text")

    @functools.cached_property
    def results(self) -> dict[str, Block]:
        """The tool results by the id of their call."""
        return {b.get("tool_use_id", ""): b for b in self.answer if b.get("type") == "tool_result"}

    @functools.cached_property
    def notes(self) -> list[str]:
        """All texts from the user's side, without what is marked as a system reminder."""
        texts = (str(b.get("text", "")) for b in self.answer if b.get("type") == "text")
        return [text for t in texts if (text := _REMINDER.sub("", t).strip())]

    @functools.cached_property
    def texts(self) -> list[str]:
        """Those of the notes that a person may have written: a harness puts its own in brackets."""
        return [note for note in self.notes if not note.startswith("[")]


@dataclass
class Place:
    """Where a scenario stands: what is known of its steps, and what came after them."""

    scenario: Scenario
    task: str
    step: int = 0  # the last step that is certain; 0: it was just opened
    decisions: str = ""
    rounds: dict[int, list[Round]] = field(default_factory=dict)  # step -> its rounds
    rest: list[Round] = field(default_factory=list)  # later rounds, without marks
    before: str = ""  # what the assistant had said last when it was opened
    forced: bool = False  # played by name, whatever the texts say


class Conversation:
    """The rounds of a request."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.rounds: list[Round] = [Round(None)]
        recalled = Recalled()
        for message in request.get("messages") or []:
            content = message.get("content") or []
            if isinstance(content, str):
                content = [{"type": "text", "text": content}]
            blocks = [block for block in content if isinstance(block, dict)]
            if message.get("role") == "assistant":
                self.rounds.append(Round(blocks))
                recalled.calls(blocks)
            elif message.get("role") == "user":
                self.rounds[-1].answer.extend(recalled.results(blocks))

    @property
    def last(self) -> Round:
        """The round that the reply belongs to."""
        return self.rounds[-1]

    def locate(self, only: str | None = None) -> Place:
        """The scenario that plays and where it stands; ``only`` forces one by name.

        Raises UnknownScenario for a name, or a mark, of a scenario that is not registered.
        """
        place = self._locate(only)
        place.forced = only is not None
        return place

    def _locate(self, only: str | None) -> Place:
        forced = get(only) if only else None
        for index in range(len(self.rounds) - 1, -1, -1):
            here = self.rounds[index]
            for note in reversed(here.notes):
                line = marks.find_standing_line(note)
                if line and only in (None, line.scenario):
                    return self._resume(index, line, inside=False)
                if note in here.texts and (opened := _opened(note, forced)):
                    return Place(
                        opened, note, rest=self.rounds[index + 1 :], before=self._said(index)
                    )
                if note in here.texts and here is self.last and not forced and understands(note):
                    return self.improvised()
            if here.mark and only in (None, here.mark.scenario):
                return self._resume(index, here.mark, inside=True)
        if forced is None:
            return self.improvised()
        task = next((text for r in self.rounds for text in r.texts), "")
        return Place(forced, task, rest=self.rounds[1:])

    def improvised(self) -> Place:
        """The place for the improviser: its own mark, or the user's last text."""
        for index in range(len(self.rounds) - 1, -1, -1):
            here = self.rounds[index]
            if here.texts:
                rest, before = self.rounds[index + 1 :], self._said(index)
                return Place(get(IMPROVISER), _request_in(here.texts), rest=rest, before=before)
            if here.mark and here.mark.scenario == IMPROVISER:
                return self._resume(index, here.mark, inside=True)
        return Place(get(IMPROVISER), "", rest=self.rounds[1:])

    def _resume(self, index: int, mark: Mark, inside: bool) -> Place:
        """The place after a mark in round ``index``; ``inside``: that round is one of its steps."""
        scenario = get(mark.scenario)
        place = Place(scenario, "", mark.step, mark.decisions, rest=self.rounds[index + 1 :])
        step = mark.step + 1
        opens: Callable[[str], object] = scenario.opened_by
        if scenario.name == IMPROVISER:
            opens = understands
        for q in range(index, -1, -1):
            here = self.rounds[q]
            if not inside or q < index:
                task = next((t for t in reversed(here.texts) if opens(t)), "")
                if not task and scenario.name == IMPROVISER and here.texts and not here.results:
                    task = here.texts[-1]
                if task:
                    place.task, place.before = task, self._said(q)
                    return place
            if inside and here.said is not None:
                found = here.mark
                if found and (found.scenario != mark.scenario or found.step > step):
                    inside = False  # an earlier run: only the task may still be found further up
                elif (number := found.step if found else step - 1) >= 1:
                    place.rounds.setdefault(number, []).insert(0, here)
                    step = number
        place.task = next((text for r in self.rounds for text in r.texts), "")
        return place

    def _said(self, index: int) -> str:
        return next((r.text for r in reversed(self.rounds[: index + 1]) if r.text), "")


def _opened(text: str, forced: Scenario | None) -> Scenario | None:
    if forced is None:
        return opening(text)
    return forced if forced.opened_by(text) else None


def _request_in(texts: list[str]) -> str:
    """Of several texts in one answer, the one to answer: the last that asks for something known."""
    return next((t for t in reversed(texts) if understands(t)), texts[-1])
