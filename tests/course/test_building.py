"""The build: the same bytes every time, and a clear message when a cell fails."""

import json

import pytest

from agentlab.course import build
from agentlab.course import chapter_files as files
from agentlab.course.executing import LIVE, normalise, steady_environment
from agentlab.course.shown import CourseError

SCRIPT = """\
# %% [markdown] tags=["core"]
# # 02 · A sample
#
# Words.

# %% tags=["core"]
import os
import ipywidgets

print("one", end="")
print(" line")
ipywidgets.IntSlider()

# %% tags=["core", "raises-exception"]
raise ValueError("as asked")

# %% tags=["more"]
async def wait():
    return os.environ.get("ANTHROPIC_API_KEY"), os.environ["AGENTLAB_STATIC_VIEWS"]


await wait()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebooks")
    (folder / "src").mkdir()
    (folder / "src" / "02_loop.py").write_text(SCRIPT)
    return folder


@pytest.fixture(scope="module")
def stored(folder):
    """The notebook of the script, built once."""
    assert build.main(["2"], folder) == 0
    return json.loads((folder / "02_loop.ipynb").read_text("utf-8"))


def test_counts_ids_and_tags_are_the_chapters(stored):
    cells = stored["cells"]
    assert [cell["id"] for cell in cells] == ["02-00", "02-01", "02-02", "02-03"]
    assert [cell.get("execution_count") for cell in cells] == [None, 1, 2, 3]
    assert [cell["metadata"]["tags"] for cell in cells][2] == ["core", "raises-exception"]
    assert set(stored["metadata"]) == {"kernelspec", "language_info"}


def test_streams_are_joined_and_widget_views_left_out(stored):
    stream, widget = stored["cells"][1]["outputs"]
    assert "".join(stream["text"]) == "one line\n"
    assert set(widget["data"]) == {"text/plain"}


def test_a_traceback_is_one_line(stored):
    (error,) = stored["cells"][2]["outputs"]
    assert error["traceback"] == ["ValueError: as asked"]


def test_the_kernel_has_no_key_and_shows_static_views(stored, monkeypatch):
    assert stored["cells"][3]["outputs"][0]["data"]["text/plain"] == ["(None, '1')"]


def test_a_rebuild_is_byte_for_byte_the_same(folder, stored, monkeypatch, capsys):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key that must not be seen")
    monkeypatch.setenv("AGENTLAB_STATIC_VIEWS", "0")
    assert build.main(["--check"], folder) == 0
    assert "02_loop" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [("as asked", "as told", "as told"), ("\n", "\r\n", "only line ends differ")],
)
def test_a_notebook_that_is_out_of_date_is_shown(folder, stored, capsys, before, after, shown):
    path = folder / "02_loop.ipynb"
    original = path.read_bytes()
    path.write_bytes(original.replace(before.encode(), after.encode()))
    try:
        assert build.main(["--check", "02"], folder) == 1
    finally:
        path.write_bytes(original)
    out = capsys.readouterr().out
    assert "differs" in out and shown in out


def test_a_notebook_goes_back_to_the_very_same_script(folder, stored):
    path = folder / "src" / "02_loop.py"
    assert build.main(["--from-notebook", "2"], folder) == 0
    assert path.read_text() == SCRIPT


def test_a_missing_notebook_says_how_to_build_it(folder, capsys):
    (folder / "src" / "01_messages.py").write_text("# %%\n1\n")
    try:
        assert build.main(["--check", "1"], folder) == 1
    finally:
        (folder / "src" / "01_messages.py").unlink()
    assert (
        "01_messages.ipynb is missing: python -m agentlab.course.build 01"
        in capsys.readouterr().out
    )


def test_a_failing_cell_is_shown_with_its_source_and_writes_nothing(tmp_path, capsys):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "01_messages.py").write_text("# %%\nx = 1\n\n# %%\ny = x + nothing\n")
    assert build.main([], tmp_path) == 1
    out = capsys.readouterr().out
    assert "01_messages, cell 1 failed: NameError: name 'nothing' is not defined" in out
    assert "    y = x + nothing" in out
    assert not (tmp_path / "01_messages.ipynb").exists()


def test_an_unknown_chapter_is_bad_usage(folder, capsys):
    assert build.main(["17"], folder) == 2
    assert "no script for chapter 17; there is: 02" in capsys.readouterr().err
    assert build.main(["--from-notebook", "17"], folder) == 2


def test_a_file_that_is_no_notebook_says_so(tmp_path):
    (tmp_path / "02_loop.ipynb").write_text("nothing of the kind")
    with pytest.raises(CourseError, match=r"02_loop\.ipynb is not a notebook"):
        build.from_notebook("02", tmp_path)


def test_the_environment_of_a_kernel_has_nothing_that_could_cost_money(monkeypatch):
    for name in LIVE:
        monkeypatch.setenv(name, "set")
    assert not set(LIVE) & set(steady_environment())


def test_normalising_twice_changes_nothing(folder, stored):
    import nbformat

    text = (folder / "02_loop.ipynb").read_text("utf-8")
    assert normalise(nbformat.reads(text, as_version=4), "02") == text


def test_a_script_survives_the_way_to_a_notebook_and_back():
    for path in files.scripts().values():
        text = path.read_text("utf-8")
        assert files.script_text(files.read_script(path)).rstrip() == text.rstrip()
