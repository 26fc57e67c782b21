"""The attack range: labelled tool calls and prompt injections, and how well a matcher sorts them.

Nobody sees by looking at a permission check whether it holds. So here are calls with the rules that
are set for them, and for each whether it must be stopped (asked about or denied) or must pass. A
third of them only look dangerous, because a check that stops everything is no use either. `score`
puts a matcher to all of them and counts, kind by kind, what it missed and where it cried wolf.
`play` lets a model obey an injection for real, in a throw-away folder, and looks what it left.

    from agentlab import range_

    range_.score(range_.naive)             # what everybody writes first
    range_.score(range_.packaged)          # the permissions that ship
    range_.score(mine, kinds=["chain"])    # yours: mine(command, rules) -> "allow", "ask" or "deny"

A full score is no proof: the range knows the attacks that somebody thought of. Used in chapter 05.
"""

from agentlab.range_.entries import KINDS, Entry, find, load
from agentlab.range_.playing import Played, play
from agentlab.range_.scoring import from_file, naive, packaged, score
from agentlab.range_.table import Misses, Score

__all__ = [
    "KINDS", "Entry", "Misses", "Played", "Score", "find", "from_file", "load", "naive",
    "packaged", "play", "score",
]  # fmt: skip
