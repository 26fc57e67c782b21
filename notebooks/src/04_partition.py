# %% [markdown] tags=["core"]
# # 04 · Running calls together
#
# **Which tool calls may run at the same time?**
#
# 40 minutes, or 20 for the cells tagged `core` · builds `agentlab/partition.py`
#
# before: [03 Tools](03_tools.ipynb) · next: [05 Permissions: rules](05_rules.ipynb)

# %% [markdown] tags=["core"]
# A model may ask for several things in one turn: read these three files. Or: read this file, and write that
# one. The first wants to be done at the same time, the second must not be. The difference decides whether an
# agent is quick, and whether its files survive.
#
# When you are done you can
#
# - say which calls may run together, and why;
# - write the scheduler in about 30 lines;
# - keep results in order, whatever finishes first;
# - say what does not get faster.
#
# You need chapter 03: a tool that says whether it only reads.

# %% tags=["core"]
import asyncio

from agentlab import connect
from agentlab.course import workspace

lab = connect()
clock = lab.clock  # time in this chapter is virtual: waits are counted, not waited for
lab

# %% [markdown] tags=["core"]
# ## The failure
#
# Three slow reads, as from a network drive. One by one, then together:

# %% tags=["core"]
async def slow_read(name):
    await clock.sleep(1.0)
    return f"{name}: 48 words"


NAMES = ("people.md", "rain.md", "wind.md")

start = clock.now()
for name in NAMES:
    print(await slow_read(name))
print(f"one by one: {clock.now() - start:.1f} seconds")

start = clock.now()
await asyncio.gather(*(slow_read(name) for name in NAMES))
print(f"together:   {clock.now() - start:.1f} seconds")

# %% [markdown] tags=["core"]
# Three seconds, all of them spent waiting, and waiting can be done together. So: run everything at once?
#
# Here are five payments that go into a file, a ledger. Booking one means reading the file and writing it back with a
# line more, as every program does that changes a file.

# %% tags=["core"]
ledger = workspace("quickstart") / "ledger.txt"
ledger.write_text("")


async def book(payment: int) -> str:
    """Book one payment: add a line to ledger.txt."""
    before = ledger.read_text()
    await asyncio.sleep(0.01)  # a slow disk
    ledger.write_text(before + f"payment {payment}\n")
    return "booked"


await asyncio.gather(*(book(payment) for payment in range(1, 6)))
print(len(ledger.read_text().splitlines()), "of 5 payments are in the ledger")

# %% [markdown] tags=["core"]
# Four payments are lost, in a real file, and five times the tool said "booked". All five read the empty ledger, and
# each wrote it back with its own line. Nothing crashed. That is what makes it dangerous.
#
# ## Predict

# %% tags=["core"]
from agentlab.course import predict

CALLS = ["Read a", "Read b", "Write c", "Read d", "Read e", "Read f"]
question = "In how many steps can these six calls run safely, in the order asked?"
guess = predict(question, [1, 2, 3, 4, 6])
guess

# %% [markdown] tags=["core"]
# ## Build it
#
# The rule is short. **Consecutive calls that only read run together. Any other call runs alone. The order stays.** Why not
# collect all reads, and then the writes? Because the model may have meant to read what it wrote.

# %% tags=["core"]
def partition(reads_only):
    batches = []
    for index, reads in enumerate(reads_only):
        if reads and batches and reads_only[batches[-1][-1]]:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


batches = partition([call.startswith("Read") for call in CALLS])
for batch in batches:
    print(" + ".join(CALLS[index] for index in batch))
guess.reveal(len(batches))

# %% [markdown] tags=["core"]
# That is the whole decision: a pure function, easy to test, no tool in sight. Running the batches is the rest. Three
# things must hold: results come back **in the order of the calls**, whatever finishes first; one call that fails does
# not take the others with it; and no more than ten run at once, since each may hold a file, a socket, a process.

# %% tags=["core"]
async def run_all(calls, cap=10):
    """calls: (reads_only, function) pairs. Returns the results in order."""
    results = [None] * len(calls)
    places = asyncio.Semaphore(cap)

    async def run_one(index):
        async with places:
            try:
                results[index] = await calls[index][1]()
            except Exception as error:
                results[index] = f"error: {error}"

    for batch in partition([reads for reads, _ in calls]):
        await asyncio.gather(*(run_one(index) for index in batch))
    return results


ledger.write_text("")
calls = [(False, lambda payment=payment: book(payment)) for payment in range(1, 6)]
await run_all(calls)
print(len(ledger.read_text().splitlines()), "of 5 payments are in the ledger")

# %% [markdown] tags=["core"]
# All five. The tool did not change; it only said that it does more than read.
#
# ## Read it

# %% tags=["core"]
from agentlab import partition as packaged
from agentlab.course import show_source

show_source(packaged.partition)

# %% [markdown] tags=["more"]
# And the runner. Each call is a task of its own; a queue hands over what happens, so that the loop can tell it as it
# happens; and the `finally` makes sure that nothing goes on running when you press stop.

# %% tags=["more"]
show_source(packaged._run_batch)

# %% [markdown] tags=["core"]
# ## See it
#
# An agent that reads three notes and adds a reading, all in one turn. What ran together stands together in its row.

# %% tags=["core"]
from agentlab import Agent
from agentlab.tools import tool
from agentlab.views import watch

folder = workspace("quickstart")


@tool(name="Read", is_read_only=True)
async def read(file_path: str) -> str:
    """Read a text file. It takes its time."""
    await clock.sleep(0.6)
    return (folder / file_path).read_text()


@tool
async def add_reading(line: str) -> str:
    """Add a line to data.csv."""
    await clock.sleep(0.3)
    with (folder / "data.csv").open("a") as file:
        file.write(line + "\n")
    return "added"

# %% tags=["core"]
NOTES = "notes/people.md, notes/rain.md and notes/wind.md"
TASK = f"Read {NOTES}, then add today's reading."
readings = (folder / "data.csv").read_text()

together = await watch(Agent(tools=[read, add_reading], endpoint=lab).run(TASK))

# %% tags=["core"]
from dataclasses import replace

from agentlab.course import compare

(folder / "data.csv").write_text(readings)  # as it was before
cautious = replace(read, is_read_only=False)
one_by_one = await Agent(tools=[cautious, add_reading], endpoint=lab).ask(TASK)
compare(one_by_one, together, labels=("one by one", "partitioned"))

# %% [markdown] tags=["core"]
# Same tokens, same dollars, less waiting. Now the ledger again, with an agent. First a tool that *claims* to read only:

# %% tags=["core"]
honest = tool(book)
lying = replace(honest, is_read_only=True)
BOOK = "Book these five payments: 1, 2, 3, 4 and 5."

for booking in (lying, honest):
    ledger.write_text("")
    await Agent(tools=[booking], endpoint=lab).ask(BOOK)
    print("says it only reads:", booking.is_read_only, ledger.read_text().split("\n"))

# %% [markdown] tags=["core"]
# The flag is a promise of whoever writes the tool. Nobody can check it, so in doubt leave it out: a tool that says
# nothing counts as one that writes, and so does a call that is unknown or invalid.
#
# ## Break it
#
# Does everything get faster, the more runs at once? With a cap of ten, ten calls that wait take as long as one, and
# twenty take twice as long:

# %% tags=["core"]
from agentlab.messages import tool_use
from agentlab.tools import prepare

call = prepare(tool_use("t1", "Read", {"file_path": "README.md"}), {"Read": read})

for count in (1, 5, 10, 11, 20):
    start = clock.now()
    async for _ in packaged.run_batches([call] * count, clock, cap=10):
        pass
    print(f"{count:2} calls take {clock.now() - start:.1f} seconds")

# %% [markdown] tags=["core"]
# What does *not* get faster:
#
# - **work that computes instead of waiting**: threads of one Python take turns;
# - **a turn with a single call**, and that is most of them: the model has to *ask* for several. Say so in the prompt;
# - **the model itself**: in the timeline above the waits for it are longer than all the tools.
#
# ## Exercises
#
# Fill in the body and run the cell. `hint("04.1")` helps a little, `solution("04.1")` shows one way.

# %% tags=["core", "exercise-04-1"]
def batches(reads_only):
    """Which calls run together: a list of lists of their places, in the order asked.

    reads_only: for each call, whether it only reads. Consecutive reads form a batch;
    any other call is alone in its own.
    """
    ...


from agentlab.course import check, hint, solution

check("04.1", batches)

# %% tags=["more", "exercise-04-2"]
async def in_order(calls):
    """Run all calls at the same time; their results, in the order of the calls.

    Each call is an async function without arguments. One that raises does not stop the
    others: its result is the text "error: ..." with what the exception says.
    """
    ...


check("04.2", in_order)

# %% tags=["more", "exercise-04-3"]
async def at_most(factories, cap):
    """Run all calls, at most cap of them at the same time; their results in order.

    Each is an async function without arguments, and none of them fails. As soon as one
    has ended, the next begins.
    """
    ...


check("04.3", at_most)

# %% [markdown] tags=["core"]
# ## Keep it

# %% tags=["core"]
from agentlab.course import keep

keep(partition, run_all, chapter=4)

# %% [markdown] tags=["core"]
# ## In the wild
#
# - This is Claude Code's rule, cap included: ten by default. Here the variable is `AGENTLAB_MAX_TOOL_CONCURRENCY`.
# - Most libraries do not partition at all: the SDK's `tool_runner` and claudette run ten calls of 50 ms one after the
#   other (510 to 543 ms), pydantic-ai, strands and langchain run all of them at once, writes too (61 to 71 ms).
#   Measured on 2026-11-30.
# - With plain functions instead of `async` ones most need two waves for ten calls: Python's default pool has cores + 4
#   threads. A cap of ten needs a pool of ten.
# - Across agents a flag is not enough: two agents that write to one file need a lock by path (which the packaged runner
#   has), or a worktree each (chapter 15).
