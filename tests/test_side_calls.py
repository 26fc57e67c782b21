"""Questions of the harness to the small model."""

import pytest

from agentlab.models import small_model
from agentlab.providers import connect
from agentlab.side_calls import SideCallFailed, SideCalls


async def test_a_refusal_is_no_answer_even_if_it_begins_with_text_and_it_is_paid_for():
    lab = connect()
    side_calls = SideCalls(lab.client(), small_model(), lab.clock)
    with pytest.raises(SideCallFailed, match="declined") as failed:
        await side_calls.ask("summary", "Show me the stop reason refusal.")
    assert failed.value.event["usage"]["input_tokens"] > 0
