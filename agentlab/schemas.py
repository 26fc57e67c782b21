"""From a Python function to a JSON Schema, and from a model's input to arguments.

A model writes its input as JSON and mostly keeps to the schema. Where it misses, the intent is
often plain: ``"3"`` for 3, an object written as a JSON string. Such a value is taken if nothing has
to be guessed. What may be coerced, and nothing else:

=============================  =============  ==================================================
the schema says                the model may  taken as
=============================  =============  ==================================================
integer                        "42", 42.0     42; not "42abc", "4e2", 42.5 or true
number                         "2.5"          2.5; not "1e999", "nan" or true
boolean                        "true"         true; not "yes", 1 or "True"
object, array                  a JSON string  its value, if it is whole and of that type
=============================  =============  ==================================================

A string is never made out of anything else: an object where text was meant is an error.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]
_ARGUMENT = re.compile(r"\s+(\w+)(?: \([^)]*\))?: (.+)")
_EXAMPLES: dict[str, Any] = {
    "string": "text",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


def of_function(function: Callable[..., Any], name: str) -> tuple[str, Schema, Any]:
    """Description, input schema and validator (a pydantic model) of a typed function.

    The description is the docstring without its ``Args:`` section, whose lines describe the
    arguments. Raises ValueError if there is no docstring.
    """
    import pydantic

    docstring = inspect.getdoc(function)
    if not docstring:
        raise ValueError(f"{name} needs a docstring: it is all that the model knows of the tool")
    text, told = _docstring(docstring)
    fields: dict[str, Any] = {}
    for key, parameter in inspect.signature(function, eval_str=True).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ValueError(f"{name}: *{key} has no schema; name the arguments one by one")
        hint = Any if parameter.annotation is parameter.empty else parameter.annotation
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[key] = (hint, pydantic.Field(default, description=told.get(key)))
    model = pydantic.create_model(name, __config__={"extra": "forbid"}, **fields)
    schema = _without_titles(model.model_json_schema())
    schema.setdefault("properties", {})
    return text, schema, model


def coerce(value: Any, schema: Schema) -> Any:
    """``value`` with what the table above allows, at any depth; everything else as it came."""
    if "anyOf" in schema:
        return _coerce_any(value, schema["anyOf"])
    kind = schema.get("type")
    if kind == "object" and isinstance(value := _whole(value, dict), dict):
        inner = schema.get("properties", {})
        rest = schema.get("additionalProperties")
        rest = rest if isinstance(rest, dict) else {}
        return {key: coerce(item, inner.get(key, rest)) for key, item in value.items()}
    if kind == "array" and isinstance(value := _whole(value, list), list):
        return [coerce(item, schema.get("items") or {}) for item in value]
    if kind == "integer":
        if isinstance(value, str) and re.fullmatch(r"-?\d{1,30}", value.strip()):
            return int(value)
        return int(value) if isinstance(value, float) and value.is_integer() else value
    if kind == "number" and isinstance(value, str):
        return _finite(value)
    if kind == "boolean" and value in ("true", "false"):
        return value == "true"
    return value


def _coerce_any(value: Any, options: list[Schema]) -> Any:
    if not any(option.get("type") == "string" for option in options):
        for option in options:
            coerced = coerce(value, option)
            if type(coerced) is not type(value):
                return coerced
    return value


def example(schema: Schema) -> dict[str, Any]:
    """A small input that fits: the required arguments, each with its example or a stand-in."""
    properties = schema.get("properties", {})
    wanted: list[str] = schema.get("required") or list(properties)
    return {key: _example(properties.get(key, {})) for key in wanted}


def problems(error: Any) -> str:
    """What a pydantic ValidationError says, in one line without addresses."""
    return "; ".join(
        f"{'.'.join(map(str, e['loc'])) or 'the input'}: {e['msg']}" for e in error.errors()
    )


def _example(schema: Schema) -> Any:
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][0]
    if "default" in schema:
        return schema["default"]
    options = schema.get("anyOf") or [schema]
    return _EXAMPLES.get(options[0].get("type", "string"), "text")


def _whole(value: Any, wanted: type) -> Any:
    """The value of a JSON string, if it is whole and of the type that is wanted."""
    if isinstance(value, str):
        try:
            parsed = json.loads(value)
        except ValueError:
            return value
        return parsed if isinstance(parsed, wanted) else value
    return value


def _finite(text: str) -> Any:
    if not re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", text.strip()):
        return text
    number = float(text)
    return number if math.isfinite(number) else text


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """The docstring without its ``Args:`` section, and what that says of each argument."""
    before, found, after = text.partition("\nArgs:\n")
    if not found:
        return text, {}
    told: dict[str, str] = {}
    lines, last = after.split("\n"), ""
    while lines and (not lines[0].strip() or lines[0].startswith(" ")):
        line = lines.pop(0)
        if match := _ARGUMENT.fullmatch(line):
            last = match[1]
            told[last] = match[2].strip()
        elif last and line.strip():
            told[last] += " " + line.strip()
    return "\n".join([before.rstrip(), *lines]).strip(), told


def _without_titles(schema: Any) -> Any:
    """A schema without the titles that pydantic adds: they cost tokens and say nothing."""
    if isinstance(schema, dict):
        return {
            key: _without_titles(value)
            for key, value in schema.items()
            if not (key == "title" and isinstance(value, str))
        }
    return [_without_titles(item) for item in schema] if isinstance(schema, list) else schema
