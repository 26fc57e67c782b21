"""Tools: what a model may ask for, and what the harness promises about it.

A tool on the wire is a name, a description and a JSON Schema of its input. The model never calls
anything: it writes a request, and the harness checks the input, runs the function and sends back
what came out, errors included, because an error that the model can read is one that it can mend.

`Tool` is the whole contract: besides what the model sees it says what the *harness* needs to know,
above all whether a call only reads, since that decides what may run at the same time. `tool` makes
one from a typed function. `prepare` and `perform` are the two halves of a call: everything is
checked before anything runs. The tools that ship are in `agentlab.toolbox`. Built in chapter 03.
"""

from __future__ import annotations

import asyncio
import contextvars
import difflib
import functools
import inspect
import json
import math
import os
import sys
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentlab import schemas
from agentlab.messages import Block, tool_result, valid_unicode

if TYPE_CHECKING:
    from agentlab.file_cache import FileCache

MAX_RESULT_CHARS = 30_000
Input = dict[str, Any]
Permission = Literal["read", "write", "execute", "network", "none"]


class ToolError(Exception):
    """Raised by a tool to tell the model what went wrong; its text is the result."""


@dataclass(frozen=True)
class ToolContext:
    """What a description may depend on. It is asked for once, when a session starts."""

    model: str = ""
    tools: tuple[str, ...] = ()
    platform: str = sys.platform


@dataclass(frozen=True)
class Tool:
    """A function that the model may ask for, and everything there is to know about it.

    ``is_read_only`` and ``is_concurrency_safe`` are a bool or a function of the input; calls that
    are both may run beside others. ``permission`` is what a call does to the world, and
    ``path_argument`` names the argument that says where, relative to ``root``. A tool with
    ``should_defer`` is left out of the prompt until it is searched for by its ``search_hint``,
    unless it is ``always_load``.
    ``validate_input`` may say what is wrong with an input that fits the schema.
    """

    name: str
    description: str | Callable[[ToolContext], str | Awaitable[str]]
    function: Callable[..., Any]
    input_schema: schemas.Schema
    is_read_only: bool | Callable[[Input], bool] = False
    is_concurrency_safe: bool | Callable[[Input], bool] = True
    permission: Permission = "none"
    path_argument: str = ""
    root: Path | None = None  # what a path argument is relative to
    validate_input: Callable[..., str | None] | None = None
    max_result_chars: int = MAX_RESULT_CHARS
    preview: bool = True  # a long result may be kept on disk, and a preview takes its place
    cache: FileCache | None = field(default=None, repr=False, compare=False)  # of files it read
    search_hint: str = ""
    should_defer: bool = False
    always_load: bool = False
    where: Callable[[], Path] | None = None  # the folder that a command would run in
    example: Input | None = None
    model: Any = field(default=None, repr=False, compare=False)  # pydantic; None: use the schema

    @property
    def definition(self) -> dict[str, Any]:
        """The tool as it goes over the wire. A description that depends on the context is empty."""
        text = self.description if isinstance(self.description, str) else ""
        return {"name": self.name, "description": text, "input_schema": self.input_schema}

    async def describe(self, context: ToolContext) -> dict[str, Any]:
        """The same, with the description for this context."""
        text = self.description
        if not isinstance(text, str):
            made = text(context)
            text = made if isinstance(made, str) else await made
        return {**self.definition, "description": text}

    def runs_beside_others(self, input: Input) -> bool:
        """Whether this call may run at the same time as others: it reads only, and says so."""
        return _told(self.is_read_only, input) and _told(self.is_concurrency_safe, input)

    def check(self, input: Input) -> Input:
        """The arguments to call with. Raises ToolError: what is wrong, what was expected."""
        coerced = schemas.coerce(input, self.input_schema)
        try:
            arguments = self._validate(coerced)
            wrong = self.validate_input(**arguments) if self.validate_input else None
        except ValueError as error:
            wrong = str(error)
        if wrong is None:
            return arguments
        schema = self.input_schema
        expected = schema if "$defs" in schema else schema.get("properties", {})
        properties = json.dumps(expected, ensure_ascii=False)
        example = self.example or schemas.example(self.input_schema)
        raise ToolError(
            f"Invalid input for {self.name}, so nothing was run. {wrong}. Expected: {properties}. "
            f"For example: {json.dumps(example, ensure_ascii=False)}"
        )

    def _validate(self, input: Input) -> Input:
        if self.model is None:
            import jsonschema

            validator = jsonschema.Draft202012Validator(self.input_schema)
            errors = sorted(validator.iter_errors(input), key=str)
            if errors:
                raise ValueError(
                    "; ".join(
                        f"{'.'.join(map(str, e.absolute_path)) or 'the input'}: {e.message}"
                        for e in errors[:5]
                    )
                )
            return input
        import pydantic

        try:
            parsed = self.model.model_validate_json(json.dumps(input), strict=True)
        except pydantic.ValidationError as error:
            raise ValueError(schemas.problems(error)) from None
        return {name: getattr(parsed, name) for name in type(parsed).model_fields}

    async def run(self, arguments: Input, pool: Executor | None = None) -> Any:
        """Call the function; a plain one runs in a thread of ``pool``."""
        if inspect.iscoroutinefunction(self.function):
            return await self.function(**arguments)
        call = functools.partial(contextvars.copy_context().run, self.function, **arguments)
        return await asyncio.get_running_loop().run_in_executor(pool, call)


def tool(
    function: Callable[..., Any] | None = None,
    *,
    name: str = "",
    description: str | Callable[[ToolContext], str | Awaitable[str]] = "",
    input_schema: schemas.Schema | None = None,
    **contract: Any,
) -> Any:
    """Make a `Tool` from a typed function: ``@tool`` or ``@tool(name="Read", is_read_only=True)``.

    Name, description and schema come from the function, its docstring (an ``Args:`` section
    describes the arguments) and its type hints, unless given; further arguments are fields of
    `Tool`. Raises ValueError for a function without a docstring.
    """

    def make(function: Callable[..., Any]) -> Tool:
        named = name or function.__name__
        if input_schema is None:
            text, schema, model = schemas.of_function(function, named)
            return Tool(named, description or text, function, schema, model=model, **contract)
        _check_schema(named, input_schema)
        said = description or inspect.getdoc(function) or ""
        if not said:
            raise ValueError(f"{named} needs a description: it is all that the model knows of it")
        return Tool(named, said, function, input_schema, **contract)

    return make if function is None else make(function)


def _check_schema(name: str, schema: schemas.Schema) -> None:
    import jsonschema

    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise ValueError(f"{name}: the input schema is no JSON Schema: {error.message}") from None


# ------------------------------------------------------------------------------- running one call


@dataclass(frozen=True)
class Prepared:
    """A call whose input is valid, ready to run."""

    call: Block
    tool: Tool
    arguments: Input
    note: str = ""  # if the input is not the one that the model wrote: what is said about it

    @property
    def runs_beside_others(self) -> bool:
        return self.tool.runs_beside_others(self.arguments)

    @property
    def path(self) -> str | None:
        """The resolved path that the call is about, if its tool names one."""
        value = self.arguments.get(self.tool.path_argument)
        if not value:
            return None
        return str(((self.tool.root or Path()) / os.path.expanduser(value)).resolve())


@dataclass(frozen=True)
class Outcome:
    """What one call gave: the result block for the model, and the traceback for people."""

    block: Block
    traceback: str = ""
    told: tuple[tuple[str, dict[str, Any]], ...] = ()  # events that follow it: what hooks said

    @property
    def is_error(self) -> bool:
        return self.block.get("is_error", False)

    def to_dict(self) -> dict[str, Any]:
        """As data of an event."""
        return {
            "content": self.block["content"],
            "is_error": self.is_error,
            "traceback": self.traceback,
        }


def failure(call: Block, text: str, details: str = "") -> Outcome:
    """The outcome of a call that was not run, or failed."""
    text = valid_unicode(text).replace("\0", "")
    return Outcome(tool_result(call["id"], text, True), details)


def add_text(block: Block, text: str) -> Block:
    """A result block with a text after its content."""
    content = block["content"]
    if isinstance(content, str):
        return {**block, "content": f"{content}\n{text}"}
    return {**block, "content": [*content, {"type": "text", "text": text}]}


def prepare(call: Block, tools: dict[str, Tool]) -> Prepared | Outcome:
    """Check a call before anything runs. What is wrong with it is already its outcome."""
    found = tools.get(call["name"])
    if found is None:
        near = difflib.get_close_matches(call["name"], tools, n=3, cutoff=0.4)
        there = f"There are: {', '.join(tools) or 'none'}."
        hint = f"Did you mean {' or '.join(near)}?" if near else there
        return failure(call, f"There is no tool {call['name']!r}. {hint}")
    try:
        return Prepared(call, found, found.check(call["input"]))
    except ToolError as error:
        return failure(call, bound(str(error), 4000))


async def perform(
    prepared: Prepared, pool: Executor | None = None, limit: int | None = None
) -> Outcome:
    """Run a prepared call. What goes wrong becomes an error result; only cancelling raises.

    ``limit``: characters of the result, instead of the tool's own ``max_result_chars``.
    """
    call, limit = prepared.call, prepared.tool.max_result_chars if limit is None else limit
    try:
        value = await prepared.tool.run(prepared.arguments, pool)
    except ToolError as error:
        return failure(call, bound(str(error), limit))
    except TimeoutError as error:
        text = f"Timed out ({error}). It may have taken effect: check before you repeat it."
        return failure(call, text, traceback.format_exc())
    except Exception as error:
        return failure(
            call, bound(f"{type(error).__name__}: {error}", limit), traceback.format_exc()
        )
    if isinstance(value, dict) and isinstance(value.get("ok"), bool):
        if not value["ok"]:
            reason = str(value.get("error") or "It failed and did not say why.")
            return failure(call, bound(reason, limit))
        rest = [item for key, item in value.items() if key != "ok"]
        value = rest[0] if len(rest) == 1 else {k: v for k, v in value.items() if k != "ok"} or None
    return Outcome(tool_result(call["id"], to_content(value, limit)))


def to_content(value: Any, limit: int = MAX_RESULT_CHARS) -> str | list[Block]:
    """Whatever a tool returned, as content of a tool result: never empty, never too long.

    Bytes are decoded with U+FFFD for what is not UTF-8; NUL goes; NaN and infinities, which JSON
    has no words for, become strings.
    """
    if (
        isinstance(value, list)
        and value
        and all(isinstance(b, dict) and "type" in b for b in value)
    ):
        blocks: list[Block] = valid_unicode(value)
        return [
            {**b, "text": bound(b["text"], limit)} if b["type"] == "text" else b for b in blocks
        ]
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        value = "" if value is None else json.dumps(_strict(value), ensure_ascii=False, default=str)
    return bound(valid_unicode(value).replace("\0", ""), limit) or "(no output)"


def bound(text: str, limit: int = MAX_RESULT_CHARS) -> str:
    """The text, or its beginning and its end with a line between that says what is missing."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[-(limit // 3) :]
    missing = len(text) - len(head) - len(tail)
    return f"{head}\n[... {missing} of {len(text)} characters left out; ask for a part ...]\n{tail}"


def _strict(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(k): _strict(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(v) for v in value]
    return value


def _told(rule: bool | Callable[[Input], bool], input: Input) -> bool:
    """A rule's answer for an input. A rule that fails says no."""
    try:
        return rule if isinstance(rule, bool) else bool(rule(input))
    except Exception:
        return False
