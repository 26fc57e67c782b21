"""agentlab: learn how an agent harness works by building one.

The names below are loaded when they are first used, so ``import agentlab`` costs next to nothing
and brings in neither the SDK nor the widgets nor the simulator.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from agentlab.agent import Agent as Agent
    from agentlab.events import Event as Event
    from agentlab.hooks import Hooks as Hooks
    from agentlab.limits import Limits as Limits
    from agentlab.permissions import Permissions as Permissions
    from agentlab.permissions import Rules as Rules
    from agentlab.providers import Endpoint as Endpoint
    from agentlab.providers import connect as connect
    from agentlab.result import Result as Result
    from agentlab.tools import Tool as Tool
    from agentlab.tools import tool as tool
    from agentlab.transcript import Transcript as Transcript
    from agentlab.views.watching import watch as watch

_HOME = {
    "Agent": "agent",
    "Endpoint": "providers",
    "Event": "events",
    "Hooks": "hooks",
    "Limits": "limits",
    "Permissions": "permissions",
    "Result": "agent",
    "Rules": "permissions",
    "Tool": "tools",
    "Transcript": "transcript",
    "connect": "providers",
    "tool": "tools",
    "watch": "views.watching",
}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agentlab' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"agentlab.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
