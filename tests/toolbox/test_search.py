"""Grep: the same lines with ripgrep and without, for any tree and any pattern."""

import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab.toolbox import file_tools, search
from agentlab.toolbox.paths import Confined
from agentlab.toolbox.search import candidates, grep_tool, loosely
from agentlab.tools import ToolError

pytestmark = pytest.mark.filterwarnings("ignore:Possible nested set")
with_ripgrep = pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")


def both(folder, **input):
    """What Grep says with ripgrep, and without."""
    said = []
    for ripgrep in ("rg", None):
        try:
            said.append(grep_tool(Confined(folder), ripgrep=ripgrep).function(**input))
        except ToolError as error:
            said.append(f"error: {error}")
    return said


@pytest.mark.parametrize("ripgrep", ["rg", None])
def test_j25_a_binary_file_gives_no_bytes(tmp_path, ripgrep):
    (tmp_path / "a.bin").write_bytes(b"\x00\x01KEY\xff")
    (tmp_path / "b.txt").write_text("KEY=1")
    grep = grep_tool(Confined(tmp_path), ripgrep=ripgrep)
    assert grep.function(pattern="KEY") == "b.txt:1: KEY=1"
    assert "binary files are left out" in grep.description


@pytest.mark.parametrize("name", ["a.bin", "large.log"])
def test_a_file_that_was_asked_for_and_cannot_be_searched_says_so(tmp_path, name):
    (tmp_path / "a.bin").write_bytes(b"\x00\x01KEY\xff")
    with open(tmp_path / "large.log", "wb") as file:
        file.write(b"KEY\n")
        file.truncate(10_000_001)
    for said in both(tmp_path, pattern="KEY", path=name):
        assert said.startswith(f"error: {name}")
    assert both(tmp_path, pattern="KEY")[0] == "No line matches 'KEY'."


@with_ripgrep
@pytest.mark.parametrize(
    ("pattern", "more"),
    [
        ("TODO", {}),
        (r"\bcaf\w+\b", {}),
        (r"^\s*def \w+\(", {}),
        (r"a.b", {}),
        (r"[^x]b$", {}),
        (r"(?i)todo", {}),
        (r"(\w)\1", {}),
        (r"x{2,3}|y", {}),
        (r"foo\(bar\)", {}),
        (r"a|", {}),
        (r"\ufeffTODO", {}),
        ("café", {}),
        (r"[[:alpha:]]", {}),
        (r"{x}", {}),
        (r"TODO{,2}", {}),
        (r"b{,2}$", {}),
        ("TODO", {"glob": "*.md"}),
        ("TODO", {"glob": "sub/*.md"}),
        ("TODO", {"path": "sub"}),
        ("TODO", {"path": "a.txt"}),
        ("TODO", {"path": "sub", "glob": "*.md"}),
        ("(", {}),
    ],
)
def test_both_ways_give_the_same(tmp_path, pattern, more):
    files = {
        "a.txt": b"TODO one\nxx\r\ndef f(x):\n  foo(bar)\n",
        "sub/b.md": "TODO café todo\n{x} aéb".encode(),
        "sub/deep/c.md": b"TODO a\xffb\ncaf\xe9 b\n",
        "d.txt": "TODO café\n".encode("utf-16"),
        "e.txt": b"\xef\xbb\xbfTODO\n",
        "f.bin": b"TODO\0",
        ".hidden/g.md": b"TODO",
        ".gitignore": b"a.txt\n",
        "-dash": b"TODO",
    }
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    fast, slow = both(tmp_path, pattern=pattern, **more)
    assert fast == slow
    assert ".hidden" not in fast and "f.bin" not in fast


LINES = st.text("aAbé_ 1.\t\r\ufffd\u0301\u2028", max_size=6)
CONTENT = st.one_of(
    st.lists(LINES, max_size=4).map(lambda lines: "\n".join(lines).encode()),
    st.lists(LINES, max_size=3).map(lambda lines: "\n".join(lines).encode("utf-16")),
    st.binary(max_size=12),
)
NAMES = st.from_regex(r"[ab]{1,2}(/[ab-]{1,2}){0,2}(\.txt|\.md)?", fullmatch=True)
PATTERNS = st.lists(
    st.sampled_from(
        ["a", "A", "é", "_", " ", "1", r"\.", ".", r"\w", r"\W", r"\d", r"\s", r"\S", r"\b", "^",
         "$", "[ab]", "[^a]", "[]a]", "(", ")", "(?:", "|", "*", "+", "?", "{2}", "{,2}", "{", "}",
         "(?i)", r"\ufffd", "\ufffd", r"\t", "\u0301", r"\-", "(?=a)", r"\Z", "-", "#", "&&"]
    ),
    min_size=1,
    max_size=6,
).map("".join)  # fmt: skip


@with_ripgrep
@given(st.dictionaries(NAMES, CONTENT, min_size=1, max_size=4), PATTERNS)
@settings(max_examples=150, deadline=None)
def test_both_ways_give_the_same_on_random_trees(tree, pattern):
    with TemporaryDirectory() as folder:
        for name, data in tree.items():
            path = Path(folder, name)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            except OSError:
                continue  # a file stands where another name wants a folder
        fast, slow = both(folder, pattern=pattern)
        assert fast == slow


@with_ripgrep
def test_ripgrep_really_leaves_files_out(tmp_path):
    (tmp_path / "a").write_text("needle")
    (tmp_path / "b").write_text("hay")
    assert candidates("rg", "needle", tmp_path) == {"a"}


@pytest.mark.parametrize(
    "pattern",
    ["(?i)a", r"(a)\1", "(?=a)", "(?P<n>a)", r"\t", "a\nb", "\ufffd", "[a", r"\x41", "a{,2}", "{"],
)
def test_what_has_no_loose_form_is_left_to_python(pattern):
    assert loosely(pattern) is None


def test_a_failing_ripgrep_changes_nothing(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("x")

    def broken(*_, **__):
        raise subprocess.TimeoutExpired("rg", 1)

    monkeypatch.setattr(search.subprocess, "run", broken)
    monkeypatch.setattr(search.shutil, "which", lambda _: "rg")
    assert grep_tool(Confined(tmp_path)).function(pattern="x") == "a.txt:1: x"


def test_very_many_lines_are_cut(tmp_path):
    (tmp_path / "a.txt").write_text("x\n" * 5_000)
    said = both(tmp_path, pattern="x")[0].split("\n")
    assert said[-1] == "[more than 1000 lines; ask for less]" and len(said) == 1_001


@pytest.mark.parametrize(
    ("before", "match", "after"),
    [(60_000, "needle", 1_000), (0, "needle", 9_000), (9_000, "needle", 0), (400, "n" * 900, 7),
     (495, "needle", 0), (300, "needle", 300)],
)  # fmt: skip
def test_of_a_long_line_the_part_around_the_match_is_given(tmp_path, before, match, after):
    line = f"\té{'x' * before}{match}{'y' * after}"
    (tmp_path / "a.txt").write_text(f"one\n{line}\n  short needle  \n", encoding="utf-8")
    said, slow = both(tmp_path, pattern="n+eedle|n{900}")
    assert said == slow
    long, *rest = said.split("\n")
    assert rest == ["a.txt:3: short needle"]
    told = re.fullmatch(r"a\.txt:2: \[from column (\d+) of (\d+)\] (.{500})", long)
    assert match[:200] in told[3] and int(told[2]) == len(line)
    read = next(t for t in file_tools(tmp_path) if t.name == "Read").function
    assert read("a.txt", offset=2, column=int(told[1])).startswith(told[3])


def test_of_a_long_line_every_match_is_found(tmp_path):
    keys = [f'"key{n}": "{"v" * 90}"' for n in range(60)]
    line = "{" + ", ".join(keys) + "}"
    (tmp_path / "a.json").write_text(f"{line}\n")
    said, slow = both(tmp_path, pattern=r'"key\d+"')
    assert said == slow
    assert all(key in said for key in keys)
    one, other = both(tmp_path, pattern=r'"key(3|55)"')[0].split("\n")
    assert keys[3] in one and keys[55] in other
    for told in (one, other):
        assert re.match(rf"a\.json:1: \[from column \d+ of {len(line)}\] ", told)


@pytest.mark.parametrize("pattern", ["$", "x*", "^x", "x{600}", r"(?<=x)x\b"])
def test_a_long_line_is_told_whatever_the_pattern_is(tmp_path, pattern):
    (tmp_path / "a.txt").write_text("x" * 9_000)
    said, slow = both(tmp_path, pattern=pattern)
    assert said == slow and said.startswith("a.txt:1: [from column ")
    (tmp_path / "a.txt").write_text("x" * 1_000_000)
    assert len(both(tmp_path, pattern="x")[0].split("\n")) == 1_001


def test_a_line_of_500_characters_is_given_whole(tmp_path):
    (tmp_path / "a.txt").write_text(f"    {'x' * 500}  \n")
    assert both(tmp_path, pattern="x$|x ")[0] == f"a.txt:1: {'x' * 500}"
