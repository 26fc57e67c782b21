"""Where two requests part, and why: the report on a prefix that should have been kept.

The prompt cache compares from the first byte: tools, then the system prompt, then the messages.
`prefix_report` takes the requests of a conversation, one after another, and compares each with the
one before, in that order and block by block. If the older one is the beginning of the newer one,
all is well. If not, it names the first place where they differ, guesses the reason from what
stands there, and counts the tokens behind it that had been sent before and are paid again.

It compares content, not spelling: marks for the cache, the order of keys, and a text written as a
string or as a block make no difference to a server. Of the settings it looks at the model, the
choice of tools and thinking. Tokens are estimates. Part of chapter 09.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agentlab.costs import dollars
from agentlab.prefix_pieces import ORDER, Part, Piece, key_of, pieces_of
from agentlab.prices import prices
from agentlab.tables import Table, Tabular, count


@dataclass(frozen=True)
class Step:
    """A request beside the one before it. ``place`` is empty if the prefix was kept.

    Tokens: kept from the request before, paid again although they had been sent, and new. ``usd``:
    what paying again costs more, written to the cache instead of read from it; None if the price
    of the model is not known.
    """

    number: int  # of the request, counted from 1
    kept_tokens: int
    again_tokens: int
    new_tokens: int
    place: str = ""
    reason: str = ""
    usd: float | None = 0.0


@dataclass(frozen=True, repr=False)
class PrefixReport(Tabular):
    """The steps from request to request; ``broken`` are those that lost their prefix."""

    steps: tuple[Step, ...]

    @property
    def broken(self) -> list[Step]:
        """The steps at which a prefix was lost."""
        return [step for step in self.steps if step.place]

    @property
    def again_tokens(self) -> int:
        """Tokens that were paid again."""
        return sum(step.again_tokens for step in self.steps)

    @property
    def usd(self) -> float | None:
        """What that cost more than reading from the cache, in dollars."""
        known = [step.usd for step in self.steps if step.usd is not None]
        return sum(known) if len(known) == len(self.steps) else None

    def table(self) -> Table:
        """Request, tokens kept, paid again and new, dollars lost, where they part and why."""
        rows = [
            (
                str(step.number), count(step.kept_tokens), count(step.again_tokens),
                count(step.new_tokens), dollars(step.usd) if step.place else "",
                step.place, step.reason,
            )
            for step in self.steps
        ]  # fmt: skip
        lost, steps = len(self.broken), len(self.steps)
        title = f"Prefix kept at {steps - lost} of {steps} requests"
        if lost:
            title += f": {count(self.again_tokens)} tokens paid again, {dollars(self.usd)} more"
        columns = ("request", "kept", "again", "new", "lost", "they part at", "because")
        return Table(title, columns, rows, words=columns[-2:])


def prefix_report(requests: Iterable[Part]) -> PrefixReport:
    """Compare each request (a body as it is sent) with the one before it.

    From the simulator's log: ``[log.body(entry.number) for entry in log.since(mark)]``. Raises
    TypeError for what is no body.
    """
    steps: list[Step] = []
    before: list[Piece] | None = None
    for number, request in enumerate(requests, 1):
        if not isinstance(request, dict):
            raise TypeError(
                f"request {number} is {request!r:.40}, not a body: give a list of them "
                "(of a log: log.body(number) of each entry)"
            )
        pieces = pieces_of(request)
        if before is not None:
            steps.append(_step(number, before, pieces, request))
        before = pieces
    return PrefixReport(tuple(steps))


def _step(number: int, old: list[Piece], new: list[Piece], request: Part) -> Step:
    same = 0
    while same < min(len(old), len(new)) and old[same].key == new[same].key:
        same += 1
    kept = sum(piece.tokens for piece in new[:same])
    rest = sum(piece.tokens for piece in new[same:])
    if same == len(old):
        return Step(number, kept, 0, rest)
    if same == len(new):
        return Step(number, kept, 0, 0, reason="it is a beginning of the request before")
    sent = Counter(piece.key for piece in old[same:])
    again = 0
    for piece in new[same:]:
        if sent[piece.key] > 0:
            sent[piece.key] -= 1
            again += piece.tokens
    row = prices().find(request.get("model"), kept + rest)
    usd = None if row is None else again * (row.cache_write_5m - row.cache_read) / 1_000_000
    first = min(new[same], old[same], key=lambda piece: (ORDER.index(piece.section), piece.message))
    return Step(number, kept, again, rest - again, first.place, reason(old, new, same), usd)


# -------------------------------------------------------------------------------- why they part


def reason(old: Sequence[Piece], new: Sequence[Piece], same: int) -> str:
    """Why two requests part after so many pieces, in a few words."""
    before, now = old[same], new[same]
    sections = (before.section, now.section)
    if "model" in sections:
        return f"another model, with a cache of its own: {before.part}, then {now.part}"
    if "tools" in sections:
        return _tools(old, new)
    if "system" in sections:
        return _system(before, now)
    if "settings" in sections:
        return f"{now.place} changed, which renders all messages anew"
    return _message(old, new, same)


def _tools(old: Sequence[Piece], new: Sequence[Piece]) -> str:
    was = {_name(p.part): p for p in old if p.section == "tools"}
    now = {_name(p.part): p for p in new if p.section == "tools"}
    added, removed = [n for n in now if n not in was], [n for n in was if n not in now]
    parts = []
    if added:
        parts.append(f"tools added: {', '.join(map(str, added))}")
    if removed:
        parts.append(f"tools removed: {', '.join(map(str, removed))}")
    changed = [n for n in now if n in was and now[n].key != was[n].key]
    for name in changed[:1]:
        parts.append(_tool(name, was[name].part, now[name].part))
    if len(changed) > 1:
        parts.append(f"{_number(len(changed) - 1, 'more tool')} changed")
    if not parts:
        order = [", ".join(map(str, names)) for names in (was, now)]
        parts.append(f"tools reordered: {order[0]}, then {order[1]}")
    return "; ".join(parts)


def _name(tool: Part) -> str:
    """Its name; in OpenAI's form it stands one level down, and tools of a server may have none."""
    inner = tool.get("function")
    inner = inner if isinstance(inner, dict) else {}
    names = (tool.get("name"), inner.get("name"), tool.get("mcp_server_name"), tool.get("type"))
    return str(next((name for name in names if name), None))


def _tool(name: str, one: Part, other: Part) -> str:
    keys = [k for k in {**one, **other} if key_of({k: one.get(k)}) != key_of({k: other.get(k)})]
    texts = (_text(part.get(keys[0])) for part in (one, other))
    return _edited(f"the {' and '.join(keys)} of {name}", *texts)


def _system(before: Piece, now: Piece) -> str:
    if before.section != now.section:
        return "a system prompt was " + ("taken away" if before.section == "system" else "added")
    return _edited("the system prompt", *_texts(before.part, now.part))


def _message(old: Sequence[Piece], new: Sequence[Piece], same: int) -> str:
    before, now = old[same], new[same]
    one, other = before.part, now.part
    call = one.get("tool_use_id")
    if call and call == other.get("tool_use_id"):
        return f"the result of {call} was changed after it had been sent"
    if _blocks_of(old, before.message) == _blocks_of(new, now.message):
        return "the blocks of a message were reordered"
    gone = _found(now, new, old, same)
    if _goes_on(old, same) and not _goes_on(new, same):  # a message ends earlier than it did
        gone = same + sum(piece.message == before.message for piece in old[same:])
    if gone:
        left_out = old[same:gone]
        if all(piece.part.get("type") in ("thinking", "redacted_thinking") for piece in left_out):
            return "thinking was dropped"
        kept = {piece.message for piece in (*old[:same], *old[gone:])}
        messages = len({piece.message for piece in left_out} - kept)
        if not messages:
            return f"a message lost {_number(len(left_out), 'block')}"
        where = "the front was cut" if before.message == 0 else "the middle was cut"
        return f"{where}: {_number(messages, 'message')} gone"
    put_in = _found(before, old, new, same)
    if put_in:
        return f"{_number(put_in - same, 'block')} put in before what had been sent"
    kind, by = one.get("type"), before.key.split(" ", 1)[0]
    if kind != other.get("type") or by != now.key.split(" ", 1)[0]:
        return "another message stands there"
    if kind == "text":
        return _edited("a message", *_texts(one, other), "was edited")
    return f"a message was edited: its {kind} changed"


def _number(count: int, thing: str) -> str:
    return f"{count} {thing}{'s' * (count != 1)}"


def _goes_on(pieces: Sequence[Piece], index: int) -> bool:
    """Whether a piece is in the same message as the one before it."""
    return index > 0 and pieces[index].message == pieces[index - 1].message


def _blocks_of(pieces: Sequence[Piece], message: int) -> list[str]:
    return sorted(piece.key for piece in pieces if piece.message == message)


def _found(piece: Piece, its: Sequence[Piece], others: Sequence[Piece], same: int) -> int:
    """Where that piece and its follower stand later among the others, or 0."""
    follower = its[same + 1].key if same + 1 < len(its) else None
    for index in range(same + 1, len(others)):
        if others[index].key == piece.key:
            after = others[index + 1].key if index + 1 < len(others) else None
            if follower is None or after is None or after == follower:
                return index
    return 0


_TIME = re.compile(
    r"\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b|\d+|\b[ap]m\b",
    re.IGNORECASE,
)


def _without_time(text: str) -> str:
    return _TIME.sub("#", text)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _texts(one: Part, other: Part) -> tuple[str, str]:
    """The texts of two blocks; the blocks themselves if the texts are the same."""
    texts = one.get("text"), other.get("text")
    before, now = (one, other) if texts[0] == texts[1] else texts
    return _text(before), _text(now)


def _edited(what: str, one: str, other: str, changed: str = "changed") -> str:
    """What became of a text, and whether it may be a clock that did it."""
    clock = _without_time(one) == _without_time(other)
    said = f"a clock or a counter in {what}" if clock else f"{what} {changed}"
    return f"{said}: {_difference(one, other)}"


def _difference(one: str, other: str, around: int = 14) -> str:
    """The first place where two texts differ, in both: ``'09:17' became '09:18'``."""
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    at = min(len(one), len(other)) if at is None else at
    pieces = [text[max(0, at - around) : at + around] for text in (one, other)]
    plain = [unicodedata.normalize("NFC", " ".join(piece.split())) for piece in pieces]
    if plain[0] == plain[1]:  # they only look the same: white space, or an accent of its own
        plain = [ascii(piece)[1:-1] for piece in pieces]
    before = "…" * (at > around)
    after = ["…" * (at + around < len(text)) for text in (one, other)]
    said = f"'{before}{plain[0]}{after[0]}' became '{before}{plain[1]}{after[1]}'"
    return said.encode("utf-8", "backslashreplace").decode()  # half a character can't be shown
