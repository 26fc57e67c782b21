"""A summary made from nothing but the text it is given: what is taken over, and what is lost.

A model that summarises writes; this one only picks. From the messages it takes whole sentences and
lines in seven kinds: the goals, the constraints ("never touch legacy/"), the decisions, short facts
(``API_PORT = 8443``), the files that were touched, the errors that are still open, and what comes
next. Goals and constraints come first; then the kinds take turns, each with its best line, until
the limit is reached. What does not fit is lost, and after a few summaries of summaries much is:
that is the point of the chapters that use it.

A summary in this form can be summarised again: its lines go back to the kinds they came from.
The same messages and the same limit give the same summary. Chapter 10 looks at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agentlab.simulator.marks import find_standing_line
from agentlab.simulator.turns import CLEARED, Result

GOALS, RULES, DECISIONS = "Goals", "Constraints", "Decisions"
FACTS, FILES, ERRORS, NEXT = "Facts", "Files", "Open errors", "Next step"
KINDS = (GOALS, RULES, DECISIONS, FACTS, FILES, ERRORS, NEXT)  # in the order they are written
_TURNS = (NEXT, ERRORS, FACTS, DECISIONS, RULES, FILES, GOALS)  # in the order they take turns
_FOR_THE_REST = 1 / 3  # of the limit; constraints fill the room up to there first
GOAL_CHARS, LINE_CHARS = 1200, 240  # what is kept of one goal, and of one line of another kind
_SCAN_CHARS = 200_000  # of one text; the rest of a longer one is not looked at

_RULE = re.compile(
    r"\b(?:never|always|do not|don'?t|must(?: not)?|only use|no more than|at most"
    r"|leave .{1,40} alone|mai|sempre|non (?:toccare|usare|cambiare|modificare|cancellare)"
    r"|devi|soltanto)\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:decided?|(?:I|we)(?:'ll| will) use|chose|choose|instead of|rather than|because"
    r"|going with|agreed|ho deciso|abbiamo deciso|scelgo|scelto|invece di|perché)\b",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"\b(?:next|now I|then I|remaining|to do|ora|poi|prossimo passo)\b", re.IGNORECASE
)
_FACT = re.compile(
    r"(?:\s*\d+[\t→|:])?\s*(?:[-*] )?(?P<key>[A-Za-z][\w.-]{1,40}) ?(?:=|:) ?(?P<value>\S.{0,80})$"
)
_NAMED = re.compile(r"\b(?P<key>[A-Z][A-Z0-9_]{2,40}) ?= ?(?P<value>[^\s,;]{1,80})")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_FAILED = re.compile(
    r"\w*(?:error|errore|exception)\b|\b(?:traceback|failed|fatal)\b", re.IGNORECASE
)
_HEADING = re.compile(rf"\s*({'|'.join(KINDS)}):\s*")
_REMINDER = re.compile(r"</?system-reminder>")
_PATHS = ("file_path", "path", "notebook_path", "filename", "file")
_WRITES = re.compile(r"write|edit|create|replace|insert|delete|move", re.IGNORECASE)
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "about answer call calls conversation every everything focus from have include information "
        "into keep make must only preserve should such summarise summarize summary tags text that "
        "this tool tools transcript what when which while with write your",
    )
)  # words of instructions that say nothing about what to keep


@dataclass
class _Line:
    text: str
    order: int  # where it stood
    weight: int = 0  # what is worth more is taken first


@dataclass
class _Notes:
    """The lines found so far, by kind, each once; a line found again moves to its later place."""

    kinds: dict[str, dict[str, _Line]] = field(default_factory=lambda: {k: {} for k in KINDS})
    count: int = 0

    def add(self, kind: str, text: str, weight: int = 0, key: str = "") -> None:
        text = " ".join(text.split())
        if not text or find_standing_line(text):
            return
        self.count += 1
        self.drop(kind, key or text)
        limit = GOAL_CHARS if kind == GOALS else LINE_CHARS
        shown = text if len(text) <= limit else text[: limit - 1] + "…"
        self.kinds[kind][key or text] = _Line(shown, self.count, weight)

    def drop(self, kind: str, key: str) -> None:
        self.kinds[kind].pop(key, None)


def summarise(messages: list[dict[str, Any]], *, limit_chars: int, instructions: str = "") -> str:
    """A summary of the messages, never longer than the limit.

    Args:
        messages: as they go over the wire, text or blocks; system messages are left out.
        limit_chars: the most characters that the summary may have.
        instructions: lines that share a word with them are worth more than others.
    """
    notes = _Notes()
    calls: dict[str, dict[str, Any]] = {}
    for message in messages:
        for block in _blocks(message):
            if message.get("role") == "assistant":
                _assistant(notes, block, calls)
            elif message.get("role") == "user":
                _user(notes, block, calls)
    words = set(re.findall(r"\w{4,}", instructions.lower())) - _COMMON
    for lines in notes.kinds.values():
        for line in lines.values():
            line.weight += 10 * any(word in line.text.lower() for word in words)
    return _written(notes, max(0, limit_chars))


def goals_in(summary: str) -> list[str]:
    """The goals that a summary names, the latest last."""
    return [text for kind, text in _read_back(summary) if kind == GOALS]


# ------------------------------------------------------------------------------ what is picked


def _blocks(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    content = message.get("content") or ()
    if isinstance(content, str):
        yield {"type": "text", "text": content}
        return
    yield from (block for block in content if isinstance(block, dict))


def _user(notes: _Notes, block: dict[str, Any], calls: dict[str, dict[str, Any]]) -> None:
    if block.get("type") == "tool_result":
        _result(notes, block, calls.get(str(block.get("tool_use_id"))))
        return
    text = str(block.get("text") or "")[:_SCAN_CHARS]
    if _summary(notes, text):
        return
    if text.lstrip().startswith("[") or _REMINDER.search(text):  # a harness, not the user
        _take_rules(notes, _REMINDER.sub("", text))
        return
    notes.add(GOALS, text)
    _take_rules(notes, text)
    _take_facts(notes, text, 3)


def _assistant(notes: _Notes, block: dict[str, Any], calls: dict[str, dict[str, Any]]) -> None:
    kind = block.get("type")
    if kind == "compaction":
        _summary(notes, str(block.get("content") or ""))
    elif kind == "text":
        text = str(block.get("text") or "")[:_SCAN_CHARS]
        sentences = [s for s in _SENTENCE.split(text) if s.strip()]
        for sentence in sentences:
            if _DECISION.search(sentence):
                notes.add(DECISIONS, sentence)
        _take_facts(notes, text, 2)
        later = [s for s in sentences if _NEXT.search(s)] or sentences[-1:]
        if later:
            notes.kinds[NEXT].clear()  # what was next before has been done, or dropped
            notes.add(NEXT, later[-1])
    elif kind == "tool_use":
        calls[str(block.get("id"))] = block
        _take_file(notes, block)


def _result(notes: _Notes, block: dict[str, Any], call: dict[str, Any] | None) -> None:
    content = block.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(str(b.get("text") or "") for b in content if isinstance(b, dict))
    text = content[:_SCAN_CHARS]
    name, arguments = (str(call.get("name")), call.get("input")) if call else ("", None)
    asked = f"{name} {arguments}"
    lines = [line for line in text.splitlines() if line.strip()]
    if Result(name, {}, text, bool(block.get("is_error"))).failed:
        telling = [line for line in lines if _FAILED.search(line)] or lines or ["failed"]
        notes.add(ERRORS, f"{name}: {telling[-1]}", key=asked)
    else:
        notes.drop(ERRORS, asked)  # the same call went well later
    if not CLEARED.fullmatch(text.strip()):
        _take_facts(notes, text, 0)


def _take_rules(notes: _Notes, text: str) -> None:
    for sentence in _SENTENCE.split(text):
        if _RULE.search(sentence):
            notes.add(RULES, sentence)


def _take_facts(notes: _Notes, text: str, weight: int) -> None:
    """Lines like ``KEY = value``; a name in capitals is worth more, being set once and for all."""
    for line in text.splitlines():
        found = _FACT.match(line) if len(line) <= 130 else None
        for fact in [found] if found else _NAMED.finditer(line[:1000]):
            key, value = fact["key"], fact["value"].rstrip(" .;,")
            code = value.startswith(("//", "=", "(", "{", "["))  # or an address, or a comparison
            if value and not code and not _FAILED.fullmatch(key):
                notes.add(FACTS, f"{key} = {value}", weight + 4 * key.isupper(), key=key)


def _take_file(notes: _Notes, call: dict[str, Any]) -> None:
    arguments = call.get("input")
    if not isinstance(arguments, dict):
        return
    path = next((arguments[p] for p in _PATHS if isinstance(arguments.get(p), str)), "")
    if not path:
        return
    known = notes.kinds[FILES].get(path)
    changed = bool(_WRITES.search(str(call.get("name")))) or (
        known is not None and known.weight > 0
    )
    notes.add(FILES, f"{path} ({'changed' if changed else 'read'})", int(changed), key=path)


def _summary(notes: _Notes, text: str) -> bool:
    """Take back the lines of an earlier summary. False if the text is none."""
    lines = list(_read_back(text))
    for kind, line in lines:
        path, _, done = line.rpartition(" (")
        if kind == FACTS:
            notes.add(kind, line, 1 + 4 * line.split(" ")[0].isupper(), key=line.split(" = ")[0])
        elif kind == FILES:
            notes.add(kind, line, int(done == "changed)"), key=path)
        else:
            notes.add(kind, line)
    return bool(lines)


def _read_back(summary: str) -> Iterator[tuple[str, str]]:
    kind = ""
    for line in summary.splitlines():
        if found := _HEADING.fullmatch(line):
            kind = found[1]
        elif kind and line.startswith("- "):
            yield kind, line[2:].strip()


# ------------------------------------------------------------------------------ what fits


def _written(notes: _Notes, limit: int) -> str:
    taken: dict[str, list[_Line]] = {}
    waiting = {kind: _ranked(kind, lines) for kind, lines in notes.kinds.items()}
    left = limit
    for _ in waiting[GOALS][:2]:
        left -= _take(GOALS, waiting[GOALS].pop(0), taken, left)
    while waiting[RULES] and left > limit * _FOR_THE_REST:
        left -= _take(RULES, waiting[RULES].pop(0), taken, left)
    while any(waiting.values()):
        for kind in _TURNS:
            if waiting[kind]:
                left -= _take(kind, waiting[kind].pop(0), taken, left)
    parts = []
    for kind in KINDS:
        if lines := sorted(taken.get(kind, ()), key=lambda line: line.order):
            parts.append("\n".join([f"{kind}:", *(f"- {line.text}" for line in lines)]))
    return "\n".join(parts)


def _ranked(kind: str, lines: dict[str, _Line]) -> list[_Line]:
    """What is worth more first. Of the goals the first and the last, then the later ones."""
    ranked = sorted(lines.values(), key=lambda line: (-line.weight, -line.order))
    if kind == GOALS and len(ranked) > 1:
        first = min(ranked, key=lambda line: line.order)
        ranked.remove(first)
        ranked.insert(1, first)
    return ranked


def _take(kind: str, line: _Line, taken: dict[str, list[_Line]], left: int) -> int:
    """The characters that the line took, 0 if there was no room for it."""
    frame = (0 if kind in taken else len(kind) + 2) + len("- ") + 1
    text = line.text
    if kind == GOALS and kind not in taken and frame + len(text) > left > frame:
        text = text[: left - frame]  # the last goal is cut rather than lost
    if frame + len(text) > left or not text:
        return 0
    taken.setdefault(kind, []).append(_Line(text, line.order))
    return frame + len(text)
