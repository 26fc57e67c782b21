"""The improviser: what it understands, with which tools, and that it answers only from results."""

import ast
import operator
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab.simulator.improviser import is_nudge, understands
from agentlab.simulator.intents import find_intents
from agentlab.simulator.playback import play
from agentlab.simulator.prefix import chain
from agentlab.simulator.rehearsal import rehearse

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
}


def calculate(expression):
    def value(node):
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        return -value(node.operand) if isinstance(node, ast.UnaryOp) else node.value

    result = value(ast.parse(expression, mode="eval").body)
    return str(int(result)) if result == int(result) else str(result)


def toolbox(files=None):
    files = {"a.txt": "one two three", "b.txt": "four five", **(files or {})}

    def read(file_path):
        if file_path not in files:
            raise FileNotFoundError(f"{file_path} does not exist.")
        return files[file_path]

    def write(file_path, content):
        files[file_path] = content
        return f"Wrote {len(content)} characters."

    def grep(pattern, path="."):
        hits = [f"{n}:1: {t}" for n, t in sorted(files.items()) if re.search(pattern, t)]
        return "\n".join(hits) or f"No line matches {pattern!r}."

    return {
        "Read": read,
        "Write": write,
        "LS": lambda path=".": "\n".join(sorted(files)),
        "Grep": grep,
        "Glob": lambda pattern: "a.txt",
        "Calculator": lambda expression: calculate(expression),
        "Clock": lambda: "2026-11-30T09:17+00:00",
        "Bash": lambda command: f"exit code: 0\nran {command}",
    }


def calc(expression):
    return ("Calculator", {"expression": expression})


def read(path):
    return ("Read", {"file_path": path})


def ls(path=""):
    return ("LS", {"path": path} if path else {})


def grep(pattern, path=""):
    return ("Grep", {"pattern": pattern, **({"path": path} if path else {})})


def write(path, content):
    return ("Write", {"file_path": path, "content": content})


def bash(command):
    return ("Bash", {"command": command})


CLOCK = ("Clock", {})

PROMPTS = [
    # arithmetic
    ("what is 17*23", [calc("17 * 23")]),
    ("What's 17 * 23?", [calc("17 * 23")]),
    ("17*23", [calc("17 * 23")]),
    ("quanto fa 12 più 30", [calc("12 + 30")]),
    ("Quanto fa 12 piu 30?", [calc("12 + 30")]),
    ("quanto fa 7 per 8?", [calc("7 * 8")]),
    ("quanto fa 100 diviso 4", [calc("100 / 4")]),
    ("quanto fa 100 meno 58", [calc("100 - 58")]),
    ("how much is 144 divided by 12?", [calc("144 / 12")]),
    ("please calculate (3 + 4) * 5", [calc("(3 + 4) * 5")]),
    ("calcola (3+4)*5 per favore", [calc("(3 + 4) * 5")]),
    ("what is 15% of 80?", [calc("15 / 100 * 80")]),
    ("quanto è il 15% di 80?", [calc("15 / 100 * 80")]),
    ("quanto fa il 22 per cento di 250", [calc("22 / 100 * 250")]),
    ("what is 100 plus 22%?", [calc("100 * (1 + 22 / 100)")]),
    ("what's the square root of 144", [calc("144 ** 0.5")]),
    ("qual è la radice quadrata di 81?", [calc("81 ** 0.5")]),
    ("12 squared", [calc("12 ** 2")]),
    ("quanto fa 5 al cubo", [calc("5 ** 3")]),
    ("two plus two", [calc("2 + 2")]),
    ("quanto fa due più due?", [calc("2 + 2")]),
    ("what is 3 x 4 minus 2", [calc("3 * 4 - 2")]),
    ("2 ^ 10", [calc("2 ** 10")]),
    ("what is 1,250 + 750?", [calc("1250 + 750")]),
    ("quanto fa 3,5 più 1,5?", [calc("3.5 + 1.5")]),
    ("quanto fa 1.250 per 4?", [calc("1250 * 4")]),
    ("the sum of 3, 4 and 5", [calc("3 + 4 + 5")]),
    ("somma di 10 e 20", [calc("10 + 20")]),
    ("what is the average of 2, 4 and 9?", [calc("(2 + 4 + 9) / 3")]),
    ("multiply 6 by 7", [calc("6 * 7")]),
    ("dividi 90 per 9", [calc("90 / 9")]),
    ("subtract 8 from 50", [calc("50 - 8")]),
    ("what is -5 + 12?", [calc("-5 + 12")]),
    ("what is 3*4 and 5*6?", [calc("3 * 4"), calc("5 * 6")]),
    ("half of 90", [calc("90 / 2")]),
    # reading
    ("read a.txt", [read("a.txt")]),
    ("Read a.txt.", [read("a.txt")]),
    ("Please show me notes/today.md", [read("notes/today.md")]),
    ("what's in a.txt?", [read("a.txt")]),
    ("leggi a.txt", [read("a.txt")]),
    ("Leggi a.txt e b.txt", [read("a.txt"), read("b.txt")]),
    ("mostrami il contenuto di b.txt", [read("b.txt")]),
    ("cosa c'è in a.txt?", [read("a.txt")]),
    ("apri il file notes/today.md per favore", [read("notes/today.md")]),
    ("read a.txt, b.txt and c.txt", [read("a.txt"), read("b.txt"), read("c.txt")]),
    ("how many words are in a.txt?", [read("a.txt")]),
    ("quante righe ha b.txt?", [read("b.txt")]),
    ("open README", [read("README")]),
    ("a.txt", [read("a.txt")]),
    ('read "my notes.txt"', [read("my notes.txt")]),
    ("show me /etc/hosts", [read("/etc/hosts")]),
    # listing
    ("list the files", [ls()]),
    ("ls", [ls()]),
    ("list the files in notes", [ls("notes")]),
    ("what files are there?", [ls()]),
    ("which files are in the folder notes?", [ls("notes")]),
    ("elenca i file", [ls()]),
    ("quali file ci sono nella cartella notes?", [ls("notes")]),
    ("elenca i file in data/", [ls("data")]),
    ("show me the files", [ls()]),
    # searching
    ("find TODO in a.txt", [grep("TODO", "a.txt")]),
    ("find TODO", [grep("TODO")]),
    ("search for rain in notes/", [grep("rain", "notes/")]),
    ("search for 'heavy rain' in all files", [grep("heavy rain")]),
    ("grep TODO", [grep("TODO")]),
    ("cerca TODO", [grep("TODO")]),
    ("cerca la parola pioggia in a.txt", [grep("pioggia", "a.txt")]),
    ("trova tutti i TODO nel progetto", [grep("TODO")]),
    ("which files contain rain?", [grep("rain")]),
    ("where is mean_rain defined?", [grep("mean_rain")]),
    ('search for "f(x)"', [grep(r"f\(x\)")]),
    ("find all python files", [("Glob", {"pattern": "**/*.py"})]),
    ("find *.md", [("Glob", {"pattern": "**/*.md"})]),
    # writing
    ("write hello to x.txt", [write("x.txt", "hello")]),
    ("write 'hello and goodbye' to x.txt", [write("x.txt", "hello and goodbye")]),
    ("save hello world in x.txt", [write("x.txt", "hello world")]),
    ("create a file x.txt with the text hello", [write("x.txt", "hello")]),
    ("create x.txt containing hello", [write("x.txt", "hello")]),
    ("create an empty file x.txt", [write("x.txt", "")]),
    ("scrivi ciao in x.txt", [write("x.txt", "ciao")]),
    ("scrivi 'ciao a tutti' nel file x.txt", [write("x.txt", "ciao a tutti")]),
    ("crea un file x.txt con scritto ciao", [write("x.txt", "ciao")]),
    ("salva ciao in un file chiamato x.txt", [write("x.txt", "ciao")]),
    ("write the result of 6*7 to x.txt", [calc("6 * 7"), write("x.txt", "42")]),
    ("what is 6*7? write the result to x.txt", [calc("6 * 7"), write("x.txt", "42")]),
    ("scrivi il risultato di 6 per 7 in x.txt", [calc("6 * 7"), write("x.txt", "42")]),
    ("write the time to x.txt", [CLOCK, write("x.txt", "2026-11-30T09:17+00:00")]),
    # the time
    ("what time is it?", [CLOCK]),
    ("What's the time?", [CLOCK]),
    ("what is today's date", [CLOCK]),
    ("che ore sono?", [CLOCK]),
    ("che giorno è oggi?", [CLOCK]),
    ("dimmi l'ora", [CLOCK]),
    # a command
    ("run `ls -la`", [bash("ls -la")]),
    ("run python fizzbuzz.py", [bash("python fizzbuzz.py")]),
    ("esegui `wc -l a.txt`", [bash("wc -l a.txt")]),
    # several
    ("read a.txt and b.txt, and what's 3*4?", [read("a.txt"), read("b.txt"), calc("3 * 4")]),
    ("leggi a.txt e dimmi quanto fa 3*4", [read("a.txt"), calc("3 * 4")]),
    ("What time is it, and what is 2+2?", [CLOCK, calc("2 + 2")]),
    ("list the files, then read a.txt", [ls(), read("a.txt")]),
    ("che ore sono e quanto fa 5 per 5?", [CLOCK, calc("5 * 5")]),
    ("Hi! Could you find TODO in a.txt and write done to x.txt?",
     [grep("TODO", "a.txt"), write("x.txt", "done")]),
    ("read a.txt and write me a poem about it", [read("a.txt")]),
    # nothing that it knows
    ("write me a poem", []),
    ("who won the world cup?", []),
    ("delete a.txt", []),
    ("translate a.txt into German", []),
    ("cancella a.txt", []),
    ("explain what an agent harness is", []),
    ("write a story to x.txt", []),
    ("my meeting is on 2026-11-30", []),
    ("use version 3.11.2 please", []),
    ("raccontami una barzelletta", []),
    ("?", []),
    ("1", []),
]  # fmt: skip


@pytest.mark.parametrize(("prompt", "calls"), PROMPTS, ids=[p for p, _ in PROMPTS])
def test_calls_what_the_prompt_asks_for(prompt, calls):
    talk = rehearse(prompt, toolbox())
    assert talk.calls == calls
    assert talk.text.strip()
    assert understands(prompt) == bool(calls)


# answers


def test_a_calculation_is_answered_with_what_the_calculator_said():
    wrong = {"Calculator": lambda expression: "7"}
    assert rehearse("what is 2+2?", wrong).text == "2 + 2 = 7"
    assert (
        rehearse("what is 2+2?", {"calculator": lambda expression: '{"result": 4}'}).text
        == "2 + 2 = 4"
    )


def test_several_wishes_are_one_turn_and_one_answer():
    talk = rehearse("read a.txt and b.txt, and what's 3*4?", toolbox())
    assert [p.stop_reason for p in talk.played] == ["tool_use", "end_turn"]
    assert talk.played[0].content[0]["text"] == "I'll read a.txt, read b.txt and calculate 3 * 4."
    for part in ("a.txt (words: 3, lines: 1) reads:\n> one two three", "> four five", "3 * 4 = 12"):
        assert part in talk.text


def test_the_answer_is_in_the_language_of_the_prompt():
    talk = rehearse("leggi a.txt e dimmi quanto fa 3*4", toolbox())
    assert talk.played[0].content[0]["text"] == "Ora provo a leggere a.txt e calcolare 3 * 4."
    assert "a.txt (parole: 3, righe: 1) dice:" in talk.text
    assert rehearse("che ore sono?", toolbox()).text.endswith("quindi sono le 09:17.")
    assert rehearse("what time is it?", toolbox()).text.endswith("so it is 09:17.")


def test_a_long_file_is_quoted_in_part():
    talk = rehearse(
        "read long.txt", toolbox({"long.txt": "\n".join(f"line {n}" for n in range(500))})
    )
    assert "lines: 500" in talk.text
    assert "> line 11\n> [...]" in talk.text and "line 12" not in talk.text
    talk = rehearse("read wide.txt", toolbox({"wide.txt": "x" * 10_000}))
    assert len(talk.text) < 1_000 and talk.text.endswith("> [...]")


def test_counts_are_those_of_the_text():
    assert rehearse("how many words are in a.txt?", toolbox()).text == "a.txt has 3 words."
    assert (
        rehearse("quante righe ha b.txt?", toolbox({"b.txt": "1\n2\n"})).text == "b.txt ha 2 righe."
    )


def test_nothing_found_is_said():
    tools = {"Grep": lambda pattern: ""}
    assert rehearse("find unicorns", tools).text == "Nothing matches unicorns."


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ("read gone.txt", "I tried to read gone.txt, and it failed:\n> gone.txt does not exist."),
        ("leggi gone.txt", "Ho provato a leggere gone.txt, ma non è riuscito:"),
        ("what is 1/0?", "I tried to calculate 1 / 0, and it failed:\n> division by zero"),
        ("write the result of 1/0 to x.txt", "I wrote nothing to x.txt"),
        ("write the result to x.txt", "I wrote nothing to x.txt"),
    ],
)
def test_errors_are_told(prompt, says):
    assert says in rehearse(prompt, toolbox()).text


def test_an_error_in_words_counts_as_one():
    tools = {"calculator": lambda expression: "errore: sintassi"}
    assert rehearse("quanto fa 2 più 2?", tools).text.startswith(
        "Ho provato a calcolare 2 + 2, ma non"
    )


@pytest.mark.parametrize(
    ("prompt", "tool"),
    [
        ("what is 2+2?", "Calculator"), ("read a.txt", "Read"), ("list the files", "LS"),
        ("find TODO", "Grep"), ("write hello to x.txt", "Write"), ("what time is it?", "Clock"),
        ("run `ls`", "Bash"), ("find *.md", "Glob"),
    ],
)  # fmt: skip
def test_without_a_tool_it_says_which_one_it_would_need(prompt, tool):
    talk = rehearse(prompt, {"Unrelated": lambda: ""})
    assert talk.calls == []
    assert f"I would need a tool such as {tool}. This request offers: Unrelated." in talk.text


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        ("read b.txt", "cat b.txt"),
        ("read 'my notes.txt'", "cat 'my notes.txt'"),
        ("list the files in notes", "ls notes"),
        ("find TODO in a.txt", "grep -rn -e TODO a.txt"),
        ("what time is it?", "date"),
        ("what is 17*23?", "python3 -c 'print(17 * 23)'"),
        ("write hello to x.txt", "printf '%s\\n' hello > x.txt"),
    ],
)
def test_a_shell_does_where_nothing_else_is_offered(prompt, command):
    talk = rehearse(prompt, {"run_bash": lambda command: f"exit code: 0\nran {command}"})
    assert talk.calls == [("run_bash", {"command": command})]


def test_learners_own_tools_are_called_with_their_own_arguments():
    tools = {
        "read_file": lambda path: "x",
        "calculator": lambda espressione: "12",
        "current_time": lambda: "2026-11-30T09:17:00",
        "list_dir": lambda directory: "a.txt",
    }
    talk = rehearse("read a.txt, what's 3*4, what time is it? and list the files", tools)
    assert talk.calls == [
        ("read_file", {"path": "a.txt"}),
        ("calculator", {"espressione": "3 * 4"}),
        ("current_time", {}),
        ("list_dir", {"directory": "."}),
    ]


def test_what_it_cannot_do_is_said_beside_what_it_did():
    text = rehearse("read a.txt and write me a poem about it", toolbox()).text
    assert text.startswith("a.txt (words: 3")
    assert 'I cannot do this part: "write me a poem about it".' in text


def test_follow_ups_work_and_may_go_on_from_the_last_number():
    talk = rehearse("what is 6*7?", toolbox())
    rehearse("and b.txt?", toolbox(), talk=talk)
    assert talk.calls[-1] == read("b.txt")
    rehearse("what is 2+3", toolbox(), talk=talk)
    rehearse("and times 10?", toolbox(), talk=talk)
    assert talk.calls[-1] == calc("5 * 10")
    rehearse("e meno 8", toolbox(), talk=talk)
    assert talk.text == "50 - 8 = 42"


def test_an_unknown_prompt_gets_the_menu_and_the_way_to_a_real_model():
    for prompt, start in (
        ("sing me a song", "I am a simulated model"),
        ("cantami una canzone", "Sono un modello"),
    ):
        text = rehearse(prompt, toolbox()).text
        assert text.startswith(start) and prompt in text
        for part in (
            "- tour: ",
            "- minutes: ",
            'connect("anthropic")',
            "http://...",
            "Clock",
        ):
            assert part in text


def test_thanks_need_no_menu():
    assert rehearse("Thank you!", {}).text == "You are welcome."
    assert rehearse("grazie mille", {}).text == "Prego."


def test_a_nudge_is_answered_with_the_tool_if_there_is_one():
    nudge = "You have not yet marked the task as complete using the task_complete tool."
    assert is_nudge(nudge) and not understands(nudge)
    tools = {**toolbox(), "task_complete": lambda summary: "ok"}
    talk = rehearse("what is 6*7?", tools)
    rehearse(nudge, tools, talk=talk)
    assert talk.calls[-1] == ("task_complete", {"summary": "6 * 7 = 42"})
    talk = rehearse("what is 6*7?", toolbox())
    rehearse(nudge, toolbox(), talk=talk)
    assert "offered no TaskComplete" in talk.text


def test_a_forced_tool_is_called_with_what_the_prompt_has():
    person = {
        "name": "extract_person",
        "input_schema": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "age": {"type": "integer"},
                "occupation": {"type": "string"},
                "mood": {"type": "string", "enum": ["bad", "good"]},
            },
            "required": ["name"],
        },
    }
    messages = [{"role": "user", "content": "Mario, 42 anni, ingegnere, good"}]
    for choice in ({"type": "tool", "name": "extract_person"}, {"type": "any"}):
        tools = [person, {"name": "other", "input_schema": {"type": "object"}}]
        body = {"messages": messages, "tools": tools, "tool_choice": choice}
        played = play(body, chain(body))
        expected = {"name": "Mario", "age": 42, "occupation": "ingegnere", "mood": "good"}
        assert [b["input"] for b in played.content] == [expected]


@pytest.mark.parametrize(
    "text", ["(" * 2000, "1" * 3000, " " * 3000, "1+" * 1500, "'" * 3000, "a.b/" * 800]
)
def test_monstrous_prompts_are_answered_in_time(text):
    start = time.process_time()
    find_intents(text)
    assert time.process_time() - start < 2


@given(st.text(max_size=200))
def test_any_text_is_answered_and_never_with_a_call_that_is_not_offered(text):
    talk = rehearse(text, {"Read": lambda file_path: "x"}, turns=1)
    assert talk.played[0].content
    assert {name for name, _ in talk.calls} <= {"Read"}
