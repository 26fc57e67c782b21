"""The storm: what it measures, that it can be trusted, and that it shows itself."""

import re
from dataclasses import replace

import pytest

from agentlab import storm
from agentlab.storm import POLICIES, Server, compare, run
from agentlab.views.storm_chart import StormChart

QUIET = Server(from_s=140.0, to_s=140.0)


@pytest.fixture(scope="module")
def all_of_them():
    return compare()


def test_without_an_overload_every_task_is_one_request_and_answered():
    for policy in POLICIES.values():
        outcome = run(policy, QUIET)
        assert outcome.requests == outcome.tasks and outcome.recovery_s == 0
        assert (outcome.foreground, outcome.background) == (1, 1)


def test_the_policies_meet_the_same_tasks_and_the_same_input_gives_the_same_numbers():
    outcomes = [run(policy) for policy in POLICIES.values()]
    assert len({(o.tasks, o.met) for o in outcomes}) == 1
    assert outcomes == [run(policy) for policy in POLICIES.values()]
    assert run(storm.spread, seed=2) != run(storm.spread)


def test_the_requests_of_the_seconds_are_all_requests():
    for policy in POLICIES.values():
        outcome = run(policy)
        assert sum(outcome.per_s) == outcome.requests
        assert max(outcome.per_s) >= outcome.busiest_tenth


def test_without_retries_there_is_one_request_for_each_task():
    outcome = run(storm.no_retry)
    assert outcome.amplification == 1 and outcome.requests == outcome.tasks


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_retries_without_a_policy_multiply_the_load_three_to_ten_times(seed):
    factors = [
        run(policy, seed=seed).amplification
        for policy in (storm.doubling, storm.spread, storm.every_second, storm.at_once)
    ]
    assert all(3 < factor < 11 for factor in factors)
    assert run(storm.packaged, seed=seed).amplification < 2.5


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("refusal", [0.0, 0.02, 0.1])
def test_what_nobody_waits_for_makes_room_for_what_somebody_does(seed, refusal):
    server = Server(refusal=refusal)
    everybody, fewer = (run(policy, server, seed) for policy in (storm.spread, storm.packaged))
    assert fewer.foreground > max(everybody.foreground, fewer.background)
    assert fewer.amplification < everybody.amplification


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_spread_breaks_the_waves_of_those_that_failed_together(seed):
    together, spread = run(storm.doubling, seed=seed), run(storm.spread, seed=seed)
    assert spread.busiest_tenth < together.busiest_tenth / 1.5


def test_a_server_that_says_when_is_asked_less_often_and_answers_more():
    plain, told = run(storm.packaged), run(storm.packaged, Server(says_when=True))
    assert told.amplification < plain.amplification and told.foreground > 0.9


def test_hammering_for_ever_outlives_the_overload():
    outcome = run(lambda failed: 0.5)
    assert outcome.recovery_s > 100 and outcome.foreground < 0.3
    assert "no end seen" in repr(StormChart({"for ever": outcome}, Server()))


def test_a_server_that_is_down_turns_away_whatever_comes():
    down = Server(low_per_s=0, says_when=True)
    outcome = run(storm.no_retry, down)
    assert outcome.foreground < 0.05 and run(storm.packaged, down).foreground > outcome.foreground
    assert run(storm.no_retry, Server(tasks_per_s=0)).requests == 0


def test_the_packaged_policy_is_the_one_that_is_measured():
    last = storm.Failed(attempt=4, foreground=True, client=1)
    assert 1 <= storm.packaged(last) <= 2
    assert storm.packaged(replace(last, attempt=5)) is None
    assert storm.packaged(replace(last, attempt=2, foreground=False)) is None
    assert storm.packaged(replace(last, asked_s=7.0)) == 7


def test_it_shows_itself_as_a_table_and_as_a_picture(all_of_them):
    lines = repr(all_of_them).splitlines()
    assert len(lines) == len(POLICIES) + 3 and len({len(line) for line in lines[:-1]}) == 1
    assert re.search(r"^10 times at once +9\.8 +967 +20% +20% +0\.8 s$", lines[2])
    html = all_of_them._repr_html_()
    assert html.count("<svg") == len(all_of_them.outcomes) == len(POLICIES) + 1
    assert "Assumed: 25 tasks a second" in html and "<script" not in html
    assert len(html) < 40_000


def test_names_of_ones_own_are_shown_as_text():
    chart = compare({"<b>mine</b>": storm.no_retry})
    assert "<b>mine" not in chart._repr_html_() and "&lt;b&gt;mine" in chart._repr_html_()
