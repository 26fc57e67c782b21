"""What must never stand in a stored output: things that are different on another machine or run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_ALWAYS = {
    "a port": r"(?:127\.0\.0\.1|localhost|0\.0\.0\.0|\[::1\]):\d{2,5}",
    "a path of this machine": r"/(?:tmp|home|root|Users|private|var/folders)/\w|\b[A-Z]:\\\\?\w",
    "a memory address": r"\bat 0x[0-9a-fA-F]{4,}|\bobject at\b",
    "a time": r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d|\b\d\d:\d\d:\d\d[.,]\d{3,}",
    "a kernel's file name": r"ipykernel_\d+|<ipython-input",
    "a process id": r"\bpid[ =:]+\d{2,}",
}
_IDS = {
    "an id": r"\b(?:msg|req|toolu|srvtoolu|msgbatch)_[0-9A-Za-z]{8,}",
    "a uuid": r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    "a long hash": r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{32,}\b",
}


def leaks_of(outputs: list[Any], *, ids: bool = True) -> Iterator[str]:
    """What these outputs show of one machine or run, each kind once, with its text.

    ``ids=False`` allows ids, for a cell that is about them (tag ``shows-ids``).
    """
    text = "\n".join(_texts(outputs))
    for kind, pattern in (_ALWAYS | _IDS if ids else _ALWAYS).items():
        if found := re.search(pattern, text):
            yield f"{kind}: {found[0]}"


def _texts(value: Any) -> Iterator[str]:
    """Every text of an output; the keys, such as MIME types, say nothing."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif value is not None:
        yield json.dumps(value)
