"""The permissions of a child are never wider than its parent's."""

import json
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentlab.permissions import Permissions
from agentlab.permissions.judge import Rules
from agentlab.toolbox import toolbox
from agentlab.tools import Prepared

CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[1] / "cases/permissions.json").read_text())
}
BEHAVIOURS = ("allow", "undecided", "ask", "deny")
MODES = ("plan", "default", "accept_edits", "bypass")


def parent(tmp_path, mode="default", **lists):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Permissions(Rules.of(**lists), workspace=tmp_path, home=tmp_path, mode=mode)


def answer(permissions, text):
    """The answer for a call as a case writes it: ``Bash git push``, ``Edit secrets/a``."""
    tool, _, rest = text.partition(" ")
    return permissions.explain(
        tool, **{"command" if tool == "Bash" else "file_path": rest}
    ).behaviour


def test_g01_a_child_inherits_the_deny_rules_of_its_parent(tmp_path):
    setup = CASES["G-01"]["setup"]
    above = parent(tmp_path, **setup["parent"])
    child = above.narrow(allow=setup["child"]["allow"])
    calls = CASES["G-01"]["input"]["child_calls"]
    assert [answer(child, call) for call in calls] == ["deny", "deny"]
    assert [answer(child.narrow(allow=["Bash", "Edit"]), call) for call in calls] == [
        "deny",
        "deny",
    ]
    above.rules += Rules.of(deny=["Bash(make:*)"])
    assert answer(child, "Bash make") == "deny"  # also for a child that is used again later
    for call in ("Bash git -C x push", "Bash nice git push", "Edit a/../secrets/b",
                 "Write secrets/a",
                 "Bash echo > secrets/a"):  # fmt: skip
        assert answer(child, call) == "deny", call


def test_g03_the_deny_rules_of_a_child_count_too(tmp_path):
    setup = CASES["G-03"]["setup"]
    above = parent(tmp_path, **setup["parent"])
    child = above.narrow(deny=setup["child"]["deny"])
    for call in CASES["G-03"]["input"]["child_calls"]:
        assert answer(child, call) == "deny"
        assert answer(above, call) == "allow"
    assert answer(child, "Read public/a") == "allow"
    assert answer(child.narrow(), "Read private/a") == "deny"
    assert answer(child, "Bash cat private/a") == "deny"


def test_a_child_may_be_given_only_a_part(tmp_path):
    above = parent(tmp_path, allow=["Bash(git:*)", "Edit(**)"])
    child = above.narrow(allow=["Bash(git log:*)", "Bash(make:*)"])
    answers = {"git log": "allow", "git push": "ask", "make": "ask"}
    assert {c: answer(child, f"Bash {c}") for c in answers} == answers
    assert answer(child, "Edit x") == "ask"
    assert answer(above.narrow(), "Edit x") == "allow"
    assert answer(above.narrow(allow=[]), "Bash git push") == "ask"


def test_an_ask_of_a_child_is_asked(tmp_path):
    child = parent(tmp_path, allow=["Bash"]).narrow(ask=["Bash(git push:*)"])
    assert answer(child, "Bash git push") == "ask"
    assert answer(child, "Bash make") == "allow"


def test_a_child_has_a_narrower_mode_or_that_of_its_parent(tmp_path):
    above = parent(tmp_path, "accept_edits")
    assert answer(above, "Edit x") == "allow"
    assert above.narrow(mode="bypass").mode == "accept_edits"
    assert answer(above.narrow(mode="bypass"), "Bash make") == "ask"
    assert answer(above.narrow(mode="default"), "Edit x") == "ask"
    assert answer(above.narrow(mode="plan"), "Edit x") == "deny"
    assert answer(above.narrow(), "Edit x") == "allow"
    assert answer(above.narrow(allow=["Read"]), "Edit x") == "ask"
    child = above.narrow()
    above.mode = "plan"
    assert answer(child, "Edit x") == "deny"


def test_to_narrow_a_bypass_restricts_it(tmp_path):
    above = parent(tmp_path, "bypass")
    assert answer(above, "Bash make") == "allow"
    assert answer(above.narrow(mode="default"), "Bash make") == "ask"
    assert answer(above.narrow(allow=["Bash(git:*)"]), "Bash make") == "ask"
    assert answer(above.narrow(allow=["Bash(git:*)"]), "Bash git push") == "allow"
    assert answer(above.narrow(deny=["Bash(rm:*)"]), "Bash $c x") == "ask"


def test_what_the_user_allows_a_child_is_allowed(tmp_path):
    above = parent(tmp_path)
    child = above.narrow(allow=[])
    child.remember(["Bash(make:*)"])
    assert answer(child, "Bash make") == "allow"
    assert answer(above, "Bash make") == "allow"
    assert answer(above.narrow(allow=[]), "Bash make") == "ask"  # another child was not meant
    child.remember(["Bash(git push:*)"])
    above.rules += Rules.of(deny=["Bash(git push:*)"])
    assert answer(child, "Bash git push") == "deny"


def test_a_child_asks_whom_its_parent_asks(tmp_path):
    above = parent(tmp_path)
    above.ask, above.classifier = object(), object()
    child = above.narrow().narrow()
    assert child.ask is above.ask and child.classifier is above.classifier


@pytest.mark.parametrize("command", ["git push", "make && git log"])
def test_the_rules_that_are_suggested_are_those_that_the_child_lacks(tmp_path, command):
    tools = {tool.name: tool for tool in toolbox(tmp_path)}
    block = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}}
    call = Prepared(block, tools["Bash"], block["input"])
    child = parent(tmp_path, allow=["Bash(git:*)"]).narrow(allow=["Bash(git log:*)"])
    assert child.judge(call).behaviour == "undecided"
    child.remember(child.describe(call)["rules"])
    assert child.judge(call).behaviour == "allow"
    assert "Narrowed" in repr(child)


CALLS = ["Bash git push", "Bash git log", "Bash make", "Bash $c x", "Bash cat a", "Bash cat .env",
         "Bash ls",
         "Bash echo x > y", "Bash touch x", "Bash git log && make", "Bash nice rm x", "Edit x",
         "Edit .git/x",
         "Edit secrets/x", "Read .env", "Read /etc/x", "Write src/x", "mcp__s__x y",
         "Clock x"]  # fmt: skip
RULES = ["Bash", "Bash(git:*)", "Bash(git push:*)", "Bash(make)", "Bash(rm:*)", "Bash(touch:*)",
         "Edit(**)",
         "Edit", "Edit(secrets/**)", "Edit(.git/x)", "Read(.env)", "Read", "Read(//etc/**)",
         "mcp__s", "*"]  # fmt: skip
lists = st.lists(st.sampled_from(RULES), max_size=3)
given_lists = st.fixed_dictionaries({"deny": lists, "ask": lists, "allow": lists})
narrowings = st.fixed_dictionaries(
    {
        "deny": lists,
        "ask": lists,
        "allow": st.none() | lists,
        "mode": st.none() | st.sampled_from(MODES),
    }
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    mode=st.sampled_from(MODES), rules=given_lists, steps=st.lists(narrowings, min_size=1,
                                                                   max_size=3),
    later=st.sampled_from(MODES), more=given_lists,
)  # fmt: skip
def test_a_child_is_never_wider(tmp_path, mode, rules, steps, later, more):
    generations = [parent(tmp_path, mode, **rules)]
    for step in steps:
        generations.append(generations[-1].narrow(**step))
    for _ in range(2):
        for call in CALLS:
            answers = [BEHAVIOURS.index(answer(one, call)) for one in generations]
            assert answers == sorted(answers), call
        generations[0].mode = later  # whatever becomes of the parent
        generations[0].rules += Rules.of(**more)
