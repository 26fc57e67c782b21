"""The question to the user in a notebook: one answer, its own id, and what is left of it."""

import asyncio
import threading

import pytest

from agentlab.permissions import Answer, Question
from agentlab.views import approval
from agentlab.views.approval import Approval, Asking, asker, static_html


def question(**changes):
    facts = {
        "id": "toolu_1", "agent": "main", "tool": "Bash", "shown": "make",
        "input": {"command": "make", "timeout": 9}, "reason": "no rule says whether this may run",
        "layer": "default", "rules": ("Bash(make:*)",),
    }  # fmt: skip
    return Question(**{**facts, **changes})


@pytest.fixture
def asked():
    """A widget, what it was answered, and what it sent back to the page."""

    def make(**changes):
        given, sent = [], []
        widget = Approval(question(**changes), given.append)
        widget.send = lambda content, buffers=None: sent.append(content)
        return widget, given, sent

    return make


def say(widget, kind, id="toolu_1", **more):
    widget._handle_custom_msg({"kind": kind, "id": id, **more}, [])


@pytest.mark.parametrize(
    ("message", "means"),
    [
        ({"kind": "approve"}, Answer("allow")),
        ({"kind": "approve", "remember": "session"}, Answer("allow", remember="session")),
        ({"kind": "approve", "remember": "always"}, Answer("allow", remember="always")),
        ({"kind": "deny"}, Answer("deny")),
        ({"kind": "deny", "note": " use make test "}, Answer("deny", "use make test")),
        (
            {"kind": "edit", "text": "make test"},
            Answer("allow", input={"command": "make test", "timeout": 9}),
        ),
    ],
)
def test_every_button_is_an_answer(asked, message, means):
    widget, given, _ = asked()
    say(widget, **message)
    assert given == [means]


def test_the_input_of_other_tools_is_edited_as_json(asked):
    widget, given, _ = asked(tool="Write", input={"file_path": "a", "content": "x"})
    assert '"file_path": "a"' in widget.question["edit"]
    say(widget, "edit", text='{"file_path": "b", "content": "x"}')
    assert given[0].input == {"file_path": "b", "content": "x"}


@pytest.mark.parametrize("text", ["{", "[]", "", "  "])
def test_an_edit_that_is_wrong_is_told_and_the_question_stays_open(asked, text):
    for tool in ("Write",) if text.strip() else ("Write", "Bash"):
        widget, given, sent = asked(tool=tool)
        say(widget, "edit", text=text)
        assert given == [] and sent[0]["kind"] == "wrong" and sent[0]["text"]
        say(widget, "approve")
        assert given == [Answer("allow")]


def test_exactly_one_answer_counts_also_from_many_threads(asked):
    widget, given, _ = asked()
    threads = [
        threading.Thread(target=say, args=(widget, "deny" if n % 2 else "approve"))
        for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(given) == 1


@pytest.mark.parametrize(
    "message",
    [
        {"kind": "approve", "id": "toolu_2"},
        {"kind": "approve"},
        {"id": "toolu_1"},
        {"kind": "yes", "id": "toolu_1"},
        {"kind": "approve", "id": "toolu_1", "remember": "forever"},
        "approve",
        None,
    ],
)
def test_what_is_no_answer_to_this_question_counts_for_nothing(asked, message):
    widget, given, _ = asked()
    widget._handle_custom_msg(message, [])
    assert given == []


def test_nothing_can_be_remembered_where_there_is_no_rule_for_it(asked):
    widget, given, _ = asked(rules=())
    say(widget, "approve", remember="always")
    assert given == []


async def test_an_answer_from_another_thread_ends_the_waiting():
    asking = Asking()
    asking._repr_mimebundle_()  # displayed: the questions stand in its box
    waiting = asyncio.create_task(asking(question()))
    await asyncio.sleep(0.05)
    (widget,) = asking._box.children
    threading.Thread(target=say, args=(widget, "approve")).start()
    assert await asyncio.wait_for(waiting, 5) == Answer("allow")
    (left,) = asking._box.children
    assert "approved" in left.value and "make" in left.value
    assert widget.decided == "approved"


async def test_a_page_that_was_still_loading_is_told_again_until_it_shows_the_question(monkeypatch):
    monkeypatch.setattr(approval, "HEARTBEAT_S", 0.01)
    asking, told = Asking(), []
    asking._repr_mimebundle_()
    waiting = asyncio.create_task(asking(question()))
    await asyncio.sleep(0)
    (widget,) = asking._box.children
    monkeypatch.setattr(type(asking._box), "send_state", lambda box, key: told.append(key))
    await asyncio.sleep(0.1)
    assert len(told) > 1 and set(told) == {"children"}
    say(widget, "seen")
    await asyncio.sleep(0.05)
    told.clear()
    await asyncio.sleep(0.1)
    assert told == [] and not waiting.done()
    say(widget, "deny")
    assert await asyncio.wait_for(waiting, 5) == Answer("deny", "")


async def test_a_question_that_is_cancelled_says_so_and_takes_no_answer_any_more():
    asking = Asking()
    asking._repr_mimebundle_()
    waiting = asyncio.create_task(asking(question()))
    await asyncio.sleep(0.05)
    (widget,) = asking._box.children
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    say(widget, "approve")
    await asyncio.sleep(0.05)
    assert widget.decided == "cancelled before it was answered"
    assert "cancelled" in asking._box.children[0].value


def test_what_is_left_is_text_and_never_html_of_the_model():
    html = static_html(question(shown="echo '<img src=x onerror=alert(1)>'"), "approved")
    assert "<img" not in html and "&lt;img" in html


def test_what_the_page_shows_has_no_place_to_hide():
    widget = Approval(question(shown="ls" + " " * 400 + "; rm -rf ~", agent="helper"), print)
    assert widget.question["shown"] == "ls[400 blanks]; rm -rf ~"
    assert "helper" in widget.question["headline"]


def test_while_notebooks_are_built_nobody_is_asked(monkeypatch):
    assert asker() is None
    monkeypatch.setenv("AGENTLAB_STATIC_VIEWS", "0")
    assert isinstance(asker(), Asking)
