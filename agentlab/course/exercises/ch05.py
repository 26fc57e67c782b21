"""Exercises of chapter 05: rules for commands and paths."""
# Solutions look as learners write them, without type hints.
# mypy: allow-untyped-defs

from __future__ import annotations

import posixpath

from agentlab.course.exercises import Case, broken, exercise

# ------------------------------------------------------------------------------------------ 05.1


@exercise(
    "05.1",
    "However the flags are written",
    cases=[
        Case("as the rule has it", ("rm -rf:*", ["rm", "-rf", "build"]), True),
        Case("the other way round", ("rm -rf:*", ["rm", "-fr", "build"]), True),
        Case("one by one", ("rm -rf:*", ["rm", "-r", "-f", "build"]), True),
        Case("after the name", ("rm -rf:*", ["rm", "build", "-rf"]), True),
        Case("with another flag among them", ("rm -rf:*", ["rm", "-rvf", "build"]), True),
        Case("one flag is missing", ("rm -rf:*", ["rm", "-r", "build"]), False),
        Case("a program with its folder", ("rm -rf:*", ["/bin/rm", "-rf", "build"]), True),
        Case("another program", ("rm -rf:*", ["ls", "-rf"]), False),
        Case("a program that ends alike", ("rm -rf:*", ["confirm", "-rf"]), False),
        Case("a rule without flags", ("git:*", ["git", "push"]), True),
        Case("a long option is no cluster", ("rm -rf:*", ["rm", "--perform"]), False),
        Case("after -- there are no flags", ("rm -rf:*", ["rm", "--", "-rf"]), False),
        Case("letters of a name are no flags", ("rm -rf:*", ["rm", "rf", "build-rf"]), False),
    ],
    hints=[
        "The program is words[0] without its folder: words[0].rsplit('/', 1)[-1].",
        "Make a set of the letters that the rule wants, and one of those that are given.",
        "Flags are words that begin with one dash; stop at the word '--'.",
    ],
)
def meets(rule, words):
    """Whether a deny rule such as "rm -rf:*" meets a command, flags in any form.

    The program has to be the same (/bin/rm is rm), and each flag of the rule has to be
    among those given, in any order and cluster: -fr, or -r -f. What begins with two
    dashes is a long option, which counts for nothing; after "--" no flag follows.
    """
    program, *flags = rule.removesuffix(":*").split()
    given = set()
    for word in words[1:]:
        if word == "--":
            break
        if word.startswith("-") and not word.startswith("--"):
            given |= set(word[1:])
    wanted = set("".join(flags)) - {"-"}
    return words[0].rsplit("/", 1)[-1] == program and wanted <= given


def _letters(words):
    return {
        letter
        for word in words
        if word.startswith("-") and not word.startswith("--")
        for letter in word[1:]
    }


def _wanted(rule):
    program, *flags = rule.removesuffix(":*").split()
    return program, set("".join(flags)) - {"-"}


@broken("05.1", "it looks for the cluster as it is written")
def meets_cluster(rule, words):
    program, *flags = rule.removesuffix(":*").split()
    return words[0].rsplit("/", 1)[-1] == program and all(flag in words for flag in flags)


@broken("05.1", "one of the flags is enough")
def meets_any(rule, words):
    program, wanted = _wanted(rule)
    given = _letters(words[1:])
    return words[0].rsplit("/", 1)[-1] == program and (not wanted or bool(wanted & given))


@broken("05.1", "long options count as clusters")
def meets_long(rule, words):
    program, wanted = _wanted(rule)
    given = set("".join(word for word in words[1:] if word.startswith("-")))
    return words[0].rsplit("/", 1)[-1] == program and wanted <= given


@broken("05.1", "it goes on after --")
def meets_after_dashes(rule, words):
    program, wanted = _wanted(rule)
    return words[0].rsplit("/", 1)[-1] == program and wanted <= _letters(words[1:])


@broken("05.1", "/bin/rm is not rm, and confirm is")
def meets_ending(rule, words):
    program, wanted = _wanted(rule)
    given = _letters(words[1 : words.index("--") if "--" in words else None])
    return words[0].endswith(program) and wanted <= given


# ------------------------------------------------------------------------------------------ 05.2


@exercise(
    "05.2",
    "What really runs",
    cases=[
        Case("no wrapper", (["rm", "-rf", "build"],), ["rm", "-rf", "build"]),
        Case("timeout", (["timeout", "5", "rm", "-rf", "build"],), ["rm", "-rf", "build"]),
        Case("nohup", (["nohup", "rm", "build"],), ["rm", "build"]),
        Case("nice alone", (["nice", "rm", "build"],), ["rm", "build"]),
        Case("nice with a number", (["nice", "-n", "5", "rm", "build"],), ["rm", "build"]),
        Case("two of them", (["nohup", "nice", "-n", "5", "rm", "x"],), ["rm", "x"]),
        Case("three of them", (["timeout", "5", "nice", "nohup", "rm"],), ["rm"]),
        Case("the same twice", (["timeout", "5", "timeout", "3", "rm"],), ["rm"]),
        Case("the words of another program",
             (["echo", "timeout", "5", "rm"],), ["echo", "timeout", "5", "rm"]),
        Case("a program that begins alike", (["timeouts", "5", "rm"],), ["timeouts", "5", "rm"]),
        Case("nothing left", (["timeout", "5"],), []),
        Case("nothing at all", ([],), []),
    ],
    hints=[
        "Take off one wrapper, then look again: a loop, until the first word is none of them.",
        "match words: case ['timeout', _, *rest]: words = rest, and so on.",
        "['nice', '-n', _, *rest] has to be tried before ['nice', *rest].",
    ],
)  # fmt: skip
def inner(words):
    """The command that really runs: the words without the wrappers before it.

    Wrappers are nohup; timeout with its seconds (timeout 5 rm x); and nice, alone or
    with a number (nice -n 5 rm x). They may be stacked. Nothing left: an empty list.
    """
    while True:
        match words:
            case ["timeout", _, *rest] | ["nice", "-n", _, *rest]:
                words = rest
            case ["nice" | "nohup", *rest]:
                words = rest
            case _:
                return words


@broken("05.2", "it takes off one wrapper only")
def inner_once(words):
    match words:
        case ["timeout", _, *rest] | ["nice", "-n", _, *rest] | ["nice" | "nohup", *rest]:
            return rest
    return words


@broken("05.2", "every wrapper is taken to have an argument")
def inner_two(words):
    while words and words[0] in ("timeout", "nice", "nohup"):
        words = words[2:]
    return words


@broken("05.2", "it removes the words wherever they stand")
def inner_anywhere(words):
    kept, skip = [], 0
    for place, word in enumerate(words):
        if skip:
            skip -= 1
        elif word == "timeout":
            skip = 1
        elif word == "nice":
            skip = 2 if words[place + 1 : place + 2] == ["-n"] else 0
        elif word != "nohup":
            kept.append(word)
    return kept


@broken("05.2", "the number of nice stays in the way")
def inner_nice(words):
    while True:
        match words:
            case ["timeout", _, *rest] | ["nice" | "nohup", *rest]:
                words = rest
            case _:
                return words


# ------------------------------------------------------------------------------------------ 05.3


@exercise(
    "05.3",
    "Where a path leads",
    cases=[
        Case("a file in it", ("/ws", "src/a.py"), True),
        Case("the workspace itself", ("/ws", "."), True),
        Case("out of it", ("/ws", "../secret"), False),
        Case("out of it, later", ("/ws", "src/../../secret"), False),
        Case("out and in again", ("/ws", "../ws/a.py"), True),
        Case("two dots that stay inside", ("/ws", "src/../a.py"), True),
        Case("absolute, inside", ("/ws", "/ws/src/a.py"), True),
        Case("absolute, outside", ("/ws", "/etc/passwd"), False),
        Case("a neighbour whose name begins alike", ("/ws", "/ws-old/a.py"), False),
        Case("the same with dots", ("/ws", "../ws-old/a.py"), False),
        Case("two dots within a name are a name", ("/ws", "a..b/c.py"), True),
        Case("absolute with dots", ("/ws", "/ws/../etc/passwd"), False),
    ],
    hints=[
        "posixpath.join(workspace, path) takes care of absolute paths, posixpath.normpath of dots.",
        "Then compare: it is the workspace, or it begins with the workspace and a slash.",
    ],
)
def leads_inside(workspace, path):
    """Whether a path, as a model writes it, leads into the workspace.

    workspace is absolute, without a slash at its end. A relative path starts at the
    workspace, ".." goes up. Only the text is looked at, no file. (The packaged code
    also follows links, which needs the files.)
    """
    whole = posixpath.normpath(posixpath.join(workspace, path))
    return whole == workspace or whole.startswith(workspace + "/")


@broken("05.3", "it compares before the dots are gone")
def leads_raw(workspace, path):
    whole = posixpath.join(workspace, path)
    return whole == workspace or whole.startswith(workspace + "/")


@broken("05.3", "a neighbour whose name begins alike counts as inside")
def leads_prefix(workspace, path):
    return posixpath.normpath(posixpath.join(workspace, path)).startswith(workspace)


@broken("05.3", "every path with two dots in it is outside")
def leads_no_dots(workspace, path):
    whole = posixpath.normpath(posixpath.join(workspace, path))
    return ".." not in path and (whole == workspace or whole.startswith(workspace + "/"))


@broken("05.3", "absolute paths are put below the workspace")
def leads_glued(workspace, path):
    whole = posixpath.normpath(workspace + "/" + path)
    return whole == workspace or whole.startswith(workspace + "/")
