"""Tokens to dollars, the estimate of tokens, and the clock."""

import asyncio
import datetime
import json
from pathlib import Path

import anthropic
import pytest
from anthropic.types import RawMessageDeltaEvent, RawMessageStartEvent
from hypothesis import given
from hypothesis import strategies as st

from agentlab.clock import FIRST_TOKEN_S, RealClock, VirtualClock
from agentlab.costs import (
    Usage,
    bill,
    budget,
    context_tokens,
    dollars,
    latest,
    price,
    price_reply,
)
from agentlab.events import Event
from agentlab.messages import assistant, tool_result, tool_use, user
from agentlab.meter import CostMeter
from agentlab.models import all_models
from agentlab.prices import MULTIPLIERS, PriceTable, prices, seed_prices, spellings
from agentlab.stream import Reply
from agentlab.tables import THIN
from agentlab.tokens import count_message, count_request, count_text, count_tool

CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parent / "cases" / "costs.json").read_text())
}
counts = st.integers(0, 10**6)
usages = st.builds(
    Usage,
    input_tokens=counts,
    cache_read_tokens=counts,
    cache_write_5m_tokens=counts,
    cache_write_1h_tokens=counts,
    output_tokens=counts,
    thinking_tokens=counts,
)
MILLION = 1_000_000
SONNET, HAIKU = "claude-sonnet-5-5", "claude-haiku-5-5"


def case_price(case, usage=None):
    """What a case's usage costs at the case's prices."""
    asked = case["input"]
    usage = Usage.from_api(asked["usage"]) if usage is None else usage
    table = PriceTable(case["setup"]["prices"])
    return price(usage, asked["model"], batch=asked.get("batch", False), table=table)


def usd_of(case):
    return pytest.approx(case["expected"]["numbers"]["usd"], abs=1e-9)


# -------------------------------------------------------------- the cases, one after another


def test_f01_cached_tokens_are_no_part_of_the_input():
    case = CASES["F-01"]
    assert case_price(case) == usd_of(case)
    free = {**case["input"]["usage"], "input_tokens": 0}
    assert case_price(case) - case_price(case, Usage.from_api(free)) == pytest.approx(19 * 3e-6)


def test_f03_missing_and_null_counts_are_zero():
    case = CASES["F-03"]
    assert case_price(case) == usd_of(case)
    for nothing in (None, {}, {"cache_creation": None, "output_tokens_details": None}):
        assert Usage.from_api(nothing) == Usage()
        assert Usage.from_openai(nothing) == Usage()


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 10**20), st.floats(),
    st.sampled_from(["", "12", [], [None], [{"input_tokens": -1}], {}, {"cached_tokens": "x"},
                     {"reasoning_tokens": 9e9}, {"thinking_tokens": 5}, [[]], {"type": "message"}]),
)  # fmt: skip
FIELDS = (
    "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
    "cache_creation", "output_tokens_details", "iterations", "prompt_tokens", "completion_tokens",
    "prompt_tokens_details", "completion_tokens_details", "cached_tokens", "cache_write_tokens",
)  # fmt: skip


@given(JUNK | st.dictionaries(st.sampled_from(FIELDS), JUNK))
def test_f03_a_badly_reported_usage_ends_no_run_and_makes_no_bucket_negative(usage):
    """Whatever a proxy sends, the call was paid: counting must not lose it."""
    for used in (Usage.from_api(usage), Usage.from_openai(usage), Usage(output_tokens=1)):
        assert all(isinstance(n, int) and n >= 0 for n in used.to_dict().values())
        assert used.thinking_tokens <= used.output_tokens
        assert Usage.from_dict(used.to_dict()) == used
        assert price(used, SONNET) >= 0
    assert price_reply(usage, SONNET) >= 0 and context_tokens(usage) >= 0


@pytest.mark.parametrize("count", ["12", -5, float("nan"), float("inf"), [3], True, 10**400, 1e300])
def test_f03_what_is_no_count_is_left_out_and_the_others_are_counted(count):
    counted = Usage.from_api({"input_tokens": count, "output_tokens": 4.0, "iterations": [count]})
    assert counted == Usage(output_tokens=4)
    assert Usage.from_dict({"input_tokens": count, "output_tokens": 4}) == counted
    details = {"cached_tokens": count}
    other = Usage.from_openai({"prompt_tokens": 10, "prompt_tokens_details": details})
    assert other == Usage(input_tokens=10)
    assert Usage.from_openai({"prompt_tokens": 10, "prompt_tokens_details": count}) == other


def stream_events(events):
    """Events as the SDK hands them out."""
    for event in events:
        [(kind, counts)] = event.items()
        if kind == "message_start":
            message = {"id": "msg_1", "model": "m1", "usage": counts}
            yield RawMessageStartEvent.construct(type=kind, message=message)
        else:
            delta = {"stop_reason": "end_turn"}
            yield RawMessageDeltaEvent.construct(type=kind, delta=delta, usage=counts)


def test_f05_the_usage_of_a_stream_is_cumulative():
    case, reply = CASES["F-05"], Reply()
    for event in stream_events(case["input"]["events"]):
        reply.feed(event)
    assert reply.usage.output_tokens == 15
    assert case_price(case, reply.usage) == usd_of(case)


def test_f05_a_report_that_says_nothing_about_a_count_leaves_it():
    first = {"input_tokens": 25, "cache_read_input_tokens": 400, "output_tokens": 1}
    reply = Reply()
    later = {"output_tokens": 15, "cache_read_input_tokens": None, "input_tokens": 25}
    for event in stream_events([{"message_start": first}, {"message_delta": later}]):
        reply.feed(event)
    assert reply.usage == Usage(input_tokens=25, cache_read_tokens=400, output_tokens=15)


def test_f05_a_later_zero_takes_no_count_back():
    """Some proxies fill in zeros for what they told at the start."""
    first = {"input_tokens": 25, "cache_read_input_tokens": 400, "output_tokens": 1}
    zeros = {"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 15}
    reply = Reply()
    for event in stream_events([{"message_start": first}, {"message_delta": zeros}]):
        reply.feed(event)
    assert reply.usage == Usage(input_tokens=25, cache_read_tokens=400, output_tokens=15)
    hour = {"cache_creation_input_tokens": 9, "cache_creation": {"ephemeral_1h_input_tokens": 9}}
    none = {"cache_creation_input_tokens": 0, "cache_creation": {"ephemeral_1h_input_tokens": 0}}
    assert Usage.from_api(latest(hour, none)) == Usage(cache_write_1h_tokens=9)
    summary = {"type": "compaction", "input_tokens": 25, "output_tokens": 15}
    paused = latest(first, {**zeros, "output_tokens": 0, "iterations": [summary]})
    assert Usage.from_api(paused) == Usage(input_tokens=25, output_tokens=15)


def message_event(id, *, agent="main", turn=0, model=SONNET, **usage):
    data = {"usage": Usage(**usage).to_dict(), "id": id, "model": model}
    return Event("assistant.message", 0.0, turn, agent, data)


def test_f07_of_several_snapshots_of_one_message_the_last_counts():
    case = CASES["F-07"]
    meter = CostMeter.of(
        message_event(line["id"], model="m1", output_tokens=line["output_tokens"])
        for line in case["input"]["transcript"]
    )
    assert meter.total.usage.output_tokens == 40 and meter.total.calls == 1
    assert case_price(case, meter.total.usage) == usd_of(case)


def test_f07_snapshots_of_two_messages_that_take_turns_are_two_messages():
    told = [("a", 1), ("b", 2), ("a", 30), ("b", 40)]
    meter = CostMeter.of(message_event(id, output_tokens=n) for id, n in told)
    assert (meter.total.calls, meter.total.usage.output_tokens) == (2, 70)


def test_f07_the_same_message_in_two_turns_or_of_two_agents_is_two_calls():
    """A deterministic server gives the same answer, and the same id, to the same request."""
    events = [
        message_event("msg_1", output_tokens=5, turn=1),
        message_event("msg_1", output_tokens=5, turn=2),
        message_event("msg_1", output_tokens=5, turn=1, agent="helper"),
    ]
    assert CostMeter.of(events).total.usage.output_tokens == 15


def test_f09_writes_for_an_hour_cost_more_than_writes_for_five_minutes():
    case = CASES["F-09"]
    assert case_price(case) == usd_of(case)
    assert Usage.from_api(case["input"]["usage"]).cache_write_tokens == MILLION


@pytest.mark.parametrize(
    ("writes", "five", "hour"),
    [
        ({"cache_creation_input_tokens": 10}, 10, 0),  # not said: five minutes, the default
        ({"cache_creation_input_tokens": 10, "cache_creation": None}, 10, 0),
        ({"cache_creation": {"ephemeral_1h_input_tokens": 4}}, 0, 4),  # the sum is missing
        ({"cache_creation_input_tokens": 10,
          "cache_creation": {"ephemeral_1h_input_tokens": 4}}, 6, 4),
        ({"cache_creation_input_tokens": 0,
          "cache_creation": {"ephemeral_5m_input_tokens": 3}}, 3, 0),
    ],
)  # fmt: skip
def test_f09_what_is_not_said_about_writes_is_worked_out(writes, five, hour):
    usage = Usage.from_api({"input_tokens": 1, "output_tokens": 1, **writes})
    assert (usage.cache_write_5m_tokens, usage.cache_write_1h_tokens) == (five, hour)


def test_f11_a_table_without_a_price_for_an_hour_derives_it_and_says_so():
    case = CASES["F-11"]
    assert case_price(case) in [pytest.approx(n) for n in case["expected"]["numbers"]["usd_any_of"]]
    row = PriceTable(case["setup"]["prices"]).find("m3")
    assert row.cache_write_1h == 2 * row.input
    assert row.notes == ("cache_write_1h is not in the table: taken as 2 times the input",)
    assert "taken as 2 times" in str(bill(Usage(cache_write_1h_tokens=5), "m3",
                                          table=PriceTable(case["setup"]["prices"])))  # fmt: skip


@pytest.mark.parametrize("bucket", ["cache_read", "cache_write_5m", "cache_write_1h"])
def test_f11_no_bucket_is_free_because_the_table_does_not_have_it(bucket):
    table = PriceTable({"m": {"input": 2, "output": 4}})
    usage = Usage(**{f"{bucket}_tokens": MILLION})
    assert price(usage, "m", table=table) == pytest.approx(2 * MULTIPLIERS[bucket])
    assert any(bucket in note for note in table.find("m").notes)


def test_f12_a_child_on_the_same_model_is_counted():
    case = CASES["F-12"]
    agents = [case["input"]["parent"], *case["input"]["children"]]
    meter = CostMeter()
    for number, agent in enumerate(agents):
        name = f"child-{number}" if number else "main"
        meter.add(Event("session.start", 0.0, 0, name, {"model": agent["model"]}))
        meter.add(message_event("msg_1", agent=name, turn=1, model=agent["model"]))
        end = {"usage": {}, "cost_usd": agent["usd"]}
        meter.add(Event("assistant.turn_end", 0.0, 1, name, end))
    assert meter.total.usd == usd_of(case)
    assert [line.usd for line in meter.by("agent")] == [8.93, 6.0, 5.28]
    assert sum(line.usd for line in meter.lines) == pytest.approx(meter.total.usd)


def test_f14_names_are_resolved_however_they_are_spelled():
    case = CASES["F-14"]
    table = PriceTable(case["setup"]["prices"])
    row = table.find("claude-x-4")
    assert [table.find(name) for name in case["input"]["models"]] == [row] * 6
    assert table.find("claude-x-40") is None


@pytest.mark.parametrize(
    "name",
    [
        "CLAUDE-X-4", " claude-x-4 ", "claude-x-4@20250929", "claude-x-4-2025-09-29",
        "claude-x-4-latest", "openrouter/anthropic/claude-x-4", "bedrock/anthropic.claude-x-4-v2:0",
        "global.anthropic.claude-x-4-20250929-v1:0", "us-gov.anthropic.claude-x-4-v1:0",
        "vertex_ai/claude-x-4@20250929", "claude-x-4-20250929[1m]", "anthropic.claude-x-4-v1[1m]",
        "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-x-4-20250929-v1:0",
        "anthropic.claude-x-4-20250929-v1:0:200k",
        "anthropic:claude-x-4", "bedrock_converse:us.anthropic.claude-x-4-20250929-v1:0",
    ],
)  # fmt: skip
def test_f14_more_spellings_of_the_same_kind(name):
    assert PriceTable(CASES["F-14"]["setup"]["prices"]).find(name).model == "claude-x-4"


@pytest.mark.parametrize(
    "name",
    [
        "claude-x-40", "claude-x-4-5", "claude-x-4-mini", "claude-x", "my-claude-x-4",
        "claude-x-4-2", "claude-x-4-2025", "claude-x-4-20250929-mini", "claude-x-4:free",
        "claude-x-4v1", "", "claude", "x-4", None,
    ],
)  # fmt: skip
def test_f14_another_model_is_not_taken_for_it(name):
    assert PriceTable(CASES["F-14"]["setup"]["prices"]).find(name) is None


@pytest.mark.parametrize("name", ["-v1" * 3_000, "[1m]" * 5_000, "a" * 1_000_000, "a/" * 9_000])
def test_f14_what_is_longer_than_any_name_is_none_and_costs_no_time(name):
    assert price(Usage(input_tokens=1), name) is None
    assert not list(spellings(name))


def test_f14_a_point_in_a_version_is_a_dash():
    table = PriceTable(
        {"claude-x-4-5": {"input": 1, "output": 2}, "gpt-4.1": {"input": 3, "output": 4}}
    )
    assert table.find("anthropic/claude-x-4.5").model == "claude-x-4-5"
    assert table.find("gpt-4.1-2025-04-14").model == "gpt-4.1"


def test_f16_a_batch_costs_half_and_its_cached_tokens_too():
    case = CASES["F-16"]
    assert case_price(case) == usd_of(case)


@given(usages, st.sampled_from(list(prices())))
def test_f16_a_batch_costs_half_whatever_the_buckets(usage, model):
    assert price(usage, model, batch=True) == pytest.approx(price(usage, model) / 2)


def test_d16_what_was_read_from_the_cache_fills_the_window():
    case = CASES["D-16"]
    assert context_tokens(case["setup"]["usage"]) == case["expected"]["numbers"]["context_tokens"]
    usage = Usage.from_api(case["setup"]["usage"])
    assert context_tokens(usage) == 98716


def test_d16_a_summary_made_by_the_server_does_not_fill_the_window():
    """The top level is that of the reply; a compaction is a step of its own (SDK docstring)."""
    reply = {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000}
    summary = {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500}
    usage = {"input_tokens": 23_000, "output_tokens": 1_000, "iterations": [summary, reply]}
    assert context_tokens(usage) == 24_000
    assert context_tokens({**usage, "iterations": [reply, summary]}) == 24_000
    assert context_tokens({"input_tokens": 0, "output_tokens": 0, "iterations": [summary]}) == 0
    assert Usage.from_api(usage) == Usage(input_tokens=203_000, output_tokens=4_500)


def test_d16_a_field_of_another_vendor_that_is_null_does_not_hide_the_cache():
    usage = {**CASES["D-16"]["setup"]["usage"], "prompt_tokens": None}
    assert context_tokens(usage) == 98716


def test_d17_openai_counts_cached_tokens_within_the_prompt():
    case = CASES["D-17"]
    usage = case["setup"]["usage"]
    assert context_tokens(usage) == case["expected"]["numbers"]["context_tokens"]
    assert Usage.from_openai(usage) == Usage(
        input_tokens=43, cache_read_tokens=38153, output_tokens=800
    )


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105,
          "prompt_tokens_details": {"cached_tokens": 60, "audio_tokens": None},
          "completion_tokens_details": {"reasoning_tokens": 3}},
         {"input_tokens": 40, "cache_read_tokens": 60, "output_tokens": 5, "thinking_tokens": 3}),
        ({"input_tokens": 100, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 60},
          "output_tokens_details": {"reasoning_tokens": 3}},  # the responses API
         {"input_tokens": 40, "cache_read_tokens": 60, "output_tokens": 5, "thinking_tokens": 3}),
        ({"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": None},
         {"input_tokens": 100, "output_tokens": 5}),
        ({"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 90,
          "prompt_cache_miss_tokens": 10},
         {"input_tokens": 10, "cache_read_tokens": 90, "output_tokens": 5}),
        ({"prompt_tokens": 100, "completion_tokens": 5,
          "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}},
         {"input_tokens": 10, "cache_read_tokens": 60, "cache_write_5m_tokens": 30,
          "output_tokens": 5}),
        ({"prompt_tokens": 10, "cached_tokens": 60}, {"cache_read_tokens": 10}),  # nonsense
        ({"prompt_tokens": 100, "cached_tokens": 60,
          "prompt_tokens_details": {"cached_tokens": None}},
         {"input_tokens": 40, "cache_read_tokens": 60}),
        ({"prompt_tokens": 100, "completion_tokens": 5, "cache_read_input_tokens": 60,
          "cache_creation_input_tokens": 30},  # a proxy's mixture
         {"input_tokens": 10, "cache_read_tokens": 60, "cache_write_5m_tokens": 30,
          "output_tokens": 5}),
    ],
)  # fmt: skip
def test_d17_every_form_of_that_usage_becomes_disjoint_buckets(usage, expected):
    assert Usage.from_openai(usage) == Usage(**expected)


# ------------------------------------------------------------------------------- prices and names


@pytest.mark.parametrize(
    ("bucket", "tokens", "model", "expected"),
    [
        ("input", MILLION, SONNET, 2.0),
        ("output", MILLION, "claude-opus-4-7", 25.0),  # not 75, as a well-known tutorial has it
        ("cache_write_5m", MILLION, SONNET, 2.5),
        ("cache_write_1h", MILLION, SONNET, 4.0),
        ("cache_read", MILLION, SONNET, 0.1),
        ("cache_read", MILLION, "claude-sonnet-5", 0.2),
        ("cache_read", MILLION, "claude-mythos-5-1", 0.25),
        ("input", 100_000, HAIKU, 0.01),
        ("input", 100_001, HAIKU, 0.0500005),  # all tokens at the higher tier
        ("output", MILLION, HAIKU, 0.5),
        ("input", 10, "claude-haiku-4-5-20251001", 0.00001),
    ],
)
def test_prices(bucket, tokens, model, expected):
    usage = Usage(**{f"{bucket}_tokens": tokens})
    assert price(usage, model) == pytest.approx(expected, abs=1e-12)


def test_the_whole_prompt_decides_the_tier_cached_or_not():
    usage = Usage(input_tokens=1, cache_read_tokens=100_000)
    assert price(usage, HAIKU) == pytest.approx(0.05 * 0.1 + 0.5e-6)


def test_a_prompt_larger_than_every_tier_has_no_price():
    table = PriceTable({"m": {"input": 1, "output": 1, "up_to_prompt_tokens": 100}})
    assert price(Usage(input_tokens=100), "m", table=table) == pytest.approx(1e-4)
    assert price(Usage(input_tokens=101), "m", table=table) is None


@pytest.mark.parametrize(
    "row",
    [{"input": 1}, {"input": "1", "output": 1}, {"input": 1, "output": -2},
     {"input": float("inf"), "output": 1}, {"input": 1, "output": 1, "up_to_prompt_tokens": "1k"},
     {"input": 1, "output": 1, "cache_read": "free"}, {"input": 1, "output": 1, "batch": -0.5}],
)  # fmt: skip
def test_a_row_of_prices_that_is_none_is_refused_and_named(row):
    with pytest.raises(ValueError, match=r"the price of mine: \w+=.*; give a number, 0 or more"):
        PriceTable([{"model": "mine", **row}])


@pytest.mark.parametrize("rows", [["mine"], [{"input": 1, "output": 1}], {"mine": 3}, [None]])
def test_what_is_no_row_of_prices_is_refused(rows):
    with pytest.raises(ValueError, match=r"no row of prices: .*; give a dict with model"):
        PriceTable(rows)


def test_two_prices_for_the_same_prompts_are_refused_since_one_of_them_is_old():
    rows = [{"model": "mine", "input": n, "output": n} for n in (1, 2)]
    with pytest.raises(ValueError, match="two prices of mine for the same prompts"):
        PriceTable(rows)


def test_one_alias_is_a_name_and_not_a_row_of_letters():
    table = PriceTable([{"model": "mine", "input": 1, "output": 1, "aliases": "abc"}])
    assert "abc" in table and "b" not in table


@pytest.mark.parametrize("aliases", [5, [5, None], {"a": 1}])
def test_aliases_that_are_no_names_are_refused(aliases):
    with pytest.raises(ValueError, match="aliases="):
        PriceTable([{"model": "mine", "input": 1, "output": 1, "aliases": aliases}])


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("other", [{"model": "b", "aliases": "a"}, {"model": "A"}])
def test_a_name_that_two_models_have_is_refused(other, order):
    rows = [{"model": "a", "input": 1, "output": 1}, {"input": 2, "output": 2, **other}]
    with pytest.raises(ValueError, match="a would be both"):
        PriceTable(rows[::order])


def test_every_model_that_the_harness_names_has_a_price_with_source_and_date():
    for name in all_models():
        row = prices().find(name)
        assert row is not None and name in (row.model, *row.aliases), name
    for name in prices():
        row = prices().find(name)
        assert row.date.startswith("2026") and row.source in prices().sources, name
        assert row.cache_read <= row.input <= row.cache_write_5m <= row.cache_write_1h, name


@pytest.mark.parametrize("model", ["llama-9", "", "claude", "gpt-50", "claude-sonnet-5-50", None])
def test_an_unknown_model_has_an_unknown_price_everywhere(model):
    used = Usage(input_tokens=1, output_tokens=1)
    assert price(used, model) is None and price(used, model, batch=True) is None
    assert price_reply({"input_tokens": 1, "output_tokens": 1}, model) is None
    assert dollars(None) == "unknown"
    assert bill(used, str(model)).usd is None
    assert "unknown" in str(bill(used, str(model))) and "not known" in str(bill(used, str(model)))


def test_the_tutorials_prices_stand_beside_the_right_ones():
    rows = {row.model: row for row in seed_prices().rows}
    assert rows["claude-opus-4-7"].said == (15, 75)
    assert rows["claude-opus-4-7"].right == (5, 25)
    assert rows["claude-haiku-4-5"].right == (1, 5)
    assert rows["claude-sonnet-4-6"].said == rows["claude-sonnet-4-6"].right == (3, 15)
    assert "15.00 / 75.00" in str(seed_prices())
    assert all(row.since for row in rows.values())


def test_the_table_shows_itself_with_tiers_dates_and_sources():
    text = str(prices())
    odd = PriceTable([{"model": "m", "input": 1, "output": 1, "up_to_prompt_tokens": 500}])
    assert "m, up to 0.5k" in str(odd)
    assert "claude-haiku-5-5, up to 100k" in text and "anthropic: the vendor's pricing page" in text
    assert "<td" in prices()._repr_html_()


# ------------------------------------------------------------------------------------- usage


@given(usages, usages)
def test_usage_adds_up(a, b):
    assert (a + b).total_tokens == a.total_tokens + b.total_tokens
    assert Usage.from_dict(a.to_dict()) == a
    assert a.uncached().total_tokens == a.total_tokens


@given(usages, usages, st.sampled_from([SONNET, "claude-fable-5-1", "gpt-5"]))
def test_without_tiers_a_sum_costs_the_sum(a, b, model):
    assert price(a + b, model) == pytest.approx(price(a, model) + price(b, model))


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
    expected = Usage(
        input_tokens=1,
        output_tokens=2,
        cache_write_5m_tokens=1,
        cache_write_1h_tokens=2,
        thinking_tokens=1,
    )
    assert Usage.from_api(reply) == expected
    assert Usage.from_api(anthropic.types.Usage(**reply)) == expected


def test_transcripts_that_were_written_before_the_buckets_were_renamed_can_be_read():
    old = {"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 30,
           "cache_read_input_tokens": 4, "cache_1h_tokens": 10, "thinking_tokens": 1}  # fmt: skip
    assert Usage.from_dict(old) == Usage(
        input_tokens=1,
        output_tokens=2,
        cache_read_tokens=4,
        cache_write_5m_tokens=20,
        cache_write_1h_tokens=10,
        thinking_tokens=1,
    )
    assert Usage.from_dict({"input_tokens": None, "other": 3}) == Usage()


def test_each_step_of_a_reply_has_a_tier_and_a_model_of_its_own():
    steps = [
        {"type": "compaction", "input_tokens": 90_000, "output_tokens": 1_000},
        {"type": "message", "input_tokens": 20_000, "output_tokens": 500, "model": None},
        {"type": "advisor_message", "input_tokens": 1_000, "output_tokens": 10, "model": SONNET},
    ]
    usage = {"input_tokens": 20_000, "output_tokens": 500, "iterations": steps}
    expected = 110_000 * 0.1e-6 + 1_500 * 0.5e-6 + 1_000 * 2e-6 + 10 * 10e-6
    assert price_reply(usage, HAIKU) == pytest.approx(expected)
    assert price(Usage.from_api(usage), HAIKU) > price_reply(usage, HAIKU)  # a sum has no tier


def test_steps_that_tell_no_tokens_hide_none():
    usage = {"input_tokens": 300, "output_tokens": 5, "iterations": [{"type": "message"}]}
    assert price_reply(usage, SONNET) == price_reply({**usage, "iterations": None}, SONNET) > 0
    assert context_tokens(usage) == 305


@pytest.mark.parametrize("answer", [[], [{"type": "message"}]])
@pytest.mark.parametrize("kind", ["compaction", "advisor_message"])
def test_an_answer_that_only_the_top_level_tells_of_is_billed_and_fills_the_window(kind, answer):
    steps = [{"type": kind, "input_tokens": 90_000, "output_tokens": 1_000}, *answer]
    usage = {"input_tokens": 20_000, "output_tokens": 500, "iterations": steps}
    assert Usage.from_api(usage) == Usage(input_tokens=110_000, output_tokens=1_500)
    assert context_tokens(usage) == 20_500


def test_a_step_without_a_type_is_an_answer():
    usage = {"input_tokens": 5, "iterations": [{"input_tokens": 20_000, "output_tokens": 500}]}
    assert context_tokens(usage) == Usage.from_api(usage).total_tokens == 20_500


def test_how_much_was_thinking_is_known_of_all_steps_together():
    steps = [{"type": "message", "input_tokens": 5, "output_tokens": 9}]
    usage = {"output_tokens_details": {"thinking_tokens": 7}, "iterations": steps}
    assert Usage.from_api(usage).thinking_tokens == 7


# ------------------------------------------------------------------------------- one bill


def test_a_bill_lists_the_buckets_and_its_sum_is_the_price():
    usage = Usage(input_tokens=19, cache_read_tokens=34_000, cache_write_5m_tokens=5_000,
                  output_tokens=100)  # fmt: skip
    made = bill(usage, SONNET)
    assert [words for words, *_ in made.lines()] == [
        "input", "cache read", "cache write, 5 min", "output",
    ]  # fmt: skip
    assert made.usd == pytest.approx(price(usage, SONNET))
    assert bill(usage, SONNET, batch=True).usd == pytest.approx(made.usd / 2)
    lines = str(made).replace(THIN, " ").splitlines()
    assert lines[0] == SONNET and lines[1].split() == ["tokens", "per", "million", "dollars"]
    assert lines[3].split() == ["cache", "read", "34", "000", "$0.1", "$0.0034"]
    assert lines[-2].startswith("(price of 2026")


def test_html_of_a_table_is_escaped():
    assert "<script>" not in bill(Usage(input_tokens=1), "<script>")._repr_html_()


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0.0, "$0.0000"), (0.00134, "$0.0013"), (0.5, "$0.5000"), (1.2, "$1.20"),
     (0.000045, "$0.000045"), (0.000004, "$0.000004"), (0.00000004, "under $0.000001"),
     (0.0000005, "under $0.000001"), (0.000001, "$0.000001")],
)  # fmt: skip
def test_dollars_are_written_to_the_precision_that_matters(amount, text):
    assert dollars(amount) == text


def test_a_budget_is_written_without_idle_zeros():
    amounts = (0.5, 0.4987, 2.0, 0.0006, 0, 25, 1e-9)
    written = ["$0.50", "$0.4987", "$2.00", "$0.0006", "$0.00", "$25.00", "under $0.000001"]
    assert list(map(budget, amounts)) == written


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
