"""The rules that a request can break: an id, the chapter that explains it, one plain sentence.

A refused request carries the header ``agentlab-rule: <id>; chapter=<NN>; <sentence>`` beside the
error text of the real API, so that a learner who meets ``messages.2: tool_use ids were found …``
knows what it means and where to read on. The texts of the errors themselves stand in the modules
that check the rules.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class Rule(NamedTuple):
    """One rule: the chapter that explains it, and what it asks for."""

    chapter: str
    says: str


RULES: dict[str, Rule] = {
    # The envelope of a request
    "auth": Rule("00", "a request carries a key, as x-api-key or as a bearer token"),
    "version": Rule("01", "a request names the API version it was written for"),
    "beta": Rule("01", "a beta feature is named exactly as the vendor names it"),
    "json": Rule("01", "the body is valid JSON in valid Unicode"),
    "size": Rule("11", "a request is at most 32 MB"),
    "thread": Rule("02", "the server keeps no conversation: each request brings all of it"),
    "not-simulated": Rule("00", "a real feature that this simulator does not play"),
    "missing-field": Rule("01", "required fields are there"),
    "extra-field": Rule("01", "no field that the API does not know"),
    "field": Rule("01", "each field has the type and the values the API expects"),
    "model": Rule("00", "the model exists"),
    "sampling": Rule("01", "current versions take no temperature, top_p or top_k"),
    "stop-sequence": Rule("01", "a stop sequence is more than white space"),
    "max-tokens": Rule("01", "max_tokens fits the model"),
    "prewarm": Rule("09", "max_tokens 0 only fills the cache, so it goes with nothing else"),
    "prompt-too-long": Rule("10", "the prompt fits into the model's context window"),
    # What the server does to a prompt
    "context-edits": Rule("10", "context edits come in order, with a trigger that the API takes"),
    "compaction": Rule("10", "a summary made by the API goes back as it came, in its place"),
    # Message batches
    "batch": Rule("09", "a batch holds 1 to 100,000 requests, each with an id of its own"),
    "batch-state": Rule(
        "09", "a batch can be cancelled until it has ended, read and deleted after"
    ),
    # Messages
    "no-messages": Rule("01", "there is at least one message"),
    "first-user": Rule("01", "the first message is the user's"),
    "system-role": Rule("01", "system messages follow a user message, on models that take them"),
    "block-role": Rule("01", "each role has its own kinds of blocks"),
    "empty-message": Rule("01", "only the last assistant message may be empty"),
    "empty-text": Rule("01", "a text block says something"),
    "citations": Rule("01", "user text carries no citations"),
    "prefill": Rule("01", "the conversation ends with the user, unless the model takes a prefill"),
    "trailing-space": Rule("01", "a prefill does not end in white space"),
    "missing-result": Rule("01", "each tool call has its result first in the next message"),
    "orphan-result": Rule("01", "each result belongs to a call of the message before"),
    "unique-ids": Rule("01", "each tool call has its own id"),
    "one-result": Rule("01", "each tool call has one result"),
    "error-content": Rule("03", "a result that is an error says what went wrong"),
    "server-result": Rule("13", "a server tool's result follows its call"),
    # Thinking
    "thinking-mode": Rule("01", "the model knows that way of thinking"),
    "thinking-budget": Rule("01", "the thinking budget is smaller than max_tokens"),
    "thinking-first": Rule("01", "with a thinking budget, the last tool turn keeps its thinking"),
    "thinking-last": Rule("01", "an assistant message does not end in thinking"),
    "thinking-off": Rule("01", "no thinking in a prefill while thinking is off"),
    "thinking-edited": Rule("01", "thinking goes back exactly as it came"),
    "signature": Rule("01", "the signature is one that the server made"),
    "prefix-changed": Rule("01", "what stood before a thinking block has not changed"),
    # Tools
    "tool-names": Rule("03", "tool names are unique"),
    "tool-schema": Rule("03", "a tool's schema is valid JSON Schema with an object at the top"),
    "strict-schema": Rule("17", "a schema that is enforced forbids other properties"),
    "tool-choice": Rule("03", "tool_choice fits the tools, the model and the thinking"),
    "unknown-tool": Rule("03", "a tool that is named is among the tools"),
    "all-deferred": Rule("13", "at least one tool is not deferred"),
    "tool-reference": Rule("13", "a reference names a tool that was declared"),
    # The prompt cache
    "cache-breakpoints": Rule("09", "at most four cache breakpoints"),
    "cache-ttl-order": Rule("09", "long-lived breakpoints come before short-lived ones"),
    "cache-empty": Rule("09", "an empty block cannot be cached"),
    "cache-deferred": Rule("13", "a deferred tool is outside the prefix, so it is not cached"),
}


class Rejected(Exception):
    """The request broke a rule. ``message`` is what the API says about it."""

    def __init__(
        self,
        rule: str,
        message: str,
        *,
        status: int = 400,
        kind: str = "invalid_request_error",
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.status = status
        self.kind = kind
        self.details = details

    def moved(self, by: int) -> Rejected:
        """The same with the message that it names so many places further on."""

        def later(found: re.Match[str]) -> str:
            return f"messages.{int(found[1]) + by}"

        message = re.sub(r"^messages\.(\d+)", later, self.message) if by else self.message
        return Rejected(
            self.rule, message, status=self.status, kind=self.kind, details=self.details
        )

    @property
    def header(self) -> str:
        """The value of the response header ``agentlab-rule``."""
        rule = RULES[self.rule]
        return f"{self.rule}; chapter={rule.chapter}; {rule.says}"
