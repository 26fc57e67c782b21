"""What a hook says, understood: a result, or an error. Nothing is run here.

People write hooks for several harnesses, and their answers differ: ``{"decision": "block"}``,
``{"permissionDecision": "deny"}``, the same inside ``hookSpecificOutput``, ``{"continue": false}``,
or plain text. All of them become one `HookResult`. What cannot be understood is an error
(`HookFailed`), never silence: a hook that wanted to say no must not be taken for one that had
nothing to say. Built in chapter 07.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from agentlab.messages import valid_unicode

MOST_CHARS = 10_000  # of a reason or a context that goes to the model
GATES = ("UserPromptSubmit", "PreToolUse", "PreCompact", "Stop")  # events that a hook can stop
SPEAKS_PLAINLY = ("SessionStart", "UserPromptSubmit")  # plain text of a command is context here
WORDS = {"allow": "allow", "approve": "allow", "ask": "ask", "deny": "deny", "block": "deny"}
KNOWN = {
    "decision", "reason", "permissionDecision", "permissionDecisionReason", "updatedInput",
    "hookSpecificOutput", "continue", "stopReason", "systemMessage", "additionalContext",
    "suppressOutput", "rollback",
}  # fmt: skip
Fields = dict[str, Any]  # of a HookResult, without hook and event
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # for people; many programs print them into pipes too
_LOOKS_LIKE_JSON = re.compile(r"\{\s*(?:[\"'}]|\w+\s*:|$)")


class HookFailed(Exception):
    """A hook gave no answer that can be understood; ``fields`` are others of its result."""

    def __init__(self, reason: str, **fields: Any) -> None:
        super().__init__(reason)
        self.fields: Fields = {"decision": "error", "reason": reason, **fields}


@dataclass(frozen=True)
class HookResult:
    """What one hook said.

    ``input`` is the changed input of a call, ``context`` a text for the model, ``rollback`` asks
    to undo what the call wrote, ``side_call`` is the data of the event if a model was asked.
    """

    hook: str
    event: str
    decision: str = ""  # "" no opinion | allow | ask | deny | error
    reason: str = ""
    input: dict[str, Any] | None = None
    context: str = ""
    rollback: bool = False
    side_call: dict[str, Any] | None = None


def of_value(value: Any, event: str) -> Fields:
    """What a Python function returned. Raises HookFailed for anything but None, str, dict."""
    match value:
        case None:
            return {}
        case str():
            word = WORDS.get(value.strip().lower())
            return {"decision": word} if word else {"context": bounded(value)}
        case dict():
            return of_object(_plain(value), event)
        case HookResult(decision="error"):
            raise HookFailed(str(value.reason))
        case HookResult():
            said: dict[str, Any] = {
                "decision": value.decision, "reason": value.reason, "updatedInput": value.input,
                "additionalContext": value.context, "rollback": value.rollback,
            }  # fmt: skip
            return of_object(_plain(said), event)
    raise HookFailed(f"it returned {type(value).__name__}; None, a text or a dict is an answer")


def of_text(text: str, event: str) -> Fields:
    """What a command printed, or a webhook sent: one JSON object, perhaps among chatter, or text.

    Raises HookFailed for an object that is cut off, has no field that is known, or is not alone.
    """
    text = text.replace("\0", "").strip("\ufeff\ufffd \r\n\t")  # UTF-16 leaves marks and zeros
    found, broken = _objects(text)
    answers = [said for said in found if KNOWN & said.keys()]
    is_gate = event in GATES
    if broken and (is_gate or text.startswith("{")):
        raise HookFailed(f"its answer is no complete JSON: {text[:200]!r}")
    if len(answers) > 1:
        raise HookFailed(f"it gave {len(answers)} answers where one is expected: {text[:200]!r}")
    if answers:
        return of_object(answers[0], event)
    if is_gate and any(found):
        raise HookFailed(f"its answer has no field that is known: {text[:200]!r}")
    if word := WORDS.get(text.strip("\"'").lower()):
        return {"decision": word}
    return {"context": bounded(text)} if event in SPEAKS_PLAINLY else {}


def of_object(said: dict[str, Any], event: str) -> Fields:
    """The fields of an answer. The most restrictive counts if it decides more than once.

    Raises HookFailed for a field that is not of its type: it was meant to say something.
    """
    if said and not KNOWN & said.keys():
        raise HookFailed(f"its answer has no field that is known: {', '.join(said)}"[:300])
    inner = _typed(said, "hookSpecificOutput", dict) or {}
    both = {**said, **inner}
    stops = _typed(said, "continue", bool) is False
    if stops and event == "Stop":  # "do not go on" is what a Stop hook is asked for
        return {"reason": bounded(_text(both, "stopReason", "systemMessage"))}
    decisions = [_decision(part[key], key) for part in (said, inner)
                 for key in ("decision", "permissionDecision")
                 if part.get(key) not in (None, "")]  # fmt: skip
    decisions += ["deny"] * stops
    reasons = ("permissionDecisionReason", "reason", "stopReason", "systemMessage")
    changed = _typed(both, "updatedInput", dict)
    return {
        "decision": next((d for d in ("deny", "ask", "allow") if d in decisions), ""),
        "reason": bounded(_text(both, *reasons)),
        "input": valid_unicode(changed) if event == "PreToolUse" else None,
        "context": bounded(_text(both, "additionalContext")),
        "rollback": bool(_typed(both, "rollback", bool)),
    }


def bounded(text: str, most: int = MOST_CHARS) -> str:
    """The text, or its beginning and end if it is longer than so many characters."""
    text = _COLOURS.sub("", valid_unicode(text)).replace("\0", "").strip()
    if len(text) <= most:
        return text
    left_out = f"\n[... {len(text) - most} characters left out ...]\n"
    return text[: most // 2] + left_out + text[-(most // 2) :]


def _decision(value: Any, key: str) -> str:
    word = WORDS.get(value.strip().lower()) if isinstance(value, str) else None
    if word is None:
        raise HookFailed(f"{key} is {str(value)[:100]!r}; it can be {', '.join(WORDS)}")
    return word


def _typed(said: dict[str, Any], key: str, wanted: type) -> Any:
    """The value of a field, None if it is not there."""
    value = said.get(key)
    if value is None or isinstance(value, wanted):
        return value
    name = {dict: "no object", bool: "neither true nor false"}[wanted]
    raise HookFailed(f"{key} is {name}: {str(value)[:200]!r}")


def _text(said: dict[str, Any], *keys: str) -> str:
    """The first of these fields that is not empty, as text."""
    value = next((said[key] for key in keys if said.get(key)), "")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _objects(text: str) -> tuple[list[dict[str, Any]], bool]:
    """The JSON objects in a text, and whether one begins there that cannot be read.

    A brace in the middle of a text may be anything; one at its very beginning is meant as JSON.
    """
    found: list[dict[str, Any]] = []
    at, decoder = text.find("{"), json.JSONDecoder()
    while at >= 0:
        try:
            said, end = decoder.raw_decode(text, at)
            found.append(said)
        except (ValueError, RecursionError):
            if at == 0 or _LOOKS_LIKE_JSON.match(text, at):
                return found, True
            end = at + 1
        at = text.find("{", end)
    return found, False


def _plain(value: Any) -> Any:
    """The same value as JSON has it. Raises HookFailed if it has none."""
    try:
        return json.loads(json.dumps(value))
    except (ValueError, TypeError, RecursionError) as error:
        raise HookFailed(f"its answer cannot be written as JSON: {error}") from None
