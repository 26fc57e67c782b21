"""A real JupyterLab and a real Chromium, for the tests of what learners see.

Where Chromium is missing the tests skip and say what to install; with AGENTLAB_REQUIRE_BROWSER=1
(as in CI) that is a failure.
"""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from agentlab.resources import notebooks_path

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
]
IDLE = """() => {
    const kernel = window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel;
    return kernel && kernel.status === 'idle' && kernel.connectionStatus === 'connected';
}"""
# Commands are counted while they run: those of a cell are over when its last output has come.
COMMAND = """([name, args]) => {
    window.running = (window.running ?? 0) + 1;
    const over = () => { window.running -= 1; };
    window.jupyterapp.commands.execute(name, args).then(over, over);
}"""
SETTLED = f"() => !window.running && ({IDLE})()"
DRAW_AGAIN = """() => {
    const { outputs } = window.jupyterapp.shell.currentWidget.content.widgets.at(-1).model;
    outputs.fromJSON(outputs.toJSON());
}"""


def _give_up(reason):
    if os.environ.get("AGENTLAB_REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")  # while it is open, Playwright's event loop is the running one
def browser():
    if CHROMIUM is None:
        _give_up("Chromium is missing: install it (Debian: apt-get install chromium)")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def course(tmp_path_factory):
    """A copy of the notebooks, as learners have one."""
    folder = tmp_path_factory.mktemp("course")
    for notebook in notebooks_path().glob("*.ipynb"):
        shutil.copy(notebook, folder)
    return folder


@pytest.fixture(scope="session")
def free_port():
    """``free_port()``: one below those that the system gives away to who asks for any."""

    def find():
        for port in random.sample(range(10_000, 20_000), 50):
            with contextlib.suppress(OSError), socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
                return port
        pytest.fail("no free port below 20,000")

    return find


@pytest.fixture(scope="session")
def server(course, free_port, tmp_path_factory):
    """JupyterLab on that copy, with views that are live and text that takes its time."""
    home = tmp_path_factory.mktemp("jupyter")
    env = {k: v for k, v in os.environ.items() if not k.startswith("AGENTLAB_")}
    env |= {
        f"JUPYTER{name}_DIR": str(home / name)
        for name in ("_CONFIG", "LAB_SETTINGS", "LAB_WORKSPACES")
    }
    env |= {"AGENTLAB_SPEED": "150"}
    port = free_port()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "jupyterlab",
            "--no-browser",
            "--allow-root",
            "--ip=127.0.0.1",
            f"--port={port}",
            "--ServerApp.port_retries=0",
            *(["--KernelManager.transport=ipc"] if sys.platform == "linux" else []),
            "--IdentityProvider.token=",
            "--LabApp.expose_app_in_browser=True",
            "--LabApp.extension_manager=readonly",
            "--LabApp.news_url=",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            f"--ServerApp.root_dir={course}",
        ],
        env=env,
        start_new_session=os.name != "nt",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{url}/api/status", timeout=1)
            break
        assert process.poll() is None, "JupyterLab did not start"
        time.sleep(0.1)
    yield url
    if os.name == "nt":
        process.terminate()
    else:
        os.killpg(process.pid, signal.SIGTERM)
    process.wait(20)


class Lab:
    """One notebook, open in the browser."""

    def __init__(self, page, url):
        self.page, self.url = page, url

    def open(self, name, kernel=True):
        workspace = f"{name.removesuffix('.ipynb')}-{time.monotonic_ns()}"
        self.page.goto(f"{self.url}/lab/workspaces/{workspace}/tree/{name}?reset")
        self.page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=60_000)
        if kernel:
            self.page.wait_for_function(IDLE, timeout=90_000)
        return self

    def command(self, name, **arguments):
        """Start a command of JupyterLab; `settle` waits for its end."""
        self.page.evaluate(COMMAND, [name, arguments])

    def run_all(self):
        self.command("notebook:run-all-cells")
        self.settle()
        return self

    def settle(self):
        """Wait until nothing runs any more."""
        self.page.wait_for_function(SETTLED, timeout=240_000)

    def draw_again(self):
        """Draw the outputs of the last cell as if the notebook had been opened just now."""
        self.page.evaluate(DRAW_AGAIN)

    def errors(self):
        """The error outputs of the notebook, as the kernel gave them."""
        return self.page.evaluate(
            """() => window.jupyterapp.shell.currentWidget.content.model.toJSON().cells
                .flatMap((cell) => cell.outputs ?? [])
                .filter((output) => output.output_type === 'error')
                .map((output) => output.ename + ': ' + output.evalue)"""
        )

    def cells_run(self):
        return self.page.evaluate(
            """() => window.jupyterapp.shell.currentWidget.content.model.toJSON().cells
                .filter((cell) => cell.cell_type === 'code').map((cell) => cell.execution_count)"""
        )

    def add_cell(self, source):
        """Put a code cell at the end, and run it without waiting for it."""
        self.page.evaluate(
            """(source) => {
                const notebook = window.jupyterapp.shell.currentWidget.content;
                const cells = notebook.model.sharedModel;
                cells.insertCell(cells.cells.length, { cell_type: 'code', source });
                notebook.activeCellIndex = cells.cells.length - 1;
            }""",
            source,
        )
        self.command("notebook:run-cell")

    def outputs(self, index=-1):
        """The outputs of one cell, as JSON."""
        return self.page.evaluate(
            """(index) => {
                const notebook = window.jupyterapp.shell.currentWidget.content;
                return notebook.model.toJSON().cells.at(index).outputs;
            }""",
            index,
        )


@pytest.fixture(scope="module")
def window(browser):
    """A window of the browser; what JupyterLab is made of is loaded into it only once."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context
    context.close()


@contextlib.contextmanager
def opened(window, server):
    """A `Lab` in a tab of its own, in which nothing may go wrong."""
    page = window.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield Lab(page, server)
    with contextlib.suppress(Exception):
        page.evaluate(
            "async () => { await window.jupyterapp.shell.currentWidget.sessionContext.shutdown() }"
        )
    page.close(run_before_unload=False)
    # Said when a kernel is shut down.
    assert not [c for c in complaints if "Canceled future" not in c]


@pytest.fixture
def lab(window, server):
    with opened(window, server) as lab:
        yield lab


@pytest.fixture(scope="module")
def one_run(window, server, request):
    """A notebook whose last cell has run the module's ``WATCH``: once for all tests that look."""
    with opened(window, server) as lab:
        lab.open("02_loop.ipynb").add_cell(request.module.WATCH.format(speed=0))
        lab.settle()
        assert lab.errors() == []
        yield lab


@pytest.fixture
def finished(one_run):
    """The last cell of that notebook, as if it had just been opened."""
    one_run.draw_again()
    cell = one_run.page.locator(".jp-Notebook .jp-Cell:last-child")
    cell.locator(".agentlab-context.agentlab-active .agentlab-xray tbody tr").first.wait_for()
    return cell
