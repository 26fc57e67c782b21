"""What the author of a scenario works with: the decorator, Chat, Say, Result and Lost."""

import pytest

from agentlab.simulator import scenario as module
from agentlab.simulator.offered import Offered
from agentlab.simulator.scenario import (
    Chat,
    Lost,
    Result,
    ScenarioError,
    UnknownScenario,
    all_scenarios,
    get,
    is_italian,
    names,
    opening,
    scenario,
)


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """What a test registers is forgotten after it."""
    all_scenarios()
    monkeypatch.setattr(module, "_REGISTRY", dict(module._REGISTRY))


def chat(task="", recorded="", **request):
    request.setdefault("messages", [{"role": "user", "content": task}])
    return Chat(request, Offered(request), task, recorded=recorded)


def schema(*required, **types):
    properties = {name: {"type": "string"} for name in required} | types
    return {"type": "object", "properties": properties, "required": list(required)}


# the registry


def test_a_scenario_is_found_by_name_and_by_what_opens_it():
    @scenario("tea", chapter=3, opens=r"\btea\b", example="Make tea.")
    def tea(chat):
        """Makes tea.

        More about it."""
        yield chat.say("Here.")

    found = get("tea")
    assert (found.chapter, found.about, found.example) == (3, "Makes tea.", "Make tea.")
    assert opening("a cup of TEA please") is found
    assert "tea" in names()


def test_a_scenario_without_an_opener_is_opened_by_name_only():
    @scenario("silent")
    def silent(chat):
        yield chat.say("Here.")

    assert "silent" in names()
    assert opening("play silent") is get("silent")
    assert opening("Please play the scenario `silent`.") is get("silent")
    assert opening("silent") is None


def test_an_opener_may_be_a_function_and_its_error_names_the_scenario():
    @scenario("picky", opens=lambda text: text.index("needle") >= 0)
    def picky(chat):
        yield chat.say("Here.")

    with pytest.raises(ScenarioError, match="'picky', step 0: its opener failed: ValueError"):
        opening("hay")


def test_registering_again_replaces_and_the_newest_is_asked_first():
    for answer in ("old", "new"):

        @scenario("twice", opens=r"look around this project")
        def twice(chat, answer=answer):
            yield chat.say(answer)

    assert opening("look around this project").name == "twice"
    assert next(get("twice").function(chat())).text == "new"


def test_bad_names_and_functions_that_do_not_yield_are_refused():
    with pytest.raises(ValueError, match="lower-case"):
        scenario("Three Files")
    with pytest.raises(TypeError, match="never yields"):
        scenario("plain")(lambda chat: chat.say("x"))


def test_an_unknown_name_is_answered_with_the_nearest_one():
    with pytest.raises(UnknownScenario, match="Did you mean 'minutes'") as caught:
        get("minute")
    assert isinstance(caught.value, ScenarioError)
    assert caught.value.scenario == "minute"


# what a turn is made of


def test_a_turn_chains_in_any_order():
    turn = (
        chat()
        .say("One.")
        .call("Read", file_path="a")
        .think("Hm.")
        .call("LS")
        .say("Two.")
        .stop("pause_turn")
    )
    assert turn.thinking == ["Hm."]
    assert turn.text == "One.Two."
    assert turn.calls == [(("Read",), {"file_path": "a"}), (("LS",), {})]
    assert turn.reason == "pause_turn"


def test_a_call_may_have_an_argument_of_any_name():
    assert chat().call("X", tool=1, name=2, self=3).calls == [
        (("X",), {"tool": 1, "name": 2, "self": 3})
    ]


def test_a_refusal_carries_its_details():
    turn = chat().say("No.").stop("refusal", category="cyber", explanation="because")
    assert turn.details == {"type": "refusal", "category": "cyber", "explanation": "because"}


# what came back


def test_a_result_is_true_even_if_it_is_an_error_and_lost_is_false():
    assert Result("Read", {}, "")
    assert Result("Read", {}, "no", True)
    lost = Lost("Read", {"file_path": "a"}, "")
    assert not lost
    assert (lost.text, lost.is_error, lost.words, lost.number, lost.failed) == (
        "",
        False,
        0,
        "",
        False,
    )


def test_failure_is_seen_in_words_and_exit_codes_too():
    failed = {
        "errore: divisione per zero": True,
        "Error: path escapes the workspace": True,
        "exit code: 1\nboom": True,
        "exit code: 0\nerror is only a word here": False,
        "ERROR 12:00 started\nINFO 12:01 went on": False,
        "all fine": False,
    }
    assert {text: Result("X", {}, text).failed for text in failed} == failed


def test_words_are_counted_without_line_numbers():
    assert Result("Read", {}, "one two\nthree").words == 3
    assert Result("Read", {}, "     1\tone two\n     2\tthree").words == 3
    assert Result("Read", {}, "1999: a year\nwas good").words == 5


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("391", "391"),
        ("17 * 23 = 391", "391"),
        ('{"result": 3.5}', "3.5"),
        ("-2", "-2"),
        ("none", ""),
    ],
)
def test_the_number_of_a_result_is_its_last_one(text, number):
    assert Result("Calculator", {}, text).number == number


# what a scenario sees


def test_sees_looks_everywhere_but_not_at_ids():
    here = chat(
        "task",
        system=[{"type": "text", "text": "the system prompt"}],
        messages=[
            {"role": "user", "content": "a question"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "a thought", "signature": "sig_secret"},
                {"type": "tool_use", "id": "toolu_secret", "name": "R", "input": {"p": "a.txt"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_secret", "content": [
                    {"type": "text", "text": "a result"}]}]},
        ],
    )  # fmt: skip
    for text in ("the system prompt", "a question", "a thought", "a.txt", "a result"):
        assert here.sees(text)
    assert not here.sees("secret")
    assert not here.sees("something else")


def test_only_what_may_be_called_is_offered():
    tools = [
        {"name": "Read", "input_schema": schema("file_path")},
        {"name": "Late", "defer_loading": True, "input_schema": schema()},
    ]
    assert chat(tools=tools).offers("Read")
    assert not chat(tools=tools).offers("Late")
    assert not chat(tools=tools).offers("Write")
    assert not chat(tools=tools, tool_choice={"type": "none"}).offers("Read")
    reference = {"type": "tool_reference", "tool_name": "Late"}
    loaded = [
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "x", "content": [reference]}],
        }
    ]
    assert chat(tools=tools, messages=loaded).offers("Late")


@pytest.mark.parametrize(
    ("wanted", "offered"),
    [
        ("Read", "read_file"), ("Write", "write_file"), ("Bash", "run_bash"), ("Bash", "bash"),
        ("Calculator", "calculator"), ("Clock", "current_time"), ("LS", "list_files"),
        ("Grep", "search"), ("TaskComplete", "task_complete"), ("Read", "mcp__files__read_file"),
    ],
)  # fmt: skip
def test_tools_are_known_by_their_usual_names(wanted, offered):
    here = chat(
        tools=[
            {"name": "other", "input_schema": schema()},
            {"name": offered, "input_schema": schema()},
        ]
    )
    assert here.tool(wanted) == offered


def test_the_exact_name_is_taken_before_a_variant():
    tools = [{"name": name, "input_schema": schema()} for name in ("read_file", "Read")]
    assert chat(tools=tools).tool("Read") == "Read"
    assert chat(tools=tools).tool("Clock", "Read") == "Read"
    assert chat(tools=tools).tool("Clock") is None


@pytest.mark.parametrize(
    ("given", "properties", "expected"),
    [
        ({"file_path": "a"}, ("path",), {"path": "a"}),
        ({"file_path": "a", "content": "x"}, ("path", "content"), {"path": "a", "content": "x"}),
        ({"expression": "1"}, ("espressione",), {"espressione": "1"}),
        ({"expression": "1"}, ("what_to_compute",), {"what_to_compute": "1"}),
        ({"command": "ls"}, ("command",), {"command": "ls"}),
        ({"pattern": "x", "path": "."}, ("query", "directory"), {"query": "x", "directory": "."}),
        ({"file_path": "a"}, (), {"file_path": "a"}),
    ],
)
def test_arguments_take_the_names_of_the_schema(given, properties, expected):
    offered = Offered({"tools": [{"name": "T", "input_schema": schema(*properties)}]})
    assert offered.arguments("T", given) == expected


def test_decide_records_and_keeps_to_what_was_recorded():
    fresh = chat()
    assert [fresh.decide(x) for x in ("yes", "", 1)] == [True, False, True]
    assert fresh.decisions == "101"
    again = chat(recorded="01")
    assert [again.decide(x) for x in (True, False, True)] == [False, True, True]
    assert again.decisions == "011"


@pytest.mark.parametrize(
    ("text", "italian"),
    [
        ("quanto fa 12 più 30", True), ("leggi a.txt", True), ("che ore sono?", True),
        ("Quanti minuti sono passati dalla mezzanotte fino ad adesso?", True),
        ("Ciao, chi sei?", True), ("cerca TODO", True), ("what is 17*23", False),
        ("read a.txt", False), ("hello", False), ("17*23", False), ("", False),
    ],
)  # fmt: skip
def test_the_language_of_a_task(text, italian):
    assert is_italian(text) is italian
    assert chat(text).pick("yes", "sì") == ("sì" if italian else "yes")
