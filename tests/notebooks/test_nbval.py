"""Every chapter under strict nbval: a second opinion, by a tool that nobody here wrote."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentlab.course.chapters import available
from agentlab.resources import notebooks_path


@pytest.mark.parametrize("stem", [chapter.stem for chapter in available()])
def test_strict_nbval_finds_every_output_as_it_is_stored(stem):
    folder = notebooks_path()
    plugins = "-p kernel_ports -p no:cacheprovider"
    nbval = f"-q -n0 {plugins} --nbval --nbval-current-env --nbval-cell-timeout=60"
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *nbval.split(), f"{stem}.ipynb"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"^[1-9]\d* passed in", done.stdout, re.MULTILINE), done.stdout
