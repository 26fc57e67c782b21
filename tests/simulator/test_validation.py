"""The rules, one by one, with the texts of the real API, over HTTP and through the real SDK."""

import copy
import typing

import anthropic
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab.models import all_models, default_model
from agentlab.simulator import marks, start, validation
from agentlab.simulator.betas import BETA_FIELDS, BETAS, BINDING, turned_on
from agentlab.simulator.prefix import chain
from agentlab.simulator.rules import RULES, Rejected
from agentlab.simulator.validation import Validator

MODELS = all_models().values()
MODEL = default_model()
PREFILL = next(m.id for m in MODELS if m.prefill and "enabled" in m.thinking)
FORCED = next(m.id for m in MODELS if m.forced_tool_choice and "adaptive" in m.thinking)
PLAIN = next(m.id for m in MODELS if not m.system_messages)
DOCS = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"

TOOL = {"name": "Read", "input_schema": {"type": "object", "properties": {}}}
ASK = {"role": "user", "content": "Read it."}
MARK = {"type": "ephemeral"}


def text(content, **more):
    return {"type": "text", "text": content, **more}


def call(number, name="Read"):
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}


def result(number, **more):
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "x", **more}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def system(content):
    return {"role": "system", "content": content}


SEARCH = {"type": "tool_search_tool_regex_20251119", "name": "search"}
SEARCHED = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "search", "input": {}}
FOUND = {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": {}}
PAIRED = "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
UNPAIRED = (
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
)
MISSING = "`tool_use` ids were found without `tool_result` blocks immediately after"
SCHEMA = (
    "JSON schema is invalid. It must match JSON Schema draft 2020-12 "
    "(https://json-schema.org/draft/2020-12). Learn more about tool use at "
    "https://docs.claude.com/en/docs/tool-use."
)
TTL_ORDER = (
    "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that "
    "blocks are processed in the following order: tools, system, messages."
)
HOUR = {"type": "ephemeral", "ttl": "1h"}
OPEN = {"type": "object", "properties": {"a": {"type": "object"}}}


def schema(**parts):
    return [{"name": "Read", "input_schema": {"type": "object", **parts}}]


def format_of(schema):
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


# (rule, what differs from a good request, what the API says)
REFUSED = [
    # Fields
    ("missing-field", {"max_tokens": ...}, "max_tokens: Field required"),
    ("missing-field", {"messages": ...}, "messages: Field required"),
    ("field", {"max_tokens": "10"}, "max_tokens: Input should be a valid integer"),
    ("field", {"messages": {}}, "messages: Input should be a valid list"),
    ("field", {"messages": [{"role": "tool", "content": "x"}]},
     "messages.0.role: Input should be 'user', 'assistant' or 'system'"),
    ("missing-field", {"messages": [{"role": "user"}]}, "messages.0.content: Field required"),
    ("missing-field", {"messages": [user({"text": "x"})]},
     "messages.0.content.0.type: Field required"),
    ("field", {"messages": [ASK, assistant({**call(1), "id": "a b"})]},
     "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"),
    ("field", {"tools": [{**TOOL, "name": "read.file"}]},
     "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"),
    ("extra-field", {"context_management": {}},
     "context_management: Extra inputs are not permitted"),
    ("extra-field", {"messages": [ASK, assistant({**call(1), "text": ""})]},
     "messages.1.content.0.tool_use.text: Extra inputs are not permitted"),
    ("extra-field", {"system": [text("a"), text("b", cache_control={**MARK, "scope": 1})]},
     "system.1.cache_control.ephemeral.scope: Extra inputs are not permitted"),
    ("extra-field", {"tools": [{**TOOL, "function": {}}]},
     "tools.0.custom.function: Extra inputs are not permitted"),
    ("sampling", {"temperature": 1.0}, "temperature: Extra inputs are not permitted"),
    ("sampling", {"top_p": None}, "top_p: Extra inputs are not permitted"),
    ("stop-sequence", {"stop_sequences": ["\n"]},
     "stop_sequences: each stop sequence must contain non-whitespace"),
    ("max-tokens", {"max_tokens": 999_999},
     f"max_tokens: 999999 > {all_models()[MODEL].max_output_tokens}, which is the maximum allowed "
     f"number of output tokens for {MODEL}"),
    ("prewarm", {"max_tokens": 0, "stream": True},
     "max_tokens: 0 cannot be combined with `stream`"),
    # Messages
    ("no-messages", {"messages": []}, "messages: at least one message is required"),
    ("first-user", {"messages": [assistant(text("Hi"))]},
     'messages: first message must use the "user" role'),
    ("system-role", {"messages": [system("x"), ASK]},
     "messages.0: use the top-level 'system' parameter for the initial system prompt"),
    ("system-role", {"messages": [ASK, assistant(text("Hi")), system("x")]},
     "messages.2: role 'system' must follow a 'user' message or an 'assistant' message ending in a "
     "server tool result"),
    ("system-role", {"messages": [ASK, system("x"), ASK]},
     "messages.1: role 'system' must be the last message or be followed by an 'assistant' message"),
    ("system-role", {"model": PLAIN, "messages": [ASK, system("x")]},
     "role 'system' is not supported on this model"),
    ("empty-message", {"messages": [user()]},
     "messages.0: all messages must have non-empty content except for the optional final "
     "assistant message"),
    ("empty-message", {"messages": [ASK, {"role": "assistant", "content": ""}, ASK]},
     "messages.1: all messages must have non-empty content except for the optional final "
     "assistant message"),
    ("empty-text", {"messages": [user(text(""))]},
     "messages: text content blocks must be non-empty"),
    ("empty-text", {"messages": [{"role": "user", "content": " \n"}]},
     "messages: text content blocks must contain non-whitespace text"),
    ("empty-text", {"system": [text("")]}, "system: text content blocks must be non-empty"),
    ("cache-empty", {"messages": [user(text("", cache_control=MARK))]},
     "messages.0.content.0.text: cache_control cannot be set for empty text blocks"),
    ("cache-empty", {"system": [text("", cache_control=MARK)]},
     "system.0: cache_control cannot be set for empty text blocks"),
    ("citations", {"messages": [user(text("x", citations=[{}]))]},
     "messages.0.content.0.text.citations: Extra inputs are not permitted"),
    ("block-role", {"messages": [user(call(1))]},
     "messages.0: `tool_use` blocks can only be in `assistant` messages"),
    ("block-role", {"messages": [ASK, assistant(result(1))]},
     "messages.1: `tool_result` blocks can only be in `user` messages"),
    ("prefill", {"messages": [ASK, assistant(text("The"))]},
     "This model does not support assistant message prefill. The conversation must end with a user "
     "message."),
    ("trailing-space", {"model": PREFILL, "messages": [ASK, assistant(text("The "))]},
     "messages: final assistant content cannot end with trailing whitespace"),
    # Calls and results
    ("missing-result", {"messages": [ASK, assistant(call(1)), ASK]},
     f"messages.1: {MISSING}: toolu_1. {PAIRED}"),
    ("missing-result", {"messages": [ASK, assistant(call(1), call(2)), user(result(2))]},
     f"messages.1: {MISSING}: toolu_1. {PAIRED}"),
    ("missing-result", {"messages": [ASK, assistant(call(1), call(2)), user(text("x"))]},
     f"messages.1: {MISSING}: toolu_1, toolu_2. {PAIRED}"),
    ("missing-result", {"messages": [ASK, assistant(call(1)), user(text("x"), result(1))]},
     f"messages.1: {MISSING}: toolu_1. {PAIRED}"),
    ("missing-result", {"messages": [ASK, assistant(call(1))]},
     f"messages.1: {MISSING}: toolu_1. {PAIRED}"),
    ("orphan-result", {"messages": [ASK, assistant(text("x")), user(result(9))]},
     "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_9. "
     + UNPAIRED),
    ("orphan-result", {"messages": [user(result(9))]},
     "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_9. "
     + UNPAIRED),
    ("orphan-result",
     {"messages": [ASK, assistant(call(1)), user(result(1)), assistant(text("x")),
                   user(result(1))]},
     "messages.4.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. "
     + UNPAIRED),
    ("unique-ids", {"messages": [ASK, assistant(call(1), call(1)), user(result(1))]},
     "messages.1.content.1: `tool_use` ids must be unique"),
    ("unique-ids",
     {"messages": [ASK, assistant(call(1)), user(result(1)), assistant(call(1)), user(result(1))]},
     "messages.3.content.0: `tool_use` ids must be unique"),
    ("one-result", {"messages": [ASK, assistant(call(1)), user(result(1), result(1))]},
     "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` "
     "blocks with id: toolu_1"),
    ("error-content",
     {"messages": [ASK, assistant(call(1)), user(result(1, is_error=True, content=""))]},
     "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true"),
    ("server-result", {"tools": [SEARCH, TOOL], "messages": [ASK, assistant(FOUND), ASK]},
     "messages.1.content.0: unexpected `tool_use_id` found in `tool_search_tool_result` blocks: "
     "srvtoolu_1. Each `tool_search_tool_result` block must have a corresponding `server_tool_use` "
     "block before it."),
    # Thinking
    ("thinking-mode", {"thinking": {"type": "enabled", "budget_tokens": 1024}},
     '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
     '"output_config.effort" to control thinking behavior.'),
    ("thinking-mode", {"thinking": {"type": "disabled"}},
     '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and '
     '"output_config.effort" to control thinking behavior.'),
    ("field", {"model": PREFILL, "thinking": {"type": "enabled", "budget_tokens": 5}},
     "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"),
    ("thinking-budget", {"model": PREFILL, "thinking": {"type": "enabled", "budget_tokens": 2000}},
     "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation "
     f"at {DOCS}#max-tokens-and-context-window-size"),
    ("thinking-first",
     {"model": PREFILL, "max_tokens": 3000, "thinking": {"type": "enabled", "budget_tokens": 1024},
      "messages": [ASK, assistant(call(1)), user(result(1))]},
     "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. "
     "When `thinking` is enabled, a final `assistant` message must start with a thinking block "
     "(preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you "
     "include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. "
     f"Please consult our documentation at {DOCS}"),
    ("signature",
     {"messages": [ASK, assistant({"type": "thinking", "thinking": "a", "signature": "EqQB"},
                                  text("x")), ASK]},
     "messages.1.content.0: Invalid `signature` in `thinking` block"),
    ("extra-field", {"thinking": {"type": "adaptive", "block_binding": {}}},
     "thinking.adaptive.block_binding: Extra inputs are not permitted"),
    # Tools
    ("tool-names", {"tools": [TOOL, TOOL]}, "tools: Tool names must be unique."),
    ("tool-schema", {"tools": schema(properties={"a": {"type": "text"}})},
     f"tools.0.custom.input_schema: {SCHEMA}"),
    ("tool-schema", {"tools": schema(anyOf=[{}])},
     "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top "
     "level"),
    ("missing-field", {"tools": [{"name": "Read", "input_schema": {}}]},
     "tools.0.custom.input_schema.type: Field required"),
    ("field", {"tools": [{"name": "Read", "input_schema": {"type": "array"}}]},
     "tools.0.custom.input_schema.type: Input should be 'object'"),
    ("strict-schema", {"tools": [{**TOOL, "strict": True}]},
     "tools.0.custom: For 'object' type, 'additionalProperties' must be explicitly set to false"),
    ("strict-schema", format_of({**OPEN, "additionalProperties": False}),
     "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly "
     "set to false"),
    ("strict-schema", format_of({"type": "object", "additionalProperties": True}),
     "output_config.format.schema: For 'object' type, 'additionalProperties: true' is not "
     "supported. Please set 'additionalProperties' to false"),
    ("tool-choice", {"tool_choice": {"type": "auto"}, "tools": []},
     "tool_choice may only be specified while providing tools."),
    ("tool-choice", {"tool_choice": {"type": "any"}},
     'tool_choice: type "tool" and "any" are not supported for this model.'),
    ("tool-choice",
     {"model": FORCED, "tool_choice": {"type": "any"}, "thinking": {"type": "adaptive"}},
     "Thinking may not be enabled when tool_choice forces tool use."),
    ("unknown-tool", {"model": FORCED, "tool_choice": {"type": "tool", "name": "Nope"}},
     "Tool 'Nope' not found in provided tools"),
    ("unknown-tool", {"messages": [ASK, assistant(SEARCHED, FOUND, text("x")), ASK]},
     "Tool 'search' not found in provided tools"),
    ("all-deferred", {"tools": [{**TOOL, "defer_loading": True}]},
     "All tools have defer_loading set. At least one tool must be non-deferred."),
    ("cache-deferred",
     {"tools": [TOOL, {**TOOL, "name": "B", "defer_loading": True, "cache_control": MARK}]},
     "Tool 'B' cannot have both defer_loading=true and cache_control set. Tools with defer_loading "
     "cannot use prompt caching."),
    ("tool-reference",
     {"messages": [ASK, assistant(call(1)),
                   user(result(1, content=[{"type": "tool_reference", "tool_name": "Nope"}]))]},
     "Tool reference 'Nope' has no corresponding tool definition"),
    # The prompt cache
    ("cache-breakpoints", {"messages": [user(*[text("x", cache_control=MARK)] * 5)]},
     "A maximum of 4 blocks with cache_control may be provided. Found 5."),
    ("cache-breakpoints",
     {"cache_control": MARK, "messages": [user(*[text("x", cache_control=MARK)] * 4, text("y"))]},
     "A maximum of 4 blocks with cache_control may be provided. Found 5."),
    ("cache-ttl-order",
     {"system": [text("s", cache_control=MARK)], "messages": [user(text("x", cache_control=HOUR))]},
     f"messages.0.content.0.cache_control.ttl: {TTL_ORDER}"),
    ("cache-ttl-order",
     {"tools": [{**TOOL, "cache_control": MARK}], "system": [text("s", cache_control=HOUR)]},
     f"system.0.cache_control.ttl: {TTL_ORDER}"),
    ("cache-ttl-order",
     {"cache_control": MARK, "messages": [user(text("x", cache_control=HOUR))]},
     "Top-level cache_control has ttl='5m' but the target block already has cache_control with "
     "ttl='1h'"),
]  # fmt: skip


def good(changes=()):
    body = {"model": MODEL, "max_tokens": 1000, "tools": [TOOL], "messages": [ASK]}
    body |= dict(changes)
    return {key: value for key, value in body.items() if value is not ...}


@pytest.fixture(scope="module")
def simulator():
    with start() as running:
        yield running


@pytest.fixture(scope="module")
def client(simulator):
    with anthropic.Anthropic(
        api_key="key", base_url=simulator.base_url, _strict_response_validation=True
    ) as made:
        yield made


def refused(client, body, path="/v1/messages", **headers):
    with pytest.raises(anthropic.APIStatusError) as caught:
        client.post(path, body=body, cast_to=object, options={"headers": headers})
    return caught.value


@pytest.mark.parametrize(
    ("rule", "changes", "message"),
    REFUSED,
    ids=[f"{rule}-{n}" for n, (rule, *_) in enumerate(REFUSED)],
)
def test_a_broken_rule_is_refused_in_the_words_of_the_api(client, rule, changes, message):
    error = refused(client, good(changes))
    assert isinstance(error, anthropic.BadRequestError)
    assert error.type == "invalid_request_error"
    assert error.api_message == message
    header = error.response.headers["agentlab-rule"]
    assert header == f"{rule}; chapter={RULES[rule].chapter}; {RULES[rule].says}"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"system": "", "tools": None, "stop_sequences": ["END"], "metadata": {"user_id": "me"}},
        {"messages": [ASK, ASK]},
        {"messages": [ASK, assistant(call(1)), assistant(call(2)), user(result(1)),
                      user(result(2))]},
        {"messages": [ASK, assistant(call(1)), user(result(1), text("And now?"))]},
        {"messages": [ASK, assistant(call(1)), user(result(1, content=""))]},
        {"messages": [ASK, assistant(call(1)), user(result(1), text("Go")), system("Be kind.")]},
        {"messages": [ASK, system("Be kind.")]},
        {"model": PREFILL, "messages": [ASK, assistant(text("The"))]},
        {"model": PREFILL, "messages": [ASK, {"role": "assistant", "content": ""}]},
        {"tools": [SEARCH, {**TOOL, "defer_loading": True}],
         "messages": [ASK, assistant(SEARCHED, FOUND)]},
        {"cache_control": MARK, "messages": [user(text("x", cache_control=MARK))]},
        {"messages": [user(text("x", cache_control=HOUR), text("y", cache_control=MARK))]},
        {"max_tokens": 0},
        {"tools": schema(properties={"a": {"oneOf": [{"type": "string"}, {"type": "null"}]}})},
        {"model": FORCED, "tool_choice": {"type": "tool", "name": "Read"}},
        {"messages": [user({"type": "image", "source": {"type": "base64", "data": "aGk=",
                                                       "media_type": "image/png"}})]},
    ],
)  # fmt: skip
def test_a_good_request_is_taken(changes):
    body = good(changes)
    Validator().check(body, chain(body))


def test_every_rule_is_explained_and_tested():
    elsewhere = {  # tested below, or in the tests of the server
        "auth", "version", "beta", "json", "size", "thread", "not-simulated", "model",
        "prompt-too-long", "thinking-last", "thinking-off", "thinking-edited", "prefix-changed",
        "context-edits", "compaction", "batch", "batch-state",
    }  # fmt: skip
    assert {rule for rule, *_ in REFUSED} | elsewhere == set(RULES)


# Headers


def test_without_a_key_it_is_401(simulator):
    answer = httpx2.post(f"{simulator.base_url}/v1/messages", json=good())
    assert answer.status_code == 401
    assert answer.json()["error"] == {
        "type": "authentication_error",
        "message": "x-api-key header is required",
    }


def test_both_styles_of_key_and_both_versions_are_taken(simulator):
    for key in ({"x-api-key": "k"}, {"authorization": "Bearer k"}):
        for version in validation.VERSIONS:
            headers = {**key, "anthropic-version": version}
            url = f"{simulator.base_url}/v1/messages?beta=true"
            assert httpx2.post(url, json=good(), headers=headers).status_code == 200
    answer = httpx2.post(url, json=good(), headers={"x-api-key": "k"})
    assert answer.json()["error"]["message"] == "anthropic-version: header is required"
    assert refused_version(url) == "anthropic-version: '2020-01-01' is not a valid version"


def refused_version(url):
    headers = {"x-api-key": "k", "anthropic-version": "2020-01-01"}
    return httpx2.post(url, json=good(), headers=headers).json()["error"]["message"]


def test_sampling_is_taken_by_the_old_version_and_only_at_1_with_thinking(client):
    old = {"anthropic-version": "2023-06-01"}
    body = good({"temperature": 1.0, "top_k": 5})
    client.post("/v1/messages", body=body, cast_to=object, options={"headers": old})
    error = refused(client, good({"temperature": 0.5}), **old)
    assert error.api_message == (
        "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode. Please "
        f"consult our documentation at {DOCS}#important-considerations-when-using-extended-thinking"
    )


def test_documents_of_the_assistant_are_only_taken_by_the_old_version():
    source = {"type": "text", "media_type": "text/plain", "data": "x"}
    document = {"type": "document", "source": source}
    body = good({"messages": [ASK, assistant(document), ASK]})
    Validator().check(body, chain(body), version="2023-06-01")
    with pytest.raises(Rejected, match="`document` blocks can only be in `user` messages"):
        Validator().check(body, chain(body))


def test_an_unknown_beta_is_refused(client):
    error = refused(client, good(), **{"anthropic-beta": "pdfs-2024-09-25,time-travel-2030-01-01"})
    assert error.api_message == (
        "Unexpected value(s) `time-travel-2030-01-01` for the `anthropic-beta` header. Please "
        "consult our documentation at platform.claude.com/docs or try again without the header."
    )


def test_the_betas_are_those_of_the_sdk():
    from anthropic.types.anthropic_beta_param import AnthropicBetaParam

    literal = next(part for part in typing.get_args(AnthropicBetaParam) if part is not str)
    assert set(typing.get_args(literal)) <= BETAS
    assert all(any(turned_on(field, frozenset([b])) for b in BETAS) for field in BETA_FIELDS)


def test_a_real_beta_that_is_not_played_says_so(client):
    error = refused(
        client, good({"mcp_servers": []}), **{"anthropic-beta": "mcp-client-2025-11-20"}
    )
    assert "this simulator does not play it" in error.api_message
    assert error.response.headers["agentlab-rule"].startswith("not-simulated")


def test_an_unknown_model_is_404(client):
    error = refused(client, good({"model": "claude-nope"}))
    assert isinstance(error, anthropic.NotFoundError)
    assert error.api_message == "model: claude-nope"


def test_a_prompt_that_does_not_fit_is_refused(client):
    small = min(MODELS, key=lambda model: model.context_tokens)
    body = good({"model": small.id, "messages": [user(text("word " * 200_000))]})
    count = chain(body).total_tokens
    error = refused(client, body)
    assert error.api_message == (
        f"prompt is too long: {count} tokens > {small.context_tokens} maximum"
    )


def test_counting_has_the_same_rules_without_max_tokens(client):
    path = "/v1/messages/count_tokens"
    error = refused(client, good({"max_tokens": ..., "messages": []}), path)
    assert error.api_message == "messages: at least one message is required"
    error = refused(client, good(), path)
    assert error.api_message == "max_tokens: Extra inputs are not permitted"


# Thinking, bound to what stands before it


def thought(before, words="Let me see.", display=True, **more):
    """A thinking block as the simulator makes it for a reply to ``before``."""
    mark = marks.Mark("improviser", 1, prefix=chain(good(before)).whole)
    signature = marks.encode_signature(mark, words)
    return {"type": "thinking", "thinking": words if display else "", "signature": signature} | more


def check(changes, **arguments):
    body = good(changes)
    return Validator().check(body, chain(body), **arguments)


def test_thinking_goes_back_after_the_same_beginning():
    first = {"messages": [ASK]}
    reply = [ASK, assistant(thought(first), call(1)), user(result(1))]
    check({"messages": reply})
    check({"messages": [ASK, assistant(thought(first, display=False), call(1)), user(result(1))]})
    then = [*reply, assistant(thought({"messages": reply}), text("Done.")), ASK]
    check({"messages": then})
    without_the_oldest = copy.deepcopy(then)
    del without_the_oldest[1]["content"][0]
    check({"messages": without_the_oldest})


@pytest.mark.parametrize(
    "edit",
    [
        {"system": "New."},
        {"tools": [{**TOOL, "description": "New."}]},
        {"messages": [user(text("Another task.")), assistant(thought({}), text("x")), ASK]},
    ],
)
def test_an_edit_before_a_thinking_block_is_refused(edit):
    history = {"messages": [ASK, assistant(thought({}), text("x")), ASK]}
    check(history)
    message = (
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
        "different conversation. Remove the block, or set "
        '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
    )
    with pytest.raises(Rejected) as caught:
        check({**history, **edit}, betas=frozenset([BINDING]))
    assert caught.value.rule == "prefix-changed"
    assert caught.value.message == message
    with pytest.raises(Rejected) as caught:
        check({**history, **edit})
    assert caught.value.message == (
        f"{message} That setting requires the `{BINDING}` value in the `anthropic-beta` header."
    )


def test_drop_block_drops_the_mismatch_and_every_later_block(client):
    messages = [ASK, assistant(thought({"system": "Old."}), text("x")), ASK]
    later = thought({"messages": messages})
    messages = [*messages, assistant(later, text("y")), ASK]
    binding = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    answer = client.beta.messages.create(
        model=MODEL, max_tokens=1000, tools=[TOOL], messages=messages, thinking=binding,
        betas=[BINDING],
    )  # fmt: skip
    assert [t.path for t in answer.input_transformations] == [
        "messages.1.content.0",
        "messages.3.content.0",
    ]


def test_edited_thinking_is_refused():
    edited = thought({}) | {"thinking": "Let me see!"}
    with pytest.raises(Rejected) as caught:
        check({"messages": [ASK, assistant(edited, text("x")), ASK]})
    assert caught.value.message == (
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant "
        "message cannot be modified. These blocks must remain as they were in the original "
        "response."
    )
    older = [ASK, assistant(edited, text("x")), ASK, assistant(text("y")), ASK]
    with pytest.raises(Rejected) as caught:
        check({"messages": older})
    assert caught.value.message == "messages.1.content.0: Invalid `signature` in `thinking` block"


def test_a_message_does_not_end_in_thinking():
    with pytest.raises(Rejected) as caught:
        check({"messages": [ASK, assistant(thought({})), ASK]})
    assert caught.value.message == (
        "messages.1: The final block in an assistant message cannot be `thinking`."
    )


def test_no_thinking_in_a_prefill_while_thinking_is_off():
    block = thought({"model": PREFILL})
    with pytest.raises(Rejected) as caught:
        check({"model": PREFILL, "messages": [ASK, assistant(block, text("x"))]})
    assert caught.value.message == (
        "messages.1.content.0: When thinking is disabled, an `assistant` message in the final "
        "position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your "
        "request."
    )


# The memo


PIECES = st.lists(
    st.sampled_from(
        [
            ASK, user(text("")), user(result(1)), user(result(2), text("x")),
            user(result(1), result(2)), assistant(text("x")), assistant(call(1)),
            assistant(call(1), call(2)), assistant(call(2)), system("x"), user({"type": "nope"}),
            assistant(thought({}), text("x")), user(text("x", cache_control=MARK)),
        ]
    ),
    max_size=8,
)  # fmt: skip


def verdict(validator, messages):
    body = good({"messages": messages})
    try:
        return validator.check(body, chain(body))
    except Rejected as rejected:
        return rejected.rule, rejected.message


@settings(max_examples=300)
@given(PIECES)
def test_remembering_valid_beginnings_never_changes_the_verdict(messages):
    remembering = Validator()
    for length in range(len(messages) + 1):
        part = copy.deepcopy(messages[:length])
        assert verdict(remembering, part) == verdict(Validator(), part)


def test_an_unchanged_prefix_is_not_looked_at_again(monkeypatch):
    from agentlab.simulator import validation_messages

    seen = []
    real = validation_messages.check_shape
    monkeypatch.setattr(
        validation_messages, "check_shape", lambda *a: (seen.append(a[2][1]), real(*a))
    )
    validator, history = Validator(), [ASK]
    for number in range(1, 40):
        verdict(validator, history)
        history = [*history, assistant(call(number)), user(result(number))]
    assert len(seen) == 1 + 2 * 38
    assert seen == sorted(seen)


def test_the_memo_is_bounded(monkeypatch):
    monkeypatch.setattr(validation, "MEMO_SIZE", 20)
    validator = Validator()
    for number in range(100):
        verdict(validator, [user(text(f"task {number}"))])
    assert len(validator._valid) <= 20


# Nothing that is sent can break it


RICH = good(
    {
        "system": [text("s", cache_control=MARK)],
        "thinking": {"type": "adaptive", "display": "summarized"},
        "tool_choice": {"type": "auto"},
        "tools": [SEARCH, TOOL, {**TOOL, "name": "B", "defer_loading": True, "strict": None}],
        "output_config": {"effort": "low", "format": None},
        "stop_sequences": ["x"],
        "metadata": {"user_id": "me"},
        "messages": [
            ASK,
            assistant(thought({}), SEARCHED, FOUND, call(1)),
            user(result(1, content=[text("x")]), text("y", cache_control=HOUR)),
        ],
    }
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def places(value, path=()):
    """The path of every part of a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else items:
        yield from places(inner, (*path, key))


@settings(max_examples=500)
@given(st.data())
def test_junk_anywhere_is_taken_or_refused_but_never_breaks_the_server(data):
    body = copy.deepcopy(RICH)
    for _ in range(data.draw(st.integers(1, 3))):
        *path, key = data.draw(st.sampled_from([p for p in places(body) if p]))
        inner = body
        for step in path:
            inner = inner[step]
        junk = data.draw(JUNK | st.sampled_from([MARK, HOUR, call(1), result(1), text("")]))
        inner[key] = copy.deepcopy(junk)
    try:
        Validator().check(body, chain(body))
    except Rejected as rejected:
        assert rejected.rule in RULES
