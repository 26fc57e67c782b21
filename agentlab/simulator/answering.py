"""From a request that was read and checked to the reply: edit, compact, play, count.

The prompt that the model reads may be another one than the client sent: from its last summary on,
and with old results cleared. What is counted, cached and played is the prompt; what thinking is
bound to is the request as it was sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from agentlab import models, tokens
from agentlab.models import Model
from agentlab.simulator import context_edits, server_compaction
from agentlab.simulator.betas import BINDING, COMPACTING
from agentlab.simulator.cache import Accounted, PromptCache
from agentlab.simulator.playback import Played
from agentlab.simulator.prefix import Chain, chain
from agentlab.simulator.reply import Reply, make_reply, usage_of

Block = dict[str, Any]
Play = Callable[[Block, Chain], Played]


@dataclass(frozen=True)
class Read:
    """A request that was read and, if the server is strict, found good."""

    body: Block  # from its last summary on
    sent: Chain  # of that body
    prompt: context_edits.Edited  # what the model reads
    betas: frozenset[str] = frozenset()
    dropped: list[str] = field(default_factory=list)  # paths of thinking that was left out
    scenario: str | None = None  # the one that is asked for by name


def answer(read: Read, play: Play, cache: PromptCache, now: float) -> Reply:
    """The reply, with its usage.

    Args:
        read: the request.
        play: the simulated model: a request and the chain that its reply is bound to.
        cache: the prompt cache, which is changed.
        now: seconds on the simulator's clock.
    """
    account = _Account(cache, now, _model_of(read.body))
    if read.body.get("compaction") is not None:
        reply = _on_demand(read, account)
    elif read.prompt.due is not None:
        reply = _at_threshold(read, play, account)
    else:
        reply = _plain(read.body, read.sent, read.prompt.body, read.prompt.chain, play, account)
        if read.betas & COMPACTING:
            reply = _with_iterations(reply)
    extra = dict(reply.extra)
    if read.body.get("context_management") is not None:
        extra["context_management"] = {"applied_edits": read.prompt.applied}
    if BINDING in read.betas:
        extra["input_transformations"] = [
            {"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"}
            for path in read.dropped
        ]
    return replace(reply, extra=extra)


@dataclass(frozen=True)
class _Account:
    cache: PromptCache
    now: float
    model: Model

    def of(self, prompt: Block, made: Chain) -> Accounted:
        return self.cache.account(prompt, made, self.model, self.now)


def _plain(
    body: Block, sent: Chain, prompt: Block, made: Chain, play: Play, account: _Account
) -> Reply:
    played = play(prompt, sent)
    accounted = account.of(prompt, made)
    return make_reply(body, played, account.model, accounted, made.total_tokens, sent.whole)


def _at_threshold(read: Read, play: Play, account: _Account) -> Reply:
    """A reply that begins with a summary, and goes on from there unless it is asked to pause."""
    due = read.prompt.due or {}
    block = server_compaction.make_block(
        read.prompt.body, due.get("instructions"), scenario=read.scenario
    )
    first = _iteration("compaction", _summary_usage(read, block, account))
    if due.get("pause_after_compaction"):
        return _only(read, [block], "compaction", first)
    body = server_compaction.with_block(read.body, block)
    made = chain(body)
    reply = _plain(body, made, body, made, play, account)
    return _with_iterations(replace(reply, content=[block, *reply.content]), first)


def _on_demand(read: Read, account: _Account) -> Reply:
    """The summary and nothing else; without it, if it does not fit into ``max_tokens``."""
    asked = read.body["compaction"]
    instructions = asked.get("instructions") if isinstance(asked, dict) else None
    block = server_compaction.make_block(read.body, instructions, scenario=read.scenario)
    limit = read.body.get("max_tokens")
    usage = _summary_usage(read, block, account)
    if isinstance(limit, int) and usage["output_tokens"] > limit:
        cut = _iteration("compaction", {**usage, "output_tokens": limit})
        return _only(read, [], "max_tokens", cut)
    signed = server_compaction.signed_block(block, read.sent.anchor)
    return _only(read, [signed], "compaction", _iteration("compaction", usage))


def _only(read: Read, content: list[Block], reason: str, iteration: Block) -> Reply:
    """A reply without an answer of the model: its own usage is zero."""
    empty = Played(content, reason, scenario="compaction")
    reply = make_reply(read.body, empty, _model_of(read.body), NOTHING, 0, read.sent.whole)
    usage = {**reply.usage, **usage_of(NOTHING, 0, 0), "iterations": [iteration]}
    return replace(reply, usage=usage)


def _summary_usage(read: Read, block: Block, account: _Account) -> Block:
    """The summary is written by a call of its own over the same prompt."""
    accounted = account.of(read.prompt.body, read.prompt.chain)
    return usage_of(accounted, tokens.count_text(block["content"]), 0)


def _with_iterations(reply: Reply, *before: Block) -> Reply:
    iterations = [*before, _iteration("message", reply.usage)]
    return replace(reply, usage={**reply.usage, "iterations": iterations})


def _iteration(kind: str, usage: Block) -> Block:
    """The usage of one step of a request. That of a summary is in no other sum."""
    return {"type": kind, **{key: usage[key] for key in _COUNTED}}


NOTHING = Accounted(0, 0, 0, 0)
_COUNTED = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "cache_creation",
    "output_tokens",
)


def _model_of(body: Block) -> Model:
    known = models.find_model(str(body.get("model")))
    return known or models.all_models()[models.default_model()]
