"""Exercises of chapter 09: what a reply costs, what a history costs, where a prefix is lost."""
# Solutions look as learners write them, without type hints.
# mypy: allow-untyped-defs, disable-error-code="var-annotated"

from __future__ import annotations

from agentlab.course.exercises import Case, broken, exercise

# ------------------------------------------------------------------------------------------ 09.1

PRICE = {
    "input": 3.0,
    "cache_read": 0.3,
    "cache_write_5m": 3.75,
    "cache_write_1h": 6.0,
    "output": 15.0,
}


def _usage(**counts):
    names = {"read": "cache_read_input_tokens", "written": "cache_creation_input_tokens"}
    usage: dict[str, object] = {"input_tokens": 0, "output_tokens": 0}
    hour = counts.pop("hour", None)
    thinking = counts.pop("thinking", None)
    usage.update({names.get(name, f"{name}_tokens"): n for name, n in counts.items()})
    if hour is not None:
        five = counts["written"] - hour
        usage["cache_creation"] = {
            "ephemeral_5m_input_tokens": five,
            "ephemeral_1h_input_tokens": hour,
        }
    if thinking is not None:
        usage["output_tokens_details"] = {"thinking_tokens": thinking}
    return usage


@exercise(
    "09.1",
    "What a reply costs",
    cases=[
        Case("input and output", (_usage(input=1000, output=100), PRICE), 0.0045),
        Case("nothing at all", (_usage(), PRICE), 0.0),
        Case("most of the prompt was cached", (_usage(input=19, read=34_000), PRICE), 0.010257),
        Case(
            "read, written and fresh",
            (_usage(input=19, written=5000, read=34_000, output=100), PRICE),
            0.030507,
        ),
        Case("a count is null", (_usage(input=10, output=5, read=None), PRICE), 0.000105),
        Case("all of it written for an hour", (_usage(written=1000, hour=1000), PRICE), 0.006),
        Case("a part written for an hour", (_usage(written=10_000, hour=4_000), PRICE), 0.0465),
        Case("thinking is a part of the output", (_usage(output=400, thinking=300), PRICE), 0.006),
        Case(
            "the parts of the writes are null",
            ({**_usage(written=1000), "cache_creation": None}, PRICE),
            0.00375,
        ),
        Case(
            "other prices",
            (_usage(input=1000, read=1000, output=1000), {**PRICE, "input": 1.0, "output": 5.0}),
            0.0063,
        ),
    ],
    hints=[
        "Five buckets, each with its own price; nothing is subtracted from input_tokens.",
        "Missing and null are 0: usage.get(name) or 0. The same for cache_creation: ... or {}.",
        "Written for five minutes is what is written at all, less what is for an hour.",
    ],
)
def cost(usage, price):
    """Dollars for one reply, rounded to six places.

    usage is as the API sends it: input_tokens (without what is cached), output_tokens
    (with thinking), cache_read_input_tokens, cache_creation_input_tokens (all writes),
    and in cache_creation how many of those are ephemeral_1h_input_tokens. Any of them
    may be missing or None. price: dollars per million of input, cache_read,
    cache_write_5m, cache_write_1h and output.
    """
    hour = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
    tokens = {
        "input": usage.get("input_tokens") or 0,
        "cache_read": usage.get("cache_read_input_tokens") or 0,
        "cache_write_5m": (usage.get("cache_creation_input_tokens") or 0) - hour,
        "cache_write_1h": hour,
        "output": usage.get("output_tokens") or 0,
    }
    return round(sum(tokens[name] * price[name] for name in tokens) / 1_000_000, 6)


@broken("09.1", "cached tokens are taken off the input, as other vendors count")
def cost_subtracting(usage, price):
    cached = (usage.get("cache_read_input_tokens") or 0) + (
        usage.get("cache_creation_input_tokens") or 0
    )
    fresh = max(0, (usage.get("input_tokens") or 0) - cached)
    return cost({**usage, "input_tokens": fresh}, price)


@broken("09.1", "what was cached is free")
def cost_free_cache(usage, price):
    names = ("cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation")
    return cost({k: v for k, v in usage.items() if k not in names}, price)


@broken("09.1", "every write is for five minutes")
def cost_without_hour(usage, price):
    return cost({**usage, "cache_creation": None}, price)


@broken("09.1", "what is for an hour is counted twice")
def cost_hour_twice(usage, price):
    hour = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
    more = {"cache_creation_input_tokens": (usage.get("cache_creation_input_tokens") or 0) + hour}
    return cost({**usage, **more}, price)


@broken("09.1", "thinking is added to the output")
def cost_thinking_twice(usage, price):
    thinking = (usage.get("output_tokens_details") or {}).get("thinking_tokens") or 0
    return cost({**usage, "output_tokens": (usage.get("output_tokens") or 0) + thinking}, price)


@broken("09.1", "null is no number")
def cost_null(usage, price):
    cached = usage.get("cache_read_input_tokens", 0) * price["cache_read"] / 1_000_000
    return round(cost({**usage, "cache_read_input_tokens": 0}, price) + cached, 6)


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

READ = {"name": "Read", "description": "Read a file."}
LS = {"name": "LS", "description": "List a folder."}


def _said(*texts):
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


def _request(tools=(READ, LS), system="Be brief.", messages=("go", "ok", "on")):
    return {"tools": list(tools), "system": system, "messages": _said(*messages)}


BASE = _request()
LONGER = _request(messages=("go", "ok", "on", "done", "thanks"))


@exercise(
    "09.3",
    "Where they part",
    cases=[
        Case("it goes on", (BASE, LONGER), ""),
        Case("the very same again", (BASE, _request()), ""),
        Case("tools in another order", (BASE, _request(tools=(LS, READ))), "tools[0]"),
        Case("a tool came", (BASE, _request(tools=(READ, LS, {"name": "Edit"}))), "tools[2]"),
        Case("a tool went", (BASE, _request(tools=(READ,))), "tools[1]"),
        Case(
            "a description changed",
            (BASE, _request(tools=(READ, {**LS, "description": "Look."}))),
            "tools[1]",
        ),
        Case("a clock", (_request(system="09:17"), _request(system="09:18")), "system"),
        Case(
            "a clock, and the history goes on",
            (_request(system="09:17"), {**LONGER, "system": "09:18"}),
            "system",
        ),
        Case("a message was edited", (BASE, _request(messages=("go!", "ok", "on"))), "messages[0]"),
        Case(
            "a result became a preview",
            (BASE, _request(messages=("go", "ok", "[cut]", "done", "thanks"))),
            "messages[2]",
        ),
        Case("the front was cut", (BASE, _request(messages=("on", "done"))), "messages[0]"),
        Case("a step back: nothing is lost", (LONGER, BASE), ""),
        Case(
            "the first difference is the one that counts",
            (BASE, _request(tools=(LS, READ), system="09:18", messages=("no",))),
            "tools[0]",
        ),
        Case(
            "no tools and no system prompt",
            ({"messages": _said("go")}, {"messages": _said("go", "ok", "on")}),
            "",
        ),
        Case(
            "tools, where there were none",
            ({"messages": _said("go")}, {"messages": _said("go"), "tools": [READ]}),
            "tools[0]",
        ),
    ],
    hints=[
        "The order is fixed: tools, then system, then messages. Return at the first difference.",
        "A tool more or less: compare old[i:i+1] with new[i:i+1], up to the longer list.",
        "For the messages zip is right: what only one of them has does not make them part.",
    ],
)
def parts_at(before, now):
    """Where a request first parts from the one before it, "" if it goes on.

    Both are dicts with messages and perhaps tools and system, and the cache compares
    them in the order tools, system, messages. The answer is "tools[1]", "system" or
    "messages[2]", counted from 0. A tool more or less is a difference, for the system
    prompt stands behind it. Messages at the end that only one of them has are none.
    """
    old, new = before.get("tools", []), now.get("tools", [])
    for index in range(max(len(old), len(new))):
        if old[index : index + 1] != new[index : index + 1]:
            return f"tools[{index}]"
    if before.get("system") != now.get("system"):
        return "system"
    pairs = zip(before["messages"], now["messages"], strict=False)
    for index, (one, other) in enumerate(pairs):
        if one != other:
            return f"messages[{index}]"
    return ""


@broken("09.3", "tools are compared without their order")
def parts_at_sorted(before, now):
    def named(request):
        return {**request, "tools": sorted(request.get("tools", []), key=lambda t: t["name"])}

    return parts_at(named(before), named(now))


@broken("09.3", "a tool at the end is not seen")
def parts_at_zipped_tools(before, now):
    shorter = min(len(before.get("tools", [])), len(now.get("tools", [])))
    return parts_at(
        {**before, "tools": before.get("tools", [])[:shorter]},
        {**now, "tools": now.get("tools", [])[:shorter]},
    )


@broken("09.3", "the messages are looked at first")
def parts_at_messages_first(before, now):
    bare = [{"messages": request["messages"]} for request in (before, now)]
    return parts_at(*bare) or parts_at(before, now)


@broken("09.3", "a longer history counts as another one")
def parts_at_longer(before, now):
    found = parts_at(before, now)
    if not found and len(now["messages"]) > len(before["messages"]):
        return f"messages[{len(before['messages'])}]"
    return found


@broken("09.3", "the system prompt is not compared")
def parts_at_no_system(before, now):
    return parts_at({**before, "system": ""}, {**now, "system": ""})


@broken("09.3", "a shorter history counts as broken")
def parts_at_shorter(before, now):
    found = parts_at(before, now)
    if not found and len(now["messages"]) < len(before["messages"]):
        return f"messages[{len(now['messages'])}]"
    return found
