"""Tools: plain typed functions that a model may ask for.

A tool on the wire is a name, a description and a JSON Schema of its input. `tool` makes all three
from a Python function: the name, the docstring, the type hints. The model never calls anything:
it writes a request, and the harness decides, checks the input, runs the function and sends back
what came out, errors included, because an error the model can read is one it can mend.

Here are the first few, all of them harmless: a calculator without ``eval``, a clock, and three
that read files inside one folder. Chapter 03 builds the full contract.
"""

from __future__ import annotations

import ast
import asyncio
import difflib
import functools
import inspect
import json
import math
import operator
import os
import re
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from agentlab.clock import Clock
from agentlab.messages import Block, tool_result, valid_unicode

MAX_RESULT_CHARS = 30_000
Function = Callable[..., Any] | Callable[..., Awaitable[Any]]


class ToolError(Exception):
    """Raised by a tool to tell the model what went wrong; its text is the result."""


@dataclass(frozen=True)
class Tool:
    """A function the model may ask for, and how it is described to the model."""

    name: str
    description: str
    function: Function

    @functools.cached_property
    def _input(self) -> Any:
        """A pydantic model of the arguments; pydantic is imported when a schema is first needed."""
        import pydantic

        fields = {}
        for name, parameter in inspect.signature(self.function, eval_str=True).parameters.items():
            hint = Any if parameter.annotation is parameter.empty else parameter.annotation
            if hint in (int, float):  # pydantic takes "3" for 3, which is fine, and True for 1
                hint = Annotated[hint, pydantic.BeforeValidator(_no_bool)]
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[name] = (hint, default)
        return pydantic.create_model(self.name, __config__={"extra": "forbid"}, **fields)  # type: ignore[call-overload]

    @functools.cached_property
    def definition(self) -> dict[str, Any]:
        """The tool as it goes over the wire."""
        schema = self._input.model_json_schema()
        schema.pop("title", None)
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
        schema.setdefault("properties", {})
        return {"name": self.name, "description": self.description, "input_schema": schema}

    def check(self, input: dict[str, Any]) -> dict[str, Any]:
        """The arguments to call with. Raises ToolError with what is wrong with them."""
        import pydantic

        try:
            parsed = self._input.model_validate(input)
        except pydantic.ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, e['loc'])) or 'input'}: {e['msg']}" for e in error.errors()
            )
            raise ToolError(
                f"Invalid input for {self.name}: {problems}. "
                f"Expected: {json.dumps(self.definition['input_schema']['properties'])}"
            ) from None
        return {name: getattr(parsed, name) for name in type(parsed).model_fields}

    async def call(self, input: dict[str, Any]) -> Any:
        """Check the input, then run the function; a plain function runs in a thread."""
        arguments = self.check(input)
        if inspect.iscoroutinefunction(self.function):
            return await self.function(**arguments)
        return await asyncio.to_thread(self.function, **arguments)


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a number is wanted, not true or false")
    return value


def tool(function: Function | None = None, *, name: str | None = None) -> Any:
    """Make a `Tool` from a typed function: ``@tool`` or ``@tool(name="Read")``.

    The docstring becomes the description. Raises ValueError if there is none, since the
    description is all that the model knows of the tool.
    """
    if function is None:
        return functools.partial(tool, name=name)
    description = inspect.getdoc(function)
    if not description:
        raise ValueError(
            f"{function.__name__} needs a docstring: it is all the model knows of the tool"
        )
    return Tool(name or function.__name__, description, function)


@dataclass(frozen=True)
class Outcome:
    """What running one call gave: the result block for the model, and the traceback for people."""

    block: Block
    traceback: str = ""

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


async def execute(call: Block, tools: dict[str, Tool]) -> Outcome:
    """Run one call. What goes wrong becomes a result with ``is_error``; only cancelling raises."""
    found = tools.get(call["name"])
    if found is None:
        near = difflib.get_close_matches(call["name"], tools, n=3, cutoff=0.4)
        hint = (
            f"Did you mean {' or '.join(near)}?"
            if near
            else f"There are: {', '.join(tools) or 'none'}."
        )
        return Outcome(tool_result(call["id"], f"There is no tool {call['name']!r}. {hint}", True))
    try:
        value = await found.call(call["input"])
        return Outcome(tool_result(call["id"], to_content(value)))
    except ToolError as error:
        return Outcome(tool_result(call["id"], to_content(str(error)), True))
    except TimeoutError as error:
        message = f"Timed out ({error}). It may have taken effect: check before you repeat it."
        return Outcome(tool_result(call["id"], message, True), traceback.format_exc())
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        return Outcome(tool_result(call["id"], to_content(message), True), traceback.format_exc())


def to_content(value: Any) -> str | list[Block]:
    """Whatever a tool returned, as content of a tool result: never empty, never too long.

    Bytes are decoded with U+FFFD for what is not UTF-8; NUL goes; NaN and infinities, which JSON
    has no words for, become strings.
    """
    if (
        isinstance(value, list)
        and value
        and all(isinstance(b, dict) and "type" in b for b in value)
    ):
        return valid_unicode(value)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        value = "" if value is None else json.dumps(_strict(value), ensure_ascii=False, default=str)
    return bound(valid_unicode(value).replace("\0", "")) or "(no output)"


def bound(text: str, limit: int = MAX_RESULT_CHARS) -> str:
    """The text, or its beginning and its end with a line between that says what is missing."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[-limit // 3 :]
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


# ---------------------------------------------------------------------------- the first few tools

_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.USub: operator.neg, ast.UAdd: operator.pos,
}  # fmt: skip
MAX_DIGITS = 1_000


def calculate(expression: str) -> str:
    """The value of an arithmetic expression. Raises ToolError for anything that is not one.

    The text is parsed and the tree is walked: only numbers and + - * / // % ** are known, so there
    is nothing to break out of. Results of more than 1,000 digits are refused before they are made.
    """

    def value(node: ast.AST) -> int | float:
        match node:
            case ast.Expression(body):
                return value(body)
            case ast.Constant(int() | float() as number) if not isinstance(number, bool):
                return number
            case ast.UnaryOp(op, operand) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](value(operand))
            case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
                a, b = value(left), value(right)
                if isinstance(op, ast.Pow) and abs(b) * math.log10(max(abs(a), 2)) > MAX_DIGITS:
                    raise ToolError(f"{a} ** {b} has more than {MAX_DIGITS} digits")
                result = _OPERATORS[type(op)](a, b)
                if isinstance(result, complex) or not math.isfinite(result):
                    raise ToolError(f"{expression[:100]} has no value that can be written down")
                return result
        raise ToolError("Only numbers and + - * / // % ** ( ) are allowed")

    try:
        result = value(ast.parse(expression.strip(), mode="eval"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ToolError(f"Not an arithmetic expression: {expression[:100]!r}") from None
    except (ZeroDivisionError, OverflowError) as error:
        raise ToolError(f"{expression[:100]}: {error}") from None
    return (
        str(int(result))
        if isinstance(result, float) and result.is_integer() and abs(result) < 1e15
        else str(result)
    )


@tool(name="Calculator")
async def calculator(expression: str) -> str:
    """Evaluate an arithmetic expression such as (9 * 60 + 17) / 2. Use it for every calculation."""
    return calculate(expression)


def clock_tool(clock: Clock) -> Tool:
    """The ``Clock`` tool on the given clock."""

    @tool(name="Clock")
    async def read_clock() -> str:
        """Return the current date and time (ISO 8601). Use it when the answer depends on now."""
        return clock.wall().isoformat(timespec="minutes")

    return read_clock


@tool(name="TaskComplete")
async def task_complete(summary: str) -> str:
    """Say that the whole task is done, with a summary of what was done.

    Do not call it while questions are open, right after an error, or while work is left: decide,
    mend or finish that first.
    """
    return "Noted."


def file_tools(workspace: str | os.PathLike[str]) -> list[Tool]:
    """``Read``, ``LS`` and ``Grep``, confined to one folder. They only read.

    Raises NotADirectoryError if the folder is not there.
    """
    root = Path(workspace).resolve()
    if not root.is_dir():
        raise NotADirectoryError(f"The workspace {str(workspace)!r} is not a folder")

    def inside(path: str) -> Path:
        target = (root / path).resolve()
        if not target.is_relative_to(root):
            raise ToolError(f"{path} is outside the workspace. Use a path relative to it.")
        if not target.exists():
            names = [_relative(p, root) for p in _files(root)]
            near = difflib.get_close_matches(path, names, n=3, cutoff=0.5)
            raise ToolError(
                f"{path} does not exist." + (f" Near names: {', '.join(near)}" if near else "")
            )
        return target

    @tool(name="Read")
    def read(file_path: str) -> str:
        """Read a text file. The path is relative to the workspace."""
        target = inside(file_path)
        if target.is_dir():
            raise ToolError(f"{file_path} is a folder. Use LS to list it.")
        data = target.read_bytes()
        if b"\0" in data[:8192]:
            raise ToolError(f"{file_path} is a binary file of {len(data)} bytes.")
        return data.decode("utf-8", "replace") or "(the file is empty)"

    @tool(name="LS")
    def ls(path: str = ".") -> str:
        """List a folder of the workspace: one entry a line, folders with a slash at the end."""
        target = inside(path)
        if not target.is_dir():
            raise ToolError(f"{path} is a file. Use Read to read it.")
        entries = (p for p in target.iterdir() if not p.name.startswith("."))
        return (
            "\n".join(sorted(p.name + "/" * p.is_dir() for p in entries)) or "(the folder is empty)"
        )

    @tool(name="Grep")
    def grep(pattern: str, path: str = ".") -> str:
        """Find the lines that match a regular expression, as file:line: text."""
        try:
            wanted = re.compile(pattern)
        except re.error as error:
            raise ToolError(f"Not a regular expression: {pattern!r} ({error})") from None
        target = inside(path)
        found = []
        for file in _files(target) if target.is_dir() else [target]:
            if not file.resolve().is_relative_to(root) or not file.is_file():
                continue
            data = file.read_bytes()
            if b"\0" in data[:8192]:
                continue
            for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
                if wanted.search(line):
                    found.append(f"{_relative(file, root)}:{number}: {line.strip()}")
        return "\n".join(found) or f"No line matches {pattern!r}."

    return [read, ls, grep]


def _files(folder: Path) -> list[Path]:
    """All files below a folder, sorted, without hidden ones."""
    found = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        found += [Path(here, name) for name in sorted(names) if not name.startswith(".")]
    return found


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
