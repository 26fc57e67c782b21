# %% [markdown] tags=["core"]
# # 01 · Messages
#
# **What goes over the wire between a harness and a model?**
#
# 45 minutes, or 20 for the cells tagged `core` · builds `agentlab/messages.py`
#
# before: [00 Start here](00_start_here.ipynb) · next: [02 The loop](02_loop.ipynb)

# %% [markdown] tags=["core"]
# Between a harness and a model there is nothing but messages: a list of dicts goes out, one dict
# comes back. There is no session, no memory and no magic. Whoever has seen these dicts once can read
# any agent, and mend it.
#
# When you are done you can
#
# - write a conversation by hand, with tool calls and their results;
# - read a streaming reply, event by event;
# - say what each stop reason means;
# - understand the API's refusals, and mend a history so that they do not come.
#
# You need some Python. The SDK is the real one, the server is a simulator on your own machine.

# %% tags=["core"]
from agentlab import connect

lab = connect()
client = lab.sync_client()


def ask(messages, **more):
    return client.messages.create(
        model=lab.model, max_tokens=1000, messages=messages, **more
    )


lab

# %% [markdown] tags=["core"]
# ## The failure
#
# Tell the model your name. Then ask for it.

# %% tags=["core"]
reply = ask([{"role": "user", "content": "My name is Ada."}])
print(reply.content[0].text)

reply = ask([{"role": "user", "content": "What is my name?"}])
print(reply.content[0].text)

# %% [markdown] tags=["core"]
# It has not forgotten: it never knew. The server keeps nothing between two requests. What is not *in
# the request* does not exist for the model, so a conversation is something that the harness keeps, and
# sends again, whole, every time.
#
# ## Predict

# %% tags=["core"]
from agentlab.course import predict

question = (
    "Three questions in one conversation: how many messages are in the third request?"
)
guess = predict(question, [1, 3, 5, 6])
guess

# %% tags=["core"]
conversation = []
for question in ("My name is Ada.", "Nice to be here.", "What is my name?"):
    conversation.append({"role": "user", "content": question})
    reply = ask(conversation)
    sent = len(conversation)
    print(
        f"{sent} messages, {reply.usage.input_tokens:2} tokens:", reply.content[0].text
    )
    conversation.append({"role": "assistant", "content": reply.content})

guess.reveal(sent)

# %% [markdown] tags=["core"]
# Now it knows, because we told it again. And look at the tokens: the third request pays for the first
# two once more. A conversation of *n* turns costs about *n²*, which is why half of this course is about
# what to keep and what to drop.
#
# ## Build it
#
# ### Blocks
#
# A message has a role and a content. The content is a list of **blocks**, each with a type. A plain
# string is short for one text block. This is a whole reply, as it came over the wire (without its id):

# %% tags=["core"]
import json


def show(value):
    print(json.dumps(value, indent=1))


show({key: value for key, value in reply.to_dict().items() if key != "id"})

# %% [markdown] tags=["core"]
# `content` is the answer, `usage` is the bill, `stop_reason` says why it ended. Keep an eye on that one.
#
# With a tool at hand, and asked to think aloud, the model writes other blocks too:

# %% tags=["core"]
READ = {
    "name": "Read",
    "description": "Read a text file. The path is relative to the workspace.",
    "input_schema": {
        "type": "object",
        "properties": {"file_path": {"type": "string"}},
        "required": ["file_path"],
    },
}
THINK = {"type": "adaptive", "display": "summarized"}
SUM = (
    "Read the three files a.txt, b.txt and c.txt: how many words do they hold together?"
)
question = {"role": "user", "content": SUM}

reply = ask([question], tools=[READ], thinking=THINK)
for block in reply.content:
    wire = block.to_dict()
    print(f"{block.type:9}", wire.get("thinking") or wire.get("text") or wire["input"])

# %% [markdown] tags=["core"]
# Three `tool_use` blocks in one reply: three files, asked for together. A `tool_use` is a *wish*: the
# model has not read anything and cannot. It waits for three results.
#
# ### Pairs
#
# A few small functions write the dicts for us. They are worth keeping.

# %% tags=["core"]
def user(*blocks):
    return {
        "role": "user",
        "content": [text(b) if isinstance(b, str) else b for b in blocks],
    }


def assistant(*blocks):
    return {
        "role": "assistant",
        "content": [text(b) if isinstance(b, str) else b for b in blocks],
    }


def text(content):
    return {"type": "text", "text": content}


def tool_result(call_id, content, is_error=False):
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": content,
        "is_error": is_error,
    }

# %% tags=["core"]
FILES = {"a.txt": "one two three", "b.txt": "four five", "c.txt": "six"}

wishes = [block for block in reply.content if block.type == "tool_use"]
results = [tool_result(wish.id, FILES[wish.input["file_path"]]) for wish in wishes]
history = [
    question,
    assistant(*(block.to_dict() for block in reply.content)),
    user(*results),
]

reply = ask(history, tools=[READ], thinking=THINK)
print(reply.content[-1].text)

# %% [markdown] tags=["core"]
# Each call and its result are a **pair**, joined by the id. All results of one reply go back in one user
# message, before any text. Change a file above and run both cells again: the answer changes, because
# the model really counts what you sent.
#
# ### Streaming
#
# A long reply takes seconds. With `stream=True` it comes in pieces, as small events:

# %% tags=["core"]
for event in ask([user("Hello! Who are you?")], stream=True):
    delta = getattr(event, "delta", None)
    print(
        f"{event.type:20}",
        getattr(delta, "text", "") or getattr(delta, "stop_reason", "") or "",
    )

# %% [markdown] tags=["core"]
# The message is never sent as a whole. Putting it together is the client's work, and it is not hard: a
# block starts, grows, stops; at the end comes the reason.

# %% tags=["core"]
def collect(events):
    blocks, stop_reason = [], None
    for event in events:
        match event.type:
            case "content_block_start":
                blocks.append(event.content_block.to_dict())
            case "content_block_delta" if event.delta.type == "text_delta":
                blocks[event.index]["text"] += event.delta.text
            case "message_delta":
                stop_reason = event.delta.stop_reason
            case "message_stop":
                return assistant(*blocks), stop_reason
    raise EOFError("the stream ended before the message was complete")


message, stop_reason = collect(ask([user("Hello! Who are you?")], stream=True))
print(stop_reason, "|", message["content"][0]["text"])

# %% [markdown] tags=["more"]
# The last line matters. A connection can break at any moment, and a stream that merely ends looks like a
# finished one: the SDK raises nothing. Only `message_stop` says that the message is whole.

# %% [markdown] tags=["core"]
# ### Stop reasons
#
# There are seven. The simulated model can play them all.

# %% tags=["core"]
from typing import get_args

from anthropic.types import StopReason

for reason in get_args(StopReason):
    prompt = user(f"Show me the stop reason {reason}.")
    reply = ask([prompt], tools=[READ], stop_sequences=["STOP"])
    print(f"{reply.stop_reason:30}", [block.type for block in reply.content])

# %% [markdown] tags=["core"]
# Only `end_turn` and `stop_sequence` mean that the model is done. `max_tokens` is a reply that was cut off, and it may be
# cut in the middle of a tool call. `refusal` may come without any content. `pause_turn` means: send
# everything again, I go on. Chapter 02 makes something of them.

# %% [markdown] tags=["core"]
# ### The validator as a teacher
#
# The API checks every request, and so does the simulator, with the same words. Read its refusals: they
# are the best documentation of the rules. We break five of them.

# %% tags=["core"]
import anthropic


def refused(messages, **more):
    try:
        ask(messages, **more)
    except anthropic.BadRequestError as error:
        print(error.api_message)
        print("  ->", error.rule)
    else:
        print("accepted")


input = {"file_path": "a.txt"}
call = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": input}
result = tool_result("toolu_1", "one two three")

refused([assistant("Hello!"), user("Hi.")])
refused([user("Read a.txt."), assistant(call), user("Well?")], tools=[READ])
refused([user("Read a.txt."), user(result)], tools=[READ])
refused([user("Read a.txt."), assistant(call), user("Here:", result)], tools=[READ])
refused([user("Tell me a joke."), assistant("Why did the agent")])

# %% [markdown] tags=["core"]
# The second one is the classic. It is what happens when a program is interrupted between a call and its
# result, and from then on *every* request of that conversation fails. So the harness mends the history
# before it sends it: a call that was never answered gets an answer that says so.

# %% tags=["core"]
INTERRUPTED = (
    "Interrupted: it is unknown whether this was done. Check before repeating it."
)


def mend(messages):
    mended = []
    for i, message in enumerate(messages):
        mended.append(message)
        calls = [b["id"] for b in message["content"] if b["type"] == "tool_use"]
        after = messages[i + 1]["content"] if i + 1 < len(messages) else []
        answered = {b["tool_use_id"] for b in after if b["type"] == "tool_result"}
        open_calls = [
            tool_result(c, INTERRUPTED, True) for c in calls if c not in answered
        ]
        if open_calls:
            mended.append(user(*open_calls))
    return mended


broken = [user("Read a.txt."), assistant(call), user("Well?")]
refused(mend(broken), tools=[READ])

# %% [markdown] tags=["core"]
# ## Read it
#
# The packaged version does this and more: results in order, ids that are used twice, empty texts, broken
# Unicode. And it obeys one rule that yours does not know yet: **what has been sent is never changed**.

# %% tags=["core"]
from agentlab import messages as packaged
from agentlab.course import show_source

show_source(packaged.normalise)

# %% [markdown] tags=["core"]
# ## See it
#
# The same broken conversation, given to an agent without that component and with it.

# %% tags=["core"]
from agentlab import Agent
from agentlab.course import compare

HELLO = "Hello! Who are you?"
without = await Agent(endpoint=lab, history=broken[:2], normalise=False).ask(HELLO)
with_ = await Agent(endpoint=lab, history=broken[:2]).ask(HELLO)
compare(without, with_, labels=("as it was", "mended"))

# %% [markdown] tags=["core"]
# And a reply as it streams in, drawn. Click on a bar: it shows the JSON.

# %% tags=["core"]
from agentlab.views import watch

result = await watch(Agent(endpoint=lab).run(HELLO))

# %% [markdown] tags=["core"]
# ## Break it
#
# Why must what was sent not be changed? Because the model's thinking is signed together with everything
# before it. Change one word in the past and the signature no longer fits:

# %% tags=["core"]
reply = ask([question], tools=[READ], thinking=THINK)
history = [
    question,
    assistant(*(block.to_dict() for block in reply.content)),
    user(*results),
]
refused(history, tools=[READ], thinking=THINK)

history[0] = user(SUM + " Please.")
refused(history, tools=[READ], thinking=THINK)

# %% [markdown] tags=["more"]
# It is the same with the system prompt and the list of tools: a harness that puts the current time into its
# system prompt breaks this at every turn. And the prompt cache, which makes the *n²* bearable, compares
# in the same way (chapter 09). So: append, never edit.
#
# One more that everybody meets once. Text from the outside can hold half a character, which no JSON can
# carry. Without mending, the request cannot even be written:

# %% tags=["more"]
half = "caf\udce9"  # what Python makes of a Latin-1 file name
try:
    ask([user(half)])
except UnicodeEncodeError as error:
    print(type(error).__name__, error.reason)

print(ask([packaged.valid_unicode(user("Hello, " + half))]).stop_reason)

# %% [markdown] tags=["core"]
# ## Exercises
#
# Fill in the body and run the cell. `hint("01.1")` helps a little, and a little more each time;
# `solution("01.1")` shows one way. `content` and `messages` are lists of plain dicts, as above.

# %% tags=["core", "exercise-01-1"]
def answers(content, run):
    """The user message that answers every tool call in `content`, a list of blocks.

    run(name, input) does the work and returns a text. If it raises, the text of the
    exception is the result and "is_error" is True; otherwise it is False.
    """
    ...


from agentlab.course import check, hint, solution

check("01.1", answers)

# %% tags=["more", "exercise-01-2"]
def whole(events):
    """Whether these streaming events are a complete message.

    Each event is a dict with a "type"; events of blocks also have an "index". A block
    that was started must have stopped, and the message must have ended.
    """
    ...


check("01.2", whole)

# %% tags=["more", "exercise-01-3"]
def cut(messages, keep):
    """At least the last `keep` messages, cut where the API accepts it.

    The first must be a user message without results in it. If it is not, start earlier.
    """
    ...


check("01.3", cut)

# %% [markdown] tags=["core"]
# ## Keep it
#
# `keep` puts what you built into `my_harness.py`, a file of your own that grows with the chapters and needs
# nothing but the `anthropic` package.

# %% tags=["core"]
from agentlab.course import keep

keep(text, user, assistant, tool_result, mend, INTERRUPTED=INTERRUPTED, chapter=1)

# %% [markdown] tags=["core"]
# ## In the wild
#
# - Unanswered tool calls are reported again and again: Claude Code, Crush and the Strands SDK all had sessions
#   that an interrupt made unusable.
# - Some gateways give two calls one id, or none. A harness renames them when they arrive, before they enter
#   the history.
# - The SDK's `tool_runner` keeps the conversation for you, and can even leave it on the server ("threads"). You
#   send less then, and see less.
# - OpenAI's older format has the same idea in other words: `tool_calls` in the assistant message, and one message
#   of role `tool` for each result. Chapter 17 translates.
#
# **With a real model.** Set `ANTHROPIC_API_KEY` and use `connect("anthropic")` at the top: it shows what it costs
# and stops at 0.50 dollars. Its words will differ; the rules will not.
