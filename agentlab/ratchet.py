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

import dataclasses
import json
import os
import shutil
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agentlab.hooks import TOOL_EVENTS, Hooks
from agentlab.instructions import NAMES, find_instructions
from agentlab.messages import tool_use, valid_unicode
from agentlab.permissions.decision import Circumstances
from agentlab.permissions.gate import Gate, Piece
from agentlab.toolbox import toolbox
from agentlab.tools import Outcome, Prepared, prepare
from agentlab.views.wording import plural

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


_FAILURE = TypeAdapter(Failure)


def record(workspace: str | os.PathLike[str], failure: Failure) -> None:
    """Add a failure to the project's log, and its rule to AGENTS.md if it is not there yet."""
    path = Path(workspace, LOG)
    path.parent.mkdir(parents=True, exist_ok=True)
    line = {key: value for key, value in asdict(failure).items() if value or key == "input"}
    with path.open("a", encoding="utf-8") as log:
        log.write(json.dumps(valid_unicode(line), ensure_ascii=False) + "\n")
    if failure.rule:
        _add_rule(Path(workspace), failure.rule)


def failures(workspace: str | os.PathLike[str]) -> list[Failure]:
    """The log, oldest first; empty if there is none. Raises ValueError, naming the line."""
    path = Path(workspace, LOG)
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found += [_FAILURE.validate_json(line)] if line.strip() else []
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, ["", *first["loc"]]))
            text = f"{LOG.as_posix()}:{number}{where} is no failure: {first['msg']}"
            raise ValueError(f"{text}. Correct this line, or take it out.") from None
    return found


@dataclass(frozen=True)
class Replayed:
    """What a replay found. ``caught`` are the hooks that objected, by failure; ``slips`` are the
    failures that nothing catches without a hook, by hook; ``broken`` says why a hook gave no
    answer, by hook, and ``failed`` what a call failed with, by failure.
    """

    failures: tuple[Failure, ...]
    caught: tuple[tuple[str, ...], ...]
    slips: dict[str, tuple[Failure, ...]]
    broken: dict[str, str]
    failed: tuple[str, ...]

    @property
    def idle(self) -> list[str]:
        """Hooks that catch none of the failures: candidates to be taken out."""
        catching = {hook for names in self.caught for hook in names}
        return [hook for hook in self.slips if hook not in catching and hook not in self.broken]

    @property
    def missed(self) -> list[Failure]:
        """Failures that would happen again, or cannot be made again."""
        return [f for f, names in zip(self.failures, self.caught, strict=True) if not names]

    def __str__(self) -> str:
        if not self.failures:
            return f"No failures are in {LOG.as_posix()} yet: agentlab.ratchet.record adds them."
        lines = [f"{plural(len(self.failures), 'failure')}, {plural(len(self.slips), 'hook')}"]
        width = max(len(failure.what) for failure in self.failures)
        for failure, names, wrong in zip(self.failures, self.caught, self.failed, strict=True):
            nobody = f"it cannot be made again: {wrong}" if wrong else "NOTHING CATCHES IT"
            lines.append(f"  {failure.what:{width}}  {', '.join(names) or nobody}")
        if self.slips:
            lines.append("With one hook off, this slips through:")
        wide = max(map(len, self.slips), default=0)
        lines += [f"  {hook:{wide}}  {self._without(hook)}" for hook in self.slips]
        return "\n".join(lines)

    __repr__ = __str__

    def _without(self, hook: str) -> str:
        """What slips through without a hook, in words."""
        if hook in self.broken:
            return f"nobody knows, because it failed: {self.broken[hook]}"
        nothing = "it no longer catches anything" if hook in self.idle else "others catch the same"
        return ", ".join(f.what for f in self.slips[hook]) or f"nothing, {nothing}"


async def replay(workspace: str | os.PathLike[str], hooks: Hooks | None = None) -> Replayed:
    """Make the calls of the log again, with all hooks and with each of them off.

    ``hooks`` are those of the project's settings files if left out. The workspace itself is only
    read. Raises ValueError for a log, and SettingsError for settings, that cannot be read.
    """
    hooks = _told_apart(Hooks.load(workspace) if hooks is None else hooks)
    log = failures(workspace)
    said = [await _made_again(failure, hooks, workspace) for failure in log]
    slips = {}
    for hook in (hook for hook in hooks.hooks if hook.event in TOOL_EVENTS):
        others = hooks.without(hook)
        slips[hook.name] = tuple(
            [
                failure
                for failure, before in zip(log, said, strict=True)
                if before.objecting
                and not (await _made_again(failure, others, workspace)).objecting
            ]
        )
    broken = {hook: reason for each in said for hook, reason in each.of("error").items()}
    caught = tuple(each.objecting for each in said)
    return Replayed(tuple(log), caught, slips, broken, tuple(each.failed for each in said))


@dataclass(frozen=True)
class Said:
    """What came of a call that was made again: what hooks said, and why it failed, if it did."""

    pieces: list[Piece]
    failed: str = ""

    def of(self, *decisions: str) -> dict[str, str]:
        """The hooks that decided so, with their reasons."""
        said = [data for kind, data in self.pieces if kind == "hook.result"]
        return {s["hook"]: s["reason"] for s in said if s["decision"] in decisions}

    @property
    def objecting(self) -> tuple[str, ...]:
        """The hooks that objected. One that failed has not: it has judged nothing."""
        return tuple(self.of("ask", "deny"))


def _told_apart(hooks: Hooks) -> Hooks:
    """The same hooks, each with a name of its own: ``pytest``, ``pytest (2)``."""
    seen: Counter[str] = Counter()
    named = []
    for hook in hooks.hooks:
        seen[hook.name] += 1
        again = f" ({seen[hook.name]})" if seen[hook.name] > 1 else ""
        named.append(dataclasses.replace(hook, name=hook.name + again))
    return Hooks(named)


async def _made_again(failure: Failure, hooks: Hooks, workspace: str | os.PathLike[str]) -> Said:
    """Make a failure again, in a copy."""
    with tempfile.TemporaryDirectory(prefix="agentlab-ratchet-") as temporary:
        failure, copy = _copied(failure, Path(workspace), Path(temporary))
        return await _told(failure, hooks, copy)


def _copied(failure: Failure, workspace: Path, temporary: Path) -> tuple[Failure, Path]:
    """The failure in a copy of the workspace, as it was before as far as the log knows.

    Whole paths in the failure lead into the copy, so that nothing else is met.
    """
    workspace, temporary = workspace.resolve(), temporary.resolve()
    copy = temporary / workspace.name
    here, there = (json.dumps(str(path), ensure_ascii=False)[1:-1] for path in (workspace, copy))
    text = json.dumps(asdict(failure), ensure_ascii=False)
    failure = Failure(**json.loads(text.replace(here, there)))
    shutil.copytree(workspace, copy, ignore=shutil.ignore_patterns(*NOT_COPIED), symlinks=True)
    for name, text in failure.files.items():
        path = (copy / name).resolve()
        if not path.is_relative_to(copy):
            raise ValueError(f"{LOG.as_posix()}: the file {name} is not in the project")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return failure, copy


async def _told(failure: Failure, hooks: Hooks, copy: Path) -> Said:
    gate = Gate(None, Hooks(hooks.hooks, folder=copy))
    tools = {tool.name: tool for tool in toolbox(copy, network=True)}
    path = (copy / str(failure.input.get("file_path", ""))).resolve()
    cache = tools[failure.tool].cache if failure.tool in RUN else None
    if cache is not None and path.is_file():
        cache.wrote(path, path.read_bytes())  # they change only files that they know
    calls: list[Prepared | Outcome] = [prepare(tool_use("t1", failure.tool, failure.input), tools)]
    told = [piece async for piece in gate.decide(calls, Circumstances())]
    call = calls[0]
    if isinstance(call, Prepared):
        if failure.tool not in RUN:
            return Said(told)
        call = await gate.execute(call)
    return Said([*told, *call.told], str(call.block["content"]) if call.is_error else "")


def _add_rule(workspace: Path, rule: str) -> None:
    path = find_instructions(workspace) or workspace / NAMES[0]
    text = path.read_bytes().decode("utf-8", "replace") if path.exists() else ""
    line = f"- {' '.join(rule.split())}"
    if line in text.splitlines():
        return
    with path.open("a", encoding="utf-8") as file:
        file.write(("# Rules\n" if not text else "" if text.endswith("\n") else "\n") + line + "\n")
