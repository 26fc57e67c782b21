"""The gate: every call of every tool passes here, a whole turn at a time, before any of it runs.

Four opinions, in this order. (1) Rules: deny first, then ask, then allow; a deny ends it. (2) Hooks
see everything that is not denied, and may deny, ask, allow or change the input; what they changed
is checked and judged again from (1), and their allow never lifts an ask that a rule demands. (3) A
classifier sees only what no rule and no hook decided. (4) The user is asked for the rest.

A refusal is a result that the model can read: what was refused, why, and what would be allowed.
This is not a sandbox: a command that was allowed may do whatever you may do. Against that helps a
container, a virtual machine, or another user account. Built in chapters 05 and 06.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncGenerator
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from agentlab.hooks import NO_HOOKS, Hooks, Merged
from agentlab.permissions.decision import Answer, Asker, Circumstances, Decision, Question
from agentlab.tools import Outcome, Prepared, Tool, ToolError, add_text, failure, perform

if TYPE_CHECKING:
    from agentlab.permissions.policy import Permissions
    from agentlab.previews import Previews

Piece = tuple[str, dict[str, Any]]  # type and data of an event
MODES = {
    "default": "default", "accept_edits": "acceptEdits", "plan": "plan",
    "bypass": "bypassPermissions",
}  # fmt: skip
HEADLESS = Answer("deny", layer="headless")
_asking: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


@dataclass
class Gate:
    """What stands between a call and its execution: permissions and hooks, both optional."""

    permissions: Permissions | None = None
    hooks: Hooks = NO_HOOKS
    previews: Previews | None = None  # large results are kept on disk
    _seen: dict[str, Decision] = field(default_factory=dict, repr=False)  # call id -> of the rules
    _moved: bool = field(default=False, repr=False)  # a call of this turn did more than read
    _now: Circumstances = field(default_factory=Circumstances, repr=False)  # of the last turn

    async def decide(
        self, calls: list[Prepared | Outcome], now: Circumstances
    ) -> AsyncGenerator[Piece, None]:
        """Decide every call of a turn, yielding what happens on the way.

        What may not run is replaced in ``calls`` by its outcome, what was changed by the changed.
        """
        self._seen.clear()
        self._moved, self._now = False, now
        if self.permissions is None and not self.hooks:
            return
        for index, call in enumerate(calls):
            if isinstance(call, Prepared):
                ruling = Ruling(call, Decision("allow", "default"))
                async for piece in self._decide(ruling, now):
                    yield piece
                decision = ruling.decision
                about = {"tool_use_id": call.call["id"], "name": call.call["name"]}
                yield "permission.decided", {**about, **decision.to_dict()}
                calls[index] = ruling.call
                if decision.behaviour != "allow":
                    calls[index] = failure(call.call, refusal(ruling.call, decision))

    async def _decide(self, ruling: Ruling, now: Circumstances) -> AsyncGenerator[Piece, None]:
        ruling.decision = judged = self._judge(ruling.call)
        if judged.behaviour == "deny":
            return

        answer = await self.fire("PreToolUse", _payload(ruling.call), now, ruling.call.tool)
        for piece in answer.events(ruling.id):
            yield piece
        if answer.input is not None and answer.decision != "deny":
            note = "A hook changed the input of this call to"
            judged = ruling.change(answer.input, note, "hook") or self._judge(ruling.call)
        if answer.context:
            note = f"{ruling.call.note}\n{answer.context}".strip()
            ruling.call = replace(ruling.call, note=note)
        ruling.decision = merge(judged, answer)

        permissions = self.permissions
        if ruling.decision.behaviour == "undecided" and permissions and permissions.classifier:
            verdict, events = await permissions.classifier.classify(
                ruling.call, permissions.place(ruling.call), now
            )
            for event in events:
                yield event
            ruling.decision = verdict
        self._seen[ruling.id] = judged
        if ruling.decision.behaviour in ("ask", "undecided"):
            async for piece in self._ask(ruling, now):
                yield piece

    async def _ask(self, ruling: Ruling, now: Circumstances) -> AsyncGenerator[Piece, None]:
        asked = self._question(ruling, now)
        ask = self.permissions.ask if self.permissions else None
        answer = HEADLESS
        if ask is not None:
            async with _asking.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
                yield "permission.requested", asked.to_dict()
                answer = await _hear(ask, asked)
        if answer.behaviour == "allow" and answer.input not in (None, asked.input):
            assert answer.input is not None
            wrong = ruling.change(answer.input, "The user changed the input to", "user")
            judged = self._seen[ruling.id] = wrong or self._judge(ruling.call)
            again = await self.fire("PreToolUse", _payload(ruling.call), now, ruling.call.tool)
            if (judged := merge(judged, again)).behaviour == "deny":
                ruling.decision = judged
                return
        elif answer.behaviour == "allow" and self.permissions and answer.remember != "once":
            self.permissions.remember(asked.rules, always=answer.remember == "always")
        ruling.decision = _answered(asked, answer, ruling.decision)

    async def execute(self, call: Prepared, pool: Executor | None = None) -> Outcome:
        """Run one call that was allowed, then let the hooks look at what it did."""
        if self._moved and (stale := self._stale(call)):
            return stale
        self._moved = self._moved or not call.runs_beside_others
        before = _bytes_of(call) if self.hooks.on("PostToolUse", call.tool.name) else None
        room = self.previews.room(call.tool) if self.previews else None
        outcome = await perform(call, pool, room)
        if call.note:
            outcome = replace(outcome, block=add_text(outcome.block, call.note))
        event = "PostToolUseFailure" if outcome.is_error else "PostToolUse"
        payload = {**_payload(call), "tool_response": outcome.block["content"]}
        answer = await self.fire(event, payload, self._now, call.tool)
        text = answer.text()
        if answer.rollback:
            text = f"{text}\n{_roll_back(call, before)}".strip()
        block = add_text(outcome.block, text) if text else outcome.block
        if self.previews:
            block = self.previews.replace(call.call["id"], block, call.tool)
        return replace(outcome, block=block, told=tuple(answer.events(call.call["id"])))

    async def stop(self, now: Circumstances, active: bool) -> Merged:
        """What the Stop hooks say: a deny sends the model on. ``active``: it is not the first."""
        return await self.fire("Stop", {"stop_hook_active": active}, now)

    async def fire(
        self, event: str, payload: dict[str, Any], now: Circumstances, tool: Tool | None = None
    ) -> Merged:
        """What the hooks of an event say. They are told the mode, by the name that is known."""
        mode = MODES[self.permissions.mode if self.permissions else "bypass"]
        return await self.hooks.fire(event, {"permission_mode": mode, **payload}, now, tool)

    def _judge(self, call: Prepared) -> Decision:
        if self.permissions is None:
            return Decision("allow", "default", "no permissions are set")
        return self.permissions.judge(call)

    def _stale(self, call: Prepared) -> Outcome | None:
        """A refusal, if a call before this one moved the ground that it was judged on."""
        decided, again = self._seen.get(call.call["id"]), self._judge(call)
        order = ("allow", "undecided", "ask", "deny")
        if decided is None or order.index(again.behaviour) <= order.index(decided.behaviour):
            return None
        text = "Something changed since this call was decided, so it was not run. Make it again."
        return failure(call.call, f"{text} {again.reason}")

    def _question(self, ruling: Ruling, now: Circumstances) -> Question:
        call, decision = ruling.call, ruling.decision
        about: dict[str, Any] = {"shown": str(call.call["input"])}
        if self.permissions is not None:
            about = self.permissions.describe(call)
        return Question(
            id=ruling.id, agent=now.agent, tool=call.tool.name, input=call.call["input"],
            reason=decision.reason or "no rule says whether this may run",
            layer=decision.layer, **about,
        )  # fmt: skip


@dataclass
class Ruling:
    """A call on its way through the gate: as it would run now, and what is decided about it."""

    call: Prepared
    decision: Decision

    @property
    def id(self) -> str:
        id: str = self.call.call["id"]
        return id

    def change(self, input: dict[str, Any], note: str, by: str) -> Decision | None:
        """Take another input. What is wrong with it is a deny, and the call stays as it was."""
        try:
            arguments = self.call.tool.check(input)
        except ToolError as error:
            return Decision("deny", by, f"The {by} gave the call an invalid input. {error}")
        block = {**self.call.call, "input": input}
        self.call = Prepared(block, self.call.tool, arguments, f"[{note} {input}]")
        return None


def merge(judged: Decision, answer: Merged) -> Decision:
    """The rules' decision and that of the hooks as one: deny, then ask, then allow."""
    if judged.behaviour == "deny":
        return judged
    if answer.decision == "deny":
        return Decision("deny", "hook", answer.reason)
    if judged.behaviour == "ask":
        return judged
    if answer.decision == "ask":
        return Decision("ask", "hook", answer.reason)
    if answer.decision == "allow":
        return Decision("allow", "hook", answer.reason)
    return judged


def refusal(call: Prepared, decision: Decision) -> str:
    """What the model is told about a call that may not run."""
    by = {"user": "The user", "hook": "A hook", "classifier": "The classifier"}
    who = by.get(decision.layer, "The permissions of this session")
    text = f"{who} did not allow this call of {call.tool.name}, so nothing was run."
    if decision.reason:
        text += f" Reason: {decision.reason}."
    if decision.part:
        text += f" It is about this part: `{decision.part}`."
    if decision.rule:
        text += f" The rule: {decision.rule}."
    if decision.allowed:
        text += f" Allowed would be: {decision.allowed}."
    return text


async def _hear(ask: Asker, asked: Question) -> Answer:
    """The answer of a user. If asking itself fails, that is no consent."""
    try:
        return await ask(asked)
    except Exception as error:
        return Answer("deny", f"the question could not be asked: {error}", layer="headless")


def _answered(asked: Question, answer: Answer, before: Decision) -> Decision:
    if answer.behaviour == "allow":
        return Decision("allow", answer.layer, answer.note or f"approved ({answer.remember})")
    if answer.layer == "headless":
        nobody = answer.note or "nobody can be asked here"
        reason = f"{nobody}, and it would have to be, because {asked.reason}"
        return replace(before, behaviour="deny", layer="headless", reason=reason)
    return Decision("deny", answer.layer, answer.note or "the user said no", part=before.part)


def _payload(call: Prepared) -> dict[str, Any]:
    about = call.call
    return {"tool_name": about["name"], "tool_input": about["input"], "tool_use_id": about["id"]}


def _bytes_of(call: Prepared) -> bytes | OSError | None:
    """What is in the file that a call is going to write; None if it is not there."""
    if call.tool.permission != "write" or call.path is None:
        return None
    path = Path(call.path)
    try:
        if path.exists() and not path.is_file():  # to read a pipe could take for ever
            return OSError(errno.EINVAL, "it is not an ordinary file")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return error


def _roll_back(call: Prepared, before: bytes | OSError | None) -> str:
    """Put the file that a call wrote back to what it was; says what was done."""
    if call.tool.permission != "write" or call.path is None:
        return "[a hook asked for a rollback, but it is not known which files this call wrote]"
    if isinstance(before, OSError):
        return f"[a hook asked for a rollback, but it could not be read before: {before.strerror}]"
    path = Path(call.path)
    try:
        if before is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(before)
    except OSError as error:
        return f"[a hook asked for a rollback, which failed: {error.strerror}]"
    return "[a hook asked for a rollback: the file is again as it was before this call]"
