"""Exercises of chapter 04: running calls together."""
# Solutions look as learners write them, without type hints.
# mypy: allow-untyped-defs, disable-error-code="var-annotated"

from __future__ import annotations

import asyncio

from agentlab.course.exercises import Case, broken, exercise

# ------------------------------------------------------------------------------------------ 04.1


@exercise(
    "04.1",
    "Which run together",
    cases=[
        Case("no calls", ([],), []),
        Case("one read", ([True],), [[0]]),
        Case("three reads", ([True, True, True],), [[0, 1, 2]]),
        Case("two writes", ([False, False],), [[0], [1]]),
        Case("a write after reads", ([True, True, False],), [[0, 1], [2]]),
        Case("a write before reads", ([False, True, True],), [[0], [1, 2]]),
        Case(
            "a write in the middle: the reads after it may depend on it",
            ([True, True, False, True, True, True],),
            [[0, 1], [2], [3, 4, 5]],
        ),
        Case("in turn", ([True, False, True, False],), [[0], [1], [2], [3]]),
        Case("two writes between reads", ([True, False, False, True],), [[0], [1], [2], [3]]),
    ],
    hints=[
        "Go through the calls once. Each joins the last batch, or begins a new one.",
        "It joins if it only reads, and the last batch does too.",
        "A batch reads if its last call does: reads_only[batches[-1][-1]].",
    ],
)
def batches(reads_only):
    """Which calls run together: a list of lists of their places, in the order asked.

    reads_only: for each call, whether it only reads. Consecutive reads form a batch;
    any other call is alone in its own.
    """
    made = []
    for place, reads in enumerate(reads_only):
        if reads and made and reads_only[made[-1][-1]]:
            made[-1].append(place)
        else:
            made.append([place])
    return made


@broken("04.1", "it collects all reads first, and the order is lost")
def batches_reads_first(reads_only):
    reads = [place for place, only in enumerate(reads_only) if only]
    writes = [[place] for place, only in enumerate(reads_only) if not only]
    return ([reads] if reads else []) + writes


@broken("04.1", "writes that follow one another run together too")
def batches_alike(reads_only):
    made = []
    for place, reads in enumerate(reads_only):
        if made and reads_only[made[-1][-1]] == reads:
            made[-1].append(place)
        else:
            made.append([place])
    return made


@broken("04.1", "a read joins the write before it")
def batches_joining(reads_only):
    made = []
    for place, reads in enumerate(reads_only):
        if reads and made:
            made[-1].append(place)
        else:
            made.append([place])
    return made


@broken("04.1", "a write joins the reads before it")
def batches_late_write(reads_only):
    made, open_ = [], False
    for place, reads in enumerate(reads_only):
        if open_:
            made[-1].append(place)
        else:
            made.append([place])
        open_ = reads
    return made


@broken("04.1", "every call is alone")
def batches_of_one(reads_only):
    return [[place] for place in range(len(reads_only))]


# ------------------------------------------------------------------------------------------ 04.2


def _gives(value, after=0.0):
    async def call():
        await asyncio.sleep(after)
        return value

    return call


def _fails(error, after=0.0):
    async def call():
        await asyncio.sleep(after)
        raise error

    return call


def _meeting(count):
    """Calls that wait for one another: they end only if all of them run at the same time."""

    def make():
        there, all_there = [], asyncio.Event()

        def one(number):
            async def call():
                there.append(number)
                if len(there) == count:
                    all_there.set()
                await all_there.wait()
                return number

            return call

        return [one(number) for number in range(count)]

    return make


def _ordered(says, make, expected, shows):
    return Case(says, expected=expected, run=lambda in_order: in_order(make()), shows=shows)


@exercise(
    "04.2",
    "In the order asked",
    limit_s=1.0,
    cases=[
        _ordered("no calls", lambda: [], [], "in_order([])"),
        _ordered("one call", lambda: [_gives("a")], ["a"], 'in_order([gives "a"])'),
        _ordered(
            "the first is the slowest",
            lambda: [_gives("a", 0.06), _gives("b", 0.03), _gives("c")],
            ["a", "b", "c"],
            'in_order([gives "a" after 60 ms, "b" after 30 ms, "c" at once])',
        ),
        _ordered(
            "they run at the same time",
            _meeting(3),
            [0, 1, 2],
            "in_order([three calls that wait for each other])",
        ),
        _ordered(
            "one fails at once, the others go on",
            lambda: [_gives("a", 0.03), _fails(OSError("disk full")), _gives("c", 0.03)],
            ["a", "error: disk full", "c"],
            'in_order([gives "a" after 30 ms, fails: disk full, gives "c" after 30 ms])',
        ),
        _ordered(
            "all fail",
            lambda: [_fails(ValueError("one"), 0.02), _fails(KeyError("two"))],
            ["error: one", "error: 'two'"],
            "in_order([fails: one, fails with KeyError('two')])",
        ),
        _ordered(
            "nothing is a result as well",
            lambda: [_gives(None), _gives(0)],
            [None, 0],
            "in_order([gives None, gives 0])",
        ),
    ],
    hints=[
        "asyncio.gather runs awaitables together and gives their results in the order given.",
        "Left alone it raises the first exception. Catch each one where it happens.",
        "An inner 'async def run(call)' with try and except, then gather over all of them.",
    ],
)
async def in_order(calls):
    """Run all calls at the same time; their results, in the order of the calls.

    Each call is an async function without arguments. One that raises does not stop the
    others: its result is the text "error: ..." with what the exception says.
    """

    async def run(call):
        try:
            return await call()
        except Exception as error:
            return f"error: {error}"

    return await asyncio.gather(*(run(call) for call in calls))


@broken("04.2", "the results come as they are finished")
async def in_order_of_end(calls):
    async def run(call):
        return (await in_order([call]))[0]

    return [await done for done in asyncio.as_completed([run(call) for call in calls])]


@broken("04.2", "the first failure is raised")
async def in_order_raising(calls):
    return await asyncio.gather(*(call() for call in calls))


@broken("04.2", "exceptions are handed out as they are")
async def in_order_exceptions(calls):
    return await asyncio.gather(*(call() for call in calls), return_exceptions=True)


@broken("04.2", "one after the other")
async def in_order_one_by_one(calls):
    return [(await in_order([call]))[0] for call in calls]


@broken("04.2", "what failed is left out")
async def in_order_left_out(calls):
    done = await asyncio.gather(*(call() for call in calls), return_exceptions=True)
    return [result for result in done if not isinstance(result, Exception)]


@broken("04.2", "a failure stops its siblings")
async def in_order_strict(calls):
    try:
        return await asyncio.wait_for(asyncio.gather(*(call() for call in calls)), 1)
    except Exception as error:
        return [f"error: {error}"] * len(calls)


# ------------------------------------------------------------------------------------------ 04.3


def _capped(says, cap, durations, most):
    """Run calls that take so many ms, and count how many were running at the same time."""

    async def run(at_most):
        running, peak = 0, 0

        def one(number, duration):
            async def call():
                nonlocal running, peak
                running += 1
                peak = max(peak, running)
                await asyncio.sleep(duration / 1000)
                running -= 1
                return number

            return call

        results = await at_most([one(n, ms) for n, ms in enumerate(durations)], cap)
        return {"results": results, "at once": peak}

    return Case(
        says,
        expected={"results": list(range(len(durations))), "at once": most},
        run=run,
        shows=f"at_most([calls of {', '.join(map(str, durations)) or 'no'} ms], cap={cap})",
    )


def _no_waves():
    """The first call ends when all others have ended: a place that is free must be taken."""

    async def run(at_most):
        ended, others = [], asyncio.Event()

        async def patient():
            await others.wait()
            return "first"

        def short(number):
            async def call():
                await asyncio.sleep(0.001)
                ended.append(number)
                if len(ended) == 5:
                    others.set()
                return number

            return call

        return await at_most([patient, *map(short, range(5))], 2)

    return Case(
        "a place that is free is taken at once",
        expected=["first", 0, 1, 2, 3, 4],
        run=run,
        shows="at_most([one that waits for all others, and five short ones], cap=2)",
    )


@exercise(
    "04.3",
    "No more than so many",
    limit_s=1.0,
    cases=[
        _capped("no calls", 3, [], 0),
        _capped("fewer than the cap", 5, [5, 5], 2),
        _capped("as many as the cap", 3, [5, 5, 5], 3),
        _capped("more than the cap", 3, [6, 5, 4, 3, 2, 1, 1], 3),
        _capped("one at a time", 1, [3, 2, 1], 1),
        _capped("the default of many harnesses", 10, [2] * 25, 10),
        _no_waves(),
    ],
    hints=[
        "asyncio.Semaphore(cap) has that many places; 'async with' takes one and gives it back.",
        "Take the place inside, around the await of each call, not around all of them.",
        "Cutting the list into slices of cap runs in waves: the slowest holds up its wave.",
    ],
)
async def at_most(factories, cap):
    """Run all calls, at most cap of them at the same time; their results in order.

    Each is an async function without arguments, and none of them fails. As soon as one
    has ended, the next begins.
    """
    places = asyncio.Semaphore(cap)

    async def run(factory):
        async with places:
            return await factory()

    return await asyncio.gather(*(run(factory) for factory in factories))


@broken("04.3", "all at once: the cap is not looked at")
async def at_most_all(factories, cap):
    return await asyncio.gather(*(factory() for factory in factories))


@broken("04.3", "one at a time, whatever the cap")
async def at_most_one(factories, cap):
    return [await factory() for factory in factories]


@broken("04.3", "in waves: a slow call holds up the next wave")
async def at_most_waves(factories, cap):
    results = []
    for first in range(0, len(factories), cap):
        wave = factories[first : first + cap]
        results += await asyncio.gather(*(factory() for factory in wave))
    return results


@broken("04.3", "the place is given back before the call has ended")
async def at_most_early(factories, cap):
    places = asyncio.Semaphore(cap)

    async def run(factory):
        async with places:
            task = asyncio.ensure_future(factory())
        return await task

    return await asyncio.gather(*(run(factory) for factory in factories))


@broken("04.3", "one more than the cap")
async def at_most_and_one(factories, cap):
    return await at_most(factories, cap + 1)


@broken("04.3", "the results come as they are finished")
async def at_most_as_ended(factories, cap):
    places = asyncio.Semaphore(cap)

    async def run(factory):
        async with places:
            return await factory()

    return [await done for done in asyncio.as_completed([run(f) for f in factories])]
