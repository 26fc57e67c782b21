"""Events on disk: nothing lost, torn lines survived, conversations continued."""

import json
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab.events import EVENTS, LIVE, SCHEMA_VERSION, Event
from agentlab.messages import assistant, calls_of, tool_use, user
from agentlab.transcript import Transcript, TranscriptError, history_of, load


def start(**more):
    data = dict.fromkeys(EVENTS["session.start"], "") | {"schema": SCHEMA_VERSION, "history": []}
    return Event("session.start", 0.0, 0, "main", {**data, **more})


def said(message, origin="user"):
    return Event("user.message", 0.0, 0, "main", {"message": message, "origin": origin})


def replied(message, kept=True):
    data = dict.fromkeys(EVENTS["assistant.message"]) | {"message": message, "kept": kept}
    return Event("assistant.message", 1.0, 1, "main", data)


def ran(id, content, is_error=False):
    data = {
        "tool_use_id": id,
        "name": "A",
        "content": content,
        "is_error": is_error,
        "traceback": "",
    }
    return Event("tool.execution_complete", 2.0, 1, "main", data)


def write(path, *events):
    with Transcript(path) as transcript:
        for event in events:
            transcript.write(event)


def test_what_is_written_is_read(tmp_path):
    hostile = "Grüße \u2028 \0 NUL \x1b[31m \udce9 \U0001f600"
    events = [start(), said(user(hostile)), replied(assistant("ok"))]
    write(tmp_path / "t.jsonl", *events)
    loaded = load(tmp_path / "t.jsonl")
    assert loaded.events == events and not loaded.warnings
    assert len((tmp_path / "t.jsonl").read_bytes().splitlines()) == len(events)


def test_live_events_are_not_stored(tmp_path):
    live = [Event(name, 0.0, 1, "main", {k: "" for k in EVENTS[name]}) for name in LIVE]
    write(tmp_path / "t.jsonl", start(), *live)
    assert [e.type for e in load(tmp_path / "t.jsonl").events] == ["session.start"]


def test_c40_a_torn_last_line_is_skipped_and_does_not_swallow_the_next(tmp_path):
    path = tmp_path / "t.jsonl"
    write(path, start(), said(user("a")), replied(assistant("b")))
    with path.open("a") as file:
        file.write('{"role": "assis')
    first = load(path)
    assert len(first.events) == 3
    assert first.warnings == ["t.jsonl, line 4: torn, skipped"]
    write(path, said(user("c")))
    second = load(path)
    assert len(second.events) == 4
    assert second.events[-1] == said(user("c"))


def test_a_killed_process_leaves_every_finished_line(tmp_path):
    path = tmp_path / "t.jsonl"
    program = """
        import os, signal, sys
        from agentlab.events import *
        from agentlab.transcript import Transcript
        transcript = Transcript(sys.argv[1])
        data = dict.fromkeys(EVENTS["session.start"], "") | {"schema": 1, "history": []}
        for _ in range(50):
            transcript.write(Event("session.start", 0.0, 0, "main", data))
        sys.stdout.write("ready"); sys.stdout.flush()
        os.abort() if os.name == "nt" else os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(path)], capture_output=True
    )
    assert done.stdout == b"ready" and done.returncode != 0
    assert len(load(path).events) == 50


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not an agentlab transcript"),
        (b"hello\n", "not an agentlab transcript"),
        (b'{"type": "summary", "leafUuid": "1"}\n', "not an agentlab transcript"),
        (b'[1, 2]\n"x"\nnull\n', "not an agentlab transcript"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "not an agentlab transcript"),
        (b'{"type": "session.start"}\n', "not an agentlab transcript"),
    ],
)
def test_a_foreign_file_is_told_apart(tmp_path, content, says):
    (tmp_path / "x.jsonl").write_bytes(content)
    with pytest.raises(TranscriptError, match=says):
        load(tmp_path / "x.jsonl")


def test_a_newer_schema_is_refused_with_what_to_do(tmp_path):
    write(tmp_path / "t.jsonl", start(schema=SCHEMA_VERSION + 1))
    with pytest.raises(TranscriptError, match="newer version"):
        load(tmp_path / "t.jsonl")


def test_a_folder_is_no_transcript(tmp_path):
    with pytest.raises(TranscriptError, match="folder"):
        load(tmp_path)


def test_e17_finished_calls_keep_their_result_and_open_ones_are_marked(tmp_path):
    calls = assistant(tool_use("t1", "A", {}), tool_use("t2", "A", {}))
    history = history_of([start(), said(user("go")), replied(calls), ran("t1", "done")])
    first, second = history[2]["content"]
    assert first["content"] == "done"
    assert second["is_error"] and "nterrupted" in second["content"]


def test_replies_that_were_not_kept_are_not_in_the_history():
    cut = assistant(tool_use("t1", "A", {}))
    events = [
        start(),
        said(user("go")),
        replied(cut, kept=False),
        said(user("smaller"), "continue"),
    ]
    assert not any(calls_of(m) for m in history_of(events) if m["role"] == "assistant")


def test_a_run_that_began_with_a_history_carries_it():
    earlier = [user("a"), assistant("b")]
    assert list(history_of([start(history=earlier), said(user("c"))])) == [*earlier, user("c")]


@given(st.binary(max_size=200))
def test_any_bytes_after_a_good_line_lose_nothing_before_them(tmp_path_factory, junk):
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    write(path, start())
    with path.open("ab") as file:
        file.write(junk)
    assert load(path).events[0] == start()


def test_events_are_flat_json_with_their_time():
    record = json.loads(json.dumps(said(user("a")).to_dict()))
    assert record["type"] == "user.message" and record["origin"] == "user"
    assert Event.from_dict(record) == said(user("a"))


def test_a_missing_key_of_an_event_says_what_it_has():
    with pytest.raises(
        AttributeError, match=r"user.message has no 'text'; it has \['message', 'origin'\]"
    ):
        _ = said(user("a")).text
