"""The first few tools: described from their functions, and harmless."""

import asyncio
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab.clock import VirtualClock
from agentlab.messages import tool_use
from agentlab.partition import run_batches
from agentlab.toolbox import calculate, calculator, clock_tool
from agentlab.tools import MAX_RESULT_CHARS, ToolError, bound, prepare, to_content, tool


def run(tools, tool_name, **input):
    """Run one call, checked and bounded as the loop does it."""

    async def main():
        call = prepare(tool_use("t1", tool_name, input), {t.name: t for t in tools})
        happenings = [h async for h in run_batches([call], VirtualClock(), 1)]
        return happenings[-1][1]

    return asyncio.run(main())


def text(tools, tool_name, **input):
    return run(tools, tool_name, **input).block["content"]


def test_a_function_becomes_a_tool():
    @tool
    def greet(name: str, times: int = 1) -> str:
        """Greet someone."""
        return f"hello {name} " * times

    assert greet.definition == {
        "name": "greet",
        "description": "Greet someone.",
        "input_schema": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"name": {"type": "string"}, "times": {"default": 1, "type": "integer"}},
            "required": ["name"],
        },
    }
    assert text([greet], "greet", name="Ada", times=2) == "hello Ada hello Ada "


def test_a_tool_without_a_description_is_refused():
    with pytest.raises(ValueError, match="docstring"):

        @tool
        def silent() -> None: ...


@pytest.mark.parametrize("input", [{}, {"expression": 1, "more": 2}, {"expresion": "1"}])
def test_wrong_input_is_answered_with_what_was_expected(input):
    outcome = run([calculator], "Calculator", **input)
    assert outcome.is_error
    assert "expression" in outcome.block["content"] and "Invalid input" in outcome.block["content"]


@pytest.mark.parametrize(
    ("value", "got"),
    [("200000", 200_000), (3, 3), (3.0, 3), ("12abc", None), ("1e999", None), (True, None)],
)
def test_c27_a_number_written_as_text_is_taken_and_nothing_like_it(value, got):
    @tool
    async def read(max_bytes: int) -> str:
        """Read."""
        return repr(max_bytes)

    outcome = run([read], "read", max_bytes=value)
    assert outcome.is_error == (got is None)
    assert got is None or outcome.block["content"] == repr(got)


def test_c29_c31_text_is_no_object_and_an_object_is_no_text():
    ran = []

    @tool
    async def save(config: dict, content: str = "") -> str:
        """Save."""
        ran.append(config)
        return "saved"

    assert run([save], "save", config='{"a": 1, "b":').is_error
    assert run([save], "save", config={}, content={"a": 1}).is_error
    assert ran == []


def test_c23_an_unknown_tool_is_answered_with_near_names():
    @tool
    def get_sites() -> str:
        """List the sites."""
        return ""

    outcome = run([get_sites, calculator], "list_sites")
    assert outcome.is_error and "get_sites" in outcome.block["content"]


def test_c11_an_exception_is_one_error_result_and_its_traceback_is_for_people():
    @tool
    def broken() -> str:
        """Fail."""
        raise KeyError("lost")

    outcome = run([broken], "broken")
    assert outcome.is_error and outcome.block["content"] == "KeyError: 'lost'"
    assert "Traceback" in outcome.traceback


def test_e15_a_timeout_says_that_the_effect_may_have_happened():
    @tool
    async def send_mail() -> str:
        """Send."""
        raise TimeoutError("after 10 s")

    assert "check before you repeat" in run([send_mail], "send_mail").block["content"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "(no output)"),
        ("", "(no output)"),
        (b"ok \xf0\xff end", "ok \ufffd\ufffd end"),
        ("a\0b\x1b[31mred", "ab\x1b[31mred"),
        ({"loss": math.nan, "all": [math.inf]}, '{"loss": "nan", "all": ["inf"]}'),
        ([1, 2], "[1, 2]"),
        ("\ud800", "\ufffd"),
    ],
)
def test_c32_c35_c39_whatever_a_tool_returns_can_be_sent(value, expected):
    content = to_content(value)
    assert content == expected
    json.loads(json.dumps(content, allow_nan=False))


def test_c36_long_output_keeps_its_beginning_and_its_end():
    output = "first line\n" + "\n".join(map(str, range(50_000))) + "\nFAILED test_x"
    content = to_content(output)
    assert len(content) < MAX_RESULT_CHARS + 200
    assert content.startswith("first line") and content.endswith("FAILED test_x")
    assert f"of {len(output)} characters left out" in content


@given(st.text(max_size=300), st.integers(10, 100))
def test_bound_never_loses_count(text_, limit):
    short = bound(text_, limit)
    if len(text_) <= limit:
        assert short == text_
    else:
        missing = int(short.split("[... ")[1].split(" of")[0])
        assert missing > 0


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2+2", "4"),
        ("9 * 60 + 17", "557"),
        ("15 * 23 / 4", "86.25"),
        ("-(3 - 5)", "2"),
        ("10 / 5", "2"),
        ("2 ** 10", "1024"),
        ("17 % 5", "2"),
        ("17 // 5", "3"),
        (" 1 ", "1"),
        ("1e3", "1000"),
    ],
)
def test_the_calculator_calculates(expression, value):
    assert calculate(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9",
        "9**9**9**9",
        "2**99999",
        "(-8)**0.5",
        "1/0",
        "1e308*10**10",
        "__import__('os')",
        "a",
        "'x'*9",
        "[1]",
        "(1).real",
        "lambda: 1",
        "1 if 1 else 2",
        "True",
        "",
        "1 +",
        "9" * 5000,
        "(" * 300 + ")" * 300,
        "1;2",
        "f'{1}'",
        "1j",
        "~1",
    ],
)
def test_the_calculator_refuses_what_is_no_small_sum(expression):
    with pytest.raises(ToolError):
        calculate(expression)


def test_the_clock_reads_the_clock_it_was_given():
    clock = VirtualClock()
    tools = [clock_tool(clock)]
    assert text(tools, "Clock") == "2026-11-30T09:17+00:00"
    clock.advance(3600)
    assert text(tools, "Clock") == "2026-11-30T10:17+00:00"
