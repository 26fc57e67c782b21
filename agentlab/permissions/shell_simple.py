"""One simple command: its words, assignments and redirections, and everything inside them.

Between two positions there must be exactly one simple command. It is read word by word; what
stands in ``$(...)`` is read on the way, with the statements that the grammar found there. Then the
wrappers are taken off, what they run is read too, and what makes the command unknown is noted.
Chapter 05.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentlab.permissions import wrappers
from agentlab.permissions.shell_command import Command, Redirect, Word
from agentlab.permissions.shell_doubts import (
    DECLARING,
    decides,
    declared,
    doubt,
    doubts_all,
    names_set,
)
from agentlab.permissions.shell_folder import NOWHERE, START, Where, after
from agentlab.permissions.shell_lines import Unreadable, substitution, unfold
from agentlab.permissions.shell_tree import tree
from agentlab.permissions.shell_words import Words

DEEPEST = 40  # how deep statements, texts for shells and wrappers may be nested
Ways = tuple[Where, Where]  # where one stands if it succeeded, and if it failed
RESERVED = frozenset(
    ("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
     "select", "function", "in", "{", "}", "[[", "]]", "!")
)  # fmt: skip
NUMBER = re.compile(r"[-+]?\d*|\{\d+\.\.\d+\}|\$\(\([^`]*\)\)|\$#|\$\?")
_REDIRECT = re.compile(
    r"(?:(?:\d+|\{[A-Za-z_]\w*\})(?=[<>]))?(&>>|&>|<<<|<>|<&|<(?!\()|>>|>&|>\||>(?!\())", re.ASCII
)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?=\[|\+?=)", re.ASCII)
_CLOSES = re.compile(r"[ \t]*-")  # the - after >& is a word of its own, whatever follows
_EQUALS = re.compile(r"\+?=")
_NO_FILES = ("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/0", "/dev/fd/1",
             "/dev/fd/2")  # fmt: skip


@dataclass
class Shared:
    """What the readers of a text, and of the texts inside it, find together."""

    commands: list[Command] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)  # why the whole is unknown
    defined: set[str] = field(default_factory=set)  # functions
    evaluated: set[str] = field(default_factory=set)  # as in Words
    set_outside: set[str] = field(default_factory=set)


class Simple(Words, ABC):
    """Reads simple commands. Statements, which may stand inside them, are left to `shell`."""

    def __init__(self, text: str, shared: Shared, inside: tuple[str, ...], depth: int) -> None:
        text, self.documents = unfold(text)
        super().__init__(text)
        self.evaluated, self.set_outside = shared.evaluated, shared.set_outside
        self.shared, self.inside, self.depth = shared, inside, depth
        self.tree = tree(text)
        self.seen: set[int] = set()  # the holes and here-documents that were read
        self.where: Where = START

    @abstractmethod
    def within(self, label: str, nodes: Sequence[Any], start: int, end: int, where: Where) -> Ways:
        """Read statements that stand in something."""

    @abstractmethod
    def run(self, where: Where) -> Ways:
        """Read it all."""

    def simple(self, start: int, end: int, redirects_only: bool = False) -> Ways:
        """What stands between two positions must be exactly one simple command."""
        where, slot = self.where, len(self.shared.commands)
        doubts, self.doubts = self.doubts, []
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        redirects: list[Redirect] = []
        fed: list[Word] = []
        at = start
        while at < end:
            if self.text[at] in " \t":
                at += 1
                continue
            name = None if words else _ASSIGNMENT.match(self.text, at)
            if operator := _REDIRECT.match(self.text, at):
                at = self._redirect(operator, redirects, fed)
            elif redirects_only:
                raise Unreadable("words after a compound command")
            elif name and (value := self._assignment(name)):
                assignments.append((name.group(1), value[0]))
                at = value[1]
            else:
                word, at = self.next_word(at)
                if words and words[0].value in DECLARING and word.text.endswith("="):
                    word, at = self._array_after(word, at)
                words.append(word)
            if at < end and self.text[at] not in " \t" and not _REDIRECT.match(self.text, at):
                raise Unreadable("words and operators that cannot be read")
        if at != end:
            raise Unreadable("it is not clear where a command ends")
        text = [
            *(f"{name}={word.text}" for name, word in assignments),
            *(word.text for word in words),
        ]
        command = Command(
            tuple(words), tuple(assignments), tuple(redirects), " ".join(text), tuple(fed),
            inside=self.inside, unknown=self.doubts[0] if self.doubts else "",
        )  # fmt: skip
        self.doubts = doubts
        return self.add(command, slot, where)

    def next_word(self, at: int) -> tuple[Word, int]:
        """The word after blanks."""
        while self.text[at : at + 1] in (" ", "\t"):
            at += 1
        word, end = self.word(at)
        if end == at:
            raise Unreadable("words and operators that cannot be read")
        return word, end

    def _assignment(self, name: re.Match[str]) -> tuple[Word, int] | None:
        """The value of an assignment, and where it ends; None if it is none."""
        at = name.end()
        if self.text[at] == "[":
            at = self.arithmetic(at + 1, "]")
        equals = _EQUALS.match(self.text, at)
        if equals is None:
            return None
        at = equals.end()
        if self.text[at : at + 1] == "(":
            end = self._array(at + 1)
            value = Word(self.text[at:end], None)
        else:
            value, end = self.word(at) if self.text[at : at + 1] != "#" else (Word("", None), at)
        if self.text[at:end] == "" and self.text[at : at + 1] == "#":
            raise Unreadable("an assignment that cannot be read")
        if not NUMBER.fullmatch(value.text) and not (
            decides(name.group(1), Word("", None)) and not decides(name.group(1), value)
        ):
            self.set_outside.add(name.group(1))
        return value, end

    def _array_after(self, word: Word, at: int) -> tuple[Word, int]:
        """The word of ``declare x=(...)``; any other stays as it is."""
        if self.text[at : at + 1] != "(":
            return word, at
        end = self._array(at + 1)
        return Word(self.text[at - len(word.text) : end], None), end

    def _array(self, at: int) -> int:
        """The words of an array up to its closing bracket, and where that ends."""
        while self.text[at : at + 1] != ")":
            if self.text[at : at + 1] in (" ", "\t", "\n"):
                at += 1
                continue
            word, at = self.next_word(at)
            if word.text.startswith("["):
                self.evaluate(word.text.partition("]")[0])
        return at + 1

    def _redirect(self, operator: re.Match[str], redirects: list[Redirect], fed: list[Word]) -> int:
        """A redirection: note the file or the text. Gives where it ends."""
        sign, at = operator.group(1), operator.start(1)
        if document := self.documents.get(at):
            self.seen.add(at)
            body: str | None = document.body
            if not document.quoted:
                body, _ = _Body(self, document.body).double(0, "")
            fed.append(Word(document.body, body))
            return document.end
        if sign in ("<&", ">&") and (closes := _CLOSES.match(self.text, operator.end())):
            return closes.end()
        word, end = self.next_word(operator.end())
        copied = sign in ("<&", ">&") and re.fullmatch(r"\d+-?", word.text)
        if sign == ">&" and word.value != word.text:
            self.doubts.append("bash 5.2 expands the name of this file twice")
        if sign == "<<<":
            fed.append(word)
        elif not copied and sign != "<&" and word.value not in _NO_FILES:
            redirects.append(Redirect(sign, word, sign != "<"))
            if re.match(r"/dev/(tcp|udp)/", word.value or ""):
                self.doubts.append("it opens a network connection")
        return end

    # -- what is inside

    def expand(self, at: int, quoted: bool) -> int:
        """Read what a ``$(``, a backtick or a ``<(`` begins; where it ends."""
        if self.text[at] == "`":
            return self._backticks(at, quoted)
        node = self.tree.holes.get(at)
        if node is None or node.children[-1].type != ")":
            return self.substituted(self.text, at)
        self.seen.add(at)
        where, doubts, self.doubts = self.where, self.doubts, []
        opening, closing = node.children[0], node.children[-1]
        label = self.text[at : at + 2] + "...)"
        self.within(label, node.children[1:-1], opening.end_byte, closing.start_byte, where)
        self.where, self.doubts = where, doubts
        return int(node.end_byte)

    def substituted(self, text: str, start: int) -> int:
        """Read a ``$(`` that is not in the tree; where it ends."""
        end = substitution(text, start)
        self.nested("$(...)", text[start + 2 : end - 1], self.where)
        return end

    def _backticks(self, start: int, quoted: bool) -> int:
        at = start + 1
        while self.text[at : at + 1] != "`":
            if at >= len(self.text):
                raise Unreadable("a quote is opened and not closed")
            at += 2 if self.text[at] == "\\" else 1
        script = self.text[start + 1 : at]
        if quoted and '\\"' in script:
            raise Unreadable("it is not clear what a \\ in backticks means")
        self.nested("$(...)", re.sub(r"\\([$`\\])", r"\1", script), self.where)
        return at + 1

    def nested(self, label: str, script: str, where: Where) -> Ways:
        """Read a text that a shell will run, inside this one."""
        if self.depth > DEEPEST // 2:
            raise Unreadable("it is nested too deep")
        return type(self)(script, self.shared, (*self.inside, label), self.depth + 2).run(where)

    def add(self, command: Command, slot: int, where: Where) -> Ways:
        """Note a command where it may run, and what it runs. Where the shell stands after it."""
        command = wrappers.peel(command)
        if not command.unknown and (reason := self._unknown(command)):
            command = replace(command, unknown=reason)
        self.set_outside.update(names_set(command))
        if reason := doubts_all(command):
            self.shared.reasons.append(reason)
        places = dict.fromkeys(standing[0] for standing in where or NOWHERE)
        self.shared.commands[slot:slot] = [
            replace(command, cwd=place) if place != "" else command for place in places
        ]
        ways = after(command, where)
        for part in wrappers.inner(command):
            inside = self._inside(part, command, NOWHERE if part.moved or not where else where)
            ways = inside if part.shares else ways
        return ways

    def _inside(self, part: wrappers.Inner, command: Command, where: Where) -> Ways:
        """Read what a command runs. Where a shell for it stands afterwards."""
        commands = self.shared.commands
        mark, inside = len(commands), (*self.inside, part.label)
        if len(inside) > DEEPEST:
            raise Unreadable("it is nested too deep")
        if part.words:
            text = " ".join(word.text for word in part.words)
            found = Command(
                part.words, part.assignments, text=text, inside=inside, unknown=part.unknown
            )
            outside, self.inside = self.inside, inside
            self.add(found, mark, where)
            self.inside = outside
            return where, where
        ways, reason = (NOWHERE, NOWHERE), part.unknown
        if part.script is None:
            reason = reason or "what it runs is not known before it runs"
        else:
            try:
                ways = self.nested(part.label, part.script, where)
            except Unreadable as error:
                self.shared.reasons.append(str(error))
        if reason:
            commands[mark:] = [replace(found, unknown=reason) for found in commands[mark:]]
            here = Command((), text=command.text, cwd=where[0][0], inside=inside, unknown=reason)
            commands.append(here)
        return ways

    def _unknown(self, command: Command) -> str:
        """Why one cannot know before it runs what the command does."""
        for name, value in [*command.assignments, *declared(command)]:
            if reason := decides(name, value):
                if (name, value) not in command.assignments or not command.words:
                    self.shared.reasons.append(reason)
                return reason
        if not command.words:
            return ""
        first = command.words[0]
        if first.value is None or (first.glob and first.value != "["):
            return "which program it is is not known before it runs"
        if first.text in RESERVED or (
            first.text == "coproc" and any(word.text in RESERVED for word in command.words[1:3])
        ):
            return "a word of the grammar where a program should be"
        return doubt(command)


class _Body(Words):
    """The body of a here-document, in which ``$(...)`` is run."""

    def __init__(self, reader: Simple, body: str) -> None:
        super().__init__(body)
        self.reader, self.doubts = reader, reader.doubts
        self.evaluated, self.set_outside = reader.evaluated, reader.set_outside

    def expand(self, at: int, quoted: bool) -> int:
        if self.text[at] == "`":
            end = self.text.find("`", at + 1)
            if end < 0 or "\\" in self.text[at:end]:
                raise Unreadable("backticks that cannot be read")
            self.reader.nested("$(...)", self.text[at + 1 : end], self.reader.where)
            return end + 1
        return self.reader.substituted(self.text, at)
