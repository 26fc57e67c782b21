"""How numbers, statuses and tool calls are worded, alike in every view.

Numbers keep one precision each (0.1 seconds, whole tokens, dollars as `costs.dollars` writes
them), statuses are words, and anything that came from a model, a tool or a user is cut to a length
and cleared of control characters before it is shown.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

THIN = "\u202f"  # a narrow space that does not break

STATUS = {
    "completed": "Completed",
    "task_complete": "Task complete",
    "turn_limit": "Stopped at the turn limit",
    "token_limit": "Stopped at the token limit",
    "dollar_limit": "Stopped at the dollar limit",
    "tool_call_limit": "Stopped at the tool-call limit",
    "time_limit": "Stopped at the time limit",
    "repeated_calls": "Stopped: it repeated the same calls",
    "repeated_failures": "Stopped: one tool failed again and again",
    "refusal": "The model declined",
    "truncated": "The reply was cut off",
    "window_exceeded": "The conversation no longer fits the window",
    "no_completion": "Stopped without saying that the task is complete",
    "blocked": "Blocked by a hook",
    "stop_hook_capped": "Stopped: a Stop hook was never satisfied",
    "cancelled": "Cancelled",
    "error": "Failed",
}

# Escape sequences of terminals; then what else moves a cursor, hides text or changes its direction.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]*[0-~])"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def clean(text: Any) -> str:
    """Text without escape sequences and control characters; tabs and line ends stay."""
    text = str(text).replace("\r\n", "\n")
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def one_line(text: Any, width: int = 80) -> str:
    """The text on one line of at most ``width`` characters, an ellipsis at the end if cut."""
    line = " ".join(clean(str(text)[: 20 * width]).split())
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def seconds(value: float) -> str:
    """``3.1 s``; from a minute on ``1:05``; less than 0.05 s is ``<0.1 s``."""
    if 0 < value < 0.05:
        return "<0.1 s"
    if value < 59.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def duration(value: float) -> str:
    """As `seconds`, and below a tenth of one in milliseconds: ``50 ms``."""
    return f"{1000 * value:.0f} ms" if 0 < value < 0.0995 else seconds(value)


def tokens(count: float, thin: str = THIN) -> str:
    """``12 345``, with thin separators."""
    return f"{int(count):,}".replace(",", thin)


def plural(count: int, noun: str) -> str:
    """``1 turn``, ``2 turns``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def status_words(status: str, detail: str = "") -> str:
    """A final status in words, with the detail if there is one."""
    words = STATUS.get(status) or one_line(status.replace("_", " ").capitalize(), 40) or "Ended"
    return f"{words}: {one_line(detail, 160)}" if detail else words


def call_label(name: str, arguments: Any, width: int = 40) -> str:
    """A tool call on one line: ``Read a.txt``, ``Grep pattern=rain, path=src``."""
    if not isinstance(arguments, dict) or not arguments:
        return one_line(name, width)
    values = list(arguments.items())
    if len(values) == 1:
        return one_line(f"{name} {_value(values[0][1])}", width)
    return one_line(
        f"{name} " + ", ".join(f"{key}={_value(value)}" for key, value in values), width
    )


def _value(value: Any) -> str:
    text = str(value)
    if "\n" not in text and len(text) < 300:  # an absolute path says less than its last part
        for kind in (PurePosixPath, PureWindowsPath):
            path = kind(text)
            if path.is_absolute() and len(path.parts) > 2:
                return path.name
    return text
