"""The inspector, "What went over the wire?", drawn from the requests of `wire`.

For each request what is new in it, block by block, each with its JSON to unfold; then the reply. A
request repeats all that was sent before, byte for byte, so the repeated part is a line of marks;
the button with the request's number shows the JSON of the whole. A tool call and its result have
the same number and colour, and light up together.

The events do not hold everything that was sent: what is missing is said below.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentlab.events import Event
from agentlab.messages import Message
from agentlab.views.blocks import mapping, number
from agentlab.views.context import name_of
from agentlab.views.drawing import Scale, bar, cell, esc
from agentlab.views.page import page
from agentlab.views.palette import FAILED, KINDS
from agentlab.views.requests import Request
from agentlab.views.wire import Wire, WirePicture
from agentlab.views.wire_blocks import (
    FIRST,
    GIST,
    LAST,
    compact,
    ends,
    gist,
    numbered,
    paint_of,
    pair_of,
    pretty,
    summary,
    tag,
)
from agentlab.views.wording import one_line, plural, tokens

MARKS = 24  # of messages that were sent before
TEXT_REQUESTS, TEXT_LINES = 8, 8
NOT_THERE = (
    "Rebuilt from the events, which do not hold max_tokens, thinking settings, headers or "
    "cache_control."
)


class InspectorPicture(WirePicture):
    """An inspector in parts, growing as events are added.

    Two rows for each request: what was sent, and what came back. ``exact``: with the ids as they
    were; else with a number in their place, so that the same run gives the same page.
    """

    title = "What went over the wire?"
    name = "inspector"
    columns = 2

    def __init__(self, events: Iterable[Event] = (), exact: bool = True) -> None:
        self.wire = Wire(events)
        self.exact = exact
        self.add = self.wire.add

    def drawn(self) -> list[int]:
        return [2 * index + side for index in self.wire.drawn() for side in (0, 1)]

    def rows(self) -> int:
        return 2 * len(self.wire.requests)

    def scale(self, live: bool) -> Scale:
        return Scale(1.0, live)

    def head(self) -> str:
        """How much went out and came back."""
        wire = self.wire
        sent = sum(request.messages for request in wire.requests)
        new = sum(len(request.new) for request in wire.requests)
        words = f"{plural(len(wire.requests), 'request')} with {plural(sent, 'message')}"
        return f"<p>{words}, of which {new} had not been sent before.</p>" if sent else ""

    def heading(self, scale: Scale) -> str:
        cells = (
            cell("turn", "Request", "th", " width=14%"),
            cell("wire", "What was sent, and what came back", "th", " width=86%"),
        )
        return f"<tr>{''.join(cells)}</tr>"

    def row(self, index: int, scale: Scale) -> str:
        request = self.wire.requests[index // 2]
        draw = self._reply if index % 2 else self._request
        return draw(request, scale)

    def foot(self) -> str:
        return f'<p class="agentlab-ending">{esc(_said(self.wire, self.exact))}</p>'

    def text(self) -> str:
        return inspector_text(self.wire)

    # the two rows

    def _request(self, request: Request, scale: Scale) -> str:
        lines = [f'<p class="agentlab-line">{esc(summary(request))}</p>']
        if request.fresh_prompt:
            lines.append(self._prompt(request))
        if request.sent:
            lines.append(self._before(request, scale))
        for message in ends(request.new):
            if isinstance(message, str):
                lines.append(f"<p>{message} messages …</p>")
            elif message == request.echo:
                mark = self._mark(message, scale)
                words = "the reply above, sent back as it came"
                lines.append(f'<p class="agentlab-line"><b>assistant</b> {words} {mark}</p>')
            else:
                new = '<span class="agentlab-mark">new</span>'
                who = self.wire.message(message)["role"]
                lines.append(f'<p class="agentlab-line"><b>{who}</b> {new}</p>')
                lines += self._blocks(request, self.wire.message(message))
        numbers, left_out = self._whole(request)
        held = plural(request.messages, "message")
        detail = f"Request {name_of(request)}: the whole JSON, {held}"
        style = "" if scale.live else f"background-color:{KINDS['user'].fill}"
        chip = bar(
            [name_of(request)], detail, "user", style,
            sources=numbers, ink=KINDS["user"].ink, live=scale.live,
        )  # fmt: skip
        chip = chip.replace(" data-e=", f' data-whole="{left_out}" data-e=', 1)
        return _row("sent", chip, "".join(lines))

    def _reply(self, request: Request, scale: Scale) -> str:
        if request.state != "answered":
            waiting = f"no reply came. {request.error}" if request.state == "lost" else "waiting …"
            return _row("reply", "reply", f'<p class="agentlab-line">{esc(waiting)}</p>')
        frame = self.wire.records[request.frame].data if request.frame is not None else {}
        usage = mapping(frame.get("usage"))
        words = f"stop_reason {one_line(frame.get('stop_reason'), 40)}, "
        words += f"{tokens(number(usage.get('output_tokens')))} tokens"
        words += "" if request.kept else "; not kept: it does not enter the history"
        lines = [f'<p class="agentlab-line"><b>assistant</b> {esc(words)}</p>']
        if request.reply is not None:
            lines += self._blocks(request, self.wire.message(request.reply))
        sources = tuple(n for n in (request.frame, request.reply) if n is not None)
        style = "" if scale.live else f"background-color:{KINDS['text'].fill}"
        chip = bar(
            ["reply"], f"Reply to request {name_of(request)}: its JSON", "text", style,
            sources=sources, ink=KINDS["text"].ink, live=scale.live,
        )  # fmt: skip
        return _row("reply", chip, "".join(lines))

    # their pieces

    def _prompt(self, request: Request) -> str:
        data = self.wire.records[request.prompt].data
        blocks = []
        if data.get("system"):
            gist = data["system"] if isinstance(data["system"], str) else compact(data["system"])
            blocks.append(self._unfold(request, "system", gist, {"system": data["system"]}))
        tools = data.get("tools") or []
        for tool in ends(range(len(tools))):
            if isinstance(tool, str):
                blocks.append(f"<p>{tool} tools …</p>")
                continue
            named = mapping(tools[tool])
            gist = f"{named.get('name', '')}: {named.get('description', '')}"
            blocks.append(self._unfold(request, "tool", gist, tools[tool]))
        return "".join(blocks)

    def _before(self, request: Request, scale: Scale) -> str:
        shown = list(request.before[max(0, request.sent - MARKS) : request.sent])
        marks = " ".join(self._mark(number, scale) for number in shown)
        more = f"the last {len(shown)}: " if len(shown) < request.sent else ""
        words = f"{plural(request.sent, 'message')} as before"
        return (
            f'<details class="agentlab-before"><summary>{words}</summary>'
            f"<p>{more}{marks}</p></details>"
        )

    def _mark(self, record: int, scale: Scale) -> str:
        """A message that was shown before, as a button for its JSON."""
        message = self.wire.message(record)
        kinds = list(dict.fromkeys(block["type"] for block in message["content"]))
        words = f"{message['role']}: {', '.join(kinds[:5])}"
        kind = "user" if message["role"] == "user" else "text"
        kind = "tool_result" if kinds[:1] == ["tool_result"] else kind
        style = "" if scale.live else f"background-color:{KINDS[kind].fill}"
        return bar(
            [words], f"Sent before, {words}", kind, style,
            sources=(record,), ink=KINDS[kind].ink, live=scale.live,
        )  # fmt: skip

    def _blocks(self, request: Request, message: Message) -> list[str]:
        lines = []
        for index in ends(range(len(message["content"]))):
            if isinstance(index, str):
                lines.append(f"<p>{index} blocks …</p>")
                continue
            block = message["content"][index]
            lines.append(self._unfold(request, block["type"], gist(block), block, message["role"]))
        return lines

    def _unfold(
        self, request: Request, kind: str, words: str, value: Any, role: str = "assistant"
    ) -> str:
        """A line that unfolds into the JSON of a block."""
        paint = KINDS[paint_of(kind, role)]
        block = mapping(value)
        failed = f' <b style="color:{FAILED}">is_error</b>' if block.get("is_error") else ""
        style = f"padding:0 5px;background-color:{paint.fill};color:{paint.ink}"
        label = f'<span class="agentlab-kind" style="{style}">{esc(one_line(kind, 40))}</span>'
        call = pair_of(self.wire, request, block)
        attribute, chip = (f' data-pair="{call}"', f" {tag(call)}") if call else ("", "")
        shown = value if self.exact else numbered(value, self.wire, request)
        return (
            f'<details class="agentlab-block"{attribute}><summary>{label}{chip}{failed} '
            f"{esc(one_line(words, GIST))}</summary><pre>{esc(pretty(shown))}</pre></details>"
        )

    def _whole(self, request: Request) -> tuple[tuple[int, ...], str]:
        """The records of a whole request, the middle left out if it is long; where, how many."""
        count = request.sent + len(request.new)
        first = [*request.before[: min(FIRST, request.sent)]]
        first += request.new[: FIRST - len(first)]
        rest = count - len(first)
        last = request.new[max(0, len(request.new) - LAST) :] if rest else []
        last = last[max(0, len(last) - rest) :]
        missing = min(LAST, rest) - len(last)
        if missing > 0:
            last = [*request.before[request.sent - missing : request.sent], *last]
        left_out = rest - len(last)
        return (request.prompt, *first, *last), f"{len(first)}:{left_out}:{request.missing}"


def inspector_html(events: Iterable[Event], exact: bool = True) -> str:
    """The inspector of a run as one piece of HTML that needs nothing from outside.

    ``exact=False`` puts numbers in the place of ids, which differ from run to run.
    """
    return page(InspectorPicture(events, exact))


def inspector_text(events: Iterable[Event] | Wire) -> str:
    """The inspector of a run in lines of text, at most 100 characters wide and without ids."""
    wire = events if isinstance(events, Wire) else Wire(events)
    lines = [InspectorPicture.title + (" (simulated model)" if wire.simulated else "")]
    requests = wire.requests
    shown: list[Request | None] = [*requests]
    left_out = len(requests) - TEXT_REQUESTS
    if left_out > 1:
        shown = [*requests[: TEXT_REQUESTS - 4], None, *requests[-3:]]
    for request in requests:
        if request in shown:
            lines += _text_of(wire, request)
        elif lines[-1][:1] != "…":
            lines.append(f"… {left_out + 1} more requests …")
    return "\n".join([*lines, _said(wire, exact=True)])


def _text_of(wire: Wire, request: Request) -> list[str]:
    lines = [one_line(f"request {name_of(request)}: {summary(request)}", 100)]
    if request.sent:
        lines.append(f"  = {plural(request.sent, 'message')} as before")
    blocks: list[str] = []
    for record in request.new:
        if record == request.echo:
            blocks.append("  + assistant  the reply above, sent back as it came")
        else:
            blocks += _text_blocks(wire, request, wire.message(record), "+")
    lines += _bounded(blocks)
    if request.reply is not None:
        kept = "" if request.kept else " (not kept)"
        lines.append(f"reply {name_of(request)}{kept}:")
        lines += _bounded(_text_blocks(wire, request, wire.message(request.reply), "<"))
    else:
        none = "none" if request.state == "lost" else "waiting"
        lines.append(f"reply {name_of(request)}: {none}")
    return lines


def _text_blocks(wire: Wire, request: Request, message: Message, sign: str) -> list[str]:
    lines = []
    for block in message["content"]:
        call = pair_of(wire, request, block)
        name = f"[{call}] " if call else ""
        failed = "is_error " if block.get("is_error") else ""
        words = f"{message['role']:9}  {block['type']:11} {name}{failed}{gist(block)}"
        lines.append(f"  {sign} {_cut(words, 96)}")
    return lines


def _bounded(lines: list[str]) -> list[str]:
    if len(lines) <= TEXT_LINES + 1:
        return lines
    return [*lines[:TEXT_LINES], f"  … {len(lines) - TEXT_LINES} more blocks …"]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def _row(side: str, first: str, words: str) -> str:
    return (
        f'<tr class="agentlab-{side}">{cell("who", first, "th", " scope=row valign=top")}'
        f"{cell('wire', words)}</tr>"
    )


def _said(wire: Wire, exact: bool) -> str:
    said = [NOT_THERE]
    if wire.side_calls:
        said.append(f"{plural(wire.side_calls, 'side call')} not shown: no event holds messages.")
    if not exact:
        said.append("Ids are replaced by numbers here, as they differ from run to run.")
    return " ".join(said)
