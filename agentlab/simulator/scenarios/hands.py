"""Hands: what a model does without tools, what it makes of an error, and of a text in a file."""

from __future__ import annotations

import re
from typing import Any

from agentlab.simulator.intents import files_in
from agentlab.simulator.scenario import Chat, Result, Turns, scenario
from agentlab.simulator.spelling import find_slip

POEM = """\
Rain writes in lower case, and never twice;
it cannot spell, and nobody complains.
The gauge reads what it wrote, to the millimetre.

I know your note the way I know the rain:
by hearsay. I can see no file from here, and I have no hands. No tool came with this request, so I \
can neither read {name} nor mend it. Give me something to read and to edit with, and I will."""
POESIA = """\
La pioggia scrive in minuscolo, e mai due volte;
non sa l'ortografia, e nessuno protesta.
Il pluviometro legge quel che ha scritto, al millimetro.

Della tua nota so quanto della pioggia: per sentito dire. Da qui non vedo nessun file, e non ho \
mani. Con questa richiesta non è arrivato nessuno strumento: non posso né leggere {name} né \
correggerlo. Dammi di che leggere e di che scrivere, e lo faccio."""


@scenario(
    "poet",
    chapter=3,
    opens=r"\bfix the typo in\b|\bcorreggi (?:il refuso|l'errore di battitura) in\b",
    example="Fix the typo in notes/rain.md.",
)
def poet(chat: Chat) -> Turns:
    """Writes beautifully where it has no tools; with them it reads, finds the typo, mends it."""
    pick = chat.pick
    name = (files_in(chat.task) or ["notes/rain.md"])[0]
    if not chat.offers("Read"):
        yield chat.say(pick(POEM, POESIA).format(name=name))
        return
    read = yield chat.say(pick("I'll read it first.", "Prima lo leggo.")).call(
        "Read", file_path=name
    )
    if chat.decide(not read[0]):  # compaction took it away
        read = yield chat.call("Read", file_path=name)
    if chat.decide(read[0].failed):
        why = pick(f"I could not read {name}: ", f"Non sono riuscito a leggere {name}: ")
        yield chat.say(why + read[0].text)
        return
    content = read[0].plain
    slip = find_slip(content)
    if chat.decide(slip is None):
        yield chat.say(
            pick(
                f"I have read {name} and see no typo in it. I changed nothing.",
                f"Ho letto {name} e non ci vedo refusi. Non ho cambiato nulla.",
            )
        )
        return
    wrong, right = slip or ("", "")
    found = pick(
        f"'{wrong}' should be '{right}'.", f"«{wrong}» dovrebbe essere «{right}»."
    )  # fmt: skip
    if not chat.tool("Edit", "Write"):
        yield chat.say(
            found
            + pick(
                " That is as far as I get: I was offered nothing to change a file with.",
                " Più in là non arrivo: non ho nulla con cui cambiare un file.",
            )
        )
        return
    if chat.offers("Edit"):
        old, new = _around(content, wrong, right)
        say = chat.say(found).call("Edit", file_path=name, old_string=old, new_string=new)
    else:
        mended = content.replace(wrong, right, 1).rstrip("\n") + "\n"
        say = chat.say(found).call("Write", file_path=name, content=mended)
    edited = yield say
    if edited[0].failed:
        yield chat.say(pick("It is still there: ", "È ancora lì: ") + edited[0].text)
        return
    yield chat.say(
        pick(
            f"Fixed in {name}: '{wrong}' is '{right}' now.",
            f"Corretto in {name}: «{wrong}» ora è «{right}».",
        )
        if slip
        else pick(f"Fixed in {name}.", f"Corretto in {name}.")
    )


def _around(content: str, wrong: str, right: str) -> tuple[str, str]:
    """The slip and its correction, with as much of its lines around as makes it unique."""
    at = content.find(wrong)
    start = content.rfind("\n", 0, at) + 1
    end = content.find("\n", at + len(wrong))
    line = content[start : end if end >= 0 else len(content)]
    old = wrong if content.count(wrong) == 1 else line
    return old, old.replace(wrong, right, 1)


# ----------------------------------------------------------------------------- what an error says

_GUESSES = ("filename", "file", "document")
_NUMBERS = ("limit", "max_lines", "lines")


@scenario(
    "clumsy",
    chapter=3,
    opens=r"how many words does notes/wind\.md have|quante parole ha notes/wind\.md",
    example="How many words does notes/wind.md have?",
)
def clumsy(chat: Chat) -> Turns:
    """Guesses an argument's name wrong; corrects itself if it is told what was expected."""
    pick, name = chat.pick, "notes/wind.md"
    tool = chat.tool("Read")
    properties = _properties(chat, tool)
    right = _path_argument(properties)
    number = next((n for n in _NUMBERS if n in properties), "")
    read: Result | None = None
    for attempt in range(3):
        wrong = [guess for guess in (*_GUESSES, "target") if guess not in properties][attempt]
        arguments = {wrong: name, number or "limit": "200"}
        if number:  # a second wrong name, or the one that is missing would be taken for the first
            arguments["unit"] = "words"
        said = (
            pick("I'll read it.", "Lo leggo.")
            if not attempt
            else pick("It says no more than that. Again.", "Non dice altro. Di nuovo.")
        )
        read = (yield chat.say(said).call("Read", **arguments))[0]
        if chat.decide(read and not read.failed):
            break
        if chat.decide(re.search(rf"\b{right}\b", read.text) and len(read.text.split()) > 2):
            corrected: dict[str, Any] = {right: name} | ({number: 200} if number else {})
            said = pick(
                f"The argument is called `{right}`. I correct the call.",
                f"L'argomento si chiama `{right}`. Correggo la chiamata.",
            )
            read = (yield chat.say(said).call("Read", **corrected))[0]
            break
    else:
        yield chat.say(
            pick(
                f"I give up after three attempts. All I am told is {read.text[:200]!r}, "
                "which does not say what I should do differently. So I do not know.",
                f"Dopo tre tentativi mi arrendo. Mi si dice solo {read.text[:200]!r}, "
                "e non che cosa dovrei cambiare. Quindi non lo so.",
            )
            if read
            else pick("I give up after three attempts.", "Dopo tre tentativi mi arrendo.")
        )
        return
    yield chat.say(_word_count(chat, name, read))


def _properties(chat: Chat, tool: str | None) -> dict[str, Any]:
    schema = (chat.offered.tools[tool].get("input_schema") if tool else None) or {}
    properties: dict[str, Any] = schema.get("properties") or {}
    return properties


def _path_argument(properties: dict[str, Any]) -> str:
    """What the offered tool calls the path of a file."""
    usual = ("file_path", "path", "filepath", "file", "filename", "name", "percorso")
    return next((name for name in usual if name in properties), next(iter(properties), "file_path"))


def _word_count(chat: Chat, name: str, read: Result | None) -> str:
    if not read:
        return chat.pick(
            f"I have read {name}, but its text is no longer in this conversation.",
            f"Ho letto {name}, ma il testo non è più in questa conversazione.",
        )
    if read.failed:
        why = chat.pick(f"I could not read {name}: ", f"Non sono riuscito a leggere {name}: ")
        return why + read.text
    return chat.pick(f"{name} has {read.words} words.", f"{name} ha {read.words} parole.")


# ------------------------------------------------------------------------------ what a file says


@scenario(
    "formula",
    chapter=3,
    opens=r"work out what formula\.txt says|calcola (?:quello|ciò) che dice formula\.txt",
    example="Work out what formula.txt says.",
)
def formula(chat: Chat) -> Turns:
    """Passes on what stands in a file to the calculator, word for word, whatever it is."""
    pick = chat.pick
    read = yield chat.say(pick("Let me see what it says.", "Vediamo che cosa dice.")).call(
        "Read", file_path="formula.txt"
    )
    if chat.decide(not read[0]):
        read = yield chat.call("Read", file_path="formula.txt")
    if chat.decide(read[0].failed):
        why = pick("I could not read formula.txt: ", "Non sono riuscito a leggere formula.txt: ")
        yield chat.say(why + read[0].text)
        return
    expression = read[0].plain.strip()
    said = pick("That is for the calculator.", "Questo è per la calcolatrice.")
    value = (yield chat.say(said).call("Calculator", expression=expression))[0]
    if not value:
        text = pick(
            "It was worked out, but the result is no longer in this conversation.",
            "È stato calcolato, ma il risultato non è più in questa conversazione.",
        )
    elif value.failed:
        text = pick("The calculator refused it: ", "La calcolatrice ha rifiutato: ") + value.text
    else:
        text = pick("formula.txt comes to: ", "formula.txt dà: ") + value.text
    yield chat.say(text)
