"""The one place for colours: the same kind of thing has the same colour in every view.

Kinds use the palette of Okabe and Ito (2008), which people with the common forms of colour
blindness can tell apart. Usage buckets are tints of one hue that is not among them, and the darker
a bucket, the dearer its tokens: a cached prompt looks pale. Colour never stands alone; every bar
also has a word.
"""

from __future__ import annotations

from typing import NamedTuple


class Paint(NamedTuple):
    """A fill, and the ink that can be read on it (at least 4.5 to 1)."""

    fill: str
    ink: str


KINDS = {
    "system": Paint("#757575", "#ffffff"),
    "tools": Paint("#f0e442", "#000000"),
    "user": Paint("#56b4e9", "#000000"),
    "text": Paint("#0072b2", "#ffffff"),
    "thinking": Paint("#cc79a7", "#000000"),
    "tool_call": Paint("#e69f00", "#000000"),
    "tool_result": Paint("#009e73", "#000000"),
    "summary": Paint("#000000", "#ffffff"),
    "pinned": Paint("#6b4423", "#ffffff"),
    "preview": Paint("#8fd3bd", "#000000"),  # a paler result: the whole is elsewhere
    "cleared": Paint("#dcebe6", "#000000"),
    "earlier": Paint("#b0b0b0", "#000000"),  # content that is not known
    # Not content, so no hue of its own: nothing was made in that time.
    "wait": Paint("#8c8c8c", "#000000"),
    "retry": Paint("#d55e00", "#000000"),
    "side_call": Paint("#bbbb55", "#000000"),
    "asking": Paint("#2f8fd0", "#000000"),  # hollow: somebody is waited for
}
FAILED = "#d55e00"

# What tells pairs of calls and results apart (with their numbers), by turns: the light colours of
# Paul Tol (2021), which are safe for colour-blind eyes too and leave the kinds their own.
PAIRS = tuple(
    Paint(fill, "#000000")
    for fill in ("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33")
)

BUCKETS = {
    "cache_read": Paint("#d4d1ee", "#000000"),
    "input": Paint("#aaa3de", "#000000"),
    "cache_write": Paint("#8177cc", "#000000"),
    "thinking": Paint("#5d50b4", "#ffffff"),
    "output": Paint("#443893", "#ffffff"),
}


def variables() -> str:
    """The palette as CSS custom properties (``--agentlab-thinking: #cc79a7; …``)."""
    kinds = [f"--agentlab-{name.replace('_', '-')}:{paint.fill};" for name, paint in KINDS.items()]
    buckets = [
        f"--agentlab-use-{name.replace('_', '-')}:{paint.fill};" for name, paint in BUCKETS.items()
    ]
    return "".join([*kinds, *buckets, f"--agentlab-failed:{FAILED};"])
