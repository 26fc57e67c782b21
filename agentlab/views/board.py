"""The fault board, "What should go wrong?": switches for faults, to flip while an agent runs.

    lab = connect(speed=60)
    agent = Agent(tools=tools, endpoint=lab)
    board = Board(lab, agent)          # in a notebook it shows itself
    board.on("529", how="once")        # from Python: the same switches
    board["slow tools"].on = True
    board.off()                        # all of them

    with Board(lab, agent) as board:   # at its end all are off, and a page is left of the board
        ...

Each switch names the chapter that handles its fault (see `switches`). The simulator plays them, so
there is no board for another endpoint. Only slow tools happen in the harness itself: for these the
board is given the agent, or makes slow copies of tools (`Board.slow`). Waits pass on the lab's
clock, which is virtual: they are seen in the timeline, not slept.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import anywidget
import traitlets

from agentlab.simulator.faults import Faults
from agentlab.tools import Tool
from agentlab.views.drawing import cell, esc
from agentlab.views.page import script, style_sheet
from agentlab.views.switches import HOW, KINDS, SEED, SLOW_TOOLS, Switch, slowed
from agentlab.views.widgets import static_only

if TYPE_CHECKING:
    from agentlab.agent import Agent
    from agentlab.providers import Endpoint
    from agentlab.simulator import Simulator

SLOW_S = 3.0  # what a slow tool takes longer
TITLE = "What should go wrong?"


class Board(anywidget.AnyWidget):
    """Switches for what may go wrong with requests to ``lab``, an endpoint from ``connect()``.

    ``agents``: whose tools are slowed, by ``seconds`` a call, while "slow tools" is on. A simulator
    has one board: a new one switches the old one off. Raises ValueError for an endpoint that is not
    simulated, and for an agent that works at another one.
    """

    _esm = script("board.js")
    _css = style_sheet("board")
    shown = traitlets.Dict().tag(sync=True)

    def __init__(self, lab: Endpoint, *agents: Agent, seconds: float = SLOW_S) -> None:
        simulator: Simulator | None = getattr(lab, "simulator", None)
        if simulator is None:
            raise ValueError(
                f"The board makes the simulator fail, and {lab!r} is not one. Use "
                "lab = connect(), an agent with endpoint=lab, and Board(lab, agent)."
            )
        for agent in agents:
            if agent.endpoint.simulator is not simulator:
                raise ValueError(f"{agent!r} does not work at {lab!r}")
        faults: Faults = simulator.faults
        self._loop, self._pending = _running_loop(), False
        self._places: list[Any] = []  # where it is displayed
        self._clock, self._tool_calls = lab.clock, Faults()
        self._switches: dict[str, Switch] = {}
        for number, kind in enumerate(KINDS):
            where = self._tool_calls if kind.name == SLOW_TOOLS else faults
            kind = replace(kind, fault=replace(kind.fault, seed=SEED + number, seconds=seconds))
            self._switches[kind.name] = Switch(kind, where, self._changed)
        self[SLOW_TOOLS].needs = "the agent: Board(lab, agent)"
        super().__init__(shown=self._state())
        self.on_msg(self._hear)
        for agent in agents:
            tools = agent.tools  # the same dict for every run, also for one under way
            tools.update(dict(zip(tools, self.slow(tools.values()), strict=True)))
        if (earlier := _boards.get(id(faults))) is not None:
            earlier.off()
        _boards[id(faults)] = self

    def __getitem__(self, name: str) -> Switch:
        """The switch of that name. Raises KeyError, which says what there is."""
        for known, switch in self._switches.items():
            if known.casefold() == name.casefold():
                return switch
        near = difflib.get_close_matches(name, self._switches, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(self._switches)}"
        raise KeyError(f"no switch {name!r}; {hint}")

    def on(self, *names: str, how: str = "") -> None:
        """Switch some on: always, once, one call in three; without ``how`` as they were set."""
        for switch in [self[name] for name in names]:
            switch.how = how or switch.how
            switch.on = True

    def off(self, *names: str) -> None:
        """Switch some off, or all."""
        for switch in [self[name] for name in names or self._switches]:
            switch.on = False

    def __enter__(self) -> Board:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.off()
        for place in self._places:  # a widget would be an error where its kernel is gone
            place.update({"text/plain": repr(self), "text/html": self.html()}, raw=True)

    def slow(self, tools: Iterable[Tool]) -> list[Tool]:
        """Copies of the tools that take longer while the switch for slow tools is on."""
        self[SLOW_TOOLS].needs = ""
        self._changed()
        return [slowed(tool, self._wait) for tool in tools]

    async def _wait(self) -> None:
        fault = self._tool_calls.pick()
        if fault is not None:
            await self._clock.sleep(fault.seconds)

    # What is shown

    def html(self) -> str:
        """The static form."""
        rows = "".join(map(_row, self._switches.values()))
        return (
            f'<div class="agentlab-view agentlab-static agentlab-board">'
            f"<style>{style_sheet('board')}</style>{_HEADING}"
            f'<table style="width:100%;border-collapse:collapse;table-layout:fixed">'
            f"<thead>{_COLUMNS}</thead><tbody>{rows}</tbody></table></div>"
        )

    def __repr__(self) -> str:
        lines = [f"{TITLE} (simulated model)"]
        for switch in self._switches.values():
            name, played = switch.kind.name, f"played {switch.played}"
            lines.append(f"  {name:<12}{switch.state:<22}{played:<11}{switch.kind.handled}")
        return "\n".join(lines)

    def _ipython_display_(self, **kwargs: Any) -> None:
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        live = None if static_only() else True
        place = display(data, raw=True, metadata=metadata, display_id=live)
        self._places += [place] if place else []

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        live = None if static_only() else super()._repr_mimebundle_(**kwargs)
        bundle, metadata = live or ({}, {})
        return {**bundle, "text/plain": repr(self), "text/html": self.html()}, metadata

    def _state(self) -> dict[str, Any]:
        rows = [
            {
                "name": switch.kind.name,
                "what": switch.what,
                "handled": switch.kind.handled,
                "on": switch.on,
                "how": switch.how,
                "played": switch.played,
                "ready": not switch.needs,
            }
            for switch in self._switches.values()
        ]
        return {"title": TITLE, "how": list(HOW), "rows": rows}

    def _changed(self) -> None:
        """Something was switched or played, perhaps in another thread: show it soon."""
        if self._loop is None or self._loop is _running_loop():
            self._refresh()
        elif not self._pending:
            self._pending = True
            with suppress(RuntimeError):  # that event loop is over, and nobody looks any more
                self._loop.call_soon_threadsafe(self._refresh)

    def _refresh(self) -> None:
        self._pending = False
        self.shown = self._state()

    def _hear(self, _: Any, content: Any, buffers: Any) -> None:
        match content:
            case {"kind": "off"}:
                self.off()
            case {"kind": "on", "name": str(name), "on": bool(on)}:
                self[name].on = on
            case {"kind": "how", "name": str(name), "how": str(how)}:
                self[name].how = how


_boards: WeakValueDictionary[int, Board] = WeakValueDictionary()  # by the id of the faults
_HEADING = (
    f'<p class="agentlab-title"><b>{TITLE}</b> '
    '<span class="agentlab-simulated">simulated model</span></p>'
)
_COLUMNS = "<tr>" + "".join(
    cell(kind, words, "th", f" width={width}%")
    for kind, words, width in (
        ("turn", "Fault", 14),
        ("what", "What happens", 36),
        ("handled", "Handled in chapter", 22),
        ("state", "Switch", 18),
        ("number", "Played", 10),
    )
) + "</tr>"  # fmt: skip


def _row(switch: Switch) -> str:
    cells = (
        cell("turn", esc(switch.kind.name), "th", " scope=row"),
        cell("what", esc(switch.what)),
        cell("handled", esc(switch.kind.handled)),
        cell("state", esc(switch.state)),
        cell("number", str(switch.played)),
    )
    return f"<tr>{''.join(cells)}</tr>"


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
