"""Previews in a running agent: what it and a child send, and what a cancelled run leaves."""

import asyncio
import json

from agentlab import Agent, connect
from agentlab.previews import Previews
from agentlab.simulator.scenario import get
from agentlab.simulator.scenarios.previews import almanac
from agentlab.toolbox import toolbox
from agentlab.tools import tool


@tool(name="fetch_page", is_read_only=True, permission="network")
def fetch_page(url: str) -> str:
    """Fetch a page."""
    return almanac()


def workspace(folder):
    (folder / "notes").mkdir()
    (folder / "notes" / "rain.md").write_text("The gauge overflows at 40 mm.\n")
    return [fetch_page, *toolbox(folder, shell=False)]


async def test_the_model_works_from_the_preview_and_the_whole_page_is_on_disk(tmp_path):
    agent = Agent(tools=workspace(tmp_path), previews=Previews(tmp_path))
    result = await agent.ask(get("almanac").example)
    assert result.ok and result.text.startswith("46.2 mm fell on 17 September 2026.")
    [kept] = (tmp_path / ".agentlab" / "results").glob("toolu_*.txt")
    assert kept.read_text() == almanac()
    told = [e for e in result.events if e.type == "tool.execution_complete"]
    assert len(told[0].content) < 2_500  # the transcript holds what was sent


async def test_a_child_sends_the_same_bytes_as_its_parent(tmp_path):
    tools, previews = workspace(tmp_path), Previews(tmp_path)
    endpoint = connect()
    parent = Agent(tools=tools, previews=previews, endpoint=endpoint)
    await parent.ask(get("almanac").example)
    child = Agent(tools=tools, previews=parent.previews, endpoint=endpoint, history=parent.history)
    assert json.dumps(list(child.history)) == json.dumps(list(parent.history))
    decided = parent.previews.state
    assert child.previews.state == decided
    await child.ask("How much is 6*7?")
    assert len(child.previews.state) > len(decided)
    assert parent.previews.state == decided  # and `previews`, which both were given, knows none
    assert len(previews.state) == 0
    sent = json.dumps(list(child.history)[: len(parent.history)])
    assert sent == json.dumps(list(parent.history))


async def test_after_a_cancelled_run_a_file_is_sent_again(tmp_path):
    tools = workspace(tmp_path)
    agent = Agent(tools=tools, previews=Previews(tmp_path))
    run = asyncio.ensure_future(agent.ask(get("almanac").example))
    read = agent.tools["Read"].cache
    while not len(read):  # noqa: ASYNC110 (it waits for a thread)
        await asyncio.sleep(0.001)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    path = tmp_path.resolve() / "notes" / "rain.md"
    assert not read.shows(path, path.read_bytes(), (1, None, 1))


async def test_a_child_with_nothing_before_it_is_sent_the_text(tmp_path):
    endpoint, words = connect(), "How many words does notes/rain.md have?"
    parent = Agent(tools=workspace(tmp_path), endpoint=endpoint)
    await parent.ask(words)
    known = parent.tools["Read"].cache.clone()
    child = Agent(tools=toolbox(tmp_path, shell=False, cache=known), endpoint=endpoint)
    assert (await child.ask(words)).text == "notes/rain.md has 6 words."


async def test_two_conversations_with_the_same_tools_each_get_the_text(tmp_path):
    tools, endpoint = workspace(tmp_path), connect()
    first, second = (Agent(tools=tools, endpoint=endpoint) for _ in range(2))
    for agent in (first, second, first):
        result = await agent.ask("How many words does notes/rain.md have?")
        assert result.text == "notes/rain.md has 6 words."


async def test_a_conversation_that_begins_in_the_middle_of_another_gets_the_text_too(tmp_path):
    tools, endpoint = workspace(tmp_path), connect()
    outer, inner = (Agent(tools=tools, endpoint=endpoint) for _ in range(2))
    words, said = "How many words does notes/rain.md have?", []
    async for event in outer.run(words):
        if event.type == "assistant.turn_start" and event.turn == 1:
            said.append((await inner.ask(words)).text)
        if event.type == "session.end":
            said.append(event.text)
    assert said == ["notes/rain.md has 6 words."] * 2


async def test_what_is_read_and_overwritten_in_one_turn_was_not_seen(tmp_path, play):
    path = tmp_path / "a.txt"
    path.write_text("much work")

    def write(chat):
        return chat.say("I write it.").call("Write", file_path="a.txt", content="new")

    endpoint = play(
        lambda chat: chat.say("Blind.").call("Read", file_path="a.txt").call(
            "Write", file_path="a.txt", content="new"
        ),
        write,
        write,
        lambda chat: chat.say("Done."),
    )  # fmt: skip
    agent, blind = Agent(tools=toolbox(tmp_path, shell=False), endpoint=endpoint), []
    async for event in agent.run("go"):
        if event.type == "tool.execution_complete":
            blind.append((event.name, event.is_error, path.read_text()))
    assert blind == [
        ("Read", False, "much work"),
        ("Write", True, "much work"),
        ("Write", False, "new"),
        ("Write", False, "new"),
    ]


async def test_a_result_that_was_cut_when_it_was_sent_stays_when_the_run_is_resumed(tmp_path, play):
    @tool(name="page", is_read_only=True)
    def page() -> str:
        """A page."""
        return "word " * 20_000

    kept = tmp_path / "run.jsonl"
    turns = (lambda chat: chat.say("I look.").call("page"), lambda chat: chat.say("Done."))
    first = Agent(tools=[page], endpoint=play(*turns), transcript=kept)
    await first.ask("go")
    again = Agent.resume(kept, tools=[page], previews=Previews(tmp_path))
    assert json.dumps(list(again.history)) == json.dumps(list(first.history))
