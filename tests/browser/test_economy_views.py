"""The X-ray and the cost view in real JupyterLab, over a run with compaction and caching."""

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


def test_scrubbing_shows_the_window_block_by_block_with_keys_alone(finished):
    xray = finished.locator(f"{CONTEXT} .agentlab-xray")
    slider, told, lines = (xray.locator(each) for each in ("input", "output", "tbody tr"))
    last = told.inner_text()
    assert last.startswith("Request 13:") and "cached" in last
    slider.focus()
    seen = []
    for _ in range(13):
        finished.page.keyboard.press("ArrowLeft")
        seen.append((told.inner_text(), lines.all_inner_texts()))
    titles = [title for title, _ in seen]
    assert len(set(titles)) == 13 and titles[-1].startswith("Request 1:")
    [[compaction, rows]] = [each for each in seen if each[0].startswith("Compaction 1:")]
    assert "facts kept" in compaction
    assert any("Look f0" in row and "dropped" in row for row in rows)
    assert any("never touch legacy/" in row and "kept" in row for row in rows)
    assert "Look f10 → PORT_F10" in rows[-1] and "kept" in rows[-1], "the last round, not sent yet"
    after = next(rows for title, rows in seen if title.startswith("Request 12:"))
    [summary] = [row for row in after if row.startswith("summary")]
    assert "messages" in summary and "new" in summary and "$" in summary
    assert any("Look f9 → PORT_F9" in row and "not cached" in row for row in after)
    assert "no longer in the window" in after[-1]
    assert finished.locator(f"{CONTEXT} tr.agentlab-shown").count() == 1
    assert slider.get_attribute("aria-valuetext") == "Request 1"
    finished.page.keyboard.press("End")
    assert told.inner_text() == last


def test_the_slider_comes_to_the_same_numbers_as_the_page_without_scripts(finished):
    context = finished.locator(CONTEXT)
    without, xray = (context.locator(f".agentlab-{name}") for name in ("instead", "xray"))
    assert not without.first.is_visible() and not without.last.is_visible()
    kinds = [
        sorted(part.locator(".agentlab-legend b").all_text_contents())
        for part in (without.first, xray)
    ]
    assert kinds[0] == kinds[1] and len(kinds[0]) > 5
    listed = [
        [[text.strip() for text in line.locator("td").all_text_contents()] for line in lines.all()]
        for lines in (without.last.locator("table tr:has(td)"), xray.locator("tbody tr"))
    ]
    plain, played = [[line[-3:] for line in lines if "Look f" in line[0]] for lines in listed]
    assert plain == played and len(plain) > 5


def test_a_click_on_a_row_goes_to_that_step(finished):
    finished.locator(f"{CONTEXT} tr.agentlab-compacted").click(position={"x": 5, "y": 5})
    told = finished.locator(f"{CONTEXT} .agentlab-xray output")
    assert told.inner_text().startswith("Compaction 1:")


def test_what_a_compaction_dropped_unfolds(finished):
    dropped = finished.locator(f"{CONTEXT} details.agentlab-dropped")
    assert dropped.count() == 1 and not dropped.locator("p").first.is_visible()
    dropped.locator("summary").focus()
    dropped.page.keyboard.press("Enter")
    words = dropped.inner_text()
    assert "never touch legacy/" in words and "Survived" in words
    assert "Look f0 → PORT_F0 = 1" in words and "more" in words


def test_the_cost_view_has_a_ghost_line_and_says_who_spent_what(finished):
    meter, page = finished.locator(METER), finished.page
    ghost, spent = (line.bounding_box() for line in meter.locator("svg polyline").all())
    assert ghost["height"] > 2 * spent["height"] > 0, "caching is much cheaper"
    assert "Without cache" in meter.inner_text()
    for width in (700, 1280):
        page.set_viewport_size({"width": width, "height": 900})
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
