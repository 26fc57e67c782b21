"""A page of 100 kB: the model needs one line of it, and looks at a small file twice.

What it can do depends on what came back. It looks for the day in the text; where a preview says in
which file all of it is, it reckons the line out and reads there; where the text was cut and nothing
says where the rest is, it does not know, and says so.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from agentlab.simulator.intents import files_in
from agentlab.simulator.scenario import Chat, Result, Say, Turns, scenario

PAGE = "https://almanac.example/2026.html"
NOTE = "notes/rain.md"
YEAR = 2026
FETCH = ("fetch_page", "fetch", "get_page", "download", "WebFetch")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_MESI = (
    "gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre",
    "ottobre", "novembre", "dicembre",
)  # fmt: skip
_DAY = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|º)? (?:of )?({'|'.join((*MONTHS, *_MESI))})", re.I)
_KEPT = re.compile(r"[\w.][\w./-]*/[\w.-]+\.txt\b")
_RAIN = re.compile(r"(\d+(?:\.\d+)?) mm\b")
_WINDS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
_SEEN = (
    "a heron that waits longer than you do", "two swifts over the roof", "nothing that moved",
    "smoke from the kiln", "the ferry, late again", "a hare on the bank", "rooks going home",
)  # fmt: skip
_STORM = date(YEAR, 9, 17)


def rain_on(day: date) -> str:
    """How much rain the almanac has for a day, in millimetres."""
    number = day.timetuple().tm_yday
    return "46.2" if day == _STORM else f"{(number * 37 % 29) * (number % 3 == 0) / 2:.1f}"


def almanac() -> str:
    """The page: a table with a row a day, 100 kB of HTML, always the same."""
    rows = []
    for number in range(365):
        day = date(YEAR, 1, 1) + timedelta(number)
        kind = "odd" if number % 2 else "even"
        cells = {
            "date": said(day),
            "rain": f"{rain_on(day)} mm",
            "wind": f"{_WINDS[number * 5 % 8]} {number * 3 % 7}",
            "warmth": f"{number * 7 % 11 - 2} to {number * 7 % 11 + 6} degrees",
            "seen": _SEEN[(number + number // 7) % 7],
        }
        inside = "".join(f'<td class="cell {name}">{text}</td>' for name, text in cells.items())
        about = f'id="day-{day.isoformat()}" data-station="roof" data-read="07:00"'
        rows.append(f'<tr class="day {kind}" {about}>{inside}</tr>')
    head = [
        "<!DOCTYPE html>", '<html lang="en">', "<head>", f"<title>Almanac {YEAR}</title>",
        "</head>", "<body>", f"<h1>The weather of {YEAR}, day by day</h1>", '<table class="days">',
    ]  # fmt: skip
    return "\n".join([*head, *rows, "</table>", "</body>", "</html>", ""])


def said(day: date) -> str:
    """A day as the page writes it: ``17 September 2026``."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


@scenario(
    "almanac",
    chapter=11,
    opens=r"\bhow much rain fell on \d|\bquanta pioggia è caduta il \d",
    example=f"Fetch {PAGE}: how much rain fell on 17 September, and would the gauge of {NOTE} "
    "have held it?",
)
def the_almanac(chat: Chat) -> Turns:
    """Fetches a large page and needs one line of it; reads a small file at both ends."""
    pick, day = chat.pick, _day(chat.task)
    note = next((name for name in files_in(chat.task) if name.endswith(".md")), NOTE)
    say = chat.say(pick("I fetch the page and read the note.", "Prendo la pagina e leggo la nota."))
    _fetching(chat, say)
    page = (yield say.call("Read", file_path=note))[0]
    found, kept = _row(page, day), _kept(page)
    if chat.decide(not found and kept):
        offset = max(1, _line(page, day) - 1)
        text = pick(
            f"A preview. The days are in order, one a line, so {said(day)} must be near line "
            f"{offset + 1} of {kept}.",
            f"Un'anteprima. I giorni sono in ordine, uno per riga: {said(day)} dev'essere verso "
            f"la riga {offset + 1} di {kept}.",
        )
        read = (yield chat.say(text).call("Read", file_path=kept, offset=offset, limit=3))[0]
        found = _row(read, day)
        if chat.decide(read and not found and chat.offers("Grep")):
            text = pick("Not there. I search for it.", "Non è lì. La cerco.")
            search = chat.say(text).call("Grep", pattern=re.escape(said(day)), path=kept)
            found = _row((yield search)[0], day)
    look = pick(
        "Before I answer I look at the note once more.", "Prima di rispondere riguardo la nota."
    )
    told = (yield chat.say(look).call("Read", file_path=note))[0]
    yield chat.say(_answer(chat, day, found, page) + _gauge(chat, note, found, told))


def _fetching(chat: Chat, say: Say) -> None:
    """Ask for the page with whatever can bring it."""
    address = re.search(r"https?://[^\s<>\"']*[\w/]", chat.task)
    url = address[0] if address else PAGE
    file = next((n for n in files_in(chat.task) if n.endswith(".html")), url.rpartition("/")[2])
    if chat.tool(*FETCH) or not chat.offers("Bash"):
        say.call_tool(FETCH, url=url)
    else:
        say.call("Bash", command=f"cat {file.rpartition('/')[2] if '://' in file else file}")


def _day(task: str) -> date:
    """The day that a task asks about."""
    for number, name in _DAY.findall(task):
        names = MONTHS if name.title() in MONTHS else _MESI
        month = [n.lower() for n in names].index(name.lower()) + 1
        try:
            return date(YEAR, month, int(number))
        except ValueError:
            continue
    return _STORM


def _row(result: Result, day: date) -> str:
    """The rain of that day, if the text holds its line."""
    line = re.search(rf"(?<!\d){said(day)}.*", result.text)
    rain = _RAIN.search(line[0]) if line else None
    return rain[1] if rain else ""


def _kept(result: Result) -> str:
    """The file in which all of it is, if the text says so."""
    path = _KEPT.search(result.text)
    return path[0] if path and not result.failed else ""


def _line(page: Result, day: date) -> int:
    """The line of a day, reckoned from that of New Year, which the preview shows."""
    first = date(day.year, 1, 1)
    lines = page.text.split("\n")
    shown = (n for n, line in enumerate(lines, 1) if re.search(rf"(?<!\d){said(first)}", line))
    return next(shown, 1) + (day - first).days


def _answer(chat: Chat, day: date, rain: str, page: Result) -> str:
    pick, when = chat.pick, said(day)
    if chat.italian:
        when = f"{day.day} {_MESI[day.month - 1]} {day.year}"
    if rain:
        return pick(f"{rain} mm fell on {when}.", f"Il {when} sono caduti {rain} mm.")
    if not page:
        return pick(
            f"I fetched the page, but it is no longer in this conversation, and neither is the "
            f"line of {when}.",
            f"Ho preso la pagina, ma non è più in questa conversazione, e nemmeno la riga del "
            f"{when}.",
        )
    if page.failed:
        return pick("I could not get the page: ", "Non ho potuto prendere la pagina: ") + page.text
    return pick(
        f"I do not know. {when} is not in what I was given of the page, and nothing says where "
        "the rest of it is.",
        f"Non lo so. {when} non è in quel che ho avuto della pagina, e niente dice dove sia il "
        "resto.",
    )


def _gauge(chat: Chat, note: str, rain: str, told: Result) -> str:
    holds = _RAIN.search(told.text) if told and not told.failed else None
    if not rain or not holds:
        return ""
    if float(rain) > float(holds[1]):
        return chat.pick(
            f" The gauge overflows at {holds[1]} mm, says {note}, so it would not have held it.",
            f" Il pluviometro trabocca a {holds[1]} mm, dice {note}: non li avrebbe contenuti.",
        )
    return chat.pick(
        f" The gauge holds {holds[1]} mm, says {note}, so it would have held it.",
        f" Il pluviometro contiene {holds[1]} mm, dice {note}: li avrebbe contenuti.",
    )
