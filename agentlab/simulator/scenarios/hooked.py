"""A model that writes a program as it is used to, and mends what it is told about."""

from __future__ import annotations

import re

from agentlab.simulator.scenario import Chat, Result, Turns, scenario

FILE = "trip.py"
LONG = 8  # messages: from here on a conversation is long, and a rule at its beginning far away
PROGRAM = '''\
"""The length of a trip, crossing by crossing."""

from itertools import pairwise

from {module} import distance


def length_km(stops):
    """Kilometres along these stops, each a latitude and a longitude in degrees."""
    return {total}
'''
TOTAL = "sum(distance(a, b) for a, b in pairwise(stops))"
_RULE = re.compile(
    r"(?:do not|never|don't) (?:import|use) `?(\w+)`?.*?\buse `?(\w+)`?", re.I | re.S
)
_REPLACED = re.compile(r"\b(\w+) is deprecated\b[^\n]*?\b(?:import|use) (\w+)", re.IGNORECASE)
_WRONG = re.compile(r"assert (\d[\d.]*) == (?:approx\()?(\d[\d.]*)")


@scenario(
    "crossings",
    chapter=7,
    opens=r"\b(?:write|create|scrivi|crea)\b.{0,20}\btrip\.py\b",
    example="Write trip.py: length_km(stops) adds up the crossings of a trip, in kilometres.",
)
def crossings(chat: Chat) -> Turns:
    """Writes a program with the module it knows, and mends what rules, hooks and tests say.

    It keeps to a rule of the system prompt in a young conversation, and no longer thinks of it in
    a long one. Real models forget by degrees; here it happens at a fixed length, to be seen.
    """
    pick, module, total = chat.pick, "flat_earth", TOTAL
    rule = _RULE.search(str(chat.request.get("system") or ""))
    young = len(chat.request["messages"]) < LONG
    if chat.decide(rule and rule[1] == module and young):
        module = "sphere"
        say = chat.say(pick("The rules say sphere, so I use that.", "Le regole dicono sphere."))
    else:
        say = chat.say(pick(f"I'll write {FILE}.", f"Scrivo {FILE}."))
    for _ in range(4):
        program = PROGRAM.format(module=module, total=total)
        done = (yield say.call("Write", file_path=FILE, content=program))[0]
        replaced, wrong = _REPLACED.search(done.text), _WRONG.search(done.text)
        if chat.decide(replaced and module == "flat_earth"):
            module = "sphere"
            text = pick(
                "flat_earth is not used here any more; I write it with sphere.",
                "flat_earth qui non si usa più: lo scrivo con sphere.",
            )
        elif chat.decide(wrong and 999 < float(wrong[1]) / float(wrong[2]) < 1001):
            total = f"{TOTAL} / 1000"
            text = pick(
                "A test got a thousand times too much: sphere counts metres. I divide by 1000.",
                "Un test ha avuto mille volte tanto: sphere conta in metri. Divido per 1000.",
            )
        else:
            yield chat.say(_ending(chat, done, wrong))
            return
        say = chat.say(text)


def _ending(chat: Chat, done: Result, wrong: re.Match[str] | None) -> str:
    if not done:
        return chat.pick(f"{FILE} was written.", f"{FILE} è stato scritto.")
    if done.failed:
        return chat.pick(f"{FILE} is not written: ", f"{FILE} non è scritto: ") + done.text
    if wrong:
        return chat.pick(
            f"{FILE} is written, but a test fails and I do not see why: "
            f"{wrong[1]} came out, and {wrong[2]} is expected.",
            f"{FILE} è scritto, ma un test fallisce e non capisco perché: "
            f"esce {wrong[1]}, e ci si aspetta {wrong[2]}.",
        )
    return chat.pick(f"{FILE} is written.", f"{FILE} è scritto.")
