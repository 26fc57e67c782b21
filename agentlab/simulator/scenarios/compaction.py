"""A long run that needs what it read at its beginning: which of thirty days was the wettest.

The model says after each page what it has found so far. What it still knows after a compaction is
what the request shows it: results that are there, or its own words, or a summary that holds them.
The same goes for the one page that it may have been told to leave alone.
"""

from __future__ import annotations

import re

from agentlab.simulator.scenario import Chat, Turns, scenario
from agentlab.simulator.scenarios.economy import DAYS, day_file

_RAIN = re.compile(r"^Rain: (\d+) mm", re.MULTILINE)
MOST_MM = 40  # more rain does not fall there


@scenario(
    "wettest",
    chapter=10,
    opens=r"\bwettest\b.{0,80}\bdiary\b|\bdiary\b.{0,80}\bwettest\b",
    example="Which day of the diary was the wettest? Read diary/day-01.md to diary/day-30.md one "
    "after another.",
)
def wettest(chat: Chat) -> Turns:
    """Reads thirty pages, one a turn, and names the day with the most rain that it still knows."""
    if not chat.offers("Read"):
        yield chat.say("I cannot know: I am offered no Read to look into the diary with.")
        return
    most = _told(chat)
    for day in range(1, DAYS + 1):
        if chat.decide(chat.sees(f"not open {day_file(day)}")):
            continue
        say = chat.think(f"Day {day} is next.").say(_so_far(most))
        result = (yield say.call("Read", file_path=day_file(day)))[0]
        found = _RAIN.search(result.plain) if result and not result.failed else None
        if found and int(found[1]) > most[1]:
            most = day, int(found[1])
    yield chat.say(
        f"The wettest was day {most[0]} with {most[1]} mm." if most[0] else _so_far(most)
    )


def _so_far(most: tuple[int, int]) -> str:
    day, rain = most
    return f"Wettest so far: day {day} with {rain} mm." if day else "Nothing so far."


def _told(chat: Chat) -> tuple[int, int]:
    """The day with the most rain that the request speaks of, and how much fell."""
    known = [
        (day, rain)
        for day in range(1, DAYS + 1)
        for rain in range(1, MOST_MM)
        if chat.sees(f"day {day} with {rain} mm")
    ]
    return max(known, key=lambda each: each[1], default=(0, -1))
