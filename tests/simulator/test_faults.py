"""Faults: when they are played, what the real SDK makes of them, and files of them."""

import json
import time

import anthropic
import httpx2
import pytest

from agentlab.models import all_models, default_model, small_model
from agentlab.simulator import Fault, FaultError, Faults, load_faults, marks, start
from agentlab.simulator.broken import spoil_reply
from agentlab.simulator.faults import KINDS
from agentlab.simulator.rehearsal import definitions
from agentlab.simulator.reply import Reply
from agentlab.simulator.scenario import all_scenarios, get

MODEL = default_model()
TOOL = {
    "name": "Calculator",
    "input_schema": {"type": "object", "properties": {"expression": {"type": "string"}}},
}
BODY = {
    "model": MODEL,
    "max_tokens": 1000,
    "tools": [TOOL],
    "messages": [{"role": "user", "content": "What is 2 + 2?"}],
}


@pytest.fixture(scope="module")
def running():
    with start() as simulator:
        yield simulator


@pytest.fixture
def simulator(running):
    running.faults.clear()
    running.faults.on = True
    return running


@pytest.fixture
def client(simulator):
    with anthropic.Anthropic(api_key="k", base_url=simulator.base_url, max_retries=0) as made:
        yield made


def whole(client):
    return client.messages.create(**BODY)


def streamed(client):
    with client.messages.stream(**BODY) as stream:
        return stream.get_final_message()


@pytest.fixture(params=[whole, streamed])
def ask(request, client):
    return lambda: request.param(client)


# When


def test_by_call_number_counted_from_when_it_was_added(simulator, ask):
    ask()
    armed = simulator.faults.add(Fault("status", status=529, calls=(1, 3)))
    outcomes = []
    for _ in range(4):
        try:
            ask()
            outcomes.append("fine")
        except anthropic.OverloadedError:
            outcomes.append("529")
    assert outcomes == ["529", "fine", "529", "fine"]
    assert (armed.calls, armed.played) == (4, 2)
    assert repr(armed) == "<status, on, played 2 of 4 calls>"


def test_by_seeded_probability_the_same_calls_again():
    fault = Fault("status", probability=0.3, seed=7)
    played = [call for call in range(1, 1001) if fault.applies(call, "")]
    assert played == [call for call in range(1, 1001) if fault.applies(call, "")]
    assert 230 < len(played) < 370
    assert played != [c for c in range(1, 1001) if Fault("status", probability=0.3).applies(c, "")]


def test_by_switch(simulator, ask):
    armed = simulator.faults.add(Fault("status"))
    for switch in (armed, simulator.faults):
        switch.on = False
        ask()
        switch.on = True
        with pytest.raises(anthropic.OverloadedError):
            ask()


def test_only_for_one_model(simulator, client, ask):
    simulator.faults.add(Fault("status", model=MODEL))
    with pytest.raises(anthropic.OverloadedError):
        ask()
    client.messages.create(**{**BODY, "model": small_model()})


def test_the_first_that_applies_is_played():
    faults = Faults([Fault("stall", calls=(2,)), Fault("status"), Fault("empty")])
    assert [faults.pick().kind for _ in range(3)] == ["status", "stall", "status"]
    faults.clear()
    assert faults.pick() is None


def test_the_log_names_the_fault(simulator, ask):
    simulator.faults.add(Fault("status", status=500))
    with pytest.raises(anthropic.InternalServerError):
        ask()
    assert (simulator.log.last.status, simulator.log.last.fault) == (500, "status")


def test_an_invalid_request_is_refused_before_its_answer_is_spoilt(simulator, client):
    simulator.faults.add(Fault("empty"))
    with pytest.raises(anthropic.BadRequestError):
        client.messages.create(**{**BODY, "messages": []})


# What


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, anthropic.BadRequestError, "invalid_request_error"),
        (401, anthropic.AuthenticationError, "authentication_error"),
        (402, anthropic.PaymentRequiredError, "billing_error"),
        (403, anthropic.PermissionDeniedError, "permission_error"),
        (404, anthropic.NotFoundError, "not_found_error"),
        (409, anthropic.ConflictError, "conflict_error"),
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (503, anthropic.ServiceUnavailableError, "api_error"),
        (504, anthropic.GatewayTimeoutError, "timeout_error"),
        (529, anthropic.OverloadedError, "overloaded_error"),
    ],
)
def test_a_status_has_its_envelope(simulator, ask, status, error, kind):
    simulator.faults.add(Fault("status", status=status))
    with pytest.raises(error) as caught:
        ask()
    assert caught.value.type == kind
    assert caught.value.request_id


def test_a_status_may_say_more(simulator, ask):
    headers = {"Retry-After": "2", "anthropic-ratelimit-requests-remaining": "0"}
    code = {"error_code": "ramp_limit_exceeded"}
    simulator.faults.add(Fault("status", status=429, message="Slow down", headers=headers, **code))
    with pytest.raises(anthropic.RateLimitError) as caught:
        ask()
    assert caught.value.api_message == "Slow down"
    assert caught.value.error_code == "ramp_limit_exceeded"
    assert caught.value.response.headers["retry-after"] == "2"
    assert caught.value.response.headers["anthropic-ratelimit-requests-remaining"] == "0"


def test_the_sdk_retries_as_it_would_on_the_real_api(simulator):
    simulator.faults.add(Fault("status", headers={"retry-after-ms": "1"}, calls=(1, 2)))
    mark = simulator.log.mark()
    with anthropic.Anthropic(api_key="k", base_url=simulator.base_url) as patient:
        whole(patient)
    assert [e.status for e in simulator.log.since(mark)] == [529, 529, 200]


@pytest.mark.parametrize("kind", ["refuse", "reset"])
def test_a_connection_that_fails(simulator, ask, kind):
    simulator.faults.add(Fault(kind, calls=(1,)))
    with pytest.raises(anthropic.APIConnectionError):
        ask()
    assert simulator.log.last.status == 0
    ask()


def test_a_stream_cut_clean_ends_without_an_error(simulator, client):
    simulator.faults.add(Fault("cut_clean", after=5))
    message = streamed(client)
    assert message.stop_reason is None


@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_stream_cut_dirty_is_a_transport_error(simulator, client, after):
    simulator.faults.add(Fault("cut_dirty", after=after))
    with pytest.raises((httpx2.RemoteProtocolError, httpx2.ReadError)):
        streamed(client)


def test_an_answer_that_does_not_stream_can_be_cut_too(simulator, client):
    simulator.faults.add(Fault("cut_dirty", calls=(1,)))
    simulator.faults.add(Fault("cut_clean"))
    with pytest.raises(anthropic.APIConnectionError):
        whole(client)
    with pytest.raises(json.JSONDecodeError):
        whole(client)


def test_an_error_event_in_mid_stream(simulator, client):
    simulator.faults.add(Fault("error_event"))
    with pytest.raises(anthropic.APIStatusError) as caught:
        streamed(client)
    assert type(caught.value) is anthropic.APIStatusError
    assert (caught.value.status_code, caught.value.type) == (200, "overloaded_error")
    with pytest.raises(anthropic.OverloadedError):
        whole(client)
    entries = list(simulator.log)[-2:]
    assert [(e.status, e.fault) for e in entries] == [(200, "error_event"), (529, "error_event")]


def test_a_stall_outlasts_an_impatient_client(simulator, client):
    simulator.faults.add(Fault("stall", after=2))
    impatient = client.with_options(timeout=0.2)
    started = time.monotonic()
    with pytest.raises(httpx2.ReadTimeout):
        streamed(impatient)
    with pytest.raises(anthropic.APITimeoutError):
        whole(impatient)
    assert time.monotonic() - started < 5


def test_a_short_stall_only_takes_time(simulator, ask):
    fine = ask()
    simulator.faults.add(Fault("stall", seconds=0.2))
    started = time.monotonic()
    assert ask().content == fine.content
    assert time.monotonic() - started >= 0.2


def test_tool_input_that_is_not_json(simulator, client):
    simulator.faults.add(Fault("bad_json"))
    with pytest.raises(ValueError, match="Unable to parse tool parameter JSON"):
        streamed(client)


def test_truncation_in_the_middle_of_a_tool_call(simulator, client):
    full = whole(client)
    simulator.faults.add(Fault("truncate"))
    message = streamed(client)
    assert message.stop_reason == "max_tokens"
    assert message.content[-1].type == "tool_use"
    assert message.content[-1].input != full.content[-1].input
    assert message.usage.output_tokens == full.usage.output_tokens - 3


def test_truncation_after_some_tokens(simulator, ask):
    simulator.faults.add(Fault("truncate", tokens=2))
    message = ask()
    assert [block.type for block in message.content] == ["text"]
    assert message.usage.output_tokens == 2


def test_a_reply_without_any_token_is_billed_for_one(simulator, client):
    simulator.faults.add(Fault("truncate", tokens=0))
    message = streamed(client)
    assert (message.content, message.usage.output_tokens) == ([], 1)
    assert simulator.log.last.output_tokens == 1


def test_ids_of_tool_calls_go_wrong(simulator, client):
    first = streamed(client)
    history = [
        *BODY["messages"],
        {"role": "assistant", "content": [b.to_dict() for b in first.content]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": first.content[-1].id, "content": "4"},
                {"type": "text", "text": "What is 3 + 3?"},
            ],
        },
    ]
    simulator.faults.add(Fault("duplicate_ids", calls=(1,)))
    simulator.faults.add(Fault("blank_ids"))
    again = client.messages.create(**{**BODY, "messages": history})
    assert again.content[-1].id == first.content[-1].id
    assert streamed(client).content[-1].id == ""


def test_a_message_without_content(simulator, ask):
    simulator.faults.add(Fault("empty"))
    assert ask().content == []


def test_what_nobody_knows_yet(simulator, client):
    fine = whole(client)
    simulator.faults.add(Fault("unknown_event", calls=(1,)))
    simulator.faults.add(Fault("unknown_block", calls=(2,)))
    simulator.faults.add(Fault("unknown_stop", calls=(3,)))
    assert streamed(client).content[-1].id == fine.content[-1].id
    assert streamed(client).content[0].type == "future_block"
    assert streamed(client).stop_reason == "future_stop"


def test_every_kind_is_described_and_unknown_ones_are_refused():
    from pydantic import ValidationError

    assert len(KINDS) == 16
    with pytest.raises(ValidationError, match="Input should be 'status', 'refuse'"):
        Fault("explode")


# A model that repeats itself

READ = {
    "name": "Read",
    "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}},
}
TOOLS = {
    "Read": lambda file_path="": f"{file_path}: heron, wren, lark",
    "LS": lambda path=".": "README.md\ndata.csv" if path != "." else "README.md\nnotes/",
    "Grep": lambda pattern="", path=".": "README.md:1: TODO",
    "Calculator": lambda expression="": "42",
    "Clock": lambda: "2026-11-30T09:17+00:00",
    "Write": lambda file_path="", content="": "Written.",
    "Bash": lambda command="": "exit code: 0\n1",
    "TaskComplete": lambda summary="": "Noted.",
}


def converse(client, task, turns=7, tools=TOOLS, history=(), **request):
    """The plainest loop: the tool calls that were made, the last text, and the history."""
    messages, calls, text = [*history, {"role": "user", "content": task}], [], ""
    body = {"model": MODEL, "max_tokens": 4000, "tools": definitions(tools), **request}
    for _ in range(turns):
        reply = client.messages.create(**body, messages=messages)
        text = "".join(block.text for block in reply.content if block.type == "text")
        messages.append({"role": "assistant", "content": [b.to_dict() for b in reply.content]})
        made = [block for block in reply.content if block.type == "tool_use"]
        if not made:
            return calls, text, messages
        calls += [(call.name, call.input) for call in made]
        messages.append({"role": "user", "content": [result(call, tools) for call in made]})
    return calls, text, messages


def result(call, tools):
    block = {"type": "tool_result", "tool_use_id": call.id}
    try:
        return {**block, "content": tools[call.name](**call.input)}
    except (KeyError, TypeError) as error:
        return {**block, "content": str(error), "is_error": True}


def ids(messages):
    blocks = [b for m in messages if m["role"] == "assistant" for b in m["content"]]
    return [block["id"] for block in blocks if block["type"] == "tool_use"]


def test_a_looping_model_makes_its_last_call_again_under_a_fresh_id(simulator, client):
    task = "Read the three files pond.md, hedge.md and roof.md."
    simulator.faults.add(Fault("loop"))
    calls, _, messages = converse(client, task, turns=4)
    assert calls[3:] == [("Read", {"file_path": "roof.md"})] * 3
    assert len(set(ids(messages))) == len(ids(messages)) == 6
    assert [marks.decode(id).step for id in ids(messages)] == [1] * 6
    last = simulator.log.last
    assert (last.fault, last.stop_reason) == ("loop", "tool_use")


@pytest.mark.parametrize("scenario", [s.name for s in all_scenarios()])
def test_every_scenario_goes_on_where_it_was_when_the_loop_ends(simulator, client, scenario):
    task, forced = get(scenario).example, {"agentlab-scenario": scenario}
    calls, text, messages = converse(client, task, extra_headers=forced)
    ends = messages[-1]["role"] == "assistant"
    for number in range(2, len(messages) // 2 + 1):
        simulator.faults.clear()
        armed = simulator.faults.add(Fault("loop", calls=(number, number + 1)))
        looped, final, _ = converse(client, task, turns=9, extra_headers=forced)
        assert armed.played in (1, 2) or not calls
        assert without_repeats(looped)[: len(calls)] == without_repeats(calls)
        assert final == text or not ends


def without_repeats(calls):
    return [call for n, call in enumerate(calls) if n == 0 or call != calls[n - 1]]


def test_what_ends_the_loop_may_be_the_number_of_times(simulator, client):
    armed = simulator.faults.add(Fault("loop", times=2))
    calls, text, _ = converse(client, "What is 6 * 7?")
    assert len(calls) == 3 and "42" in text
    assert armed.spent and armed.played == 2


def test_a_looping_model_turns_to_a_new_task(simulator, client):
    _, _, history = converse(client, "What is 6 * 7?")
    armed = simulator.faults.add(Fault("loop"))
    calls, _, _ = converse(client, "Read pond.md", turns=2, history=history)
    assert calls == [("Read", {"file_path": "pond.md"})] * 2
    assert armed.played == 1


@pytest.mark.parametrize(
    "request_", [{"tools": [READ]}, {"tools": [TOOL], "tool_choice": {"type": "none"}}]
)
def test_a_looping_model_only_calls_what_it_may_call(simulator, client, request_):
    _, _, messages = converse(client, "What is 6 * 7?", turns=1)
    armed = simulator.faults.add(Fault("loop"))
    reply = client.messages.create(model=MODEL, max_tokens=1000, messages=messages, **request_)
    assert reply.stop_reason == "end_turn" and armed.played == 0


@pytest.mark.filterwarnings("ignore:Using Claude with")
def test_a_looping_model_may_have_to_think_first(simulator, client):
    armed = simulator.faults.add(Fault("loop", times=1))
    model = next(name for name, known in all_models().items() if "enabled" in known.thinking)
    thinking = {"type": "enabled", "budget_tokens": 1024}
    calls, text, _ = converse(client, "What is 6 * 7?", model=model, thinking=thinking)
    assert len(calls) == 2 and "42" in text and armed.played == 1


def test_a_call_with_an_id_from_elsewhere_is_repeated_too(simulator, client):
    _, _, messages = converse(client, "What is 6 * 7?", turns=1)
    text = json.dumps(messages).replace(ids(messages)[0], "toolu_of_another_server")
    simulator.faults.add(Fault("loop"))
    body = {**BODY, "messages": json.loads(text)}
    call = client.messages.create(**body).content[-1]
    assert (call.name, call.input) == ("Calculator", {"expression": "6 * 7"})
    assert call.id.startswith("toolu_") and call.id != "toolu_of_another_server"


@pytest.mark.parametrize("messages", [[], ["?"], [{"role": "assistant", "content": [{}]}], None])
def test_without_validation_a_loop_takes_any_history(messages):
    body = {"messages": messages, "tools": ["?"]}
    assert spoil_reply(Reply("msg", MODEL, [], "end_turn", {}), Fault("loop"), body).content == []


# How often


def test_a_fault_that_finds_nothing_to_spoil_was_not_played(simulator, ask):
    simulator.faults.clear()
    told = []
    armed = simulator.faults.add(Fault("loop", times=1), lambda: told.append(armed.played))
    ask()
    assert (armed.played, armed.spent, simulator.log.last.fault) == (0, False, "")
    assert told == [1, 0]


def test_bad_json_waits_for_a_reply_with_a_call(simulator, client):
    armed = simulator.faults.add(Fault("bad_json", times=1))
    client.messages.create(model=MODEL, max_tokens=100, messages=BODY["messages"])
    assert armed.played == 0
    with pytest.raises(ValueError, match="Unable to parse tool parameter JSON"):
        streamed(client)
    assert armed.spent
    streamed(client)


def test_a_fault_can_be_taken_away(simulator, ask):
    first = simulator.faults.add(Fault("status", status=429))
    second = simulator.faults.add(Fault("status", status=529))
    simulator.faults.remove(first)
    simulator.faults.remove(first)
    with pytest.raises(anthropic.OverloadedError):
        ask()
    assert list(simulator.faults) == [second] and second.played == 1


# From a file


def test_faults_from_a_file(tmp_path):
    path = tmp_path / "faults.json"
    entries = [{"kind": "status", "status": 429, "calls": [2]}, {"kind": "stall", "seconds": 0}]
    path.write_text(json.dumps(entries))
    assert load_faults(path) == [
        Fault("status", status=429, calls=(2,)),
        Fault("stall", seconds=0),
    ]
    with start(faults=path) as simulator:
        client = anthropic.Anthropic(api_key="k", base_url=simulator.base_url, max_retries=0)
        with client:
            whole(client)
            with pytest.raises(anthropic.RateLimitError):
                whole(client)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("{}", 'should be a list of faults, such as [{"kind": "status"'),
        ("[1]", "fault 1: should be an object, such as"),
        ('[{"status": 500}]', "fault 1: 'kind' is missing. Allowed: status, refuse, reset"),
        ('[{"kind": "stall"}, {"kind": "boom"}]', "fault 2: kind: Input should be 'status'"),
        ('[{"kind": "stall", "second": 1}]', "fault 1: no field 'second'. Allowed: kind, calls"),
        ('[{"kind": "status", "status": 200}]', "status: Input should be greater than or equal"),
        ('[{"kind": "status", "calls": "1"}]', "fault 1: calls: Input should be a valid tuple"),
        ('[{"kind": "loop", "times": 0}]', "fault 1: times: Input should be greater than or equal"),
    ],
)
def test_a_bad_file_says_where_and_what_is_allowed(tmp_path, content, message):
    path = tmp_path / "faults.json"
    path.write_text(content)
    with pytest.raises(FaultError) as caught:
        load_faults(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(FaultError, match="cannot be read"):
        load_faults(tmp_path / "none.json")
