"""The views in real JupyterLab: what ran together, the context, the inspector, a very long run."""

import json

import pytest

TIMELINE, CONTEXT = ".agentlab-timeline", ".agentlab-context"
INSPECTOR = ".agentlab-inspector"
LAST = ".jp-Notebook .jp-Cell:last-child"
WATCH = """from agentlab import Agent, connect
from agentlab.course import workspace
from agentlab.toolbox import calculator, file_tools
from agentlab.views import watch
agent = Agent(tools=[*file_tools(workspace("quickstart")), calculator], endpoint=connect(speed={speed}))
result = await watch(agent.run("Look around this project and tell me what it is about."),
                     views=["timeline", "context", "inspector"])"""  # noqa: E501
LONG = """from agentlab.events import Event
from agentlab.views import {view}
def events(count):
    yield Event("session.start", 0.0, 0, "main", dict(schema=1, model="m", endpoint="simulator",
        simulated=True, system="", tools=[], limits=dict(concurrency=10), history=[]))
    turn, made = 0, 1
    while made < count:
        turn, at = turn + 1, float(turn)
        say = lambda type, at, **data: Event(type, at, turn, "main", data)
        ids = [f"t{{turn}}_{{index}}" for index in range(3)]
        blocks = [dict(type="tool_use", id=i, name="Read", input=dict(file_path=i)) for i in ids]
        yield say("assistant.turn_start", at, messages=2 * turn, input_tokens=100)
        yield say("assistant.message", at + 0.5, kept=True,
            message=dict(role="assistant", content=blocks), id="m", model="m",
            stop_reason="tool_use", usage=dict(input_tokens=100 + turn))
        for i in ids:
            yield say("tool.execution_start", at + 0.5, tool_use_id=i, name="Read", input={{}})
        for n, i in enumerate(ids):
            yield say("tool.execution_complete", at + 0.6 + n / 10, tool_use_id=i, name="Read",
                content="x" * 200, is_error=False, traceback=None)
        yield say("assistant.turn_end", at + 0.9, stop_reason="tool_use", usage={{}}, cost_usd=0.0,
            total_usage={{}}, total_usd=0.0)
        made += 9
view = {view}()
display(view)
for event in events(10_000):
    view.add(event)
view.flush()
view._picture.rows()"""
OBSERVE = """() => {
    window.longTasks = [];
    const note = (task) => window.longTasks.push(task.duration);
    const observer = new PerformanceObserver((list) => list.getEntries().forEach(note));
    observer.observe({ entryTypes: ['longtask'] });
    // In how many goes rows are added: one would mean that everything is drawn in one piece.
    window.rowBatches = 0;
    const rows = (mutation) => [...mutation.addedNodes].some((node) => node.nodeName === 'TR');
    const batch = (mutations) => { window.rowBatches += mutations.some(rows); };
    new MutationObserver(batch).observe(document.body, { childList: true, subtree: true });
}"""


def test_all_views_move_while_the_agent_works_and_stay_when_it_is_done(lab):
    lab.open("02_loop.ipynb").add_cell(WATCH.format(speed=60))
    cell = lab.page.locator(LAST)
    cell.locator(INSPECTOR).wait_for(timeout=30_000)
    seen = {view: set() for view in (TIMELINE, CONTEXT, INSPECTOR)}
    for _ in range(80):  # a busy machine takes longer
        for view, states in seen.items():
            states.add(cell.locator(f"{view}:not(.agentlab-static)").first.inner_html())
        if all(len(states) >= 3 for states in seen.values()):
            break
        lab.page.wait_for_timeout(250)
    assert all(len(states) >= 3 for states in seen.values()), {v: len(s) for v, s in seen.items()}
    lab.settle()
    assert lab.errors() == []
    for view in seen:
        assert cell.locator(f"{view}.agentlab-static").count() == 1
        assert "simulated model" in cell.locator(view).inner_text()


def test_what_ran_together_stands_together_and_names_the_cap(finished):
    timeline = finished.locator(TIMELINE)
    assert "together (cap 10)" in timeline.inner_text()
    row = timeline.locator("tr:has(.agentlab-group)").last
    frame = row.locator(".agentlab-group").bounding_box()
    calls = [bar.bounding_box() for bar in row.locator(".agentlab-tool-result").all()]
    assert len(calls) >= 3 and len({round(box["y"]) for box in calls}) == len(calls)
    assert all(
        frame["x"] <= box["x"] and box["y"] + box["height"] <= frame["y"] + frame["height"] + 2
        for box in calls
    )


def test_the_inspector_is_used_with_the_keyboard_alone(finished):
    inspector = finished.locator(INSPECTOR)
    line = inspector.locator("details[data-pair='1'] > summary").first
    line.focus()
    assert inspector.locator(".agentlab-lit").count() == 2, "the result lights up with its call"
    finished.page.keyboard.press("Enter")
    call = json.loads(inspector.locator("details[data-pair='1'] pre").first.inner_text())
    assert call["type"] == "tool_use"
    finished.page.keyboard.press("ArrowDown")
    assert finished.page.evaluate("document.activeElement.tagName") == "SUMMARY"
    assert inspector.locator("details[data-pair='1']:focus-within").count() == 0

    inspector.locator(".agentlab-sent .agentlab-who .agentlab-bar").last.focus()
    finished.page.keyboard.press("Enter")
    whole = json.loads(inspector.locator(".agentlab-detail pre").inner_text())
    assert whole["messages"][0]["role"] == "user" and whole["tools"]
    answers = [b for m in whole["messages"] for b in m["content"] if b["type"] == "tool_result"]
    assert call["id"] in [block["tool_use_id"] for block in answers]


def test_a_part_of_the_window_tells_what_it_is(finished):
    context = finished.locator(CONTEXT)
    context.locator(".agentlab-tools").last.hover()
    assert "tools: about" in context.locator(".agentlab-readout").inner_text()
    context.locator(".agentlab-tool-result").last.click()
    assert '"tool_result"' in context.locator(".agentlab-detail pre").inner_text()


@pytest.mark.parametrize("view", ["Timeline", "Context", "Inspector"])
def test_ten_thousand_events_are_drawn_without_a_stall(lab, view, record_property):
    lab.open("02_loop.ipynb")
    lab.page.evaluate(OBSERVE)
    lab.add_cell(LONG.format(view=view))
    rows = lab.page.locator(f"{LAST} .agentlab-scroll tbody tr")
    drawn = f"document.querySelectorAll('{LAST} .agentlab-scroll tbody tr').length >= "
    lab.page.wait_for_function(f"{drawn}1111", timeout=60_000)
    lab.settle()
    count = int(lab.outputs()[-1]["data"]["text/plain"])
    lab.page.wait_for_function(f"{drawn}{count}", timeout=60_000)  # it draws in small pieces
    assert rows.count() == count
    longest = max(lab.page.evaluate("window.longTasks"), default=0)
    record_property("longest_task_ms", longest)  # a figure to read; a busy machine makes it larger
    print(f"{view}: longest task {longest:.0f} ms")
    assert lab.page.evaluate("window.rowBatches") > 5, "all rows were drawn in one piece"
