"""my_harness.py as text: parts go in and out, the learner's own text never changes."""

import ast

from hypothesis import assume, given
from hypothesis import strategies as st

from agentlab.course.harness_file import IMPORTS, MAIN, HarnessFile
from agentlab.course.names import Import

KEYS = st.sampled_from(["01", "02", "03", "10", IMPORTS, MAIN])
CODE = st.sampled_from(
    ["x = 1", "def f():\n    return 2", "class A:\n    pass\n\n\ny = A()", "# nothing"]
)
OWN_LINES = st.lists(
    st.sampled_from(
        ["", "mine = 1", "# a note of mine", "def my_own():\n    pass", "    # indented"]
    ),
    max_size=4,
)
PUTS = st.lists(st.tuples(KEYS, CODE), min_size=1, max_size=8)


def _filled(puts):
    file = HarnessFile.new()
    for key, text in puts:
        file = file.put(key, "a title", text)
    return file


def _own(file):
    return "".join(part.text for part in file.parts if not part.key)


def _with_own_text(file, lines):
    """The file with the learner's lines after every managed part."""
    text = file.render()
    for key in {part.key for part in file.parts if part.key}:
        closing = f"# --- end of {'chapter ' + key if key.isdigit() else key} ---\n"
        text = text.replace(closing, closing + "".join(f"{line}\n" for line in lines))
    return text


@given(PUTS)
def test_reading_back_what_was_written_gives_the_same_file(puts):
    file = _filled(puts)
    assert HarnessFile.parse(file.render()).render() == file.render()
    assert {p.key for p in HarnessFile.parse(file.render()).parts} == {p.key for p in file.parts}


@given(PUTS)
def test_each_part_is_there_once_with_the_last_text(puts):
    file = HarnessFile.parse(_filled(puts).render())
    keys = [part.key for part in file.parts if part.key]
    assert len(set(keys)) == len(keys)
    for key, text in dict(puts).items():
        assert file.text_of(key) == text


@given(PUTS)
def test_parts_stand_in_order_imports_chapters_main(puts):
    keys = [part.key for part in _filled(puts).parts if part.key]
    rank = {IMPORTS: "00", MAIN: "99"}
    assert [rank.get(key, key) for key in keys] == sorted(rank.get(key, key) for key in keys)


@given(PUTS, OWN_LINES, KEYS, CODE)
def test_what_the_learner_wrote_between_the_parts_stays(puts, lines, key, text):
    before = HarnessFile.parse(_with_own_text(_filled(puts), lines))
    after = HarnessFile.parse(before.put(key, "a title", text).render())
    blank = str.maketrans("", "", "\n")
    assert _own(after).translate(blank) == _own(before).translate(blank)


@given(PUTS, OWN_LINES, KEYS, CODE)
def test_putting_the_same_again_changes_nothing(puts, lines, key, text):
    once = HarnessFile.parse(_with_own_text(_filled(puts), lines)).put(key, "a title", text)
    again = HarnessFile.parse(once.render()).put(key, "a title", text)
    assert again.render() == once.render()


@given(st.text(alphabet="abc#- =\n", max_size=60))
def test_any_text_survives_being_read(text):
    assume("\r" not in text)
    assert HarnessFile.parse(text).render() == text


def test_a_part_that_is_not_closed_is_reported():
    file = HarnessFile.parse(
        "# --- chapter 01: messages ---\nx = 1\n# --- chapter 02: b ---\ny = 2\n"
    )
    assert file.unclosed == ["01", "02"]
    assert file.text_of("01") == "x = 1"


def test_imports_are_those_that_are_needed_and_no_others():
    known = {
        "json": Import("json", None, "json"),
        "re": Import("re", None, "re"),
        "Any": Import("typing", "Any", "Any"),
        "Path": Import("pathlib", "Path", "Path"),
    }
    file = HarnessFile.new().put("01", "a", "def f(x: Any):\n    return json.dumps(x)")
    assert file.with_imports(known).text_of(IMPORTS) == "import json\nfrom typing import Any"


def test_an_import_of_the_learners_own_is_not_repeated():
    file = HarnessFile.parse("import json\n").put("01", "a", "def f(x):\n    return json.dumps(x)")
    assert file.with_imports({"json": Import("json", None, "json")}).text_of(IMPORTS) == ""


def test_a_definition_that_a_later_chapter_builds_again_leaves_one_line():
    file = HarnessFile.new().put(
        "02", "loop", "def run():\n    return 2\n\n\ndef other():\n    return run()"
    )
    file = file.put("08", "retry", "def run():\n    return 8").without_superseded()
    assert "return 2" not in file.render()
    assert "# run: built again in chapter 08" in file.text_of("02")
    assert "def other" in file.text_of("02")
    assert file.without_superseded() == file


def test_a_definition_stays_while_something_in_between_uses_it_at_import():
    file = HarnessFile.new().put(
        "02", "loop", "def tool(f):\n    return f\n\n\n@tool\ndef clock():\n    pass"
    )
    file = file.put("03", "tools", "def tool(f):\n    return f").without_superseded()
    assert file.text_of("02").count("def tool") == 1
    namespace = {}
    exec(compile(ast.parse(file.render()), "<file>", "exec"), namespace)
    assert callable(namespace["clock"])
