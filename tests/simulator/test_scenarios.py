"""The scenarios that ship: each plays to its end, reacts to real results, and survives losses."""

import copy
import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentlab.models import find_model
from agentlab.resources import data_path
from agentlab.simulator.marks import decode
from agentlab.simulator.playback import play, standing
from agentlab.simulator.prefix import chain
from agentlab.simulator.rehearsal import Rehearsal, definitions, rehearse
from agentlab.simulator.scenario import all_scenarios, get, opening
from agentlab.simulator.scenarios.files import field_guide
from agentlab.simulator.validation import Validator
from agentlab.tokens import count_json
from agentlab.toolbox import calculate

NUDGE = "You stopped without saying that the task is complete. Call TaskComplete when it is."
FIZZBUZZ = "\n".join(
    "FizzBuzz" if n % 15 == 0 else "Fizz" if n % 3 == 0 else "Buzz" if n % 5 == 0 else str(n)
    for n in range(1, 101)
)
WORKSPACE = {
    path.relative_to(data_path("workspaces", "quickstart")).as_posix(): path.read_text("utf-8")
    for path in sorted(data_path("workspaces", "quickstart").rglob("*"))
    if path.is_file() and "__pycache__" not in path.parts
} | {"a.txt": "one two three", "b.txt": "four five", "c.txt": "six"}


def read(file_path):
    if file_path not in WORKSPACE:
        raise FileNotFoundError(f"{file_path} does not exist.")
    return WORKSPACE[file_path]


def ls(path="."):
    inside = [name if path == "." else name.removeprefix(path + "/") for name in WORKSPACE
              if path == "." or name.startswith(path + "/")]  # fmt: skip
    return "\n".join(sorted({name.split("/")[0] + "/" * ("/" in name) for name in inside}))


def grep(pattern, path="."):
    lines = []
    for name, text in WORKSPACE.items():
        found = [(n, t) for n, t in enumerate(text.splitlines(), 1) if re.search(pattern, t)]
        lines += [f"{name}:{n}: {line.strip()}" for n, line in found]
    return "\n".join(lines) or f"No line matches {pattern!r}."


TOOLS = {
    "Read": read,
    "LS": ls,
    "Grep": grep,
    "Calculator": lambda expression: calculate(expression),
    "Clock": lambda: "2026-11-30T09:17+00:00",
    "Write": lambda file_path, content: f"Wrote {len(content)} characters to {file_path}.",
    "Bash": lambda command: (
        f"exit code: 0\n{FIZZBUZZ}"
        if command == "python fizzbuzz.py"
        else "exit code: 0\nREADME.md"
    ),
    "TaskComplete": lambda summary: "Noted.",
}
NAMES = [s.name for s in all_scenarios()]


def performance(name, turns=6):
    """A scenario with its own example, to its end or for so many turns, and a nudge if need be."""
    talk = rehearse(get(name).example, TOOLS, turns=turns)
    if name == "unfinished":
        rehearse(NUDGE, TOOLS, talk=talk)
    return talk


def reply_to(messages, tools=TOOLS):
    body = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 4096,
        "tools": definitions(tools),
        "messages": messages,
    }
    return play(body, chain(body))


def text(played):
    return "".join(b["text"] for b in played.content if b["type"] == "text")


def rounds_of(messages):
    """The history as rounds: the opening, then each assistant message with what follows it."""
    rounds = [[]]
    for message in messages:
        if message["role"] == "assistant":
            rounds.append([])
        rounds[-1].append(message)
    return rounds


def check_is_a_valid_turn(played, messages):
    used = {
        b["id"] for m in messages if m["role"] == "assistant" for b in m["content"] if "id" in b
    }
    for block in played.content:
        if block["type"] == "tool_use":
            assert re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"])
            assert block["id"] not in used
            assert block["name"] in TOOLS
            json.dumps(block["input"])
            used.add(block["id"])
        elif block["type"] == "text":
            assert block["text"].strip()
        else:
            assert (
                block["type"] == "thinking"
                and block["thinking"].strip()
                and decode(block["signature"])
            )
    assert played.stop_reason == (
        "tool_use" if any(b["type"] == "tool_use" for b in played.content) else "end_turn"
    )
    assert played.content or played.scenario == "empty"


# every scenario


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_has_words_about_it_and_an_example_that_opens_it(name):
    found = get(name)
    assert found.about.endswith(".")
    assert found.chapter is not None
    assert opening(found.example) is found


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_plays_turns_that_the_strict_server_takes(name):
    talk = performance(name)
    validator = Validator()
    for end, message in enumerate(talk.messages, 1):
        if message["role"] == "user":
            body = {"model": "claude-sonnet-5-5", "max_tokens": 4096, "tools": definitions(TOOLS),
                    "messages": talk.messages[:end]}  # fmt: skip
            assert validator.check(body, chain(body)) == []
    for number, played in enumerate(talk.played):
        check_is_a_valid_turn(played, [m for m in talk.messages if m["content"] != played.content])
        assert (played.scenario, played.step) == (name, number + 1)


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_resumes_with_any_round_dropped(name):
    whole = rounds_of(performance(name).messages)
    for asked in range(1, len(whole)):
        for dropped in range(1, asked):
            kept = [r for n, r in enumerate(whole[:asked]) if n != dropped]
            marked = [
                n
                for n in range(1, asked)
                if n != dropped and b"_s" in json.dumps(whole[n]).encode()
            ]
            last = max(marked, default=0)
            # the last mark's step, and the rounds after it (which have none) that were kept
            expected = (
                last + sum(1 for n in range(last + 1, asked) if n != dropped) + 1 if last else 1
            )
            messages = copy.deepcopy([m for r in kept for m in r])
            played = reply_to(messages)
            check_is_a_valid_turn(played, messages)
            assert (played.scenario, played.step) == (name, expected), (
                f"asked {asked}, dropped {dropped}"
            )


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_resumes_from_a_line_in_a_summary(name):
    whole = rounds_of(performance(name).messages)
    for asked in range(2, len(whole)):
        line = standing([m for r in whole[:asked] for m in r])
        messages = [
            {"role": "user", "content": f"Earlier work, in short: some of it is done.\n{line}"}
        ]
        played = reply_to(messages)
        check_is_a_valid_turn(played, messages)
        assert played.scenario == name or played.note


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_bears_cleared_and_failed_results(name):
    for change in (
        {"content": "[Old tool result content cleared]"},
        {"content": "no", "is_error": True},
        {"content": []},
    ):
        messages = [{"role": "user", "content": get(name).example}]
        for _ in range(6):
            played = reply_to(messages)
            check_is_a_valid_turn(played, messages)
            calls = [b for b in played.content if b["type"] == "tool_use"]
            if not calls:
                break
            results = [{"type": "tool_result", "tool_use_id": c["id"], **change} for c in calls]
            messages += [
                {"role": "assistant", "content": played.content},
                {"role": "user", "content": results},
            ]


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_is_honest_without_tools(name):
    talk = rehearse(get(name).example, {})
    assert talk.calls == []
    assert talk.text.strip() or name == "empty"


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_makes_way_for_a_new_question(name):
    talk = rehearse(get(name).example, TOOLS, turns=2)
    calls = [b for b in talk.played[-1].content if b["type"] == "tool_use"]
    question = {"type": "text", "text": "Something else: what is 6*7?"}
    if calls:
        talk.messages[-1]["content"].append(question)
    else:
        talk.messages.append({"role": "user", "content": [question]})
    rehearse(None, TOOLS, talk=talk)
    assert talk.text == "6 * 7 = 42"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_mutilated_history_breaks_the_playback(data):
    """Rounds and messages dropped, results cleared, texts and summaries put in between."""
    messages = []
    for name in data.draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3)):
        messages += copy.deepcopy(PERFORMANCES[name])
    messages = messages[: data.draw(st.integers(1, len(messages)))]
    for index in sorted(
        data.draw(st.sets(st.integers(0, len(messages) - 1), max_size=5)), reverse=True
    ):
        del messages[index]
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result" and data.draw(st.integers(0, 4)) == 0:
                block["content"] = data.draw(
                    st.sampled_from(["[cleared]", "", "error: no", "42", "[result removed]"])
                )
    for _ in range(data.draw(st.integers(0, 3))):
        note = data.draw(st.sampled_from(NOTES))
        messages.insert(data.draw(st.integers(0, len(messages))), {"role": "user", "content": note})
    played = reply_to(messages)
    check_is_a_valid_turn(played, [m for m in messages if isinstance(m["content"], list)])
    assert reply_to(messages) == played


PERFORMANCES = {name: performance(name).messages for name in NAMES}
NOTES = [
    "continue",
    "what is 6*7?",
    "hm",
    NUDGE,
    "play tour",
    "[scenario tour, step 3]",
    "[scenario minutes, step 1, decisions 00]",
    "So far: [scenario poller, step 4, decisions 010]",
    "<system-reminder>read a.txt</system-reminder>",
    "[scenario improviser, step 1]",
]


# one by one


def test_minutes_feeds_the_clock_to_the_calculator():
    talk = performance("minutes")
    assert talk.calls == [("Clock", {}), ("Calculator", {"expression": "9 * 60 + 17"})]
    assert talk.text == "557 minutes have passed since midnight (it is 09:17)."


@pytest.mark.parametrize(
    ("clock", "expression"),
    [
        ("2026-11-30T23:05:59.123456", "23 * 60 + 5"),
        ("It is 9:17 PM", "21 * 60 + 17"),
        ("12:30 am", "0 * 60 + 30"),
        ('{"time": "07:03:00", "zone": "CET"}', "7 * 60 + 3"),
    ],
)
def test_minutes_reads_any_clock(clock, expression):
    tools = {"current_time": lambda: clock, "calculator": lambda expression: calculate(expression)}
    talk = rehearse("Quanti minuti sono passati dalla mezzanotte fino ad adesso?", tools)
    assert talk.calls == [("current_time", {}), ("calculator", {"expression": expression})]
    assert talk.text.startswith(f"Dalla mezzanotte sono passati {calculate(expression)} minuti")


def test_minutes_answers_with_what_the_calculator_says():
    talk = rehearse("minutes since midnight?", {**TOOLS, "Calculator": lambda expression: "13"})
    assert talk.text.startswith("13 minutes")


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ({}, "I have no clock"),
        ({"Clock": lambda: "2026-11-30T09:17"}, "I would need Calculator"),
        ({"Clock": lambda: "errore: fermo"}, "I could not read the time"),
        ({"Clock": lambda: 1 / 0}, "read the time: division by zero"),
        ({**TOOLS, "Calculator": lambda expression: 1 / 0}, "gave me no number of minutes"),
    ],
)
def test_minutes_says_what_is_missing(tools, says):
    assert says in rehearse("How many minutes since midnight?", tools).text


def test_minutes_reads_the_clock_again_if_compaction_took_the_reading():
    played = reply_to([{"role": "user", "content": "[scenario minutes, step 1]"}])
    assert (played.step, played.content[-1]["name"]) == (2, "Clock")


def test_the_tour_reports_what_it_read():
    talk = performance("tour")
    assert [len(p.content) for p in talk.played] == [3, 3, 5, 2, 2, 1]
    words = {name: len(WORKSPACE[name].split()) for name in WORKSPACE if name.startswith("notes/")}
    assert len(words) == 3
    for name, count in words.items():
        assert f"{name}: {count} words" in talk.text
    assert f"hold {sum(words.values())} words" in talk.text
    assert "Roof station. A weather station" in talk.text
    assert "station.py" in talk.text and "TODO" in talk.text


def test_the_tour_knows_which_notes_it_has_lost():
    whole = rounds_of(PERFORMANCES["tour"])
    messages = [m for n, r in enumerate(whole[:6]) if n != 3 for m in r]
    said = text(reply_to(messages))
    assert said.count("no longer in this conversation") == 3
    assert "hold 119 words" in said  # the sum is still there


def test_the_tour_takes_a_project_as_it_is():
    files = {
        "README": "Poems\n\nShort ones. Not good.",
        "drafts/one.txt": "a b",
        "drafts/two.txt": "c",
    }
    folders = {".": "README\ndrafts/", "drafts": "one.txt\ntwo.txt"}
    tools = {"read_file": lambda path: files[path], "list_files": lambda path: folders[path]}
    said = rehearse(get("tour").example, tools).text
    assert said.startswith("This project says of itself: Poems. Short ones.")
    assert "drafts/one.txt: 2 words" in said and "I have no sum" in said


def test_three_files_counts_only_what_it_could_read():
    prompt = "Read the three files a.txt, b.txt and c.txt"
    assert rehearse(prompt, TOOLS).text == "Together they hold 6 words."
    italian = rehearse("Leggi i tre file a.txt, b.txt e c.txt", TOOLS)
    assert italian.text == "Insieme contengono 6 parole."
    talk = rehearse("Read the three files a.txt, missing.txt and c.txt", TOOLS)
    assert talk.text == "Together they hold 4 words. Not counted: missing.txt."


def only_python3(command):
    found = command.startswith("python3")
    return f"exit code: 0\n{FIZZBUZZ}" if found else "exit code: 127\nsh: python: not found"


ONE, TWO = ["python fizzbuzz.py"], ["python fizzbuzz.py", "python3 fizzbuzz.py"]


@pytest.mark.parametrize(
    ("shell", "commands", "says"),
    [
        (lambda command: f"exit code: 0\n{FIZZBUZZ}", ONE, "the first 15 lines are right"),
        (only_python3, TWO, "the first 15 lines are right"),
        (lambda command: "exit code: 127\nnot found", TWO, "it did not run"),
        (lambda command: "exit code: 1\nSyntaxError", ONE, "it did not run"),
        (lambda command: "exit code: 0\n1\n2\n3", ONE, "not the output it should have"),
    ],
)
def test_fizzbuzz_looks_at_what_its_script_printed(shell, commands, says):
    tools = {
        "write_file": lambda path, content: f"Wrote {len(content)} characters to {path}.",
        "run_bash": shell,
    }
    talk = rehearse(
        "Create a fizzbuzz.py script in the workspace, then run it to verify the output.", tools
    )
    assert [name for name, _ in talk.calls] == ["write_file", *["run_bash"] * len(commands)]
    assert [call["command"] for name, call in talk.calls if name == "run_bash"] == commands
    assert says in talk.text


def test_the_script_of_fizzbuzz_is_right(capsys):
    exec(performance("fizzbuzz").calls[0][1]["content"], {})
    assert capsys.readouterr().out.strip() == FIZZBUZZ


def test_fizzbuzz_stops_when_it_cannot_write():
    tools = {
        **TOOLS,
        "Write": lambda file_path, content: "Error: path escapes the workspace/ directory.",
    }
    talk = rehearse(get("fizzbuzz").example, tools)
    assert len(talk.calls) == 1 and "Error: path escapes" in talk.text


@pytest.mark.parametrize(
    "prompt", ["Hello!", "hi", "Hi there", "Who are you?", "Good morning!", "How are you?"]
)
def test_hello_greets(prompt):
    talk = rehearse(prompt, {})
    assert talk.played[0].scenario == "hello" and "simulated model" in talk.text


def test_hello_speaks_italian():
    assert rehearse("Ciao, chi sei?", {}).text.startswith("Ciao! Sono un modello simulato")


@pytest.mark.parametrize(
    "prompt", ["Hello, what is 6*7?", "hi, read a.txt", "Who are you to say that?", "?"]
)
def test_hello_leaves_other_things_alone(prompt):
    assert rehearse(prompt, TOOLS).played[0].scenario == "improviser"


@pytest.mark.parametrize(
    ("reason", "request_", "last"),
    [
        ("end_turn", {}, "end_turn"),
        ("tool_use", {}, "tool_use"),
        ("refusal", {}, "refusal"),
        ("pause_turn", {}, "pause_turn"),
        ("model_context_window_exceeded", {}, "model_context_window_exceeded"),
        ("stop_sequence", {"stop_sequences": ["END"]}, "end_turn"),  # the server makes these two
        ("max_tokens", {"max_tokens": 50}, "end_turn"),
        ("brand_new", {}, "brand_new"),
    ],
)
def test_stop_reasons_are_played_on_request(reason, request_, last):
    played = rehearse(f"Show me the stop reason {reason}.", TOOLS, turns=1, **request_).played[0]
    assert played.stop_reason == last
    if reason == "refusal":
        assert played.stop_details["category"] == "general_harms"
    if reason == "stop_sequence":
        assert " END " in text(played)
    if reason == "max_tokens":
        assert len(text(played)) > 50 * 4


def test_stop_reasons_say_what_the_request_needs():
    assert "stop_sequences" in rehearse("Show me the stop reason stop_sequence.", {}).text
    assert "Set it to 50" in rehearse("Show me the stop reason max_tokens.", {}).text
    assert "needs a tool" in rehearse("Show me the stop reason tool_use.", {}).text
    assert (
        "needs a tool" in rehearse("Show me the stop reason tool_use.", {"write_file": print}).text
    )
    own = {"get_weather": lambda city: "sunny"}
    assert "sunny" in rehearse("Show me the stop reason tool_use.", own).text


def test_what_max_tokens_cut_can_be_continued():
    messages = [{"role": "user", "content": "Show me the stop reason max_tokens."}]
    body = {"model": "claude-sonnet-5-5", "max_tokens": 50, "messages": messages}
    whole = text(play(body, chain(body)))
    messages += [
        {"role": "assistant", "content": whole[:100]},
        {"role": "user", "content": "continue"},
    ]
    assert text(play(body, chain(body))) == whole[100:]


def test_runaway_and_ping_pong_go_round_in_circles():
    assert len({json.dumps(c) for c in performance("runaway", 9).calls}) == 1
    calls = [json.dumps(c) for c in performance("ping-pong", 9).calls]
    assert len(calls) == 9 and len(set(calls)) == 2 and calls[:-2] == calls[2:]


def test_ping_pong_makes_do_with_one_tool():
    talk = rehearse(get("ping-pong").example, {"Calculator": TOOLS["Calculator"]}, turns=4)
    assert [c["expression"] for _, c in talk.calls] == ["1 + 1", "2 + 2"] * 2


def test_failing_fails_with_ever_other_files_until_one_is_there():
    talk = performance("failing", 14)
    files = [c["file_path"] for _, c in talk.calls]
    assert len(files) == 14 and len(set(files)) == 12
    march = {
        "Read": lambda file_path: "rain 12" if file_path.endswith("03.md") else read(file_path)
    }
    talk = rehearse(get("failing").example, march)
    assert len(talk.calls) == 3 and "rain 12" in talk.text


def test_poller_stops_when_the_answer_says_done():
    answers = iter(["10 %", "50 %", "not done yet", "done: 12 files"])
    talk = rehearse(get("poller").example, {"job_status": lambda job_id: next(answers)})
    assert talk.calls == [("job_status", {"job_id": "1"})] * 4
    assert talk.text == "It is done. The last answer was: done: 12 files"


def test_unfinished_does_the_rest_when_asked_and_says_so():
    talk = rehearse(get("unfinished").example, TOOLS)
    assert [p.stop_reason for p in talk.played] == ["tool_use", "end_turn"]
    assert "Next I would do the same with notes/wind.md" in talk.text
    rehearse(NUDGE, TOOLS, talk=talk)
    assert [name for name, _ in talk.calls] == ["Read", "Read", "TaskComplete"]
    rain, wind = (len(WORKSPACE[f"notes/{n}.md"].split()) for n in ("rain", "wind"))
    summary = f"Counted both files. notes/rain.md: {rain} words; notes/wind.md: {wind} words."
    assert talk.calls[-1] == ("TaskComplete", {"summary": summary})


def test_unfinished_does_not_call_it_complete_after_an_error():
    prompt = "Count the words of notes/rain.md and gone.txt, one after the other."
    talk = rehearse(prompt, TOOLS)
    rehearse(NUDGE, TOOLS, talk=talk)
    assert "TaskComplete" not in [name for name, _ in talk.calls]
    assert talk.text.startswith("Not complete.")


def test_a_long_write_fits_into_thousands_of_tokens_only():
    name, call = performance("long-write").calls[0]
    assert name == "Write" and call["content"] == field_guide()
    assert 1_500 < count_json(call) < find_model("claude-sonnet-5-5").max_output_tokens


def test_thinker_builds_each_calculation_on_the_one_before():
    talk = performance("thinker")
    assert [c["expression"] for _, c in talk.calls] == ["30 * 24", "720 * 60", "43200 * 60"]
    assert talk.text == "November has 2592000 seconds."
    assert all(p.content[0]["type"] == "thinking" for p in talk.played)


def test_empty_says_nothing_after_its_result():
    talk = performance("empty")
    assert [(p.stop_reason, len(p.content)) for p in talk.played] == [
        ("tool_use", 1),
        ("end_turn", 0),
    ]


def test_on_autopilot_anything_that_stopped_can_be_completed():
    talk = rehearse("what is 6*7?", TOOLS)
    rehearse(NUDGE, TOOLS, talk=talk)
    assert talk.calls[-1] == ("TaskComplete", {"summary": "6 * 7 = 42"})
    assert isinstance(talk, Rehearsal)
