"""Where a history can be cut, and whether what came out is still a history.

A tool call and its result are one thing: the API refuses one without the other. So a history is
cut between *rounds*. A round is what the model said with all that was answered to it, or what the
user asked. Counting messages (``messages[-20:]``) sooner or later cuts within a round, and a test
with texts alone never shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    waiting: set[str] = set()  # ids of calls without a result
    role = ""
    for index, message in enumerate(messages):
        role, before, blocks = message["role"], role, blocks_of(message)
        if role == "assistant":
            fresh = before != "assistant" and not waiting
            waiting.update(block["id"] for block in blocks if block["type"] == "tool_use")
        else:
            results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
            fresh = not results and not waiting
            waiting.difference_update(results)
        if fresh or index == 0:
            starts.append(index)
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
    run: list[Block] = []  # what one side said in messages that follow one another: one turn
    for index, message in enumerate(messages):
        role, blocks = message["role"], blocks_of(message)
        problems = _in_blocks(role, blocks, index >= same)
        run = [*run, *blocks] if run else blocks
        if index + 1 == len(messages) or messages[index + 1]["role"] != role:
            if waiting or role == "user":
                problems += _in_pairs(waiting, run)
            waiting = [block["id"] for block in run if block["type"] == "tool_use"]
            if not seen.isdisjoint(waiting) or len(set(waiting)) < len(waiting):
                problems.append(f"an id that was used before, of {', '.join(waiting)}")
            seen.update(waiting)
            run = []
        found += [f"messages.{index}: {problem}" for problem in problems]
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


_WRONG = {
    "user": frozenset(("tool_use", *THINKING)),
    "assistant": frozenset(("tool_result", "image")),
}


def _in_blocks(role: str, blocks: list[Block], elsewhere: bool) -> list[str]:
    """What is wrong with single blocks; ``elsewhere``: what stood before them is not there."""
    if not blocks:
        return ["is empty"]
    found, wrong, kind = [], _WRONG.get(role, ()), ""
    for block in blocks:
        kind = block["type"]
        if kind in wrong:
            found.append(f"{kind} does not belong to the {role}")
        if elsewhere and kind in BOUND:
            found.append("thinking that is bound to another beginning")
        if kind == "text" and not block["text"].strip():
            found.append("a text without text")
        if kind == "tool_result" and block.get("is_error") and not block.get("content"):
            found.append("an error that says nothing")
    if role == "assistant" and kind in THINKING:
        found.append("ends in thinking")
    return found


def _in_pairs(waiting: list[str], blocks: list[Block]) -> list[str]:
    """What is wrong with what the user's side says after calls with these ids."""
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    first = next((i for i, b in enumerate(blocks) if b["type"] != "tool_result"), len(blocks))
    leading = results[:first]
    if leading == waiting == results:
        return []
    found = []
    if missing := [id for id in waiting if id not in leading]:
        found.append(f"the results must come first; missing there: {', '.join(missing)}")
    if strange := [id for id in results if id not in waiting]:
        found.append(f"results that answer no call: {', '.join(strange)}")
    if len(set(results)) < len(results):
        found.append("a call with two results")
    return found
