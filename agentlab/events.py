"""The one stream that everything else reads.

A run of the loop is a sequence of events, in order. The notebook widgets, the terminal, the
transcript on disk, the cost meter and the tests all read this sequence and nothing else, so what
they show is what happened. An event is small and flat: a name, a time, a turn, and a dict of data
that can be written as JSON.

Names are dotted, as on the wire of the systems that people know (``assistant.turn_start``). One
``assistant.turn_start`` / ``assistant.turn_end`` pair is one completed call of the model.

Built in chapter 02.
"""

from __future__ import annotations

from typing import Any, NamedTuple

SCHEMA_VERSION = 1

# name -> the keys of its data. Events in LIVE are shown as they happen and never stored: the
# transcript holds whole messages, and being idle is a moment, not a fact to replay.
EVENTS: dict[str, tuple[str, ...]] = {
    "session.start": (  # and, since there is any, compaction: level, window, trigger
        "schema",
        "model",
        "endpoint",
        "simulated",
        "system",
        "tools",
        "limits",
        "history",
    ),
    "user.message": ("message", "origin"),  # origin: user | continue (said by the harness itself)
    "assistant.turn_start": ("messages", "input_tokens"),  # sent messages; estimated tokens
    "assistant.thinking_delta": ("text",),
    "assistant.text_delta": ("text",),
    "assistant.tool_delta": ("tool_use_id", "name", "json"),
    "assistant.message": ("message", "kept", "stop_reason", "usage", "model", "id"),
    "assistant.turn_end": ("stop_reason", "usage", "cost_usd", "total_usage", "total_usd"),
    "permission.requested": (
        "tool_use_id",
        "name",
        "input",
        "shown",
        "reason",
        "layer",
        "parts",
        "rules",
    ),
    "permission.decided": (
        "tool_use_id",
        "name",
        "decision",
        "layer",
        "reason",
        "rule",
        "part",
        "allowed",
    ),
    "hook.result": ("event", "hook", "decision", "reason", "tool_use_id"),
    "tool.execution_start": ("tool_use_id", "name", "input"),
    "tool.execution_complete": ("tool_use_id", "name", "content", "is_error", "traceback"),
    "model.retry": ("attempt", "reason", "wait_s"),
    "model.broken_off": ("purpose", "model", "usage", "cost_usd"),  # what a failed attempt used
    "model.side_call": ("purpose", "model", "usage", "cost_usd"),  # and retries, if there were any
    "context.compacting": ("reason", "tokens"),  # it has begun, and may take some seconds
    "context.compacted": (
        "level",
        "reason",
        "before_tokens",
        "after_tokens",
        "dropped",
        "summary",
        "messages",
    ),  # and tried: why other levels did not do, if any was tried before
    "context.not_compacted": ("reason", "problem", "tokens"),  # why the old history stays
    "context.edited": ("edits",),  # what the API left out of this prompt: its `applied_edits`
    "budget.warning": ("text", "share"),
    "session.task_complete": ("summary",),
    "session.error": ("status", "error", "hint"),
    "session.end": ("status", "text", "turns", "usage", "cost_usd", "detail"),
    "session.idle": ("status",),
}
LIVE = frozenset(
    (
        "assistant.thinking_delta",
        "assistant.text_delta",
        "assistant.tool_delta",
        "context.compacting",
        "session.idle",
    )
)


class Event(NamedTuple):
    """One thing that happened.

    ``at`` is seconds on the run's clock (virtual against the simulator), ``turn`` counts from 1
    (0 before the first turn), ``agent`` names who it happened to. The keys of ``data`` can be
    read as attributes: ``event.text`` is ``event.data["text"]``.
    """

    type: str
    at: float
    turn: int
    agent: str
    data: dict[str, Any]

    def __getattr__(self, key: str) -> Any:
        try:
            return self.data[key]
        except KeyError:
            raise AttributeError(
                f"event {self.type} has no {key!r}; it has {sorted(self.data)}"
            ) from None

    @property
    def live(self) -> bool:
        """True for events that are shown but never stored."""
        return self.type in LIVE

    def to_dict(self) -> dict[str, Any]:
        """The event as one flat JSON object, as it stands in a transcript."""
        return {
            "type": self.type,
            "at": self.at,
            "turn": self.turn,
            "agent": self.agent,
            **self.data,
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Event:
        """The inverse of `to_dict`. Raises KeyError if ``type`` is missing."""
        data = dict(record)
        return cls(
            data.pop("type"),
            data.pop("at", 0.0),
            data.pop("turn", 0),
            data.pop("agent", "main"),
            data,
        )
