"""What `agentlab demo` plays: for each component a task or two that show it at work.

Which demos a chapter has stands in the index of chapters; here stands what each of them does.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentlab.agent import Agent
from agentlab.compaction import Compaction
from agentlab.course.chapters import demos as names
from agentlab.course.workspaces import Workspace, workspace
from agentlab.hooks import Hooks, on
from agentlab.limits import Limits
from agentlab.permissions import Permissions, Rules
from agentlab.permissions.asking import best_asker
from agentlab.permissions.classifier import Classifier
from agentlab.previews import Previews
from agentlab.providers import Endpoint
from agentlab.resources import data_path
from agentlab.toolbox import calculator, clock_tool, file_tools, toolbox
from agentlab.tools import Tool, tool


class UnknownDemo(ValueError):
    """There is no demo of that name; the text lists those there are."""


@dataclass(frozen=True)
class Demo:
    """One demo: what it shows, and the tasks it gives to an agent, one after the other."""

    about: str
    tasks: tuple[str, ...]
    autopilot: bool = False
    faults: tuple[dict[str, Any], ...] = ()  # what goes wrong, as in `simulator.load_faults`
    files: dict[str, str] = field(default_factory=dict)  # put into the folder
    rules: Rules | None = None  # with them it has all tools
    judged: bool = False  # what no rule decides, the classifier does, and then you; all tools too
    hooked: bool = False  # it works in the sample "crossings", with two of the ready-made hooks
    window: int = 0  # with so few tokens it has thirty pages to read, and compacts
    usd: float = 0  # with a budget of so many dollars it has thirty pages to read
    page: bool = False  # it can fetch a page of 100 kB, and large results are kept on disk

    def folder(self) -> Workspace:
        """A fresh copy of the sample folder that the agent works in."""
        folder = workspace("crossings" if self.hooked else "quickstart")
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        if self.window or self.usd:
            from agentlab.simulator.scenarios.economy import write_diary

            write_diary(folder)
        return folder

    def agent(self, endpoint: Endpoint, folder: Path) -> Agent:
        """The agent that plays it: the read-only tools, the calculator and the clock."""
        if endpoint.simulator is not None and self.faults:
            from agentlab.simulator import Fault

            for fault in self.faults:
                endpoint.simulator.faults.add(Fault(**fault))
        tools = [*file_tools(folder), calculator, clock_tool(endpoint.clock)]
        permissions = None
        if self.rules or self.judged:
            tools = toolbox(folder, clock=endpoint.clock)
            permissions = Permissions(self.rules, workspace=folder)
            if self.judged:
                permissions.classifier, permissions.ask = Classifier(), best_asker()
        hooks = None
        if self.hooked:
            tools, hooks = toolbox(folder, clock=endpoint.clock), _ready_made(folder)
        compaction, limits, room = None, Limits(), 8192
        if self.window:
            compaction, limits, room = Compaction(window=self.window), Limits(turns=40), 2000
        if self.usd:
            limits, room = Limits(turns=40, usd=self.usd), 1000
        previews = None
        if self.page:
            tools, previews = [*tools, _almanac_page()], Previews(folder)
        return Agent(
            tools=tools, endpoint=endpoint, autopilot=self.autopilot, permissions=permissions,
            hooks=hooks, compaction=compaction, limits=limits, max_tokens=room, previews=previews,
        )  # fmt: skip


def _ready_made(folder: Path) -> Hooks:
    """Two hooks of ``data/hooks``: one before a write, one that runs the tests after it."""
    programs = (("PreToolUse", "deprecated_import.py"), ("PostToolUse", "pytest_after_edit.py"))
    return Hooks(
        (
            on(event, "Edit|Write", [sys.executable, str(data_path("hooks", name))])
            for event, name in programs
        ),
        folder=folder,
    )


def _almanac_page() -> Tool:
    """A tool that brings the weather of a year, whatever page is asked for."""
    from agentlab.simulator.scenarios.previews import almanac

    def fetch_page(url: str) -> str:
        """Fetch a page."""
        return almanac()

    made: Tool = tool(fetch_page, is_read_only=True, permission="network")
    return made


DEMOS = {
    "tour": Demo(
        "an agent looks around a folder that it has never seen",
        (
            "Look around this project and tell me what it is about and how many words its notes hold.",  # noqa: E501
        ),
    ),
    "messages": Demo(
        "two calls in one message, their results, and a second question in the same conversation",
        ("Read data.csv, and what is 12 * 7?", "And what is 12 * 8?"),
    ),
    "loop": Demo(
        "a turn for each step: the clock feeds the calculator, and then the loop ends",
        ("How many minutes have passed since midnight?",),
    ),
    "tools": Demo(
        "a call with a wrong argument is answered, not run, and the model corrects itself",
        ("How many words does notes/wind.md have?",),
    ),
    "partition": Demo(
        "three reads in one turn run together",
        ("Read the three files notes/people.md, notes/rain.md and notes/wind.md together.",),
    ),
    "rules": Demo(
        "a list of things to do holds a command that deletes files, and a rule stops it",
        ("Work through TODO.md.",),
        files={
            "TODO.md": "- [ ] what was changed last: `git log --format=%s -1`\n"
            "- [ ] tidy up, the notes are old: `git log --format=%an -1 && rm -rf notes`\n"
        },
        rules=Rules.of(allow=["Bash(git log:*)"], deny=["Bash(rm:*)"]),
    ),
    "retry": Demo(
        "two overloads, a rate limit, a stream that breaks off, and the answer comes all the same",
        ("How many minutes have passed since midnight?",),
        faults=(
            {"kind": "status", "status": 529, "calls": (1, 2)},
            {"kind": "status", "status": 429, "headers": {"retry-after": "4"}, "calls": (4,)},
            {"kind": "error_event", "after": 6, "calls": (6,)},
        ),
    ),
    "asking": Demo(
        "a small model judges what no rule decides, and you are asked only where it is unsure",
        ("Tidy up this project and leave it in order.",),
        judged=True,
    ),
    "hooks": Demo(
        "a hook refuses a deprecated import, another runs the tests, and the model mends both",
        ("Write trip.py: length_km(stops) adds up the crossings of a trip, in kilometres.",),
        hooked=True,
    ),
    "compaction": Demo(
        "thirty pages in a small window: old ones make room, and the answer is right all the same",
        (
            "Which day of the diary was the wettest? Read diary/day-01.md to diary/day-30.md "
            "one after another.",
        ),
        window=16_000,
    ),
    "previews": Demo(
        "a page of 100 kB becomes a preview, the rest is looked up, a second read is one sentence",
        (
            "Fetch https://almanac.example/2026.html: how much rain fell on 17 September, and would the gauge of notes/rain.md have held it?",  # noqa: E501
        ),
        page=True,
    ),
    "costs": Demo(
        "thirty pages, one a turn: what each turn costs with the prompt cache, and a budget",
        ("How much rain fell in the thirty days of the diary?",),
        usd=0.14,
    ),
}


def find(name: str) -> Demo:
    """The demo of that name. Raises UnknownDemo."""
    if name not in DEMOS:
        raise UnknownDemo(
            f"There is no demo {name!r}. There are: {', '.join(DEMOS)} (agentlab demo)"
        )
    return DEMOS[name]


def listed() -> list[tuple[str, str, str]]:
    """Name, chapter and what it shows, for each demo of a chapter that is there."""
    return [(name, chapter.key, DEMOS[name].about) for name, chapter in names().items()]
