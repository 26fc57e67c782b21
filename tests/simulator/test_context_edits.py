"""Context edits: what is cleared, what is reported, counted, cached and played, what is refused."""

import anthropic
import pytest

from agentlab.client import sync_client
from agentlab.models import all_models
from agentlab.providers import Endpoint
from agentlab.simulator import scenario as registry
from agentlab.simulator import start
from agentlab.simulator.context_edits import CLEARED_TEXT, edit
from agentlab.simulator.prefix import chain
from agentlab.simulator.turns import CLEARED

BETA = "context-management-2025-06-27"
MODELS = all_models().values()
MODEL = next(m.id for m in MODELS if m.default_thinking == "adaptive")
QUIET = next(m.id for m in MODELS if m.default_thinking == "disabled" and not m.prefill)
OLD = next(m.id for m in MODELS if m.prefill)
TOOL = {"name": "Read", "input_schema": {"type": "object", "properties": {"path": {}}}}
USES, THOUGHTS = "clear_tool_uses_20250919", "clear_thinking_20251015"


def reader(chat):
    """Reads six files one after another, with a thought before each."""
    seen = []
    for number in range(6):
        [read] = yield chat.think(f"File {number}.").call("Read", path=f"f{number}")
        seen.append(read.input.get("path", "?") if read else "lost")
    yield chat.say(" ".join(seen))


@pytest.fixture(scope="module", autouse=True)
def scenarios(own_scenarios):
    """The scenarios of these tests."""
    registry.scenario("edits-reader", opens=r"^read six$")(reader)


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


def clear(kind=USES, **options):
    return {"context_management": {"edits": [{"type": kind, **options}]}}


def over(tokens):
    return {"type": "input_tokens", "value": tokens}


def uses(number):
    return {"type": "tool_uses", "value": number}


def turns(number):
    return {"type": "thinking_turns", "value": number}


def play(client, *, size=300, **options):
    """Play the scenario to its end. Gives the replies and the messages that were sent."""
    messages, replies = [{"role": "user", "content": "read six"}], []
    while True:
        reply = client.beta.messages.create(
            model=MODEL, max_tokens=1000, tools=[TOOL], messages=messages, betas=[BETA], **options
        )
        replies.append(reply)
        messages.append(reply.to_param())
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return replies, messages
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": "word " * size}
            for call in calls
        ]
        messages.append({"role": "user", "content": results})


def cleared(reply):
    """How many uses or turns each applied edit cleared."""
    edits = reply.context_management.applied_edits
    return [getattr(e, "cleared_tool_uses", None) or e.cleared_thinking_turns for e in edits]


# Old results


def test_old_results_are_lost_and_the_last_three_are_kept(client):
    replies, _ = play(client, **clear(trigger=over(1000)))
    assert [cleared(reply) for reply in replies] == [[], [], [], [], [1], [2], [3]]
    assert replies[-1].content[0].text == "lost lost lost f3 f4 f5"


def test_what_is_reported_is_what_the_prompt_got_smaller_by(client):
    _, messages = play(client)
    asked = {"model": MODEL, "tools": [TOOL], "messages": messages[:-1], "betas": [BETA]}
    whole = client.beta.messages.count_tokens(**asked)
    less = client.beta.messages.count_tokens(**asked, **clear(trigger=uses(1)))
    assert less.context_management.original_input_tokens == whole.input_tokens
    reply = client.beta.messages.create(**asked, max_tokens=500, **clear(trigger=uses(1)))
    [applied] = reply.context_management.applied_edits
    assert applied.cleared_input_tokens == whole.input_tokens - less.input_tokens > 1000
    assert reply.usage.input_tokens == less.input_tokens


def test_by_default_nothing_is_cleared_before_100_000_tokens(client):
    assert cleared(play(client, **clear())[0][-1]) == []
    replies, _ = play(client, size=25_000 * 3 // 5, **clear())
    assert cleared(replies[-1]) == [2]


def test_what_was_cleared_once_can_be_cached_until_the_next_clearing():
    marked = {"cache_control": {"type": "ephemeral"}}
    with start() as fresh:
        client = anthropic.Anthropic(api_key="k", base_url=fresh.base_url, max_retries=0)
        replies, _ = play(client, **clear(trigger=over(1700), keep=uses(1)), **marked)
    assert [cleared(reply) for reply in replies] == [[], [], [], [], [3], [3], [3]]
    read = [reply.usage.cache_read_input_tokens for reply in replies]
    assert read[3] > 0
    assert read[4] == 0  # the clearing broke the prefix
    assert 0 < read[5] < read[6]


def test_too_little_is_not_worth_it(client):
    def last(at_least):
        options = clear(trigger=over(1), keep=uses(0), clear_at_least=over(at_least))
        return [cleared(reply) for reply in play(client, **options)[0]]

    assert last(1) == [[], [1], [2], [3], [4], [5], [6]]
    assert last(1000) == [[], [], [], [3], [3], [3], [6]]
    assert last(100_000) == [[]] * 7


def test_tools_can_be_spared_and_inputs_cleared_as_well(client):
    spared = clear(trigger=over(1), exclude_tools=["Read"])
    assert cleared(play(client, **spared)[0][-1]) == []
    _, messages = play(client)
    for inputs, expected in ((True, {}), (["Read"], {}), (["Write"], {"path": "f0"}), (False, ...)):
        body = {"model": MODEL, "tools": [TOOL], "messages": plain(messages[:-1])}
        body |= clear(trigger=over(1), clear_tool_inputs=inputs)
        prompt = edit(body, chain(body)).body["messages"]
        [call] = [b for b in prompt[1]["content"] if b["type"] == "tool_use"]
        assert call["input"] == ({"path": "f0"} if expected is ... else expected)
        assert prompt[2]["content"][0]["content"] == CLEARED_TEXT
        assert prompt[-1]["content"][0]["content"] == "word " * 300


def plain(messages):
    return [
        {
            "role": m["role"],
            "content": [
                b if isinstance(b, dict) else b.model_dump(exclude_unset=True) for b in m["content"]
            ]
            if isinstance(m["content"], list)
            else m["content"],
        }
        for m in messages
    ]


def test_the_placeholder_is_one_that_scenarios_know():
    assert CLEARED.fullmatch(CLEARED_TEXT)


def test_the_request_itself_is_not_changed(client):
    _, messages = play(client)
    body = {"model": MODEL, "messages": plain(messages[:-1])} | clear(trigger=over(1))
    before = repr(body)
    assert edit(body, chain(body)).applied
    assert repr(body) == before


# Thinking


def test_thinking_of_older_turns_is_cleared_and_a_loop_over_tools_is_one_turn(client):
    shown = {"thinking": {"type": "adaptive", "display": "summarized"}}
    _, messages = play(client, **shown)
    asked = {"model": MODEL, "tools": [TOOL], "betas": [BETA], **shown, "max_tokens": 500}
    once = client.beta.messages.create(
        messages=messages[:-1], **asked, **clear(THOUGHTS, keep=turns(1))
    )
    assert cleared(once) == []
    more = [*messages, {"role": "user", "content": "read six"}]
    second = client.beta.messages.create(messages=more, **asked)
    more += [
        second.to_param(),
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": second.content[-1].id, "content": "x"}
            ],
        },
    ]
    reply = client.beta.messages.create(messages=more, **asked, **clear(THOUGHTS, keep=turns(1)))
    assert cleared(reply) == [1]
    for keep in ("all", {"type": "all"}, turns(2)):
        reply = client.beta.messages.create(messages=more, **asked, **clear(THOUGHTS, keep=keep))
        assert cleared(reply) == []
    # what was cleared on the server is still bound to what the client sent
    again = client.beta.messages.create(
        messages=more,
        **asked | {"betas": [BETA, "thinking-binding-controls-2026-08-01"]},
        **clear(THOUGHTS, keep=turns(1)),
    )
    assert again.input_transformations == []


def test_results_before_thinking_may_be_cleared_on_the_server_but_not_by_the_client(client):
    shown = {"thinking": {"type": "adaptive", "display": "summarized"}}
    replies, messages = play(client, **clear(trigger=over(1), keep=uses(0)), **shown)
    assert replies[-1].content[0].text == "lost lost lost lost lost lost"
    edited = plain(messages[:-1])
    edited[2]["content"][0]["content"] = CLEARED_TEXT
    with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
        client.messages.create(model=MODEL, max_tokens=500, tools=[TOOL], messages=edited, **shown)


# Streams, and our own client


def test_in_a_stream_the_edits_come_at_the_end(client):
    _, messages = play(client)
    asked = {"model": MODEL, "tools": [TOOL], "messages": messages[:-1], "betas": [BETA]}
    asked |= clear(trigger=over(1)) | {"max_tokens": 500}
    with client.beta.messages.stream(**asked) as stream:
        events = list(stream)
        final = stream.get_final_message()
    assert next(e for e in events if e.type == "message_start").message.context_management is None
    [delta] = [e for e in events if e.type == "message_delta"]
    assert delta.context_management.applied_edits[0].cleared_tool_uses == 3
    assert final.context_management == client.beta.messages.create(**asked).context_management


def test_our_own_client_can_ask_for_it_and_is_told_the_rule(simulator):
    endpoint = Endpoint("here", simulator.base_url, MODEL, api_key="k", clock=simulator.clock)
    own = sync_client(endpoint)
    replies, _ = play(own, **clear(trigger=over(1000)))
    assert cleared(replies[-1]) == [3]
    with pytest.raises(anthropic.BadRequestError) as caught:
        play(own, **clear(keep=uses(-1)))
    assert "context_management.edits.0" in str(caught.value)


# What is refused


def ask(client, betas=(BETA,), **changes):
    asked = {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
    return client.beta.messages.create(**asked | changes, betas=list(betas))


TAGS = (
    "does not match any of the expected tags: 'clear_thinking_20251015', 'clear_tool_uses_20250919'"
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (clear() | {"betas": ()}, "context_management: Extra inputs are not permitted"),
        (clear("clear_all"), "context_management.edits.0: Input tag 'clear_all' found using 'type' "
         + TAGS),
        (clear("compact_20260112"),
         "context_management.edits.0: Input tag 'compact_20260112' found using 'type' " + TAGS),
        (clear(trigger=uses(0)),
         "context_management.edits.0.clear_tool_uses_20250919.trigger.tool_uses.value: Input "
         "should be greater than or equal to 1"),
        (clear(keep=3),
         "context_management.edits.0.clear_tool_uses_20250919.keep: Input should be a valid "
         "dictionary or object to extract fields from"),
        (clear(placeholder="x"),
         "context_management.edits.0.clear_tool_uses_20250919.placeholder: Extra inputs are not "
         "permitted"),
        (clear(THOUGHTS, keep=turns(0)),
         "context_management.edits.0.clear_thinking_20251015.keep.thinking_turns.value: Input "
         "should be greater than or equal to 1"),
        ({"context_management": {"edits": [{"type": USES}, {"type": THOUGHTS}]}},
         "context_management: `clear_thinking_20251015` must be the first strategy in "
         "`context_management.edits` when provided"),
        (clear(THOUGHTS) | {"model": QUIET},
         "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive"),
    ],
)  # fmt: skip
def test_an_edit_that_the_api_does_not_take_is_refused(client, changes, message):
    with pytest.raises(anthropic.BadRequestError) as caught:
        ask(client, **{"betas": (BETA,)} | changes)
    assert caught.value.api_message == message


@pytest.mark.parametrize(
    "changes",
    [
        {"context_management": {}},
        {"context_management": None},
        {"context_management": {"edits": []}},
        {"context_management": {"edits": [{"type": THOUGHTS}, {"type": USES}]}},
        clear(clear_tool_inputs=["Read"], exclude_tools=None, clear_at_least=None),
        clear() | {"betas": ("compact-2026-01-12",)},
        clear(THOUGHTS) | {"model": QUIET, "thinking": {"type": "adaptive"}},
        clear(THOUGHTS) | {
            "model": OLD, "max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 2000}
        },
    ],
)  # fmt: skip
def test_an_edit_that_the_api_takes_is_taken(client, changes):
    reply = ask(client, **{"betas": (BETA,)} | changes)
    asked = changes["context_management"]
    assert (reply.context_management is None) == (asked is None)
