"""What differs by model: window, limits, and what a request may ask for.

The facts are data (``data/models.json``, with sources and a date); nothing else in the package
names a model. The simulator enforces what stands there, and CI compares the names with the SDK's
own table of deprecated models. What models cost stands in ``data/prices.json``, see `prices`.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

from agentlab.resources import data_path


@dataclass(frozen=True)
class Model:
    """One row of the table. Sizes in tokens."""

    id: str
    name: str
    status: str  # active | deprecated
    context_tokens: int
    max_output_tokens: int
    min_cache_tokens: int  # a shorter prefix is silently not cached
    thinking: tuple[str, ...]  # the values of thinking.type that are accepted
    default_thinking: str
    default_effort: str
    forced_tool_choice: bool
    prefill: bool
    system_messages: bool
    note: str = ""


@functools.cache
def _table() -> dict[str, Any]:
    return json.loads(data_path("models.json").read_text("utf-8"))


@functools.cache
def all_models() -> dict[str, Model]:
    """Every known model by id."""
    return {
        row["id"]: Model(**{**row, "thinking": tuple(row["thinking"])})
        for row in _table()["models"]
    }


def find_model(model_id: str) -> Model | None:
    """The model of that id (a date at its end is ignored), or None if it is not in the table."""
    models = all_models()
    stem, _, date = model_id.rpartition("-")
    return models.get(model_id) or (models.get(stem) if date.isdigit() and len(date) == 8 else None)


def default_model() -> str:
    """The model that agentlab asks for unless told otherwise."""
    return _table()["default"]


def small_model() -> str:
    """The small model, for side calls."""
    return _table()["small"]
