"""Commands for bash, taken apart: what is found, and what is said not to be known."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from agentlab.permissions.shell import Command, Parsed, parse


def read(command: str) -> Parsed:
    return parse(command, platform="linux")


def commands(command: str) -> list[list[str | None]]:
    """The words of all commands; the whole must be known."""
    parsed = read(command)
    assert not parsed.unknown, parsed.unknown
    return [[word.value for word in found.words] for found in parsed.commands]


def texts(command: str) -> list[str]:
    return [" ".join(word or "?" for word in words) for words in commands(command)]


def only(command: str) -> Command:
    parsed = read(command)
    assert len(parsed.commands) == 1
    return parsed.commands[0]


def doubts(command: str) -> str:
    """Why the command, or something in it, is not known before it runs."""
    parsed = read(command)
    return "; ".join([parsed.unknown, *(found.unknown for found in parsed.commands)]).strip("; ")


# ------------------------------------------------------------------ every simple command is found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("git log && touch x", ["git log", "touch x"]),
        ("a || b; c & d", ["a", "b", "c", "d"]),
        ("git status\nrm -rf build", ["git status", "rm -rf build"]),
        ("cat f | wc -l |& tee o", ["cat f", "wc -l", "tee o"]),
        ("ls # ; rm -rf x", ["ls"]),
        ("echo 'a && b; c | d' \"e & f\"", ["echo a && b; c | d e & f"]),
        ("git status $(touch x)", ["git status ?", "touch x"]),
        ("git status `touch x`", ["git status ?", "touch x"]),
        ('echo "$(a "$(b)")"', ["echo ?", "a ?", "b"]),
        ("echo '$(rm x)'", ["echo $(rm x)"]),
        ("diff <(cat a) >(cat b)", ["diff ? ?", "cat a", "cat b"]),
        ("( cd b && rm x ); { ls; }", ["cd b", "rm x", "ls"]),
        ("for i in $(a) b; do c; done", ["a", "c"]),
        ("while a; do b; done; until c; do d; done", ["a", "b", "c", "d"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("case $(a) in $(b)) c;; *) d;; esac", ["a", "b", "c", "d"]),
        ("select x in a; do b; done", ["b"]),
        ("for ((i=0; i<3; i++)); do a; done", ["a"]),
        ("f() { a; }", ["a"]),
        ("function f { a; }", ["a"]),
        ("[[ -n $(a) ]] && b", ["a", "b"]),
        ("! a", ["a"]),
        ("a ${x:-$(b)} ${y/$(c)/d}", ["a ? ?", "b", "c"]),
        ("x=(a $(b)); y[0]=$(c)", ["", "b", "", "c"]),
        ("a > $(b)", ["a", "b"]),
        ("a <<< $(b)", ["a", "b"]),
        ("[ -f x ] && a", ["[ -f x ]", "a"]),
        ("rm > log -rf /", ["rm -rf /"]),
        ("a;b&&c|d", ["a", "b", "c", "d"]),
    ],
)
def test_every_simple_command_is_found(command: str, found: list[str]) -> None:
    assert texts(command) == found


def test_a_heredoc_is_data_and_not_commands() -> None:
    assert texts("python3 - <<'PY'\nimport os\nprint(os.getcwd())\nPY") == ["python3 -"]


def test_substitutions_in_a_heredoc_run_unless_its_end_is_quoted() -> None:
    assert texts("cat <<E\n$(a) `b`\nE\nc") == ["cat", "a", "b", "c"]
    for end in ("'E'", '"E"', "\\E"):
        assert texts(f"cat <<{end}\n$(a) `b`\nE\nc") == ["cat", "c"]


def test_a_heredoc_ends_where_bash_ends_it() -> None:
    assert texts("cat <<E\nE \n E\na\nE\nb") == ["cat", "b"]
    assert texts("cat <<-E\n\ta\n\tE\nb") == ["cat", "b"]
    assert texts("cat <<E\na\\\nE\nb\nE\nc") == ["cat", "c"]
    assert texts("cat <<A <<'B' | a; b\n1\nA\n2\nB\nc") == ["cat", "a", "b", "c"]


def test_a_commit_message_from_a_heredoc_is_read() -> None:
    command = "git commit -m \"$(cat <<'EOF'\nfeat: it's (x)\n\nbody\nEOF\n)\" && a"
    assert texts(command) == ["git commit -m ?", "cat", "a"]


def test_continued_lines_are_joined_as_bash_joins_them() -> None:
    assert texts("r\\\nm x \\\n  -rf &&\\\nls 'a\\\nb'") == ["rm x -rf", "ls a\\\nb"]


def test_what_a_command_stands_in_is_said() -> None:
    found = {c.program: c.inside for c in read("for i in 1; do $(a); done; f() { b; }").commands}
    assert found["a"] == ("for", "$(...)") and found["b"][0] == "function f"


# ------------------------------------------------------------------ words


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'a b'", "a b"), ('"a b"', "a b"), ("a\\ b", "a b"),
        ("$'a\\tb\\x41\\101\\u00e9'", "a\tbAA\u00e9"),
        ('r""m', "rm"), ("'r'\"m\"", "rm"), ("\\rm", "rm"), ("r\\m", "rm"), ("$'\\x72m'", "rm"),
        ('"a\\"b\\$c\\d"', 'a"b$c\\d'), ("'it'\\''s'", "it's"), ('$"hi"', "hi"), ("''", ""),
        ("a#b", "a#b"), ("{}", "{}"), ("{a", "{a"), ("a$", "a$"), ('"{a,b}"', "{a,b}"),
        ("\\{a,b}", "{a,b}"),
        ("\u00e9", "\u00e9"), ("~/x", "~/x"), ("~", "~"), ("'~/x'", "./~/x"), ("\\~/x", "./~/x"),
        ("a~", "a~"),
        ("$x", None), ('"$x"', None), ("${x}", None), ("$(a)", None), ("`a`", None),
        ("$((1))", None),
        ("{a,b}", None), ("{1..3}", None), ("a{b,c}", None), ("~root/x", None), ("~+", None),
        ("$?", None),
        ("$'a\\0b'", None), ("$'\\x{61}'", None), ("$'\\xe9'", None), ("<(a)", None),
    ],
)  # fmt: skip
def test_a_word_is_what_bash_makes_of_it(written: str, value: str | None) -> None:
    parsed = read(f"x {written}")
    assert not parsed.unknown
    assert [word.value for word in parsed.commands[0].words[1:]] == [value]
    assert parsed.commands[0].words[1].text == written


def test_a_glob_is_marked_and_a_quoted_one_is_not() -> None:
    words = only("x *.py a? [ab]c '*' \"?\" \\* a]").words[1:]
    assert [word.glob for word in words] == [True, True, True, False, False, False, False]
    assert words[0].value == "*.py"


def test_the_text_of_a_command_has_its_words_without_the_redirections() -> None:
    command = only("X=1   npm  test  > /dev/null 2>&1")
    assert command.text == "X=1 npm test" and command.argv == ["npm", "test"]
    assert [(name, value.value) for name, value in command.assignments] == [("X", "1")]


@pytest.mark.parametrize(
    "command",
    ["$c -rf x", "c=rm; $c x", "{rm,-rf,x}", "/bin/r? x", "r[m] x", "`echo rm` x", '"$X"'],
)
def test_a_program_that_is_not_written_out_is_unknown(command: str) -> None:
    assert doubts(command)


# ------------------------------------------------------------------ redirections


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("a > x", [("x", True)]), ("a 1>> ../x", [("../x", True)]), ("a >| x", [("x", True)]),
        ("a &> x", [("x", True)]), ("a &>> x", [("x", True)]), ("a >& x", [("x", True)]),
        ("a 2>x", [("x", True)]), ("a < x", [("x", False)]), ("> x", [("x", True)]),
        ("> ~/.bashrc echo hi", [("~/.bashrc", True)]), ("a > $x", [(None, True)]),
        ("a 2>&1 >&2 2>&- <&0", []), ("a >/dev/null 2>/dev/stderr </dev/null", []),
        ("a <<E\nE", []), ("a <<< b", []), ("a <<E > x\nE", [("x", True)]),
        ("while a; do b; done > x", [("x", True)]), ("{ a; } 2> x", [("x", True)]),
        ("(a) >> x", [("x", True)]),
        ("a | b > x", [("x", True)]), ("f() { a; } > x", [("x", True)]),
        ("[ a > x ]", [("x", True)]),
        ('a > "b c"', [("b c", True)]),
    ],
)  # fmt: skip
def test_files_that_are_opened_are_found(command: str, files: list[tuple[str, bool]]) -> None:
    found = [(r.target.value, r.writes) for c in read(command).commands for r in c.redirects]
    if command == "[ a > x ]":  # the grammar takes it for a comparison, bash does not
        assert found == files or doubts(command)
    else:
        assert found == files and not read(command).unknown


def test_a_connection_by_redirection_is_unknown() -> None:
    assert "network" in doubts("cat < /dev/tcp/10.0.0.1/80")


# ------------------------------------------------------------------ wrappers


@pytest.mark.parametrize(
    ("command", "wrapped_by"),
    [
        ("timeout 5 rm x", ("timeout 5",)),
        ("timeout -k 5 -s KILL 10 rm x", ("timeout -k 5 -s KILL 10",)),
        ("timeout --signal=KILL 10s rm x", ("timeout --signal=KILL 10s",)),
        ("nice -n 5 rm x", ("nice -n 5",)), ("nice -5 rm x", ("nice -5",)),
        ("nohup rm x", ("nohup",)),
        ("time -p rm x", ("time -p",)), ("stdbuf -oL rm x", ("stdbuf -oL",)),
        ("command rm x", ("command",)),
        ("builtin rm x", ("builtin",)), ("exec rm x", ("exec",)),
        ("exec -a y rm x", ("exec -a y",)),
        ("nohup nice -n 5 timeout 5 rm x &", ("nohup", "nice -n 5", "timeout 5")),
        ("\\nohup 'rm' x", ("\\nohup",)), ("/usr/bin/timeout 5 rm x", ("/usr/bin/timeout 5",)),
    ],
)  # fmt: skip
def test_a_transparent_wrapper_is_taken_off(command: str, wrapped_by: tuple[str, ...]) -> None:
    found = only(command)
    assert found.argv == ["rm", "x"] and found.wrapped_by == wrapped_by and not found.unknown


@pytest.mark.parametrize(
    "command",
    [
        "env rm x", "env -i -u A B=1 rm x", "env -S 'rm x'", "sudo rm x", "sudo -u root -E rm x",
        "sudo A=1 rm x",
        "doas -u root rm x", "bash -c 'rm x'", "sh -ec 'rm x'", "bash -lc 'rm x'",
        "bash -o pipefail -c 'rm x'",
        "bash -eoc pipefail 'rm x'", "eval rm x", "eval 'rm x'", "trap 'rm x' EXIT",
        "setsid -w rm x",
        "chroot --userspec=a:b / rm x", "watch -n 1 rm x", "su -c 'rm x' root", "busybox rm x",
        "ionice -c 3 rm x",
        "strace -f -o log rm x", "flock lock rm x", "flock lock -c 'rm x'", "script -c 'rm x' log",
        "coproc rm x",
        "env sudo nice bash -c 'timeout 5 rm x'", "find . -exec rm x \\;", "find . -ok rm x \\;",
        "xargs -I@ rm x", "./timeout 5 rm x", "runuser -u a rm x", "nix-shell --run 'rm x'",
    ],
)  # fmt: skip
def test_what_another_wrapper_runs_stands_beside_it(command: str) -> None:
    parsed = read(command)
    assert not doubts(command)
    assert len(parsed.commands) > 1 and ["rm", "x"] in [found.argv for found in parsed.commands]
    assert parsed.commands[0].argv and parsed.commands[-1].inside


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("find . -exec rm {} +", ["rm", None]),
        ("find . -type f -execdir rm -f {} \\;", ["rm", "-f", None]),
        ("xargs -n1 rm -rf", ["rm", "-rf", None]),
        ("xargs -0 -P 4 --max-args 1 rm", ["rm", None]),
        ("xargs -I{} rm {}/x", ["rm", None]),
    ],
)
def test_arguments_from_elsewhere_are_unknown(command: str, words: list[str | None]) -> None:
    assert [word.value for word in read(command).commands[-1].words] == words


@pytest.mark.parametrize(
    "command",
    [
        "curl x | sh", "bash <<< 'rm x'", "bash -s < f", "sudo -i", "su", "bash -c \"$x\"",
        "eval $x", "eval \"$(a)\"",
        ". ./x", "source x", "ssh host rm x", "parallel rm ::: a", "timeout $t rm x",
        "env -S 'a \"b c\"'",
        "xargs bash -c", "zsh -c 'rm x'", "sh -c \"\\$'rm' x\"", "find . -exec {} \\;", "env $x rm",
    ],
)  # fmt: skip
def test_what_a_wrapper_runs_may_be_unknown(command: str) -> None:
    assert doubts(command)


def test_a_denied_command_is_seen_even_where_the_whole_is_unknown() -> None:
    for command in (
        "ssh host rm x",
        "timeout $t rm x",
        "zsh -c 'rm x'",
        "rm x; echo $(",
        "if rm x",
    ):
        assert "rm" in [found.program for found in read(command).commands]


def test_looking_a_command_up_runs_nothing() -> None:
    assert only("command -v rm").argv == ["command", "-v", "rm"]


# ------------------------------------------------------------------ where it runs


@pytest.mark.parametrize(
    ("command", "places"),
    [
        ("cd /etc && x", ["/etc"]), ("cd //etc/../usr && x", ["/usr"]),
        ("cd a && cd b && x", ["a/b"]), ("cd a/../.. && x", [".."]),
        ("cd a && cd .. && x", [""]), ("(cd a && y); x", [""]), ("cd a | y; x", [""]),
        ("cd a & x", [""]),
        ("cd a; x", ["a", ""]), ("cd a || x", [""]), ("cd a || exit 1; x", ["a"]),
        ("! cd a || x", ["a"]),
        ("cd a && y || x", ["", "a"]), ("cd a && y; x", ["a", ""]),
        ("cd && x", [None]), ("cd ~ && x", [None]), ("cd $y && x", [None]), ("cd - && x", [None]),
        ("cd a && cd - && x", [""]), ("pushd a && popd && x", [""]), ("popd && x", [None]),
        ("cd 'a b' && x", ["a b"]),
        ("cd * && x", [None]), ("eval 'cd a' && x", ["a"]), ("bash -c 'cd a' && x", [""]),
        ("command cd a && x", ["a"]),
        ("timeout 5 cd a && x", [""]), ("if cd a; then x; fi", ["a"]),
        ("if ! cd a; then exit; fi; x", ["a"]),
        ("if cd a; then y; else exit; fi; x", ["a"]), ("for i in 1 2; do x; cd a; done", [None]),
        ("for i in 1 2; do (cd a); x; done", [""]), ("$y a && x", [None]), (". y && x", [None]),
        ("f() { cd a; }; f; x", [None]), ("trap 'cd a' DEBUG; x", [None]),
        ("{ cd a; } && x", ["a"]),
        ("cd a && x $(cd b; y)", ["a"]), ("env -C a x", [None]), ("cd a b && x", [None]),
        ("cd -- a && x", ["a"]),
        ("cd -P a && x", [None]), ("case y in a) cd a;; esac; x", ["", "a"]), ("exit; x", [None]),
    ],
)  # fmt: skip
def test_cd_is_followed(command: str, places: list[str | None]) -> None:
    parsed = read(command)
    assert not parsed.unknown
    assert [found.cwd for found in parsed.commands if found.program == "x"] == places


def test_where_the_shell_stands_in_the_end_is_said() -> None:
    assert read("cd a && cd b").cwd is None  # each of them may fail
    assert read("(cd a)").cwd == "" and read("cd /a || exit").cwd == "/a"


def test_a_redefined_cd_makes_the_whole_unknown() -> None:
    assert read("cd() { :; }; cd a && rm x").unknown


# ------------------------------------------------------------------ what changes what is run


@pytest.mark.parametrize(
    "command",
    [
        "git() { a; }; git status", "PATH=./tools:$PATH git status", "export PATH=.; git status",
        "PATH=.; git status",
        "alias git=a; git status", "hash -p ./a git; git status", "enable -f ./a.so git",
        "BASH_ENV=a bash -c git",
        "LD_PRELOAD=./a.so git status", "GIT_EXTERNAL_DIFF=a git diff", "PAGER=a git log",
        "PS4='$(a)'; set -x; b",
        "read PATH; git status", "printf -v PATH a; git status",
        "for PATH in a; do git status; done", "CDPATH=a; cd b",
        "git -c core.pager=a log", "git --config-env=core.pager=A log", "git --exec-path=. log",
        "git --git-dir=a log",
        "git -c alias.x='!touch a' x", "git diff --ext-diff", "git grep -Oa b",
        "tar -xf a --to-command=b",
        "tar cf a --checkpoint-action=exec=b c", "tar -I b -xf a", "sort --compress-program=a b",
        "sort --comp a b",
        "rsync -e a b c", "man -P a b", "vim -c '!a' b", "ssh -o ProxyCommand=a b", "rg --pre a b",
        "shopt -s expand_aliases", "set -o posix", "shopt -s lastpipe; a | cd b; c",
    ],
)  # fmt: skip
def test_what_changes_what_is_run_is_unknown(command: str) -> None:
    assert doubts(command)


@pytest.mark.parametrize(
    "command",
    [
        "let 'a[$(b)]=1'", "printf -v 'a[$(b)]' x", "[[ -v 'a[$(b)]' ]]", "test -v 'a[$(b)]'",
        "unset 'a[$(b)]'",
        "read 'a[$(b)]'", "x='a[$(b)]'; (( x ))", "x='a[$(b)]'; echo $((x))",
        "x=$(cat f); echo ${y[x]}",
        "read x; echo $((x + 1))", "echo $(( $(cat f) ))", "[[ $(cat f) -eq 0 ]]",
        "f() { (( $1 )); }",
        "declare -i x='a[$(b)]'", "declare -n x=y", "echo ${x@P}", "echo ${!x}",
        "mapfile -C b -c 1 x",
        "compgen -W '$(b)'", "declare -a 'x=($(b))'",
    ],
)  # fmt: skip
def test_values_that_bash_evaluates_again_are_unknown(command: str) -> None:
    assert doubts(command)


@pytest.mark.parametrize(
    "command",
    [
        "i=0; while [ $i -lt 3 ]; do i=$((i + 1)); done",
        "for i in 1 2 3; do echo $((i * 2)); done",
        "NODE_ENV=test npm run test", "GIT_PAGER=cat git log", "export FOO=bar",
        "x=$(date); echo \"$x\"",
        "declare -A m=([a]=1)", "git commit -am 'x'", "tar -czf a.tgz b", "sort -k2 -t: a",
        "set -euo pipefail",
        "printf '%s\\n' \"$x\"", "unset x", "read -r x", "[ -n \"$x\" ]", "[[ $# -gt 0 ]]",
        "git log -5",
    ],
)  # fmt: skip
def test_ordinary_commands_are_known(command: str) -> None:
    assert not doubts(command)


# ------------------------------------------------------------------ what cannot be read


@pytest.mark.parametrize(
    "command",
    [
        "git status\u200b --short", "git\u00a0status", "a \u202eb", "a\rb", "a\r\nb", "a \x1b[0m",
        "a\x00b", "a \u3164",
        "a 'b", 'a "b', "a $(b", "a `b", "if a", "a ) b", "a <<E\nb", "a; ; b", "f(", "a ${b",
        "(" * 1000, "then a",
        "a\x0bb", "\ufeffa", "a && ", "case x in", "a \\",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_unknown(command: str) -> None:
    assert doubts(command)


def test_invisible_characters_in_quotes_are_text() -> None:
    assert not doubts("git commit -m 'a\u200bb\u00a0c'")


@pytest.mark.parametrize(
    "command",
    [
        "( " * 1000 + "a" + " )" * 1000, "$(" * 1000 + "a" + ")" * 1000,
        '"$(' * 500 + "a" + ')"' * 500,
        "if a; then " * 500 + "b;" + "fi;" * 500, "${x:-" * 1000 + "}" * 1000,
        "{ " * 1000 + "a;" + "}" * 1000,
        "sudo " * 3000 + "a", "eval " * 3000 + "a", "bash -c '" * 500,
        "$((" * 500 + "1" + "))" * 500,
        "a" * 300_000, "`" * 999,
    ],
)  # fmt: skip
def test_no_input_is_too_much_for_it(command: str) -> None:
    started = time.perf_counter()
    assert doubts(command)
    assert time.perf_counter() - started < 5


def test_on_windows_only_a_plain_program_with_arguments_is_read() -> None:
    found = parse("git status --short", platform="win32")
    assert not found.unknown and found.commands[0].argv == ["git", "status", "--short"]
    assert parse("type C:\\a\\b.txt", platform="win32").commands[0].argv == ["type", "C:\\a\\b.txt"]
    for command in (
        "git status & del x",
        "echo %PATH%",
        'a "b c"',
        "a > b",
        "a ^& b",
        "(a)",
        "a\nb",
    ):
        assert parse(command, platform="win32").unknown
    commands = parse("git status & del x", platform="win32").commands
    assert [found.program for found in commands] == ["git", "del"]


def test_the_grammar_is_loaded_when_it_is_first_needed() -> None:
    code = "import sys, agentlab, agentlab.permissions.shell; print('tree_sitter' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
