"""Asking the user in a notebook: buttons below the cell that is running.

A question is a widget of its own, bound to the id of the call, and exactly one answer to it
counts. Buttons may be heard in another thread, and while a cell waits, so the answer is handed to
the event loop in the one way that is safe for both (``call_soon_threadsafe``, measured on
ipykernel 7.4 on 2026-11-30). Once it is answered, or the cell was interrupted, the widget gives
way to a plain text that says what was decided and needs no kernel. Part of chapter 06.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from agentlab.permissions.asking import edited, headline, outcome, whole, why
from agentlab.permissions.decision import Answer, Question
from agentlab.views.drawing import esc
from agentlab.views.page import script, style_sheet
from agentlab.views.watching import HEARTBEAT_S
from agentlab.views.widgets import static_only


def asker() -> Asking | None:
    """Who asks in a notebook; None while notebooks are built and tested, where nobody looks."""
    return None if static_only() else Asking()


class Asking:
    """An asker. Questions appear below the cell that runs, or where this object is displayed.

    Displaying it is for pages whose cells have ended before the first question comes, as in Voilà.
    """

    def __init__(self) -> None:
        self._box: Any = None

    def __repr__(self) -> str:
        return "Questions to you appear here."

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        import ipywidgets

        if self._box is None:
            self._box = ipywidgets.VBox()
        return self._box._repr_mimebundle_(**kwargs)

    async def __call__(self, question: Question) -> Answer:
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Answer] = loop.create_future()
        widget = Approval(
            question, lambda given: loop.call_soon_threadsafe(_settle, answered, given)
        )
        replace = self._put(widget)
        said = "cancelled before it was answered"
        try:
            while not answered.done():
                # Again and again: a kernel that only waits does not hear its interrupt button,
                # and a page that was just loading may have missed the question.
                await asyncio.wait({answered}, timeout=HEARTBEAT_S)
                if self._box is not None and not widget.seen:
                    self._box.send_state("children")
            said = outcome(answered.result())
            return answered.result()
        finally:
            widget.decided = said
            replace(static_html(question, said), f"{headline(question)}: {said}")
            widget.close()

    def _put(self, widget: Approval) -> Callable[[str, str], None]:
        """Show a question; returns what puts a text in its place."""
        if self._box is None:
            from IPython.display import display

            data, metadata = widget._repr_mimebundle_() or ({}, {})
            place = display(data, raw=True, metadata=metadata, display_id=True)
            return lambda html, text: place.update(
                {"text/html": html, "text/plain": text}, raw=True
            )
        import ipywidgets

        box = self._box
        box.children = (*box.children, widget)

        def replace(html: str, _: str) -> None:
            over = ipywidgets.HTML(html)
            box.children = tuple(over if each is widget else each for each in box.children)

        return replace


class Approval(anywidget.AnyWidget):
    """One question with its buttons. ``give`` is called with the first valid answer, once."""

    _esm = script("approval.js")
    _css = style_sheet("approval")
    question = traitlets.Dict().tag(sync=True)
    decided = traitlets.Unicode().tag(sync=True)  # what was decided; empty while it is open

    def __init__(self, question: Question, give: Callable[[Answer], object]) -> None:
        shown = {
            "id": question.id, "headline": headline(question), "shown": whole(question.shown),
            "parts": [whole(part) for part in question.parts], "why": why(question),
            "rules": list(question.rules), "cwd": question.cwd,
            "edit": _editable(question), "plain": question.tool == "Bash",
        }  # fmt: skip
        super().__init__(question=shown)
        self._question, self._give = question, give
        self.seen = False  # a page shows it
        self._answered = False
        self._lock = threading.Lock()
        self.on_msg(self._hear)

    def __repr__(self) -> str:
        return f"{headline(self._question)}: {self.decided or 'waiting for an answer'}"

    def _hear(self, _: Any, content: Any, buffers: Any) -> None:
        """An answer from the page. What belongs to another question, or comes late, is ignored."""
        if not isinstance(content, dict) or content.get("id") != self._question.id:
            return
        self.seen = True
        if content.get("kind") == "seen":
            return
        try:
            given = _answer(self._question, content)
        except ValueError as error:
            self.send({"kind": "wrong", "text": str(error)})
            return
        with self._lock:
            first, self._answered = not self._answered, True
        if first:
            self._give(given)


def static_html(question: Question, said: str) -> str:
    """The question when it is over: what was asked, and what was decided."""
    shown = whole(question.shown)
    return (
        f'<div class="agentlab-view agentlab-approval"><style>{style_sheet("approval")}</style>'
        f"<p>{esc(headline(question))}: <b>{esc(said)}</b></p><pre>{esc(shown)}</pre></div>"
    )


def _editable(question: Question) -> str:
    if question.tool == "Bash":
        return str(question.input.get("command", ""))
    import json

    return json.dumps(question.input, indent=2, ensure_ascii=False)


def _answer(question: Question, content: dict[str, Any]) -> Answer:
    """The answer in a message. Raises ValueError, with a text for the user, if it is none."""
    remember = content.get("remember", "once")
    match content.get("kind"):
        case "deny":
            return Answer("deny", str(content.get("note") or "").strip())
        case "edit":
            text = str(content.get("text") or "")
            if question.tool != "Bash":
                return Answer("allow", input=edited(text))
            if not text.strip():
                raise ValueError("the command is empty")
            return Answer("allow", input={**question.input, "command": text})
        case "approve" if remember == "once" or (
            remember in ("session", "always") and question.rules
        ):
            return Answer("allow", remember=remember)
    raise ValueError("this is no answer")


def _settle(answered: asyncio.Future[Answer], given: Answer) -> None:
    if not answered.done():
        answered.set_result(given)
