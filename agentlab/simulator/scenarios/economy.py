"""A long run that is all history: thirty files, read one after another.

What each turn adds is small beside what it sends again, which is how runs of agents are: this is
where the prompt cache pays, and where a broken prefix costs most.
"""

from __future__ import annotations

import re
from pathlib import Path

from agentlab.simulator.scenario import Chat, Turns, scenario

DAYS = 30
_RAIN = re.compile(r"^Rain: (\d+) mm", re.MULTILINE)
_WINDS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
_SKIES = (
    "clear", "high thin cloud", "broken cloud", "overcast", "low cloud over the hill", "haze",
    "fog in the valley",
)  # fmt: skip
_SEEN = (
    "a heron at the pond", "two swifts over the roof", "smoke from the kiln", "the ferry, late",
    "nothing that moved", "a hare on the bank", "rooks going home", "someone mending the weir",
)  # fmt: skip


def day_file(day: int) -> str:
    """The name of a day's page."""
    return f"diary/day-{day:02}.md"


def rain_of(day: int) -> int:
    """How much rain a day's page tells of, in millimetres."""
    return (day * 7 + day // 4) % 11


def diary() -> dict[str, str]:
    """The diary of a weather station: thirty pages of some 3,000 characters, always the same."""
    pages = {}
    for day in range(1, DAYS + 1):
        lines = [f"# Day {day} at the station", "", f"Rain: {rain_of(day)} mm", ""]
        for watch in range(36):
            hour, minute = divmod(watch * 40, 60)
            n = day * 5 + watch * 3
            lines.append(
                f"- {hour:02}:{minute:02} wind {_WINDS[n % 8]} {n % 6}, {4 + n % 9} degrees, "
                f"{_SKIES[(n + day) % 7]}; seen: {_SEEN[(n + watch) % 8]}."
            )
        pages[day_file(day)] = "\n".join(lines) + "\n"
    return pages


def write_diary(folder: str | Path) -> None:
    """Write the diary into a folder, so that a real ``Read`` can read it."""
    for name, text in diary().items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


@scenario(
    "long-read",
    chapter=9,
    opens=r"\brain\b.{0,40}\bdiary\b|\bdiary\b.{0,40}\brain\b",
    example="How much rain fell in the thirty days of the diary? Read diary/day-01.md to "
    "diary/day-30.md one after another.",
)
def long_read(chat: Chat) -> Turns:
    """Reads thirty pages, one a turn, and adds up the rain that they tell of."""
    if not chat.offers("Read"):
        yield chat.say("I cannot know: I am offered no Read to look into the diary with.")
        return
    rain, unread = 0, []
    for day in range(1, DAYS + 1):
        say = chat.say("I'll read the diary page by page." if day == 1 else f"Now day {day}.")
        result = (yield say.call("Read", file_path=day_file(day)))[0]
        found = _RAIN.search(result.plain) if result and not result.failed else None
        if found:
            rain += int(found[1])
        else:
            unread.append(day)
    text = f"{rain} mm of rain fell on the {DAYS - len(unread)} days that I could read."
    if unread:
        text += f" I have nothing of these days: {', '.join(map(str, unread))}."
    yield chat.say(text)
