"""One word of a shell command: where it ends, and what bash will make of it.

Quotes of four kinds, backslashes, ``$x``, ``${x:-y}``, ``$(...)``, ``{a,b}``, ``*``, ``~``: this
reads a word character by character, as bash does, and says its value, or that it is not known
before it runs. It does not trust the grammar: `shell` compares what this finds with what the
grammar found, and where they differ nobody knows what will run. Chapter 05 builds it.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from agentlab.permissions.shell_command import Word
from agentlab.permissions.shell_lines import Unreadable

_PLAIN = re.compile(r"[A-Za-z0-9_./:=,+@%^!\]-]+")
_SIMPLE = re.compile(r"[A-Za-z0-9_./:=,+@%-]+(?=[ \t\n;]|\Z)")
_PARAMETER = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9*@#?$!-])", re.ASCII)
_BRACES = re.compile(r"\{.*(?:,|\.\.).*\}", re.DOTALL)
_TILDE = re.compile(r"~[^/]*")
_GLOB = re.compile(r"[*?]|\[.+\]", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_INDIRECT = re.compile(r"!(?!\w+(?:[*@]|\[[*@]\])$)")
_OFFSET = re.compile(r"\w+(?:\[.*\])?:(?![-=+?])", re.DOTALL)
_SUBSCRIPT = re.compile(r"[!#]?\w+\[(?![*@]\])([^\]]*)")
_DEFAULT = re.compile(r"(\w+)(?:\[.*\])?:?=")
_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)|(.))",
    re.DOTALL,
)
_LETTERS = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))
_BLANK = (
    "\u034f\u115f\u1160\u2800\u3164\uffa0"  # they print as nothing, though they count as letters
)


def unseen(character: str) -> bool:
    """Whether a reader cannot see it, or takes it for a blank: controls, odd spaces, zero width."""
    return not character.isprintable() or character in _BLANK


class Words(ABC):
    """Reads words from ``text``. `expand` is left to whoever knows what is inside."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.doubts: list[str] = []  # about the command that is being read
        self.evaluated: set[str] = set()  # names whose values are evaluated as arithmetic
        self.set_outside: set[str] = set()  # names whose values come from outside the text

    @abstractmethod
    def expand(self, at: int, quoted: bool) -> int:
        """Read what the ``$(``, backtick or ``<(`` at ``at`` begins; where it ends."""

    def word(self, start: int) -> tuple[Word, int]:
        """The word at ``start``, and where it ends. Empty if there is none."""
        if simple := _SIMPLE.match(self.text, start):  # most words are
            return Word(simple.group(), simple.group()), simple.end()
        out: list[str] = []
        shape: list[str] = []  # the word with a "q" for all that is quoted or expanded
        text, at, known = self.text, start, True
        if text.startswith("#", start):
            raise Unreadable("bash takes a # for the start of a comment")
        while at < len(text):
            if plain := _PLAIN.match(text, at):
                out.append(plain.group())
                shape.append(plain.group())
                at = plain.end()
                continue
            character, following = text[at], text[at + 1 : at + 2]
            if character in "'\"\\" or (character == "$" and following and following in "'\""):
                piece, at = self._quote(at)
                shape.append("q")
            elif character in "$`" or (character in "<>" and following == "("):
                end = self._dollar(at, False)
                piece = text[at:end] if end == at + 1 else None
                shape.append(piece or "q")
                at = end
            elif character in " \t\n;&|()<>":
                break
            elif unseen(character):
                raise Unreadable(f"the character U+{ord(character):04X} cannot be seen")
            else:
                piece, at = character, at + 1
                shape.append(character)
            known = known and piece is not None
            out.append(piece or "")
        return Word(text[start:at], *_value("".join(out), "".join(shape), known)), at

    def _quote(self, at: int) -> tuple[str | None, int]:
        """A quoted piece: its value (None: not known), and where it ends."""
        text = self.text
        if text[at] == "\\":
            if at + 1 >= len(text):
                raise Unreadable("it ends with a backslash")
            return text[at + 1], at + 2
        if text[at] == "'":
            end = text.find("'", at + 1)
            if end < 0:
                raise Unreadable("a quote is opened and not closed")
            return text[at + 1 : end], end + 1
        if text.startswith("$'", at):
            return self._ansi(at + 2)
        return self.double(at + 1 + (text[at] == "$"))

    def _ansi(self, start: int) -> tuple[str | None, int]:
        at = start
        while not self.text.startswith("'", at):
            at += 2 if self.text.startswith("\\", at) else 1
            if at >= len(self.text):
                raise Unreadable("a quote is opened and not closed")
        written = self.text[start:at]
        value = _ESCAPE.sub(_unescape, written)
        return (None if "\0" in value or "\\x{" in written else value), at + 1

    def double(self, at: int, closes: str = '"', end: int | None = None) -> tuple[str | None, int]:
        """Text in double quotes from ``at``, or a here-document (closes: "", up to ``end``)."""
        out: list[str] = []
        text, known = self.text, True
        end = len(text) if end is None else end
        while at < end:
            character = text[at]
            if character == closes:
                return ("".join(out) if known else None), at + 1
            if character == "\\" and at + 1 < end:
                following = text[at + 1]
                out.append(following if following in f"$`\\{closes}" else character + following)
                at += 2
            elif character in "$`":
                after = self._dollar(at, True)
                known = known and after == at + 1
                out.append(text[at:after])
                at = after
            else:
                out.append(character)
                at += 1
        if closes:
            raise Unreadable("a quote is opened and not closed")
        return ("".join(out) if known else None), at

    def _dollar(self, at: int, quoted: bool) -> int:
        """What a ``$``, a backtick or a ``<(`` begins: where it ends (at + 1: nothing begins)."""
        text = self.text
        if text.startswith("${", at):
            return self._braces(at, quoted)
        if text.startswith("$((", at) or text.startswith("$[", at):
            opening, closing = ("$((", "))") if text[at + 1] == "(" else ("$[", "]")
            return self.arithmetic(at + len(opening), closing)
        if text[at] != "$" or text.startswith("$(", at):
            return self.expand(at, quoted)
        parameter = _PARAMETER.match(text, at)
        return parameter.end() if parameter else at + 1

    def _braces(self, start: int, quoted: bool) -> int:
        """``${...}``: what stands in it is expanded, and in some forms evaluated."""
        text, at = self.text, start + 2
        if text[at : at + 1] in (" ", "\t", "\n", "|", "("):  # bash 5.3 runs what stands in it
            raise Unreadable("a ${ cannot be read")
        while not text.startswith("}", at):
            character = text[at : at + 1]
            if not character or (character in "<>" and text.startswith("(", at + 1)):
                raise Unreadable("a ${ cannot be read")
            if character == "'" and quoted:
                raise Unreadable("it is not clear whether a ' in ${...} quotes")
            if character == "\\":
                at += 2
            elif character in "'\"":
                at = self._quote(at)[1]
            elif character in "$`":
                at = self._quote(at)[1] if text.startswith("$'", at) else self._dollar(at, quoted)
            else:
                at += 1
        inside = text[start + 2 : at]
        if inside.endswith("@P") or _INDIRECT.match(inside):
            self.doubts.append("the value of a variable is evaluated")
        for part in [inside] if _OFFSET.match(inside) else _SUBSCRIPT.findall(inside):
            self.evaluate(part)
        if default := _DEFAULT.match(inside):
            self.set_outside.add(default.group(1))
        return at + 1

    def arithmetic(self, at: int, closing: str) -> int:
        """Arithmetic from ``at`` up to ``closing`` outside brackets; where it ends."""
        text, start, depth = self.text, at, 0
        while depth or not text.startswith(closing, at):
            character = text[at : at + 1]
            if not character or character in "'\\" or (character == ")" and not depth):
                raise Unreadable("arithmetic that cannot be read")
            if character == '"':
                at = self.double(at + 1)[1]
            elif character in "$`":
                at = self._dollar(at, True)
            else:
                opens, closes = ("(", ")") if closing == "))" else ("[", "]")
                depth += (character == opens) - (character == closes)
                at += 1
        self.evaluate(text[start:at])
        return at + len(closing)

    def evaluate(self, arithmetic: str) -> None:
        """Note what arithmetic depends on: bash evaluates values again, and runs a $( in them."""
        if re.search(r"\$\((?!\()|`|\$\{?[0-9@*]", arithmetic):
            self.doubts.append("a value from outside is evaluated as arithmetic")
        self.evaluated.update(_NAME.findall(arithmetic))

    def loosely(self, at: int, end: int) -> None:
        """A place with operators among the words: a pattern, an array, ``[[ ... ]]``."""
        depth = 0
        while at < end:
            character = self.text[at]
            if character in " \t\n()|&" or (
                character in "<>" and not self.text.startswith("(", at + 1)
            ):
                depth += (character == "(") - (character == ")")
                if depth < 0:
                    raise Unreadable("a pattern that cannot be read")
                at += 1
                continue
            before, (_, at) = at, self.word(at)
            if at == before:
                raise Unreadable("words and operators that cannot be read")
        if at != end:
            raise Unreadable("words and operators that cannot be read")


def _value(value: str, shape: str, known: bool) -> tuple[str | None, bool]:
    """Value and glob of a word. In ``shape`` a "q" stands for everything quoted or expanded."""
    tilde = _TILDE.match(shape)
    if tilde and tilde.group() != "~" and "q" not in tilde.group():
        known = False  # ~user, ~+
    elif value.startswith("~") and (not tilde or tilde.group() != "~"):
        value = f"./{value}"
    if not known or ("{" in shape and _BRACES.search(shape)):
        return None, False
    return value, bool(_GLOB.search(shape))


def literal(word: Word) -> str | None:
    """The value of a word that is not a path: without the ``./`` before a quoted ``~``."""
    if word.value and word.value.startswith("./~") and not word.text.startswith("."):
        return word.value[2:]
    return word.value


def _unescape(match: re.Match[str]) -> str:
    octal, short, unicode, long, control, letter = match.groups()
    if letter is not None:
        known = _LETTERS.get(letter)
        return known or (letter if letter in "\\'\"?" else f"\\{letter}")
    if control is not None:
        return chr(ord(control) & 0x1F)
    code = int(octal, 8) & 0xFF if octal else int(short or unicode or long, 16)
    # Above ASCII a byte depends on its neighbours and on the locale: not known, as is a NUL.
    return chr(code) if code < 0x80 or ((unicode or long) and code < 0x110000) else "\0"
