"""Exercises of chapter 01: messages."""
# Solutions look as learners write them, without type hints.
# mypy: allow-untyped-defs

from __future__ import annotations

from agentlab.course.exercises import Case, broken, exercise


def _call(id, name="double", **input):
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def _result(id, content, is_error=False):
    return {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error}


def _text(text):
    return {"type": "text", "text": text}


def _run(name, input):
    """The ``run`` that the cases hand in: it doubles a number, and fails for zero."""
    if input["n"] == 0:
        raise ValueError("zero is not allowed")
    return str(2 * input["n"])


def _answers(says, content, *results):
    return Case(
        says,
        expected={"role": "user", "content": list(results)},
        run=lambda answers: answers(content, _run),
        shows=f"answers({content}, run)",
    )


@exercise(
    "01.1",
    "Answer them all",
    cases=[
        _answers("one call", [_call("t1", n=2)], _result("t1", "4")),
        _answers(
            "text before the call", [_text("I double it."), _call("t1", n=3)], _result("t1", "6")
        ),
        _answers(
            "two calls, in their order",
            [_call("t2", n=1), _call("t1", n=5)],
            _result("t2", "2"),
            _result("t1", "10"),
        ),
        _answers(
            "the first fails, the second is run all the same",
            [_call("t1", n=0), _call("t2", n=4)],
            _result("t1", "zero is not allowed", True),
            _result("t2", "8"),
        ),
    ],
    hints=[
        "Go through content and skip every block that is not of type tool_use.",
        "Put try around run(call['name'], call['input']); in except, str(error) is the result.",
        "Collect the results in one list and return one user message with all of them.",
    ],
)
def answers(content, run):
    """The user message that answers every tool call in `content`, a list of blocks.

    run(name, input) does the work and returns a text. If it raises, the text of the
    exception is the result and "is_error" is True; otherwise it is False.
    """
    results = []
    for block in content:
        if block["type"] != "tool_use":
            continue
        try:
            output, is_error = run(block["name"], block["input"]), False
        except Exception as error:
            output, is_error = str(error), True
        results.append(
            {
                "type": "tool_result",
                "tool_use_id": block["id"],
                "content": output,
                "is_error": is_error,
            }
        )
    return {"role": "user", "content": results}


@broken("01.1", "only the first call is answered")
def answers_first(content, run):
    message = answers([b for b in content if b["type"] == "tool_use"][:1], run)
    return message


@broken("01.1", "an exception ends it")
def answers_raising(content, run):
    results = [
        _result(b["id"], run(b["name"], b["input"])) for b in content if b["type"] == "tool_use"
    ]
    return {"role": "user", "content": results}


@broken("01.1", "after a failure the rest is left out")
def answers_until_failure(content, run):
    message = answers(content, run)
    kept = []
    for result in message["content"]:
        kept.append(result)
        if result["is_error"]:
            break
    return {"role": "user", "content": kept}


@broken("01.1", "one message for each result")
def answers_many(content, run):
    return [{"role": "user", "content": [r]} for r in answers(content, run)["content"]]


def _start(index):
    return {"type": "content_block_start", "index": index}


def _delta(index):
    return {"type": "content_block_delta", "index": index}


def _stop(index):
    return {"type": "content_block_stop", "index": index}


BEGIN, REASON, END = ({"type": f"message_{kind}"} for kind in ("start", "delta", "stop"))
PING = {"type": "ping"}


@exercise(
    "01.2",
    "Is it whole?",
    cases=[
        Case("a whole message", ([BEGIN, _start(0), _delta(0), _stop(0), REASON, END],), True),
        Case("no content is whole too", ([BEGIN, REASON, END],), True),
        Case("a ping in between", ([BEGIN, PING, _start(0), _stop(0), PING, REASON, END],), True),
        Case("nothing came", ([],), False),
        Case("it ended after the text", ([BEGIN, _start(0), _delta(0), _stop(0)],), False),
        Case("it has a reason, but no end", ([BEGIN, _start(0), _stop(0), REASON],), False),
        Case("a block is open at the end", ([BEGIN, _start(0), _delta(0), REASON, END],), False),
        Case(
            "the second block is open",
            ([BEGIN, _start(0), _stop(0), _start(1), _delta(1), REASON, END],),
            False,
        ),
    ],
    hints=[
        "Keep a set of the blocks that are open: add at the start, remove at the stop.",
        "At the end two things must hold: no block is open, and the last event was message_stop.",
    ],
)
def whole(events):
    """Whether these streaming events are a complete message.

    Each event is a dict with a "type"; events of blocks also have an "index". A block
    that was started must have stopped, and the message must have ended.
    """
    open_blocks, ended = set(), False
    for event in events:
        match event["type"]:
            case "content_block_start":
                open_blocks.add(event["index"])
            case "content_block_stop":
                open_blocks.discard(event["index"])
            case "message_stop":
                ended = True
    return ended and not open_blocks


@broken("01.2", "a stream that ended without an error is taken for whole")
def whole_if_anything(events):
    return len(events) > 0


@broken("01.2", "the stop reason is taken for the end")
def whole_by_reason(events):
    return whole([*events, END]) and any(e["type"] == "message_delta" for e in events)


@broken("01.2", "open blocks are not looked at")
def whole_by_end(events):
    return any(event["type"] == "message_stop" for event in events)


U, A = {"role": "user", "content": [_text("go")]}, {"role": "assistant", "content": [_text("ok")]}
CALL = {"role": "assistant", "content": [_text("I look."), _call("t1", n=1)]}
RESULT = {"role": "user", "content": [_result("t1", "2")]}
LONG = [U, CALL, RESULT, A, U, CALL, RESULT, A]


@exercise(
    "01.3",
    "Cut safely",
    cases=[
        Case("there is less than that", ([U, A], 5), [U, A]),
        Case("at a user message", ([U, A, U, A], 2), [U, A]),
        Case("it would begin with the assistant", ([U, A, U, A], 1), [U, A]),
        Case("it would begin with a result", (LONG, 2), LONG[4:]),
        Case("it would begin with the call", (LONG, 3), LONG[4:]),
        Case("it lies between two tasks", (LONG, 4), LONG[4:]),
        Case("only the first message will do", (LONG, 5), LONG),
    ],
    hints=[
        "Begin with the cut at len(messages) - keep, but not below 0.",
        "While the message at the cut may not be the first, move the cut one back.",
        "May be first: role user, and no block of type tool_result in it.",
    ],
)
def cut(messages, keep):
    """At least the last `keep` messages, cut where the API accepts it.

    The first must be a user message without results in it. If it is not, start earlier.
    """
    start = max(0, len(messages) - keep)
    while start > 0:
        message = messages[start]
        kinds = [block["type"] for block in message["content"]]
        if message["role"] == "user" and "tool_result" not in kinds:
            break
        start -= 1
    return messages[start:]


@broken("01.3", "the last messages, whatever they are")
def cut_blindly(messages, keep):
    return messages[-keep:]


@broken("01.3", "it begins with a user message, which may be results")
def cut_at_user(messages, keep):
    start = max(0, len(messages) - keep)
    while start > 0 and messages[start]["role"] != "user":
        start -= 1
    return messages[start:]


@broken("01.3", "it moves forward, and keeps too little")
def cut_forward(messages, keep):
    start = max(0, len(messages) - keep)
    while start < len(messages):
        kinds = [block["type"] for block in messages[start]["content"]]
        if messages[start]["role"] == "user" and "tool_result" not in kinds:
            break
        start += 1
    return messages[start:]
