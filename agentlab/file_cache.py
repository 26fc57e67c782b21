"""What the agent has read: files are not sent twice, and nothing unseen is overwritten.

A model reads the same file again and again, and each time its whole text goes into the window and
is paid for at every later turn. `FileCache` remembers, for each file, the bytes that were read and
which parts of them the model has before it. So a second ``Read`` of what has not changed can be a
short note; an ``Edit`` of a file that was never read, or that has changed since, can be refused;
and a ``Write`` over a file needs to have seen all of it, because what it has not seen would vanish.

Whether a file has changed is decided by comparing bytes, every time. A modification time lies (a
checkout or an editor renews it, a tool may put it back), and a size says little; reading the file
costs a fraction of a millisecond. So it does not matter who changed it: the agent, a hook, or
somebody outside. Files are known by their resolved path (`Confined.judge` gives it), so that two
spellings and a link are one file.

The reads of one turn run at the same time. None of them counts on what another one brings, or it
would be chance which of two equal ones sends the text: that is in the context from the next turn on
(`asked`).

It knows nothing of the history. Whoever takes results out of the context (compaction, clearing, a
cancelled turn) must say so with `forget_contents`, or a note would point to a text that is gone.
Built in chapter 11.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

# Both numbers are choices, not measurements (2026-11-30): more files than a task touches, and
# memory that nobody misses. What falls out has only to be read again.
MOST_FILES = 100
MOST_BYTES = 25_000_000

State = Literal["unread", "changed", "partial", "whole"]
Span = tuple[int, int]  # bytes of the text, from and to


@dataclass(frozen=True)
class Held:
    """One file: its bytes, how much of it was seen, and the parts that are in the context."""

    data: bytes
    whole: bool = False
    since: int = -1  # the turn in which the last of it was read; -1: the agent wrote it
    spans: tuple[Span, ...] = ()  # seen so far, in order and without overlap
    parts: Mapping[Hashable, int] = field(default_factory=dict)  # and the turn each was read in


class FileCache:
    """The files that one conversation has read, the least recently used ones dropped.

    ``files`` and ``size`` (in bytes) bound it; the newest file is kept whatever its size. Reads
    that run at the same time may share it.
    """

    def __init__(self, files: int = MOST_FILES, size: int = MOST_BYTES) -> None:
        self.files, self.size = files, size
        self._held: dict[str, Held] = {}  # the least recently used first
        self._bytes = 0
        self._turn = 0  # grows with each file that is asked for, before the calls of a turn run
        self._reader: object = None  # the conversation that the texts are in
        self._at_work: set[object] = set()  # conversations that read here now
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, path: object) -> bool:
        return str(path) in self._held

    def __repr__(self) -> str:
        return f"FileCache({len(self._held)} files, {self._bytes} bytes)"

    # ------------------------------------------------------------------------------ asking

    def state(self, path: Path, data: bytes) -> State:
        """What is known of a file that now holds ``data``.

        ``"unread"``; ``"changed"`` since it was read or written here; else ``"whole"`` if all of
        it was seen, ``"partial"`` if not, or if it is no longer in the context. What a turn reads
        the model has not seen when it asks for the other calls of that turn.
        """
        with self._lock:
            held = self._used(path)
            if held is None:
                return "unread"
            if held.data != data:
                return "changed"
            seen = held.since < self._turn or not (self._turn and self._at_work)
            return "whole" if held.whole and seen else "partial"

    def shows(self, path: Path, data: bytes, part: Hashable) -> bool:
        """Whether the context holds that part of the file as it is now."""
        with self._lock:
            held = self._used(path)
            if held is None or part not in held.parts:
                return False
            earlier = held.parts[part] < self._turn or self._turn == 0
            return earlier and held.data == data

    # ------------------------------------------------------------------------------ telling

    def asked(self) -> None:
        """A turn asks for a file, and has not run: what was read before is in the context.

        Whoever never says so reads one file after the other, and each counts at once.
        """
        with self._lock:
            self._turn += 1

    def used_by(self, conversation: object) -> None:
        """A conversation goes on. If another one read here last, its texts are not in this one.

        While several are at work (an agent and its child with the same tools), no text counts as
        being in the context, since it is not known in whose.
        """
        if self._reader not in (None, conversation):
            self.forget_contents()
        with self._lock:
            self._at_work.add(conversation)
            self._reader = conversation

    def left_by(self, conversation: object) -> None:
        """A conversation has stopped, for now."""
        with self._lock:
            self._at_work.discard(conversation)

    def read(self, path: Path, data: bytes, part: Hashable, span: Span, length: int) -> None:
        """A part of the file was shown: ``span`` of a text of ``length`` bytes.

        ``part`` is how it was asked for. Both are remembered, since one text can be asked for in
        many ways.
        """
        with self._lock:
            held = self._used(path)
            if held is None or held.data != data:
                held = Held(data)
            spans = _joined((*held.spans, span))
            whole = held.whole or spans[0] == (0, length)
            parts = {part: self._turn, span: self._turn, **held.parts}
            alone = self._reader is None or self._at_work == {self._reader}
            parts = parts if alone else {}  # it is not known whose context the text goes to
            since = held.since if held.whole else self._turn
            self._put(path, Held(data, whole, since, spans, parts))

    def wrote(self, path: Path, data: bytes) -> None:
        """The agent wrote all of the file: it knows what is in it, though it was never shown."""
        with self._lock:
            self._put(path, Held(data, whole=True))

    def edited(self, path: Path, data: bytes) -> None:
        """The agent changed a place in the file. If it had seen all of it, it still has."""
        with self._lock:
            held = self._used(path) or _NOTHING
            self._put(path, Held(data, held.whole, held.since))

    def forget(self, path: Path | None = None) -> None:
        """Forget a file that is gone, or everything."""
        with self._lock:
            for gone in [str(path)] if path is not None else list(self._held):
                self._bytes -= len(self._held.pop(gone, _NOTHING).data)

    def forget_contents(self) -> None:
        """The texts have left the context: the next Read gives them again.

        What may be edited stays so, since an edit names the text that it replaces. Overwriting a
        whole file needs another look.
        """
        with self._lock:
            self._held = {path: Held(held.data) for path, held in self._held.items()}

    def clone(self) -> FileCache:
        """The same knowledge for a child, independent from now on.

        A child that does not begin with its parent's messages has none of the texts before it:
        call `forget_contents` on its clone.
        """
        made = FileCache(self.files, self.size)
        with self._lock:
            made._held, made._bytes = dict(self._held), self._bytes
            made._turn = self._turn
        return made

    # ------------------------------------------------------------------------------ inside

    def _used(self, path: Path) -> Held | None:
        """What is held of a file, which becomes the most recently used one."""
        held = self._held.pop(str(path), None)
        if held is not None:
            self._held[str(path)] = held
        return held

    def _put(self, path: Path, held: Held) -> None:
        self._bytes += len(held.data) - len(self._held.pop(str(path), _NOTHING).data)
        self._held[str(path)] = held
        while len(self._held) > max(self.files, 1) or (
            self._bytes > self.size and len(self._held) > 1
        ):
            oldest = next(iter(self._held))
            self._bytes -= len(self._held.pop(oldest).data)


_NOTHING = Held(b"")


def _joined(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """The same spans in order, those that touch each other as one."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return tuple(joined)
