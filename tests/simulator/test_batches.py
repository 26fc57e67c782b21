"""Message batches: through the SDK, on the simulator's clock, with every kind of result."""

import asyncio
import json

import anthropic
import httpx2
import pytest

from agentlab.client import async_client
from agentlab.models import all_models, default_model
from agentlab.providers import Endpoint
from agentlab.simulator import Fault, batches, start
from agentlab.simulator import scenario as registry

MODEL = default_model()
DAY = 24 * 3600


def poem(chat):
    """A text."""
    yield chat.say(f"A poem about {chat.task}.")


def bug(chat):
    """A mistake in a scenario."""
    yield chat.say(1 / 0)


@pytest.fixture(scope="module", autouse=True)
def scenarios(own_scenarios):
    """The scenarios of these tests."""
    registry.scenario("batch-poem")(poem)
    registry.scenario("batch-bug")(bug)


@pytest.fixture
def simulator():
    with start() as running:
        yield running


@pytest.fixture
def client(simulator):
    with anthropic.Anthropic(
        api_key="k", base_url=simulator.base_url, _strict_response_validation=True, max_retries=0,
        default_headers={"agentlab-scenario": "batch-poem"},
    ) as made:  # fmt: skip
        yield made


def request(number, **changes):
    params = {"model": MODEL, "max_tokens": 200, "messages": [user(f"number {number}")]} | changes
    return {"custom_id": f"r{number}", "params": params}


def user(text):
    return {"role": "user", "content": text}


def results(client, batch):
    return {line.custom_id: line.result for line in client.messages.batches.results(batch.id)}


def counts(batch):
    return {kind: n for kind, n in batch.request_counts.model_dump().items() if n}


# From the beginning to the end


def test_a_batch_is_in_progress_until_the_clock_has_moved_and_then_it_has_results(
    simulator, client
):
    batch = client.messages.batches.create(requests=[request(1), request(2)])
    for _ in range(3):  # looking moves no clock
        seen = client.messages.batches.retrieve(batch.id)
        assert seen == batch
        assert (seen.processing_status, counts(seen)) == ("in_progress", {"processing": 2})
        assert (seen.ended_at, seen.results_url) == (None, None)
    simulator.clock.advance(batches.SECONDS)
    ended = client.messages.batches.retrieve(batch.id)
    assert (ended.processing_status, counts(ended)) == ("ended", {"succeeded": 2})
    assert (ended.ended_at - ended.created_at).total_seconds() == batches.SECONDS
    assert (ended.expires_at - ended.created_at).total_seconds() == DAY
    found = results(client, batch)
    assert found["r2"].message.content[0].text == "A poem about number 2."
    assert found["r2"].message.usage.service_tier == "batch"


def test_it_can_be_polled_without_waiting(simulator):
    async def poll():
        client = async_client(
            Endpoint("here", simulator.base_url, MODEL, api_key="k", clock=simulator.clock)
        )
        batch = await client.messages.batches.create(requests=[request(1)])
        looked = 0
        while batch.processing_status != "ended":
            await simulator.clock.sleep(25)
            batch = await client.messages.batches.retrieve(batch.id)
            looked += 1
        lines = [line async for line in await client.messages.batches.results(batch.id)]
        return looked, [line.result.type for line in lines]

    assert asyncio.run(poll()) == (3, ["succeeded"])


def test_the_beta_calls_of_the_sdk_work_as_well(simulator, client):
    calls = client.beta.messages.batches
    edit = {"edits": [{"type": "clear_tool_uses_20250919"}]}
    batch = calls.create(
        requests=[request(1, context_management=edit)], betas=["context-management-2025-06-27"]
    )
    plain = calls.create(requests=[request(1, context_management=edit)])
    simulator.clock.advance(batches.SECONDS)
    [line] = calls.results(batch.id)
    assert line.result.message.context_management.applied_edits == []
    [line] = calls.results(plain.id)  # the betas hold for each request of a batch
    assert line.result.error.error.message.startswith("context_management: Extra inputs")
    assert calls.cancel(calls.create(requests=[request(1)]).id).processing_status == "canceling"
    assert calls.delete(batch.id).type == "message_batch_deleted"


def test_two_batches_of_the_same_requests_are_two(client):
    first, second = (client.messages.batches.create(requests=[request(1)]) for _ in range(2))
    assert first.id != second.id
    assert first.id.startswith("msgbatch_")


# What becomes of a request


def test_a_bad_request_is_an_errored_result_and_the_others_are_answered(simulator, client):
    batch = client.messages.batches.create(
        requests=[
            request(1),
            request(2, messages=[]),
            request(3, model="claude-nope"),
            request(4, max_tokens=0),
            {"custom_id": "r5", "params": {}},
        ]
    )
    simulator.clock.advance(batches.SECONDS)
    found = results(client, batch)
    assert counts(client.messages.batches.retrieve(batch.id)) == {"succeeded": 1, "errored": 4}
    assert [r.type for r in found.values()] == ["succeeded", *["errored"] * 4]
    errors = {id: r.error.error for id, r in found.items() if r.type == "errored"}
    assert errors["r2"].message == "messages: at least one message is required"
    assert (errors["r3"].type, errors["r3"].message) == ("not_found_error", "model: claude-nope")
    assert errors["r4"].message == "max_tokens: Input should be greater than or equal to 1"
    assert errors["r5"].message == "model: Field required"


def test_an_overloaded_server_and_a_broken_scenario_are_errored_results(simulator, client):
    simulator.faults.add(Fault("status", status=529, calls=[1]))
    batch = client.messages.batches.create(requests=[request(1), request(2)])
    simulator.clock.advance(batches.SECONDS)
    found = results(client, batch)
    assert found["r1"].error.error.type == "overloaded_error"
    assert found["r2"].type == "succeeded"
    headers = {"agentlab-scenario": "batch-bug"}
    batch = client.messages.batches.create(requests=[request(1)], extra_headers=headers)
    simulator.clock.advance(batches.SECONDS)
    assert results(client, batch)["r1"].error.error.type == "api_error"


def test_what_was_due_when_it_was_cancelled_is_done_and_the_rest_is_not(simulator, client):
    batch = client.messages.batches.create(requests=[request(n) for n in range(10)])
    simulator.clock.advance(batches.SECONDS * 0.35)
    canceling = client.messages.batches.cancel(batch.id)
    assert (canceling.processing_status, counts(canceling)) == ("canceling", {"processing": 10})
    assert client.messages.batches.cancel(batch.id) == canceling
    simulator.clock.advance(batches.CANCEL_SECONDS)
    ended = client.messages.batches.retrieve(batch.id)
    assert (ended.processing_status, counts(ended)) == ("ended", {"succeeded": 3, "canceled": 7})
    assert ended.cancel_initiated_at == canceling.cancel_initiated_at
    assert [r.type for r in results(client, batch).values()] == ["succeeded"] * 3 + ["canceled"] * 7


def test_what_is_not_done_after_a_day_has_expired(simulator, client):
    simulator.batches.seconds = 2 * DAY
    batch = client.messages.batches.create(requests=[request(1), request(2)])
    simulator.clock.advance(DAY - 1)
    assert client.messages.batches.retrieve(batch.id).processing_status == "in_progress"
    simulator.clock.advance(1)
    assert counts(client.messages.batches.retrieve(batch.id)) == {"succeeded": 1, "expired": 1}
    assert results(client, batch)["r2"].type == "expired"


def test_thinking_of_another_conversation_is_dropped_without_asking(simulator, client):
    model = next(m.id for m in all_models().values() if "adaptive" in m.thinking)
    thought = {"type": "thinking", "thinking": "", "signature": "sig_x_s1_h0123_t" + "0" * 16}
    messages = [
        user("a"),
        {"role": "assistant", "content": [thought, {"type": "text", "text": "b"}]},
    ]
    asked = {"model": model, "messages": [*messages, user("c")], "max_tokens": 100}
    with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
        client.messages.create(**asked)
    batch = client.messages.batches.create(requests=[request(1, **asked)])
    simulator.clock.advance(batches.SECONDS)
    assert results(client, batch)["r1"].type == "succeeded"


# The log


def test_each_request_of_a_batch_has_its_entry_in_the_log(simulator, client):
    mark = simulator.log.mark()
    batch = client.messages.batches.create(requests=[request(1), request(2, messages=[])])
    assert simulator.log.count(by="kind", since=mark) == {"request": 1}
    simulator.clock.advance(100)
    found = results(client, batch)
    done, refused = [e for e in simulator.log.since(mark) if e.kind == "batch"]
    assert (done.at, refused.at) == (batches.SECONDS / 2, batches.SECONDS)
    assert (done.status, done.path, done.scenario) == (200, "/v1/messages", "batch-poem")
    usage = found["r1"].message.usage
    assert (done.input_tokens, done.output_tokens) == (usage.input_tokens, usage.output_tokens)
    assert (refused.status, refused.rule, refused.model) == (400, "no-messages", MODEL)
    assert simulator.log.body(done.number) == request(1)["params"]


def test_the_requests_share_the_prompt_cache(simulator, client):
    long = [{"type": "text", "text": "word " * 2000, "cache_control": {"type": "ephemeral"}}]
    batch = client.messages.batches.create(requests=[request(n, system=long) for n in range(3)])
    simulator.clock.advance(batches.SECONDS)
    usages = [r.message.usage for r in results(client, batch).values()]
    assert [u.cache_read_input_tokens > 0 for u in usages] == [False, True, True]


# What is refused


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        ([], "requests: List should have at least 1 item after validation, not 0"),
        (None, "requests: Field required"),
        ({}, "requests: Input should be a valid list"),
        ([{"custom_id": "a"}], "requests.0.params: Field required"),
        ([{"params": {}}], "requests.0.custom_id: Field required"),
        ([{**request(1), "id": 1}], "requests.0.id: Extra inputs are not permitted"),
        ([{**request(1), "custom_id": "a:b"}],
         "requests.0.custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"),
        ([{**request(1), "custom_id": "a" * 65}],
         "requests.0.custom_id: String should have at most 64 characters"),
        ([request(1), request(2), request(1)],
         "requests.2.custom_id: custom_id must be unique within a batch. 'r1' is also that of "
         "requests.0."),
        ([request(1, stream=True)],
         "requests.0.params.stream: streaming is not supported in a batch"),
    ],
)  # fmt: skip
def test_a_batch_is_refused_as_a_whole(simulator, client, requests, message):
    body = {} if requests is None else {"requests": requests}
    with pytest.raises(anthropic.BadRequestError) as caught:
        client.post("/v1/messages/batches", body=body, cast_to=object)
    assert caught.value.api_message == message
    assert caught.value.response.headers["agentlab-rule"].startswith("batch; chapter=09")
    assert len(simulator.batches) == 0


def test_too_many_requests_are_refused():
    many = [{"custom_id": f"r{n}", "params": {}} for n in range(100_001)]
    with pytest.raises(batches.Rejected, match="at most 100000 items after validation"):
        batches.check_batch({"requests": many})


def test_a_state_that_does_not_fit_is_refused(simulator, client):
    calls = client.messages.batches
    for call in (calls.retrieve, calls.cancel, calls.delete):
        with pytest.raises(anthropic.NotFoundError):
            call("msgbatch_nope")
    batch = calls.create(requests=[request(1)])
    with pytest.raises(anthropic.BadRequestError, match="still processing"):
        calls.delete(batch.id)
    url = f"{simulator.base_url}/v1/messages/batches/{batch.id}/results"
    headers = {"x-api-key": "k", "anthropic-version": "2026-10-21"}
    assert httpx2.get(url, headers=headers).status_code == 404
    simulator.clock.advance(batches.SECONDS)
    with pytest.raises(anthropic.BadRequestError, match="has ended"):
        calls.cancel(batch.id)
    calls.delete(batch.id)
    with pytest.raises(anthropic.NotFoundError):
        calls.retrieve(batch.id)


def test_results_are_lines_of_json_and_gone_after_29_days(simulator, client):
    batch = client.messages.batches.create(requests=[request(1), request(2)])
    simulator.clock.advance(batches.SECONDS)
    url = client.messages.batches.retrieve(batch.id).results_url
    headers = {"x-api-key": "k", "anthropic-version": "2026-10-21"}
    lines = httpx2.get(url, headers=headers).text.splitlines()
    assert [json.loads(line)["custom_id"] for line in lines] == ["r1", "r2"]
    simulator.clock.advance(batches.KEPT_S)
    gone = client.messages.batches.retrieve(batch.id)
    assert (gone.processing_status, gone.results_url) == ("ended", None)
    assert (gone.archived_at - gone.created_at).total_seconds() == batches.KEPT_S
    assert httpx2.get(url, headers=headers).status_code == 404


def test_the_endpoints_want_a_key(simulator):
    url = f"{simulator.base_url}/v1/messages/batches"
    assert httpx2.get(url).status_code == 401
    assert httpx2.post(url, json={"requests": [request(1)]}).status_code == 401


# The list


def test_the_newest_comes_first_and_pages_go_on(client):
    made = [client.messages.batches.create(requests=[request(n)]).id for n in range(5)]
    assert [batch.id for batch in client.messages.batches.list(limit=2)] == made[::-1]
    page = client.messages.batches.list(limit=2, after_id=made[3])
    assert ([b.id for b in page.data], page.has_more) == ([made[2], made[1]], True)
    page = client.messages.batches.list(limit=2, before_id=made[1])
    assert [b.id for b in page.data] == [made[3], made[2]]
    with pytest.raises(anthropic.BadRequestError, match="after_id: no batch"):
        client.messages.batches.list(after_id="msgbatch_nope")


def test_without_validation_every_batch_is_there():
    with start(validate=False) as simulator:
        client = anthropic.Anthropic(api_key="k", base_url=simulator.base_url, max_retries=0)
        assert client.messages.batches.retrieve("any").processing_status == "ended"
        assert client.messages.batches.cancel("any").id == "any"
        assert list(client.messages.batches.results("any")) == []
        assert client.messages.batches.delete("any").id == "any"
