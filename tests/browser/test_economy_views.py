"""The X-ray and the cost view in real JupyterLab, over a run with compaction and caching."""

import pytest

CONTEXT, METER = ".agentlab-context", ".agentlab-meter"
LAST = ".jp-Notebook .jp-Cell:last-child"
WATCH = """from agentlab import Agent, connect
from agentlab.compaction import Compaction
from agentlab.simulator.scenario import all_scenarios, scenario
from agentlab.tools import tool
from agentlab.views import watch
all_scenarios()
@scenario("many-files", opens=r"^look at them all")
def many(chat):
    "Looks at files one after the other."
    for number in range(12):
        yield chat.think(f"File {{number}}.").call("Look", name=f"f{{number}}")
    yield chat.say("All read.")
@tool(name="Look", is_read_only=True)
def look(name: str) -> str:
    "Look at a file."
    return f"PORT_{{name.upper()}} = 1\\n" + "word " * 600
agent = Agent(tools=[look], endpoint=connect(speed={speed}), max_tokens=1_000,
              compaction=Compaction(window=14_000, summary_tokens=400), system="Be careful. " * 200)
agent.pin("never touch legacy/")
result = await watch(agent.run("look at them all"), views=["meter", "context"])"""


@pytest.fixture
def finished(lab):
    lab.open("02_loop.ipynb").add_cell(WATCH.format(speed=0))
    lab.page.wait_for_timeout(500)
    lab.settle()
    assert lab.errors() == []
    return lab.page.locator(LAST)


def test_scrubbing_shows_the_window_step_by_step_with_keys_alone(lab, finished):
    xray = finished.locator(f"{CONTEXT} .agentlab-xray")
    slider, told = xray.locator("input"), xray.locator("output")
    last = told.inner_text()
    assert last.startswith("Request 13:") and "cached" in last
    slider.focus()
    seen = []
    for _ in range(13):
        lab.page.keyboard.press("ArrowLeft")
        seen.append((told.inner_text(), xray.locator("tbody tr").all_inner_texts()))
    titles = [title for title, _ in seen]
    assert len(set(titles)) == 13 and titles[-1].startswith("Request 1:")
    [[compaction, rows]] = [each for each in seen if each[0].startswith("Compaction 1:")]
    assert "facts kept" in compaction and "before" in rows[0] and "after" in rows[1]
    after = next(rows for title, rows in seen if title.startswith("Request 12:"))
    assert any("summary" in row for row in after) and any("pinned" in row for row in after)
    assert "$" in after[0], "what a part has cost so far"
    assert finished.locator(f"{CONTEXT} tr.agentlab-shown").count() == 1
    lab.page.keyboard.press("End")
    assert told.inner_text() == last


def test_a_click_on_a_row_goes_to_that_step(finished):
    finished.locator(f"{CONTEXT} tr.agentlab-compacted").click(position={"x": 5, "y": 5})
    told = finished.locator(f"{CONTEXT} .agentlab-xray output")
    assert told.inner_text().startswith("Compaction 1:")


def test_what_a_compaction_dropped_unfolds(finished):
    dropped = finished.locator(f"{CONTEXT} details.agentlab-dropped")
    assert dropped.count() == 1 and not dropped.locator("p").first.is_visible()
    dropped.locator("summary").focus()
    dropped.page.keyboard.press("Enter")
    assert "never touch legacy/" in dropped.inner_text() and "Survived" in dropped.inner_text()


def test_the_cost_view_has_a_ghost_line_and_says_who_spent_what(finished):
    meter = finished.locator(METER)
    ghost, spent = (line.bounding_box() for line in meter.locator("svg polyline").all())
    assert ghost["height"] > 2 * spent["height"] > 0, "caching is much cheaper"
    assert "Without cache" in meter.inner_text()
    rows = meter.locator(".agentlab-purposes tr").all_inner_texts()
    assert [row.split()[:2] for row in rows[1:]] == [["main", "turns"], ["main", "summary"]]


def test_while_the_agent_works_the_slider_follows_unless_it_is_moved(lab):
    lab.open("02_loop.ipynb").add_cell(WATCH.format(speed=3))
    live = lab.page.locator(f"{LAST} {CONTEXT}:not(.agentlab-static)")
    told = live.locator(".agentlab-xray output")
    rows = live.locator(".agentlab-scroll tbody tr")

    def wait_for_row(count):
        rows.nth(count - 1).wait_for(timeout=60_000)
        lab.page.wait_for_timeout(200)  # what a new row means to the slider comes a frame later

    wait_for_row(2)
    live.locator(".agentlab-xray input").focus()
    lab.page.keyboard.press("Home")
    wait_for_row(rows.count() + 1)
    assert told.inner_text().startswith("Request 1:"), "it stays where it was put"
    lab.page.keyboard.press("End")
    here = told.inner_text().split(":")[0]
    wait_for_row(rows.count() + 1)
    assert told.inner_text().split(":")[0] != here != "Request 1", "at the end it goes on"
    lab.command("notebook:interrupt-kernel")
    lab.settle()
