"""The rules that a history keeps, and their repair. Cases: public bug reports, as data."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab.messages import (
    INTERRUPTED,
    History,
    assistant,
    calls_of,
    distinct_ids,
    normalise,
    text,
    text_of,
    tool_result,
    tool_use,
    user,
)


def results(message):
    return [b for b in message["content"] if b["type"] == "tool_result"]


def repaired(*messages):
    history = History(copy.deepcopy(list(messages)))
    normalise(history)
    return history


def test_a_sound_history_is_left_as_it_is():
    messages = [
        user("go"),
        assistant("I look", tool_use("t1", "Read", {"file_path": "a"})),
        user(tool_result("t1", "hello"), "and now?"),
        assistant("done"),
    ]
    history = History(copy.deepcopy(messages))
    assert normalise(history) == []
    assert list(history) == messages


def test_c01_a_call_that_was_cancelled_gets_a_result_that_says_so():
    history = repaired(user("go"), assistant(tool_use("t1", "Bash", {})), user("go on"))
    (block, after) = history[2]["content"]
    assert block["tool_use_id"] == "t1" and block["is_error"] and "nterrupted" in block["content"]
    assert after == text("go on")


def test_c03_repair_is_idempotent():
    history = repaired(
        user("go"),
        assistant(tool_use("t1", "Read", {}), tool_use("t2", "Read", {})),
        user(tool_result("t1", "one")),
    )
    assert [r["tool_use_id"] for r in results(history[2])] == ["t1", "t2"]
    again = copy.deepcopy(list(history))
    assert normalise(history) == []
    assert list(history) == again


def test_c05_a_result_without_a_call_is_dropped_and_leaves_no_empty_message():
    history = repaired(user("a"), assistant("b"), user(tool_result("t9", "?")), user("c"))
    assert "t9" not in json.dumps(history)
    assert list(history) == [user("a"), assistant("b"), user("c")]


def test_c06_results_stand_in_one_message_in_call_order_before_the_text():
    history = repaired(
        user("go"),
        assistant(tool_use("t1", "Read", {"f": "a"}), tool_use("t2", "Read", {"f": "b"})),
        user(tool_result("t2", "b")),
        user("note", tool_result("t1", "a")),
    )
    assert len(history) == 3
    assert [b["type"] for b in history[2]["content"]] == ["tool_result", "tool_result", "text"]
    assert [r["tool_use_id"] for r in results(history[2])] == ["t1", "t2"]


def test_results_before_which_text_stands_move_to_the_front():
    history = repaired(
        user("go"), assistant(tool_use("t1", "A", {})), user("hm", tool_result("t1", "x"))
    )
    assert [b["type"] for b in history[2]["content"]] == ["tool_result", "text"]


def test_c08_the_same_call_twice_is_one_call():
    call = tool_use("t1", "Bash", {"command": "echo x >> log"})
    history = repaired(
        user("go"), assistant(call, call), user(tool_result("t1", "ok"), tool_result("t1", "ok"))
    )
    assert len(calls_of(history[1])) == 1
    assert len(results(history[2])) == 1


def test_c09_different_calls_that_share_or_lack_an_id_get_their_own():
    blocks = [
        tool_use("t1", "Read", {"f": "a"}),
        tool_use("t1", "Read", {"f": "b"}),
        tool_use("", "Read", {"f": "c"}),
    ]
    mended, _ = distinct_ids(blocks, set())
    ids = [b["id"] for b in mended]
    assert ids[0] == "t1" and len(set(ids)) == 3 and all(ids)
    assert [b["input"]["f"] for b in mended] == ["a", "b", "c"]


def test_results_of_calls_that_shared_an_id_are_matched_by_position():
    history = repaired(
        user("go"),
        assistant(tool_use("t1", "Read", {"f": "a"}), tool_use("t1", "Read", {"f": "b"})),
        user(tool_result("t1", "first"), tool_result("t1", "second")),
    )
    first, second = calls_of(history[1])
    by_id = {r["tool_use_id"]: r["content"] for r in results(history[2])}
    assert (by_id[first["id"]], by_id[second["id"]]) == ("first", "second")


def test_an_id_of_an_earlier_turn_is_not_used_again():
    history = repaired(
        user("go"),
        assistant(tool_use("t1", "A", {"n": 1})),
        user(tool_result("t1", "1")),
        assistant(tool_use("t1", "A", {"n": 2})),
        user(tool_result("t1", "2")),
    )
    ids = [c["id"] for m in history if m["role"] == "assistant" for c in calls_of(m)]
    assert len(set(ids)) == 2
    assert results(history[4])[0]["tool_use_id"] == ids[1]


def test_ids_with_characters_the_api_refuses_are_mended():
    (block,), _ = distinct_ids([tool_use("call:1/a b", "A", {})], set())
    assert block["id"] == "call_1_a_b"


def test_c18_thinking_is_left_byte_for_byte():
    thinking = {"type": "thinking", "thinking": "hm \ud800 ", "signature": "sig=="}
    history = repaired(
        user("go"), assistant(thinking, tool_use("t1", "A", {})), user(tool_result("t1", "x"))
    )
    assert history[1]["content"][0] == thinking


def test_c20_c22_empty_messages_and_texts_vanish():
    history = repaired(user("go"), assistant(), user("   \n"), user("on", ""))
    assert list(history) == [{"role": "user", "content": [text("go"), text("on")]}]


@pytest.mark.parametrize("broken", ["\ud800", "a\udfffb", "\udc00\ud800"])
def test_lone_surrogates_are_replaced(broken):
    history = repaired(
        user(broken),
        assistant(tool_use("t", "A", {broken: [broken]})),
        user(tool_result("t", broken)),
    )
    json.dumps(history, ensure_ascii=False).encode()


def test_whole_surrogate_pairs_become_the_character():
    assert text_of(repaired(user("\ud83d\ude00"))[0]) == "\U0001f600"


def test_a_history_that_begins_with_the_assistant_gets_a_beginning():
    assert [m["role"] for m in repaired(assistant("hello"), user("go"))] == [
        "user",
        "assistant",
        "user",
    ]


def test_what_was_sent_is_never_changed():
    history = History([user("a"), user("b")])
    history.mark_sent()
    history.append(user("c"))
    history.append(user("d"))
    normalise(history)
    assert list(history) == [user("a"), user("b"), user("c", "d")]


def test_only_the_unsent_part_is_looked_at():
    class Untouchable(dict):
        def __getitem__(self, key):
            raise AssertionError("looked at")

    history = History([Untouchable() for _ in range(5)])
    history.append(user("last sent"))
    history.sent = 6
    history.append(user("new"))
    normalise(history)


# Any mess of messages at all becomes acceptable, and stays as it is from then on.

ids = st.sampled_from(["t1", "t2", "t3", "", "a b"])
blocks = st.one_of(
    st.builds(text, st.sampled_from(["", " ", "x", "\ud800"])),
    st.builds(tool_use, ids, st.sampled_from(["A", "B"]), st.just({})),
    st.builds(tool_result, ids, st.just("r")),
)


@st.composite
def messages(draw):
    role = draw(st.sampled_from(["user", "assistant"]))
    allowed = blocks.filter(
        lambda b: b["type"] != ("tool_use" if role == "user" else "tool_result")
    )
    return {"role": role, "content": draw(st.lists(allowed, max_size=4))}


def acceptable(history):
    """The API's rules on pairs, order and emptiness, written down a second time and plainly."""
    seen = set()
    for i, message in enumerate(history):
        assert message["content"]
        calls = [b["id"] for b in message["content"] if b["type"] == "tool_use"]
        assert len(set(calls)) == len(calls) and not seen & set(calls)
        seen |= set(calls)
        expected = [b["id"] for b in calls_of(history[i - 1])] if i else []
        found = [b["tool_use_id"] for b in results(message)]
        assert found == expected
        kinds = [b["type"] == "tool_result" for b in message["content"]]
        assert kinds == sorted(kinds, reverse=True)
        if calls:
            assert i + 1 < len(history)
    return True


@given(st.lists(messages(), max_size=8))
def test_any_history_becomes_acceptable_and_stays(mess):
    history = History(copy.deepcopy(mess))
    normalise(history)
    assert acceptable(history)
    once = copy.deepcopy(list(history))
    assert normalise(history) == []
    assert list(history) == once


@given(st.lists(messages(), max_size=8), st.integers(0, 8))
def test_mending_in_two_steps_keeps_what_was_sent(mess, cut):
    history = History(copy.deepcopy(mess[:cut]))
    normalise(history)
    if history and history[-1]["role"] == "assistant":
        history.append(user("go on"))
    history.mark_sent()
    sent = copy.deepcopy(list(history))
    history.extend(copy.deepcopy(mess[cut:]))
    normalise(history)
    assert history[: len(sent)] == sent
    assert acceptable(history)


def test_interrupted_says_that_the_effect_is_unknown():
    assert "unknown" in INTERRUPTED
