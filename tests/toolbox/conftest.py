"""What the tests of the toolbox share: a folder, its tools, and calls as the loop makes them."""

import asyncio
from pathlib import Path

import pytest

from agentlab.clock import VirtualClock
from agentlab.messages import tool_use
from agentlab.partition import run_batches
from agentlab.toolbox import toolbox
from agentlab.tools import prepare


class Hands:
    """The tools of one folder, and calls of them: checked, run and bounded as in the loop."""

    def __init__(self, folder: Path, tools=None) -> None:
        self.folder = folder
        self.tools = {t.name: t for t in tools or toolbox(folder)}

    async def together(self, *calls):
        """The outcomes of the calls of one turn, in order."""
        blocks = [tool_use(f"t{i}", name, input) for i, (name, input) in enumerate(calls)]
        prepared = [prepare(block, self.tools) for block in blocks]
        outcomes = {}
        async for index, outcome in run_batches(prepared, VirtualClock(), 10):
            outcomes[index] = outcome
        return [outcomes[index] for index in range(len(calls))]

    async def acall(self, tool, **input):
        [outcome] = await self.together((tool, input))
        return outcome

    def call(self, tool, **input):
        """The outcome of one call."""
        return asyncio.run(self.acall(tool, **input))

    def ok(self, tool, **input):
        """The text of a call that must go well."""
        outcome = self.call(tool, **input)
        assert not outcome.is_error, outcome
        return outcome.block["content"]

    def error(self, tool, **input):
        """The text of a call that must fail, and not by accident."""
        outcome = self.call(tool, **input)
        assert outcome.is_error, outcome
        assert not outcome.traceback, outcome.traceback
        return outcome.block["content"]


@pytest.fixture
def hands(tmp_path):
    """All tools on an empty folder, whose parent is empty too."""
    folder = tmp_path / "app"
    folder.mkdir()
    return Hands(folder)
