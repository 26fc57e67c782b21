"""What must hold of every chapter that is marked available."""

import os
import subprocess
import sys

import pytest

from agentlab import connect
from agentlab.course import build, index, lint
from agentlab.course import chapter_files as files
from agentlab.course.chapters import available
from agentlab.course.keeping import FILE

STEMS = [chapter.stem for chapter in available()]
TASK = "How many minutes have passed since midnight?"


def test_lint_finds_nothing():
    assert lint.lint() == []


def test_readme_and_headers_agree_with_the_index():
    assert [path.name for path, _ in index.stale()] == []


@pytest.mark.parametrize("stem", STEMS)
def test_a_rebuild_gives_the_same_bytes(stem):
    assert build.check(files.script(stem[:2])) == ""


@pytest.mark.parametrize("stem", STEMS)
def test_the_solutions_pass_in_the_notebook(stem, solved):
    chapters, _ = solved
    notebook, ids = chapters[stem[:2]]
    assert ids
    outputs = "\n".join(
        output.data["text/plain"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "data" in output
    )
    for exercise_id in ids:
        assert f"{exercise_id} passed: all" in outputs


def test_the_file_that_the_chapters_keep_runs_with_anthropic_alone(solved, tmp_path):
    _, folder = solved
    text = (folder / FILE).read_text("utf-8")
    for chapter in available():
        if chapter.number:
            assert f"# --- chapter {chapter.key}: " in text
    (tmp_path / "agentlab.py").write_text("raise ImportError('agentlab is not needed')")
    done = subprocess.run(
        [sys.executable, str(folder / FILE), TASK],
        env=os.environ
        | {
            "PYTHONPATH": str(tmp_path),
            "ANTHROPIC_BASE_URL": connect().base_url,
            "ANTHROPIC_API_KEY": "not used",
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "current_time" in done.stdout and "calculator" in done.stdout
    assert "completed after 3 turns" in done.stdout


def test_the_kept_file_is_the_learners_own_and_not_the_courses(solved):
    """Only what no chapter builds by itself may come from the course."""
    _, folder = solved
    text = (folder / FILE).read_text("utf-8")
    theirs = [line for line in text.splitlines() if line.startswith("# The course's version")]
    assert len(theirs) <= 3
