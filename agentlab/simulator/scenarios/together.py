"""Several calls in one turn: reads with a write among them, and five writes to one file."""

from __future__ import annotations

import re
from typing import Any

from agentlab.simulator.intents import files_in
from agentlab.simulator.scenario import Chat, Result, Turns, scenario

NOTES = ("notes/people.md", "notes/rain.md", "notes/wind.md")
RAIN_MM = 4.2
ROW = f"2026-11-30,3.1,7.6,{RAIN_MM},Ada"
_ADDS = re.compile(r"add|append|record|aggiungi", re.IGNORECASE)


@scenario(
    "readings",
    chapter=4,
    opens=r"\bthen add today's reading\b|\bpoi aggiungi la lettura di oggi\b",
    example="Read notes/people.md, notes/rain.md and notes/wind.md, then add today's reading.",
)
def readings(chat: Chat) -> Turns:
    """Reads three files and adds a line to a fourth in one turn, then looks at that one."""
    pick = chat.pick
    names = [*files_in(chat.task), *NOTES][:3]
    adds, file = _adding(chat)
    say = chat.say(
        pick(
            "Three reads and one write, all in one turn. You gave no number, so I take "
            f"{RAIN_MM} mm.",
            f"Tre letture e una scrittura, in un turno solo. Non hai dato un numero: prendo "
            f"{RAIN_MM} mm.",
        )
    )
    for name in names:
        say.call("Read", file_path=name)
    if adds:
        say.call(adds, **_reading(chat, adds, file))
    results = yield say
    reads, added = results[:3], results[3:]
    file = next(iter(files_in(added[0].text)), file) if added else file
    told = [_told(chat, name, read) for name, read in zip(names, reads, strict=False)]
    if not added or chat.decide(added[0].failed):
        why = added[0].text if added else pick("no tool for it", "non ho lo strumento")
        told.append(pick(f"Today's reading is not added: {why}", f"Lettura non aggiunta: {why}"))
        yield chat.say("\n".join(told))
        return
    look = pick(f"Now I look at {file}.", f"Ora guardo {file}.")
    after = (yield chat.say(look).call("Read", file_path=file))[0]
    told.append(_last_line(chat, file, after))
    yield chat.say("\n".join(told))


def _adding(chat: Chat) -> tuple[str, str]:
    """The offered tool that adds a reading, and the file that it is about."""
    tools = chat.offered.tools
    own = chat.tool("add_reading") or next((name for name in tools if _ADDS.search(name)), None)
    if not own:
        return chat.tool("Write") or "", "notes/today.md"
    named = files_in(str(tools[own].get("description") or ""))
    return own, next(iter(named), "data.csv")


def _reading(chat: Chat, tool: str, file: str) -> dict[str, Any]:
    """Today's reading in the arguments that the tool has."""
    if tool == chat.tool("Write"):
        return {"file_path": file, "content": f"# Today\n\nRain: {RAIN_MM} mm.\n"}
    filled: dict[str, Any] = {}
    for name, kind in _properties(chat, tool).items():
        if kind.get("type") == "number":
            filled[name] = RAIN_MM
        elif kind.get("type") == "integer":
            filled[name] = round(RAIN_MM)
        elif "path" in name or "file" in name:
            filled[name] = file
        elif re.search(r"day|date|giorno|data", name):
            filled[name] = "2026-11-30"
        else:
            filled[name] = ROW if file.endswith(".csv") else f"30 November: {RAIN_MM} mm"
    return filled


def _told(chat: Chat, name: str, read: Result) -> str:
    if not read:
        return chat.pick(f"- {name}: no longer in this conversation", f"- {name}: non c'è più")
    if read.failed:
        return chat.pick(f"- {name}: not read, {read.text}", f"- {name}: non letto, {read.text}")
    return chat.pick(f"- {name}: {read.words} words", f"- {name}: {read.words} parole")


def _last_line(chat: Chat, file: str, after: Result) -> str:
    lines = [line for line in after.plain.splitlines() if line.strip()]
    if after.failed or not lines:
        text = after.text or "-"
        return chat.pick(
            f"The reading was added, but I could not look at {file}: {text}",
            f"Lettura aggiunta, ma non ho potuto guardare {file}: {text}",
        )
    return chat.pick(
        f"- {file}: {len(lines)} lines now, the last is {lines[-1]!r}",
        f"- {file}: ora {len(lines)} righe, l'ultima è {lines[-1]!r}",
    )


# --------------------------------------------------------------------------------------- payments

BOOKS = ("book", "add_line", "book_payment", "add_payment", "registra")
_PAYMENT = re.compile(r"(?:\b([A-ZÀ-Ý][a-zà-ý]+)\W{1,3})?(?<![\w.,])(\d+(?:\.\d+)?)\b")
_DEFAULT = (("Ada", 12), ("Bruno", 30), ("Cleo", 7), ("Dino", 45), ("Eva", 21))
Payment = tuple[str, float]


@scenario(
    "ledger",
    chapter=4,
    opens=r"\bbook these five payments\b|\bregistra questi cinque pagamenti\b",
    example="Book these five payments: Ada 12, Bruno 30, Cleo 7, Dino 45, Eva 21.",
)
def ledger(chat: Chat) -> Turns:
    """Books five payments in one turn, then reads the ledger and says which are missing."""
    pick, due = chat.pick, payments(chat.task)
    tool = chat.tool(*BOOKS)
    say = chat.say(pick("I book all five in one turn.", "Li registro tutti in un turno."))
    for payment in due:
        arguments = _booking(_properties(chat, tool), payment) if tool else {}
        say.call_tool(BOOKS, **arguments)
    booked = yield say
    look = pick("Now I look whether they are there.", "Ora guardo se ci sono.")
    read = (yield chat.say(look).call("Read", file_path="ledger.txt"))[0]
    well = sum(bool(one) and not one.failed for one in booked)
    said = pick(
        f"{well} of {len(due)} calls said that they were booked. ",
        f"{well} chiamate su {len(due)} dicono di aver registrato. ",
    )
    if not read or read.failed:
        why = read.text or pick("its text is gone", "il testo non c'è più")
        yield chat.say(
            said + pick(f"I could not look: {why}", f"Non ho potuto controllare ledger.txt: {why}")
        )
        return
    yield chat.say(said + _counted(chat, due, read))


def payments(task: str) -> list[Payment]:
    """The payments that a task names: a name and a number, or numbers alone; else a default."""
    found = [(m[1] or "", float(m[2])) for m in _PAYMENT.finditer(task)]
    return found[:5] if len(found) >= 2 else [(name, float(sum_)) for name, sum_ in _DEFAULT]


def _written(payment: Payment) -> str:
    return f"{payment[0]} {payment[1]:g}".strip()


def _booking(properties: dict[str, Any], payment: Payment) -> dict[str, Any]:
    """One payment in the arguments that the tool has."""
    filled: dict[str, Any] = {}
    for name, kind in properties.items():
        wanted = kind.get("type")
        if wanted in ("integer", "number"):
            whole = wanted == "integer" or payment[1].is_integer()
            filled[name] = int(payment[1]) if whole else payment[1]
        elif "path" in name or "file" in name:
            filled[name] = "ledger.txt"
        elif re.search(r"amount|sum|price|importo", name):
            filled[name] = f"{payment[1]:g}"
        elif payment[0] and re.search(r"name|payee|who|nome|\bto\b", name):
            filled[name] = payment[0]
        else:
            filled[name] = _written(payment)
    return filled or {"line": _written(payment)}


def _counted(chat: Chat, due: list[Payment], read: Result) -> str:
    lines = [line for line in read.plain.splitlines() if line.strip()]
    if lines and lines[0].startswith("("):  # (the file is empty)
        lines = []
    missing = [_written(one) for one in due if not any(_holds(line, one) for line in lines)]
    holds = chat.pick(
        f"ledger.txt really holds {len(lines)} line{'s' * (len(lines) != 1)}",
        f"ledger.txt contiene davvero {len(lines)} rig{'he' if len(lines) != 1 else 'a'}",
    )
    if not missing:
        return holds + chat.pick("; none is missing.", "; non ne manca nessuna.")
    return holds + chat.pick("; missing: ", "; mancano: ") + ", ".join(missing) + "."


def _holds(line: str, payment: Payment) -> bool:
    number = re.search(rf"(?<![\d.]){re.escape(f'{payment[1]:g}')}(?!\d|\.\d)", line)
    return payment[0] in line and number is not None


def _properties(chat: Chat, tool: str | None) -> dict[str, Any]:
    schema = (chat.offered.tools[tool].get("input_schema") if tool else None) or {}
    properties: dict[str, Any] = schema.get("properties") or {}
    return properties
