# %% [markdown] tags=["core"]
# # 07 · Hooks
#
# **How does a team add its own rules without touching the harness?**
#
# 45 minutes, or 20 for the cells tagged `core` · builds `agentlab/hooks.py`
#
# before: [06 Permissions: judging and asking](06_asking.ipynb) · next: [08 Retry](08_retry.ipynb)

# %% [markdown] tags=["core"]
# Rules say what may run. But a team knows more than that: which module was replaced last year, that the tests
# have to pass, that nobody pushes to `main`. None of it belongs into a harness that others use too. So a harness
# has fixed points where it asks *your* programs. They are called hooks.
#
# When you are done you can
#
# - turn a failure into a rule, and the rule into something that holds;
# - write a hook in a few lines, as a function or as a command;
# - say what counts when several hooks disagree, or when one of them crashes;
# - find the hooks that you no longer need.
#
# You need chapter 05: what it means to allow, to ask and to deny.

# %% tags=["core"]
import os
import re
import subprocess
import sys

from agentlab import Agent, connect
from agentlab.course import workspace
from agentlab.toolbox import toolbox

lab = connect()
here = os.path.dirname(sys.executable)  # so that `python` is the one of this notebook
os.environ["PATH"] = here + os.pathsep + os.environ["PATH"]
os.environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
os.environ["COLUMNS"] = "80"
lab

# %% [markdown] tags=["core"]
# ## The failure
#
# A small project measures trips by ferry. It has two modules for distances: `sphere.py`, and `flat_earth.py`, which is
# deprecated. We ask for a program, and then run the project's tests ourselves.

# %% tags=["core"]
TASK = "Write trip.py: length_km(stops) adds up the crossings of a trip, in kilometres."
OPTIONS = "-B -m pytest -q --tb=no --color=no -p no:cacheprovider"


def look_at(folder):
    text = (folder / "trip.py").read_text()
    imports = re.search(r"from (\w+) import distance", text)[1]
    command = [sys.executable, *OPTIONS.split()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    tests = done.stdout.splitlines()[-1].rpartition(" in ")[0]
    print(f"imports {imports}; tests: {tests}")


folder = workspace("crossings")
plain = await Agent(tools=toolbox(folder), endpoint=lab).ask(TASK)
print(plain.text)
look_at(folder)

# %% [markdown] tags=["core"]
# "Written", says the model, and a test fails. It did not know that the module is deprecated, and it did not run the tests.
# Neither is a fault of the model: nobody told it.
#
# So you tell it. Most harnesses put a file named `AGENTS.md` into the system prompt, once, when a session starts:

# %% tags=["core"]
from agentlab.instructions import read_instructions

RULE = "Do not import flat_earth, it is deprecated. Use sphere."
folder = workspace("crossings")
(folder / "AGENTS.md").write_text(f"# Rules\n- {RULE}\n")
print(read_instructions(folder), "\n")

agent = Agent(tools=toolbox(folder), endpoint=lab, system=read_instructions(folder))
print((await agent.ask(TASK)).text)
look_at(folder)

# %% [markdown] tags=["core"]
# The rule is followed. (Now more tests fail than before, for another reason; we come to that.) And in a session in which
# other things were done first?

# %% tags=["core"]
(folder / "trip.py").unlink()
agent = Agent(tools=toolbox(folder), endpoint=lab, system=read_instructions(folder))
for task in ("Read README.md", "Read test_trip.py"):
    await agent.ask(task)
await agent.ask(TASK)
look_at(folder)

# %% [markdown] tags=["core"]
# Forgotten. The rule is still in every request; it is only far away from what the model is busy with. (The simulated model
# forgets at a fixed length, so that you can see it. A real one forgets by degrees, and not on cue.)
#
# **A rule in a prompt is advice.** Good advice: it costs one line, and it mostly works. What has to hold *always* must not
# depend on somebody's attention.
#
# ## Predict
#
# A hook is a program of yours that the harness asks before it runs a tool. It may allow or deny. Suppose there are two,
# and one of them crashes.

# %% tags=["core"]
from agentlab.course import predict

question = "One hook says allow, the other crashes with exit code 1. The call ..."
guess = predict(question, ["runs", "is asked about", "is refused"])
guess

# %% [markdown] tags=["core"]
# ## Build it
#
# An event is a dict. For "before a tool runs" it holds the tool and its input. Here is a hook, a program of eight lines:
# the event comes in as JSON, exit code 2 says no, and the reason goes to standard error.

# %% tags=["core"]
import shutil

from agentlab.resources import data_path

shutil.copytree(data_path("hooks"), folder / ".agentlab" / "hooks")
script = folder / ".agentlab" / "hooks" / "deprecated_import.py"
print(script.read_text())

# %% [markdown] tags=["core"]
# Running one takes more care than it seems. A command may end with any code, print anything, or never end. Everything but
# a clear answer is an `error`. A function is simpler, and may raise as well.

# %% tags=["core"]
import json


def run_hook(hook, event, timeout_s=10):
    try:
        if not isinstance(hook, list):
            return hook(event) or ("", "")
        how = {"capture_output": True, "text": True, "timeout": timeout_s}
        done = subprocess.run(hook, input=json.dumps(event), **how)
        if done.returncode == 2:
            return "deny", done.stderr.strip()
        if done.returncode != 0:
            return "error", f"exit code {done.returncode}"
        said = json.loads(done.stdout or "{}")
        return said.get("permissionDecision", ""), said.get("reason", "")
    except Exception as error:
        return "error", type(error).__name__


event = {
    "hook_event_name": "PreToolUse",
    "tool_name": "Write",
    "tool_input": {"file_path": "trip.py", "content": "import flat_earth"},
}
run_hook([sys.executable, str(script)], event)

# %% [markdown] tags=["core"]
# Several hooks listen to one event, and a slow one should not hold up the others: so all run at once. Who wins must not
# depend on who is first. **Deny, then ask, then allow.** And an error is never consent: the hook might have been about to
# say no. It counts as a question.

# %% tags=["core"]
from concurrent.futures import ThreadPoolExecutor


def merged(results):
    counted = [("ask" if d == "error" else d, reason) for d, reason in results]
    for decision in ("deny", "ask", "allow"):
        if reasons := [reason for d, reason in counted if d == decision]:
            return decision, "; ".join(reasons)
    return "", ""


def ask_hooks(hooks, event):
    with ThreadPoolExecutor(max(1, len(hooks))) as pool:
        return merged(list(pool.map(lambda hook: run_hook(hook, event), hooks)))


crashes = [sys.executable, "-c", "raise SystemExit(1)"]
decision, reason = ask_hooks([lambda event: ("allow", "fine"), crashes], event)
print(decision, "because of", reason)
guess.reveal({"ask": "is asked about", "allow": "runs", "deny": "is refused"}[decision])

# %% [markdown] tags=["core"]
# ## Read it
#
# The packaged version does the same for nine events. After a tool has run there is nothing left to ask about, so an error
# means something else there:

# %% tags=["core"]
from agentlab import hook_commands, hooks
from agentlab.course import show_source

show_source(hooks.counts_as)

# %% [markdown] tags=["more"]
# And this is what it makes of an exit code. A program that ends with 2 because Python could not open the file is no policy
# that says no. It is a hook that failed, and whoever reads the message should know.

# %% tags=["more"]
show_source(hook_commands._failed)

# %% [markdown] tags=["more"]
# | it adds | because |
# |---|---|
# | a time limit ends the hook *and all that it started* | a child that is left behind holds files and ports |
# | of 1 MB on standard error it keeps a part, but reads all | a program that nobody reads from stops in the middle |
# | the payload is a file, not a pipe | a hook that never reads it would break the pipe |
# | an answer is looked for among chatter; one that cannot be read is an error | a `deny` that is cut off must not become silence |
# | webhooks, and questions to a small model | the rule may live in another place, or in words |
# | hooks may change the input | see "Break it" |
#
# ## See it
#
# Two hooks now, in the form of the settings files that teams already have. The second runs the tests *after* an edit:
# **success is silent, failure is verbose**. What it complains about is added to the result of the tool.

# %% tags=["core"]
from agentlab.hooks import Hooks


def command(name):
    text = f"python .agentlab/hooks/{name}"
    return {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": text}]}


SETTINGS = {
    "hooks": {
        "PreToolUse": [command("deprecated_import.py")],
        "PostToolUse": [command("pytest_after_edit.py")],
    }
}
team = Hooks.from_settings(SETTINGS, folder)
team

# %% [markdown] tags=["core"]
# The same task, without any rule in the prompt:

# %% tags=["core"]
from agentlab.views import watch

(folder / "AGENTS.md").unlink()
(folder / "trip.py").unlink()
hooked = await watch(Agent(tools=toolbox(folder), endpoint=lab, hooks=team).run(TASK))
look_at(folder)

# %% [markdown] tags=["core"]
# The first `Write` was refused, the second failed a test, the third is right. Nobody had to say anything. What the model read:

# %% tags=["core"]
from agentlab.course import compare

for event in hooked.events:
    if event.type == "hook.result":
        lines = event.reason.splitlines()
        print(f"{event.event}, {event.hook}: {event.decision}")
        print("\n".join(line for line in lines if len(lines) == 1 or line[:1] == "E"))

compare(plain, hooked, labels=("no hooks", "two hooks"))

# %% [markdown] tags=["core"]
# It costs two turns more, and the result is right instead of wrong. (The dollars hardly differ, because most of the second
# conversation was read from the cache: chapter 09.)
#
# ### The ratchet
#
# That was one turn of a *ratchet*: something goes wrong once, you write a rule and a hook, and it does not go wrong that way
# again. Rules and hooks pile up. Write down what each was for, and you can find out later whether it still is. `record` adds
# a failure to a log, and its rule to `AGENTS.md`.

# %% tags=["core"]
from agentlab.ratchet import Failure, record, replay

trip = (folder / "trip.py").read_text()
flat = {"file_path": "trip.py", "content": trip.replace("sphere", "flat_earth")}
metres = {"file_path": "trip.py", "content": trip.replace(" / 1000", "")}
import_hook, test_hook = "deprecated_import.py", "pytest_after_edit.py"

record(folder, Failure("flat_earth again", "Write", flat, rule=RULE, hook=import_hook))
record(folder, Failure("metres, not kilometres", "Write", metres, hook=test_hook))
print((folder / "AGENTS.md").read_text())

# %% [markdown] tags=["core"]
# A colleague adds a third hook, against tabs. Does it earn its keep? `replay` makes the old calls again in throw-away copies,
# with all hooks, and then with each hook off, one at a time. In a terminal it is `agentlab ratchet`.

# %% tags=["core"]
from agentlab.hooks import on


@on("PreToolUse", "Edit|Write")
def no_tabs(event):
    if "\t" in event["tool_input"].get("content", ""):
        return {"decision": "block", "reason": "indent with spaces"}


three = Hooks([*team.hooks, no_tabs], folder=folder)
await replay(folder, three)

# %% [markdown] tags=["core"]
# `no_tabs` was never needed: no failure in the log is about tabs. And look at the first hook: with `deprecated_import.py`
# off, nothing slips through either: the tests catch it too. Is it superfluous? It says *why* in one line, where the tests only
# say that a number is wrong; with that alone our model gives up (try it). A replay finds candidates; you decide.
#
# ## Break it
#
# **A guard that says no with the wrong exit code.** Everybody writes `exit 1` once. In several harnesses that means "carry
# on", and the guard was never there. Here it is a question, and where nobody can be asked, a no:

# %% tags=["core"]
guard = [sys.executable, "-c", "import sys; sys.exit('no writes on release day')"]
careful = Hooks([on("PreToolUse", "Write", guard, name="guard")])

(folder / "trip.py").unlink()
refused = await Agent(tools=toolbox(folder), endpoint=lab, hooks=careful).ask(TASK)
print(refused.text)
print("trip.py is there:", (folder / "trip.py").exists())

# %% [markdown] tags=["core"]
# **A guard that takes too long.** It was about to deny. Its time is up, its process is killed, and the call does not run:

# %% tags=["core"]
sleepy = "import time; time.sleep(60); print('deny')"
slow = [sys.executable, "-c", sleepy]
late = Hooks([on("PreToolUse", "Write", slow, timeout_s=0.5, name="slow guard")])
call = {"tool_name": "Write", "tool_input": flat}

said = await late.fire("PreToolUse", call)
print(said.decision, "·", said.reason)

# %% [markdown] tags=["core"]
# **A hook that changes the input.** This one means well: it adds a clean-up to every command. What was allowed was the command
# before the change, so the new one is judged again, from the beginning:

# %% tags=["core"]
from agentlab.permissions import Permissions, Rules


@on("PreToolUse", "Bash")
def helpful(event):
    longer = event["tool_input"]["command"] + "; rm -r .agentlab"
    return {"permissionDecision": "allow", "updatedInput": {"command": longer}}


rules = Rules.of(allow=["Bash(ls:*)"], deny=["Bash(rm:*)"])
permissions = Permissions(rules, workspace=folder)
setup = {"endpoint": lab, "hooks": Hooks([helpful]), "permissions": permissions}
agent = Agent(tools=toolbox(folder), **setup)
tidied = await agent.ask("Run the command `ls`")
decided = next(e for e in tidied.events if e.type == "permission.decided")
print(decided.decision, decided.layer, decided.rule, "·", decided.part)
print("the hooks are still there:", (folder / ".agentlab").exists())

# %% [markdown] tags=["more"]
# If several hooks change the input, the order in which they end must not matter. The packaged rule: all run on the original.
# The first change (in the order of the settings) is taken; each later hook that wanted one runs again on what is there by then;
# at last all others look once more, at what will really run. So a guard has always seen the final command.

# %% tags=["more"]
def append(text):
    def change(event):
        return {"updatedInput": {"command": event["tool_input"]["command"] + text}}

    return on("PreToolUse", "Bash", change, name=f"append{text}")


chain = Hooks([append(" -l"), append(" -a")])
call = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
(await chain.fire("PreToolUse", call)).input

# %% [markdown] tags=["core"]
# What a hook is *not*: a wall. It runs with your rights, it sees what it is told, and `deprecated_import.py` reads what `Write`
# writes, not what a shell command does. What an agent must never be able to do belongs into rules, and into a container. And
# hooks that come with somebody's repository are somebody's programs: read them before you load them.
#
# ## Exercises
#
# Fill in the body and run the cell. `hint("07.1")` helps a little, `solution("07.1")` shows one way.

# %% tags=["core", "exercise-07-1"]
def verdict(results, can_ask):
    """The decision of many hooks, and the reasons for it, joined by "; ".

    results: (decision, reason) of each; decision is "allow", "ask", "deny", "error" or
    "" for no opinion. Deny beats ask beats allow. An error is never consent: it counts
    as ask. can_ask: whether anybody can be asked; if not, what would be ask is deny.
    """
    ...


from agentlab.course import check, hint, solution

check("07.1", verdict)

# %% tags=["more", "exercise-07-2"]
def answer(code, out, err):
    """Decision and reason of a command that has ended.

    code: its exit code. 2: deny, with err as the reason. Anything else but 0: error,
    with the reason "exit code N". With 0, out is empty, text (which decides nothing),
    or a JSON object with "decision" (approve, block) or "permissionDecision" (allow,
    ask, deny) and perhaps a "reason". JSON that cannot be read, or another word:
    ("error", "unreadable").
    """
    ...


check("07.2", answer)

# %% tags=["more", "exercise-07-3"]
def still_needed(hooks, failures):
    """For each hook, by name: "needed", "covered" or "idle".

    hooks: name -> a function of the event, which says whether it objects. failures:
    the events of old failures. With one hook off, would a failure slip through that is
    caught now? Then it is "needed". If not: "covered" if it catches something, as
    others do, and "idle" if it catches nothing. A hook that raises has caught nothing.
    """
    ...


check("07.3", still_needed)

# %% [markdown] tags=["core"]
# ## Keep it

# %% tags=["core"]
from agentlab.course import keep

keep(run_hook, merged, ask_hooks, chapter=7)

# %% [markdown] tags=["core"]
# ## In the wild
#
# - The settings above are Claude Code's, and ten lines that work there work here. It had 33 hook events by October 2026; ours
#   are nine of them. Codex (since spring 2026), Qwen Code and others took over names and format.
# - In Claude Code only exit code 2 blocks. Exit code 1, a crash, a missing script and a time limit let the call go ahead, and a
#   notice is shown. Several people found out from their logs, after dozens of "blocked" commands had run. (Public reports of
#   2026, and the reference as they quote it, read on 2026-11-30.) Here an error asks.
# - The other way round is known too: a script that is gone ends with code 2, because that is how Python says that it cannot
#   open a file, and every single call is refused in the name of a policy. Here that is an error, and it says so.
# - Many tutorials put the check into the loop (`output += pytest_hook(...)`). It works, and every change of it is a change of
#   the harness. A hook can be taken out with one line of a settings file, and the replay tells you when.
# - AGENTS.md is read by most coding agents today; Claude Code calls it CLAUDE.md. Under 60 lines is a good length: it is paid
#   for with every request, and ten clear rules are followed better than eighty.
