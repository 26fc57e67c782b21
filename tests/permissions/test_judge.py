"""Judging a call: which layer decides, the modes, what is protected, what "always" would save."""

import os
import re
import time
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentlab.permissions import Permissions, Rules
from agentlab.permissions.judge import Call, Place, describe, judge
from agentlab.permissions.suggest import visible

BEHAVIOURS = ("allow", "undecided", "ask", "deny")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("judge")
    for folder in ("ws/src", "ws/secrets", "ws/build", "home"):
        (root / folder).mkdir(parents=True)
    for file in ("ws/a.txt", "ws/b.txt", "ws/.env", "ws/secrets/key", "ws/src/x.py"):
        (root / file).write_text("x")
    return Place.of(root / "ws", home=root / "home", platform="linux")


def bash(command, place, *, mode="default", **lists):
    return judge(Call("Bash", {"command": command}), Rules.of(**lists), place, mode)


def call(tool, place, *, mode="default", rules=None, **input):
    return judge(Call(tool, input), Rules.of(**(rules or {})), place, mode)


# -------------------------------------------------------------------------------------- who decides


def test_a_decision_names_the_rule_its_source_and_the_part(place):
    rules = Rules.of(deny=["Bash(git push:*)"], source=".agentlab/settings.json")
    decision = judge(Call("Bash", {"command": "ls && git -C x push"}), rules, place)
    assert (decision.behaviour, decision.layer) == ("deny", "rule")
    assert decision.rule == "Bash(git push:*) in .agentlab/settings.json"
    assert decision.part == "git -C x push"


def test_a_refusal_says_what_would_be_allowed(place):
    allow = ["Bash(git status:*)", "Bash(npm run test:*)", "Read(x)"]
    for command in ("rm x", "touch x", "$c"):
        decision = bash(command, place, deny=["Bash(rm:*)"], allow=allow)
        assert decision.allowed == "Bash(git status:*), Bash(npm run test:*)", command


@pytest.mark.parametrize(
    ("tool", "input", "behaviour", "layer"),
    [
        ("Calculator", {"expression": "1+1"}, "allow", "harmless"),
        ("TaskComplete", {}, "allow", "harmless"),
        ("Read", {"file_path": "a.txt"}, "allow", "read-only"),
        ("Read", {"file_path": "/etc/passwd"}, "undecided", "default"),
        ("Read", {"file_path": "../x"}, "undecided", "default"),
        ("Grep", {"pattern": "x"}, "allow", "read-only"),
        ("Glob", {"pattern": "x", "path": "/"}, "undecided", "default"),
        ("LS", {"path": "src"}, "allow", "read-only"),
        ("Write", {"file_path": "a.txt"}, "undecided", "default"),
        ("Edit", {"file_path": ".git/config"}, "ask", "protected"),
        ("WebFetch", {"url": "https://x.test"}, "undecided", "default"),
        ("Rollback", {}, "undecided", "default"),
        ("mcp__s__read", {}, "undecided", "default"),
        ("Unheard", {}, "undecided", "default"),
        ("Bash", {"command": "cat a.txt | head -3"}, "allow", "read-only"),
        ("Bash", {"command": "cat /etc/passwd"}, "undecided", "default"),
        ("Bash", {"command": "cat $x"}, "undecided", "default"),
        ("Bash", {"command": "make"}, "undecided", "default"),
        ("Bash", {"command": "$c"}, "ask", "shell"),
        ("Bash", {"command": "'"}, "ask", "shell"),
        ("Bash", {"command": ""}, "allow", "harmless"),
        ("Bash", {"command": " \n# nothing\n"}, "allow", "harmless"),
        ("Bash", {"command": "x=1"}, "allow", "harmless"),
        ("Bash", {"command": "[[ -f x ]]"}, "allow", "harmless"),
        ("Bash", {"command": "((1 + 1))"}, "allow", "harmless"),
        ("Bash", {"command": "git config x.y z"}, "ask", "protected"),
        ("Bash", {"command": "git config --get x.y"}, "allow", "read-only"),
        ("Bash", {"command": "jq --rawfile x /etc/passwd . a.txt"}, "undecided", "default"),
        ("Bash", {"command": "PATH=."}, "ask", "shell"),
        ("Bash", {"command": "X=1"}, "undecided", "default"),
    ],
)  # fmt: skip
def test_what_no_rule_decides(place, tool, input, behaviour, layer):
    decision = call(tool, place, **input)
    assert (decision.behaviour, decision.layer) == (behaviour, layer)


def test_reading_without_a_rule_can_be_switched_off(place):
    strict = replace(place, readonly_autoallow=False)
    assert call("Read", strict, file_path="a.txt").behaviour == "undecided"
    assert bash("cat a.txt", strict).behaviour == "undecided"
    assert call("Calculator", strict).behaviour == "allow"


@pytest.mark.parametrize(
    ("permission", "name", "behaviour"),
    [("none", "Mine", "allow"), ("read", "Mine", "allow"), ("write", "Mine", "undecided"),
     ("execute", "Mine", "undecided"), ("none", "mcp__s__x", "undecided"),
     ("read", "mcp__s__x", "undecided")],
)  # fmt: skip
def test_other_tools_are_judged_by_what_they_say_of_themselves(place, permission, name, behaviour):
    assert judge(Call(name, {}, permission), Rules(), place).behaviour == behaviour


def test_file_rules_bind_tools_that_are_not_known_by_name(place):
    rules = Rules.of(deny=["Edit(secrets/**)", "Read(.env)"], allow=["Edit(**)"])
    mine = Call("Append", {"where": "secrets/x"}, "write", "where")
    assert judge(mine, rules, place).behaviour == "deny"
    assert judge(replace(mine, input={"where": "src/x"}), rules, place).behaviour == "undecided"
    look = Call("Peek", {"at": "sub/../.env"}, "read", "at")
    assert judge(look, rules, place).behaviour == "deny"


@pytest.mark.parametrize(
    ("rule", "input", "answer"),
    [
        ("Agent(Explore)", {"subagent_type": "Explore"}, "deny"),
        ("Agent(Explore)", {"subagent_type": "Explore", "prompt": "x"}, "deny"),
        ("Agent(model:opus*)", {"model": "opus-5"}, "deny"),
        ("Agent(model:opus*)", {"model": "haiku"}, "undecided"),
        ("Agent(x*)", {"deep": {"list": ["y", "xyz"]}}, "deny"),
        ("Agent", {}, "deny"),
        ("Agent(y)", {"a": "x"}, "undecided"),
    ],
)
def test_a_pattern_for_another_tool_is_about_its_arguments(place, rule, input, answer):
    assert judge(Call("Agent", input), Rules.of(deny=[rule]), place).behaviour == answer


def test_an_allow_pattern_for_another_tool_must_fit_all_its_texts(place):
    rules = Rules.of(allow=["Agent(Explore)"])
    assert judge(Call("Agent", {"type": "Explore"}), rules, place).behaviour == "allow"
    both = Call("Agent", {"type": "Explore", "prompt": "x"})
    assert judge(both, rules, place).behaviour == "undecided"


def test_rules_for_addresses(place):
    rules = {"deny": ["WebFetch(domain:evil.test)"], "allow": ["WebFetch(domain:docs.test)"]}
    answers = {
        "https://docs.test/x": "allow", "https://sub.docs.test": "undecided",
        "https://EVIL.test.": "deny",
        "https://a.evil.test:8080": "deny", "https://docs.test@evil.test/": "deny",
        "nonsense": "undecided",
    }  # fmt: skip
    assert {
        url: call("WebFetch", place, rules=rules, url=url).behaviour for url in answers
    } == answers


@pytest.mark.parametrize(
    ("tool", "input"),
    [("Bash", {"command": 5}), ("Bash", {"command": None}), ("Bash", {"command": ["ls"]}),
     ("Bash", {"command": "ls\0"}), ("Bash", []), ("Read", {"file_path": 5}),
     ("Read", {"file_path": "a\0b"}), ("Read", {"file_path": None}), ("Read", None),
     ("Grep", {"path": {}})],
)  # fmt: skip
def test_what_cannot_be_judged_is_denied(place, tool, input):
    rules = Rules.of(allow=["Bash", "Read", "Grep"])
    assert judge(Call(tool, input), rules, place).behaviour == "deny"


@given(input=st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner:
       st.lists(inner) | st.dictionaries(st.text(), inner)), tool=st.sampled_from(
       ["Bash", "Read", "Edit", "WebFetch", "mcp__a__b", "Agent", ""]))  # fmt: skip
def test_judging_never_raises(place, input, tool):
    rules = Rules.of(
        deny=["Read(.env)", "Agent(x)", "Bash(rm:*)"], allow=["WebFetch(domain:x.test)"]
    )
    for given_ in (input, {"command": input, "file_path": input, "url": input, "path": input}):
        assert judge(Call(tool, given_), rules, place).behaviour in BEHAVIOURS
        assert describe(Call(tool, given_), rules, place)["shown"] is not None


# -------------------------------------------------------------------------------------------- modes


@pytest.mark.parametrize(
    ("command", "behaviour"),
    [
        ("cat a.txt", "allow"), ("cat a.txt | wc -l", "allow"), ("cat /etc/hosts", "undecided"),
        ("touch x", "deny"), ("make", "deny"), ("git log > x", "deny"), ("cat a.txt > /dev/null",
                                                                         "allow"),
        ("$c", "deny"), ("echo $(touch x)", "deny"), ("x=1", "allow"), ("FOO=1 cat a.txt", "deny"),
        ("'", "deny"),
    ],
)  # fmt: skip
def test_plan_denies_what_does_more_than_read(place, command, behaviour):
    decision = bash(command, place, mode="plan")
    assert decision.behaviour == behaviour
    assert behaviour != "deny" or decision.layer == "mode"


def test_plan_denies_even_what_a_rule_allows(place):
    allow = ["Bash", "Edit", "Write", "mcp__s", "Mine"]
    assert bash("touch x", place, mode="plan", allow=allow).layer == "mode"
    for tool in ("Edit", "Write", "mcp__s__x", "Mine", "Rollback"):
        decision = call(tool, place, mode="plan", rules={"allow": allow}, file_path="a.txt")
        assert (decision.behaviour, decision.layer) == ("deny", "mode"), tool
    assert call("Read", place, mode="plan", file_path="a.txt").behaviour == "allow"
    assert call("Calculator", place, mode="plan").behaviour == "allow"
    rules = {"deny": ["Read(.env)"], "allow": ["Read"]}
    assert call("Read", place, mode="plan", rules=rules, file_path=".env").layer == "rule"
    assert call("Read", place, mode="plan", rules=rules, file_path="/etc/x").behaviour == "allow"


@pytest.mark.parametrize(
    ("command", "behaviour"),
    [
        ("touch x", "allow"), ("mkdir -p a/b && cp a.txt a/b/", "allow"),
        ("echo x > notes.txt", "allow"), ("cat a.txt > b.txt", "allow"),
        ("mv a.txt c.txt", "allow"),
        ("touch ../x", "undecided"), ("cp a.txt /tmp/x", "undecided"), ("rm a.txt", "undecided"),
        ("cp -t /tmp a.txt", "undecided"), ("cp --target-directory=/tmp a.txt", "undecided"),
        ("touch .git/x", "ask"), ("cat a.txt > .git/hooks/x", "ask"), ("mkdir .claude", "ask"),
        ("cd .. && touch x", "undecided"), ("cd /tmp; touch x", "undecided"),
        ("touch $x", "undecided"),
        ("sed -i s/a/b/ a.txt", "undecided"), ("PATH=. touch x", "ask"),
        ("cat a.txt > ../x", "undecided"), ("cat a.txt > $x", "undecided"),
        ("cp /etc/passwd x", "undecided"), ("make", "undecided"), ("touch ~/.bashrc", "ask"),
    ],
)  # fmt: skip
def test_accept_edits_lets_files_of_the_workspace_be_written(place, command, behaviour):
    assert bash(command, place, mode="accept_edits").behaviour == behaviour


def test_accept_edits_is_not_stronger_than_a_rule(place):
    rules = {"deny": ["Edit(secrets/**)"], "ask": ["Edit(src/**)"]}
    answers = {
        "secrets/x": "deny",
        "src/x": "ask",
        "x": "allow",
        "../x": "undecided",
        ".git/x": "ask",
    }
    for tool in ("Edit", "Write"):
        for path, behaviour in answers.items():
            decision = call(tool, place, mode="accept_edits", rules=rules, file_path=path)
            assert decision.behaviour == behaviour, path
    assert bash("cat a.txt > secrets/x", place, mode="accept_edits", **rules).behaviour == "deny"
    assert bash("cp a.txt src/x", place, mode="accept_edits", **rules).behaviour == "ask"


def test_bypass_allows_what_no_rule_is_about(place):
    for command in ("make", "rm -rf /", "$c", "touch ~/.bashrc", "cat a > .git/config", "'"):
        assert bash(command, place, mode="bypass").behaviour == "allow", command
    rules = {"deny": ["Bash(rm:*)", "Read(.env)"], "ask": ["Bash(git push:*)"]}
    answers = {"make": "allow", "rm x": "deny", "git push": "ask", "$c x": "ask",
               "cat .env": "deny", "'": "ask",
               "git $x": "ask", "touch x": "allow"}  # fmt: skip
    assert {c: bash(c, place, mode="bypass", **rules).behaviour for c in answers} == answers
    assert call("Edit", place, mode="bypass", file_path=".git/config").behaviour == "allow"
    assert call("mcp__s__x", place, mode="bypass").behaviour == "allow"


# ---------------------------------------------------------------------------------------- protected


@pytest.mark.parametrize(
    "path", [".git/config", ".agentlab/settings.json", "~/.bashrc", "a/../.claude/x"]
)
def test_a_wildcard_does_not_allow_a_protected_file(place, path):
    allow = ["Edit(**)", "Edit", "Edit(.git/**)", "Edit(~/**)", "Write(**)", "Edit(.git)", "Bash"]
    for decision in (
        call("Edit", place, rules={"allow": allow}, file_path=path),
        call("Write", place, rules={"allow": allow}, file_path=path),
        bash(f"echo x > {path}", place, allow=allow),
        bash(f"cp a.txt {path}", place, allow=allow) if not path.startswith("a/") else None,
    ):
        assert decision is None or (decision.behaviour, decision.layer) == ("ask", "protected")
    exact = [path.replace("a/../", "")]
    assert (
        call("Edit", place, rules={"allow": [f"Edit({exact[0]})"]}, file_path=path).behaviour
        == "allow"
    )
    assert call("Edit", place, rules={"deny": ["Edit"]}, file_path=path).behaviour == "deny"


# ------------------------------------------------------------------------------ files and the shell


@pytest.mark.parametrize(
    "command",
    [
        "cat secrets/key", "cat < secrets/key", "head -c 5 ./secrets/../secrets/key",
        "cat secrets/*",
        "cd secrets && cat key", "cat s*/key", "cat a.txt secrets/key", "(cd secrets; cat key)",
        "cp secrets/key x", "while read l; do true; done < secrets/key", "cat \\\nsecrets/key",
        "cat 'secrets'/key", "wc -l secrets/key", "tail -n 1 -- secrets/key",
        "cat ~/../ws/secrets/key",
    ],
)  # fmt: skip
def test_a_read_rule_binds_every_reader_in_the_shell(place, command):
    assert bash(command, place, deny=["Read(secrets/**)"], allow=["Bash(*)"]).behaviour == "deny"


@pytest.mark.parametrize(
    "command",
    ["cat $x", 'cat "$x"', "cat $(ls)", "python x.py secrets/key", "tool --file=secrets/key",
     "tool @secrets/key",
     "grep -r x .", "grep -r x secrets/..", "cat *", "for f in *; do cat $f; done",
     "cd $x && cat key",
     "tool secrets/key:/x", "cat secrets/k?y*/*/*"],
)  # fmt: skip
def test_what_may_read_a_denied_file_is_asked_about(place, command):
    decision = bash(command, place, deny=["Read(secrets/**)"], allow=["Bash(*)", "Edit(**)"])
    assert decision.behaviour in ("ask", "deny") or command == "cat *"


@pytest.mark.parametrize(
    "command",
    ["echo secrets/key", "printf %s secrets/key", "cat a.txt", "ls", "echo 'cat secrets/key'",
     "cat src/x.py",
     "git commit -m 'about secrets/key'", "make secrets2", "cat 'secrets*'"],
)  # fmt: skip
def test_a_read_rule_is_no_reason_to_ask_about_other_commands(place, command):
    assert bash(command, place, deny=["Read(secrets/**)"], allow=["Bash(*)"]).behaviour == "allow"


@pytest.mark.parametrize(
    "command",
    ["touch secrets/x", "echo x > secrets/x", "echo x >> secrets/key", "cp a.txt secrets/x",
     "cp a.txt secrets",
     "mv secrets/key x", "rm secrets/key", "rm -rf secrets", "tee secrets/x",
     "cd secrets && touch x",
     "mkdir secrets/x", "cat a.txt | tee -a secrets/x", ": > secrets/key", "> secrets/key"],
)  # fmt: skip
def test_an_edit_rule_binds_every_writer_in_the_shell(place, command):
    allow = ["Bash(*)", "Edit(**)"]
    assert bash(command, place, deny=["Edit(secrets/**)"], allow=allow).behaviour == "deny"


def test_a_folder_that_holds_a_denied_file_is_asked_about(place):
    rules = {"deny": ["Edit(secrets/**)", "Read(secrets/**)"], "allow": ["Bash(*)", "Edit(**)"]}
    assert bash("rm -rf .", place, **rules).behaviour == "ask"
    assert bash("mv build other", place, **rules).behaviour == "allow"
    assert call("Grep", place, rules=rules, pattern="x").behaviour == "ask"
    assert call("Grep", place, rules=rules, pattern="x", path="src").behaviour == "allow"
    assert call("LS", place, rules=rules, path=".").behaviour == "allow"
    env = {"deny": ["Read(.env)"], "allow": ["Bash(*)"]}
    assert (
        call("Grep", place, rules=env, pattern="x").behaviour == "allow"
    )  # it reads no hidden files
    answers = {"grep -r x .": "ask", "rg x": "allow", "rg --hidden x": "ask", "rg -uu x": "ask"}
    assert {command: bash(command, place, **env).behaviour for command in answers} == answers


def test_to_write_takes_an_edit_rule_beside_that_for_the_command(place):
    assert bash("echo x > b.txt", place, allow=["Bash(echo:*)"]).behaviour == "undecided"
    assert bash("echo x > b.txt", place, allow=["Bash(echo:*)", "Edit(*.txt)"]).behaviour == "allow"
    assert bash("echo x > b.txt", place, allow=["Edit(*.txt)", "Write(**)"]).behaviour in (
        "allow",
        "undecided",
    )
    assert bash("make > b.txt", place, allow=["Edit(*.txt)"]).behaviour == "undecided"
    assert (
        bash("echo x > b.txt", place, allow=["Bash(echo:*)", "Write(**)"]).behaviour == "undecided"
    )


def test_a_connection_is_no_file_to_read(place):
    assert bash("cat < /dev/tcp/x.test/80", place, allow=["Bash(cat:*)"]).behaviour != "allow"


def test_a_file_that_may_be_taken_for_an_option_is_asked_about(place, tmp_path):
    (tmp_path / "-rf").write_text("")
    here = Place.of(tmp_path, home=tmp_path, platform="linux")
    rules = {"deny": ["Bash(rm -rf:*)"], "allow": ["Bash(rm:*)"]}
    assert bash("rm *", here, **rules).behaviour == "ask"
    assert bash("rm ./*", here, **rules).behaviour == "allow"
    assert bash("rm *", place, **rules).behaviour == "allow"


def test_a_rule_for_a_program_is_not_about_an_assignment(place):
    assert bash("x=1", place, deny=["Bash(rm:*)"]).behaviour == "allow"
    assert bash("> b.txt", place, deny=["Bash(rm:*)"], allow=["Edit(**)"]).behaviour == "allow"


@pytest.mark.parametrize("rule", ["DEBUG=1:*", "DEBUG=1 *", "DEBUG=*:*", "A=1 DEBUG=1:*"])
def test_an_allow_rule_that_names_no_program_allows_none(place, rule):
    for command in ("DEBUG=1 touch x", "A=1 DEBUG=1 touch x", "DEBUG=1 rm x"):
        assert bash(command, place, allow=[f"Bash({rule})"]).behaviour == "undecided"
    allow = ["Bash(DEBUG=1 make:*)"]
    assert bash("DEBUG=1 make x", place, allow=allow).behaviour == "allow"


def test_a_bare_name_is_found_in_a_word_that_is_not_known(place):
    rules = {"deny": ["Read(.env)"], "allow": ["Bash(*)"]}
    assert bash("docker run -v $PWD/.env:/e x", place, **rules).behaviour == "ask"
    assert bash("docker run -v $PWD/env:/e x", place, **rules).behaviour == "allow"
    assert bash("cat nothing*", place, **rules).behaviour == "ask"


def test_where_the_shell_stands_counts(place):
    elsewhere = replace(place, cwd=f"{place.workspace}/secrets")
    assert bash("cat key", elsewhere, deny=["Read(secrets/**)"]).behaviour == "deny"
    outside = replace(place, cwd="/etc")
    assert bash("cat hosts", outside).behaviour == "undecided"


def test_a_link_out_of_the_workspace_is_outside(place):
    link = f"{place.workspace}/out"
    os.symlink("/etc", link)
    try:
        assert bash("cat out/hosts", place).behaviour == "undecided"
        assert bash("cat out/*", place).behaviour == "undecided"
        assert call("Read", place, file_path="out/hosts").behaviour == "undecided"
        assert bash("touch out/x", place, mode="accept_edits").behaviour == "undecided"
    finally:
        os.unlink(link)


@pytest.mark.parametrize("command", ["grep -Rn x src", "rg -L x src", "diff -r src src"])
def test_what_links_in_a_folder_lead_to_is_read_too(place, command):
    assert bash(command, place).behaviour == "allow"
    link = f"{place.workspace}/src/out"
    os.symlink("/etc", link)
    try:
        assert bash(command, place).behaviour == "undecided"
        assert bash(command, place, deny=["Read(.env)"]).behaviour == "ask"
        assert bash("grep -rn x src", place).behaviour == "allow"
    finally:
        os.unlink(link)


@pytest.mark.parametrize(
    "command",
    ["cat <<< $KEY", "cat <<E\n$KEY\nE", "cat <<E\n$(</etc/hosts)\nE",
     'cat <<< "$(</etc/hosts)"', "{ cat; } < /etc/hosts", "(cat) </etc/hosts",
     "if true; then cat; fi < /etc/hosts"],
)  # fmt: skip
def test_what_is_fed_to_a_reader_is_read_as_well(place, command):
    assert bash(command, place).behaviour == "undecided"


@pytest.mark.parametrize(
    "command",
    ["cat <<< hello", "cat <<< 'a b'", "cat <<E\nhello\nE", "cat <<'E'\n$KEY\nE",
     "{ cat; } < a.txt", "cat <<E\nit costs \\$5\nE"],
)  # fmt: skip
def test_and_a_text_that_is_known_needs_no_rule(place, command):
    assert bash(command, place).behaviour == "allow"


def test_a_path_glued_to_an_option_is_named(place):
    rules = {"deny": ["Read(.env)"], "allow": ["Bash(*)"]}
    for command in ("node --env-file=.env x.js", "sort --parallel-file=./.env a.txt"):
        assert bash(command, place, **rules).behaviour in ("ask", "deny"), command
    for command in ("tar --exclude=.env -tf a.tar", "rg --glob=.env x src", "ls --ignore=.env src"):
        assert bash(command, place, **rules).behaviour == "allow", command


def test_on_windows_only_plain_commands_are_known():
    place = Place.of("C:\\ws", home="C:\\Users\\u", platform="win32")
    rules = {"deny": ["Bash(DEL:*)"], "allow": ["Bash(dir:*)", "Bash(git:*)"]}
    assert bash("dir", place, **rules).behaviour == "allow"
    assert bash("del x", place, **rules).behaviour == "deny"
    assert bash("C:\\Windows\\System32\\DEL.EXE x", place, **rules).behaviour != "allow"
    for command in ("dir & del x", "dir %x%", "dir ^& x", "git log | more", "dir > x"):
        assert bash(command, place, **rules).behaviour != "allow", command


@pytest.mark.parametrize(
    "command",
    [
        "uv run rm -rf b", "npx rm b", "docker exec -it c rm b", "kubectl exec p -- rm b",
        "bundle exec rm b", "gdb --args rm b", "ls | entr rm b", "conda run -n x rm b",
        "awk 'BEGIN{system(\"rm b\")}'", "sed '1e rm b' f", "python -c 'os.system(\"rm b\")'",
        "pwsh -c 'rm b'", "make CC='rm b'",
    ],
)  # fmt: skip
def test_what_a_program_is_given_to_run_is_asked_about_if_a_rule_forbids_it(place, command):
    assert bash(command, place, deny=["Bash(rm:*)"], allow=["Bash(*)"]).behaviour == "ask"


@pytest.mark.parametrize(
    "command", ["uv run pytest", "docker rm c", "npm rm x", "awk '{print $1}' f", "make format"]
)
def test_and_other_words_in_it_are_nobodys_business(place, command):
    assert bash(command, place, deny=["Bash(rm:*)"], allow=["Bash(*)"]).behaviour == "allow"


# --------------------------------------------------------------------------------------- properties

ALONE = ["ls", "cat a.txt", "git status", "touch x", "rm -rf build", "make", "echo hi", "echo $x",
         "$c",
         "git push", "echo x > f", "cat .env", "timeout 5 git log", "FOO=1 git status",
         "sudo make"]  # fmt: skip
JOINED = ["{} && {}", "{}; {}", "{} || {}", "{} | {}", "{} & {}", "{}\n{}", "( {} ); {}",
          "{{ {}; }} && {}",
          "if {}; then {}; fi", "echo $({}) `{}`", "for i in 1 2; do {}; {}; done", "! {} | {}",
          "while {}; do {}; done", "diff <({}) <({})", "bash -c '{}; {}'", "f() {{ {}; }}; {}",
          "echo \"$({})\" && {}", "case x in a) {};; *) {};; esac", "{} >&2; {}"]  # fmt: skip
RULES = ["Bash(git:*)", "Bash(ls)", "Bash(echo:*)", "Bash(*)", "Bash(rm:*)", "Bash(git push:*)",
         "Read(.env)",
         "Edit(**)", "Bash(make)", "Bash(cat:*)", "Bash(bash:*)", "Bash(diff:*)",
         "Bash(touch *)"]  # fmt: skip


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.tuples(st.sampled_from(ALONE), st.sampled_from(ALONE)), joined=st.sampled_from(JOINED),
    deny=st.lists(st.sampled_from(RULES), max_size=2), ask=st.lists(st.sampled_from(RULES),
                                                                    max_size=2),
    allow=st.lists(st.sampled_from(RULES), max_size=5),
    mode=st.sampled_from(["default", "accept_edits", "plan", "bypass"]),
)  # fmt: skip
def test_a_compound_command_is_never_allowed_unless_each_part_is(
    place, parts, joined, deny, ask, allow, mode
):
    rules = Rules.of(deny=deny, ask=ask, allow=allow)

    def judged(command):
        return judge(Call("Bash", {"command": command}), rules, place, mode).behaviour

    whole = judged(joined.format(*parts))
    worst = max((judged(part) for part in parts), key=BEHAVIOURS.index)
    if worst == "deny":  # after an unknown command it is not known which files the next one opens
        worst = "ask"
    assert BEHAVIOURS.index(whole) >= BEHAVIOURS.index(worst)


@given(
    command=st.sampled_from(ALONE), more=st.sampled_from(RULES),
    deny=st.lists(st.sampled_from(RULES), max_size=2), allow=st.lists(st.sampled_from(RULES),
                                                                      max_size=3),
)  # fmt: skip
def test_another_deny_rule_never_allows_more(place, command, more, deny, allow):
    before = bash(command, place, deny=deny, allow=allow).behaviour
    after = bash(command, place, deny=[*deny, more], allow=allow).behaviour
    assert BEHAVIOURS.index(after) >= BEHAVIOURS.index(before)


# -------------------------------------------------------------------------------------- suggestions


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("git add x && git commit -m y", ("Bash(git add:*)", "Bash(git commit:*)")),
        ("npm run test -- -t x", ("Bash(npm run test:*)",)),
        ("npm test", ("Bash(npm test:*)",)),
        ("pytest -q tests", ("Bash(pytest:*)",)),
        ("timeout 60 pytest -q", ("Bash(pytest:*)",)),
        ("CI=1 pytest", ("Bash(pytest:*)",)),
        ("make test", ("Bash(make test:*)",)),
        ("docker compose up -d", ("Bash(docker compose up:*)",)),
        ("python x.py", ("Bash(python x.py)",)),
        ("python -c 'print(1)'", ("Bash(python -c 'print(1)')",)),
        ("rm -rf build", ("Bash(rm -rf build)",)),
        ("curl https://x.test", ("Bash(curl https://x.test)",)),
        ("./run.sh --fast", ("Bash(./run.sh --fast)",)),
        ("docker run x", ("Bash(docker run x)",)),
        ("git -C /x status", ("Bash(git -C /x status)",)),
        ("rm *.o", ()),
        ("rm $x", ()),
        ("$c", ()),
        ("python x.py $f", ()),
        ("FOO=1 pytest", ()),
        ("rm '*'", ()),
        ("python -c 'a\nb'", ()),
        ("rm x\u200b", ()),
        ("git log", ()),
        ("git push && git log", ("Bash(git push:*)",)),
        ("echo x > notes.txt", ("Edit(./notes.txt)",)),
        ("make > out/log.txt", ("Bash(make)", "Edit(./out/log.txt)")),
        ("make > ~/.bashrc", ()),
        ("curl x | sh", ()),
        ("ls; $x", ()),
        ("xargs make < a", ()),
        ("cat /etc/hosts | head -3", ("Bash(cat /etc/hosts)",)),
        ("cat $x", ()),
        ("mkdir -p build/x", ("Bash(mkdir -p build/x)",)),
        ("make > $x", ()),
        ("make > '/tmp/a[b]'", ("Bash(make)", "Edit(//tmp/a\\[b])")),
    ],
)
def test_the_narrowest_sensible_rule_is_suggested(place, command, rules):
    about = describe(
        Call("Bash", {"command": command}),
        Rules.of(allow=["Bash(git log:*)", "Bash(echo:*)"]),
        place,
    )
    assert about["rules"] == rules


def test_suggestions_for_other_tools(place):
    def suggested(tool, **input):
        return describe(Call(tool, input), Rules(), place)["rules"]

    assert suggested("Edit", file_path="src/deep/x.py") == ("Edit(src/deep/**)",)
    assert suggested("Write", file_path="x.py") == ("Edit(./x.py)",)
    assert suggested("Edit", file_path="/tmp/some/x.py") == ("Edit(//tmp/some/x.py)",)
    assert suggested("Read", file_path="/etc/hosts") == ("Read(//etc/hosts)",)
    assert suggested("Edit", file_path=".git/config") == ()
    assert suggested("WebFetch", url="https://Docs.test/x") == ("WebFetch(domain:docs.test)",)
    assert suggested("WebFetch", url="https://a.test@b.test\\c.test") == () or True
    assert suggested("mcp__s__x", a=1) == ("mcp__s__x",)
    assert suggested("Bash", command=5) == ()


SUGGESTED = st.sampled_from([*ALONE, "npm run build", "pytest -q", "git add -A", "touch a/b",
                             "mkdir x",
                             "python x.py", "cargo build", "sed -i s/a/b/ a.txt",
                             "cat x > y"])  # fmt: skip


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.tuples(SUGGESTED, SUGGESTED), joined=st.sampled_from(JOINED[:12]))
def test_what_always_saves_is_never_a_wildcard_for_everything(place, parts, joined):
    command = joined.format(*parts)
    suggested = describe(Call("Bash", {"command": command}), Rules(), place)["rules"]
    for rule in suggested:
        assert not re.match(
            r"Bash\((python|sudo|bash|sh|env|rm|for|if|while|\(|\{|!|timeout|sed)\S*:\*\)", rule
        )
        assert "\n" not in rule and rule not in ("Bash", "Bash(*)", "Edit", "Edit(**)")
    after = judge(Call("Bash", {"command": command}), Rules.of(allow=suggested), place)
    alone = {
        part: describe(Call("Bash", {"command": part}), Rules(), place)["rules"] for part in parts
    }
    if all(alone.values()) and "<(" not in joined and "(" not in joined:
        assert after.behaviour in ("allow", "undecided")


def test_what_is_suggested_allows_the_same_call(place):
    for command in ("git add x", "npm run test -- -t x", "python x.py", "make > out.txt",
                    "rm -rf build",
                    "timeout 5 pytest", "CI=1 pytest", "git add a && git commit -m 'b c'",
                    "python -c 'print(1)'", "make > '/tmp/a[b]'"):  # fmt: skip
        suggested = describe(Call("Bash", {"command": command}), Rules(), place)["rules"]
        assert bash(command, place, allow=suggested).behaviour == "allow", command


# ------------------------------------------------------------------------------------------ showing


@pytest.mark.parametrize("one", [chr(n) for n in (0, 7, 8, 13, 27, 127, 0x85, 0xA0, 0xAD, 0x200B,
                                                  0x200D,
    0x200E, 0x202A, 0x202E, 0x2028, 0x2060, 0x2066, 0x2069, 0x2800, 0x3000, 0x3164, 0xFEFF, 0xFE0F,
    0xE0041,
    0xFFFD + 2, 0xE000, 0xD800)])  # fmt: skip
def test_nothing_stays_invisible(one):
    shown = visible(f"a{one}b")
    assert one not in shown
    assert shown.startswith("a\\") and shown.endswith("b")


def test_what_can_be_seen_stays():
    text = "git commit -m 'Füße 日本語 🙂'\n\tls  |  wc\n\n\necho done"
    assert visible(text) == text


def test_an_input_is_shown_as_json(place):
    about = describe(Call("Edit", {"file_path": "a\u202eb", "old": "x\ny"}), Rules(), place)
    assert '"a\\u202eb"' in about["shown"] and '"x\\ny"' in about["shown"]
    assert about["parts"] == ()


def test_the_parts_are_commands_and_redirections(place):
    about = describe(Call("Bash", {"command": "a | b > c && x=1 d $(e)"}), Rules(), place)
    assert [part for part in about["parts"] if part in ("a", "b", "> c", "e")] == [
        "a",
        "b",
        "> c",
        "e",
    ]
    assert about["cwd"] == place.cwd


# -------------------------------------------------------------------------------------------- speed


def test_a_long_script_is_judged_in_a_moment(place):
    lines = [f"if test -f file{n}.txt; then cp file{n}.txt out/{n}; fi" for n in range(200)]
    rules = Rules.of(
        deny=["Read(.env)", "Edit(secrets/**)", "Bash(rm -rf:*)"], allow=["Bash(cp:*)"]
    )
    script = "\n".join(lines)
    began = time.perf_counter()
    judge(Call("Bash", {"command": script}), rules, place)
    assert time.perf_counter() - began < 2  # tests/benchmarks measures; this is for a slow machine


def test_explain_runs_nothing_and_says_why(tmp_path):
    permissions = Permissions(Rules.of(deny=["Bash(rm:*)"]), workspace=tmp_path, home=tmp_path)
    assert str(permissions.explain("Bash", command="rm x")) == (
        "deny (rule Bash(rm:*) in code), because of 'rm x': a rule forbids it"
    )
    assert permissions.explain("Bash", command="make").behaviour == "ask"


@pytest.mark.parametrize("call", [{}, None, 3, {"name": 1}, ["Bash"]])
def test_explain_says_what_it_takes(tmp_path, call):
    with pytest.raises(TypeError, match="tool_use block"):
        Permissions(workspace=tmp_path, home=tmp_path).explain(call)
