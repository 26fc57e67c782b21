"""What the notebooks use besides the harness itself.

`show_source` quotes the package, `predict` asks before a cell answers, `check`, `hint` and
`solution` stand under exercises, `compare` puts two runs side by side, `keep` builds the learner's
own `my_harness.py`, `workspace` copies a sample folder. Loaded when first used, because a chapter
needs only some of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentlab.course.checking import check as check
    from agentlab.course.checking import hint as hint
    from agentlab.course.checking import solution as solution
    from agentlab.course.comparison import compare as compare
    from agentlab.course.keeping import keep as keep
    from agentlab.course.predictions import predict as predict
    from agentlab.course.sources import show_source as show_source
    from agentlab.course.workspaces import workspace as workspace

_HOME = {
    "check": "checking",
    "compare": "comparison",
    "hint": "checking",
    "keep": "keeping",
    "predict": "predictions",
    "show_source": "sources",
    "solution": "checking",
    "workspace": "workspaces",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agentlab.course' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"agentlab.course.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
