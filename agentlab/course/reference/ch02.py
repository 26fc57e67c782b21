"""Chapter 02: the loop as an async generator over explicit state, two tools, and a program."""

from __future__ import annotations

import ast
import operator
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from anthropic import AsyncAnthropic

MODEL = os.environ.get("ANTHROPIC_MODEL", "{default_model}")


def now() -> datetime:
    """The time on this machine."""
    return datetime.now().astimezone()


def current_time() -> str:
    """Return the current date and time in ISO 8601."""
    return now().isoformat(timespec="minutes")


OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def calculator(expression: str) -> str:
    """Evaluate an arithmetic expression such as 9 * 60 + 17."""

    def value(node: ast.AST) -> Any:
        match node:
            case ast.Constant(number) if type(number) in (int, float):
                return number
            case ast.BinOp(left, op, right) if type(op) in OPERATORS:
                return OPERATORS[type(op)](value(left), value(right))
        raise ValueError("only numbers and + - * / ( )")

    return str(value(ast.parse(expression, mode="eval").body))


FUNCTIONS: dict[str, Callable[..., str]] = {"current_time": current_time, "calculator": calculator}

TOOLS: list[Any] = [
    {
        "name": "current_time",
        "description": "Return the current date and time, for whatever depends on now.",
        "input_schema": {"type": "object", "properties": {}},
    },
    {
        "name": "calculator",
        "description": "Evaluate an arithmetic expression such as 9 * 60 + 17.",
        "input_schema": {
            "type": "object",
            "properties": {"expression": {"type": "string"}},
            "required": ["expression"],
        },
    },
]


@dataclass(frozen=True)
class State:
    """Everything that changes during a run. ``status`` is empty as long as it goes on."""

    messages: tuple[Any, ...]
    turn: int = 0
    tokens: int = 0
    status: str = ""


def status_of(stop_reason: str | None, has_calls: bool) -> str:
    """How the run ended with this reply, "" if it goes on."""
    match stop_reason:
        case "tool_use" if has_calls:
            return ""
        case "end_turn" | "stop_sequence":
            return "completed"
        case "max_tokens":
            return "truncated"
        case "refusal":
            return "refusal"
        case other:
            return f"error: unexpected stop reason {other!r}"


def run_calls(calls: list[Any]) -> list[Any]:
    """Run tool calls. What goes wrong becomes a result that the model can read."""
    results = []
    for call in calls:
        try:
            output, failed = FUNCTIONS[call.name](**call.input), False
        except Exception as error:
            output, failed = f"{type(error).__name__}: {error}", True
        results.append(
            {"type": "tool_result", "tool_use_id": call.id, "content": output, "is_error": failed}
        )
    return results


async def loop(
    client: AsyncAnthropic, model: str, tools: list[Any], state: State, max_turns: int = 25
) -> AsyncIterator[tuple[str, Any]]:
    """Call the model and run its tools, turn after turn, until it asks for none."""
    while not state.status:
        if state.turn == max_turns:
            state = replace(state, status="turn_limit")
            break
        yield "turn_start", state.turn + 1
        async with client.messages.stream(
            model=model, max_tokens=4000, tools=tools, messages=list(state.messages)
        ) as stream:
            async for piece in stream.text_stream:
                yield "text", piece
            reply = await stream.get_final_message()
        calls = [block for block in reply.content if block.type == "tool_use"]
        messages = (*state.messages, {"role": "assistant", "content": reply.content})
        status = status_of(reply.stop_reason, bool(calls))
        if not status:
            yield "calls", calls
            messages = (*messages, {"role": "user", "content": run_calls(calls)})
        tokens = state.tokens + reply.usage.input_tokens + reply.usage.output_tokens
        state = replace(state, messages=messages, turn=state.turn + 1, tokens=tokens, status=status)
        yield "turn_end", reply.stop_reason
    yield "idle", state


async def main(task: str) -> None:
    """Do one task, printing what happens."""
    start = State(messages=({"role": "user", "content": task},))
    async for kind, what in loop(AsyncAnthropic(), MODEL, TOOLS, start):
        if kind == "text":
            print(what, end="", flush=True)
        elif kind == "calls":
            print("\n   asks for", *(call.name for call in what))
        elif kind == "idle":
            print(f"\n[{what.status} after {what.turn} turns, {what.tokens} tokens]")
