"""Generated commands: parsed, and then really run by bash, with programs that say that they ran.

Whatever ran must have been seen: as a command with that program, those arguments and that folder,
or the parser must have said that it cannot know. A program that ran unseen is a way around every
rule.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from agentlab.permissions.shell import Command, parse

# Lines thought of by hand: what is said to be known is run, what is not known must stay unknown.
LINES = json.loads((Path(__file__).parent / "shell_lines.json").read_text("utf-8"))
BASH = shutil.which("bash")
TOOLS = (
    "bash",
    "sh",
    "env",
    "timeout",
    "nice",
    "nohup",
    "xargs",
    "find",
    "cat",
    "stdbuf",
    "setsid",
)
MARKERS = [f"m{number}" for number in range(1, 10)]
COUNT = 1000
SEED = 4
pytestmark = pytest.mark.skipif(not BASH or os.name == "nt", reason="needs bash")


class Generator:
    """Commands from a grammar of the shell, a part of them then damaged at random places."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def command(self) -> str:
        text = self.statement(self.random.randint(0, 3))
        if self.random.random() < 0.2:
            text += self.random.choice(["\n", "; ", " & "]) + self.statement(1)
        while self.random.random() < 0.35:
            at = self.random.randrange(len(text) + 1)
            piece = self.random.choice(
                ["'", '"', "`", "\\", "$", "(", ")", "{", "}", "[", "]", ";", "&", "|", "<", ">",
                 "#", "\n", " ", "\\\n", "$(", "<<", "<<E", "\nE\n", "!", "*", "~", "=", "m1",
                 " m2 ",
                 "<(", "((", "$((", "))", "${", "&&", "'\n", "$'", "\t", ",", "..", "case ", "esac",
                 " in ", ";;", "if ", "then ", "fi", "do ", "done", "[[ ", " ]]"]
            )  # fmt: skip
            text = text[:at] + piece + text[at + self.random.choice([0, 0, 1, 2]) :]
        return text

    def marker(self) -> str:
        return self.random.choice(MARKERS)

    def quoted(self, text: str) -> str:
        """The same word, written in another way."""
        if self.random.random() < 0.6:
            return text
        at = self.random.randrange(len(text) + 1)
        before, after = text[:at], text[at:]
        return self.random.choice(
            [f"'{text}'", f'"{text}"', f'{before}""{after}', f"{before}''{after}", f"$'{text}'",
             f"{before}\\{after}", f'"{before}"{after}', f"$'\\x{ord(text[0]):02x}'{text[1:]}",
             f"{before}\\\n{after}", f'$"{text}"', f"{{{text},x}}", f"{text[:-1]}[{text[-1]}]",
             f"{text[:-1]}?", f"$'\\{ord(text[0]):03o}{text[1:]}'", f"$(echo {text})",
             f"`echo {text}`"]
        )  # fmt: skip

    def word(self, depth: int) -> str:
        plain = ["a", "'a b'", '"a b"', "a\\ b", "$'a\\tb'", '"$V"', "$V", "{a,b}", "x{1..3}",
        "*.t",
                 "~", "~/x", "'~/x'", "-n", "a=b", "''", "a'b'\"c\"", "\\$x", "'$(m1)'",
                 '"\\$(m2)"',
                 "'`m3`'", "#a", "a#b", "${V:-d}", "${#V}", "$((1+2))", "\\;", "{}", "!", "a\\\nb",
                 "=",
                 "'a;b'", "\"'\"", "'\"'", "$", "%", "a:b", "é", "[a]", "$'\\'m4'", "@", "a,b",
                 "{a"]  # fmt: skip
        if depth <= 0 or self.random.random() < 0.6:
            return self.random.choice(plain)
        inner = self.statement(depth - 1)
        quote = self.random.choice(["", '"'])
        return self.random.choice(
            [f"{quote}$({inner}){quote}", f"{quote}`{self.simple(0)}`{quote}", f"<({inner})",
             f"{quote}${{V:-$({inner})}}{quote}", f"$(( 1 + $({inner}; echo 1) ))", f">({inner})",
             f"{quote}a$({inner})b{quote}", f"${{V:-'{inner}'}}", f'"${{N:-"$({inner})"}}"',
             f"'$({self.simple(0)})'".replace("''", ""), f"${{V/$({self.simple(0)})/x}}"]
        )  # fmt: skip

    def words(self, depth: int) -> str:
        return "".join(
            f" {self.word(depth)}" for _ in range(self.random.choice([0, 0, 1, 1, 2, 3]))
        )

    def simple(self, depth: int) -> str:
        text = self.quoted(self.marker()) + self.words(depth)
        roll = self.random.random()
        if roll < 0.15:
            text = (
                self.random.choice(["A=1 ", f"A={self.word(depth)} ", "A+=x ", "A[1]=x ", "A= "])
                + text
            )
        if roll > 0.8:
            text += self.random.choice([" > o1", " 2>&1", " >> o2 2>/dev/null", " <<< x", " &> o3",
            " < /dev/null",
                                        f" < <({self.marker()})", " >o1 tail",
                                        f' <<< "$({self.marker()})"',
                                        " >| o4", " >&2", " 3<> o5", " {fd}> o6"])  # fmt: skip
        if 0.15 < roll < 0.25:
            sign = self.random.choice([">", ">>", "&>", ">&", "2>", ">|", "<", "<<<", "<&", "3>&"])
            text += f" {sign}{self.random.choice(['', ' '])}{self.word(depth)}"
        if roll > 0.97:
            text = "> o7 " + text
        return text

    def wrapped(self, depth: int) -> str:
        inner, script = self.simple(0), self.simple(0).replace("'", "")
        return self.random.choice(
            [f"timeout 5 {inner}", f"timeout -k 1 -s KILL 5 {inner}", f"nice -n 5 {inner}",
            f"nice -5 {inner}",
             f"nohup {inner} < /dev/null", f"env {inner}", f"env A=1 B=2 {inner}",
             f"env -u A {inner}",
             f"time {inner}", f"time -p {inner}", f"command {inner}", f"exec {inner}",
             f"\\{inner}", f"! {inner}",
             f"echo a b | xargs {inner}", f"echo a | xargs -I{{}} {inner} {{}}",
             f"echo a | xargs -n1 {inner}",
             f"find . -maxdepth 0 -exec {inner} {{}} \\;",
             f"find . -maxdepth 0 -exec {inner} {{}} +",
             f"bash -c '{script}'", f"sh -c '{script}'", f"bash -ec '{script}' x y",
             f"eval '{script}'",
             f"eval {inner}", f"trap '{script}' EXIT", f"stdbuf -oL {inner}", f"setsid -w {inner}",
             f"coproc {inner}", f"builtin eval '{script}'", f"nice timeout 5 env {inner}",
             f"env -S '{script}'",
             f"bash <<< '{script}'", f"echo '{script}' | bash", f"bash -c \"{script}\"",
             f"V='{script}'; $V",
             f"env -i PATH=\"$PATH\" {inner}", f"command -v {inner}",
             f"mapfile -C {inner} -c 1 < /dev/null",
             f"bash -O extglob -c '{script}'", f"exec -a x {inner}",
             f"find . -maxdepth 0 -ok {inner} \\;",
             f"bash -s <<E\n{script}\nE", f"time {{ {inner}; }}", f"coproc N {{ {inner}; }}"]
        )  # fmt: skip

    def heredoc(self, depth: int) -> str:
        body = self.random.choice(["plain", f"$({self.simple(0)})", f"`{self.marker()}`",
        "\\$(m1)", "it's",
                                   f"a\n$({self.simple(0)}) \"b\"", "EE", " E", "E ", "\\", "a\\",
                                   "E\\",
                                   f"${{V:-$({self.marker()})}}", "((", "'$(m5)'", "# x",
                                   ""])  # fmt: skip
        opener = self.random.choice(
            ["<<E", "<<'E'", "<<-E", '<<"E"', "<<\\E", "<< E", "<<-'E'", '<<E""']
        )
        rest = self.random.choice(
            ["", f" | {self.marker()}", f" && {self.marker()}", f"; {self.marker()}", " > o8",
            " &", f" {self.word(0)}"]
        )  # fmt: skip
        text = f"cat {opener}{rest}\n{body}\nE\n{self.random.choice(['', self.simple(0)])}"
        return self.random.choice(
            [text, text, f'm9 "$({text}\n)"', f"({text}\n)", f"if {text}\nthen m8; fi"]
        )

    def statement(self, depth: int) -> str:
        if depth <= 0:
            return self.simple(0) if self.random.random() < 0.8 else self.wrapped(0)
        one, two = (self.statement(depth - 1) for _ in range(2))
        m = self.marker()
        return self.random.choice(
            [self.simple(depth), self.simple(depth), self.wrapped(depth), self.wrapped(depth),
            self.heredoc(depth),
             f"{one} && {two}", f"{one} || {two}", f"{one}; {two}", f"{one} | {two}",
             f"{one}\n{two}",
             f"{one} |& {two}", f"{one} & {two}", f"({one}); {two}", f"{{ {one}; }}; {two}",
             f"({one}; {two}) > o9",
             f"if {one}; then {two}; fi", f"if ! {one}; then {two}; else {m}; fi",
             f"for i in a $({one}) b; do {two}; done", f"for i in 1 2; do {one}; done > o1",
             f"while {one}; do {two}; break; done", f"until {one}; do {two}; done",
             f"case a in a) {one};; b|c) {two};; esac", f"case $({m}) in *) {one}\nesac",
             f"case a in (a) {one};& x) {two};; esac",
             f"f() {{ {one}; }}; f; {two}", f"function g {{ {one}\n}}; {m}; g",
             f"{m}() {{ {one}; }}; {m}",
             f"[[ -n $({one}) ]] && {two}", f"[ -z \"$({one})\" ] || {two}",
             f"(( $({one}; echo 1) )); {two}",
             f"x=$({one}); {two}", f"x=({one} $({two})); {m}", f"export Y=$({one}); {two}",
             f"{one} # {two}\n{m}", f"'{one}' {two}", f"echo \"{one}\"", f"echo '{one}'",
             f"{one} \\\n {two}",
             f"cd d1 && {one}", f"cd d1; {one}", f"(cd d1; {one}); {two}", f"cd nowhere; {one}",
             f"cd d1 || {one}", f"cd d1/d2 && cd .. && {one}",
             f"pushd d1 > /dev/null && {one}; popd > /dev/null; {two}",
             f"cd d1 && {one} || {two}", f"if cd d1; then {one}; fi; {two}",
             f"for i in 1 2; do {one}; cd d1; done",
             f"cd d1 | {one}; {two}", f"cd - ; {one}", f"cd $PWD/d1; {one}", f"cd d1 & {one}",
             f"! cd d1 && {one}; {two}", f"f() {{ cd d1; }}; f; {one}",
             f"a='b[$({m})]'; echo $((a)); {one}", f"alias {m}='{self.marker()}'; {m}; {one}",
             f"printf -v 'b[$({m})]' x; {one}", f"[[ -v 'b[$({m})]' ]]; {one}",
             f"{m} ${{V:={self.word(1)}}}",
             f"read x <<< 'b[$({m})]'; (( x )); {one}", f"x='$({m})'; echo ${{x@P}}",
             f"PS4='$({m})'; set -x; {one}",
             f"shopt -s extglob; {one}; {m} !(a|b)", f"declare -a 'q=($({m}))'; {one}",
             f"let 'b[$({m})]=1'; {one}",
             f"declare -i n='b[$({m})]'; {one}", f"hash -p {m} {self.marker()}; {one}",
             f"unset 'b[$({m})]'; {two}",
             f"test -v 'b[$({m})]'; {one}", f"V=b; [[ 'b[$({m})]' -eq 0 ]]; {one}"]
        )  # fmt: skip


class Range:
    """A throw-away folder with marker programs, and bash with nothing else to find."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin, self.log = folder, folder / "bin", folder / "log"
        self.work, self.count = folder / "work", 0
        self.bin.mkdir()
        for name in MARKERS:
            (self.bin / name).write_text(
                f'#!/bin/sh\n{{ printf "%s\\000" {name} $# "$PWD" "$@"; }} >>{self.log}/$$\n'
            )
            (self.bin / name).chmod(0o755)
        for name in TOOLS:
            if found := shutil.which(name):
                (self.bin / name).symlink_to(found)
        self.environment = {
            "PATH": str(self.bin),
            "HOME": str(folder / "home"),
            "FUNCNEST": "20",
            "LC_ALL": "C.UTF-8",
        }

    def run(self, command: str) -> list[list[str]]:
        """What ran: for each program its name, its folder and its arguments."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.count += 1
        self.work = self.folder / f"work{self.count}"
        (self.work / "d1" / "d2").mkdir(parents=True)
        shutil.rmtree(self.log, ignore_errors=True)
        self.log.mkdir(exist_ok=True)
        assert BASH
        process = subprocess.Popen(
            [BASH, "--norc", "-c", 'eval "$1"', "bash", command], cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        files = sorted(self.log.iterdir())  # one for each process
        log = b"".join(file.read_bytes() for file in files).decode("utf-8", "surrogateescape")
        entries, fields = [], log.split("\0")
        while len(fields) > 3:
            size = int(fields[1])
            entries.append([fields[0], *fields[2 : 3 + size]])
            fields = fields[3 + size :]
        earlier = re.compile(rf"{re.escape(str(self.folder))}/work(?!{self.count}(?:/|\Z))")
        # Without what outlived an earlier run, whose folder is gone.
        return [entry for entry in entries if entry[1] and not earlier.match(entry[1])]

    def written(self) -> list[str]:
        """Files that are there after a run."""
        return [os.path.realpath(file) for file in self.work.rglob("*") if file.is_file()]

    def explains(self, command: Command, name: str, folder: str, args: list[str]) -> bool:
        """Whether what ran is this command, or a file that this command gives to a shell."""
        if command.program in ("bash", "sh") and name in [word.value for word in command.words]:
            return True
        if command.program is None or os.path.basename(command.program) != name:
            return False
        if command.cwd is not None and os.path.realpath(
            self.work / command.cwd
        ) != os.path.realpath(folder):
            return False
        argv = command.argv
        if argv is None or any(word.glob for word in command.words):
            return True
        home = self.environment["HOME"]
        plain = [value[2:] if value.startswith("./~") else value for value in argv[1:]]
        return len(plain) == len(args) and all(
            got in (value, re.sub(r"\A(\w+=)?~(?=/|\Z)", rf"\1{home}", value))
            for value, got in zip(plain, args, strict=True)
        )


def is_known(command: str) -> bool:
    """Whether the parser says that it knows all that runs."""
    parsed = parse(command, platform="linux")
    return not parsed.unknown and not any(found.unknown for found in parsed.commands)


def unseen(command: str, range_: Range) -> list[str]:
    """What ran, or was written by a redirection, and was not seen by the parser."""
    if not is_known(command):
        return []
    parsed, ran = parse(command, platform="linux"), range_.run(command)
    missed = [
        entry
        for entry in ran
        if not any(
            range_.explains(found, entry[0], entry[1], entry[2:]) for found in parsed.commands
        )
    ]
    targets = [
        None if redirect.target.value is None or redirect.target.glob or found.cwd is None
        else os.path.realpath(range_.work / found.cwd / redirect.target.value)
        for found in parsed.commands for redirect in found.redirects if redirect.writes
    ]  # fmt: skip
    written = [file for file in range_.written() if None not in targets and file not in targets]
    return [f"{what} was not seen in {command!r}" for what in (*missed, *written)]


def test_whatever_bash_runs_was_seen_by_the_parser(tmp_path: Path) -> None:
    generator, range_ = Generator(SEED), Range(tmp_path)
    missed = [line for _ in range(COUNT) for line in unseen(generator.command(), range_)]
    assert not missed, "\n".join(missed)


def test_the_generator_makes_commands_that_are_known(tmp_path: Path) -> None:
    generator = Generator(SEED)
    known = [command for _ in range(COUNT) if is_known(command := generator.command())]
    assert len(known) > COUNT / 5


def test_lines_that_are_known_do_what_the_parser_says(tmp_path: Path) -> None:
    range_ = Range(tmp_path)
    assert len(LINES["known"]) > 150 and all(map(is_known, LINES["known"]))
    missed = [line for command in LINES["known"] for line in unseen(command, range_)]
    assert not missed, "\n".join(missed)


def test_lines_that_hide_what_they_run_are_unknown() -> None:
    assert len(LINES["unknown"]) > 100
    assert not [command for command in LINES["unknown"] if is_known(command)]
