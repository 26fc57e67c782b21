"""`toolbox`: all the tools that ship, for one folder."""

from __future__ import annotations

import os

from agentlab.clock import Clock, RealClock
from agentlab.file_cache import FileCache
from agentlab.toolbox.arithmetic import calculator
from agentlab.toolbox.clock import clock_tool
from agentlab.toolbox.complete import task_complete
from agentlab.toolbox.edit import edit_tool, write_tool
from agentlab.toolbox.fetch import web_fetch
from agentlab.toolbox.files import read_tool
from agentlab.toolbox.listing import glob_tool, ls_tool
from agentlab.toolbox.paths import Confined
from agentlab.toolbox.safety import safety_tools
from agentlab.toolbox.search import grep_tool
from agentlab.toolbox.shell import bash_tool
from agentlab.tools import Tool


def toolbox(
    workspace: str | os.PathLike[str],
    *,
    clock: Clock | None = None,
    shell: bool = True,
    network: bool = False,
    cache: FileCache | None = None,
) -> list[Tool]:
    """Every tool, confined to ``workspace``; ``Bash`` and ``WebFetch`` only where they are wanted.

    ``clock`` is what ``Clock`` reads, the machine's if left out. ``cache`` is what the file tools
    know of the files, nothing yet if left out; it belongs to one conversation, so make one toolbox
    per agent. Raises NotADirectoryError if the folder is not there.
    """
    confined = Confined(workspace)
    cache = FileCache() if cache is None else cache
    return [
        read_tool(confined, cache),
        write_tool(confined, cache),
        edit_tool(confined, cache),
        ls_tool(confined),
        glob_tool(confined),
        grep_tool(confined),
        *([bash_tool(confined)] if shell else []),
        *safety_tools(confined.root),
        calculator,
        clock_tool(clock or RealClock()),
        *([web_fetch()] if network else []),
        task_complete,
    ]
