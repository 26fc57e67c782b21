"""What holds after any sequence of turns, faults and compactions, at any threshold."""

import asyncio
import copy
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentlab.clock import VirtualClock
from agentlab.compaction import CannotCompact, Compaction, compact, pins_in, text_in, validate
from agentlab.messages import (
    INTERRUPTED,
    History,
    assistant,
    normalise,
    text,
    tool_result,
    tool_use,
    user,
)
from agentlab.models import default_model
from agentlab.side_calls import Answered, SideCallFailed
from agentlab.simulator.marks import Mark, encode_signature
from agentlab.simulator.playback import play
from agentlab.simulator.prefix import chain
from agentlab.simulator.validation import Validator

TASK = "Port module X to Rust.\nPin: never touch legacy/"
READ = {"name": "Read", "input_schema": {"type": "object", "properties": {"path": {}}}}
TEXTS = st.sampled_from(
    ["Do it.", "Pin: use tabs", "What did the log say?", "[Summary of the conversation so far]",
     "[What the user asked last, word for word:]", "lone \ud83d half", "è già così — 数据",
     "Unpin: use tabs", "Unpin: never touch legacy/"]
)  # fmt: skip
RESULTS = st.tuples(st.sampled_from([0, 3, 200, 2_000]), st.booleans())
TURNS = st.builds(
    dict,
    kind=st.just("turn"),
    times=st.sampled_from([1, 4]),  # so that there is something to drop
    thinks=st.booleans(),
    says=st.booleans(),
    results=st.lists(RESULTS, max_size=3),
)
COMPACTIONS = st.builds(
    dict,
    kind=st.just("compact"),
    level=st.sampled_from(["summary+memory", "summary", "clear", "truncate", "api"]),
    keep_rounds=st.integers(0, 4),
    window=st.sampled_from([2_500, 6_000, 30_000]),
    reason=st.sampled_from(["share", "window", "asked", "refused"]),
    small_model=st.sampled_from(["works", "works", "fails", "is empty", "rambles"]),
)
REST = st.lists(
    st.one_of(
        TURNS,
        TURNS,
        COMPACTIONS,
        st.builds(dict, kind=st.just("user"), text=TEXTS),
        st.builds(dict, kind=st.just("cancelled"), text=TEXTS),
    ),
    max_size=10,
)
WORK = {"kind": "turn", "times": 5, "thinks": True, "says": True, "results": [(200, False)]}
STEPS = REST.map(lambda rest: [WORK, *rest])


class SmallModel:
    """The simulated small model without HTTP, or one that fails in some way."""

    clock, model = VirtualClock(), "small"

    def __init__(self, does):
        self.does = does

    async def ask(self, purpose, prompt, *, deadline_s, max_tokens):
        assert purpose == "summary"
        prompt.encode()
        event = {"purpose": purpose, "model": self.model, "usage": {}, "cost_usd": 0.001}
        if self.does == "fails":
            raise SideCallFailed("overloaded", event)
        body = {"model": default_model(), "max_tokens": max_tokens, "messages": [user(prompt)]}
        check(body)
        said = play(body, chain(body)).content[-1]["text"]
        said = {"is empty": "  \n", "rambles": "worked on files " * 3000}.get(self.does, said)
        return Answered(said, {}, event)


def check(body):
    """Raise what the strict server would."""
    Validator().check(body, chain(body))


def request(history):
    return {
        "model": default_model(), "max_tokens": 1000, "system": "Use tabs.", "tools": [READ],
        "messages": history,
    }  # fmt: skip


class Run:
    """A run that does what a list of steps says, checking every request that it would send."""

    def __init__(self):
        self.history, self.turns, self.asked = History([user(TASK)]), 0, TASK
        self.pins = {"never touch legacy/"}
        self.calls = 0

    def do(self, step):
        match step["kind"]:
            case "turn":
                for _ in range(step["times"]):
                    self.turn(step["thinks"], step["says"], step["results"])
            case "user":
                self.say(step["text"])
            case "cancelled":  # in the middle of two calls: their results say so
                self.turn(True, False, [(0, True), (0, True)], INTERRUPTED)
                self.say(step["text"])
            case "compact":
                self.compact(**step)

    def say(self, said):
        self.history.append(user(said))
        normalise(self.history)
        self.asked = text_in([user(said)]).replace("\ud83d", "\ufffd")
        self.pins |= set(pins_in([user(said)]))
        self.pins.discard(said.removeprefix("Unpin: "))

    def turn(self, thinks, says, results, content=None):
        if self.history[-1]["role"] == "assistant":
            self.say("Go on.")
        normalise(self.history)
        body = request(self.history)
        check(body)
        self.history.mark_sent()
        self.turns += 1
        blocks = []
        if thinks:
            mark = Mark("improviser", self.turns, prefix=chain(body).whole)
            thought = f"thought {self.turns}"
            signature = encode_signature(mark, thought)
            blocks.append({"type": "thinking", "thinking": thought, "signature": signature})
        if says or not results:
            blocks.append(text(f"I chose way {self.turns} because PORT_{self.turns} = 1."))
        ids = []
        for _ in results:
            self.calls += 1
            ids.append(f"toolu_{self.calls}")
            blocks.append(tool_use(ids[-1], "Read", {"path": f"src/f{self.calls}.py"}))
        self.history.append(assistant(*blocks))
        if ids:
            pairs = zip(ids, results, strict=True)
            answers = [
                tool_result(i, content or ("x = 1 \ud800" * size if size else "nothing"), failed)
                for i, (size, failed) in pairs
            ]
            self.history.append(user(*answers))

    def compact(self, kind, level, keep_rounds, window, reason, small_model):
        normalise(self.history)
        before = copy.deepcopy(list(self.history))
        chosen = Compaction(
            level, window=window, keep_rounds=keep_rounds, summary_tokens=300, chunk_tokens=2_000,
            memory="Notes: build with make.",
        )  # fmt: skip
        try:
            made = asyncio.run(
                compact(
                    self.history, level, SmallModel(small_model), settings=chosen,
                    max_tokens=500, overhead=100, reason=reason, pins=["no new dependencies"],
                )
            )  # fmt: skip
        except CannotCompact as problem:
            assert str(problem)
            assert self.history == before
            return
        assert self.history == before
        self.pins.add("no new dependencies")
        self.history = History(made.messages)
        assert normalise(self.history) == []
        assert made.after_tokens < made.before_tokens
        self.check_what_must_stay()

    def check_what_must_stay(self):
        blocks = [b for m in self.history if m["role"] == "user" for b in m["content"]]
        texts = [b["text"] for b in blocks if b["type"] == "text"]
        assert texts[0] == TASK
        assert self.asked in texts
        assert validate(self.history) == []
        everything = text_in(self.history)
        assert set(pins_in(self.history)) == self.pins
        assert all(pin in everything for pin in self.pins)
        everything.encode()

    def whole(self):
        return json.dumps(self.history)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_after_anything_the_strict_server_takes_the_next_request(steps):
    first, second = Run(), Run()
    for step in steps:
        first.do(step)
    if first.history[-1]["role"] == "assistant":
        first.say("Go on.")
    normalise(first.history)
    check(request(first.history))
    first.check_what_must_stay()
    for step in steps:
        second.do(step)
    if second.history[-1]["role"] == "assistant":
        second.say("Go on.")
    normalise(second.history)
    assert second.whole() == first.whole()
