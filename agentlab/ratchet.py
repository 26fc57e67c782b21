"""The ratchet: a failure becomes a rule and a hook, and now and then you look which still hold.

A ratchet turns one way. Each time an agent does something wrong, you write down what happened
(`record`): the call, the files that it needed, the line that went into AGENTS.md, and the hook that
catches it from now on. Rules and hooks pile up that way, and each costs tokens or time. So the log
is used a second time: `replay` makes the old calls again, in throw-away copies, once with all hooks
and then with each hook off, one at a time, and names those that no longer catch anything.

It replays calls, not models: whether today's model would still make such a call is a question for
an evaluation (chapter 18). Only ``Write`` and ``Edit`` are really run; of other tools only the
hooks before them are asked, because what was wrong with a call may be what it did. Hooks do run
for real: a webhook is called too. Built in chapter 07.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from agentlab.hooks import TOOL_EVENTS, Hook, Hooks
from agentlab.instructions import NAMES, find_instructions
from agentlab.messages import tool_use
from agentlab.permissions.decision import Circumstances
from agentlab.permissions.gate import Gate
from agentlab.toolbox import toolbox
from agentlab.tools import Outcome, Prepared, perform, prepare

LOG = Path(".agentlab", "failures.jsonl")
RUN = ("Write", "Edit")
NOT_COPIED = (".git", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache")


@dataclass(frozen=True)
class Failure:
    """Something that went wrong once: what it was, and the call that did it.

    ``files`` are those that the call needs to be wrong again, by path, as they were before it;
    what is in the project anyway may be left out. ``rule`` is the line that went into AGENTS.md,
    ``hook`` the name of the hook that was written.
    """

    what: str
    tool: str
    input: dict[str, Any]
    files: dict[str, str] = field(default_factory=dict)
    rule: str = ""
    hook: str = ""


def record(workspace: str | os.PathLike[str], failure: Failure) -> None:
    """Add a failure to the project's log, and its rule to AGENTS.md if it is not there yet."""
    path = Path(workspace, LOG)
    path.parent.mkdir(parents=True, exist_ok=True)
    line = {key: value for key, value in asdict(failure).items() if value}
    with path.open("a", encoding="utf-8") as log:
        log.write(json.dumps(line, ensure_ascii=False) + "\n")
    if failure.rule:
        _add_rule(Path(workspace), failure.rule)


def failures(workspace: str | os.PathLike[str]) -> list[Failure]:
    """The log, oldest first; empty if there is none. Raises ValueError, naming the line."""
    path = Path(workspace, LOG)
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(Failure(**json.loads(line)))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{LOG.as_posix()}:{number} is no failure: {error}") from None
    return found


@dataclass(frozen=True)
class Replayed:
    """What a replay found. ``caught`` are the hooks that objected, by failure; ``slips`` are the
    failures that nothing catches without a hook, by hook.
    """

    failures: tuple[Failure, ...]
    caught: tuple[tuple[str, ...], ...]
    slips: dict[str, tuple[Failure, ...]]

    @property
    def idle(self) -> list[str]:
        """Hooks that catch none of the failures: candidates to be taken out."""
        return [hook for hook in self.slips if not any(hook in names for names in self.caught)]

    @property
    def missed(self) -> list[Failure]:
        """Failures that would happen again."""
        return [f for f, names in zip(self.failures, self.caught, strict=True) if not names]

    def __str__(self) -> str:
        lines = [f"{len(self.failures)} failures, each with {len(self.slips)} hooks"]
        width = max((len(failure.what) for failure in self.failures), default=0)
        for failure, names in zip(self.failures, self.caught, strict=True):
            lines.append(f"  {failure.what:{width}}  {', '.join(names) or 'NOTHING CATCHES IT'}")
        lines.append("With one hook off, this slips through:")
        wide = max(map(len, self.slips), default=0)
        for hook, slipped in self.slips.items():
            nothing = "nothing, it no longer catches anything" if hook in self.idle else (
                "nothing, others catch the same"
            )  # fmt: skip
            lines.append(f"  {hook:{wide}}  {', '.join(f.what for f in slipped) or nothing}")
        return "\n".join(lines)

    __repr__ = __str__


async def replay(workspace: str | os.PathLike[str], hooks: Hooks | None = None) -> Replayed:
    """Make the calls of the log again, with all hooks and with each of them off.

    ``hooks`` are those of the project's settings files if left out. The workspace itself is only
    read. Raises ValueError for a log, and SettingsError for settings, that cannot be read.
    """
    hooks = Hooks.load(workspace) if hooks is None else hooks
    log = failures(workspace)
    caught = [await _caught(failure, hooks, workspace) for failure in log]
    slips = {}
    for hook in (hook for hook in hooks.hooks if hook.event in TOOL_EVENTS):
        others = hooks.without(hook)
        slips[hook.name] = tuple(
            [
                failure
                for failure, names in zip(log, caught, strict=True)
                if names and not await _caught(failure, others, workspace)
            ]
        )
    return Replayed(tuple(log), tuple(caught), slips)


async def _caught(
    failure: Failure, hooks: Hooks, workspace: str | os.PathLike[str]
) -> tuple[str, ...]:
    """The names of the hooks that object to a failure, if it is made again in a copy."""
    with tempfile.TemporaryDirectory(prefix="agentlab-ratchet-") as temporary:
        copy = _copied(failure, Path(workspace), Path(temporary))
        return tuple(dict.fromkeys(await _objections(failure, hooks.hooks, copy)))


def _copied(failure: Failure, workspace: Path, temporary: Path) -> Path:
    """A copy of the workspace as it was before the failure, as far as the log knows it."""
    copy = temporary.resolve() / workspace.resolve().name
    shutil.copytree(workspace, copy, ignore=shutil.ignore_patterns(*NOT_COPIED), symlinks=True)
    for name, text in failure.files.items():
        path = (copy / name).resolve()
        if not path.is_relative_to(copy):
            raise ValueError(f"{LOG.as_posix()}: the file {name} is not in the project")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return copy


async def _objections(failure: Failure, hooks: Iterable[Hook], copy: Path) -> list[str]:
    gate = Gate(None, Hooks(hooks, folder=copy))
    tools = {tool.name: tool for tool in toolbox(copy, network=True)}
    if failure.tool == "Edit":  # it edits only what was read
        read = prepare(tool_use("t0", "Read", {"file_path": failure.input["file_path"]}), tools)
        assert isinstance(read, Prepared)
        await perform(read)
    calls: list[Prepared | Outcome] = [prepare(tool_use("t1", failure.tool, failure.input), tools)]
    told = [piece async for piece in gate.decide(calls, Circumstances())]
    call = calls[0]
    if isinstance(call, Prepared) and failure.tool in RUN:
        told += (await gate.execute(call)).told
    return [
        data["hook"]
        for kind, data in told
        if kind == "hook.result" and data["decision"] in ("ask", "deny")
    ]


def _add_rule(workspace: Path, rule: str) -> None:
    path = find_instructions(workspace) or workspace / NAMES[0]
    text = path.read_text("utf-8") if path.exists() else "# Rules\n"
    line = f"- {rule.strip()}"
    if line not in text.splitlines():
        path.write_text(text.rstrip("\n") + f"\n{line}\n", "utf-8")
