"""The fault board in real JupyterLab: a switch is flipped while an agent works."""

import re

import pytest

BOARD = ".agentlab-board"
LAST = ".jp-Notebook .jp-Cell:last-child"
MAKE = """from agentlab import Agent, connect
from agentlab.course import workspace
from agentlab.toolbox import calculator, file_tools
from agentlab.views import Board, watch
lab = connect(speed=40)
agent = Agent(tools=[*file_tools(workspace("quickstart")), calculator], endpoint=lab)
board = Board(lab, agent)
board"""
RUN = """result = await watch(
    agent.run("Look around this project and tell me what it is about."), views=["timeline"])"""

WITH = """with Board(lab, agent) as board:
    display(board)
    board.on("529", how="once")
    await agent.ask("Look around this project and tell me what it is about.")"""


class Controls:
    """What a user sees of a board."""

    def __init__(self, board):
        self.board = board

    @property
    def status(self):
        return self.board.get_by_role("status").inner_text()

    def row(self, name):
        switch = self.board.page.get_by_role("switch", name=name, exact=True)
        return self.board.locator("tr").filter(has=switch)

    def switch(self, name):
        return self.board.get_by_role("switch", name=name, exact=True)

    def how(self, name):
        return self.board.get_by_label(f"How often: {name}")

    def played(self, name):
        return int(self.row(name).locator("td").last.inner_text())


@pytest.fixture
def board(lab):
    lab.open("02_loop.ipynb").add_cell(MAKE)
    shown = lab.page.locator(BOARD).last
    shown.get_by_role("switch").first.wait_for(timeout=30_000)
    lab.settle()
    return Controls(shown)


def wait_until(lab, true):
    for _ in range(200):
        if true():
            return
        lab.page.wait_for_timeout(50)
    raise AssertionError("it did not happen within 10 s")


def test_a_switch_flipped_while_the_agent_works_is_met_counted_and_retried(lab, board):
    lab.add_cell(RUN)
    cell = lab.page.locator(LAST)
    cell.locator(".agentlab-timeline").wait_for(timeout=30_000)
    board.how("529").select_option("once")
    board.switch("529").click()
    wait_until(lab, lambda: board.played("529") == 1)
    assert cell.locator(".agentlab-timeline.agentlab-live").count() == 1, "it is still running"
    wait_until(lab, lambda: not board.switch("529").is_checked())
    cell.locator(".agentlab-retry").first.wait_for(timeout=10_000)

    board.switch("slow tools").click()
    wait_until(lab, lambda: board.played("slow tools") >= 1)
    board.board.get_by_role("button", name="All off").click()
    wait_until(lab, lambda: board.status == "Everything is off.")
    assert not board.switch("slow tools").is_checked()

    lab.settle()
    assert lab.errors() == []
    assert "Completed" in cell.locator(".agentlab-timeline.agentlab-static").inner_text()
    assert cell.locator(".agentlab-retry").count() >= 1
    before = board.played("slow tools")
    lab.add_cell("print(board['529'].played, board['slow tools'].played)")
    lab.settle()
    assert lab.outputs()[-1]["text"] == f"1 {before}\n"


def test_the_board_is_used_with_the_keyboard_and_follows_what_python_does(lab, board):
    keys = lab.page.keyboard
    board.switch("429").focus()
    keys.press("Space")
    wait_until(lab, lambda: board.status == "On: 429")
    keys.press("Tab")
    keys.press("ArrowDown")
    assert board.how("429").input_value() == "once"
    focused = lab.page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused == "How often: 429"
    lab.add_cell("print(board['429'].state)")
    lab.settle()
    assert lab.outputs()[-1]["text"] == "on, once\n"
    lab.add_cell("board.off(); board.on('loops', how='one call in three')")
    wait_until(lab, lambda: board.switch("loops").is_checked())
    assert not board.switch("429").is_checked()
    assert board.how("loops").input_value() == "one call in three"


def test_without_an_agent_slow_tools_cannot_be_switched_on(lab, board):
    lab.add_cell("Board(lab)")
    lab.settle()
    other = Controls(lab.page.locator(f"{LAST} {BOARD}"))
    assert other.switch("slow tools").is_disabled()
    assert "Needs the agent: Board(lab, agent)" in other.row("slow tools").inner_text()


def test_at_the_end_of_its_with_a_page_is_left_of_the_board(lab, board):
    lab.add_cell(WITH)
    live, left = (
        lab.page.locator(f"{LAST} {BOARD}.agentlab-{form}") for form in ("live", "static")
    )
    live.wait_for(timeout=10_000)
    left.wait_for(timeout=30_000)
    lab.settle()
    assert lab.errors() == [] and live.count() == 0
    (output,) = lab.outputs()
    assert list(output["data"]) == ["text/plain", "text/html"]
    assert re.search(r"529 +off +played 1 +08 Retry", output["data"]["text/plain"])
