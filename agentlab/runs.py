"""What `agentlab run` puts together: an agent on a folder, and the file its events go to."""

from __future__ import annotations

import datetime
from pathlib import Path

import typer

from agentlab.agent import Agent
from agentlab.limits import Limits
from agentlab.providers import Endpoint
from agentlab.toolbox import calculator, clock_tool, file_tools
from agentlab.transcript import Transcript, TranscriptError, load

FOLDER = Path("agentlab-runs")
GO_ON = "Go on."
SYSTEM = "You work for the user in one folder. Use the tools rather than guessing; be brief."


def agent(
    endpoint: Endpoint,
    workspace: Path,
    *,
    resume: Path | None = None,
    max_turns: int = 25,
    autopilot: bool = False,
    model: str | None = None,
) -> tuple[Agent, Path]:
    """An agent with the read-only tools on ``workspace``, and the path of its transcript.

    With ``resume`` it goes on with that transcript. Raises TranscriptError if that was a run at
    another endpoint, OSError if no transcript can be written.
    """
    tools = [*file_tools(workspace), calculator, clock_tool(endpoint.clock)]
    limits = Limits(turns=max_turns)
    if resume is None:
        transcript = new_transcript()
        new = Agent(
            model, tools, SYSTEM, endpoint=endpoint, limits=limits, transcript=transcript,
            autopilot=autopilot,
        )  # fmt: skip
        return new, transcript.path
    start = [event for event in load(resume).events if event.type == "session.start"][-1]
    if start.endpoint != endpoint.name:
        raise TranscriptError(
            f"{resume} is a run at {start.endpoint}, and would go on at {endpoint.name}. "
            f"Say so: --endpoint {start.endpoint}"
        )
    chosen = {"model": model} if model else {}
    old = Agent.resume(
        resume, tools=tools, endpoint=endpoint, limits=limits, autopilot=autopilot, **chosen
    )
    return old, resume


def new_transcript() -> Transcript:
    """A new file in ./agentlab-runs, or where the system keeps application data."""
    name = datetime.datetime.now().strftime("%Y-%m-%dT%H-%M-%S")
    try:
        return Transcript(_unused(FOLDER, name))
    except OSError:
        return Transcript(_unused(Path(typer.get_app_dir("agentlab")) / "runs", name))


def _unused(folder: Path, name: str) -> Path:
    path, count = folder / f"{name}.jsonl", 1
    while path.exists():
        count += 1
        path = folder / f"{name}-{count}.jsonl"
    return path
