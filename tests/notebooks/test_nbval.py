"""Every chapter under strict nbval: a second opinion, by a tool that nobody here wrote."""

import re
import subprocess
import sys

import pytest

from agentlab.course.chapters import available
from agentlab.resources import notebooks_path


@pytest.mark.parametrize("stem", [chapter.stem for chapter in available()])
def test_strict_nbval_finds_every_output_as_it_is_stored(stem):
    folder = notebooks_path()
    nbval = "-q -n0 -p no:cacheprovider --nbval --nbval-current-env --nbval-cell-timeout=60"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *nbval.split(), f"{stem}.ipynb"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"^[1-9]\d* passed in", done.stdout, re.MULTILINE), done.stdout
