"""One reply of the model from servers that misbehave in ways the simulator does not play."""

import asyncio
import json

import pytest

from agentlab import Agent, Limits, connect

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
USAGE = {"input_tokens": 5, "output_tokens": 1}
MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "llama", "content": [],
    "stop_reason": None, "stop_sequence": None, "usage": USAGE,
}  # fmt: skip
ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def sse(kind, **data):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def block(index, start, *deltas):
    """A block of a message: its start, what it grows by, its end."""
    grown = [sse("content_block_delta", index=index, delta=delta) for delta in deltas]
    started = sse("content_block_start", index=index, content_block=start)
    return b"".join([started, *grown, sse("content_block_stop", index=index)])


def text(*pieces):
    return block(
        0, {"type": "text", "text": ""}, *({"type": "text_delta", "text": p} for p in pieces)
    )


START = HEAD + sse("message_start", message=MESSAGE)
STOPS = sse("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 3})
END = STOPS + sse("message_stop")
WHOLE = START + text("Hel", "lo") + END


@pytest.fixture
async def serve():
    """``serve(answer, ...)``: an endpoint that gives these answers, then the last one for ever.

    An answer is bytes, or a list of bytes and of seconds to be silent between them.
    """
    servers = []

    async def start(*answers):
        seen = []

        async def handle(reader, writer):
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n")
                          if line.startswith(b"content-length:"))  # fmt: skip
            seen.append(json.loads(await reader.readexactly(length)))
            given = answers[min(len(seen), len(answers)) - 1]
            for part in [given] if isinstance(given, bytes) else given:
                if isinstance(part, bytes):
                    writer.write(part)
                    await writer.drain()
                else:
                    await asyncio.sleep(part)
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        servers.append(server)
        port = server.sockets[0].getsockname()[1]
        return connect(f"http://127.0.0.1:{port}", model="llama"), seen

    yield start
    for server in servers:
        server.close()


async def test_a_stream_that_broke_off_in_many_small_pieces_costs_no_more_for_that(serve):
    model, spent = "claude-haiku-5-5", []
    start = HEAD + sse("message_start", message={**MESSAGE, "model": model})
    for pieces in (["hello there, " * 30], "hello there, " * 30):
        endpoint, _ = await serve(start + text(*pieces))
        endpoint.budget_usd = 1.0
        request = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 500}
        async with endpoint.client().messages.stream(model=model, **request) as stream:
            async for _ in stream:
                pass
        spent.append(endpoint.spent_usd)
    assert spent[0] == spent[1] > 0


@pytest.mark.parametrize("nothing", [{}, {"usage": None}])
async def test_a_reply_without_usage_ends_no_run(serve, nothing):
    """It was paid, whether the server says how much or not."""
    message = {name: value for name, value in MESSAGE.items() if name != "usage"} | nothing
    end_ = sse("message_delta", delta={"stop_reason": "end_turn"}, **nothing) + sse("message_stop")
    endpoint, _ = await serve(HEAD + sse("message_start", message=message) + text("Hello") + end_)
    end, retries, _ = await ask(endpoint)
    assert (end.status, end.text, retries) == ("completed", "Hello", [])


async def test_a_reply_of_another_model_costs_what_that_one_costs(serve):
    usage = {"input_tokens": 1_000, "output_tokens": 1}
    begun = [sse("message_start", message={**MESSAGE, "usage": usage, "model": model})
             for model in ("claude-haiku-5-5", "a-name-of-its-own")]  # fmt: skip
    endpoint, _ = await serve(*(HEAD + start + text("Hello") + END for start in begun))
    endpoint.model = "claude-sonnet-5-5"
    costs = [(await ask(endpoint))[0].cost_usd for _ in begun]
    assert costs == [pytest.approx(0.0001015), pytest.approx(0.00203)]


async def ask(endpoint, **limits):
    agent = Agent(endpoint=endpoint, limits=Limits(**limits))
    async with asyncio.timeout(20):
        events = [event async for event in agent.run("Say hello.")]
    end = next(e for e in events if e.type == "session.end")
    return end, [e for e in events if e.type == "model.retry"], agent


@pytest.mark.parametrize(
    "broken",
    [
        START,
        START + text("Hel")[:-20],
        START + text("Hel"),
        START + text("Hel") + STOPS,  # it even has a stop reason
        HEAD,
        HEAD + b"<html>Bad gateway</html>",
        START + b"event: content_block_start\ndata: {<html>\n\n",
        START + text("Hel").replace(b"event: ", b"evnt: "),  # records without a name are dropped
        b"",
    ],
    ids=["start", "in-delta", "no-delta", "no-stop", "nothing", "html", "garbage", "names", "eof"],
)
async def test_e09_a_stream_without_its_last_event_is_repeated_once(serve, broken):
    endpoint, seen = await serve(broken, WHOLE)
    end, retries, agent = await ask(endpoint)
    assert (end.status, end.text, len(retries)) == ("completed", "Hello", 1)
    assert len(seen) == 2 and seen[0] == seen[1]  # the whole request, as it was
    assert len(agent.history) == 2
    endpoint, seen = await serve(broken)
    end, _, agent = await ask(endpoint)
    assert end.status == "error" and len(seen) == 2 and len(agent.history) == 1


@pytest.mark.parametrize(
    ("error", "requests"),
    [
        (ERROR, 4),
        ({"type": "error", "error": {"type": "brand_new_error", "message": "?"}}, 4),
        ({"type": "error", "error": {"type": "authentication_error", "message": "no"}}, 1),
        ({"type": "error", "error": {"type": "request_too_large", "message": "no"}}, 1),
    ],
)
async def test_e07_an_error_event_counts_as_the_status_that_it_stands_for(serve, error, requests):
    endpoint, seen = await serve(START + text("Hel") + sse("error", **error))
    end, retries, agent = await ask(endpoint)
    too_long = error.get("error", error).get("type") == "request_too_large"
    assert end.status == ("window_exceeded" if too_long else "error") and end.text == ""
    assert (len(seen), len(retries), len(agent.history)) == (requests, requests - 1, 1)


async def test_e07_an_error_event_that_is_not_json_is_a_failure_too(serve):
    endpoint, seen = await serve(START + b"event: error\ndata: upstream died\n\n", WHOLE)
    end, retries, _ = await ask(endpoint)
    assert (end.text, len(seen), len(retries)) == ("Hello", 2, 1)


async def test_e11_pings_are_signs_of_life(serve):
    slow = [START, *([0.25, PING] * 5), text("Hel", "lo") + END]
    endpoint, seen = await serve(slow)
    end, retries, _ = await ask(endpoint, idle_s=0.6)
    assert (end.text, len(seen), retries) == ("Hello", 1, [])


async def test_e11_silence_is_a_timeout_and_repeated_once(serve):
    endpoint, seen = await serve([START + text("Hel"), 3.0])
    before = asyncio.get_running_loop().time()
    end, retries, _ = await ask(endpoint, idle_s=0.4)
    assert end.status == "error" and "Timeout" in retries[0].reason
    assert len(seen) == 2 and asyncio.get_running_loop().time() - before < 3


async def test_e12_deltas_and_blocks_of_a_kind_that_nobody_knows_are_passed_over(serve):
    future = {"type": "future_block", "what": 1}
    odd = block(0, future, {"type": "future_delta", "x": 1}, {"type": "text_delta", "text": "?"})
    hello = block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hello"})
    stray = sse("content_block_delta", index=7, delta={"type": "text_delta", "text": "lost"})
    endpoint, _ = await serve(START + sse("future_event", x=1) + odd + hello + stray + END)
    end, retries, _ = await ask(endpoint)
    assert (end.status, end.text, retries) == ("completed", "Hello", [])
