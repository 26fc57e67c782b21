"""`keep`: out of the notebook, into one file that runs with the anthropic package alone."""

import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentlab import connect
from agentlab.course import reference
from agentlab.course.harness_store import FRESH, harness_path
from agentlab.course.names import needed
from agentlab.course.shown import CourseError

TASK = "How many minutes have passed since midnight?"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTLAB_HARNESS_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def notebook(notebook):
    return notebook.run("from agentlab.course import keep")


@pytest.fixture
def harness(folder):
    """The text of the file."""
    return (folder / "my_harness.py").read_text


def _run(folder, *words, **env):
    """Run the file in a process in which agentlab cannot be imported."""
    (folder / "without").mkdir(exist_ok=True)
    (folder / "without" / "agentlab.py").write_text("raise ImportError('agentlab is not needed')")
    clean = {key: value for key, value in os.environ.items() if not key.startswith("ANTHROPIC_")}
    return subprocess.run(
        [sys.executable, str(folder / "my_harness.py"), *words],
        env=clean | {"PYTHONPATH": str(folder / "without")} | env,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
    )


def test_functions_and_classes_are_kept_as_they_stand_in_the_cells(notebook, harness):
    notebook.run("import json\n\n# why\ndef one():\n    return json.dumps(1)")
    notebook.run("class Two:\n    size = 2")
    kept = notebook.run("kept = keep(one, Two, chapter=1)")["kept"]
    assert repr(kept) == "my_harness.py, chapter 01: one, Two"
    text = harness()
    assert "# why\ndef one():\n    return json.dumps(1)" in text
    assert "class Two:\n    size = 2" in text
    assert "# --- imports ---\n\nimport json\n\n# --- end of imports ---" in text


def test_nothing_that_is_shown_names_a_path(notebook, folder):
    kept = notebook.run("def one():\n    pass\nkept = keep(one, chapter=1)")["kept"]
    assert str(folder) not in kept.text + kept.html
    assert kept.path == folder / "my_harness.py"


def test_keeping_twice_changes_nothing(notebook, harness):
    notebook.run("def one():\n    return 1\nkeep(one, chapter=1)")
    before = harness()
    notebook.run("keep(one, chapter=1)")
    assert harness() == before


def test_the_last_version_of_a_cell_counts(notebook, harness):
    notebook.run("def one():\n    return 1").run(
        "def one():\n    return 'one'\nkeep(one, chapter=1)"
    )
    assert "return 'one'" in harness() and "return 1" not in harness()


def test_a_kernel_that_stores_no_history_will_do(notebook, harness):
    notebook.stores_history = False
    notebook.run("LIMIT = 3\nclass Two:\n    size = LIMIT").run("keep(Two, chapter=1)")
    assert "LIMIT = 3" in harness() and "class Two:\n    size = LIMIT" in harness()


def test_a_cell_that_is_run_again_unchanged_is_the_last_word(notebook, harness):
    first, second = "LIMIT = 3", "LIMIT = 4"
    notebook.run(first).run(second).run(first)
    notebook.run("def one():\n    return LIMIT\nkeep(one, chapter=1)")
    assert "LIMIT = 3" in harness()


def test_only_its_own_chapter_is_replaced(notebook, harness, folder):
    notebook.run("def one():\n    return 1\n\ndef two():\n    return 2")
    notebook.run("keep(one, chapter=1)\nkeep(two, chapter=3)")
    path = folder / "my_harness.py"
    path.write_text(path.read_text() + "\nMINE = 'stays'\n")
    notebook.run("def new():\n    return 'new'\nkeep(new, chapter=1)")
    assert "def one" not in harness()
    for there in ("def new", "def two", "MINE = 'stays'"):
        assert there in harness()


def test_constants_helpers_and_their_imports_come_along(notebook, harness):
    notebook.run("import ast, operator\nOPS = {ast.Add: operator.add}\nLIMIT = 3")
    notebook.run("from functools import cache\n@cache\ndef helper(x):\n    return OPS, LIMIT, x")
    kept = notebook.run("def one(x):\n    return helper(x)\nkept = keep(one, chapter=1)")["kept"]
    assert "These came along, because the code needs them: " in repr(kept)
    for line in ("import ast", "import operator", "from functools import cache", "LIMIT = 3"):
        assert line in harness()
    assert "OPS = {ast.Add: operator.add}" in harness()


def test_a_computed_constant_is_kept_as_its_value(notebook, harness):
    notebook.run("class E:\n    model = 'some-model'\nMODEL = E().model")
    notebook.run("def one():\n    return MODEL\nkeep(one, chapter=1)")
    assert "MODEL = 'some-model'" in harness()


def test_a_constant_given_by_name(notebook, harness):
    notebook.run("import operator\nOPS = {'+': operator.add}\ndef one():\n    return OPS, LIMIT")
    notebook.run("keep(one, OPS=OPS, LIMIT=7, chapter=1)")
    assert "OPS = {'+': operator.add}" in harness() and "LIMIT = 7" in harness()


def test_definitions_stand_before_what_uses_them_while_the_file_is_read(notebook, folder):
    notebook.run("def double(x):\n    return x * 2\nSIZE = 3")
    notebook.run("def one(x=SIZE):\n    return x\nTABLE = {'double': double}")
    notebook.run(
        "def main():\n    print(one(), TABLE['double'](4))\nkeep(main, one, TABLE=TABLE, chapter=1)"
    )
    assert _run(folder).stdout == "3 8\n"


@pytest.mark.parametrize(
    ("cells", "call", "message"),
    [
        (
            "def one():\n    return client",
            "one",
            "one needs 'client', which is not in my_harness.py",
        ),
        (
            "from agentlab import connect\ndef one():\n    return connect()",
            "one",
            "without agentlab",
        ),
        ("import rich\ndef one():\n    return rich", "one", "with anthropic alone"),
        (
            "from agentlab.loop import run",
            "run",
            "It comes from agentlab.loop; keep what you built",
        ),
        ("class A:\n    pass", "A()", "has no name in this notebook"),
        ("pass", "'one'", "'one' has no name"),
        ("def one():\n    pass", "one, X=object()", "X is a object; only plain values"),
    ],
)
def test_what_could_not_run_is_refused_and_the_file_stays(notebook, folder, cells, call, message):
    path = folder / "my_harness.py"
    path.write_text("MINE = 1\n")
    notebook.run(cells)
    with pytest.raises(CourseError, match=message):
        notebook.run(f"keep({call}, chapter=1)")
    assert path.read_text() == "MINE = 1\n"


def test_a_piece_of_a_skipped_chapter_is_the_courses_and_says_so(notebook, harness):
    notebook.run("def one():\n    return user('hi')")
    kept = notebook.run("kept = keep(one, chapter=2, main='one')")["kept"]
    assert "The course's version, since yours is not in the file: text, user (chapter 01)" in repr(
        kept
    )
    assert "# The course's version of user: mine is not in this file yet." in harness()
    assert harness().index("def user") < harness().index("# --- end of chapter 01 ---")


def test_the_learners_own_piece_takes_the_place_of_the_courses(notebook, harness):
    notebook.run("def one():\n    return user('hi')\nkeep(one, chapter=2, main=one)")
    notebook.run("def user(*blocks):\n    return 'mine'\nkeep(user, chapter=1)")
    assert harness().count("def user") == 1 and "return 'mine'" in harness()


def test_what_a_later_chapter_relied_on_is_filled_in_when_an_earlier_one_drops_it(
    notebook, harness
):
    notebook.run(
        "def user(x):\n    return x\ndef mine():\n    return 1\nkeep(user, mine, chapter=1)"
    )
    notebook.run("def one():\n    return user('hi'), mine()\nkeep(one, chapter=2, main=one)")
    kept = notebook.run("def other():\n    pass\nkept = keep(other, chapter=1)")["kept"]
    assert "The course's version, since yours is not in the file: text, user (chapter 01)" in repr(
        kept
    )
    assert "Chapter 02 needs 'mine', which is not in my_harness.py" in repr(kept)
    assert harness().count("def user") == 1


@pytest.mark.parametrize(
    ("definition", "words", "printed"),
    [
        ("def main(task):\n    print('did', task)", ["a", "thing"], "did a thing\n"),
        ("async def main(task):\n    print('did', task)", ["it"], "did it\n"),
        ("def main():\n    print('no words')", [], "no words\n"),
    ],
)
def test_the_file_runs_main(notebook, folder, definition, words, printed):
    notebook.run(f"{definition}\nkeep(main, chapter=2)")
    assert _run(folder, *words).stdout == printed


def test_without_a_task_it_says_how_it_is_used(notebook, folder):
    notebook.run("def main(task):\n    pass\nkeep(chapter=2, main=main)")
    done = _run(folder)
    assert done.returncode == 1 and done.stderr == 'usage: python my_harness.py "your task"\n'


def test_the_learners_main_stays_when_another_chapter_is_kept(notebook, folder):
    notebook.run("def start():\n    print('mine')\nkeep(chapter=2, main=start)")
    notebook.run("def one():\n    pass\nkeep(one, chapter=3)\nkeep(one, chapter=1)")
    assert _run(folder).stdout == "mine\n"


def test_a_broken_file_is_kept_aside_and_its_good_parts_are_carried_over(notebook, folder, harness):
    notebook.run("def one():\n    pass\n\ndef two():\n    pass\nkeep(one, chapter=1)")
    path = folder / "my_harness.py"
    broken = path.read_text() + "\ndef mine(:\n"
    path.write_text(broken)
    kept = notebook.run("kept = keep(two, chapter=3)")["kept"]
    line = len(broken.splitlines())
    assert f"had a syntax error in line {line}. Yours is now my_harness.broken-1.py" in repr(kept)
    assert (folder / "my_harness.broken-1.py").read_text() == broken
    assert "def one" in harness() and "def two" in harness()


def test_a_file_that_is_not_text_is_kept_aside_too(notebook, folder):
    (folder / "my_harness.py").write_bytes(b"\xff\xfe\x00")
    notebook.run("def one():\n    pass\nkeep(one, chapter=1)")
    assert (folder / "my_harness.broken-1.py").read_bytes() == b"\xff\xfe\x00"


def test_a_part_without_its_end_is_copied_aside_before_it_is_replaced(notebook, folder):
    notebook.run("def one():\n    pass\nkeep(one, chapter=1)")
    path = folder / "my_harness.py"
    text = path.read_text().replace("# --- end of chapter 01 ---", "mine = 1")
    path.write_text(text)
    kept = notebook.run("kept = keep(one, chapter=1)")["kept"]
    assert "The closing line of 01 was missing" in repr(kept)
    assert (folder / "my_harness.broken-1.py").read_text() == text


def test_a_folder_that_cannot_be_written_is_one_clear_line(notebook, folder, monkeypatch):
    (folder / "file").write_text("")
    monkeypatch.setenv("AGENTLAB_HARNESS_DIR", str(folder / "file" / "inside"))
    with pytest.raises(CourseError, match=r"cannot (read|write) my_harness\.py: "):
        notebook.run("def one():\n    pass\nkeep(one, chapter=1)")


def test_a_missing_folder_is_made_and_no_part_file_is_left(notebook, folder, monkeypatch):
    monkeypatch.setenv("AGENTLAB_HARNESS_DIR", str(folder / "new" / "one"))
    notebook.run("def one():\n    pass\nkeep(one, chapter=1)")
    assert [p.name for p in (folder / "new" / "one").iterdir()] == ["my_harness.py"]


def test_builds_and_tests_get_an_empty_folder_of_their_own(monkeypatch):
    monkeypatch.setenv("AGENTLAB_HARNESS_DIR", FRESH)
    assert harness_path() == harness_path()
    assert not harness_path().exists() and harness_path().parent.is_dir()


def test_in_a_script_the_source_comes_from_the_script(folder):
    script = folder / "script.py"
    script.write_text(
        "from agentlab.course import keep\nimport json\n\nLIMIT = 2\n\n\n"
        "def one():\n    return json.dumps(LIMIT)\n\n\nprint(keep(one, chapter=1))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "my_harness.py, chapter 01: one"


NAMES = st.sampled_from(["alpha", "beta", "gamma", "delta"])
BODIES = st.lists(st.tuples(NAMES, st.lists(NAMES, max_size=2)), min_size=1, max_size=4)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(BODIES, st.sampled_from([1, 2, 3]))
def test_whatever_calls_whatever_the_file_has_every_name_it_needs(
    notebook, harness, bodies, number
):
    harness.__self__.unlink(missing_ok=True)
    for name in ("alpha", "beta", "gamma", "delta"):
        notebook.run(f"def {name}():\n    return '{name}'")
    for name, used in bodies:
        notebook.run(f"def {name}():\n    return [{', '.join(used)}]")
    keep_last = f"keep({bodies[-1][0]}, chapter={number}, main={bodies[-1][0]})"
    notebook.run(keep_last)
    first = harness()
    assert needed(first) == set()
    notebook.run(keep_last)
    assert harness() == first


def test_the_courses_own_pieces_make_a_file_that_runs_on_the_simulator(notebook, folder):
    notebook.run("def unused():\n    pass\nkeep(unused, chapter=2)")
    lab = connect()
    env = {"ANTHROPIC_BASE_URL": lab.base_url, "ANTHROPIC_API_KEY": "any"}
    done = _run(folder, TASK, **env)
    assert done.returncode == 0, done.stderr
    assert "asks for current_time" in done.stdout
    assert "[completed after 3 turns" in done.stdout


def test_every_reference_piece_needs_only_the_library_and_other_pieces():
    for chapter in range(21):
        for piece in reference.pieces_of(chapter).values():
            for name in needed(piece.source):
                origin = piece.imports.get(name)
                known = reference.find(name, chapter)
                assert known or origin, f"{piece.name} needs {name}"
                if not known:
                    assert origin.standard or origin.top == "anthropic", f"{piece.name}: {origin}"
