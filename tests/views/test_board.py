"""The fault board: what the real agent makes of each switch, and how the board shows it."""

import asyncio
import re
import threading

import pytest

from agentlab.agent import Agent
from agentlab.course import chapters
from agentlab.limits import Limits
from agentlab.providers import Endpoint, connect
from agentlab.simulator import start
from agentlab.toolbox import file_tools
from agentlab.tools import tool
from agentlab.views.board import TITLE, Board
from agentlab.views.switches import HOW, KINDS
from agentlab.views.widgets import static_only

NAMES = [kind.name for kind in KINDS]
WORDS = {"a.txt": "one two three", "b.txt": "four five", "c.txt": "six"}
TASK = "Read the three files a.txt, b.txt and c.txt."
ANSWER = "Together they hold 6 words."


@pytest.fixture
def lab():
    """An endpoint at a simulator of its own."""
    with start() as simulator:
        yield Endpoint(
            "simulator", simulator.base_url, connect().model, "any", simulator.clock,
            simulated=True, headers={"agentlab-scenario": "three-files"}, simulator=simulator,
        )  # fmt: skip


@pytest.fixture
def agent(lab, tmp_path):
    for name, text in WORDS.items():
        (tmp_path / name).write_text(text)
    return Agent(tools=file_tools(tmp_path), endpoint=lab)


@pytest.fixture
def board(lab, agent):
    with Board(lab, agent) as made:
        yield made


def events(result, type):
    return [event for event in result.events if event.type == type]


async def fresh(lab, agent, **arguments):
    """What an agent like that one makes of the task, from the start."""
    new = Agent(tools=list(agent._setup.tools.values()), endpoint=lab, **arguments)
    return await new.ask(TASK)


# What each switch does to a run


@pytest.mark.parametrize("name", ["429", "529", "resets", "cut streams"])
async def test_what_can_pass_is_retried_and_counted(lab, agent, board, name):
    board.on(name, how="once")
    mark = lab.simulator.log.mark()
    result = await agent.ask(TASK)
    assert (result.status, result.text, result.turns) == ("completed", ANSWER, 2)
    assert len(events(result, "model.retry")) == board[name].played == 1
    assert len(lab.simulator.log.since(mark)) == 3


async def test_a_429_says_how_long_to_wait(agent, board):
    board.on("429", how="once")
    (retry,) = events(await agent.ask(TASK), "model.retry")
    assert 2.0 <= retry.wait_s < 3.0


@pytest.mark.parametrize("name", ["529", "resets", "cut streams"])
async def test_what_does_not_pass_ends_the_run_with_an_error(agent, board, name):
    board.on(name)
    result = await agent.ask(TASK)
    assert result.status == "error" and result.turns == 0
    assert len(events(result, "model.retry")) == board[name].played - 1 > 0
    board.off()
    assert (await agent.ask("Go on.")).ok


async def test_a_truncated_call_gets_more_room_and_one_truncated_always_ends_the_run(
    lab, agent, board
):
    board.on("truncation", how="once")
    result = await agent.ask(TASK)
    assert (result.text, result.turns) == (ANSWER, 3)
    assert not events(result, "assistant.message")[0].kept
    board.on("truncation", how="always")
    assert (await fresh(lab, agent)).status == "truncated"


async def test_bad_json_is_an_error_result_and_the_model_goes_on(agent, board):
    board.on("bad JSON", how="once")
    result = await agent.ask(TASK)
    done = events(result, "tool.execution_complete")
    assert [event.is_error for event in done] == [False, False, True]
    assert "not valid JSON" in done[2].content
    assert result.text.startswith("Together they hold 5 words. Not counted: ")


async def test_slow_tools_that_run_together_are_slow_together(lab, agent, board):
    usual = (await fresh(lab, agent)).seconds
    board.on("slow tools")
    slow = await fresh(lab, agent)
    assert slow.text == ANSWER and board["slow tools"].played == 3
    assert 2.9 <= slow.seconds - usual <= 3.0
    alone = await fresh(lab, agent, concurrency=1)
    assert 8.7 <= alone.seconds - usual <= 9.0


async def test_a_looping_model_is_stopped_by_the_limit_for_repeats(lab, agent, board):
    board.on("loops")
    result = await agent.ask(TASK)
    assert result.status == "repeated_calls" and board["loops"].played == 3
    assert {e.input["file_path"] for e in events(result, "tool.execution_start")[2:]} == {"c.txt"}
    endless = await fresh(lab, agent, limits=Limits(repeats=None, near_repeats=None, turns=9))
    assert endless.status == "turn_limit"


async def test_a_model_that_loops_once_finishes_all_the_same(agent, board):
    board.on("loops", how="once")
    result = await agent.ask(TASK)
    assert (result.text, result.turns, board["loops"].played) == (ANSWER, 3, 1)


async def test_a_switch_is_flipped_while_the_agent_runs(agent, board):
    played = []
    async for event in agent.run(TASK):
        if event.type == "tool.execution_start" and not board["529"].on:
            board.on("529", how="one call in three")
        if event.type == "model.retry":
            played.append(board["529"].played)
            board.off()
        last = event
    assert last.status == "completed" and played == [1]


# How often


async def test_once_goes_off_by_itself(agent, board):
    board.on("529", how="once")
    assert board["529"].state == "on, once"
    await agent.ask(TASK)
    assert not board["529"].on and board["529"].state == "off"
    board["529"].on = True
    await agent.ask(TASK)
    assert board["529"].played == 2


@pytest.mark.parametrize("name", NAMES)
def test_one_call_in_three_is_the_same_ones_every_time_and_soon(board, name):
    def pattern():
        board.on(name, how="one call in three")
        (armed,) = board[name]._faults
        calls = [call for call in range(1, 31) if armed.fault.applies(call, "")]
        board.off()
        return calls

    calls = pattern()
    assert calls == pattern()
    assert calls[0] <= 3 and 5 <= len(calls) <= 15


def test_how_often_can_be_set_while_it_is_on_or_before(board):
    board["529"].how = "once"
    assert not board["529"].on
    board["529"].on = True
    (armed,) = board["529"]._faults
    board["529"].how = "once"
    assert list(board["529"]._faults) == [armed], "nothing changed"
    board["529"].how = "always"
    assert board["529"].state == "on, always"
    board.off("529")
    board.on("529", "resets")
    assert [board[name].state for name in ("529", "resets")] == ["on, always"] * 2


async def test_a_fault_that_finds_nothing_to_spoil_stays_on(play):
    lab = play(lambda chat: chat.say("Hello."))
    with Board(lab) as board:
        board.on("bad JSON", "loops", how="once")
        assert (await Agent(endpoint=lab).ask("Hello?")).ok
        assert board["bad JSON"].on and board["loops"].on and board["loops"].played == 0


# The board


def test_the_chapters_are_those_of_the_index():
    for kind in KINDS:
        assert kind.title == chapters.chapter(kind.chapter).title
        assert kind.handled == f"{chapters.chapter(kind.chapter).key} {kind.title}"


def test_everything_is_off_at_first_and_at_the_end(lab, agent):
    with pytest.raises(RuntimeError), Board(lab, agent) as board:
        assert not len(lab.simulator.faults)
        board.on(*NAMES)
        assert [board[name].on for name in NAMES] == [True] * 8
        raise RuntimeError
    assert not any(board[name].on for name in NAMES)
    assert not len(lab.simulator.faults)


def test_it_leaves_the_faults_of_others_alone(lab, board):
    from agentlab.simulator import Fault

    mine = lab.simulator.faults.add(Fault("stall", calls=(99,)))
    board.on("529")
    board.off()
    assert list(lab.simulator.faults) == [mine]


@pytest.mark.parametrize("name", ["bad json", "BAD JSON", "Loops"])
def test_names_are_found_in_any_case(board, name):
    assert board[name].kind.name.casefold() == name.casefold()


@pytest.mark.parametrize(("name", "hint"), [("loop", "did you mean 'loops'"), ("x", "there are:")])
def test_an_unknown_switch_says_what_there_is(board, name, hint):
    with pytest.raises(KeyError, match=hint):
        board.on("529", name)
    assert not board["529"].on
    with pytest.raises(ValueError, match="there is no 'twice'; there are: always, once, one call"):
        board.on("529", how="twice")


@pytest.mark.parametrize("url", ["http://localhost:1", "anthropic"])
def test_only_the_simulator_has_a_board(url, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with pytest.raises(ValueError, match=r"makes the simulator fail, and Endpoint.*Use\s+lab = co"):
        Board(connect(url, model=connect().model))


def test_an_agent_is_no_endpoint_and_has_to_work_at_this_one(lab, agent):
    with pytest.raises(ValueError, match="makes the simulator fail"):
        Board(agent)
    with pytest.raises(ValueError, match="does not work at"):
        Board(lab, Agent())


def test_without_tools_slow_tools_cannot_be_switched_on(lab):
    board = Board(lab)
    with pytest.raises(ValueError, match=r"slow tools needs the agent: Board\(lab, agent\)"):
        board.on("slow tools")
    board.off()
    assert "Needs the agent" in board.html()


def test_a_new_board_switches_the_old_one_off(lab, agent):
    old = Board(lab, agent)
    old.on("529", "slow tools")
    Board(lab)
    assert not old["529"].on and not old["slow tools"].on
    assert not len(lab.simulator.faults)


# Slow tools


async def test_tools_are_slow_for_one_board_only(lab, agent):
    with Board(lab, agent, seconds=5), Board(lab, agent, seconds=2) as board:
        board.on("slow tools")
        result = await agent.ask(TASK)
    assert board["slow tools"].played == 3
    assert 2 < result.seconds < 5


async def test_a_slow_copy_is_the_same_tool_in_all_else(lab):
    @tool(is_read_only=True, permission="read", path_argument="path", max_result_chars=50)
    async def look(path: str) -> str:
        """Look at a path.

        Args:
            path: where to look.
        """
        return f"{path} was looked at"

    board = Board(lab)
    (slow,) = board.slow([look])
    assert slow.definition == look.definition and slow.max_result_chars == 50
    assert (slow.permission, slow.path_argument) == ("read", "path")
    assert slow.runs_beside_others({"path": "a"}) and slow.check({"path": "a"}) == {"path": "a"}
    before = lab.clock.now()
    assert await slow.run({"path": "a"}) == "a was looked at"
    assert lab.clock.now() == before
    board.on("slow tools", how="once")
    assert await slow.run({"path": "a"}) == await slow.run({"path": "a"}) == "a was looked at"
    assert lab.clock.now() == before + 3.0


async def test_a_slow_call_that_is_cancelled_does_not_run(lab, agent, board):
    board.on("slow tools")
    ran = []
    stream = agent.run(TASK)
    async for event in stream:
        ran.append(event.type)
        if event.type == "tool.execution_start":
            break
    await stream.aclose()
    assert "tool.execution_complete" not in ran
    board.off()
    assert (await agent.ask("Go on.")).ok


# What is shown


async def test_the_widget_follows_what_the_server_plays(agent, board):
    board.on("529", how="once")
    assert row(board, "529")["on"]
    await agent.ask(TASK)
    await asyncio.sleep(0)
    assert (row(board, "529")["played"], row(board, "529")["on"]) == (1, False)


def row(board, name):
    return next(row for row in board.shown["rows"] if row["name"] == name)


async def test_a_count_made_in_another_thread_is_shown_by_the_loop(lab):
    threads = []
    with Board(lab) as board:
        board.on("529")
        board.observe(lambda change: threads.append(threading.current_thread()), "shown")
        for _ in range(20):
            await asyncio.to_thread(lab.simulator.faults.pick)
        await asyncio.sleep(0)
        assert row(board, "529")["played"] == 20
    assert set(threads) == {threading.current_thread()}


def test_the_widget_is_heard(board):
    board._handle_custom_msg({"kind": "how", "name": "529", "how": "once"}, [])
    board._handle_custom_msg({"kind": "on", "name": "529", "on": True}, [])
    assert board["529"].state == "on, once" and row(board, "529")["on"]
    board._handle_custom_msg({"kind": "on", "name": "529", "on": False}, [])
    assert not board["529"].on
    board.on("resets")
    board._handle_custom_msg({"kind": "off"}, [])
    assert not board["resets"].on
    board._handle_custom_msg({"kind": "something else"}, [])


def test_what_the_widget_offers_is_what_there_is(board):
    assert board.shown["how"] == list(HOW)
    assert [row["name"] for row in board.shown["rows"]] == NAMES


def test_the_text_of_a_board(board):
    board.on("529", how="once")
    assert repr(board).splitlines()[:3] == [
        f"{TITLE} (simulated model)",
        "  429         off                   played 0   08 Retry",
        "  529         on, once              played 0   08 Retry",
    ]
    assert repr(board["529"]) == "<529: on, once, played 0 times>"


def test_the_static_form_is_a_page_and_says_the_same(board, monkeypatch):
    monkeypatch.setenv("AGENTLAB_STATIC_VIEWS", "1")
    assert static_only()
    board.on("loops", how="one call in three")
    bundle, _ = board._repr_mimebundle_()
    assert list(bundle) == ["text/plain", "text/html"]
    html = bundle["text/html"]
    assert "<script" not in html and "/*" not in html and TITLE in html
    cells = re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", html)
    loops = cells[cells.index("loops") :][:5]
    assert loops == [
        "loops",
        "The model makes its last tool call again",
        "02 The loop",
        "on, one call in three",
        "0",
    ]
    assert len(html) < 20_000 and html == board.html()


def test_it_is_a_widget_where_there_is_a_kernel(board, monkeypatch):
    monkeypatch.delenv("AGENTLAB_STATIC_VIEWS", raising=False)
    bundle, _ = board._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle and "text/html" in bundle
