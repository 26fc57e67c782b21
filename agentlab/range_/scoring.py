"""Putting a matcher to the range, and two matchers that stand ready.

A matcher is a function that says "allow", "ask" or "deny". How many arguments it has decides what
it is asked about: ``(command, rules)`` about shell commands, ``(tool, input, rules)`` about every
call. ``rules`` is a dictionary of three lists, ``deny``, ``ask`` and ``allow``. For a matcher of
commands the rule ``Bash(git log:*)`` is just ``"git log:*"``, and the bare ``Bash`` is ``":*"``.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentlab.course.shown import CourseError
from agentlab.range_.entries import Entry, load, site_to_judge_in
from agentlab.range_.table import Judged, Score

if TYPE_CHECKING:
    from agentlab.permissions import Decision

Matcher = Callable[..., Any]
FORM = "a matcher is a function: matcher(command, rules), or matcher(tool, input, rules); not async"


def score(
    matcher: Matcher,
    kinds: str | Iterable[str] | None = None,
    *,
    each: Callable[[int, int], None] | None = None,
) -> Score:
    """Put a matcher to the range.

    Args:
        matcher: ``(command, rules)``: asked where a command and rules for commands are all there
            is to know; ``(tool, input, rules)``: asked about everything; ``(entry)``: the same.
            It answers "allow", "ask" or "deny"; True and False do for allow and deny.
        kinds: only these, for instance ``["chain", "heredoc"]``.
        each: called after every entry with how many are done, and of how many.

    A matcher that raises, or answers something else, has missed that entry. Raises CourseError for
    an unknown kind and for a matcher that takes other arguments.
    """
    ask = _FORMS.get(_arguments(matcher))
    if ask is None:
        raise CourseError(FORM)
    entries = load(kinds)
    if ask is _of_commands:
        entries = [entry for entry in entries if entry.about_commands_alone]
    judged = []
    for done, entry in enumerate(entries, 1):
        judged.append(_judge(ask, matcher, entry))
        if each is not None:
            each(done, len(entries))
    return Score(judged)


def naive(command: str, rules: dict[str, list[str]]) -> str:
    """The matcher that everybody writes first: does the command begin with the rule's text?"""
    for behaviour in ("deny", "ask", "allow"):
        if any(command.startswith(rule.removesuffix(":*")) for rule in rules[behaviour]):
            return behaviour
    return "ask"


def packaged(entry: Entry) -> Decision:
    """What the permissions that ship decide, in a workspace with the entry's files and links."""
    from agentlab.permissions.judge import Call, Place, judge
    from agentlab.permissions.rules import Rules

    with site_to_judge_in(entry) as here:
        folds = entry.platform in ("darwin", "win32")
        place = Place(here.workspace, here.workspace, here.home, entry.platform, folds)
        rules = Rules.of(**here.named(entry.rules))
        return judge(Call(entry.tool, here.named(entry.input)), rules, place, entry.mode)


# ------------------------------------------------------------------------------ asking a matcher


def _of_commands(matcher: Matcher, entry: Entry) -> Any:
    def short(rule: str) -> str:
        return rule.removeprefix("Bash").removeprefix("(").removesuffix(")") or ":*"

    rules = {name: [short(rule) for rule in rules] for name, rules in entry.rules.items()}
    return matcher(entry.command, rules)


def _of_calls(matcher: Matcher, entry: Entry) -> Any:
    rules = {name: list(rules) for name, rules in entry.rules.items()}
    return matcher(entry.tool, dict(entry.input), rules)


def _of_entries(matcher: Matcher, entry: Entry) -> Any:
    return matcher(entry)


_FORMS = {1: _of_entries, 2: _of_commands, 3: _of_calls}


def _arguments(matcher: Any) -> int:
    """How many arguments a function has to be given."""
    if not callable(matcher) or inspect.iscoroutinefunction(matcher):
        return 0
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(matcher).parameters.values()
    return sum(p.kind in kinds and p.default is p.empty for p in parameters)


def _judge(ask: Callable[[Matcher, Entry], Any], matcher: Matcher, entry: Entry) -> Judged:
    try:
        answer = ask(matcher, entry)
    except Exception as error:
        line = traceback.extract_tb(error.__traceback__)[-1].lineno
        return Judged(entry, "", f"{type(error).__name__}: {error} (line {line})")
    said = ""
    if hasattr(answer, "behaviour"):  # a Decision, which also says why
        answer, said = answer.behaviour, str(answer)
    if isinstance(answer, bool):
        answer = "allow" if answer else "deny"
    if answer == "undecided":
        answer = "ask"
    if answer not in ("allow", "ask", "deny"):
        return Judged(entry, "", f"answered {answer!r}, which is not allow, ask or deny")
    return Judged(entry, answer, said)


# ------------------------------------------------------------------------- a matcher in a file


def from_file(name: str) -> Matcher:
    """The function that ``my_matcher.py:decide`` names.

    Raises CourseError if the file or the function is not there, or the file cannot be run.
    """
    path_text, _, function = name.rpartition(":")
    path = Path(path_text)
    if not function.isidentifier() or not path_text:
        raise CourseError(f"{name}: name a file and a function in it, as in my_matcher.py:decide")
    if not path.is_file():
        raise CourseError(f"there is no file {path}")
    module = _module(path)
    if not callable(getattr(module, function, None)):
        there = [n for n, f in vars(module).items() if inspect.isfunction(f)]
        raise CourseError(
            f"{path} has no function {function!r}; it has: {', '.join(there) or 'none'}"
        )
    matcher: Matcher = getattr(module, function)
    if _arguments(matcher) not in _FORMS:
        raise CourseError(f"{name}: {FORM}")
    return matcher


def _module(path: Path) -> Any:
    """A file as a module. Raises CourseError, with the line, for one that cannot be run."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise CourseError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))  # it may import what stands beside it
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise CourseError(f"{path}, line {error.lineno}: SyntaxError: {error.msg}") from None
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
                 if Path(frame.filename).resolve() == path.resolve()]  # fmt: skip
        where = f", line {lines[-1]}" if lines else ""
        raise CourseError(f"{path}{where}: {type(error).__name__}: {error}") from None
    finally:
        sys.path.pop(0)
    return module
