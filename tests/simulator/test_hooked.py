"""The scenario "crossings": it keeps to a rule while it is young, and mends what it is told."""

from agentlab.simulator.rehearsal import rehearse
from agentlab.simulator.scenario import get

TASK = get("crossings").example
RULE = {"system": "# Rules\n- Do not import flat_earth, it is deprecated. Use sphere."}


def programs(talk):
    return [input["content"] for _, input in talk.calls]


def write(*answers):
    """A tool that gives these results, one after the other; an exception is a failure."""
    said = iter(answers)

    def tool(file_path, content):
        answer = next(said)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return {"Write": tool}


def test_without_a_rule_it_writes_what_it_is_used_to():
    talk = rehearse(TASK, write("Wrote trip.py"))
    assert "from flat_earth import" in programs(talk)[0] and talk.text == "trip.py is written."


def test_a_rule_is_followed_in_a_young_conversation_and_forgotten_in_a_long_one():
    assert "from sphere import" in programs(rehearse(TASK, write("Wrote"), **RULE))[0]
    talk = rehearse("Read a.txt", {"Read": lambda file_path: "words"}, **RULE)
    talk = rehearse("Read b.txt", {"Read": lambda file_path: "words"}, talk=talk, **RULE)
    talk = rehearse(TASK, write("Wrote"), talk=talk, **RULE)
    assert "from flat_earth import" in talk.calls[-1][1]["content"]


def test_it_mends_what_a_hook_and_a_test_complain_about():
    refused = PermissionError("[hook] flat_earth is deprecated in this project: import sphere")
    failed = "Wrote trip.py\nE   assert 111194.9 == 111.2 ± 0.1"
    talk = rehearse(TASK, write(refused, failed, "Wrote trip.py"))
    first, second, third = programs(talk)
    assert "flat_earth" in first and "sphere" in second and "/ 1000" not in second
    assert "sphere" in third and "/ 1000" in third
    assert talk.text == "trip.py is written."


def test_it_says_so_if_it_does_not_understand_a_failure():
    talk = rehearse(TASK, write("Wrote trip.py\nE   assert 111.2 == 38.0 ± 0.1"))
    assert len(talk.calls) == 1 and "I do not see why: 111.2 came out" in talk.text


def test_it_says_so_if_it_may_not_write():
    talk = rehearse(TASK, write(PermissionError("no writes today")))
    assert talk.text == "trip.py is not written: no writes today"
