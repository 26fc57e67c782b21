"""The shape of a request, as pydantic models: which fields there are, and of what type.

Unknown fields are refused, and unions are told apart by their ``type``, so the paths of pydantic's
errors are those of the real API: ``messages.0.content.1.tool_use.text: Extra inputs are not
permitted``. What needs more than one field to decide stands in `validation`.

Sources: the request types of the SDK, anthropic 2.14.0 (2026-11), and error texts in public bug
reports. Server tools and their results are only checked for their type, name and id.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import core_schema

from agentlab.simulator.rules import Rejected

TOOL_NAME = r"^[a-zA-Z0-9_-]{1,128}$"
TOOL_USE_ID = r"^[a-zA-Z0-9_-]+$"


class Shape(BaseModel):
    """Base of all shapes: no unknown fields, no conversions."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Loose(BaseModel):
    """Base of shapes whose other fields are not checked here."""

    model_config = ConfigDict(extra="allow", strict=True)


def tagged(models: dict[str, type], default: str | None = None) -> GetPydanticSchema:
    """Marks a field as a union told apart by ``type``; the tag becomes part of the error path."""

    def discriminate(value: Any) -> str | None:
        tag = value.get("type") if isinstance(value, dict) else None
        return default if tag is None else str(tag)

    def build(_: Any, handler: Any) -> core_schema.CoreSchema:
        choices = {tag: handler.generate_schema(models[tag]) for tag in sorted(models)}
        return core_schema.tagged_union_schema(choices, discriminator=discriminate)

    return GetPydanticSchema(build)


def _as_blocks(value: Any) -> Any:
    return [{"type": "text", "text": value}] if isinstance(value, str) else value


class Ephemeral(Shape):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] | None = None


CACHE_CONTROL = tagged({"ephemeral": Ephemeral})


class Cacheable(Shape):
    cache_control: Annotated[Any, CACHE_CONTROL] | None = None


class Text(Cacheable):
    type: Literal["text"]
    text: str
    citations: list[Any] | None = None


class Base64Image(Shape):
    type: Literal["base64"]
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    data: str


class Base64Pdf(Shape):
    type: Literal["base64"]
    media_type: Literal["application/pdf"]
    data: str


class PlainText(Shape):
    type: Literal["text"]
    media_type: Literal["text/plain"]
    data: str


class Inline(Shape):
    type: Literal["content"]
    content: Any


class Url(Shape):
    type: Literal["url"]
    url: str


class FileSource(Shape):
    type: Literal["file"]
    file_id: str


class Image(Cacheable):
    type: Literal["image"]
    source: Annotated[Any, tagged({"base64": Base64Image, "url": Url, "file": FileSource})]


DOCUMENT_SOURCE = tagged(
    {"base64": Base64Pdf, "text": PlainText, "content": Inline, "url": Url, "file": FileSource}
)


class Document(Cacheable):
    type: Literal["document"]
    source: Annotated[Any, DOCUMENT_SOURCE]
    title: str | None = None
    context: str | None = None
    citations: dict[str, Any] | None = None


class SearchResult(Cacheable):
    type: Literal["search_result"]
    content: list[Text]
    source: str
    title: str
    citations: dict[str, Any] | None = None


class Thinking(Shape):
    type: Literal["thinking"]
    thinking: str
    signature: str


class RedactedThinking(Shape):
    type: Literal["redacted_thinking"]
    data: str


class ToolUse(Cacheable):
    type: Literal["tool_use"]
    id: str = Field(pattern=TOOL_USE_ID)
    name: str = Field(min_length=1, max_length=200)
    input: dict[str, Any]
    caller: dict[str, Any] | None = None
    toolset_name: str | None = None


class ToolReference(Cacheable):
    type: Literal["tool_reference"]
    tool_name: str


RESULT_BLOCK = tagged(
    {
        "document": Document,
        "image": Image,
        "search_result": SearchResult,
        "text": Text,
        "tool_reference": ToolReference,
    }
)


class ToolResult(Cacheable):
    type: Literal["tool_result"]
    tool_use_id: str = Field(pattern=TOOL_USE_ID)
    content: Annotated[list[Annotated[Any, RESULT_BLOCK]] | None, BeforeValidator(_as_blocks)] = (
        None
    )
    is_error: bool | None = None
    toolset_name: str | None = None


class ServerToolUse(Cacheable):
    type: Literal["server_tool_use"]
    id: str = Field(pattern=r"^srvtoolu_[a-zA-Z0-9_]+$")
    name: str
    input: dict[str, Any]
    caller: dict[str, Any] | None = None


class ServerToolResult(Cacheable):
    type: str
    tool_use_id: str = Field(pattern=r"^srvtoolu_[a-zA-Z0-9_]+$")
    content: Any
    caller: dict[str, Any] | None = None


class ContainerUpload(Cacheable):
    type: Literal["container_upload"]
    file_id: str


SERVER_RESULTS = (
    "bash_code_execution_tool_result",
    "code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "web_fetch_tool_result",
    "web_search_tool_result",
)
_BLOCKS: dict[str, type] = {
    **dict.fromkeys(SERVER_RESULTS, ServerToolResult),
    "container_upload": ContainerUpload,
    "document": Document,
    "image": Image,
    "redacted_thinking": RedactedThinking,
    "search_result": SearchResult,
    "server_tool_use": ServerToolUse,
    "text": Text,
    "thinking": Thinking,
    "tool_result": ToolResult,
    "tool_use": ToolUse,
}


class Message(Shape):
    role: Literal["user", "assistant", "system"]
    content: Annotated[list[Annotated[Any, tagged(_BLOCKS)]], BeforeValidator(_as_blocks)]


class Compaction(Cacheable):
    type: Literal["compaction"]
    content: str | None = None
    encrypted_content: str | None = None
    signature: str | None = None
    tool_changes: list[Any] | None = None


_WITH_COMPACTION = tagged({**_BLOCKS, "compaction": Compaction})


class CompactedMessage(Shape):
    """A message of a request that may hold summaries made by the API (beta)."""

    role: Literal["user", "assistant", "system"]
    content: Annotated[list[Annotated[Any, _WITH_COMPACTION]], BeforeValidator(_as_blocks)]


class InputSchema(Loose):
    type: Literal["object"]
    properties: dict[str, Any] | None = None
    required: list[str] | None = None


class CustomTool(Cacheable):
    type: Literal["custom"] | None = None
    name: str = Field(pattern=TOOL_NAME)
    description: str | None = None
    input_schema: InputSchema
    strict: bool | None = None
    defer_loading: bool | None = None
    eager_input_streaming: bool | None = None
    input_examples: list[dict[str, Any]] | None = None
    allowed_callers: list[str] | None = None


class VendorTool(Loose):
    type: str
    name: str
    cache_control: Annotated[Any, CACHE_CONTROL] | None = None
    defer_loading: bool | None = None


class Toolset(Loose):
    type: str
    cache_control: Annotated[Any, CACHE_CONTROL] | None = None


VENDOR_TOOLS = (
    "bash_20250124",
    "code_execution_20250522",
    "code_execution_20250825",
    "code_execution_20260120",
    "code_execution_20260521",
    "memory_20250818",
    "text_editor_20250124",
    "text_editor_20250429",
    "text_editor_20250728",
    "tool_search_tool_bm25",
    "tool_search_tool_bm25_20251119",
    "tool_search_tool_regex",
    "tool_search_tool_regex_20251119",
    "web_fetch_20250910",
    "web_fetch_20260209",
    "web_fetch_20260309",
    "web_fetch_20260318",
    "web_search_20250305",
    "web_search_20260209",
    "web_search_20260318",
)
TOOL = tagged(
    {
        "custom": CustomTool,
        **dict.fromkeys(VENDOR_TOOLS, VendorTool),
        "browser_toolset_20260801": Toolset,
        "computer_toolset_20260801": Toolset,
    },
    default="custom",
)


class Choice(Shape):
    type: Literal["auto", "any"]
    disable_parallel_tool_use: bool | None = None


class ChoiceTool(Shape):
    type: Literal["tool"]
    name: str
    disable_parallel_tool_use: bool | None = None


class ChoiceNone(Shape):
    type: Literal["none"]


class BlockBinding(Shape):
    prefix_mismatch_behavior: Literal["error", "drop_block"] | None = None


class ThinkingEnabled(Shape):
    type: Literal["enabled"]
    budget_tokens: int = Field(ge=1024)
    display: Literal["summarized", "omitted"] | None = None
    block_binding: BlockBinding | None = None


class ThinkingAdaptive(Shape):
    type: Literal["adaptive"]
    display: Literal["summarized", "omitted", "updates"] | None = None
    block_binding: BlockBinding | None = None


class ThinkingOther(Shape):
    type: Literal["disabled", "between_tools"]


class JsonFormat(Shape):
    type: Literal["json_schema"]
    schema_: dict[str, Any] = Field(alias="schema")


class OutputConfig(Shape):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: Annotated[Any, tagged({"json_schema": JsonFormat})] | None = None


class Metadata(Shape):
    user_id: str | None = Field(default=None, max_length=512)


TOOL_CHOICE = tagged({"auto": Choice, "any": Choice, "tool": ChoiceTool, "none": ChoiceNone})
THINKING = tagged(
    {
        "enabled": ThinkingEnabled,
        "adaptive": ThinkingAdaptive,
        "disabled": ThinkingOther,
        "between_tools": ThinkingOther,
    }
)


class Count(Shape):
    """The body of a request to count tokens."""

    model: str = Field(min_length=1)
    messages: list[Any] = Field(max_length=100_000)
    system: Annotated[list[Text] | None, BeforeValidator(_as_blocks)] = None
    tools: list[Annotated[Any, TOOL]] | None = None
    tool_choice: Annotated[Any, TOOL_CHOICE] | None = None
    thinking: Annotated[Any, THINKING] | None = None
    output_config: OutputConfig | None = None
    cache_control: Annotated[Any, CACHE_CONTROL] | None = None
    speed: Literal["standard", "fast"] | None = None


class Create(Count):
    """The body of a request for a message."""

    max_tokens: int = Field(ge=0)
    stop_sequences: list[str] | None = None
    stream: bool | None = None
    metadata: Metadata | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    inference_geo: str | None = None
    container: Any = None
    diagnostics: dict[str, Any] | None = None
    temperature: float | None = Field(default=None, ge=0, le=1)
    top_p: float | None = Field(default=None, ge=0, le=1)
    top_k: int | None = Field(default=None, ge=0)


_adapters: dict[type, TypeAdapter[Any]] = {}


def check_shape(shape: type[Shape], value: Any, path: tuple[str | int, ...] = ()) -> None:
    """Raise `Rejected` with the API's text for the first thing wrong with ``value``."""
    adapter = _adapters.get(shape)
    if adapter is None:
        adapter = _adapters[shape] = TypeAdapter(shape)
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise _rejected(dict(first), path) from None


def _rejected(error: dict[str, Any], path: tuple[str | int, ...]) -> Rejected:
    kind, message = error["type"], error["msg"]
    place = [*path, *error["loc"]]
    rule = {"missing": "missing-field", "extra_forbidden": "extra-field"}.get(kind, "field")
    if kind == "union_tag_not_found":
        if isinstance(error["input"], dict):
            rule, message = "missing-field", "Field required"
            place.append("type")
        else:
            message = "Input should be a valid dictionary or object to extract fields from"
    elif kind == "union_tag_invalid":
        context = error["ctx"]
        message = (
            f"Input tag '{context['tag']}' found using 'type' does not match any of the expected "
            f"tags: {context['expected_tags']}"
        )
    elif kind in ("model_type", "model_attributes_type"):
        message = "Input should be a valid dictionary or object to extract fields from"
    return Rejected(rule, ": ".join(filter(None, [".".join(map(str, place)), message])))
