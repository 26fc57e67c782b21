"""Asking the user: answers written down, a real terminal, what a question shows; and the gate."""

import asyncio
import io
import itertools
import os
import signal
import sys
import threading
import time

import pytest
from rich.console import Console

from agentlab.permissions import Answer, Permissions, Question, Rules
from agentlab.permissions.asking import answer, best_asker, outcome, scripted, whole, why
from agentlab.permissions.decision import Circumstances
from agentlab.permissions.gate import Gate
from agentlab.permissions.terminal import Terminal
from agentlab.tools import Outcome, Prepared, tool

# ------------------------------------------------------------------------ answers written down


def question(**changes):
    facts = {
        "id": "toolu_1", "agent": "main", "tool": "Bash", "shown": "make",
        "input": {"command": "make", "timeout": 9}, "reason": "no rule says whether this may run",
        "layer": "default", "rules": ("Bash(make:*)",),
    }  # fmt: skip
    return Question(**{**facts, **changes})


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("approve", Answer("allow")),
        (" Approve ", Answer("allow")),
        ("deny", Answer("deny")),
        ("deny: run make test, please", Answer("deny", "run make test, please")),
        ('edit: {"command": "ls"}', Answer("allow", input={"command": "ls"})),
        ("session", Answer("allow", remember="session")),
        ("always", Answer("allow", remember="always")),
    ],
)
def test_an_answer_can_be_written_down(text, means):
    assert answer(text) == means


@pytest.mark.parametrize(
    "text", ["", "yes", "approve: all", "always: Bash", "edit", "edit: ls", "edit: []", "denied"]
)
def test_what_is_no_answer_is_an_error_before_anybody_is_asked(text):
    with pytest.raises(ValueError):
        scripted(text)


async def test_when_the_answers_run_out_it_is_a_denial_that_says_so():
    ask = scripted("approve")
    assert (await ask(question())).behaviour == "allow"
    last = await ask(question(id="toolu_2"))
    assert (
        last.behaviour == "deny" and "no answer was left (1 written down, question 2)" in last.note
    )
    assert [asked.id for asked in ask.questions] == ["toolu_1", "toolu_2"]


@pytest.mark.parametrize(
    ("written", "behaviours"),
    [
        ("approve", ["allow", "allow", "allow"]),
        ("deny,approve", ["deny", "allow", "allow"]),
        ("deny: not now, please\napprove\n", ["deny", "allow", "allow"]),
        ('["approve", "deny: a, b"]', ["allow", "deny", "deny"]),
    ],
)
async def test_the_environment_can_answer_and_its_last_answer_repeats(
    monkeypatch, written, behaviours
):
    monkeypatch.setenv("AGENTLAB_ANSWERS", written)
    ask = best_asker()
    assert [(await ask(question())).behaviour for _ in behaviours] == behaviours


def test_where_nobody_can_be_asked_there_is_no_asker(monkeypatch):
    monkeypatch.delenv("AGENTLAB_ANSWERS")
    monkeypatch.setattr(sys, "stdin", open(os.devnull))  # noqa: SIM115
    assert best_asker() is None
    monkeypatch.setattr(sys, "stdin", None)
    assert best_asker() is None


# ------------------------------------------------------------------------ how a question looks


def test_padding_cannot_push_a_part_of_the_call_out_of_sight():
    assert whole("ls" + " " * 500 + "; rm -rf ~") == "ls[500 blanks]; rm -rf ~"
    assert whole("ls" + "\n" * 300 + "rm -rf ~") == "ls\n[299 blank lines]\nrm -rf ~"
    assert whole("ls\n" + " \t\n" * 300 + "rm -rf ~").endswith("blank lines]\nrm -rf ~")
    long = whole("echo " + "x" * 50_000 + "; rm -rf ~")
    assert "CHARACTERS ARE NOT SHOWN" in long and long.endswith("rm -rf ~") and len(long) < 21_000


def test_ordinary_text_is_shown_as_it_is():
    text = "for f in *.txt; do\n    wc -w $f\n\ndone"
    assert whole(text) == text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "no rule says whether this may run"),
        ({"layer": "rule", "reason": "Bash(git push:*)"}, "a rule asks: Bash(git push:*)"),
        ({"layer": "classifier", "reason": "which host?"}, "the classifier is unsure: which host?"),
        (
            {"layer": "classifier", "reason": "classifier_unavailable"},
            "no rule decides it, and the classifier gave no answer",
        ),
    ],
)
def test_the_user_is_told_in_words_why_it_is_asked(changes, says):
    assert why(question(**changes)) == says


def test_an_outcome_is_told_in_words():
    assert outcome(Answer("allow", remember="session")) == "approved for this session"
    assert outcome(Answer("deny", "not now")) == "denied: not now"
    assert outcome(Answer("allow", input={})) == "approved with changes"


# --------------------------------------------------------------------------------- the terminal

unix = pytest.mark.skipif(os.name == "nt", reason="there is no pty on Windows")


@pytest.fixture
def typed(monkeypatch):
    """``await typed("a")``: the answer of a terminal in which that is typed, and what it showed."""
    keyboard, terminal = os.openpty()
    monkeypatch.setattr(sys, "stdin", os.fdopen(terminal, "r"))

    async def run(*lines, asked=None):
        console = Console(width=100, record=True, file=io.StringIO())
        task = asyncio.create_task(Terminal(console)(asked or question()))
        for line in lines:
            await asyncio.sleep(0.15)
            os.write(keyboard, line if isinstance(line, bytes) else f"{line}\n".encode())
        given = await asyncio.wait_for(task, 5)
        return given, console.export_text()

    run.keyboard = keyboard
    yield run
    os.close(keyboard)
    sys.stdin.close()


@unix
@pytest.mark.parametrize(
    ("lines", "means"),
    [
        (["a"], Answer("allow")),
        (["d"], Answer("deny")),
        (["n", "try make test"], Answer("deny", "try make test")),
        (["s"], Answer("allow", remember="session")),
        (["A", "yes"], Answer("allow", remember="always")),
        (["A", "Y"], Answer("allow", remember="always")),
        (["A", "", "d"], Answer("deny")),
        (["e", "make test"], Answer("allow", input={"command": "make test", "timeout": 9})),
        (["e", '{"command": "ls"}'], Answer("allow", input={"command": "ls"})),
        (["e", "", "d"], Answer("deny")),
        (["", "yes", "y", "approve"], Answer("allow")),
        ([b"\x04"], Answer("deny", "the question was not answered")),  # the end of the input
    ],
)
async def test_a_terminal_takes_every_answer_and_nothing_else_for_one(typed, lines, means):
    given, _ = await typed(*lines)
    assert given == means


@unix
async def test_a_terminal_shows_the_call_its_parts_why_and_the_rule(typed):
    asked = question(shown="cd x && [bold]make", parts=("cd x", "[bold]make"), agent="helper")
    _, text = await typed("d", asked=asked)
    assert "The agent 'helper' wants to use Bash" in text
    assert "cd x && [bold]make" in text and "1. cd x" in text and "2. [bold]make" in text
    assert "Why you are asked: no rule says whether this may run." in text
    assert "A always: Bash(make:*)" in text and "denied" in text


@unix
async def test_what_cannot_be_remembered_is_not_offered(typed):
    given, text = await typed("A", "s", "d", asked=question(rules=()))
    assert given == Answer("deny") and "always" not in text


@unix
async def test_what_was_typed_before_the_question_is_no_answer_to_it(typed):
    os.write(typed.keyboard, b"a\n")
    await asyncio.sleep(0.1)
    given, _ = await typed("d")
    assert given == Answer("deny")


@unix
async def test_waiting_in_a_terminal_can_be_cancelled_and_leaves_no_thread(typed):
    beats, threads = [], threading.active_count()
    task = asyncio.create_task(typed())
    for _ in range(5):
        await asyncio.sleep(0.05)
        beats.append(time.monotonic())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert max(b - a for a, b in itertools.pairwise(beats)) < 0.2
    for _ in range(40):
        if threading.active_count() <= threads:
            break
        await asyncio.sleep(0.05)
    assert threading.active_count() <= threads


@unix
async def test_ctrl_c_answers_no_and_does_not_end_the_run(typed):
    before = signal.getsignal(signal.SIGINT)
    asyncio.get_running_loop().call_later(0.2, os.kill, os.getpid(), signal.SIGINT)
    given, _ = await typed()
    assert given == Answer("deny", "the question was not answered")
    assert signal.getsignal(signal.SIGINT) is before


# --------------------------------------------------------------------------- through the gate


@tool(permission="execute")
def deploy(target: str) -> str:
    """Deploy."""
    return f"deployed {target}"


async def decided(gate, name="main", call_id="toolu_1", **input):
    """What becomes of one call, and the events on the way."""
    input = input or {"target": "staging"}
    calls = [Prepared({"id": call_id, "name": "deploy", "input": input}, deploy, input)]
    events = [piece async for piece in gate.decide(calls, Circumstances(agent=name))]
    return calls[0], events


async def test_an_approved_call_runs_and_a_denied_one_tells_the_model_why(tmp_path):
    gate = Gate(Permissions(workspace=tmp_path, ask=scripted("approve", "deny: not on fridays")))
    first, _ = await decided(gate)
    assert (await gate.execute(first)).block["content"] == "deployed staging"
    second, events = await decided(gate, call_id="toolu_2")
    assert isinstance(second, Outcome) and "not on fridays" in second.block["content"]
    assert events[-1][1]["layer"] == "user"


async def test_an_edited_call_runs_as_edited(tmp_path):
    gate = Gate(Permissions(workspace=tmp_path, ask=scripted('edit: {"target": "test"}')))
    call, _ = await decided(gate)
    assert "deployed test" in (await gate.execute(call)).block["content"]


async def test_for_this_session_asks_no_more(tmp_path):
    ask = scripted("session")
    gate = Gate(Permissions(workspace=tmp_path, ask=ask))
    for number in range(3):
        call, _ = await decided(gate, call_id=f"toolu_{number}")
        assert isinstance(call, Prepared)
    assert len(ask.questions) == 1


async def test_without_anybody_an_ask_is_a_recorded_denial(tmp_path):
    gate = Gate(Permissions(workspace=tmp_path))
    call, events = await decided(gate)
    assert isinstance(call, Outcome) and events[-1][1]["layer"] == "headless"


async def test_g05_the_question_of_a_child_reaches_the_parents_asker_with_its_name(tmp_path):
    ask = scripted("approve", "deny")
    child = Gate(Permissions(Rules.of(ask=["deploy"]), workspace=tmp_path, ask=ask))
    call, _ = await decided(child, "child")
    assert isinstance(call, Prepared) and ask.questions[0].agent == "child"


async def test_g05_without_an_asker_a_child_is_denied_at_once_with_a_reason(tmp_path):
    child = Gate(Permissions(Rules.of(ask=["deploy"]), workspace=tmp_path))
    async with asyncio.timeout(1):
        call, events = await decided(child, "child")
    assert "nobody can be asked" in call.block["content"]
    assert events[-1][1]["decision"] == "deny"


async def test_two_agents_that_ask_at_once_queue(tmp_path):
    open_, most = 0, 0

    async def ask(asked):
        nonlocal open_, most
        open_ += 1
        most = max(most, open_)
        await asyncio.sleep(0.05)
        open_ -= 1
        return Answer("allow", note=asked.agent)

    gates = [Gate(Permissions(workspace=tmp_path, ask=ask)) for _ in range(3)]
    answers = await asyncio.gather(
        *(decided(gate, f"agent {n}", f"toolu_{n}") for n, gate in enumerate(gates))
    )
    assert most == 1
    assert [events[-1][1]["reason"] for _, events in answers] == ["agent 0", "agent 1", "agent 2"]
