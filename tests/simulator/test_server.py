"""The server: the real SDK over real HTTP, streams, counting, models, threads, and many at once."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time

import anthropic
import httpx2
import pytest

from agentlab import simulator as package
from agentlab import tokens
from agentlab.clock import RealClock, VirtualClock
from agentlab.models import all_models, default_model
from agentlab.simulator import Fault, make_app, server, shared, start, wire
from agentlab.simulator.prefix import chain
from agentlab.simulator.scenario import scenario

MODELS = all_models().values()
MODEL = default_model()
SHOWS_THINKING = next(m.id for m in MODELS if {"enabled", "adaptive"} <= set(m.thinking))
ASK = {"role": "user", "content": "What is 2 + 2?"}
TOOL = {
    "name": "Calculator",
    "input_schema": {"type": "object", "properties": {"expression": {"type": "string"}}},
}
POEM = "Roses are red, violets are blue, and “this” is a line of ünïcode too. THE END\nNot this."


@scenario("server-poem")
def poem(chat):
    """A thought and a text."""
    yield chat.think("A short poem.").say(POEM)


@scenario("server-refusal")
def refusal(chat):
    """A refusal."""
    yield chat.say("No.").stop("refusal", category="cyber", explanation="because")


@scenario("server-bug")
def bug(chat):
    """A mistake in a scenario."""
    yield chat.say(1 / 0)


@pytest.fixture(scope="module")
def simulator():
    with start() as running:
        yield running


@pytest.fixture(scope="module")
def client(simulator):
    with anthropic.Anthropic(
        api_key="k", base_url=simulator.base_url, _strict_response_validation=True, max_retries=0
    ) as made:
        yield made


def body(**changes):
    made = {"model": MODEL, "max_tokens": 1000, "tools": [TOOL], "messages": [ASK]} | changes
    return {key: value for key, value in made.items() if value is not ...}


def playing(name, **more):
    return {"extra_headers": {"agentlab-scenario": name}, **body(), **more}


def raw(simulator, path="/v1/messages", method="POST", **arguments):
    headers = {"x-api-key": "k", "anthropic-version": "2026-10-21"} | arguments.pop("headers", {})
    return httpx2.request(method, simulator.base_url + path, headers=headers, **arguments)


# Messages


def test_a_message_has_the_shape_that_the_sdk_expects(client):
    message = client.messages.create(**body())
    assert (message.type, message.role, message.model) == ("message", "assistant", MODEL)
    assert message.stop_reason == "tool_use"
    assert message.content[-1].input == {"expression": "2 + 2"}
    assert message.usage.input_tokens == chain(body()).total_tokens
    assert message.usage.output_tokens == sum(
        tokens.count_content(block.to_dict()) for block in message.content
    )
    assert message._request_id.startswith("req_")


def test_a_stream_adds_up_to_the_same_message(client):
    whole = client.messages.create(**playing("server-poem"))
    with client.messages.stream(**playing("server-poem")) as stream:
        text = "".join(stream.text_stream)
        assert text == POEM
        assert stream.get_final_message().to_dict() == whole.to_dict() | {
            "content": [block.to_dict() for block in whole.content]
        }


def test_the_same_request_gets_the_same_bytes(simulator):
    answers = [raw(simulator, json=body(stream=True)) for _ in range(2)]
    assert answers[0].content == answers[1].content
    assert answers[0].headers["request-id"] == answers[1].headers["request-id"]


def records(answer):
    found = []
    for record in answer.text.strip().split("\n\n"):
        name, data = record.split("\n")
        value = json.loads(data.removeprefix("data: "))
        assert name == f"event: {value['type']}"
        found.append(value)
    return found


def test_the_stream_has_the_shapes_of_the_api(simulator):
    asked = body(model=SHOWS_THINKING, stream=True, thinking={"type": "adaptive"})
    headers = {"agentlab-scenario": "server-poem"}
    answer = raw(simulator, json=asked, headers=headers)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    events = records(answer)
    kinds = [e["type"] for e in events]
    assert kinds[:3] == ["message_start", "content_block_start", "ping"]
    assert kinds[-2:] == ["message_delta", "message_stop"]
    opened = events[0]["message"]
    assert (opened["content"], opened["stop_reason"]) == ([], None)
    assert opened["usage"]["output_tokens"] == 1
    assert events[1]["content_block"] == {"type": "thinking", "thinking": "", "signature": ""}
    deltas = [e["delta"] for e in events if e["type"] == "content_block_delta"]
    thoughts = [d["thinking"] for d in deltas if d["type"] == "thinking_delta"]
    assert "".join(thoughts) == "A short poem."
    assert [d["type"] for d in deltas].count("signature_delta") == 1
    pieces = [d["text"] for d in deltas if d["type"] == "text_delta"]
    assert "".join(pieces) == POEM
    assert all(len(piece) <= 24 for piece in pieces) and len(pieces) > 3
    assert events[-2]["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert events[-2]["usage"]["output_tokens"] > 10


def test_a_tool_call_streams_its_input_in_pieces(simulator):
    events = records(raw(simulator, json=body(stream=True)))
    deltas = [e["delta"] for e in events if e["type"] == "content_block_delta"]
    pieces = [d["partial_json"] for d in deltas if d["type"] == "input_json_delta"]
    assert pieces[0] == ""
    assert json.loads("".join(pieces)) == {"expression": "2 + 2"}
    opened = next(e for e in events if e.get("content_block", {}).get("type") == "tool_use")
    assert opened["content_block"]["input"] == {}


@pytest.mark.parametrize(("display", "shown"), [("summarized", "A short poem."), ("omitted", "")])
def test_thinking_is_shown_or_omitted_and_counted_either_way(client, display, shown):
    asked = playing("server-poem", thinking={"type": "adaptive", "display": display})
    message = client.messages.create(**asked)
    assert message.content[0].thinking == shown
    assert message.content[0].signature
    assert message.usage.output_tokens_details.thinking_tokens == tokens.count_content(
        {"type": "thinking", "thinking": "A short poem."}
    )
    reply = {"role": "assistant", "content": [block.to_dict() for block in message.content]}
    client.messages.create(**body(messages=[ASK, reply, ASK]))


def test_by_default_newer_models_omit_thinking_and_older_ones_show_it(client):
    assert client.messages.create(**playing("server-poem")).content[0].thinking == ""
    older = playing("server-poem", model=SHOWS_THINKING, thinking={"type": "adaptive"})
    assert client.messages.create(**older).content[0].thinking == "A short poem."


def test_a_whole_conversation_with_the_sdk_through_the_rules(client):
    messages = [ASK]
    while (reply := client.messages.create(**body(messages=messages))).stop_reason == "tool_use":
        messages.append(reply.to_param())
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": "4"}
            for block in reply.content
            if block.type == "tool_use"
        ]
        messages.append({"role": "user", "content": results})
    assert "4" in reply.content[-1].text
    assert len(messages) == 3


# What the request asks for


def test_max_tokens_cuts_the_text(client):
    with client.messages.stream(**playing("server-poem", max_tokens=15)) as stream:
        message = stream.get_final_message()
    assert message.stop_reason == "max_tokens"
    assert message.usage.output_tokens == 15
    text = message.content[-1].text
    assert POEM.startswith(text) and 0 < len(text) < len(POEM)


def test_max_tokens_in_the_middle_of_a_tool_call(client):
    full = client.messages.create(**body())
    cut = body(max_tokens=full.usage.output_tokens - 5)
    with client.messages.stream(**cut) as stream:
        events = [event.type for event in stream]
        message = stream.get_final_message()
    assert message.stop_reason == "max_tokens"
    assert message.content[-1].type == "tool_use"
    assert message.content[-1].input != full.content[-1].input
    assert events.count("content_block_stop") == len(message.content) - 1
    assert client.messages.create(**cut).content[-1].input == message.content[-1].input


def test_a_stop_sequence_ends_the_text(client):
    message = client.messages.create(**playing("server-poem", stop_sequences=["never", "THE END"]))
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "THE END")
    assert message.content[-1].text == POEM[: POEM.index("THE END")]


def test_a_reply_that_does_not_fit_the_window_ends_with_it(client):
    small = min(
        (model for model in MODELS if model.status == "active"), key=lambda m: m.context_tokens
    )
    room = small.context_tokens - chain(body()).total_tokens
    filler = "a" * int((room - 30) * tokens.CHARS_PER_TOKEN)
    asked = body(model=small.id, max_tokens=small.max_output_tokens, messages=[
        {"role": "user", "content": filler}, {"role": "assistant", "content": "Yes."}, ASK,
    ])  # fmt: skip
    with client.messages.stream(**asked) as stream:
        message = stream.get_final_message()
    assert message.stop_reason == "model_context_window_exceeded"


def test_a_stop_reason_of_the_scenario_is_left_alone(client):
    message = client.messages.create(**playing("server-refusal", stop_sequences=["N"]))
    assert message.stop_reason == "refusal"
    assert message.stop_details.category == "cyber"
    with client.messages.stream(**playing("server-refusal")) as stream:
        assert stream.get_final_message().stop_details.explanation == "because"


def test_max_tokens_zero_only_fills_the_cache(client):
    control = {"type": "ephemeral"}
    messages = [{"role": "user", "content": "word " * 3000}]
    asked = body(max_tokens=0, cache_control=control, messages=messages)
    message = client.messages.create(**asked)
    assert (message.content, message.usage.output_tokens) == ([], 0)
    assert message.usage.cache_creation_input_tokens > 3000


# The cache, on the simulator's clock


def test_the_cache_ages_on_the_injected_clock():
    clock = VirtualClock()
    with start(clock=clock) as simulator:
        client = anthropic.Anthropic(api_key="k", base_url=simulator.base_url)
        asked = body(system="word " * 3000, cache_control={"type": "ephemeral"})
        with client:
            first = client.messages.create(**asked).usage
            second = client.messages.create(**asked).usage
            clock.advance(301)
            third = client.messages.create(**asked).usage
    written = first.cache_creation_input_tokens
    assert first.cache_creation.ephemeral_5m_input_tokens == written > 3000
    assert second.cache_read_input_tokens == written
    assert third.cache_read_input_tokens == 0
    assert simulator.log.last.at == 301


def test_real_time_for_a_server_of_its_own():
    assert isinstance(make_app().core.clock, RealClock)
    assert isinstance(shared().clock, VirtualClock)


# Counting, models, and what is not there


def test_counting_counts_what_a_message_would_cost(client):
    counted = client.messages.count_tokens(**body(max_tokens=...))
    assert counted.input_tokens == client.messages.create(**body()).usage.input_tokens


def test_models_in_pages(client):
    ids = [model.id for model in client.models.list(limit=5)]
    assert ids == list(all_models())
    page = client.models.list(limit=3, before_id=ids[5])
    assert [model.id for model in page.data] == ids[2:5]
    assert page.has_more
    assert [m.id for m in client.models.list(lifecycle=["deprecated"])] == [
        model.id for model in MODELS if model.status == "deprecated"
    ]
    one = client.models.retrieve(MODEL)
    assert (one.display_name, one.max_tokens) == (
        all_models()[MODEL].name,
        all_models()[MODEL].max_output_tokens,
    )


@pytest.mark.parametrize("limit", ["0", "1001", "x"])
def test_a_bad_limit_is_refused(simulator, limit):
    answer = raw(simulator, f"/v1/models?limit={limit}", "GET")
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("limit: Input should be")


def test_what_is_not_there(simulator, client):
    with pytest.raises(anthropic.NotFoundError, match="model: claude-nope"):
        client.models.retrieve("claude-nope")
    mark = simulator.log.mark()
    for path, method, status in (
        ("/v1/nope", "POST", 404),
        ("/", "GET", 404),
        ("/v1/messages", "GET", 405),
        ("/v1/models", "DELETE", 405),
    ):
        answer = raw(simulator, path, method)
        assert answer.status_code == status
        assert answer.json()["type"] == "error"
        assert answer.headers["agentlab-simulator"] == "1"
    assert [e.status for e in simulator.log.since(mark)] == [404, 404, 405, 405]


# Bodies that are no requests


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "EOF while parsing a value: line 1 column 0"),
        (b"{", "EOF while parsing an object: line 1 column 1 (char 0)"),
        (b"no", "expected ident: line 1 column 2 (char 1)"),
        (b'{"a": NaN}', "expected value: line 1 column 7 (char 6)"),
        (b'{"a": "\xff"}', "invalid unicode code point: line 1 column 8 (char 7)"),
        (b'{"a": "\\ud83d"}', "no low surrogate in string: line 1 column 14 (char 13)"),
        (b'{"a": "\\ude00"}', "no low surrogate in string: line 1 column 13 (char 12)"),
        (b"[" * 500, "recursion limit exceeded: line 1 column 202 (char 201)"),
    ],
)
def test_a_body_that_is_not_json_is_refused(simulator, content, message):
    answer = raw(simulator, content=content)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == f"The request body is not valid JSON: {message}"
    assert answer.headers["agentlab-rule"].startswith("json; chapter=01; ")


@pytest.mark.parametrize("value", [[], 1, None, "x"])
def test_a_body_that_is_not_an_object_is_refused(simulator, value):
    answer = raw(simulator, content=json.dumps(value).encode())
    assert answer.json()["error"]["message"] == "Input should be a valid dictionary"


def test_a_body_that_is_too_large_is_413(simulator, client, monkeypatch):
    monkeypatch.setattr(wire, "MAX_BODY_BYTES", 2000)
    with pytest.raises(anthropic.ContentTooLargeError) as caught:
        client.messages.create(**body(system="x" * 3000))
    assert caught.value.type == "request_too_large"
    chunks = (b"x" * 500 for _ in range(10))
    assert raw(simulator, content=chunks).status_code == 413


def test_a_mistake_in_a_scenario_reaches_the_client(client):
    with pytest.raises(anthropic.InternalServerError) as caught:
        client.messages.create(**playing("server-bug"))
    assert "scenario 'server-bug', step 1: ZeroDivisionError" in caught.value.api_message
    with pytest.raises(anthropic.BadRequestError, match="no such scenario"):
        client.messages.create(**playing("server-poen"))


def test_without_validation_nearly_anything_gets_an_answer():
    with start(validate=False) as simulator:
        for nonsense in (
            {},
            {"messages": 5},
            {"messages": [1, {"role": 3}, {"content": {"type": None}}], "model": ["x"]},
            {"messages": [{"role": "user", "content": [{"type": "text"}]}], "thinking": 3},
            {"tools": {}, "system": 4, "max_tokens": "many", "stop_sequences": [1], "stream": True},
            body(messages=[ASK, {"role": "user", "content": [{"type": "tool_result"}]}]),
        ):
            answer = httpx2.post(f"{simulator.base_url}/v1/messages", json=nonsense)
            assert answer.status_code == 200, answer.text
            counted = httpx2.post(f"{simulator.base_url}/v1/messages/count_tokens", json=nonsense)
            assert counted.status_code == 200
        assert httpx2.post(f"{simulator.base_url}/v1/messages", content=b"{").status_code == 400


# Threads


def test_the_tool_runner_of_the_sdk_falls_back_to_the_whole_history(simulator, client):
    @anthropic.beta_tool
    def Calculator(expression: str) -> str:
        """Work out an expression."""
        return "4"

    mark = simulator.log.mark()
    runner = client.beta.messages.tool_runner(
        model=MODEL, max_tokens=1000, tools=[Calculator], messages=[ASK]
    )
    final = runner.until_done()
    assert "4" in final.content[-1].text
    entries = simulator.log.since(mark)
    assert [(e.status, e.rule) for e in entries] == [(400, "thread"), (200, ""), (200, "")]
    assert entries[-1].messages == 3


def test_a_thread_is_refused_with_its_code(simulator):
    answer = raw(simulator, json=body(thread={"type": "create"}))
    assert answer.json()["error"]["details"]["error_code"] == "thread_unsupported_request"


# The log


def test_the_log_tells_what_came_and_what_was_played(simulator, client):
    mark = simulator.log.mark()
    with client.messages.stream(**playing("server-poem")) as stream:
        message = stream.get_final_message()
    (entry,) = simulator.log.since(mark)
    assert (entry.path, entry.status) == ("/v1/messages", 200)
    assert (entry.stream, entry.messages) == (True, 1)
    assert (entry.scenario, entry.step, entry.stop_reason) == ("server-poem", 1, "end_turn")
    assert entry.output_tokens == message.usage.output_tokens
    assert entry.input_tokens == message.usage.input_tokens
    assert entry.request_id == stream.response.headers["request-id"]
    assert simulator.log.body(entry.number)["messages"] == [ASK]


# Running


def test_a_port_that_is_in_use_raises_at_once(simulator):
    with pytest.raises(OSError):
        start(simulator.port)


def test_closing_frees_the_port_and_ends_open_streams():
    simulator = start()
    endless = {"agentlab-speed": "0.1"}
    url = f"{simulator.base_url}/v1/messages"
    key = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    with httpx2.stream("POST", url, json=body(stream=True), headers=key | endless):
        started = time.monotonic()
        simulator.close()
        simulator.close()
    assert time.monotonic() - started < 4
    assert not simulator.running
    start(simulator.port).close()


def test_one_simulator_for_the_whole_process():
    found = []
    threads = [threading.Thread(target=lambda: found.append(shared())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


def test_the_shared_simulator_takes_its_speed_from_the_environment(monkeypatch):
    monkeypatch.setattr(server, "_shared", None)
    monkeypatch.setenv("AGENTLAB_SPEED", "80")
    with shared() as simulator:
        assert simulator.app.core.speed == 80
    monkeypatch.setenv("AGENTLAB_SPEED", "fast")
    with shared() as simulator:  # the first one is closed, so this is another
        assert simulator.app.core.speed == 0


def test_a_paced_stream_takes_its_time(simulator):
    full = len(POEM) / tokens.CHARS_PER_TOKEN
    headers = {"agentlab-scenario": "server-poem", "agentlab-speed": str(full * 4)}
    started = time.monotonic()
    paced = raw(simulator, json=body(stream=True), headers=headers)
    took = time.monotonic() - started
    assert 0.2 < took < 2
    del headers["agentlab-speed"]
    assert raw(simulator, json=body(stream=True), headers=headers).text == paced.text


async def test_two_hundred_streams_at_once(simulator):
    fast = {"agentlab-speed": "200"}
    limits = httpx2.Limits(max_connections=200)
    key = {"x-api-key": "k", "anthropic-version": "2023-06-01"}

    async with httpx2.AsyncClient(limits=limits, timeout=60, headers=key | fast) as many:

        async def learner(number):
            ask = {"role": "user", "content": f"What is {number} + 1?"}
            asked = body(messages=[ask], stream=True)
            return await many.post(f"{simulator.base_url}/v1/messages", json=asked)

        answers = await asyncio.gather(*(learner(number) for number in range(200)))
    for number, answer in enumerate(answers):
        assert answer.text.endswith('data: {"type":"message_stop"}\n\n')
        pieces = [e["delta"].get("partial_json", "") for e in records(answer) if "delta" in e]
        assert json.loads("".join(pieces)) == {"expression": f"{number} + 1"}


def test_a_client_that_goes_away_does_no_harm(simulator):
    asked = json.dumps(body(stream=True)).encode()
    head = (
        f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: k\r\nagentlab-speed: 1\r\n"
        f"anthropic-version: 2023-06-01\r\ncontent-length: {len(asked)}\r\n\r\n"
    ).encode()
    for sent in (head + asked[:10], head + asked):
        with socket.create_connection(("127.0.0.1", simulator.port)) as connection:
            connection.sendall(sent)
    assert raw(simulator, json=body()).status_code == 200


def test_faults_need_a_server_that_can_break_connections():
    """Elsewhere than under uvicorn, a broken connection is an honest error."""
    app = make_app(faults=[Fault("refuse")])
    sent = []

    async def receive():
        return {"type": "http.request", "body": json.dumps(body()).encode()}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/messages",
        "headers": [],
        "query_string": b"",
    }
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 500
    assert b"serve with uvicorn" in sent[1]["body"]


def test_importing_the_package_loads_no_server():
    code = "import sys, agentlab.simulator; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"starlette", "uvicorn", "pydantic"} & set(done.stdout.split())
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = package.nope
