"""Print a command line of README.md as CI runs it: ``python3 .ci/readme.py main-pip``.

The lines stand in code blocks below ``<!-- ci: NAME -->``. CI runs them as they are, with one
difference that is printed: a line that ends in ``agentlab lab`` would wait for a learner, so there
CI adds ``--check``, which executes chapter 00 without a browser.
"""

import re
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def command(name: str, text: str) -> str:
    """The one line below the marker ``name``. Raises LookupError if there is not exactly one."""
    blocks = re.findall(rf"<!-- ci: {re.escape(name)} -->\n```\w*\n(.*?)```", text, re.DOTALL)
    if len(blocks) != 1 or len(blocks[0].splitlines()) != 1:
        raise LookupError(f"README.md must have one block of one line marked 'ci: {name}'")
    return blocks[0].strip()


def as_run(line: str) -> str:
    """The line as CI runs it."""
    return f"{line} --check" if line.endswith("agentlab lab") else line


if __name__ == "__main__":
    print(as_run(command(sys.argv[1], README.read_text("utf-8"))))
