"""What stands before what: one hash for every place in a request.

Two things of today's API depend on the exact beginning of a request. The prompt cache is a prefix
match, and a signed thinking block is bound to everything that stood before it. So each request
gets a `Chain`: a hash after every block, in the order tools, system, messages, where each hash
contains the one before. Equal hashes mean equal beginnings.

What is hashed is the content, not its spelling: a string is the same as one text block, the order
of keys does not matter, and ``cache_control``, nulls and deferred tools are left out, as is every
parameter outside tools, system and messages. Because the hash goes block by block over the role
and the block, splitting one user message into two changes nothing (the API merges them). Thinking
blocks are not part of what binds (a client may drop old thinking); for the cache they are. A
summary that the API made and signed stands for what it summarises: after it the hashes that bind
go on as if that were still there.

A long history arrives again with every request, so what is known about a message is remembered
under a digest of its exact bytes, in a memo of bounded size.
"""

from __future__ import annotations

import json
import marshal
import re
from hashlib import blake2b
from typing import Any, NamedTuple

from agentlab import tokens

MEMO_SIZE = 16_384  # messages, tool lists and system prompts remembered; about 500 bytes each
THINKING = frozenset(("thinking", "redacted_thinking"))


class Anchor(NamedTuple):
    """Two hashes: of tools and system prompt, and of everything that a summary stands for."""

    base: bytes
    whole: bytes


class Facts(NamedTuple):
    """What is known about one message, or about the tools, or about the system prompt."""

    exact: bytes  # digest of the part exactly as it was sent
    digests: tuple[bytes, ...]  # one for each block: role and canonical content
    kinds: tuple[str, ...]  # the type of each block
    tokens: tuple[int, ...]  # estimated tokens of each block
    call_ids: tuple[str, ...]  # ids of the tool calls in it
    breakpoints: tuple[tuple[int, str], ...]  # (block, ttl) of explicit cache_control
    anchor: Anchor | None = None  # of a signed summary that the message begins with


class Chain:
    """The hashes of one request. Made by `chain`; all positions count from 0.

    ``digests``, ``kinds`` and ``breakpoints`` go over the blocks of the whole request;
    ``tokens[j]`` counts what stands before block ``j``; ``starts[i]`` is the block at which
    message ``i`` begins; ``exact[i]`` stands for everything before message ``i`` as it was sent;
    ``call_ids`` are the ids of all tool calls.
    """

    __slots__ = (
        "_hashes",
        "breakpoints",
        "call_ids",
        "digests",
        "exact",
        "kinds",
        "starts",
        "tokens",
    )

    def __init__(self) -> None:
        self._hashes: list[bytes] = [b""]
        self.digests: list[bytes] = []
        self.kinds: list[str] = []
        self.tokens: list[int] = [0]
        self.starts: list[int] = []
        self.breakpoints: list[tuple[int, str]] = []
        self.exact: list[bytes] = []
        self.call_ids: list[str] = []

    def before(self, index: int) -> str:
        """The hash of tools, system and ``messages[:index]``, as 32 hex digits."""
        return self._hashes[self.starts[index]].hex()

    def before_block(self, index: int, block: int) -> str:
        """The hash of everything before that block of that message."""
        return self._hashes[self.starts[index] + block].hex()

    def holds_between(self, first: int, last: int, prefix: str) -> bool:
        """Whether a hash before one of the blocks ``first`` to ``last`` begins with ``prefix``."""
        found = (self._hashes[block].hex() for block in range(first, last + 1))
        return bool(prefix) and any(digest.startswith(prefix) for digest in found)

    @property
    def whole(self) -> str:
        """The hash of the whole request: what a reply to it is bound to."""
        return self._hashes[-1].hex()

    @property
    def anchor(self) -> Anchor:
        """What a signed summary of the whole request stands for."""
        return Anchor(self._hashes[self.starts[0]], self._hashes[-1])

    @property
    def total_tokens(self) -> int:
        """Estimated input tokens of the request."""
        return self.tokens[-1]

    def cache_hashes(self, salt: str = "") -> list[bytes]:
        """The hash before every block, thinking included; ``salt`` counts from the messages on."""
        hashes = [b""]
        for number, digest in enumerate(self.digests):
            if number == self.starts[0]:
                digest += salt.encode()
            hashes.append(_hash(hashes[-1] + digest))
        return hashes

    def _add(self, facts: Facts) -> None:
        first = len(self.digests)
        before, total = self._hashes[-1], self.tokens[-1]
        anchor = facts.anchor if facts.anchor and facts.anchor.base == before else None
        for digest, kind, count in zip(facts.digests, facts.kinds, facts.tokens, strict=True):
            if anchor:
                before, anchor = anchor.whole, None
            elif kind not in THINKING:
                before = _hash(before + digest)
            total += count
            self._hashes.append(before)
            self.tokens.append(total)
        self.digests += facts.digests
        self.kinds += facts.kinds
        self.call_ids += facts.call_ids
        for block, ttl in facts.breakpoints:
            self.breakpoints.append((first + block, ttl))


def chain(request: dict[str, Any]) -> Chain:
    """The chain of hashes of a request body (a dict as it came in JSON)."""
    made = Chain()
    tools = _facts("tools", request.get("tools") or [])
    system = _facts("system", request.get("system") or [])
    made._add(tools)
    made._add(system)
    made.exact.append(_hash(tools.exact + system.exact))
    for message in _list(request.get("messages") or []):
        facts = _facts("message", message)
        made.starts.append(len(made.digests))
        made._add(facts)
        made.exact.append(_hash(made.exact[-1] + facts.exact))
    made.starts.append(len(made.digests))
    return made


_memo: dict[tuple[str, bytes], Facts] = {}


def _facts(kind: str, part: Any) -> Facts:
    # marshal writes plain JSON data several times faster than json; its format 2 has no
    # references, so equal parts give equal bytes. The digest is only the key of the memo.
    exact = _hash(marshal.dumps(part, 2))
    known = _memo.get((kind, exact))
    if known is not None:
        return known
    if kind == "tools":
        facts = _tools_facts(exact, part)
    elif kind == "system":
        facts = _block_facts(exact, "system", _blocks(part), 0)
    else:
        message = part if isinstance(part, dict) else {"content": part}
        role, content = str(message.get("role")), message.get("content")
        facts = _block_facts(exact, role, _blocks(content), tokens.OVERHEAD)
    if len(_memo) >= MEMO_SIZE:
        for key in list(_memo)[: MEMO_SIZE // 8]:
            _memo.pop(key, None)
    _memo[kind, exact] = facts
    return facts


def _tools_facts(exact: bytes, tools: Any) -> Facts:
    loaded = [t for t in _list(tools) if not (isinstance(t, dict) and t.get("defer_loading"))]
    return Facts(
        exact,
        tuple(_digest("tool", tool) for tool in loaded),
        ("tool",) * len(loaded),
        tuple(tokens.OVERHEAD + _count_json(tool) for tool in loaded),
        (),
        tuple((i, ttl) for i, tool in enumerate(loaded) if (ttl := ttl_of(tool))),
    )


def _block_facts(exact: bytes, role: str, blocks: list[Any], overhead: int) -> Facts:
    counts = [_count(block) for block in blocks]
    if counts:
        counts[0] += overhead
    return Facts(
        exact,
        tuple(_digest(role, block) for block in blocks),
        tuple(str(b.get("type")) if isinstance(b, dict) else "" for b in blocks),
        tuple(counts),
        tuple(
            str(block.get("id"))
            for block in blocks
            if isinstance(block, dict) and block.get("type") in ("tool_use", "server_tool_use")
        ),
        tuple((i, ttl) for i, block in enumerate(blocks) if (ttl := ttl_of(block))),
        _anchor_of(blocks[0]) if blocks else None,
    )


def sign(summary: str, anchor: Anchor) -> str:
    """The signature of a summary: what it stands for, and a digest of its text."""
    text = blake2b(summary.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"cmp_{anchor.base.hex()}_{anchor.whole.hex()}_t{text}"


def signed(signature: Any) -> Anchor | None:
    """What a summary's signature says it stands for, or None if it is none."""
    found = _SIGNATURE.fullmatch(signature) if isinstance(signature, str) else None
    return Anchor(*map(bytes.fromhex, found.groups())) if found else None


_SIGNATURE = re.compile(r"cmp_([0-9a-f]*)_([0-9a-f]{32})_t[0-9a-f]{16}")


def _anchor_of(block: Any) -> Anchor | None:
    if not isinstance(block, dict) or block.get("type") != "compaction":
        return None
    return signed(block.get("signature"))


def ttl_of(part: Any) -> str:
    """``5m`` or ``1h`` if the block, tool or request carries ``cache_control``, else nothing."""
    control = part.get("cache_control") if isinstance(part, dict) else None
    if not isinstance(control, dict):
        return ""
    return "1h" if control.get("ttl") == "1h" else "5m"


def canonical(part: Any, inside: bool = False) -> Any:
    """A block or tool as it is hashed. Tool inputs and schemas (``inside``) keep every key."""
    if isinstance(part, list):
        return [canonical(item, inside) for item in part]
    if not isinstance(part, dict):
        return part
    if inside:
        return {key: canonical(value, True) for key, value in part.items()}
    kept = {
        key: canonical(value, key in ("input", "input_schema"))
        for key, value in part.items()
        if value is not None and key != "cache_control"
    }
    if kept.get("type") == "tool_result" and isinstance(kept.get("content"), str):
        kept["content"] = _blocks(kept["content"])
    return kept


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _digest(role: str, part: Any) -> bytes:
    text = json.dumps(canonical(part), sort_keys=True, separators=(",", ":"))
    return _hash(f"{role}\n{text}".encode())


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [] if content is None else _list(content)


def _count(block: Any) -> int:
    try:
        if block.get("type") == "compaction":
            return tokens.OVERHEAD + tokens.count_text(block.get("content") or "")
        return tokens.count_content(block)
    except (KeyError, TypeError, AttributeError):  # an ill-formed block, with validation off
        return tokens.OVERHEAD + _count_json(block)


def _count_json(part: Any) -> int:
    if isinstance(part, dict):
        part = {key: value for key, value in part.items() if key != "cache_control"}
    return tokens.count_json(part)
