"""The money in the meter: the ghost line, and who spent how much on what."""

import re

import pytest

from agentlab.costs import Usage, price
from agentlab.meter import CostMeter
from agentlab.models import small_model
from agentlab.views.ledger import Ledger
from agentlab.views.meter import MeterPicture, meter_html, meter_text
from agentlab.views.spending import by_purpose, chart, purposes, saved


@pytest.fixture
def mixed(stream):
    """Turns, two kinds of side calls, and another agent within the run."""
    run = stream().start()
    run.turn_of(text="x", input_tokens=10, cache_write_5m_tokens=5_000)
    for purpose in ("summary", "classifier", "summary"):
        usage = Usage(input_tokens=900, output_tokens=50)
        cost = price(usage, small_model())
        about = {"model": small_model(), "usage": usage.to_dict(), "cost_usd": cost}
        run.add("model.side_call", purpose=purpose, **about)
    child = stream("child").start()
    child.turn_of(text="y", input_tokens=300)
    run.events += child.end().events
    return run.turn_of(text="z", input_tokens=10, cache_read_tokens=5_000).end()


def test_the_ghost_is_the_same_tokens_at_the_price_of_fresh_input(mixed):
    ledger = Ledger(mixed.events)
    calls = [(call.usage.uncached(), call.model) for call in CostMeter(mixed.events).calls]
    assert ledger.uncached == pytest.approx(sum(price(*call) for call in calls))
    assert ledger.entries[-1].so_far_uncached == ledger.uncached > ledger.cost


@pytest.fixture
def busy(stream):
    """A turn in which two agents work side by side and the harness asks on the side."""
    run = stream().start().turn_of(calls=[("Look", {})], input_tokens=10, cache_write_5m_tokens=900)
    end = run.events.pop()
    slow, fast = (stream(name).start().turn_of(text="y").end() for name in ("slow", "fast"))
    run.events += slow.events[:3] + fast.events + slow.events[3:]
    run.add("model.side_call", purpose="classifier", model=small_model(), cost_usd=0.001, usage={})
    run.events.append(end)
    return run.turn_of(text="z", input_tokens=10, cache_read_tokens=900).end()


def test_a_call_says_what_was_spent_when_it_was_paid_for(busy):
    first, slow, fast, *_, last = Ledger(busy.events).entries
    assert (slow.agent, fast.agent) == ("slow", "fast")
    assert first.so_far == first.cost, "not what its tools and the side calls have cost since"
    assert fast.so_far == pytest.approx(first.cost + fast.cost)
    assert slow.so_far == pytest.approx(first.cost + fast.cost + slow.cost)
    assert last.so_far == pytest.approx(sum(line.cost for line in by_purpose(Ledger(busy.events))))


def test_what_is_spent_only_grows_also_where_agents_work_side_by_side(busy):
    for points in re.findall(r'points="([^"]*)"', chart(Ledger(busy.events))):
        heights = [float(point.split(",")[1]) for point in points.split()]
        assert heights == sorted(heights, reverse=True)


def test_a_transcript_has_the_same_ghost(mixed):
    assert Ledger(mixed.stored).uncached == Ledger(mixed.events).uncached


def test_agents_and_purposes_are_those_of_the_cost_meter(mixed):
    lines = {(s.agent, s.purpose): s for s in by_purpose(Ledger(mixed.events))}
    whole = {line.name: line for line in CostMeter(mixed.events).by("agent", "purpose")}
    assert set(lines) == set(whole) and len(lines) == 4
    for name, line in whole.items():
        assert lines[name].calls == line.calls
        assert lines[name].cost == pytest.approx(line.usd)
        assert lines[name].tokens_in == line.usage.prompt_tokens
        assert lines[name].tokens_out == line.usage.output_tokens


def test_the_text_form_has_a_line_for_each_of_them(mixed):
    text = meter_text(mixed.events)
    assert "without cache" in text
    assert re.search(r"  main, summary +2 calls +\$0.00", text)
    assert re.search(r"  child, turns +1 call +\$0.00", text)


def test_one_agent_with_one_purpose_has_no_list(stream):
    run = stream().start().turn_of(text="x").turn_of(text="y").end()
    assert purposes(Ledger(run.events)) == "" and len(meter_text(run.events).split("\n")) == 5


def test_both_lines_end_where_the_numbers_say(mixed):
    ledger = Ledger(mixed.events)
    ghost, spent = re.findall(r'points="([^"]*)"', chart(ledger))
    assert ghost.split()[-1] == "640.0,6.0"  # the dearer one is at the top
    share = 1 - (float(spent.split()[-1].split(",")[1]) - 6) / 83
    assert share == pytest.approx(ledger.cost / ledger.uncached, abs=0.01)


def test_the_cost_has_the_ink_of_the_text_so_that_it_is_seen_on_a_dark_page_too(mixed):
    assert 'stroke="currentColor" stroke-width="2.5"' in chart(Ledger(mixed.events))


def test_without_caching_there_is_no_ghost(stream):
    ledger = Ledger(stream().start().turn_of(text="x").turn_of(text="y").end().events)
    assert saved(ledger) == "" and chart(ledger).count("polyline") == 1
    assert "Without cache" not in MeterPicture(ledger.events).head()


def test_a_cache_that_nobody_reads_costs_more(stream):
    run = stream().start().turn_of(text="x", input_tokens=10, cache_write_5m_tokens=9_000).end()
    assert re.search(r"without cache \(\d+ % more with it\)", meter_text(run.events))


def test_an_unknown_price_is_said_and_never_a_zero(stream):
    run = stream().start().turn_of(text="x", cache_read_tokens=5)
    run.add("model.side_call", purpose="summary", model="nobody-1", usage={}, cost_usd=None)
    text = meter_text(run.end().events)
    assert re.search(r"main, summary +1 call +not known", text) and "without cache" not in text
    assert "not known" in meter_html(run.events)
    known = stream().start().turn_of(text="x").turn_of(text="y", cache_read_tokens=5)
    known.add("model.side_call", purpose="summary", model="nobody-1", usage={}, cost_usd=None)
    assert "cost so far <b>unknown</b>" in chart(Ledger(known.end().events))


def test_a_long_run_has_a_line_of_bounded_length(stream):
    run = stream().start()
    for _ in range(700):
        run.turn_of(text="x", cache_read_tokens=10)
    drawn = chart(Ledger(run.end().stored))
    assert all(len(points.split()) <= 203 for points in re.findall(r'points="([^"]*)"', drawn))


def test_a_warning_about_the_budget_is_shown(stream):
    run = stream().start(limits={"usd": 0.1}).turn_of(text="x")
    run.add("budget.warning", text="<b>80 % of $0.10 is spent", share=0.8)
    assert "Warned: <b>80 % of $0.10 is spent" in meter_text(run.end().events)
    assert "Warned: &lt;b&gt;80 %" in meter_html(run.events)
