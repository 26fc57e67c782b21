"""Hooks: a team's own rules, at fixed points of a run, without touching the harness.

A hook listens to an event: before a tool runs, after it, when the agent wants to stop. It is a
Python function, a command, a webhook or a question to a small model, and what it may say is short:
nothing, allow, ask, deny, another input, a text to add, or undo. **Success is silent, failure is
verbose**: what a hook complains about is added to the tool's result, and the model mends it in its
next turn. A hook that fails is never consent: before a tool runs it counts as "ask".

All hooks of an event run at once, and what they say is merged: deny, then ask, then allow.
Changes of an input are the one thing that needs an order (see `Hooks.fire`). Hooks run with your
own rights: load only those that you would run yourself. Built in chapter 07.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentlab.hook_answers import HookResult, bounded
from agentlab.hook_runners import Prompt, Situation, Webhook
from agentlab.hook_settings import EVENTS, TOOL_EVENTS, Hook, hooks_of, load, on
from agentlab.permissions.decision import Circumstances
from agentlab.permissions.judge import Call, Place, judge
from agentlab.permissions.rules import Rules
from agentlab.tools import Tool, ToolError

__all__ = [
    "EVENTS", "NO_HOOKS", "TOOL_EVENTS", "Hook", "HookResult", "Hooks", "Merged", "Prompt",
    "Webhook", "counts_as", "on",
]  # fmt: skip


@dataclass(frozen=True)
class Merged:
    """What all hooks of an event said, as one."""

    decision: str = ""  # "" | allow | ask | deny
    reason: str = ""
    input: dict[str, Any] | None = None
    rollback: bool = False
    results: tuple[HookResult, ...] = ()

    @classmethod
    def of(cls, results: Sequence[HookResult], input: dict[str, Any] | None = None) -> Merged:
        """The most restrictive decision (deny, then ask, then allow), with the reasons for it."""
        counted = [(counts_as(result), result) for result in results]
        decisions = {decision for decision, _ in counted}
        decision = next((d for d in ("deny", "ask", "allow") if d in decisions), "")
        reasons = [_labelled(r, r.reason) for d, r in counted if decision and d == decision]
        rollback = any(result.rollback for result in results)
        return cls(decision, "\n".join(reasons), input, rollback, tuple(results))

    @property
    def context(self) -> str:
        """The texts that hooks add without an objection."""
        return "\n".join(_labelled(r, r.context) for r in self.results if r.context)

    def text(self) -> str:
        """What is added to the result of a tool: complaints first, then contexts."""
        complaints = [
            _labelled(r, r.reason) for r in self.results if r.decision in ("deny", "ask", "error")
        ]
        return "\n".join(filter(None, [*complaints, self.context]))

    def events(self, tool_use_id: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
        """Type and data of the events: hook.result for whatever was said, and side calls."""
        for result in self.results:
            if result.side_call is not None:
                yield "model.side_call", result.side_call
            said = result.reason or result.context
            if result.input is not None:
                changed = json.dumps(result.input, ensure_ascii=False)
                said = bounded(f"{said} It changed the input to {changed}".strip(), 2000)
            if result.decision or said or result.rollback:
                about = {"event": result.event, "hook": result.hook, "decision": result.decision}
                yield "hook.result", {**about, "reason": said, "tool_use_id": tool_use_id}


def counts_as(result: HookResult) -> str:
    """What a decision means for its event.

    Before a tool runs an error is "ask". At a prompt there is nobody to ask, so "ask" and an error
    are "deny". At other events there is nothing to allow and nothing to ask: an error is recorded,
    is told where a tool has run, and does not send the model on where it wants to stop.
    """
    if result.event == "PreToolUse":
        return "ask" if result.decision == "error" else result.decision
    if result.event == "UserPromptSubmit" and result.decision in ("ask", "error"):
        return "deny"
    return "deny" if result.decision == "deny" else ""


def _labelled(result: HookResult, text: str) -> str:
    return f"[hook {result.hook}] {text or 'no reason given'}"


class Hooks:
    """The hooks of a session: ``Hooks([on("PreToolUse", "Bash", guard)])``, or `Hooks.load`.

    ``folder`` is the project: commands run there. Left out, it is the folder of the tool.
    ``ignored`` names what stands in settings files and has no meaning here.
    """

    def __init__(
        self,
        hooks: Iterable[Hook] = (),
        *,
        folder: str | os.PathLike[str] | None = None,
        ignored: Iterable[str] = (),
    ) -> None:
        self.hooks, self.ignored = tuple(hooks), tuple(ignored)
        for hook in self.hooks:
            if not isinstance(hook, Hook):
                raise TypeError(f"{hook!r} is no hook; make one: on('PreToolUse', 'Bash', ...)")
        self.folder = Path(folder).absolute() if folder is not None else None

    @classmethod
    def from_settings(
        cls, settings: dict[str, Any], folder: str | os.PathLike[str], source: str = "settings"
    ) -> Hooks:
        """The hooks of a settings file that was read. Raises SettingsError, naming the place."""
        hooks, ignored = hooks_of(settings, source)
        return cls(hooks, folder=folder, ignored=ignored)

    @classmethod
    def load(cls, workspace: str | os.PathLike[str] = ".", *, home: Any = None) -> Hooks:
        """The hooks of the settings files of this user and this project. Raises SettingsError."""
        hooks, ignored = load(workspace, home)
        return cls(hooks, folder=workspace, ignored=ignored)

    def __bool__(self) -> bool:
        return bool(self.hooks)

    def __repr__(self) -> str:
        left_out = f"; {len(self.ignored)} left out, see .ignored" if self.ignored else ""
        named = ", ".join(f"{hook.event} {hook.name}" for hook in self.hooks) or "none"
        return f"Hooks({named}{left_out})"

    def without(self, hook: Hook) -> Hooks:
        """The same without one of them."""
        left = (other for other in self.hooks if other is not hook)
        return Hooks(left, folder=self.folder, ignored=self.ignored)

    def on(self, event: str, tool: str = "") -> bool:
        """Whether any hook listens to an event (of a tool)."""
        return any(h.event == event and h.hears({"tool_name": tool}) for h in self.hooks)

    async def fire(
        self,
        event: str,
        payload: dict[str, Any],
        now: Circumstances | None = None,
        tool: Tool | None = None,
    ) -> Merged:
        """Run all hooks of an event, and merge what they say.

        All run at once, on the input as it is. If some change it: the first change (in the order
        of configuration) is taken, each later hook that wanted one runs again on the input as it
        then stands, and at last all others look once more, at what will really run; what they
        would still change is an "ask" then. A deny ends it at any point, and an allow counts only
        if it was given to the final input. So a hook runs twice in one case alone: if another one
        has changed what it judged.
        """
        hooks = [hook for hook in self.hooks if hook.event == event]
        if not hooks:
            return Merged()
        return await Firing(event, hooks, self.folder, now, tool).run(payload)


@dataclass(frozen=True)
class Firing:
    """One event on its way through the hooks that listen to it."""

    event: str
    hooks: list[Hook]
    folder: Path | None
    now: Circumstances | None
    tool: Tool | None

    async def run(self, about: dict[str, Any]) -> Merged:
        """All hooks at once; if some changed the input, the changes one after the other."""
        payload = self._payload(about)
        listening = self._listening(payload)
        first = await self._ask(listening, payload)
        if all(r.input is None for r in first) or any(r.decision == "deny" for r in first):
            return Merged.of(first)
        changers = [
            pair for pair in zip(listening, first, strict=True) if pair[1].input is not None
        ]
        quiet = [_no_allow(r) for r in first if r.input is None]
        return await self._change(changers, quiet, payload)

    async def _change(
        self,
        changers: list[tuple[Hook, HookResult]],
        results: list[HookResult],
        payload: dict[str, Any],
    ) -> Merged:
        for number, (hook, said) in enumerate(changers):
            if number:
                [said] = await self._ask([hook], payload)
            if said.input is not None:
                results = [_no_allow(result) for result in results]
                payload = {**payload, "tool_input": said.input}
            results.append(said)
            if said.decision == "deny" or not self._valid(payload["tool_input"]):
                return Merged.of(results, payload["tool_input"])  # the gate says what is wrong
        others = [h for h in self._listening(payload) if h not in [c for c, _ in changers]]
        last = map(_too_late, await self._ask(others, payload))
        return Merged.of([*results, *last], payload["tool_input"])

    async def _ask(self, hooks: Sequence[Hook], payload: dict[str, Any]) -> list[HookResult]:
        """Run hooks at once; their results in order. An input that stayed the same is no change."""
        side_calls = self.now.side_calls if self.now else None
        project = str(self._project)
        results = await asyncio.gather(
            *(
                h.run(Situation(self.event, payload, project, h.timeout_s, side_calls))
                for h in hooks
            )
        )
        same = payload.get("tool_input")
        return [replace(r, input=None) if r.input == same else r for r in results]

    def _listening(self, payload: dict[str, Any]) -> list[Hook]:
        return [
            hook
            for hook in self.hooks
            if hook.hears(payload) and (not hook.only_if or self._fits(hook.only_if, payload))
        ]

    def _fits(self, rule: str, payload: dict[str, Any]) -> bool:
        """Whether a call fits a permission rule, or what it would do cannot be known."""
        about = (self.tool.permission, self.tool.path_argument) if self.tool else (None, "")
        name = str(payload.get("tool_name"))
        call = Call(name, payload.get("tool_input") or {}, *about)
        place = Place.of(self._project, home=None, platform=sys.platform)
        rules = Rules.of(deny=[rule], allow=[name])
        return judge(call, rules, replace(place, cwd=payload["cwd"])).behaviour != "allow"

    def _valid(self, input: dict[str, Any]) -> bool:
        try:
            return self.tool is None or self.tool.check(input) is not None
        except ToolError:
            return False

    @property
    def _project(self) -> Path:
        return self.folder or (self.tool and self.tool.root) or Path.cwd()

    def _payload(self, about: dict[str, Any]) -> dict[str, Any]:
        """What hooks are told, in the fields that people know."""
        cwd = self.tool.where() if self.tool and self.tool.where else None
        failed = {"error": about.get("tool_response")} if self.event == "PostToolUseFailure" else {}
        return {
            "session_id": self.now.session if self.now else "",
            "transcript_path": self.now.transcript if self.now else "",
            "cwd": str(cwd or (self.tool and self.tool.root) or self._project),
            "permission_mode": "default",
            **failed,
            **about,
            "hook_event_name": self.event,
        }


def _no_allow(result: HookResult) -> HookResult:
    """A result that was given to another input than the final one: its allow does not count."""
    return replace(result, decision="") if result.decision == "allow" else result


def _too_late(result: HookResult) -> HookResult:
    """A result of the last look: a change that it still wants becomes a question."""
    if result.input is None or result.decision in ("deny", "error"):
        return replace(result, input=None)
    wish = json.dumps(result.input, ensure_ascii=False)
    text = f"another hook has changed the input, and this one would change it again, to {wish}"
    return replace(result, decision="ask", reason=bounded(text), input=None)


NO_HOOKS = Hooks()
