"""Questions of the harness to the small model."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from anthropic.types import Message, TextBlock

from agentlab.costs import Usage
from agentlab.models import small_model
from agentlab.providers import connect
from agentlab.retry import Retry
from agentlab.side_calls import SideCallFailed, SideCalls
from agentlab.simulator import Fault


@pytest.fixture
def lab():
    return connect()


@pytest.fixture
async def side_calls(lab):
    return SideCalls(lab.client(), small_model(), lab.clock, retry=Retry(seed=0))


async def test_a_refusal_is_no_answer_even_if_it_begins_with_text_and_it_is_paid_for(side_calls):
    with pytest.raises(SideCallFailed, match="declined") as failed:
        await side_calls.ask("summary", "Show me the stop reason refusal.")
    assert failed.value.event["usage"]["input_tokens"] > 0


@pytest.mark.parametrize("usage", [None, "none", {"input_tokens": -1}])
async def test_an_answer_without_usage_is_an_answer(side_calls, usage):
    class Answering:
        async def create(self, **request):
            block = TextBlock(type="text", text="hello")
            return Message.construct(content=[block], stop_reason="end_turn", usage=usage)

    client = SimpleNamespace(messages=Answering())
    answered = await replace(side_calls, client=client).ask("title", "hello")
    assert (answered.text, answered.event["usage"]) == ("hello", Usage().to_dict())


async def test_a_rate_limit_is_waited_for_and_each_wait_is_told(lab, side_calls):
    limit = lab.simulator.faults.add(Fault("status", status=429, times=3))
    began, mark = lab.clock.now(), lab.simulator.log.mark()
    answered = await side_calls.ask("title", "hello")
    limit.on = False
    assert [each["attempt"] for each in answered.event["retries"]] == [2, 3, 4]
    waited = sum(each["wait_s"] for each in answered.event["retries"])
    assert lab.clock.now() - began >= waited > 0
    assert len(lab.simulator.log.since(mark)) == 4


async def test_an_overloaded_server_is_left_alone(lab, side_calls):
    overload = lab.simulator.faults.add(Fault("status", status=529))
    mark = lab.simulator.log.mark()
    with pytest.raises(SideCallFailed, match="529") as failed:
        await side_calls.ask("title", "hello")
    overload.on = False
    assert len(lab.simulator.log.since(mark)) == 1
    assert "retries" not in failed.value.event
