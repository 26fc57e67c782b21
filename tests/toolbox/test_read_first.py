"""No file is changed that was not read as it is now, and none is sent twice."""

import os

import pytest

from agentlab.file_cache import FileCache
from agentlab.toolbox import toolbox
from agentlab.toolbox.files import READ_CHARS
from agentlab.tools import ToolError

links = pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")


@pytest.fixture
def file(hands):
    """``file(text)``: a.py with this text, not read yet."""

    def make(text, name="a.py"):
        path = hands.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return make


def edit(hands, old, new, how="ok", path="a.py"):
    return getattr(hands, how)("Edit", file_path=path, old_string=old, new_string=new)


def write(hands, content, how="ok", path="a.py"):
    return getattr(hands, how)("Write", file_path=path, content=content)


def read(hands, path="a.py", **more):
    return hands.ok("Read", file_path=path, **more)


# ------------------------------------------------------------------------------ the cases


@pytest.mark.parametrize("change", [lambda h: edit(h, "v2", "v3", "error"),
                                    lambda h: write(h, "v3", "error")])  # fmt: skip
def test_i01_a_file_that_somebody_else_changed_is_not_touched(hands, file, change):
    path = file("v1")
    read(hands)
    path.write_text("v2")
    said = change(hands)
    assert "a.py has changed" in said and "Read it again" in said
    assert not any(word in said.lower() for word in ("user", "linter", "someone", "you changed"))
    assert path.read_text() == "v2"
    assert read(hands) == "v2"
    edit(hands, "v2", "v3")


def test_i03_a_newer_time_alone_is_no_change(hands, file):
    path = file("one")
    read(hands)
    os.utime(path, (2e9, 2e9))
    assert "unchanged" in read(hands)
    edit(hands, "one", "two")
    assert path.read_text() == "two"


def test_i03_an_older_time_and_the_same_size_are_no_proof_that_nothing_changed(hands, file):
    path = file("one")
    read(hands)
    stamp = path.stat()
    path.write_text("two")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert read(hands) == "two"


def test_i03_a_file_that_was_written_anew_with_the_same_bytes_is_the_same(hands, file):
    path = file("one")
    read(hands)
    path.unlink()
    file("one")
    edit(hands, "one", "two")
    assert path.read_text() == "two"


def test_i05_own_edits_and_writes_are_no_change_from_outside(hands, file):
    path = file("1\n2\n")
    read(hands)
    edit(hands, "1", "one")
    edit(hands, "2", "two")
    write(hands, "all new\n")
    edit(hands, "new", "old")
    write(hands, "again\n")
    assert path.read_text() == "again\n"


def test_i07_what_was_read_in_part_is_not_overwritten(hands, file):
    whole = "".join(f"line {n}\n" for n in range(1, 501))
    path = file(whole)
    read(hands, limit=20)
    said = write(hands, "short", "error")
    assert "Not all of a.py has been read" in said and "Edit" in said
    assert path.read_text() == whole
    edit(hands, "line 499\n", "line four hundred and ninety-nine\n")  # one place is named
    read(hands, limit=250)
    assert "Not all" in write(hands, "short", "error")
    read(hands, offset=251)
    write(hands, "short")
    assert path.read_text() == "short"


def test_i07_a_file_too_long_for_one_read_is_read_whole_in_parts(hands, file):
    path = file(("x" * 99 + "\n") * 300 + "y" * 2 * READ_CHARS)
    where = {}
    while "goes on" in (said := read(hands, **where)):
        assert "Not all" in write(hands, "short", "error")
        where = dict(p.split("=") for p in said[said.rindex(": ") + 2 : -1].split(", "))
        where = {name: int(number) for name, number in where.items()}
    write(hands, "short")
    assert path.read_text() == "short"


def test_i08_a_file_that_was_never_read_is_not_changed(hands, file):
    path = file("text")
    assert edit(hands, "text", "new", "error") == "Read a.py first, then edit it."
    assert "Read it first" in write(hands, "new", "error")
    assert path.read_text() == "text"
    read(hands)
    write(hands, "new")
    assert path.read_text() == "new"


def test_i08_a_new_file_needs_no_read_and_an_empty_one_neither(hands, file):
    write(hands, "new", path="sub/new.py")
    file("", "empty.py")
    write(hands, "something", path="empty.py")
    assert (hands.folder / "empty.py").read_text() == "something"


def test_i08_a_binary_file_is_not_overwritten_either(hands, file):
    path = file(b"\0\1\2")
    assert "binary" in hands.error("Read", file_path="a.py")
    write(hands, "text", "error")
    assert path.read_bytes() == b"\0\1\2"


@pytest.mark.parametrize(
    ("tool", "input"),
    [
        ("Grep", {"pattern": "text", "path": "a.py"}),
        ("Glob", {"pattern": "*.py"}),
        ("LS", {}),
        pytest.param(
            "Bash", {"command": "cat a.py"}, marks=pytest.mark.skipif(os.name == "nt", reason="cat")
        ),
    ],
)
def test_i09_to_find_or_print_a_file_is_not_to_read_it(hands, file, tool, input):
    path = file("text")
    assert "text" in hands.ok(tool, **input) or "a.py" in hands.ok(tool, **input)
    assert "Read it first" in write(hands, "new", "error")
    edit(hands, "text", "new", "error")
    assert path.read_text() == "text"


def test_i11_a_crlf_file_is_edited_with_plain_line_ends(hands, file):
    path = file(b"x = 1\r\ny = 2\r\n")
    assert read(hands) == "x = 1\ny = 2\n"
    edit(hands, "x = 1\ny = 2", "x = 1\ny = 3")
    assert path.read_bytes() == b"x = 1\r\ny = 3\r\n"
    edit(hands, "y = 3\n", "y = 3\nz = 4\n")
    assert path.read_bytes() == b"x = 1\r\ny = 3\r\nz = 4\r\n"


def test_i13_mixed_line_ends_stay_where_they_are(hands, file):
    path = file(b"a\r\nb\nc\r\n")
    read(hands)
    edit(hands, "b", "B")
    assert path.read_bytes() == b"a\r\nB\nc\r\n"


@links
def test_i15_two_spellings_and_a_link_are_one_file(hands, file, tmp_path):
    path = file("v1", "real.py")
    (hands.folder / "sub").mkdir()
    (hands.folder / "link.py").symlink_to("real.py")
    read(hands, "link.py")
    assert "unchanged" in read(hands, "./sub/../real.py")
    assert "unchanged" in read(hands, str(path))
    path.write_text("v2")
    assert "has changed" in edit(hands, "v2", "v3", "error", "./sub/../real.py")
    read(hands, "link.py")
    edit(hands, "v2", "v3", path="./sub/../real.py")
    assert path.read_text() == "v3" and (hands.folder / "link.py").is_symlink()


@links
def test_i15_a_link_that_leads_elsewhere_now_is_another_file(hands, file):
    file("one", "one.py")
    file("two", "two.py")
    link = hands.folder / "link.py"
    link.symlink_to("one.py")
    read(hands, "link.py")
    link.unlink()
    link.symlink_to("two.py")
    assert edit(hands, "two", "2", "error", "link.py") == "Read link.py first, then edit it."
    assert read(hands, "link.py") == "two"


def test_i17_a_file_that_was_deleted_is_gone(tmp_path):
    cache = FileCache()
    tools = {tool.name: tool.function for tool in toolbox(tmp_path, cache=cache)}
    path = tmp_path.resolve() / "a.py"
    for name, more in (("Edit", {"old_string": "x", "new_string": "y"}), ("Read", {})):
        path.write_text("x")
        tools["Read"](file_path="a.py", again=True)
        assert path in cache
        path.unlink()
        with pytest.raises(ToolError, match=r"a.py does not exist"):
            tools[name](file_path="a.py", **more)
        assert path not in cache
    tools["Write"](file_path="a.py", content="new")  # it is a new file now


# ------------------------------------------------------------------------------ not sent twice


def test_a_second_read_of_what_has_not_changed_is_a_short_note(hands, file):
    file("line of text\n" * 1000)
    first = read(hands)
    note = read(hands)
    assert len(first) > 12_000 and len(note) < 200
    assert "unchanged" in note and "a.py" in note and "again=true" in note
    assert read(hands, again=True) == first
    assert read(hands) == note


def test_another_part_is_another_text(hands, file):
    file("1\n2\n3\n")
    assert read(hands, limit=1).startswith("1\n[")
    assert read(hands) == "1\n2\n3\n"
    assert read(hands, offset=2) == "2\n3\n"
    assert "unchanged" in read(hands, offset=2)
    assert "unchanged" in read(hands, limit=1)


@pytest.mark.parametrize("how", ["Edit", "Write", "hook", "shell", "Rollback"])
def test_after_any_change_the_text_is_sent(hands, file, how):
    path = file("one")
    if how == "Rollback":
        hands.ok("Checkpoint")
        path.write_text("changed meanwhile")
    before = read(hands)
    match how:
        case "Edit":
            edit(hands, "one", "two")
        case "Write":
            write(hands, "two")
        case "hook":  # a formatter, say: it runs after an edit, and tells nobody
            edit(hands, "one", "tow")
            path.write_text("two")
        case "shell":
            hands.ok("Bash", command="echo two > a.py")
        case "Rollback":
            hands.ok("Rollback")
    after = read(hands)
    assert after == path.read_text() != before
    assert "unchanged" in read(hands)


def test_a_hook_that_changes_a_file_after_an_edit_makes_it_one_to_read_again(hands, file):
    path = file("one")
    read(hands)
    edit(hands, "one", "two")
    path.write_text("two\n")
    assert "Read it again" in edit(hands, "two", "three", "error")


def test_a_file_read_in_vain_is_not_known(hands, file):
    file("1\n2\n")
    hands.error("Read", file_path="a.py", offset=9)
    assert "Read a.py first" in edit(hands, "1", "one", "error")


def test_the_tools_share_the_cache_that_they_are_given(tmp_path):
    cache = FileCache()
    tools = {tool.name: tool for tool in toolbox(tmp_path, cache=cache)}
    assert {name for name, tool in tools.items() if tool.cache is cache} == {
        "Read", "Write", "Edit",
    }  # fmt: skip
    (tmp_path / "a.py").write_text("text")
    tools["Read"].function(file_path="a.py")
    assert tmp_path.resolve() / "a.py" in cache
    cache.forget_contents()
    assert tools["Read"].function(file_path="a.py") == "text"


def test_a_child_has_what_its_parent_had_read_and_nothing_of_what_it_reads_later(tmp_path):
    parent = FileCache()
    mine = {tool.name: tool.function for tool in toolbox(tmp_path, cache=parent)}
    (tmp_path / "a.py").write_text("a")
    (tmp_path / "b.py").write_text("b")
    mine["Read"](file_path="a.py")
    childs = {tool.name: tool.function for tool in toolbox(tmp_path, cache=parent.clone())}
    mine["Read"](file_path="b.py")
    assert "unchanged" in childs["Read"](file_path="a.py")
    assert childs["Read"](file_path="b.py") == "b"
    childs["Edit"](file_path="a.py", old_string="a", new_string="A")
    with pytest.raises(ToolError, match="has changed"):  # the parent looks before it writes
        mine["Edit"](file_path="a.py", old_string="A", new_string="AA")


@pytest.mark.parametrize(
    "asked", [{"limit": 2000}, {"offset": 1}, {"limit": 2}, {"offset": 1, "column": 1}]
)
def test_the_same_text_asked_for_in_another_way_is_not_sent_twice(hands, asked):
    (hands.folder / "a.txt").write_text("one\ntwo\n")
    assert hands.ok("Read", file_path="a.txt") == "one\ntwo\n"
    assert "is unchanged" in hands.ok("Read", file_path="a.txt", **asked)
    assert hands.ok("Read", file_path="a.txt", limit=1).startswith("one\n[")  # another text
    assert hands.ok("Read", file_path="a.txt", **asked, again=True) == "one\ntwo\n"


@pytest.mark.parametrize("size", [10, 100_000])
async def test_equal_reads_of_one_turn_give_the_same_in_every_run(hands, size):
    """They run at the same time: which one was first is chance, and must not be seen."""
    (hands.folder / "a.txt").write_text("line\n" * (size // 5))
    asked = [{}, {}, {"limit": 50_000}, {"again": True}]
    calls = [("Read", {"file_path": "a.txt", **more}) for more in asked]
    for turn in range(20):
        hands.tools["Read"].cache.forget()
        first = [o.block["content"] for o in await hands.together(*calls)]
        assert first[0].startswith("line") and len(set(first)) == 1, turn
        then = [o.block["content"] for o in await hands.together(*calls)]
        assert ["is unchanged" in text for text in then] == [True, True, True, False]
