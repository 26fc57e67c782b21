"""Who may do what: rules, a parser of shell commands, a classifier, and asking the user.

`Permissions` is what an `Agent` is given. Its decisions are made in `gate`; `rules`, `shell` and
`judge` are chapter 05, `classifier` and `asking` chapter 06.
"""

from agentlab.permissions.decision import Answer, Asker, Circumstances, Decision, Question
from agentlab.permissions.policy import Mode, Permissions
from agentlab.permissions.rules import Rule, Rules
from agentlab.permissions.settings import SettingsError

__all__ = [
    "Answer", "Asker", "Circumstances", "Decision", "Mode", "Permissions", "Question", "Rule",
    "Rules", "SettingsError",
]  # fmt: skip
