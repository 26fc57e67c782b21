"""The shapes of what only beta requests hold: context edits, compaction on demand, and batches.

Source: the request types of the SDK, anthropic 2.14.0 (2026-11).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from agentlab.simulator.schema import Shape, tagged


class InputTokens(Shape):
    type: Literal["input_tokens"]
    value: int = Field(ge=1)


class ToolUses(Shape):
    type: Literal["tool_uses"]
    value: int = Field(ge=1)


class KeepToolUses(Shape):
    type: Literal["tool_uses"]
    value: int = Field(ge=0)


class ClearToolUses(Shape):
    type: Literal["clear_tool_uses_20250919"]
    trigger: Annotated[Any, tagged({"input_tokens": InputTokens, "tool_uses": ToolUses})] | None = (
        None
    )
    keep: KeepToolUses | None = None
    clear_at_least: InputTokens | None = None
    exclude_tools: list[str] | None = None
    clear_tool_inputs: bool | list[str] | None = None


class ThinkingTurns(Shape):
    type: Literal["thinking_turns"]
    value: int = Field(ge=1)


class AllTurns(Shape):
    type: Literal["all"]


class ClearThinking(Shape):
    type: Literal["clear_thinking_20251015"]
    keep: Annotated[
        Annotated[Any, tagged({"thinking_turns": ThinkingTurns, "all": AllTurns})] | None,
        BeforeValidator(lambda value: {"type": "all"} if value == "all" else value),
    ] = None


class Compact(Shape):
    type: Literal["compact_20260112"]
    trigger: InputTokens | None = None
    instructions: str | None = None
    pause_after_compaction: bool | None = None


_CLEARING: dict[str, type] = {
    "clear_thinking_20251015": ClearThinking,
    "clear_tool_uses_20250919": ClearToolUses,
}


class ClearingEdits(Shape):
    """``context_management`` (beta)."""

    edits: list[Annotated[Any, tagged(_CLEARING)]] | None = None


class CompactingEdits(Shape):
    """``context_management`` with the beta that adds compaction to it."""

    edits: list[Annotated[Any, tagged({**_CLEARING, "compact_20260112": Compact})]] | None = None


class Summarize(Shape):
    """``compaction``, a compaction on demand (beta)."""

    type: Literal["summarize"]
    instructions: str | None = Field(default=None, max_length=16_384)


class BatchItem(Shape):
    """One request of a batch; ``params`` are checked when their turn comes."""

    custom_id: str = Field(min_length=1, max_length=64, pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    params: dict[str, Any]


class BatchCreate(Shape):
    """The body of a request to create a batch."""

    requests: list[BatchItem] = Field(min_length=1, max_length=100_000)
