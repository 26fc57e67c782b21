import json

import pytest

from agentlab.views.widgets import Context, Inspector, Meter, Timeline

WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def sent(monkeypatch):
    """What the views send to the page."""
    messages = []
    monkeypatch.setattr(
        Timeline, "send", lambda self, content, buffers=None: messages.append(content)
    )
    monkeypatch.setattr("agentlab.views.widgets.FLUSH_S", 0.0)
    return messages


def test_what_is_sent_piece_by_piece_adds_up_to_the_whole(sent, demo):
    view, rows, events, parts = Timeline(), {}, {}, {}
    for event in demo.events:
        view.add(event)
    view.commit()
    for message in sent:
        rows |= message["rows"]
        events |= message["events"]
        parts |= message["parts"]
    assert [message["seq"] for message in sent] == list(range(1, len(sent) + 1))
    assert (rows, events, parts) == tuple(view.snapshot[k] for k in ("rows", "events", "parts"))


def test_a_finished_row_is_sent_no_more(sent, stream):
    run = stream().start().turn_of(text="one")
    view = Timeline()
    for event in run.events:
        view.add(event)
    sent.clear()
    for event in run.turn_of(text="two").events[len(run.events) :]:
        view.add(event)
    assert all(1 not in message["rows"] for message in sent)


def test_four_hundred_events_are_little_data(sent, stream):
    run = stream().start()
    while len(run.events) < 400:
        run.turn_of(
            "Let me think about it for a while.", "Reading.", [("Read", {"file_path": "a"})]
        )
    view = Timeline()
    for event in run.events:
        view.add(event)
    assert len(json.dumps(sent)) < 1_500_000  # flushed after every event, which a run never does
    view.commit()
    assert len(json.dumps(view.snapshot)) < 100_000


def test_a_view_that_opens_late_is_told_everything(sent, demo):
    view = Timeline()
    for event in demo.events[:12]:
        view.add(event)
    sent.clear()
    view._handle_custom_msg({"kind": "ready"}, [])
    assert sent[0]["whole"] and list(sent[0]["rows"]) == [0, 1]
    view._handle_custom_msg({"kind": "something else"}, [])
    assert len(sent) == 1


def test_a_view_that_is_done_is_closed_once_the_page_has_loaded_it(sent, demo):
    late, early = Timeline(demo.events[:12]), Timeline(demo.events[:12])
    late.done()
    assert late.comm is not None, "closed while it loads, it would be an error in the page's log"
    early._handle_custom_msg({"kind": "ready"}, [])
    sent.clear()
    late._handle_custom_msg({"kind": "ready"}, [])
    early.done()
    assert (late.comm, early.comm, sent) == (None, None, [])


@pytest.mark.parametrize("look", [repr, Timeline.html, Timeline.commit])
def test_looking_at_a_view_does_not_keep_rows_from_being_sent(sent, demo, look):
    view = Timeline()
    view._picture.add(demo.events[0])
    view._picture.add(demo.events[1])
    look(view)
    view.flush()
    assert list(sent[-1]["rows"]) == [0]


@pytest.mark.parametrize("view", [Timeline, Meter, Context, Inspector])
def test_a_view_is_a_widget_while_it_runs_and_a_page_when_it_is_over(view, demo, monkeypatch):
    monkeypatch.delenv("AGENTLAB_STATIC_VIEWS", raising=False)
    running, _ = view(demo.events[:12])._repr_mimebundle_()
    over, _ = view(demo.events)._repr_mimebundle_()
    assert WIDGET in running and "text/html" in running
    assert list(over) == ["text/plain", "text/html"] and "<script>" in over["text/html"]
    monkeypatch.setenv("AGENTLAB_STATIC_VIEWS", "1")
    for events in (demo.events, demo.events[:12]):
        stored, _ = view(events)._repr_mimebundle_()
        assert list(stored) == ["text/plain", "text/html"] and "<script>" not in stored["text/html"]


def test_the_text_of_a_view_is_its_text_form(demo):
    assert repr(Timeline(demo.events)).startswith("Where did the time go? (simulated model)\n")
    assert repr(Meter()).startswith("What did it cost?")
