"""Which calls run together, and running them: what has to hold whatever the tools do."""

import asyncio
import contextvars
import itertools
import json
import os
import threading
import time
from contextlib import aclosing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab import Agent
from agentlab.clock import TOOL_S, RealClock, VirtualClock
from agentlab.messages import tool_use
from agentlab.partition import Batch, concurrency_cap, partition, pool, run_batches
from agentlab.tools import failure, prepare, tool

CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parent / "cases" / "partition.json").read_text())
}
FLAGS = st.lists(st.booleans(), max_size=30)


def prepared(made, *inputs):
    """Calls of tools, ready to run: ``(tool, input)`` pairs, or one tool and its inputs."""
    pairs = made if isinstance(made, list) else [(made, input) for input in inputs]
    tools = {one.name: one for one, _ in pairs}
    return [prepare(tool_use(f"t{n}", one.name, i), tools) for n, (one, i) in enumerate(pairs)]


async def happenings(calls, clock=None, cap=10, seconds=10):
    """All that happens, as a list; fails instead of waiting for ever."""
    async with asyncio.timeout(seconds):
        return [h async for h in run_batches(calls, clock or VirtualClock(), cap)]


def outcomes(happened):
    """The results by the place of their call; each call started once and ended once, in order."""
    started, ended = [], {}
    for index, outcome in happened:
        if outcome is None:
            started.append(index)
        else:
            assert index in started and index not in ended
            ended[index] = outcome
    assert sorted(started) == started == sorted(ended)
    return [ended[index] for index in started]


def texts(happened):
    return [outcome.block["content"] for outcome in outcomes(happened)]


# ---------------------------------------------------------------------------------- the decision


@given(FLAGS)
def test_every_call_is_in_one_batch_and_the_order_is_kept(flags):
    batches = partition(flags)
    assert [i for batch in batches for i in batch.indices] == list(range(len(flags)))


@given(FLAGS)
def test_only_reads_stand_beside_others_and_no_batch_could_be_larger(flags):
    batches = partition(flags)
    for batch in batches:
        assert batch.size == 1 or all(flags[i] for i in batch.indices)
        assert batch.together == all(flags[i] for i in batch.indices)
    for one, next_ in itertools.pairwise(batches):
        assert not (one.together and next_.together)


def test_what_the_decision_looks_like():
    assert partition([]) == []
    assert partition([True, True, False, True]) == [
        Batch(0, 2, True), Batch(2, 1, False), Batch(3, 1, True)]  # fmt: skip
    assert list(partition([False, False])[1].indices) == [1]


# ------------------------------------------------------------------------------- while they run


class Watched:
    """Tools that note who runs beside whom, and do as their input says."""

    def __init__(self, clock):
        self.clock, self.running, self.together, self.ran = clock, {}, [], []
        both = {"call": self._call, "sync": self._sync}
        self.tools = {
            f"{kind}_{'read' if reads else 'write'}": tool(
                function, name=f"{kind}_{'read' if reads else 'write'}", is_read_only=reads
            )
            for kind, function in both.items()
            for reads in (True, False)
        }

    async def _call(self, number: int, how: str, reads: bool, seconds: float = 0) -> str:
        """Wait on the clock."""
        self._begin(number, reads)
        try:
            await self.clock.sleep(seconds)
            return self._end(number, how)
        finally:
            self.running.pop(number, None)

    def _sync(self, number: int, how: str, reads: bool, seconds: float = 0) -> str:
        """Do it in a thread."""
        self._begin(number, reads)
        try:
            return self._end(number, how)
        finally:
            self.running.pop(number, None)

    def _begin(self, number, reads):
        self.running[number] = reads
        self.ran.append(number)
        self.together.append(dict(self.running))

    def _end(self, number, how):
        if how == "raise":
            raise OSError(f"broken {number}")
        if how == "exit":
            raise SystemExit(number)
        if how == "cancel":
            raise asyncio.CancelledError
        return f"done {number}"


KINDS = st.sampled_from(["call_read", "call_write", "sync_read", "sync_write", "invalid", "gone"])
ENDS = st.sampled_from(["return", "return", "return", "raise", "exit", "cancel"])
PLANS = st.lists(st.tuples(KINDS, ENDS, st.sampled_from([0, 0.05, 0.3])), max_size=14)


def calls_of(watched, plan):
    calls = []
    for number, (kind, how, seconds) in enumerate(plan):
        input = {"number": number, "how": how, "reads": kind.endswith("read"), "seconds": seconds}
        name = "call_read" if kind == "invalid" else kind
        input = {} if kind == "invalid" else input
        calls.append(prepare(tool_use(f"t{number}", name, input), watched.tools))
    return calls


def check_who_ran_beside_whom(watched, cap):
    for running in watched.together:
        assert len(running) <= cap
        assert len(running) == 1 or all(running.values()), "a call that writes had company"


@settings(max_examples=150, deadline=None)
@given(PLANS, st.integers(1, 12))
def test_every_call_is_answered_once_and_no_write_has_company(plan, cap):
    async def main():
        watched = Watched(VirtualClock())
        results = outcomes(await happenings(calls_of(watched, plan), watched.clock, cap))
        check_who_ran_beside_whom(watched, cap)
        assert sorted(watched.ran) == [
            n for n, (kind, *_) in enumerate(plan) if kind not in ("invalid", "gone")
        ]
        for number, ((kind, how, _), outcome) in enumerate(zip(plan, results, strict=True)):
            assert outcome.block["tool_use_id"] == f"t{number}"
            fine = kind not in ("invalid", "gone") and how == "return"
            assert outcome.is_error is not fine
            assert outcome.block["content"] == f"done {number}" or not fine

    asyncio.run(main())


@settings(max_examples=150, deadline=None)
@given(PLANS, st.integers(1, 12), st.integers(0, 40), st.booleans())
def test_wherever_it_is_stopped_nothing_runs_on_and_nothing_is_answered_twice(
    plan, cap, steps, by_closing
):
    async def main():
        watched, seen = Watched(VirtualClock()), []

        async def read():
            async with aclosing(run_batches(calls_of(watched, plan), watched.clock, cap)) as stream:
                async for happening in stream:
                    seen.append(happening)
                    if by_closing and len(seen) > steps:
                        return

        before = asyncio.all_tasks()
        task = asyncio.create_task(read())
        for _ in range(10_000 if by_closing else steps):
            await asyncio.sleep(0)
            if task.done():
                break
        task.cancel()
        await asyncio.wait([task])
        assert asyncio.all_tasks() == before
        answered = [index for index, outcome in seen if outcome is not None]
        started = [index for index, outcome in seen if outcome is None]
        assert len(set(answered)) == len(answered) and len(set(started)) == len(started)
        assert set(answered) <= set(started)
        assert len(set(watched.ran)) == len(watched.ran)
        check_who_ran_beside_whom(watched, cap)

    asyncio.run(main())


async def test_a_cancelled_run_leaves_every_call_answered(play):
    started = asyncio.Event()

    @tool(is_read_only=True)
    async def quick() -> str:
        """Be quick."""
        return "quick"

    @tool(is_read_only=True)
    async def slow() -> str:
        """Be slow."""
        started.set()
        await asyncio.sleep(60)
        return "slow"

    endpoint = play(lambda c: c.call("quick").call("slow").call("quick"), lambda c: c.say("ok"))
    agent = Agent(tools=[quick, slow], endpoint=endpoint)
    task = agent.start("go")
    await started.wait()
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait([task])
    first, second, third = agent.history[2]["content"]
    assert second["is_error"] and "nterrupted" in second["content"]
    ids = [block["id"] for block in agent.history[1]["content"] if block["type"] == "tool_use"]
    assert [block["tool_use_id"] for block in (first, second, third)] == ids
    assert (await agent.ask("go on")).ok


async def test_the_history_has_the_results_in_the_order_of_the_calls(play):
    clock = VirtualClock()

    @tool(is_read_only=True)
    async def wait(seconds: float) -> str:
        """Wait."""
        await clock.sleep(seconds)
        return f"{seconds:g}"

    def three(chat):
        return chat.call("wait", seconds=3).call("wait", seconds=1).call("wait", seconds=2)

    endpoint = play(three, lambda c: c.say("ok"))
    endpoint.clock = clock
    agent = Agent(tools=[wait], endpoint=endpoint)
    events = [e async for e in agent.run("go")]
    assert [b["content"] for b in agent.history[2]["content"]] == ["3", "1", "2"]
    ends = [e.content for e in events if e.type == "tool.execution_complete"]
    assert ends == ["1", "2", "3"]


# --------------------------------------------------------- a call that ends otherwise than it ought


async def test_a_failing_call_does_not_stop_its_siblings():
    clock = VirtualClock()

    @tool(is_read_only=True)
    async def fetch(number: int) -> str:
        """Fetch."""
        await clock.sleep(0.1 * number)
        if number == 1:
            raise ConnectionError("refused")
        return f"page {number}"

    calls = prepared(fetch, *({"number": n} for n in (2, 1, 3)))
    assert texts(await happenings(calls, clock)) == ["page 2", "ConnectionError: refused", "page 3"]


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(2), OSError("x")])
@pytest.mark.parametrize("sync", [True, False])
async def test_whatever_a_tool_raises_is_an_answer_and_not_a_wait_for_ever(error, sync):
    async def raises_later() -> str:
        """Raise."""
        raise error

    def raises() -> str:
        """Raise."""
        raise error

    made = tool(raises if sync else raises_later, name="raises", is_read_only=True)
    (outcome,) = outcomes(await happenings(prepared(made, {}), seconds=5))
    assert outcome.is_error and "Traceback" in outcome.traceback


async def test_a_path_that_cannot_be_resolved_is_an_answer(tmp_path):
    @tool(permission="write", path_argument="file_path", root=tmp_path)
    def save(file_path: str) -> str:
        """Save."""
        return "saved"

    (outcome,) = outcomes(await happenings(prepared(save, {"file_path": "a\0b"}), seconds=5))
    assert outcome.is_error
    if os.name != "nt":
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        await happenings(prepared(save, {"file_path": "loop/x"}), seconds=5)


def test_j20_a_tool_that_does_not_say_it_reads_only_runs_alone():
    case = CASES["J-20"]
    running, most = 0, 0

    async def anything(**arguments):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.005)
        running -= 1
        return "done"

    names = case["input"]["calls"]
    bridged = {name: tool(anything, name=name, description="From another program.",
                          input_schema={"type": "object"}) for name in names}  # fmt: skip
    calls = [prepare(tool_use(f"t{n}", name, {}), bridged) for n, name in enumerate(names)]
    assert texts(asyncio.run(happenings(calls))) == ["done", "done"]
    assert most == 1


@pytest.mark.parametrize(
    "flag",
    [
        {},
        {"is_read_only": lambda input: 1 / 0},
        {"is_read_only": True, "is_concurrency_safe": False},
        {"is_read_only": lambda input: input["mode"] == "r"},
    ],
)
async def test_in_doubt_a_call_runs_alone(flag):
    @tool(**flag)
    async def open_file(mode: str) -> str:
        """Open a file."""
        return mode

    (call,) = prepared(open_file, {"mode": "w"})
    assert not call.runs_beside_others


async def test_unknown_and_invalid_calls_run_alone_and_are_passed_on():
    clock = VirtualClock()

    @tool(is_read_only=True)
    async def read(number: int) -> str:
        """Read."""
        await clock.sleep(1)
        return "read"

    calls = [prepare(tool_use("t0", "read", {"number": 0}), {"read": read}),
             prepare(tool_use("t1", "nothing", {}), {"read": read}),
             prepare(tool_use("t2", "read", {"number": "x"}), {"read": read}),
             prepare(tool_use("t3", "read", {"number": 3}), {"read": read}),
             failure(tool_use("t4", "read", {}), "not allowed")]  # fmt: skip
    happened = await happenings(calls, clock)
    assert [o.is_error for o in outcomes(happened)] == [False, True, True, False, True]
    assert clock.now() == pytest.approx(2.0)  # the two reads were not put together
    assert [i for i, _ in happened] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


# ------------------------------------------------------------------------------------------ time


def sleeper(clock, seconds=0.05):
    @tool(is_read_only=True)
    async def sleep() -> str:
        """Sleep."""
        await clock.sleep(seconds)
        return "slept"

    return sleep


@pytest.mark.parametrize(
    ("count", "cap", "seconds"),
    [(1, 10, 0.05), (10, 10, 0.05), (11, 10, 0.1), (20, 10, 0.1), (10, 1, 0.5), (7, 3, 0.15)],
)
async def test_virtual_time_is_what_the_cap_allows_and_the_same_every_time(count, cap, seconds):
    stories = []
    for _ in range(3):
        clock, story = VirtualClock(), []
        async for index, outcome in run_batches(
            prepared(sleeper(clock), *[{}] * count), clock, cap
        ):
            story.append((index, outcome is None, clock.now()))
        assert clock.now() == pytest.approx(seconds)
        stories.append(story)
    assert stories[0] == stories[1] == stories[2]


async def test_a_call_that_does_not_say_how_long_it_takes_takes_the_usual_time():
    clock = VirtualClock()

    @tool(is_read_only=True)
    async def quick() -> str:
        """Be quick."""
        return "quick"

    @tool(is_read_only=True)
    def threaded() -> str:
        """Be quick in a thread."""
        time.sleep(0.02)
        return "threaded"

    await happenings(prepared([(quick, {}), (threaded, {}), (sleeper(clock, 1.0), {})]), clock)
    assert clock.now() == pytest.approx(1.0)
    await happenings(prepared([(quick, {}), (threaded, {})]), clock)
    assert clock.now() == pytest.approx(1.0 + TOOL_S)


async def test_whatever_finishes_first_in_a_thread_the_story_is_the_same():
    stories = set()
    for turn in range(4):

        @tool(is_read_only=True)
        def work(number: int, turn: int = turn) -> str:
            """Work."""
            time.sleep(0.002 * ((number * 7 + turn * 3) % 5))
            return str(number)

        clock = VirtualClock()
        happened = await happenings(prepared(work, *({"number": n} for n in range(6))), clock)
        stories.add(str([(i, o and o.block["content"]) for i, o in happened] + [clock.now()]))
    assert len(stories) == 1


# --------------------------------------------------------------------------------------- threads


async def test_ten_plain_functions_really_run_at_the_same_time():
    barrier = threading.Barrier(10, timeout=10)

    @tool(is_read_only=True)
    def meet() -> str:
        """Wait until ten are there."""
        barrier.wait()
        return threading.current_thread().name

    names = texts(await happenings(prepared(meet, *[{}] * 10), RealClock(), seconds=15))
    assert len(set(names)) == 10 and all(name.startswith("agentlab-tool") for name in names)


async def test_plain_functions_keep_to_the_cap():
    running, most, lock = 0, 0, threading.Lock()

    @tool(is_read_only=True)
    def work() -> str:
        """Work."""
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1
        return "done"

    await happenings(prepared(work, *[{}] * 12), RealClock(), cap=3)
    assert most == 3
    assert pool(3) is pool(3) and pool(3) is not pool(4)


async def test_a_thread_cannot_be_killed_but_its_result_is_discarded():
    go_on, ended = threading.Event(), threading.Event()

    @tool
    def stuck() -> str:
        """Wait."""
        go_on.wait(10)
        ended.set()
        return "too late"

    stream = run_batches(prepared(stuck, {}), RealClock(), 10)
    assert await anext(stream) == (0, None)
    await asyncio.sleep(0.02)
    async with asyncio.timeout(5):
        await stream.aclose()
    assert not ended.is_set()
    go_on.set()
    await asyncio.to_thread(ended.wait, 10)


# ----------------------------------------------------------------------------------- one path


class Files:
    """A slow write that notes whether it had company on its path."""

    def __init__(self, root):
        self.writing, self.text, self.clashes, self.most = {}, {}, [], 0

        @tool(permission="write", path_argument="file_path", root=root)
        async def save(file_path: str, text: str) -> str:
            """Save."""
            path = str((root / file_path).resolve())
            self.writing[path] = self.writing.get(path, 0) + 1
            self.most = max(self.most, sum(self.writing.values()))
            if self.writing[path] > 1:
                self.clashes.append(file_path)
            before = self.text.get(path, "")
            await asyncio.sleep(0.003)
            self.text[path] = before + text
            self.writing[path] -= 1
            return "saved"

        self.save = save


async def test_writes_to_one_path_never_overlap_whoever_asks(tmp_path):
    files = Files(tmp_path)
    (tmp_path / "sub").mkdir()
    spellings = ["a.txt", "./a.txt", "sub/../a.txt", str(tmp_path / "a.txt")]
    if os.name != "nt":
        (tmp_path / "a.txt").touch()
        (tmp_path / "link").symlink_to(tmp_path / "a.txt")
        spellings.append("link")
    agents = [prepared(files.save, *({"file_path": s, "text": f"{n} "} for s in spellings))
              for n in range(3)]  # fmt: skip
    await asyncio.gather(*(happenings(calls, VirtualClock()) for calls in agents))
    assert files.clashes == []
    assert sorted(files.text[str((tmp_path / "a.txt").resolve())].split()) == sorted(
        "012" * len(spellings)
    )


async def test_writes_to_other_paths_do_not_wait_for_each_other(tmp_path):
    files = Files(tmp_path)
    agents = [prepared(files.save, {"file_path": f"{n}.txt", "text": "x"}) for n in range(3)]
    await asyncio.gather(*(happenings(calls, VirtualClock()) for calls in agents))
    assert files.most == 3


async def test_two_agents_that_write_to_one_file_lose_nothing(play, tmp_path):
    files = Files(tmp_path)

    def writing(name):
        return lambda c: c.call("save", file_path="log.txt", text=f"{name}1 ").call(
            "save", file_path="log.txt", text=f"{name}2 "
        )

    agents = [Agent(tools=[files.save], endpoint=play(writing(name), lambda c: c.say("ok")))
              for name in "ab"]  # fmt: skip
    results = await asyncio.gather(*(agent.ask("go") for agent in agents))
    assert all(result.ok for result in results)
    assert sorted(files.text[str((tmp_path / "log.txt").resolve())].split()) == [
        "a1",
        "a2",
        "b1",
        "b2",
    ]


async def test_a_lock_is_given_back_when_its_holder_is_cancelled(tmp_path):
    ended = []

    @tool(permission="write", path_argument="file_path", root=tmp_path)
    async def save(file_path: str, seconds: float) -> str:
        """Save."""
        await asyncio.sleep(seconds)
        ended.append(seconds)
        return "saved"

    stream = run_batches(prepared(save, {"file_path": "a", "seconds": 60}), RealClock(), 10)
    await anext(stream)
    await asyncio.sleep(0.01)
    second = prepared(save, {"file_path": "./a", "seconds": 0})
    waiting = asyncio.create_task(happenings(second, RealClock(), seconds=5))
    await asyncio.sleep(0.01)
    assert ended == []  # it waits for the lock
    await stream.aclose()
    assert texts(await waiting) == ["saved"] and ended == [0]


def test_locks_of_one_event_loop_are_not_those_of_the_next(tmp_path):
    for _ in range(2):
        files = Files(tmp_path)
        calls = prepared(files.save, {"file_path": "a.txt", "text": "x"})
        assert texts(asyncio.run(happenings(calls))) == ["saved"]


# -------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(("value", "cap"), [(None, 10), ("", 10), ("1", 1), ("32", 32), ("007", 7)])
def test_the_cap_comes_from_the_environment(monkeypatch, value, cap):
    monkeypatch.delenv("AGENTLAB_MAX_TOOL_CONCURRENCY", raising=False)
    if value is not None:
        monkeypatch.setenv("AGENTLAB_MAX_TOOL_CONCURRENCY", value)
    assert concurrency_cap() == cap
    assert concurrency_cap(4) == 4  # an argument wins


@pytest.mark.parametrize("value", ["0", "-1", "ten", "1.5", "1e1", " ", "10 ", "\u00b2", "inf"])
def test_a_bad_value_says_which_variable_is_wrong(monkeypatch, value):
    monkeypatch.setenv("AGENTLAB_MAX_TOOL_CONCURRENCY", value)
    with pytest.raises(ValueError, match="AGENTLAB_MAX_TOOL_CONCURRENCY"):
        concurrency_cap()


@pytest.mark.parametrize("given_", [0, -3])
def test_a_bad_argument_is_refused(given_):
    with pytest.raises(ValueError, match="1 or more"):
        concurrency_cap(given_)


async def test_an_agent_keeps_to_the_variable(monkeypatch, play):
    monkeypatch.setenv("AGENTLAB_MAX_TOOL_CONCURRENCY", "2")
    running, most = 0, 0

    @tool(is_read_only=True)
    async def look(number: int) -> str:
        """Look."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.005)
        running -= 1
        return f"seen {number}"

    def six(chat):
        said = chat.say("Six at once.")
        for number in range(6):
            said = said.call("look", number=number)
        return said

    result = await Agent(tools=[look], endpoint=play(six, lambda c: c.say("ok"))).ask("go")
    assert result.ok and most == 2


# ------------------------------------------------------------------------------- context variables

_who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


async def test_what_a_tool_sets_in_its_context_stays_there():
    @tool(is_read_only=True)
    async def here(name: str) -> str:
        """Set it in a task."""
        before = _who.get()
        _who.set(name)
        await asyncio.sleep(0.002)
        return f"{before} {_who.get()}"

    @tool(is_read_only=True)
    def there(name: str) -> str:
        """Set it in a thread."""
        before = _who.get()
        _who.set(name)
        time.sleep(0.002)
        return f"{before} {_who.get()}"

    _who.set("caller")
    pairs = [(made, {"name": str(n)}) for n, made in enumerate((here, there) * 3)]
    got = texts(await happenings(prepared(pairs)))
    assert got == [f"caller {n}" for n in range(6)]
    assert _who.get() == "caller"
    assert texts(await happenings(prepared([(there, {"name": "x"})]))) == ["caller x"]


async def test_tools_that_wait_for_each_other_do_not_stop_virtual_time():
    clock, one_at_a_time = VirtualClock(), asyncio.Semaphore(1)

    @tool(is_read_only=True)
    async def shared() -> str:
        """Wait for its turn, then for the clock."""
        async with one_at_a_time:
            await clock.sleep(1)
        return "done"

    call = prepare(tool_use("t", "shared", {}), {"shared": shared})
    async with asyncio.timeout(20):
        ended = [o async for _, o in run_batches([call] * 3, clock, 10) if o is not None]
    assert len(ended) == 3 and clock.now() == pytest.approx(3.0)


async def test_tools_that_run_agents_of_their_own_do_not_wait_for_each_others_threads():
    @tool(is_read_only=True)
    def inner() -> str:
        """Read."""
        return "read"

    @tool(is_read_only=True)
    def outer() -> str:
        """Run tools of its own, in its thread."""
        calls = prepared(inner, *[{}] * 3)
        ended = asyncio.run(happenings(calls, RealClock(), cap=2))
        return str(sum(outcome is not None for _, outcome in ended))

    async with asyncio.timeout(20):
        ended = await happenings(prepared(outer, {}, {}), RealClock(), cap=2)
    assert [o.block["content"] for _, o in ended if o is not None] == ["3", "3"]
