"""Breakpoints for the prompt cache, and the report on where two requests part."""

import copy
import itertools
import json

import anthropic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab import Agent, Limits, connect
from agentlab.caching import (
    MOST,
    has_breakpoints,
    may_carry,
    prefix_report,
    previous_end,
    with_breakpoints,
)
from agentlab.costs import Usage
from agentlab.messages import assistant, tool_result, tool_use, user
from agentlab.simulator import start
from agentlab.simulator.prefix import chain
from agentlab.simulator.scenarios.economy import DAYS, rain_of, write_diary
from agentlab.tables import THIN
from agentlab.toolbox.files import file_tools

MODEL = "claude-sonnet-5-5"
TASK = "How much rain fell in the thirty days of the diary?"
TOOLS = [
    {"name": name, "description": f"{name} it. " * 40, "input_schema": {"type": "object"}}
    for name in ("Read", "LS", "Grep")
]
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "sig"}
NO_THINKING = {"type": "thinking", "thinking": "", "signature": "sig"}


def request(*messages, **changes):
    return {"model": MODEL, "max_tokens": 100, "tools": TOOLS, "system": "Be brief. " * 100,
            "messages": list(messages), **changes}  # fmt: skip


def marks(body):
    """The places that are marked, as a reader would name them."""
    found = [f"tools[{i}]" for i, t in enumerate(body.get("tools") or []) if "cache_control" in t]
    system = body.get("system")
    blocks = system if isinstance(system, list) else []
    found += [f"system[{i}]" for i, block in enumerate(blocks) if "cache_control" in block]
    for m, message in enumerate(body["messages"]):
        content = message["content"] if isinstance(message["content"], list) else []
        found += [f"{m}.{b}" for b, block in enumerate(content) if "cache_control" in block]
    return found


def rounds(count, calls=1, result="r"):
    """A task and so many rounds of calls with their results."""
    messages = [user("go")]
    for n in range(count):
        ids = [f"t{n}_{c}" for c in range(calls)]
        messages.append(assistant(*(tool_use(id, "Read", {"n": id}) for id in ids)))
        messages.append(user(*(tool_result(id, result) for id in ids)))
    return messages


# ------------------------------------------------------------------------ where the marks go


def test_marked_are_the_last_tool_the_system_prompt_and_two_places_of_the_messages():
    made = with_breakpoints(request(*rounds(3)))
    assert marks(made) == ["tools[2]", "system[0]", "4.0", "6.0"]
    assert made["system"][0]["text"] == "Be brief. " * 100


def test_the_first_request_has_one_mark_in_its_messages():
    assert marks(with_breakpoints(request(user("go")))) == ["tools[2]", "system[0]", "0.0"]


def test_without_tools_and_system_prompt_the_messages_are_marked_all_the_same():
    body = {"model": MODEL, "max_tokens": 10, "messages": [{"role": "user", "content": "go"}]}
    assert marks(with_breakpoints(body)) == ["0.0"]


def test_a_deferred_tool_is_not_marked():
    """The API refuses a tool with both (seen in public reports, 2026-07)."""
    deferred = {**TOOLS[2], "defer_loading": True}
    made = with_breakpoints(request(user("go"), tools=[*TOOLS[:2], deferred]))
    assert marks(made)[0] == "tools[1]"
    only = with_breakpoints(request(user("go"), tools=[deferred]))
    assert marks(only) == ["system[0]", "0.0"]


def test_blocks_that_cannot_carry_a_mark_are_passed_over():
    paused = [user("go"), assistant("I think.", NO_THINKING)]
    assert marks(with_breakpoints(request(*paused)))[2:] == ["0.0", "1.0"]
    silent = [user("go"), assistant(THINKING)]
    assert marks(with_breakpoints(request(*silent)))[2:] == ["0.0"]
    empty = [user("go", {"type": "text", "text": " "})]
    assert marks(with_breakpoints(request(*empty)))[2:] == ["0.0"]
    assert not may_carry({"type": "redacted_thinking", "data": "x"})
    assert may_carry({"type": "web_search_tool_result", "tool_use_id": "t", "content": []})


def test_a_request_that_is_marked_already_is_left_as_it_is():
    by_hand = [
        request(user({"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}})),
        request(user("go"), cache_control={"type": "ephemeral"}),
        request(user("go"), tools=[{**TOOLS[0], "cache_control": {"type": "ephemeral"}}]),
        request(user(tool_result("t", [{"type": "text", "text": "r",
                                        "cache_control": {"type": "ephemeral"}}]))),
    ]  # fmt: skip
    for body in by_hand:
        assert has_breakpoints(body) and with_breakpoints(body) is body
    once = with_breakpoints(request(*rounds(2)))
    assert with_breakpoints(once) is once


def test_an_hour_can_be_asked_for():
    made = with_breakpoints(request(user("go")), ttl="1h")
    assert made["tools"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_the_place_where_the_request_before_ended_is_before_the_last_reply():
    assert previous_end([user("a")]) == -1
    assert previous_end([user("a"), assistant("b"), user("c"), user("d")]) == 0
    assert previous_end([user("a"), assistant("b"), user("c"), assistant("d")]) == 2


TEXTS = st.sampled_from(["", " ", "word", "a longer text"])
ANY_BLOCK = st.one_of(
    st.builds(lambda t: {"type": "text", "text": t}, TEXTS),
    st.sampled_from([THINKING, NO_THINKING, {"type": "redacted_thinking", "data": "x"}]),
    st.just(tool_use("t", "Read", {})),
    st.builds(lambda t: tool_result("t", t), TEXTS),
    st.just({"type": "something_new", "x": 1}),
)
ANY_MESSAGE = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "system"]),
        "content": st.one_of(TEXTS, st.lists(ANY_BLOCK, max_size=4)),
    }
)


@given(
    st.lists(ANY_MESSAGE, max_size=8),
    st.sampled_from([[], TOOLS]),
    st.one_of(TEXTS, st.lists(st.builds(lambda t: {"type": "text", "text": t}, TEXTS))),
)
def test_whatever_is_sent_there_are_at_most_four_marks_and_nothing_else_changes(
    messages, tools, system
):
    body = request(*messages, tools=tools, system=system)
    before = copy.deepcopy(body)
    made = with_breakpoints(body)
    assert body == before
    assert len(marks(made)) <= MOST
    assert [d for d in chain(made).digests] == [d for d in chain(body).digests]
    for place in marks(made):
        if place[0].isdigit():
            m, b = map(int, place.split("."))
            assert may_carry(made["messages"][m]["content"][b])


@given(st.lists(ANY_MESSAGE, min_size=1, max_size=10))
def test_the_prefix_is_byte_stable_from_turn_to_turn(messages):
    """What was sent once is sent in the same bytes ever after; only the marks move."""

    def bytes_of(body):
        for part in [*body["tools"], *body["system"]]:
            part.pop("cache_control", None)
        for message in body["messages"]:
            for block in message["content"]:
                if isinstance(block, dict):
                    block.pop("cache_control", None)
        return [json.dumps(m) for m in body["messages"]]

    sent = [
        bytes_of(copy.deepcopy(with_breakpoints(request(*messages[:n]))))
        for n in range(1, len(messages) + 1)
    ]
    for before, now in itertools.pairwise(sent):
        assert now[: len(before)] == before


# ------------------------------------------------------------------- what the server makes of it


def usage_of(simulator, *bodies):
    """What the server counted for these requests, sent one after another."""
    client = connect(simulator.base_url, model=MODEL).sync_client()
    return [Usage.from_api(client.messages.create(**body).usage) for body in bodies]


@pytest.fixture
def simulator():
    with start(validate=False) as running:
        yield running


def test_a_text_and_a_block_of_text_are_the_same_prefix(simulator):
    long = "It rained in the valley and on the hill. " * 200
    plain = {"role": "user", "content": long}
    first = request(plain, system="Be brief.", tools=[])
    second = request(plain, assistant("Yes."), user("And?"), system="Be brief.", tools=[])
    one, two = usage_of(simulator, with_breakpoints(first), with_breakpoints(second))
    assert two.cache_read_tokens == one.cache_write_5m_tokens > 2_000
    assert chain(first).whole == chain(with_breakpoints(first)).whole


def test_short_prompts_are_not_cached_and_that_is_harmless(simulator):
    [used] = usage_of(simulator, with_breakpoints(request(user("go"), tools=[], system="Hi.")))
    assert used.cache_write_tokens == used.cache_read_tokens == 0 < used.input_tokens


@pytest.mark.parametrize("calls", [1, 10, 30])
def test_a_turn_that_adds_many_blocks_still_finds_the_prefix(simulator, calls):
    """The server looks back over 20 blocks; 30 calls with results and texts are more."""
    history = rounds(3, calls, result="a line of the file. " * 10)
    for message in history:
        if message["role"] == "assistant":  # text between calls, so that no run counts as one
            message["content"] = [
                part
                for number, block in enumerate(message["content"])
                for part in ({"type": "text", "text": f"Now {number}."}, block)
            ]
    before, now = (with_breakpoints(request(*history[:end])) for end in (5, 7))
    one, two = usage_of(simulator, before, now)
    assert two.cache_read_tokens == one.prompt_tokens - one.input_tokens
    assert one.input_tokens == two.input_tokens == 0


async def test_over_thirty_turns_nine_tokens_of_ten_are_read_from_the_cache(tmp_path):
    write_diary(tmp_path)
    with start() as simulator:
        endpoint = connect(simulator.base_url, model=MODEL)
        agent = Agent(tools=file_tools(tmp_path), endpoint=endpoint, limits=Limits(turns=40))
        result = await agent.ask(TASK)
        log = simulator.log.since(0)
    assert result.ok and result.turns == DAYS + 1 == len(log)
    assert str(sum(map(rain_of, range(1, DAYS + 1)))) in result.text
    read = sum(entry.cache_read_tokens for entry in log)
    whole = sum(e.input_tokens + e.cache_write_tokens + e.cache_read_tokens for e in log)
    assert read / whole >= 0.9
    assert sum(entry.input_tokens for entry in log) == 0  # all else was written, once


async def test_without_the_marks_every_token_is_paid_in_full(tmp_path):
    write_diary(tmp_path)
    agent = Agent(tools=file_tools(tmp_path), limits=Limits(turns=6), cache=False)
    result = await agent.ask(TASK)
    assert result.usage.prompt_tokens == result.usage.input_tokens > 5_000


async def test_what_an_agent_sends_keeps_its_prefix(tmp_path):
    write_diary(tmp_path)
    endpoint = connect()
    mark = endpoint.simulator.log.mark()
    agent = Agent(tools=file_tools(tmp_path), endpoint=endpoint, limits=Limits(turns=8))
    await agent.ask(TASK)
    bodies = [endpoint.simulator.log.body(e.number) for e in endpoint.simulator.log.since(mark)]
    report = prefix_report(bodies)
    assert len(report.steps) == 7 and report.broken == []
    assert report.again_tokens == 0 == report.usd
    assert [len(marks(body)) for body in bodies] == [2] + 7 * [3]  # it has no system prompt


# ----------------------------------------------------------------------------- the prefix report


def two(first, second):
    """The one step from a request to the next."""
    [step] = prefix_report([first, second]).steps
    return step


HISTORY = rounds(3, result="a line of the file. " * 30)


def test_a_request_that_goes_on_keeps_the_prefix():
    step = two(request(*HISTORY[:5]), request(*HISTORY))
    assert (step.place, step.reason, step.again_tokens) == ("", "", 0)
    assert step.kept_tokens == chain(request(*HISTORY[:5])).total_tokens
    assert step.kept_tokens + step.new_tokens == chain(request(*HISTORY)).total_tokens


def test_spelling_makes_no_difference():
    plain = [{"role": "user", "content": "go"}, *HISTORY[1:]]
    marked = with_breakpoints(request(*plain, assistant("Done."), user("Thanks.")))
    assert prefix_report([request(*plain), marked]).broken == []
    shown = {"type": "adaptive", "display": "summarized"}
    settings = [request(*HISTORY, thinking=t) for t in ({"type": "adaptive"}, shown)]
    assert two(*settings).place == ""


REPLY = anthropic.types.Message.construct(
    content=[anthropic.types.TextBlock(type="text", text="Done.")]
)


def test_blocks_of_a_reply_may_be_objects_of_the_sdk():
    """What `messages.create` takes; with a mark or without, the same bytes are sent."""
    messages = [*HISTORY, {"role": "assistant", "content": REPLY.content}]
    plain = [*HISTORY, {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}]
    assert with_breakpoints(request(*messages)) == with_breakpoints(request(*plain))
    assert two(request(*messages), request(*plain, user("Thanks."))).place == ""


@pytest.mark.parametrize(
    "body",
    [
        {"messages": ["text"], "tools": "Read", "system": [5]},
        {"messages": [{"role": "user", "content": ["text", {"type": "text"}, {"type": "text",
                                                                              "text": None}]}]},
        {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "t"}]}]},
        {"messages": [{"role": "user", "content": [{"type": "image", "data": b"x"}]}]},
        {"messages": 5, "tools": [None]},
        {"messages": [{"role": "user", "content": "half \ud800"}]},
    ],
)  # fmt: skip
def test_a_body_that_a_server_refuses_is_compared_as_it_is_written(body):
    assert two(body, body).place == ""
    step = two(body, request(*HISTORY))
    assert step.reason and step.reason.encode()


def openai(*messages, tools="fg"):
    made = [{"type": "function", "function": {"name": name}} for name in tools]
    return {"model": "gpt-5", "messages": list(messages), "tools": made}


def test_bodies_in_the_form_of_openai_are_compared_whole():
    """Calls stand beside the content there, and the name of a tool one level down."""

    def called(arguments):
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    asked = {"role": "user", "content": "go"}
    step = two(openai(asked, called("{}")), openai(asked, called('{"x": 1}')))
    assert step.place == "messages[1].tool_calls"
    assert step.reason == "a message was edited: its tool_calls changed"
    step = two(openai(asked), openai(asked, tools="gf"))
    assert step.reason == "tools reordered: f, g, then g, f"


def test_a_block_with_the_same_text_and_other_fields_says_what_changed():
    cited = {"type": "text", "text": "Done.", "citations": [{"cited_text": "so"}]}
    plain = {"type": "text", "text": "Done."}
    step = two(request(*HISTORY, assistant(plain)), request(*HISTORY, assistant(cited)))
    assert "cit" in step.reason.split(" became ")[1]


def test_reordered_tools():
    step = two(request(*HISTORY), request(*HISTORY, tools=[TOOLS[1], TOOLS[0], TOOLS[2]]))
    assert step.place == "tools[0]"
    assert step.reason == "tools reordered: Read, LS, Grep, then LS, Read, Grep"
    assert step.kept_tokens == 0
    assert step.again_tokens == chain(request(*HISTORY)).total_tokens


def test_a_tool_that_came_went_or_changed():
    assert (
        "tools added: Edit"
        in two(
            request(*HISTORY), request(*HISTORY, tools=[*TOOLS, {**TOOLS[0], "name": "Edit"}])
        ).reason
    )
    new = two(request(*HISTORY, tools=TOOLS[:2]), request(*HISTORY))
    assert (new.place, new.reason) == ("tools[2]", "tools added: Grep")
    gone = two(request(*HISTORY), request(*HISTORY, tools=TOOLS[:2]))
    assert (gone.place, gone.reason) == ("tools[2]", "tools removed: Grep")
    other = [TOOLS[0], {**TOOLS[1], "description": "Other."}, TOOLS[2]]
    changed = two(request(*HISTORY), request(*HISTORY, tools=other))
    assert changed.place == "tools[1]"
    assert changed.reason == "the description of LS changed: 'LS it. LS it.…' became 'Other.'"
    none = [TOOLS[0], {**TOOLS[1], "input_schema": {"type": "object", "x": None}}, TOOLS[2]]
    strict = [TOOLS[0], {**TOOLS[1], "strict": True}, {**TOOLS[2], "strict": True}]
    reason = two(request(tools=TOOLS), request(tools=none)).reason
    assert reason.startswith("the input_schema of LS changed: '")
    assert reason.endswith(""""object"}' became '…ype": "object", "x": null}'""")
    assert two(request(tools=TOOLS), request(tools=strict)).reason == (
        "the strict of LS changed: 'null' became 'true'; 1 more tool changed"
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("It is 09:17.", "It is 09:18."),
        ("Today: Monday, 30 November 2026", "Today: Tuesday, 1 December 2026"),
        ("2026-11-30T09:17:00Z", "2026-11-30T09:17:01Z"),
        ("9:59 am", "10:00 pm"),
        ("Turn 9 of 25.", "Turn 10 of 25."),
    ],
)
def test_a_clock_in_the_system_prompt(first, second):
    text = "You are a careful agent. {} Be brief."
    step = two(
        request(*HISTORY, system=text.format(first)), request(*HISTORY, system=text.format(second))
    )
    assert step.place == "system[0]"
    assert step.reason.startswith("a clock or a counter in the system prompt: '")
    assert " became '" in step.reason


def test_a_clock_elsewhere_is_named_too():
    dated = [[{**TOOLS[0], "description": f"Today is 2026-11-{day}."}] for day in (29, 30)]
    step = two(*(request(*HISTORY, tools=tools) for tools in dated))
    assert step.reason == (
        "a clock or a counter in the description of Read: "
        "'…ay is 2026-11-29.' became '…ay is 2026-11-30.'"
    )
    step = two(*(request(user(f"It is {time}. Go."), *HISTORY[1:]) for time in ("9:17", "9:18")))
    assert step.reason.startswith("a clock or a counter in a message: 'It is 9:17. Go.' became")


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        ("Be brief.", "Be brief. ", "'Be brief.' became 'Be brief. '"),
        ("a\nb", "a\r\nb", r"'a\nb' became 'a\r\nb'"),
        ("perch\u00e9", "perche\u0301", r"'perch\xe9' became 'perche\u0301'"),
    ],
)
def test_a_difference_that_nobody_sees_is_spelled_out(first, second, shown):
    step = two(request(*HISTORY, system=first), request(*HISTORY, system=second))
    assert step.reason == f"the system prompt changed: {shown}"


def test_another_system_prompt_is_no_clock():
    step = two(request(*HISTORY, system="Be brief."), request(*HISTORY, system="Be polite."))
    assert step.reason.startswith("the system prompt changed: ")
    gone = two(request(*HISTORY), request(*HISTORY, system=""))
    assert (gone.place, gone.reason) == ("system[0]", "a system prompt was taken away")
    new = two(request(*HISTORY, system=""), request(*HISTORY))
    assert (new.place, new.reason) == ("system[0]", "a system prompt was added")


def test_an_edited_message():
    edited = [user("go on"), *HISTORY[1:]]
    step = two(request(*HISTORY), request(*edited))
    assert step.place == "messages[0].content[0]"
    assert step.reason == "a message was edited: 'go' became 'go on'"


def test_a_result_that_was_changed_after_it_had_been_sent():
    changed = copy.deepcopy(HISTORY)
    changed[2]["content"][0]["content"] = "[preview: 600 characters, see results/t0_0.txt]"
    step = two(request(*HISTORY), request(*changed, assistant("Done."), user("Thanks.")))
    assert step.place == "messages[2].content[0]"
    assert step.reason == "the result of t0_0 was changed after it had been sent"
    assert step.again_tokens == chain(request(*HISTORY)).total_tokens - step.kept_tokens - (
        chain(request(*HISTORY[:3])).total_tokens - chain(request(*HISTORY[:2])).total_tokens
    )


def test_a_front_that_was_cut():
    step = two(request(*HISTORY), request(*HISTORY[2:]))
    assert step.place == "messages[0].content[0]"
    assert step.reason == "the front was cut: 2 messages gone"
    assert step.new_tokens == 0


def test_a_middle_that_was_cut():
    step = two(request(*HISTORY), request(*HISTORY[:3], *HISTORY[5:]))
    assert step.reason == "the middle was cut: 2 messages gone"


def test_thinking_that_was_dropped():
    thought = [user("go"), assistant(THINKING, tool_use("t", "Read", {})), *HISTORY[2:]]
    without = [user("go"), assistant(tool_use("t", "Read", {})), *HISTORY[2:]]
    assert two(request(*thought), request(*without)).reason == "thinking was dropped"


def test_a_block_that_was_put_in():
    reminder = [user("Mind the time."), *HISTORY]
    step = two(request(*HISTORY), request(*reminder))
    assert step.reason == "1 block put in before what had been sent"


def test_parallel_results_that_come_in_another_order():
    one, other = tool_result("a", "x" * 400), tool_result("b", "y" * 400)
    start_ = [user("go"), assistant(tool_use("a", "Read", {}), tool_use("b", "Read", {}))]
    step = two(request(*start_, user(one, other)), request(*start_, user(other, one)))
    assert step.place == "messages[2].content[0]"
    assert step.reason == "the blocks of a message were reordered" and step.again_tokens > 200


def test_a_call_whose_input_was_shortened_later():
    """Harnesses cut large inputs (a file that was written) out of the history."""
    short = copy.deepcopy(HISTORY)
    short[1]["content"][-1]["input"] = {"file_path": "[cut]"}
    step = two(request(*HISTORY), request(*short))
    assert step.reason == "a message was edited: its tool_use changed"


MIND = {"type": "text", "text": "Mind the time."}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}


@pytest.mark.parametrize("block", [MIND, IMAGE])
def test_a_block_that_was_taken_out(block):
    go = {"type": "text", "text": "go"}
    for content, place in (([block, go], 0), ([go, block], 1)):
        step = two(request(user(*content), *HISTORY[1:]), request(*HISTORY))
        assert step.reason == "a message lost 1 block"
        assert step.place == f"messages[0].content[{place}]"


def test_a_reminder_that_stood_behind_the_last_results_and_is_not_sent_again():
    reminded = [*HISTORY[:2], user(*HISTORY[2]["content"], MIND, MIND)]
    step = two(request(*reminded), request(*HISTORY))
    assert step.place == "messages[2].content[1]" and step.reason == "a message lost 2 blocks"


def test_another_conversation():
    step = two(request(*HISTORY), request(assistant("Something else."), user("Hm.")))
    assert step.reason == "another message stands there" and step.again_tokens == 0


def test_another_model_has_a_cache_of_its_own():
    step = two(request(*HISTORY), request(*HISTORY, model="claude-haiku-5-5"))
    assert step.place == "model" and "claude-haiku-5-5" in step.reason
    assert step.kept_tokens == 0


def test_settings_that_render_the_messages_anew():
    step = two(request(*HISTORY), request(*HISTORY, tool_choice={"type": "none"}))
    assert step.place == "tool_choice" and step.kept_tokens > 0
    thinking = two(request(*HISTORY), request(*HISTORY, thinking={"type": "adaptive"}))
    assert thinking.reason == "thinking changed, which renders all messages anew"
    other_vendors = two(request(*HISTORY, tool_choice="auto"), request(*HISTORY))
    assert other_vendors.place == "tool_choice"


def test_a_step_back_loses_nothing():
    step = two(request(*HISTORY), request(*HISTORY[:3]))
    assert step.place == "" and step.reason == "it is a beginning of the request before"


def test_what_it_costs_is_writing_instead_of_reading():
    step = two(request(*HISTORY), request(*HISTORY, system="x"))
    assert step.usd == pytest.approx(step.again_tokens * (2.5 - 0.1) / 1e6)
    unknown = [request(*HISTORY, model="llama-9", system=s) for s in "ab"]
    assert two(*unknown).usd is None and prefix_report(unknown).usd is None


def test_the_report_shows_itself():
    bodies = [request(*HISTORY[:n], system=f"Turn {n}") for n in (1, 3, 5)]
    bodies.append(request(*HISTORY, system="Turn 5"))
    report = prefix_report(bodies)
    lines = str(report).replace(THIN, " ").splitlines()
    assert lines[0].startswith("Prefix kept at 1 of 3 requests: ")
    assert lines[2].split()[0] == "2" and "a clock or a counter" in lines[2]
    assert len(lines) == 5 and "<table>" in report._repr_html_()
    for nothing_to_compare in ([], bodies[:1]):
        assert str(prefix_report(nothing_to_compare)).startswith("Prefix kept at 0 of 0")


@pytest.mark.parametrize("given_", [request(*HISTORY), [request(*HISTORY), None], ["text"]])
def test_what_is_no_list_of_bodies_is_refused_with_a_word_on_what_is_wanted(given_):
    with pytest.raises(TypeError, match=r"request \d is .*, not a body: give a list of them"):
        prefix_report(given_)


BODIES = st.builds(
    lambda messages, tools, system: request(*messages, tools=tools, system=system),
    st.lists(ANY_MESSAGE.filter(lambda m: m["role"] != "system"), max_size=6),
    st.permutations(TOOLS).map(lambda tools: tools[:2]),
    TEXTS,
)


@settings(deadline=None)
@given(st.lists(BODIES, max_size=4))
def test_any_requests_give_a_report_whose_tokens_add_up(bodies):
    for step, body in zip(prefix_report(bodies).steps, bodies[1:], strict=True):
        total = step.kept_tokens + step.again_tokens + step.new_tokens
        assert step.place == "" or total == chain(body).total_tokens
        assert (step.place != "") <= (step.reason != "")
        assert min(step.kept_tokens, step.again_tokens, step.new_tokens) >= 0


@settings(deadline=None)
@given(BODIES, BODIES)
def test_the_report_parts_where_the_servers_hashes_do(first, second):
    """The simulator's hashes are made in another way; they must agree on what is the same."""
    step = two(first, second)
    a, b = chain(first).cache_hashes(), chain(second).cache_hashes()
    same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    kept = chain(second).tokens[min(same, len(b)) - 1]
    assert step.kept_tokens == kept
