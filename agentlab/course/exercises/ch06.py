"""Exercises of chapter 06: what is shown, what counts as an answer, and what "always" saves."""
# Solutions look as learners write them, without type hints.
# mypy: allow-untyped-defs

from __future__ import annotations

import re

from agentlab.course.exercises import Case, broken, exercise

# ------------------------------------------------------------------------------------------ 06.1

WIDE = "ls" + " " * 300 + "; rm -rf ../photos"


@exercise(
    "06.1",
    "Nothing out of sight",
    cases=[
        Case("an ordinary command", ("git log -1 | head",), "git log -1 | head"),
        Case("a long run of blanks", (WIDE,), "ls[300 blanks]; rm -rf ../photos"),
        Case("eight blanks are an indent", ("if x\n        y",), "if x\n        y"),
        Case("nine are not", ("a" + " " * 9 + "b",), "a[9 blanks]b"),
        Case("blanks at the end", ("ls" + " " * 40,), "ls[40 blanks]"),
        Case("two runs", (" " * 10 + "a" + " " * 20,), "[10 blanks]a[20 blanks]"),
        Case("a character without width", ("cat a\u200bb",), "cat a\\u200bb"),
        Case("one that turns the writing", ("echo \u202etxt",), "echo \\u202etxt"),
        Case("a blank that is none", ("rm\u00a0x",), "rm\\u00a0x"),
        Case("an escape sequence", ("\x1b[2Jls",), "\\u001b[2Jls"),
        Case("a carriage return", ("rm x\rls",), "rm x\\u000dls"),
        Case("letters of all languages can be seen", ("cat größe.txt ☔",), "cat größe.txt ☔"),
        Case("lines stay lines", ("a\nb",), "a\nb"),
        Case("nothing", ("",), ""),
    ],
    hints=[
        "Two steps: first the runs of blanks, then one character after the other.",
        "re.sub takes a function: re.sub(' {9,}', lambda run: f'[{len(run[0])} blanks]', text).",
        "str.isprintable() is false for what cannot be seen; of those only the newline stays. "
        "f'\\\\u{ord(one):04x}' writes a character out.",
    ],
)
def shown(command):
    """A command as text in which nothing is out of sight.

    More than eight blanks in a row become a count: "[300 blanks]". Each character that
    is not printable becomes a backslash, u and its number in four hexadecimal digits,
    such as \\u200b. Newlines stay.
    """
    text = re.sub(" {9,}", lambda run: f"[{len(run[0])} blanks]", command)

    def seen(c):
        return c == "\n" or c.isprintable()

    return "".join(c if seen(c) else f"\\u{ord(c):04x}" for c in text)


@broken("06.1", "only blanks are looked at")
def shown_blanks(command):
    return re.sub(" {9,}", lambda run: f"[{len(run[0])} blanks]", command)


@broken("06.1", "everything that is not ASCII is written out")
def shown_ascii(command):
    text = re.sub(" {9,}", lambda run: f"[{len(run[0])} blanks]", command)
    return "".join(
        one if one == "\n" or " " <= one <= "~" else f"\\u{ord(one):04x}" for one in text
    )


@broken("06.1", "what cannot be seen is left out instead of shown")
def shown_dropped(command):
    text = re.sub(" {9,}", lambda run: f"[{len(run[0])} blanks]", command)
    return "".join(one for one in text if one == "\n" or one.isprintable())


@broken("06.1", "newlines are written out too")
def shown_newlines(command):
    text = re.sub(" {9,}", lambda run: f"[{len(run[0])} blanks]", command)
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)


@broken("06.1", "blanks are collapsed without a word")
def shown_collapsed(command):
    text = re.sub(" {9,}", " ", command)
    return "".join(c if c == "\n" or c.isprintable() else f"\\u{ord(c):04x}" for c in text)


# ------------------------------------------------------------------------------------------ 06.2


def _said(kind, id="q1", **more):
    return {"id": id, "kind": kind, **more}


@exercise(
    "06.2",
    "Exactly one answer",
    cases=[
        Case("yes", ("q1", [_said("approve")]), "approve"),
        Case("no", ("q1", [_said("deny")]), "deny"),
        Case("nobody answered", ("q1", []), "deny"),
        Case("the first counts", ("q1", [_said("deny"), _said("approve")]), "deny"),
        Case("also if it is a yes", ("q1", [_said("approve"), _said("deny")]), "approve"),
        Case("an answer to another question", ("q1", [_said("approve", "q0")]), "deny"),
        Case("another question's answer comes first",
             ("q1", [_said("approve", "q0"), _said("deny"), _said("approve")]), "deny"),
        Case("yes, after something else", ("q1", [_said("hello"), _said("approve")]), "approve"),
        Case("what is not known is no yes", ("q1", [_said("ok")]), "deny"),
        Case("without an id", ("q1", [{"kind": "approve"}]), "deny"),
        Case("without a kind", ("q1", [{"id": "q1"}, _said("approve")]), "approve"),
        Case("always", ("q1", [_said("always")]), "always"),
        Case("another case is another word", ("q1", [_said("Approve")]), "deny"),
    ],
    hints=[
        "Go through the messages in order and return at the first that answers this question.",
        "Use message.get('id'), since anything may come from a page; compare it before the kind.",
        "Behind the loop stands the answer of nobody: deny.",
    ],
)  # fmt: skip
def answer_to(question, messages):
    """What a user answered to a question: "approve", "always" or "deny".

    messages: what came from the page so far, in order, each a dict. An answer has the
    question as its "id" and one of the three words as its "kind"; what else comes is
    ignored. The first answer counts, later ones do not. No answer is a deny.
    """
    for message in messages:
        right = message.get("id") == question
        if right and message.get("kind") in ("approve", "always", "deny"):
            return message["kind"]
    return "deny"


@broken("06.2", "the last answer counts")
def answer_last(question, messages):
    return answer_to(question, messages[::-1])


@broken("06.2", "it does not look which question was answered")
def answer_any(question, messages):
    return answer_to(question, [{**message, "id": question} for message in messages])


@broken("06.2", "any yes is a yes")
def answer_yes(question, messages):
    kinds = [m.get("kind") for m in messages if m.get("id") == question]
    return next((kind for kind in ("approve", "always") if kind in kinds), "deny")


@broken("06.2", "whatever is not a deny is an approval")
def answer_not_no(question, messages):
    for message in messages:
        if message.get("id") == question:
            return message.get("kind") if message.get("kind") in ("deny", "always") else "approve"
    return "deny"


@broken("06.2", "the first message ends the question, whatever it is")
def answer_first(question, messages):
    return answer_to(question, messages[:1])


@broken("06.2", "nobody is taken for a yes")
def answer_default(question, messages):
    known = [m for m in messages if m.get("kind") in ("approve", "always", "deny")]
    if not any(m.get("id") == question for m in known):
        return "approve"
    return answer_to(question, messages)


# ------------------------------------------------------------------------------------------ 06.3

TAG, ADD = ["git", "tag", "-f", "v1"], ["git", "add", "-A"]


def _narrowest(words):
    return f"{words[0]} {words[1]}:*"


def _never(rule, words):
    return False


def _covers(rule, words):
    return words[:2] == rule.removesuffix(":*").split()


@exercise(
    "06.3",
    'What "always" saves',
    cases=[
        Case("one command", ([TAG], [], _covers, _narrowest), ["git tag:*"]),
        Case("two commands, two rules", ([TAG, ADD], [], _covers, _narrowest),
             ["git tag:*", "git add:*"]),
        Case("one of them is covered", ([TAG, ADD], ["git tag:*"], _covers, _narrowest),
             ["git add:*"]),
        Case("the same rule once", ([TAG, ["git", "tag", "v2"]], [], _never, _narrowest),
             ["git tag:*"]),
        Case("a part that nobody knows", ([TAG, None], [], _covers, _narrowest), []),
        Case("the part that nobody knows comes first", ([None, TAG], [], _covers, _narrowest), []),
        Case("all covered", ([TAG], ["git tag:*"], _covers, _narrowest), []),
        Case("no part", ([], [], _covers, _narrowest), []),
        Case("in the order of the parts", ([ADD, TAG], [], _covers, _narrowest),
             ["git add:*", "git tag:*"]),
    ],
    hints=[
        "First the exception: if a part is None, nothing is saved at all.",
        "Then for each part: is any of the rules covering it? If not, its narrowest rule is new.",
        "A rule that was found for an earlier part is not added again.",
    ],
)  # fmt: skip
def always(parts, rules, covers, narrowest):
    """The rules that "always" adds for a line of shell: one for each part without one.

    parts: the commands of the line, each a list of words, or None if nobody can know it
    before it runs; then nothing may be saved for the line. rules: those there are.
    covers(rule, words) says whether a rule covers a part, narrowest(words) gives the
    rule to add for it. In the order of the parts, none of them twice.
    """
    if None in parts:
        return []
    added = []
    for words in parts:
        covered = any(covers(rule, words) for rule in rules)
        rule = narrowest(words)
        if not covered and rule not in added:
            added.append(rule)
    return added


@broken("06.3", "only the first part gets a rule")
def always_first(parts, rules, covers, narrowest):
    return always(parts[:1], rules, covers, narrowest)


@broken("06.3", "what is not known is left out, and the rest saved")
def always_known(parts, rules, covers, narrowest):
    known = [words for words in parts if words is not None]
    return always(known, rules, covers, narrowest)


@broken("06.3", "it adds what is there already")
def always_again(parts, rules, covers, narrowest):
    return always(parts, [], covers, narrowest)


@broken("06.3", "the same rule twice")
def always_twice(parts, rules, covers, narrowest):
    if None in parts:
        return []
    return [narrowest(words) for words in parts if not any(covers(rule, words) for rule in rules)]


@broken("06.3", "the whole program is allowed")
def always_program(parts, rules, covers, narrowest):
    if None in parts:
        return []
    return list(dict.fromkeys(f"{words[0]}:*" for words in parts if words))


@broken("06.3", "in no order")
def always_sorted(parts, rules, covers, narrowest):
    return sorted(always(parts, rules, covers, narrowest))
