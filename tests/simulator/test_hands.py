"""Hands and calls together: the scenarios of chapters 03 and 04, against real files and a shell."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab.models import default_model
from agentlab.resources import data_path
from agentlab.simulator.playback import play
from agentlab.simulator.prefix import chain
from agentlab.simulator.rehearsal import Rehearsal, rehearse
from agentlab.simulator.scenario import get, opening
from agentlab.simulator.scenarios.descriptions import GREETING, says_what_it_is_for
from agentlab.simulator.spelling import VOCABULARY, find_slip
from agentlab.toolbox import calculate

RAIN = "# Rain\n\nRain is read at seven in the mornign and belongs to the day\nbefore.\n"
WIND = "one two three four five"


class Folder:
    """A real folder, and plain tools for it."""

    def __init__(self, path, shell="sh"):
        self.path, self.shell = path, shell
        (path / "notes").mkdir()
        (path / "notes" / "rain.md").write_text(RAIN)
        (path / "notes" / "wind.md").write_text(WIND)
        (path / "notes" / "people.md").write_text("Ada Bruno")

    def text(self, name):
        return (self.path / name).read_text()

    def read(self, file_path):
        return self.text(file_path)

    def write(self, file_path, content):
        return f"Wrote {(self.path / file_path).write_text(content)} characters."

    def edit(self, file_path, old_string, new_string):
        before = self.text(file_path)
        if before.count(old_string) != 1:
            raise ValueError(f"old_string occurs {before.count(old_string)} times")
        (self.path / file_path).write_text(before.replace(old_string, new_string))
        return "Edited."

    def bash(self, command):
        environment = {**os.environ, "PATH": f"{self.path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(
            [self.shell, "-c", command],
            cwd=self.path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return f"exit code: {done.returncode}\n{done.stdout}{done.stderr}"


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path)
    (tmp_path / "bin").mkdir()
    for name in ("python", "python3"):
        (tmp_path / "bin" / name).symlink_to(sys.executable)
    return made


def names(talk):
    return [name for name, _ in talk.calls]


def offered(name, description, **properties):
    kinds = {key: {"type": kind} for key, kind in properties.items()}
    schema = {"type": "object", "properties": kinds, "required": list(kinds)}
    return {"name": name, "description": description, "input_schema": schema}


def reply(task, tools):
    body = {
        "model": default_model(),
        "max_tokens": 4096,
        "tools": tools,
        "messages": [{"role": "user", "content": task}],
    }
    return [b for b in play(body, chain(body)).content if b["type"] == "tool_use"]


def conversation(task, functions, definitions):
    """As `rehearse`, with definitions of the test's own."""
    talk = Rehearsal([{"role": "user", "content": task}])
    while True:
        body = {
            "model": default_model(),
            "max_tokens": 4096,
            "tools": definitions,
            "messages": talk.messages,
        }
        played = play(body, chain(body))
        talk.played.append(played)
        talk.messages.append({"role": "assistant", "content": played.content})
        results = [answer(b, functions) for b in played.content if b["type"] == "tool_use"]
        if not results:
            return talk
        talk.messages.append({"role": "user", "content": results})


def answer(call, functions):
    result = {"type": "tool_result", "tool_use_id": call["id"]}
    try:
        return {**result, "content": functions[call["name"]](**call["input"])}
    except Exception as error:
        return {**result, "content": str(error), "is_error": True}


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("Fix the typo in notes/rain.md", "poet"),
        ("Correggi il refuso in notes/rain.md", "poet"),
        ("Write hello.py, which prints a greeting, and run it.", "descriptions"),
        ("Scrivi hello.py, che stampa un saluto, ed eseguilo.", "descriptions"),
        ("How many words does notes/wind.md have?", "clumsy"),
        ("Quante parole ha notes/wind.md?", "clumsy"),
        ("Work out what formula.txt says", "formula"),
        ("Calcola quello che dice formula.txt", "formula"),
        ("Read notes/people.md, notes/rain.md and notes/wind.md, then add today's reading",
         "readings"),
        ("Leggi notes/people.md, notes/rain.md e notes/wind.md, poi aggiungi la lettura di oggi",
         "readings"),
        ("Book these five payments", "ledger"),
        ("Registra questi cinque pagamenti: 1, 2, 3, 4 e 5", "ledger"),
    ],
)  # fmt: skip
def test_each_is_opened_in_english_and_italian(prompt, name):
    assert opening(prompt).name == name


@pytest.mark.parametrize(
    "prompt", ["How many words does notes/rain.md have?", "Write hello.txt", "Read formula.txt"]
)
def test_what_is_asked_otherwise_is_left_alone(prompt):
    assert opening(prompt) is None


# the poet


def test_the_poet_has_no_hands():
    talk = rehearse("Fix the typo in notes/rain.md.", {})
    assert talk.calls == [] and "no hands" in talk.text and "notes/rain.md" in talk.text
    assert "non ho mani" in rehearse("Correggi il refuso in notes/rain.md.", {}).text


def test_with_hands_the_typo_is_gone_and_nothing_else(folder):
    tools = {"Read": folder.read, "Edit": folder.edit}
    talk = rehearse("Fix the typo in notes/rain.md.", tools)
    assert names(talk) == ["Read", "Edit"]
    assert folder.text("notes/rain.md") == RAIN.replace("mornign", "morning")
    assert talk.text == "Fixed in notes/rain.md: 'mornign' is 'morning' now."


def test_a_write_tool_will_do(folder):
    rehearse("Fix the typo in notes/rain.md.", {"Read": folder.read, "Write": folder.write})
    assert folder.text("notes/rain.md") == RAIN.replace("mornign", "morning")


def test_the_poet_says_what_it_saw_and_could_not_do(folder):
    task = "Fix the typo in notes/rain.md."
    talk = rehearse(task, {"Read": folder.read})
    assert "'mornign' should be 'morning'" in talk.text and "offered nothing to change" in talk.text
    tools = {"Read": folder.read, "Edit": lambda file_path, old_string, new_string: 1 / 0}
    assert "It is still there: division by zero" in rehearse(task, tools).text
    (folder.path / "notes" / "rain.md").write_text("All is well.")
    talk = rehearse(task, {"Read": folder.read, "Edit": folder.edit})
    assert names(talk) == ["Read"] and "see no typo" in talk.text


@pytest.mark.parametrize(
    ("text", "slip"),
    [
        ("at seven in the mornign", ("mornign", "morning")),
        ("Teh gauge", ("Teh", "The")),
        ("a storm storm came", ("storm storm", "storm")),
        ("no one wsa there", None),
        ("a foreign design", None),
        ("the whoel storm, thursdya", ("thursdya", "thursday")),
    ],
)
def test_slips_that_are_found(text, slip):
    assert find_slip(text) == slip


@given(st.sampled_from(sorted(w for w in VOCABULARY if len(w) > 5)), st.data())
def test_two_inner_letters_that_changed_places_are_put_back(word, data):
    at = data.draw(st.integers(1, len(word) - 2))
    slip = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    found = find_slip(f"The {slip} is here.")
    assert found == (None if slip == word else (slip, word)) or slip in VOCABULARY


def test_the_sample_workspaces_have_no_slips():
    for path in data_path("workspaces").rglob("*.md"):
        assert find_slip(path.read_text("utf-8")) is None, path


# descriptions

VAGUE = "Runs bash."
SPECIFIC = "Run a shell command. Do not use it to create files: use Write for that."
HELLO = "Write hello.py, which prints a greeting, and run it."


def play_hello(folder, description, tools=("Bash", "Write"), task=HELLO):
    functions = {"Bash": folder.bash, "Write": folder.write}
    functions = {name: functions[name] for name in tools}
    shell = offered("Bash", description, command="string")
    write = offered("Write", "Create or overwrite a file.", file_path="string", content="string")
    sent = [tool for tool in (shell, write) if tool["name"] in tools]
    return conversation(task, functions, sent)


@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell is what this is about")
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_vague_description_costs_turns_with_a_real_shell(tmp_path, shell, folder):
    folder.shell = shell
    vague = play_hello(folder, VAGUE)
    assert names(vague) == ["Bash"] * 4
    assert "prints: " + GREETING in vague.text
    errors = [b["content"] for m in vague.messages if m["role"] == "user"
              for b in m["content"] if isinstance(b, dict)]  # fmt: skip
    assert "exit code: 2" in errors[0] or "exit code: 1" in errors[0]  # an open quote
    assert "Hello from !" in errors[1]  # backticks are run
    assert "SyntaxError" in errors[2]  # quotes within quotes
    assert all(errors[n].strip().splitlines()[-1][:40] in str(vague.messages[2 * n + 3])
               for n in range(3))  # fmt: skip
    (folder.path / "hello.py").unlink()
    specific = play_hello(folder, SPECIFIC)
    assert names(specific) == ["Write", "Bash"]
    assert "prints: " + GREETING in specific.text
    assert len(specific.played) <= len(vague.played) - 2


@pytest.mark.parametrize(
    ("description", "specific"),
    [
        ("", False),
        ("Runs bash.", False),
        ("Run a command; returns exit code and output.", False),
        ("Run a shell command and return its output. Lists files.", False),
        ("Write.", False),
        (SPECIFIC, True),
        ("Run scripts and tests. To make something new there is the tool Write.", True),
        ("Esegue un comando. Non usarlo per creare file, c'è uno strumento apposta.", True),
    ],
)
def test_what_makes_a_description_specific(description, specific):
    assert says_what_it_is_for(description, "Write") is specific


def test_python_may_have_another_name(folder):
    (folder.path / "bin" / "python").unlink()
    (folder.path / "bin" / "python").write_text("#!/bin/sh\necho python: not found; exit 127\n")
    (folder.path / "bin" / "python").chmod(0o755)
    talk = play_hello(folder, SPECIFIC)
    assert names(talk) == ["Write", "Bash", "Bash"]
    assert talk.calls[-1][1] == {"command": "python3 hello.py"}
    assert "prints: " + GREETING in talk.text
    talk = play_hello(folder, VAGUE)
    assert names(talk) == ["Bash"] * 5 and "prints: " + GREETING in talk.text


def test_a_shell_that_cannot_do_it_leads_to_the_other_tool_and_to_an_honest_end():
    broken = {
        "run_bash": lambda command: "exit code: 1\nno space left",
        "write_file": lambda path, content: "Wrote it.",
    }
    talk = rehearse(HELLO, broken)
    assert names(talk) == ["run_bash"] * 4 + ["write_file", "run_bash"]
    assert talk.text.endswith("The last I saw was: no space left")
    broken["run_bash"] = lambda command: "no space left\n[exit code 1]"
    assert rehearse(HELLO, broken).text.endswith("The last I saw was: no space left")
    talk = rehearse(HELLO, {"write_file": lambda path, content: "Wrote it."})
    assert names(talk) == ["write_file"] and "would need Bash" in talk.text


# clumsy

WORDS = "How many words does notes/wind.md have?"


def telling(file_path: str = "", limit: str = "", **more):
    if more or not file_path:
        raise ValueError(f"Unknown: {', '.join(more)}. Expected: file_path, limit (a number).")
    assert limit in ("", 200)
    return WIND


def test_told_what_is_expected_it_corrects_itself_at_the_next_turn():
    tool = offered("Read", "Read a text file.", file_path="string", limit="integer")
    tool["input_schema"]["required"] = ["file_path"]
    talk = conversation(WORDS, {"Read": telling}, [tool])
    first, second = talk.calls
    assert "file_path" not in first[1] and first[1]["limit"] == "200"
    assert second == ("Read", {"file_path": "notes/wind.md", "limit": 200})
    assert talk.text == "notes/wind.md has 5 words."


@pytest.mark.parametrize(
    ("name", "argument"),
    [("Read", "file_path"), ("read_file", "path"), ("cat", "filename"), ("read_file", "file")],
)
def test_the_name_is_wrong_whatever_is_right(name, argument):
    tool = offered(name, "Read a text file.", **{argument: "string"})

    def read(**given):
        if list(given) != [argument]:
            raise TypeError(f"{name}() missing 1 required positional argument: '{argument}'")
        return WIND

    talk = conversation(WORDS, {name: read}, [tool])
    assert [list(given) == [argument] for _, given in talk.calls] == [False, True]
    assert talk.text == "notes/wind.md has 5 words."


@pytest.mark.parametrize("says", ["error", "Error", "no", ""])
def test_told_nothing_it_gives_up_and_says_so(says):
    tool = {"name": "Read", "description": "Read.", "input_schema": {"type": "object"}}

    def mumbling(**given):
        raise ValueError(says)

    talk = conversation(WORDS, {"Read": mumbling}, [tool])
    assert len(talk.calls) == 3 and "give up after three attempts" in talk.text
    assert len({str(call) for call in talk.calls}) == 3  # a harness would stop equal ones itself
    assert "words." not in talk.text


def test_a_tool_that_takes_anything_needs_no_second_call():
    tool = {"name": "Read", "input_schema": {"type": "object"}}
    talk = conversation(WORDS, {"Read": lambda **given: WIND}, [tool])
    assert len(talk.calls) == 1 and talk.text == "notes/wind.md has 5 words."


def test_a_second_failure_is_told():
    def read(file_path="", **more):
        raise ValueError("file_path is expected" if more else "notes/wind.md does not exist")

    tool = offered("Read", "", file_path="string")
    talk = conversation(WORDS, {"Read": read}, [tool])
    assert len(talk.calls) == 2 and talk.text.endswith("notes/wind.md does not exist")


# formula


@pytest.mark.parametrize(
    ("says", "answer"),
    [("2 * (3 + 4)\n", "formula.txt comes to: 14"),
     ("__import__('os').system('x')", "The calculator refused it: Only numbers"),
     ("9**9**9", "The calculator refused it: ")],
)  # fmt: skip
def test_formula_passes_on_what_it_reads(says, answer):
    tools = {"Read": lambda file_path: says, "Calculator": lambda expression: calculate(expression)}
    talk = rehearse("Work out what formula.txt says.", tools)
    assert talk.calls[1] == ("Calculator", {"expression": says.strip()})
    assert talk.text.startswith(answer)


def test_formula_without_its_file_calculates_nothing():
    talk = rehearse("Work out what formula.txt says.", {"Read": lambda file_path: 1 / 0,
                    "Calculator": lambda expression: "1"})  # fmt: skip
    assert names(talk) == ["Read"] and "could not read formula.txt" in talk.text


# readings

TASK = "Read notes/people.md, notes/rain.md and notes/wind.md, then add today's reading."


def test_readings_asks_for_three_reads_and_a_write_in_one_turn(folder):
    (folder.path / "data.csv").write_text("day,min_c,max_c,rain_mm,read_by\n")

    def add_reading(line):
        with (folder.path / "data.csv").open("a") as file:
            file.write(line + "\n")
        return "added"

    talk = rehearse(TASK, {"Read": folder.read, "add_reading": add_reading})
    assert [len([b for b in p.content if b["type"] == "tool_use"]) for p in talk.played] == [
        4,
        1,
        0,
    ]
    assert names(talk) == ["Read", "Read", "Read", "add_reading", "Read"]
    assert talk.calls[-1][1] == {"file_path": "data.csv"}
    last = folder.text("data.csv").splitlines()[-1]
    assert repr(last) in talk.text and "notes/wind.md: 5 words" in talk.text


def test_readings_makes_do_with_a_write_tool_or_none(folder):
    talk = rehearse(TASK, {"Read": folder.read, "Write": folder.write})
    assert names(talk)[3:] == ["Write", "Read"] and "4.2 mm" in folder.text("notes/today.md")
    talk = rehearse(TASK, {"Read": folder.read})
    assert names(talk) == ["Read"] * 3 and "is not added" in talk.text


def test_readings_fills_in_what_the_tool_asks_for():
    tool = offered("add_reading", "Add a reading to data.csv.", day="string", rain_mm="number")
    read = offered("Read", "Read a file.", file_path="string")
    calls = reply(TASK, [read, tool])
    assert calls[3]["input"] == {"day": "2026-11-30", "rain_mm": 4.2}


def test_readings_says_what_went_wrong(folder):
    def add_reading(line):
        raise OSError("disk full")

    talk = rehearse(TASK, {"Read": folder.read, "add_reading": add_reading})
    assert len(talk.played) == 2 and "not added: disk full" in talk.text


# ledger


def book(lines, forget=()):
    def booked(line):
        if line not in forget:
            lines.append(line)
        return "booked"

    return {"book": booked, "Read": lambda file_path: "\n".join(lines) or "(the file is empty)"}


def test_ledger_books_five_payments_in_one_turn_and_looks():
    talk = rehearse(get("ledger").example, book([]))
    assert names(talk) == ["book"] * 5 + ["Read"] and len(talk.played) == 3
    assert talk.text.endswith("ledger.txt really holds 5 lines; none is missing.")


def test_ledger_is_not_fooled_by_what_the_tools_said():
    talk = rehearse(get("ledger").example, book([], forget=("Ada 12", "Cleo 7")))
    assert talk.text == (
        "5 of 5 calls said that they were booked. "
        "ledger.txt really holds 3 lines; missing: Ada 12, Cleo 7."
    )
    talk = rehearse(
        get("ledger").example, {"book": lambda line: "booked", "Read": lambda file_path: ""}
    )
    assert "holds 0 lines" in talk.text


def test_ledger_books_what_the_task_says():
    numbers = offered("book", "Book one payment.", payment="integer")
    read = offered("Read", "Read a file.", file_path="string")
    calls = reply("Book these five payments: 1, 2, 3, 4 and 5.", [numbers, read])
    assert [c["input"] for c in calls] == [{"payment": n} for n in range(1, 6)]
    pairs = offered("add_line", "Add a line.", payee="string", amount="number")
    calls = reply("Book these five payments: Al 1.5, Bo 2, Cy 3, Di 4, Ed 5", [pairs, read])
    assert calls[0]["input"] == {"payee": "Al", "amount": 1.5}
    assert {c["name"] for c in calls} == {"add_line"} and len(calls) == 5


def test_ledger_says_if_it_could_not_look():
    tools = {"book": lambda line: 1 / 0, "Read": lambda file_path: 1 / 0}
    talk = rehearse("Book these five payments", tools)
    assert talk.text.startswith("0 of 5 calls") and "could not look" in talk.text
