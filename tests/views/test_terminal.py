import asyncio
import io
import re

import pytest
from rich.console import Console

from agentlab.views.terminal import play, replay

PLAYED = """\
{model}, simulated model

user: How many words do the files hold?

Turn 1
  thinking: I can read both at once.
  I'll read both.
  > Read a.txt
  > Read b.txt
  < Read a.txt
    | result 0
  < Read b.txt
    | Read failed: no such file
  100 tokens in, 40 out, $0.0006, 2.1 s

Turn 2
  Overloaded: try 2 in 0.5 s
  > LS .
    | result 0
  620 tokens in, 40 out, $0.0019, 2.6 s

Turn 3
  Together they hold 42 words.
  650 tokens in (620 cached), 40 out, $0.0005, 0.9 s

Completed (3 turns, 5.7 s)
1 370 tokens in (620 cached), 120 out, $0.0031
simulated model: list prices, nothing was spent
"""


async def streamed(events):
    for event in events:
        await asyncio.sleep(0)
        yield event


def shown(events, encoding="utf-8", **options):
    """What `replay` prints, as text."""
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="\n", write_through=True)
    replay(events, Console(file=file, **{"width": 80, "highlight": False, **options}))
    return raw.getvalue().decode(encoding)


async def test_a_run_as_it_is_played_without_a_terminal(demo):
    file = io.StringIO()
    result = await play(streamed(demo.events), Console(file=file, width=80))
    model = demo.events[0].model
    assert file.getvalue().replace("\u202f", " ") == PLAYED.format(model=model)
    assert (result.status, result.turns) == ("completed", 3)


def test_a_transcript_looks_like_the_run(demo):
    assert shown(demo.stored) == shown(demo.events)


async def test_thinking_can_be_left_out(demo):
    file = io.StringIO()
    await play(streamed(demo.events), Console(file=file), show_thinking=False)
    assert "at once" not in file.getvalue() and "I'll read both." in file.getvalue()


def test_neither_model_nor_tool_can_steer_the_terminal(stream):
    bad = "\x1b[2J\x1b]0;owned\x07[bold red]mark[/]\u202e\x07"
    run = stream().start(bad, model=bad).turn_of(bad, bad, [(bad, {"a": bad})])
    run.events[-2].data["content"] = bad
    run.add("session.task_complete", summary=bad).end("error", bad)
    for events in (run.events, run.stored):
        text = shown(events, force_terminal=True, color_system="standard")
        assert set(re.findall(r"\x1b[^m]*m", text)) and "\x07" not in text and "\u202e" not in text
        assert not re.search(r"\x1b(?!\[[\d;]*m)", text)  # colours of our own, and nothing else
        assert text.count("[bold red]mark[/]") >= 6


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "ascii"])
def test_what_the_console_cannot_show_is_replaced(stream, encoding):
    run = stream().start("Größe → 字?").turn_of(text="“Fine…” 字", input_tokens=1234).end()
    text = shown(run.events, encoding)
    assert '"Fine..." ?' in text and "1 234 tokens in" in text


@pytest.mark.parametrize("width", [1, 10, 24, 40])
def test_it_fits_narrow_terminals(demo, width):
    lines = shown(demo.events, width=width).split("\n")
    assert "Turn 1" in lines
    prose = [
        line for line in lines if line.startswith("  ") and line[2] not in ">|<" and "$" not in line
    ]
    assert all(len(line) <= max(width, 40) for line in prose)


def test_a_long_result_is_bounded(stream):
    run = stream().start().turn_of(calls=[("Read", {"file_path": "big"})])
    run.events[-2].data["content"] = "\n".join(f"line {n} " + "x" * 500 for n in range(90))
    text = shown(run.end().events)
    assert "| line 3 x" in text and "| line 4" not in text and "… 86 more lines" in text
    assert max(map(len, text.split("\n"))) <= 80


def test_a_torn_transcript_says_where_it_ends(demo):
    assert "Cancelled: the events end here (2 turns" in shown(demo.stored[:11])


async def test_a_cancelled_run_is_said_to_be_cancelled_and_closed(demo):
    closed = asyncio.Event()

    async def endless():
        try:
            for event in demo.events[:6]:
                yield event
            await asyncio.sleep(60)
        finally:
            closed.set()

    file = io.StringIO()
    task = asyncio.create_task(play(endless(), Console(file=file)))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "Cancelled (1 turn" in file.getvalue() and closed.is_set()


async def test_in_a_terminal_waiting_is_seen_and_leaves_no_trace(demo):
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80, _environ={"TERM": "xterm"})
    await play(streamed(demo.events), console)
    assert "waiting for the model" in file.getvalue()
    assert "\x1b[?25l" in file.getvalue() and file.getvalue().rfind("\x1b[?25h") > 0
