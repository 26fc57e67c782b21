# %% [markdown] tags=["core"]
# # 08 · Retry
#
# **Which errors deserve another attempt, and when?**
#
# 40 minutes, or 20 for the cells tagged `core` · builds `agentlab/retry.py`
#
# before: [07 Hooks](07_hooks.ipynb) · next: [09 Costs](09_costs.ipynb)

# %% [markdown] tags=["core"]
# An agent that works for an hour sends a hundred requests, and one of them will fail. The server is
# overloaded, the connection breaks, a limit is reached. Most of that passes by itself. So you try again, and
# it is easy to try again in a way that makes everything worse. When you are done you can
#
# - sort errors by what they deserve: another attempt, some patience, or none at all;
# - write the waiting in fifteen lines, and see two minutes of it without waiting for them;
# - say what a crowd of clients does to a server that is already too busy, with numbers;
# - repeat an answer that broke off in the middle, without saying anything twice or doing anything twice.
#
# You need chapter 02: the loop, and that every turn sends the whole conversation.

# %% tags=["core"]
from agentlab import Agent, connect
from agentlab.retry import Chances, Retry
from agentlab.simulator import Fault
from agentlab.toolbox import calculator, clock_tool

lab = connect()
faults = lab.simulator.faults  # what can go wrong, switched on and off as you like
client = lab.sync_client()
lab

# %% [markdown] tags=["core"]
# ## The failure
#
# The simulator can be told to fail. Here its second request gets a **529**, "overloaded", as the real API
# answers when too many people want something at once. This agent has no retry.

# %% tags=["core"]
TASK = "How many minutes have passed since midnight?"
tools = [clock_tool(lab.clock), calculator]

busy = faults.add(Fault("status", status=529, calls=[2]))
dead = await Agent(tools=tools, endpoint=lab, retry=Retry({})).ask(TASK)
busy.on = False
dead

# %% [markdown] tags=["core"]
# The first turn had gone well. Then came one 529, half a second too early, and the task is dead. The usual
# answer is short: try again until it works. Here it is, but for your sake it stops after 200 attempts.

# %% tags=["core"]
import anthropic


def hammer(**request):
    for _ in range(200):  # while True
        try:
            return client.messages.create(**request)
        except anthropic.APIError:
            pass  # it will work next time


hello = [{"role": "user", "content": "Hello! Who are you?"}]
ask = {"model": lab.model, "max_tokens": 200, "messages": hello}

busy = faults.add(Fault("status", status=529, times=40))
mark = lab.simulator.log.mark()
hammer(**ask)
print("overloaded:", lab.simulator.log.count(by="status", since=mark))

mark = lab.simulator.log.mark()
hammer(**{**ask, "max_tokens": -1})
print("a mistake: ", lab.simulator.log.count(by="status", since=mark))

# %% [markdown] tags=["core"]
# Two faults in a few lines. The server that had too much to do got forty more requests in the blink of an
# eye. And a request with a mistake in it was sent 200 times, though it will be wrong for ever.
#
# You may say: forty, what is that to a server? So let everybody do it.
#
# ## Predict

# %% tags=["core"]
from agentlab.course import predict

question = (
    "For 20 seconds a server can do less than it is asked to. Clients that fail try "
    "again at once, up to ten times. How many get an answer, compared with giving up?"
)
guess = predict(question, ["half as many", "about as many", "twice as many"])
guess

# %% [markdown] tags=["core"]
# ## Build it
#
# A small simulation answers that. It has a crowd of clients, one server, and a policy: a function that is told
# what failed, and says how many seconds to wait before the next attempt, or `None` to give up.

# %% tags=["core"]
from agentlab import storm


def at_once(failed):
    return 0.0 if failed.attempt <= 11 else None  # attempt 2 is the second one


never, hasty = storm.run(storm.no_retry), storm.run(at_once)
print(f"requests a task: {never.amplification:.1f} and {hasty.amplification:.1f}")
print(f"answered:        {never.foreground:.0%} and {hasty.foreground:.0%}")

better = hasty.foreground / never.foreground
options = guess.options
guess.reveal(options[0] if better < 0.7 else options[1] if better < 1.4 else options[2])

# %% [markdown] tags=["core"]
# Half as many. Ten requests for each task reach the server, and turning one away is not free: somebody has to
# accept the connection, read the key, write the refusal. Here that costs 2 % of an answer, which is an
# assumption; with ten times the requests it eats the little room that was left. Retries were meant to help,
# and took away half of what there was.
#
# So: not every error, not at once, not as often as you like, not everybody. One after the other.
#
# ### Not every error
#
# The SDK raises an exception of its own for each. Let us provoke some.

# %% tags=["core"]
def provoke(kind="status", **how):
    armed = faults.add(Fault(kind, **how))
    try:
        client.messages.create(**ask)
    except anthropic.APIError as error:
        return error
    finally:
        armed.on = False


def kind_of(error):
    status = getattr(error, "status_code", None)
    if status == 429:
        return "rate limit"
    if status in (408, 409) or (status or 0) >= 500:
        return "overloaded"
    broken = isinstance(error, anthropic.APIConnectionError)
    return "connection" if broken else "refused"


for status in (400, 401, 402, 403, 404, 409, 413, 429, 500, 503, 529):
    error = provoke(status=status)
    print(status, type(error).__name__.ljust(24), kind_of(error))
error = provoke("reset")
print("---", type(error).__name__.ljust(24), kind_of(error))

# %% [markdown] tags=["core"]
# Four kinds, and a reason for each:
#
# | kind | what happened | more tries |
# |---|---|--:|
# | rate limit | *you* sent too much in this minute. It passes by definition | 10 |
# | overloaded | *everybody* sends too much, or something broke. Patience, but little | 3 |
# | connection | it broke, perhaps because it was old. A new one shows whether that was it | 1 |
# | refused | the request, the key or the bill is wrong, and will be wrong next time | 0 |
#
# It looks at the status and never at the text: `"429" in str(error)` also finds a message with 1429 tokens in it.
#
# ### Not at once, and not for ever
#
# Half a second, then twice as long each time. Every wait is shortened at random, so that clients which failed
# together do not come back together; that is called **jitter**. If the server says how long to wait, it is right and
# we are not. And all waits together stay below two minutes: who asks for more gets an error now, not later.

# %% tags=["core"]
import random

TRIES = {"rate limit": 10, "overloaded": 3, "connection": 1, "refused": 0}
random.seed(8)  # the same waits on every machine, for this lesson only


def wait_before(attempt, error, waited=0.0, foreground=True, most=120.0):
    """Seconds to wait before that attempt (2 is the second), or None: give up."""
    kind = kind_of(error)
    tries = 0 if kind == "overloaded" and not foreground else TRIES[kind]
    if attempt > 1 + tries:
        return None
    response = getattr(error, "response", None)
    asked = response.headers.get("retry-after") if response is not None else None
    wait = min(0.5 * 2 ** (attempt - 2), 16.0) * (0.5 + 0.5 * random.random())
    if asked and asked.isdigit() and int(asked) > 0:
        wait = float(asked)
    return wait if waited + wait <= most else None


limited = provoke(status=429)
print(*(f"{wait_before(attempt, limited):.2f}" for attempt in range(2, 12)))
for asked in ("7", "3600"):
    limited = provoke(status=429, headers={"retry-after": asked})
    print(f"the server asks for {asked}:", wait_before(2, limited))

# %% [markdown] tags=["core"]
# (`foreground` comes in a moment.) Around it goes a loop that calls, waits and calls again. How it waits it is *told*:
# in earnest with `asyncio.sleep`, here with the clock of this course, on which a wait only moves the hands. So you see a
# minute of patience at once.

# %% tags=["core"]
import asyncio


async def retrying(call, sleep=asyncio.sleep, foreground=True):
    attempt, waited = 1, 0.0
    while True:
        try:
            return await call()
        except (anthropic.APIError, ConnectionError) as error:
            attempt += 1
            wait = wait_before(attempt, error, waited, foreground)
            if wait is None:
                raise
            print(f"{type(error).__name__}: attempt {attempt} in {wait:.2f} seconds")
        await sleep(wait)
        waited += wait


messages, start = lab.client().messages, lab.clock.now()
faults.add(Fault("status", status=429, times=7))
reply = await retrying(lambda: messages.create(**ask), lab.clock.sleep)
print(reply.content[-1].text[:6], f"... after {lab.clock.now() - start:.1f} seconds")

# %% [markdown] tags=["core"]
# ### Not everybody
#
# A harness sends two sorts of requests. The answer that you are waiting for is in the **foreground**. Titles,
# summaries, suggestions, a second opinion on a command: nobody watches those, and if one fails, there is a way to
# do without. They are in the **background**. On an overloaded server they make way. `wait_before` gives them no
# further attempt at a 529. Now your policy meets the crowd, next to the ones that people write first.

# %% tags=["core"]
overloaded = provoke(status=529)


def mine(failed):
    return wait_before(failed.attempt, overloaded, foreground=failed.foreground)


policies = {**storm.POLICIES, "mine": mine}
del policies["... and not in the background"]  # the packaged one; yours stands for it
chart = storm.compare(policies)
told = storm.run(storm.packaged, storm.Server(says_when=True))
chart.outcomes["the server says when"] = told
chart

# %% [markdown] tags=["core"]
# Read it from above. Ten hasty tries are the worst, and their number is the reason: each policy multiplies the
# requests, here by 3 to 10. That is the "3 to 10 times" that is often quoted: three tries make the 3, ten the 10.
#
# - **Doubling, three times**, takes the top off. **Jitter** alone answers nobody more. It flattens the first waves, of all those
#   whose answers broke off in the same moment.
# - What helps those who wait is that **the others step back**: more of them are answered than by ten tries, with a
#   quarter of the requests. The price stands beside it: most of what nobody waits for is never answered.
# - In the last row each refusal says *when* there will be room (`retry-after`). That helps more than any client can.
#
# *Recovery* is the time from the end of the overload to the last refusal. With ten tries a second apart, clients are
# refused for twelve more seconds, by a server that is well again.
#
# ### An answer that breaks off
#
# So far the whole answer failed. But answers come in pieces, and then the worst moment is the middle: HTTP has
# long said `200`, half a sentence is on the screen, and now comes an error, or nothing.

# %% tags=["core"]
brief = [{"role": "user", "content": "Show me the stop reason end_turn."}]
ask, problems = {**ask, "messages": brief}, []


async def show(tries=2):
    for _ in range(tries):
        try:
            async with messages.stream(**ask) as stream:
                async for piece in stream.text_stream:
                    print(piece, end="")
                return await stream.get_final_message()
        except anthropic.APIStatusError as error:
            problems.append((error.status_code, error.type))


for kind in ("error_event", "cut_clean"):
    faults.add(Fault(kind, after=4, times=1))
    reply = await show()
    print(f"\n[{kind}: stop reason {reply.stop_reason}]")
print("status and type:", *problems)

# %% [markdown] tags=["core"]
# Three traps. The first answer was begun again, and the user reads its beginning twice. Its error carries status 200, so
# `kind_of` calls it refused; only its *type* says what it is. And the second stream just ended. The SDK raises nothing, and
# who does not look at the stop reason takes half a sentence for the answer.
#
# There is no way to go on in the middle: the server has forgotten what it said. The request is repeated whole, and what was
# shown is void. So the pieces of one attempt belong together, and nothing counts before the end has come.

# %% tags=["core"]
IN_STREAM = {"rate_limit_error": 429, "overloaded_error": 529, "api_error": 500}


def kind_of(error):
    status = getattr(error, "status_code", None) or 0
    if status == 200:  # an error event in a stream: its type says which status it is
        status = IN_STREAM.get(error.type, 400)
    if status == 429:
        return "rate limit"
    if status in (408, 409) or status >= 500:
        return "overloaded"
    broken = (anthropic.APIConnectionError, ConnectionError)
    return "connection" if isinstance(error, broken) else "refused"

# %% tags=["core"]
class Incomplete(ConnectionError):
    """The stream ended without its last event."""


async def whole_answer():
    async with messages.stream(**ask) as stream:
        reply = await stream.get_final_message()
    if reply.stop_reason:
        return reply
    raise Incomplete("no stop reason")


for kind in ("error_event", "cut_clean"):
    faults.add(Fault(kind, after=4, times=1))
    print((await retrying(whole_answer, lab.clock.sleep)).content[-1].text)

# %% [markdown] tags=["core"]
# One rule is left, and it costs nothing if it is kept from the start: **repeat the request, never the work.** Tools
# run only after a message is whole. Those that ran have their results in the conversation, and a request that is
# repeated takes them along.
#
# ## Read it
#
# The packaged policy is a table, and a function that reads it.

# %% tags=["core"]
from agentlab.course import show_source

show_source("agentlab.retry", "TABLE", "Retry")

# %% [markdown] tags=["more"]
# What it adds to yours: `retry-after-ms`, and `retry-after` as a date; nonsense in either is ignored; a seed for the
# jitter, or none; a server that says `x-should-retry` is believed. The sorting is in `agentlab/failures.py`: there an error
# event counts as the status that its type stands for. And this is the only place in the harness that repeats anything.
# Each wait is an event, so the views can show it, and it ends at once if you press stop.

# %% tags=["more"]
from agentlab import stream

show_source(stream.stream_reply)

# %% [markdown] tags=["core"]
# ## See it
#
# The same task as at the top, on a bad day: two 529s, a rate limit that asks for four seconds, and a stream that
# breaks off. Dashed bars are waits. What stands before them and has a red border was void.

# %% tags=["core"]
from agentlab.course import compare
from agentlab.views import watch

bad_day = [
    Fault("status", status=529, calls=[1, 2]),
    Fault("status", status=429, headers={"retry-after": "4"}, calls=[4]),
    Fault("error_event", after=6, calls=[6]),
]
armed = [faults.add(fault) for fault in bad_day]
survived = await watch(Agent(tools=tools, endpoint=lab).run(TASK))
for fault in armed:
    fault.on = False
compare(dead, survived, labels=("no retry", "retry"))

# %% [markdown] tags=["core"]
# Same question, same tools, three turns. The waiting is in the time. A request that is refused costs no tokens. One that
# *breaks off* had begun: its prompt was read and is paid for, and so is what it wrote. Therefore a loop that keeps a budget
# has to count it. How much was written nobody told (the last count comes with the end), so it is estimated from what arrived.
#
# ## Break it
#
# **Repeat everything.** Give the class "refused" nine more tries, and send a mistake. And then **a server that asks for
# an hour.** A harness that waits at most a minute would ask it again and again inside that hour, for nothing.

# %% tags=["core"]
async def requests(agent):
    mark = lab.simulator.log.mark()
    result = await agent.ask(TASK)
    print(lab.simulator.log.count(by="status", since=mark), f"{result.seconds:.0f} s")
    return result.detail


stubborn = Retry({"refused": Chances(foreground=9, background=9)})
await requests(Agent(tools=tools, endpoint=lab, retry=stubborn, max_tokens=10**9))
busy = faults.add(Fault("status", status=429, headers={"retry-after": "3600"}))
detail = await requests(Agent(tools=tools, endpoint=lab))
busy.on = False
print(detail.partition(". ")[2])

# %% [markdown] tags=["core"]
# The first sent ten times what had been refused, and let a user wait for over a minute for a message that was there at
# once. Agents have done this with a damaged conversation. What was refused needs a change: another key, a smaller
# request, or, if the conversation is too long, compaction (chapter 10). The second ended at once. Its error says when to
# come back.
#
# **Retry in several places.** The SDK tries three times. Somebody puts a helper around it that tries three times. And
# the job that calls the helper tries five times. Each is reasonable.

# %% tags=["core"]
def times(tries, call):
    for _ in range(tries):
        try:
            if answer := call():
                return answer
        except anthropic.RateLimitError:
            pass


limit = faults.add(Fault("status", status=429, headers={"retry-after-ms": "1"}))
mark = lab.simulator.log.mark()
sdk = client.with_options(max_retries=2)  # its default; agentlab sets it to 0
times(5, lambda: times(3, lambda: sdk.messages.create(**ask)))
print("3 x 3 x 5 =", len(lab.simulator.log.since(mark)), "requests")
limit.on = False

# %% [markdown] tags=["core"]
# **Repeat the work.** Here is a tool with an effect, and a request that fails *after* it ran. "Something failed, so run
# the task again" is the shortest retry of all.

# %% tags=["core"]
from agentlab import tool
from agentlab.course import workspace

ledger = workspace("quickstart") / "ledger.txt"
BOOK = "Book these five payments: 1, 2, 3, 4 and 5."


@tool
async def book(payment: int) -> str:
    """Book one payment: add a line to ledger.txt."""
    with ledger.open("a") as file:
        file.write(f"payment {payment}\n")
    return "booked"


for name, policy in (("run again", Retry({})), ("ask again", Retry())):
    ledger.write_text("")
    faults.add(Fault("status", status=500, calls=[2]))  # the turn after the tools
    while not (await Agent(tools=[book], endpoint=lab, retry=policy).ask(BOOK)).ok:
        pass  # run the whole task again
    print(f"{name}: {len(ledger.read_text().splitlines())} payments in the ledger")

# %% [markdown] tags=["core"]
# Ten payments instead of five. The calls of the second run were new ones, with new ids, so nothing could notice.
#
# What no retry solves: a *tool* that times out after it has sent the mail. Whether it happened is not known, so the
# packaged executor never repeats a tool. It tells the model that the effect may have happened, and to check first.
#
# ### Try it yourself
#
# The fault board breaks things while an agent runs. Each switch names the chapter that handles it. Two are on, for one call
# each. Flip others, and run the second cell again.

# %% tags=["more"]
from agentlab.views import Board

agent = Agent(tools=tools, endpoint=lab)
board = Board(lab, agent)
board.on("429", "cut streams", how="once")
board

# %% tags=["more"]
await watch(agent.run(TASK))

# %% [markdown] tags=["core"]
# ## Exercises
#
# Fill in the body and run the cell. `hint("08.1")` helps a little, `solution("08.1")` shows one way.

# %% tags=["core", "exercise-08-1"]
def more_tries(status, foreground):
    """How many more times a request that failed with that HTTP status is sent.

    429: 10. Every status from 500 on, and 408 and 409: 3 in the foreground, none in the
    background. None, which means that there was no answer: 1. Everything else: 0.
    """
    ...


from agentlab.course import check, hint, solution

check("08.1", more_tries)

# %% tags=["more", "exercise-08-2"]
def wait_s(attempt, retry_after, waited):
    """Seconds to wait before that attempt (2 is the second), or None: give up now.

    Our own waits are 0.5, 1, 2 ... and at most 16. retry_after is the text of the
    server's header, or None: a finite number above 0 is waited instead. But all waits,
    with the seconds waited before, may take 120 seconds together and no more.
    """
    ...


check("08.2", wait_s)

# %% tags=["more", "exercise-08-3"]
async def all_or_nothing(open_stream, tries):
    """The text of the first stream that is whole, None if none of so many tries is.

    open_stream() begins an attempt: an async iterator of ("text", piece) and, at the
    end of a whole one, ("stop", reason). A broken one raises ConnectionError, or ends.
    """
    ...


check("08.3", all_or_nothing)

# %% [markdown] tags=["core"]
# ## Keep it
#
# In your own harness this becomes the only layer that repeats. So tell the SDK to leave it: `AsyncAnthropic(max_retries=0)`.

# %% tags=["core"]
from agentlab.course import keep

keep(kind_of, wait_before, retrying, Incomplete, chapter=8, TRIES=TRIES)

# %% [markdown] tags=["core"]
# ## In the wild
#
# - **The SDK** repeats by itself, which is easy to forget: twice, after 0.5 and 1 second (at most 8, less up to a quarter),
#   at 408, 409, 429 and from 500 on. It waits as long as `retry-after` says, be it an hour; it never repeats a stream that
#   has begun. (anthropic 2.14.0.) OpenAI's has the same numbers, and gives up if it is asked for more than two minutes
#   (openai 3.57.0). `langchain-anthropic` 1.7.10 passes 2 on. All read on 2026-11-30.
# - **Claude Code** has these classes, as its code has been described: ten tries from 500 ms for a 429, three for a 529 and only
#   if somebody waits, one for a connection. `CLAUDE_CODE_MAX_RETRIES` sets the ten.
# - **Gemini CLI** went from 3 attempts to 10 in February 2026, and adds up to 20 % to a wait that the server asked for, so
#   that clients which were told the same number do not return together (pull request 19949). agentlab waits exactly what it
#   was told.
# - **nanobot** counted 12 requests where it expected 4: its own tries, times those of the SDK (issue 2760, April 2026).
# - Many tutorials still catch `RateLimitError`, call `time.sleep(2 ** attempt)`, and set `max_retries=3` on the client as well.
#   Today: one of the two. No `sleep` that blocks the event loop and cannot be cancelled. 529 belongs on the list. And no timeout
#   of 30 seconds for a whole answer, which cuts off long ones: bound the *silence* between two events (agentlab: 60 seconds).
#
# **With a real model** nothing here changes but the clock: waits are waited. Faults can only be switched on in the simulator.
# A fleet of your own should use `Retry(seed=None)`: with one seed, all its members wait the same.
