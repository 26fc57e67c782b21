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

A string is never made out of anything else: an object where text was meant is an error. Where the
schema leaves a choice (``int | str``), text stays text, and nothing is taken that fits twice.
"""

from __future__ import annotations

import inspect
import json
import math
import re
import warnings
from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]
_ARGUMENT = re.compile(r"(\s+)(\w+)(?: \(.*?\))?:(?: (.*))?")
_MOST_FLOAT = 2.0**53  # beyond this a float no longer tells one integer from the next
_EXAMPLES: dict[str, Any] = {
    "string": "text",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
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
        if key.startswith("_") or (key.startswith("model_") and hasattr(pydantic.BaseModel, key)):
            raise ValueError(f"{name}: an argument cannot be called {key!r}; give it another name")
    settings = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False, protected_namespaces=())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # json, copy and schema are fine as names
        model = pydantic.create_model(name, __config__=settings, **fields)
    schema = _without_titles(model.model_json_schema())
    schema.setdefault("properties", {})
    return text, schema, model


def coerce(value: Any, schema: Any, root: Schema | None = None) -> Any:
    """``value`` with what the table above allows, at any depth; everything else as it came.

    ``root`` is the schema that ``$ref`` points into, by default the schema itself.
    """
    root = schema if root is None else root
    schema = _resolved(schema, root)
    if options := _options(schema):
        return _coerce_any(value, options, root)
    kind = _kind(schema)
    if kind == "object" and isinstance(value := _whole(value, dict), dict):
        inner, rest = schema.get("properties", {}), schema.get("additionalProperties")
        return {key: coerce(item, inner.get(key, rest), root) for key, item in value.items()}
    if kind == "array" and isinstance(value := _whole(value, list), list):
        first, rest = schema.get("prefixItems", []), schema.get("items")
        wanted = [*first, *[rest] * len(value)]
        return [coerce(item, wanted[n], root) for n, item in enumerate(value)]
    if kind == "integer":
        if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,30}", value.strip()):
            return int(value)
        whole = isinstance(value, float) and value.is_integer() and abs(value) <= _MOST_FLOAT
        return int(value) if whole else value
    if kind == "number" and isinstance(value, str):
        return _finite(value)
    if kind == "boolean" and value in ("true", "false"):
        return value == "true"
    return value


def _coerce_any(value: Any, options: list[Schema], root: Schema) -> Any:
    """A value where the schema leaves a choice: taken if it fits one option only by its kind."""
    options = [_resolved(option, root) for option in options]
    if isinstance(value, (dict, list)):
        kind = "object" if isinstance(value, dict) else "array"
        fitting = [option for option in options if _kind(option) == kind]
        return coerce(value, fitting[0], root) if len(fitting) == 1 else value
    if isinstance(value, str) and any(_kind(option) in ("string", "") for option in options):
        return value
    for option in options:
        coerced = coerce(value, option, root)
        if type(coerced) is not type(value):
            return coerced
    return value


def _resolved(schema: Any, root: Schema) -> Schema:
    """The schema that a ``$ref`` within ``root`` names. What is no object says nothing: empty."""
    for _ in range(20):  # a reference may lead to another, but not for ever
        if not isinstance(schema, dict) or "$ref" not in schema:
            break
        target: Any = root
        for part in str(schema["$ref"]).removeprefix("#").strip("/").split("/"):
            target = target.get(part) if isinstance(target, dict) and part else None
        schema = {**target, **_without(schema, "$ref")} if isinstance(target, dict) else {}
    return schema if isinstance(schema, dict) else {}


def _without(schema: Schema, key: str) -> Schema:
    return {k: v for k, v in schema.items() if k != key}


def _options(schema: Schema) -> list[Schema]:
    """The schemas that this one leaves the choice between, none if it leaves none."""
    if isinstance(schema.get("type"), list):
        return [{**schema, "type": kind} for kind in schema["type"]]
    options: list[Schema] = schema.get("anyOf") or schema.get("oneOf") or []
    return options


def _kind(schema: Schema) -> str:
    return str(schema.get("type") or ("object" if "properties" in schema else ""))


def example(schema: Schema) -> dict[str, Any]:
    """A small input that fits: the required arguments, each with its example or a stand-in."""
    properties = schema.get("properties", {})
    wanted: list[str] = schema.get("required") or list(properties)
    return {key: _example(properties.get(key), schema) for key in wanted}


def problems(error: Any) -> str:
    """What a pydantic ValidationError says, in one line without addresses."""
    return "; ".join(
        f"{'.'.join(map(str, e['loc'])) or 'the input'}: {e['msg']}" for e in error.errors()
    )


def _example(schema: Any, root: Schema, depth: int = 0) -> Any:
    schema = _resolved(schema, root)
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][0]
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    if depth > 5:
        return None  # a type that needs itself has no small example
    if options := _options(schema):
        return _example(options[0], root, depth + 1)
    if _kind(schema) == "object":
        inner = schema.get("properties", {})
        return {k: _example(inner.get(k), root, depth + 1) for k in schema.get("required", [])}
    if _kind(schema) == "array":
        first = schema.get("prefixItems", [])
        rest = [schema.get("items")] * (schema.get("minItems", 0) - len(first))
        return [_example(item, root, depth + 1) for item in [*first, *rest]]
    return _EXAMPLES.get(_kind(schema), "text")


def _whole(value: Any, wanted: type) -> Any:
    """The value of a JSON string, if it is whole and of the type that is wanted."""
    if isinstance(value, str):
        try:
            parsed = json.loads(value, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return value
        return parsed if isinstance(parsed, wanted) else value
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


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
    lines, last, indent = after.split("\n"), "", ""
    while lines and (not lines[0].strip() or lines[0].startswith(" ")):
        line = lines.pop(0)
        match = _ARGUMENT.fullmatch(line)
        if match and match[1] == (indent or match[1]):  # deeper lines go on with the last one
            indent, last = match[1], match[2]
            told[last] = (match[3] or "").strip()
        elif last and line.strip():
            told[last] = f"{told[last]} {line.strip()}".strip()
    return "\n\n".join(filter(None, [before.rstrip(), "\n".join(lines).strip()])), told


def _without_titles(schema: Any) -> Any:
    """A schema without the titles that pydantic adds: they cost tokens and say nothing."""
    if isinstance(schema, dict):
        return {
            key: value
            if key in ("default", "examples", "enum", "const")
            else _without_titles(value)
            for key, value in schema.items()
            if not (key == "title" and isinstance(value, str))
        }
    return [_without_titles(item) for item in schema] if isinstance(schema, list) else schema
