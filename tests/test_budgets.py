"""Budgets of dollars, tokens and turns: stop after the call that passes them, or before it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab import Agent, Limits, connect, tool
from agentlab.client import BudgetSpent
from agentlab.costs import Usage, price
from agentlab.limits import cost_bound, over_budget, prompt_bound, spent_share, warning
from agentlab.loop import Setup, State
from agentlab.messages import History
from agentlab.models import default_model
from agentlab.simulator import Fault, batches, start
from agentlab.simulator.scenarios.economy import write_diary
from agentlab.toolbox.files import file_tools

TASK = "How much rain fell in the thirty days of the diary?"
QUESTION = [{"role": "user", "content": "Hello! Who are you?"}]


@pytest.fixture(scope="module")
def diary(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diary")
    write_diary(folder)
    return folder


def reader(diary, *, endpoint=None, **limits):
    return Agent(
        tools=file_tools(diary), endpoint=endpoint or connect(), max_tokens=500,
        limits=Limits(turns=40, **limits),
    )  # fmt: skip


@pytest.mark.parametrize("usd", [0.002, 0.01, 0.0133, 0.02, 0.03])
async def test_a_strict_budget_is_never_overspent(diary, usd):
    result = await reader(diary, usd=usd, mode="strict").ask(TASK)
    assert result.cost_usd <= usd
    assert result.status == "dollar_limit" and "could cost" in result.detail


async def test_a_strict_budget_counts_the_attempts_that_broke_off(diary, billed):
    endpoint = connect()
    mark = endpoint.simulator.log.mark()
    endpoint.simulator.faults.add(Fault("error_event", calls=[4, 5, 6]))
    limits = Limits(turns=40, usd=0.03, mode="strict")
    agent = Agent(
        tools=file_tools(diary), endpoint=endpoint, max_tokens=500, cache=False, limits=limits
    )
    result = await agent.ask(TASK)
    endpoint.simulator.faults.clear()
    spent = billed(endpoint.simulator.log, mark)[1]
    assert result.status == "dollar_limit" and result.cost_usd <= spent <= 0.03


@pytest.mark.parametrize("usd", [0.002, 0.01, 0.0133])
async def test_overshoot_one_stops_after_the_call_that_passes_the_budget(diary, usd):
    result = await reader(diary, usd=usd, mode="overshoot_one").ask(TASK)
    ends = [e for e in result.events if e.type == "assistant.turn_end"]
    assert result.status == "dollar_limit" and result.cost_usd >= usd
    assert all(e.total_usd < usd for e in ends[:-1])


@pytest.mark.parametrize("tokens", [1_000, 6_000, 9_999])
async def test_a_budget_of_tokens_has_both_modes(diary, tokens):
    strict = await reader(diary, tokens=tokens, mode="strict").ask(TASK)
    assert strict.status == "token_limit" and strict.usage.total_tokens <= tokens
    loose = await reader(diary, tokens=tokens).ask(TASK)
    ends = [e for e in loose.events if e.type == "assistant.turn_end"]
    assert loose.status == "token_limit" and loose.usage.total_tokens >= tokens
    assert all(Usage.from_dict(e.total_usage).total_tokens < tokens for e in ends[:-1])


async def test_what_stops_a_strict_run_says_how_to_go_on(diary):
    result = await reader(diary, usd=0.001, mode="strict").ask(TASK)
    assert result.turns == 0 and "(max_tokens=500)" in result.detail


def test_the_modes_have_names_and_nothing_else_is_one():
    with pytest.raises(ValueError, match="overshoot_one, strict"):
        Limits(mode="careful")
    with pytest.raises(ValueError, match="warn_at"):
        Limits(warn_at=80)


@pytest.mark.parametrize("name", sorted({*Limits().to_dict()} - {"mode"}))
@pytest.mark.parametrize("value", ["5", -1, float("nan"), float("inf"), [1]])
def test_a_limit_that_is_no_number_is_refused_before_anything_is_spent(name, value):
    """A budget of NaN would be passed by nothing, and so be no budget."""
    with pytest.raises(ValueError, match=rf"Limits\({name}=.*a number, 0 or more"):
        Limits(**{name: value})


@pytest.mark.parametrize("name", ["request_s", "idle_s", "nudges", "pauses", "stop_blocks"])
def test_what_cannot_be_without_a_limit_says_so(name):
    with pytest.raises(ValueError, match=rf"Limits\({name}=None\): a number, 0 or more$"):
        Limits(**{name: None})


async def test_without_a_limit_of_turns_a_run_ends_when_the_model_is_done(diary):
    limits = Limits(turns=None, usd=5)
    agent = Agent(tools=file_tools(diary), endpoint=connect(), limits=limits)
    result = await agent.ask(TASK)
    assert result.ok and result.turns > 25


async def test_a_small_budget_is_named_as_it_was_set(diary):
    result = await reader(diary, usd=0.0006, mode="strict").ask(TASK)
    assert "of $0.0006 spent" in result.detail


@pytest.mark.parametrize("mode", ["strict", "overshoot_one", ""])
async def test_a_budget_of_dollars_needs_a_price(mode):
    with start(validate=False) as simulator:
        endpoint = connect(simulator.base_url, model="llama-9")
        limits = Limits(usd=1.0, mode=mode)
        result = await Agent(endpoint=endpoint, limits=limits).ask("Hello! Who are you?")
        assert (result.status, result.turns) == ("dollar_limit", 0)
        assert "the price of llama-9 is not known" in result.detail
        free = await Agent(endpoint=endpoint).ask("Hello! Who are you?")
        assert free.ok and free.cost_usd is None


# where real money is spent


@pytest.fixture
def simulator():
    with start() as running:
        yield running


@pytest.fixture
def paid(simulator):
    return connect(simulator.base_url, model=default_model(), budget_usd=0.5)


async def mode_of(endpoint, **limits):
    result = await Agent(endpoint=endpoint, limits=Limits(**limits)).ask("Hello! Who are you?")
    return result.events[0].limits["mode"], result.events[0].limits["usd"]


async def test_real_money_is_spent_strictly_unless_said_otherwise(paid):
    assert await mode_of(paid, usd=0.2) == ("strict", 0.2)
    assert await mode_of(paid, usd=0.1, mode="overshoot_one") == ("overshoot_one", 0.1)
    assert (await mode_of(paid))[0] == "strict"
    assert (await mode_of(paid, usd=3.0, mode="overshoot_one"))[0] == "strict"  # not the endpoint's
    assert await mode_of(connect(), usd=0.2) == ("", 0.2)


def test_a_model_without_a_price_is_asked_once_and_never_counted_as_free():
    with start(validate=False) as simulator:
        endpoint = connect(simulator.base_url, model=default_model(), budget_usd=0.5)
        client = endpoint.sync_client()
        client.messages.create(model="llama-9", max_tokens=50, messages=QUESTION)
        with pytest.raises(BudgetSpent, match="llama-9, whose price is not known"):
            client.messages.create(model=default_model(), max_tokens=50, messages=QUESTION)
        assert len(simulator.log) == 1


def test_a_batch_counts_against_the_budget_once_and_at_half_the_price(simulator, paid):
    client = paid.sync_client()
    params = {"model": default_model(), "max_tokens": 200, "messages": QUESTION}
    requests = [{"custom_id": f"r{n}", "params": params} for n in range(3)]
    batch = client.messages.batches.create(requests=requests)
    simulator.clock.advance(batches.SECONDS)
    for _ in range(2):  # reading the results again costs nothing
        lines = list(client.messages.batches.results(batch.id))
    used = [Usage.from_api(line.result.message.usage) for line in lines]
    assert paid.spent_usd == pytest.approx(sum(price(u, default_model()) for u in used) / 2)


def test_a_batch_that_could_pass_the_budget_is_not_sent(simulator, paid):
    params = {"model": default_model(), "max_tokens": 1_000, "messages": QUESTION}
    requests = [{"custom_id": f"r{n}", "params": params} for n in range(110)]  # $0.55 at half price
    with pytest.raises(BudgetSpent, match=r"could cost \$0\.55"):
        paid.sync_client().messages.batches.create(requests=requests)
    assert paid.sync_client().messages.batches.create(requests=requests[:90]).id


def test_what_batches_may_cost_is_kept_back_until_their_results_are_read(simulator, paid):
    """Nothing is charged when a batch is sent, so one batch after another would pass the budget."""
    client = paid.sync_client()
    params = {"model": default_model(), "max_tokens": 1_000, "messages": QUESTION}
    requests = [{"custom_id": f"r{n}", "params": params} for n in range(90)]  # $0.45 at half price
    batch = client.messages.batches.create(requests=requests)
    with pytest.raises(BudgetSpent, match=r"by batches whose results were not read yet"):
        client.messages.batches.create(requests=requests)
    simulator.clock.advance(batches.SECONDS)
    for line in client.messages.batches.results(batch.id):
        assert line.result.type == "succeeded"
        break  # the rest may still cost
    assert paid.batches
    assert len(list(client.messages.batches.results(batch.id))) == 90
    assert not paid.batches and 0 < paid.spent_usd < 0.1
    assert client.messages.batches.create(requests=requests[:70]).id


def test_there_is_no_moment_in_which_what_a_request_cost_is_not_counted(paid, monkeypatch):
    """Another thread could send one then, and both together pass the budget."""
    counted = []

    def charge(endpoint, model, cost_usd):
        counted.append(endpoint.reserved_usd)

    monkeypatch.setattr(type(paid), "charge", charge)
    params = {"model": default_model(), "max_tokens": 100, "messages": QUESTION}
    paid.sync_client().messages.create(**params)
    assert counted[0] > 0 and paid.reserved_usd == 0


def test_what_was_paid_can_be_read_when_the_budget_is_spent(simulator, paid):
    client = paid.sync_client()
    params = {"model": default_model(), "max_tokens": 100, "messages": QUESTION}
    batch = client.messages.batches.create(requests=[{"custom_id": "r", "params": params}])
    simulator.clock.advance(batches.SECONDS)
    paid.spent_usd = paid.budget_usd
    assert len(list(client.messages.batches.results(batch.id))) == 1
    with pytest.raises(BudgetSpent):
        client.messages.create(**params)


def test_a_batch_that_keeps_all_the_money_back_can_be_cancelled_and_deleted(simulator, paid):
    client = paid.sync_client()
    params = {"model": default_model(), "max_tokens": 100, "messages": QUESTION}
    batch = client.messages.batches.create(requests=[{"custom_id": "r", "params": params}])
    paid.spent_usd = paid.budget_usd
    assert client.messages.count_tokens(model=default_model(), messages=QUESTION).input_tokens
    assert client.messages.batches.cancel(batch.id).processing_status == "canceling"
    simulator.clock.advance(batches.SECONDS)
    assert client.messages.batches.delete(batch.id).id == batch.id


def test_what_is_to_be_cached_for_an_hour_is_bounded_by_what_that_costs(simulator):
    endpoint = connect(simulator.base_url, model=default_model(), budget_usd=0.05)
    mark = {"type": "ephemeral", "ttl": "1h"}
    block = {"type": "text", "text": "It rained a lot. " * 3_000, "cache_control": mark}
    with pytest.raises(BudgetSpent, match=r"could cost \$0\.06"):
        endpoint.sync_client().messages.create(
            model=default_model(), max_tokens=50, messages=[{"role": "user", "content": [block]}]
        )
    assert endpoint.spent_usd == 0 and len(simulator.log) == 0


def test_a_stream_that_was_closed_early_counts_what_it_wrote(simulator, paid):
    """Its usage would have come at the end."""
    stream = paid.sync_client().messages.create(
        model=default_model(), max_tokens=500, messages=QUESTION, stream=True
    )
    written = ""
    for event in stream:
        written += getattr(getattr(event, "delta", None), "text", "")
        if len(written) > 100:
            break
    stream.close()
    started = price(Usage(input_tokens=10, output_tokens=1), default_model())
    assert paid.spent_usd > started + price(Usage(output_tokens=len(written) // 5), default_model())


# the bound, and the soft mark

COUNTS = st.integers(0, 200_000)
BUCKETS = st.tuples(COUNTS, COUNTS, COUNTS)


@given(
    BUCKETS, st.integers(0, 8_192), st.sampled_from(["claude-haiku-5-5", default_model(), "gpt-5"])
)
def test_no_way_to_divide_a_prompt_into_buckets_costs_more_than_the_bound(parts, output, model):
    usage = Usage(
        input_tokens=parts[0], cache_read_tokens=parts[1], cache_write_5m_tokens=parts[2],
        output_tokens=output,
    )  # fmt: skip
    assert price(usage, model) <= cost_bound(usage.prompt_tokens, output, model) + 1e-12


def state(**changes):
    return State(History(), **changes)


def test_what_the_server_counted_needs_no_margin_and_what_is_estimated_does():
    assert prompt_bound(state(context_tokens=10_000), 10_300) == 10_600
    assert prompt_bound(state(), 300) == 600
    assert prompt_bound(state(context_tokens=10_000), 9_000) == 10_000


def test_a_request_that_just_fits_is_sent():
    setup = Setup(None, "claude-haiku-5-5", None, limits=Limits(usd=0.1, mode="strict"))
    bound = cost_bound(2_000, setup.max_tokens, setup.model)
    assert over_budget(setup, state(cost_usd=0.1 - bound - 1e-9), 1_000) == ("", "")
    assert over_budget(setup, state(cost_usd=0.1 - bound + 1e-9), 1_000)[0] == "dollar_limit"


def test_an_earlier_call_without_a_price_ends_a_budget():
    setup = Setup(None, default_model(), None, limits=Limits(usd=1.0))
    assert "price of an earlier call" in over_budget(setup, state(cost_usd=None), 100)[1]


def test_the_soft_mark_says_how_much_is_spent_and_of_what():
    limits = Limits(usd=0.5, tokens=10_000)
    assert warning(limits, state(cost_usd=0.39, usage=Usage(input_tokens=100))) == ""
    said = warning(limits, state(cost_usd=0.42, usage=Usage(input_tokens=100)))
    assert said == "84% of the budget is spent: $0.4200 of $0.50, 100 of 10000 tokens"
    assert spent_share(limits, state(cost_usd=0.1, usage=Usage(output_tokens=9_000))) == 0.9
    assert "90%" in warning(limits, state(cost_usd=0.1, usage=Usage(output_tokens=9_000)))


def test_without_a_budget_or_a_mark_nothing_is_said():
    assert warning(Limits(), state(cost_usd=100.0)) == ""
    assert warning(Limits(usd=1.0, warn_at=None), state(cost_usd=0.99)) == ""
    assert warning(Limits(usd=1.0), state(cost_usd=None)) == ""


async def test_the_soft_mark_warns_once_in_a_run_and_the_run_goes_on(play):
    @tool
    async def look(number: int) -> str:
        """Look."""
        return f"seen {number}"

    turns = [lambda chat, n=n: chat.call("look", number=n) for n in range(4)]
    endpoint = play(*turns, lambda chat: chat.say("done"))
    limits = Limits(tokens=100_000, warn_at=0.001)
    result = await Agent(tools=[look], endpoint=endpoint, limits=limits).ask("go")
    warned = [e for e in result.events if e.type == "budget.warning"]
    assert result.ok and len(warned) == 1
    assert warned[0].share >= 0.001 and "of the budget" in warned[0].text
