"""A Messages API server on this machine: strict, offline, deterministic, and free.

    from agentlab.simulator import start

    with start() as simulator:
        print(simulator.base_url)

It checks requests by the rules of the real API and answers with its error texts, plays scenarios
(`agentlab.simulator.scenario`), counts tokens, accounts for the prompt cache, and breaks on
purpose (`Fault`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentlab.simulator.faults import Fault, FaultError, Faults, load_faults
    from agentlab.simulator.server import Simulator, make_app, shared, start

# Loaded when first used: who only writes a scenario or reads the rules needs no server.
_HOME = {
    "Fault": "faults",
    "FaultError": "faults",
    "Faults": "faults",
    "load_faults": "faults",
    "Simulator": "server",
    "make_app": "server",
    "shared": "server",
    "start": "server",
}
__all__ = [
    "Fault",
    "FaultError",
    "Faults",
    "Simulator",
    "load_faults",
    "make_app",
    "shared",
    "start",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
