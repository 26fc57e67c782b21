"""Previews: decided once, the whole on disk, and the same bytes for a child."""

import asyncio
import json
import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentlab import Agent
from agentlab.messages import assistant, text, tool_result, tool_use, user, valid_unicode
from agentlab.previews import (
    AS_IT_IS,
    NOTE,
    Decision,
    Previews,
    ReplacementState,
    applied,
    preview,
    rebuild,
    remove_kept,
    shrink,
    text_in,
)
from agentlab.result_files import FOLDER, KEPT_BYTES, names_for, storable
from agentlab.toolbox import calculator, toolbox
from agentlab.tools import Prepared, ToolError, perform, tool

LINES = "".join(f"line {n} of a result that is long\n" for n in range(1, 2001))
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}
WORDS = re.compile(
    r"\[\.\.\. (?P<missing>[\d,]+) of (?P<chars>[\d,]+) characters left out, "
    r".*? of (?P<lines>[\d,]+)\. "
    r"The whole result is in (?P<path>\S+)\. To go on from here Read that file with "
    r"offset=(?P<offset>\d+)(?:, column=(?P<column>\d+))?; .*? \.\.\.\]\n"
)


@pytest.fixture
def previews(tmp_path):
    return Previews(tmp_path)


@pytest.fixture
def read(tmp_path):
    """The Read tool of the same workspace."""
    return next(t.function for t in toolbox(tmp_path) if t.name == "Read")


def replaced(previews, content, id="toolu_1", tool=None):
    return previews.replace(id, tool_result(id, content), tool)["content"]


def note(shown):
    """The numbers of the note in a preview, and what stands before and after it."""
    found = WORDS.search(shown)
    assert found and NOTE.search(shown)[1] == found["chars"], shown
    told = found.groupdict("1").items()
    numbers = {k: int(v.replace(",", "")) for k, v in told if k != "path"}
    return numbers, found["path"], shown[: found.start()], shown[found.end() :]


# ------------------------------------------------------------------------------ what is shown


def test_a_result_within_the_limit_stays_the_very_same_block(previews, tmp_path):
    block = tool_result("toolu_1", "x" * 8_000)
    assert previews.replace("toolu_1", block) is block
    assert previews.state["toolu_1"] is AS_IT_IS
    assert list(tmp_path.iterdir()) == []


def test_a_larger_one_becomes_its_beginning_its_end_and_where_the_rest_is(previews, tmp_path):
    shown = replaced(previews, LINES)
    numbers, path, head, tail = note(shown)
    assert path == ".agentlab/results/toolu_1.txt"
    assert (tmp_path / path).read_bytes() == LINES.encode()
    assert LINES.startswith(head) and LINES.endswith(tail) and head.endswith("\n")
    assert numbers["missing"] == len(LINES) - len(head) - len(tail)
    assert numbers["chars"] == len(LINES) and numbers["lines"] == 2000
    assert "lines 46 to 1,986 of 2,000" in shown and len(shown) < 2_500
    decision = previews.state["toolu_1"]
    assert (decision.text, decision.path) == (shown, path)
    assert (decision.chars, decision.lines) == (len(LINES), 2000)


@pytest.mark.parametrize(
    "content",
    [
        LINES,
        LINES.replace("\n", "\r\n"),
        LINES.replace("\n", "\r"),
        "{" + '"key": "value", ' * 5_000 + "}",
        "perché\n" * 3_000,
        "\U0001f327" * 30_000,
        "\ufeff" + LINES,
        "\ufeff" + "".join(f"{n}, " for n in range(9_000)),
        "short\n" + "x" * 60_000 + "\nshort",
        "\n" * 9_000,
    ],
    ids=[
        "lines",
        "CRLF",
        "CR",
        "one line",
        "accents",
        "emoji",
        "mark",
        "mark, one line",
        "a long line",
        "no text",
    ],
)
def test_read_goes_on_exactly_where_the_beginning_ends(previews, read, content):
    numbers, path, head, _ = note(replaced(previews, content))
    head = head if content.startswith(head) else head.removesuffix("\n")
    more = read(path, offset=numbers["offset"], column=numbers["column"])
    rest = content[len(head) :]
    if content.count("\r\n") == content.count("\n"):
        rest = rest.replace("\r\n", "\n")
    assert rest.startswith(more.rpartition("[the file has")[0].removesuffix("\n"))
    assert len(more) > 1_000


def test_grep_finds_a_line_in_what_is_kept_and_read_gives_it(tmp_path, previews):
    tools = {t.name: t.function for t in toolbox(tmp_path)}
    _, path, *_ = note(replaced(previews, LINES))
    [found] = tools["Grep"](pattern=r"line 1234\b", path=path).splitlines()
    assert found.startswith(f"{path}:1234:")
    assert tools["Read"](file_path=path, offset=1234, limit=1).startswith("line 1234 of")
    assert tools["Grep"](pattern="line 1234", path=FOLDER) == found
    assert "No line" in tools["Grep"](pattern="line 1234")  # it does not turn up elsewhere
    assert "No file" in tools["Glob"](pattern="**/*.txt")


def test_the_end_of_a_command_stays_its_end(previews):
    shown = replaced(previews, f"{LINES}[exit code 1]")
    assert shown.endswith("\n[exit code 1]")


def test_images_stay_and_texts_become_one_preview(previews, tmp_path):
    content = [IMAGE, text("a" * 5_000), IMAGE, text("b" * 5_000), text("end")]
    block = previews.replace("toolu_1", tool_result("toolu_1", content))
    first, shown, last = block["content"]
    assert first is IMAGE and last is IMAGE and shown["type"] == "text"
    _, path, head, tail = note(shown["text"])
    assert set(head.strip()) == {"a"} and tail.endswith("b\nend")
    assert (tmp_path / path).read_text() == f"{'a' * 5_000}\n{'b' * 5_000}\nend"
    assert content[1] == text("a" * 5_000)  # what came in is not changed


def test_images_alone_are_left_alone(previews):
    block = tool_result("toolu_1", [IMAGE] * 20)
    assert previews.replace("toolu_1", block) is block


def test_an_error_stays_an_error(previews):
    block = previews.replace("toolu_1", tool_result("toolu_1", LINES, True))
    assert block["is_error"] is True and block["tool_use_id"] == "toolu_1"
    note(block["content"])


@pytest.mark.parametrize("content", ["", []])
def test_a_result_without_content_stays_so(previews, content):
    assert replaced(previews, content) == content
    assert "content" not in previews.replace("t", {"type": "tool_result", "tool_use_id": "t"})


def test_what_no_file_can_hold_is_mended_and_everything_else_is_kept(previews, tmp_path, read):
    content = "nul \0 half \ud83c CRLF\r\n" + "x\r\n" * 5_000
    shown = replaced(previews, content)
    json.dumps(shown, ensure_ascii=False).encode()
    _, path, head, _ = note(shown)
    assert head.startswith("nul  half \ufffd CRLF\r\n")
    kept = (tmp_path / path).read_bytes()
    assert kept == ("nul  half \ufffd CRLF\r\n" + "x\r\n" * 5_000).encode()
    assert read(path, limit=1).startswith("nul  half \ufffd CRLF\n")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.text(st.characters(exclude_categories=()), min_size=1, max_size=60),
    st.integers(20, 400),
    st.sampled_from(["", "\n", "\r\n"]),
    st.integers(1_000, 20_000),
)
def test_a_preview_is_the_beginning_and_the_end_of_any_text(piece, times, end, limit):
    content = storable((piece + end) * times)
    if len(content) <= limit:
        return
    shown = preview(content, "p.txt", limit)
    numbers, _, head, tail = note(shown)
    head = head if content.startswith(head) else head.removesuffix("\n")
    assert content.startswith(head) and content.endswith(tail)
    assert len(head) + len(tail) <= min(2_000, limit // 2)
    assert numbers["missing"] == len(content) - len(head) - len(tail) > 0
    lines = content.split("\n")[: numbers["offset"] - 1]
    assert sum(len(line) + 1 for line in lines) + numbers["column"] - 1 == len(head)
    for before, after in ((head, content[len(head) :]), (content[: -len(tail)], tail)):
        assert not (before.endswith("\r") and after.startswith("\n")) or not tail


@pytest.mark.parametrize("content", ["", "abc", "x" * 8_000, "\n"])
def test_a_text_that_fits_needs_no_preview(content):
    assert preview(content, "p.txt") == content


def test_documents_and_search_results_stay(previews):
    source = {"type": "text", "media_type": "text/plain", "data": "d" * 9_000}
    found = {"type": "search_result", "source": "s", "title": "t", "content": [text("q" * 9_000)]}
    content = [text(LINES), {"type": "document", "source": source}, found]
    assert replaced(previews, content)[1:] == content[1:]


# ------------------------------------------------------------------------------ decided once


def test_what_was_decided_is_never_revised(previews, tmp_path):
    small, large = tool_result("toolu_s", "small"), tool_result("toolu_l", LINES)
    before = [previews.replace("toolu_s", small), previews.replace("toolu_l", large)]
    for file in (tmp_path / FOLDER).glob("*.txt"):
        file.unlink()
    previews.limit = 100_000
    assert [previews.replace("toolu_s", small), previews.replace("toolu_l", large)] == before
    again = tool_result("toolu_s", LINES)
    assert previews.replace("toolu_s", again) is again
    assert not list((tmp_path / FOLDER).glob("*.txt"))


def test_a_state_is_a_mapping_that_does_not_change(previews):
    replaced(previews, LINES)
    before = previews.state
    replaced(previews, "small", "toolu_2")
    assert list(before) == ["toolu_1"] and list(previews.state) == ["toolu_1", "toolu_2"]
    assert repr(previews.state) == "ReplacementState(2 results, 1 replaced)"
    assert before != previews.state and before == ReplacementState(dict(before))
    with pytest.raises(TypeError):
        before["toolu_2"] = AS_IT_IS
    assert (
        repr(previews) == "Previews(over 8,000 characters, ReplacementState(2 results, 1 replaced))"
    )


def history(results):
    """A history with one call for each result."""
    messages = [user("the task")]
    for number, content in enumerate(results, 1):
        messages.append(assistant(tool_use(f"toolu_{number}", "Bash", {"command": "ls"})))
        messages.append(user(tool_result(f"toolu_{number}", content)))
    return messages


def test_a_child_with_other_limits_sends_the_same_bytes(tmp_path):
    parent = Previews(tmp_path)
    arrived = history(["small", LINES, "m" * 6_000, [text(LINES), IMAGE]])
    sent = [arrived[0]]
    for message in arrived[1:]:
        blocks = [
            parent.replace(b["tool_use_id"], b) if b["type"] == "tool_result" else b
            for b in message["content"]
        ]
        sent.append({**message, "content": blocks})
    child = parent.clone()
    child.limit = 1_000
    assert json.dumps(rebuild(arrived, child.state)) == json.dumps(sent)
    assert rebuild(sent, child.state) == sent
    assert all(a is b for a, b in zip(rebuild(sent, child.state), sent, strict=True))


def test_a_child_goes_its_own_way_from_there(previews, tmp_path):
    replaced(previews, LINES)
    child = previews.clone()
    replaced(child, LINES + "child", "toolu_2")
    replaced(previews, LINES + "parent", "toolu_3")
    assert list(child.state) == ["toolu_1", "toolu_2"]
    assert list(previews.state) == ["toolu_1", "toolu_3"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.integers(0, 40_000), max_size=6), st.data())
def test_the_same_history_gives_the_same_bytes_wherever_it_is_rebuilt(tmp_path, sizes, data):
    parent = Previews(tmp_path)
    arrived = history([("r" * 79 + "\n") * (size // 80) for size in sizes])
    whole = shrink(arrived, parent)
    cut = data.draw(st.integers(0, len(arrived)))
    assert rebuild(arrived[:cut], parent.clone().state) == whole[:cut]
    assert shrink(whole, parent.clone()) == whole
    assert all(len(text_in(b)) <= 8_000 for m in whole for b in m["content"] if "content" in b)


# ------------------------------------------------------------------------------ files


def test_nothing_that_was_kept_is_overwritten(tmp_path):
    paths = set()
    for run in ("first", "second", "first"):  # runs whose calls have the same ids
        paths.add(note(replaced(Previews(tmp_path), LINES + run))[1])
    assert paths == {f"{FOLDER}/toolu_1.txt", f"{FOLDER}/toolu_1-2.txt"}
    assert (tmp_path / FOLDER / "toolu_1.txt").read_text().endswith("first")
    assert (tmp_path / FOLDER / "toolu_1-2.txt").read_text().endswith("second")


@pytest.mark.parametrize(
    "id",
    ["../../etc/passwd", "a/b", "a_b", "A", "NUL", "con.txt", "", ".", "functions.Read:0", "é" * 99,
     "x" * 300, "toolu_" + "y" * 300, "new\nline", "nul\0", "\ud800", "-rf", "*"],
)  # fmt: skip
def test_any_id_gives_a_name_that_every_system_takes(tmp_path, id):
    name = next(names_for(id))
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,119}\.txt", name)
    assert not re.match(r"(?i)(con|nul|aux|prn)\b", name)
    _, path, *_ = note(replaced(Previews(tmp_path), LINES, id))
    assert path == f"{FOLDER}/{name}" and (tmp_path / path).is_file()


def test_ids_that_look_alike_have_names_of_their_own():
    ids = ["a/b", "a_b", "a.b", "a b", "x" * 90, "x" * 91, "toolu_1", "toolu:1"]
    names = {next(names_for(id)).casefold() for id in ids}
    assert len(names) == len(ids) and "toolu_1.txt" in names


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_what_is_kept_is_for_its_owner_alone(previews, tmp_path):
    _, path, *_ = note(replaced(previews, LINES))
    assert stat.S_IMODE((tmp_path / path).stat().st_mode) == 0o600


def test_git_ignores_it_and_a_rollback_leaves_it(previews, tmp_path):
    tools = {t.name: t.function for t in toolbox(tmp_path)}
    tools["Checkpoint"]()
    _, path, *_ = note(replaced(previews, LINES))
    tools["Rollback"]()
    assert (tmp_path / path).read_text() == LINES


def test_what_read_could_not_open_is_shortened_and_says_so(previews, tmp_path, read):
    content = "\u00e8" * (KEPT_BYTES // 2) + "end"
    _, path, *_ = note(replaced(previews, content))
    kept = (tmp_path / path).read_bytes()
    assert len(kept) <= KEPT_BYTES and kept.endswith(b"end")
    assert re.search(rf"[\d,]+ of {len(content):,} characters were too many to keep", kept.decode())
    assert read(path).startswith("\u00e8")


def test_what_no_history_names_is_deleted_when_it_is_asked_for(previews, tmp_path):
    shown = [replaced(previews, LINES + id, id) for id in ("toolu_1", "toolu_2", "toolu_3")]
    again = replaced(Previews(tmp_path), LINES + "another run", "toolu_1")  # toolu_1-2.txt
    first, second = history([shown[0]]), history([again, "see .agentlab/results/toolu_3.txt"])
    assert remove_kept(tmp_path, first, second) == 1
    names = {path.name for path in (tmp_path / FOLDER).iterdir()}
    assert names == {".gitignore", "toolu_1.txt", "toolu_1-2.txt", "toolu_3.txt"}
    assert remove_kept(tmp_path, first) == 2 and remove_kept(tmp_path, first) == 0
    assert remove_kept(tmp_path) == 1
    assert replaced(previews, LINES + "toolu_1") == shown[0]  # what was sent stays what it is


def test_a_folder_in_which_nothing_was_kept_needs_no_tidying(tmp_path):
    assert remove_kept(tmp_path) == 0
    with pytest.raises(NotADirectoryError):
        remove_kept(tmp_path / "nowhere")


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_nothing_is_deleted_behind_a_link(tmp_path):
    outside, work = tmp_path / "outside", tmp_path / "app"
    (outside / "results").mkdir(parents=True)
    (outside / "results" / "mine.txt").write_text("mine")
    work.mkdir()
    (work / ".agentlab").symlink_to(outside)
    with pytest.raises(ToolError, match="stands in the way"):
        remove_kept(work)
    assert (outside / "results" / "mine.txt").read_text() == "mine"


# ------------------------------------------------------------------------------ when it fails


def full(*_, **__):
    raise OSError(28, "No space left on device")


def test_on_a_full_disk_the_result_is_cut_and_says_so(previews, tmp_path, monkeypatch):
    opened = os.open

    def open_(name, flags, *rest, **more):
        if flags & os.O_CREAT:
            full()
        return opened(name, flags, *rest, **more)

    monkeypatch.setattr(os, "open", open_)
    shown = replaced(previews, LINES)
    assert len(shown) < 30_300 and shown.startswith("line 1 of")
    assert "characters left out" in shown
    assert shown.endswith(
        "[It could not be kept on disk (No space left on device): what is not shown here is lost.]"
    )
    monkeypatch.undo()
    assert replaced(previews, LINES) == shown  # not revised when there is room again
    assert previews.state["toolu_1"].path == ""


def test_half_a_result_is_not_left_behind(previews, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fdopen", full)
    assert "No space left" in replaced(previews, LINES)
    assert not list((tmp_path / FOLDER).iterdir())


@pytest.mark.parametrize("way", ["a file", "a link", "a link below", "gone"])
def test_whatever_stands_in_the_way_nothing_is_written_elsewhere(tmp_path, way):
    work, outside = tmp_path / "app", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    previews = Previews(work)
    match way:
        case "a file":
            (work / ".agentlab").write_text("mine")
        case "a link":
            (work / ".agentlab").symlink_to(outside)
        case "a link below":
            (work / ".agentlab").mkdir()
            (work / ".agentlab" / "results").symlink_to(outside)
        case "gone":
            work.rmdir()
    shown = replaced(previews, LINES)
    assert "could not be kept on disk" in shown and "line 1 of" in shown
    assert list(outside.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_link_of_the_name_is_not_written_through(previews, tmp_path):
    (tmp_path / FOLDER).mkdir(parents=True)
    target = tmp_path / "target"
    (tmp_path / FOLDER / "toolu_1.txt").symlink_to(target)
    _, path, *_ = note(replaced(previews, LINES))
    assert path.endswith("toolu_1-2.txt") and not target.exists()


def test_a_limit_that_is_too_small_or_a_folder_that_is_not_there_is_refused(tmp_path):
    for limit in (999, 2e3, float("nan"), "8000", None):
        with pytest.raises(ValueError, match="at least 1000"):
            Previews(tmp_path, limit=limit)
    with pytest.raises(NotADirectoryError):
        Previews(tmp_path / "nowhere")


# ------------------------------------------------------------------------------ with tools


def run(previews, made, **arguments):
    """A call as the executor makes it, with previews."""
    call = tool_use("toolu_1", made.name, arguments)
    outcome = asyncio.run(perform(Prepared(call, made, arguments), None, previews.room(made)))
    return previews.replace("toolu_1", outcome.block, made)["content"]


def long_tool(chars, name="long", **contract):
    @tool(name=name, **contract)
    def function() -> str:
        """A long text."""
        return ("x" * 99 + "\n") * (chars // 100)

    return function


def test_the_bound_of_a_tool_cuts_nothing_that_is_kept(previews, tmp_path):
    numbers, path, *_ = note(run(previews, long_tool(100_000)))
    assert numbers["chars"] == 100_000 == (tmp_path / path).stat().st_size


def test_the_bound_of_a_tool_is_a_limit_too(previews):
    made = long_tool(5_000, max_result_chars=2_000)
    shown = run(previews, made)
    _, _, head, tail = note(shown)
    assert len(head) + len(tail) <= 1_000 and len(shown) < 2_000


def test_a_tool_with_a_very_small_bound_is_cut_as_without_previews(previews, tmp_path):
    shown = run(previews, long_tool(5_000, max_result_chars=500))
    assert "characters left out; ask for a part" in shown and len(shown) < 700
    assert list(tmp_path.iterdir()) == []


def test_a_tool_that_wants_no_preview_gets_its_own_bound(previews, tmp_path):
    shown = run(previews, long_tool(100_000, preview=False))
    assert len(shown) < 30_100 and "ask for a part" in shown
    assert list(tmp_path.iterdir()) == []


def test_what_read_gives_is_a_part_of_a_file_already(previews, tmp_path):
    (tmp_path / "long.txt").write_text(LINES)
    made = next(t for t in toolbox(tmp_path) if t.name == "Read")
    shown = run(previews, made, file_path="long.txt")
    assert 15_000 < len(shown) < 21_000 and "goes on: offset=" in shown


def test_an_error_of_a_tool_is_kept_as_well(previews):
    @tool(name="fails")
    def fails() -> str:
        """It fails at length."""
        raise ValueError(LINES)

    numbers, _, head, _ = note(run(previews, fails))
    assert head.startswith("ValueError: line 1 of") and numbers["chars"] > 60_000


# ------------------------------------------------------------------------------ old histories


def test_a_history_in_which_nothing_is_too_large_stays_the_same(previews):
    messages = history(["small", "also small"])
    assert all(a is b for a, b in zip(shrink(messages, previews), messages, strict=True))
    assert len(previews.state) == 2  # and nothing in it is decided again


def test_what_was_sent_whole_stays_whole_when_a_conversation_is_resumed(tmp_path):
    messages = history(["m" * 50_000, "n" * 50_000])
    messages[1]["content"][0]["name"] = "page"
    alone = long_tool(100, name="page", max_result_chars=60_000, preview=False)
    assert shrink(messages, Previews(tmp_path, limit=50_000), 30_000) == messages
    shrunk = shrink(messages, Previews(tmp_path), 30_000, [alone, calculator])
    assert shrunk[:4] == messages[:4] and len(text_in(shrunk[4]["content"][0])) < 3_000


def test_behind_the_first_change_there_is_no_thinking(previews):
    thinks = {"type": "thinking", "thinking": "hm", "signature": "s"}
    messages = history(["small", LINES, "small"])
    for message in messages[1::2]:
        message["content"].insert(0, thinks)
    messages += [{"role": "assistant", "content": [thinks]}, user("go on")]
    before = json.dumps(messages)
    shrunk = shrink(messages, previews)
    assert json.dumps(messages) == before
    has = [any(b == thinks for b in m["content"]) for m in shrunk]
    assert has == [False, True, False, True, False, False, False, False]
    assert [m["role"] for m in shrunk[-2:]] == ["user", "user"]  # `normalise` joins them


async def test_d13_a_result_larger_than_the_window_is_replaced_and_the_conversation_goes_on(
    tmp_path,
):
    """u(task); a[t1]; u[r1 = 260k tokens], then the next turn; a window of 200k."""
    content = "a word after the other\n" * 38_000
    messages = [
        user("Look at the file."),
        assistant(tool_use("toolu_1", "Bash", {"command": "cat all.txt"})),
        user(tool_result("toolu_1", content)),
        assistant("I have seen it."),
    ]
    arguments = {"model": "claude-haiku-4-5", "tools": [calculator]}
    refused = await Agent(**arguments, history=messages).ask("How much is 6*7?")
    assert refused.status in ("error", "window_exceeded") and not refused.usage.total_tokens
    previews = Previews(tmp_path)
    shrunk = shrink(messages, previews)
    result = await Agent(**arguments, history=shrunk).ask("How much is 6*7?")
    assert result.status == "completed" and "42" in result.text
    assert [e.type for e in result.events].count("assistant.turn_start") == 2
    assert all(e.input_tokens < 4_000 for e in result.events if e.type == "assistant.turn_start")
    block = shrunk[2]["content"][0]
    assert block["tool_use_id"] == "toolu_1" and shrunk[1] is messages[1]
    _, path, head, tail = note(block["content"])
    assert head.startswith("a word") and tail.endswith("other\n")
    assert (tmp_path / path).read_text() == content
    assert shrink(messages, previews.clone()) == shrunk


async def test_d13_a_conversation_with_thinking_goes_on_after_it_was_rebuilt(tmp_path):
    @tool(name="Clock", is_read_only=True)
    def clock() -> str:
        """The time, and very much else."""
        return "It is 09:17. " + "And so on. " * 2_000

    first = Agent(tools=[clock, calculator])
    await first.ask("How many minutes have passed since midnight?")
    await first.ask("How many minutes have passed since midnight?")
    thoughts = [[b["type"] for b in m["content"]].count("thinking") for m in first.history]
    assert sum(thoughts) > 2
    rebuilt = shrink(first.history, Previews(tmp_path))
    assert rebuilt != list(first.history)
    second = Agent(tools=[clock, calculator], history=rebuilt)
    result = await second.ask("How much is 6*7?")
    assert result.ok and "42" in result.text


def test_a_state_from_elsewhere_is_applied_to_any_form_of_content():
    state = ReplacementState({"t": Decision("short")})
    for content in ("long", [text("long")], [text("short")], "short"):
        block = applied(tool_result("t", content), state["t"])
        assert text_in(block) == "short"
    assert applied(tool_result("t", [IMAGE]), state["t"])["content"] == [IMAGE]
    strange = [{"role": "user", "content": "text"}, {"role": "assistant", "content": "text"}]
    assert rebuild(strange, state) == strange
    assert Path(FOLDER).parts[0].startswith(".") and valid_unicode(FOLDER) == FOLDER
