# %% [markdown] tags=["core"]
# # 11 · Large results
#
# **How does an agent read what does not fit?**
#
# 45 minutes, or 20 for the cells tagged `core` · builds `agentlab/previews.py`, `agentlab/file_cache.py`
#
# before: [10 Compaction](10_compaction.ipynb) · next: 12 Memory (planned)

# %% [markdown] tags=["core"]
# You ask for one number, and the tool brings a web page of a hundred thousand characters. What now? Cut it, and the
# number may be in the part that is gone. Keep it, and you pay for the page at every turn that follows. This chapter
# takes a third way. When you are done you can
#
# - put a large result into a file, and give the model a preview that says how to read on;
# - say why this is decided once and never again, and show what it costs if it is;
# - send a file once and, as long as it does not change, not a second time;
# - refuse a change to a file that the model has not seen as it is now;
# - hand all of that to a child agent, so that it sends the same bytes as its parent.
#
# You need chapter 03 (tools and their results) and chapter 09: every turn sends the whole conversation, and the prompt
# cache makes that cheap as long as nothing changes that was sent before.

# %% tags=["core"]
import os
from pathlib import Path

from agentlab import Agent, connect, tool
from agentlab.course import compare, workspace
from agentlab.simulator.scenarios.previews import almanac
from agentlab.toolbox import toolbox

lab = connect()
folder = workspace("quickstart")
page = almanac()  # the weather of a year, a row a day, as HTML
print(f"{len(page):,} characters, {len(page.splitlines())} lines")
lab

# %% [markdown] tags=["core"]
# ## The failure
#
# A tool fetches that page, and the question needs one row of it. Like every tool here it has a bound: 30,000
# characters, and from what is longer the middle is cut out.

# %% tags=["core"]
TASK = """Fetch https://almanac.example/2026.html: how much rain fell on 17 September,
and would the gauge of notes/rain.md have held it?"""


def fetcher(get, **contract):
    def fetch_page(url: str) -> str:
        """Fetch a page."""
        return get()

    return tool(fetch_page, is_read_only=True, permission="network", **contract)


tools = [fetcher(almanac), *toolbox(folder, shell=False)]
cut = await Agent(tools=tools, endpoint=lab).ask(TASK)
cut

# %% [markdown] tags=["core"]
# The agent is honest, and it does not know. September was in the middle. So away with the bound. And then you go on talking,
# about other things.

# %% tags=["core"]
tools[0] = fetcher(almanac, max_result_chars=1_000_000)
agent = Agent(tools=tools, endpoint=lab)
mark = lab.simulator.log.mark()
whole = await agent.ask(TASK)
await agent.ask("How much is 6*7?")
await agent.ask("And how much is 6*8?")
for entry in lab.simulator.log.since(mark):
    new = entry.input_tokens + entry.cache_write_tokens
    print(f"sent {new + entry.cache_read_tokens:6,} tokens, {new:6,} of them new")
compare(cut, whole, labels=("cut", "whole"))

# %% [markdown] tags=["core"]
# The answer is right, for nearly three times the tokens. And it does not end with the answer: in the list above the table every
# later request carries the page along. Six times eight, for more than thirty thousand tokens.
#
# The cache makes them cheap, as long as it lasts. Five minutes after the last request it is empty, and they are paid in full.
# And it does not make them fewer. Thirty such pages fill a window of a million tokens, and long before that the model looks for
# what you want among rows that nobody wants.
#
# ## Predict
#
# The third way: the page goes into a file. The model gets its beginning, its end, and the path. It has a tool to read
# files, so it can look up the row, but that takes a turn more.

# %% tags=["core"]
from agentlab.course import predict

question = f"With the whole page it took {whole.usage.total_tokens:,} tokens. And now?"
guess = predict(question, ["more, it is a turn more", "about half", "about a sixth"])
guess

# %% [markdown] tags=["core"]
# ## Build it
#
# ### The preview
#
# It is a text that stands for another one. The beginning shows what it is. The end matters as well: there a command says
# how it went. And between them stands what the model needs most: how much is missing, where it is, and how to get it.

# %% tags=["core"]
LIMIT, ROOM = 8_000, 1_000  # characters: what may stay whole, and each end of a preview


def preview(text, path, limit=LIMIT, room=ROOM):
    if len(text) <= limit:
        return text
    head, tail = text[:room], text[-room:]
    line = head.count("\n") + 1
    missing = f"{len(text) - 2 * room:,} of {len(text):,} characters"
    note = f"All of it is in {path}: Read it with offset={line}"
    return f"{head}\n[... {missing} left out. {note} ...]\n{tail}"


print(preview(page, "almanac.html", room=130))

# %% [markdown] tags=["core"]
# The file goes into the workspace, because that is where the model's `Read` may read. It is named after the call.

# %% tags=["core"]
RESULTS = ".agentlab/results"


def keep_result(id, text, folder="."):
    path = f"{RESULTS}/{id}.txt"
    Path(folder, RESULTS).mkdir(parents=True, exist_ok=True)
    Path(folder, path).write_bytes(text.encode("utf-8", "replace"))
    return preview(text, path)


tools[0] = fetcher(lambda: keep_result("page", almanac(), folder))
mine = await Agent(tools=tools, endpoint=lab).ask(TASK)
share = mine.usage.total_tokens / whole.usage.total_tokens
print(guess.reveal(guess.options[0 if share > 1 else 1 if share > 0.3 else 2]))
compare(whole, mine, labels=("whole", "preview"))

# %% [markdown] tags=["core"]
# The same answer, a turn more, and a small part of the tokens. The model saw from the preview that a row is a day and that
# the days are in order, and asked for three lines at the right place. That is why the beginning is worth its 300 tokens.
#
# ### Decided once
#
# Here the tool did it. But you have many tools, and some are not yours. So it belongs in the place that all results pass.
# There, an idea comes to everybody: *while a result is new the model should see all of it. Later, when it is old,
# a preview will do.* Let us try. First ten turns: the page, then nine results of 6,000 characters.

# %% tags=["core"]
def result(number, text):
    call = {"type": "tool_use", "id": f"t{number}", "name": "look", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [answer]},
    ]


texts = [page, *(page[n * 6_000 : (n + 1) * 6_000] for n in range(1, 10))]
history = [{"role": "user", "content": "Describe the weather of this year."}]
for number, text in enumerate(texts, 1):
    history += result(number, text)


def requests(history, shorten):
    """What each turn sends, if the messages pass through `shorten` first."""
    ends = range(1, len(history) + 1, 2)
    return [{"model": lab.model, "messages": shorten(history[:end])} for end in ends]

# %% tags=["core"]
from agentlab.caching import prefix_report


def changed(messages, change):
    """The messages with each list of results changed. The first one is the task."""
    made = [dict(message) for message in messages]
    for message in made[2::2]:
        message["content"] = change(message["content"])
    return made


def older(results):
    return [{**r, "content": preview(r["content"], "a file", 3_000)} for r in results]


def late(messages):
    """The last three results are whole, what is older is a preview."""
    old = max(len(messages) - 6, 1)
    return changed(messages[:old], older) + messages[old:]


prefix_report(requests(history, late))

# %% [markdown] tags=["core"]
# Seven of ten requests lost their prefix. Each time one old result became shorter, and **everything behind it** was
# paid again, at the price of writing to the cache. That is 25 times the price of reading, for this model in November 2026. You saved
# the middle of one result, and paid for two others again. And the page went out whole three times before it was shortened.
#
# A request is compared from its first byte. So the decision falls when the result arrives, before it was ever sent, and is
# written down. Both decisions: to replace it, *and to leave it as it is*.

# %% tags=["core"]
def replace_large(results, decided, limit=LIMIT, folder="."):
    """Tool results as they are sent. What was decided once stays decided."""
    sent = []
    for result in results:
        id, text = result["tool_use_id"], result["content"]
        if id not in decided:
            large = len(text) > limit
            decided[id] = keep_result(id, text, folder) if large else text
        sent.append({**result, "content": decided[id]})
    return sent


decided = {}


def once(messages):
    return changed(messages, lambda r: replace_large(r, decided, folder=folder))


prefix_report(requests(history, once))

# %% [markdown] tags=["core"]
# Nothing is paid twice. Yes, nine results stay that are no longer needed. If one day they have to go, they go **all at once**, in one
# compaction (chapter 10): one break instead of one a turn.
#
# ### Parity for a child
#
# A child agent that goes on from here begins with its parent's messages. Its first request could be read from the cache
# nearly whole. Could: here is a child that was set up to read large pages, so its limit is higher.

# %% tags=["core"]
def child_of(decisions):
    def shorten(results):
        return replace_large(results, decisions, limit=200_000, folder=folder)

    question = {"role": "user", "content": "And which month was the wettest?"}
    return {"model": lab.model, "messages": [*changed(history, shorten), question]}


parent = requests(history, once)[-1]
print(prefix_report([parent, child_of({})]))
print()
print(prefix_report([parent, child_of(dict(decided))]))

# %% [markdown] tags=["core"]
# With its own decisions the child sends the page whole, though its parent sent a preview. That is 31,000 tokens more, and all that
# stands behind is paid again. With a **copy** of the decisions it sends the same bytes, and its own limit holds from the next result on. A copy,
# because what the child decides later is no business of its parent's.
#
# ### A file is not sent twice
#
# Two of the four tool calls above were the same: the model read `notes/rain.md`, and before it answered it read it again.
# Models do this all the time. But the text is still there, further up in the conversation. So remember what each file held.

# %% tags=["core"]
class FileCache:
    def __init__(self, root=".", files=100):
        self.root, self.files, self.held = Path(root), files, {}

    def key(self, path):
        return (self.root / path).resolve()  # two spellings and a link are one file

    def read(self, path):
        key = self.key(path)
        before, data = self.held.get(key), key.read_bytes()
        self.remember(key, data)
        if before == data:
            return f"[{path} is unchanged since you last read or changed it here]"
        return data.decode("utf-8", "replace")

    def remember(self, key, data):
        self.held.pop(key, None)
        self.held[key] = data  # now it is the last one
        while len(self.held) > self.files:
            del self.held[next(iter(self.held))]  # the least recently used


cache = FileCache(folder)
print(cache.read("notes/rain.md"))
print(cache.read("notes/../notes/rain.md"))

# %% [markdown] tags=["core"]
# One sentence instead of the text. (`files` bounds the memory: a dict keeps its order, what is used moves to the end, and the front,
# which was not used for longest, goes first. That is called LRU, least recently used.)
#
# You may object that it reads the file every time. It does; the disk is not what is expensive here. Would it not be enough to look
# at the time of the last change, and at the size? Watch:

# %% tags=["core"]
def same(stat, data):
    now = rain.stat()
    stats = (now.st_mtime_ns, now.st_size) == (stat.st_mtime_ns, stat.st_size)
    print("time and size:", stats, "  bytes:", rain.read_bytes() == data)


rain = folder / "notes/rain.md"
stat, data = rain.stat(), rain.read_bytes()
os.utime(rain, ns=(0, stat.st_mtime_ns + 10**9))  # saved again, as it was
same(stat, data)
rain.write_bytes(data.replace(b"40 mm", b"50 mm"))
os.utime(rain, ns=(0, stat.st_mtime_ns))  # another text, with the old time
same(stat, data)

# %% [markdown] tags=["core"]
# "Is it the same?" Time and size are wrong both times. An editor that saves, or a git checkout, renews the time of a file that is the
# same. And a tool that unpacks or copies puts an old time on a new text, of the same size by chance. **Bytes decide.**
#
# ### No change to what was not seen
#
# The same memory answers a more important question: does the model know what it is about to change?

# %% tags=["core"]
def edit(cache, path, old, new):
    key = cache.key(path)
    if key not in cache.held:
        return f"Read {path} first, then change it."
    if cache.held[key] != key.read_bytes():
        return f"{path} has changed since it was read. Read it again."
    data = cache.held[key].replace(old.encode(), new.encode())
    key.write_bytes(data)
    cache.remember(key, data)
    return f"changed {path}"


print(edit(cache, "notes/wind.md", "wind", "gale"))
print(edit(cache, "notes/rain.md", "noon", "evening"))  # somebody made 40 a 50
cache.read("notes/rain.md")
print(edit(cache, "notes/rain.md", "noon", "evening"))

# %% [markdown] tags=["core"]
# Both refusals say what to do, so the model does it: it reads, and then it edits. The second one matters more than it seems. You and
# the agent work in the same folder, and formatters, hooks and other agents do too. Nobody has to announce a change: the bytes show it.
#
# ## Read it
#
# The packaged version decides in the one place that every result passes. This is the whole decision:

# %% tags=["core"]
from agentlab.course import show_source
from agentlab.previews import Previews

show_source(Previews, "replace")

# %% [markdown] tags=["more"]
# What it adds to yours, and why:
#
# | it adds | because |
# |---|---|
# | the history holds what was sent, and so does the transcript | nothing can be applied in a different way later |
# | `clone()`: an agent takes a copy of what it is given | two agents that share one store would disturb each other |
# | results with images, of which only the text is replaced | an image cannot be previewed, and has a size limit of its own |
# | a file of that name is never overwritten | it may be another run's, and a preview points to it |
# | if the disk is full the text is cut, and says that the rest is lost | a promise that cannot be kept is worse than a cut |
# | a `.gitignore` in its folder | checkpoints should not carry hundreds of pages |
# | `remove_kept(folder, agent.history)` deletes what no history names | nothing goes by itself: a conversation that sleeps in a transcript may point to it |
#
# The file cache knows which *parts* of a file are in the context, and whether the model has seen all of it: a `Write` over a file
# that was read in part is refused, since what was not seen would vanish. After an edit the next `Read` sends the text again. The
# reads of one turn run at the same time, so what they bring counts from the next turn on: otherwise it would be chance which of two
# equal ones sends the text. And a child that begins with its parent's messages is given a `clone()` of the cache: it has the same
# texts before it.

# %% tags=["more"]
from agentlab.file_cache import FileCache as Packaged

show_source(Packaged, "state", "shows", "edited", "forget_contents", "clone")

# %% [markdown] tags=["core"]
# ## See it
#
# One argument, and the agent has it. The tools are the ordinary ones; the page comes whole from the tool. Look at turn 2, where it
# reads three lines of the kept file, and at turn 3, where the note comes back as one sentence.

# %% tags=["core"]
from agentlab.views import watch

folder = workspace("quickstart")
tools = [fetcher(almanac), *toolbox(folder, shell=False)]
parent = Agent(tools=tools, previews=Previews(folder), endpoint=lab)
small = await watch(parent.run(TASK))
compare(whole, small, labels=("whole", "previews"))

# %% [markdown] tags=["core"]
# And the child: it gets the history, the decisions, and what is known of the files. What went over the wire is in the log, so you can compare. (In agentlab
# the history holds what was *sent*, so the previews come with it. The decisions are the second lock, for a history that is
# loaded with its results whole.)

# %% tags=["core"]
import json

known = parent.tools["Read"].cache.clone()  # of the files
tools = [fetcher(almanac), *toolbox(folder, shell=False, cache=known)]
given = {"history": parent.history, "previews": parent.previews}
child = Agent(tools=tools, endpoint=lab, **given)
before = json.dumps(list(child.history))
print("the same bytes:", before == json.dumps(list(parent.history)), child.previews)

await child.ask("How much is 6*7?")
log, last = lab.simulator.log, lab.simulator.log.last
print(f"from the cache: {last.cache_read_tokens}, new: {last.cache_write_tokens}")
prefix_report([log.body(last.number - 1), log.body(last.number)])

# %% [markdown] tags=["core"]
# ## Break it
#
# **A note about a text that is gone.** The cache says "you have it". That is true as long as the conversation is the same one. Here two
# agents share your `FileCache`, as two tabs might, or one agent before and after a compaction.

# %% tags=["core"]
WORDS = "How many words does notes/rain.md have?"
shared = FileCache(folder)


@tool(name="Read", is_read_only=True, permission="read")
def read(file_path: str) -> str:
    """Read a text file."""
    return shared.read(file_path)


for tools in ([read], toolbox(folder, shell=False)):
    for _ in range(2):
        print((await Agent(tools=tools, endpoint=lab).ask(WORDS)).text)

# %% [markdown] tags=["core"]
# The second one counted the words of the note. Whoever takes results out of the context has to tell the cache. The packaged agent
# does (the last two lines): after a compaction, after a run that was cancelled, and when a new conversation gets used tools.
# What may be edited stays so; only the texts are sent again.
#
# **A preview of a preview.** Your rule holds for every result, so it holds for `Read` too. The model reads the kept file, what comes
# back is large, and so it is kept. **One long line**: a page without line ends, as many are, or a JSON document.

# %% tags=["core"]
from agentlab import previews


def note_in(text):
    return "[..." + text.split("\n[...")[1].split("\n")[0]


for turn in (1, 2, 3):
    print(note_in(keep_result(f"read-{turn}", page, folder)))
line = page.replace("\n", "")
print(note_in(preview(line, "page.txt")))
print(note_in(previews.preview(line, "page.txt")))

# %% [markdown] tags=["core"]
# Round in circles: each read of a file makes another file. So `Read` is exempt, by `preview=False` in its contract. It has a bound
# of its own, 20,000 characters, and says where to go on. And in a long line "offset=1" begins where you began.
#
# The packaged one counts columns as well: its `Read` can begin at one, and its `Grep` shows the part of a long line around each match
# and says at which column it begins. What no preview solves: a model that *should* read everything,
# to sum up a page, say. It will read on, part by part, and in the end all of it is in the context, plus the turns. For that there are
# child agents (chapter 15): they read, and only what they found comes back.
#
# ## Exercises
#
# Your preview cuts lines in the middle, so the row at its edge is there in half. Mend that. Then the cache learns to count bytes, and
# the decisions become a plain function that a child can use. `hint("11.1")` helps a little.

# %% tags=["core", "exercise-11-1"]
def by_lines(text, path, limit, room):
    """The text, or what stands in its place if it has more than `limit` characters.

    Then it is three parts: the first whole lines, as many as fit into `room` characters
    (line ends count); a note on a line of its own; the last whole lines that fit into
    `room`. The note: "[lines 3 to 8 of 10 are in p: Read it with offset=3]", with the
    first and the last line that is missing, how many there are, and the path. A line
    ends at "\\n" only, as Read counts. `limit` is at least twice `room`.
    """
    ...


from agentlab.course import check, hint, solution

check("11.1", by_lines)

# %% tags=["more", "exercise-11-2"]
def read(cache, path, data, files, size):
    """What is sent to the model when a file is read, and what is remembered then.

    `cache` is a dict from paths to the bytes that were read; the path that was used
    least recently stands first. Returns two things. What is sent: `data`, or None if
    the cache holds exactly these bytes for that path ("unchanged" is said then). And
    the new cache, as a list of (path, bytes): what was read now stands last; from the
    front so many are dropped that at most `files` files and `size` bytes are left. The
    one that was read now is never dropped. `cache` itself stays as it is.
    """
    ...


check("11.2", read)

# %% tags=["more", "exercise-11-3"]
def replace(results, decided, limit, shorten):
    """What is sent for each result of a history, and what is decided then.

    `results` are pairs (id, text), in order. `decided` is a dict from ids to the text
    that was sent for them before, by this agent or by its parent: that is sent again,
    whatever the limit is now. For an id that is not in it: the text, or what
    shorten(id, text) gives if it has more than `limit` characters. It writes a file, so
    call it only then. Returns the list of texts, and the decisions with the new ones,
    in a dict of its own.
    """
    ...


check("11.3", replace)

# %% [markdown] tags=["core"]
# ## Keep it
#
# Preview, decisions and cache go into your harness. In your loop it is one line: `results = replace_large(run_calls(calls), decided)`.

# %% tags=["core"]
from agentlab.course import keep

mine = [preview, keep_result, replace_large, FileCache, edit]
keep(*mine, chapter=11, LIMIT=LIMIT, ROOM=ROOM, RESULTS=RESULTS)

# %% [markdown] tags=["core"]
# ## In the wild
#
# - **Claude Code** saves a result of an MCP tool that has more than 50,000 characters to a file, and the conversation gets the path.
#   A tool can declare another number, and a second bound, 25,000 tokens (`MAX_MCP_OUTPUT_TOKENS`), stands beside it. (Its
#   documentation as described on 2026-10-05.) Its code has been described as giving a child its parent's replacement
#   decisions, for the same reason as here.
# - **Deep Agents** (LangChain) does it in a middleware: over 20,000 tokens a result goes to its file system, with a preview and a
#   path (`tool_token_limit_before_evict`, read on 2026-11-30).
# - **mtime** is the usual test for "changed since it was read", and the usual complaint. In issue 10498 of Claude Code (October
#   of 2025) an editor that saved the same text was enough for a refusal. Wave, an agent that follows it closely, added a
#   comparison of content in July 2026, for files that were read whole (wave-agent, pull request 1483).
# - It is often said that a file cache saves the *call*: the second read comes from memory. It does not. The model has asked, and
#   that turn is paid for. What is saved is the text, at this turn and at every one after it.
#
# **With a real model** the row is found in other ways: mostly by `Grep` for the date, which the preview suggests too. And it may not
# read the note twice. The limit of 8,000 characters is a choice, not a measurement; with small ones the model reads more often,
# with large ones you carry more. Count it on your own tasks.
