"""The sample projects: each has what its README says there is to find, to mend or to add."""

import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from agentlab.course.workspaces import workspace
from agentlab.resources import data_path
from agentlab.toolbox import toolbox

SAMPLES = sorted(p.name for p in data_path("workspaces").iterdir() if p.is_dir())


@pytest.fixture
def sample(request):
    """``sample(name)``: a copy, and the tools on it."""
    made = []

    def make(name):
        made.append(workspace(name))
        return made[-1], {t.name: t.function for t in toolbox(made[-1])}

    yield make
    for folder in made:
        folder.remove()


def python(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-B", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_there_are_quickstart_and_six_more():
    more = ["crossings", "ledger", "lending", "letters", "postcards", "recipes"]
    assert sorted([*more, "quickstart"]) == SAMPLES


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_is_small_and_says_what_it_is(name):
    files = [p for p in data_path("workspaces", name).rglob("*") if p.is_file()]
    assert (data_path("workspaces", name) / "README.md").read_text("utf-8").startswith("# ")
    assert len(files) < 12 and sum(p.stat().st_size for p in files) < 10_000


def test_lending_has_one_failing_test_and_one_cause(sample):
    folder, tools = sample("lending")
    code, said = python(folder, "-m", "unittest")
    assert code and "FAILED (failures=1)" in said and "back_on_its_day" in said
    tools["Read"](file_path="lending.py")
    tools["Edit"](file_path="lending.py", old_string="- DAYS + 1", new_string="- DAYS")
    assert python(folder, "-m", "unittest")[0] == 0


def test_ledger_has_one_entry_that_differs(sample):
    folder, tools = sample("ledger")
    readme = (folder / "README.md").read_text("utf-8")
    _, said = python(folder, "balance.py")
    books, bank = re.findall(r"\d+\.\d\d", said)[:2]
    assert f"the books say {books}" in readme and f"the bank says {bank}" in readme
    assert "264.50" in tools["Grep"](pattern="Concert, tickets")
    assert "246.50" in tools["Grep"](pattern="2026-10-18", path="bank.csv")
    text = (folder / "books" / "october.csv").read_text("utf-8").replace("264.50", "246.50")
    tools["Read"](file_path="books/october.csv")
    tools["Write"](file_path="books/october.csv", content=text)
    assert "difference 0.00" in python(folder, "balance.py")[1]


def test_the_last_letter_that_says_so_is_right_about_the_key(sample):
    folder, tools = sample("letters")
    names = tools["Glob"](pattern="letters/*.txt").split("\n")
    dated = {
        datetime.strptime((folder / n).read_text("utf-8").split("\n")[0], "%d %B %Y"): n
        for n in names
    }
    assert len(dated) == 8
    assert "barometer" in (folder / dated[max(dated)]).read_text("utf-8")
    assert len(tools["Grep"](pattern="tea tin|well\\s*house|clock case").split("\n")) > 4


def test_postcards_are_changed_without_touching_another_byte(sample):
    folder, tools = sample("postcards")
    cards = tools["Glob"](pattern="cards/*").split("\n")
    assert len(cards) == 5
    for card in cards:
        assert "555-0142" in tools["Read"](file_path=card)
        tools["Edit"](file_path=card, old_string="555-0142", new_string="555-0199")
    assert python(folder, "check.py")[1].count("done") == 5
    first = Path(folder, cards[0])
    first.write_bytes(first.read_bytes().replace(b"\r\n", b"\n"))
    assert "damaged" in python(folder, "check.py")[1]


def test_recipes_have_a_list_to_add_and_the_readme_shows_two_lines_of_it(sample):
    folder, _ = sample("recipes")
    assert python(folder, "-m", "unittest")[0] == 0
    amounts = {}
    for dish in (folder / "dishes").iterdir():
        code, said = python(folder, "scale.py", f"dishes/{dish.name}", "10")
        assert code == 0
        for line in said.splitlines():
            amount, _, name = line.partition(" ")
            amounts[name] = amounts.get(name, 0) + float(amount)
    readme = (folder / "README.md").read_text("utf-8")
    assert f"onion: {amounts['onion']:g}\n" in readme
    assert f"lentils: {amounts['g lentils']:g} g\n" in readme
    assert not (folder / "shopping.py").exists()
