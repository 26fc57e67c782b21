"""Which commands only read, and which files a command opens."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from agentlab.permissions.readonly import reads_only
from agentlab.permissions.shell_files import reads, writes
from agentlab.permissions.shell_git import git_runs_programs
from agentlab.permissions.shell_options import options

READS_ONLY = """
cat a
cat -n a b
ls -la src
head -n 5 a
tail -20 a
tail -f log
wc -l a
grep -rn "a b" src
grep -e -o a
egrep 'a|b' f
rg -n foo src
find . -name '*.py' -type f
find src -maxdepth 2 -print0
sed -n 1,5p f
sed -n '/a/,/b/p;5q' f
sed -e s/a/b/g -e 2d f
sed 's|a|b|' f
sed -nE '/^a/p' f
sort -u f
sort -k2,2n -t: f
sort -to f
uniq -c f
cut -d: -f1 f
diff -u a b
cmp a b
od -c f
xxd -l 16 f
file f
stat -c %s f
tree -L 2
du -sh .
df -h
pwd
echo -n a
printf '%s\\n' a
test -f a
[ -d a ]
date
date +%s
date -d yesterday +%F
date -Iseconds
date -u
which python
command -v node
type ls
ps aux
ps -ef
ps -o pid,args
uname -a
whoami
id -u
hostname
basename a/b .c
realpath .
jq -r .a f
jq -s .env f
jq '.loaded | .a' f
yq .a f
strings -n 8 a
md5sum f
base64 f
cd src
set -euo pipefail
true
git status
git status --short
git --no-pager log -5 --oneline
git log --output-indicator-new=x
git diff HEAD~1 -- a
git diff --stat
git show HEAD:a
git rev-parse --show-toplevel
git rev-parse --git-dir
git ls-files -o
git blame -L 1,2 a
git grep -n foo
git branch
git branch -a -v
git branch --list 'a*'
git branch --contains HEAD
git branch --show-current
git tag
git tag -l 'v*'
git remote
git remote -v
git remote get-url origin
git stash list
git config --get user.name
git config user.name
git reflog
git describe --tags
git worktree list
git --version
"""
DOES_MORE = """
env
printenv
printenv PATH
ps e
ps auxe
ps -E
ps -o pid e
arch rm a
arch -x86_64 rm a
jq -n env
jq -n '$ENV.KEY'
jq -n '"\\(env.KEY)"'
jq 'import "a" as $a; .' f
jq -n --rawfile a b '$a'
jq -f a b
yq -n 'env(KEY)'
yq 'load_str("a")' b
yq -n '"lo" + "ad(\"a\")" | eval(.)'
strings @a
date -f a
date --fil=a
wc --files0-from=a
du --files0-from=a
sort --files0-from a
find -files0-from a
file -f a
rm a
python a.py
sort -o a a
sort -uo a a
sort -oa a
sort --output=a a
sort --outp a a
sort -T /tmp a
sort --compress-program=a b
sed -i s/a/b/ f
sed -ni 1,5p f
sed -n -i.bak 1p f
sed --in-place s/a/b/ f
sed --in s/a/b/ f
sed -I .bak s/a/b/ f
sed 'w out' f
sed -n '/a/w out' f
sed 's/a/b/w out' f
sed 's/a/b/e' f
sed '1e date' f
sed -n '1W out' f
sed '1r /etc/passwd' f
sed -f script f
sed -l 5 'w out' f
sed
find . -exec a {} +
find . -execdir a ;
find . -ok a ;
find . -delete
find . -fprint a
find . -fprintf a %p
find . -fls a
uniq a b
uniq -c a b
uniq -f 1 a b
uniq -- a b
xxd a b
xxd -ps a b
xxd -r a b
tree -o a
tree -R -H . -L 1
file -C -m a
file -z a
rg --pre=a b
rg --pre a b
rg --hostname-bin=a b
rg -z a
date -s 2020-01-01
date --set=2020-01-01
date --se 2020-01-01
date 010100002020
date -I -s 2020-01-01
hostname a
hostname -F a
env a
env A=1
env -S 'a b'
printf -v a b
command a
base64 -i a -o b
yq -i .a=1 f
test -v 'a[$(b)]'
set -o posix
/bin/cat a
./cat a
diff --paginate a b
git
git push
git commit -m a
git checkout a
git stash
git stash drop
git -c a=b status
git -C a status
git --git-dir=a status
git --exec-path=a status
git -p log
git diff --output=a
git diff --outp a
git log --output=a
git diff --ext-diff
git show --textconv
git log --show-signature
git log --format=%G?
git grep -Oa b
git grep -iO b
git grep --open-files-in-pager=a b
git branch a
git branch -d a
git branch -f a
git branch -m a b
git branch --set-upstream-to=a
git branch --edit-description
git tag a
git tag -d a
git tag -v a
git tag -am a b
git remote add a b
git remote -v update
git remote show origin
git config a b
git config a
git config a.b c
git config edit
git diff --no-index a b
git grep --no-index a
git grep --untracked a
git config --unset a
git config -e
git config --global a b
git cat-file --filters a
git reflog expire --all
git worktree add a
git ls-remote
git fetch
git submodule status
git unknown
"""


@pytest.mark.parametrize("command", READS_ONLY.strip().splitlines())
def test_a_command_that_only_reads_is_read_only(command: str) -> None:
    assert reads_only(shlex.split(command))


@pytest.mark.parametrize("command", ["", *DOES_MORE.strip().splitlines()])
def test_a_command_that_does_more_is_not_read_only(command: str) -> None:
    assert not reads_only(shlex.split(command))


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("cat a -n b", ["a", "b"]), ("cat -- -a", ["-a"]), ("head -n 5 a", ["a"]),
        ("tail -5 a", ["a"]),
        ("grep x a b", ["a", "b"]), ("grep -e x a", ["a"]), ("grep -f p a", ["a", "p"]),
        ("grep --file=p a", ["a", "p"]),
        ("grep -A 3 x a", ["a"]), ("grep --color x a", ["a"]), ("grep -r x", ["."]),
        ("rg x", ["."]), ("rg --files a", ["a"]), ("rg --files-with-matches x a", ["a"]),
        ("sed -n 1p a", ["a"]), ("sed -e 1p a", ["a"]), ("sed -f s a", ["a", "s"]),
        ("awk '{print}' a", ["a"]),
        ("awk -F: -f s a", ["a", "s"]), ("jq .x a", ["a"]), ("cp a b c", ["a", "b"]),
        ("cp -t d a b", ["a", "b"]),
        ("mv a b", ["a"]), ("rsync -t a b", ["a"]), ("dd if=a of=b", ["a"]),
        ("find a b -name c", ["a", "b"]),
        ("find -name c", ["."]), ("find -O3 -D tree -L -- a b", ["a", "b"]),
        ("jq --rawfile x a -n .y b", ["b", "a"]), ("node --env-file=a b.js", ["b.js", "a"]),
        ("tar xzf a -C b", ["a"]), ("tar -czf a b c", ["b", "c"]),
        ("tar -tf a", ["a"]),
        ("curl -d @a http://h", ["a"]), ("curl -F x=@a -T b http://h", ["a", "b"]),
        ("curl file:///a", ["/a"]),
        ("curl --data-binary @a http://h", ["a"]), ("curl --data-urlencode x@a http://h", ["a"]),
        ("source a", ["a"]), (". a", ["a"]), ("python a.py b", ["a.py", "b"]),
        ("python -O a.py", ["a.py"]),
        ("bash -e a", ["a"]), ("base64 -w 0 a", ["a"]), ("md5sum a", ["a"]), ("xxd -ps a", ["a"]),
        ("od -w a", ["a"]),
        ("sort -k 2 a", ["a"]), ("diff a b", ["a", "b"]), ("wc --files0-from=a", ["a"]),
        ("ls", ["."]), ("ls a", ["a"]),
        ("zip o a b", ["a", "b"]), ("/bin/cat a", ["a"]), ("test -f a", ["a"]), ("make a", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_files_that_a_command_reads(command: str, found: list[str] | None) -> None:
    assert reads(shlex.split(command)) == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("rm -rf a b", ["a", "b"]), ("rm -- -a", ["-a"]), ("tee -a a b", ["a", "b"]),
        ("touch a", ["a"]),
        ("touch -r x a", ["a"]), ("mkdir -p -m 700 a", ["a"]), ("cp a b c", ["c"]),
        ("cp -t d a", ["d"]),
        ("cp --target-directory=d a", ["d"]), ("mv a b", ["a", "b"]), ("ln -s a b", ["b"]),
        ("install -m 644 a b", ["b"]),
        ("rsync -t a b", ["b"]), ("dd if=a of=b", ["b"]), ("sed -i s/a/b/ f g", ["f", "g"]),
        ("sed -ni 1p f", ["f"]),
        ("sed -n 1p f", []), ("sort -o a b", ["a"]), ("sort -uoa b", ["a"]),
        ("sort --output=a b", ["a"]), ("sort a", []),
        ("chmod 600 a b", ["a", "b"]), ("chmod --reference=x a", ["a"]), ("chown u:g a", ["a"]),
        ("truncate -s 0 a", ["a"]),
        ("find a -delete", ["a"]), ("find a -fprint b", ["b"]), ("find a", []),
        ("uniq a b", ["b"]), ("xxd a b", ["b"]),
        ("curl -o a http://h", ["a"]), ("curl -sLo a http://h", ["a"]),
        ("curl -O http://h", ["."]), ("curl http://h", []),
        ("wget http://h", ["."]), ("wget -O a http://h", ["a"]), ("wget -P d http://h", ["d"]),
        ("tar xf a", ["."]),
        ("tar xzf a -C b", ["b"]), ("tar czf a b", ["a"]), ("tar --extract --file a", ["."]),
        ("unzip a -d b", ["b"]),
        ("unzip a", ["."]), ("zip a b", ["a"]), ("gzip a", ["a"]), ("patch a", ["a"]),
        ("patch -p1", ["."]),
        ("perl -pi -e s/a/b/ f", ["f"]), ("tree -o a", ["a"]), ("base64 -i a -o b", ["b"]),
        ("make a", None),
    ],
)  # fmt: skip
def test_the_files_that_a_command_writes(command: str, found: list[str] | None) -> None:
    assert writes(shlex.split(command)) == found


def test_options_are_read_as_programs_read_them() -> None:
    read = options(["-xofile", "a", "--outp=b", "-k", "1", "--", "-o"], "ok", "--output")
    assert read.given == (("-x", None), ("-o", "file"), ("--outp", "b"), ("-k", "1"))
    assert read.operands == ("a", "-o") and read.values("o", "--output") == ["file", "b"]
    assert options(["-a", "b", "-c"], stop=True).operands == ("b",)
    assert options(["-"], "").operands == ("-",)


# ------------------------------------------------------------------ what comes with a repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    return tmp_path


def git(folder: Path, *args: str) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, env=environment)


needs_git = pytest.mark.skipif(not shutil.which("git"), reason="needs git")


@needs_git
def test_a_new_repository_runs_nothing(repository: Path) -> None:
    (repository / "a").mkdir()
    assert git_runs_programs(str(repository)) == git_runs_programs(str(repository / "a")) == ""


def test_a_folder_without_a_repository_runs_nothing(tmp_path: Path) -> None:
    assert git_runs_programs(str(tmp_path)) == ""


@needs_git
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("diff.external", "touch pwned"), ("diff.x.textconv", "a"), ("diff.a b.command", "a"),
        ("core.fsmonitor", "./a"),
        ("core.pager", "a"), ("pager.log", "a"), ("core.sshCommand", "a"),
        ("alias.x", "!touch pwned"),
        ("gpg.program", "a"), ("gpg.ssh.program", "a"), ("filter.x.clean", "a"),
        ("filter.x.process", "a"),
        ("include.path", "../a"), ("includeIf.gitdir:x.path", "a"), ("log.showSignature", "true"),
    ],
)  # fmt: skip
def test_a_setting_that_runs_a_program_is_named(repository: Path, key: str, value: str) -> None:
    git(repository, "config", key, value)
    section, *middle, name = key.split(".")
    assert git_runs_programs(str(repository)) == ".".join([section.lower(), *middle, name.lower()])


@needs_git
def test_settings_that_run_nothing_are_not_named(repository: Path) -> None:
    for key, value in (("core.fsmonitor", "true"), ("alias.st", "status"), ("user.name", "a # b")):
        git(repository, "config", key, value)
    assert git_runs_programs(str(repository)) == ""


@needs_git
def test_a_hook_that_reading_runs_is_named(repository: Path) -> None:
    git(repository, "config", "core.hooksPath", "hooks")
    assert git_runs_programs(str(repository)) == ""  # as every project with its own hooks has it
    (repository / "hooks").mkdir()
    (repository / "hooks" / "post-index-change").write_text("#!/bin/sh\n")
    assert git_runs_programs(str(repository)) == "hooks/post-index-change"


@needs_git
def test_the_settings_of_a_worktree_are_those_of_its_repository(repository: Path) -> None:
    git(
        repository,
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "a",
    )
    git(repository, "worktree", "add", "-q", "w")
    assert git_runs_programs(str(repository / "w")) == ""
    git(repository, "config", "diff.external", "a")
    assert git_runs_programs(str(repository / "w")) == "diff.external"


@needs_git
def test_a_bare_repository_in_a_folder_counts(repository: Path) -> None:
    git(repository, "init", "-q", "--bare", "b")
    git(repository / "b", "config", "core.fsmonitor", "./a")
    assert git_runs_programs(str(repository / "b")) == "core.fsmonitor"


def test_settings_are_found_however_they_are_written(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for text in (
        "[core]fsmonitor=./a", "[CORE]\n\tFsMonitor = \"./a\"",
        "# [x]\n[core] ; y\n fsmonitor = \\\n ./a",
        "[core]\r\nfsmonitor = ./a\r\n", "\ufeff[core]\nfsmonitor=./a",
        "[a]\n[core]\n[core]\nfsmonitor=./a",
    ):  # fmt: skip
        (tmp_path / ".git" / "config").write_text(text, "utf-8")
        assert git_runs_programs(str(tmp_path)) == "core.fsmonitor", text
    (tmp_path / ".git" / "config").write_text("[diff.x]\ntextconv=a\n")
    assert git_runs_programs(str(tmp_path)) == "diff.x.textconv"
