"""Conversations with planted facts, made from a seed: something to lose, and a list of what it is.

Whether a compaction keeps what matters can only be measured where one knows what there was. So a
long piece of work on a made-up billing service is written by a program: a task, rounds of reading,
searching, testing and editing with results as tools give them, and in between the facts: values in
files, decisions with their reason, constraints of the user (some pinned), errors that stay open,
files that were changed. The same seed gives the same conversation, byte for byte.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from agentlab.messages import Message, assistant, tool_result, tool_use, user

FIRST_ROUNDS, LATER_ROUNDS = 28, 14
TASK = "Move the billing service from floats to whole cents, one module at a time."
_VALUES = (
    "API_PORT", "MAX_RETRIES", "VAT_RATE_BP", "LEDGER_EPOCH", "BATCH_ROWS", "LOCK_TIMEOUT_MS",
    "EXPORT_CODEC", "QUEUE_NAME", "AUDIT_DAYS", "CURRENCY_MINOR", "SALT_ROUNDS", "FEE_CAP_CENTS",
)  # fmt: skip
_DECISIONS = (
    ("half to even", "I decided to round half to even because the auditors compare with the bank."),
    ("storage", "I chose integers for storage instead of Decimal because SQLite has no Decimal."),
    ("migration", "I decided to run the migration twice because old workers may still write."),
    ("parser", "I will use the strict parser instead of the old one because it rejects commas."),
    ("currency", "I decided to keep the currency in its own column because two clients mix them."),
)
_RULES = (
    ("ledger.csv", "Do not rename the columns of ledger.csv, finance reads them."),
    ("Friday", "You must not touch the nightly job before Friday."),
    ("invoices", "Always keep invoices readable by version 3 of the client."),
)
_PINS = (("legacy/", "never touch legacy/"), ("amounts", "amounts leave the API as strings"))
_ERRORS = (
    ("test_split_refund", "AssertionError: 1205 != 1204"),
    ("test_fee_of_zero", "ZeroDivisionError: integer division or modulo by zero"),
)
_FILES = ("vat", "refunds", "exporter", "statements", "dunning", "fees", "totals", "discounts")
_WORK = ("total", "amount", "row", "fee", "net", "gross", "share", "part", "line", "entry")
_NEXT = (
    "Now do the same for the exporter.", "Good. Go on with the statements.",
    "Look at the dunning letters next.", "And the discounts, please.",
)  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """One fact: what it is about, and the text that stands in the conversation."""

    kind: str  # value, decision, rule, pinned, error, file
    cue: str  # a word that a question about it may use
    text: str  # looked for word for word
    answer: str  # what an answer to the question must hold

    @property
    def pinned(self) -> bool:
        return self.kind == "pinned"


@dataclass(frozen=True)
class Talk:
    """A conversation in parts: the first holds the facts, the others are work that goes on."""

    parts: tuple[tuple[Message, ...], ...]
    facts: tuple[Planted, ...]
    memory: str  # what a project's notes hold of it: not everything

    def messages(self, parts: int = 1) -> list[Message]:
        """The messages of the first so many parts."""
        return [message for part in self.parts[:parts] for message in part]


def talk(seed: int = 0, later: int = 4) -> Talk:
    """A conversation of 28 rounds with planted facts, and ``later`` parts of 14 rounds after it."""
    writer = _Writer(random.Random(seed))
    first = tuple(writer.first_part())
    parts = [tuple(writer.later_part(number)) for number in range(later)]
    facts = tuple(writer.facts)
    noted = [fact.text for fact in facts if fact.kind in ("rule", "decision")]
    noted += [fact.text for fact in facts if fact.kind == "value"][::3]
    memory = "\n".join(f"- {text}" for text in noted)
    return Talk((first, *parts), facts, memory)


class _Writer:
    """Writes rounds; what it draws comes from one generator, in order."""

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.number = draw, 0
        self.facts: list[Planted] = []

    def first_part(self) -> Iterator[Message]:
        pins = [Planted("pinned", cue, text, text) for cue, text in _PINS]
        rules = [Planted("rule", cue, text, text) for cue, text in _RULES]
        self.facts += [*pins, *rules]
        yield user("\n".join([TASK, rules[0].text, *(f"Pin: {fact.text}" for fact in pins)]))
        plants = self._plants()
        places = sorted(self.draw.sample(range(1, FIRST_ROUNDS - 4), len(plants)))
        asked = {FIRST_ROUNDS // 3: rules[1], 2 * FIRST_ROUNDS // 3: rules[2]}
        waiting = dict(zip(places, plants, strict=True))
        for place in range(FIRST_ROUNDS):
            if place in asked:
                yield assistant(f"That part is done; {self._aside()}.")
                yield user(f"Thanks. {asked[place].text} Go on.")
            yield from self._round(waiting.get(place))

    def later_part(self, number: int) -> Iterator[Message]:
        yield assistant(f"This part is done; {self._aside()}.")
        yield user(_NEXT[number % len(_NEXT)])
        for place in range(LATER_ROUNDS):
            yield from self._round(self._news(place) if place % 2 == 0 else None)

    def _news(self, place: int) -> Planted:
        """What comes up in later work, and takes its place in a summary too."""
        name, word = f"{self._word().upper()}_{self.draw.randint(10, 99)}", self._word()
        text = (
            f"{name} = {self.draw.randint(100, 9999)}",
            f"I decided to split {word} {self.number} because it does two things.",
            f"src/billing/{word}_{self.number}.py",
        )
        kind = ("value", "decision", "file")[place // 2 % 3]
        return Planted(kind, name, text[place // 2 % 3], "")

    def _plants(self) -> list[Planted]:
        """The facts of the first part that stand in rounds, in the order they come."""
        made = []
        for name in self.draw.sample(_VALUES, 8):
            value = str(self.draw.randint(1000, 9999))
            made.append(Planted("value", name, f"{name} = {value}", value))
        made += [Planted("decision", cue, text, text) for cue, text in self._some(_DECISIONS, 4)]
        made += [Planted("error", cue, f"{cue} - {text}", text) for cue, text in _ERRORS]
        for name in self.draw.sample(_FILES, 4):
            path = f"src/billing/{name}.py"
            made.append(Planted("file", f"{name}.py", path, path))
        self.draw.shuffle(made)
        self.facts += made
        return made

    def _some(self, choices: tuple[tuple[str, str], ...], count: int) -> list[tuple[str, str]]:
        return self.draw.sample(choices, count)

    def _round(self, fact: Planted | None) -> Iterator[Message]:
        """A round of work; a fact stands in it where facts of its kind do."""
        self.number += 1
        id, kind = f"toolu_work_{self.number:03}", fact.kind if fact else ""
        said = fact.text if fact and kind == "decision" else f"Looking on: {self._aside()}."
        if kind == "error":
            call = tool_use(id, "Bash", {"command": f"pytest -q tests/billing -k {self.number}"})
            output = self._tests(fact.text if fact else "")
        elif kind == "file":
            path = fact.text if fact else ""
            edit = {"old_string": f"{self._word()} * 1.0", "new_string": f"{self._word()} * 100"}
            call = tool_use(id, "Edit", {"file_path": path, **edit})
            output = f"Edited {path}: 1 replacement."
        elif kind == "value" or self.draw.random() < 0.6:
            path = f"src/billing/{self._word()}_{self.number}.py"
            call = tool_use(id, "Read", {"file_path": path})
            output = self._code(fact.text if fact and kind == "value" else "")
        else:
            call = tool_use(id, "Grep", {"pattern": self._word(), "path": "src"})
            output = "\n".join(f"src/util_{n}.py:{n * 7}: {self._line()}" for n in range(1, 30))
        yield assistant(said, call)
        yield user(tool_result(id, output))

    def _code(self, fact: str) -> str:
        lines = [self._line() for _ in range(self.draw.randint(30, 70))]
        if fact:
            lines.insert(self.draw.randint(0, len(lines)), fact)
        return "\n".join(f"{number:>4}\t{line}" for number, line in enumerate(lines, 1))

    def _tests(self, failure: str) -> str:
        dots = "." * self.draw.randint(40, 60)
        return f"{dots}F\nFAILED tests/billing/test_core.py::{failure}\n[exit code 1]"

    def _line(self) -> str:
        return f"    {self._word()} = convert({self._word()}, {self._word()}[{self.number}])"

    def _word(self) -> str:
        return self.draw.choice(_WORK)

    def _aside(self) -> str:
        return f"the {self._word()} and the {self._word()} are read in step {self.number}"
