"""Compaction: a long conversation in a small window, without losing what matters.

The window is finite, every token in it is paid for at every turn, and a model that has read too
much looks at the wrong part of it. So old messages have to go. Cutting them off carelessly breaks
the pairs of calls and results, and the API refuses the rest; cutting them off correctly still loses
the task, the constraints and every fact that stood there.

The idea: history is never edited. A *new* one is built: the task and the pinned constraints word
for word, a summary that a small model writes of what goes, and the last rounds as they were,
without their thinking, which is bound to the old beginning. It is checked against the rules of the
API, and only then takes over. If the summary fails, rougher levels are tried, and if nothing helps
the old history stays and the reason is told.

A summary loses details, and a summary of summaries loses more: `agentlab.retention` measures it.
What must never get lost is pinned. What an agent should know tomorrow is memory (chapter 12).
Built in chapter 10.
"""

from agentlab.compaction.api import with_api_edits
from agentlab.compaction.compacting import CannotCompact, Compacted, compact
from agentlab.compaction.comparing import Comparison, compare_levels
from agentlab.compaction.facts import Fact, facts_in, text_in
from agentlab.compaction.kept import head_of, pinned, pins_in, unpinned
from agentlab.compaction.levels import Plan, Room, build, clear, plan
from agentlab.compaction.rounds import cut, open_calls, rounds, validate
from agentlab.compaction.settings import LEVELS, Compaction, due, size, trigger
from agentlab.compaction.summary import summarise

__all__ = [
    "LEVELS", "CannotCompact", "Compacted", "Compaction", "Comparison", "Fact", "Plan", "Room",
    "build", "clear", "compact", "compare_levels", "cut", "due", "facts_in", "head_of",
    "open_calls", "pinned", "pins_in", "plan", "rounds", "size", "summarise", "text_in", "trigger",
    "unpinned", "validate", "with_api_edits",
]  # fmt: skip
