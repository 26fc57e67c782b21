"""The same run at other prices."""

import pytest

from agentlab import Agent
from agentlab.costs import Usage, price
from agentlab.events import Event
from agentlab.prices import PriceTable, prices
from agentlab.toolbox import calculator
from agentlab.what_if import what_if

SONNET, HAIKU, OPUS = "claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-5-5"
CACHED = Usage(input_tokens=1_000, cache_read_tokens=90_000, cache_write_5m_tokens=9_000,
               output_tokens=500)  # fmt: skip


def turn(number, usage=CACHED, model=SONNET):
    data = {"usage": usage.to_dict(), "id": f"m{number}", "model": model}
    return Event("assistant.message", 0.0, number, "main", data)


def side_call(model, usage):
    data = {"purpose": "summary", "model": model, "usage": usage.to_dict(), "cost_usd": None}
    return Event("model.side_call", 0.0, 1, "main", data)


def test_the_runs_own_model_costs_what_the_run_did():
    made = what_if([turn(1), turn(2)])
    assert (
        made[SONNET].cached == pytest.approx(made.spent) == pytest.approx(2 * price(CACHED, SONNET))
    )


def test_without_the_cache_every_token_of_the_prompt_is_input():
    row = what_if([turn(1)])[SONNET]
    assert row.uncached == pytest.approx(100_000 * 2e-6 + 500 * 10e-6)
    assert row.uncached > 4 * row.cached


def test_a_batch_costs_half():
    for row in what_if([turn(1), turn(2)]).rows:
        assert row.batch == pytest.approx(row.cached / 2)


def test_each_turn_has_a_price_tier_of_its_own():
    """Two prompts of 60,000 tokens are two cheap ones, not a dear one of 120,000."""
    usage = Usage(input_tokens=60_000)
    row = what_if([turn(1, usage), turn(2, usage)])[HAIKU]
    assert row.cached == pytest.approx(120_000 * 0.1e-6)


def test_side_calls_stay_on_their_model():
    usage = Usage(input_tokens=1_000_000)
    made = what_if([turn(1, Usage()), side_call(HAIKU, usage)])
    assert made[OPUS].cached == pytest.approx(price(usage, HAIKU))


def test_an_attempt_that_broke_off_goes_along_with_its_turn():
    data = {"purpose": "broken off", "model": SONNET, "usage": CACHED.to_dict(), "cost_usd": None}
    made = what_if([Event("model.broken_off", 0.0, 1, "main", data), turn(1)])
    assert made[OPUS].cached == pytest.approx(2 * price(CACHED, OPUS))
    assert made.models == (SONNET,)


def test_all_models_of_the_table_are_there_and_the_cheapest_comes_first():
    made = what_if([turn(1)])
    assert {row.model for row in made} == set(prices())
    costs = [row.cached for row in made.rows]
    assert costs == sorted(costs)
    with pytest.raises(KeyError, match="llama-9"):
        made["llama-9"]


def test_a_model_without_a_price_is_shown_last_and_said():
    made = what_if([turn(1)], ["llama-9", HAIKU])
    assert [row.model for row in made.rows] == [HAIKU, SONNET, "llama-9"]
    assert made["llama-9"].cached is None is made["llama-9"].batch
    text = str(made)
    assert "the price of llama-9 is not known" in text and text.count("unknown") == 3


def test_a_run_on_an_unknown_model_can_still_be_priced_elsewhere():
    made = what_if([turn(1, model="llama-9")], [HAIKU])
    assert made.spent is None and made[HAIKU].cached == pytest.approx(price(CACHED, HAIKU))
    assert "(it cost unknown)" in str(made)


def test_a_run_on_a_dated_name_is_not_listed_twice():
    made = what_if([turn(1, model="anthropic/claude-haiku-4-5-20251001")])
    assert sum("haiku-4-5" in row.model for row in made) == 1
    assert "(this run)" in str(made)


def test_a_row_is_found_however_the_name_is_spelled():
    dated = what_if([turn(1, model=f"{SONNET}-20261007")])
    assert dated[SONNET] == dated[f"anthropic/{SONNET}"] == dated[f"{SONNET}-20261007"]
    with pytest.raises(KeyError, match="not in this table"):
        dated["claude-sonnet-5-50"]


def test_another_price_table_can_be_given():
    table = PriceTable({"mine": {"input": 1, "output": 1}})
    assert what_if([turn(1)], table=table)["mine"].uncached == pytest.approx(0.1005)


async def test_a_result_its_events_and_its_transcript_give_the_same(tmp_path):
    path = tmp_path / "run.jsonl"
    result = await Agent(tools=[calculator], transcript=path).ask("What is 12 * 7?")
    made = what_if(result)
    assert made.spent == pytest.approx(result.cost_usd)
    assert made.rows == what_if(result.events).rows == what_if(path).rows == what_if(str(path)).rows


def test_one_name_is_a_name_and_not_a_row_of_letters():
    assert [row.model for row in what_if([turn(1)], HAIKU)] == [HAIKU, SONNET]


async def test_a_transcript_that_broke_off_is_priced_as_far_as_it_goes(tmp_path):
    path = tmp_path / "run.jsonl"
    await Agent(tools=[calculator], transcript=path).ask("What is 12 * 7?")
    whole = what_if(path).spent
    lines = path.read_text("utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if "assistant.turn_end" in line)
    path.write_text("\n".join(lines[: first + 1]) + '\n{"type": "assist', "utf-8")
    assert 0 < what_if(path).spent < whole


def test_where_nothing_was_asked_it_says_so():
    made = what_if([], [SONNET])
    assert made[SONNET].cached == made.spent == 0
    assert "no call of a model is in it" in str(made)


def test_it_shows_itself_and_says_what_it_is():
    text = str(what_if([turn(1)], [HAIKU]))
    assert "as it ran" in text and "without cache" in text and "as a batch" in text
    assert "another model would take others" in text
    assert "<table>" in what_if([turn(1)])._repr_html_()
