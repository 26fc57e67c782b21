"""``TaskComplete``: how a model says that it is done."""

from __future__ import annotations

from agentlab.tools import tool


@tool(name="TaskComplete")
async def task_complete(summary: str) -> str:
    """Say that the whole task is done, with a summary of what was done.

    Do not call it while questions are open, right after an error, or while work is left: decide,
    mend or finish that first.
    """
    return "Noted."
