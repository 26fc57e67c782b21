"""Small scenarios about the reply itself: a greeting, every stop reason, thinking, silence."""

from __future__ import annotations

import re
from typing import Any

from agentlab.simulator.improviser import fill_arguments
from agentlab.simulator.scenario import Chat, Turns, scenario
from agentlab.simulator.scenarios.loops import steady_calls
from agentlab.simulator.vocabulary import pattern
from agentlab.tokens import CHARS_PER_TOKEN

_GREETING = pattern(
    r"""^\W*(?:(?:hi|hello|hey|good (?:morning|afternoon|evening)|ciao|salve|buongiorno|buonasera)\b
    (?: (?:there|claude|world|a tutti))?\W*)?
    (?:who are you|what are you|introduce yourself|how are you|chi sei|presentati|come stai)?\W*$"""
)
_HELLO = """
Hello! I am a simulated model: a small program on your own machine that speaks the Messages API.
No key, no network and no money are involved. What I say follows scenarios, so I am rarely clever,
but the requests, the streaming events, the tool calls and the errors are the ones that a real
model would make your program deal with. Give me tools and a task, and watch what goes over the
wire.
"""
_CIAO = """
Ciao! Sono un modello simulato: un piccolo programma sulla tua macchina che parla la Messages API.
Niente chiave, niente rete, nessuna spesa. Quello che dico segue degli scenari, quindi di rado sono
brillante, ma le richieste, gli eventi dello stream, le chiamate agli strumenti e gli errori sono
quelli che un modello vero farebbe gestire al tuo programma. Dammi degli strumenti e un compito, e
guarda che cosa passa sul filo.
"""


@scenario(
    "hello",
    chapter=1,
    opens=lambda text: bool(re.search(r"\w", text) and _GREETING.match(text)),
    example="Hello! Who are you?",
)
def hello(chat: Chat) -> Turns:
    """Greets, in a few sentences: enough text to see it stream."""
    yield chat.say(" ".join(chat.pick(_HELLO, _CIAO).split()))


_ASKED = pattern(
    r"(?:show me|play|mostrami) (?:the |a |lo )?stop[ _-]reason\W+(?P<reason>[a-z][a-z_]+)"
)
_MOST_TOKENS = 2_000


def counting(characters: int) -> str:
    """A text that counts from 1, at least so many characters long."""
    text, number = "", 0
    while len(text) < characters:
        number += 1
        text += f"{number}, "
    return text


@scenario(
    "stop-reasons",
    chapter=1,
    opens=_ASKED.pattern,
    example="Show me the stop reason tool_use.",
)
def stop_reasons(chat: Chat) -> Turns:
    """Ends its turn with the stop reason that the prompt names."""
    asked = _ASKED.search(chat.task)
    reason = asked["reason"].lower() if asked else "end_turn"
    special = {
        "end_turn": _end_turn,
        "max_tokens": _max_tokens,
        "pause_turn": _pause_turn,
        "refusal": _refusal,
        "stop_sequence": _stop_sequence,
        "tool_use": _tool_use,
    }
    if reason in special:
        yield from special[reason](chat)
    elif reason == "model_context_window_exceeded":
        yield chat.say("Here the model's window is full, in the middle of").stop(reason)
    else:
        yield chat.say(f"This turn ends with {reason}, which no documentation lists.").stop(reason)


def _end_turn(chat: Chat) -> Turns:
    yield chat.say("I have said what I had to say, so this turn ends with end_turn.")


def _refusal(chat: Chat) -> Turns:
    why = "Played on request, to show what a refusal looks like."
    refused = chat.say("I can't help with this.")
    yield refused.stop("refusal", category="general_harms", explanation=why)


def _max_tokens(chat: Chat) -> Turns:
    limit = chat.request.get("max_tokens") or _MOST_TOKENS
    if limit > _MOST_TOKENS:
        yield chat.say(f"Your max_tokens is {limit}, more than I have to say. Set it to 50.")
        return
    numbers = counting(int(limit * CHARS_PER_TOKEN * 1.5) + 60)
    yield chat.say(f"I count until max_tokens cuts me off: {numbers}and that is all.")


def _stop_sequence(chat: Chat) -> Turns:
    sequences = chat.request.get("stop_sequences") or []
    if not sequences:
        yield chat.say('The request has no stop_sequences. Send stop_sequences=["END"] along.')
        return
    yield chat.say(f"Right before it I stop. {sequences[0]} This would come after it.")


def _tool_use(chat: Chat) -> Turns:
    known = [*steady_calls(chat), *_unknown_tools(chat)]
    if not known:
        yield chat.say("tool_use needs a tool that does no harm, such as LS. None is offered.")
        return
    tool, arguments = known[0]
    results = yield chat.say("This turn ends with tool_use.").call(tool, **arguments)
    result = results[0].text[:200] or "-"
    yield chat.say(f"The result is here, so now I can end with end_turn. It was:\n{result}")


def _unknown_tools(chat: Chat) -> list[tuple[str, dict[str, Any]]]:
    """Calls to tools of the learner's own, with arguments made of the prompt."""
    harmful = {chat.tool(name) for name in ("Write", "Edit", "Bash")}
    tools = chat.offered.tools
    own = [name for name in tools if "input_schema" in tools[name] and name not in harmful]
    return [(name, fill_arguments(chat, name)) for name in own]


def _pause_turn(chat: Chat) -> Turns:
    """With a server tool as on the API; without one the pause is only shown."""
    if not chat.decide("web_search" in chat.offered.tools):
        yield chat.say(
            "I pause here, as the API does in the middle of long server tools. This request has "
            "none, so it would not be taken back with this turn at its end: add web_search to "
            "its tools, and I go on."
        ).stop("pause_turn")
        yield chat.say("You sent my paused turn back as it was, so I went on and finished.")
        return
    search = chat.say("Let me search.").server_call("web_search", query="herons")
    yield search.stop("pause_turn")
    page = {
        "type": "web_search_result",
        "url": "https://example.org/herons",
        "title": "Herons (simulated)",
        "encrypted_content": "c2ltdWxhdGVk",
        "page_age": None,
    }
    found = chat.say().server_result("web_search_tool_result", [page])
    yield found.say(
        "You sent my paused turn back as it was, so I went on: one page, a simulated one."
    )


@scenario(
    "thinker",
    chapter=1,
    opens=r"seconds\b.{0,40}\bnovember|secondi\b.{0,40}\bnovembre",
    example="Think it through: how many seconds are there in November?",
)
def thinker(chat: Chat) -> Turns:
    """Thinks before each of three calculations, every one of which needs the one before."""
    known = "30"
    for factor, unit in (("24", "hours"), ("60", "minutes"), ("60", "seconds")):
        thought = f"November has {known} of the last unit, and each has {factor} {unit}."
        expression = f"{known} * {factor}"
        value = yield chat.think(thought).call("Calculator", expression=expression)
        if chat.decide(not value[0] or value[0].failed or not value[0].number):
            why = value[0].text or "the result is gone"
            yield chat.think("Without it I am stuck.").say(f"I have no number of {unit}: {why}")
            return
        known = value[0].number or known
    yield chat.think("That was the last step.").say(f"November has {known} seconds.")


@scenario(
    "empty",
    chapter=2,
    opens=r"(?:but |and )say nothing|non dire (?:nulla|niente)",
    example="Look around, but say nothing.",
)
def empty(chat: Chat) -> Turns:
    """Makes one call, then ends its turn without a word, as real models sometimes do."""
    calls = steady_calls(chat)
    if calls:
        tool, arguments = calls[0]
        yield chat.call(tool, **arguments)
    yield chat.say()
