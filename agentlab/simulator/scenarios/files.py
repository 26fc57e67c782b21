"""Scenarios with files: three reads at once, a script that is run, a file too long for a reply."""

from __future__ import annotations

from agentlab.simulator.intents import files_in
from agentlab.simulator.scenario import Chat, Result, Turns, scenario


@scenario(
    "three-files",
    chapter=4,
    opens=r"\bread (?:the|these) three files\b|\bleggi (?:i|questi) tre file\b",
    example="Read the three files notes/people.md, notes/rain.md and notes/wind.md: "
    "how many words do they hold together?",
)
def three_files(chat: Chat) -> Turns:
    """Reads three files in one turn and counts their words."""
    say = chat.say(chat.pick("I'll read the three files together.", "Leggo i tre file insieme."))
    say.think(
        chat.pick(
            "Three files, and none of them depends on another: I can ask for all at once.",
            "Tre file, e nessuno dipende da un altro: posso chiederli tutti insieme.",
        )
    )
    for name in (files_in(chat.task) or ["a.txt", "b.txt", "c.txt"])[:3]:
        say.call("Read", file_path=name)
    reads = yield say
    good = [r for r in reads if r and not r.failed]
    text = chat.pick(
        f"Together they hold {sum(r.words for r in good)} words.",
        f"Insieme contengono {sum(r.words for r in good)} parole.",
    )
    if len(good) < len(reads):
        missing = ", ".join(str(next(iter(r.input.values()), "?")) for r in reads if r not in good)
        text += chat.pick(f" Not counted: {missing}.", f" Non contati: {missing}.")
    yield chat.say(text)


FIZZBUZZ = """\
for number in range(1, 101):
    word = "Fizz" * (number % 3 == 0) + "Buzz" * (number % 5 == 0)
    print(word or number)
"""


EXPECTED = "1 2 Fizz 4 Buzz Fizz 7 8 Fizz Buzz 11 Fizz 13 14 FizzBuzz"


def is_fizzbuzz(output: str) -> bool:
    """Whether a program's output begins as it should, whatever stands before it."""
    words = output.split()
    start = words.index("1") if "1" in words else 0
    return " ".join(words[start : start + 15]) == EXPECTED


@scenario(
    "fizzbuzz",
    chapter=2,
    opens=r"\b(?:create|write|make|crea|scrivi|fai)\b.{0,40}fizz\W?buzz",
    example="Create a fizzbuzz.py script in the workspace, then run it to verify the output.",
)
def fizzbuzz(chat: Chat) -> Turns:
    """Writes a script, runs it, mends the command if Python has another name, checks the output."""
    script = next((f for f in files_in(chat.task) if f.endswith(".py")), "fizzbuzz.py")
    written = yield (
        chat.think("A short script: multiples of 3 say Fizz, of 5 Buzz, of both FizzBuzz.")
        .say(chat.pick(f"I'll write {script} first.", f"Prima scrivo {script}."))
        .call("Write", file_path=script, content=FIZZBUZZ)
    )
    if chat.decide(written[0] and written[0].failed):
        why = chat.pick(
            "I could not write the script: ", "Non sono riuscito a scrivere lo script: "
        )
        yield chat.say(why + written[0].text)
        return
    now = chat.say(chat.pick("Now I run it.", "Ora lo eseguo."))
    ran = yield now.call("Bash", command=f"python {script}")
    if chat.decide(ran[0].failed and "not found" in ran[0].text.lower()):
        other = chat.pick(
            "No `python` here, maybe `python3`.", "Qui `python` non c'è, forse `python3`."
        )
        ran = yield chat.say(other).call("Bash", command=f"python3 {script}")
    yield chat.say(_verdict(chat, script, ran[0]))


def _verdict(chat: Chat, script: str, ran: Result) -> str:
    pick = chat.pick
    if not ran:
        return pick(
            f"{script} was run, but its output is no longer in this conversation.",
            f"{script} è stato eseguito, ma l'output non è più in questa conversazione.",
        )
    if ran.failed:
        what = pick(
            f"{script} is written, but it did not run:", f"{script} è scritto, ma non parte:"
        )
    elif not is_fizzbuzz(ran.text):
        what = pick(
            f"{script} ran, but this is not the output it should have:",
            f"{script} è partito, ma questo non è l'output giusto:",
        )
    else:
        return pick(
            f"{script} is written and runs: the first 15 lines are right, from 1 to FizzBuzz.",
            f"{script} è scritto e funziona: le prime 15 righe sono giuste, da 1 a FizzBuzz.",
        )
    return f"{what}\n{ran.text[:300]}"


_PLACES = (
    "pond",
    "hedge",
    "meadow",
    "quarry",
    "roof",
    "harbour",
    "orchard",
    "ditch",
    "heath",
    "moor",
)
_BIRDS = ("heron", "wren", "lark", "swift", "jackdaw", "tern", "finch", "snipe", "owl", "plover")
_HABITS = (
    "waits longer than you do", "is heard before it is seen", "leaves when the kettle boils",
    "comes back to the same post", "minds dogs but not bicycles", "sings again after rain",
)  # fmt: skip


def field_guide(entries: int = 80) -> str:
    """A long text: a numbered field guide, the same every time."""
    lines = ["# Birds within a morning's walk", ""]
    for n in range(entries):
        bird, place = _BIRDS[n % 10], _PLACES[(n * 3 + n // 10) % 10]
        lines.append(f"{n + 1}. The {bird} at the {place}: {_HABITS[(n * 5 + n // 6) % 6]}.")
    return "\n".join(lines) + "\n"


@scenario(
    "long-write",
    chapter=2,
    opens=r"write a field guide",
    example="Write a field guide of eighty birds to birds.md.",
)
def long_write(chat: Chat) -> Turns:
    """Writes a file of some 2,000 tokens in one call, which a small max_tokens cuts off."""
    file = next(iter(files_in(chat.task)), "birds.md")
    written = yield chat.say(f"I'll write the whole guide to {file}.").call(
        "Write", file_path=file, content=field_guide()
    )
    if not written[0]:
        yield chat.say(f"I wrote {file}, but what came of it is no longer in this conversation.")
    elif written[0].failed:
        yield chat.say(f"The guide is not written: {written[0].text}")
    else:
        yield chat.say(f"The field guide is in {file}. The tool says: {written[0].text}")
