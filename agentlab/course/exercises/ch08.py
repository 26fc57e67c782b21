"""Exercises of chapter 08: which errors deserve another attempt, and when."""
# Solutions look as learners write them, without type hints.
# mypy: allow-untyped-defs, disable-error-code="var-annotated"

from __future__ import annotations

import math

from agentlab.course.exercises import Case, broken, exercise

# ------------------------------------------------------------------------------------------ 08.1


@exercise(
    "08.1",
    "What it deserves",
    cases=[
        Case("a rate limit", (429, True), 10),
        Case("a rate limit, in the background", (429, False), 10),
        Case("an overloaded server", (529, True), 3),
        Case("an overloaded server, in the background", (529, False), 0),
        Case("an error of the server", (500, True), 3),
        Case("a gateway without a server behind it", (502, True), 3),
        Case("a gateway that got no answer, in the background", (504, False), 0),
        Case("a request that took too long to arrive", (408, True), 3),
        Case("a conflict, in the background", (409, False), 0),
        Case("no answer at all", (None, True), 1),
        Case("no answer at all, in the background", (None, False), 1),
        Case("a mistake in the request", (400, True), 0),
        Case("a wrong key", (401, True), 0),
        Case("no money left", (402, True), 0),
        Case("a conversation that is too large", (413, True), 0),
        Case("some other refusal", (422, True), 0),
        Case("no error", (200, True), 0),
    ],
    hints=[
        "Four answers: 10, 3 (or 0 in the background), 1, and 0 for the rest.",
        "Begin with None and 429. Then comes what counts as overloaded: 408, 409, 500 and above.",
        "return 3 if foreground else 0",
    ],
)
def more_tries(status, foreground):
    """How many more times a request that failed with that HTTP status is sent.

    429: 10. Every status from 500 on, and 408 and 409: 3 in the foreground, none in the
    background. None, which means that there was no answer: 1. Everything else: 0.
    """
    if status is None:
        return 1
    if status == 429:
        return 10
    if status >= 500 or status in (408, 409):
        return 3 if foreground else 0
    return 0


@broken("08.1", "every error is an error")
def more_tries_all(status, foreground):
    return 3 if status is None or status >= 400 else 0


@broken("08.1", "the background is not asked for")
def more_tries_everybody(status, foreground):
    return more_tries(status, True)


@broken("08.1", "nothing at all is repeated in the background")
def more_tries_foreground(status, foreground):
    return more_tries(status, True) if foreground else 0


@broken("08.1", "of the server's errors it knows 500, 503 and 529")
def more_tries_known(status, foreground):
    if status is not None and status >= 500 and status not in (500, 503, 529):
        return 0
    return more_tries(status, foreground)


@broken("08.1", "408 and 409 are refusals like the others")
def more_tries_no_conflict(status, foreground):
    return 0 if status in (408, 409) else more_tries(status, foreground)


@broken("08.1", "a connection is tried as often as an overloaded server")
def more_tries_connection(status, foreground):
    return 3 if status is None else more_tries(status, foreground)


# ------------------------------------------------------------------------------------------ 08.2


@exercise(
    "08.2",
    "How long to wait",
    cases=[
        Case("the second attempt", (2, None, 0.0), 0.5),
        Case("the third", (3, None, 0.5), 1.0),
        Case("the sixth", (6, None, 7.5), 8.0),
        Case("no wait of our own is longer than 16 s", (9, None, 47.5), 16.0),
        Case("the server asks for more", (2, "7", 0.0), 7.0),
        Case("the server asks for less", (6, "1.5", 7.5), 1.5),
        Case("the server asks for more than 16 s", (2, "60", 0.0), 60.0),
        Case("it just fits", (3, "60", 60.0), 60.0),
        Case("an hour is not waited, and not shortened", (2, "3600", 0.0), None),
        Case("there is not enough time left for what the server asks", (3, "61", 60.0), None),
        Case("there is not enough time left for our own wait", (6, None, 115.0), None),
        Case("zero is no answer", (3, "0", 0.5), 1.0),
        Case("a negative one is none", (3, "-5", 0.5), 1.0),
        Case("words are none", (2, "in a while", 0.0), 0.5),
        Case("not a number is none", (4, "nan", 1.5), 2.0),
        Case("infinitely long is none", (4, "inf", 1.5), 2.0),
    ],
    hints=[
        "First what the server asks: float(...) in a try. What is unusable leaves our own wait.",
        "math.isfinite says no to nan and inf. Our own: min(0.5 * 2 ** (attempt - 2), 16).",
        "Last, and for both: if waited + wait is more than 120, the answer is None.",
    ],
)
def wait_s(attempt, retry_after, waited):
    """Seconds to wait before that attempt (2 is the second), or None: give up now.

    Our own waits are 0.5, 1, 2 ... and at most 16. retry_after is the text of the
    server's header, or None: a finite number above 0 is waited instead. But all waits,
    with the seconds waited before, may take 120 seconds together and no more.
    """
    wait = min(0.5 * 2 ** (attempt - 2), 16.0)
    try:
        asked = float(retry_after or 0)
    except ValueError:
        asked = 0.0
    if math.isfinite(asked) and asked > 0:
        wait = asked
    return wait if waited + wait <= 120 else None


@broken("08.2", "the server is not listened to")
def wait_s_deaf(attempt, retry_after, waited):
    return wait_s(attempt, None, waited)


@broken("08.2", "a wait that is too long is cut to what is left")
def wait_s_cut(attempt, retry_after, waited):
    longest = wait_s(attempt, retry_after, -1e9)
    return min(longest, 120 - waited)


@broken("08.2", "what was waited before does not count")
def wait_s_forgetful(attempt, retry_after, waited):
    return wait_s(attempt, retry_after, 0.0)


@broken("08.2", "the longer of the two waits is taken")
def wait_s_longer(attempt, retry_after, waited):
    both = [wait_s(attempt, asked, waited) for asked in (None, retry_after)]
    return None if None in both else max(both)


@broken("08.2", "not a number is believed")
def wait_s_trusting(attempt, retry_after, waited):
    if retry_after in ("nan", "inf"):
        return None
    return wait_s(attempt, retry_after, waited)


@broken("08.2", "zero and less are believed: it hammers")
def wait_s_hammering(attempt, retry_after, waited):
    if retry_after in ("0", "-5"):
        return max(0.0, float(retry_after))
    return wait_s(attempt, retry_after, waited)


@broken("08.2", "it begins with a second")
def wait_s_slow(attempt, retry_after, waited):
    return wait_s(attempt + 1, retry_after, waited)


@broken("08.2", "it doubles for ever")
def wait_s_endless(attempt, retry_after, waited):
    own = 0.5 * 2 ** (attempt - 2)
    return wait_s(attempt, retry_after or str(own), waited)


# ------------------------------------------------------------------------------------------ 08.3


def _streams(says, *attempts, tries=3, expected):
    """Streams, one an attempt: texts, "stop" at the end of a whole one, an exception."""

    async def run(whole):
        opened = 0

        async def open_stream():
            nonlocal opened
            items = attempts[min(opened, len(attempts) - 1)]
            opened += 1
            for item in items:
                if isinstance(item, Exception):
                    raise item
                yield item

        answer = await whole(open_stream, tries)
        return {"answer": answer, "attempts": opened}

    shown = "; ".join(" ".join(map(_shown, items)) or "nothing" for items in attempts)
    return Case(says, expected=expected, run=run, shows=f"streams: {shown}, tries={tries}")


def _shown(item):
    return repr(item) if isinstance(item, tuple) else f"<{type(item).__name__}>"


def _text(*pieces, stop=True):
    return [*(("text", piece) for piece in pieces), *([("stop", "end_turn")] if stop else [])]


def _result(answer, attempts):
    return {"answer": answer, "attempts": attempts}


@exercise(
    "08.3",
    "All or nothing",
    limit_s=1.0,
    cases=[
        _streams("a stream that is whole", _text("Hel", "lo"), expected=_result("Hello", 1)),
        _streams(
            "it breaks in the middle, and is begun again",
            [*_text("Hel", stop=False), ConnectionError("reset")],
            _text("Hel", "lo"),
            expected=_result("Hello", 2),
        ),
        _streams(
            "it ends without its stop, and without an error",
            _text("The answer is", stop=False),
            _text("The answer is", " 42."),
            expected=_result("The answer is 42.", 2),
        ),
        _streams(
            "it breaks before the first piece",
            [ConnectionError("reset")],
            [],
            _text("ok"),
            expected=_result("ok", 3),
        ),
        _streams(
            "it never is whole",
            _text("Hel", stop=False),
            expected=_result(None, 3),
        ),
        _streams(
            "it never is whole, and breaks each time",
            [("text", "Hel"), ConnectionError("reset")],
            tries=2,
            expected=_result(None, 2),
        ),
        _streams("an answer without a word is an answer", _text(), expected=_result("", 1)),
        _streams(
            "another attempt may say something else",
            _text("It is a b", stop=False),
            _text("A blue one."),
            expected=_result("A blue one.", 2),
        ),
    ],
    hints=[
        "for _ in range(tries): begin with no pieces, then 'async for kind, value in ...'.",
        "Only a stop makes it whole: return the joined pieces right there.",
        "Put try and except ConnectionError around the whole 'async for', and pass.",
    ],
)
async def all_or_nothing(open_stream, tries):
    """The text of the first stream that is whole, None if none of so many tries is.

    open_stream() begins an attempt: an async iterator of ("text", piece) and, at the
    end of a whole one, ("stop", reason). A broken one raises ConnectionError, or ends.
    """
    for _ in range(tries):
        pieces = []
        try:
            async for kind, value in open_stream():
                if kind == "stop":
                    return "".join(pieces)
                pieces.append(value)
        except ConnectionError:
            pass
    return None


@broken("08.3", "what came before the break is kept: HelHello")
async def all_or_nothing_twice(open_stream, tries):
    pieces = []
    for _ in range(tries):
        try:
            async for kind, value in open_stream():
                if kind == "stop":
                    return "".join(pieces)
                pieces.append(value)
        except ConnectionError:
            pass
    return None


@broken("08.3", "a stream that just ends is taken for whole")
async def all_or_nothing_ended(open_stream, tries):
    for _ in range(tries):
        pieces = []
        try:
            async for kind, value in open_stream():
                if kind == "text":
                    pieces.append(value)
            return "".join(pieces)
        except ConnectionError:
            pass
    return None


@broken("08.3", "half an answer is better than none")
async def all_or_nothing_half(open_stream, tries):
    pieces = []
    for _ in range(tries):
        pieces = []
        try:
            async for kind, value in open_stream():
                if kind == "stop":
                    return "".join(pieces)
                pieces.append(value)
        except ConnectionError:
            pass
    return "".join(pieces)


@broken("08.3", "the error of the first attempt is the end")
async def all_or_nothing_raising(open_stream, tries):
    for _ in range(tries):
        pieces = []
        async for kind, value in open_stream():
            if kind == "stop":
                return "".join(pieces)
            pieces.append(value)
    return None


@broken("08.3", "one try too many")
async def all_or_nothing_more(open_stream, tries):
    return await all_or_nothing(open_stream, tries + 1)


@broken("08.3", "an answer without a word is no answer")
async def all_or_nothing_wordless(open_stream, tries):
    for _ in range(tries):
        answer = await all_or_nothing(open_stream, 1)
        if answer:
            return answer
    return None
