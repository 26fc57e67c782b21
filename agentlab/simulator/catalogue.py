"""The endpoint for models: what `agentlab.models` knows, in the shape and the pages of the API."""

from __future__ import annotations

from typing import Any

from agentlab import models
from agentlab.models import Model
from agentlab.simulator.rules import Rejected

DEFAULT_LIMIT, MAX_LIMIT = 20, 1000
Query = dict[str, list[str]]  # a query string, parsed
_UNKNOWN_DATE = "1970-01-01T00:00:00Z"  # what the API gives when a date is not known


def one(model_id: str, *, validate: bool = True) -> dict[str, Any]:
    """One model. Raises `Rejected` (404) for an unknown one, unless nothing is validated."""
    model = models.find_model(model_id)
    if model is None:
        if validate:
            message = f"model: {model_id}"
            raise Rejected("model", message, status=404, kind="not_found_error")
        model = models.all_models()[models.default_model()]
    return {**_item(model), "id": model_id}


def page(query: Query, *, validate: bool = True) -> dict[str, Any]:
    """One page of models. ``query`` may hold limit, after_id, before_id and lifecycle."""
    wanted = query.get("lifecycle") or query.get("lifecycle[]") or ["active", "deprecated"]
    items = [_item(model) for model in models.all_models().values() if model.status in wanted]
    return cut_page(items, query, "model", validate=validate)


def cut_page(
    items: list[dict[str, Any]], query: Query, what: str, *, validate: bool = True
) -> dict[str, Any]:
    """The page that a query asks for, of a list of things with ids."""
    limit = _limit(query.get("limit", [str(DEFAULT_LIMIT)])[-1])
    ids = [item["id"] for item in items]
    start, end = 0, len(items)
    after, before = query.get("after_id", [""])[-1], query.get("before_id", [""])[-1]
    for name, cursor in (("after_id", after), ("before_id", before)):
        if cursor and cursor not in ids and validate:
            raise Rejected("field", f"{name}: no {what} with the id '{cursor}'")
    if after in ids:
        start = ids.index(after) + 1
    if before in ids:
        end = ids.index(before)
        start = max(start, end - limit)
    found = items[start:end][:limit]
    more = start > 0 if before in ids else start + len(found) < end
    return {
        "data": found,
        "has_more": more,
        "first_id": found[0]["id"] if found else None,
        "last_id": found[-1]["id"] if found else None,
    }


def _limit(text: str) -> int:
    try:
        limit = int(text)
    except ValueError:
        message = "limit: Input should be a valid integer, unable to parse string as an integer"
        raise Rejected("field", message) from None
    if not 1 <= limit <= MAX_LIMIT:
        side = "greater than or equal to 1" if limit < 1 else f"less than or equal to {MAX_LIMIT}"
        raise Rejected("field", f"limit: Input should be {side}")
    return limit


def _item(model: Model) -> dict[str, Any]:
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.name,
        "created_at": _UNKNOWN_DATE,
        "lifecycle": model.status,
        "line": model.id.split("-")[1],
        "deprecated_at": _UNKNOWN_DATE if model.status == "deprecated" else None,
        "retires_at": None,
        "max_input_tokens": model.context_tokens,
        "max_tokens": model.max_output_tokens,
        "capabilities": None,
    }
