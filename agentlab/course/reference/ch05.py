"""Chapter 05: rules for shell commands. `commands_in` needs tree-sitter-bash, but only if used."""

from __future__ import annotations

from typing import Any

ORDER = ("deny", "ask", "allow")


def parse(line: str) -> Any:
    """The syntax tree of a line of shell; needs the package tree-sitter-bash."""
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language())).parse(line.encode()).root_node


def literal(node: Any) -> str | None:
    """What bash will make of a word; None if nobody knows before it runs."""
    match node.type:
        case "word" | "number":
            return str(node.text.decode().replace("\\", ""))
        case "raw_string":
            return str(node.text.decode()[1:-1])
        case "string_content":
            return str(node.text.decode())
        case "command_name" | "string" | "concatenation":
            parts = [literal(part) for part in node.named_children]
            return None if None in parts else "".join(filter(None, parts))
    return None


def commands_in(line: str) -> list[list[Any] | None]:
    """Every simple command of a line, each as its words; None: it cannot be known."""
    root = parse(line)
    found: list[list[Any] | None] = [None] if root.has_error else []
    queue = [root]
    while queue:
        node = queue.pop(0)
        queue += node.named_children
        if node.type == "command":
            words = [literal(word) for word in node.named_children]
            found.append(None if None in words else words)
        elif node.type == "file_redirect" and b">" in (node.text or b""):
            found.append([">", literal(node.named_children[-1])])
    return found


def covers(rule: str, words: list[Any]) -> bool:
    """Whether a rule such as "git log:*" covers a command, given as its words."""
    prefix = rule.removesuffix(":*").split()
    if rule.endswith(":*"):
        return words[: len(prefix)] == prefix
    return words == prefix


def judge(line: str, rules: dict[str, list[str]]) -> str:
    """ "deny", "ask" or "allow": deny before ask before allow, and the strictest part counts."""
    commands = commands_in(line)
    answers = set() if commands else {"ask"}
    for words in commands:
        found = (
            name
            for name in ORDER
            if words is not None and any(covers(rule, words) for rule in rules.get(name, ()))
        )
        answers.add(next(found, "ask"))
    return next(answer for answer in ORDER if answer in answers)
