"""Prompt-cache accounting by the published rules."""

import dataclasses

import pytest

from agentlab.models import all_models, default_model
from agentlab.simulator import cache
from agentlab.simulator.cache import PromptCache
from agentlab.simulator.prefix import chain

MODEL = all_models()[default_model()]
LONG = "word " * 2000  # about 3,000 tokens, more than any minimum but the largest
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def text(content, control=None):
    return {"type": "text", "text": content} | ({"cache_control": control} if control else {})


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


class Caller:
    """Sends requests to one cache, at a time that the test sets."""

    def __init__(self):
        self.cache, self.now = PromptCache(), 0.0

    def __call__(self, *messages, model=MODEL, **more):
        body = {"messages": list(messages), **more}
        return self.cache.account(body, chain(body), model, self.now)


@pytest.fixture
def ask():
    return Caller()


def test_without_a_breakpoint_nothing_is_cached(ask):
    first, second = ask(user(text(LONG))), ask(user(text(LONG)))
    assert (first.read_tokens, first.write_tokens) == (0, 0)
    assert second == first


def test_written_once_then_read_and_the_buckets_add_up(ask):
    body = [user(text(LONG, MARK), text("And?"))]
    total = chain({"messages": body}).total_tokens
    first, second = ask(*body), ask(*body)
    assert first.write_5m_tokens > 3000 and first.read_tokens == 0
    assert second.read_tokens == first.write_tokens and second.write_tokens == 0
    for account in (first, second):
        assert account.input_tokens + account.read_tokens + account.write_tokens == total


def test_a_growing_conversation_reads_what_it_wrote(ask):
    history = [user(text(LONG, MARK))]
    ask(*history)
    history = [user(text(LONG)), {"role": "assistant", "content": "Yes."}, user(text("B", MARK))]
    grown = ask(*history)
    assert grown.read_tokens > 3000
    assert 0 < grown.write_5m_tokens < 20


def test_top_level_cache_control_marks_the_last_block(ask):
    first = ask(user(text(LONG)), cache_control=MARK)
    more = [user(text(LONG)), {"role": "assistant", "content": "Yes."}, user(text("B"))]
    assert ask(*more, cache_control=MARK).read_tokens == first.write_5m_tokens


def test_an_edited_prefix_is_written_again(ask):
    ask(user(text(LONG, MARK)), system="one")
    again = ask(user(text(LONG, MARK)), system="two")
    assert again.read_tokens == 0 and again.write_tokens > 3000


def test_tools_and_system_survive_another_tool_choice_but_messages_do_not(ask):
    head = {"system": [text(LONG, MARK)], "tools": [{"name": "a", "input_schema": {}}]}
    ask(user(text(LONG, MARK)), **head, tool_choice={"type": "auto"})
    other = ask(user(text(LONG, MARK)), **head, tool_choice={"type": "none"})
    assert 3000 < other.read_tokens < 3100
    assert other.write_tokens > 3000


@pytest.mark.parametrize(
    ("control", "seconds", "read"), [(MARK, 299, True), (MARK, 300, False), (HOUR, 3599, True)]
)
def test_entries_live_as_long_as_they_should(ask, control, seconds, read):
    ask(user(text(LONG, control)))
    ask.now = seconds
    assert (ask(user(text(LONG, control))).read_tokens > 0) is read


def test_reading_makes_an_entry_live_on(ask):
    for ask.now in (0, 290, 580):
        last = ask(user(text(LONG, MARK)))
    assert last.read_tokens > 0


def test_both_lifetimes_in_one_request_are_counted_apart(ask):
    account = ask(user(text("Hi", MARK)), system=[text(LONG, HOUR)])
    assert account.write_1h_tokens > 3000
    assert 0 < account.write_5m_tokens < 20


def test_a_prompt_below_the_models_minimum_is_not_cached(ask):
    strict = dataclasses.replace(MODEL, min_cache_tokens=10_000)
    for _ in range(2):
        account = ask(user(text(LONG, MARK)), model=strict)
    assert (account.read_tokens, account.write_tokens) == (0, 0)


def test_models_do_not_share_entries(ask):
    other = next(model for model in all_models().values() if model.id != MODEL.id)
    ask(user(text(LONG, MARK)))
    assert ask(user(text(LONG, MARK)), model=other).read_tokens == 0


def blocks(count, last=None):
    texts = [text(LONG)] + [text(f"block {n}") for n in range(1, count)]
    return [*texts[:-1], texts[-1] | {"cache_control": last}] if last else texts


def test_lookback_ends_after_twenty_positions(ask):
    ask(user(*blocks(5, MARK)))
    assert ask(user(*blocks(24, MARK))).read_tokens > 0  # 20 positions: blocks 24 to 5
    ask.cache = PromptCache()
    ask(user(*blocks(5, MARK)))
    assert ask(user(*blocks(25, MARK))).read_tokens == 0


def test_a_second_breakpoint_starts_a_lookback_of_its_own(ask):
    ask(user(*blocks(5, MARK)))
    many = blocks(40, MARK)
    many[6] = many[6] | {"cache_control": MARK}
    assert ask(user(*many)).read_tokens > 0


def test_a_run_of_parallel_calls_is_one_position(ask):
    calls = [{"type": "tool_use", "id": f"c{n}", "name": "a", "input": {}} for n in range(30)]
    results = [{"type": "tool_result", "tool_use_id": f"c{n}", "content": "x"} for n in range(30)]
    ask(user(text(LONG, MARK)))
    results[-1]["cache_control"] = MARK
    history = [user(text(LONG)), {"role": "assistant", "content": calls}, user(*results)]
    assert ask(*history).read_tokens > 3000


def test_memory_is_bounded(ask, monkeypatch):
    monkeypatch.setattr(cache, "MAX_ENTRIES", 10)
    for number in range(50):
        ask(user(text(LONG + str(number), MARK)))
    assert len(ask.cache) <= 10
    assert ask(user(text(LONG + "49", MARK))).read_tokens > 0
