"""Where a history can be cut, and whether what came out is still a history.

A tool call and its result are one thing: the API refuses one without the other. So a history is
cut between *rounds*. A round is what the model said with all that was answered to it, or what the
user asked. Counting messages (``messages[-20:]``) sooner or later cuts within a round, and a test
with texts alone never shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from agentlab.messages import Block, Message, blocks_of, calls_of
from agentlab.tokens import count_message

# Bound to what stood before them: they mean nothing, and are refused, behind another beginning.
THINKING = ("thinking", "redacted_thinking")
BOUND = (*THINKING, "compaction")


def results_of(message: Message) -> list[Block]:
    """The tool results in a message."""
    return [block for block in blocks_of(message) if block["type"] == "tool_result"]


def rounds(messages: Sequence[Message]) -> list[range]:
    """The rounds of a history, each as the range of its messages. Between them it may be cut."""
    starts: list[int] = []
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        results = results_of(message) if message["role"] == "user" else []
        fresh = message["role"] == "user" or (
            message["role"] == "assistant" and messages[index - 1]["role"] != "assistant"
        )
        if index == 0 or (fresh and not results and not waiting):
            starts.append(index)
        if message["role"] == "assistant":
            waiting |= {call["id"] for call in calls_of(message)}
        waiting -= {result["tool_use_id"] for result in results}
    return [range(a, b) for a, b in zip(starts, [*starts[1:], len(messages)], strict=True)]


def open_calls(messages: Sequence[Message]) -> set[str]:
    """The ids of the calls at the end that have no result yet. Looks at the last round only."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message["role"] == "assistant":
            return {call["id"] for call in calls_of(message)} - answered
        answered |= {result["tool_use_id"] for result in results_of(message)}
    return set()


def cut(
    messages: Sequence[Message],
    keep_rounds: int,
    most_tokens: float = float("inf"),
    size: Callable[[Message], int] = count_message,
) -> int:
    """The index from which on messages are kept: always the beginning of a round.

    Kept are the last ``keep_rounds`` rounds of the model, with what the user asked between them
    and right before them, as long as all of it stays under ``most_tokens``. The last round is kept
    even if it alone is larger. Messages before the model's first one are never counted to a round.
    """
    first, kept, tokens = len(messages), 0, 0
    for each in reversed(rounds(messages)):
        said = messages[each.start]["role"] == "assistant"
        if each.start == 0 or (said and kept == keep_rounds):
            break
        tokens += sum(size(messages[index]) for index in each)
        if tokens > most_tokens and first < len(messages):
            break
        kept += said
        first = each.start
    return first


def validate(messages: Sequence[Message], before: Sequence[Message] = ()) -> list[str]:
    """What the API would refuse in a history, a line each; nothing if it is sound.

    ``before``: the history that this one was made from. Thinking is bound to everything that stood
    before it, so from the first message on that differs there must be none. A history may end with
    the model's words, since the user's next message follows; with open calls it may not. Rules and
    order are those of the API (2026-11); only the next request itself can prove them.
    """
    if not messages:
        return ["there are no messages"]
    found = [] if messages[0]["role"] == "user" else ["messages.0: the first must be the user's"]
    seen: set[str] = set()
    waiting: list[str] = []
    same = _alike(messages, before) if before else len(messages)
    for index, message in enumerate(messages):
        problems = _in_blocks(message["role"], blocks_of(message))
        if index >= same and any(block["type"] in BOUND for block in blocks_of(message)):
            problems.append("thinking that is bound to another beginning")
        found += [f"messages.{index}: {problem}" for problem in problems]
    for role, run in groupby(enumerate(messages), lambda pair: pair[1]["role"]):
        # Messages of one role that follow one another are one turn to the API.
        indexes, parts = zip(*run, strict=True)
        blocks = [block for part in parts for block in blocks_of(part)]
        problems = _in_pairs(waiting, blocks) if role == "user" or waiting else []
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if twice := [id for id in waiting if id in seen or waiting.count(id) > 1]:
            problems.append(f"ids that were used before: {', '.join(twice)}")
        seen.update(waiting)
        found += [f"messages.{indexes[0]}: {problem}" for problem in problems]
    if waiting:
        found.append(f"the end: calls without results: {', '.join(waiting)}")
    return found


def _alike(messages: Sequence[Message], before: Sequence[Message]) -> int:
    """How many messages at the beginning are the same."""
    pairs = zip(messages, before, strict=False)
    return next(
        (i for i, (a, b) in enumerate(pairs) if a is not b and a != b),
        min(len(messages), len(before)),
    )


def _in_blocks(role: str, blocks: list[Block]) -> list[str]:
    if not blocks:
        return ["is empty"]
    found = []
    wrong = {"tool_use", *THINKING} if role == "user" else {"tool_result", "image"}
    for block in blocks:
        if block["type"] in wrong:
            found.append(f"{block['type']} does not belong to the {role}")
        if block["type"] == "text" and not block["text"].strip():
            found.append("a text without text")
        if block["type"] == "tool_result" and block.get("is_error") and not block.get("content"):
            found.append("an error that says nothing")
    if role == "assistant" and blocks[-1]["type"] in THINKING:
        found.append("ends in thinking")
    return found


def _in_pairs(waiting: list[str], blocks: list[Block]) -> list[str]:
    """What is wrong with what the user's side says after calls with these ids."""
    kinds = [block["type"] == "tool_result" for block in blocks]
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    leading = results[: [*kinds, False].index(False)]
    found = []
    if missing := [id for id in waiting if id not in leading]:
        found.append(f"the results must come first; missing there: {', '.join(missing)}")
    if strange := [id for id in results if id not in waiting]:
        found.append(f"results that answer no call: {', '.join(strange)}")
    if len(set(results)) < len(results):
        found.append("a call with two results")
    return found
