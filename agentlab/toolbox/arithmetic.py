"""``Calculator``: arithmetic without ``eval``."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from agentlab.tools import ToolError, tool

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


@tool(name="Calculator", is_read_only=True)
async def calculator(expression: str) -> str:
    """Evaluate an arithmetic expression such as (9 * 60 + 17) / 2. Use it for every calculation."""
    return calculate(expression)
