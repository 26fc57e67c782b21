"""Bytes and text: encodings and line endings.

A file is bytes; a model sees text. `Text` knows how one became the other, so that an edit changes
what was meant and leaves every other byte as it is.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from functools import cached_property

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
PROBE_BYTES = 8192


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


def is_utf8(data: bytes) -> bool:
    """Whether all of it is UTF-8, so that nothing is shown as U+FFFD that is not that sign."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
