"""Running a learner's function on one case, whatever it does.

Code that is being learned hangs, prints, raises and mixes up sync with async; none of that may
hang the notebook or cover it in traceback. Each case runs in a thread of its own with a time
limit. Async functions get an event loop there (the notebook's own loop is busy with the cell).
A thread cannot be killed, so an endless loop is stopped by raising an exception inside it; code
that blocks outside Python (``time.sleep(1e9)``) is left behind and its result ignored.
"""

from __future__ import annotations

import asyncio
import copy
import ctypes
import inspect
import io
import linecache
import threading
import traceback
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

from agentlab.course.exercises import Case, Exercise

MOST_ITEMS = 1_000  # of a stream that does not end
GRACE_S = 0.5  # how much later than the event loop's own limit the thread is given up


@dataclass(frozen=True)
class Outcome:
    """What one case came to. ``problem`` is empty if the function returned something."""

    got: Any = None
    problem: str = ""
    printed: str = ""
    kept_input: bool = True


class _TimeUp(BaseException):
    """Raised inside a thread whose time is up; not an Exception, so that few things catch it."""


class _Late(Exception):
    """The event loop's own time limit has passed."""


class _Unfit(Exception):
    """The function returned another kind of thing than the exercise asks for."""


def run_case(exercise: Exercise, case: Case, function: Callable[..., Any]) -> Outcome:
    """Call ``function`` on ``case`` within the exercise's time limit. Never raises."""
    box: list[Outcome] = []
    printed = io.StringIO()
    thread = threading.Thread(
        target=lambda: box.append(_attempt(exercise, case, function)),
        daemon=True,
        name="agentlab-check",
    )
    with redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # "never awaited": the case says it better
        thread.start()
        thread.join(exercise.limit_s + GRACE_S)
        if thread.is_alive():
            _stop(thread)
    outcome = box[0] if box else Outcome(problem=_too_long(exercise))
    return replace(outcome, printed=printed.getvalue())


def describe(error: BaseException, function: Callable[..., Any]) -> str:
    """An exception in a learner's code: its name, its message, the learner's line it came from."""
    head = f"your code raised {type(error).__name__}"
    head += f": {error}" if str(error) else ""
    code = getattr(inspect.unwrap(function), "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if code and frame.filename == code.co_filename]
    if not own:
        return head
    line = linecache.getline(own[-1].filename, own[-1].lineno or 0).strip()
    return f"{head}\nin line {own[-1].lineno} of the cell: {line}"


def _attempt(exercise: Exercise, case: Case, function: Callable[..., Any]) -> Outcome:
    args = copy.deepcopy(case.args)
    try:
        got = asyncio.run(_call(exercise, case, function, args))
        return Outcome(got, kept_input=_same(args, case.args))
    except (_Late, _TimeUp):
        return Outcome(problem=_too_long(exercise))
    except _Unfit as unfit:
        return Outcome(problem=str(unfit))
    except BaseException as error:  # SystemExit too: nothing may end the notebook
        return Outcome(problem=describe(error, function))


async def _call(
    exercise: Exercise, case: Case, function: Callable[..., Any], args: tuple[Any, ...]
) -> Any:
    deadline = asyncio.timeout(exercise.limit_s)
    try:
        async with deadline:
            got = case.run(function) if case.run else function(*args)
            if inspect.isawaitable(got):
                got = await got
            return got if case.run else await _value(exercise, got)
    except TimeoutError:
        if deadline.expired():
            raise _Late from None
        raise


async def _value(exercise: Exercise, got: Any) -> Any:
    """What the function gave, a stream as a list of what it yields."""
    if not exercise.stream:
        if inspect.isasyncgen(got) or inspect.isgenerator(got):
            raise _Unfit("your function is a generator (it has a yield); this one should return")
        return got
    if not isinstance(got, AsyncIterator):
        kind = type(got).__name__
        raise _Unfit(f"this one should be an async generator (async def, yield); it gave {kind}")
    items: list[Any] = []
    async for item in got:
        items.append(item)
        if len(items) > MOST_ITEMS:
            raise _Unfit(f"your generator goes on after {MOST_ITEMS} items")
    return items


def _same(left: Any, right: Any) -> bool:
    try:
        return bool(left == right)
    except Exception:
        return True  # cannot be compared, so nothing can be said


def _too_long(exercise: Exercise) -> str:
    return f"no result after {exercise.limit_s:g} seconds: is there a loop that does not end?"


def _stop(thread: threading.Thread) -> None:
    """Raise inside a thread until it ends; a bare ``except:`` in a loop needs more than one."""
    for _ in range(10):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_TimeUp)
        )
        thread.join(0.1)
        if not thread.is_alive():
            return
