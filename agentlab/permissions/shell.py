"""A command for bash, taken apart into the simple commands that it runs.

``git log && rm -rf x`` begins with git, and removes x. Whoever decides by the beginning of a text
is soon talked around. So the text is parsed, and every simple command in it is found: in lists and
pipelines, in ``$(...)`` and loops, behind wrappers, in the text given to ``bash -c``. tree-sitter
gives the structure, `shell_words` reads each word again on its own. Where the two disagree nobody
knows what bash will do: the whole is then *unknown*, which is never allowed without asking.

It runs nothing, expands no variables and looks at no files. It knows nothing of what a program
does with its arguments; that is for `wrappers`, `readonly` and `shell_doubts`. Built in chapter
05.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from agentlab.permissions import wrappers
from agentlab.permissions.shell_command import Command, Parsed, Redirect, Word
from agentlab.permissions.shell_compound import Compound
from agentlab.permissions.shell_doubts import decides
from agentlab.permissions.shell_folder import MOVES, NOWHERE, START, Where, join
from agentlab.permissions.shell_lines import Unreadable
from agentlab.permissions.shell_simple import DEEPEST, Shared, Ways

__all__ = ["Command", "Parsed", "Redirect", "Word", "parse"]

LONGEST = 200_000  # characters; what is longer is not read
_NESTING = ("list", "pipeline", "redirected_statement", "negated_command")
_REDIRECTS = ("file_redirect", "herestring_redirect")
_SIMPLE = (*_REDIRECTS, "command", "declaration_command", "unset_command", "variable_assignment",
           "variable_assignments")  # fmt: skip
_BUILTIN = {*MOVES, "exit", "return", "break", "continue", "command", "builtin", "exec"}


def parse(command: str, *, platform: str = sys.platform) -> Parsed:
    """The simple commands of a text for bash ("win32": for cmd.exe, of which little is read).

    Never raises: what cannot be read is said in ``unknown``.
    """
    if platform == "win32":
        return _windows(command)
    shared = Shared()
    where = NOWHERE
    try:
        if len(command) > LONGEST or "\0" in command:
            raise Unreadable("it is too long" if len(command) > LONGEST else "it contains a NUL")
        where = join(*_Reader(command, shared, (), 0).run(START))
    except Unreadable as error:
        shared.reasons.append(str(error))
    except RecursionError:
        shared.reasons.append("it is nested too deep")
    return _result(shared, where)


class _Reader(Compound):
    """Reads one text: statements by the tree, everything inside them by itself."""

    def run(self, where: Where) -> Ways:
        """Read it all, for a shell that stands in ``where``; gives where it stands afterwards."""
        reasons = len(self.shared.reasons)
        ways = self._statements(self.tree.root.children, 0, len(self.text), where)
        unread = self.seen != {*self.tree.holes, *self.documents} or self.tree.root.has_error
        if unread and len(self.shared.reasons) == reasons:
            raise Unreadable("what is quoted in it is not clear")
        return ways

    def _rescue(self, node: Any, reason: str) -> None:
        """Of what cannot be read, note what looks like commands, for rules that deny."""
        nodes = [node]
        while nodes:
            node = nodes.pop()
            nodes += reversed(node.children)
            if node.type == "command":
                text = self.text[node.start_byte : node.end_byte]
                words = tuple(Word(word, re.sub(r"[\\'\"]", "", word)) for word in text.split())
                found = Command(words, text=text, cwd=None, inside=self.inside, unknown=reason)
                self.shared.commands.append(wrappers.peel(found))

    def within(self, label: str, nodes: Sequence[Any], start: int, end: int, where: Where) -> Ways:
        """Read statements that stand in something, of which ``label`` is the name."""
        outside, self.inside = self.inside, (*self.inside, label)
        ways = self._statements(nodes, start, end, where)
        self.inside = outside
        return ways

    def _statements(self, nodes: Sequence[Any], start: int, end: int, where: Where) -> Ways:
        """Statements one after the other, between ``start`` and ``end``."""
        at, apart, ways = start, True, (where, where)
        for index, node in enumerate(nodes):
            apart = self.gap(at, node.start_byte) or apart
            at = node.end_byte
            if node.type in (";", "&", "\n"):
                apart = True
            elif node.type == "comment":
                self.comment(node)
            elif not apart:
                raise Unreadable("it is not clear where a command ends")
            else:
                where = join(*ways)
                ways = self._readable(node, where)
                if index + 1 < len(nodes) and nodes[index + 1].type == "&":
                    ways = where, where
                apart = False
        self.gap(at, end)
        return ways

    def _readable(self, node: Any, where: Where) -> Ways:
        """One statement; if it cannot be read, that is noted, and the next is read all the same."""
        before = self.depth, self.inside, self.doubts
        try:
            if node.has_error:
                raise Unreadable("the grammar of bash does not fit it")
            return self._statement(node, where)
        except Unreadable as error:
            self.depth, self.inside, self.doubts = before
            self.shared.reasons.append(str(error))
            self._rescue(node, str(error))
            return NOWHERE, NOWHERE

    def _statement(self, node: Any, where: Where) -> Ways:
        """A list: pipelines joined by && and ||."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unreadable("it is nested too deep")
        ways: Ways = (where, where)
        operator = kind = ""
        pipeline: list[list[Any]] = [[]]
        at = node.start_byte
        items = [*self._flat(node), None]
        for item in items:
            if item is not None:
                if self.gap(at, item.start_byte) and kind not in ("&&", "||", "|", "|&", "comment"):
                    raise Unreadable("it is not clear where a command ends")
                at = item.end_byte
            kind = item.type if item is not None else "&&"
            if kind == "comment":
                self.comment(item)
            elif kind in ("|", "|&"):
                pipeline.append([])
            elif kind in ("&&", "||"):
                ok, failed = ways
                start = failed if operator == "||" else ok
                then = self._pipeline(pipeline, start)
                if operator == "||":
                    ways = join(ok, then[0]), then[1]
                else:
                    ways = then[0], join(failed, then[1]) if operator else then[1]
                operator, pipeline = kind, [[]]
            else:
                pipeline[-1].append(item)
        self.depth -= 1
        return ways

    def _flat(self, node: Any) -> Iterator[Any]:
        stack = [node]
        while stack:
            node = stack.pop()
            if node.type in _NESTING:
                stack += reversed(node.children)
            else:
                yield node

    def _pipeline(self, pipeline: list[list[Any]], where: Where) -> Ways:
        if len(pipeline) == 1:
            return self.segment(pipeline[0], where)
        for nodes in pipeline:
            self.segment(nodes, where)  # each in a shell of its own
        return where, where

    def segment(self, nodes: list[Any], where: Where) -> Ways:
        """A simple command or a compound one, with what is redirected for it."""
        negations = 0
        while nodes and nodes[negations:] and nodes[negations].type == "!":
            self.alone(nodes[negations])
            negations += 1
        nodes = nodes[negations:]
        if not nodes:
            raise Unreadable("an operator without a command")
        first, end = nodes[0], nodes[-1].end_byte
        self.where = where
        bracket = first.type == "test_command" and not self.text.startswith("[[", first.start_byte)
        if first.type in _SIMPLE or (bracket and self.text[first.start_byte] == "["):
            if any(node.type not in _SIMPLE for node in nodes[1:]):
                raise Unreadable("words and operators that cannot be read")
            ways = self.simple(first.start_byte, end)
        else:
            if any(node.type not in _REDIRECTS for node in nodes[1:]):
                raise Unreadable("words and operators that cannot be read")
            if first.end_byte < end:
                self.simple(first.end_byte, end, redirects_only=True)
            ways = self.compound(first, where)
        return (ways[1], ways[0]) if negations % 2 else ways


def _result(shared: Shared, where: Where) -> Parsed:
    """Everything, with what only the whole can tell: redefined names, evaluated values."""
    reasons, commands = shared.reasons, shared.commands
    for name in sorted(shared.evaluated & shared.set_outside):
        reasons.append(f"the value of {name} is evaluated as arithmetic")
    for name in sorted(shared.evaluated | shared.set_outside):
        if reason := decides(name, Word(name, None)):
            reasons.append(reason)
    reasons += [f"{name} is redefined" for name in sorted(shared.defined & _BUILTIN)]
    if any(_moves_later(command) for command in commands):
        where, commands = NOWHERE, [replace(command, cwd=None) for command in commands]
    if shared.defined:
        commands = [
            replace(command, unknown=f"{command.program} is redefined here")
            if command.program in shared.defined
            else command
            for command in commands
        ]
    cwd = where[0][0] if len(where) == 1 else None
    return Parsed(tuple(commands), "; ".join(dict.fromkeys(reasons)), cwd)


def _moves_later(command: Command) -> bool:
    """Whether it may move the shell whenever a function is called or a signal comes."""
    later = any(label.startswith(("function ", "trap")) for label in command.inside)
    return later and bool(command.words) and command.program in (None, *MOVES)


def _windows(command: str) -> Parsed:
    """cmd.exe has a grammar of its own: only a program and plain arguments are read."""
    plain = re.fullmatch(r"[\w .:/\\=@+,-]*", command)
    found = []
    for part in re.split(r"[&|\n()]+", command):
        words = tuple(Word(word, word.replace('"', "").replace("^", "")) for word in part.split())
        if words:
            reason = (
                "" if plain else "cmd.exe is not bash: only a program and plain arguments are read"
            )
            found.append(Command(words, text=part.strip(), unknown=reason))
    return Parsed(tuple(found), "" if plain else "cmd.exe is not bash", None)
