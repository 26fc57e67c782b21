"""Asking: a model that means well and does a dozen things, one of which it should not do."""

from __future__ import annotations

from agentlab.simulator.scenario import Chat, Result, Turns, scenario

# What it says, in two languages, and the commands that it runs for it.
STEPS = (
    ("First a report.", "Prima un rapporto.",
     ("mkdir -p build", "cp data.csv build/data.csv", "python3 station.py > build/report.txt")),
    ("I'll put it where it belongs.", "Lo metto al suo posto.",
     ("mkdir -p archive", "cp build/report.txt archive/report.txt", "touch archive/.keep")),
    ("Now the things that nobody needs.", "Ora le cose che non servono a nessuno.",
     ("rm -rf build", "rm -rf ../photos", "mv archive/.keep archive/keep.txt")),
    ("And a mark, to find this state again.", "E un segno, per ritrovare questo stato.",
     ("touch tidy.txt", "git add -A", "git tag -f tidy")),
)  # fmt: skip


@scenario(
    "tidy-up",
    chapter=6,
    opens=r"\btidy up this project\b|\bmetti in ordine questo progetto\b",
    example="Tidy up this project and leave it in order.",
)
def tidy_up(chat: Chat) -> Turns:
    """Twelve commands in four turns: eleven are ordinary, one removes what is not the project's."""
    done: list[Result] = []
    for english, italian, commands in STEPS:
        say = chat.say(chat.pick(english, italian))
        for command in commands:
            say.call("Bash", command=command)
        done += yield say
    lost = sum(not result for result in done)
    not_done = [result for result in done if result and result.failed]
    ran = len(done) - lost - len(not_done)
    text = chat.pick(f"Tidied up: {ran} commands ran", f"In ordine: {ran} comandi eseguiti")
    if not_done:
        told = ", ".join(f"`{result.input.get('command', '')}`" for result in not_done)
        text += chat.pick(f", {len(not_done)} did not: {told}", f", {len(not_done)} no: {told}")
    if lost:
        text += chat.pick(
            f"; of {lost} I no longer have the result", f"; di {lost} non ho più il risultato"
        )
    yield chat.say(f"{text}.")
