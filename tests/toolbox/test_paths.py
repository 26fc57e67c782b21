"""Nothing outside of the workspace is read or written, whatever the path and however it changes."""

import importlib.util
import os
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentlab.messages import tool_use
from agentlab.toolbox.paths import Confined
from agentlab.tools import Outcome, ToolError, prepare

posix = pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
TOOLS = (
    ("Read", "file_path", {}),
    ("Write", "file_path", {"content": "broken in"}),
    ("Edit", "file_path", {"old_string": "secret", "new_string": "broken in"}),
    ("LS", "path", {}),
    ("Glob", "path", {"pattern": "**"}),
    ("Grep", "path", {"pattern": "secre[t]"}),
)


@pytest.fixture
def outside(tmp_path, hands):
    """A folder beside the workspace, of which nothing may be seen, and links that lead there."""
    for folder in (tmp_path / "app-secrets", tmp_path / "elsewhere"):
        folder.mkdir()
        (folder / "key").write_text("secret")
    (hands.folder / "sub").mkdir()
    (hands.folder / "sub" / "a.txt").write_text("plain")
    if os.name != "nt":
        (hands.folder / "link").symlink_to("../elsewhere/key")
        (hands.folder / "linkdir").symlink_to(tmp_path / "elsewhere")
        (hands.folder / "sub" / "up").symlink_to("../..")
        (hands.folder / "loop").symlink_to("loop")
        (hands.folder / "new").symlink_to(tmp_path / "elsewhere" / "made")
    yield tmp_path
    assert sorted(p.name for p in tmp_path.iterdir()) == ["app", "app-secrets", "elsewhere"]
    for folder in ("app-secrets", "elsewhere"):
        assert [p.name for p in (tmp_path / folder).iterdir()] == ["key"]
        assert (tmp_path / folder / "key").read_text() == "secret"


@pytest.mark.parametrize(("tool", "argument", "more"), TOOLS)
@pytest.mark.parametrize(
    "path",
    [
        "..", "../x", "/etc/passwd", "/", "sub/../../x", "link", "linkdir/key", "linkdir",
        "sub/up", "sub/up/elsewhere/key", "new", "loop", "~", "~/x", "~root/x",
        "../app-secrets/key", "/dev/stdin", "/proc/self/environ", "a\0b", "sub/../..",
        "./.././elsewhere/key",
    ],
)  # fmt: skip
def test_no_file_tool_leaves_the_workspace(hands, outside, tool, argument, more, path):
    said = hands.error(tool, **{argument: path}, **more)
    assert "secret" not in said.replace("app-secrets", "")


def test_j22_a_write_with_dots_makes_no_file_outside(hands, tmp_path):
    """Refused before any permission is asked for: nothing has been run when it is prepared."""
    call = tool_use("t", "Write", {"file_path": "../outside.txt", "content": "x"})
    refused = prepare(call, hands.tools)
    assert isinstance(refused, Outcome) and "outside the workspace" in refused.block["content"]
    assert not (tmp_path / "outside.txt").exists()


def test_j24_a_sibling_with_the_same_beginning_is_outside(hands, outside):
    assert "outside the workspace" in hands.error(
        "Read", file_path=str(outside / "app-secrets" / "key")
    )


def test_a_search_does_not_follow_links(hands, outside):
    assert hands.ok("Grep", pattern="secret") == "No line matches 'secret'."
    assert "key" not in hands.ok("Glob", pattern="**")
    if os.name != "nt":
        assert hands.ok("LS") == "link@\nlinkdir@\nloop@\nnew@\nsub/"


def test_absolute_paths_and_links_that_stay_inside_are_fine(hands):
    (hands.folder / "sub").mkdir()
    (hands.folder / "sub" / "a.txt").write_text("plain")
    assert hands.ok("Read", file_path=str(hands.folder / "sub" / "a.txt")) == "plain"
    assert hands.ok("Read", file_path="sub/../sub/./a.txt", again=True) == "plain"
    if os.name != "nt":
        (hands.folder / "to").symlink_to("sub")
        assert hands.ok("Read", file_path="to/a.txt", again=True) == "plain"


@pytest.mark.parametrize(
    "name",
    ["CON", "con", "nul.txt", "AUX.tar.gz", "COM1", "lpt9.x", "CONIN$", "COM¹", "nul .txt",
     "a.", "a ", "sub/prn/x", "...", "a\\b", "..\\x"],
)  # fmt: skip
def test_names_that_mean_something_else_on_windows_are_not_made(hands, name):
    hands.error("Write", file_path=name, content="x")
    assert list(hands.folder.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="no folder of that name on Windows")
def test_what_the_folders_above_the_workspace_are_called_does_not_matter(tmp_path):
    folder = tmp_path / "aux" / "project."
    folder.mkdir(parents=True)
    confined = Confined(folder)
    assert confined.judge(str(folder / "new.txt")) == confined.root / "new.txt"
    with pytest.raises(ToolError, match="not a name"):
        confined.judge(str(folder / "aux" / "new.txt"))


@pytest.mark.parametrize("name", ["console.txt", "com10", "null", "auxiliary", "a.b", ".x", "..a"])
def test_names_that_only_look_like_those_are_made(hands, name):
    hands.ok("Write", file_path=name, content="x")
    assert (hands.folder / name).read_text() == "x"


@posix
def test_a_file_of_such_a_name_that_is_there_is_read(hands):
    (hands.folder / "aux.c").write_text("int x;")
    assert hands.ok("Read", file_path="aux.c") == "int x;"


@pytest.mark.parametrize("path", [".git/config", ".GIT/hooks/pre-commit", "sub/.git/x"])
def test_gits_own_files_are_not_written(hands, path):
    assert "git's own" in hands.error("Write", file_path=path, content="x")


def test_where_case_does_not_matter_one_file_has_one_path(hands):
    """As on macOS and Windows, on any system: every spelling is the one that stands on disk."""
    (hands.folder / "Notes").mkdir()
    (hands.folder / "Notes" / "A.txt").write_text("one")
    confined = Confined(hands.folder)
    confined.ignores_case = True
    assert confined.judge("nOTES/a.TXT") == hands.folder / "Notes" / "A.txt"
    assert confined.judge("notes/new.txt") == hands.folder / "Notes" / "new.txt"
    with pytest.raises(ToolError, match="git's own"):
        confined.judge(".Git/x", write=True)


@posix
def test_a_path_that_leads_elsewhere_than_when_it_was_judged_is_refused(hands, outside):
    (hands.folder / "other").mkdir()
    (hands.folder / "other" / "a.txt").write_text("another file")
    call = tool_use("t", "Read", {"file_path": "door/a.txt"})
    (hands.folder / "door").symlink_to("sub")
    prepared = prepare(call, hands.tools)
    (hands.folder / "door").unlink()
    (hands.folder / "door").symlink_to("other")  # inside too, but not what was judged
    with pytest.raises(ToolError, match="leads elsewhere"):
        prepared.tool.function(**prepared.arguments)


@posix
@pytest.mark.parametrize("place", ["folder", "file"])
def test_a_link_that_is_put_there_after_the_judgement_is_not_followed(hands, outside, place):
    confined = Confined(hands.folder)
    (hands.folder / "d").mkdir()
    target = confined.judge("d/key")
    if place == "folder":
        (hands.folder / "d").rmdir()
        (hands.folder / "d").symlink_to(outside / "elsewhere")
        with pytest.raises(ToolError, match="Nothing was opened"):
            confined.write(target, b"broken in")
        with pytest.raises(ToolError, match="Nothing was opened"):
            list(confined.walk(target.parent))
        with pytest.raises(ToolError, match="Nothing was opened"):
            confined.entries(target.parent)
    else:
        target.symlink_to(outside / "elsewhere" / "key")
        with pytest.raises(ToolError, match="not an ordinary file"):
            confined.write(target, b"broken in")
    with pytest.raises(ToolError, match="Nothing was opened"):
        confined.read(target)


@posix
def test_a_workspace_that_is_replaced_by_a_link_is_not_entered(hands, outside):
    (hands.folder / "key").write_text("plain")
    confined = Confined(hands.folder)
    target = confined.judge("key")
    hands.folder.rename(outside / "moved")
    hands.folder.symlink_to(outside / "elsewhere")
    try:
        with pytest.raises(ToolError):
            confined.read(target)
    finally:
        hands.folder.unlink()
        (outside / "moved").rename(hands.folder)


PARTS = st.sampled_from(
    ["..", ".", "", "a", "b.txt", "sub", "linkdir", "link", "up", "~", "elsewhere", "key", "app",
     "app-secrets", "CON", "x ", "\u2025", "..\u200b", "%2e%2e", "é", "e\u0301"]
)  # fmt: skip


@posix
@given(st.lists(PARTS, min_size=1, max_size=7), st.booleans(), st.sampled_from(TOOLS))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_paths_stay_inside(hands, outside, parts, absolute, tool):
    name, argument, more = tool
    path = ("/" if absolute else "") + "/".join(parts)
    outcome = hands.call(name, **{argument: path}, **more)
    assert not outcome.traceback
    assert "secret" not in outcome.block["content"].replace("app-secrets", "")
    link = hands.folder / "linkdir"
    assert link.is_symlink() and (outside / "elsewhere" / "key").read_text() == "secret"


def fuzz():
    """The benchmark that races links against the tools; here it runs for a moment only."""
    file = Path(__file__).parent.parent / "benchmarks" / "paths.py"
    spec = importlib.util.spec_from_file_location("paths_benchmark", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@posix
def test_links_that_change_all_the_time_open_nothing_outside(tmp_path):
    threads = threading.active_count()
    found = fuzz().attack(tmp_path, 400, seed=7)
    assert found.leaks == [] and found.tried == 400
    assert found.reached > 0 and found.refused > 0
    assert threading.active_count() <= threads, "a thread that exchanges links goes on"
