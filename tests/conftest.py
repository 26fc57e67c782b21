"""What the tests of the harness share: the real SDK against the simulator, with scripted turns."""

import itertools
import os

import pytest
from hypothesis import settings

from agentlab.providers import connect
from agentlab.simulator.scenario import scenario

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
def faults():
    """The faults of the shared simulator, cleared afterwards."""
    simulator = connect().simulator
    simulator.faults.clear()
    yield simulator.faults
    simulator.faults.clear()
