"""Exercises of chapter 02: the loop."""
# Solutions look as learners write them, without type hints.
# mypy: allow-untyped-defs

from __future__ import annotations

import json
from types import SimpleNamespace

from agentlab.course.exercises import Case, broken, exercise

# ------------------------------------------------------------------------------------------ 02.1


@exercise(
    "02.1",
    "Stop reasons",
    cases=[
        Case("it wants tools", ("tool_use", True), "run"),
        Case("it has finished", ("end_turn", False), "done"),
        Case("it hit a stop sequence of yours", ("stop_sequence", False), "done"),
        Case("a long turn of the server's own tools", ("pause_turn", False), "again"),
        Case("the reply was cut off", ("max_tokens", False), "stop"),
        Case("it was cut off in the middle of a call", ("max_tokens", True), "stop"),
        Case("it declined", ("refusal", False), "stop"),
        Case("the conversation is too long", ("model_context_window_exceeded", False), "stop"),
        Case("a reason that is newer than your code", ("meditating", False), "stop"),
        Case("no reason at all: the stream broke off", (None, False), "stop"),
    ],
    hints=[
        "A match statement on stop_reason reads well; so does a dict.",
        "Only three reasons are not 'stop'. Which of them depends on has_calls?",
        "What you do not know is no success: the last case is 'case _: return \"stop\"'.",
    ],
)
def next_step(stop_reason, has_calls):
    """What to do after a reply: "run" its calls, "done" (the model has finished),
    "again" (send the conversation once more), or "stop" (an end that is no success).

    has_calls: whether the reply holds tool calls. What you do not know is no success.
    """
    match stop_reason:
        case "tool_use" if has_calls:
            return "run"
        case "end_turn" | "stop_sequence":
            return "done"
        case "pause_turn":
            return "again"
        case _:
            return "stop"


@broken("02.1", "whatever is not tool_use is taken for success")
def next_step_hopeful(stop_reason, has_calls):
    return "run" if stop_reason == "tool_use" else "done"


@broken("02.1", "it looks at the calls only, and runs one that was cut off")
def next_step_by_calls(stop_reason, has_calls):
    return "run" if has_calls else next_step(stop_reason, has_calls)


@broken("02.1", "a reason that it does not know raises")
def next_step_raising(stop_reason, has_calls):
    return {
        "tool_use": "run",
        "end_turn": "done",
        "stop_sequence": "done",
        "pause_turn": "again",
        "max_tokens": "stop",
        "refusal": "stop",
        "model_context_window_exceeded": "stop",
    }[stop_reason]


@broken("02.1", "a pause is taken for the end")
def next_step_impatient(stop_reason, has_calls):
    return "done" if stop_reason == "pause_turn" else next_step(stop_reason, has_calls)


# ------------------------------------------------------------------------------------------ 02.2

NOTHING: dict[str, str] = {}
TIME = ("Clock", NOTHING, "09:17")
READ = ("Read", {"file_path": "a.txt", "limit": 5}, "alpha")
READ_TURNED = ("Read", {"limit": 5, "file_path": "a.txt"}, "alpha")
OTHER = ("Read", {"file_path": "b.txt", "limit": 5}, "alpha")
WAITING, RUNNING, DONE = (("Status", NOTHING, state) for state in ("waiting", "running", "done"))


@exercise(
    "02.2",
    "In circles",
    cases=[
        Case("nothing was called yet", ([],), False),
        Case("the same call three times", ([TIME, TIME, TIME],), True),
        Case("only twice", ([TIME, TIME],), False),
        Case("three times, but not in a row", ([TIME, TIME, READ, TIME],), False),
        Case("other calls came before", ([READ, OTHER, TIME, TIME, TIME],), True),
        Case("it got out by itself", ([TIME, TIME, TIME, READ],), False),
        Case("the keys are in another order", ([READ, READ_TURNED, READ],), True),
        Case("the same tool on other files", ([READ, OTHER, READ],), False),
        Case("the result changes, so it makes progress", ([WAITING, RUNNING, DONE],), False),
        Case("a pair of calls, three times", ([TIME, READ, TIME, READ, TIME, READ],), True),
        Case("a pair, two and a half times", ([READ, TIME, READ, TIME, READ],), False),
        Case(
            "a pair, with another result at the end", ([WAITING, READ] * 2 + [DONE, READ],), False
        ),
        Case("four times where five are asked for", ([TIME] * 4, 5), False),
        Case("twice where two are asked for", ([READ, TIME, TIME], 2), True),
    ],
    hints=[
        "First make equal look equal: json.dumps(call, sort_keys=True) for each call.",
        "For the single call, take the last `times` of them: are they all the same?",
        "For a pair take the last 2 * times. Each must equal the one two places before it.",
    ],
)
def in_circles(calls, times=3):
    """Whether the last calls are one call, or a pair of them, `times` times in a row.

    calls: the (tool, input, result) of every call so far. Inputs are dicts, and the
    order of their keys does not matter. A new result for an old question is no circle.
    """
    seen = [json.dumps(call, sort_keys=True) for call in calls]
    for period in (1, 2):
        last = seen[-period * times :]
        if len(last) == period * times and last[period:] == last[:-period]:
            return True
    return False


@broken("02.2", "the order of the keys hides a repeat")
def in_circles_as_text(calls, times=3):
    return in_circles([str(call) for call in calls], times)


@broken("02.2", "the result is not looked at, so waiting looks like a circle")
def in_circles_without_result(calls, times=3):
    return in_circles([call[:2] for call in calls], times)


@broken("02.2", "repeats anywhere in the run are counted")
def in_circles_anywhere(calls, times=3):
    seen = [json.dumps(call, sort_keys=True) for call in calls]
    return any(seen.count(call) >= times for call in seen)


@broken("02.2", "it forgets that there may be fewer calls than that")
def in_circles_too_soon(calls, times=3):
    seen = [json.dumps(call, sort_keys=True) for call in calls]
    return len(set(seen[-times:])) == 1 or in_circles(calls, times)


@broken("02.2", "pairs are not noticed")
def in_circles_single(calls, times=3):
    last = [json.dumps(call, sort_keys=True) for call in calls[-times:]]
    return len(last) == times and len(set(last)) == 1


# ------------------------------------------------------------------------------------------ 02.3

START, END = "assistant.turn_start", "assistant.turn_end"
RETRY, SIDE, TOOL = "model.retry", "model.side_call", "tool.execution_start"


def _run(says, types, expected):
    return Case(
        says,
        expected=expected,
        run=lambda requests: requests([SimpleNamespace(type=type) for type in types]),
        shows=f"requests(a run of {', '.join(types) or 'nothing'})",
    )


@exercise(
    "02.3",
    "Nothing hidden",
    cases=[
        _run("nothing happened", (), 0),
        _run("one turn", ("session.start", START, "assistant.message", END, "session.end"), 1),
        _run("two turns with a tool", (START, TOOL, END, START, END), 2),
        _run("a turn that was tried three times", (START, RETRY, RETRY, END), 3),
        _run("a summary was asked for in between", (START, END, SIDE, START, END), 3),
        _run("interrupted in the second turn", (START, TOOL, END, START), 2),
    ],
    hints=[
        "Three types of event stand for a request; count those.",
        "A turn that was interrupted has a start and no end, but its request was sent.",
    ],
)
def requests(events):
    """How many requests the server got in a run, which may have been interrupted.

    Each event has a .type. A turn is one request, each retry within it is one more, and
    so is each side call.
    """
    sent = ("assistant.turn_start", "model.retry", "model.side_call")
    return sum(event.type in sent for event in events)


@broken("02.3", "it counts the ends, and misses the turn that was interrupted")
def requests_by_end(events):
    return sum(event.type in (END, RETRY, SIDE) for event in events)


@broken("02.3", "retries are not counted")
def requests_without_retries(events):
    return sum(event.type in (START, SIDE) for event in events)


@broken("02.3", "side calls are not counted")
def requests_without_side_calls(events):
    return sum(event.type in (START, RETRY) for event in events)


@broken("02.3", "tools are counted too, though they run here")
def requests_with_tools(events):
    return sum(event.type in (START, RETRY, SIDE, TOOL) for event in events)
