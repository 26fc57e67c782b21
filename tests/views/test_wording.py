import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab.views.wording import (
    call_label,
    clean,
    duration,
    one_line,
    seconds,
    status_words,
    tokens,
)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0.0 s"),
        (0.01, "<0.1 s"),
        (3.14, "3.1 s"),
        (59.96, "1:00"),
        (65, "1:05"),
        (3725, "1:02:05"),
    ],
)
def test_seconds(value, words):
    assert seconds(value) == words


@pytest.mark.parametrize(
    ("value", "words"), [(0, "0.0 s"), (0.0499, "50 ms"), (0.0994, "99 ms"), (0.0996, "0.1 s")]
)
def test_a_duration_below_a_tenth_of_a_second_is_in_milliseconds(value, words):
    assert duration(value) == words


def test_tokens_have_thin_separators():
    assert tokens(1234567) == "1\u202f234\u202f567" and tokens(999) == "999"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x1b]never ended", "anever ended"),
        ("beep\x07 back\x08 \x9b2Jcsi", "beep back csi"),
        ("one\r\ntwo\rthree", "one\ntwothree"),
        ("file\u202etxt.exe", "filetxt.exe"),
    ],
)
def test_escape_sequences_and_controls_are_taken_out(raw, shown):
    assert clean(raw) == shown


@given(st.text())
def test_cleaned_text_has_no_controls_left_and_can_be_encoded(text):
    done = clean(text)
    assert all(c in "\n\t" or c.isprintable() or ord(c) >= 0xA0 for c in done)
    assert clean(done) == done
    done.encode()


@given(st.text(), st.integers(5, 60))
def test_one_line_is_one_line_and_fits(text, width):
    line = one_line(text, width)
    assert "\n" not in line and len(line) <= width


@pytest.mark.parametrize(
    ("name", "arguments", "label"),
    [
        ("Clock", {}, "Clock"),
        ("Read", {"file_path": "a.txt"}, "Read a.txt"),
        ("Read", {"file_path": "C:\\Users\\someone\\a.txt"}, "Read a.txt"),
        ("Grep", {"pattern": "x", "path": "src"}, "Grep pattern=x, path=src"),
        ("Odd", "not a dict", "Odd"),
    ],
)
def test_a_call_on_one_line(name, arguments, label):
    assert call_label(name, arguments) == label


def test_statuses_are_words_also_those_of_a_later_version():
    assert status_words("turn_limit", "25 turns used") == "Stopped at the turn limit: 25 turns used"
    assert status_words("new_status") == "New status"
