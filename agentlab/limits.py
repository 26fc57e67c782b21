"""When a run has to end although the model wants to go on: limits, and going round in circles.

Limits are numbers, checked before each request. What a request will cost is known only after it,
so a budget of dollars or tokens has two modes. ``overshoot_one`` stops after the call that passes
it: simple, and at most one call too dear. ``strict`` sends a request only if an upper bound of it
still fits: no turn overspends, and some of the budget is left over. Side calls (a classifier, a
summary) count as spent, but are not bounded: they are small beside the bound of a turn. Unless the
limits name a mode, an agent takes ``strict`` where real money is spent. `warning` is for a soft
mark below.

Repetition is a pattern over the last calls *and their results*: the same question with a new
answer (polling) is progress, the same question with the same answer three times is not. Looked for
are cycles of one to four calls, calls that are nearly the same, and one tool that fails again and
again.
"""

from __future__ import annotations

import difflib
import json
import math
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from agentlab.costs import budget, dollars
from agentlab.messages import Block
from agentlab.models import find_model
from agentlab.prices import prices

if TYPE_CHECKING:
    from agentlab.loop import Setup, State

LONGEST_PERIOD = 4
WINDOW = 24  # calls that are remembered: six repeats of the longest cycle
NEAR = 0.9  # how alike two inputs have to be to count as nearly the same
MODES = ("overshoot_one", "strict")
# What is not counted yet is estimated from characters, by an average. Dense text (digits, base64)
# can take twice the tokens, so a bound takes the estimate twice. An assumption, on the safe side.
MARGIN = 2.0
Signature = tuple[str, str, str]


@dataclass(frozen=True)
class Limits:
    """How far a run may go. None, where the type allows it: no limit."""

    turns: int | None = 25
    tokens: int | None = None  # input and output, summed over the turns
    usd: float | None = None
    mode: str = ""  # "overshoot_one" or "strict"; empty: strict where real money is spent
    warn_at: float | None = 0.8  # the share of tokens or dollars at which the agent says so
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
        if self.mode and self.mode not in MODES:
            raise ValueError(f"Limits(mode={self.mode!r}): use one of {', '.join(MODES)}")
        for name, type in ((field.name, str(field.type)) for field in fields(self)):
            value, optional = getattr(self, name), type.endswith("| None")
            number = isinstance(value, int | float) and 0 <= value < math.inf
            if type != "str" and not (number or (value is None and optional)):
                none = "; None: no limit" * optional
                raise ValueError(f"Limits({name}={value!r}): a number, 0 or more{none}")
        if self.warn_at is not None and not 0 < self.warn_at <= 1:
            raise ValueError(f"Limits(warn_at={self.warn_at:g}): a share between 0 and 1, or None")
        for name, least in (("repeats", 2), ("near_repeats", 2), ("failures", 1)):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int) and value >= least):
                raise ValueError(
                    f"Limits({name}={value}): a whole number, at least {least}; None turns it off"
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
    if limits.turns is not None and state.turn >= limits.turns:
        return "turn_limit", f"{state.turn} turn{'s' * (state.turn != 1)} used"
    if limits.tool_calls is not None and state.tool_calls >= limits.tool_calls:
        return "tool_call_limit", f"{state.tool_calls} tool calls made"
    if limits.seconds is not None and seconds >= limits.seconds:
        return "time_limit", f"{seconds:.1f} of {limits.seconds:g} seconds used"
    return over_budget(setup, state, next_tokens)


def over_budget(setup: Setup, state: State, next_tokens: int) -> tuple[str, str]:
    """The same for the budgets of tokens and dollars, in the mode that the limits say."""
    limits, used = setup.limits, state.usage.total_tokens
    strict = limits.mode == "strict"
    prompt = prompt_bound(state, next_tokens) if strict else 0
    room = (state.max_tokens or setup.max_tokens) if strict else 0
    if limits.tokens is not None and (
        used >= limits.tokens or used + prompt + room > limits.tokens
    ):
        reason = f"{used} of {limits.tokens} tokens used"
        more = f"; the next request could take {prompt + room} (max_tokens={room})"
        return "token_limit", reason + more * strict
    if limits.usd is None:
        return "", ""
    worst = cost_bound(prompt, room, setup.model)
    if state.cost_usd is None or worst is None:
        name = f"the price of {setup.model}" if worst is None else "the price of an earlier call"
        return "dollar_limit", f"{name} is not known, so a budget of dollars cannot be kept"
    if state.cost_usd >= limits.usd or state.cost_usd + worst > limits.usd:
        reason = f"${state.cost_usd:.4f} of {budget(limits.usd)} spent"
        more = f"; the next request could cost {dollars(worst)} (max_tokens={room})"
        return "dollar_limit", reason + more * strict
    return "", ""


def prompt_bound(state: State, next_tokens: int) -> int:
    """No fewer tokens than the next prompt has: what the server counted, and a margin on the rest.

    ``next_tokens`` is the expected size of the whole prompt.
    """
    return state.context_tokens + round(MARGIN * max(0, next_tokens - state.context_tokens))


def cost_bound(
    prompt_tokens: int, max_tokens: int, model: str, *, hour: bool = False
) -> float | None:
    """The most that a request can cost, in dollars; None if the model's price is not known.

    As if its whole prompt were written to the cache, which costs more than plain input, and the
    reply took all its room (thinking counts against ``max_tokens``). ``hour``: it is to be kept for
    an hour, which costs more again.
    """
    row = prices().find(model, prompt_tokens)
    if row is None:
        return None
    dearest = max(row.input, row.cache_write_5m, row.cache_write_1h if hour else 0.0)
    return (prompt_tokens * dearest + max_tokens * row.output) / 1_000_000


def spent_share(limits: Limits, state: State) -> float:
    """How much of the budget is spent, from 0 to 1 and beyond: of tokens or dollars, the larger."""
    shares = [0.0]
    if limits.tokens:
        shares.append(state.usage.total_tokens / limits.tokens)
    if limits.usd and state.cost_usd is not None:
        shares.append(state.cost_usd / limits.usd)
    return max(shares)


def warning(limits: Limits, state: State) -> str:
    """A line to say that the soft mark is reached, or nothing. The caller says it once a run."""
    share = spent_share(limits, state)
    if limits.warn_at is None or share < limits.warn_at:
        return ""
    parts = []
    if limits.usd is not None and state.cost_usd is not None:
        parts.append(f"${state.cost_usd:.4f} of {budget(limits.usd)}")
    if limits.tokens is not None:
        parts.append(f"{state.usage.total_tokens} of {limits.tokens} tokens")
    return f"{share:.0%} of the budget is spent: {', '.join(parts)}"


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
