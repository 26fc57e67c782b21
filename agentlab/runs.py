"""What `agentlab run` puts together: an agent on a folder, and the file its events go to."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import typer

from agentlab.agent import Agent
from agentlab.compaction import Compaction
from agentlab.hooks import Hooks
from agentlab.limits import Limits
from agentlab.permissions import Mode, Permissions, Rules
from agentlab.permissions.asking import best_asker
from agentlab.providers import Endpoint
from agentlab.toolbox import toolbox
from agentlab.transcript import Transcript, TranscriptError, load

FOLDER = Path("agentlab-runs")
GO_ON = "Go on."
MODES: tuple[Mode, ...] = get_args(Mode)
SYSTEM = "You work for the user in one folder. Use the tools rather than guessing; be brief."


def agent(
    endpoint: Endpoint,
    workspace: Path,
    *,
    resume: Path | None = None,
    max_turns: int = 25,
    autopilot: bool = False,
    model: str | None = None,
    mode: str | None = None,
    trust: bool = False,
) -> tuple[Agent, Path]:
    """An agent with the toolbox on ``workspace``, behind a gate, and the path of its transcript.

    The rules are those of the settings files. ``trust``: the project's own files may also allow
    something and run hooks; otherwise they can only forbid. With ``resume`` it goes on with that
    transcript. Raises TranscriptError if that was a run at another endpoint, SettingsError if a
    settings file cannot be read whole, OSError if no transcript can be written.
    """
    tools = toolbox(workspace, clock=endpoint.clock)
    limits = Limits(turns=max_turns)
    permissions = Permissions.load(workspace, mode=mode, ask=best_asker())
    hooks = Hooks.load(workspace) if trust else None
    if not trust:
        permissions.rules, left_out = only_forbidding(permissions.rules)
        for file in left_out:
            typer.echo(f"What {file} allows is not used. If you trust it: --trust", err=True)
    about: dict[str, Any] = {
        "permissions": permissions, "hooks": hooks, "workspace": workspace,
        "compaction": Compaction(),
    }  # fmt: skip
    if resume is None:
        transcript = new_transcript()
        new = Agent(
            model, tools, SYSTEM, endpoint=endpoint, limits=limits, transcript=transcript,
            autopilot=autopilot, **about,
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
        resume, tools=tools, endpoint=endpoint, limits=limits, autopilot=autopilot,
        **chosen, **about,
    )  # fmt: skip
    return old, resume


def only_forbidding(rules: Rules) -> tuple[Rules, list[str]]:
    """Without what the project's own files allow, and the files that it stands in.

    Whoever wrote them need not be the user. What the user's own files allow stays.
    """
    mine = tuple(rule for rule in rules.allow if rule.source.startswith("~"))
    left_out = dict.fromkeys(rule.source for rule in rules.allow if rule not in mine)
    return replace(rules, allow=mine), list(left_out)


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
