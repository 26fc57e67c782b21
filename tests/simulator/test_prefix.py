"""The chain of hashes: what it takes for equal, what for different, and that it stays small."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab import tokens
from agentlab.simulator import prefix
from agentlab.simulator.prefix import chain

TOOL = {"name": "Read", "description": "reads", "input_schema": {"type": "object"}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "a", "n": None}}
YES = {"type": "text", "text": "Yes."}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "text"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}


def request():
    return {
        "system": "Be brief.",
        "tools": [copy.deepcopy(TOOL)],
        "messages": [
            {"role": "user", "content": "Read a."},
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "Yes."}, copy.deepcopy(CALL)],
            },
            {"role": "user", "content": [dict(RESULT)]},
        ],
    }


def test_before_counts_only_what_stands_before():
    whole = request()
    for index in range(len(whole["messages"]) + 1):
        part = {**whole, "messages": whole["messages"][:index]}
        assert chain(whole).before(index) == chain(part).whole


def _spelled_differently(body):
    body["system"] = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    body["tools"][0] = dict(reversed(body["tools"][0].items())) | {"strict": None}
    body["tools"].append({"name": "Later", "input_schema": {}, "defer_loading": True})
    body["messages"][0]["content"] = [{"type": "text", "text": "Read a.", "citations": None}]
    body["messages"][2]["content"][0]["content"] = [{"type": "text", "text": "text"}]
    body["max_tokens"], body["tool_choice"] = 5, {"type": "none"}


def _split(body):
    body["messages"][1:2] = [
        {"role": "assistant", "content": [block]} for block in body["messages"][1]["content"]
    ]


def _with_thinking(body):
    body["messages"][1]["content"].insert(0, THOUGHT)


@pytest.mark.parametrize("change", [_spelled_differently, _split, _with_thinking])
def test_another_spelling_is_the_same_beginning(change):
    body = request()
    change(body)
    assert chain(body).whole == chain(request()).whole


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.update(system="Be brief!"),
        lambda body: body["tools"][0].update(description="Reads"),
        lambda body: body["tools"][0]["input_schema"].update(properties={"a": {"default": None}}),
        lambda body: body["messages"][0].update(content="Read b."),
        lambda body: body["messages"][1]["content"][1]["input"].pop("n"),
        lambda body: body["messages"][2]["content"][0].update(is_error=True),
        lambda body: body["messages"].pop(0),
        lambda body: body["messages"][2].update(role="assistant"),
    ],
)
def test_an_edit_changes_every_hash_after_it(change):
    body = request()
    change(body)
    assert chain(body).whole != chain(request()).whole


def test_the_cache_sees_thinking_and_the_salt_only_the_messages():
    plain, thinking = chain(request()), request()
    _with_thinking(thinking)
    assert chain(thinking).cache_hashes()[-1] != plain.cache_hashes()[-1]
    head = plain.starts[0] + 1
    assert plain.cache_hashes("x")[:head] == plain.cache_hashes("y")[:head]
    assert plain.cache_hashes("x")[-1] != plain.cache_hashes("y")[-1]


def test_tokens_are_those_of_the_one_estimate():
    body = request()
    assert chain(body).total_tokens == tokens.count_request(
        body["system"], body["tools"], body["messages"]
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON, JSON, JSON)
def test_any_json_has_a_chain_and_the_same_one_again(system, tools, messages):
    body = {"system": system, "tools": tools, "messages": messages}
    made = chain(body)
    assert made.whole == chain(copy.deepcopy(body)).whole
    assert len(made.tokens) == len(made.digests) + 1


@settings(max_examples=20)
@given(st.lists(st.text(min_size=1), min_size=1, max_size=6))
def test_appending_keeps_every_earlier_hash(texts):
    messages = [{"role": "user", "content": text} for text in texts]
    short, long = chain({"messages": messages[:-1]}), chain({"messages": messages})
    assert [long.before(i) for i in range(len(messages))] == [
        short.before(i) for i in range(len(messages))
    ]


def test_the_memo_is_bounded(monkeypatch):
    monkeypatch.setattr(prefix, "_memo", {})
    monkeypatch.setattr(prefix, "MEMO_SIZE", 64)
    for number in range(500):
        chain({"messages": [{"role": "user", "content": f"message {number}"}]})
    assert len(prefix._memo) <= 64
