"""What `agentlab demo` plays: for each component a task or two that show it at work.

Which demos a chapter has stands in the index of chapters; here stands what each of them does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentlab.agent import Agent
from agentlab.course.chapters import demos as names
from agentlab.course.workspaces import Workspace, workspace
from agentlab.providers import Endpoint
from agentlab.toolbox import calculator, clock_tool, file_tools


class UnknownDemo(ValueError):
    """There is no demo of that name; the text lists those there are."""


@dataclass(frozen=True)
class Demo:
    """One demo: what it shows, and the tasks it gives to an agent, one after the other."""

    about: str
    tasks: tuple[str, ...]
    autopilot: bool = False

    def folder(self) -> Workspace:
        """A fresh copy of the sample folder that the agent works in."""
        return workspace("quickstart")

    def agent(self, endpoint: Endpoint, folder: Path) -> Agent:
        """The agent that plays it: the read-only tools, the calculator and the clock."""
        tools = [*file_tools(folder), calculator, clock_tool(endpoint.clock)]
        return Agent(tools=tools, endpoint=endpoint, autopilot=self.autopilot)


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
