"""The agent: a model, some tools and the loop, with everything optional left out.

`Agent` composes the components and keeps the conversation between two tasks. There are four ways
to give it a task, all of the same run: ``async for event in agent.run(task)`` to see everything,
``await agent.ask(task)`` for the result, ``agent.start(task)`` for a task that runs in the
background, and ``agent.ask_sync(task)`` in a script.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any

from agentlab import loop
from agentlab.compaction import Compaction
from agentlab.compaction.api import unread
from agentlab.compaction.fitting import joined, lean
from agentlab.compaction.kept import pinned, pins_and_unpinned, pins_in, said_in, unpinned
from agentlab.compaction.making_room import make_room, window_of
from agentlab.compaction.settings import trigger
from agentlab.costs import Usage
from agentlab.events import SCHEMA_VERSION, Event
from agentlab.file_cache import FileCache
from agentlab.hooks import NO_HOOKS, Hooks, Merged
from agentlab.instructions import read_instructions
from agentlab.limits import Limits
from agentlab.messages import Block, History, blocks_of, normalise, text, user, valid_unicode
from agentlab.models import find_model, small_model
from agentlab.partition import concurrency_cap
from agentlab.permissions.gate import Gate
from agentlab.permissions.policy import Permissions
from agentlab.previews import Previews, shrink
from agentlab.providers import Endpoint, connect
from agentlab.result import Result
from agentlab.retry import Retry
from agentlab.tokens import count_request
from agentlab.toolbox.complete import task_complete
from agentlab.tools import MAX_RESULT_CHARS, Tool, ToolContext
from agentlab.transcript import Loaded, Transcript, history_of, load

FAREWELL_S = 1.0  # what SessionEnd hooks have when a run is cancelled
HEARTBEAT_S = 0.25  # wakes an idle kernel so that its interrupt button works (ipykernel 7.4)


class Agent:
    """A model that can act.

    ``model``: a model's name, or None for the endpoint's. ``tools``: what it may use. ``system``:
    its standing instructions, to which the AGENTS.md of ``workspace`` is added. ``endpoint``: from
    `connect`; the simulator if left out. ``permissions``: who may do what; left out, nothing is
    asked about against the simulator, and everything that changes something elsewhere.
    ``transcript``: a path or a `Transcript` that every event is written to. ``autopilot``: go on
    until the model says that the task is complete. ``cache``: mark what is sent for the prompt
    cache. System and tools are read once, here.
    """

    def __init__(
        self,
        model: str | None = None,
        tools: Sequence[Tool] = (),
        system: str = "",
        *,
        workspace: str | os.PathLike[str] | None = None,
        endpoint: Endpoint | None = None,
        limits: Limits | None = None,
        retry: Retry | None = None,
        compaction: Compaction | None = None,
        permissions: Permissions | None = None,
        hooks: Hooks | None = None,
        previews: Previews | None = None,
        transcript: str | os.PathLike[str] | Transcript | None = None,
        autopilot: bool = False,
        max_tokens: int = 8192,
        normalise: bool = True,
        concurrency: int | None = None,
        cache: bool = True,
        history: Iterable[dict[str, Any]] = (),
        name: str = "main",
    ) -> None:
        for part, kind in (
            (limits, Limits), (retry, Retry), (compaction, Compaction),
            (permissions, Permissions), (hooks, Hooks), (previews, Previews),
        ):  # fmt: skip
            if part is not None and not isinstance(part, kind):
                wants = kind.__name__
                raise TypeError(f"{wants.lower()}={part!r}: give it {wants}(...)")
        self.endpoint = endpoint or connect(model=model)
        previews = previews.clone() if previews else None  # each conversation decides for itself
        if previews:  # what was cut when it was sent, and got a note, is a little over the bound
            history = shrink(history, previews, 2 * MAX_RESULT_CHARS, tools)
        self.history = History(history)
        self._told = 0  # messages of the history that the transcript already holds
        if transcript is not None and not isinstance(transcript, Transcript):
            transcript = Transcript(transcript)
        self.transcript = transcript
        if autopilot and task_complete not in tools:
            tools = [*tools, task_complete]
        names = [tool.name for tool in tools]
        if len(set(names)) < len(names):
            raise ValueError(f"two tools share a name: {', '.join(names)}")
        if permissions is None:
            permissions = _default_permissions(self.endpoint, workspace, tools)
        self._setup = loop.Setup(
            client=None,
            model=model or self.endpoint.model,
            clock=self.endpoint.clock,
            tools={tool.name: tool for tool in tools},
            system=_with_instructions(system, workspace),
            limits=limits or Limits(),
            retry=retry or Retry(seed=0 if self.endpoint.simulated else None),
            compaction=compaction,
            autopilot=autopilot,
            max_tokens=max_tokens,
            normalise=normalise,
            cap=concurrency_cap(concurrency),
            gate=Gate(permissions, hooks or NO_HOOKS, previews),
            small_model=small_model() if find_model(model or self.endpoint.model) else "",
            cache=cache,
            thinking=self.endpoint.thinking(model or self.endpoint.model),
            name=name,
            session=transcript.path.stem if transcript else name,
            transcript=str(transcript.path.absolute()) if transcript else "",
        )
        if not self.history:
            self._forget_contents()  # the tools may come from another conversation
        self._running = False
        self._pins: dict[str, None] = {}  # from code, in order
        self._unpinned: set[str] = set()  # taken back; the model has not been told yet
        self._asked = ""  # what the user asked last: the harness speaks as the user, too
        self._cleared = 0  # results that the API left out of the last prompt
        self._resumed: Event | None = None  # the session.start that this conversation goes on from

    @classmethod
    def resume(cls, path: str | os.PathLike[str], **arguments: Any) -> Agent:
        """An agent that goes on with the conversation of a transcript, and adds to that file.

        Model and system prompt are those of the transcript unless given; the tools are functions,
        so give them again. Raises TranscriptError and FileNotFoundError as `load` does.
        """
        if "system" not in arguments:
            arguments.pop("workspace", None)  # its AGENTS.md stands in the transcript's system
        loaded: Loaded = load(path)
        start = next(e for e in reversed(loaded.events) if e.type == "session.start")
        arguments = {"model": start.model, "system": start.system, **arguments}
        agent = cls(
            transcript=path,
            history=history_of(loaded.events, start.agent),
            name=start.agent,
            **arguments,
        )
        agent._told, agent._resumed = len(agent.history), start
        for event in loaded.events:
            about = (event.type, event.agent, event.data.get("origin"))
            if about == ("user.message", start.agent, "user"):
                agent._asked = blocks_of(event.message)[0]["text"]
        return agent

    def __repr__(self) -> str:
        tools = ", ".join(self._setup.tools) or "no tools"
        said = f"{len(self.history)} messages"
        return f"Agent({self._setup.model}, {tools}, {said}, at {self.endpoint.name})"

    @property
    def previews(self) -> Previews | None:
        """What was decided about its results; a child that begins with its history takes them."""
        return self._setup.gate.previews

    @property
    def tools(self) -> dict[str, Tool]:
        """The tools that it has, by name. What is put in its place here runs from then on."""
        return self._setup.tools

    def pin(self, constraint: str) -> None:
        """Keep a constraint through every compaction: ``agent.pin("never touch legacy/")``.

        The model is told with the next task. Raises ValueError unless it is one line of text.
        """
        if not constraint.strip() or "\n" in constraint.strip():
            raise ValueError("pin one constraint at a time, in one line")
        pin = valid_unicode(constraint.strip())
        self._pins[pin] = None
        self._unpinned.discard(pin)

    def unpin(self, constraint: str) -> None:
        """Take back a constraint, whoever pinned it. The model is told with the next task.

        Raises ValueError, which names what is pinned, if this is not.
        """
        pin = valid_unicode(constraint.strip())
        if pin not in self.pins:
            raise ValueError(f"this is not pinned: {pin!r}; pinned: {', '.join(self.pins) or '-'}")
        self._pins.pop(pin, None)
        self._unpinned.add(pin)

    @property
    def pins(self) -> tuple[str, ...]:
        """The constraints that hold now, pinned from code or by the user."""
        known = pins_in(self.history, self._pins)
        return tuple(pin for pin in known if pin not in self._unpinned)

    async def compact(self, instructions: str = "") -> list[Event]:
        """Make the history shorter now, at the level that is set, else by a summary.

        ``instructions``: what matters above all. Returns what happened as events; the old history
        stays if one of them is ``context.not_compacted``, which says why.
        Raises RuntimeError if the agent is at work.
        """
        await self._describe_tools()
        self._not_at_work()
        settings = self._setup.compaction or Compaction()
        settings = replace(settings, instructions=instructions or settings.instructions)
        # What the user took back and code has pinned since is told with the next task, not here.
        gone = pins_and_unpinned(self.history)[1]
        pins = tuple(pin for pin in self._pins if pin not in gone)
        setup = replace(self._ready(), compaction=settings, pins=pins)
        if setup.normalise:
            normalise(self.history)  # a run that was cancelled may have left calls without results
        state = loop.State(self.history, started_at=setup.clock.now(), task=self._asked)
        tokens = count_request(setup.system, list(setup.definitions), self.history)
        events: list[Event] = []
        self._running = True
        try:
            async with aclosing(make_room(setup, state, tokens, "asked")) as pieces:
                async for kind, data in pieces:
                    event = setup.event(kind, 0, **data)
                    self._store(event)
                    events += [] if event.live else [event]
                    if kind == "context.compacted":
                        self._told = len(self.history)
                        self._forget_contents()
        finally:
            self._running = False
        return events

    async def run(self, task: str) -> AsyncGenerator[Event, None]:
        """Work on ``task``, yielding events. A second run continues the conversation.

        Raises ValueError for an empty task (nothing is sent) and RuntimeError if it is at work.
        """
        if not task.strip():
            raise ValueError("the task is empty; nothing was sent")
        await self._describe_tools()
        self._not_at_work()  # from here to where it is set nothing is awaited
        setup = self._ready()
        state = loop.State(self.history, started_at=setup.clock.now(), task=task)
        self._running, ended = True, False
        caches = self._file_caches()
        for cache in caches:
            cache.used_by(self)
        heartbeat = asyncio.create_task(_heartbeat())
        try:
            async with aclosing(self._events(setup, state)) as events:
                async for event in events:
                    self._store(event)
                    ended = ended or event.type == "session.end"
                    if event.type == "assistant.turn_end":
                        spent = Usage.from_dict(event.total_usage)
                        state = replace(
                            state, turn=event.turn, usage=spent, cost_usd=event.total_usd
                        )
                    yield event
        finally:
            heartbeat.cancel()
            for cache in caches:
                cache.left_by(self)
            self._running = False
            self._told = len(self.history)
            if not ended:  # cancelled: nobody listens any more, but the transcript says so
                self._forget_contents()
                for event in loop.ending(setup, replace(state, status="cancelled"), state.turn):
                    self._store(event)
                with suppress(TimeoutError):
                    async with asyncio.timeout(FAREWELL_S):
                        await self._hooked("SessionEnd", setup, state, reason="cancelled")

    async def _events(self, setup: loop.Setup, state: loop.State) -> AsyncGenerator[Event, None]:
        """The events of one run: what the hooks say to its start, the task, the loop, its end."""
        source = "resume" if len(self.history) else "startup"
        yield setup.event("session.start", 0, **self._about())
        task = [text(valid_unicode(state.task))]
        for name, data in (("SessionStart", {"source": source}), ("UserPromptSubmit", {})):
            heard = await self._hooked(name, setup, state, prompt=state.task, **data)
            for kind, about in heard.events():
                state = loop.charge(state, kind, about)
                yield setup.event(kind, 0, **about)
            if heard.decision == "deny":
                state = replace(state, status="blocked", detail=heard.reason)
            elif heard.text():
                task.append(text(heard.text()))
        task += self._news_of_pins(task)
        if not state.status:
            self.history.append(user(*task) if len(task) > 1 else user(valid_unicode(state.task)))
            held = pins_in(self.history)  # this very task may have taken some back
            self._pins = {pin: None for pin in self._pins if pin in held}
            self._unpinned.clear()
            setup = replace(setup, pins=tuple(self._pins))
            self._asked = state.task
            yield setup.event("user.message", 0, message=self.history[-1], origin="user")
        status = state.status
        async with aclosing(loop.run(setup, state)) as events:
            async for event in events:
                status = event.data.get("status", status)
                if self._has_lost(event):
                    self._forget_contents()
                yield event
        heard = await self._hooked("SessionEnd", setup, state, reason=status)
        for kind, about in heard.events():
            yield setup.event(kind, 0, **about)

    def _news_of_pins(self, task: list[Block]) -> list[Block]:
        """What the model has to be told with this task: what holds no longer, and what does now.

        The task is later than what was pinned or taken back from code, so its own words count.
        """
        before, said = pins_in(self.history), dict(said_in(task))
        gone = [pin for pin in before if pin in self._unpinned and pin not in said]
        news = [text(unpinned(gone))] if gone else []
        now = user(*task, *news)
        holds = pins_in(
            [*self.history, now], [pin for pin in self._pins if pin not in (*before, *said)]
        )
        read = pins_in([*self.history[unread(self.history) :], now])
        if new := [pin for pin in holds if pin not in read]:
            news.append(text(pinned(new)))
        return news

    async def _hooked(self, name: str, setup: loop.Setup, state: loop.State, **data: Any) -> Merged:
        """What the hooks of a life-cycle event say."""
        return await setup.gate.fire(name, data, setup.circumstances(state))

    async def ask(self, task: str) -> Result:
        """Work on ``task`` to the end and return the `Result`."""
        async with aclosing(self.run(task)) as events:
            return Result.from_events([event async for event in events if not event.live])

    def start(self, task: str) -> asyncio.Task[Result]:
        """Work on ``task`` in the background (Voilà, JupyterLite); await or cancel the result."""
        return asyncio.create_task(self.ask(task))

    def ask_sync(self, task: str) -> Result:
        """`ask` for a script. Raises RuntimeError where an event loop runs, as in a notebook."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.ask(task))
        raise RuntimeError(
            "an event loop is running here (a notebook?): use 'await agent.ask(...)'"
        )

    def _ready(self) -> loop.Setup:
        """The setup with what only holds for the next run."""
        return replace(
            self._setup,
            client=self.endpoint.client(),
            limits=self._limits(),
            pins=tuple(self._pins),
        )

    def _not_at_work(self) -> None:
        if self._running:
            raise RuntimeError("this agent is at work; wait for it, or make another one")

    def _about(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA_VERSION,
            "model": self._setup.model,
            "endpoint": self.endpoint.name,
            "simulated": self.endpoint.simulated,
            "system": self._setup.system,
            "tools": list(self._setup.definitions),
            "limits": {**self._limits().to_dict(), "concurrency": self._setup.cap},
            "compaction": self._compacts_at(),
            # all of it if the transcript holds another one: who reads this begins anew with it
            "history": list(self.history) if len(self.history) != self._told else [],
        }

    def _compacts_at(self) -> dict[str, Any] | None:
        """How the history is kept small: the level, the window and the trigger, in tokens."""
        compaction, setup = self._setup.compaction, self._setup
        window = window_of(compaction, setup.model) if compaction else None
        if compaction is None or not window:
            return None
        mark = trigger(compaction, window, setup.max_tokens)
        return {"level": compaction.level, "window": window, "trigger": mark}

    def _limits(self) -> Limits:
        """The limits of the next run: what is left of the endpoint's budget is one of them."""
        limits, left = self._setup.limits, self.endpoint.left_usd
        if left is None:
            return limits
        if limits.usd is not None and limits.usd < left:
            return replace(limits, mode=limits.mode or "strict")
        return replace(limits, usd=left, mode="strict")

    async def _describe_tools(self) -> None:
        """Ask each tool once how it describes itself; from then on that is what the model sees."""
        if self._setup.tools and not self._setup.definitions:
            tools = self._setup.tools
            context = ToolContext(self._setup.model, tuple(tools))
            described = [await tool.describe(context) for tool in tools.values()]
            self._setup = replace(self._setup, definitions=tuple(described))
        before, self._resumed = self._resumed, None
        now = self._setup.system, list(self._setup.definitions)
        if before is not None and now != (before.system, before.tools):
            self._go_on_as(_without_thinking(self.history))  # bound to the old prefix
        settings = self._setup.compaction
        by_api = settings is not None and settings.level == "api" and settings.api_summary
        if not by_api and unread(self.history):  # the API knows its summaries only if asked for
            self._go_on_as(joined([lean(message) for message in self.history]))

    def _go_on_as(self, messages: list[dict[str, Any]]) -> None:
        """Leave out what the API would refuse here; the transcript has to hold that, too."""
        self.history, self._told = History(messages), 0

    def _has_lost(self, event: Event) -> bool:
        """Whether results have left the context here: dropped by us, or newly by the API."""
        before = self._cleared
        match event.type:
            case "context.compacted":
                self._cleared = 0
                return True
            case "context.edited":  # it tells the same again in every turn
                self._cleared = sum(edit.get("cleared_tool_uses", 0) for edit in event.edits)
                return self._cleared > before
            case "assistant.message":
                return any(block["type"] == "compaction" for block in event.message["content"])
        return False

    def _forget_contents(self) -> None:
        """Results have left the context, or never got there: what was read has to be sent again."""
        for cache in self._file_caches():
            cache.forget_contents()

    def _file_caches(self) -> list[FileCache]:
        """Of its tools; what a server runs has none."""
        caches = (getattr(tool, "cache", None) for tool in self._setup.tools.values())
        return [cache for cache in caches if cache is not None]

    def _store(self, event: Event) -> None:
        if self.transcript is not None:
            self.transcript.write(event)


def _with_instructions(system: str, workspace: str | os.PathLike[str] | None) -> str:
    """The system prompt with the AGENTS.md of a workspace, read once, here."""
    instructions = read_instructions(workspace) if workspace is not None else ""
    return "\n\n".join(filter(None, [system, instructions]))


def _default_permissions(
    endpoint: Endpoint, workspace: str | os.PathLike[str] | None, tools: Sequence[Tool]
) -> Permissions | None:
    """Without any given: none against the simulator, which works on throw-away copies."""
    if endpoint.simulated:
        return None
    from agentlab.permissions.asking import best_asker

    root = next((tool.root for tool in tools if tool.root), ".")
    return Permissions(workspace=workspace or root, ask=best_asker())


def _without_thinking(history: History) -> list[dict[str, Any]]:
    signed = ("thinking", "redacted_thinking")
    return [{**m, "content": [b for b in m["content"] if b["type"] not in signed]} for m in history]


async def _heartbeat() -> None:
    while True:  # noqa: ASYNC110 (it waits for nothing, it only wakes the event loop)
        await asyncio.sleep(HEARTBEAT_S)
