# %% [markdown] tags=["core"]
# # 00 · Start here
#
# **What does an agent do, and what does the harness around the model do?**
#
# 20 minutes, or 10 for the cells tagged `core`
#
# next: [01 Messages](01_messages.ipynb)

# %% [markdown] tags=["core"]
# A language model writes text. An **agent** gets things done: it looks around, uses tools, reads what
# came back, and goes on until the work is finished. What lies between the two is a program, the
# **harness**. *Agent = model + harness*, and in this course you build the harness, piece by piece, small
# enough to read whole and real enough to take to work.
#
# This first chapter is a tour. When you are done you have
#
# - seen an agent work, and can read the picture of its run;
# - repeated what you need of `await` and async generators;
# - chosen your route through the course.
#
# Run a cell with Shift+Enter, or all of them from the Run menu. Nothing here needs a key or a network.

# %% tags=["core"]
from agentlab import Agent, connect
from agentlab.course import workspace
from agentlab.toolbox import calculator, file_tools
from agentlab.views import watch

lab = connect()
lab

# %% [markdown] tags=["core"]
# `lab` is the endpoint: where the model is. This one is a **simulator**, a server on your own machine
# that speaks the real API, checks every request as strictly, and plays a model. It is free, works
# offline, and gives everyone the same answers. Everything around it is real: the SDK, the requests, the
# tools, the files.
#
# ## A tour in ten minutes
#
# Here is a small project, copied to a temporary folder. The agent has never seen it.

# %% tags=["core"]
folder = workspace("quickstart")
for path in sorted(folder.rglob("*")):
    print(path.relative_to(folder).as_posix())

# %% [markdown] tags=["core"]
# It gets four tools: three that read files in that folder, and a calculator. Then it gets a task, and
# `watch` draws what happens while it happens.

# %% tags=["core"]
agent = Agent(tools=[*file_tools(folder), calculator], endpoint=lab)
TASK = (
    "Look around this project and tell me what it is about "
    "and how many words its notes hold."
)

result = await watch(agent.run(TASK))

# %% [markdown] tags=["core"]
# Read it from top to bottom. Each row is a **turn**: one call of the model, and then the tools that it
# asked for. The picture shows where the time went, the meter what it cost. The dollars are what the real
# model would have cost; here nothing is paid. Click a bar, or press Enter on it, to see the very
# message behind it.
#
# And this is what it found out:

# %% tags=["core"]
print(result.text)

# %% [markdown] tags=["core"]
# Is it a trick, a recording? Change something and see. We add seven words to one of the notes, and ask
# a new agent.

# %% tags=["core"]
note = sorted((folder / "notes").glob("*.md"))[0]
note.write_text(note.read_text() + "\nThese seven words were not there before.\n")

again = await Agent(tools=[*file_tools(folder), calculator], endpoint=lab).ask(TASK)
print(again.text)

# %% [markdown] tags=["core"]
# The simulated model follows a small script, but it knows only what the requests tell it, like any
# model: it listed the folder, read the files through your tools, and counted what it read.
#
# A conversation can go on. The agent kept its history:

# %% tags=["core"]
print((await agent.ask("Read data.csv, and what is 12 * 7?")).text)

# %% [markdown] tags=["core"]
# Now you. Ask for something in English or Italian: to read, list or search files, to calculate. And ask
# for something it cannot do, to see what it says then.

# %% tags=["core"]
print((await agent.ask("Write me a poem about the sea.")).text)

# %% [markdown] tags=["more"]
# ### What happened, as data
#
# The picture is drawn from a stream of **events**, and from nothing else. You can have the events
# yourself: every widget, log, test and bill in this course reads them.

# %% tags=["more"]
start = lab.clock.now()
async for event in Agent(tools=[calculator], endpoint=lab).run("What is 6 * 7?"):
    if event.type.startswith(("assistant.turn", "tool", "session")):
        print(f"{event.at - start:5.1f} s  {event.type}")

# %% [markdown] tags=["core"]
# ## Ten minutes on `await`
#
# A harness spends its life waiting: for the model, for tools, for you. That is what Python's `async` is
# for. If the next cells hold no surprise, skip to the end.
#
# An `async def` function can wait without blocking the rest. Calling it does nothing yet; `await` runs it
# and gives its value. In a notebook you may write `await` in any cell.

# %% tags=["core"]
import asyncio


async def fetch(name, seconds):
    await asyncio.sleep(seconds)
    return f"{name} is here"


await fetch("tea", 0.1)

# %% [markdown] tags=["core"]
# Two that wait can wait at the same time:

# %% tags=["core"]
await asyncio.gather(fetch("tea", 0.2), fetch("toast", 0.1))

# %% [markdown] tags=["core"]
# A function with `yield` is a generator: it hands over values one by one, and continues where it was.
# With `async def` it can also wait in between. `async for` takes the values as they come.

# %% tags=["core"]
async def breakfast():
    for name, seconds in (("toast", 0.05), ("tea", 0.1), ("egg", 0.15)):
        yield await fetch(name, seconds)


async for what in breakfast():
    print(what)

# %% [markdown] tags=["core"]
# That is the whole trick of this course. The loop of an agent is an async generator that yields events;
# you have seen one already, without knowing.
#
# One thing to take care of: if you leave early, close the generator, so that it can tidy up. `aclosing`
# does it at the end of the block.

# %% tags=["core"]
from contextlib import aclosing

async with aclosing(breakfast()) as served:
    async for what in served:
        print(what, "- that will do")
        break

# %% [markdown] tags=["core"]
# **Check yourself, 00.1.** Write an async generator `only(events, kind)`: it takes an async stream of events and
# yields those whose `.type` is `kind`. Then run the cell below it.

# %% tags=["core", "exercise-00-1"]
async def only(events, kind):
    """Yield those of the async stream `events` whose .type is `kind`."""
    ...

# %% tags=["core"]
from agentlab.course import check, hint, solution

check("00.1", only)

# %% [markdown] tags=["core"]
# Not yet? `hint("00.1")` says a little, and more each time. `solution("00.1")` shows one way.
#
# ## Which model, and what it costs
#
# | you write | the model is | it costs |
# |---|---|---|
# | `connect()` | the simulator | nothing, ever, even if a key lies about |
# | `connect("anthropic")` | the real API; needs `ANTHROPIC_API_KEY` | shown as it goes; stops at 0.50 dollars unless you set `budget_usd` |
# | `connect("http://localhost:11434", model="...")` | any server that speaks `/v1/messages`: Ollama, llama.cpp, vLLM | what that server costs |
#
# `AGENTLAB_ENDPOINT`, `AGENTLAB_MODEL` and `AGENTLAB_BUDGET_USD` do the same without touching a cell. A
# real model answers in its own words, so numbers and wording will differ from what is printed here.

# %% tags=["more"]
import os
from unittest.mock import patch

from agentlab.providers import ProviderError

with patch.dict(os.environ):
    os.environ.pop("ANTHROPIC_API_KEY", None)  # as if there were no key
    try:
        connect("anthropic")
    except ProviderError as error:
        print(error)

# %% [markdown] tags=["core"]
# ## Your route
#
# Every chapter shows a failure, lets you predict and build the cure in a few lines, reads the real
# module, breaks it again, and ends with two or three exercises. Cells tagged `core` make a 20-minute
# path; the rest is for when you have time. What you build is collected in `my_harness.py`, your own
# file, which runs without this course.
#
# | you have | do |
# |---|---|
# | 90 minutes | this chapter, then the `core` cells of [01](01_messages.ipynb) and [02](02_loop.ipynb), with the first exercise of each |
# | half a day | the same three chapters whole, with all exercises; then run your `my_harness.py` in a terminal |
# | two days | all chapters that are there, [03](03_tools.ipynb) and [04](04_partition.ipynb) included; then give the agent a folder and a tool of your own. The README says what comes next |
#
# If something does not work, `agentlab doctor` in a terminal says what, and how to mend it. A chapter
# that you have changed beyond repair comes back with `agentlab lab --reset 02`; your version is kept.
#
# Next: [01 Messages](01_messages.ipynb).
