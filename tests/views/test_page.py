import json
import re

import pytest

from agentlab.views.meter import MeterPicture
from agentlab.views.page import LONGEST, MOST, page, script, shorten, style_sheet
from agentlab.views.timeline import TimelinePicture


def embedded(html):
    """The events that stand in an interactive page."""
    return json.loads(re.search(r"const events = (\{.*?\});function", html, re.DOTALL).group(1))


@pytest.mark.parametrize("picture", [TimelinePicture, MeterPicture])
def test_an_interactive_page_holds_the_events_its_bars_stand_for(picture, demo):
    html = page(picture(demo.events), interactive=True)
    events = embedded(html)
    named = {
        number for group in re.findall(r'data-e="([\d,]+)"', html) for number in group.split(",")
    }
    assert named == set(events) and len(named) >= 3
    assert {event["type"] for event in events.values()} <= {event.type for event in demo.events}


def test_nothing_in_an_event_can_end_the_script(stream):
    bad = "</script><script>alert(1)</script><!--"
    run = stream().start(bad).turn_of(text=bad).end()
    html = page(TimelinePicture(run.events), interactive=True)
    assert html.count("<script") == html.count("</script") == 1 and "<!--" not in html
    assert any(bad in json.dumps(event) for event in embedded(html).values())


def test_a_page_that_is_stored_has_neither_script_nor_events(demo):
    html = page(TimelinePicture(demo.events))
    assert "<script" not in html and "data-e" not in html


def test_a_page_is_small(demo):
    assert len(page(TimelinePicture(demo.events))) < 25_000
    assert len(style_sheet("inspector")) < 12_600 and "/*" not in style_sheet("inspector")


def test_scripts_lose_their_comments_and_nothing_else():
    text = script("interact.js")
    assert "//" not in text and 'root.dataset.lmSuppressShortcuts = "true";\n' in text


def test_json_that_is_shown_says_what_was_cut():
    short = shorten(
        {"text": "x" * (LONGEST + 5), "many": list(range(MOST + 2)), "odd": {1: object}}
    )
    assert short["text"].endswith("x… (5 more characters)")
    assert short["many"][-1] == "… (2 more)" and len(short["many"]) == MOST + 1
    assert json.dumps(short)
