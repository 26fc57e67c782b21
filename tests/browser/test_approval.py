"""Asking the user, in real JupyterLab: every button, an interrupt, two at once, `start()`."""

import json

import pytest

LAST = ".jp-Notebook .jp-Cell:last-child"
ASKED = f"{LAST} .agentlab-approval"
SETUP = """import json
from agentlab import Agent, connect
from agentlab.course import workspace
from agentlab.permissions import Permissions
from agentlab.permissions.asking import best_asker
from agentlab.toolbox import toolbox
from agentlab.views import watch
folder, lab = workspace("quickstart"), connect(speed=0)
permissions = Permissions.load(folder, home=folder / "home", ask=best_asker())
def new(name="main"):
    return Agent(tools=toolbox(folder), endpoint=lab, permissions=permissions, name=name)
agent = new()
"""
RUN = "result = await watch(agent.run('Run `touch made.txt`.'), views=['timeline'])\n"
SHOW = "print(json.dumps([result.status, result.text, (folder / 'made.txt').exists()]))"
IDLE = "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"


@pytest.fixture
def asked(lab):
    """``asked(code)``: run a cell that comes to a question, and wait for it."""
    lab.open("02_loop.ipynb")

    def run(code, setup=True):
        lab.add_cell((SETUP if setup else "") + code)
        lab.page.locator(f"{ASKED} button").first.wait_for(timeout=60_000)
        return lab.page.locator(ASKED)

    return run


def printed(lab):
    """What the last cell printed last, as JSON."""
    lab.settle()
    assert lab.errors() == []
    text = "".join(o["text"] for o in lab.outputs() if o["output_type"] == "stream")
    return json.loads(text.strip().splitlines()[-1])


def press(lab, name):
    lab.page.locator(ASKED).get_by_role("button", name=name).click()


def test_approve_runs_the_call_and_leaves_a_line_that_needs_no_kernel(lab, asked):
    widget = asked(RUN + SHOW)
    assert "touch made.txt" in widget.inner_text() and "Why you are asked" in widget.inner_text()
    assert widget.get_by_role("button", name="Deny").evaluate("it => it === document.activeElement")
    press(lab, "Approve")
    status, _, made = printed(lab)
    assert (status, made) == ("completed", True)
    assert "approved" in lab.page.locator(ASKED).inner_text()
    assert lab.page.locator(f"{ASKED} button").count() == 0
    (left,) = [o for o in lab.outputs() if "agentlab-approval" in str(o)]
    assert sorted(left["data"]) == ["text/html", "text/plain"]


def test_the_note_of_a_denial_reaches_the_model(lab, asked):
    widget = asked(RUN + SHOW)
    widget.get_by_label("Note for the model").fill("make test does that")
    press(lab, "Deny")
    _, text, made = printed(lab)
    assert "make test does that" in text and not made


def test_enter_by_accident_denies(lab, asked):
    asked(RUN + SHOW)
    lab.page.keyboard.press("Enter")
    assert printed(lab)[2] is False
    assert "denied" in lab.page.locator(ASKED).inner_text()


def test_an_edited_command_is_what_runs_and_a_wrong_one_is_told(lab, asked):
    widget = asked(RUN + "print(json.dumps([p.name for p in folder.glob('*.txt')]))")
    press(lab, "Edit")
    box = widget.get_by_role("textbox", name="Run this command instead")
    box.fill("  ")
    press(lab, "Approve the changed call")
    lab.page.get_by_text("the command is empty").wait_for(timeout=5_000)
    box.fill("touch edited.txt")
    press(lab, "Approve the changed call")
    made = printed(lab)
    assert "edited.txt" in made and "made.txt" not in made


def test_always_asks_no_more_and_the_rule_is_in_the_file(lab, asked):
    asked(RUN)
    always = lab.page.locator(ASKED).get_by_role("button", name="Always: Bash(")
    rule = always.inner_text().removeprefix("Always: ")
    always.click()
    lab.settle()
    lab.add_cell(
        "result = await agent.ask('Run `touch made.txt`.')\n"
        "print(json.dumps([result.status, [e.type for e in result.events], "
        "permissions.save_to.read_text()]))"
    )
    status, types, saved = printed(lab)
    assert status == "completed" and "permission.requested" not in types
    assert rule in json.loads(saved)["permissions"]["allow"]


def test_an_interrupt_while_asking_ends_the_cell_and_leaves_a_valid_history(lab, asked):
    asked(RUN)
    lab.page.wait_for_timeout(600)
    lab.command("notebook:interrupt-kernel")
    lab.page.wait_for_function(IDLE, timeout=5_000)
    lab.settle()
    assert "cancelled before it was answered" in lab.page.locator(ASKED).inner_text()
    assert lab.page.locator(f"{ASKED} button").count() == 0
    lab.add_cell("result = await agent.ask('What is 12 * 7?')\n" + SHOW)
    lab.settle()
    assert "completed" in str(lab.outputs()) and "84" in str(lab.outputs())


def test_two_agents_that_ask_at_once_are_answered_one_after_the_other(lab, asked):
    widget = asked(
        "import asyncio\n"
        "two = await asyncio.gather(agent.ask('Run `touch a.txt`.'), "
        "new('helper').ask('Run `touch b.txt`.'))\n"
        "print(json.dumps([r.status for r in two] + sorted(p.name for p in folder.glob('*.txt'))))"
    )
    lab.page.wait_for_timeout(500)
    assert widget.count() == 1, "the second waits for its turn"
    press(lab, "Approve")
    helper = lab.page.get_by_role("group", name="The agent 'helper' wants to use Bash")
    helper.get_by_role("button", name="Approve").click(timeout=10_000)
    assert printed(lab) == ["completed", "completed", "a.txt", "b.txt"]


def test_an_agent_in_the_background_asks_while_other_cells_run(lab, asked):
    asked("task = agent.start('Run `touch made.txt`.')\nprint(json.dumps('begun'))")
    lab.settle()  # the cell has ended; the question is open
    press(lab, "Approve")
    lab.page.locator(ASKED, has_text="approved").wait_for(timeout=10_000)
    lab.add_cell("result = await task\n" + SHOW)
    status, _, made = printed(lab)
    assert (status, made) == ("completed", True)
