import pytest
from pytest import approx

from agentlab.costs import price
from agentlab.models import default_model
from agentlab.views.ledger import INPUT, OUTPUT, Ledger


def test_totals_are_those_of_the_run(demo):
    ledger = Ledger(demo.events)
    assert ledger.cost == approx(demo.usd) and ledger.turns == 3
    assert ledger.total(*INPUT) == demo.usage.prompt_tokens
    assert ledger.total(*OUTPUT) == demo.usage.output_tokens
    assert ledger.entries[-1].so_far == approx(demo.usd)


def test_thinking_is_a_part_of_the_output_and_counted_once(stream):
    ledger = Ledger(stream().start().turn_of(text="a", output_tokens=50, thinking_tokens=20).events)
    assert (ledger.total("thinking"), ledger.total("output")) == (20, 30)


def test_while_a_reply_streams_its_tokens_are_estimated_and_then_counted(stream):
    run = stream().start().open()
    before = Ledger(run.write("text", "x" * 330).events)
    assert before.estimated and before.total("output") == approx(100) and before.cost == 0
    after = Ledger(stream().start().turn_of(text="x" * 330, output_tokens=7).events)
    assert not after.estimated and after.total("output") == 7


def test_what_a_failed_attempt_had_streamed_does_not_count(stream):
    run = stream().start().open().write("text", "x" * 330)
    run.add("model.retry", attempt=2, reason="cut off", wait_s=0.5)
    assert Ledger(run.events).total("output") == 0


def test_a_call_that_was_answered_is_priced_although_its_turn_was_cut_off(stream):
    run = stream().start().turn_of(calls=[("Read", {})])
    run.events = run.events[:-2]
    ledger = Ledger(run.end("cancelled").events)
    assert ledger.cost == approx(price(run.usage, default_model()))


def test_a_call_that_was_never_answered_is_shown_and_not_counted(stream):
    ledger = Ledger(stream().start().open().end("cancelled").events)
    assert [entry.state for entry in ledger.entries] == ["lost"]
    assert ledger.total(*INPUT) == 0 and ledger.cost == 0


@pytest.mark.parametrize("seen", range(1, 5))
def test_an_agent_that_goes_on_when_the_other_has_ended_is_counted_once(stream, seen):
    one, other = stream("one").start().turn_of(text="a"), stream("other").turn_of(text="b")
    before = one.events + other.events[:seen]  # its turn begins, some of it comes ...
    ledger = Ledger(before + stream("one").end().events + other.events[seen:])
    assert ledger.cost == approx(one.usd + other.usd) and ledger.turns == 2
    assert ledger.total(*INPUT) == 200 and {e.state for e in ledger.entries} == {"priced"}


def test_a_price_that_is_not_known_makes_the_total_unknown(stream):
    run = stream().start().turn_of(text="a")
    run.events[-1].data["cost_usd"] = None
    assert Ledger(run.events).cost is None


def test_side_calls_count_and_are_no_turns(stream):
    run = stream().start().turn_of(text="a")
    usage = {"input_tokens": 10, "output_tokens": 5}
    run.add("model.side_call", purpose="summary", model="small", usage=usage, cost_usd=0.25)
    ledger = Ledger(run.end().events)
    assert ledger.turns == 1 and ledger.cost == approx(run.usd + 0.25)
    assert ledger.entries[-1].name == "summary"


def test_a_follow_up_adds_up_and_its_limit_is_its_own(stream):
    run = stream().start(limits={"usd": 0.5}).turn_of(text="a").end()
    first = run.usd
    run.start("And?", limits={"usd": 0.4}).turn_of(text="b", input_tokens=7).end()
    ledger = Ledger(run.events)
    assert ledger.cost == approx(first + run.usd)
    assert (ledger.run_cost, ledger.limit_usd) == (approx(run.usd), 0.4)
    assert [entry.kind for entry in ledger.entries] == ["turn", "task", "turn"]
