"""When a history is compacted, and how much of it may stay: the numbers, and the decision.

The size of the next prompt is what the server counted for the last call, plus an estimate of what
was added since; a count from before a compaction is worthless and is dropped. Compaction is due
when that size passes a share of the window which leaves room for the reply and for a summary. It is
not due while a call has no result, and not while an attempt that could not free enough is recent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentlab.compaction.rounds import open_calls
from agentlab.messages import Message
from agentlab.tokens import count_message

# From the most careful to the roughest; the last one happens at the API's side.
LEVELS = ("summary+memory", "summary", "clear", "truncate", "api")
NEXT = {  # what is tried when a level fails, in order
    "summary+memory": ("clear", "truncate"),
    "summary": ("clear", "truncate"),
    "clear": ("truncate",),
    "truncate": (),
    "api": ("clear", "truncate"),
}
SHARE = {"truncate": 0.7}  # of the window; the number that is usually given for it
DEFAULT_SHARE = 0.8
REST = 0.1  # of the window: so much has to be added before another attempt


@dataclass(frozen=True)
class Compaction:
    """The settings of a run. Tokens, shares of the window, seconds.

    Raises ValueError for a level that does not exist or a share that makes no sense.
    """

    level: str = "summary"
    at: float | None = None  # a share of the window; None: 0.7 for truncate, else 0.8
    window: int | None = None  # None: the model's
    keep_rounds: int = 4  # the last rounds of the model stay; 0 with thinking of type "enabled"
    keep: float = 0.25  # they may take up this share of the trigger
    summary_tokens: int = 2_000
    chunk_tokens: int = 80_000  # in one call; below the size where small models cost more
    min_saving: float = 0.2  # of the whole prompt; what frees less is not worth a lost cache
    deadline_s: float = 60.0  # for each call of the small model
    memory: str = ""  # of the project, for "summary+memory"
    instructions: str = ""  # for the summary: what matters above all
    api_summary: bool = False  # at level "api": the API may also write a summary (4.6 and newer)

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ValueError(f"there is no level {self.level!r}; there is: {', '.join(LEVELS)}")
        least = min(self.summary_tokens, self.chunk_tokens, self.deadline_s, self.window or 1)
        if least <= 0 or self.keep_rounds < 0:
            raise ValueError(
                "window, summary_tokens, chunk_tokens and deadline_s are more than 0, and "
                "keep_rounds is 0 or more"
            )
        if not 0 < self.share <= 1 or not 0 < self.keep < 1 or not 0 <= self.min_saving < 1:
            raise ValueError("at, keep and min_saving are shares of the whole, between 0 and 1")

    @property
    def share(self) -> float:
        """The share of the window at which compaction is due."""
        return SHARE.get(self.level, DEFAULT_SHARE) if self.at is None else self.at


def trigger(settings: Compaction, window: int, max_tokens: int) -> int:
    """From how many tokens on compaction is due: a share that leaves room for reply and summary.

    Where the window is hardly larger than the reply there is no such share; a quarter is taken.
    """
    room = window - max_tokens - settings.summary_tokens
    return min(int(settings.share * window), max(room, window // 4))


def size(
    messages: Sequence[Message], overhead: int = 0, *, counted: int = 0, counted_messages: int = 0
) -> int:
    """Tokens of the next prompt.

    Args:
        messages: the whole history.
        overhead: estimated tokens of system prompt and tools.
        counted: prompt and reply of the last call, as the server counted them; 0: not known.
        counted_messages: so many messages these were. If the history is shorter, it is another
            one by now, and the count is dropped.
    """
    if not counted or not 0 < counted_messages <= len(messages):
        return overhead + sum(map(count_message, messages))
    return counted + sum(map(count_message, messages[counted_messages:]))


def due(
    settings: Compaction,
    messages: Sequence[Message],
    tokens: int,
    *,
    window: int,
    max_tokens: int = 8192,
    blocked: int = 0,
) -> str:
    """Why the history has to be compacted before the next request: "share", "window" or "".

    At the level "api" only "window": until then the server shortens what it is sent.

    Args:
        tokens: of the next prompt, from `size`.
        window: of the model, in tokens.
        max_tokens: room for the reply.
        blocked: tokens at the last attempt, if it failed; 0: none did.
    """
    if open_calls(messages):
        return ""
    if tokens + max_tokens > window and not (blocked and tokens <= blocked):
        return "window"
    if blocked and tokens < blocked + REST * window:
        return ""
    if settings.level == "api":
        return ""  # the server edits at the same mark; here it is only done if that did not help
    return "share" if tokens >= trigger(settings, window, max_tokens) else ""
