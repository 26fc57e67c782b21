"""Load on the simulator, from another process: turns a second, many learners at once, memory.

The client is raw asyncio, so that the figures are the server's. Rates are per second of the
server's own CPU time ("on one core"), which a busy machine disturbs least.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import psutil

SYSTEM = "You are the subject of a benchmark."
THINKING = {"type": "adaptive", "display": "summarized"}


def request_bytes(url: str, messages: list[dict[str, Any]], speed: float = 0) -> bytes:
    """A streaming request as it goes over the wire."""
    body = json.dumps(
        {
            "model": "claude-sonnet-5-5",
            "max_tokens": 8192,
            "system": SYSTEM,
            "thinking": THINKING,
            "messages": messages,
            "stream": True,
        }
    ).encode()
    paced = f"agentlab-speed: {speed}\r\n" if speed else ""
    head = (
        f"POST /v1/messages HTTP/1.1\r\nhost: {url.removeprefix('http://')}\r\n{paced}"
        "authorization: Bearer x\r\nanthropic-version: 2026-10-21\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def answered(reader: asyncio.StreamReader) -> bool:
    """Read one answer to its end; whether it is a complete stream."""
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise RuntimeError(head.decode() + (await reader.read(2000)).decode())
    data = b""
    while not data.endswith(b"0\r\n\r\n"):
        chunk = await reader.read(65536)
        if not chunk:
            return False
        data += chunk
    return b"message_stop" in data


async def send(url: str, requests: list[bytes]) -> int:
    """Send requests one after the other on one connection; how many were answered whole."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    good = 0
    for request in requests:
        writer.write(request)
        good += await answered(reader)
    writer.close()
    return good


async def spread(url: str, requests: list[bytes], connections: int = 8) -> int:
    parts = [requests[i::connections] for i in range(connections)]
    return sum(await asyncio.gather(*(send(url, part) for part in parts)))


def short(number: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"Hello! Who are you? {'!' * (number % 7)}"}]


def long_history(url: str, turns: int) -> list[dict[str, Any]]:
    """The history of a real conversation of that many turns, made by playing it."""
    import anthropic

    client = anthropic.Anthropic(base_url=url, api_key="x")
    echo = {"name": "echo", "description": "Echo.", "input_schema": {"type": "object"}}
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"bench {turns + 50}"}]
    for _ in range(turns):
        reply = client.messages.create(
            model="claude-sonnet-5-5",
            max_tokens=8192,
            messages=messages,
            tools=[echo],  # type: ignore[arg-type,list-item]
        )
        content = [
            {k: v for k, v in block.to_dict().items() if v is not None} for block in reply.content
        ]
        results = [
            {"type": "tool_result", "tool_use_id": b["id"], "content": "x"}
            for b in content
            if b["type"] == "tool_use"
        ]
        messages += [
            {"role": "assistant", "content": content},
            {"role": "user", "content": results},
        ]
    return messages


def simulator_benchmark(report: Callable[..., None], server: Callable[..., Any]) -> None:
    """Every figure that the simulator promises."""
    with server() as url:
        (process,) = [p for p in psutil.Process().children() if p.is_running()]

        def rate(requests: list[bytes]) -> tuple[float, float]:
            before, started = process.cpu_times(), time.perf_counter()
            good = asyncio.run(spread(url, requests))
            took, after = time.perf_counter() - started, process.cpu_times()
            assert good == len(requests), f"{len(requests) - good} of {len(requests)} failed"
            cpu = (after.user + after.system) - (before.user + before.system)
            return len(requests) / cpu, len(requests) / took

        rate([request_bytes(url, short(n)) for n in range(200)])  # warm up
        cpu, wall = rate([request_bytes(url, short(n)) for n in range(3000)])
        shown = f"{cpu:,.0f} ({wall:,.0f} by the wall clock)"
        report("short turns a second of the server's CPU", shown, "at least 1,000", cpu >= 1000)

        history = long_history(url, 50)
        cpu, wall = rate([request_bytes(url, history)] * 500)
        shown = f"{cpu:,.0f} ({wall:,.0f} by the wall clock)"
        report("turns a second at 50 turns of history", shown, "at least 300", cpu >= 300)

        async def learners(count: int) -> int:
            paced = [request_bytes(url, short(0), speed=60)]
            return sum(await asyncio.gather(*(send(url, paced) for _ in range(count))))

        good = asyncio.run(learners(200))
        report(
            "learners streaming at once (60 tokens a second), of 200",
            f"{good}",
            "200, none failing",
            good == 200,
        )

        unique = [
            request_bytes(url, [{"role": "user", "content": f"What is {n} + 1?"}])
            for n in range(2000)
        ]
        rate(unique)
        before = process.memory_info().rss
        for part in range(10):
            rate(
                [
                    request_bytes(url, [{"role": "user", "content": f"What is {part} + {n}?"}])
                    for n in range(2000)
                ]
            )
        grown = (process.memory_info().rss - before) / 1e6
        report(
            "memory grown over 20,000 requests", f"{grown:.1f} MB", "flat (under 10 MB)", grown < 10
        )
