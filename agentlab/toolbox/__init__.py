"""The tools that ship: files, search, shell, calculator, clock, fetch.

They carry the names and arguments that people know from other harnesses (``Read(file_path)``,
``Bash(command)``), so that rules and settings written for those work here. `toolbox` gives the
whole set for one folder; `file_tools` the ones that only read. Loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentlab.toolbox.arithmetic import calculate as calculate
    from agentlab.toolbox.arithmetic import calculator as calculator
    from agentlab.toolbox.clock import clock_tool as clock_tool
    from agentlab.toolbox.complete import task_complete as task_complete
    from agentlab.toolbox.everything import toolbox as toolbox
    from agentlab.toolbox.fetch import web_fetch as web_fetch
    from agentlab.toolbox.files import file_tools as file_tools
    from agentlab.toolbox.safety import checkpoint as checkpoint
    from agentlab.toolbox.safety import rollback as rollback

_HOME = {
    "calculate": "arithmetic",
    "calculator": "arithmetic",
    "clock_tool": "clock",
    "task_complete": "complete",
    "toolbox": "everything",
    "web_fetch": "fetch",
    "file_tools": "files",
    "checkpoint": "safety",
    "rollback": "safety",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
