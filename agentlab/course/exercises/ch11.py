"""Exercises of chapter 11: large results, and files that are not sent twice."""
# Solutions look as learners write them, without type hints.
# mypy: allow-untyped-defs, disable-error-code="var-annotated"

from __future__ import annotations

from agentlab.course.exercises import Case, broken, exercise

# ------------------------------------------------------------------------------------------ 11.1

_TEN = "".join(f"row {n}\n" for n in range(1, 10)) + "row 10"


def _shown(first, last, of, beginning="", end=""):
    return (
        f"{beginning}[lines {first} to {last} of {of} are in p: Read it with offset={first}]\n{end}"
    )


@exercise(
    "11.1",
    "A preview",
    cases=[
        Case("nothing at all", ("", "p", 20, 10), ""),
        Case(
            "within the limit, which counts characters",
            ("caffè\nperché\n", "p", 14, 3),
            "caffè\nperché\n",
        ),
        Case(
            "just within the limit", ("0123456789\nabcdefghi", "p", 20, 10), "0123456789\nabcdefghi"
        ),
        Case(
            "one character over the limit",
            ("a\nb\n" + "x" * 14 + "\nc\n", "p", 20, 6),
            _shown(3, 3, 4, "a\nb\n", "c\n"),
        ),
        Case("ten lines", (_TEN, "p", 30, 12), _shown(3, 8, 10, _TEN[:12], _TEN[48:])),
        Case(
            "a line that does not fit is not cut",
            (_TEN, "p", 40, 17),
            _shown(3, 8, 10, _TEN[:12], _TEN[48:]),
        ),
        Case(
            "the last line has a line end: that is no further line",
            ("a\n" * 30, "p", 20, 4),
            _shown(3, 28, 30, "a\na\n", "a\na\n"),
        ),
        Case(
            "one long line",
            ("x" * 50, "p", 20, 10),
            _shown(1, 1, 1),
        ),
        Case(
            "empty lines are lines",
            ("\n" * 30, "p", 20, 3),
            _shown(4, 27, 30, "\n\n\n", "\n\n\n"),
        ),
        Case(
            "what is no line end for Read is none here (a form feed, CR)",
            ("a\x0cb\rc\n" * 6, "p", 20, 10),
            _shown(2, 5, 6, "a\x0cb\rc\n", "a\x0cb\rc\n"),
        ),
    ],
    hints=[
        'Lines with their ends: [line + "\\n" for line in text.split("\\n")]. The last one has '
        "a line end too many; if nothing is left without it, it is no line.",
        "Two counters: first = 0 grows while the lines before it fit, last = len(lines) shrinks.",
        'while len("".join(lines[: first + 1])) <= room: first += 1. The end in the same way.',
    ],
)
def by_lines(text, path, limit, room):
    """The text, or what stands in its place if it has more than `limit` characters.

    Then it is three parts: the first whole lines, as many as fit into `room` characters
    (line ends count); a note on a line of its own; the last whole lines that fit into
    `room`. The note: "[lines 3 to 8 of 10 are in p: Read it with offset=3]", with the
    first and the last line that is missing, how many there are, and the path. A line
    ends at "\\n" only, as Read counts. `limit` is at least twice `room`.
    """
    if len(text) <= limit:
        return text
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    first, last = 0, len(lines)
    while len("".join(lines[: first + 1])) <= room:
        first += 1
    while len("".join(lines[last - 1 :])) <= room:
        last -= 1
    missing = f"lines {first + 1} to {last} of {len(lines)}"
    note = f"[{missing} are in {path}: Read it with offset={first + 1}]\n"
    return "".join([*lines[:first], note, *lines[last:]])


def _put_together(lines, first, last, path, offset):
    missing = f"lines {first + 1} to {last} of {len(lines)}"
    note = f"[{missing} are in {path}: Read it with offset={offset}]\n"
    return "".join([*lines[:first], note, *lines[last:]])


def _ends(lines, room):
    first, last = 0, len(lines)
    while first < len(lines) and len("".join(lines[: first + 1])) <= room:
        first += 1
    while last > first and len("".join(lines[last - 1 :])) <= room:
        last -= 1
    return first, last


@broken("11.1", "every line end of Unicode is one")
def preview_splitlines(text, path, limit, room):
    if len(text) <= limit:
        return text
    lines = text.splitlines(keepends=True)
    first, last = _ends(lines, room)
    return _put_together(lines, first, last, path, first + 1)


@broken("11.1", "lines are cut in the middle")
def preview_cut(text, path, limit, room):
    if len(text) <= limit:
        return text
    first = text[:room].count("\n") + 1
    last = text[:-room].count("\n") + 1
    lines = text.count("\n") + (not text.endswith("\n"))
    note = f"[lines {first} to {last} of {lines} are in {path}: Read it with offset={first}]\n"
    return text[:room] + note + text[-room:]


@broken("11.1", "the offset counts from 0")
def preview_from_zero(text, path, limit, room):
    if len(text) <= limit:
        return text
    lines = text.split("\n")
    lines = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    first, last = _ends(lines, room)
    return _put_together(lines, first, last, path, first)


@broken("11.1", "after the last line end another line is counted")
def preview_one_more(text, path, limit, room):
    if len(text) <= limit:
        return text
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    first, last = _ends(lines, room)
    return _put_together(lines, first, last, path, first + 1)


@broken("11.1", "the end is left out, though that is where a command says how it ended")
def preview_head(text, path, limit, room):
    if len(text) <= limit:
        return text
    lines = text.split("\n")
    lines = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    first, _ = _ends(lines, room)
    return _put_together(lines, first, len(lines), path, first + 1)


@broken("11.1", "a result that just fits is replaced")
def preview_too_early(text, path, limit, room):
    return text if len(text) < limit else by_lines(text, path, 0, room)


# ------------------------------------------------------------------------------------------ 11.2


@exercise(
    "11.2",
    "Not sent twice",
    cases=[
        Case("the first read", ({}, "a", b"one", 3, 100), (b"one", [("a", b"one")])),
        Case("the second", ({"a": b"one"}, "a", b"one", 3, 100), (None, [("a", b"one")])),
        Case(
            "it has changed", ({"a": b"one"}, "a", b"three", 3, 100), (b"three", [("a", b"three")])
        ),
        Case(
            "it has changed, and has the same size",
            ({"a": b"one"}, "a", b"two", 3, 100),
            (b"two", [("a", b"two")]),
        ),
        Case("an empty file is a file", ({"a": b""}, "a", b"", 3, 100), (None, [("a", b"")])),
        Case(
            "another file with the same content",
            ({"a": b"one"}, "b", b"one", 3, 100),
            (b"one", [("a", b"one"), ("b", b"one")]),
        ),
        Case(
            "what is read again moves to the end",
            ({"a": b"1", "b": b"2"}, "a", b"1", 3, 100),
            (None, [("b", b"2"), ("a", b"1")]),
        ),
        Case(
            "one file too many: the first one goes",
            ({"a": b"1", "b": b"2", "c": b"3"}, "d", b"4", 3, 100),
            (b"4", [("b", b"2"), ("c", b"3"), ("d", b"4")]),
        ),
        Case(
            "too many bytes: as many go as must",
            ({"a": b"1", "b": b"22222", "c": b"33"}, "d", b"444", 9, 9),
            (b"444", [("c", b"33"), ("d", b"444")]),
        ),
        Case(
            "the old content of the file does not count",
            ({"a": b"1111", "b": b"2222"}, "b", b"333333", 9, 10),
            (b"333333", [("a", b"1111"), ("b", b"333333")]),
        ),
        Case(
            "a file that is too large stays alone",
            ({"a": b"1", "b": b"2"}, "c", b"3" * 20, 9, 10),
            (b"3" * 20, [("c", b"3" * 20)]),
        ),
    ],
    hints=[
        "What is sent: None if cache.get(path) == data. Compare the bytes, nothing else.",
        "The new cache: {all the others in their order, then path: data}.",
        "While it is too much and more than one is left: drop next(iter(cache)).",
    ],
)
def read(cache, path, data, files, size):
    """What is sent to the model when a file is read, and what is remembered then.

    `cache` is a dict from paths to the bytes that were read; the path that was used
    least recently stands first. Returns two things. What is sent: `data`, or None if
    the cache holds exactly these bytes for that path ("unchanged" is said then). And
    the new cache, as a list of (path, bytes): what was read now stands last; from the
    front so many are dropped that at most `files` files and `size` bytes are left. The
    one that was read now is never dropped. `cache` itself stays as it is.
    """
    sent = None if cache.get(path) == data else data
    kept = {name: held for name, held in cache.items() if name != path}
    kept[path] = data
    while len(kept) > 1 and (len(kept) > files or sum(map(len, kept.values())) > size):
        del kept[next(iter(kept))]
    return sent, list(kept.items())


def _bounded(kept, files, size):
    while len(kept) > 1 and (len(kept) > files or sum(map(len, kept.values())) > size):
        del kept[next(iter(kept))]
    return list(kept.items())


@broken("11.2", "it compares sizes")
def read_sizes(cache, path, data, files, size):
    same = path in cache and len(cache[path]) == len(data)
    return None if same else data, read(cache, path, data, files, size)[1]


@broken("11.2", "the oldest goes, however often it is used")
def read_first_in(cache, path, data, files, size):
    sent = None if cache.get(path) == data else data
    return sent, _bounded({**cache, path: data}, files, size)


@broken("11.2", "bytes are not counted")
def read_many_bytes(cache, path, data, files, size):
    return read(cache, path, data, files, 10**9)


@broken("11.2", "a file that is too large is not kept, and neither is any other")
def read_none_left(cache, path, data, files, size):
    sent = None if cache.get(path) == data else data
    kept = {name: held for name, held in cache.items() if name != path} | {path: data}
    while len(kept) > files or sum(map(len, kept.values())) > size:
        del kept[next(iter(kept))]
    return sent, list(kept.items())


@broken("11.2", "any file with the same content will do")
def read_any(cache, path, data, files, size):
    sent = None if data in cache.values() else data
    return sent, read(cache, path, data, files, size)[1]


@broken("11.2", "room is made before the old content is taken away")
def read_counted_twice(cache, path, data, files, size):
    sent = None if cache.get(path) == data else data
    kept = dict(cache)
    while len(kept) > 1 and (len(kept) >= files or sum(map(len, kept.values())) + len(data) > size):
        del kept[next(iter(kept))]
    kept.pop(path, None)
    return sent, [*kept.items(), (path, data)]


# ------------------------------------------------------------------------------------------ 11.3


def _parity(says, results, decided, limit, expected, calls, shows=""):
    """What is sent, what is decided then, and for which ids a preview was made."""

    def run(replace):
        made, given = [], dict(decided)

        def shorten(id, text):
            made.append(id)
            return f"preview of {id}"

        sent, after = replace(results, given, limit, shorten)
        if given != decided:
            return "your code changed what the parent had decided"
        return {"sent": sent, "decided": after, "previews made": made}

    return Case(
        says,
        expected={"sent": expected, "decided": {**decided, **calls[0]}, "previews made": calls[1]},
        run=run,
        shows=shows or f"replace({results!r}, {decided!r}, {limit}, shorten)",
    )


@exercise(
    "11.3",
    "Decided once",
    cases=[
        _parity("no results", [], {}, 5, [], ({}, [])),
        _parity("a small one", [("t1", "small")], {}, 5, ["small"], ({"t1": "small"}, [])),
        _parity(
            "a large one",
            [("t1", "small"), ("t2", "larger")],
            {},
            5,
            ["small", "preview of t2"],
            ({"t1": "small", "t2": "preview of t2"}, ["t2"]),
        ),
        _parity(
            "the next turn: nothing is decided again",
            [("t1", "larger"), ("t2", "larger")],
            {"t1": "preview of t1"},
            5,
            ["preview of t1", "preview of t2"],
            ({"t2": "preview of t2"}, ["t2"]),
        ),
        _parity(
            "previews are made in other words today, but not of this one",
            [("t1", "larger")],
            {"t1": "a preview of yesterday"},
            5,
            ["a preview of yesterday"],
            ({}, []),
        ),
        _parity(
            "a child with a smaller limit: what its parent sent whole stays whole",
            [("t1", "small"), ("t2", "small")],
            {"t1": "small"},
            3,
            ["small", "preview of t2"],
            ({"t2": "preview of t2"}, ["t2"]),
        ),
        _parity(
            "a child with a larger limit: what its parent replaced stays replaced",
            [("t1", "larger"), ("t2", "larger")],
            {"t1": "preview of t1"},
            100,
            ["preview of t1", "larger"],
            ({"t2": "larger"}, []),
        ),
        _parity(
            "a preview longer than the limit is not shortened once more",
            [("t1", "larger")],
            {"t1": "preview of t1"},
            5,
            ["preview of t1"],
            ({}, []),
        ),
        _parity(
            "nothing in its place was a decision as well",
            [("t1", "larger")],
            {"t1": ""},
            5,
            [""],
            ({}, []),
        ),
        _parity(
            "what is in this history no more stays decided",
            [("t2", "small")],
            {"t1": "preview of t1"},
            5,
            ["small"],
            ({"t2": "small"}, []),
        ),
    ],
    hints=[
        "Begin with a copy: decided = dict(decided). A parent must not hear of its child's.",
        "For each (id, text): only if id is not in decided, decide, and write it down.",
        "What is small is decided too: decided[id] = text. In the end look all of them up.",
    ],
)
def replace(results, decided, limit, shorten):
    """What is sent for each result of a history, and what is decided then.

    `results` are pairs (id, text), in order. `decided` is a dict from ids to the text
    that was sent for them before, by this agent or by its parent: that is sent again,
    whatever the limit is now. For an id that is not in it: the text, or what
    shorten(id, text) gives if it has more than `limit` characters. It writes a file, so
    call it only then. Returns the list of texts, and the decisions with the new ones,
    in a dict of its own.
    """
    decided = dict(decided)
    for id, text in results:
        if id not in decided:
            decided[id] = text if len(text) <= limit else shorten(id, text)
    return [decided[id] for id, _ in results], decided


@broken("11.3", "every request decides anew")
def replace_anew(results, decided, limit, shorten):
    sent = {id: text if len(text) <= limit else shorten(id, text) for id, text in results}
    return [sent[id] for id, _ in results], {**decided, **sent}


@broken("11.3", "only the previews are remembered")
def replace_previews_only(results, decided, limit, shorten):
    decided, sent = dict(decided), []
    for id, text in results:
        if decided.get(id, text) == text and len(text) > limit:
            decided[id] = shorten(id, text)
        decided.setdefault(id, text)
        sent.append(decided[id])
    return sent, decided


@broken("11.3", "the child writes into its parent's decisions")
def replace_shared(results, decided, limit, shorten):
    for id, text in results:
        if id not in decided:
            decided[id] = text if len(text) <= limit else shorten(id, text)
    return [decided[id] for id, _ in results], decided


@broken("11.3", "what fits is sent whole, whatever was decided")
def replace_if_it_fits(results, decided, limit, shorten):
    decided = dict(decided)
    for id, text in results:
        if len(text) <= limit:
            decided[id] = text
        elif id not in decided:
            decided[id] = shorten(id, text)
    return [decided[id] for id, _ in results], decided


@broken("11.3", "small results are not decided about")
def replace_undecided(results, decided, limit, shorten):
    decided = dict(decided)
    for id, text in results:
        if id not in decided and len(text) > limit:
            decided[id] = shorten(id, text)
    return [decided.get(id, text) for id, text in results], decided


@broken("11.3", "it makes each preview, and then sends the old one")
def replace_made(results, decided, limit, shorten):
    made = {id: text if len(text) <= limit else shorten(id, text) for id, text in results}
    decided = {**made, **decided}
    return [decided[id] for id, _ in results], decided
