"""Going round in circles, and what does not count as that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab.limits import LONGEST_PERIOD, Limits, repeating, signature
from agentlab.messages import tool_result, tool_use


def call(name, input, result="r"):
    return signature(tool_use("t", name, input), tool_result("t", result))


def status(*calls, failures=("", 0), **limits):
    return repeating(Limits(**limits), tuple(calls), failures)[0]


def test_k01_the_third_identical_call_is_the_one():
    same = call("Read", {"file_path": "a.py"})
    assert status(same, same) == ""
    assert status(same, same, same) == "repeated_calls"


def test_k03_the_order_of_arguments_and_blanks_do_not_matter():
    calls = [call("A", {"a": 1, "b": 2}), call("A", {"b": 2, "a": 1}), call("A", {"a": 1, "b": 2})]
    assert status(*calls) == "repeated_calls"
    spaced = [call("A", {"q": "x  y"}), call("A", {"q": "x y"}), call("A", {"q": " x\ty "})]
    assert status(*[call("A", {"q": s}) for s in ("x  y", "x y", "x   y")]) == "repeated_calls"
    assert spaced[0] == spaced[1]


def test_k05_any_tool_that_keeps_failing_is_noticed():
    assert status(failures=("Terminal", 4)) == ""
    assert status(failures=("Terminal", 5)) == "repeated_failures"


@pytest.mark.parametrize("period", range(1, LONGEST_PERIOD + 1))
def test_k06_cycles_of_up_to_four_calls_are_noticed_and_not_before(period):
    cycle = [call("Read", {"f": n * "x"}, str(n)) for n in range(period)]
    assert status(*(cycle * 3)[:-1]) == ""
    assert status(*(cycle * 3)) == "repeated_calls"


def test_k08_polling_with_new_results_is_progress():
    assert status(*[call("read_output", {"id": "h1"}, f"{n} %") for n in range(6)]) == ""
    assert status(*[call("read_output", {"id": "h1"}, "0 %") for _ in range(6)]) == "repeated_calls"


def test_nearly_the_same_call_with_the_same_result_is_noticed_later():
    near = [
        call("Grep", {"pattern": f"where is the configuration file{'?' * n}"}, "none")
        for n in range(6)
    ]
    assert status(*near[:5]) == ""
    assert status(*near) == "repeated_calls"


def test_reading_many_files_is_no_loop():
    assert status(*[call("Read", {"f": f"file{n}.txt"}, f"content {n}") for n in range(20)]) == ""


def test_a_limit_of_one_repetition_makes_no_sense():
    with pytest.raises(ValueError, match="at least 2"):
        Limits(repeats=1)


@pytest.mark.parametrize("limit", [{"repeats": 3.5}, {"near_repeats": 6.0}, {"failures": 0}])
def test_repetitions_are_counted_in_whole_numbers(limit):
    with pytest.raises(ValueError, match="a whole number, at least"):
        Limits(**limit)


@given(st.lists(st.sampled_from("abcdef"), max_size=24))
def test_it_says_repeated_exactly_when_the_end_is_periodic(names):
    calls = [call(n, {}, n) for n in names]
    periodic = any(
        len(names) >= 3 * p and names[-3 * p :] == names[-p:] * 3
        for p in range(1, LONGEST_PERIOD + 1)
    )
    assert (status(*calls, near_repeats=None) == "repeated_calls") == periodic
