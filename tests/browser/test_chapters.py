"""What learners do and see, in real JupyterLab: run all, watch, click, interrupt, reopen."""

import json

import pytest

TIMELINE, METER = ".agentlab-timeline", ".agentlab-meter"
WATCH = """from agentlab import Agent, connect
from agentlab.views import watch
agent = Agent(endpoint=connect(speed={speed}))
result = await watch(agent.run("Hello! Who are you?"))"""


CHAPTERS = ["00_start_here.ipynb", "02_loop.ipynb", "04_partition.ipynb"]


@pytest.mark.parametrize("name", CHAPTERS)
def test_run_all_runs_everything_and_shows_both_views(lab, name):
    lab.open(name).run_all()
    assert lab.errors() == []
    counts = lab.cells_run()
    assert counts == list(range(1, len(counts) + 1))
    assert lab.page.locator(f"{TIMELINE} .agentlab-bar").count() > 5
    for view in (TIMELINE, METER):
        assert "simulated model" in lab.page.locator(view).first.text_content()


def test_the_timeline_moves_while_the_agent_works(lab):
    lab.open("02_loop.ipynb").add_cell(WATCH.format(speed=40))
    timeline = lab.page.locator(f".jp-Notebook .jp-Cell:last-child {TIMELINE}")
    timeline.wait_for(timeout=30_000)
    seen = set()
    for _ in range(8):
        seen.add(timeline.inner_html())
        lab.page.wait_for_timeout(300)
    lab.settle()
    assert len(seen) >= 4, "the picture stood still while text was streaming"
    assert (
        "Completed" in lab.page.locator(f".jp-Notebook .jp-Cell:last-child {TIMELINE}").inner_text()
    )


def test_a_click_on_a_bar_shows_the_json_and_escape_closes_it(lab):
    lab.open("02_loop.ipynb").add_cell(WATCH.format(speed=0))
    lab.settle()
    cell = lab.page.locator(".jp-Notebook .jp-Cell:last-child")
    bar = cell.locator(f"{TIMELINE} .agentlab-bar").last
    bar.click()
    detail = cell.locator(f"{TIMELINE} .agentlab-detail")
    assert detail.is_visible()
    shown = json.loads(detail.locator("pre").inner_text().split("\n\n")[-1])
    assert shown["type"] == "assistant.message" and shown["stop_reason"] == "end_turn"
    lab.page.keyboard.press("Escape")
    assert not detail.is_visible()
    lab.page.keyboard.press("Enter")
    assert detail.is_visible(), "Enter on a bar should open it again"


def test_a_run_is_interrupted_and_goes_on(lab):
    lab.open("02_loop.ipynb").add_cell(WATCH.format(speed=15))
    cell = lab.page.locator(".jp-Notebook .jp-Cell:last-child")
    cell.locator(TIMELINE).wait_for(timeout=30_000)
    lab.page.wait_for_timeout(1000)
    lab.command("notebook:interrupt-kernel")
    lab.page.wait_for_function(IDLE_AGAIN, timeout=5_000)
    lab.settle()
    assert "ancelled" in cell.locator(TIMELINE).inner_text()
    lab.add_cell("(await agent.ask('Hello! Who are you?')).status, len(agent.history)")
    lab.settle()
    (output,) = lab.outputs()
    assert "completed" in output["data"]["text/plain"]


IDLE_AGAIN = (
    "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"
)


def test_reopened_without_a_kernel_the_views_are_there(lab, course):
    lab.open("00_start_here.ipynb").run_all()
    lab.command("docmanager:save")
    lab.settle()
    saved = json.loads((course / "00_start_here.ipynb").read_text("utf-8"))
    assert (
        not saved["metadata"]
        .get("widgets", {})
        .get("application/vnd.jupyter.widget-state+json", {})
        .get("state")
    )
    lab.page.evaluate(
        "async () => { await window.jupyterapp.shell.currentWidget.sessionContext.shutdown() }"
    )
    lab.open("00_start_here.ipynb", kernel=False)
    for view, title in ((TIMELINE, "Where did the time go?"), (METER, "What did it cost?")):
        lab.page.locator(view).first.scroll_into_view_if_needed()
        lab.page.get_by_text(title).first.wait_for()
        assert lab.page.locator(f"{view} tbody tr").count() >= 6
    assert "Error displaying widget" not in lab.page.locator(".jp-Notebook").inner_text()


def test_a_guess_can_be_made_with_the_keyboard(lab):
    lab.open("02_loop.ipynb").run_all()
    button = lab.page.get_by_role("button", name="3", exact=True).first
    button.scroll_into_view_if_needed()
    button.focus()
    lab.page.keyboard.press("Enter")
    lab.page.get_by_text("You chose 3.").wait_for(timeout=5_000)
