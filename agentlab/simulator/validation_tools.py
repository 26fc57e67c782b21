"""The rules for tools, JSON Schemas, tool_choice and cache breakpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentlab.models import Model
from agentlab.simulator.prefix import Chain, ttl_of
from agentlab.simulator.rules import Rejected

MAX_BREAKPOINTS = 4
_INVALID_SCHEMA = (
    "JSON schema is invalid. It must match JSON Schema draft 2020-12 "
    "(https://json-schema.org/draft/2020-12). Learn more about tool use at "
    "https://docs.claude.com/en/docs/tool-use."
)


def check_tools(body: dict[str, Any]) -> None:
    """Raise `Rejected` for the first rule that the tools, or the system prompt, break."""
    _check_system(body.get("system"))
    tools = body.get("tools") or []
    names = [tool["name"] for tool in tools if "name" in tool]
    if len(set(names)) < len(names):
        raise Rejected("tool-names", "tools: Tool names must be unique.")
    for index, tool in enumerate(tools):
        if "input_schema" in tool:
            _check_input_schema(tool, index)
        if tool.get("defer_loading") and tool.get("cache_control"):
            raise Rejected(
                "cache-deferred",
                f"Tool '{tool.get('name')}' cannot have both defer_loading=true and cache_control "
                "set. Tools with defer_loading cannot use prompt caching.",
            )
    if tools and all(tool.get("defer_loading") for tool in tools):
        raise Rejected(
            "all-deferred",
            "All tools have defer_loading set. At least one tool must be non-deferred.",
        )


def check_choice(body: dict[str, Any], model: Model) -> None:
    """Raise `Rejected` if ``tool_choice`` does not fit the tools, the model or the thinking."""
    choice = body.get("tool_choice") or {}
    kind = choice.get("type")
    if kind is None:
        return
    tools = body.get("tools") or []
    if not tools and kind != "none":
        message = "tool_choice may only be specified while providing tools."
        raise Rejected("tool-choice", message)
    if kind not in ("any", "tool"):
        return
    if not model.forced_tool_choice:
        message = 'tool_choice: type "tool" and "any" are not supported for this model.'
        raise Rejected("tool-choice", message)
    if (body.get("thinking") or {}).get("type") in ("enabled", "adaptive"):
        message = "Thinking may not be enabled when tool_choice forces tool use."
        raise Rejected("tool-choice", message)
    if kind == "tool" and choice["name"] not in [tool.get("name") for tool in tools]:
        message = f"Tool '{choice['name']}' not found in provided tools"
        raise Rejected("unknown-tool", message)


def check_format(body: dict[str, Any]) -> None:
    """Raise `Rejected` if the schema of ``output_config.format`` cannot be enforced."""
    wanted = (body.get("output_config") or {}).get("format")
    if wanted:
        _check_draft(wanted["schema"], "output_config.format.schema")
        _check_closed(wanted["schema"], "output_config.format.schema")


def check_breakpoints(body: dict[str, Any], chain: Chain) -> None:
    """Raise `Rejected` if there are too many cache breakpoints, or in the wrong order."""
    points = chain.breakpoints
    top = ttl_of(body)
    on_last = bool(points) and points[-1][0] == len(chain.kinds) - 1
    if top and on_last and points[-1][1] != top:
        raise Rejected(
            "cache-ttl-order",
            f"Top-level cache_control has ttl='{top}' but the target block already has "
            f"cache_control with ttl='{points[-1][1]}'",
        )
    if not points:
        return
    found = len(points) + bool(top and not on_last)
    if found > MAX_BREAKPOINTS:
        raise Rejected(
            "cache-breakpoints",
            f"A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. "
            f"Found {found}.",
        )
    seen_short = False
    for block, ttl in [*points, *([(-1, top)] if top else [])]:
        if ttl == "1h" and seen_short:
            path = _path_of(body, chain, block)
            raise Rejected(
                "cache-ttl-order",
                f"{path}cache_control.ttl: a ttl='1h' cache_control block must not come after a "
                "ttl='5m' cache_control block. Note that blocks are processed in the following "
                "order: tools, system, messages.",
            )
        seen_short = seen_short or ttl == "5m"


def _path_of(body: dict[str, Any], chain: Chain, block: int) -> str:
    """Where block number ``block`` of the chain stands: ``messages.3.content.0.``"""
    if block < 0:
        return ""
    tools = [i for i, t in enumerate(body.get("tools") or []) if not t.get("defer_loading")]
    if block < len(tools):
        return f"tools.{tools[block]}."
    if block < chain.starts[0]:
        return f"system.{block - len(tools)}."
    index = next(i for i, start in enumerate(chain.starts[1:]) if block < start)
    return f"messages.{index}.content.{block - chain.starts[index]}."


def _check_system(system: Any) -> None:
    if not isinstance(system, list):
        return
    for index, block in enumerate(system):
        if not block["text"].strip():
            if block.get("cache_control"):
                message = f"system.{index}: cache_control cannot be set for empty text blocks"
                raise Rejected("cache-empty", message)
            raise Rejected("empty-text", "system: text content blocks must be non-empty")


def _check_input_schema(tool: dict[str, Any], index: int) -> None:
    schema = tool["input_schema"]
    place = f"tools.{index}.custom.input_schema"
    if any(key in schema for key in ("oneOf", "allOf", "anyOf")):
        raise Rejected(
            "tool-schema",
            f"{place}: input_schema does not support oneOf, allOf, or anyOf at the top level",
        )
    _check_draft(schema, place)
    if tool.get("strict"):
        _check_closed(schema, f"tools.{index}.custom")


def _check_draft(schema: dict[str, Any], place: str) -> None:
    from jsonschema import Draft202012Validator  # takes 60 ms to import: only when there are tools
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        raise Rejected("tool-schema", f"{place}: {_INVALID_SCHEMA}") from None


def _check_closed(schema: dict[str, Any], place: str) -> None:
    for part in _subschemas(schema):
        kind = part.get("type")
        if kind != "object" and not (isinstance(kind, list) and "object" in kind):
            continue
        if part.get("additionalProperties") is False:
            continue
        if "additionalProperties" in part:
            message = (
                "'additionalProperties: true' is not supported. "
                "Please set 'additionalProperties' to false"
            )
        else:
            message = "'additionalProperties' must be explicitly set to false"
        raise Rejected("strict-schema", f"{place}: For 'object' type, {message}")


def _subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """The schema and every schema within it."""
    if isinstance(schema, list):
        for item in schema:
            yield from _subschemas(item)
    if not isinstance(schema, dict):
        return
    yield schema
    for key, value in schema.items():
        if key in ("properties", "$defs", "definitions", "patternProperties"):
            yield from _subschemas(list(value.values()) if isinstance(value, dict) else [])
        elif key in ("items", "prefixItems", "anyOf", "oneOf", "allOf", "not"):
            yield from _subschemas(value)
