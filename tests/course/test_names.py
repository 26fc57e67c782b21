"""Reading Python text without running it."""

import ast
import builtins
import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab.course import names

TEXT = '''
import json
from dataclasses import dataclass, field as f

LIMIT = 3
a, b = 1, 2

# why this exists
@dataclass
class Box(Base):
    """A box."""
    size: int = LIMIT

    def grow(self, by):
        return json.dumps(self.size + by + extra)


def use(x=default):
    def inner():
        return x + outer_name
    return [y for y in inner() if y in b]
'''


def test_pieces_are_functions_classes_and_assignments():
    assert list(names.pieces(TEXT)) == ["LIMIT", "a", "b", "Box", "use"]


def test_a_piece_has_its_decorators_and_the_comment_above_it():
    assert names.pieces(TEXT)["Box"].source.startswith("# why this exists\n@dataclass\nclass Box")


def test_the_last_definition_of_a_name_counts():
    assert names.pieces("x = 1\nx = 2")["x"].source == "x = 2"


def test_a_method_is_found_and_dedented():
    piece = names.find(TEXT, "Box.grow")
    assert piece is not None and piece.source.startswith("def grow(self, by):\n    return")
    assert names.find(TEXT, "Box.shrink") is None
    assert names.find(TEXT, "LIMIT.real") is None


def test_needed_names_come_from_every_depth_but_not_locals_or_builtins():
    assert names.needed(TEXT) == {"Base", "extra", "default", "outer_name"}


def test_needed_at_import_leaves_out_what_bodies_of_functions_use():
    used = names.needed_at_import(TEXT)
    assert {"Base", "default", "dataclass", "LIMIT"} <= used
    assert not used & {"extra", "outer_name", "json"}


def test_imports_know_module_name_and_binding():
    found = names.imports("import os.path\nimport numpy as np\nfrom a.b import c as d\n")
    assert found["os"] == names.Import("os.path", None, "os")
    assert found["np"] == names.Import("numpy", None, "np")
    assert found["d"] == names.Import("a.b", "c", "d")


@pytest.mark.parametrize("text", ["await x", "async for i in x:\n    pass", "async with x: pass"])
def test_cells_with_top_level_await_can_be_read(text):
    assert names.pieces(text) == {}


IDENTIFIERS = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(
    lambda n: not keyword.iskeyword(n) and n not in dir(builtins)
)
IMPORTS = st.builds(
    lambda module, name, alias: names.Import(module, name, alias or name or module),
    st.sampled_from(["json", "asyncio", "anthropic", "re"]),
    st.none() | IDENTIFIERS,
    st.none() | IDENTIFIERS,
)


@given(st.lists(IMPORTS, max_size=8, unique_by=lambda i: i.bound))
def test_import_lines_say_the_same_as_the_imports_they_are_made_of(wanted):
    text = names.import_lines(wanted)
    assert names.imports(text) == {entry.bound: entry for entry in wanted}
    lines = [line for line in text.splitlines() if line]
    assert len(set(lines)) == len(lines)


@given(st.lists(IDENTIFIERS, min_size=1, max_size=5, unique=True))
def test_every_global_that_a_function_uses_is_needed(used):
    text = f"def f():\n    return ({', '.join(used)},)\n"
    expected = set(used) - {"f"}
    assert names.needed(text) == expected
    ast.parse(text)
