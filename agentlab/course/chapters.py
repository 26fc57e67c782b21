"""The one list of chapters: README, chapter headers, lint and command line all read it.

A chapter that is not written yet is in the list too, marked ``planned``, so that nothing promises
what is not there. To publish a chapter, set its status to ``available`` and run
``python -m agentlab.course.index --write``.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentlab.course.shown import CourseError


@dataclass(frozen=True)
class Chapter:
    """One chapter of the course. ``minutes`` is the whole chapter at a learner's pace."""

    number: int
    slug: str
    title: str
    question: str
    modules: tuple[str, ...]
    minutes: int
    core_minutes: int = 20
    demos: tuple[str, ...] = ()
    status: str = "planned"  # available | planned

    @property
    def key(self) -> str:
        """The number as it stands in file names: ``"02"``."""
        return f"{self.number:02d}"

    @property
    def stem(self) -> str:
        """The name of script and notebook, without ending: ``"02_loop"``."""
        return f"{self.key}_{self.slug}"

    @property
    def available(self) -> bool:
        return self.status == "available"


CHAPTERS: tuple[Chapter, ...] = (
    Chapter(0, "start_here", "Start here",
            "What does an agent do, and what does the harness around the model do?",
            (), 20, 10, ("tour",), "available"),
    Chapter(1, "messages", "Messages",
            "What goes over the wire between a harness and a model?",
            ("messages.py",), 45, 20, ("messages",), "available"),
    Chapter(2, "loop", "The loop",
            "What turns one answer into an agent that works until it is done?",
            ("loop.py",), 50, 20, ("loop",), "available"),
    Chapter(3, "tools", "Tools",
            "What must a function promise before a model may call it?",
            ("tools.py", "toolbox/"), 50, 20, ("tools",), "available"),
    Chapter(4, "partition", "Running calls together",
            "Which tool calls may run at the same time?",
            ("partition.py",), 40, 20, ("partition",), "available"),
    Chapter(5, "rules", "Permissions: rules",
            "Who decides what an agent may do, and in which order?", ("permissions/",), 50, 20,
            ("rules",), "available"),
    Chapter(6, "asking", "Permissions: judging and asking",
            "What happens when no rule knows the answer?", ("permissions/",), 45, 20,
            ("asking",), "available"),
    Chapter(7, "hooks", "Hooks",
            "How does a team add its own rules without touching the harness?",
            ("hooks.py",), 45, 20, ("hooks",), "available"),
    Chapter(8, "retry", "Retry",
            "Which errors deserve another attempt, and when?",
            ("retry.py",), 40, 20, ("retry",), "available"),
    Chapter(9, "costs", "Costs",
            "Where do the tokens and dollars go?", ("costs.py", "caching.py"), 50, 20,
            ("costs",), "available"),
    Chapter(10, "compaction", "Compaction",
             "What can leave the window without being missed?", ("compaction/",), 50, 20,
             ("compaction",), "available"),
    Chapter(11, "previews", "Large results",
            "How does an agent read what does not fit?",
            ("previews.py", "file_cache.py"), 45, 20, ("previews",), "available"),
    Chapter(12, "memory", "Memory",
            "What should an agent still know tomorrow?", ("memory/",), 50),
    Chapter(13, "tool_search", "Tool search",
            "How does an agent use a thousand tools?", ("tool_search.py",), 35),
    Chapter(14, "mcp_bridge", "MCP",
            "How do tools from other programs pass through the same gate?", ("mcp_bridge.py",), 45),
    Chapter(15, "subagents", "Sub-agents",
            "When is a second agent worth its cost?", ("subagents.py",), 45),
    Chapter(16, "teams", "Teams",
            "How do agents talk to each other without losing a message?", ("teams.py",), 45),
    Chapter(17, "providers", "Other endpoints",
            "What changes when the model does?", ("providers.py",), 40),
    Chapter(18, "evaluation", "Evaluation",
            "How do you know that a change made the agent better?", ("evaluation.py",), 50),
    Chapter(19, "harness", "Capstone: the harness",
            "Do all the components hold together?", ("agent.py",), 50),
    Chapter(20, "research_agent", "Capstone: a research agent",
            "What can you build with it?", (), 50),
)  # fmt: skip


def chapter(number: int) -> Chapter:
    """The chapter of that number. Raises CourseError if there is none."""
    for entry in CHAPTERS:
        if entry.number == number:
            return entry
    last = CHAPTERS[-1].number
    raise CourseError(f"there is no chapter {number}: chapters run from 0 to {last}")


def available() -> tuple[Chapter, ...]:
    """The chapters that are written, in order."""
    return tuple(entry for entry in CHAPTERS if entry.available)


def planned() -> tuple[Chapter, ...]:
    """The chapters that are not written yet, in order."""
    return tuple(entry for entry in CHAPTERS if not entry.available)


def demos() -> dict[str, Chapter]:
    """Demo names of the available chapters, each with its chapter."""
    return {name: entry for entry in available() for name in entry.demos}


def table_markdown(folder: str = "notebooks/") -> str:
    """The chapter table for the README, and below it what is planned."""
    rows = ["| | Chapter | Question it answers | Module | Minutes |", "|--:|---|---|---|--:|"]
    for c in available():
        link = f"[{c.title}]({folder}{c.stem}.ipynb)"
        module = _modules(c) or "all of it"
        rows.append(f"| {c.key} | {link} | {c.question} | {module} | {c.minutes} |")
    if later := planned():
        listed = " · ".join(f"{c.key} {c.title}" for c in later)
        rows += ["", f"Planned, not written yet: {listed}."]
    return "\n".join(rows)


def header_markdown(number: int) -> str:
    """The first cell of a chapter: title, question, minutes, module, the chapters beside it."""
    c = chapter(number)
    facts = [f"{c.minutes} minutes, or {c.core_minutes} for the cells tagged `core`"]
    if c.modules:
        facts.append(f"builds {_modules(c)}")
    beside = [_beside(number - 1, "before"), _beside(number + 1, "next")]
    lines = [
        f"# {c.key} · {c.title}",
        f"**{c.question}**",
        " · ".join(facts),
        " · ".join(filter(None, beside)),
    ]
    return "\n\n".join(lines)


def _modules(c: Chapter) -> str:
    return ", ".join(f"`agentlab/{module}`" for module in c.modules)


def _beside(number: int, word: str) -> str:
    if not 0 <= number < len(CHAPTERS):
        return ""
    c = CHAPTERS[number]
    name = f"{c.key} {c.title}"
    return f"{word}: [{name}]({c.stem}.ipynb)" if c.available else f"{word}: {name} (planned)"
