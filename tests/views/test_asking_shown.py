"""What a view shows of the gate: who was asked, what was denied, which side calls were made."""

import pytest

from agentlab import Agent, tool
from agentlab.events import Event
from agentlab.permissions import Answer, Permissions, Rules
from agentlab.views import timeline_html, timeline_text
from agentlab.views.layout import Layout
from agentlab.views.terminal import replay


@tool(name="Paint", permission="write")
async def paint(what: str) -> str:
    """Paint."""
    return "painted"


@tool(name="Sing", permission="execute")
async def sing() -> str:
    """Sing."""
    return "la"


@pytest.fixture
async def events(play):
    async def ask(question):
        return Answer("allow")

    permissions = Permissions(Rules.of(deny=["Sing"]), ask=ask)
    endpoint = play(lambda c: c.call("Paint", what="red").call("Sing"), lambda c: c.say("done"))
    result = await Agent(tools=[paint, sing], endpoint=endpoint, permissions=permissions).ask("go")
    return result.events


def bars(events, kind):
    return [bar for row in Layout(events).rows for bar in row.bars if bar.kind == kind]


async def test_a_question_is_a_bar_from_the_asking_to_the_answer(events):
    [asking] = bars(events, "asking")
    assert asking.status == "done" and asking.end - asking.start == pytest.approx(4.0)
    assert "Paint" in asking.label


async def test_a_denied_call_is_denied_and_not_failed(events):
    assert [bar.status for bar in bars(events, "tool_result")] == ["done", "denied"]
    assert "agentlab-is-denied" in timeline_html(events)
    assert "Sing denied" in timeline_text(events)


async def test_the_text_form_says_how_long_somebody_was_asked(events):
    assert "? asking you 4.0 s" in timeline_text(events)


def test_a_side_call_is_a_bar_with_its_purpose():
    usage = {"input_tokens": 9, "output_tokens": 3}
    side = {"purpose": "classifier", "model": "m", "usage": usage, "cost_usd": 0.001}
    events = [
        Event("session.start", 0.0, 0, "main", {"model": "m"}),
        Event("assistant.turn_start", 0.0, 1, "main", {}),
        Event("assistant.message", 1.0, 1, "main", {"message": {"content": []}, "usage": usage}),
        Event("model.side_call", 1.9, 1, "main", side),
    ]
    [bar] = bars(events, "side_call")
    assert (bar.start, bar.end, bar.label) == (1.0, 1.9, "classifier")


async def test_the_terminal_says_what_was_asked_and_by_whom_it_was_decided(events, capsys):
    replay(events)
    shown = capsys.readouterr().out
    assert "? Paint red: no rule says" in shown
    assert "allow by user" in shown and "deny by rule: Sing" in shown
