"""Which hooks there are: written in Python with `on`, or read from settings files.

A hook says when it runs (an event, a matcher for the tool, perhaps a permission rule for the
input), what runs, and how long that may take. The settings files have the form that is widely
used, so a team's existing ones work as they are. What does not parse is an error that names the
place, because a hook that is silently left out is a rule that nobody enforces; what belongs to
events that other harnesses have and this one has not is left out and named. Built in chapter 07.
"""

from __future__ import annotations

import asyncio
import difflib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentlab.hook_answers import HookFailed, HookResult, bounded
from agentlab.hook_commands import Command
from agentlab.hook_runners import Function, Kind, Prompt, Situation, Webhook
from agentlab.permissions.json_places import Places, places
from agentlab.permissions.rules import Rule
from agentlab.permissions.settings import SettingsError, read_settings, setting_files

TIMEOUT_S = 60.0
TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
SUBJECTS = {  # what a matcher is compared with; at other events it says nothing
    **dict.fromkeys(TOOL_EVENTS, "tool_name"),
    "SessionStart": "source", "PreCompact": "trigger", "PostCompact": "trigger",
    "SessionEnd": "reason",
}  # fmt: skip
EVENTS = (*SUBJECTS, "UserPromptSubmit", "Stop")
ELSEWHERE = (  # events of other harnesses that this one does not have, as of 2026-11-30
    "Notification", "SubagentStart", "SubagentStop", "PermissionRequest", "PermissionDenied",
    "PostToolBatch", "UserPromptExpansion", "StopFailure", "Elicitation", "ElicitationResult",
    "TeammateIdle", "TaskCreated", "TaskCompleted", "Setup", "InstructionsLoaded", "CwdChanged",
    "FileChanged", "ConfigChange", "WorktreeCreate", "WorktreeRemove", "PreModelSwitch",
    "PostModelSwitch", "MessageDisplay", "DirectoryAdded", "QueryEnd",
)  # fmt: skip
FIELDS = {"type", "timeout", "if", "name", "statusMessage"}  # of every hook
FIELDS_OF = {
    "command": {"command", "args"},
    "http": {"url", "headers", "allowedEnvVars"},
    "prompt": {"prompt"},
}


@dataclass(frozen=True)
class Hook:
    """One hook: when it runs (event, matcher, ``only_if``), what runs, and how long it may take.

    ``only_if`` is a permission rule such as ``Bash(git push:*)``; a command that cannot be taken
    apart fits every rule. ``place`` says where the hook was configured.
    """

    event: str
    kind: Kind
    matcher: str = ""
    only_if: str = ""
    timeout_s: float = TIMEOUT_S
    name: str = ""
    place: str = "your Hooks([...])"

    def hears(self, payload: dict[str, Any]) -> bool:
        """Whether its matcher fits what the event is about."""
        subject = SUBJECTS.get(self.event)
        return subject is None or matches(self.matcher, str(payload.get(subject, "")))

    async def run(self, now: Situation) -> HookResult:
        """Ask it. Whatever goes wrong is a result as well: an error."""
        try:
            async with asyncio.timeout(self.timeout_s) as limit:
                fields = await self.kind.ask(replace(now, timeout_s=self.timeout_s))
            if limit.expired():  # it caught the cancellation, and answered after all
                raise TimeoutError
        except TimeoutError:
            fields = self._wrong(HookFailed(f"it did not answer within {self.timeout_s:g} s"))
        except HookFailed as error:
            fields = self._wrong(error)
        return HookResult(self.name, self.event, **fields)

    def _wrong(self, error: HookFailed) -> dict[str, Any]:
        turn_off = f"To turn this hook off, take it out of {self.place}"
        return {**error.fields, "reason": f"{bounded(str(error)).rstrip('.')}. {turn_off}"}


def on(
    event: str, matcher: str = "",
    run: Kind | Callable[..., Any] | str | Sequence[str] | None = None, *,
    only_if: str = "", timeout_s: float = TIMEOUT_S, name: str = "",
) -> Any:  # fmt: skip
    """A hook: ``on("PreToolUse", "Bash", run)``, or a decorator if ``run`` is left out.

    ``run`` is a function of the payload (plain or async), a command line, a list of a program and
    its arguments, an address (``https://...``) or a `Prompt`. A function returns None, a text to
    add, or a dict as a command prints it. ``timeout_s`` in seconds. Raises ValueError for an event
    that is not known, a matcher or a rule that makes no sense, a time that is not above 0, and
    what cannot be run.
    """
    if event not in EVENTS:
        raise ValueError(no_event(event))
    try:
        matches(matcher, "")
    except re.error as error:
        raise ValueError(f"matcher {matcher!r} is no regular expression: {error}") from None
    if not timeout_s > 0:
        raise ValueError(f"a hook needs more than {timeout_s} seconds")
    if only_if:
        Rule.parse(only_if)

    def make(run: Any) -> Hook:
        kind = _kind(run)
        return Hook(event, kind, matcher, only_if, timeout_s, name or kind.name)

    return make if run is None else make(run)


def no_event(name: str) -> str:
    """What is said about an event that is not known."""
    near = difflib.get_close_matches(name, EVENTS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(EVENTS)}"
    return f"there is no event {name!r}; {hint}"


def _kind(run: Any) -> Kind:
    """What is run. Raises ValueError for what cannot be, because it would never object."""
    if isinstance(run, (list, tuple)):
        run = tuple(map(str, run))
    if isinstance(run, str) and re.match(r"https?://", run):
        return Webhook(run)
    if isinstance(run, (str, tuple)) and "".join(run).strip():
        return Command(run)
    if not callable(run) and not hasattr(run, "ask"):
        wanted = "a function, a command, an address or a Prompt"
        raise ValueError(f"a hook runs {wanted}, and not {run!r}")
    kind: Kind = run if hasattr(run, "ask") else Function(run)
    return kind


def matches(matcher: str, subject: str) -> bool:
    """Whether a matcher fits: ``""`` and ``*`` everything, ``Edit|Write`` whole names, and what
    has any other character is a regular expression that fits anywhere in the name.

    So ``Bash`` is not ``BashOutput``, but ``Edit.*`` is ``MultiEdit`` too: that is how settings of
    this form are read (hooks reference of Claude Code, as quoted in October 2026).
    """
    if matcher in ("", "*"):
        return True
    if re.fullmatch(r"[\w\s,|-]+", matcher):
        return subject in re.split(r"\s*[,|]\s*", matcher.strip())
    return bool(re.search(matcher, subject))


# ----------------------------------------------------------------------------------- settings files


def load(
    workspace: str | os.PathLike[str], home: str | os.PathLike[str] | None = None
) -> tuple[list[Hook], list[str]]:
    """The hooks of the files of this user and of this project, and what was left out.

    Raises SettingsError if one of them cannot be read whole.
    """
    hooks: list[Hook] = []
    ignored: list[str] = []
    there = (path for path in setting_files(workspace, home=home) if path.is_file())
    for path in {path.resolve(): path for path in there}.values():
        settings = read_settings(path)
        found, left_out = hooks_of(settings, path, places(path.read_text("utf-8"))[0])
        hooks += found
        ignored += left_out
    return hooks, ignored


def hooks_of(
    settings: dict[str, Any], path: str | os.PathLike[str], where: Places | None = None
) -> tuple[list[Hook], list[str]]:
    """The hooks in settings that were read, and what has no meaning here, with its place.

    ``where`` tells line and column of each value. Raises SettingsError for what is not of the
    known form.
    """
    file = _File(Path(path), where or {})
    hooks: list[Hook] = []
    ignored: list[str] = []
    for event, groups in file.get(dict, settings, "hooks", default={}).items():
        if event in ELSEWHERE:
            ignored.append(f"{file.place('hooks', event)}: there is no such event here")
            continue
        if event not in EVENTS:
            raise file.error(no_event(event), "hooks", event)
        for g, group in enumerate(file.check(list, groups, "hooks", event)):
            at = ("hooks", event, g)
            matcher = file.get(str, file.check(dict, group, *at), *at, "matcher", default="")
            for h, entry in enumerate(file.get(list, group, *at, "hooks")):
                hook, left_out = _hook(file, event, matcher, entry, (*at, "hooks", h))
                hooks.append(hook)
                ignored += left_out
    if settings.get("disableAllHooks") is True:
        what = f"disableAllHooks is set, so its {len(hooks)} hooks are off"
        return [], [f"{file.place('disableAllHooks')}: {what}"]
    return hooks, ignored


def _hook(
    file: _File, event: str, matcher: str, entry: Any, at: tuple[str | int, ...]
) -> tuple[Hook, list[str]]:
    given = file.check(dict, entry, *at)
    type = file.get(str, given, *at, "type", default="command")
    if type not in FIELDS_OF:
        there = f"{type!r} is not one of {', '.join(FIELDS_OF)}"
        raise file.error(f"{there}, so take this hook out, or write it as one of them", *at, "type")
    key, wanted = ("url", r"https?://\S") if type == "http" else (type, r"\s*\S")
    text = file.get(str, given, *at, key)
    if not re.match(wanted, text):
        raise file.error(f"it cannot be {text!r}", *at, key)
    run: Any = Prompt(text)
    if type == "command":
        arguments = file.get(list, given, *at, "args", default=[])
        run = [text, *arguments] if "args" in given else Command(text)
    elif type == "http":
        headers = file.get(dict, given, *at, "headers", default={})
        variables = file.get(list, given, *at, "allowedEnvVars", default=[])
        named = {str(name): str(value) for name, value in headers.items()}
        run = Webhook(text, named, tuple(map(str, variables)))
    seconds = file.get((int, float), given, *at, "timeout", default=TIMEOUT_S)
    only_if = file.get(str, given, *at, "if", default="")
    name = file.get(str, given, *at, "name", default="")
    try:
        hook = on(event, matcher, run, only_if=only_if, timeout_s=seconds, name=name)
    except ValueError as error:
        raise file.error(str(error), *at) from None
    unknown = sorted(given.keys() - FIELDS - FIELDS_OF[type])
    left_out = [f"{file.place(*at, key)}: it has no meaning here" for key in unknown]
    return replace(hook, place=file.place(*at)), left_out


@dataclass(frozen=True)
class _File:
    """A settings file, to say where in it something is."""

    path: Path
    where: Places

    def place(self, *keys: str | int) -> str:
        """File, line and position: ``.agentlab/settings.json:4 (hooks.Stop[0].hooks[1])``."""
        line = f":{self.where[keys][0]}" if keys in self.where else ""
        name = "/".join(self.path.parts[-2:])
        return f"{name}{line} ({self._dotted(keys)})"

    def error(self, text: str, *keys: str | int) -> SettingsError:
        at = next((self.where[keys[:n]] for n in range(len(keys), 0, -1)
                   if keys[:n] in self.where), (1, 1))  # fmt: skip
        return SettingsError(self.path, f"{self._dotted(keys)}: {text}", at)

    def get(self, wanted: Any, given: dict[str, Any], *keys: str | int, default: Any = None) -> Any:
        """The value of the last key, which has to be of that type."""
        return self.check(wanted, given.get(str(keys[-1]), default), *keys)

    def check(self, wanted: Any, value: Any, *keys: str | int) -> Any:
        if isinstance(value, wanted) and not isinstance(value, bool):
            return value
        names = {dict: "an object", list: "a list", str: "a text"}
        raise self.error(f"it must be {names.get(wanted, 'a number')}, not {value!r}", *keys)

    def _dotted(self, keys: tuple[str | int, ...]) -> str:
        parts = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
        return "".join(parts).removeprefix(".")
