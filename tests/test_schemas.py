"""From a function to a schema, and what is taken of a model's input: the table, row by row."""

import dataclasses
import inspect
import json
import math
from typing import Literal

import jsonschema
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab import schemas
from agentlab.messages import tool_use
from agentlab.tools import Prepared, prepare, tool

REFUSED = object()


class Point(pydantic.BaseModel):
    x: int
    y: int = 0


@dataclasses.dataclass
class Span:
    start: int
    end: int | None = None


class Node(pydantic.BaseModel):
    value: int
    children: "list[Node]" = []


def one_argument(hint):
    def take(value):
        """Take."""
        return value

    take.__annotations__ = {"value": hint}
    return tool(take)


def with_schema(schema):
    def take(**arguments):
        """Take."""

    return tool(take, input_schema=schema)


def taken(made, input):
    """The arguments that the function would get, or REFUSED with an answer for the model."""
    prepared = prepare(tool_use("t1", made.name, input), {made.name: made})
    if isinstance(prepared, Prepared):
        return prepared.arguments
    text = prepared.block["content"]
    assert prepared.is_error and "so nothing was run" in text and "For example: {" in text
    return REFUSED


def check(hint, given_, got):
    arguments = taken(one_argument(hint), {"value": given_})
    if got is REFUSED:
        assert arguments is REFUSED
    else:
        assert arguments == {"value": got} and type(arguments["value"]) is type(got)


# ------------------------------------------------------------------------------- the table


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (42, 42),
        ("42", 42),
        ("-7", -7),
        (" 42 ", 42),
        ("0", 0),
        (42.0, 42),
        (-0.0, 0),
        ("9" * 30, int("9" * 30)),
        ("9" * 31, REFUSED),
        (1e300, REFUSED),
        (42.5, REFUSED),
        ("42.0", REFUSED),
        ("42abc", REFUSED),
        ("4e2", REFUSED),
        ("0x1f", REFUSED),
        ("1_000", REFUSED),
        ("1,000", REFUSED),
        ("+7", REFUSED),
        ("--7", REFUSED),
        ("\u0664\u0662", REFUSED),  # digits, but not ours
        ("", REFUSED),
        ("1e999", REFUSED),
        (True, REFUSED),
        ("true", REFUSED),
        (None, REFUSED),
        ("null", REFUSED),
        ([42], REFUSED),
        ("[42]", REFUSED),
        ({}, REFUSED),
    ],
)
def test_an_integer(value, got):
    check(int, value, got)


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (2.5, 2.5),
        (3, 3.0),
        ("2.5", 2.5),
        ("3", 3.0),
        ("-1.5e3", -1500.0),
        (" 2.5 ", 2.5),
        ("1e999", REFUSED),
        ("-1e999", REFUSED),
        ("nan", REFUSED),
        ("inf", REFUSED),
        ("Infinity", REFUSED),
        (math.nan, REFUSED),  # Python's JSON reads these, JSON has no such thing
        (math.inf, REFUSED),
        (".5", REFUSED),
        ("2,5", REFUSED),
        ("2.5 mm", REFUSED),
        ("", REFUSED),
        (True, REFUSED),
        (None, REFUSED),
    ],
)
def test_a_number(value, got):
    check(float, value, got)


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (True, True),
        ("true", True),
        ("false", False),
        ("True", REFUSED),
        ("FALSE", REFUSED),
        ("yes", REFUSED),
        ("on", REFUSED),
        ("1", REFUSED),
        (" true", REFUSED),
        (1, REFUSED),
        (0, REFUSED),
        (1.0, REFUSED),
        ("", REFUSED),
        (None, REFUSED),
        ([], REFUSED),
    ],
)
def test_a_boolean(value, got):
    check(bool, value, got)


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        (' {"a": {"b": [1, 2]}} ', {"a": {"b": [1, 2]}}),
        ("{}", {}),
        ('{"a": 1, "b":', REFUSED),
        ('{"a": 1} and more', REFUSED),
        ("{'a': 1}", REFUSED),
        ('{"a": NaN}', REFUSED),
        ("[1]", REFUSED),
        ("3", REFUSED),
        ('"{}"', REFUSED),  # written as JSON twice
        ("", REFUSED),
        ("[" * 100_000, REFUSED),
        (None, REFUSED),
        ([["a", 1]], REFUSED),
    ],
)
def test_c29_an_object_may_be_whole_json_and_nothing_less(value, got):
    check(dict, value, got)


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ([1, 2], [1, 2]),
        ("[1, 2]", [1, 2]),
        (["1", 2.0], [1, 2]),
        ('["1"]', [1]),
        ("[1, 2", REFUSED),
        ("1, 2", REFUSED),
        ("1", REFUSED),
        (1, REFUSED),
        ({"0": 1}, REFUSED),
        (["a"], REFUSED),
        ([None], REFUSED),
    ],
)
def test_a_list_of_integers(value, got):
    check(list[int], value, got)


@pytest.mark.parametrize("value", [3, 2.5, True, None, {"a": 1}, ["a"], []])
def test_c31_text_is_never_made_out_of_anything_else(value):
    check(str, value, REFUSED)


@pytest.mark.parametrize("value", ["", "3", "true", '{"a": 1}', "[1]", "null", "\u00e8 \U0001f600"])
def test_c27_text_stays_text_whatever_it_looks_like(value):
    check(str, value, value)


@given(st.text(max_size=8))
def test_a_string_is_an_integer_only_if_it_says_so_exactly(text):
    arguments = taken(one_argument(int), {"value": text})
    if arguments is not REFUSED:
        assert text.strip().lstrip("-").isascii() and str(int(text)) == str(arguments["value"])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
HINTS = [
    *(int, float, bool, str, dict, list, list[int], list[Point], tuple[int, str], dict[str, int]),
    *(Point, Span, Node, int | None, list[int] | None, Point | None, int | str, Literal["a", 1]),
]
ONES = [one_argument(hint) for hint in HINTS]


@given(st.sampled_from(ONES), VALUES, st.booleans())
def test_nothing_that_a_model_sends_raises_anything(made, value, as_text):
    value = json.dumps(value) if as_text else value
    taken(made, {"value": value})
    taken(made, value)
    taken(made, {"other": value})


@given(st.sampled_from(ONES), VALUES)
def test_what_is_taken_fits_and_coercing_it_again_changes_nothing(made, value):
    once = schemas.coerce({"value": value}, made.input_schema)
    again = schemas.coerce(once, made.input_schema)
    assert repr(again) == repr(once)


# ------------------------------------------------------------------------------- at any depth


@pytest.mark.parametrize(
    ("hint", "value", "got"),
    [
        (Point, {"x": "3"}, Point(x=3)),
        (Point, '{"x": 3, "y": "4"}', Point(x=3, y=4)),
        (Point, {"x": "3", "z": 1}, Point(x=3)),
        (Point, {"y": 1}, REFUSED),
        (Span, {"start": "1", "end": "2"}, Span(1, 2)),
        (list[Point], [{"x": "3"}, {"x": 4.0}], [Point(x=3), Point(x=4)]),
        (dict[str, int], {"a": "1", "b": 2}, {"a": 1, "b": 2}),
        (dict[str, Point], {"a": {"x": "1"}}, {"a": Point(x=1)}),
        (tuple[int, str], ["1", "1"], (1, "1")),
        (Node, {"value": "1", "children": [{"value": "2"}]},
         Node(value=1, children=[Node(value=2)])),
        (Literal[1, 2], "2", 2),
        (Literal["a", "b"], "c", REFUSED),
    ],
)  # fmt: skip
def test_nested_values_are_taken_by_the_same_table(hint, value, got):
    check(hint, value, got)


@pytest.mark.parametrize(
    ("hint", "value", "got"),
    [
        (int | None, "3", 3),
        (int | None, None, None),
        (int | None, "null", REFUSED),
        (list[int] | None, ["1"], [1]),
        (list[int] | None, "[1]", [1]),
        (Point | None, {"x": "3"}, Point(x=3)),
        (Point | None, '{"x": 3}', Point(x=3)),
        (str | None, "3", "3"),
        (str | None, 3, REFUSED),
        (int | str, "3", "3"),  # text is an answer too, so nothing is guessed
        (int | str, 3, 3),
        (int | bool, "true", True),
        (list[int] | list[str], ["1"], ["1"]),
    ],
)
def test_where_the_schema_leaves_a_choice_nothing_is_guessed(hint, value, got):
    check(hint, value, got)


def test_an_optional_argument_that_is_left_out_has_its_default():
    @tool
    def find(pattern: str, limit: int | None = None, folder: str = "."):
        """Find."""

    assert taken(find, {"pattern": "x"}) == {"pattern": "x", "limit": None, "folder": "."}
    assert find.input_schema["required"] == ["pattern"]
    assert taken(find, {"pattern": "x", "limit": "5"})["limit"] == 5
    assert taken(find, {"pattern": "x", "limt": 5}) is REFUSED
    assert taken(find, {}) is REFUSED


# -------------------------------------------------------------------------------- given schemas


@pytest.mark.parametrize(
    ("property_", "value", "got"),
    [
        ({"type": "integer"}, "3", 3),
        ({"type": "integer"}, "3a", REFUSED),
        ({"type": ["integer", "null"]}, "3", 3),
        ({"type": ["integer", "null"]}, None, None),
        ({"type": ["integer", "string"]}, "3", "3"),
        ({"oneOf": [{"type": "integer"}, {"type": "null"}]}, "3", 3),
        ({"$ref": "#/$defs/count"}, "3", 3),
        ({"$ref": "#/$defs/loop"}, "3", "3"),
        ({"type": "array", "items": {"$ref": "#/$defs/count"}}, ["3"], [3]),
        (True, "3", "3"),
        ({}, "3", "3"),
        (False, "3", REFUSED),
        ({"type": "array", "items": True}, ["3"], ["3"]),
        ({"type": "object", "additionalProperties": {"type": "number"}}, {"a": "1"}, {"a": 1.0}),
        ({"type": "object", "additionalProperties": False}, {"a": "1"}, REFUSED),
        ({"properties": {"n": {"type": "integer"}}}, {"n": "1"}, {"n": 1}),
        ({"type": "integer", "minimum": 5}, "3", REFUSED),
        ({"enum": ["a", "b"]}, "a", "a"),
    ],
)
def test_a_schema_that_was_given_is_read_in_the_same_way(property_, value, got):
    schema = {
        "type": "object",
        "properties": {"value": property_},
        "required": ["value"],
        "$defs": {"count": {"type": "integer"}, "loop": {"anyOf": [{"type": "string"}]}},
    }
    arguments = taken(with_schema(schema), {"value": value})
    assert arguments is REFUSED if got is REFUSED else arguments == {"value": got}


def test_a_reference_that_goes_round_in_circles_ends():
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"],
              "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}  # fmt: skip
    assert schemas.coerce({"a": "1"}, schema) == {"a": "1"}
    assert schemas.example(schema).keys() == {"a"}


def test_a_schema_without_a_type_is_one_of_an_object():
    made = with_schema({"properties": {"n": {"type": "integer"}}})
    assert taken(made, {"n": "3"}) == {"n": 3}


def test_up_to_five_mistakes_are_told_with_their_place():
    schema = {"type": "object", "required": ["a"],
              "properties": {"b": {"type": "array", "items": {"type": "integer"}}}}  # fmt: skip
    made = with_schema(schema)
    text = prepare(tool_use("t1", made.name, {"b": [1, "x"]}), {made.name: made}).block["content"]
    assert "'a' is a required property" in text and "b.1: 'x' is not of type 'integer'" in text


# ------------------------------------------------------------------------------------- examples


@pytest.mark.parametrize("made", ONES, ids=[str(hint) for hint in HINTS])
def test_the_example_in_an_error_is_one_that_would_be_taken(made):
    shown = schemas.example(made.input_schema)
    jsonschema.validate(shown, made.input_schema)
    assert taken(made, json.loads(json.dumps(shown))) is not REFUSED


@pytest.mark.parametrize(
    ("property_", "shown"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "examples": ["notes/a.md"], "enum": ["x"]}, "notes/a.md"),
        ({"enum": ["x", "y"]}, "x"),
        ({"const": 7}, 7),
        ({"type": "integer", "default": 0}, 0),
        ({"type": ["integer", "null"]}, 1),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, True),
        ({"type": "array", "minItems": 2, "items": {"type": "integer"}}, [1, 1]),
        ({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}, {"a": None}),
        (True, "text"),
    ],
)
def test_examples(property_, shown):
    schema = {"type": "object", "properties": {"value": property_}, "required": ["value"]}
    assert schemas.example(schema) == {"value": shown}


def test_the_example_has_what_is_required_and_no_more():
    schema = {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["b"]}
    assert schemas.example(schema) == {"b": 1}
    assert schemas.example({"properties": {"a": {"type": "integer"}}}) == {"a": 1}
    assert schemas.example({}) == {}


# -------------------------------------------------------------------------------- the docstring


def described(docstring):
    def take(path, limit=1):
        return path

    take.__doc__ = docstring
    text, schema, _ = schemas.of_function(take, "take")
    return text, {k: v.get("description") for k, v in schema["properties"].items()}


def test_the_args_section_describes_the_arguments_and_leaves_the_text():
    text, told = described(
        """Take it.

        More of it.

        Args:
            path (str, optional): where it is,
                relative to the workspace.
            limit: how many: ten, say.

        Returns:
            The text.
        """
    )
    assert text == "Take it.\n\nMore of it.\n\nReturns:\n    The text."
    assert told == {
        "path": "where it is, relative to the workspace.",
        "limit": "how many: ten, say.",
    }


def test_deeper_lines_belong_to_the_argument_above_even_if_they_look_like_one():
    _, told = described(
        """Take.

        Args:
            path (tuple(int, int)): where.
                limit: is not meant here.

            limit:
                how many.
        """
    )
    assert told == {"path": "where. limit: is not meant here.", "limit": "how many."}


@pytest.mark.parametrize(
    "docstring",
    ["Take.", "Take.\n\nArgs: none.", "Take.\n\nArgs:", "Take.\n\nArgs:\n\nThat is all."],
)
def test_a_docstring_without_arguments_describes_none(docstring):
    text, told = described(docstring)
    assert text.startswith("Take.") and told == {"path": None, "limit": None}


def test_what_is_told_of_arguments_that_are_not_there_is_left_out():
    _, told = described("Take.\n\nArgs:\n    path: where.\n    gone: what was here before.")
    assert told == {"path": "where.", "limit": None}


@given(st.text(alphabet="Args:\n ()abc", max_size=60).filter(lambda t: inspect.cleandoc(t)))
def test_no_docstring_breaks_it(docstring):
    described("Take." + docstring)


# ----------------------------------------------------------------------------------- functions


def test_names_that_pydantic_uses_itself_are_fine(recwarn):
    @tool
    def save(json: str, schema: str, copy: int = 1, model_name: str = "a"):
        """Save."""

    assert taken(save, {"json": "x", "schema": "y", "copy": "2"}) == {
        "json": "x", "schema": "y", "copy": 2, "model_name": "a"}  # fmt: skip
    assert not recwarn.list


@pytest.mark.parametrize("name", ["_hidden", "model_config", "model_fields"])
def test_names_that_cannot_be_arguments_are_refused_when_the_tool_is_made(name):
    function = eval(f"lambda {name}: None")
    function.__doc__ = "Take."
    with pytest.raises(ValueError, match=f"cannot be called '{name}'"):
        schemas.of_function(function, "take")


def test_star_arguments_have_no_schema():
    def take(*paths):
        """Take."""

    with pytest.raises(ValueError, match="no schema"):
        schemas.of_function(take, "take")


def test_titles_go_but_an_argument_called_title_stays():
    @tool
    def save(title: str, extra: dict = {"title": "kept"}):  # noqa: B006
        """Save."""

    assert save.input_schema["properties"] == {
        "title": {"type": "string"},
        "extra": {"type": "object", "additionalProperties": True, "default": {"title": "kept"}},
    }


def test_hints_that_are_written_as_text_are_read():
    @tool
    def wait(seconds: "float"):
        """Wait."""

    assert wait.input_schema["properties"] == {"seconds": {"type": "number"}}
