"""Keys and clicks, in a real browser: the finished page, and the live widget's script."""

import json
import re
import shutil

import pytest
from playwright.sync_api import sync_playwright

from agentlab.views.inspector import InspectorPicture
from agentlab.views.page import page as draw
from agentlab.views.page import script, style_sheet
from agentlab.views.timeline import TimelinePicture
from agentlab.views.widgets import Inspector, Timeline

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium; install it: apt-get install chromium"
)
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]
LIVE = """
<!doctype html><meta charset="utf-8"><style>{css}</style><div id="view"></div>
<script type="module">{module}
window.viewName = "{name}";
const heard = {{}};
window.sent = [];
window.model = {{
  get: (key) => (key === "name" ? window.viewName : {{}}),
  on: (name, call) => (heard[name] = call),
  send: (message) => window.sent.push(message),
}};
window.tell = (message) => heard["msg:custom"](message);
const widget = start();
widget.initialize({{ model: window.model }});
widget.render({{ model: window.model, el: document.getElementById("view") }});
window.ready = true;
</script>"""


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser):
    opened = browser.new_page()
    errors = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    opened.close()
    assert errors == []


def focused(page):
    return page.evaluate("document.activeElement.ariaLabel")


def test_the_finished_page_answers_keys_and_clicks(page, demo):
    page.set_content(draw(TimelinePicture(demo.events), interactive=True))
    detail, json_text = page.locator(".agentlab-detail"), page.locator(".agentlab-detail pre")
    assert not detail.is_visible()

    page.locator(".agentlab-tool-result").nth(1).click()
    first, second = json_text.inner_text().split("\n\n")
    assert json.loads(first)["type"] == "tool.execution_start"
    assert json.loads(second)["content"] == "no such file"

    page.keyboard.press("Escape")
    assert not detail.is_visible() and focused(page).startswith("Turn 1, Read b.txt failed: 1.0 s")
    page.keyboard.press("ArrowDown")
    assert focused(page).startswith("Turn 2, ") and not detail.is_visible()
    page.keyboard.press("Enter")
    assert detail.is_visible()
    page.keyboard.press("ArrowRight")  # the panel follows
    bar = focused(page)
    assert detail.locator("span").inner_text() == bar
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the button that closes
    assert not detail.is_visible() and focused(page) == bar


def test_one_press_of_tab_reaches_the_bars_and_hovering_tells_what_they_are(page, demo):
    page.set_content(draw(TimelinePicture(demo.events), interactive=True))
    page.keyboard.press("Tab")
    assert focused(page) == "user: How many words do the files hold?"
    assert page.locator(".agentlab-readout").inner_text() == focused(page)
    page.locator(".agentlab-thinking").hover()
    assert page.locator(".agentlab-readout").inner_text().startswith("Turn 1, thinking: 0.1 s")


@pytest.fixture
def live(page):
    """The live widget's script in a page, with a model that the test plays."""
    return start(page, "timeline")


def start(page, name):
    module = re.sub(r"export default", "const start =", script("interact.js") + script("view.js"))
    page.set_content(LIVE.format(css=style_sheet(name), module=module, name=name))
    page.wait_for_function("window.ready")
    return page


@pytest.fixture
def messages(monkeypatch, demo):
    """What a live timeline sends, flushed after every event."""
    sent = []
    monkeypatch.setattr(Timeline, "send", lambda self, content, buffers=None: sent.append(content))
    monkeypatch.setattr("agentlab.views.widgets.FLUSH_S", 0.0)
    view = Timeline()
    for event in demo.events:
        view.add(event)
    return [*sent, view._whole()]


def test_the_live_view_draws_what_is_sent_and_keeps_the_focus(live, messages):
    *patches, _ = messages
    assert live.evaluate("window.sent") == [{"kind": "ready"}]
    half = next(i for i, m in enumerate(patches) if "agentlab-text" in m["rows"].get(1, ""))
    for message in patches[:half]:
        live.evaluate("message => window.tell(message)", message)
    live.wait_for_function("document.querySelectorAll('tbody tr').length === 2")
    live.locator(".agentlab-thinking").click()
    assert live.locator("pre").inner_text().startswith("This is still going on")
    for message in patches[half:]:
        live.evaluate("message => window.tell(message)", message)
    live.get_by_text("Completed (3 turns, 5.7 s)").wait_for()
    assert live.locator("tbody tr").count() == 4
    assert focused(live).startswith("Turn 1, thinking")
    assert '"type": "assistant.message"' in live.locator("pre").inner_text()


def test_a_gap_in_the_messages_asks_for_everything(live, messages):
    *patches, whole = messages
    for message in (patches[0], patches[1], patches[5]):
        live.evaluate("message => window.tell(message)", message)
    assert live.evaluate("window.sent.length") == 2  # at the start, and now
    live.evaluate("message => window.tell(message)", whole)
    live.wait_for_function("document.querySelectorAll('tbody tr').length === 4")


def ends(track):
    """Right ends of a strip's visible words, and of the strip itself (pixels)."""
    return track.evaluate(
        """(track) => [...track.querySelectorAll(".agentlab-last > span")]
            .map((words) => words.getBoundingClientRect())
            .map((box) => [box.left, box.right])
            .concat([[track.getBoundingClientRect().left, track.getBoundingClientRect().right]])"""
    )


@pytest.fixture
def crowded(stream):
    """A run that ends with calls that took no time to speak of, next to the right edge."""
    calls = [("Calculator", {"expression": f"30 + 48 + {n}"}) for n in range(3)]
    run = stream().start().turn_of("x" * 900).turn_of(calls=calls, together=True, tool_s=0.01)
    return run


@pytest.mark.parametrize("form", ["live", "finished"])
def test_words_beside_a_bar_stay_within_the_strip(page, crowded, form):
    if form == "live":
        start(page, "timeline").evaluate("m => window.tell(m)", Timeline(crowded.events)._whole())
    else:
        page.set_content(draw(TimelinePicture(crowded.events)))
    page.locator(".agentlab-group").first.wait_for()
    *words, (left, right) = ends(page.locator(".agentlab-track").last)
    assert len(words) == 3
    for start_of, end_of in words:
        assert left - 2 <= start_of and end_of <= right + 2
        assert end_of - start_of > 80, "there is room for a name and a time"


def test_what_is_unfolded_and_focused_stays_so_when_its_row_is_drawn_again(page, stream):
    run = stream().start("Look.").open()
    view = Inspector(run.events)
    start(page, "inspector").evaluate("m => window.tell(m)", view._whole())
    line = page.locator(".agentlab-block > summary").first
    line.click()
    run.add("model.retry", attempt=2, reason="Overloaded", wait_s=0.5)
    view.add(run.events[-1])
    page.evaluate("m => window.tell(m)", {**view._whole(), "seq": 99})
    page.get_by_text("sent 2 times").wait_for()
    assert page.locator("details[open] pre").is_visible()
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_a_call_and_its_result_light_up_together(page, demo):
    page.set_content(draw(InspectorPicture(demo.events), interactive=True))
    page.locator("[data-pair='2']").last.hover()
    assert page.locator(".agentlab-lit").count() == 2
    page.locator("[data-pair='1']").first.hover()
    assert page.locator(".agentlab-lit").count() == 2
    page.mouse.move(0, 0)
    assert page.locator(".agentlab-lit").count() == 0


def test_the_number_of_a_request_shows_all_of_it(page, demo):
    page.set_content(draw(InspectorPicture(demo.events), interactive=True))
    page.locator(".agentlab-sent .agentlab-who .agentlab-bar").last.click()
    whole = json.loads(page.locator(".agentlab-detail pre").inner_text())
    assert [m["role"] for m in whole["messages"]] == ["user", "assistant"] * 2 + ["user"]
    assert whole["model"]
