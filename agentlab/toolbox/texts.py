"""Bytes and text: encodings, line endings, and what has been read before.

A file is bytes; a model sees text. `Text` knows how one became the other, so that an edit changes
what was meant and leaves every other byte as it is. `Seen` remembers what a file held when it was
read, so that nothing is edited that the model has not looked at, or that changed since.
"""

from __future__ import annotations

import codecs
import hashlib
import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
PROBE_BYTES = 8192
KEPT_BYTES = 32_000_000


@dataclass(frozen=True)
class Text:
    """What the bytes of a text file are: their byte order mark, and their encoding."""

    data: bytes
    mark: bytes
    encoding: str

    @classmethod
    def of(cls, data: bytes) -> Text | None:
        """What ``data`` is. None if it is not text: it holds a zero byte near its beginning."""
        mark = next((m for m in _MARKS if data.startswith(m)), b"")
        encoding = _MARKS.get(mark, "utf-8")
        if encoding == "utf-8" and b"\0" in data[:PROBE_BYTES]:
            return None
        if data.startswith(codecs.BOM_UTF32_LE):  # begins like UTF-16; nobody writes it
            return None
        return cls(data, mark, encoding)

    @cached_property
    def crlf(self) -> bool:
        """Whether every line ends in CRLF. Where only some do, they are shown as they are."""
        data = self.data
        if self.encoding != "utf-8":
            data = data.decode(self.encoding, "replace").encode("utf-8", "replace")
        return b"\r" in data and data.count(b"\r\n") == data.count(b"\n") == data.count(b"\r")

    def plain(self) -> bytes:
        """The whole file in UTF-8, without its mark."""
        if self.encoding == "utf-8":
            return self.data[len(self.mark) :]
        text = self.data[len(self.mark) :].decode(self.encoding, "replace")
        return text.encode("utf-8", "replace")

    def shown(self, part: bytes) -> str:
        """A part of the plain bytes as a model sees it. What means nothing becomes U+FFFD."""
        text = part.decode("utf-8", "replace")
        return text.replace("\r\n", "\n") if "\r" in text and self.crlf else text

    def meant(self, text: str) -> bytes:
        """A text that a model wrote, in bytes of this file; a CR that it spells out is meant.

        Raises UnicodeEncodeError for half a character.
        """
        if "\n" in text and "\r" not in text and self.crlf:
            text = text.replace("\n", "\r\n")
        return text.encode(self.encoding)


class Seen:
    """What each file held when it was last read or written here.

    The bytes themselves are kept, up to ``KEPT_BYTES`` in all, because hashing a file takes many
    times as long as reading it; of the oldest only the hash is kept.
    """

    def __init__(self) -> None:
        self._held: dict[Path, bytes] = {}
        self._hashes: dict[Path, bytes] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def remember(self, path: Path, data: bytes) -> None:
        with self._lock:
            self._bytes += len(data) - len(self._held.pop(path, b""))
            self._held[path] = data
            self._hashes.pop(path, None)
            while self._bytes > KEPT_BYTES:
                oldest = next(iter(self._held))
                dropped = self._held.pop(oldest)
                self._bytes -= len(dropped)
                self._hashes[oldest] = hashlib.sha256(dropped).digest()

    def state(self, path: Path, data: bytes) -> str:
        """``"same"`` as when it was read, ``"changed"`` since, or ``"unread"``."""
        with self._lock:
            if path in self._held:
                return "same" if self._held[path] == data else "changed"
            if path in self._hashes:
                same = self._hashes[path] == hashlib.sha256(data).digest()
                return "same" if same else "changed"
        return "unread"
