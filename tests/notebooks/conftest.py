"""All chapters, executed once in their order, with the solutions in the exercise cells."""

import ast

import pytest

from agentlab.course import chapter_files as files
from agentlab.course import exercises
from agentlab.course.executing import execute


def with_solutions(notebook):
    """Put each solution in the place of its stub; returns the ids of the exercises solved."""
    solved = []
    for cell in notebook.cells:
        for tag in cell.metadata.get("tags", ()):
            if tag.startswith("exercise-"):
                exercise = exercises.find(tag.removeprefix("exercise-").replace("-", "."))
                cell.source = replaced(cell.source, exercise.name, exercise.solution)
                solved.append(exercise.id)
    return solved


def replaced(source, name, solution):
    """The cell with another definition of ``name``; what else stands in it stays."""
    (node,) = (n for n in ast.parse(source).body if getattr(n, "name", None) == name)
    lines = source.splitlines()
    return "\n".join([*lines[: node.lineno - 1], solution, *lines[node.end_lineno :]])


@pytest.fixture(scope="session")
def solved(tmp_path_factory):
    """(notebook, ids of its exercises) by chapter, and the folder with the file they kept."""
    folder = tmp_path_factory.mktemp("harness")
    done = {}
    for key, path in files.scripts().items():
        notebook = files.read_script(path)
        ids = with_solutions(notebook)
        execute(notebook, path.stem, harness_dir=str(folder))
        done[key] = (notebook, ids)
    return done, folder
