"""Is this request one that the API would take? The order of the checks, and those by field.

A request passes through gates: its shape (`schema`), what the model and the API version allow
(here), its tools, schemas and cache breakpoints (`validation_tools`), what it asks the server to do
to the prompt (`validation_compaction`), and its messages (`validation_messages`). The first rule
broken is the answer: `Rejected`, with the text of the real API. What differs by model comes from
`agentlab.models` and from nowhere else.

Histories grow by appending, so the messages that were found valid once, after the same tools,
system prompt and messages, are not looked at again.

The texts are quoted from public bug reports and from the vendor's pages (2024 to 2026-11); where
none was found for a rule, the text follows the shape of its neighbours and says so.
"""

from __future__ import annotations

from typing import Any

from agentlab import models
from agentlab.models import Model
from agentlab.simulator import (
    schema,
    validation_compaction,
    validation_messages,
    validation_tools,
)
from agentlab.simulator.betas import (
    BETA_FIELDS,
    BETAS,
    BINDING,
    COMPACT_ON_DEMAND,
    COMPACTING,
    FINISHED,
    PLAYED,
    turned_on,
)
from agentlab.simulator.prefix import Chain
from agentlab.simulator.rules import Rejected

VERSIONS = ("2023-06-01", "2026-10-21")
MEMO_SIZE = 4096  # beginnings of conversations known to be valid, 16 bytes each
_SAMPLING = ("temperature", "top_p", "top_k")
_DOCS = "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/"


def check_headers(headers: dict[str, str]) -> tuple[str, frozenset[str]]:
    """The API version and the betas of a request. Raises `Rejected` (401 without a key)."""
    if not headers.get("x-api-key") and not headers.get("authorization"):
        message = "x-api-key header is required"
        raise Rejected("auth", message, status=401, kind="authentication_error")
    version = headers.get("anthropic-version")
    if version is None:
        raise Rejected("version", "anthropic-version: header is required")
    if version not in VERSIONS:  # text not found verbatim
        raise Rejected("version", f"anthropic-version: '{version}' is not a valid version")
    betas = split_betas(headers)
    for beta in sorted(betas - BETAS - FINISHED):
        raise Rejected(
            "beta",
            f"Unexpected value(s) `{beta}` for the `anthropic-beta` header. Please consult our "
            "documentation at platform.claude.com/docs or try again without the header.",
        )
    return version, betas


def split_betas(headers: dict[str, str]) -> frozenset[str]:
    """The names in the header ``anthropic-beta``."""
    names = headers.get("anthropic-beta", "").split(",")
    return frozenset(name.strip() for name in names if name.strip())


def refuse_thread(body: dict[str, Any]) -> None:
    """Raise `Rejected` if the request leaves its history to the server, as threads do.

    The answer is the one that makes the SDK's tool runner send the whole history instead.
    """
    if body.get("thread") is not None:
        raise Rejected(
            "thread",
            "thread: this request cannot use a message thread. Send the whole conversation.",
            details={"error_code": "thread_unsupported_request", "unsupported": ["thread"]},
        )


class Validator:
    """Checks requests, and remembers which beginnings of conversations were valid."""

    def __init__(self) -> None:
        self._valid: dict[bytes, None] = {}

    def check(
        self,
        body: dict[str, Any],
        chain: Chain,
        *,
        version: str = VERSIONS[-1],
        betas: frozenset[str] = frozenset(),
        counting: bool = False,
        whole: dict[str, Any] | None = None,
        skipped: int = 0,
        batched: bool = False,
    ) -> list[str]:
        """Raise `Rejected` for the first rule that the request breaks.

        Args:
            body: the request, from its last summary by the API on; ``chain`` is its chain.
            version: the API version.
            betas: the beta features that it turns on.
            counting: it asks only for its number of tokens.
            whole: the request as it was sent, if that is more; ``skipped`` messages of it are not
                in ``body``.
            batched: it is one of a batch.

        Returns the paths of thinking blocks that are dropped because the request asked for it.
        """
        whole = body if whole is None else whole
        model = self._check_fields(whole, version, betas, counting)
        _check_thinking_and_choice(body, model, version)
        compacting = bool(betas & COMPACTING)
        key = f"{model.id} {version} {compacting}".encode()
        memo = [digest + key for digest in chain.exact]
        if memo[0] not in self._valid:
            validation_tools.check_tools(body)
        validation_tools.check_format(body)
        validation_tools.check_choice(body, model)
        validation_tools.check_breakpoints(body, chain)
        validation_compaction.check_edits(body, betas, model)
        if not counting:
            validation_compaction.check_request(body, model)
            _check_batched(body, batched)
        if compacting:
            validation_compaction.check_skipped(whole, betas, skipped)
        known = next((i for i in range(len(memo) - 1, 0, -1) if memo[i] in self._valid), 0)
        drop = _drops_mismatches(body, batched)
        try:
            dropped = validation_messages.check_messages(
                body, chain, model, version, 0 if drop else known, bound=BINDING in betas,
                drop=drop, compacting=compacting,
            )  # fmt: skip
        except Rejected as rejected:
            raise rejected.moved(skipped) from None
        if not dropped:
            self._remember(memo[0])
            self._remember(memo[-1])
        return dropped

    def _remember(self, key: bytes) -> None:
        if len(self._valid) >= MEMO_SIZE:
            del self._valid[next(iter(self._valid))]
        self._valid[key] = None

    def _check_fields(
        self, body: dict[str, Any], version: str, betas: frozenset[str], counting: bool
    ) -> Model:
        refuse_thread(body)
        on = {field for field in BETA_FIELDS if field in body and turned_on(field, betas)}
        for field in BETA_FIELDS:
            if field in on - PLAYED and body[field] is not None:
                raise Rejected(
                    "not-simulated",
                    f"{field}: this simulator does not play it. Leave it out, or use a real "
                    "endpoint.",
                )
        if body.get("compaction") is not None and "compaction" not in on:
            raise Rejected(
                "extra-field",
                f"compaction: the `compaction` parameter requires anthropic-beta: "
                f"{COMPACT_ON_DEMAND}",
            )
        if version != VERSIONS[0]:
            for field in _SAMPLING:
                if field in body:
                    raise Rejected("sampling", f"{field}: Extra inputs are not permitted")
        plain = {key: value for key, value in body.items() if key not in on & PLAYED}
        schema.check_shape(schema.Count if counting else schema.Create, plain)
        model = models.find_model(body["model"])
        if model is None:
            message = f"model: {body['model']}"
            raise Rejected("model", message, status=404, kind="not_found_error")
        if not counting:
            _check_limits(body, model)
        if (body.get("thinking") or {}).get("block_binding") is not None and BINDING not in betas:
            place = f"thinking.{body['thinking']['type']}.block_binding"
            raise Rejected("extra-field", f"{place}: Extra inputs are not permitted")
        return model


def check_length(prompt_tokens: int, body: dict[str, Any]) -> None:
    """Raise `Rejected` if a prompt, after its context edits, does not fit into the window."""
    model = models.find_model(body["model"])
    if model is not None and prompt_tokens > model.context_tokens:
        raise Rejected(
            "prompt-too-long",
            f"prompt is too long: {prompt_tokens} tokens > {model.context_tokens} maximum",
        )


def _drops_mismatches(body: dict[str, Any], batched: bool) -> bool:
    """Whether thinking of another conversation is dropped. In a batch that is the default."""
    binding = (body.get("thinking") or {}).get("block_binding") or {}
    wanted = binding.get("prefix_mismatch_behavior")
    return wanted == "drop_block" or (batched and wanted is None)


def _check_batched(body: dict[str, Any], batched: bool) -> None:
    if batched and body["max_tokens"] == 0:  # documented; the text is that of the type
        message = "max_tokens: Input should be greater than or equal to 1"
        raise Rejected("prewarm", message)


def _check_limits(body: dict[str, Any], model: Model) -> None:
    asked = body["max_tokens"]
    if asked > model.max_output_tokens:
        raise Rejected(
            "max-tokens",
            f"max_tokens: {asked} > {model.max_output_tokens}, which is the maximum allowed "
            f"number of output tokens for {body['model']}",
        )
    for text in body.get("stop_sequences") or ():
        if not text.strip():
            message = "stop_sequences: each stop sequence must contain non-whitespace"
            raise Rejected("stop-sequence", message)
    if asked == 0:
        _check_prewarm(body)


def _check_prewarm(body: dict[str, Any]) -> None:
    together = {
        "stream": body.get("stream"),
        "thinking": (body.get("thinking") or {}).get("type") in ("enabled", "adaptive"),
        "output_config.format": (body.get("output_config") or {}).get("format"),
        "tool_choice": (body.get("tool_choice") or {}).get("type") in ("any", "tool"),
    }
    for field, present in together.items():
        if present:  # the rule is documented, its text is not
            raise Rejected("prewarm", f"max_tokens: 0 cannot be combined with `{field}`")


def _check_thinking_and_choice(body: dict[str, Any], model: Model, version: str) -> None:
    thinking = body.get("thinking") or {}
    kind = thinking.get("type")
    if kind and kind not in model.thinking:
        if kind == "adaptive":
            raise Rejected("thinking-mode", "adaptive thinking is not supported on this model")
        raise Rejected(
            "thinking-mode",
            f'"thinking.type.{kind}" is not supported for this model. Use "thinking.type.adaptive" '
            'and "output_config.effort" to control thinking behavior.',
        )
    budget = thinking.get("budget_tokens", 0)
    if kind == "enabled" and body.get("max_tokens", budget + 1) <= budget:
        raise Rejected(
            "thinking-budget",
            "`max_tokens` must be greater than `thinking.budget_tokens`. "
            + _DOCS
            + "extended-thinking#max-tokens-and-context-window-size",
        )
    temperature = body.get("temperature")
    if temperature not in (None, 1) and (kind or model.default_thinking) != "disabled":
        raise Rejected(
            "sampling",
            "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode. "
            + _DOCS
            + "extended-thinking#important-considerations-when-using-extended-thinking",
        )
