"""Writing and editing: literal, all or nothing, and every other byte stays as it is."""

import asyncio
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab.toolbox.edit import replaced
from agentlab.tools import ToolError


@pytest.fixture
def file(hands):
    """``file(data)``: a file with these bytes that has been read."""

    def make(data):
        path = hands.folder / "f.txt"
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        hands.ok("Read", file_path="f.txt")
        return path

    return make


def edit(hands, old, new, how="ok", **more):
    return getattr(hands, how)("Edit", file_path="f.txt", old_string=old, new_string=new, **more)


def test_j13_an_ambiguous_edit_says_how_often_and_where_and_changes_nothing(hands, file):
    path = file("a=1\nb=2\na=1\n")
    said = edit(hands, "a=1", "a=9", "error")
    assert "2 times" in said and "lines 1, 3" in said
    assert path.read_text() == "a=1\nb=2\na=1\n"
    assert "2 places, lines 1, 3" in edit(hands, "a=1", "a=9", replace_all=True)
    assert path.read_text() == "a=9\nb=2\na=9\n"


def test_j15_the_new_text_is_taken_literally(hands, file):
    path, new = file("price"), "$& \\1 \\g<0> $1"
    edit(hands, "price", new)
    assert path.read_text() == new


def test_j16_equal_texts_are_no_change_and_not_a_text_that_is_missing(hands, file):
    file("x")
    said = edit(hands, "x", "x", "error")
    assert "no change" in said and "not in the file" not in said


def test_j18_two_edits_of_one_file_in_one_turn_both_hold(hands, file):
    path = file("l1\nl2\n")
    edits = [
        ("Edit", {"file_path": "f.txt", "old_string": f"l{n}", "new_string": f"L{n}"})
        for n in (1, 2)
    ]
    outcomes = asyncio.run(hands.together(*edits))
    assert [o.is_error for o in outcomes] == [False, False]
    assert path.read_text() == "L1\nL2\n"


def test_a_file_must_have_been_read_and_be_unchanged_since(hands, file):
    (hands.folder / "g.txt").write_text("x")
    said = hands.error("Edit", file_path="g.txt", old_string="x", new_string="y")
    assert said == "Read g.txt first, then edit it."
    path = file("one")
    stamp = path.stat()
    path.write_text("two")  # as long, and made to look as old
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert "changed since" in edit(hands, "two", "three", "error")
    hands.ok("Read", file_path="f.txt")
    edit(hands, "two", "three")
    edit(hands, "three", "four")  # its own edit counts as read
    assert path.read_text() == "four"


def test_what_was_written_counts_as_read(hands):
    hands.ok("Write", file_path="new/deep/f.txt", content="one")
    hands.ok("Edit", file_path="new/deep/f.txt", old_string="one", new_string="two")
    assert (hands.folder / "new/deep/f.txt").read_text() == "two"


@pytest.mark.parametrize(
    ("old", "says"),
    [("", "Use Write"), ("y", "not in the file"), ("a  b", "other blanks"), ("e\u0301", "accents")],
)
def test_what_cannot_be_edited_says_why(hands, file, old, says):
    path = file("a b\nx\u00e9")
    assert says in edit(hands, old, "z", "error")
    assert path.read_text("utf-8") == "a b\nx\u00e9"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc", "b", "x\ny", b"a\r\nx\r\ny\r\nc"),
        (b"a\r\nb\r\nc\r\n", "a\nb\n", "z\n", b"z\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\n", "a\n", b"a\nb\r\n"),
        (b"a\r\nb\r\n", "a\nb", "x\r\ny", b"x\r\ny\r\n"),  # found as Read shows it
        (b"a\r\nb\n", "b\n", "x\ny\n", b"a\r\nx\ny\n"),
        (b"\xef\xbb\xbfa\nb", "a", "z", b"\xef\xbb\xbfz\nb"),
        (b"caf\xe9 old", "old", "n\u00e9w", b"caf\xe9 n\xc3\xa9w"),
        ("a\r\nà\r\n".encode("utf-16"), "à\n", "b\nc\n", "a\r\nb\r\nc\r\n".encode("utf-16")),
        ("\u0a0d\u0d0a\u000a".encode("utf-16"), "\u0d0a", "x", "\u0a0dx\n".encode("utf-16")),
        (b"aaaa", "aa", "b", b"bb"),
    ],
)
def test_line_ends_marks_and_other_bytes_stay(hands, file, before, old, new, after):
    path = file(before)
    edit(hands, old, new, replace_all=True)
    assert path.read_bytes() == after


@pytest.mark.parametrize(
    ("before", "old", "lines"),
    [("}\n}\n}\n", "}\n}\n", "1, 2"), ("aXaXa", "aXa", "1"), ("x" * 90, "x", "1")],
)
def test_places_that_overlap_are_ambiguous_too(hands, file, before, old, lines):
    path = file(before)
    assert f"(lines {lines})" in edit(hands, old, "new", "error")
    assert path.read_text() == before


def test_a_line_end_that_is_there_already_is_no_change(hands, file):
    file(b"a\r\nb\r\n")
    assert "no change" in edit(hands, "a\n", "a\r\n", "error")


def test_what_read_could_not_show_is_neither_named_nor_lost(hands, file):
    path = file(b"caf\xe9 = 1\n")
    assert "around it" in edit(hands, "caf\ufffd = 1", "x", "error")
    said = hands.error("Write", file_path="f.txt", content="caf\ufffd = 2\n")
    assert "not UTF-8" in said and "Edit" in said
    assert path.read_bytes() == b"caf\xe9 = 1\n"
    edit(hands, " = 1", " = 2")
    hands.ok("Write", file_path="f.txt", content="cafe = 2\n")
    assert path.read_text() == "cafe = 2\n"
    hands.ok("Write", file_path="f.txt", content="really \ufffd\n")


def test_a_file_that_may_not_be_written_is_not_replaced(hands, file, monkeypatch):
    path = file("old")  # its folder would allow it
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # as for anybody but root
    assert "write-protected" in edit(hands, "old", "new", "error")
    assert "write-protected" in hands.error("Write", file_path="f.txt", content="new")
    assert path.read_text() == "old"
    path.chmod(0o644)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_stays(hands, file):
    path = file("one")
    os.chown(path, 1234, 2345)
    edit(hands, "one", "two")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


@pytest.mark.skipif(os.name == "nt", reason="owners are POSIX")
def test_the_group_stays_also_where_the_owner_cannot(hands, file, monkeypatch):
    path, given = file("one"), []

    def like_anybody(_, owner, group):
        if owner != -1:
            raise PermissionError
        given.append(group)

    monkeypatch.setattr(os, "fchown", like_anybody)
    edit(hands, "one", "two")
    assert given == [path.stat().st_gid] and path.read_text() == "two"


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_the_mode_stays_and_nothing_is_left_beside(hands, file):
    path = file("#!/bin/sh\n")
    path.chmod(0o751)
    edit(hands, "sh", "bash")
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    hands.ok("Write", file_path="f.txt", content="again")
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert [p.name for p in hands.folder.iterdir()] == ["f.txt"]


def test_a_write_that_fails_leaves_the_old_file_whole(hands, file, monkeypatch):
    path = file("old")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert "No space left" in hands.error("Write", file_path="f.txt", content="new")
    assert "No space left" in edit(hands, "old", "new", "error")
    assert path.read_text() == "old" and [p.name for p in hands.folder.iterdir()] == ["f.txt"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_link_inside_stays_a_link_and_a_hard_link_is_cut(hands, tmp_path):
    (hands.folder / "real.txt").write_text("one")
    (hands.folder / "link").symlink_to("real.txt")
    os.link(hands.folder / "real.txt", tmp_path / "outside")
    hands.ok("Read", file_path="link")
    hands.ok("Edit", file_path="link", old_string="one", new_string="two")
    assert (hands.folder / "link").is_symlink()
    assert (hands.folder / "real.txt").read_text() == "two"
    assert (tmp_path / "outside").read_text() == "one"


@given(
    st.binary(max_size=60).filter(lambda data: b"\0" not in data),
    st.text("ab\n\r", min_size=1, max_size=3),
    st.text("abc\n", max_size=3),
    st.binary(max_size=30).filter(lambda data: b"\0" not in data),
)
def test_an_edit_leaves_every_other_byte(before, old, new, after):
    data = before + old.encode() + after
    try:
        changed, lines = replaced(data, old, new, False)
    except ToolError:
        return
    [line] = lines
    crlf = b"\r" in data and data.count(b"\r\n") == data.count(b"\n") == data.count(b"\r")
    if crlf and "\r" not in old + new:
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    assert data.count(old.encode()) >= 1
    place = data.find(old.encode(), 3 if data.startswith(b"\xef\xbb\xbf") else 0)
    assert changed == data[:place] + new.encode() + data[place + len(old.encode()) :]
    assert line == data[:place].count(b"\n") + 1
