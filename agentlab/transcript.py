"""Events on disk: one line of JSON each, written as they happen.

A transcript is the stored part of the event stream, so everything that reads events (the views,
the tests, the evaluation) reads transcripts too, and a conversation can be taken up again from
one. Each line is handed to the operating system at once and survives a killed process; at worst
the last line is torn, and then it is skipped and reported.

It stores what was said in full, secrets included if there were any, and nothing is encrypted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from agentlab.events import EVENTS, SCHEMA_VERSION, Event
from agentlab.messages import History, calls_of, normalise, tool_result, user


class TranscriptError(ValueError):
    """The file is no transcript that this version can read; the text says why and what to do."""


class Transcript:
    """Writes events to a file, one line each. Appends if the file is there already.

    Raises OSError if the folder cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        torn = self.path.exists() and self.path.stat().st_size > 0 and not self._ends_in_newline()
        self._file: IO[str] = self.path.open(
            "a", encoding="utf-8", errors="surrogatepass", newline="\n"
        )
        if torn:  # so that the fragment does not swallow the next line
            self._file.write("\n")

    def _ends_in_newline(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def write(self, event: Event) -> None:
        """Store the event, unless it is one that is only shown live."""
        if event.live:
            return
        self._file.write(json.dumps(event.to_dict(), ensure_ascii=False, allow_nan=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Transcript:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Transcript({self.path.name!r})"


@dataclass(frozen=True)
class Loaded:
    """What was read: the events, and a line for each thing that could not be read."""

    events: list[Event]
    warnings: list[str] = field(default_factory=list)


def load(path: str | os.PathLike[str]) -> Loaded:
    """Read a transcript. Lines that cannot be read are skipped and reported.

    Raises FileNotFoundError, or TranscriptError if the file is not a transcript of ours or comes
    from a newer version.
    """
    events: list[Event] = []
    warnings: list[str] = []
    name = Path(path).name
    if Path(path).is_dir():
        raise TranscriptError(f"{name} is a folder, not a transcript.")
    lines = Path(path).read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = Event.from_dict(json.loads(line))
            missing = [key for key in EVENTS.get(event.type, ()) if key not in event.data]
            if missing:
                raise KeyError(missing[0])
            events.append(event)
        except (ValueError, KeyError, TypeError):
            torn = "torn" if number == len(lines) else "unreadable"
            warnings.append(f"{name}, line {number}: {torn}, skipped")
    if not events or not any(e.type == "session.start" for e in events):
        raise TranscriptError(
            f"{name} is not an agentlab transcript: it has no session.start line."
        )
    newest = max(int(e.data.get("schema", 0)) for e in events if e.type == "session.start")
    if newest > SCHEMA_VERSION:
        raise TranscriptError(
            f"{name} was written by a newer agentlab (schema {newest}, this one reads "
            f"{SCHEMA_VERSION}). Install the newer version to read it."
        )
    return Loaded(events, warnings)


def history_of(events: Iterable[Event], agent: str | None = None) -> History:
    """The conversation that the events tell of, ready to be continued.

    A call whose result was never stored gets one that says it was interrupted: nothing is run
    again. ``agent`` picks one agent of a transcript with several; default: that of the first event.
    """
    history = History()
    results: dict[str, int] = {}
    for event in events:
        agent = agent or event.agent
        if event.agent != agent:
            continue
        match event.type:
            case "session.start" if event.data.get("history"):
                history = History(event.history)
            case "user.message":
                history.append(event.message)
            case "context.compacted":
                history = History(event.messages)
            case "assistant.message" if event.data.get("kept", True):
                history.append(event.message)
                if calls_of(event.message):
                    history.append(user())
                    results = {call["id"]: len(history) - 1 for call in calls_of(event.message)}
            case "tool.execution_complete" if event.tool_use_id in results:
                result = tool_result(event.tool_use_id, event.content, event.is_error)
                history[results.pop(event.tool_use_id)]["content"].append(result)
    normalise(history)
    return history
