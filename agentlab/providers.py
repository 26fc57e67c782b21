"""Where the model is: the one place that knows about endpoints.

The harness speaks the Messages API through the real SDK; what differs is the base URL. `connect`
picks it: the built-in simulator unless told otherwise, whatever keys lie in the environment; the
real API only when asked for by name, with a budget; or any server that speaks ``/v1/messages``
(Ollama, llama.cpp, vLLM, a LiteLLM proxy). Chapter 17 goes further.
"""

from __future__ import annotations

import asyncio
import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from agentlab.clock import Clock, RealClock
from agentlab.costs import budget
from agentlab.models import all_models, default_model, find_model
from agentlab.prices import prices

if TYPE_CHECKING:
    import anthropic

    from agentlab.simulator import Simulator

DEFAULT_BUDGET_USD = 0.50
LIVE_URL = "https://api.anthropic.com"


class ProviderError(ValueError):
    """The endpoint cannot be used as asked; the text says what to do."""


@dataclass(eq=False)
class Endpoint:
    """A place to send requests to. ``spent_usd`` counts what this process spent there."""

    name: str
    base_url: str
    model: str
    api_key: str = field(repr=False)
    clock: Clock = field(repr=False)
    simulated: bool = False
    budget_usd: float | None = None
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    simulator: Simulator | None = field(default=None, repr=False)
    spent_usd: float = field(default=0.0, init=False)
    reserved_usd: float = field(default=0.0, init=False, repr=False)  # requests under way may cost
    unpriced: str = field(default="", init=False, repr=False)  # a model that was asked for
    # What batches that were sent may cost, by id, until their results are read.
    batches: dict[str, float] = field(default_factory=dict, init=False, repr=False)
    charged: set[str] = field(default_factory=set, init=False, repr=False)  # replies of batches

    def __post_init__(self) -> None:
        self._clients: WeakKeyDictionary[Any, anthropic.AsyncAnthropic] = WeakKeyDictionary()
        self._sync: anthropic.Anthropic | None = None

    def __repr__(self) -> str:
        money = (
            "free"
            if self.budget_usd is None
            else f"${self.spent_usd:.4f} of {budget(self.budget_usd)} spent"
        )
        kind = "simulated model" if self.simulated else money
        return f"Endpoint({self.name}, {self.model}, {kind})"

    @property
    def left_usd(self) -> float | None:
        """What is left of the budget, in dollars; None if there is none."""
        return None if self.budget_usd is None else max(0.0, self.budget_usd - self.spent_usd)

    def charge(self, model: str, cost_usd: float | None) -> None:
        """Count what a request to that model cost, in dollars; None: its price is not known."""
        if cost_usd is None:
            self.unpriced = model
        else:
            self.spent_usd += cost_usd

    def client(self) -> anthropic.AsyncAnthropic:
        """The asynchronous SDK client, one for each event loop. Its own retries are off."""
        from agentlab.client import async_client

        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = async_client(self)
        return self._clients[loop]

    def sync_client(self) -> anthropic.Anthropic:
        """The plain SDK client, to write requests by hand."""
        from agentlab.client import sync_client

        self._sync = self._sync or sync_client(self)
        return self._sync

    def thinking(self, model: str) -> dict[str, Any] | None:
        """The ``thinking`` to ask for: adaptive and readable where the model can, else nothing."""
        known = find_model(model)
        if known is None or "adaptive" not in known.thinking:
            return None
        return {"type": "adaptive", "display": "summarized"}


def connect(
    to: str | None = None,
    *,
    model: str | None = None,
    budget_usd: float | None = None,
    speed: float | None = None,
    scenario: str | None = None,
) -> Endpoint:
    """Choose the endpoint: ``connect()``, ``connect("anthropic")``, ``connect("http://...")``.

    What is not given comes from AGENTLAB_ENDPOINT, AGENTLAB_MODEL and AGENTLAB_BUDGET_USD, then
    from the defaults: simulator, the default model, 0.50 dollars. The budget is for all requests
    through this endpoint together, of agents that run at once too; none is sent that could pass it.
    ``speed`` (tokens a second) and ``scenario`` (a name) are for the simulator. Raises
    ProviderError if it cannot be used.
    """
    to = to or os.environ.get("AGENTLAB_ENDPOINT") or "simulator"
    model = model or os.environ.get("AGENTLAB_MODEL") or None
    if to == "simulator":
        return _simulator(model, speed, scenario)
    if scenario:
        raise ProviderError(
            "Scenarios are played by the simulator only; leave the endpoint or the scenario out."
        )
    if to == "anthropic":
        budget_usd = _budget(budget_usd)
        return _anthropic(model, DEFAULT_BUDGET_USD if budget_usd is None else budget_usd)
    if to.startswith(("http://", "https://")):
        return _server(to, model, budget_usd)
    raise ProviderError(
        f"There is no endpoint {to!r}. Use 'simulator', 'anthropic', or the URL of a server that "
        "speaks /v1/messages, such as http://localhost:11434."
    )


def _simulator(model: str | None, speed: float | None, scenario: str | None) -> Endpoint:
    from agentlab import simulator
    from agentlab.simulator.scenario import names

    model = model or default_model()
    if find_model(model) is None:
        raise ProviderError(
            f"The simulator does not know the model {model!r}. It knows: {', '.join(all_models())}."
        )
    headers: dict[str, str] = {}
    if scenario is not None:
        known = names()
        if scenario not in known:
            raise ProviderError(
                f"There is no scenario {scenario!r}. There are: {', '.join(known)}."
            )
        headers["agentlab-scenario"] = scenario
    speed = _number("AGENTLAB_SPEED", speed)
    if speed:
        headers["agentlab-speed"] = f"{speed:g}"
    server = simulator.shared()
    return Endpoint(
        "simulator",
        server.base_url,
        model,
        "simulated",
        server.clock,
        simulated=True,
        headers=headers,
        simulator=server,
    )


def _anthropic(model: str | None, budget_usd: float) -> Endpoint:
    key = os.environ.get("ANTHROPIC_API_KEY")
    if not key:
        raise ProviderError(
            "The endpoint 'anthropic' needs an API key: set ANTHROPIC_API_KEY. "
            "Without one, connect() uses the simulator, which is free."
        )
    model = model or default_model()
    if find_model(model) is None:
        raise ProviderError(
            f"There is no price for the model {model!r}, so no budget could be kept. "
            f"Known: {', '.join(all_models())}."
        )
    url = os.environ.get("ANTHROPIC_BASE_URL") or LIVE_URL
    return Endpoint("anthropic", url, model, key, RealClock(), budget_usd=budget_usd)


def _server(url: str, model: str | None, budget_usd: float | None) -> Endpoint:
    if not model:
        raise ProviderError(f"Say which model {url} should use: connect({url!r}, model='...').")
    if model in prices():
        budget_usd = _budget(budget_usd)
    elif budget_usd is not None:
        raise ProviderError(
            f"There is no price for the model {model!r}, so no budget could be kept; leave it out."
        )
    url = url.rstrip("/").removesuffix("/v1/messages").removesuffix("/v1")
    key = os.environ.get("AGENTLAB_API_KEY") or "not-needed"
    return Endpoint(url, url, model, key, RealClock(), budget_usd=budget_usd)


def _budget(given: float | None) -> float | None:
    budget = _number("AGENTLAB_BUDGET_USD", given)
    if budget is not None and not (isinstance(budget, int | float) and 0 < budget < math.inf):
        raise ProviderError(f"{budget!r:.40} is no budget; give a positive number of dollars.")
    return budget


def _number(variable: str, given: float | None) -> float | None:
    if given is not None:
        return given
    text = os.environ.get(variable)
    try:
        return float(text) if text else None
    except ValueError:
        raise ProviderError(f"{variable}={text!r} is not a number.") from None
