"""What a run looks like: readers of the event stream, for the notebook and for the terminal.

A view is given events and nothing else, one by one while a run goes on or all at once from a
transcript, so it cannot show what did not happen. Each answers one question and is named by it:
`Timeline` ("Where did the time go?"), `Meter` ("What did it cost?"), `Context` ("What is in the
window?") and `Inspector` ("What went over the wire?"). `Board` is no view but a set of switches,
for what can go wrong. `watch` shows the views while a run goes on; `terminal.play` does the same
with text.

Each view has three forms that are drawn from the same rows: live in a notebook, a static table in
HTML, and a few lines of text.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentlab.views.board import Board as Board
    from agentlab.views.context import context_html as context_html
    from agentlab.views.context import context_text as context_text
    from agentlab.views.inspector import inspector_html as inspector_html
    from agentlab.views.inspector import inspector_text as inspector_text
    from agentlab.views.meter import meter_html as meter_html
    from agentlab.views.meter import meter_text as meter_text
    from agentlab.views.terminal import play as play
    from agentlab.views.terminal import replay as replay
    from agentlab.views.timeline import timeline_html as timeline_html
    from agentlab.views.timeline import timeline_text as timeline_text
    from agentlab.views.watching import watch as watch
    from agentlab.views.widgets import Context as Context
    from agentlab.views.widgets import Inspector as Inspector
    from agentlab.views.widgets import Meter as Meter
    from agentlab.views.widgets import Timeline as Timeline

_HOME = {
    "Board": "board",
    "Context": "widgets",
    "Inspector": "widgets",
    "Meter": "widgets",
    "Timeline": "widgets",
    "context_html": "context",
    "context_text": "context",
    "inspector_html": "inspector",
    "inspector_text": "inspector",
    "meter_html": "meter",
    "meter_text": "meter",
    "play": "terminal",
    "replay": "terminal",
    "timeline_html": "timeline",
    "timeline_text": "timeline",
    "watch": "watching",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agentlab.views' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"agentlab.views.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
