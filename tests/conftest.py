"""What the tests of the harness share: the real SDK against the simulator, with scripted turns."""

import itertools
import os
import re

import pytest
from hypothesis import settings

from agentlab.costs import Usage, price
from agentlab.providers import connect
from agentlab.simulator import scenario as scenarios
from agentlab.simulator.scenario import all_scenarios, scenario

pytest_plugins = ["kernel_ports"]
_numbers = itertools.count(1)
if "CI" not in os.environ:  # there hypothesis has a profile of its own
    settings.register_profile("patient", deadline=None)  # a busy machine fails no property
    settings.load_profile("patient")


@pytest.fixture
def play():
    """``play(turn, turn, ...)``: an endpoint whose model says these turns, each ``chat -> Say``.

    With ``forever=True`` the last turn is said again and again.
    """

    def make(*turns, forever=False, **arguments):
        name = f"test-{next(_numbers)}"

        @scenario(name)
        def scripted(chat):
            """Turns of a test."""
            for turn in turns:
                yield turn(chat)
            while forever:
                yield turns[-1](chat)

        return connect(scenario=name, **arguments)

    return make


@pytest.fixture
def used():
    """``used(entry)``: what an entry of the server's log was billed for, as usage and dollars."""

    def of(entry):
        usage = Usage(
            input_tokens=entry.input_tokens,
            cache_read_tokens=entry.cache_read_tokens,
            cache_write_5m_tokens=entry.cache_write_tokens - entry.cache_write_1h_tokens,
            cache_write_1h_tokens=entry.cache_write_1h_tokens,
            output_tokens=entry.output_tokens,
        )
        billed = entry.status == 200 and entry.model
        batch = entry.kind == "batch"
        return usage, price(usage, entry.model, batch=batch) if billed else 0.0

    return of


@pytest.fixture
def billed(used):
    """``billed(log, mark)``: the same for all entries since a mark."""

    def since(log, mark):
        total, usd = Usage(), 0.0
        for usage, cost in map(used, log.since(mark)):
            total, usd = total + usage, usd + cost
        return total, usd

    return since


@pytest.fixture(scope="module")
def own_scenarios():
    """The scenarios that a module of tests registers are forgotten after it."""
    all_scenarios()
    shipped = dict(scenarios._REGISTRY)
    yield
    scenarios._REGISTRY.clear()
    scenarios._REGISTRY.update(shipped)


@pytest.fixture
def read_them_all(own_scenarios):
    """A scenario for "read them all: 14": looks at so many files, and says what it still sees."""

    @scenario("many-files", opens=r"^read them all: \d+")
    def many(chat):
        """Looks at files one after the other."""
        count = int(re.match(r"read them all: (\d+)", chat.task)[1])
        for number in range(count):
            yield chat.think(f"File {number}.").call("Look", name=f"f{number}")
        yield chat.say(f"All {count} read; pinned: {chat.sees('- never touch legacy/')}")


@pytest.fixture
def faults():
    """The faults of the shared simulator, cleared afterwards."""
    simulator = connect().simulator
    simulator.faults.clear()
    yield simulator.faults
    simulator.faults.clear()
