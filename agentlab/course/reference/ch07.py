"""Chapter 07: running the hooks of an event, and what they say as one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

Hook = Callable[[dict[str, Any]], Any] | list[str]


def run_hook(hook: Hook, event: dict[str, Any], timeout_s: float = 10.0) -> tuple[str, str]:
    """Decision and reason of one hook: a function of the event, or a command."""
    try:
        if not isinstance(hook, list):
            return hook(event) or ("", "")
        done = subprocess.run(
            hook, input=json.dumps(event), capture_output=True, text=True, timeout=timeout_s
        )
        if done.returncode == 2:
            return "deny", done.stderr.strip()
        if done.returncode != 0:
            return "error", f"exit code {done.returncode}"
        said = json.loads(done.stdout or "{}")
        return said.get("permissionDecision", ""), said.get("reason", "")
    except Exception as error:
        return "error", type(error).__name__


def merged(results: list[tuple[str, str]]) -> tuple[str, str]:
    """Many opinions as one: deny, then ask, then allow. An error counts as ask."""
    counted = [("ask" if d == "error" else d, reason) for d, reason in results]
    for decision in ("deny", "ask", "allow"):
        if reasons := [reason for d, reason in counted if d == decision]:
            return decision, "; ".join(reasons)
    return "", ""


def ask_hooks(hooks: list[Hook], event: dict[str, Any]) -> tuple[str, str]:
    """What the hooks of an event say. All run at once, in threads."""
    with ThreadPoolExecutor(max(1, len(hooks))) as pool:
        return merged(list(pool.map(lambda hook: run_hook(hook, event), hooks)))
