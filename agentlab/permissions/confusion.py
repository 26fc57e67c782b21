"""How often is a classifier right? Its confusion table over 120 labelled commands.

Each row is what a careful colleague would say, each column what the classifier said, for any
endpoint: the simulator, a real model, a local one. The number that counts is in one corner: what
should have been denied and was allowed. The commands (``data/classifier/commands.json``) are judged
and never run. Used in chapter 06.
"""

from __future__ import annotations

import asyncio
import functools
import html
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentlab.models import find_model, small_model
from agentlab.permissions.classifier import UNAVAILABLE, Classifier
from agentlab.permissions.judge import Call, Place
from agentlab.resources import data_path
from agentlab.side_calls import SideCalls

if TYPE_CHECKING:
    from agentlab.providers import Endpoint

LABELS = ("allow", "unsure", "deny")
ANSWERS = (*LABELS, "no answer")
AT_ONCE = 8  # requests that are under way at the same time
PLACE = Place("/workspace", "/workspace", "/home/u", "linux", False)  # of no machine


@dataclass(frozen=True)
class Labelled:
    """A command, what the user had asked for, and what a careful colleague would say, and why."""

    command: str
    task: str
    label: str
    why: str
    cwd: str = ""


@dataclass(frozen=True)
class Confusion:
    """What a classifier said about labelled commands; ``answers``: pairs of answer and reason."""

    model: str
    commands: tuple[Labelled, ...]
    answers: tuple[tuple[str, str], ...]
    simulated: bool = False

    def count(self, label: str, answer: str) -> int:
        """How many commands with that label got that answer."""
        return self._counts[label, answer]

    @functools.cached_property
    def _counts(self) -> Counter[tuple[str, str]]:
        said = (answer for answer, _ in self.answers)
        return Counter(zip((c.label for c in self.commands), said, strict=True))

    def said(self, label: str, answer: str) -> list[tuple[str, str]]:
        """The commands with that label that got that answer, each with the reason given."""
        pairs = zip(self.commands, self.answers, strict=True)
        return [(c.command, why) for c, (said, why) in pairs if (c.label, said) == (label, answer)]

    @property
    def rows(self) -> list[tuple[str, list[int]]]:
        """Label and number of each answer, in the order of `LABELS` and `ANSWERS`."""
        return [
            (label, [self.count(label, answer) for answer in self._columns]) for label in LABELS
        ]

    @property
    def _columns(self) -> tuple[str, ...]:
        failed = any(answer == ANSWERS[-1] for answer, _ in self.answers)
        return ANSWERS if failed else LABELS

    @property
    def _summary(self) -> str:
        right = sum(self.count(label, label) for label in LABELS)
        missed, total = self.count("deny", "allow"), len(self.commands)
        simulated = ", simulated model" if self.simulated else ""
        words = f"{right} of {total} as labelled; allowed though it should be denied: {missed}"
        return f"{words} ({self.model}{simulated})"

    def __repr__(self) -> str:
        head = ["should be", *self._columns]
        lines = [head, *([label, *map(str, counts)] for label, counts in self.rows)]
        text = [f"{first:<11}" + "".join(f"{cell:>11}" for cell in rest) for first, *rest in lines]
        return "\n".join(["What does the classifier say?", *text, self._summary])

    def _repr_html_(self) -> str:
        number = 'style="text-align:right;font-variant-numeric:tabular-nums;padding:2px 12px'
        head = "".join(f'<th scope="col" {number}">{a}</th>' for a in self._columns)
        body = ""
        for label, counts in self.rows:
            cells = "".join(
                f'<td {number}{";font-weight:bold" if label == answer else ""}">{count}</td>'
                for answer, count in zip(self._columns, counts, strict=True)
            )
            body += f'<tr><th scope="row" style="text-align:left">{label}</th>{cells}</tr>'
        return (
            "<p><b>What does the classifier say?</b></p><table><thead><tr>"
            f'<th scope="col" style="text-align:left">should be</th>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table><p>{html.escape(self._summary)}</p>"
        )


@functools.cache
def labelled() -> tuple[Labelled, ...]:
    """The labelled commands."""
    records = json.loads(data_path("classifier/commands.json").read_text("utf-8"))["commands"]
    return tuple(Labelled(**record) for record in records)


async def confusion(
    endpoint: Endpoint,
    *,
    classifier: Classifier | None = None,
    commands: Sequence[Labelled] | None = None,
    say: Callable[[str], object] | None = None,
) -> Confusion:
    """Ask the classifier about every labelled command, through its real side calls.

    On a real endpoint this costs money, within its budget: about 120 short requests to the small
    model. Progress is printed on one line, or given to ``say``.
    """
    commands = tuple(labelled() if commands is None else commands)
    model = small_model() if find_model(endpoint.model) else endpoint.model
    side_calls = SideCalls(endpoint.client(), model, endpoint.clock)
    judge = (classifier or Classifier(deadline_s=30.0)).judge
    places, done = asyncio.Semaphore(AT_ONCE), 0
    say = say or (
        _on_one_line if os.environ.get("AGENTLAB_STATIC_VIEWS") != "1" else lambda text: None
    )

    async def one(labelled: Labelled) -> tuple[str, str]:
        nonlocal done
        async with places:
            call = Call("Bash", {"command": labelled.command}, "execute")
            decision, _ = await judge(call, PLACE, labelled.task, side_calls)
        done += 1
        if done % 10 == 0:
            say(f"{done} of {len(commands)} commands judged")
        if decision.reason == UNAVAILABLE:
            return ANSWERS[-1], decision.reason
        answer = "unsure" if decision.behaviour == "undecided" else decision.behaviour
        return answer, decision.reason

    answers = await asyncio.gather(*(one(labelled) for labelled in commands))
    if say is _on_one_line:
        print()
    return Confusion(model, commands, tuple(answers), endpoint.simulated)


def _on_one_line(text: str) -> None:
    print(f"\r{text}", end="", flush=True)
