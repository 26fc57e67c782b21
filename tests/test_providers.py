"""Choosing the endpoint, and no money by surprise."""

import asyncio

import pytest

from agentlab import Agent
from agentlab.client import BudgetSpent
from agentlab.costs import Usage, price
from agentlab.limits import Limits
from agentlab.models import default_model
from agentlab.providers import DEFAULT_BUDGET_USD, ProviderError, connect
from agentlab.simulator import start


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in ("ENDPOINT", "MODEL", "BUDGET_USD", "SPEED"):
        monkeypatch.delenv(f"AGENTLAB_{name}", raising=False)
    for name in ("API_KEY", "AUTH_TOKEN", "BASE_URL"):
        monkeypatch.delenv(f"ANTHROPIC_{name}", raising=False)


@pytest.fixture
def paid(monkeypatch):
    """What `connect("anthropic")` talks to: a simulator, at the address where the API would be."""
    with start() as simulator:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", simulator.base_url)
        yield simulator


def test_the_default_is_the_simulator_key_or_no_key(monkeypatch):
    assert connect().simulated
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    assert connect().simulated and connect().budget_usd is None


def test_a_base_url_in_the_environment_does_not_lead_the_simulator_astray(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token")
    assert Agent(endpoint=connect()).ask_sync("What is 1 + 1?").ok


def test_the_real_api_needs_a_key_and_to_be_asked_for(monkeypatch):
    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY"):
        connect("anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    endpoint = connect("anthropic")
    assert not endpoint.simulated and endpoint.budget_usd == DEFAULT_BUDGET_USD == 0.50
    assert "0.50" in repr(endpoint) and "sk-test" not in repr(endpoint)


def test_the_environment_says_the_same_as_the_arguments(monkeypatch):
    monkeypatch.setenv("AGENTLAB_ENDPOINT", "anthropic")
    monkeypatch.setenv("AGENTLAB_MODEL", "claude-haiku-5-5")
    monkeypatch.setenv("AGENTLAB_BUDGET_USD", "0.07")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    endpoint = connect()
    assert (endpoint.name, endpoint.model, endpoint.budget_usd) == (
        "anthropic",
        "claude-haiku-5-5",
        0.07,
    )
    assert connect("simulator", model="claude-opus-5-5").simulated


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("openai",), "no endpoint 'openai'"),
        (("http://localhost:11434",), "Say which model"),
        ((None, "gpt-9"), "does not know the model 'gpt-9'"),
        (("anthropic", "my-model"), "no price for the model"),
    ],
)
def test_what_cannot_be_used_says_what_to_do(monkeypatch, arguments, says):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    to, *model = arguments
    with pytest.raises(ProviderError, match=says):
        connect(to, model=model[0] if model else None)


@pytest.mark.parametrize(
    ("variable", "value"), [("AGENTLAB_BUDGET_USD", "lots"), ("AGENTLAB_BUDGET_USD", "-1")]
)
def test_a_budget_that_is_none_is_refused(monkeypatch, variable, value):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.setenv(variable, value)
    with pytest.raises(ProviderError):
        connect("anthropic")


@pytest.mark.parametrize("budget", [0, -1, float("nan"), float("inf"), "0.5"])
def test_a_budget_is_a_positive_number_of_dollars(budget):
    with pytest.raises(ProviderError, match="give a positive number of dollars"):
        connect("http://localhost:1", model="claude-sonnet-5-5", budget_usd=budget)


def test_an_unknown_scenario_names_those_that_exist():
    with pytest.raises(ProviderError, match="minutes"):
        connect(scenario="nonsense")
    with pytest.raises(ProviderError, match="simulator only"):
        connect("http://localhost:1", model="m", scenario="minutes")


@pytest.mark.parametrize("url", ["{}", "{}/", "{}/v1", "{}/v1/messages"])
def test_any_server_that_speaks_the_protocol_will_do(url):
    with start() as simulator:
        endpoint = connect(url.format(simulator.base_url), model="claude-sonnet-5-5")
        assert Agent(endpoint=endpoint).ask_sync("What is 20 + 1?").ok
        assert len(simulator.log) >= 1


def test_a_budget_holds_wherever_the_price_is_known(monkeypatch):
    monkeypatch.setenv("AGENTLAB_BUDGET_USD", "0.02")
    assert connect("http://localhost:1", model="claude-haiku-5-5").budget_usd == 0.02
    assert connect("http://localhost:1", model="qwen3").budget_usd is None
    with pytest.raises(ProviderError, match="no budget could be kept"):
        connect("http://localhost:1", model="qwen3", budget_usd=1.0)


def test_a_local_model_is_not_asked_for_what_it_may_not_know():
    endpoint = connect("http://localhost:1", model="qwen3")
    assert endpoint.thinking("qwen3") is None
    assert endpoint.budget_usd is None


def test_every_request_is_counted_by_hand_or_by_agent(paid):
    endpoint = connect("anthropic")
    client = endpoint.sync_client()
    question = [{"role": "user", "content": "Hello! Who are you?"}]
    reply = client.messages.create(model=endpoint.model, max_tokens=500, messages=question)
    once = price(Usage.from_api(reply.usage.to_dict()), endpoint.model)
    assert endpoint.spent_usd == pytest.approx(once)
    for _ in client.messages.create(
        model=endpoint.model, max_tokens=500, messages=question, stream=True
    ):
        pass
    assert endpoint.spent_usd == pytest.approx(2 * once)
    result = Agent(endpoint=endpoint).ask_sync("Hello! Who are you?")
    assert endpoint.spent_usd == pytest.approx(2 * once + result.cost_usd)


def test_nothing_is_sent_once_the_budget_is_spent(paid):
    endpoint = connect("anthropic", budget_usd=0.006)
    client = endpoint.sync_client()
    question = [{"role": "user", "content": "Hello! Who are you?"}]
    with pytest.raises(BudgetSpent, match="could cost"):
        client.messages.create(model=endpoint.model, max_tokens=5_000, messages=question)
    assert len(paid.log) == 0
    with pytest.raises(BudgetSpent, match="budget_usd"):
        for _ in range(50):
            client.messages.create(model=endpoint.model, max_tokens=500, messages=question)
    assert 0 < len(paid.log) < 50 and endpoint.spent_usd <= 0.006
    assert endpoint.reserved_usd == pytest.approx(0)


async def test_agents_that_share_a_budget_keep_it_together_and_wait_for_each_other(paid):
    endpoint = connect("anthropic", budget_usd=0.05)
    limits = Limits(usd=1.0)
    agents = [Agent(endpoint=endpoint, limits=limits, max_tokens=2_000) for _ in range(8)]
    results = await asyncio.gather(*(agent.ask("Hello! Who are you?") for agent in agents))
    assert {result.status for result in results} == {"completed"}  # three at a time
    while results[0].ok:
        results = await asyncio.gather(*(agent.ask("And now?") for agent in agents))
    assert {result.status for result in results} <= {"completed", "dollar_limit"}
    assert endpoint.spent_usd <= 0.05


async def test_a_plain_client_does_not_wait_for_requests_that_need_its_event_loop(paid):
    endpoint = connect("anthropic", budget_usd=0.01)
    question = [{"role": "user", "content": "Hello! Who are you?"}]
    asked = {"model": endpoint.model, "max_tokens": 800, "messages": question}
    stream = await endpoint.client().messages.create(**asked, stream=True)
    with pytest.raises(BudgetSpent, match="under way"):
        endpoint.sync_client().messages.create(**asked)
    await stream.close()
    assert endpoint.sync_client().messages.create(**asked).id


@pytest.mark.parametrize("to", ["anthropic", "server"])
@pytest.mark.parametrize("budget", [float("nan"), 0, -1])
def test_what_is_no_budget_is_refused(paid, to, budget):
    where = {"model": default_model(), "to": paid.base_url if to == "server" else to}
    with pytest.raises(ProviderError, match="positive"):
        connect(**where, budget_usd=budget)


def test_an_agent_stops_before_a_request_that_could_pass_the_budget(paid):
    endpoint = connect("anthropic", budget_usd=0.01)
    result = Agent(endpoint=endpoint).ask_sync("Hello! Who are you?")
    assert result.status == "dollar_limit" and "could cost" in result.detail
    assert len(paid.log) == 0 and endpoint.spent_usd == 0
    assert Agent(endpoint=endpoint, max_tokens=300).ask_sync("Hello! Who are you?").ok


def test_a_refused_request_says_which_rule_and_which_chapter():
    import anthropic

    endpoint = connect()
    with pytest.raises(anthropic.BadRequestError, match=r"chapter 01") as caught:
        endpoint.sync_client().messages.create(
            model=endpoint.model, max_tokens=10, messages=[{"role": "assistant", "content": "x"}]
        )
    last_line = str(caught.value).splitlines()[-1]
    assert last_line == "Rule first-user (chapter 01): the first message is the user's."
    assert caught.value.api_message == 'messages: first message must use the "user" role'
