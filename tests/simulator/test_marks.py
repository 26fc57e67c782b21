"""Marks: they survive ids, signatures and summaries, and nothing else reads as one."""

import re

from hypothesis import given
from hypothesis import strategies as st

from agentlab.simulator.marks import (
    Mark,
    decode,
    encode_server_tool_id,
    encode_signature,
    encode_tool_id,
    find_standing_line,
    signs,
    standing_line,
)

MARKS = st.builds(
    Mark,
    scenario=st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,3}", fullmatch=True),
    step=st.integers(0, 99_999),
    decisions=st.text("01", max_size=30),
    prefix=st.text("0123456789abcdef", min_size=12, max_size=12),
    call=st.integers(0, 99),
)
EXAMPLE = Mark("three-files", 2, "10", "5f0c1a9be312", 0)


def test_an_id_can_be_read_by_people():
    assert encode_tool_id(EXAMPLE, 0) == "toolu_three_files_s2_d10_h5f0c1a9be312_c0"


@given(MARKS)
def test_what_is_encoded_is_decoded(mark):
    assert decode(encode_tool_id(mark, mark.call)) == mark
    assert decode(encode_server_tool_id(mark, mark.call)) == mark


@given(MARKS, st.text())
def test_a_signature_carries_the_mark_and_signs_the_text(mark, text):
    signature = encode_signature(mark, text)
    found = decode(signature)
    assert (found.scenario, found.step, found.decisions) == (
        mark.scenario,
        mark.step,
        mark.decisions,
    )
    assert found.prefix == mark.prefix
    assert signs(signature, text)
    assert not signs(signature, text + "!")


@given(MARKS)
def test_ids_are_ones_that_the_api_takes(mark):
    assert re.fullmatch(r"[a-zA-Z0-9_-]+", encode_tool_id(mark, 3))
    assert re.fullmatch(r"srvtoolu_[a-zA-Z0-9_]+", encode_server_tool_id(mark))


def test_only_the_first_twelve_digits_of_a_hash_are_kept():
    assert decode(encode_tool_id(Mark("a", 1, "", "0123456789abcdef" * 2))).prefix == "0123456789ab"


def test_what_a_harness_adds_to_an_id_does_no_harm():
    assert decode(encode_tool_id(EXAMPLE) + "_2") == EXAMPLE
    assert decode("main-" + encode_tool_id(EXAMPLE)) == EXAMPLE


def test_ids_of_others_are_nobodys():
    for other in (
        "",
        "toolu_01A09q90qw90lq917835lq9",
        "call_abc",
        "sig_",
        "toolu_x_s1_c0",
        "toolu_x_sX_habc_c0",
    ):
        assert decode(other) is None
    assert not signs("EqQBCgYIARgCKkA", "text")


def test_a_number_too_long_to_be_a_step_is_no_mark():
    assert decode("toolu_x_s" + "9" * 5000 + "_habc_c0") is None


@given(MARKS)
def test_a_standing_line_is_found_in_a_summary(mark):
    found = find_standing_line(f"So far two files were read.\n{standing_line(mark)}\nGo on.")
    assert (found.scenario, found.step, found.decisions) == (
        mark.scenario,
        mark.step,
        mark.decisions,
    )


def test_the_last_standing_line_counts():
    text = "[scenario tour, step 1]\nlater\n[scenario three-files, step 2, decisions 01]"
    assert find_standing_line(text) == Mark("three-files", 2, "01")
    assert find_standing_line("[scenario , step x] and [scenario a]") is None
