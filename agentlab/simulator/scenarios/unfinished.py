"""Half of the work, then a stop: why an autopilot asks for the rest."""

from __future__ import annotations

from agentlab.simulator.improviser import understands
from agentlab.simulator.intents import files_in
from agentlab.simulator.scenario import Chat, Result, Turns, scenario


def _count(result: Result) -> str:
    name = str(next(iter(result.input.values()), "the file"))
    if not result:
        return f"{name}: its content is no longer in this conversation"
    return (
        f"{name}: could not be read ({result.text})"
        if result.failed
        else f"{name}: {result.words} words"
    )


@scenario(
    "unfinished",
    chapter=2,
    opens=r"count the words .{0,200}one after the other",
    example="Count the words of notes/rain.md and notes/wind.md, one after the other.",
)
def unfinished(chat: Chat) -> Turns:
    """Does half of the work and stops; asked for the rest, does it and says that it is complete."""
    files = [*files_in(chat.task), "notes/rain.md", "notes/wind.md"][:2]
    first = yield chat.say("I begin with the first file.").call("Read", file_path=files[0])
    reply = yield chat.say(f"{_count(first[0])}. Next I would do the same with {files[1]}.")
    if understands(reply):
        return  # the user has moved on to something else
    second = yield chat.say("Right, the second file is still to do.").call(
        "Read", file_path=files[1]
    )
    summary = f"{_count(first[0])}; {_count(second[0])}."
    if chat.decide(second[0] and second[0].failed) or not chat.offers("TaskComplete"):
        yield chat.say(
            f"Both are counted now. {summary}"
            if not second[0].failed
            else f"Not complete. {summary}"
        )
        return
    yield chat.call("TaskComplete", summary=f"Counted both files. {summary}")
