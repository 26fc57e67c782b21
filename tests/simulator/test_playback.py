"""Playback: whatever happened to a history, the scenario resumes at the right step."""

import copy
import itertools

import pytest

from agentlab.simulator import scenario as module
from agentlab.simulator.marks import Mark, decode, standing_line
from agentlab.simulator.playback import play, standing
from agentlab.simulator.prefix import chain
from agentlab.simulator.rehearsal import definitions, rehearse
from agentlab.simulator.scenario import (
    Lost,
    ScenarioError,
    UnknownScenario,
    all_scenarios,
    scenario,
)

TOOLS = {
    "Read": lambda file_path: f"text of {file_path}",
    "Calculator": lambda expression: "42",
    "Clock": lambda: "2026-11-30T09:17+00:00",
}
WHOLE = ["one", "two", "three", "end"]


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Scenarios to test with; what a test registers is forgotten after it."""
    all_scenarios()
    monkeypatch.setattr(module, "_REGISTRY", dict(module._REGISTRY))

    @scenario("count", opens=r"^count\b")
    def count(chat):
        """Three calls, one after the other; says at the end which results it still has."""
        seen = []
        for name in WHOLE[:3]:
            seen += yield chat.say(f"Now {name}.").call("Read", file_path=name)
        yield chat.say("have: " + " ".join(r.text or "lost" for r in seen))


def ask(messages, scenario=None, tools=TOOLS, **request):
    body = {"model": "claude-sonnet-5-5", "max_tokens": 1024, "tools": definitions(tools),
            "messages": messages, **request}  # fmt: skip
    return play(body, chain(body), scenario=scenario)


def text(played):
    return "".join(b["text"] for b in played.content if b["type"] == "text")


def user(*content):
    return {
        "role": "user",
        "content": [{"type": "text", "text": c} if isinstance(c, str) else c for c in content],
    }


def at_step(talk, step):
    """The history as it was when the reply of that step was asked for."""
    return copy.deepcopy(talk.messages[: 2 * step - 1])


def file_read(played):
    return next(b["input"]["file_path"] for b in played.content if b["type"] == "tool_use")


# straight on


def test_a_scenario_plays_from_its_opening_to_its_end():
    talk = rehearse("count please", TOOLS)
    assert [p.scenario for p in talk.played] == ["count"] * 4
    assert [p.step for p in talk.played] == [1, 2, 3, 4]
    assert [p.stop_reason for p in talk.played] == ["tool_use"] * 3 + ["end_turn"]
    assert talk.text == "have: text of one text of two text of three"


def test_the_same_request_gives_the_same_reply():
    talk = rehearse("count please", TOOLS)
    assert ask(at_step(talk, 3)) == ask(at_step(talk, 3))


def test_ids_carry_scenario_step_and_the_prefix():
    messages = [user("count please")]
    body = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 9,
        "tools": definitions(TOOLS),
        "messages": messages,
    }
    whole = chain(body)
    mark = decode(play(body, whole).content[-1]["id"])
    assert (mark.scenario, mark.step) == ("count", 1)
    assert whole.whole.startswith(mark.prefix) and len(mark.prefix) == 12


def test_two_conversations_at_once_know_nothing_of_each_other():
    alone = [
        rehearse(task, TOOLS).messages for task in ("count one", "How many minutes since midnight?")
    ]
    both = [
        rehearse(task, TOOLS, turns=1) for task in ("count one", "How many minutes since midnight?")
    ]
    for _ in range(3):
        for talk in both:
            rehearse(None, TOOLS, talk=talk, turns=1)
    assert both[0].messages == alone[0]
    assert both[1].messages[: len(alone[1])] == alone[1]


def test_a_request_runs_each_step_once():
    steps = itertools.count()

    @scenario("long", opens="^long$")
    def long(chat):
        for number in itertools.count():
            next(steps)
            yield chat.call("Read", file_path=str(number))

    talk = rehearse("long", TOOLS, turns=20)
    before = next(steps)
    ask(talk.messages)
    assert next(steps) - before - 1 == 21


# follow-ups, forks, repeats


def test_a_follow_up_that_opens_a_scenario_starts_it():
    talk = rehearse("count please", TOOLS)
    rehearse("How many minutes have passed since midnight?", TOOLS, talk=talk)
    assert [p.scenario for p in talk.played[-3:]] == ["minutes"] * 3


def test_the_same_task_again_starts_again_with_new_ids():
    talk = rehearse("count please", TOOLS)
    rehearse("count please", TOOLS, talk=talk)
    assert [p.step for p in talk.played] == [1, 2, 3, 4, 1, 2, 3, 4]
    assert talk.played[-1].content[0]["text"] == "have: text of one text of two text of three"
    ids = [b["id"] for p in talk.played for b in p.content if b["type"] == "tool_use"]
    assert len(set(ids)) == len(ids) == 6


def test_a_follow_up_that_opens_nothing_goes_to_the_improviser():
    talk = rehearse("count please", TOOLS)
    rehearse("what is 6*7?", TOOLS, talk=talk)
    assert talk.text == "6 * 7 = 42"
    rehearse("and 3*4?", TOOLS, talk=talk)
    assert talk.calls[-1] == ("Calculator", {"expression": "3 * 4"})
    assert [p.scenario for p in talk.played[-4:]] == ["improviser"] * 4


def test_a_scenario_that_asked_a_question_gets_the_answer():
    @scenario("waiter", opens="^order$")
    def waiter(chat):
        dish = yield chat.say("What will it be?")
        read = yield chat.say(f"{dish}, I'll look.").call("Read", file_path=dish)
        drink = yield chat.say(f"{read[0].text}. And to drink?")
        yield chat.say(f"{dish} with {drink}.")

    talk = rehearse("order", TOOLS)
    rehearse("soup", TOOLS, talk=talk)
    assert talk.text == "text of soup. And to drink?"
    rehearse("water", TOOLS, talk=talk)
    assert talk.text == "soup with water."
    assert [p.step for p in talk.played] == [1, 2, 3, 4]


def test_forks_of_a_history_go_on_from_where_they_left():
    talk = rehearse("count please", TOOLS)
    fork = at_step(talk, 3)
    other = copy.deepcopy(fork)
    other[-1]["content"][0]["content"] = "something else"
    assert file_read(ask(fork)) == file_read(ask(other)) == "three"
    assert ask(fork).content[-1]["id"] != ask(other).content[-1]["id"]


def test_a_question_in_the_middle_of_calls_is_answered_not_ignored():
    talk = rehearse("count please", TOOLS, turns=1)
    interrupted = copy.deepcopy(talk.messages)
    interrupted[-1]["content"].append({"type": "text", "text": "No, stop. What is 6*7?"})
    played = ask(interrupted)
    assert (played.scenario, played.content[-1]["input"]) == ("improviser", {"expression": "6 * 7"})
    # and what is said later does not bring the scenario back
    interrupted += [{"role": "assistant", "content": "Let me see."}, user("and 2+2?")]
    assert ask(interrupted).scenario == "improviser"


def test_a_remark_or_a_reminder_in_the_middle_of_calls_does_not_stop_the_scenario():
    for remark in (
        "Please hurry.",
        "<system-reminder>what is 6*7?</system-reminder>",
        "[note] read a.txt",
    ):
        talk = rehearse("count please", TOOLS, turns=1)
        talk.messages[-1]["content"].append({"type": "text", "text": remark})
        assert file_read(ask(talk.messages)) == "two"


def test_text_of_a_harness_does_not_open_a_scenario():
    messages = [user("<system-reminder>count</system-reminder>", "[count] x", "what is 6*7?")]
    assert ask(messages).scenario == "improviser"


# what compaction does


@pytest.mark.parametrize("dropped", [1, 2, 3])
def test_a_dropped_round_is_lost_and_the_rest_goes_on(dropped):
    talk = rehearse("count please", TOOLS)
    messages = at_step(talk, 4)
    del messages[2 * dropped - 1 : 2 * dropped + 1]
    played = ask(messages)
    if dropped == 3:  # then the history stands before step 3
        assert (played.step, file_read(played)) == (3, "three")
    else:
        kept = [
            "lost" if n == dropped else f"text of {name}" for n, name in enumerate(WHOLE[:3], 1)
        ]
        assert (played.step, text(played)) == (4, "have: " + " ".join(kept))


def test_a_compacted_history_resumes_from_its_last_round():
    talk = rehearse("count please", TOOLS)
    compacted = [
        user("count please"),
        user("[Summary: two files were read.]"),
        *at_step(talk, 4)[-2:],
    ]
    played = ask(compacted)
    assert (played.step, text(played)) == (4, "have: lost lost text of three")


def test_a_round_whose_thinking_was_removed_still_resumes():
    @scenario("thoughtful", opens="^think$")
    def thoughtful(chat):
        yield chat.think("First.").call("Read", file_path="a")
        yield chat.think("Second.").say("Done thinking.")

    talk = rehearse("think", TOOLS)
    talk.messages[1]["content"] = [
        b for b in talk.messages[1]["content"] if b["type"] != "thinking"
    ]
    assert text(ask(talk.messages[:3])) == "Done thinking."


def test_a_line_in_a_summary_says_where_the_scenario_stands():
    talk = rehearse("count please", TOOLS)
    line = standing(at_step(talk, 3))
    assert line == "[scenario count, step 2]"
    played = ask([user("count please", f"[Summary]\nTwo files were read.\n{line}")])
    assert (played.step, file_read(played)) == (3, "three")
    # later rounds count on from it
    rest = [
        user(f"Two files were read.\n{line}"),
        {"role": "assistant", "content": "I see."},
        user("go on"),
    ]
    assert ask(rest).step == 3


def test_decisions_come_back_from_a_summary_line():
    @scenario("fork-in-the-road", opens="^go$")
    def fork_in_the_road(chat):
        first = yield chat.call("Read", file_path="sign")
        left = chat.decide("left" in first[0].text)
        second = yield chat.call("Read", file_path="left" if left else "right")
        yield chat.say(f"{'left' if left else 'right'}: {second[0].text or 'lost'}")

    talk = rehearse("go", {"Read": lambda file_path: "left"})
    line = standing(at_step(talk, 3))
    assert line == "[scenario fork-in-the-road, step 2, decisions 1]"
    assert text(ask([user(f"go on from here: {line}")])) == "left: lost"
    without_the_sign = [m for i, m in enumerate(at_step(talk, 3)) if i not in (1, 2)]
    assert text(ask(without_the_sign)) == "left: left"


def test_cleared_results_are_lost():
    talk = rehearse("count please", TOOLS)
    for placeholder in ("[Old tool result content cleared]", "[removed to save space]"):
        messages = at_step(talk, 4)
        messages[2]["content"][0]["content"] = placeholder
        assert text(ask(messages)) == "have: lost text of two text of three"


def test_a_result_with_a_renamed_id_is_found():
    talk = rehearse("count please", TOOLS, turns=1)
    talk.messages[1]["content"][-1]["id"] += "_2"
    talk.messages[2]["content"][0]["tool_use_id"] += "_2"
    assert file_read(ask(talk.messages)) == "two"


def test_results_come_in_call_order_however_they_were_sent():
    @scenario("pair", opens="^pair$")
    def pair(chat):
        results = yield chat.call("Read", file_path="a").call("Clock").call("Read", file_path="b")
        yield chat.say(" ".join(f"{r.name}: {r.text}." for r in results))

    talk = rehearse("pair", TOOLS, turns=1)
    talk.messages[-1]["content"].reverse()
    expected = "Read: text of a. Clock: 2026-11-30T09:17+00:00. Read: text of b."
    assert text(ask(talk.messages)) == expected


def test_lost_results_keep_name_and_input_of_the_call():
    kinds = []

    @scenario("keeps", opens="^keeps$")
    def keeps(chat):
        results = yield chat.call("Read", file_path="a")
        kinds.append((type(results[0]), results[0].name, results[0].input))
        yield chat.say("x")

    ask([user("[scenario keeps, step 1]")])
    assert kinds == [(Lost, "Read", {"file_path": "a"})]


def test_a_history_that_lost_too_much_says_so():
    played = ask([user(f"go on: {standing_line(Mark('count', 9))}")])
    assert played.note == "lost"
    assert text(played).startswith("I have lost my place")


# stop reasons, cut replies


def test_a_paused_turn_goes_on_without_a_new_user_message():
    talk = rehearse("Show me the stop reason pause_turn.", {})
    assert [p.stop_reason for p in talk.played] == ["pause_turn", "end_turn"]
    assert [m["role"] for m in talk.messages] == ["user", "assistant", "assistant"]


def test_a_text_that_was_cut_goes_on_where_it_stopped():
    @scenario("poem", opens="^poem$")
    def poem(chat):
        reply = yield chat.say("Roses are red, violets are blue.")
        yield chat.say(f"You said: {reply}")

    cut = [user("poem"), {"role": "assistant", "content": "Roses are red,"}]
    assert text(ask([*cut, user("continue")])) == " violets are blue."
    whole = [
        *cut,
        user("continue"),
        {"role": "assistant", "content": " violets are blue."},
        user("nice"),
    ]
    assert text(ask(whole)) == "You said: nice"
    assert text(ask([*cut, user("nice so far")])) == "You said: nice so far"


def test_calls_that_were_cut_off_are_made_again():
    # the harness dropped the call and kept the text, or dropped the whole reply
    kept = [
        user("count please"),
        {"role": "assistant", "content": "Now one."},
        user("Your reply was cut off."),
    ]
    assert file_read(ask(kept)) == "one"
    assert file_read(ask([user("count please", "Your reply was cut off at 100 tokens.")])) == "one"


# tools


def test_a_tool_that_is_not_offered_is_not_called():
    played = ask([user("count please")], tools={"Clock": TOOLS["Clock"]})
    assert played.stop_reason == "end_turn"
    assert text(played).startswith("Now one.\n\nFor the next step I would need Read")
    assert "Clock" in text(played)
    nothing = ask([user("count please")], tools={})
    assert "Tools offered: none." in text(nothing)


def test_calls_and_arguments_take_the_names_that_are_offered():
    played = ask([user("count please")], tools={"read_file": lambda path: ""})
    assert (played.content[-1]["name"], played.content[-1]["input"]) == (
        "read_file",
        {"path": "one"},
    )


def test_without_parallel_calls_a_turn_is_made_call_by_call():
    talk = rehearse("Read the three files a.txt, b.txt and c.txt", TOOLS,
                    tool_choice={"type": "auto", "disable_parallel_tool_use": True})  # fmt: skip
    assert [file_read(p) for p in talk.played[:3]] == ["a.txt", "b.txt", "c.txt"]
    assert [len(p.content) for p in talk.played] == [3, 1, 1, 1]
    assert talk.text == "Together they hold 9 words."


def test_server_tools_pause_and_their_result_belongs_to_the_call():
    search = [{"type": "web_search_20260318", "name": "web_search"}]
    messages = [user("Show me the stop reason pause_turn.")]
    first = play({"messages": messages, "tools": search}, chain({"messages": messages}))
    messages.append({"role": "assistant", "content": first.content})
    second = play({"messages": messages, "tools": search}, chain({"messages": messages}))
    assert [b["type"] for b in first.content] == ["text", "server_tool_use"]
    assert [b["type"] for b in second.content] == ["web_search_tool_result", "text"]
    assert second.content[0]["tool_use_id"] == first.content[1]["id"]


# thinking


@pytest.mark.parametrize(
    ("model", "thinking", "thinks"),
    [
        ("claude-sonnet-5-5", None, True),
        ("claude-sonnet-5-5", {"type": "adaptive"}, True),
        ("claude-haiku-5-5", {"type": "disabled"}, False),
        ("claude-haiku-4-5", None, False),
        ("claude-haiku-4-5", {"type": "enabled", "budget_tokens": 1024}, True),
    ],
)
def test_thinking_is_played_where_the_request_allows_it(model, thinking, thinks):
    request = {"model": model} | ({"thinking": thinking} if thinking else {})
    played = ask([user("How many minutes have passed since midnight?")], **request)
    assert [b["type"] for b in played.content] == ["thinking"] * thinks + ["tool_use"]


def test_manual_thinking_puts_a_thought_before_every_call():
    manual = {"type": "enabled", "budget_tokens": 1024}
    played = ask([user("count please")], model="claude-haiku-4-5", thinking=manual)
    assert [b["type"] for b in played.content] == ["thinking", "text", "tool_use"]


# forced scenarios and errors


def test_a_forced_scenario_plays_whatever_the_user_says():
    talk = rehearse("what is 6*7?", TOOLS, scenario="count")
    assert [p.scenario for p in talk.played] == ["count"] * 4
    rehearse("what is 6*7?", TOOLS, talk=talk, scenario="count")
    assert [p.scenario for p in talk.played[4:]] == ["improviser"] * 2
    assert talk.text == "6 * 7 = 42"


def test_a_forced_scenario_is_not_interrupted():
    talk = rehearse("hm", TOOLS, scenario="count", turns=1)
    talk.messages[-1]["content"].append({"type": "text", "text": "what is 6*7?"})
    assert file_read(ask(talk.messages, scenario="count")) == "two"


def test_an_unknown_scenario_says_which_there_are():
    with pytest.raises(UnknownScenario, match="Did you mean 'count'"):
        ask([user("hm")], scenario="counts")
    with pytest.raises(UnknownScenario, match="'gone'"):
        ask([user("[scenario gone, step 2]")])


def test_an_error_in_a_scenario_names_scenario_step_and_line():
    @scenario("broken", opens="^broken$")
    def broken(chat):
        results = yield chat.call("Read", file_path="a")
        yield chat.say(results[7].text)

    talk = rehearse("broken", TOOLS, turns=1)
    with pytest.raises(ScenarioError) as caught:
        ask(talk.messages)
    assert (caught.value.scenario, caught.value.step) == ("broken", 2)
    assert "IndexError: list index out of range (test_playback.py, line " in str(caught.value)


def test_a_scenario_that_yields_something_else_is_told_what_to_yield():
    @scenario("wrong", opens="^wrong$")
    def wrong(chat):
        yield "hello"

    with pytest.raises(ScenarioError, match=r"'wrong', step 1: yielded str; yield chat\.say"):
        ask([user("wrong")])


def test_a_scenario_that_ends_on_a_result_still_says_something():
    @scenario("short", opens="^short$")
    def short(chat):
        yield chat.call("Read", file_path="a")

    talk = rehearse("short", TOOLS)
    assert (talk.text, talk.played[-1].note) == ("Done.", "ended")


def test_a_request_without_any_user_text_is_answered():
    assert text(ask([])).strip()
    assert text(ask([{"role": "user", "content": []}])).strip()


def test_of_two_texts_in_one_message_the_last_is_answered():
    """As after an interrupted run: the old question was never answered, and a new one follows."""
    both = user("Hello! Who are you?", "What is 6 * 7?")
    played = ask([both], tools={"Calculator": lambda expression: ""})
    assert played.scenario == "improviser" and played.content[-1]["name"] == "Calculator"
