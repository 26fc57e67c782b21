"""`workspace` gives a fresh copy that shows itself without its temporary path."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentlab.course import workspaces
from agentlab.course.shown import CourseError
from agentlab.course.workspaces import workspace


@pytest.fixture(autouse=True)
def samples(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "workspaces" / "quickstart"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "a.md").write_text("alpha")
    monkeypatch.setattr(workspaces, "data_path", tmp_path.joinpath("data").joinpath)
    return folder


def test_it_is_a_path_to_a_copy_of_the_sample(samples):
    with workspace() as folder:
        assert isinstance(folder, Path)
        assert (folder / "notes" / "a.md").read_text() == "alpha"
        (folder / "notes" / "a.md").write_text("changed")
        assert os.path.isdir(folder)
    assert (samples / "notes" / "a.md").read_text() == "alpha"


def test_each_call_makes_a_new_copy():
    with workspace() as one, workspace() as other:
        (one / "b.txt").write_text("b")
        assert not (other / "b.txt").exists()


def test_no_repr_shows_the_temporary_path():
    with workspace() as folder:
        assert repr(folder) == "workspace('quickstart')"
        assert repr(folder / "notes" / "a.md") == "workspace('quickstart') / 'notes/a.md'"
        assert repr([p for p in folder.iterdir()]) == "[workspace('quickstart') / 'notes']"
        assert repr(folder.resolve()) == "workspace('quickstart')"
        assert "agentlab-" in repr(folder.parent)


def test_leaving_the_block_removes_the_copy_and_its_folder():
    with workspace() as folder:
        parent = Path(str(folder)).parent
    assert not parent.exists()
    folder.remove()  # a second time is harmless


def test_removing_a_path_inside_does_nothing():
    with workspace() as folder:
        (folder / "notes").remove()
        assert (folder / "notes").exists()


def test_copies_are_gone_when_the_process_ends():
    code = """
import pathlib, tempfile
from agentlab.course.workspaces import _roots
copy = pathlib.Path(tempfile.mkdtemp()).resolve() / "x"
copy.mkdir()
_roots[str(copy)] = "x"
print(copy)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() and not Path(done.stdout.strip()).parent.exists()


@pytest.mark.parametrize("name", ["nothing", "../workspaces/quickstart", "", "."])
def test_an_unknown_name_lists_the_known_ones(name):
    with pytest.raises(CourseError, match="there is: quickstart"):
        workspace(name)
