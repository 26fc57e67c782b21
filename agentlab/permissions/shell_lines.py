"""The text of a command with here-documents taken out and continued lines joined.

A here-document (``<<END`` and the lines up to ``END``) is the one thing in the shell that does not
stand where it is used. Before the grammar sees the text, each is cut out: the operator becomes a
plain ``<``, the lines become blanks, and the body is kept beside it. A backslash at the end of a
line, which joins it with the next, is removed as bash does it. For both one must know what is
quoted, so this is a small machine with a stack of what is open. Anything doubtful is `Unreadable`,
and `shell` checks afterwards that it found the same here-documents in the same places. Chapter 05.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_PLAIN = re.compile(r"[^\\'\"$`#()<>{}\n;&|\w]+|\w+")
_DELIMITER = re.compile(r"""[ \t]*((?:[^\s\\'"$`|&;()<>]|\\[^\n]|'[^'\\\n]*'|"[^"$`\\\n]*")+)""")


class Unreadable(Exception):
    """Why a command cannot be known before it runs, in a few words."""


@dataclass(frozen=True)
class HereDocument:
    """A body with its continued lines joined; ``end`` is where the operator and its word end."""

    body: str
    quoted: bool  # nothing in it is expanded
    end: int


@dataclass
class _Open:
    """Something open: code (with what closes it), a quoted string, ``${...}``, arithmetic."""

    kind: str
    closes: str = ""
    cases: int = 0  # a ")" inside case ... esac ends a pattern
    depth: int = 0  # brackets in arithmetic
    waiting: list[tuple[int, str, bool, bool, int]] = field(default_factory=list)


def unfold(text: str) -> tuple[str, dict[int, HereDocument]]:
    """The text as the grammar shall see it, and its here-documents by where their ``<<`` stands."""
    if "<<" not in text and "\\\n" not in text:
        return text, {}
    machine = _Machine(text)
    machine.run()
    return "".join(machine.out), machine.found


def substitution(text: str, start: int) -> int:
    """Where the ``$(`` at ``start`` ends (after its bracket)."""
    machine = _Machine(text)
    machine.at = start + 2
    machine.stack = [_Open("text"), _Open("code", ")")]
    machine.run(until=1)
    return machine.at


class _Machine:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.size = text, 0, 0
        self.out: list[str] = []
        self.found: dict[int, HereDocument] = {}
        self.stack = [_Open("code")]

    def run(self, until: int = 0) -> None:
        while self.at < len(self.text):
            if self._joined():
                continue
            getattr(self, f"_{self.stack[-1].kind}")(self.text[self.at])
            if len(self.stack) == until:
                return
        if until or len(self.stack) > 1 or self.stack[0].waiting:
            raise Unreadable("something is opened and not closed")

    def _take(self, count: int) -> None:
        piece = self.text[self.at : self.at + count]
        self.out.append(piece)
        self.size += len(piece)
        self.at += len(piece)

    def _joined(self) -> bool:
        joined = self.text.startswith("\\\n", self.at)
        self.at += 2 * joined
        return joined

    def _through(self, end: int) -> None:
        if end < 0:
            raise Unreadable("a quote is opened and not closed")
        self._take(end + 1 - self.at)

    def _single(self) -> None:
        self._through(self.text.find("'", self.at + 1))

    def _escaped(self, end: str) -> None:
        """Up to ``end``, where a backslash protects the next character; nothing is joined in it."""
        at = self.at + 1
        while at < len(self.text) and self.text[at] != end:
            at += 2 if self.text[at] == "\\" else 1
        self._through(at if at < len(self.text) else -1)

    def _expansion(self, quoted: bool) -> bool:
        """A ``$`` or backtick: open what it opens. False: it opens nothing."""
        rest = self.text[self.at : self.at + 3]
        if rest[0] == "`":
            self._escaped("`")
        elif rest == "$((":
            self._take(3)
            self.stack.append(_Open("arithmetic", depth=2))
        elif rest[:2] == "$(":
            self._take(2)
            self.stack.append(_Open("code", ")"))
        elif rest[:2] == "${":
            self._take(2)
            self.stack.append(_Open("brace", "quoted" if quoted else ""))
        elif rest[:2] == "$'" and not quoted:
            self._take(1)
            self._escaped("'")
        else:
            self._take(1)
            return False
        return True

    def _quoted(self, character: str) -> None:
        if character == '"':
            self.stack.pop()
            self._take(1)
        elif character in "$`":
            self._expansion(True)
        else:
            self._take(2 if character == "\\" else 1)

    def _brace(self, character: str) -> None:
        quoted = bool(self.stack[-1].closes)
        if character == "}":
            self.stack.pop()
            self._take(1)
        elif character == '"':
            self.stack.append(_Open("quoted"))
            self._take(1)
        elif character in "$`":
            self._expansion(quoted)
        elif character == "'" and not quoted:
            self._single()
        else:
            self._take(2 if character == "\\" else 1)

    def _arithmetic(self, character: str) -> None:
        if character in "$`":
            self._expansion(True)
            return
        self.stack[-1].depth += {"(": 1, ")": -1}.get(character, 0)
        if not self.stack[-1].depth:
            self.stack.pop()
        self._take(1)

    def _code(self, character: str) -> None:
        here = self.stack[-1]
        if plain := _PLAIN.match(self.text, self.at):
            here.cases += {"case": 1, "esac": -1 if here.cases else 0}.get(plain.group(), 0)
            self._take(len(plain.group()))
        elif character == "\n":
            self._take(1)
            self._bodies(here)
        elif character == "#" and (self.at == 0 or self.text[self.at - 1] in " \t\n;&|()"):
            end = self.text.find("\n", self.at)
            self._take((end if end >= 0 else len(self.text)) - self.at)
        elif character == "'":
            self._single()
        elif character == '"':
            self._take(1)
            self.stack.append(_Open("quoted"))
        elif character in "$`":
            self._expansion(False)
        elif character == "(":
            self._bracket(here)
        elif character == ")":
            self._take(1)
            if here.closes == ")" and not here.cases:
                if here.waiting and here.waiting is not self.stack[-2].waiting:
                    raise Unreadable("a here-document is not in the brackets of its command")
                self.stack.pop()
        elif self.text.startswith("<<<", self.at):
            self._take(3)
        elif self.text.startswith("<<", self.at):
            self._operator(here)
        else:
            self._take(2 if character == "\\" else 1)

    def _bracket(self, here: _Open) -> None:
        if self.text.startswith("((", self.at):
            self._take(2)
            self.stack.append(_Open("arithmetic", depth=2))
        else:
            substituted = self.at and self.text[self.at - 1] in "<>"
            self._take(1)
            opened = _Open("code", ")")
            if not substituted:
                opened.waiting = here.waiting
            self.stack.append(opened)

    def _operator(self, here: _Open) -> None:
        dashed = self.text.startswith("<<-", self.at)
        word = _DELIMITER.match(self.text, self.at + 2 + dashed)
        if word is None or "\\\n" in word.group():
            raise Unreadable("the end of a here-document is not known")
        name = re.sub(r"\\(.)|['\"]", r"\1", word.group(1))
        where, length = self.size, word.end() - self.at
        here.waiting.append((where, name, name != word.group(1), dashed, where + length))
        self._take(length)
        self.out[-1] = "<" + " " * (1 + dashed) + self.out[-1][2 + dashed :]

    def _bodies(self, here: _Open) -> None:
        """The lines after this one belong to the here-documents of this one."""
        for where, name, quoted, dashed, end in here.waiting:
            start, lines = self.at, []
            while (line := self._line(quoted, dashed)) != name:
                if line.startswith(name) and ")" in line and len(self.stack) > 1:
                    raise Unreadable("a here-document may end in two places")
                lines.append(line + "\n")
            self.found[where] = HereDocument("".join(lines), quoted, end)
            blank = " " * max(0, self.at - start - 1) + "\n"
            self.out.append(blank)
            self.size += len(blank)
        here.waiting.clear()

    def _line(self, quoted: bool, dashed: bool) -> str:
        if self.at >= len(self.text):
            raise Unreadable("a here-document does not end")
        line = ""
        while True:
            end = self.text.find("\n", self.at)
            end = end if end >= 0 else len(self.text)
            line += self.text[self.at : end]
            self.at = end + 1
            escaped = (len(line) - len(line.rstrip("\\"))) % 2
            if quoted or not escaped or self.at >= len(self.text):
                return line.lstrip("\t") if dashed else line
            line = line[:-1]
