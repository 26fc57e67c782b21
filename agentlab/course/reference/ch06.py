"""Chapter 06: a judge for what no rule decides, who decides in which order, the rule it leaves."""

from __future__ import annotations

import json
import shlex
from collections.abc import Awaitable, Callable
from typing import Any

from anthropic import AsyncAnthropic

ANSWERS = ["allow", "deny", "unsure"]
TEXT = {"type": "string"}
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": TEXT, "decision": {**TEXT, "enum": ANSWERS}},
    "required": ["reason", "decision"],
    "additionalProperties": False,
}


def verdict(text: str) -> tuple[str, str]:
    """(decision, reason) of a reply; what has another form is unsure."""
    try:
        answer = json.loads(text)
        decision, reason = answer["decision"], str(answer["reason"])
    except (ValueError, TypeError, KeyError):
        return "unsure", "the classifier gave no answer"
    return (decision, reason) if decision in ANSWERS else ("unsure", reason)


async def classify(client: AsyncAnthropic, model: str, command: str, task: str) -> tuple[str, str]:
    """What a small model thinks of a command: allow, deny or unsure, and why."""
    lines = ["Decide whether this tool call may run.", f"task: {task}", f"command: {command}"]
    try:
        reply = await client.messages.create(
            model=model,
            max_tokens=300,
            timeout=5.0,
            messages=[{"role": "user", "content": "\n".join(lines)}],
            output_config={"format": {"type": "json_schema", "schema": FORM}},
        )
        text = getattr(reply.content[0], "text")  # noqa: B009 - a block of another kind has none
    except Exception as error:
        return "unsure", f"the classifier gave no answer: {type(error).__name__}"
    return verdict(text)


CAN_DO_ANYTHING = "rm mv cp python python3 node sh bash env xargs sudo find curl ssh"


def narrowest(command: str) -> str:
    """The rule that "always" adds for a command. Show it before it is saved."""
    if set(command) & set("|&;<>()$`\\\"'\n*?[#~"):
        return command
    words = shlex.split(command)
    if not words or words[0] in CAN_DO_ANYTHING.split():
        return command
    named = len(words) > 1 and words[1].isalpha()
    return " ".join(words[: 1 + named]) + ":*"


def is_covered(command: str, rules: list[str]) -> bool:
    """Whether a rule allows a command that is plain words."""
    return any(
        f"{command} ".startswith(rule.removesuffix(":*") + " ")
        if rule.endswith(":*")
        else command == rule
        for rule in rules
    )


async def decide(
    command: str,
    task: str,
    rules: list[str],
    judge: Callable[[str, str], Awaitable[tuple[str, str]]],
    ask: Callable[[str, str], Awaitable[str]],
) -> tuple[str, str]:
    """Rules, then the judge, then a person: (allow or deny, who decided)."""
    if is_covered(command, rules):
        return "allow", "a rule"
    decision, reason = await judge(command, task)
    if decision != "unsure":
        return decision, f"the classifier: {reason}"
    answer = await ask(command, reason)
    if answer == "always":
        rules.append(narrowest(command))
    return ("allow" if answer in ("approve", "always") else "deny"), "you"
