"""Run the SDK's own tests against the simulator: an oracle that nobody here wrote.

    python tests/conformance/run_sdk_tests.py

Downloads the source archive of the installed `anthropic` with pip, makes a virtual environment
with what its tests need (both in a temporary folder), and runs the SDK's tests of messages, batches
and models twice: without validation all of them, with validation all but those that send deliberate
nonsense (named ``all_params``) or ask for a batch that is not there. Exits with 1 if a test fails.
Needs a package index; not part of the ordinary test run.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

from agentlab.models import all_models, default_model
from agentlab.simulator import start

TESTS = (
    "tests/api_resources/test_messages.py",
    "tests/api_resources/test_models.py",
    "tests/api_resources/messages/test_batches.py",
    "tests/api_resources/beta/test_messages.py",
    "tests/api_resources/beta/test_models.py",
    "tests/api_resources/beta/messages/test_batches.py",
)
# Deliberate nonsense, and batches that nobody created.
NOT_FOR_A_STRICT_SERVER = (
    "not all_params and not (Batches and (retrieve or delete or cancel or results))"
)
NEEDED = (
    "anthropic[mcp,aiohttp]=={version}",
    "boto3",
    "dirty-equals",
    "google-auth[requests]",
    "griffe",
    "http-snapshot[httpx]==0.1.9",
    "hypothesis",
    "importlib-metadata",
    "inline-snapshot",
    "opentelemetry-sdk",
    "packaging",
    "pytest",
    "pytest-asyncio",
    "pytest-xdist",
    "respx",
    "rich",
    "standardwebhooks",
    "time-machine",
)
# Runs that prove nothing because too little was collected must not pass.
AT_LEAST = 100


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="work here and leave everything for next time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentlab-sdk-") as temporary:
        folder = (options.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        python, source = prepare(folder, version("anthropic"))
        failed = run(python, source, validate=False)
        name_real_models(source)
        failed |= run(python, source, validate=True, select=NOT_FOR_A_STRICT_SERVER)
    return int(failed)


def prepare(folder: Path, wanted: str) -> tuple[Path, Path]:
    """The Python and the unpacked source archive to test with."""
    source = folder / f"anthropic-{wanted}"
    print(f"anthropic {wanted}: source archive and test environment in {folder}", flush=True)
    environment = folder / "venv"
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():  # with a pip of its own: an environment made by uv has none
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        pip(python, "install", "-q", *(need.format(version=wanted) for need in NEEDED))
    archive = folder / f"anthropic-{wanted}.tar.gz"
    if not archive.exists():
        package = ["--no-binary", "anthropic", "--no-deps", f"anthropic=={wanted}"]
        pip(python, "download", "-q", "-d", str(folder), *package)
    with tarfile.open(archive) as tar:  # unpacked anew: an earlier run has changed it
        tar.extractall(folder, filter="data")
    return python, source


def pip(python: Path, *arguments: str) -> None:
    quiet = ["--disable-pip-version-check"]
    subprocess.run([str(python), "-m", "pip", *quiet, *arguments], check=True)


def name_real_models(source: Path) -> None:
    """Leave only models that the simulator has: a strict server does not know ``model_id``.

    Nor does it know every model that the SDK still warns about.
    """
    known = f"set({list(all_models())})"
    for name in TESTS:
        path = source / name
        text = path.read_text("utf-8").replace('"model_id",', f'"{default_model()}",')
        text = text.replace("in DEPRECATED_MODELS:", f"in DEPRECATED_MODELS.keys() & {known}:")
        path.write_text(text, "utf-8")


def run(python: Path, source: Path, *, validate: bool, select: str = "") -> bool:
    """Run the tests once. True if they failed, or if there were too few of them."""
    with start(validate=validate) as simulator:
        command = [str(python), "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *TESTS]
        environment = {
            **{k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTEST_ADDOPTS")},
            "TEST_API_BASE_URL": simulator.base_url,
        }
        done = subprocess.run(
            [*command, *(["-k", select] if select else [])],
            cwd=source,
            env=environment,
            capture_output=True,
            text=True,
        )
        requests = len(simulator.log)
    last = next((line for line in reversed(done.stdout.splitlines()) if line.strip()), "no output")
    passed = int(found[1]) if (found := re.search(r"(\d+) passed", last)) else 0
    failed = done.returncode != 0 or passed < AT_LEAST or requests < AT_LEAST
    mode = "with validation" if validate else "without validation"
    print(f"{'FAILED' if failed else 'passed'} {mode}: {last.strip('= ')}; {requests} requests")
    if failed:
        print(done.stdout[-8000:], done.stderr[-2000:], sep="\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
