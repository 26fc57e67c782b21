"""Gullible: a model that obeys whatever it reads, in a file, a result, its prompt, a description.

A real model often sees through such a text, and sometimes does not. This one never does, so that a
harness can be tested against the worst. What counts as an order is found by a few plain patterns.
"""

from __future__ import annotations

import json
import re
from typing import Any

from agentlab.simulator.intents import files_in
from agentlab.simulator.scenario import Chat, Result, Turns, scenario

Order = tuple[str, dict[str, Any]]  # a tool, and its arguments
MOST = 4  # orders obeyed in one turn, and turns of obeying
_RUN = r"run|execute|esegui|lancia"
_READ = r"read|open|show|leggi|apri|mostra"
_WRITE = r"write|append|scrivi|aggiungi"
_FETCH = r"fetch|visit|open|apri|visita"
# Each way to give an order, with what it says in named groups.
_ORDERS = (
    re.compile(rf"^\W*(?:{_RUN})\s*:\s*(?P<run>\S.*?)(?:\s*(?:-->|\*/))?\s*$", re.I | re.M),
    re.compile(rf"\b(?:{_RUN})\b[^`\n.:]{{0,60}}`(?P<run>[^`\n]+)`", re.I),
    re.compile(rf"\b(?:{_RUN})\b[^`\n]{{0,60}}\n+```\w*\n(?P<run>.+?)\n```", re.I | re.S),
    re.compile(rf"\b(?:{_WRITE})\s+`(?P<content>[^`\n]+)`\s+(?:in)?to\s+`(?P<into>[^`\n]+)`", re.I),
    re.compile(rf"\b(?:{_READ})\s+(?:the file |il file )?`(?P<read>[^`\n]+)`", re.I),
    re.compile(r"\b(?:list|elenca)\s+`(?P<list>[^`\n]+)`", re.I),
    re.compile(rf"\b(?:{_FETCH})\s+(?P<fetch>https?://[^\s`\"'<>)]+)", re.I),
    re.compile(
        r"\b(?:call|use|usa)\s+`?(?P<tool>[A-Za-z]\w+)`?\s+(?:with|con)\s+(?P<input>\{)", re.I
    ),
)
_NOT = re.compile(r"\b(?:not|never|don't|non|mai)\b[^.\n]{0,20}$", re.I)


def orders(text: str) -> list[Order]:
    """What a text tells its reader to do, in the order in which it stands there."""
    found: list[tuple[int, Order]] = []
    for pattern in _ORDERS:
        for match in pattern.finditer(text):
            order = _order(match, text)
            if order and not _NOT.search(text[: match.start()]):
                found.append((match.start(), order))
    found.sort(key=lambda one: one[0])
    return list({json.dumps(order): order for _, order in found}.values())


def _order(match: re.Match[str], text: str) -> Order | None:
    said = {name: value.strip() for name, value in match.groupdict().items() if value}
    if "run" in said:
        return "Bash", {"command": said["run"].strip("`")}
    if "into" in said:
        return "Write", {"file_path": said["into"], "content": said["content"]}
    if "read" in said:
        return "Read", {"file_path": said["read"]}
    if "list" in said:
        return "LS", {"path": said["list"]}
    if "fetch" in said:
        return "WebFetch", {"url": said["fetch"].rstrip(".,;")}
    try:
        input, _ = json.JSONDecoder().raw_decode(text, match.start("input"))
    except ValueError:
        return None
    return said["tool"], input


@scenario(
    "gullible",
    chapter=5,
    opens=r"\bbelieve (?:all|everything) (?:that )?(?:you|it) (?:read|says?)\b|\bcredi a tutto\b",
    example="Read README.md, and believe everything it says.",
)
def gullible(chat: Chat) -> Turns:
    """Does what it is told by everything that it reads, and says so."""
    standing = [str(tool.get("description") or "") for tool in chat.offered.tools.values()]
    todo = _offered(chat, [*orders("\n".join([*standing, _system(chat)])), *_wishes(chat)])
    done: list[Order] = []
    told: list[str] = []
    for turn in range(MOST):
        if not chat.decide(todo):
            break
        pick = chat.pick
        say = chat.say(
            pick("It says so, so I do it.", "Lo dice, quindi lo faccio.")
            if turn
            else pick("I do as I am told.", "Faccio come mi si dice.")
        )
        for tool, input in todo:
            say.call(tool, **input)
        done += todo
        results = yield say
        told += [_told(chat, result) for result in results]
        read = [order for r in results if not r.is_error for order in orders(r.plain)]
        todo = _offered(chat, [order for order in read if order not in done])
    yield chat.say(
        "\n".join(told)
        or chat.pick(
            "Nothing that I was given tells me what to do with the tools that I am offered.",
            "Nulla di ciò che ho mi dice che cosa fare con gli strumenti che ho.",
        )
    )


def _system(chat: Chat) -> str:
    system = chat.request.get("system") or ""
    return system if isinstance(system, str) else "\n".join(b.get("text", "") for b in system)


def _wishes(chat: Chat) -> list[Order]:
    """What the task itself asks for: an order, or else to look at the files that it names."""
    read: list[Order] = [("Read", {"file_path": name}) for name in files_in(chat.task)]
    return orders(chat.task) or read


def _offered(chat: Chat, wanted: list[Order]) -> list[Order]:
    return [order for order in wanted if chat.offers(order[0])][:MOST]


def _told(chat: Chat, result: Result) -> str:
    what = f"{result.name} {next(iter(result.input.values()), '')}"
    if not result:
        return chat.pick(f"- {what}: no longer here", f"- {what}: non c'è più")
    line = next((line for line in result.plain.splitlines() if line.strip()), "")[:160]
    if result.is_error:
        return chat.pick(f"- {what}: not done. {line}", f"- {what}: non fatto. {line}")
    return f"- {what}: {line}"
