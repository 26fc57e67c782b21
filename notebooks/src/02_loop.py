# %% [markdown] tags=["core"]
# # 02 · The loop
#
# **What turns one answer into an agent that works until it is done?**
#
# 50 minutes, or 20 for the cells tagged `core` · builds `agentlab/loop.py`
#
# before: [01 Messages](01_messages.ipynb) · next: [03 Tools](03_tools.ipynb)

# %% [markdown] tags=["core"]
# A model answers once and stops. An agent goes on: it looks something up, sees what came back,
# and decides what to do next. What makes the difference is not in the model. It is a loop around
# it, and in this chapter you write that loop. When you are done you can
#
# - write a working agent in about 25 lines, and say what each line is for;
# - say what a *turn* is, and count the turns of any run;
# - tell the ways in which a run ends from one another, and success from the rest;
# - stop an agent that goes round in circles before it has spent your money.
#
# You need what chapter 01 showed: the server remembers nothing, so every call sends the whole
# conversation, and each tool call has to be answered by a result with the same id.

# %% tags=["core"]
from agentlab import connect

lab = connect()
lab

# %% [markdown] tags=["core"]
# That is the simulator: a server on your own machine that speaks the real API. It is free, needs
# no network, and gives everybody the same answers. Dollars in this chapter are what the real model
# would have cost.
#
# ## The failure
#
# Here is a question that anyone with a watch can answer.

# %% tags=["core"]
client = lab.sync_client()
TASK = "How many minutes have passed since midnight?"

reply = client.messages.create(
    model=lab.model, max_tokens=1000, messages=[{"role": "user", "content": TASK}]
)
print(reply.content[-1].text)

# %% [markdown] tags=["core"]
# Fine: we give it a clock, and a calculator too, since models are bad at sums. A tool is an ordinary
# function. (Many tutorials write `eval(expression)` here. The text comes from a model, which may have
# it from a web page, so `eval` runs a stranger's code on your machine. Walking the parsed tree is as
# short. Chapter 03 breaks the other one.)

# %% tags=["core"]
import ast
import operator as op

now = lab.clock.wall  # the clock of this course: it reads the same on every machine
OPERATORS = {ast.Add: op.add, ast.Sub: op.sub, ast.Mult: op.mul, ast.Div: op.truediv}


def current_time() -> str:
    return now().isoformat(timespec="minutes")


def calculator(expression: str) -> str:
    def value(node):
        match node:
            case ast.Constant(number) if type(number) in (int, float):
                return number
            case ast.BinOp(left, sign, right) if type(sign) in OPERATORS:
                return OPERATORS[type(sign)](value(left), value(right))
        raise ValueError("only numbers and + - * / ( )")

    return str(value(ast.parse(expression, mode="eval").body))


calculator("9 * 60 + 17")

# %% [markdown] tags=["core"]
# For the model, a tool is a name, a description and a JSON Schema of its input.

# %% tags=["core"]
def describe(name, description, *arguments):
    properties = {argument: {"type": "string"} for argument in arguments}
    schema = {"type": "object", "properties": properties, "required": [*arguments]}
    return {"name": name, "description": description, "input_schema": schema}


FUNCTIONS = {"current_time": current_time, "calculator": calculator}
TOOLS = [
    describe("current_time", "Return the current date and time."),
    describe("calculator", "Evaluate a sum such as 9 * 60 + 17.", "expression"),
]


def ask(messages):
    return client.messages.create(
        model=lab.model, max_tokens=1000, tools=TOOLS, messages=messages
    )


reply = ask([{"role": "user", "content": TASK}])
calls = [block for block in reply.content if block.type == "tool_use"]
print(reply.stop_reason, [(call.name, call.input) for call in calls])

# %% [markdown] tags=["core"]
# Still no answer. `stop_reason` says `tool_use`: the model has written down that it would like
# `current_time` to be called, and stopped. **The model never runs anything.** It asks; somebody else
# has to act and to bring back what came out. That somebody is the harness, and so far there is none.
#
# ## Predict

# %% tags=["core"]
from agentlab.course import predict

guess = predict("How many calls of the model will the answer take?", [1, 2, 3, 4])
guess

# %% [markdown] tags=["core"]
# ## Build it
#
# First by hand, one step. `run_calls` runs what a reply asks for and writes the results as the API
# wants them. A tool that fails is not the end of the run: its error is a result too, and the model
# can read it and try something else.

# %% tags=["core"]
def run_calls(calls):
    results = []
    for call in calls:
        result = {"type": "tool_result", "tool_use_id": call.id}
        try:
            result["content"] = FUNCTIONS[call.name](**call.input)
        except Exception as error:
            result |= {"content": f"{type(error).__name__}: {error}", "is_error": True}
        results.append(result)
    return results


messages = [{"role": "user", "content": TASK}]
messages.append({"role": "assistant", "content": reply.content})
messages.append({"role": "user", "content": run_calls(calls)})
print(messages[-1]["content"][0]["content"])

# %% [markdown] tags=["core"]
# The clock has been read, and the result stands in the conversation. Now the model has to be called
# *again*, with everything so far, to go on from there. You could copy the cell above until the
# answer comes. Or you write the loop:
#
# ```mermaid
# flowchart LR
#     task([task]) --> model["call the model"]
#     model -- "tool calls" --> run["run them"]
#     run -- "results" --> model
#     model -- "no tool calls" --> answer([answer])
# ```

# %% tags=["core"]
def run_agent(task, max_turns=10):
    messages = [{"role": "user", "content": task}]
    for turn in range(1, max_turns + 1):
        reply = ask(messages)
        calls = [block for block in reply.content if block.type == "tool_use"]
        wishes = [f"{call.name} {call.input}" for call in calls]
        print(f"turn {turn}:", reply.stop_reason, *wishes)
        messages.append({"role": "assistant", "content": reply.content})
        if not calls:
            return reply.content[-1].text, turn
        messages.append({"role": "user", "content": run_calls(calls)})
    return f"Stopped after {max_turns} turns without an answer.", max_turns


answer, turns = run_agent(TASK)
print(answer)
guess.reveal(turns)

# %% [markdown] tags=["core"]
# That is an agent. The model chose the tools and their order; nothing in `run_agent` knows about
# clocks or sums.
#
# One pass through the loop is a **turn**: one call of the model, and running what it asked for. Two
# details of those lines are easy to miss. *All* results of a turn go back in *one* user message. And
# the loop has a limit, because nothing else guarantees that it ends.

# %% [markdown] tags=["more"]
# With other tools it does other work, and not a line of the loop changes. Here it writes a program and
# tests it; the folder is a throw-away copy, the file and the command are real. Note that a command that
# says nothing answers "(no output)": a model can make nothing of an empty result.

# %% tags=["more"]
import os
import subprocess
import sys

from agentlab.course import workspace

folder = workspace("quickstart")
PATH = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]


def write_file(path: str, content: str) -> str:
    target = (folder / path).resolve()
    if not target.is_relative_to(folder.resolve()):
        raise ValueError("the path leaves the workspace")
    return f"wrote {target.write_text(content)} characters to {path}"


def run_bash(command: str) -> str:
    where = {"cwd": folder, "env": {**os.environ, "PATH": PATH}}
    how = {"shell": True, "capture_output": True, "text": True, "timeout": 60}
    done = subprocess.run(command, **where, **how)
    output = (done.stdout + done.stderr).strip()
    return f"exit code: {done.returncode}\n{output or '(no output)'}"

# %% tags=["more"]
FUNCTIONS |= {"write_file": write_file, "run_bash": run_bash}
TOOLS += [
    describe("write_file", "Create or overwrite a file.", "path", "content"),
    describe("run_bash", "Run a command; returns exit code and output.", "command"),
]
FIZZBUZZ = (
    "Create a fizzbuzz.py script in the workspace, then run it to verify the output."
)

answer, turns = run_agent(FIZZBUZZ)
print(answer)

# %% [markdown] tags=["core"]
# ### From printing to events
#
# `run_agent` prints, and that is its weakness. A notebook wants to draw, a terminal to print, a test to
# count, and none of them should need a loop of its own. So the loop should not show anything: it should
# *say* what happens, while it happens. Python has the right thing for that, an **async generator**: a
# function that yields values on the way, and can wait for the network without blocking anyone.
#
# Two more changes. All that the loop knows goes into one `State` that is never modified: each turn
# builds the next. And `if not calls: return` took *every* reply without calls for success. A reply can
# also be cut off, or be a refusal; and a reason that we have never heard of is no success either.

# %% tags=["core"]
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class State:
    messages: tuple
    turn: int = 0
    tokens: int = 0
    status: str = ""  # empty: the run goes on


def status_of(stop_reason, has_calls):
    match stop_reason:
        case "tool_use" if has_calls:
            return ""  # go on
        case "end_turn" | "stop_sequence":
            return "completed"
        case "max_tokens":
            return "truncated"
        case "refusal":
            return "refusal"
        case other:
            return f"error: unexpected stop reason {other!r}"

# %% tags=["core"]
async def loop(client, model, tools, state, max_turns=25):
    while not state.status:
        if state.turn == max_turns:
            state = replace(state, status="turn_limit")
            break
        turn, messages = state.turn + 1, list(state.messages)
        yield "turn_start", turn
        request = {"model": model, "max_tokens": 4000, "tools": tools}
        async with client.messages.stream(**request, messages=messages) as stream:
            async for text in stream.text_stream:
                yield "text", text
            reply = await stream.get_final_message()
        calls = [block for block in reply.content if block.type == "tool_use"]
        messages.append({"role": "assistant", "content": reply.content})
        status = status_of(reply.stop_reason, bool(calls))
        if not status:
            yield "calls", calls
            messages.append({"role": "user", "content": run_calls(calls)})
        tokens = state.tokens + reply.usage.input_tokens + reply.usage.output_tokens
        state = State(tuple(messages), turn, tokens, status)
        yield "turn_end", reply.stop_reason
    yield "idle", state

# %% tags=["core"]
# Anyone can listen now. This listener prints; another could draw, or count.
start = State(messages=({"role": "user", "content": TASK},))

async for kind, what in loop(lab.client(), lab.model, TOOLS, start):
    if kind == "text":
        print(what, end="")
    elif kind == "calls":
        print("asks for", *(call.name for call in what), end="")
    elif kind == "turn_end":
        print(f"   [turn ends: {what}]")

print(f"{what.status} after {what.turn} turns, {what.tokens} tokens")

# %% [markdown] tags=["core"]
# ## Read it
#
# The packaged loop has the same shape. Read it once from top to bottom: its four comments are the four
# steps that you just wrote.

# %% tags=["core"]
from agentlab import loop as packaged
from agentlab.course import show_source

show_source(packaged.run)

# %% [markdown] tags=["more"]
# What it adds to yours, and why:
#
# | it adds | because |
# |---|---|
# | limits in tokens, dollars, calls and seconds, checked *before* each request | afterwards the money is spent |
# | the results stand in the history *before* the tools run | if you interrupt it there, the history is still valid |
# | a reply enters the history only if it is whole | half a tool call would be refused at the next request |
# | failed requests are repeated, never the tools | a tool that ran has done its work |
# | it notices when calls repeat | see "Break it" |
#
# And here is your `status_of`, with all the stop reasons there are:

# %% tags=["more"]
show_source(packaged.interpret)

# %% [markdown] tags=["core"]
# ## See it
#
# `Agent` puts loop, tools and endpoint together. `watch` listens to its events and draws them while
# it works: where the time went, and what it cost. A row is a turn; it begins with the wait for the
# model. Click a bar to see what was sent.

# %% tags=["core"]
from agentlab import Agent, Limits
from agentlab.toolbox import calculator as calculator_tool
from agentlab.toolbox import clock_tool, file_tools
from agentlab.views import watch

tools = [clock_tool(lab.clock), calculator_tool]
result = await watch(Agent(tools=tools, endpoint=lab).run(TASK))

# %% [markdown] tags=["core"]
# With the loop and without it, side by side. "Without" is the same agent with a limit of one turn. And
# since there should be no hidden calls: the simulator keeps a log, so you can count what it saw.

# %% tags=["core"]
from agentlab.course import compare

mark = lab.simulator.log.mark()
without = await Agent(tools=tools, endpoint=lab, limits=Limits(turns=1)).ask(TASK)
print("requests at the server:", len(lab.simulator.log.since(mark)))
compare(without, result, labels=("one call", "the loop"))

# %% [markdown] tags=["core"]
# ### Idle is not done
#
# Two events end a run, and they do not mean the same.
#
# - `session.idle`: the loop has stopped. It always comes, and says nothing about the task. It is a
#   moment, so it is shown live and never stored.
# - `session.task_complete`: the *model* says that the task is done, by calling a tool for it. It may
#   never come. It is stored, with a summary.
#
# Here is a task that the model leaves half done:

# %% tags=["core"]
UNFINISHED = "Count the words of notes/rain.md and notes/wind.md, one after the other."
files = file_tools(workspace("quickstart"))

half = await Agent(tools=files, endpoint=lab).ask(UNFINISHED)
half

# %% [markdown] tags=["core"]
# `completed`, says the loop: the model stopped asking for tools. But read the text. On **autopilot**
# the harness gives the model a `TaskComplete` tool, and if the run goes idle without it, it asks once
# more. It also says when *not* to call it: while a question is open, right after an error, while work
# is left.

# %% tags=["core"]
whole = await Agent(tools=files, endpoint=lab, autopilot=True).ask(UNFINISHED)
print(whole.text)
compare(half, whole, labels=("plain", "autopilot"))

# %% [markdown] tags=["core"]
# ## Break it
#
# A loop that ends when the model says so can also not end. This task makes the simulated model ask for
# the same thing for ever. Real models do that too, mostly when a tool keeps giving an answer that they
# did not expect.

# %% tags=["core"]
RUNAWAY = "Keep looking until the build is green."

blind = Limits(repeats=None, near_repeats=None)
runaway = await Agent(tools=files, endpoint=lab, limits=blind).ask(RUNAWAY)
noticed = await Agent(tools=files, endpoint=lab).ask(RUNAWAY)
compare(runaway, noticed, labels=("turn limit only", "repetition noticed"))

# %% [markdown] tags=["core"]
# The turn limit alone lets it run for 25 turns, and each turn sends everything again. Comparing calls
# stops it at the third: the same tool, the same input whatever the order of its keys, *and the same
# result*. Polling a job that makes progress is not a loop; `A B A B A B` is one, and so is a tool that
# fails five times in a row.
#
# And if you stop it in the middle? In JupyterLab the ■ button does that, at any moment. Here the
# listener walks away while the model is writing its first tool call.

# %% tags=["core"]
from contextlib import aclosing

agent = Agent(tools=tools, endpoint=lab)

async with aclosing(agent.run(TASK)) as events:
    async for event in events:
        if event.type == "assistant.tool_delta":
            break

print([message["role"] for message in agent.history])
print(await agent.ask("Go on, please."))

# %% [markdown] tags=["core"]
# The half-written reply is gone, the question was still there, and the agent went on as if nothing had
# happened. Had it been stopped while a tool ran, a result would say "interrupted".
#
# ## Exercises
#
# Fill in the body and run the cell. `hint("02.1")` says a little, and a little more each time;
# `solution("02.1")` shows one way.

# %% tags=["core", "exercise-02-1"]
def next_step(stop_reason, has_calls):
    """What to do after a reply: "run" its calls, "done" (the model has finished),
    "again" (send the conversation once more), or "stop" (an end that is no success).

    has_calls: whether the reply holds tool calls. What you do not know is no success.
    """
    ...


from agentlab.course import check, hint, solution

check("02.1", next_step)

# %% tags=["more", "exercise-02-2"]
def in_circles(calls, times=3):
    """Whether the last calls are one call, or a pair of them, `times` times in a row.

    calls: the (tool, input, result) of every call so far. Inputs are dicts, and the
    order of their keys does not matter. A new result for an old question is no circle.
    """
    ...


check("02.2", in_circles)

# %% tags=["more", "exercise-02-3"]
def requests(events):
    """How many requests the server got in a run, which may have been interrupted.

    Each event has a .type. A turn is one request, each retry within it is one more, and
    so is each side call.
    """
    ...


check("02.3", requests)

# %% [markdown] tags=["core"]
# ## Keep it
#
# Your loop goes into `my_harness.py`, a file of your own that grows with the chapters and needs nothing
# but the `anthropic` package. Then run it in a terminal:
# `python my_harness.py "How many minutes have passed since midnight?"`

# %% tags=["core"]
from agentlab.course import keep

mine = [State, status_of, run_calls, loop, current_time, calculator]
keep(*mine, TOOLS=TOOLS[:2], chapter=2)

# %% [markdown] tags=["core"]
# ## In the wild
#
# - Every agent has this loop at its heart. The SDK you use ships one, `client.beta.messages.tool_runner`;
#   it runs tools one after another and ends when a reply has no tool calls.
# - Products give it the form you just built. Claude Code's main loop is an async generator over an
#   explicit state; the Copilot CLI has `assistant.turn_start` and `assistant.turn_end` around each call, an
#   ephemeral `session.idle`, and `session.task_complete` with nudges on autopilot. The event names in this
#   course are theirs.
# - All have a limit, and they differ: openai-agents stops at 10 turns, claudette at 10 steps, smolagents
#   at 20, pydantic-ai at 50 requests, agentlab at 25. (Defaults read on 2026-11-30.)
# - `stop_reason != "tool_use"` taken for success is a common mistake of agent tutorials: it calls a refusal an answer.
#
# **With a real model.** Set `ANTHROPIC_API_KEY`, then use `connect("anthropic")` at the top. It shows what it
# costs and stops at 0.50 dollars. A real model answers in its own words and may take other turns; the
# runaway and the half-done task may not happen on cue. Cells that read `lab.simulator` need the simulator.
