"""Every exercise of every chapter: its solution, its stub, its hints, its broken answers."""

import ast
import re

import pytest

from agentlab.course.checking import check
from agentlab.course.exercises import load_all

EXERCISES = load_all()
BROKEN = [(e, how) for e in EXERCISES.values() for how in e.broken]
each = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))


@each
def test_the_solution_passes_as_a_learner_would_run_it(exercise, notebook):
    notebook.run(exercise.solution)
    assert repr(check(exercise.id, notebook[exercise.name])).endswith(
        f"all {len(exercise.cases)} cases"
    )


@each
def test_the_stub_runs_alone_and_is_quiet(exercise, notebook):
    notebook.run(exercise.stub)
    assert repr(check(exercise.id, notebook[exercise.name])) == f"{exercise.id} not attempted yet"


@each
def test_the_stub_gives_nothing_away_but_the_signature(exercise):
    stub, solution = (ast.parse(text).body[-1] for text in (exercise.stub, exercise.solution))
    assert ast.dump(stub.args) == ast.dump(solution.args)
    assert len(stub.body) == (2 if ast.get_docstring(stub) else 1)


@pytest.mark.parametrize(("exercise", "how"), BROKEN, ids=[f"{e.id} {how}" for e, how in BROKEN])
def test_a_broken_answer_is_caught(exercise, how):
    assert check(exercise.id, exercise.broken[how]).status == "failed"


@each
def test_it_has_enough_of_everything(exercise):
    assert re.fullmatch(r"\d\d\.[1-9]", exercise.id)
    assert len(exercise.hints) >= 2
    assert len(exercise.broken) >= 2
    assert len({case.says for case in exercise.cases}) == len(exercise.cases) >= 3


@each
def test_it_fits_on_a_projector(exercise):
    for text in (exercise.stub, exercise.solution):
        assert max(map(len, text.splitlines())) <= 88


def test_no_case_is_there_for_nothing():
    """Every exercise has a case that only some broken answer fails, beyond the first one."""
    for exercise in EXERCISES.values():
        caught = {
            repr(check(exercise.id, function)).splitlines()[0]
            for function in exercise.broken.values()
        }
        assert len(caught) >= 2, f"{exercise.id}: one case catches every broken answer"
