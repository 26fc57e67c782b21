"""Until there are permissions: nothing is changed without a yes, except against the simulator."""

import pytest

from agentlab import Agent, connect, tool
from agentlab.simulator import start
from agentlab.simulator.scenario import scenario

changed = []


@tool(name="Write", permission="write")
async def write(text: str = "x") -> str:
    """Write."""
    changed.append(text)
    return "written"


@tool(name="Look", permission="read", is_read_only=True)
async def look() -> str:
    """Look."""
    return "seen"


@scenario("test-confirm", opens="^change it$")
def change_it(chat):
    """Looks, writes, and reports what came of it."""
    results = yield chat.call("Look").call("Write", text="hello")
    yield chat.say(" | ".join(result.text for result in results))


@pytest.fixture
def elsewhere():
    """An endpoint that is not the built-in simulator, as far as the harness knows."""
    changed.clear()
    with start() as simulator:
        yield connect(simulator.base_url, model="claude-sonnet-5-5")


async def test_where_nobody_can_answer_the_answer_is_no(elsewhere):
    result = await Agent(tools=[look, write], endpoint=elsewhere).ask("change it")
    assert result.text.startswith("seen | The user did not allow") and changed == []


@pytest.mark.parametrize("answer", [True, False])
async def test_the_answer_decides_and_reading_is_not_asked_about(elsewhere, answer):
    asked = []

    async def confirm(call):
        asked.append((call.tool.name, call.arguments))
        return answer

    agent = Agent(tools=[look, write], endpoint=elsewhere, confirm=confirm)
    await agent.ask("change it")
    assert asked == [("Write", {"text": "hello"})]
    assert changed == (["hello"] if answer else [])


async def test_the_simulator_is_not_asked_about():
    changed.clear()
    await Agent(tools=[look, write], endpoint=connect()).ask("change it")
    assert changed == ["hello"]


@pytest.mark.parametrize(
    ("typed", "runs"), [("y", True), ("YES ", True), ("", False), ("n", False), ("yeah", False)]
)
async def test_only_a_clear_yes_is_a_yes(elsewhere, monkeypatch, capsys, typed, runs):
    monkeypatch.setattr("agentlab.confirm.can_ask", lambda: True)
    shown = []
    monkeypatch.setattr("builtins.input", lambda question: shown.append(question) or typed)
    await Agent(tools=[look, write], endpoint=elsewhere).ask("change it")
    assert "Write" in shown[0] and "hello" in shown[0]
    assert changed == (["hello"] if runs else [])


async def test_the_whole_turn_is_decided_before_any_of_it_runs(elsewhere):
    order = []

    @tool(name="Look", is_read_only=True)
    async def noted_look() -> str:
        """Look."""
        order.append("look")
        return "seen"

    async def confirm(call):
        order.append("asked")
        return True

    await Agent(tools=[noted_look, write], endpoint=elsewhere, confirm=confirm).ask("change it")
    assert order == ["asked", "look"]
