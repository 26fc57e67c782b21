"""`watch`: show a run while it goes on, and give back its result.

In a notebook it displays the views at the first event, feeds them all others, and at the end puts
their finished form in the same place, so that the saved notebook holds it. In a plain terminal it
plays the run as text. While notebooks are built and tested (``AGENTLAB_STATIC_VIEWS=1``) the views
are shown once, when they are finished.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from agentlab.events import Event
from agentlab.views.ending import closed, missing_end

if TYPE_CHECKING:
    from agentlab.result import Result
    from agentlab.views.widgets import View

HEARTBEAT_S = 0.25  # a kernel that only waits does not notice its interrupt button
VIEWS = {
    "timeline": "Timeline",
    "meter": "Meter",
    "context": "Context",
    "inspector": "Inspector",
}
USUAL = ("timeline", "meter")
Source = AsyncIterator[Event] | Iterable[Event] | str | os.PathLike[str]


async def watch(source: Source, *, views: Sequence[str] = USUAL) -> Result:
    """Show a run in ``views`` (timeline, meter, context, inspector) and return its `Result`.

    ``source`` is what ``agent.run(task)`` gives, or events that are there already, or the path of
    a transcript. If the cell is interrupted, the views say "cancelled" and the run is closed.
    Raises ValueError for a view that does not exist, TypeError for a source of another kind.
    """
    from agentlab.result import Result

    events = _events(source)
    for name in views:
        if name not in VIEWS:
            raise ValueError(f"there is no view {name!r}; there are: {', '.join(VIEWS)}")
    if not in_kernel():
        from agentlab.views.terminal import play

        return await play(events)
    stage = _Stage(views)
    status, detail = "cancelled", ""
    try:
        if isinstance(events, AsyncIterator):
            await _follow(events, stage)
        else:
            for event in events:
                stage.take(event)
            detail = "the events end here"
    except asyncio.CancelledError as error:
        # IPython shows what this returns, in place of a long traceback.
        error.__dict__["_render_traceback_"] = lambda: ["Interrupted: the run was cancelled."]
        raise
    except Exception as error:
        status, detail = "error", str(error)
        raise
    finally:
        stage.finish(status, detail)
    return Result.from_events(stage.seen)


def in_kernel() -> bool:
    """True in a notebook's kernel, where views can be displayed."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None


class _Stage:
    """The places in the output where the views stand, and what they have been shown."""

    def __init__(self, names: Sequence[str]) -> None:
        from agentlab.views import widgets

        self.seen: list[Event] = []
        self._static = widgets.static_only()
        self._types: list[type[View]] = [getattr(widgets, VIEWS[name]) for name in names]
        self._views: list[View] = []
        self._places: list[Any] = []

    def take(self, event: Event) -> None:
        """Show one event; with the first one the views appear."""
        if not self.seen:
            self._views = [view() for view in self._types]
            self._places = [] if self._static else [_display(view) for view in self._views]
        if not event.live:  # pieces are merged into the views, not kept
            self.seen.append(event)
        for view in self._views:
            view.add(event)

    def idle(self, seconds: float) -> None:
        """Show waits as they grow."""
        for view in self._views:
            view.idle(seconds)

    def finish(self, status: str, detail: str) -> None:
        """Put the finished form of each view in its place."""
        end = missing_end(self.seen, status, detail)
        if end is not None:
            self.take(end)
        for index, view in enumerate(self._views):
            if self._static:
                _display(view, updatable=False)
            else:
                data, metadata = view._repr_mimebundle_()
                self._places[index].update(data, raw=True, metadata=metadata)
            view.done()


def _display(view: View, updatable: bool = True) -> Any:
    from IPython.display import display

    data, metadata = view._repr_mimebundle_()
    return display(data, raw=True, metadata=metadata, display_id=updatable or None)


def _events(source: Any) -> AsyncIterator[Event] | Iterable[Event]:
    if isinstance(source, (str, os.PathLike)):
        from agentlab.transcript import load

        return load(source).events
    if not isinstance(source, (AsyncIterator, Iterable)):
        if asyncio.iscoroutine(source):
            source.close()
        wants = "what agent.run(task) gives, a list of events, or the path of a transcript"
        raise TypeError(f"watch wants {wants}, not {type(source).__name__}")
    return source


async def _follow(events: AsyncIterator[Event], stage: _Stage) -> None:
    heard = [time.monotonic()]
    heart = asyncio.create_task(_beat(stage, heard))
    try:
        async with closed(events) as stream:
            async for event in stream:
                heard[0] = time.monotonic()
                stage.take(event)
    finally:
        heart.cancel()


async def _beat(stage: _Stage, heard: list[float]) -> None:
    while True:
        await asyncio.sleep(HEARTBEAT_S)
        stage.idle(time.monotonic() - heard[0])
