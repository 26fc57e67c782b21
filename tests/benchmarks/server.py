"""The simulator in a process of its own, for the benchmarks: prints its URL, then serves.

Its one scenario does as many tool turns as the task says ("bench 50"), each with a text of about
thirty deltas and one call, and then answers.
"""

import sys
import time

from agentlab.clock import RealClock
from agentlab.simulator import start
from agentlab.simulator.scenario import scenario

WORDS = "I look at the next one of the items now, and then I go on. " * 12  # about 30 deltas


@scenario("bench", opens=r"^bench \d+")
def bench(chat):
    """Turn after turn of text and one call."""
    for number in range(int(chat.task.split()[1])):
        yield chat.say(WORDS).call("echo", text=f"item {number}")
    yield chat.say("done")


if __name__ == "__main__":
    simulator = start(clock=RealClock(), validate="--no-validate" not in sys.argv)
    print(simulator.base_url, flush=True)
    while sys.stdin.read(1):
        time.sleep(1)
