"""`watch`, in a real kernel and without one."""

import asyncio
import json
import os
import queue
import textwrap
import time

import pytest
from jupyter_client.manager import start_new_kernel

from agentlab.transcript import Transcript
from agentlab.views.watching import watch

WIDGET = "application/vnd.jupyter.widget-view+json"
SETUP = """
import asyncio, json
from agentlab.events import Event
from agentlab.views import watch
EVENTS = [Event.from_dict(record) for record in json.loads({records!r})]
async def run(wait=0.0):
    for event in EVENTS[:9] if wait else EVENTS:
        yield event
    await asyncio.sleep(wait)
"""


class Kernel:
    """A kernel that cells are run in, with what a notebook would hold of their outputs."""

    def __init__(self, **environment):
        self.manager, self.client = start_new_kernel(env={**os.environ, **environment})
        self.shown = []

    def start(self, code):
        self.shown = []
        self.request = self.client.execute(textwrap.dedent(code))

    def outputs(self, until="idle", seconds=30):
        """What the cell shows when it is done, or after the next message of a type."""
        shown, deadline = self.shown, time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                continue
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != self.request:
                continue
            if kind == "update_display_data":
                place = content["transient"]["display_id"]
                index = next(i for i, o in enumerate(shown) if o.get("place") == place)
                shown[index] = {"place": place, **content["data"]}
            elif kind == "display_data":
                shown.append({"place": content["transient"].get("display_id"), **content["data"]})
            elif kind in ("error", "stream", "execute_result"):
                shown.append({"type": kind, **content})
            if kind == until or (kind == "status" and content["execution_state"] == until):
                return shown
        raise TimeoutError(shown)

    def stop(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def records(stream):

    run = (
        stream().start("Look").turn_of("Hm.", calls=[("LS", {})], tool_s=0.2).turn_of(text="Done.")
    )
    return SETUP.format(records=json.dumps([event.to_dict() for event in run.end().events]))


@pytest.fixture(scope="module")
def kernel(records):
    started = Kernel(AGENTLAB_STATIC_VIEWS="0")
    started.start(records)
    assert started.outputs() == []
    yield started
    started.stop()


def test_a_notebook_is_left_with_the_finished_views(kernel):
    kernel.start("result = await watch(run()); result.status")
    timeline, meter, result = kernel.outputs()
    assert "Where did the time go?" in timeline["text/html"]
    assert "Completed (2 turns, " in timeline["text/plain"]
    assert "What did it cost?" in meter["text/html"]
    assert WIDGET not in timeline and WIDGET not in meter
    assert result["data"]["text/plain"] == "'completed'"


def test_while_it_runs_the_views_are_widgets_and_the_interrupt_button_works(kernel):
    kernel.start("await watch(run(60))")
    assert WIDGET in kernel.outputs(until="display_data")[0]
    time.sleep(0.5)
    began = time.monotonic()
    kernel.manager.interrupt_kernel()
    outputs = kernel.outputs()
    assert time.monotonic() - began < 2.0
    assert outputs[-1]["traceback"] == ["Interrupted: the run was cancelled."]
    kernel.start("1 + 1")
    assert kernel.outputs()[0]["data"]["text/plain"] == "2"


def test_an_interrupted_run_is_shown_as_cancelled(kernel):
    kernel.start("""
    task = asyncio.create_task(watch(run(60), views=["timeline"]))
    await asyncio.sleep(0.3)
    task.cancel()
    _ = await asyncio.wait({task})
    """)
    (timeline,) = kernel.outputs()
    assert "Cancelled (1 turn, " in timeline["text/plain"] and WIDGET not in timeline


def test_a_torn_list_of_events_is_shown_up_to_where_it_ends(kernel):
    kernel.start("_ = await watch(EVENTS[:9], views=['timeline'])")
    (timeline,) = kernel.outputs()
    assert "Cancelled: the events end here (1 turn, " in timeline["text/plain"]


def test_some_views_only(kernel):
    kernel.start("_ = await watch(EVENTS, views=['meter'])")
    (meter,) = kernel.outputs()
    assert "What did it cost?" in meter["text/plain"]


def test_the_context_and_the_inspector_are_shown_if_they_are_asked_for(kernel):
    kernel.start("_ = await watch(run(), views=['context', 'inspector'])")
    context, inspector = kernel.outputs()
    assert "What is in the window?" in context["text/html"] and WIDGET not in context
    assert "What went over the wire?" in inspector["text/plain"]
    assert "toolu_" in inspector["text/html"]  # the ids as they were; see the stored form below


def test_nothing_is_shown_for_a_run_that_never_started(kernel):
    kernel.start("""
    async def refused():
        raise ValueError("the task is empty")
        yield
    await watch(refused())
    """)
    (error,) = kernel.outputs()
    assert (error["ename"], error["evalue"]) == ("ValueError", "the task is empty")


def test_built_notebooks_show_each_view_once_and_without_a_script(records):
    kernel = Kernel(AGENTLAB_STATIC_VIEWS="1")
    try:
        kernel.start(records)
        kernel.outputs()
        kernel.start("_ = await watch(run())")
        outputs = kernel.outputs()
    finally:
        kernel.stop()
    assert [output["place"] for output in outputs] == [None, None]
    assert all(set(o) == {"place", "text/html", "text/plain"} for o in outputs)
    assert "<script" not in outputs[0]["text/html"]


def test_built_notebooks_hold_no_ids(records):
    kernel = Kernel(AGENTLAB_STATIC_VIEWS="1")
    try:
        kernel.start(records)
        kernel.outputs()
        kernel.start("_ = await watch(run(), views=['context', 'inspector'])")
        outputs = kernel.outputs()
    finally:
        kernel.stop()
    assert len(outputs) == 2 and "call 1" in outputs[1]["text/html"]
    assert not any("toolu_" in text for o in outputs for text in (o["text/html"], o["text/plain"]))


async def test_without_a_kernel_it_plays_in_the_terminal(demo, tmp_path, capsys):
    transcript = Transcript(tmp_path / "run.jsonl")
    for event in demo.stored:
        transcript.write(event)
    transcript.close()
    result = await watch(tmp_path / "run.jsonl")
    assert result.status == "completed"
    assert "Together they hold 42 words." in capsys.readouterr().out


async def test_what_it_cannot_show_it_says():
    with pytest.raises(
        ValueError, match="no view 'window'; there are: timeline, meter, context, inspector"
    ):
        await watch([], views=["window"])
    with pytest.raises(TypeError, match=r"agent\.run"):
        await watch(asyncio.sleep(0))


def test_the_package_gives_the_functions_also_when_all_its_modules_are_loaded():
    import agentlab.views

    for name, module in agentlab.views._HOME.items():
        assert name != module, "a module would hide the function of its name"
        assert callable(getattr(agentlab.views, name))
