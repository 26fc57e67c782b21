"""`predict` asks, records, reveals, and never scolds."""

import pytest

from agentlab.course import predict
from agentlab.course.shown import CourseError


def test_the_static_form_has_question_and_options_and_no_widget(monkeypatch):
    monkeypatch.setenv("AGENTLAB_STATIC_VIEWS", "1")
    bundle = predict("How many <calls>?", [1, 2])._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"] == "Predict: How many <calls>?\n  ( ) 1\n  ( ) 2"
    assert "&lt;calls&gt;" in bundle["text/html"]


def test_live_there_are_buttons_and_the_same_text(monkeypatch):
    monkeypatch.delenv("AGENTLAB_STATIC_VIEWS", raising=False)
    guess = predict("How many?", ["one", "two"])
    bundle = guess._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"] == repr(guess)


def test_a_click_records_the_choice_and_says_what_to_do_next():
    guess = predict("How many?", [1, 2])
    _, row, said = guess._widget().children
    row.children[1].click()
    assert guess.chosen == "2"
    assert "You chose 2" in said.value and "next cell" in said.value
    row.children[0].click()
    assert guess.chosen == "1"
    assert [button.button_style for button in row.children] == ["primary", ""]


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        (None, "The answer: 3"),
        (3, "The answer: 3, as you predicted"),
        (2, "The answer: 3 (you chose 2)"),
    ],
)
def test_reveal_shows_the_answer_beside_the_guess(chosen, text):
    guess = predict("How many?", [1, 2, 3])
    if chosen is not None:
        guess.choose(chosen)
    assert repr(guess.reveal(3)) == text


def test_an_answer_outside_the_options_is_shown_too():
    assert repr(predict("How many?", [1, 2]).reveal(7)) == "The answer: 7"


def test_a_falsy_value_is_an_answer():
    assert repr(predict("How many?", [0, 1]).reveal(0)) == "The answer: 0"


def test_a_known_answer_needs_no_value():
    assert repr(predict("Which?", ["a", "b"], answer="b").reveal()) == "The answer: b"


def test_mistakes_in_the_call_are_explained():
    with pytest.raises(CourseError, match="at least two"):
        predict("?", ["a", "a"])
    with pytest.raises(CourseError, match="not among"):
        predict("?", ["a", "b"], answer="c")
    with pytest.raises(CourseError, match="needs the value"):
        predict("?", ["a", "b"]).reveal()
    with pytest.raises(CourseError, match="choose one of: a, b"):
        predict("?", ["a", "b"]).choose("c")
