"""The retention bench: what survives one to four compactions; what is pinned always does."""

import json

import pytest

from agentlab.compaction import LEVELS, Compaction, compact, validate
from agentlab.messages import user
from agentlab.models import small_model
from agentlab.planted import FIRST_ROUNDS, talk
from agentlab.providers import connect
from agentlab.retention import SMALL, Retention, after_each, ask_model, bench, missing
from agentlab.side_calls import SideCalls
from agentlab.tokens import count_message

TOOLS = [{"name": n, "input_schema": {"type": "object"}} for n in ("Read", "Bash", "Edit", "Grep")]


@pytest.fixture
def endpoint():
    return connect()


@pytest.fixture
def side_calls(endpoint):
    return lambda: SideCalls(endpoint.client(), small_model(), endpoint.clock)


# ------------------------------------------------------------------ the conversations


def test_the_same_seed_gives_the_same_conversation():
    assert json.dumps(talk(3).messages(5)) == json.dumps(talk(3).messages(5))
    assert talk(3).facts == talk(3).facts
    assert talk(3).messages() != talk(4).messages()


@pytest.mark.parametrize("seed", range(5))
def test_every_planted_fact_stands_in_the_first_part(seed):
    made = talk(seed)
    assert missing(made.messages(), made.facts) == []
    assert {fact.kind for fact in made.facts} == {
        "pinned", "rule", "value", "decision", "error", "file"
    }  # fmt: skip
    assert all(fact.answer in fact.text for fact in made.facts)


@pytest.mark.parametrize("seed", range(5))
def test_a_conversation_is_valid_and_as_long_as_real_ones(seed):
    made = talk(seed)
    assert validate(made.messages(5)) == []
    said = sum(message["role"] == "assistant" for message in made.parts[0])
    assert FIRST_ROUNDS <= said <= FIRST_ROUNDS + 2
    assert sum(map(count_message, made.parts[0])) > 12_000


def test_the_notes_of_the_project_hold_some_of_the_facts_but_not_all():
    made = talk(0)
    noted = [fact for fact in made.facts if fact.text in made.memory]
    assert 0 < len(noted) < len(made.facts)
    assert not any(fact.pinned for fact in noted)


# ------------------------------------------------------------------ the scores


async def test_the_scores_are_a_table_by_level_and_count(side_calls):
    scores = await bench(side_calls(), seeds=(0, 1))
    table = scores.table()
    assert table.columns == (
        "level", "after 1", "after 2", "after 3", "after 4", "pinned", "tokens"
    )  # fmt: skip
    assert [row[0] for row in table.rows] == list(LEVELS)
    assert {row[-2] for row in table.rows} == {"100%"}
    assert repr(await bench(side_calls(), seeds=(0, 1))) == repr(scores)
    with pytest.raises(KeyError):
        scores.of("summary", 9)


async def test_a_summary_keeps_more_than_dropping_and_loses_some_each_time(side_calls):
    scores = await bench(side_calls(), seeds=(0, 1), levels=("summary", "truncate"))
    for count in range(2, 5):
        assert scores.of("summary", count).share > scores.of("truncate", count).share
    shares = [scores.of("summary", count).share for count in range(1, 5)]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < shares[0]


async def test_memory_keeps_what_summaries_lose(side_calls):
    scores = await bench(side_calls(), seeds=(0, 1), levels=("summary", "summary+memory"))
    assert scores.of("summary+memory", 4).kept > scores.of("summary", 4).kept


@pytest.mark.parametrize("summary_tokens", [60, 200, 900])
@pytest.mark.parametrize("level", LEVELS)
async def test_a_pinned_constraint_is_never_lost(side_calls, level, summary_tokens):
    settings = Compaction(window=24_000, summary_tokens=summary_tokens, keep_rounds=2)
    for seed in range(3):
        made = talk(seed)
        for context in await after_each(made, level, side_calls(), settings):
            assert not any(fact.pinned for fact in missing(context, made.facts))


async def test_a_constraint_pinned_late_survives_as_well(side_calls):
    made = talk(0)
    messages = [*made.messages(), *made.parts[1][:2]]
    messages[-1] = user("Go on.\nPin: keep the CHANGELOG")
    for _ in range(3):
        messages = [*messages, *made.parts[1][2:]]
        done = await compact(messages, "summary", side_calls(), settings=SMALL, reason="asked")
        messages = done.messages
        assert "- keep the CHANGELOG" in messages[0]["content"][1]["text"]
        made = talk(len(messages), 1)


@pytest.mark.parametrize("level", ["summary", "clear", "truncate"])
async def test_the_model_knows_exactly_what_is_left_in_its_context(endpoint, side_calls, level):
    made = talk(1)
    contexts = await after_each(made, level, side_calls())
    for context in (contexts[0], contexts[-1]):
        lost = missing(context, made.facts)
        assert lost
        asked = await ask_model(endpoint.client(), endpoint.model, context, made.facts, tools=TOOLS)
        assert asked == lost


async def test_of_a_whole_conversation_the_model_knows_everything(endpoint):
    made, client, model = talk(2), endpoint.client(), endpoint.model
    assert await ask_model(client, model, made.messages(), made.facts, tools=TOOLS) == []
    assert await ask_model(client, model, [user("Hello.")], made.facts[:3]) == [*made.facts[:3]]


def test_a_table_without_scores_is_only_a_head():
    assert Retention(()).table().columns == ("level", "pinned", "tokens")
    assert len(repr(Retention(())).splitlines()) == 2


@pytest.mark.parametrize(
    "wrong", [{"levels": ["sumary"]}, {"seeds": ()}, {"compactions": 0, "levels": ["clear"]}]
)
async def test_what_cannot_be_scored_is_refused(side_calls, wrong):
    with pytest.raises(ValueError, match=r"no level 'sumary'|at least one seed"):
        await bench(side_calls(), **{"seeds": (0,), **wrong})
