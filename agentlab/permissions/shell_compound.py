"""Compound commands: if, loops, case, functions, groups, and tests.

What runs in them is found by reading their statements one after the other, whether or not they
will be reached. What changes is where the shell stands: a condition leaves it in one place if it
holds and perhaps in another if not, a subshell leaves it where it was, a loop that moves may be
anywhere in its second round. Chapter 05.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import replace
from typing import Any

from agentlab.permissions.shell_command import Command
from agentlab.permissions.shell_folder import NOWHERE, Where, join
from agentlab.permissions.shell_lines import Unreadable
from agentlab.permissions.shell_simple import NUMBER, RESERVED, Simple, Ways

_COMPARES = re.compile(r"\s-(?:v|R|eq|ne|lt|le|gt|ge)\s")
_APART = ("", *" \t\n;&|()<>")
_ENDS = (";;", ";&", ";;&")


class Compound(Simple):
    """Reads compound commands. The statements in them are left to `shell`."""

    @abstractmethod
    def segment(self, nodes: list[Any], where: Where) -> Ways:
        """Read one command with its redirections."""

    def gap(self, start: int, end: int) -> bool:
        """What stands between two parts must be blank. Whether there is a new line in it."""
        between = self.text[start:end]
        if between.strip(" \t\n"):
            raise Unreadable("something in it is not read by the grammar")
        return "\n" in between

    def alone(self, node: Any) -> None:
        """A word of the grammar must be a word to bash too: ``{a`` begins no group."""
        before = self.text[max(0, node.start_byte - 1) : node.start_byte]
        after = self.text[node.end_byte : node.end_byte + 1]
        if before not in _APART or after not in _APART:
            raise Unreadable(f"it is not clear whether {node.type} is a word of its own")

    def comment(self, node: Any) -> None:
        """A comment must begin where bash would see one."""
        if node.start_byte and self.text[node.start_byte - 1] not in " \t\n;&|()":
            raise Unreadable("it is not clear whether a # begins a comment")

    def compound(self, node: Any, where: Where) -> Ways:
        read = getattr(self, f"_{node.type}", None)
        if read is None:
            raise Unreadable(f"a {node.type.replace('_', ' ')} that cannot be read")
        self._around(node)
        ways: Ways = read(node, where)
        return ways

    def _around(self, node: Any) -> None:
        """Between the parts of a compound command there is nothing else."""
        at = node.start_byte
        for child in node.children:
            self.gap(at, child.start_byte)
            at = child.end_byte
            if child.type == "comment":
                self.comment(child)
            elif child.type in RESERVED:
                self.alone(child)

    def _body(self, label: str, node: Any, where: Where) -> Ways:
        """The statements of a node between its first and its last child (do ... done, { ... })."""
        first, last = node.children[0], node.children[-1]
        self._around(node)
        return self.within(label, node.children[1:-1], first.end_byte, last.start_byte, where)

    def _subshell(self, node: Any, where: Where) -> Ways:
        if self.text.startswith("((", node.start_byte):
            raise Unreadable("it is not clear whether (( begins arithmetic")
        self._body("(...)", node, where)
        return where, where

    def _compound_statement(self, node: Any, where: Where) -> Ways:
        if node.children[0].type == "((":
            return self._evaluated(node, where)
        return self._body("{...}", node, where)

    def _test_command(self, node: Any, where: Where) -> Ways:
        text = self.text[node.start_byte : node.end_byte]
        if text.startswith("(("):
            return self._evaluated(node, where)
        if not (text.startswith("[[") and text.endswith("]]")):
            raise Unreadable("a test that cannot be read")
        doubts, self.doubts = self.doubts, []
        self.loosely(node.start_byte + 2, node.end_byte - 2)
        if _COMPARES.search(text):
            self.evaluate(text)
        self._remark(text, where)
        self.doubts = doubts
        return where, where

    def _evaluated(self, node: Any, where: Where) -> Ways:
        doubts, self.doubts = self.doubts, []
        if self.arithmetic(node.start_byte + 2, "))") != node.end_byte:
            raise Unreadable("it is not clear whether (( begins arithmetic")
        self._remark(self.text[node.start_byte : node.end_byte], where)
        self.doubts = doubts
        return where, where

    def _remark(self, text: str, where: Where) -> None:
        """What is no command, but is not known before it runs either, stands there as one."""
        if self.doubts:
            self.add(
                Command((), text=text, unknown=self.doubts[0]), len(self.shared.commands), where
            )

    def _if_statement(self, node: Any, where: Where) -> Ways:
        """if, elif and else: each begins where the condition before it left the shell."""
        ends: list[Where] = []
        clauses = [child for child in node.children if child.type in ("elif_clause", "else_clause")]
        for clause in [node, *clauses]:
            self._around(clause)
            parts, end = clause.children, clause.end_byte
            for index, part in enumerate(parts):
                if part.type in ("elif_clause", "else_clause", "fi"):
                    parts, end = parts[:index], part.start_byte
                    break
            opens, ok = 0, where
            if clause.type != "else_clause":
                opens = next(index for index, part in enumerate(parts) if part.type == "then")
                condition = parts[1:opens], parts[0].end_byte, parts[opens].start_byte
                ok, where = self.within("if", *condition, where)
            body = parts[opens + 1 :], parts[opens].end_byte, end
            ends.append(join(*self.within("if", *body, ok)))
            where = () if clause.type == "else_clause" else where
        return join(*ends, where), join(*ends, where)

    def _while_statement(self, node: Any, where: Where) -> Ways:
        mark = len(self.shared.commands)
        word, *condition, body = node.children
        ok, failed = self.within("while", condition, word.end_byte, body.start_byte, where)
        ways = self._body("while", body, join(ok, failed))
        return self._repeated(mark, where, join(ok, failed, *ways))

    def _for_statement(self, node: Any, where: Where) -> Ways:
        mark, body = len(self.shared.commands), node.children[-1]
        name = next(child for child in node.children if child.type == "variable_name")
        known = ("for", "select", "in", ";", "\n", "comment")
        words = [child for child in node.children if child.type not in known][1:-1]
        variable = self.text[name.start_byte : name.end_byte]
        doubts, self.doubts = self.doubts, []
        at = words[0].start_byte if words else 0
        text = self.text[at : words[-1].end_byte] if words else "$@"
        while words and at < words[-1].end_byte:
            at = self.next_word(at)[1]
        if not all(NUMBER.fullmatch(word) for word in text.split()):
            self.set_outside.add(variable)
        self._remark(text, where)
        self.doubts = doubts
        ways = self._body("for", body, where)
        return self._repeated(mark, where, join(where, *ways))

    def _c_style_for_statement(self, node: Any, where: Where) -> Ways:
        mark, body = len(self.shared.commands), node.children[-1]
        opens = next(child for child in node.children if child.type == "((")
        closes = next(child for child in node.children if child.type == "))")
        doubts, self.doubts = self.doubts, []
        if self.arithmetic(opens.end_byte, "))") != closes.end_byte:
            raise Unreadable("arithmetic that cannot be read")
        self._remark(self.text[opens.start_byte : closes.end_byte], where)
        self.doubts = doubts
        ways = self._body("for", body, where)
        return self._repeated(mark, where, join(where, *ways))

    def _repeated(self, mark: int, before: Where, afterwards: Where) -> Ways:
        """A loop that moves begins its second round elsewhere."""
        if set(afterwards) <= set(before):
            return before, before
        commands = self.shared.commands
        commands[mark:] = [replace(command, cwd=None) for command in commands[mark:]]
        return NOWHERE, NOWHERE

    def _case_statement(self, node: Any, where: Where) -> Ways:
        ends, word = [where], node.children[1]
        doubts, self.doubts = self.doubts, []
        if self.word(word.start_byte)[1] != word.end_byte:
            raise Unreadable("words and operators that cannot be read")
        for item in node.children:
            if item.type == "case_item":
                ends.append(self._case_item(item, join(*ends)))  # ;& goes on with the next
        self._remark("case", where)
        self.doubts = doubts
        return join(*ends), join(*ends)

    def _case_item(self, node: Any, where: Where) -> Where:
        self._around(node)
        index = next(i for i, child in enumerate(node.children) if child.type == ")")
        closes = node.children[index]
        start = node.start_byte + (node.children[0].type == "(")
        self.loosely(start, closes.start_byte)
        body = [child for child in node.children[index + 1 :] if child.type not in _ENDS]
        last = node.children[-1]
        end = last.start_byte if last.type in _ENDS else node.end_byte
        return join(where, *self.within("case", body, closes.end_byte, end, where))

    def _function_definition(self, node: Any, where: Where) -> Ways:
        name = next(child for child in node.children if child.type == "word")
        text = self.text[name.start_byte : name.end_byte]
        if re.search(r"[\\'\"$`]", text):
            raise Unreadable("a function with a name that cannot be read")
        self.shared.defined.add(text)
        after_name = node.children.index(name) + 1
        rest = [
            child for child in node.children[after_name:] if child.type not in ("(", ")", "comment")
        ]
        outside, self.inside = self.inside, (*self.inside, f"function {text}")
        self.segment(rest, NOWHERE)
        self.inside = outside
        return where, where
