"""When a run has to end although the model wants to go on: limits, and going round in circles.

Limits are numbers, checked before each request. Repetition is a pattern over the last calls *and
their results*: the same question with a new answer (polling) is progress, the same question with
the same answer three times is not. Looked for are cycles of one to four calls, calls that are
nearly the same, and one tool that fails again and again.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agentlab.costs import Usage, price
from agentlab.messages import Block
from agentlab.models import find_model

if TYPE_CHECKING:
    from agentlab.loop import Setup, State

LONGEST_PERIOD = 4
WINDOW = 24  # calls that are remembered: six repeats of the longest cycle
NEAR = 0.9  # how alike two inputs have to be to count as nearly the same
Signature = tuple[str, str, str]


@dataclass(frozen=True)
class Limits:
    """How far a run may go. None: no limit."""

    turns: int = 25
    tokens: int | None = None  # input and output, summed over the turns
    usd: float | None = None
    strict_usd: bool = (
        False  # the worst case of the next request has to fit; else it may overshoot by one call
    )
    tool_calls: int | None = None
    seconds: float | None = None
    request_s: float = 600.0  # one request, from sending it to its last event
    idle_s: float = 60.0  # silence within a stream (a ping counts as a sign of life)
    repeats: int | None = 3  # the same cycle of calls with the same results, so many times
    near_repeats: int | None = 6  # nearly the same call with the same result, so many times
    failures: int | None = 5  # one tool failing so many times in a row
    nudges: int = 1  # autopilot: how often to ask for the rest
    cut_offs: int = 2  # tool calls cut off at max_tokens, each tried again with twice the room
    pauses: int = 5  # pause_turn in a row
    empty_replies: int = 1
    stop_blocks: int = 3  # how often Stop hooks may send the model on

    def __post_init__(self) -> None:
        for name in ("repeats", "near_repeats"):
            value = getattr(self, name)
            if value is not None and value < 2:
                raise ValueError(
                    f"Limits({name}={value}): a repetition takes at least 2; None turns it off"
                )

    def to_dict(self) -> dict[str, Any]:
        """As a plain dict, for events."""
        return asdict(self)


def larger(max_tokens: int, model: str) -> int:
    """Twice the room for a reply, up to what the model can write."""
    known = find_model(model)
    return min(2 * max_tokens, known.max_output_tokens if known else 64_000)


def over_limit(setup: Setup, state: State, next_tokens: int) -> tuple[str, str]:
    """The end status and its reason if the next request may not be sent, else two empty strings."""
    limits = setup.limits
    seconds = setup.clock.now() - state.started_at
    if state.turn >= limits.turns:
        return "turn_limit", f"{state.turn} turn{'s' * (state.turn != 1)} used"
    if limits.tokens is not None and state.usage.total_tokens >= limits.tokens:
        return "token_limit", f"{state.usage.total_tokens} of {limits.tokens} tokens used"
    if limits.tool_calls is not None and state.tool_calls >= limits.tool_calls:
        return "tool_call_limit", f"{state.tool_calls} tool calls made"
    if limits.seconds is not None and seconds >= limits.seconds:
        return "time_limit", f"{seconds:.1f} of {limits.seconds:g} seconds used"
    if limits.usd is not None and state.cost_usd is not None:
        worst = 0.0
        if limits.strict_usd:
            room = state.max_tokens or setup.max_tokens
            worst = price(Usage(input_tokens=next_tokens, output_tokens=room), setup.model) or 0.0
        if state.cost_usd + worst >= limits.usd:
            reason = f"${state.cost_usd:.4f} of ${limits.usd:.2f} spent"
            return "dollar_limit", reason + (
                f"; the next request could cost ${worst:.4f}" if worst else ""
            )
    return "", ""


def calls_left(limits: Limits, made: int) -> float:
    """How many tool calls may still be run."""
    return float("inf") if limits.tool_calls is None else limits.tool_calls - made


def signature(call: Block, result: Block) -> Signature:
    """A call and its result in a form in which equal means equal: keys sorted, blanks collapsed."""
    return call["name"], _canonical(call["input"]), _canonical(result["content"])


def repeating(
    limits: Limits, recent: tuple[Signature, ...], failures: tuple[str, int]
) -> tuple[str, str]:
    """The end status and its reason if the last calls go round in circles, else empty strings."""
    tool, failed = failures
    if limits.failures is not None and failed >= limits.failures:
        return "repeated_failures", f"{tool} failed {failed} times in a row"
    if limits.repeats is not None:
        for period in range(1, LONGEST_PERIOD + 1):
            length = period * limits.repeats
            last = recent[-length:]
            if len(last) == length and last[period:] == last[:-period]:
                names = ", ".join(call[0] for call in last[:period])
                return (
                    "repeated_calls",
                    f"{names}: the same {limits.repeats} times, with the same results",
                )
    if limits.near_repeats is not None and len(recent) >= limits.near_repeats:
        last = recent[-limits.near_repeats :]
        if all(alike(last[0], other) for other in last[1:]):
            return (
                "repeated_calls",
                f"{last[0][0]}: nearly the same call {len(last)} times, with the same result",
            )
    return "", ""


def alike(a: Signature, b: Signature) -> bool:
    """Whether two calls are the same or nearly the same, with the same result."""
    if a[0] != b[0] or a[2] != b[2]:
        return False
    return a[1] == b[1] or difflib.SequenceMatcher(None, a[1], b[1]).ratio() >= NEAR


def _canonical(value: Any) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    return " ".join(json.dumps(value, sort_keys=True, ensure_ascii=False).split())
