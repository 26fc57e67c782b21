"""Minutes since midnight: the clock feeds the calculator, and nothing is known beforehand."""

from __future__ import annotations

import re

from agentlab.simulator.scenario import Chat, Result, Turns, scenario
from agentlab.simulator.vocabulary import pattern

_OPENS = pattern(
    r"""\bminutes?\b.{0,60}\bmidnight|\bmidnight\b.{0,60}\bminutes?\b
    |\bminuti\b.{0,60}\bmezzanotte|\bmezzanotte\b.{0,60}\bminuti\b"""
)
_TIME = pattern(r"(?<!\d)(\d{1,2}):(\d{2})(?::\d{2})?(?:\.\d+)?\s*([ap])?\.?m?")


def hour_and_minute(clock: Result) -> tuple[int, int] | None:
    """The time that a clock's answer holds, whatever else stands around it."""
    found = None if clock.failed else re.search(_TIME, clock.text)
    if not found:
        return None
    hour, minute = int(found[1]), int(found[2])
    if found[3]:
        hour = hour % 12 + 12 * (found[3].lower() == "p")
    return (hour, minute) if hour < 24 and minute < 60 else None


@scenario(
    "minutes",
    chapter=2,
    opens=_OPENS.pattern,
    example="How many minutes have passed since midnight?",
)
def minutes(chat: Chat) -> Turns:
    """Reads the clock, gives the calculator an expression made of it, answers with the result."""
    pick = chat.pick
    if not chat.offers("Clock"):
        yield chat.say(
            pick(
                "I cannot know: I have no clock. I only see what stands in this request, and the "
                "time does not.",
                "Non posso saperlo: non ho un orologio. Vedo solo quello che sta in questa "
                "richiesta, e l'ora non c'è.",
            )
        )
        return
    clock = yield chat.think(
        pick(
            "I do not know what time it is; the clock does.", "Non so che ore sono, l'orologio sì."
        )
    ).call("Clock")
    if chat.decide(not clock[0]):  # compaction took the reading away: read the clock again
        clock = yield chat.call("Clock")
    time = hour_and_minute(clock[0])
    if chat.decide(time is None):
        why = pick("I could not read the time: ", "Non sono riuscito a leggere l'ora: ")
        yield chat.say(why + (clock[0].text or "-"))
        return
    hour, minute = time or (0, 0)
    value = yield chat.think(
        pick(
            f"{hour} hours of 60 minutes, and {minute} more.",
            f"{hour} ore di 60 minuti, e altri {minute}.",
        )
    ).call("Calculator", expression=f"{hour} * 60 + {minute}")
    now = f"{hour:02}:{minute:02}" if time else pick("the time I read", "l'ora che ho letto")
    number = value[0].number
    if value[0].failed or not number:
        why = pick(
            f"It is {now}, but the calculator gave me no number of minutes: ",
            f"Sono le {now}, ma la calcolatrice non mi ha dato i minuti: ",
        )
        yield chat.say(why + (value[0].text or "-"))
        return
    yield chat.say(
        pick(
            f"{number} minutes have passed since midnight (it is {now}).",
            f"Dalla mezzanotte sono passati {number} minuti (sono le {now}).",
        )
    )
