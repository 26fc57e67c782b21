"""The views as widgets for a notebook: live while events are added, static when it is saved.

A widget sends what changed, a few times a second, as small messages (`flush`), and stores the
whole only once, at the end (`commit`): 400 events as a synced list would be a hundred times the
data. Whoever opens a view late asks for everything and gets it. Beside the widget, its output
holds the static HTML and a short text, which is what a reader without a kernel sees.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from typing import Any, ClassVar

import anywidget
import traitlets

from agentlab.events import Event
from agentlab.views.context import ContextPicture
from agentlab.views.drawing import Picture
from agentlab.views.inspector import InspectorPicture
from agentlab.views.meter import MeterPicture
from agentlab.views.page import heading, page, script, shorten, style_sheet
from agentlab.views.timeline import TimelinePicture

FLUSH_S = 0.1  # at least so long between two messages to the page


def static_only() -> bool:
    """True while notebooks are built and tested: nothing is shown that needs a kernel."""
    return os.environ.get("AGENTLAB_STATIC_VIEWS") == "1"


class View(anywidget.AnyWidget):
    """A picture that grows: ``add`` events while they happen, ``commit`` when they are over."""

    _esm = script("interact.js") + script("view.js")
    _css = style_sheet()
    snapshot = traitlets.Dict().tag(sync=True)
    name = traitlets.Unicode().tag(sync=True)
    _picture_type: ClassVar[type[Picture]]

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._picture = self._new_picture()
        super().__init__(name=self._picture.name)
        self._number = 0  # of the last message
        self._told = 0  # events whose JSON was sent
        self._stale: set[int] = set()
        self._loaded = self._over = False
        self._flushed = time.monotonic()
        self._lock = threading.RLock()  # "ready" may be heard in another thread than events are
        self.on_msg(self._hear)
        for event in events:
            self._picture.add(event)
        if self._picture.rows():
            self.commit()

    def _new_picture(self) -> Picture:
        return self._picture_type()

    def add(self, event: Event) -> None:
        """Take one event; it is shown within a moment."""
        with self._lock:
            self._picture.add(event)
            if time.monotonic() - self._flushed >= FLUSH_S:
                self.flush()

    def idle(self, seconds: float) -> None:
        """Nothing was heard for so long; show what is still running."""
        with self._lock:
            self._picture.idle(seconds)
            self.flush()

    def flush(self) -> None:
        """Send what changed since the last time."""
        with self._lock:
            self._flushed = time.monotonic()
            rows = self._stale | set(self._picture.drawn())
            self._stale.clear()
            self._number += 1
            self.send(self._patch(sorted(rows), self._told))
            self._told = len(self._picture.events)

    def commit(self) -> None:
        """Store the whole, so that the page no longer has to ask for it."""
        with self._lock:
            self.snapshot = self._whole()

    def done(self) -> None:
        """Close once the page has loaded it: closed before, it is an error in the page's log."""
        with self._lock:
            self._over = True
            if self._loaded:
                self.close()

    def html(self) -> str:
        """The static form."""
        with self._lock:
            self._stale.update(self._picture.drawn())
            return page(self._picture, interactive=not static_only())

    def __repr__(self) -> str:
        with self._lock:
            self._stale.update(self._picture.drawn())
            return self._picture.text()

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        # A page, not a widget, once it is over: reopened without a kernel, a widget is an error.
        live = self._picture.running and not static_only()
        bundle, metadata = (super()._repr_mimebundle_(**kwargs) if live else None) or ({}, {})
        return {**bundle, "text/plain": repr(self), "text/html": self.html()}, metadata

    def _hear(self, _: Any, content: Any, buffers: Any) -> None:
        if isinstance(content, dict) and content.get("kind") == "ready":
            with self._lock:
                self._loaded = True
                if self._over:
                    self.close()
                else:
                    self.send(self._whole())

    def _whole(self) -> dict[str, Any]:
        self._stale.update(self._picture.drawn())
        return {**self._patch(range(self._picture.rows()), 0), "whole": True}

    def _patch(self, rows: Iterable[int], told: int) -> dict[str, Any]:
        picture, scale = self._picture, self._picture.scale(live=True)
        events = {n: shorten(picture.events[n].to_dict()) for n in range(told, len(picture.events))}
        return {
            "kind": "patch",
            "seq": self._number,
            "parts": {
                "span": scale.span,
                "grid": scale.grid,
                "head": heading(picture) + picture.head(),
                "heading": picture.heading(scale),
                "foot": picture.foot(),
                "running": picture.running,
            },
            "rows": {index: picture.row(index, scale) for index in rows},
            "events": events,
        }


class Timeline(View):
    """Where did the time go? ``Timeline(events)`` shows a run that is over."""

    _picture_type = TimelinePicture


class Meter(View):
    """What did it cost? ``Meter(events)`` shows a run that is over."""

    _picture_type = MeterPicture


class Context(View):
    """What is in the window? ``Context(events)`` shows a run that is over."""

    _esm = script("interact.js") + script("xray.js") + script("view.js")
    _css = style_sheet("context")
    _picture_type = ContextPicture


class Inspector(View):
    """What went over the wire? ``Inspector(events)`` shows a run that is over."""

    _css = style_sheet("inspector")

    def _new_picture(self) -> Picture:
        # Ids differ from run to run, so what is stored with a notebook has numbers in their place.
        return InspectorPicture(exact=not static_only())
