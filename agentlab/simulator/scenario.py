"""Writing a scenario: what the simulated model says, step by step, as a small generator.

    @scenario("three-files", opens=r"three files")
    def three_files(chat):
        \"\"\"Reads three files in one turn and adds up their words.\"\"\"
        reads = yield (chat.say("I'll read the three files together.")
                       .call("Read", file_path="a.txt").call("Read", file_path="b.txt")
                       .call("Read", file_path="c.txt"))
        yield chat.say(f"Together they hold {sum(r.words for r in reads)} words.")

Every ``yield`` is one turn of the model. If the turn made calls, ``yield`` gives the list of their
`Result`, in call order; if not, it gives the text of the user's next message, and the generator
goes on only if there is one. When it ends, the next message opens another scenario, or is
answered by the improviser.

The generator is run again from the start for every request, against the history that came in (see
`agentlab.simulator.playback`). So it must depend on nothing but ``chat`` and what ``yield``
gives: no clock, no random numbers, no files. Two things follow. A result that compaction removed
is `Lost`, which is false. And a question about the whole request (`Chat.sees`) or a branch on a
result that may get lost goes through ``chat.decide(...)``, which records the answer in the ids.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any

from agentlab.simulator.language import is_italian
from agentlab.simulator.offered import Offered
from agentlab.simulator.turns import Lost, Result, Say

__all__ = [
    "Chat", "Lost", "Result", "Say", "Scenario", "ScenarioError", "Turns", "UnknownScenario",
    "all_scenarios", "get", "names", "opening", "scenario",
]  # fmt: skip


class ScenarioError(Exception):
    """A scenario that cannot go on; ``scenario`` and ``step`` say which and where."""

    def __init__(self, scenario: str, step: int, message: str) -> None:
        super().__init__(f"scenario {scenario!r}, step {step}: {message}")
        self.scenario, self.step, self.message = scenario, step, message


class UnknownScenario(ScenarioError):
    """A scenario was asked for that nobody has registered."""

    def __init__(self, name: str) -> None:
        near = difflib.get_close_matches(name, names(), n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(names())}."
        super().__init__(name, 0, f"there is no such scenario. {hint}")


class Chat:
    """What a scenario sees: the request, and nothing else.

    ``task`` is the user's text that opened the scenario, ``before`` what the assistant had said
    last when it did, ``request`` the whole body, ``now`` the simulator's clock in seconds.
    """

    def __init__(self, request: dict[str, Any], offered: Offered, task: str, *,
                 before: str = "", recorded: str = "", now: float = 0.0) -> None:  # fmt: skip
        self.request = request
        self.offered = offered
        self.task = task
        self.before = before
        self.now = now
        self.decisions = ""
        self._recorded = recorded

    def say(self, text: str = "") -> Say:
        """Begin a turn with a text; with no text and nothing else the turn is empty."""
        return Say().say(text)

    def think(self, text: str) -> Say:
        """Begin a turn with thinking."""
        return Say().think(text)

    def call(self, tool: str, /, **arguments: Any) -> Say:
        """Begin a turn with a tool call."""
        return Say().call(tool, **arguments)

    def call_tool(self, names: Iterable[str], /, **arguments: Any) -> Say:
        """Begin a turn with a call to the first of these tools that is offered."""
        return Say().call_tool(names, **arguments)

    def tool(self, *tools: str) -> str | None:
        """The name under which the first of these tools is offered, or None."""
        return self.offered.find(*tools)

    def offers(self, tool: str) -> bool:
        """Whether that tool may be called in this request."""
        return self.offered.find(tool) is not None

    def sees(self, text: str) -> bool:
        """Whether that text stands anywhere in the request: system prompt, messages, results."""
        return text in self._everything

    def decide(self, condition: object) -> bool:
        """A branch that later steps depend on: what was decided once stays decided.

        The answer is recorded in the ids of the turn, and on every later run the recorded one is
        given back, even if what it rested on has been compacted away.
        """
        index = len(self.decisions)
        answer = self._recorded[index] if index < len(self._recorded) else "01"[bool(condition)]
        self.decisions += answer
        return answer == "1"

    @property
    def italian(self) -> bool:
        """Whether the task is written in Italian."""
        return is_italian(self.task)

    def pick(self, english: str, italian: str) -> str:
        """The one in the language of the task."""
        return italian if self.italian else english

    @functools.cached_property
    def _everything(self) -> str:
        parts: list[str] = []
        queue: list[Any] = [self.request.get("messages"), self.request.get("system")]
        while queue:
            part = queue.pop()
            if isinstance(part, str):
                parts.append(part)
            elif isinstance(part, list):
                queue.extend(part)
            elif isinstance(part, dict):
                queue.extend(v for k, v in part.items() if k not in _OPAQUE)
        return "\n".join(parts)


_OPAQUE = frozenset(("id", "tool_use_id", "signature", "data", "type", "role"))
# --------------------------------------------------------------------------------- the registry

Turns = Generator[Say, Any, None]  # what a scenario function returns
Function = Callable[[Chat], Turns]
Opens = str | Callable[[str], bool] | None
IMPROVISER = "improviser"
_REGISTRY: dict[str, Scenario] = {}
_PLAY = re.compile(
    r"\s*(?:please |per favore )?(?:play|recita)\b(?: the| lo)?(?: scenario)?:?"
    r" [\"'`]?([a-z0-9-]+)[\"'`]?[.!]?\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Scenario:
    """A registered scenario."""

    name: str
    function: Function
    chapter: int | None = None
    opens: Opens = None
    example: str = ""

    @property
    def about(self) -> str:
        """The first line of its docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    def opened_by(self, text: str) -> bool:
        """Whether a user's text opens it. ``play NAME`` opens any scenario."""
        if asked := _PLAY.fullmatch(text[:200]):
            return asked[1].lower() == self.name
        if isinstance(self.opens, str):
            return re.search(self.opens, text[:4000], re.IGNORECASE) is not None
        try:
            return bool(self.opens and self.opens(text))
        except Exception as error:
            raise ScenarioError(
                self.name, 0, f"its opener failed: {type(error).__name__}: {error}"
            ) from error


def scenario(name: str, *, chapter: int | None = None, opens: Opens = None,
             example: str = "") -> Callable[[Function], Function]:  # fmt: skip
    """Register a generator function as a scenario.

    Args:
        name: lower-case words joined by hyphens.
        chapter: the chapter it is made for.
        opens: a regular expression (searched for, ignoring case) or a function of the user's text.
        example: a prompt that opens it, for lists and help.

    Registering a name again replaces it, and later scenarios are asked first. Raises ValueError
    for a name that ids cannot carry and TypeError for a function without a ``yield``.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(
            f"scenario name {name!r}: use lower-case letters and digits, joined by '-'"
        )

    def register(function: Function) -> Function:
        if not inspect.isgeneratorfunction(function):
            raise TypeError(
                f"scenario {name!r}: {function.__name__} never yields; yield chat.say(...)"
            )
        _REGISTRY.pop(name, None)
        _REGISTRY[name] = Scenario(name, function, chapter, opens, example)
        return function

    return register


@functools.cache
def _load_shipped() -> None:
    mine = dict(_REGISTRY)
    from agentlab.simulator import improviser, scenarios  # noqa: F401 (registers itself)

    for module in sorted(m.name for m in pkgutil.iter_modules(scenarios.__path__)):
        importlib.import_module(f"{scenarios.__name__}.{module}")
    for name in mine:  # registered before the first request: still asked first
        _REGISTRY.pop(name)
    _REGISTRY.update(mine)


def all_scenarios() -> list[Scenario]:
    """Every registered scenario, by name; without the improviser, which is always there."""
    _load_shipped()
    return sorted((s for s in _REGISTRY.values() if s.name != IMPROVISER), key=lambda s: s.name)


def names() -> list[str]:
    """The names of all scenarios."""
    return [s.name for s in all_scenarios()]


def get(name: str) -> Scenario:
    """The scenario of that name. Raises UnknownScenario."""
    _load_shipped()
    if name not in _REGISTRY:
        raise UnknownScenario(name)
    return _REGISTRY[name]


def opening(text: str) -> Scenario | None:
    """The scenario that a user's text opens, or None."""
    _load_shipped()
    return next((s for s in reversed(_REGISTRY.values()) if s.opened_by(text)), None)
