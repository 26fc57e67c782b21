"""A page without cells, by Voilà: an agent that was started in the background asks its user."""

import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time

import nbformat
import pytest

PAGE = """from agentlab import Agent, connect
from agentlab.course import workspace
from agentlab.permissions import Permissions
from agentlab.permissions.asking import best_asker
from agentlab.toolbox import toolbox
import ipywidgets

folder, ask, said = workspace("quickstart"), best_asker(), ipywidgets.HTML()
agent = Agent(tools=toolbox(folder), endpoint=connect(speed=0),
              permissions=Permissions(workspace=folder, home=folder, ask=ask))
task = agent.start("Run `touch made.txt`.")
task.add_done_callback(lambda t: setattr(said, "value", f"{t.result().status}: {t.result().text}"))
display(ask, said)"""


@pytest.fixture
def voila(tmp_path, free_port):
    """The address of a page that Voilà serves."""
    if importlib.util.find_spec("voila") is None:
        missing = "Voilà is missing: pip install agentlab[voila]"
        (pytest.fail if os.environ.get("AGENTLAB_REQUIRE_BROWSER") else pytest.skip)(missing)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(PAGE)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, tmp_path / "ask.ipynb")
    env = {k: v for k, v in os.environ.items() if not k.startswith("AGENTLAB_")}
    env["JUPYTER_CONFIG_DIR"] = str(tmp_path / "config")
    port = free_port()
    command = [sys.executable, "-m", "voila", "ask.ipynb", "--no-browser", f"--port={port}"]
    process = subprocess.Popen(
        [*command, "--Voila.ip=127.0.0.1"], cwd=tmp_path, env=env,
        start_new_session=os.name != "nt", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            break
        assert process.poll() is None, "Voilà did not start"
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}/"
    if os.name == "nt":
        process.terminate()
    else:
        os.killpg(process.pid, signal.SIGTERM)
    process.wait(20)


def test_an_agent_that_was_started_asks_on_a_page_and_goes_on(voila, browser):
    page = browser.new_page()
    page.goto(voila, timeout=120_000)
    page.get_by_role("button", name="Approve", exact=True).click(timeout=60_000)
    page.get_by_text("completed: I asked to run").wait_for(timeout=30_000)
    assert "approved" in page.locator(".agentlab-approval").inner_text()
    assert page.get_by_role("button").count() == 0
    page.close()
