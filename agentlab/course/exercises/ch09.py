"""Exercises of chapter 09: how others count, what a history costs, what a budget allows."""
# Solutions look as learners write them, without type hints.
# mypy: allow-untyped-defs, disable-error-code="var-annotated"

from __future__ import annotations

from agentlab.course.exercises import Case, broken, exercise

# ------------------------------------------------------------------------------------------ 09.1


def _usage(prompt=0, output=0, **details):
    return {"prompt_tokens": prompt, "completion_tokens": output, **details}


def _buckets(fresh=0, read=0, output=0):
    return {"input": fresh, "cache_read": read, "output": output}


@exercise(
    "09.1",
    "How others count",
    cases=[
        Case("input and output", (_usage(1000, 100),), _buckets(1000, 0, 100)),
        Case("nothing at all", ({},), _buckets()),
        Case(
            "most of the prompt was cached",
            (_usage(34_019, 50, prompt_tokens_details={"cached_tokens": 34_000}),),
            _buckets(19, 34_000, 50),
        ),
        Case(
            "all of it was cached",
            (_usage(1024, 1, prompt_tokens_details={"cached_tokens": 1024}),),
            _buckets(0, 1024, 1),
        ),
        Case(
            "the details are null",
            (_usage(10, 5, prompt_tokens_details=None),),
            _buckets(10, 0, 5),
        ),
        Case(
            "a count in the details is null",
            (_usage(10, 5, prompt_tokens_details={"cached_tokens": None}),),
            _buckets(10, 0, 5),
        ),
        Case("the counts are null", (_usage(None, None),), _buckets()),
        Case(
            "reasoning is a part of the output",
            (_usage(10, 400, completion_tokens_details={"reasoning_tokens": 300}),),
            _buckets(10, 0, 400),
        ),
        Case(
            "more cached than there was",
            (_usage(100, 5, prompt_tokens_details={"cached_tokens": 128}),),
            _buckets(0, 100, 5),
        ),
    ],
    hints=[
        "The two vendors differ in one thing: here the cached tokens have to be taken off.",
        "Missing and null are 0: usage.get(name) or 0. The same for the details: ... or {}.",
        "min(prompt, cached) keeps both buckets at 0 or above.",
    ],
)
def other_buckets(usage):
    """Tokens of a reply as {"input": ..., "cache_read": ..., "output": ...}.

    usage is as OpenAI's chat completions send it: prompt_tokens contains what was
    cached, and prompt_tokens_details says in cached_tokens how much that was.
    completion_tokens is the output, reasoning included. Any of them may be missing or
    None. If more was cached than the prompt has, then all of the prompt was.
    """
    details = usage.get("prompt_tokens_details") or {}
    prompt = usage.get("prompt_tokens") or 0
    read = min(prompt, details.get("cached_tokens") or 0)
    output = usage.get("completion_tokens") or 0
    return {"input": prompt - read, "cache_read": read, "output": output}


@broken("09.1", "cached tokens are counted twice")
def other_buckets_twice(usage):
    return {**other_buckets(usage), "input": usage.get("prompt_tokens") or 0}


@broken("09.1", "what was cached is forgotten")
def other_buckets_forgotten(usage):
    return {**other_buckets(usage), "cache_read": 0}


@broken("09.1", "reasoning is added to the output")
def other_buckets_reasoning(usage):
    made = other_buckets(usage)
    details = usage.get("completion_tokens_details") or {}
    return {**made, "output": made["output"] + (details.get("reasoning_tokens") or 0)}


@broken("09.1", "null is no number")
def other_buckets_null(usage):
    read = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
    return {**other_buckets(usage), "cache_read": read}


@broken("09.1", "a bucket falls below nothing")
def other_buckets_below(usage):
    read = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    made = other_buckets(usage)
    return {**made, "input": (usage.get("prompt_tokens") or 0) - read, "cache_read": read}


# ------------------------------------------------------------------------------------------ 09.2


@exercise(
    "09.2",
    "What a history costs",
    cases=[
        Case("one request", (1000, 500, 1, False), 0.002),
        Case("one request, to be cached", (1000, 500, 1, True), 0.0025),
        Case("two requests", (1000, 500, 2, False), 0.005),
        Case("two requests, cached", (1000, 500, 2, True), 0.00385),
        Case("no request", (1000, 500, 0, False), 0.0),
        Case("ten turns", (4000, 1000, 10, False), 0.17),
        Case("ten turns, cached", (4000, 1000, 10, True), 0.0397),
        Case("a hundred turns", (4000, 1000, 100, False), 10.7),
        Case("a hundred turns, cached", (4000, 1000, 100, True), 0.7822),
        Case("nothing is added", (4000, 0, 5, True), 0.0116),
    ],
    hints=[
        "Go through the turns: turn number n (from 0) sends first + n * added tokens.",
        "Cached, only what is new is written: all of the first request, then added each time.",
        "What is not new was sent by the request before: prompt - new, at 0.1.",
    ],
)
def input_dollars(first, added, turns, cached):
    """Dollars for all input of a conversation, rounded to six places.

    The first request has first tokens, and each one after it has added more: the
    history is sent again. Input costs $2 a million tokens. With cached, everything new
    in a request is written to the cache, at $2.50 a million, and everything that the
    request before had sent is read from it, at $0.10 a million.
    """
    dollars = 0.0
    for turn in range(turns):
        prompt = first + turn * added
        new = first if turn == 0 else added
        dollars += (prompt - new) * 0.1 + new * 2.5 if cached else prompt * 2
    return round(dollars / 1_000_000, 6)


@broken("09.2", "only what is new is paid, as if the server remembered the rest")
def input_dollars_new_only(first, added, turns, cached):
    sent = first + max(0, turns - 1) * added if turns else 0
    return round(sent * (2.5 if cached else 2) / 1_000_000, 6)


@broken("09.2", "what is new costs as much as without a cache")
def input_dollars_free_write(first, added, turns, cached):
    dollars = 0.0
    for turn in range(turns):
        prompt = first + turn * added
        new = first if turn == 0 else added
        dollars += (prompt - new) * 0.1 + new * 2 if cached else prompt * 2
    return round(dollars / 1_000_000, 6)


@broken("09.2", "the first request finds itself in the cache")
def input_dollars_warm(first, added, turns, cached):
    if not cached:
        return input_dollars(first, added, turns, False)
    prompts = sum(first + turn * added for turn in range(turns))
    return round((prompts * 0.1 + max(0, turns - 1) * added * 2.4) / 1_000_000, 6)


@broken("09.2", "the whole prompt is written again at every turn")
def input_dollars_rewritten(first, added, turns, cached):
    prompts = sum(first + turn * added for turn in range(turns))
    return round(prompts * (2.5 if cached else 2) / 1_000_000, 6)


@broken("09.2", "every prompt is as long as the last one")
def input_dollars_longest(first, added, turns, cached):
    if cached:
        return input_dollars(first, added, turns, True)
    return round(turns * (first + max(0, turns - 1) * added) * 2 / 1_000_000, 6)


# ------------------------------------------------------------------------------------------ 09.3


@exercise(
    "09.3",
    "What a budget allows",
    cases=[
        Case("nothing is spent yet", (0.0, 1.0, 1000, 1000, False), True),
        Case("a little is left", (0.99, 1.0, 100_000, 8000, False), True),
        Case("all is spent", (1.0, 1.0, 1000, 1000, False), False),
        Case("more than all is spent", (1.2, 1.0, 1000, 1000, False), False),
        Case("strict, and it fits", (0.5, 1.0, 10_000, 1000, True), True),
        Case("strict, and it just fits", (0.5, 1.0, 100_000, 25_000, True), True),
        Case("strict, and a little is left", (0.99, 1.0, 100_000, 8000, True), False),
        Case("strict, and all is spent", (1.0, 1.0, 0, 0, True), False),
        Case("strict: the prompt alone is too much", (0.0, 0.1, 50_000, 10, True), False),
        Case("strict: the room alone is too much", (0.0, 0.05, 100, 8192, True), False),
        Case("strict: the prompt is written, not only sent", (0.0, 0.1, 45_000, 10, True), False),
        Case("the price of a call is not known", (None, 1.0, 1000, 1000, False), False),
        Case("strict, and a price is not known", (None, 1.0, 1000, 1000, True), False),
        Case("no budget", (99.0, None, 1000, 1000, True), True),
        Case("no budget and no price", (None, None, 1000, 1000, False), True),
        Case("a budget of nothing", (0.0, 0.0, 1000, 1000, False), False),
    ],
    hints=[
        "The order helps: no budget, then no known price, then what is spent, then strict.",
        "Ask with `is None`: 0.0 is a budget, and the smallest of all.",
        "The most that it can cost: (prompt * 2.5 + room * 10) / 1_000_000.",
    ],
)
def may_send(spent, budget, prompt, room, strict):
    """Whether the next request may be sent: True or False.

    spent and budget are dollars. A budget of None is no limit. If spent is None, the
    price of an earlier call is not known, so no budget can be kept and nothing is sent.
    Nothing is sent either once all is spent. With strict it is sent only if the most
    that it can cost still fits: its prompt tokens written to the cache, at $2.50 a
    million, and a reply that takes all of its room, at $10 a million.
    """
    if budget is None:
        return True
    if spent is None or spent >= budget:
        return False
    worst = (prompt * 2.5 + room * 10) / 1_000_000
    return not strict or spent + worst <= budget


@broken("09.3", "every budget is the loose one")
def may_send_loose(spent, budget, prompt, room, strict):
    return may_send(spent, budget, prompt, room, False)


@broken("09.3", "every budget is strict")
def may_send_strict(spent, budget, prompt, room, strict):
    return may_send(spent, budget, prompt, room, True)


@broken("09.3", "a price that is not known counts as 0")
def may_send_unknown(spent, budget, prompt, room, strict):
    return may_send(spent or 0.0, budget, prompt, room, strict)


@broken("09.3", "the reply is forgotten")
def may_send_no_room(spent, budget, prompt, room, strict):
    return may_send(spent, budget, prompt, 0, strict)


@broken("09.3", "the prompt costs what plain input costs")
def may_send_plain(spent, budget, prompt, room, strict):
    return may_send(spent, budget, prompt * 0.8, room, strict)


@broken("09.3", "a budget of nothing is no limit")
def may_send_falsy(spent, budget, prompt, room, strict):
    return may_send(spent, budget or None, prompt, room, strict)


@broken("09.3", "what just fits is refused")
def may_send_just(spent, budget, prompt, room, strict):
    worst = (prompt * 2.5 + room * 10) / 1_000_000 if strict else 0
    return budget is None or (spent is not None and spent + worst < budget)


@broken("09.3", "one more when all is spent")
def may_send_one_more(spent, budget, prompt, room, strict):
    if spent is not None and spent == budget:
        return True
    return may_send(spent, budget, prompt, room, strict)
