"""Tokens to dollars, the estimate of tokens, and the clock."""

import asyncio
import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab.clock import FIRST_TOKEN_S, RealClock, VirtualClock
from agentlab.costs import Usage, dollars, price
from agentlab.messages import assistant, tool_result, tool_use, user
from agentlab.tokens import count_message, count_request, count_text, count_tool

counts = st.integers(0, 10**6)
usages = st.builds(Usage, counts, counts, counts, counts, st.just(0), counts)


@pytest.mark.parametrize(
    ("usage", "model", "expected"),
    [
        (Usage(1_000_000, 0), "claude-sonnet-5-5", 2.0),
        (Usage(0, 1_000_000), "claude-opus-4-7", 25.0),  # not 75, as a well-known tutorial has it
        (Usage(0, 0, 1_000_000, 0), "claude-sonnet-5-5", 2.5),
        (Usage(0, 0, 1_000_000, 0, 1_000_000), "claude-sonnet-5-5", 4.0),
        (Usage(0, 0, 0, 1_000_000), "claude-sonnet-5-5", 0.1),
        (Usage(100_000, 0), "claude-haiku-5-5", 0.01),
        (Usage(100_001, 0), "claude-haiku-5-5", 0.0500005),  # all tokens at the higher tier
        (Usage(1, 0, 0, 100_000), "claude-haiku-5-5", 0.05 * 0.1 + 0.5e-6),
        (Usage(10, 10), "claude-haiku-4-5-20251001", 0.00006),
    ],
)
def test_prices(usage, model, expected):
    assert price(usage, model) == pytest.approx(expected, abs=1e-12)


def test_an_unknown_model_has_an_unknown_price():
    assert price(Usage(1, 1), "llama-9") is None
    assert dollars(None) == "unknown"


@given(usages, usages)
def test_usage_adds_up(a, b):
    assert (a + b).total_tokens == a.total_tokens + b.total_tokens
    assert Usage.from_dict(a.to_dict()) == a


def test_usage_of_a_reply():
    reply = {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": None,
        "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 2},
        "output_tokens_details": {"thinking_tokens": 1},
        "service_tier": "standard",
    }
    assert Usage.from_api(reply) == Usage(1, 2, 3, 0, 2, 1)


@pytest.mark.parametrize(
    ("amount", "text"), [(0.0, "$0.0000"), (0.00134, "$0.0013"), (0.5, "$0.5000"), (1.2, "$1.20")]
)
def test_dollars_are_written_to_the_precision_that_matters(amount, text):
    assert dollars(amount) == text


@given(st.text(), st.text())
def test_the_estimate_never_shrinks_when_text_is_added(a, b):
    assert count_text(a + b) >= max(count_text(a), count_text(b))


def test_the_estimate_is_near_the_measured_averages():
    assert count_text("x" * 330) == 100
    assert count_text("日本") == 2
    assert count_text("") == 0


def test_a_request_costs_the_sum_of_its_parts():
    tools = [{"name": "A", "description": "d", "input_schema": {"type": "object"}}]
    messages = [user("go"), assistant(tool_use("t", "A", {"x": 1})), user(tool_result("t", "r"))]
    parts = count_text("system") + count_tool(tools[0]) + sum(map(count_message, messages))
    assert count_request("system", tools, messages) == parts


def test_a_cache_mark_changes_no_estimate():
    marked = user({"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}})
    assert count_message(marked) == count_message(user("go"))


def test_the_virtual_clock_stands_still_until_it_is_moved():
    clock = VirtualClock()
    assert clock.now() == 0.0
    asyncio.run(clock.sleep(3600))
    clock.streamed(264)  # 80 tokens, one second
    assert clock.now() == pytest.approx(3601)
    assert clock.wall() - VirtualClock().wall() == datetime.timedelta(seconds=3601)


def test_virtual_sleeps_of_tasks_that_run_together_overlap():
    async def main():
        clock, woken = VirtualClock(), []

        async def sleep(name, *times):
            for seconds in times:
                await clock.sleep(seconds)
                woken.append((name, round(clock.now(), 6)))

        await asyncio.gather(sleep("long", 1.0), sleep("short", 0.3, 0.3), sleep("last", 1.2))
        return woken

    assert asyncio.run(main()) == [("short", 0.3), ("short", 0.6), ("long", 1.0), ("last", 1.2)]


def test_the_real_clock_cannot_be_moved():
    clock = RealClock()
    clock.advance(1000)
    clock.streamed(10**6)
    assert clock.now() < 100 and clock.wall().tzinfo is not None
    assert FIRST_TOKEN_S > 0
