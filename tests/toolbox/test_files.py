"""Reading: ranges, bounds, what cannot be read, and never outside of the workspace."""

import asyncio
import os
import re
import subprocess
import sys

import pytest

from agentlab.toolbox import file_tools, toolbox
from agentlab.toolbox.files import READ_CHARS
from agentlab.toolbox.texts import Text


@pytest.fixture
def folder(hands):
    (hands.folder / "a.txt").write_text("one TODO two\nthree\n")
    (hands.folder / "sub").mkdir()
    (hands.folder / "sub" / "b.md").write_text("# TODO list\n")
    (hands.folder / "bin").write_bytes(b"\0\1\2")
    (hands.folder / ".hidden").write_text("TODO")
    return hands.folder


def test_the_file_tools_read(hands, folder):
    assert hands.ok("LS") == "a.txt\nbin\nsub/"
    assert hands.ok("Read", file_path="a.txt") == "one TODO two\nthree\n"
    assert hands.ok("Grep", pattern="TODO") == "a.txt:1: one TODO two\nsub/b.md:1: # TODO list"
    assert hands.ok("Grep", pattern="nothing") == "No line matches 'nothing'."


@pytest.mark.parametrize(
    ("name", "input", "says"),
    [
        ("Read", {"file_path": "a.tx"}, "Near names: a.txt"),
        ("Read", {"file_path": "b.md"}, "Near names: sub/b.md"),
        ("Read", {"file_path": "sub\\b.md"}, "slashes"),
        ("Read", {"file_path": "sub"}, "is a folder. Use LS"),
        ("Read", {"file_path": "bin"}, "binary file of 3 bytes"),
        ("Read", {"file_path": "a.txt", "offset": 0}, "1 or more"),
        ("Read", {"file_path": "a.txt", "offset": 3}, "no line 3: the file has 2 lines"),
        ("Read", {"file_path": "a.txt", "column": 0}, "1 or more"),
        ("Read", {"file_path": "a.txt", "offset": 2, "column": 6}, "the line has 5 characters"),
        ("Read", {"file_path": "x" * 300}, "name too long"),
        ("LS", {"path": "a.txt"}, "is a file. Use Read"),
        ("LS", {"path": "nowhere"}, "does not exist"),
        ("Glob", {"pattern": "*", "path": "a.txt"}, "is a file"),
        ("Glob", {"pattern": "[z-a]"}, "Not a pattern"),
        ("Grep", {"pattern": "("}, "Not a regular expression"),
    ],
)
def test_what_cannot_be_read_says_what_to_do(hands, folder, name, input, says):
    assert says in hands.error(name, **input)


def test_a_workspace_that_is_not_there_is_an_error(tmp_path):
    for make in (file_tools, toolbox):
        with pytest.raises(NotADirectoryError, match="nowhere"):
            make(tmp_path / "nowhere")


def test_each_tool_says_what_it_does_to_the_world(hands):
    told = {t.name: (t.is_read_only, t.permission, t.path_argument) for t in hands.tools.values()}
    assert told == {
        "Read": (True, "read", "file_path"),
        "Write": (False, "write", "file_path"),
        "Edit": (False, "write", "file_path"),
        "LS": (True, "read", "path"),
        "Glob": (True, "read", "path"),
        "Grep": (True, "read", "path"),
        "Bash": (False, "execute", ""),
        "Checkpoint": (False, "write", ""),
        "Rollback": (False, "write", ""),
        "Calculator": (True, "none", ""),
        "Clock": (True, "none", ""),
        "TaskComplete": (False, "none", ""),
    }
    assert all(t.root == hands.folder for t in hands.tools.values() if t.path_argument)
    names = {t.name for t in toolbox(hands.folder, shell=False, network=True)}
    assert "Bash" not in names and "WebFetch" in names


def test_ranges_say_where_the_next_part_begins(hands):
    (hands.folder / "n.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    first = hands.ok("Read", file_path="n.txt", limit=3)
    assert first.startswith("line 1\nline 2\nline 3\n[") and "offset=4" in first
    assert hands.ok("Read", file_path="n.txt", offset=9) == "line 9\nline 10\n"
    assert hands.ok("Read", file_path="n.txt", offset=10, limit=1) == "line 10\n"


@pytest.mark.parametrize("line", ["x" * 99 + "\n", "é" * 50 + "\n", "x" * 3 * READ_CHARS + "\n"])
def test_a_long_file_is_read_whole_in_parts_that_are_never_too_long(hands, line):
    whole = line * (5 if len(line) > READ_CHARS else 1000)
    (hands.folder / "long.txt").write_text(whole, "utf-8", newline="")
    assert "".join(in_parts(hands)) == whole


@pytest.mark.parametrize(
    "data",
    [
        b"x" * READ_CHARS + b"\n" + b"y" * READ_CHARS,  # a line that just fits
        b"x" * READ_CHARS + b"\r\nend\r\n",
        b"x" * (READ_CHARS - 1) + b"\r\nend\r\n",
        ("\U0001f327" * READ_CHARS + "end").encode(),  # four bytes each: the window ends there
        ("a" + "\U0001f327" * READ_CHARS + "end").encode(),
        ("\U0001f327" * READ_CHARS + "\nend").encode(),
        ("\U0001f327" * READ_CHARS + "\r\nend\r\n").encode(),
        b"ok \xff\xfe" * READ_CHARS,  # what is not UTF-8 counts, byte by byte
        b"short\n" + b"\xe9" * 3 * READ_CHARS + b"\nend",
        ("\u00e9" * 2 * READ_CHARS + "\r\nend").encode("utf-16"),
    ],
    ids=lambda data: f"{data[:6]!r} {len(data)}",
)
def test_a_line_that_is_too_long_is_read_to_its_end(hands, data):
    (hands.folder / "long.txt").write_bytes(data)
    text = Text.of(data)
    assert "".join(in_parts(hands)) == text.shown(text.plain())


def in_parts(hands):
    """The parts of long.txt, without their notes, one Read after the other."""
    where, parts = {}, []
    while where is not None:
        shown = hands.ok("Read", file_path="long.txt", **where)
        assert len(shown) < READ_CHARS + 200 and len(parts) < 100
        text, _, note = shown.rpartition("[")
        found = dict(re.findall(r"(offset|column)=(\d+)", note))
        if not note.endswith("]"):
            text = shown
        elif "column" in found or not found:
            text = text.removesuffix("\n")  # it is the note's: what was read ends within a line
        where = {name: int(number) for name, number in found.items()} or None
        parts.append(text)
    return parts


def test_c38_what_one_turn_reads_is_bounded_by_what_one_read_gives(hands):
    """The choice made: Read has a limit of its own, far below the one of any result, so a batch
    of n reads holds at most n times that; a tenth of the 200,000 characters that ten may fill."""
    for n in range(8):
        (hands.folder / f"{n}.txt").write_text("a line of text\n" * 2000)
    calls = [("Read", {"file_path": f"{n}.txt"}) for n in range(8)]
    outcomes = asyncio.run(hands.together(*calls))
    assert all(not o.is_error for o in outcomes)
    total = sum(len(o.block["content"]) for o in outcomes)
    assert 8 * 15_000 < total < 8 * (READ_CHARS + 200) <= 200_000 * 0.9


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "(the file is empty)"),
        (b"\xef\xbb\xbf", "(the file is empty)"),
        (b"no end", "no end"),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"a\r\nb\n", "a\r\nb\n"),
        (b"\xef\xbb\xbfa\n", "a\n[encoded as utf-8, with a byte order mark]"),
        ("perché\n".encode("utf-16"), "perché\n[encoded as utf-16-le, with a byte order mark]"),
        (b"caf\xe9\n", "caf\ufffd\n[what is not UTF-8 is shown as \ufffd]"),
        ("really \ufffd\n".encode(), "really \ufffd\n"),
    ],
)
def test_encodings_are_read_and_told(hands, data, text):
    (hands.folder / "f").write_bytes(data)
    assert hands.ok("Read", file_path="f") == text


def test_any_whole_number_is_a_limit(hands):
    (hands.folder / "f").write_text("a\nb\n")
    assert hands.ok("Read", file_path="f", limit=10**30) == "a\nb\n"


def test_a_file_that_grows_while_it_is_read_is_not_read_for_ever(hands, monkeypatch):
    (hands.folder / "log").write_text("a line\n")
    monkeypatch.setattr(os, "read", lambda _, size: b"x" * size)
    assert "at most 10000000" in hands.error("Read", file_path="log")


def test_a_file_that_is_too_large_is_not_read(hands):
    with open(hands.folder / "big", "wb") as file:
        file.truncate(10_000_001)
    assert "10000001 bytes" in hands.error("Read", file_path="big")


@pytest.mark.skipif(os.name == "nt", reason="named pipes are POSIX")
def test_a_pipe_is_not_waited_for(hands):
    os.mkfifo(hands.folder / "pipe")
    assert "not an ordinary file" in hands.error("Read", file_path="pipe")
    assert "not an ordinary file" in hands.error("Write", file_path="pipe", content="x")
    assert hands.ok("Grep", pattern="x") == "No line matches 'x'."


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*", "one.py"),
        ("*.py", "one.py"),
        ("./*.py", "one.py"),
        ("**/*.py", "one.py\na/b/three.py\na/two.py"),
        ("a/**", "a/b/three.py\na/two.py"),
        ("a/*", "a/two.py"),
        ("?/t[wx]o.*", "a/two.py"),
        ("**/{one,three}.py", "one.py\na/b/three.py"),
        ("**/[!o]*.py", "a/b/three.py\na/two.py"),
        ("", "No file matches ''."),
    ],
)
def test_glob(hands, pattern, found):
    for name in ("one.py", "a/two.py", "a/b/three.py", ".git/x.py"):
        (hands.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (hands.folder / name).write_text("")
    listed = hands.ok("Glob", pattern=pattern)
    assert sorted(listed.split("\n")) == sorted(found.split("\n"))


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "notes/../*.py"])
def test_a_glob_that_leads_elsewhere_is_not_told_to_have_no_match(hands, pattern):
    assert "relative to path" in hands.error("Glob", pattern=pattern)
    assert "relative to path" in hands.error("Grep", pattern="x", glob=pattern)


def test_glob_in_a_folder_says_whole_paths(hands):
    (hands.folder / "a").mkdir()
    (hands.folder / "a" / "x.md").write_text("")
    assert hands.ok("Glob", pattern="*.md", path="a") == "a/x.md"


def test_very_many_names_are_cut_and_counted(hands):
    for n in range(1_005):
        (hands.folder / f"{n:04}").touch()
    assert hands.ok("LS").endswith("0999\n[5 more; ask for a part]")


def test_importing_the_toolbox_loads_no_library_for_pages():
    code = (
        "import sys; from agentlab.toolbox import toolbox; toolbox('.', network=True); "
        "sys.exit('bs4' in sys.modules or 'httpx2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
