"""Chapter 03: a tool's description from a typed function, and checking what a model sends."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def describe(function: Callable[..., Any]) -> dict[str, Any]:
    """A typed function as a tool on the wire: name, description and input schema."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    properties = {p.name: {"type": JSON_TYPES[p.annotation]} for p in parameters}
    required = [p.name for p in parameters if p.default is p.empty]
    schema = {"type": "object", "properties": properties, "required": required}
    text = inspect.getdoc(function)
    return {"name": function.__name__, "description": text, "input_schema": schema}


def check(tool: dict[str, Any], input: dict[str, Any]) -> str:
    """What is wrong with an input, "" if nothing is."""
    schema = tool["input_schema"]
    properties = schema["properties"]
    wrong = [f"{name} is missing" for name in schema.get("required", []) if name not in input]
    wrong += [f"{name} is not an argument" for name in input if name not in properties]
    for name, value in input.items():
        wanted = properties.get(name, {}).get("type")
        kinds = [JSON_TYPES.get(type(value)), "number" if type(value) is int else ""]
        if wanted and wanted not in kinds:
            wrong.append(f"{name} should be of type {wanted}, not {value!r}")
    return "; ".join(wrong)
