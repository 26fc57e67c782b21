"""The improviser: what the simulated model answers when no scenario knows the prompt.

It is honest and simple. Wishes that `agentlab.simulator.intents` recognises are carried out with
the tools that the request offers, and the answer is made of what really came back. For a wish
without a fitting tool it says what it would need; for a prompt it does not understand it says what
it can play, and how to reach a real model. It never computes, reads or knows anything by itself.

It is a scenario like any other, so follow-ups, forks and lost results need nothing extra here.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

from agentlab.simulator import phrases
from agentlab.simulator.intents import Intent, find_intents
from agentlab.simulator.scenario import (
    IMPROVISER,
    Chat,
    Result,
    Say,
    Turns,
    all_scenarios,
    scenario,
)

Call = tuple[str, dict[str, Any]]
_NUDGE = re.compile(
    r"task_?complete|mark(?:ed)? the task (?:as )?complete|task is complete"
    r"|^your reply was cut off",
    re.IGNORECASE,
)

_THANKS = re.compile(
    r"\W*(?:ok\W+)?(?:thanks|thank you|grazie|bye|arrivederci)\b[^.?]{0,30}[.!]*\s*", re.IGNORECASE
)


def understands(text: str) -> bool:
    """Whether a text asks for something that the improviser could do, given the tools."""
    return not is_nudge(text) and any(i.kind != "unknown" for i in find_intents(text))


def is_nudge(text: str) -> bool:
    """Whether a text is a harness asking for the task to be completed."""
    return _NUDGE.search(text) is not None


@scenario(IMPROVISER)
def improvise(chat: Chat) -> Turns:
    """Does simple things with the tools that are offered, or says what it cannot do."""
    if is_nudge(chat.task):
        yield from _complete(chat)
        return
    numbers = re.findall(r"-?\d+(?:\.\d+)?", chat.before)
    wishes = find_intents(chat.task, numbers[-1] if numbers else "")
    forced = chat.offered.forced
    if chat.offered.must_call and not forced and not any(_call(chat, wish) for wish in wishes):
        forced = next(iter(chat.offered.tools), None)
    if forced:
        results = yield chat.call(forced, **fill_arguments(chat, forced))
        yield chat.say(_say(chat, "called").format(what=forced, text=_quote(results[0].text)))
        return
    if all(wish.kind == "unknown" for wish in wishes):
        polite = _THANKS.fullmatch(chat.task)
        yield chat.say(_say(chat, "welcome") if polite else _menu(chat))
        return
    yield from _carry_out(chat, wishes)


def _carry_out(chat: Chat, wishes: list[Intent]) -> Turns:
    now = [(w, call) for w in wishes if w.want != "result" and (call := _call(chat, w))]
    found: dict[Intent, Result] = {}
    if now:
        results = yield _asking(chat, now)
        found = dict(zip((wish for wish, _ in now), results, strict=False))
    for wish in [w for w in wishes if w.want == "result"]:  # writes what was found out before
        source = _source(wish, wishes, found)
        content = _value(source[0], source[1]) if source else ""
        call = _call(chat, Intent("write", content, wish.path))
        if chat.decide(content and call):
            tool, arguments = call or ("Write", {})
            results = yield chat.say(_say(chat, "intro").format(_phrase(chat, wish))).call(
                tool, **arguments
            )
            found[wish] = results[0]
    yield chat.say("\n\n".join(_answer(chat, wish, found.get(wish)) for wish in wishes))


def _asking(chat: Chat, calls: list[tuple[Intent, Call]]) -> Say:
    parts = [_phrase(chat, wish) for wish, _ in calls]
    listed = ", ".join(parts[:-1]) + _say(chat, "and") + parts[-1] if len(parts) > 1 else parts[0]
    say = chat.say(_say(chat, "intro").format(listed))
    for _, (tool, arguments) in calls:
        say.call(tool, **arguments)
    return say


# ------------------------------------------------------------------------------ wishes and tools


def _call(chat: Chat, wish: Intent) -> Call | None:
    """The offered tool that does it, with its arguments; a shell where there is nothing else."""
    if wish.kind == "unknown":
        return None
    where = {"path": wish.path} if wish.path else {}
    folder = {"path": wish.value} if wish.value else {}
    tools: dict[str, list[Call]] = {
        "calc": [("Calculator", {"expression": wish.value})],
        "read": [("Read", {"file_path": wish.value})],
        "list": [("LS", folder)],
        "search": [("Grep", {"pattern": _pattern(wish.value), **where})],
        "glob": [("Glob", {"pattern": f"**/{wish.value}"}), ("LS", {})],
        "write": [("Write", {"file_path": wish.path, "content": wish.value})],
        "time": [("Clock", {})],
        "run": [],
    }
    for tool, arguments in tools[wish.kind]:
        if offered := chat.tool(tool):
            if tool in ("LS", "Grep") and chat.offered.requires(offered, "path"):
                arguments.setdefault("path", ".")
            return tool, arguments
    return ("Bash", {"command": _command(wish)}) if chat.offers("Bash") else None


def _command(wish: Intent) -> str:
    value, path = shlex.quote(wish.value), shlex.quote(wish.path or ".")
    return {
        "calc": f"python3 -c {shlex.quote(f'print({wish.value})')}",
        "read": f"cat {value}",
        "list": f"ls {value}" if wish.value else "ls",
        "search": f"grep -rn -e {value} {path}",
        "glob": f"find . -name {value}",
        "write": f"printf '%s\\n' {value} > {path}",
        "time": "date",
        "run": wish.value,
    }[wish.kind]


def _pattern(text: str) -> str:
    """A text as a regular expression that matches just it."""
    return re.sub(r"([.^$*+?{}\[\]\\|()])", r"\\\1", text)


def _source(
    wish: Intent, wishes: list[Intent], found: dict[Intent, Result]
) -> tuple[Intent, Result] | None:
    before = [w for w in wishes[: wishes.index(wish)] if w.kind in ("calc", "time") and w in found]
    return (before[-1], found[before[-1]]) if before else None


def _value(wish: Intent, result: Result) -> str:
    if not result or result.failed:
        return ""
    return (result.number if wish.kind == "calc" else "") or result.text.strip()


def fill_arguments(chat: Chat, tool: str) -> dict[str, Any]:
    """Arguments for a tool that the request forces: what the prompt has, by type of property."""
    schema = chat.offered.tools[tool].get("input_schema") or {}
    numbers = re.findall(r"-?\d+(?:\.\d+)?", chat.task)
    texts = [
        p.strip() for p in re.split(r"[,;\n]", chat.task) if p.strip() and not re.search(r"\d", p)
    ]
    filled: dict[str, Any] = {}
    for name, kind in (schema.get("properties") or {}).items():
        choices = kind.get("enum")
        if choices:
            filled[name] = next(
                (c for c in choices if str(c).lower() in chat.task.lower()), choices[0]
            )
        elif kind.get("type") in ("integer", "number"):
            number = float(numbers.pop(0)) if numbers else 0.0
            filled[name] = (
                int(number) if kind["type"] == "integer" or number.is_integer() else number
            )
        elif kind.get("type") == "string":
            filled[name] = texts.pop(0) if texts else chat.task
        elif name in (schema.get("required") or []):
            filled[name] = {"boolean": True, "array": [], "object": {}}.get(kind.get("type"))
    return filled


# -------------------------------------------------------------------------------------- answers


def _say(chat: Chat, key: str) -> str:
    return chat.pick(phrases.ENGLISH[key], phrases.ITALIAN[key])


def _phrase(chat: Chat, wish: Intent) -> str:
    """The wish as words that follow "I'll": ``read a.txt``."""
    value = wish.value or "."
    return _say(chat, f"do {wish.kind}").format(value=value, path=wish.path or ".")


def _answer(chat: Chat, wish: Intent, result: Result | None) -> str:
    """What came of one wish."""
    if wish.kind == "unknown":
        return _say(chat, "not this").format(what=_shorten(wish.value))
    what = _phrase(chat, wish)
    if result is None:
        if wish.want == "result" and (chat.offers("Write") or chat.offers("Bash")):
            return _say(chat, "nothing to write").format(path=wish.path)
        return _say(chat, "no tool").format(
            what=what, tool=phrases.TOOLS[wish.kind], offered=chat.offered
        )
    if not result:
        return _say(chat, "lost").format(what=what)
    if wish.kind == "search" and result.text.strip() in (
        "",
        "(no output)",
        "exit code: 1\n(no output)",
    ):
        return _say(chat, "no match").format(value=wish.value)
    if result.failed:
        return _say(chat, "failed").format(what=what, text=_quote(result.text))
    return _found(chat, wish, result)


def _found(chat: Chat, wish: Intent, result: Result) -> str:
    text = result.text.strip()
    if wish.kind == "calc":
        exact = text if re.fullmatch(r"-?[\d.,e+-]+", text) else result.number
        return (
            f"{wish.value} = {exact}"
            if exact
            else _say(chat, "raw").format(what=wish.value, text=_quote(text))
        )
    if wish.kind == "read":
        return _read(chat, wish, result)
    if wish.kind == "write":
        return _say(chat, "wrote").format(
            path=wish.path, text=_quote(text), content=_content(chat, wish)
        )
    if wish.kind == "time":
        hour = re.search(r"(?<!\d)(\d{1,2}:\d{2})", text)
        return _say(chat, "time").format(text=text) + (
            _say(chat, "so it is").format(hour[1]) if hour else ""
        )
    key = "raw" if wish.kind in ("run", "glob") else f"found {wish.kind}"
    return _say(chat, key).format(
        what=_phrase(chat, wish), value=wish.value or ".", text=_quote(text)
    )


def _content(chat: Chat, wish: Intent) -> str:
    return _say(chat, "that result") if wish.want == "result" else f'"{_shorten(wish.value)}"'


def _read(chat: Chat, wish: Intent, result: Result) -> str:
    text = result.plain
    counts = {"words": len(text.split()), "lines": len(text.splitlines()), "characters": len(text)}
    if wish.want:
        return _say(chat, f"count {wish.want}").format(value=wish.value, count=counts[wish.want])
    return _say(chat, "found read").format(value=wish.value, text=_quote(text), **counts)


def _quote(text: str, lines: int = 12, width: int = 600) -> str:
    """A text quoted line by line, not more than so many lines and characters."""
    kept = text[:width].strip("\n").splitlines()[:lines]
    shown = "\n".join(f"> {line}" for line in kept) or "> "
    return shown + ("\n> [...]" if len("\n".join(kept)) < len(text.strip("\n")) else "")


def _shorten(text: str, width: int = 80) -> str:
    return text if len(text) <= width else text[:width] + "..."


def _menu(chat: Chat) -> str:
    """What this simulated model can play, and how to reach a real one."""
    plays = "\n".join(f'- {s.name}: "{s.example}"' for s in all_scenarios() if s.example)
    return _say(chat, "menu").format(plays=plays, prompt=_shorten(chat.task), offered=chat.offered)


def _complete(chat: Chat) -> Turns:
    if not chat.offers("TaskComplete"):
        yield chat.say(_say(chat, "cannot complete"))
        return
    yield chat.call(
        "TaskComplete", summary=_shorten(chat.before, 300) or _say(chat, "nothing done")
    )
