# %% [markdown] tags=["core"]
# # 09 · Costs
#
# **Where do the tokens and dollars go?**
#
# 50 minutes, or 20 for the cells tagged `core` · builds `agentlab/costs.py`, `agentlab/caching.py`
#
# before: [08 Retry](08_retry.ipynb) · next: [10 Compaction](10_compaction.ipynb)

# %% [markdown] tags=["core"]
# A model keeps nothing between two requests, so a harness sends the whole conversation again at every turn, and pays for
# it again. This chapter is about that bill. When you are done you can
#
# - say why a run that is twice as long costs four times as much, and what brings that back to about twice;
# - read the `usage` of a reply in five buckets, and price it to the cent;
# - find the one changed character that makes a run nine times as dear;
# - choose a model for each job, let a job wait for half the price, and stop a run before the money is gone.
#
# You need chapter 02: the loop, and that every turn sends the whole conversation.

# %% tags=["core"]
from agentlab import Agent, Limits, connect
from agentlab.costs import dollars
from agentlab.course import workspace
from agentlab.simulator.scenarios.economy import write_diary
from agentlab.toolbox import calculator, clock_tool, file_tools

lab = connect()
client, log = lab.sync_client(), lab.simulator.log
folder = workspace("quickstart")
write_diary(folder)  # thirty pages of a weather station
tools = [*file_tools(folder), calculator, clock_tool(lab.clock)]
lab

# %% [markdown] tags=["core"]
# ## The failure
#
# Thirty pages of a diary, about 880 tokens each, one page a turn. That is 26,000 tokens to read. A million tokens of
# input cost two dollars, so you expect five cents.

# %% tags=["core"]
TASK = "How much rain fell in the thirty days of the diary?"
SYSTEM, MANY = "You read diaries.", Limits(turns=40)

start = log.mark()
agent = Agent(tools=tools, system=SYSTEM, endpoint=lab, limits=MANY, cache=False)
plain = await agent.ask(TASK)
requests = [log.body(entry.number) for entry in log.since(start)]
plain

# %% [markdown] tags=["core"]
# Seventeen times as much. Nothing went wrong: no loop, no error, the right answer. But the first page was sent thirty
# times, the second one 29 times, the last one once.
#
# ## Predict

# %% tags=["core"]
from agentlab.course import predict

question = "If the diary had only fifteen pages, what would the run cost?"
guess = predict(question, ["about half", "about a third", "about a quarter"])
guess

# %% [markdown] tags=["core"]
# ## Build it
#
# Look at what each turn sent, and at the cost so far. After turn 16 fifteen pages have been read.

# %% tags=["core"]
ends = [event for event in plain.events if event.type == "assistant.turn_end"]
for turn in (1, 2, 16, 31):
    sent, so_far = ends[turn - 1].usage["input_tokens"], ends[turn - 1].total_usd
    print(f"turn {turn:2}: {sent:6,} tokens in, {dollars(so_far)} so far")

half = ends[15].total_usd / ends[30].total_usd
guess.reveal(guess.options[0 if half > 0.42 else 1 if half > 0.3 else 2])

# %% [markdown] tags=["core"]
# Half the pages, a quarter of the bill. If every turn adds `a` tokens, then turn `n` sends `n * a`, and all turns
# together send `a * (1 + 2 + … + n)`, about `a * n² / 2`. **The history makes it quadratic.** Sixty pages would
# cost over three dollars, three hundred about eighty.
#
# ### Five buckets
#
# The server has seen most of each request one turn before. It can keep what it has read: you mark a place in the
# request with `cache_control`, and the next request that begins with *exactly the same* pays a twentieth for everything
# up to there (a tenth, on many models). Here is one long system prompt, sent five times. Look at the `usage` of each
# reply.

# %% tags=["core"]
text = (folder / "diary" / "day-01.md").read_text()
hello = [{"role": "user", "content": "Hello! Who are you?"}]
USAGES = {}


def ask(name, **mark):
    system = [{"type": "text", "text": text, **mark}]
    body = {"model": lab.model, "max_tokens": 200, "messages": hello}
    usage = client.messages.create(**body, system=system).usage
    USAGES[name] = usage.to_dict()
    read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    print(f"{name:14} input {usage.input_tokens:4}  written {written:4}  read {read:4}")


five, hour = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}
ask("no mark")
ask("a mark", cache_control=five)
ask("once more", cache_control=five)
lab.clock.advance(6 * 60)
ask("6 min later", cache_control=five)
lab.clock.advance(6 * 60)
ask("for an hour", cache_control=hour)

# %% [markdown] tags=["core"]
# What is kept lives five minutes from its last use, or an hour if you ask for it. After six minutes it was gone, and
# paid again. Every number of a bill comes from these fields:
#
# | bucket | the field of `usage` | times the input price |
# |---|---|--:|
# | input | `input_tokens`: what stands *behind the last mark*, not the whole prompt | 1 |
# | cache read | `cache_read_input_tokens` | 0.025 to 0.1 |
# | cache write, 5 minutes | `cache_creation_input_tokens`, less those for an hour | 1.25 |
# | cache write, 1 hour | `cache_creation.ephemeral_1h_input_tokens` | 2 |
# | output | `output_tokens`, thinking included | 5 |
#
# The buckets do not overlap, so a price is one multiplication each and one sum. Missing and `null` count as 0. A model
# that the table does not know has *no* price. That is an answer, and not $0.00. (The prices are dollars per million
# tokens.)

# %% tags=["core"]
PRICES = {lab.model: {"input": 2.0, "cache_read": 0.1, "cache_write_5m": 2.5}}
PRICES[lab.model] |= {"cache_write_1h": 4.0, "output": 10.0}  # October 2026


def buckets(usage):
    hour = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
    return {
        "input": usage.get("input_tokens") or 0,
        "cache_read": usage.get("cache_read_input_tokens") or 0,
        "cache_write_5m": (usage.get("cache_creation_input_tokens") or 0) - hour,
        "cache_write_1h": hour,
        "output": usage.get("output_tokens") or 0,
    }


def cost(usage, model):
    if price := PRICES.get(model):
        return sum(n * price[name] for name, n in buckets(usage).items()) / 1_000_000
    return None


for name, usage in USAGES.items():
    print(f"{name:14} {dollars(cost(usage, lab.model))}")
print("another model ", dollars(cost(usage, "some-model-9")))

# %% [markdown] tags=["core"]
# Writing costs a quarter more than not caching at all. It pays from the first time that it is read.
#
# ### Where the marks go
#
# A request may have four. The server compares in a fixed order: tools, system prompt, messages. So one mark ends the
# tools, one the system prompt, and one the last message, where the *next* request will want to go on. The fourth stands
# where the request before this one ended. Why not trust the server to find that? It looks back from a mark over 20
# blocks and no more, and one turn with many calls adds more than that.

# %% tags=["core"]
def mark_last(blocks):
    mark = {"cache_control": {"type": "ephemeral"}}
    return [*blocks[:-1], {**blocks[-1], **mark}] if blocks else blocks


def with_breakpoints(request):
    made, messages = dict(request), list(request["messages"])
    if request.get("tools"):
        made["tools"] = mark_last(request["tools"])
    if request.get("system"):
        made["system"] = mark_last([{"type": "text", "text": request["system"]}])
    for index in {len(messages) - 1, len(messages) - 3}:
        if index >= 0:
            content = messages[index]["content"]
            if isinstance(content, str):
                content = [{"type": "text", "text": content}]
            messages[index] = {**messages[index], "content": mark_last(content)}
    return {**made, "messages": messages}

# %% [markdown] tags=["core"]
# Now send the thirty-one requests of the run above once more, with your marks, and add up your prices. (Six minutes
# pass first, so that the cache holds nothing from an earlier cell.)

# %% tags=["core"]
def send(requests):
    lab.clock.advance(6 * 60)
    usages = []
    for request in requests:
        body = {name: value for name, value in request.items() if name != "stream"}
        reply = client.messages.create(**with_breakpoints(body))
        usages.append(reply.usage.to_dict())
    return usages


usages = send(requests)
total = sum(cost(usage, lab.model) for usage in usages)
print(f"{dollars(total)} instead of {dollars(plain.cost_usd)}")
for turn in (1, 2, 16, 31):
    print(f"turn {turn:2}:", buckets(usages[turn - 1]))

# %% [markdown] tags=["core"]
# The same tokens, an eighth of the price. Each page is now *written* once, and that part of the bill grows with the
# pages: it is linear. The reading is still quadratic, but at a twentieth: three hundred pages would cost less than $5.
# So the cache does not take the square away. It pushes it back until something else, the window, comes first (chapter
# 10).
#
# ### What breaks it
#
# *Exactly the same* is meant literally: from the first byte that differs, everything is paid again, at the price of a
# write. Nothing fails, and nobody tells you. So write the function that finds the place.

# %% tags=["core"]
def parts_at(before, now):
    old, new = before.get("tools", []), now.get("tools", [])
    for index in range(max(len(old), len(new))):
        if old[index : index + 1] != new[index : index + 1]:
            return f"tools[{index}]"
    if before.get("system") != now.get("system"):
        return "system"
    for index, message in enumerate(before["messages"][: len(now["messages"])]):
        if message != now["messages"][index]:
            return f"messages[{index}]"
    return ""


print("lost in this run:", sum(map(bool, map(parts_at, requests, requests[1:]))))

# %% [markdown] tags=["core"]
# And here are four ways to lose it, each of which somebody took for harmless: tools that come out of a set or of
# several servers, in any order; the time in the system prompt; a task that is corrected at turn 20; and old results
# that are cut to a line, because nobody needs them any more.

# %% tags=["core"]
import random


def any_order(request, turn):
    tools = random.Random(turn).sample(request["tools"], len(request["tools"]))
    return {**request, "tools": tools}


def a_clock(request, turn):
    return {**request, "system": f"{SYSTEM} It is 09:{turn:02}."}


def edited(request, turn):
    task = TASK + " In millimetres." if turn >= 20 else TASK
    first = {"role": "user", "content": task}
    return {**request, "messages": [first, *request["messages"][1:]]}


def cut_to_a_line(request, turn):
    messages = list(request["messages"])
    for index in range(2, len(messages) - 10, 2):  # the results, but not the last five
        result = messages[index]["content"][0]
        messages[index] = {"role": "user", "content": [{**result, "content": "a page"}]}
    return {**request, "messages": messages}

# %% tags=["core"]
def lost(change):
    changed = [change(request, turn) for turn, request in enumerate(requests, 1)]
    usages = send(changed)
    usd = sum(cost(usage, lab.model) for usage in usages)
    tokens = sum(sum(buckets(usage).values()) for usage in usages)
    places = list(filter(None, map(parts_at, changed, changed[1:])))
    where = f"lost {len(places)} x, at {places[0]}" if places else ""
    print(f"{change.__name__:15} {tokens:7,} tokens  {dollars(usd):8} {where}".rstrip())
    return changed


def unchanged(request, turn):
    return request


ways = (unchanged, any_order, a_clock, edited, cut_to_a_line)
broken = [lost(change) for change in ways]

# %% [markdown] tags=["core"]
# - Tools in any order and a clock: **nine times the price**, and more than with no cache at all, because each write
#   costs a quarter more. Sort the tools. Let the model ask for the time (a tool), or put it at the end of the newest
#   message.
# - One edit costs once, for all that stands behind it: four cents at turn 20. What was sent, stays. What has changed is
#   said in a new message.
# - Cutting old results saved 60 % of the tokens and almost **tripled the price**. Every turn it revised one more
#   message. A preview is a fine thing if it is decided once, when the result arrives, and never again (chapter 11).
#
# ## Read it
#
# The packaged price adds what a table must know: price tiers by the size of the prompt, batches, the many spellings of
# a model's name. Source and date stand beside each row. The packaged `with_breakpoints`
# (`show_source(caching.with_breakpoints)`) looks for the end of the last request exactly, passes over what may carry no
# mark (thinking, empty text), and turns every text into a block, so that a message is the same on the day it has a mark
# and on the day it has none.

# %% tags=["core"]
from agentlab import caching, costs
from agentlab.course import show_source

show_source(costs.price)

# %% [markdown] tags=["core"]
# `prefix_report` is your `parts_at` with a reason and the dollars lost. Put the requests of your own harness in, one
# after the other.

# %% tags=["core"]
for changed in broken[1:]:
    step = caching.prefix_report(changed).broken[0]
    print(f"{step.place}: {step.reason}")

# %% [markdown] tags=["core"]
# ## See it
#
# The run from the top with the cache on, as it always is unless you turn it off. The pale part of a bar came from the
# cache. The dashed line is what the same run costs without it: the curve of the failure above.

# %% tags=["core"]
from agentlab import watch
from agentlab.course import compare

lab.clock.advance(6 * 60)
agent = Agent(tools=tools, system=SYSTEM, endpoint=lab, limits=MANY)
cached = await watch(agent.run(TASK), views=["meter"])
compare(plain, cached, labels=("no cache", "cache"))

# %% [markdown] tags=["core"]
# ### A model for each job
#
# Not every request needs the model that does the work. This agent tidies a project, and for each command that no rule
# decides it asks a small model (chapter 06). One meter counts the whole tree: agents, side calls, sub-agents. And
# `what_if` prices a finished run on other models; here it is the one through the diary.

# %% tags=["core"]
from IPython.display import display

from agentlab.meter import CostMeter
from agentlab.models import small_model
from agentlab.permissions import Permissions
from agentlab.permissions.classifier import Classifier
from agentlab.toolbox import toolbox
from agentlab.what_if import what_if

project = workspace("quickstart")
nobody = project / "nobody"  # a home without settings
judged = Permissions(workspace=project, home=nobody, classifier=Classifier())
hands = toolbox(project, clock=lab.clock)
agent = Agent(tools=hands, endpoint=lab, permissions=judged)
tidied = await agent.ask("Tidy up this project and leave it in order.")
display(CostMeter.of(tidied.events))
what_if(cached, [small_model(), lab.model, "claude-opus-5-5", "gpt-5"])

# %% [markdown] tags=["core"]
# More calls went to the small model than to the large one, for 4 % of the bill. The second table is arithmetic on the
# tokens of one run. Another model would take other turns, so read it as a rough number. It does not say whether the
# small model would have got the rain right.
#
# ### Half price for those who can wait
#
# Nobody waits for an evaluation, for labels, for the summaries of last month. A **batch** takes up to 100,000 requests,
# answers them within a day (mostly within an hour), and costs half, cached tokens too. Here the small model judges the
# 120 labelled commands of chapter 06.

# %% tags=["core"]
from agentlab.permissions import classifier
from agentlab.permissions.confusion import PLACE, labelled
from agentlab.permissions.judge import Call

job, output = [], {"format": {"type": "json_schema", "schema": classifier.SCHEMA}}
for number, one in enumerate(labelled()):
    call = Call("Bash", {"command": one.command}, "execute")
    question = classifier.prompt_of(call, PLACE, one.task)
    params = {"model": small_model(), "max_tokens": 300, "output_config": output}
    params |= {"messages": [{"role": "user", "content": question}]}
    params["system"] = classifier.SYSTEM
    job.append({"custom_id": f"command-{number}", "params": params})

batches = lab.client().messages.batches
batch = await batches.create(requests=job)
while batch.processing_status != "ended":
    await lab.clock.sleep(30)  # on a real server: minutes to hours
    batch = await batches.retrieve(batch.id)
print({kind: n for kind, n in batch.request_counts if n})

# %% tags=["core"]
import json

right, half, whole = 0, 0.0, 0.0
async for line in await batches.results(batch.id):  # in any order: the id says which
    one = labelled()[int(line.custom_id.removeprefix("command-"))]
    if line.result.type == "succeeded":
        reply = line.result.message
        used = costs.Usage.from_api(reply.usage)
        right += json.loads(reply.content[-1].text)["decision"] == one.label
        half += costs.price_reply(reply.usage, reply.model)
        whole += costs.price(used, reply.model)
print(f"{right} as labelled; {dollars(half)} instead of {dollars(whole)}")
print("how the reply says it:", reply.usage.service_tier)

# %% [markdown] tags=["core"]
# An agent cannot be run like this: it needs each answer before it can ask the next question. Each request of a batch
# may fail alone, so look at the type of every result.
#
# ### Budgets
#
# What a request costs is known only after it. So there are two ways to keep a budget, and a warning
# when four fifths of it are spent.

# %% tags=["core"]
async def spend(mode, max_tokens=1000):
    lab.clock.advance(6 * 60)
    limits = Limits(turns=40, usd=0.05, mode=mode)
    agent = Agent(tools=tools, endpoint=lab, limits=limits, max_tokens=max_tokens)
    result = await agent.ask(TASK)
    print(f"{mode}, max_tokens={max_tokens}: {result.turns} turns")
    for event in result.events:
        if event.type == "budget.warning":
            print(f"  turn {event.turn}: {event.text}")
    print(f"  {result.detail}")


await spend("overshoot_one")
await spend("strict")
await spend("strict", max_tokens=8192)

# %% [markdown] tags=["core"]
# `overshoot_one` stops *after* the call that passes the budget. `strict` sends a request only if the most it could cost
# still fits: the whole prompt written anew, and a reply that takes all of its room. So it never spends too much, and
# leaves something over. With room for 8,192 tokens the room alone costs more than the budget, and nothing is sent.
# agentlab takes `strict` where real money is spent.
#
# ## Break it
#
# **Fewer tokens, more dollars.** The oldest remedy for a long history is to send only its end.

# %% tags=["core"]
def the_last_twenty(request, turn):
    first, *rest = request["messages"]
    return {**request, "messages": [first, *rest[-20:]]}


for change in (unchanged, the_last_twenty):
    changed = lost(change)
print(caching.prefix_report(changed).broken[0].reason)

# %% [markdown] tags=["core"]
# Four tokens of ten saved, and four times the price: from the moment the window begins to slide, no request is a
# continuation of the one before. If something has to leave, then let much of it leave at once, and seldom. That is
# chapter 10.
#
# **Wrong counts, old prices.** `input_tokens` of this API leaves out what was cached. `prompt_tokens` of OpenAI's
# *contains* it. Take one for the other and the sum is far off, the further the better the cache works. And a price
# list that was copied goes wrong without a sound. The one below is from a tutorial that this course grew out of.

# %% tags=["core"]
from agentlab.prices import seed_prices

used, everything = cached.usage.to_dict(), cached.usage.prompt_tokens
forgotten = costs.Usage(output_tokens=used["output_tokens"])  # input_tokens was 0
twice = costs.Usage(**{**used, "input_tokens": everything})
cases = {"right": cached.usage, "forgotten": forgotten, "counted twice": twice}
for name, usage in cases.items():
    print(f"{name:14} {dollars(costs.price(usage, lab.model))}")
seed_prices()

# %% [markdown] tags=["core"]
# Three of five are wrong, one of them by eight times. So keep prices as data, with source and date, and compare your
# sum with the real bill once a month. `agentlab.prices.prices()` shows the table of agentlab, of October and November 2026.
#
# ## Exercises
#
# Fill in the body and run the cell. `hint("09.1")` helps a little, `solution("09.1")` shows one way.

# %% tags=["core", "exercise-09-1"]
def other_buckets(usage):
    """Tokens of a reply as {"input": ..., "cache_read": ..., "output": ...}.

    usage is as OpenAI's chat completions send it: prompt_tokens contains what was
    cached, and prompt_tokens_details says in cached_tokens how much that was.
    completion_tokens is the output, reasoning included. Any of them may be missing or
    None. If more was cached than the prompt has, then all of the prompt was.
    """
    ...


from agentlab.course import check, hint, solution

check("09.1", other_buckets)

# %% tags=["more", "exercise-09-2"]
def input_dollars(first, added, turns, cached):
    """Dollars for all input of a conversation, rounded to six places.

    The first request has first tokens, and each one after it has added more: the
    history is sent again. Input costs $2 a million tokens. With cached, everything new
    in a request is written to the cache, at $2.50 a million, and everything that the
    request before had sent is read from it, at $0.10 a million.
    """
    ...


check("09.2", input_dollars)

# %% tags=["more", "exercise-09-3"]
def may_send(spent, budget, prompt, room, strict):
    """Whether the next request may be sent: True or False.

    spent and budget are dollars. A budget of None is no limit. If spent is None, the
    price of an earlier call is not known, so no budget can be kept and nothing is sent.
    Nothing is sent either once all is spent. With strict it is sent only if the most
    that it can cost still fits: its prompt tokens written to the cache, at $2.50 a
    million, and a reply that takes all of its room, at $10 a million.
    """
    ...


check("09.3", may_send)

# %% [markdown] tags=["core"]
# ## Keep it
#
# Your harness gets the four marks and a price. In the loop of chapter 02, call `with_breakpoints` on each request just
# before it is sent, and `cost` on `reply.usage.to_dict()` behind it. From then on `input_tokens` is only what stands
# behind the last mark, so let the loop count `sum(buckets(...).values())` instead.

# %% tags=["core"]
from agentlab.course import keep

pieces = (cost, buckets, with_breakpoints, mark_last, parts_at)
keep(*pieces, chapter=9, PRICES=dict(PRICES))

# %% [markdown] tags=["core"]
# ## In the wild
#
# - **The clock** is the classic. nanobot had the time in its system prompt, to the minute (issue 981, February 2026);
#   pi had it to the second (issue 1873, March 2026), as had a dozen others. What is left of it in careful harnesses is
#   the date.
# - **The order of tools.** MCP promises none, so harnesses sort: deepagents since April 2026 (pull request 2497), Crush
#   since October 2025 (1271). Coder's proxy measured one session before and after: 58 cents and 17 (aibridge pull
#   request 49, November 2025).
# - **Counting.** aider is reported to bill cached tokens twice (issue 5516, August 2026, open). genkit took `input_tokens` for all of
#   the input, and showed 7 where 10,000 were sent (issue 5412, May 2026, open). browser-use charged cache writes twice
#   (issue 5305, July 2026).
# - **OpenAI** caches by itself, from 1,024 tokens on, in the same order and with the same condition: the prefix must
#   not change. There are no marks to set, and what is written costs no more than input (GPT-5, November 2026).
# - **Tutorials** say "cache the system prompt, and repeated input costs 90 % less". For a chat that is right. In an
#   agent the system prompt is the small part: it is the *history* that has to be cached, and that takes the mark that
#   moves.
#
# **With a real model** the same holds, and costs money. This chapter reads its requests from the simulator's log and moves
# the simulator's clock, so run it there. In your own harness, keep the bodies that you send and give them to
# `prefix_report`. The simulator's token counts are estimates; its rules for the cache are the published ones. And a cached
# prefix is not only cheaper: its answer also starts sooner.
