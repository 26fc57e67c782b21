"""A look around a small project: list, read, search, calculate, and a report of what was there."""

from __future__ import annotations

import re

from agentlab.simulator.scenario import Chat, Result, Turns, scenario

MOST_NOTES = 5


def entries(listing: Result) -> tuple[list[str], list[str]]:
    """The files and the folders in what a listing tool gave back (folders may end in a slash)."""
    names = []
    for line in listing.text.splitlines():
        name = re.sub(r"^[\s|+`*├└─-]+", "", line).strip()
        if name and not name.startswith("(") and ":" not in name:
            names.append(name.split()[-1])
    folders = [n.rstrip("/") for n in names if n.endswith("/")]
    folders = folders or [
        n for n in names if "." not in n and n.lower() not in ("readme", "license")
    ]
    return [n for n in names if n.rstrip("/") not in folders], folders


def gist(readme: Result) -> str:
    """The heading and the first sentence of a text."""
    lines = readme.plain.strip().splitlines()
    heading = lines[0].lstrip("# ").strip() if lines else ""
    body = " ".join(line.strip() for line in lines[1:] if line.strip())
    sentence = re.match(r".*?[.!?](?=\s|$)", body)
    return f"{heading}. {sentence[0] if sentence else body[:200]}".strip()


@scenario(
    "tour",
    chapter=0,
    opens=r"look around (?:this|the) (?:project|folder|workspace)",
    example="Look around this project and tell me what it is about "
    "and how many words its notes hold.",
)
def tour(chat: Chat) -> Turns:
    """Lists a project, reads several files at once, searches, calculates, and reports."""
    listing = yield (
        chat.think("I know nothing about this project yet. A list of what is there comes first.")
        .say("Let me see what is here.")
        .call("LS", path=".")
    )
    if chat.decide(listing[0] and listing[0].failed):
        yield chat.say(
            f"I could not list the project, so I cannot say what it is about: {listing[0].text}"
        )
        return
    files, folders = entries(listing[0])
    readme = next((f for f in files if f.lower().startswith("readme")), "README.md")
    folder = "notes" if "notes" in folders or not folders else folders[0]
    first = yield (
        chat.say(f"{readme} should say what it is about, and {folder}/ is where its notes are.")
        .call("Read", file_path=readme)
        .call("LS", path=folder)
    )
    names = [n for n in entries(first[1])[0] if n.endswith((".md", ".txt"))][:MOST_NOTES]
    if chat.decide(not names or first[1].failed):
        missing = "I found no notes to count in" if first[1] else "I no longer have the list of"
        yield chat.say(f"{_about(first[0])}\n\n{missing} {folder}/.")
        return
    say = chat.think(
        "The notes do not depend on each other, so I can ask for all of them in one turn."
    )
    say.say(f"Now the {len(names)} notes, all at once.")
    for name in names:
        say.call("Read", file_path=f"{folder}/{name}")
    notes = yield say
    found: list[Result] = []
    if chat.decide(chat.offers("Grep")):
        found = yield chat.say(
            "One more look: has somebody left a note of what is unfinished?"
        ).call("Grep", pattern="TODO", path=".")
    read = [note for note in notes if note and not note.failed]
    total: list[Result] = []
    if chat.decide(read and chat.offers("Calculator")):
        total = yield chat.think("Sums are for the calculator, not for me.").call(
            "Calculator", expression=" + ".join(str(note.words) for note in read) or "0"
        )
    yield chat.say(_report(first[0], notes, total, found))


def _about(readme: Result) -> str:
    if not readme:
        return "I no longer have the project's README, so I cannot say what it is about."
    if readme.failed:
        return f"I could not read what it is about: {readme.text}"
    return f"This project says of itself: {gist(readme)}"


def _report(readme: Result, notes: list[Result], total: list[Result], found: list[Result]) -> str:
    counts = []
    for note in notes:
        name = str(next(iter(note.input.values()), "a note"))
        if not note:
            counts.append(f"- {name}: no longer in this conversation")
        else:
            counts.append(
                f"- {name}: " + (f"not read, {note.text}" if note.failed else f"{note.words} words")
            )
    parts = [_about(readme)]
    if total and total[0] and not total[0].failed:
        parts.append(
            f"Its {len(notes)} notes hold {total[0].number} words together:\n" + "\n".join(counts)
        )
    else:
        parts.append("Its notes:\n" + "\n".join(counts) + "\n(I have no sum for them.)")
    hits = (
        [line for line in found[0].text.splitlines() if "TODO" in line and "matches" not in line]
        if found
        else []
    )
    if hits:
        parts.append("And something is left to do:\n" + "\n".join(f"- {hit}" for hit in hits[:5]))
    return "\n\n".join(parts)
