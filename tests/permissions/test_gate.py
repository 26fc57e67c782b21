"""The gate: every call passes it, the order of opinions holds, and the model can read a refusal."""

import asyncio
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab import Agent, connect, tool
from agentlab.hooks import Hooks, Merged
from agentlab.permissions import Answer, Circumstances, Decision, Permissions, Rules
from agentlab.permissions.gate import Gate, merge
from agentlab.simulator import start

BEHAVIOURS = ("allow", "undecided", "ask", "deny")


@pytest.fixture
def log():
    return []


@pytest.fixture
def tools(log):
    @tool(name="Look", is_read_only=True, permission="read")
    async def look(what: str = "x") -> str:
        """Look."""
        log.append(f"look {what}")
        return "seen"

    @tool(name="Paint", permission="write")
    async def paint(what: str = "x") -> str:
        """Paint."""
        log.append(f"paint {what}")
        return "painted"

    return [look, paint]


class Said(Hooks):
    """Hooks that say the same to every call, and note what they were asked."""

    def __init__(self, answer=None, after=None):
        self.answer, self.after, self.asked = answer or Merged(), after or Merged(), []

    def __bool__(self):
        return True

    def on(self, event, tool=""):
        return True

    async def fire(self, event, payload, now=None, tool=None):
        self.asked.append((event, payload.get("tool_name"), payload.get("tool_input")))
        return {"PreToolUse": self.answer, "PostToolUse": self.after}.get(event, Merged())


def asker(*answers):
    """An asker that gives these answers in turn, and the questions it was asked."""
    questions = []

    async def ask(question):
        questions.append(question)
        return answers[min(len(questions), len(answers)) - 1]

    return ask, questions


def both(chat):
    return chat.call("Look", what="first").call("Paint", what="it red")


def report(chat):
    return chat.say("done")


def decided(result):
    found = [e for e in result.events if e.type == "permission.decided"]
    return [(e.name, e.decision, e.layer) for e in found]


def results(agent):
    return [block for message in agent.history for block in message["content"]
            if block["type"] == "tool_result"]  # fmt: skip


async def test_a_rule_that_denies_ends_it_and_the_model_reads_why(play, tools, log):
    rules = Rules.of(deny=["Paint"])
    agent = Agent(tools=tools, endpoint=play(both, report), permissions=Permissions(rules))
    result = await agent.ask("go")
    assert log == ["look first"]
    assert decided(result)[1] == ("Paint", "deny", "rule")
    refused = results(agent)[1]
    assert refused["is_error"] and "nothing was run" in refused["content"]
    assert "The rule: Paint in code." in refused["content"]


async def test_where_nobody_can_be_asked_the_answer_is_no_and_it_is_recorded(play, tools, log):
    agent = Agent(tools=tools, endpoint=play(both, report), permissions=Permissions())
    result = await agent.ask("go")
    assert log == ["look first"]
    assert decided(result)[1] == ("Paint", "deny", "headless")
    assert "nobody can be asked" in results(agent)[1]["content"]
    assert not [e for e in result.events if e.type == "permission.requested"]


async def test_the_user_says_yes_and_sees_exactly_what_will_run(play, tools, log):
    ask, questions = asker(Answer("allow"))
    permissions = Permissions(ask=ask)
    agent = Agent(tools=tools, endpoint=play(both, report), permissions=permissions, name="ada")
    result = await agent.ask("go")
    assert log == ["look first", "paint it red"]
    [question] = questions
    assert (question.tool, question.agent, question.input) == ("Paint", "ada", {"what": "it red"})
    assert "it red" in question.shown and question.reason
    kinds = [e.type for e in result.events if e.type.startswith("permission")]
    assert kinds == ["permission.decided", "permission.requested", "permission.decided"]


async def test_a_no_with_a_note_reaches_the_model(play, tools, log):
    ask, _ = asker(Answer("deny", note="use blue instead"))
    agent = Agent(tools=tools, endpoint=play(both, report), permissions=Permissions(ask=ask))
    await agent.ask("go")
    assert log == ["look first"] and "use blue instead" in results(agent)[1]["content"]


async def test_the_user_edits_the_input_and_the_model_is_told(play, tools, log):
    ask, _ = asker(Answer("allow", input={"what": "it blue"}))
    agent = Agent(tools=tools, endpoint=play(both, report), permissions=Permissions(ask=ask))
    result = await agent.ask("go")
    assert log[-1] == "paint it blue"
    assert "it blue" in results(agent)[1]["content"]
    started = [e for e in result.events if e.type == "tool.execution_start"]
    assert started[1].input == {"what": "it blue"}
    asked = next(m for m in agent.history if m["role"] == "assistant")["content"]
    assert asked[-1]["input"] == {"what": "it red"}  # what the model wrote is never rewritten


async def test_an_edit_that_does_not_fit_the_schema_is_refused(play, tools, log):
    ask, _ = asker(Answer("allow", input={"colour": 5}))
    agent = Agent(tools=tools, endpoint=play(both, report), permissions=Permissions(ask=ask))
    await agent.ask("go")
    assert log == ["look first"] and "invalid input" in results(agent)[1]["content"]


async def test_for_this_session_is_not_asked_again(play, tools, log):
    ask, questions = asker(Answer("allow", remember="session"))
    permissions = Permissions(ask=ask)
    agent = Agent(tools=tools, endpoint=play(both, both, report), permissions=permissions)
    await agent.ask("go")
    assert log.count("paint it red") == 2 and len(questions) == 1


async def test_all_calls_are_decided_before_any_of_them_runs(play, tools, log):
    async def ask(question):
        log.append(f"asked about {question.input['what']}")
        return Answer("allow")

    agent = Agent(
        tools=tools,
        endpoint=play(lambda c: c.call("Paint", what="1").call("Paint", what="2"), report),
        permissions=Permissions(ask=ask),
    )
    await agent.ask("go")
    assert log == ["asked about 1", "asked about 2", "paint 1", "paint 2"]


async def test_an_asker_that_fails_is_no_consent(play, tools, log):
    async def ask(question):
        raise OSError("no screen")

    agent = Agent(tools=tools, endpoint=play(both, report), permissions=Permissions(ask=ask))
    await agent.ask("go")
    assert log == ["look first"] and "no screen" in results(agent)[1]["content"]


async def test_two_agents_that_ask_at_once_wait_for_each_other(play, tools, log):
    busy = False

    async def ask(question):
        nonlocal busy
        assert not busy, "two questions at the same time"
        busy = True
        await asyncio.sleep(0.05)
        busy = False
        return Answer("allow")

    permissions = Permissions(ask=ask)
    agents = [
        Agent(tools=tools, endpoint=play(both, report), permissions=permissions, name=name)
        for name in ("ada", "bob")
    ]
    await asyncio.gather(*(agent.ask("go") for agent in agents))
    assert log.count("paint it red") == 2


async def test_cancelled_while_asking_the_history_stays_valid_and_nothing_ran(play, tools, log):
    asked = asyncio.Event()

    async def ask(question):
        asked.set()
        await asyncio.sleep(60)

    agent = Agent(
        tools=tools, endpoint=play(both, report, report), permissions=Permissions(ask=ask)
    )
    running = agent.start("go")
    await asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert log == []
    assert [block["is_error"] for block in results(agent)] == [True, True]
    assert (await agent.ask("and now?")).ok  # the strict server takes the history


async def test_without_permissions_a_real_endpoint_is_asked_about_and_the_simulator_is_not(
    tools, log
):
    task = "play test-gate-both"
    from agentlab.simulator.scenario import scenario

    @scenario("test-gate-both")
    def scripted(chat):
        """Turns of a test."""
        yield both(chat)
        yield report(chat)

    with start() as simulator:  # as far as the harness knows, not the built-in simulator
        elsewhere = connect(simulator.base_url, model="claude-sonnet-5-5")
        await Agent(tools=tools, endpoint=elsewhere).ask(task)
    assert log[0] == "look first"
    before = len(log)
    await Agent(tools=tools, endpoint=connect()).ask(task)
    assert log[before:] == ["look first", "paint it red"]


def test_explain_takes_a_name_a_block_or_a_prepared_call(tools):
    from agentlab.messages import tool_use
    from agentlab.tools import prepare

    permissions = Permissions(Rules.of(deny=["Paint"]))
    block = tool_use("t", "Paint", {"what": "x"})
    prepared = prepare(block, {tool.name: tool for tool in tools})
    for decision in (
        permissions.explain("Paint", what="x"),
        permissions.explain(block),
        permissions.explain(prepared),
    ):
        assert (decision.behaviour, decision.layer) == ("deny", "rule")
        assert decision.rule.startswith("Paint in")


# ------------------------------------------------------------------------------------------ hooks


async def test_hooks_see_everything_that_is_not_denied_also_what_a_rule_allows(play, tools):
    hooks = Said()
    permissions = Permissions(Rules.of(allow=["Paint"], deny=["Look"]))
    endpoint = play(both, report)
    await Agent(tools=tools, endpoint=endpoint, permissions=permissions, hooks=hooks).ask("go")
    assert [name for event, name, _ in hooks.asked if event == "PreToolUse"] == ["Paint"]


async def test_a_hooks_allow_never_lifts_an_ask_rule(play, tools, log):
    permissions = Permissions(Rules.of(ask=["Paint"]))
    hooks = Said(Merged("allow"))
    agent = Agent(tools=tools, endpoint=play(both, report), permissions=permissions, hooks=hooks)
    result = await agent.ask("go")
    assert log == ["look first"] and decided(result)[1] == ("Paint", "deny", "headless")


async def test_what_a_hook_changed_is_judged_again_from_the_rules(play, log):
    @tool(name="Bash", permission="execute")
    async def bash(command: str) -> str:
        """Run."""
        log.append(command)
        return "ran"

    permissions = Permissions(Rules.of(deny=["Bash(rm:*)"], allow=["Bash(ls:*)"]))
    hooks = Said(Merged("allow", input={"command": "rm -rf build"}))
    endpoint = play(lambda c: c.call("Bash", command="ls"), report)
    agent = Agent(tools=[bash], endpoint=endpoint, permissions=permissions, hooks=hooks)
    await agent.ask("go")
    assert log == [] and "rm" in results(agent)[0]["content"]


async def test_a_changed_input_that_does_not_fit_the_schema_is_an_error_result(play, tools, log):
    hooks = Said(Merged("", input={"colour": 5}))
    agent = Agent(tools=tools, endpoint=play(both, report), hooks=hooks)
    await agent.ask("go")
    assert log == []
    assert all("invalid input" in block["content"] for block in results(agent))


async def test_a_rollback_puts_the_file_back_and_says_so(play, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("before")

    @tool(name="Write", permission="write", path_argument="file_path", root=tmp_path)
    def write(file_path: str, content: str) -> str:
        """Write."""
        (tmp_path / file_path).write_text(content)
        return "written"

    hooks = Said(after=Merged(rollback=True))
    endpoint = play(
        lambda c: c.call("Write", file_path="a.txt", content="after"),
        lambda c: c.call("Write", file_path="new.txt", content="after"),
        report,
    )
    agent = Agent(tools=[write], endpoint=endpoint, hooks=hooks)
    await agent.ask("go")
    assert file.read_text() == "before" and not (tmp_path / "new.txt").exists()
    assert "rollback" in results(agent)[0]["content"]


# ------------------------------------------------------------------------------------- properties


@given(st.sampled_from(BEHAVIOURS), st.sampled_from(["", "allow", "ask", "deny"]))
def test_hooks_only_narrow_what_a_rule_said_or_decide_what_none_did(judged, said):
    merged = merge(Decision(judged, "rule"), Merged(said)).behaviour
    if judged in ("deny", "ask"):
        assert BEHAVIOURS.index(merged) >= BEHAVIOURS.index(judged)
    if said in ("deny", "ask"):
        assert BEHAVIOURS.index(merged) >= BEHAVIOURS.index(said)
    if said == "":
        assert merged == judged


@given(
    st.lists(st.sampled_from(["Look", "Paint", "Sing", "Nothing"]), min_size=1, max_size=6),
    st.sets(st.sampled_from(["Look", "Paint", "Sing"])),
    st.sets(st.sampled_from(["Look", "Paint", "Sing"])),
)
def test_the_gate_was_asked_for_every_executed_call(names, denied, allowed):
    asyncio.run(_gate_was_asked(names, denied, allowed))


async def _gate_was_asked(names, denied, allowed):
    from agentlab.clock import VirtualClock
    from agentlab.messages import tool_use
    from agentlab.partition import run_batches
    from agentlab.tools import Outcome, prepare

    ran = []

    def make(name, permission):
        @tool(name=name, permission=permission, is_read_only=permission == "read")
        async def function(number: int) -> str:
            """Do it."""
            ran.append(number)
            return "done"

        return function

    tools = {n: make(n, p) for n, p in (("Look", "read"), ("Paint", "write"), ("Sing", "execute"))}
    gate = Gate(Permissions(Rules.of(deny=denied, allow=allowed)))
    calls = [prepare(tool_use(f"t{n}", name, {"number": n}), tools) for n, name in enumerate(names)]
    told = {}
    async with aclosing(gate.decide(calls, Circumstances())) as pieces:
        async for kind, data in pieces:
            assert kind == "permission.decided" and not ran
            told[data["tool_use_id"]] = data["decision"]
    async for _ in run_batches(calls, VirtualClock(), 10, gate.execute):
        pass
    assert sorted(ran) == [n for n in range(len(names)) if told.get(f"t{n}") == "allow"]
    assert all(names[n] not in denied for n in ran)
    assert all(isinstance(c, Outcome) for n, c in enumerate(calls) if n not in ran)
