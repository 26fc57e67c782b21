# %% [markdown] tags=["core"]
# # 03 · Tools
#
# **What must a function promise before a model may call it?**
#
# 50 minutes, or 20 for the cells tagged `core` · builds `agentlab/tools.py`, `agentlab/toolbox/`
#
# before: [02 The loop](02_loop.ipynb) · next: [04 Running calls together](04_partition.ipynb)

# %% [markdown] tags=["core"]
# A language model without tools is a poet: it writes beautifully about the world and cannot touch it.
# Tools are its hands. But a function is not yet a tool. The model has to know what it does, the
# harness has to know what it may do, and between the two lies input written by somebody who guesses.
#
# When you are done you can
#
# - turn a typed function into a tool: name, description, schema;
# - check what a model sends before anything runs, and answer so that it corrects itself;
# - measure what a description is worth;
# - confine file tools to a folder, and say what that does not protect from.
#
# You need chapter 02: the loop that runs what the model asks for.

# %% tags=["core"]
from agentlab import Agent, connect
from agentlab.course import compare, workspace

lab = connect()
folder = workspace("quickstart")
note = folder / "notes" / "rain.md"
lab

# %% [markdown] tags=["core"]
# ## The failure
#
# There is a typo in one of the notes. (We put it there.) Ask a model without tools to fix it.

# %% tags=["core"]
note.write_text(note.read_text().replace("morning", "mornign"))
TASK = "Fix the typo in notes/rain.md."

poet = await Agent(endpoint=lab).ask(TASK)
print(poet.text)
print("still there:", "mornign" in note.read_text())

# %% [markdown] tags=["core"]
# Very nice, and nothing has happened. Now with hands: two tools, `Read` and `Edit`.

# %% tags=["core"]
from agentlab.toolbox import toolbox

hands = {tool.name: tool for tool in toolbox(folder)}
worker = await Agent(tools=[hands["Read"], hands["Edit"]], endpoint=lab).ask(TASK)
print("still there:", "mornign" in note.read_text())
compare(poet, worker, labels=("the poet", "with hands"))

# %% [markdown] tags=["core"]
# ## Predict
#
# Hands are not enough. Here is a model that guesses the name of an argument, and guesses wrong. One harness
# answers "error"; the other says what was wrong, what was expected, and gives an example.

# %% tags=["core"]
from agentlab.course import predict

question = "How many turns does the model need if it is told what was wrong?"
guess = predict(question, [1, 2, 3, 4])
guess

# %% tags=["core"]
from agentlab.tools import ToolError
from agentlab.tools import tool as make_tool


@make_tool(name="Read", input_schema={"type": "object"})
def mumbling_read(**arguments):
    """Read a text file."""
    if set(arguments) != {"file_path"}:
        raise ToolError("error")
    return (folder / arguments["file_path"]).read_text()


CLUMSY = "How many words does notes/wind.md have?"
told_nothing = await Agent(tools=[mumbling_read], endpoint=lab).ask(CLUMSY)
told = await Agent(tools=[hands["Read"]], endpoint=lab).ask(CLUMSY)
guess.reveal(told.turns)

# %% tags=["core"]
print(told_nothing.text)
compare(told_nothing, told, labels=('"error"', "what was wrong"))

# %% [markdown] tags=["core"]
# ## Build it
#
# ### What the model sees
#
# Name, description and a JSON Schema of the input: nothing else of your function reaches the model. All
# three stand in a well-written Python function already, so we take them from there.

# %% tags=["core"]
import inspect
import json

JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def describe(function):
    parameters = inspect.signature(function).parameters.values()
    properties = {p.name: {"type": JSON_TYPES[p.annotation]} for p in parameters}
    required = [p.name for p in parameters if p.default is p.empty]
    schema = {"type": "object", "properties": properties, "required": required}
    text = inspect.getdoc(function)
    return {"name": function.__name__, "description": text, "input_schema": schema}


def count_words(file_path: str, at_least: int = 1) -> str:
    """Count the words of a text file that have at least so many letters."""
    words = (folder / file_path).read_text().split()
    return str(sum(len(word) >= at_least for word in words))


print(json.dumps(describe(count_words), indent=1))

# %% [markdown] tags=["core"]
# ### What a model sends
#
# The schema is a request, not a guarantee. A model may leave out an argument, invent one, or send text
# where a number was meant. What should happen then? Not a crash, and not a run with half the input. The
# call is *answered*: what was wrong, what was expected, an example. The model reads it and does better at
# the next turn. Self-correction for the price of a sentence.

# %% tags=["core"]
def validate(tool, input):
    """What is wrong with the input, or an empty text if it fits the schema."""
    schema = tool["input_schema"]
    missing = [name for name in schema["required"] if name not in input]
    unknown = [name for name in input if name not in schema["properties"]]
    wrong = [f"{name} is missing" for name in missing]
    wrong += [f"{name} is not an argument" for name in unknown]
    for name in input.keys() & schema["properties"].keys():
        wanted = schema["properties"][name]["type"]
        if JSON_TYPES.get(type(input[name])) != wanted:
            wrong.append(f"{name} should be of type {wanted}, not {input[name]!r}")
    return "; ".join(wrong)


tool = describe(count_words)
good = {"file_path": "a.txt", "at_least": 3}
for input in (good, {"path": "a.txt"}, {**good, "at_least": "3"}):
    print(input, "->", validate(tool, input) or "fine")

# %% [markdown] tags=["core"]
# ### What a description is worth
#
# The description is the only manual that the model has. Same task, same two tools; only the text of the
# shell tool differs.

# %% tags=["core"]
from dataclasses import replace

VAGUE = "Runs bash."
SPECIFIC = (
    "Run a shell command in the workspace and return its output and exit code. "
    "Use it to list files, run scripts and run tests. "
    "Do not use it to create files; use Write for that."
)
HELLO = "Write hello.py, which prints a greeting, and run it."


async def try_with(description):
    tools = {tool.name: tool for tool in toolbox(workspace("quickstart"))}
    shell = replace(tools["Bash"], description=description)
    return await Agent(tools=[shell, tools["Write"]], endpoint=lab).ask(HELLO)


vague, specific = await try_with(VAGUE), await try_with(SPECIFIC)
compare(vague, specific, labels=(VAGUE, "specific"))

# %% [markdown] tags=["core"]
# With the vague text the model used the shell for everything, also for writing a file, and fought with
# quotes. Three sentences saved it those turns. They cost a few tokens in every request, and are worth it.

# %% [markdown] tags=["more"]
# A description may also depend on where it is used: a shell differs from system to system. It can be a
# function, which is asked **once**, when the session starts. Never again, because the tools stand at the very
# beginning of every request, and what was sent is not changed (chapter 01).

# %% tags=["more"]
from agentlab.tools import ToolContext

for platform in ("linux", "win32"):
    described = await hands["Bash"].describe(ToolContext(platform=platform))
    print(f"{platform}: {described['description'][:88]}...")

# %% [markdown] tags=["core"]
# ### A fence
#
# A file tool takes a path from a stranger. `../../.ssh/id_rsa` is a path. So is a link inside the folder that
# points outside. Resolve first, then compare, and compare *paths*, not text: `/data/app-secrets` begins with
# `/data/app`.

# %% tags=["core"]
from pathlib import Path


def confined(root, path):
    """The real path, if it lies within root. Raises PermissionError if it does not."""
    target = (Path(root) / path).resolve()
    if not target.is_relative_to(Path(root).resolve()):
        raise PermissionError(f"{path} is outside the workspace")
    return target


for path in ("notes/rain.md", "notes/../data.csv", "../secret", "/etc/passwd"):
    try:
        print(f"{path:20}", confined(folder, path).name)
    except PermissionError as error:
        print(f"{path:20}", error)

# %% [markdown] tags=["core"]
# **This is a fence, not a wall.** It keeps an honest mistake inside. A shell tool walks around it, since a shell
# can open any path; and between checking a path and opening it somebody may swap a folder for a link. The packaged
# tools check again when they open. Only the operating system (a container, another user) makes a wall.
#
# ## Read it
#
# The packaged contract. Besides what the model sees it holds what the *harness* wants to know, above all whether a
# call only reads: chapter 04 lives on that.

# %% tags=["core"]
from agentlab import tools as packaged
from agentlab.course import show_source

show_source(packaged.Tool)

# %% [markdown] tags=["more"]
# A call has two halves. `prepare` checks everything and runs nothing; `perform` runs, and turns whatever goes
# wrong into a result. An exception of a tool never ends a run.

# %% tags=["more"]
show_source(packaged, "prepare", "perform")

# %% [markdown] tags=["core"]
# ## See it
#
# The whole toolbox, by what it does to the world:

# %% tags=["core"]
for tool in toolbox(folder):
    kind = "only reads" if tool.is_read_only is True else "may change"
    arguments = ", ".join(tool.input_schema["properties"])
    print(f"{tool.name:13} {kind:11} {tool.permission:8} {arguments}")

# %% tags=["core"]
from agentlab.views import watch

agent = Agent(tools=[hands["Read"]], endpoint=lab)
result = await watch(agent.run(CLUMSY), views=("context", "inspector"))

# %% [markdown] tags=["core"]
# The first view shows what is in the window, request by request. In the first one nearly all of it is the single
# tool: its description and schema are sent, and paid for, in every request. The inspector shows what went over the
# wire. Find the call that failed, and the answer that put it right.
#
# ## Break it
#
# Nearly every tutorial's first tool is a calculator, and nearly every one of them is this:

# %% tags=["core"]
SECRET = "my password is hunter2"


@make_tool(name="Calculator", is_read_only=True)
async def calculator_with_eval(expression: str) -> str:
    """Evaluate an arithmetic expression."""
    return str(eval(expression, globals()))


(folder / "formula.txt").write_text("SECRET.upper()")
FORMULA = "Work out what formula.txt says."

tools = [hands["Read"], calculator_with_eval]
print((await Agent(tools=tools, endpoint=lab).ask(FORMULA)).text)

# %% [markdown] tags=["core"]
# The text in a file became code in your process. It was a string method here; it could have been
# `__import__("os").system(...)`. "But I pass `{'__builtins__': {}}`", says the next tutorial. Then the file says
# this, and it gets out through the class of an empty tuple:

# %% tags=["core"]
CLASSES = "().__class__.__base__.__subclasses__()"
ESCAPE = f"[c for c in {CLASSES} if c.__name__ == 'Popen'] != []"
reached = eval(ESCAPE, {"__builtins__": {}}, {})
print("eval without builtins can reach subprocess.Popen:", reached)

from agentlab.toolbox import calculate

for expression in (ESCAPE, "9**9**9", "2 * (3 + 4)"):
    try:
        print(f"{expression[:40]:40} -> {calculate(expression)}")
    except ToolError as error:
        print(f"{expression[:40]:40} -> refused: {error}")

# %% [markdown] tags=["core"]
# The packaged one knows numbers and operators and nothing else. It also refuses `9**9**9` at once: a tool that
# never returns is broken too.
#
# ## Exercises
#
# Fill in the body and run the cell. `hint("03.1")` helps a little, `solution("03.1")` shows one way.

# %% tags=["core", "exercise-03-1"]
def schema_of(function):
    """The JSON Schema of a function's arguments: "type", "properties" and "required".

    Every argument has a type hint: str, int, float or bool. In JSON these are "string",
    "integer", "number" and "boolean". Required are those without a default, in order.
    """
    ...


from agentlab.course import check, hint, solution

check("03.1", schema_of)

# %% tags=["more", "exercise-03-2"]
def check_input(schema, input):
    """What is wrong with an input, in words; "" if nothing is.

    Wrong is: a required argument that is missing, one that the schema does not have, a
    value of another type. True is no integer; 2 is a number, 2.5 no integer. The text
    names every argument that is wrong, so that the model can mend them all at once.
    """
    ...


check("03.2", check_input)

# %% tags=["more", "exercise-03-3"]
def confined(root, path):
    """Whether a path stays within the folder root, links and ".." followed.

    path is relative to root, or absolute. What it names need not be there yet.
    """
    ...


check("03.3", confined)

# %% [markdown] tags=["core"]
# ## Keep it

# %% tags=["core"]
from agentlab.course import keep

keep(describe, validate, JSON_TYPES=JSON_TYPES, chapter=3)

# %% [markdown] tags=["core"]
# ## In the wild
#
# - The contract here is the one that large harnesses converge on: a schema that is enforced, a description that is
#   made for the session, and flags for "reads only" and "safe beside others". Names and arguments (`Read(file_path)`,
#   `Bash(command)`) are those of Claude Code, so that rules and settings written for it work with yours.
# - The SDK makes tools from functions too: `@beta_tool` takes name, schema and docstring, and `strict=True` makes the
#   API enforce the schema. Forcing a tool with `tool_choice` is refused by current models; say in the prompt when a tool
#   is due, or ask for structured output.
# - Claude Code edits by exact, unique text (`old_string`, `new_string`) instead of line numbers, and so does the API's own
#   text editor tool: an edit that does not match changes nothing, and the model is told.
# - `eval` as a calculator is still common in agent tutorials, mostly with a comment beside it that says not to.
