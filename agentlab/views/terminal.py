"""A run as text in a terminal: turns as they stream, tools as they run, and what it cost.

`play` shows a run while it goes on, `replay` one that is over; both look the same. Everything that
comes from a model or a tool is cleared of escape sequences and printed as it is, never read as
markup, so no tool result can move the cursor or recolour the screen. Without a terminal (a file, a
pipe, a test) it is plain text, and what the console's encoding does not have is replaced.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.status import Status
from rich.text import Text

from agentlab.costs import dollars
from agentlab.events import Event
from agentlab.views.blocks import blocks_of, number, text_of
from agentlab.views.ending import closed, missing_end
from agentlab.views.flow import Flow
from agentlab.views.layout import Layout
from agentlab.views.ledger import INPUT, OUTPUT, Ledger, buckets
from agentlab.views.wire_kinds import edits_of
from agentlab.views.wording import call_label, clean, one_line, plural, seconds, tokens

if TYPE_CHECKING:
    from agentlab.result import Result

PREVIEW = 4  # lines of a tool's result
WIDEST = 100  # columns that text is wrapped to, however wide the terminal is
PLAIN = {0x2026: "...", 0x201C: '"', 0x201D: '"', 0x2018: "'", 0x2019: "'", 0x202F: " "}
ASKED = ("user", "classifier", "hook")  # whose yes is worth a line
_DELTAS = {"assistant.thinking_delta": "thinking", "assistant.text_delta": "text"}


async def play(
    events: AsyncIterator[Event] | Iterable[Event],
    console: Console | None = None,
    *,
    show_thinking: bool = True,
) -> Result:
    """Show a run while it goes on, or a list of events, and return its `Result`."""
    if not isinstance(events, AsyncIterator):
        return replay(events, console, show_thinking=show_thinking)
    player = Player(console, show_thinking, live=True)
    try:
        async with closed(events) as stream:
            async for event in stream:
                player.show(event)
    finally:
        player.close()
    return player.result()


def replay(
    events: Iterable[Event], console: Console | None = None, *, show_thinking: bool = True
) -> Result:
    """Show a run that is over (or was torn), turn by turn, and return its `Result`."""
    player = Player(console, show_thinking)
    for event in events:
        player.show(event)
    player.close("the events end here")
    return player.result()


class Player:
    """Prints events, one by one."""

    def __init__(
        self, console: Console | None = None, show_thinking: bool = True, live: bool = False
    ) -> None:
        self.console = console or Console(highlight=False, force_jupyter=False)
        self._plain = not (self.console.encoding or "utf-8").lower().startswith("utf")
        self._show_thinking = show_thinking
        self._spins = live and self.console.is_terminal and not self.console.is_dumb_terminal
        self._status: Status | None = None
        self._flow: Flow | None = None
        self._kind = ""  # of what is streaming
        self._streamed: set[str] = set()  # kinds of this turn that were shown as they came
        self._calls: dict[str, str] = {}  # tool_use_id -> how the call was shown
        self._refused: set[str] = set()  # tool_use_ids that may not run
        self._last_call = ""  # the call whose result may follow directly
        self._began = 0.0
        self._seen: list[Event] = []
        self._layout, self._ledger = Layout(), Ledger()

    def show(self, event: Event) -> None:
        """Print what one event says."""
        self._layout.add(event)
        self._ledger.add(event)
        if not event.live:
            self._seen.append(event)
        if event.type in _DELTAS:
            self._stream(_DELTAS[event.type], str(event.data.get("text", "")))
        elif event.type in _SHOWN:
            self._pause()
            _SHOWN[event.type](self, event)

    def close(self, detail: str = "") -> None:
        """Stop what moves; if the run did not end by itself, say where it stopped."""
        self._pause()
        end = missing_end(self._seen, "cancelled", detail)
        if end is not None:
            self.show(end)

    def result(self) -> Result:
        """The result of the last run. Raises ValueError if there were no events."""
        from agentlab.result import Result

        return Result.from_events(self._seen)

    # what each type of event prints

    def _start(self, event: Event) -> None:
        simulated = ", simulated model" if event.data.get("simulated") else ""
        self._line(f"{one_line(event.data.get('model') or 'model', 60)}{simulated}", "dim")

    def _user(self, event: Event) -> None:
        asked = event.data.get("origin", "user") == "user"
        self._line("")
        self._block("user: " if asked else "harness: ", text_of(event.data.get("message")), asked)

    def _turn_start(self, event: Event) -> None:
        nested = event.agent not in ("main", self._layout.main)
        agent = f"{one_line(event.agent, 20)}, " if nested else ""
        self._line("")
        self._line(f"{agent}turn {event.turn}".capitalize(), "bold")
        self._streamed, self._last_call, self._began = set(), "", event.at
        self._spin("waiting for the model")

    def _stream(self, kind: str, text: str) -> None:
        if kind == "thinking" and not self._show_thinking:
            return
        if kind != self._kind:
            self._pause()
            style = "dim italic" if kind == "thinking" else ""
            self._kind, self._flow = kind, self._new_flow("  ", style)
            text = f"thinking: {text}" if kind == "thinking" else text
        self._streamed.add(kind)
        if self._flow is not None:
            self._flow.feed(clean(text))

    def _retry(self, event: Event) -> None:
        void = " (the text above is void)" if self._streamed else ""
        self._streamed = set()
        reason, wait = one_line(event.data.get("reason") or "failed", 120), event.data.get("wait_s")
        of = f" of {event.data['of']}" if "of" in event.data else ""
        again = f"try {event.data.get('attempt', 2)}{of} in {seconds(number(wait))}"
        self._line(f"  {reason}: {again}{void}", "yellow")
        self._spin("waiting to try again")

    def _message(self, event: Event) -> None:
        for block in blocks_of(event.data.get("message")):
            kind = str(block.get("type"))
            if kind in ("text", "thinking") and kind not in self._streamed:
                self._stream(kind, str(block.get(kind, "")))
                self._streamed.discard(kind)
                self._pause()

    def _asked(self, event: Event) -> None:
        label = call_label(str(event.data.get("name") or "tool"), event.data.get("input"))
        self._line(f"  ? {label}: {one_line(event.data.get('reason') or 'asked', 90)}", "blue")

    def _decided(self, event: Event) -> None:
        if event.data.get("decision") == "allow" and event.data.get("layer") not in ASKED:
            return  # what is allowed as a matter of course is silent
        if event.data.get("decision") != "allow":
            self._refused.add(str(event.data.get("tool_use_id")))
        words = f"{event.data.get('decision', 'deny')} by {event.data.get('layer', '')}"
        rule = one_line(event.data.get("rule") or event.data.get("reason") or "", 90)
        self._line(f"  {words}: {rule}" if rule else f"  {words}", "blue")

    def _hook(self, event: Event) -> None:
        about = f"{event.data.get('event', 'hook')} hook {one_line(event.data.get('hook'), 40)}"
        said = event.data.get("decision") or "changed something"
        self._line(f"  {about}: {said} {one_line(event.data.get('reason') or '', 90)}", "blue")

    def _tool_start(self, event: Event) -> None:
        name, key = str(event.data.get("name") or "tool"), str(event.data.get("tool_use_id"))
        width = max(20, min(self.console.width, WIDEST) - 5)
        self._calls[key] = call_label(name, event.data.get("input"), width)
        self._last_call = key
        if key in self._refused:
            self._line(f"  x {self._calls[key]}", "cyan")
            return
        self._line(f"  > {self._calls[key]}", "cyan")
        self._spin(f"running {one_line(name, 30)}")

    def _tool_complete(self, event: Event) -> None:
        failed = bool(event.data.get("is_error"))
        name, key = (
            one_line(event.data.get("name") or "tool", 30),
            str(event.data.get("tool_use_id")),
        )
        call = self._calls.pop(key, name)
        if self._last_call != key:
            self._line(f"  < {call}", "cyan")
        self._last_call = ""
        lines = text_of(event.data.get("content")).strip("\r\n").split("\n")
        width = max(20, min(self.console.width, WIDEST) - 7)
        style = "red" if failed else "dim"
        if failed:
            lines[0] = f"{name} failed: {lines[0]}"
        for line in lines[:PREVIEW]:
            self._line(f"    | {_cut(clean(line[: 9 * width]), width)}".rstrip(), style)
        if len(lines) > PREVIEW:
            self._line(f"    | … {plural(len(lines) - PREVIEW, 'more line')}", style)

    def _turn_end(self, event: Event) -> None:
        usage = buckets(event.data.get("usage"))
        cost = event.data.get("cost_usd")
        spent = dollars(None if cost is None else number(cost))
        took = seconds(max(0.0, event.at - self._began))
        self._line(f"  {_tokens(usage)}, {spent}, {took}", "dim")

    def _side_call(self, event: Event) -> None:
        cost = event.data.get("cost_usd")
        spent = dollars(None if cost is None else number(cost))
        purpose = one_line(event.data.get("purpose") or "another question", 40)
        self._line(
            f"  side call: {purpose}, {_tokens(buckets(event.data.get('usage')))}, {spent}", "dim"
        )

    def _warning(self, event: Event) -> None:
        self._line(f"  {one_line(event.data.get('text') or '', 120)}", "yellow")

    def _compacting(self, event: Event) -> None:
        self._spin("making the history shorter")

    def _not_compacted(self, event: Event) -> None:
        self._line(f"  not compacted: {one_line(event.data.get('problem') or '', 200)}", "yellow")

    def _edited(self, event: Event) -> None:
        self._line(f"  {edits_of(event.data.get('edits'))[0]}", "yellow")

    def _compacted(self, event: Event) -> None:
        before, after = (number(event.data.get(f"{w}_tokens")) for w in ("before", "after"))
        level = one_line(event.data.get("level") or "", 30)
        self._line(f"  compacted ({level}): {tokens(before)} tokens, now {tokens(after)}", "yellow")

    def _complete(self, event: Event) -> None:
        self._line("")
        self._block("summary: ", str(event.data.get("summary", "")))

    def _end(self, event: Event) -> None:
        if event.agent != self._layout.main and self._layout.main is not None:
            return  # of an agent within this run
        ledger, good = self._ledger, self._layout.status in ("completed", "task_complete")
        self._line("")
        self._block("", self._layout.ending(), style="bold green" if good else "bold red")
        total = {name: ledger.total(name) for name in ledger.usage}
        self._line(f"{_tokens(total)}, {dollars(ledger.cost)}")
        if ledger.simulated:
            self._line("simulated model: list prices, nothing was spent", "dim")

    # printing

    def _line(self, text: str, style: str = "") -> None:
        self._write(text + "\n", style)

    def _block(self, name: str, text: str, strong: bool = False, style: str = "") -> None:
        flow = self._new_flow("", style or ("bold" if strong else ""))
        flow.feed(clean(name + text))
        flow.end()

    def _new_flow(self, indent: str, style: str) -> Flow:
        width = min(self.console.width, WIDEST)
        return Flow(lambda text: self._write(text, style), width, indent)

    def _write(self, text: str, style: str) -> None:
        self._still()
        if self._plain:
            encoding = self.console.encoding
            text = text.translate(PLAIN).encode(encoding, "replace").decode(encoding)
        self.console.print(Text(text, style), end="", soft_wrap=True)

    def _spin(self, words: str) -> None:
        if self._spins:
            self._status = self.console.status(Text(f"  {words}", "dim"), spinner="line")
            self._status.start()

    def _still(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _pause(self) -> None:
        """End what is streaming, so that something else can be printed."""
        self._still()
        if self._flow is not None:
            self._flow.end()
        self._kind, self._flow = "", None


_SHOWN = {
    "session.start": Player._start,
    "user.message": Player._user,
    "assistant.turn_start": Player._turn_start,
    "model.retry": Player._retry,
    "assistant.message": Player._message,
    "permission.requested": Player._asked,
    "permission.decided": Player._decided,
    "hook.result": Player._hook,
    "tool.execution_start": Player._tool_start,
    "tool.execution_complete": Player._tool_complete,
    "assistant.turn_end": Player._turn_end,
    "model.side_call": Player._side_call,
    "budget.warning": Player._warning,
    "context.compacting": Player._compacting,
    "context.compacted": Player._compacted,
    "context.not_compacted": Player._not_compacted,
    "context.edited": Player._edited,
    "session.task_complete": Player._complete,
    "session.end": Player._end,
}


def _tokens(usage: dict[str, float]) -> str:
    cached = f" ({tokens(usage['cache_read'])} cached)" if usage["cache_read"] else ""
    sent, got = (sum(usage[name] for name in names) for names in (INPUT, OUTPUT))
    return f"{tokens(sent)} tokens in{cached}, {tokens(got)} out"


def _cut(line: str, width: int) -> str:
    line = line.expandtabs(4)
    return line if len(line) <= width else line[: max(width - 1, 1)] + "…"
