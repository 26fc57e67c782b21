"""Retry: what each class of failure gets, how long is waited, and where it ends."""

import asyncio
import itertools
import json
from contextlib import aclosing
from datetime import UTC, datetime, timedelta

import anthropic
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab import Agent, connect, tool
from agentlab.clock import VirtualClock
from agentlab.failures import StreamIncomplete, hint, kind_of, retry_after, status_of, too_long
from agentlab.retry import TABLE, Chances, ComeBackLater, Retry, Tries
from agentlab.simulator.faults import Fault

CLIENT = anthropic.Anthropic(api_key="k", max_retries=0)
REQUEST = httpx2.Request("POST", "http://localhost/v1/messages")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def answer(status, kind="api_error", message="It failed.", code="", **headers):
    """The SDK's own exception for an answer of the API; header names with _ for -."""
    error = {"type": kind, "message": message}
    if code:
        error["details"] = {"error_code": code}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"type": "error", "error": error}
    response = httpx2.Response(status, headers=named, json=body, request=REQUEST)
    return CLIENT._make_status_error_from_response(response)


def event(kind):
    """The SDK's exception for an error event in a stream, which HTTP had called a success."""
    return answer(200, kind)


def say(text):
    return lambda chat: chat.say(text)


def retries(result):
    return [e for e in result.events if e.type == "model.retry"]


# ---------------------------------------------------------------------------------- the classes

KINDS = [
    (answer(429), "rate_limit"),
    (event("rate_limit_error"), "rate_limit"),
    (answer(529), "overloaded"),
    (answer(500), "overloaded"),
    (answer(501), "overloaded"),
    (answer(502), "overloaded"),
    (answer(503), "overloaded"),
    (answer(504), "overloaded"),
    (answer(599), "overloaded"),
    (answer(408), "overloaded"),
    (answer(409), "overloaded"),
    (event("overloaded_error"), "overloaded"),
    (event("api_error"), "overloaded"),
    (event("timeout_error"), "overloaded"),
    (event("conflict_error"), "overloaded"),
    (event("an_error_of_next_year"), "overloaded"),
    (anthropic.APIConnectionError(request=REQUEST), "connection"),
    (anthropic.APITimeoutError(request=REQUEST), "connection"),
    (httpx2.RemoteProtocolError("cut"), "connection"),
    (httpx2.ReadTimeout("silence"), "connection"),
    (StreamIncomplete("ended"), "connection"),
    (json.JSONDecodeError("garbage in the stream", "{", 0), "connection"),
    (ConnectionResetError(), "connection"),
    (TimeoutError(), "connection"),
    *[(answer(s), "refused") for s in (400, 401, 402, 403, 404, 405, 412, 413, 422, 431, 451, 499)],
    (event("invalid_request_error"), "refused"),
    (event("authentication_error"), "refused"),
    (event("billing_error"), "refused"),
    (event("permission_error"), "refused"),
    (event("not_found_error"), "refused"),
    (event("request_too_large"), "refused"),
    (answer(429, code="enforced_spend_limit_reached"), "refused"),
    (answer(429, code="contract_spend_limit_reached"), "refused"),
    (answer(429, code="ramp_limit_exceeded"), "rate_limit"),
    (KeyError("a mistake of our own"), "refused"),
    (ValueError("429 in a text is no status"), "refused"),
]


@pytest.mark.parametrize(("error", "kind"), KINDS, ids=lambda v: v if isinstance(v, str) else None)
def test_every_failure_has_its_class(error, kind):
    assert kind_of(error) == kind


@pytest.mark.parametrize(
    ("error", "foreground", "background"),
    [
        (answer(429), 10, 10),
        (answer(529), 3, 0),
        (answer(500), 3, 0),
        (answer(409), 3, 0),
        (anthropic.APIConnectionError(request=REQUEST), 1, 1),
        (answer(400), 0, 0),
    ],
)
def test_the_table_says_how_many_more_tries_there_are(error, foreground, background):
    def tries(**how):
        waits = [Retry(max_wait_s=1e9).wait(error, n, **how) for n in range(2, 30)]
        assert waits == sorted(waits, key=lambda wait: wait is None)  # given up once and for all
        return sum(wait is not None for wait in waits)

    assert (tries(), tries(foreground=False)) == (foreground, background)


def test_x_should_retry_wins_over_the_class_but_not_over_the_bounds():
    policy = Retry()
    assert policy.wait(answer(529, x_should_retry="false"), 2) is None
    assert policy.wait(answer(429, x_should_retry="false", retry_after="1"), 2) is None
    yes = {"x_should_retry": "true"}
    assert [policy.wait(answer(400, **yes), n) is not None for n in (2, 3, 4, 5)] == [1, 1, 1, 0]
    assert policy.tries(answer(429, **yes)) == 10
    assert policy.wait(answer(529, **yes), 2, foreground=False) is None
    assert policy.wait(answer(400, **yes, retry_after="130"), 2) is None
    assert policy.wait(answer(529, x_should_retry="maybe"), 2) is not None


def test_a_table_of_ones_own_and_an_empty_one():
    assert Retry({}).wait(answer(529), 2) is None
    assert Retry({"overloaded": Chances(1, 1, first_s=4)}).wait(answer(529), 2) > 1
    assert Retry({"overloaded": Chances(1, 1)}).wait(answer(429), 2) is None
    with pytest.raises(TypeError):
        TABLE["refused"] = Chances(9, 9)  # the default is nobody's to change


# ------------------------------------------------------------------------------------ the waits


def test_waits_start_at_half_a_second_and_double_with_a_spread_of_half():
    waits = [Retry().wait(answer(429), n) for n in range(2, 12)]
    for number, wait in enumerate(waits):
        longest = min(0.5 * 2**number, 16)
        assert longest / 2 <= wait <= longest
    assert sum(waits) < 95.5
    assert len({wait / 2**n for n, wait in enumerate(waits[:6])}) == 6  # each is spread anew


def test_the_same_seed_waits_the_same_and_others_do_not():
    def waits(seed):
        return [Retry(seed=seed).wait(answer(429), n) for n in range(2, 8)]

    assert waits(0) == waits(0) != waits(1)
    assert waits(None) != waits(None)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": " 7 "}, 7.0),
        ({"retry_after": "0.25"}, 0.25),
        ({"retry_after_ms": "250"}, 0.25),
        ({"retry_after_ms": "250", "retry_after": "7"}, 0.25),
        ({"retry_after_ms": "soon", "retry_after": "7"}, 7.0),
        ({"retry_after_ms": "-1", "retry_after": "7"}, 7.0),
        ({"retry_after": "Mon, 30 Nov 2026 12:00:09 GMT"}, 9.0),
        ({"retry_after": "Monday, 30-Nov-26 12:00:09 GMT"}, 9.0),
        ({"retry_after": "Mon Nov 30 12:00:09 2026"}, 9.0),
        ({"retry_after": "Mon, 30 Nov 2026 14:00:09 +0200"}, 9.0),
        (
            {
                "retry_after": "Mon, 30 Nov 2026 15:00:09 GMT",
                "date": "Mon, 30 Nov 2026 15:00:00 GMT",
            },
            9.0,
        ),
        ({}, None),
        ({"retry_after": ""}, None),
        ({"retry_after": "0"}, None),
        ({"retry_after": "-5"}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "inf"}, None),
        ({"retry_after": "-inf"}, None),
        ({"retry_after": "1e300"}, None),
        ({"retry_after": "99999999999"}, None),
        ({"retry_after": "1_0"}, None),
        ({"retry_after": "in a while"}, None),
        ({"retry_after": "Mon, 30 Nov 2026 11:00:00 GMT"}, None),
        ({"retry_after": "Mon, 99 Nov 2026 12:00:00 GMT"}, None),
        ({"retry_after": "Thu, 30 Nov 9999 12:00:00 GMT"}, None),
        ({"retry_after_ms": "nan"}, None),
    ],
)
def test_what_the_server_asks_is_honoured_and_what_cannot_be_meant_is_not(headers, wait):
    error = answer(429, **headers)
    assert retry_after(error, NOON) == wait
    own = Retry().wait(answer(429), 2)
    assert Retry().wait(error, 2, now=NOON) == (own if wait is None else wait)


@given(st.text(max_size=40))
def test_no_header_breaks_it(text):
    response = httpx2.Response(429, headers={"retry-after": text.encode()}, request=REQUEST)
    asked = retry_after(anthropic.APIStatusError("x", response=response, body=None))
    assert asked is None or 0 < asked <= 365 * 86_400


def test_all_waits_of_a_request_together_are_bounded():
    policy = Retry(max_wait_s=10)
    slow = answer(429, retry_after="4")
    assert policy.wait(slow, 2, waited_s=6) == 4
    assert policy.wait(slow, 2, waited_s=6.5) is None
    assert policy.wait(answer(429), 6, waited_s=9) is None  # our own wait would be 4 to 8 seconds


ERRORS = [answer(429), answer(529), answer(500), answer(409), answer(429, retry_after="20")]
ERRORS += [StreamIncomplete("x"), httpx2.ReadTimeout("x"), event("overloaded_error")]


@given(st.lists(st.sampled_from(ERRORS), min_size=20, max_size=20), st.booleans())
def test_whatever_fails_in_whatever_order_it_ends(failures, foreground):
    tries, waits = Tries(Retry(), VirtualClock(), foreground), []
    for error in failures:
        try:
            again = tries.after(error)
        except ComeBackLater:
            break
        if again is None:
            break
        assert again["attempt"] == len(waits) + 2 <= again["of"]
        waits.append(again["wait_s"])
    assert len(waits) <= (14 if foreground else 11) and sum(waits) <= 120


def test_each_class_has_tries_of_its_own():
    tries = Tries(Retry(), VirtualClock())
    failures = [answer(529), httpx2.ReadTimeout("x"), answer(429), answer(529)]
    told = [tries.after(error) for error in failures]
    assert [(t["attempt"], t["of"], t["status"]) for t in told] == [
        (2, 4, 529),
        (3, 3, 0),
        (4, 13, 429),
        (5, 6, 529),
    ]
    assert tries.after(httpx2.ReadTimeout("again")) is None


# ------------------------------------------------------------------------------ what to do next


def test_every_refusal_says_what_to_do_next():
    hints = [hint(answer(status)) for status in (400, 401, 402, 403, 404, 413, 429, 529, 500)]
    assert len(set(hints)) == len(hints)
    assert "connect(" in hints[1] and "credit" in hints[2] and "compact" in hints[5]
    assert hint(answer(418)) == hints[0] and hint(answer(409)) == hints[-1]
    assert hint(event("authentication_error")) == hints[1]
    assert "spent" in hint(answer(429, code="enforced_spend_limit_reached"))
    assert "running" in hint(anthropic.APIConnectionError(request=REQUEST))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (answer(413), True),
        (event("request_too_large"), True),
        (answer(400, message="prompt is too long: 208310 tokens > 200000 maximum"), True),
        (
            answer(
                400, message="input length and `max_tokens` exceed context limit: 190000 + 20000"
            ),
            True,
        ),
        (answer(400, message="the request exceeds the available context size. try"), True),
        (answer(400, message="This model's maximum context length is 4096 tokens."), True),
        (answer(400, message="max_tokens: 10000 > 4096, which is the maximum allowed"), False),
        (answer(400, message="messages: at least one message is required"), False),
        (answer(500, message="prompt is too long"), False),
        (answer(429, message="Please reduce the prompt length"), False),
        (StreamIncomplete("prompt is too long"), False),
    ],
)
def test_a_conversation_that_is_too_long_is_told_from_other_refusals(error, expected):
    assert too_long(error) is expected
    if expected:
        assert Retry().wait(error, 2) is None and "ompact" in hint(error)


async def test_the_simulators_own_refusal_is_understood(play):
    endpoint = play(say("fine"))
    huge = "word " * 1_400_000
    with pytest.raises(anthropic.APIStatusError) as caught:
        await endpoint.client().messages.create(
            model=endpoint.model, max_tokens=10, messages=[{"role": "user", "content": huge}]
        )
    assert too_long(caught.value) and status_of(caught.value) in (400, 413)


# ------------------------------------------------------------------------------------- whole runs


async def test_waits_are_told_before_they_are_waited_and_cost_no_real_time(play, faults):
    faults.add(Fault("status", status=429))
    endpoint = play(say("fine"))
    before, started = endpoint.clock.now(), asyncio.get_running_loop().time()
    result = await Agent(endpoint=endpoint).ask("go")
    told = retries(result)
    assert [(e.attempt, e.of, e.status) for e in told] == [(n, 11, 429) for n in range(2, 12)]
    assert "RateLimitError" in told[0].reason
    for first, second in itertools.pairwise(told):
        assert second.at - first.at == pytest.approx(first.wait_s)
    assert 40 < endpoint.clock.now() - before < 120
    assert asyncio.get_running_loop().time() - started < 5


async def test_failures_of_several_kinds_in_one_request(play, faults):
    for call, fault in enumerate(["529", "reset", "cut_dirty"], 1):
        kind, status = ("status", int(fault)) if fault.isdigit() else (fault, 529)
        faults.add(Fault(kind, status=status, calls=[call]))
    result = await Agent(endpoint=play(say("fine"))).ask("go")
    assert result.status == "error" and len(retries(result)) == 2  # connections: once
    faults.clear()
    faults.add(Fault("status", status=529, calls=[1, 3]))
    faults.add(Fault("reset", calls=[2]))
    assert (await Agent(endpoint=play(say("fine"))).ask("go")).ok


async def test_e20_the_retries_of_the_sdk_are_off():
    for endpoint in (connect(), connect("http://127.0.0.1:9", model="llama")):
        assert endpoint.client().max_retries == endpoint.sync_client().max_retries == 0


async def test_e20_five_tries_of_the_harness_are_six_requests(play, faults):
    faults.add(Fault("status", status=429))
    endpoint = play(say("fine"))
    mark = endpoint.simulator.log.mark()
    await Agent(endpoint=endpoint, retry=Retry({"rate_limit": Chances(5, 5)})).ask("go")
    assert len(endpoint.simulator.log.since(mark)) == 6


async def test_without_a_table_the_first_failure_is_the_end(play, faults):
    faults.add(Fault("status", status=529, calls=[1]))
    result = await Agent(endpoint=play(say("fine")), retry=Retry({})).ask("go")
    assert result.status == "error" and not retries(result)


async def test_e03_a_wait_longer_than_what_is_left_is_not_begun(play, faults):
    faults.add(Fault("status", status=429, headers={"retry-after": "45"}))
    endpoint = play(say("fine"))
    mark = endpoint.simulator.log.mark()
    result = await Agent(endpoint=endpoint, retry=Retry(max_wait_s=60)).ask("go")
    assert [e.wait_s for e in retries(result)] == [45] and result.status == "error"
    assert len(endpoint.simulator.log.since(mark)) == 2
    assert "45 s, and 15 s are left" in result.detail


async def test_e03_the_time_to_come_back_may_be_given_as_a_date(play, faults):
    endpoint = play(say("fine"))
    later = endpoint.clock.wall() + timedelta(hours=2)
    faults.add(Fault("status", status=529, headers={"retry-after": f"{later:%a, %d %b %Y %T} GMT"}))
    result = await Agent(endpoint=endpoint).ask("go")
    error = next(e for e in result.events if e.type == "session.error")
    assert not retries(result) and f"{later:%Y-%m-%d %H:%M}" in error.hint


def test_e03_the_error_carries_when_to_come_back():
    clock = VirtualClock()
    with pytest.raises(ComeBackLater) as caught:
        Tries(Retry(), clock).after(answer(429, retry_after="3600"))
    error = caught.value
    assert error.at == clock.wall() + timedelta(hours=1) and error.wait_s == 3600
    assert isinstance(error.__cause__, anthropic.RateLimitError) and status_of(error) == 429


def test_an_answer_in_the_background_is_not_waited_for_on_an_overloaded_server():
    clock = VirtualClock()
    assert Tries(Retry(), clock, foreground=False).after(answer(529)) is None
    assert Tries(Retry(), clock, foreground=False).after(answer(503, retry_after="9999")) is None
    assert Tries(Retry(), clock, foreground=False).after(answer(429))["of"] == 11


# ------------------------------------------------------------------------- streams that break off


@tool(name="Charge")
async def charge(amount: int) -> str:
    """Charge an amount."""
    charged.append(amount)
    return f"charged {amount}"


charged: list[int] = []


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["cut_clean", "cut_dirty", "error_event", "status", "reset"]),
    st.integers(0, 25),
    st.sampled_from([1, 2]),
)
def test_e07_e13_wherever_a_stream_breaks_off_each_tool_runs_once(kind, after, call):
    """Two turns, one of them broken after so many events: the same history as without."""
    from agentlab.simulator.scenario import scenario

    @scenario("test-broken-stream")
    def scripted(chat):
        """One call, then an answer."""
        yield chat.think("hm").say("I charge.").call("Charge", amount=5)
        yield chat.say("Hello, it is done.")

    charged.clear()
    endpoint = connect(scenario="test-broken-stream")
    endpoint.simulator.faults.add(Fault(kind, after=after, calls=[call]))
    mark = endpoint.simulator.log.mark()
    agent = Agent(tools=[charge], endpoint=endpoint)
    try:
        result = asyncio.run(agent.ask("go"))
    finally:
        endpoint.simulator.faults.clear()
    assert (result.status, result.text, charged) == ("completed", "Hello, it is done.", [5])
    assert [m["role"] for m in agent.history] == ["user", "assistant"] * 2
    assert [b["type"] for b in agent.history[1]["content"]] == ["thinking", "text", "tool_use"]
    requests = len(endpoint.simulator.log.since(mark))
    assert requests == result.turns + len(retries(result)) <= 3


async def test_e07_what_was_shown_before_the_failure_is_marked_as_void(play, faults):
    faults.add(Fault("error_event", calls=[1], after=4))
    agent = Agent(endpoint=play(say("Hello there, this is the whole answer.")))
    shown, voided = "", ""
    async with aclosing(agent.run("go")) as events:
        async for e in events:
            if e.type == "model.retry":
                shown, voided = "", shown
            shown += e.text if e.type == "assistant.text_delta" else ""
    assert voided and shown == "Hello there, this is the whole answer."
    assert shown.startswith(voided)


async def test_e15_a_tool_that_times_out_is_not_repeated_by_the_harness(play):
    sent = []

    @tool(name="SendMail")
    async def send_mail() -> str:
        """Send a mail."""
        sent.append("mail")
        raise TimeoutError("after 10 s")

    turns = [lambda chat: chat.say("I send it.").call("SendMail"), say("I could not be sure.")]
    result = await Agent(tools=[send_mail], endpoint=play(*turns)).ask("go")
    told = next(e for e in result.events if e.type == "tool.execution_complete")
    assert result.ok and len(sent) == 1 and not retries(result)
    assert told.is_error and "check before you repeat" in told.content


async def test_e18_cancelling_ends_our_own_wait_too(play, faults):
    from agentlab.clock import RealClock

    endpoint, waiting = play(say("fine")), asyncio.Event()
    endpoint.clock = RealClock()
    faults.add(Fault("status", status=529))
    mark = endpoint.simulator.log.mark()
    long = Retry({"overloaded": Chances(3, 0, first_s=60)}, longest_s=60)

    async def run():
        async for e in Agent(endpoint=endpoint, retry=long).run("go"):
            if e.type == "model.retry":
                waiting.set()

    task = asyncio.create_task(run())
    await asyncio.wait_for(waiting.wait(), 10)
    await asyncio.sleep(0.05)
    before = asyncio.get_running_loop().time()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled() and asyncio.get_running_loop().time() - before < 0.5
    assert len(endpoint.simulator.log.since(mark)) == 1
