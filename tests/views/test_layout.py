from hypothesis import given
from hypothesis import strategies as st

from agentlab.events import Event
from agentlab.views.context import ContextPicture, context_text
from agentlab.views.inspector import InspectorPicture, inspector_text
from agentlab.views.layout import Layout
from agentlab.views.meter import MeterPicture, meter_text
from agentlab.views.page import page
from agentlab.views.timeline import TimelinePicture, timeline_text

PICTURES = (TimelinePicture, MeterPicture, ContextPicture, InspectorPicture)
TURNS = st.lists(
    st.fixed_dictionaries(
        {
            "thinking": st.text("abc ", max_size=40),
            "text": st.text("abc ", max_size=40),
            "calls": st.lists(
                st.sampled_from([("Read", {"file_path": "a"}), ("LS", {})]), max_size=4
            ),
            "together": st.booleans(),
            "failing": st.sets(st.integers(0, 3)),
            "retries": st.integers(0, 2),
            "tool_s": st.sampled_from([0.0, 0.3]),
        }
    ),
    max_size=4,
)


def build(stream, turns, ends):
    run = stream()
    for index in range(2):
        run.start()
        for turn in turns:
            run.turn_of(**turn)
        if ends or index == 0:
            run.end()
    return run


def bars(layout, kind):
    return [bar for row in layout.rows for bar in row.bars if bar.kind == kind]


@given(turns=TURNS, ends=st.booleans(), stored=st.booleans(), cut=st.floats(0, 1))
def test_bars_of_a_row_only_overlap_if_tools_ran_together(stream, turns, ends, stored, cut):
    run = build(stream, turns, ends)
    events = run.stored if stored else run.events
    layout = Layout(events[: round(cut * len(events))])
    for row in layout.rows:
        lanes = {}
        for bar in sorted(row.bars, key=lambda bar: (bar.start, layout.until(bar))):
            assert row.start <= bar.start <= layout.until(bar) <= layout.reach + 1e-6
            assert bar.start >= lanes.get(bar.lane, 0.0) - 1e-6
            assert bar.lane == 0 or bar.kind == "tool_result"
            lanes[bar.lane] = layout.until(bar)


@given(turns=TURNS, cut=st.floats(0, 1))
def test_drawing_after_every_event_ends_like_drawing_once(stream, turns, cut):
    events = build(stream, turns, True).events
    events = events[: round(cut * len(events))]
    for picture_type in PICTURES:
        stepwise, rows = picture_type(), {}
        for event in events:
            stepwise.add(event)
            rows |= {i: stepwise.row(i, stepwise.scale(True)) for i in stepwise.drawn()}
        once = picture_type(events)
        scale = once.scale(True)
        assert rows == {i: once.row(i, scale) for i in range(once.rows())}
        assert page(stepwise) == page(once)


@given(data=st.data(), turns=TURNS)
def test_events_in_any_order_and_of_any_shape_are_drawn(stream, data, turns):
    events = build(stream, turns, True).events[:60]
    junk = st.sampled_from(
        [None, "x", 3, float("nan"), [], ["x"], {}, {"content": 3}, [{"type": 1}]]
    )
    broken = [
        Event(e.type, e.at, e.turn, e.agent, {k: data.draw(junk) for k in e.data})
        for e in data.draw(
            st.lists(st.sampled_from(events or [Event("x", 0, 0, "", {})]), max_size=8)
        )
    ]
    events = data.draw(st.permutations(events + broken))
    for picture_type in PICTURES:
        picture = picture_type(events)
        assert page(picture, interactive=True).startswith("<div")
    assert timeline_text(events) and meter_text(events)
    assert context_text(events) and inspector_text(events)


def test_a_turn_is_a_row_and_its_time_is_shared_out_by_kind(demo):
    layout = Layout(demo.events)
    layout.drawn()
    assert [(row.kind, row.turn) for row in layout.rows] == [
        ("user", 0), ("turn", 1), ("turn", 2), ("turn", 3),
    ]  # fmt: skip
    assert [bar.kind for bar in layout.rows[1].bars] == [
        "wait", "thinking", "text", "tool_call", "tool_call", "tool_result", "tool_result",
    ]  # fmt: skip
    assert abs(sum(layout.spent.values()) - demo.now) < 1e-6
    assert abs(layout.spent["wait"] - 4 * 0.8) < 1e-6


def test_tools_that_ran_together_lie_in_lanes_and_others_do_not(stream):
    calls = [("Read", {}), ("Read", {}), ("Read", {})]
    together = Layout(stream().start().turn_of(calls=calls, together=True).events)
    serial = Layout(stream().start().turn_of(calls=calls).events)
    assert [bar.lane for bar in bars(together, "tool_result")] == [0, 1, 2]
    assert [bar.lane for bar in bars(serial, "tool_result")] == [0, 0, 0]


def test_more_calls_than_the_cap_use_its_lanes_again_and_are_one_group(stream):
    run = stream().start().turn_of()
    run.events.pop()  # the turn goes on
    for index in range(5):  # two at a time: a call starts when the one before the last has ended
        run.add("tool.execution_start", tool_use_id=f"t{index}", name="Read", input={})
        run.now += 0.1
        if index:
            run.add("tool.execution_complete", tool_use_id=f"t{index - 1}", name="Read")
    run.add("tool.execution_complete", tool_use_id="t4", name="Read")
    (group,) = Layout(run.events).rows[1].groups()
    assert (len(group.calls), group.most) == (5, 2)


def test_batches_of_one_turn_are_groups_of_their_own(stream):
    run = stream().start().turn_of()
    run.events.pop()
    for batch in ("ab", "c", "de"):
        for name in batch:
            run.add("tool.execution_start", tool_use_id=name, name=name, input={})
        run.now += 0.1
        for name in batch:
            run.add("tool.execution_complete", tool_use_id=name, name=name)
    row = Layout(run.events).rows[1]
    assert [[call.key for call in group.calls] for group in row.groups()] == [
        ["a", "b"],
        ["d", "e"],
    ]
    assert row.together(10) == "2 together and 2 together (cap 10)"
    assert row.what(" | ") == "a | b, c, d | e"


def test_tools_that_ran_together_count_once(stream):
    calls = [("Read", {}), ("Read", {})]
    layout = Layout(stream().start().turn_of(calls=calls, together=True, tool_s=0.5).events)
    layout.drawn()
    assert abs(layout.spent["tool_result"] - 1.0) < 1e-6  # 0.5 and 1.0 seconds, from one moment


def test_a_retry_shows_the_failed_attempt_the_wait_and_the_next_attempt(stream):
    layout = Layout(stream().start().turn_of(text="hello", retries=1).events)
    first, retry, second, text = layout.rows[1].bars
    assert (first.kind, first.status) == ("wait", "failed")
    assert (retry.kind, retry.attempt, round(retry.end - retry.start, 3)) == ("retry", 2, 0.5)
    assert (second.kind, second.status, text.kind) == ("wait", "done", "text")


def test_a_transcript_gives_nearly_the_times_of_the_live_run(demo):
    live, stored = Layout(demo.events), Layout(demo.stored)
    live.drawn(), stored.drawn()
    assert live.spent.keys() == stored.spent.keys()
    assert all(abs(live.spent[kind] - stored.spent[kind]) < 0.2 for kind in live.spent)
    assert any(bar.estimated for bar in bars(stored, "text"))
    assert not any(bar.estimated for bar in bars(live, "text"))


def test_runs_follow_each_other_without_the_pause_between_them(stream):
    run = stream().start().turn_of(text="one").end()
    took, run.now = run.now, run.now + 3600
    run.start("And now?").turn_of(text="two").end()
    layout = Layout(run.events)
    assert layout.reach < 2 * took + 0.1
    assert [row.kind for row in layout.rows] == ["user", "turn", "user", "turn"]


def test_a_new_run_cancels_what_an_unfinished_one_left_open(stream):
    run = stream().start().open()
    run.start("Again").turn_of(text="two").end()
    layout = Layout(run.events)
    assert layout.rows[1].bars[0].status == "cancelled" and not layout.rows[1].open


def test_a_run_that_ends_in_the_middle_of_a_tool_leaves_it_cancelled(stream):
    run = stream().start().turn_of(calls=[("Bash", {"command": "sleep 9"})])
    events = [
        e for e in run.events if e.type not in ("tool.execution_complete", "assistant.turn_end")
    ]
    layout = Layout(events)
    assert layout.ending().startswith("Running")
    layout.add(run.end("cancelled").events[-2])
    assert bars(layout, "tool_result")[0].named == "Bash sleep 9 cancelled"
    assert layout.ending().startswith("Cancelled (1 turn, ")


def test_an_error_marks_what_was_running_and_says_what_to_do(stream):
    run = stream().start().open()
    run.add("session.error", status="error", error="Not found.", hint="Check the model's name")
    layout = Layout(run.end("error", "Not found.").events)
    assert layout.rows[1].bars[0].status == "failed"
    assert layout.ending() == "Failed: Not found. Check the model's name (1 turn, 0.8 s)"


def test_an_agent_within_a_run_has_rows_of_its_own_and_does_not_end_it(stream):
    run = stream().start().open()
    helper = stream("helper")
    helper.now = run.now
    run.events += helper.start("Look").turn_of(text="found").end().events
    layout = Layout(run.events)
    assert [row.agent for row in layout.rows] == ["main", "main", "helper", "helper"]
    assert layout.rows[1].open and not layout.rows[3].open and not layout.status


def test_what_it_does_not_know_is_passed_over(demo):
    strange = [Event("future.event", 99.0, 1, "main", {"x": 1}), *demo.events]
    assert timeline_text(strange) == timeline_text(demo.events)


def test_time_does_not_run_backwards(stream):
    run = stream().start().turn_of(text="one")
    run.now -= 1.0
    layout = Layout(run.turn_of(text="two").events)
    starts = [bar.start for row in layout.rows for bar in row.bars]
    assert starts == sorted(starts)


def test_a_wait_grows_while_nothing_is_heard_unless_the_clock_is_virtual(stream):
    for simulated, grown in ((False, 2.0), (True, 0.0)):
        picture = TimelinePicture(stream().start(simulated=simulated).open().events)
        before = picture.layout.reach
        picture.idle(2.0)
        assert round(picture.layout.reach - before, 6) == grown


def test_a_compaction_that_comes_to_nothing_leaves_no_row():
    about = {"reason": "share", "tokens": 900}
    live = [
        Event("session.start", 0.0, 0, "main", {"model": "m"}),
        Event("user.message", 0.0, 0, "main", {"message": {"role": "user", "content": "go"}}),
        Event("context.compacting", 1.0, 0, "main", about),
    ]
    assert [bar.label for bar in Layout(live).rows[-1].bars] == ["compacting"]
    live += [
        Event("context.not_compacted", 2.0, 0, "main", {"problem": "no", **about}),
        Event("assistant.turn_start", 2.0, 1, "main", {"messages": 1, "input_tokens": 900}),
    ]
    stored = [each for each in live if not each.live]
    rows = [
        [(row.kind, row.text, row.start) for row in Layout(seen).rows] for seen in (live, stored)
    ]
    assert rows[0] == rows[1]
    assert [kind for kind, *_ in rows[0]] == ["user", "user", "turn"]
