"""The beta features that the vendor's API knows by name.

A request turns one on by naming it in the header ``anthropic-beta``; a name that is not here is
refused. Taken from the SDK, anthropic 2.14.0 (2026-11); a test compares it with the installed one.
"""

from __future__ import annotations

BETAS = frozenset(
    [
        "admin-user-sign-out-2026-10-08",
        "advisor-tool-2026-03-01",
        "agent-memory-2026-07-22",
        "analytics-usage-cost-2026-08-24",
        "cache-diagnosis-2026-04-07",
        "ce-claude-code-managed-settings-2026-10-06",
        "ce-plugins-2026-09-01",
        "ce-user-management-2026-07-13",
        "code-execution-2025-05-22",
        "compact-2026-01-12",
        "compact-2026-09-04",
        "computer-use-2024-10-22",
        "computer-use-2025-01-24",
        "computer-use-2025-11-24",
        "context-1m-2025-08-07",
        "context-management-2025-06-27",
        "dev-full-thinking-2025-05-14",
        "dreaming-2026-04-21",
        "efs-2026-10-01",
        "experimental-claude-tag-2026-10-21",
        "extended-cache-ttl-2025-04-11",
        "fallback-credit-2026-06-01",
        "fallback-credit-2026-07-01",
        "fast-mode-2026-02-01",
        "files-api-2025-04-14",
        "google-managed-data-controls-2026-09-01",
        "inline-tools-2026-09-15",
        "interleaved-thinking-2025-05-14",
        "managed-agents-2026-04-01",
        "mcp-client-2025-04-04",
        "mcp-client-2025-11-20",
        "mcp-client-2026-09-15",
        "mcp-tunnels-2026-06-22",
        "message-batches-2024-09-24",
        "message-threads-2026-08-12",
        "mid-conversation-output-config-2026-07-01",
        "mid-conversation-system-clear-at-2026-08-21",
        "mid-conversation-tool-changes-2026-07-01",
        "model-context-window-exceeded-2025-08-26",
        "output-128k-2025-02-19",
        "output-300k-2026-03-24",
        "pdfs-2024-09-25",
        "prompt-caching-2024-07-31",
        "server-side-fallback-2026-06-01",
        "server-side-fallback-2026-07-01",
        "skills-2025-10-02",
        "spend-limit-reads-2026-09-26",
        "structured-outputs-2025-11-13",
        "task-budgets-2026-03-13",
        "telemetry-destinations-2026-08-11",
        "thinking-binding-controls-2026-08-01",
        "thinking-display-updates-2026-08-18",
        "thinking-token-count-2026-05-13",
        "token-counting-2024-11-01",
        "token-efficient-tools-2025-02-19",
        "user-profiles-2026-03-24",
        "user-profiles-2026-08-18",
        "user-profiles-2026-09-04",
        "user-profiles-billing-2026-10-01",
        "webhooks-2026-10-07",
    ]
)

# Names of finished betas that examples still pass; the API takes and ignores them.
FINISHED = frozenset(("fine-grained-tool-streaming-2025-05-14", "tool-search-tool-2025-10-19"))

# Fields of a request that exist only with a beta, and how the beta's name begins.
BETA_FIELDS: dict[str, str | tuple[str, ...]] = {
    "billing_policy": "user-profiles-",
    "compaction": "compact-2026-09-04",
    "context_management": ("context-management-", "compact-2026-01-12"),
    "fallback_credit_token": "fallback-credit-",
    "fallbacks": "server-side-fallback-",
    "mcp_servers": "mcp-client-",
    "thread": "message-threads-",
}
PLAYED = frozenset(("compaction", "context_management"))  # those of them that this server plays
BINDING = "thinking-binding-controls-2026-08-01"
COMPACT_AT_THRESHOLD, COMPACT_ON_DEMAND = "compact-2026-01-12", "compact-2026-09-04"
COMPACTING = frozenset((COMPACT_AT_THRESHOLD, COMPACT_ON_DEMAND))


def turned_on(field: str, betas: frozenset[str]) -> bool:
    """Whether the betas of a request turn on a field of `BETA_FIELDS`."""
    return any(beta.startswith(BETA_FIELDS[field]) for beta in betas)
