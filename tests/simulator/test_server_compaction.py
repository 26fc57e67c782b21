"""Compaction by the API: the summary, what becomes of later requests, its price, its rules."""

import json
import random

import anthropic
import httpx2
import pytest

from agentlab import tokens
from agentlab.client import sync_client
from agentlab.models import all_models
from agentlab.providers import Endpoint
from agentlab.simulator import Fault, batches, start
from agentlab.simulator import scenario as registry
from agentlab.simulator.betas import BINDING
from agentlab.simulator.marks import find_standing_line
from agentlab.simulator.prefix import Anchor, sign, signed
from agentlab.simulator.server_compaction import SUMMARY_CHARS, since_compaction
from agentlab.simulator.summarising import KINDS, goals_in, summarise

AT, ON_DEMAND = "compact-2026-01-12", "compact-2026-09-04"
MODELS = all_models().values()
MODEL = next(m.id for m in MODELS if m.default_thinking == "adaptive" and not m.prefill)
BUDGET = next(m.id for m in MODELS if "enabled" in m.thinking and not m.prefill)
OLD = next(m.id for m in MODELS if m.prefill)
TOOL = {"name": "Read", "input_schema": {"type": "object", "properties": {"path": {}}}}
BIG = 12_000  # words; about 18,000 tokens
TASK = "read many. Never touch legacy/."
SHOWN = {"thinking": {"type": "adaptive", "display": "summarized"}}


def reader(chat):
    """Reads five files, decides something at the first, and says at the end what is left."""
    seen = []
    for number in range(5):
        [read] = yield chat.think(f"File {number}.").call("Read", path=f"f{number}")
        seen.append("read" if read else "lost")
        if number == 0:
            chat.decide(True)
    known = "known" if chat.sees("API_PORT = 8443") else "gone"
    yield chat.say(f"{' '.join(seen)}; {known}; {chat.task}")


@pytest.fixture(scope="module", autouse=True)
def scenarios(own_scenarios):
    """The scenarios of these tests."""
    registry.scenario("compaction-reader", opens=r"^read many")(reader)


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


def user(content):
    return {"role": "user", "content": content}


def compact(**options):
    edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}
    return {"context_management": {"edits": [edit | options]}, "betas": [AT]}


def result(call, size=BIG):
    fact = "API_PORT = 8443\n" if call.input.get("path") == "f0" else ""
    content = fact + "word " * size
    return {"type": "tool_result", "tool_use_id": call.id, "content": content}


def play(client, *, forget=False, size=BIG, turns=20, messages=None, **options):
    """Play the scenario to its end. Gives the replies and the messages.

    ``forget``: leave out what stands before the last summary, as a client may.
    """
    messages, replies = messages or [user(TASK)], []
    asked = {"model": MODEL, "max_tokens": 2000, "tools": [TOOL]} | options
    for _ in range(turns):
        reply = client.beta.messages.create(messages=messages, **asked)
        replies.append(reply)
        if forget and reply.content[0].type == "compaction":
            messages = []
        messages.append(reply.to_param())
        calls = [block for block in reply.content if block.type == "tool_use"]
        if calls:
            messages.append(user([result(call, size) for call in calls]))
        elif reply.stop_reason != "compaction":
            break
    return replies, messages


def kinds(reply):
    return [block.type for block in reply.content]


def said(reply):
    return "".join(block.text for block in reply.content if block.type == "text")


def summary_in(replies):
    return next(b.content for r in replies for b in r.content if b.type == "compaction")


# At a threshold


@pytest.mark.parametrize("forget", [False, True])
def test_the_reply_begins_with_a_summary_and_the_scenario_goes_on(client, forget):
    replies, messages = play(client, forget=forget, **compact(), **SHOWN)
    assert [kinds(r)[0] for r in replies] == [
        "thinking", "thinking", "thinking", "compaction", "thinking", "text",
    ]  # fmt: skip
    assert kinds(replies[3]) == ["compaction", "thinking", "tool_use"]
    assert said(replies[-1]) == f"lost lost lost read read; known; {TASK}"
    assert len(messages) == (4 if forget else 12) + (0 if not forget else 1)
    summary = summary_in(replies)
    assert find_standing_line(summary).step == 3
    assert find_standing_line(summary).decisions == "1"
    assert "- Never touch legacy/." in summary


def test_the_summary_is_billed_apart_and_the_rest_counts_the_small_prompt(client):
    replies, _ = play(client, **compact())
    usage = replies[3].usage
    first, second = usage.iterations
    assert (first.type, second.type) == ("compaction", "message")
    assert first.input_tokens > 50_000 > 500 > second.input_tokens
    assert first.output_tokens == tokens.count_text(summary_in(replies))
    for field in ("input_tokens", "output_tokens", "cache_read_input_tokens"):
        assert getattr(usage, field) == getattr(second, field)
    assert [i.type for i in replies[0].usage.iterations] == ["message"]
    assert replies[4].usage.input_tokens < 20_000
    assert replies[3].context_management.applied_edits == []


def test_every_token_that_is_billed_stands_in_the_log(simulator, client):
    mark = simulator.log.mark()
    replies, _ = play(client, cache_control={"type": "ephemeral"}, **compact())
    entries = simulator.log.since(mark)
    assert [e.kind for e in entries].count("compaction") == 1
    billed = [i for r in replies for i in r.usage.iterations]
    for field, name in {
        "input_tokens": "input_tokens",
        "output_tokens": "output_tokens",
        "cache_read_tokens": "cache_read_input_tokens",
        "cache_write_tokens": "cache_creation_input_tokens",
    }.items():
        assert sum(getattr(e, field) for e in entries) == sum(getattr(i, name) for i in billed)


@pytest.mark.parametrize("fault", [Fault("truncate", tokens=2, calls=(2,)), Fault("loop", times=1)])
def test_a_reply_that_a_fault_made_shorter_is_so_in_its_steps_too(simulator, client, fault):
    mark, armed = simulator.log.mark(), simulator.faults.add(fault)
    replies, _ = play(client, turns=2, **compact())
    simulator.faults.remove(armed)
    [step] = replies[1].usage.iterations
    spoilt = simulator.log.since(mark)[1]
    assert spoilt.fault == fault.kind
    assert step.output_tokens == replies[1].usage.output_tokens == spoilt.output_tokens


def test_the_summary_reads_the_cache_of_the_turn_before_and_breaks_it_for_the_next(client):
    system = [{"type": "text", "text": "Be brief. " * 300, "cache_control": {"type": "ephemeral"}}]
    replies, _ = play(client, system=system, cache_control={"type": "ephemeral"}, **compact())
    first, second = replies[3].usage.iterations
    assert first.cache_read_input_tokens > 30_000
    assert 500 < second.cache_read_input_tokens < 2000  # tools and system prompt only
    assert replies[5].usage.cache_read_input_tokens > 10_000


def test_it_pauses_if_it_is_asked_to(client):
    replies, messages = play(client, **compact(pause_after_compaction=True))
    paused = replies[3]
    assert (paused.stop_reason, kinds(paused)) == ("compaction", ["compaction"])
    assert (paused.usage.input_tokens, paused.usage.output_tokens) == (0, 0)
    assert [i.type for i in paused.usage.iterations] == ["compaction"]
    assert said(replies[-1]) == f"lost lost lost read read; known; {TASK}"
    assert messages[7]["role"] == messages[8]["role"] == "assistant"  # resent unchanged


def test_after_a_pause_recent_messages_can_be_kept_behind_the_summary(client):
    _, messages = play(client, turns=4, **compact(pause_after_compaction=True))
    kept = [messages[-1], user("[Kept: the last result.]"), *messages[5:7]]
    with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
        play(client, messages=kept, **compact())
    calls = [b for b in kept[2]["content"] if b.type == "tool_use"]  # without the thinking
    kept[2] = {"role": "assistant", "content": calls}
    rest, _ = play(client, messages=kept, size=10, **compact())
    assert said(rest[-1]) == f"lost lost read read read; known; {TASK}"
    asked = [messages[-1], user("What is 2 + 2?")]
    reply = client.beta.messages.create(model=MODEL, max_tokens=99, messages=asked, **compact())
    assert "2 + 2" in said(reply)


def test_a_stream_brings_the_summary_in_one_piece(client):
    _, messages = play(client, turns=3)
    asked = {"model": MODEL, "max_tokens": 2000, "tools": [TOOL], "messages": messages}
    with client.beta.messages.stream(**asked, **compact()) as stream:
        events = list(stream)
        final = stream.get_final_message()
    whole = client.beta.messages.create(**asked, **compact())
    assert (final.id, final.content[0].content) == (whole.id, whole.content[0].content)
    start_of = next(e for e in events if e.type == "content_block_start")
    assert start_of.content_block.model_dump(exclude_unset=True) == {
        "type": "compaction", "content": None,
    }  # fmt: skip
    deltas = [e.delta for e in events if e.type == "content_block_delta" and e.index == 0]
    assert [d.type for d in deltas] == ["compaction_delta"]
    assert [e.type for e in events].count("compaction") == 1
    opened = next(e for e in events if e.type == "message_start").message
    assert (opened.usage.iterations, opened.context_management) == (None, None)
    assert final.usage.iterations == whole.usage.iterations
    assert final.usage.input_tokens == whole.usage.input_tokens
    # and what a stream gave can be sent back
    calls = [b for b in final.content if b.type == "tool_use"]
    more = [*messages, final.to_param(), user([result(call) for call in calls])]
    assert client.beta.messages.create(**asked | {"messages": more}, **compact()).content


def test_a_history_is_compacted_again_and_again(client):
    replies, _ = play(client, size=3 * BIG, **compact())
    blocks = [b.content for r in replies for b in r.content if b.type == "compaction"]
    assert [find_standing_line(text).step for text in blocks] == [1, 2, 3, 4, 5]
    assert said(replies[-1]) == f"lost lost lost lost lost; known; {TASK}"


def test_below_the_trigger_nothing_happens(client):
    replies, _ = play(client, size=100, **compact())
    assert "compaction" not in [kind for r in replies for kind in kinds(r)]
    edit = {"context_management": {"edits": [{"type": "compact_20260112"}]}, "betas": [AT]}
    replies, _ = play(client, **edit)  # the default is 150,000
    assert "compaction" not in [kind for r in replies for kind in kinds(r)]


def test_clearing_first_can_keep_the_prompt_below_the_trigger(client):
    edits = [
        {"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": 30_000},
         "keep": {"type": "tool_uses", "value": 1}},
        compact()["context_management"]["edits"][0],
    ]  # fmt: skip
    replies, _ = play(client, context_management={"edits": edits}, betas=[AT])
    assert "compaction" not in [kind for r in replies for kind in kinds(r)]
    assert replies[-1].context_management.applied_edits[0].cleared_tool_uses > 0


def test_thinking_stays_valid_after_a_summary_and_is_bound_to_it(client):
    _, messages = play(client, **compact(), **SHOWN)
    asked = {"model": MODEL, "max_tokens": 500, "tools": [TOOL], **SHOWN}
    more = [*messages, user("What is 2 + 2?")]
    betas = [AT, BINDING]
    again = client.beta.messages.create(messages=more, **asked, **compact() | {"betas": betas})
    assert again.input_transformations == []
    block = json.loads(json.dumps(messages[7]["content"][0].model_dump(exclude_unset=True)))
    changed = {
        "role": "assistant",
        "content": [
            {**block, "content": block["content"] + " Edited."},
            *messages[7]["content"][1:],
        ],
    }
    # the real API takes an edited summary, but the thinking behind it was bound to the other one
    with pytest.raises(anthropic.BadRequestError, match=r"messages\.0\.content\.1: .*bound to a"):
        client.beta.messages.create(messages=[changed, *more[8:]], **asked, **compact())
    with pytest.raises(anthropic.BadRequestError, match=r"messages\.7\.content\.1: .*bound to a"):
        client.beta.messages.create(messages=[*more[:7], changed, *more[8:]], **asked, **compact())


def test_with_a_thinking_budget_the_turn_may_begin_with_the_summary(client):
    budget = {"model": BUDGET, "max_tokens": 4000,
              "thinking": {"type": "enabled", "budget_tokens": 2000}}  # fmt: skip
    replies, _ = play(client, **compact(), **budget)
    assert kinds(replies[3])[:2] == ["compaction", "thinking"]
    assert replies[-1].stop_reason == "end_turn"


def test_counting_uses_the_summaries_that_are_there_and_makes_none(client):
    _, messages = play(client, turns=3)
    asked = {"model": MODEL, "tools": [TOOL]} | compact()
    before = client.beta.messages.count_tokens(messages=messages, **asked)
    assert before.input_tokens == before.context_management.original_input_tokens > 50_000
    _, messages = play(client, turns=4, **compact())
    after = client.beta.messages.count_tokens(messages=messages, **asked)
    assert after.input_tokens < 20_000


def test_instructions_say_what_is_worth_more():
    decided = [f"I decided {n} because of {n}." for n in range(100)]
    messages = [user("Go."), {"role": "assistant", "content": " ".join(decided)}]
    assert "I decided 42 because" not in summarise(messages, limit_chars=400)
    kept = summarise(messages, limit_chars=400, instructions="Keep what says 1142 or decided 42.")
    assert "I decided 99 because" in kept
    messages.append({"role": "assistant", "content": "We chose the marmot because of its fur."})
    messages += [{"role": "assistant", "content": text} for text in decided]
    assert "marmot" not in summarise(messages, limit_chars=400)
    assert "marmot" in summarise(messages, limit_chars=400, instructions="Keep the marmot.")


# On demand


def summarize(client, messages, **options):
    asked = {"model": MODEL, "max_tokens": 3000, "tools": [TOOL], "betas": [ON_DEMAND]}
    return client.beta.messages.create(
        messages=messages, **{"compaction": {"type": "summarize"}, **asked, **options}
    )


def test_on_demand_the_block_comes_alone_and_takes_the_place_of_the_messages(client):
    _, messages = play(client, size=10, turns=3)
    reply = summarize(client, messages)
    [block] = reply.content
    assert (reply.stop_reason, block.type) == ("compaction", "compaction")
    assert block.signature and "API_PORT = 8443" in block.content
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (0, 0)
    [iteration] = reply.usage.iterations
    assert iteration.type == "compaction" and iteration.output_tokens > 0
    replies, _ = play(client, size=10, messages=[reply.to_param()], betas=[ON_DEMAND])
    assert said(replies[-1]) == f"lost lost lost read read; known; {TASK}"


def test_thinking_of_turns_that_are_kept_behind_a_signed_summary_stays_valid(client):
    shown = {**SHOWN, "betas": [ON_DEMAND, BINDING]}
    _, messages = play(client, size=10, turns=4, **shown)
    block = summarize(client, messages[:5], **SHOWN).to_param()
    asked = {"model": MODEL, "max_tokens": 500, "tools": [TOOL], **shown}
    kept = client.beta.messages.create(messages=[block, *messages[5:]], **asked)
    assert kept.input_transformations == []
    with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
        client.beta.messages.create(messages=[block, *messages[7:]], **asked)
    with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
        client.beta.messages.create(messages=[block, *messages[5:]], system="New.", **asked)


def test_a_finished_conversation_can_be_summarised_and_summarised_again(client):
    _, messages = play(client, size=10)
    first = summarize(client, messages).to_param()
    more = [first, user("What is 2 + 2?"), {"role": "assistant", "content": "4"}]
    second = summarize(client, more)
    assert goals_in(second.content[0].content) == [TASK, "What is 2 + 2?"]
    assert "API_PORT = 8443" in second.content[0].content


def test_on_demand_a_stream_brings_the_block_whole(client):
    asked = {"model": MODEL, "max_tokens": 3000, "messages": [user(TASK)], "betas": [ON_DEMAND]}
    with client.beta.messages.stream(**asked, compaction={"type": "summarize"}) as stream:
        events = list(stream)
        final = stream.get_final_message()
    assert "content_block_delta" not in [e.type for e in events]
    assert final.content[0].signature
    assert final.stop_reason == "compaction"


def test_a_summary_that_does_not_fit_is_no_summary(client):
    reply = summarize(client, [user(TASK)], max_tokens=3)
    assert (reply.content, reply.stop_reason) == ([], "max_tokens")
    assert reply.usage.iterations[0].output_tokens == 3


def test_counting_ignores_the_request_for_a_summary(client):
    asked = {"model": MODEL, "messages": [user(TASK)], "betas": [ON_DEMAND]}
    count = client.beta.messages.count_tokens(**asked)
    assert client.beta.messages.count_tokens(**asked, compaction={"type": "summarize"}) == count


def test_the_sdks_tool_runner_can_compact(client):
    from anthropic.lib.tools import beta_tool

    @beta_tool
    def Read(path: str) -> str:
        """Read a file."""
        return "API_PORT = 8443" if path == "f0" else "word"

    runner = client.beta.messages.tool_runner(
        model=MODEL, max_tokens=3000, tools=[Read], messages=[user(TASK)], betas=[ON_DEMAND],
        thread=False,
    )  # fmt: skip
    reasons = []
    for message in runner:
        reasons.append(message.stop_reason)
        if len(reasons) == 2:
            runner.compact_before_next_turn()
    assert reasons == ["tool_use", "tool_use", "compaction", *["tool_use"] * 3, "end_turn"]
    assert said(message) == f"lost lost read read read; known; {TASK}"


def test_both_kinds_work_in_a_batch(simulator, client):
    _, messages = play(client, turns=3)
    plain = [json.loads(json.dumps(m, default=lambda b: b.model_dump(exclude_unset=True)))
             for m in messages]  # fmt: skip
    params = {"model": MODEL, "max_tokens": 2000, "tools": [TOOL], "messages": plain}
    at = {"context_management": compact()["context_management"]}
    requests = [
        {"custom_id": "at", "params": params | at},
        {"custom_id": "on", "params": params | {"compaction": {"type": "summarize"}}},
    ]
    batch = client.beta.messages.batches.create(requests=requests, betas=[AT, ON_DEMAND])
    simulator.clock.advance(batches.SECONDS)
    mark = simulator.log.mark()
    at, on = client.beta.messages.batches.results(batch.id)
    assert kinds(at.result.message)[0] == "compaction"
    assert on.result.message.stop_reason == "compaction"
    assert [e.kind for e in simulator.log.since(mark)].count("batch") == 4


def test_our_own_client_can_compact(simulator):
    endpoint = Endpoint("here", simulator.base_url, MODEL, api_key="k", clock=simulator.clock)
    replies, _ = play(sync_client(endpoint), **compact())
    assert said(replies[-1]).startswith("lost lost lost read read")


# What is refused


def refused(client, messages=None, **changes):
    asked = {"model": MODEL, "max_tokens": 100, "messages": messages or [user("hi")]}
    with pytest.raises(anthropic.BadRequestError) as caught:
        client.beta.messages.create(**asked | changes)
    return caught.value


BLOCK = {"type": "compaction", "content": "A summary."}
SIGNED = {**BLOCK, "signature": sign("A summary.", Anchor(b"", b"x" * 16))}


def after(*blocks):
    return [{"role": "assistant", "content": list(blocks)}, user("hi")]


@pytest.mark.parametrize(
    ("messages", "changes", "message"),
    [
        (after(BLOCK), {},
         "messages.0.content.0: Input tag 'compaction' found using 'type' does not match"),
        (after(BLOCK), {"betas": [AT]},
         "messages.0.content.0: `compaction` blocks require a `compact_20260112` strategy in "
         "`context_management.edits`."),
        (after(BLOCK), {"betas": [ON_DEMAND]},
         "messages.0.content.0: a `compaction` block with `content` requires its `signature`"),
        (after({**BLOCK, "content": ""}), compact(),
         "messages.0.content.0.compaction.content: content cannot be empty"),
        (after({**BLOCK, "citations": None}), compact(),
         "messages.0.content.0.compaction.citations: Extra inputs are not permitted"),
        (after(SIGNED), {"betas": [AT]},
         "messages.0.content.0.compaction: `signature` requires anthropic-beta: compact-2026"),
        (after(SIGNED), compact() | {"betas": [AT, ON_DEMAND]},
         "messages.0.content.0: a signed `compaction` block cannot be combined with"),
        ([user("hi")], compact(trigger={"type": "input_tokens", "value": 49_999}),
         "context_management.edits.0.compact_20260112: trigger.value must be at least 50000"),
        ([user("hi")], compact() | {"model": OLD},
         f"'{OLD}' does not support the 'compact_20260112' context management strategy."),
        ([user("hi")], {"compaction": {"type": "summarize"}},
         "compaction: the `compaction` parameter requires anthropic-beta: compact-2026-09-04"),
        ([user("hi")], {"compaction": {"type": "drop"}, "betas": [ON_DEMAND]},
         "compaction.type: Input should be 'summarize'"),
    ],
)  # fmt: skip
def test_a_summary_out_of_place_is_refused(client, messages, changes, message):
    assert refused(client, messages, **changes).api_message.startswith(message)


@pytest.mark.parametrize(
    "changes",
    [
        {"stop_sequences": ["END"]},
        {"output_config": {"format": {"type": "json_schema", "schema": {
            "type": "object", "additionalProperties": False}}}},
        {"context_management": {"edits": []}, "betas": [AT, ON_DEMAND]},
        {"tools": [TOOL], "tool_choice": {"type": "any"},
         "model": next(m.id for m in MODELS if m.forced_tool_choice and not m.prefill)},
        {"model": OLD},
    ],
)  # fmt: skip
def test_a_summary_on_demand_goes_with_nothing_that_shapes_a_reply(client, changes):
    asked = {"compaction": {"type": "summarize"}, "betas": [ON_DEMAND]} | changes
    error = refused(client, **asked)
    assert error.response.headers["agentlab-rule"].startswith("compaction; chapter=10")


def test_errors_of_signed_summaries_have_their_codes(client):
    from anthropic import types

    def code(messages, **changes):
        error = refused(client, messages, **{"betas": [ON_DEMAND]} | changes)
        return type(error)

    assert code(after({**SIGNED, "content": "Another."})) is types.CompactionContentMismatchError
    forged = {**SIGNED, "signature": "cmp_x"}
    assert code(after(forged)) is types.CompactionSignatureInvalidError
    assert code([user("x"), *after(SIGNED)]) is types.CompactionBlockMisplacedError
    assert code(after(SIGNED, SIGNED)) is types.CompactionBlockMisplacedError
    asked = {"compaction": {"type": "summarize"}}
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    open_turn = [user("x"), {"role": "assistant", "content": [call]}]
    assert code(open_turn, **asked) is types.CompactionIncompleteTurnError
    url, key = (
        str(client.base_url).rstrip("/"),
        {"x-api-key": "k", "anthropic-version": "2026-10-21"},
    )
    body = {"model": MODEL, "max_tokens": 9, "messages": [], **asked}
    answer = httpx2.post(
        f"{url}/v1/messages", json=body, headers=key | {"anthropic-beta": ON_DEMAND}
    )
    assert answer.json()["error"]["details"] == {"error_code": "compaction_nothing_to_summarize"}


def test_an_error_names_the_message_as_the_client_counts_it(client):
    _, messages = play(client, turns=4, **compact())
    broken = [
        *messages[:-1],
        user([{"type": "tool_result", "tool_use_id": "nope", "content": "x"}]),
    ]
    error = refused(client, broken, tools=[TOOL], **compact())
    assert error.api_message.startswith("messages.7: `tool_use` ids were found without")
    odd = [user("x"), {"role": "assistant", "content": [{"type": "text"}]}, *after(BLOCK)]
    error = refused(client, odd, **compact())
    assert error.api_message == "messages.1.content.0.text.text: Field required"


def test_a_null_summary_means_nothing(client):
    failed = {**BLOCK, "content": None}
    text = {"type": "text", "text": "4"}
    messages = [user("What is 2 + 2?"), *after(failed, text)]
    body, skipped = since_compaction({"messages": messages}, frozenset([AT]))
    assert (body["messages"][1]["content"], skipped) == ([text], 0)
    client.beta.messages.create(model=MODEL, max_tokens=99, messages=messages, **compact())


def test_a_signature_tells_what_it_stands_for():
    anchor = Anchor(b"\x01" * 16, b"\x02" * 16)
    assert signed(sign("text", anchor)) == anchor
    assert signed("sig_x") is None


# The summary


def test_each_kind_of_line_finds_its_place():
    messages = [
        user("Fix shop/cart.py. Never touch legacy/. The API_PORT = 8443 stays."),
        {"role": "assistant", "content": [
            {"type": "text", "text": "I decided to use Decimal because floats drift."},
            {"type": "tool_use", "id": "1", "name": "Edit", "input": {"file_path": "shop/cart.py"}},
            {"type": "tool_use", "id": "2", "name": "Bash", "input": {"command": "pytest"}},
        ]},
        user([
            {"type": "tool_result", "tool_use_id": "1", "content": "Edited."},
            {"type": "tool_result", "tool_use_id": "2", "content": "1 failed\nE  AssertionError: 3",
             "is_error": True},
        ]),
        {"role": "assistant", "content": "Next I look at the rounding."},
    ]  # fmt: skip
    assert summarise(messages, limit_chars=2000).splitlines() == [
        "Goals:",
        "- Fix shop/cart.py. Never touch legacy/. The API_PORT = 8443 stays.",
        "Constraints:",
        "- Never touch legacy/.",
        "Decisions:",
        "- I decided to use Decimal because floats drift.",
        "Facts:",
        "- API_PORT = 8443",
        "Files:",
        "- shop/cart.py (changed)",
        "Open errors:",
        "- Bash: E AssertionError: 3",
        "Next step:",
        "- Next I look at the rounding.",
    ]


def test_an_error_is_closed_by_the_same_call_going_well():
    def ran(text, **more):
        call = {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "pytest"}}
        back = {"type": "tool_result", "tool_use_id": "1", "content": text, **more}
        return [{"role": "assistant", "content": [call]}, user([back])]

    failed = [user("Test."), *ran("1 failed", is_error=True)]
    assert "Open errors:" in summarise(failed, limit_chars=500)
    assert "Open errors:" not in summarise([*failed, *ran("3 passed")], limit_chars=500)


def test_italian_is_understood():
    messages = [
        user("Sistema il carrello. Non toccare legacy/."),
        {"role": "assistant", "content": "Ho deciso di usare Decimal. Ora eseguo i test."},
    ]
    summary = summarise(messages, limit_chars=500)
    assert "Constraints:\n- Non toccare legacy/." in summary
    assert "Decisions:\n- Ho deciso di usare Decimal." in summary
    assert "Next step:\n- Ora eseguo i test." in summary


def test_a_summary_of_a_summary_says_the_same_and_loses_what_does_not_fit():
    facts = "\n".join(f"KEY_{n} = {n}" for n in range(40))
    seen = {"type": "tool_result", "tool_use_id": "1", "content": facts}
    messages = [user("Remember."), user([seen]), {"role": "assistant", "content": "Now I go on."}]
    first = summarise(messages, limit_chars=3000)
    again = summarise([user("[Summary]\n" + first)], limit_chars=3000)
    assert again == first
    short = summarise([user("[Summary]\n" + first)], limit_chars=len(first) // 2)
    assert 0 < short.count("KEY_") < first.count("KEY_") == 40


def test_it_never_exceeds_its_limit_and_is_the_same_every_time():
    rng = random.Random(7)
    words = [
        "never",
        "because",
        "PORT_1 = 80",
        "error: x",
        "è",
        "next",
        "a/b.py",
        "decided",
        "\n",
        ". ",
    ]
    for _ in range(60):
        messages = [
            {"role": rng.choice(["user", "assistant"]),
             "content": " ".join(rng.choices(words, k=rng.randint(1, 60)))}
            for _ in range(rng.randint(1, 8))
        ]  # fmt: skip
        limit = rng.randint(0, 600)
        summary = summarise(messages, limit_chars=limit)
        assert len(summary) <= limit
        assert summary == summarise(json.loads(json.dumps(messages)), limit_chars=limit)


def test_a_long_conversation_gives_a_bounded_summary(client):
    messages = [user("Do it. " + "Never do that. " * 10)]
    for number in range(3000):
        messages += [{"role": "assistant", "content": f"I decided {number} because of {number}."},
                     user(f"Then do {number}.")]  # fmt: skip
    reply = client.beta.messages.create(model=MODEL, max_tokens=100, messages=messages, **compact())
    summary = reply.content[0].content
    assert len(summary) <= SUMMARY_CHARS
    assert goals_in(summary)[0].startswith("Do it.")
    assert goals_in(summary)[-1] == "Then do 2999."
    assert [line[:-1] for line in summary.splitlines() if line.endswith(":")] == [
        kind for kind in KINDS if f"{kind}:" in summary
    ]
