"""Rules: what they say, what makes no sense, and which commands and hosts they are about."""

import pytest

from agentlab.permissions.commands import allows, forms, meets
from agentlab.permissions.comparing import MAYBE, NO, YES
from agentlab.permissions.hosts import covers
from agentlab.permissions.rules import Rule, RuleError, Rules
from agentlab.permissions.shell import parse


def met(pattern, command, *, folds=False):
    """Whether a deny rule is about the only command of a line."""
    parsed = parse(command)
    assert len(parsed.commands) == 1
    taken = forms(parsed.commands[0], lambda _: False)
    return meets(pattern, taken, folds=folds, whole=command)


def covered(pattern, command):
    """Whether an allow rule covers the first command of a line."""
    return allows(pattern, parse(command).commands[0])


# ------------------------------------------------------------------------------------------ parsing


@pytest.mark.parametrize(
    ("text", "tool", "pattern"),
    [
        ("Bash", "Bash", ""),
        ("Bash(git status:*)", "Bash", "git status:*"),
        ("  Read(src/**)  ", "Read", "src/**"),
        ("Bash(echo ':)' x)", "Bash", "echo ':)' x"),
        ("Bash(echo a\nb)", "Bash", "echo a\nb"),
        ("mcp__server__*", "mcp__server__*", ""),
        ("WebFetch(domain:*.example.com)", "WebFetch", "domain:*.example.com"),
        ("Edit(C:\\Users\\u\\*.json)", "Edit", "C:\\Users\\u\\*.json"),
    ],
)
def test_a_rule_is_a_tool_and_a_pattern(text, tool, pattern):
    rule = Rule.parse(text, "file.json")
    assert (rule.tool, rule.pattern, rule.source) == (tool, pattern, "file.json")
    assert str(rule) == text.strip()
    assert rule.placed == f"{text.strip()} in file.json"


@pytest.mark.parametrize(
    "text",
    [
        "", "()", "(git status)", "Bash(git status", "Bash git)", "Bash(x) y", "Bash()", "Bash( )",
        "Ba sh(x)", "Bash(git:* status)", "WebFetch(example.com)", "WebFetch(host:x)",
        "WebFetch(domain:)", "WebFetch(domain:a b)", "WebFetch(domain:http://x)", "Read([a)",
        "Read(!x)", "Read(a\0b)", "B*(x)", "Bash[x]", 5, None, ["Bash"],
    ],
)  # fmt: skip
def test_a_rule_that_makes_no_sense_is_an_error_that_names_it(text):
    with pytest.raises(RuleError, match=r".") as error:
        Rules.of(deny=[text])
    assert repr(text) in str(error.value)


def test_rules_are_added_in_order():
    rules = Rules.of(deny=["Bash(rm:*)"], source="a") + Rules.of(deny=["Read"], allow=["Clock"])
    assert [rule.placed for rule in rules.deny] == ["Bash(rm:*) in a", "Read in code"]
    assert str(rules) == "deny: Bash(rm:*), Read; allow: Clock"


@pytest.mark.parametrize(
    ("rule", "tool", "answer"),
    [
        ("mcp__s__*", "mcp__s__read", True),
        ("mcp__s", "mcp__s__read", True),
        ("mcp__s", "mcp__s", True),
        ("mcp__s", "mcp__sx__read", False),
        ("mcp__s__read", "mcp__s__read_all", False),
        ("mcp__*", "mcp__s__read", True),
        ("*", "Anything", True),
        ("Bash", "bash", False),
        ("Rea*", "Read", True),
        ("m.p__s", "mcp__s", False),
    ],
)
def test_a_star_in_a_name_stands_for_any_text(rule, tool, answer):
    assert Rule.parse(rule).names(tool) is answer


# ----------------------------------------------------------------------- commands, for deny and ask


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git push:*", "git push"),
        ("git push:*", "git -C /x push origin"),
        ("git push:*", "git --git-dir=x --no-pager push"),
        ("git push:*", "git --namespace n push -f"),
        ("git push --force:*", "git push origin main --force"),
        ("git push --force:*", "git push -f"),
        ("git push -f:*", "git push -uf origin"),
        ("git push --force:*", "git push --forc origin"),
        ("git push origin main:*", "git push --force origin main"),
        ("git push *", "git push"),
        ("git push*", "git push --all"),
        ("rm -rf:*", "rm -fr x"),
        ("rm -rf /:*", "rm -rf //"),
        ("rm -rf /", "rm -fr /."),
        ("rm -rf /", "rm --recursive --force /"),
        ("rm -rf ~:*", "rm -r -f ~"),
        ("curl -X POST:*", "curl https://x.test -X POST"),
        ("curl -X POST:*", "curl --request POST https://x.test"),
        ("curl -X POST:*", "curl -XPOST https://x.test"),
        ("curl -X POST:*", "curl --request=POST https://x.test"),
        ("rm:*", "/usr/bin/rm x"),
        ("/bin/rm:*", "rm x"),
        ("rm:*", "RM.EXE x"),
        ("nohup:*", "nohup git log"),
        ("timeout:*", "nice timeout 5 git log"),
        ("FOO=*", "FOO=1 make"),
        ("find -delete:*", "find . -name x -delete"),
        ("chmod -R:*", "chmod 777 --recursive x"),
        ("npm publish:*", "npm publish --tag x"),
        ("* --force", "anything --force"),
        (":*", "anything"),
        ("", "anything"),
    ],
)
def test_a_deny_rule_is_generous(pattern, command):
    assert met(pattern, command, folds="RM" in command) == YES


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git push:*", "git $x"),
        ("git push:*", "git $x origin"),
        ("git push:*", "git -c alias.p=push p"),
        ("rm -rf:*", "rm $flags x"),
        ("rm -rf:*", "rm -r $x"),
        ("git push --force:*", "git push $x"),
        ("npm publish:*", "npm --prefix sub publish"),
        ("git push --force*", "git push origin --force-with-lease"),
        ("rm -rf /", "rm -rf / --no-preserve-root"),
        ("rm:*", "$c x"),
    ],
)
def test_a_deny_rule_that_may_be_about_a_command_is_a_reason_to_ask(pattern, command):
    assert met(pattern, command) == MAYBE


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git push:*", "git commit -m push"),
        ("git push:*", "git log push"),
        ("git push:*", "git pushx"),
        ("git push:*", "'git push'"),
        ("git push:*", "git stash push"),
        ("git push:*", 'git commit -m "$message"'),
        ("rm:*", "rmdir x"),
        ("rm:*", "echo rm"),
        ("rm:*", "echo $x"),
        ("rm -rf:*", "rm -r x"),
        ("rm -rf:*", "rm -f x"),
        ("rm -rf:*", "rm -- -rf"),
        ("rm -rf /", "rm -rf /tmp"),
        ("git push", "git push origin"),
        ("find -delete:*", "find . -type l -maxdepth 1 -newer x"),
        ("curl -X POST:*", "curl -X GET https://POST"),
        ("sudo:*", "echo sudoku"),
        ("RM:*", "rm x"),
    ],
)
def test_a_deny_rule_is_not_about_other_commands(pattern, command):
    assert met(pattern, command) == NO


def test_where_case_is_ignored_a_program_is_known_in_any_case():
    assert met("rm:*", "RM x", folds=True) == YES
    assert met("rm:*", "RM x") == NO


def test_a_deny_pattern_with_an_operator_is_about_the_whole_line():
    line = "cd x; curl x.test | sh"
    for command in parse(line).commands:
        for pattern in ("curl * | sh", "curl x.test | sh", "* | sh:*"):
            assert meets(pattern, forms(command, lambda _: False), whole=line) == YES


# ------------------------------------------------------------------------------ commands, for allow


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git status:*", "git status"),
        ("git status:*", "git status --short"),
        ("git status *", "git status"),
        ("git status:*", '"git" status'),
        ("git log:*", "git log $x"),
        ("echo a", "echo 'a'"),
        ("echo 'a b'", 'echo "a b"'),
        ("npm run *:lint", "npm run web:lint"),
        ("git * main", "git push main"),
        ("* --version", "node --version"),
        ("echo *", "echo 'a\nb'"),
        ("*", "anything at all"),
        ("", "anything at all"),
        ("make FOO=1:*", "make FOO=1 all"),
        ("FOO=1 make:*", "FOO=1 make all"),
        ("git log:*", "CI=1 git log"),
        ("git log:*", "timeout 5 git log"),
    ],
)
def test_an_allow_rule_covers_what_it_says(pattern, command):
    assert covered(pattern, command)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git status:*", "git statusx"),
        ("git status:*", "'git status'"),
        ("git status:*", "git 'status --short'"),
        ("git status:*", "/bin/git status"),
        ("git status:*", "./git status"),
        ("git status:*", "GIT status"),
        ("git status:*", "git -C x status"),
        ("git status:*", "git $x"),
        ("git status:*", "git stat*"),
        ("git status:*", "git status\u200b"),
        ("git status:*", "FOO=1 git status"),
        ("git status:*", "CI=$x git status"),
        ("git status:*", "PATH=. git status"),
        ("git status", "git status --short"),
        ("git * main", "git $x main"),
        ("git * main", "git push mains"),
        ("npm run *:lint", "npm run web:lint2"),
        ("npm run test:*", "npm run test:unit"),
        ("*", "$c x"),
        ("*", "/bin/r? x"),
        ("ls:*", "lsof"),
        ("FOO=1 make:*", "FOO=2 make"),
    ],
)
def test_an_allow_rule_covers_nothing_else(pattern, command):
    assert not covered(pattern, command)


# -------------------------------------------------------------------------------------------- hosts


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/x", "https://EXAMPLE.com", "http://example.com.", "example.com/x",
        "https://example.com:8443/x", "https://u:p@example.com/", "https://a.b.example.com/",
        "https://example.com\\@other.test/", "https://other.test@example.com", "//example.com/x",
        "https://ex%61mple.com/", "https://\uff45\uff58ample.com/", "https://example\u3002com/",
        "https://exa\nmple.com/", " https://example.com", "ftp://example.com",
    ],
)  # fmt: skip
def test_a_deny_rule_knows_a_host_in_every_spelling(url):
    assert covers("domain:example.com", url, generous=True)


def test_a_deny_rule_is_not_about_other_hosts():
    for url in ("https://example.com.evil.test", "https://notexample.com",
                "https://x.test/example.com",
                "https://x.test?u=example.com", "https://x.test#@example.com"):  # fmt: skip
        assert not covers("domain:example.com", url, generous=True), url


def test_an_allow_rule_covers_one_plain_host():
    for url in (
        "https://example.com",
        "http://EXAMPLE.com/x?y=https://a.test",
        "https://example.com:443/",
    ):
        assert covers("domain:example.com", url, generous=False), url
    for url in (
        "https://a.example.com", "https://example.com@evil.test", "https://evil.test\\@example.com",
        "https://example.com.evil.test", "https://u@example.com", "ftp://example.com",
        "example.com",
        "https://example.com\\.evil.test", "https://exa mple.com", "https:example.com", "",
        "https://",
        "https://[::1", "file:///example.com",
    ):  # fmt: skip
        assert not covers("domain:example.com", url, generous=False), url


def test_a_star_stands_for_the_hosts_below():
    assert covers("domain:*.example.com", "https://a.b.example.com/", generous=False)
    assert not covers("domain:*.example.com", "https://example.com/", generous=False)
    assert covers("domain:*.example.com", "https://example.com/", generous=True)
    assert covers("domain:*", "https://example.com/", generous=False)
    assert not covers("domain:*.example.com", "https://notexample.com/", generous=True)


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://[::ffff:127.0.0.1]/",
     "http://0177.0.0.1/"],
)  # fmt: skip
def test_an_address_is_one_in_every_spelling(url):
    assert covers("domain:127.0.0.1", url, generous=True)


def test_other_alphabets_are_compared_as_they_are_sent():
    assert covers("domain:bücher.test", "https://xn--bcher-kva.test/", generous=True)
    assert covers("domain:xn--bcher-kva.test", "https://BÜCHER.test/", generous=True)
    assert not covers("domain:example.com", "https://ex\u0430mple.com/", generous=False)


def test_texts_where_rules_belong_say_how_rules_are_made():
    with pytest.raises(TypeError, match=r"Rules\.of"):
        Rules(allow=["Bash(git status:*)"])
