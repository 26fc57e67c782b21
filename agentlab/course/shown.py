"""What the course's helpers return: objects that show themselves, and errors that read well.

Every helper returns a value with two forms of the same facts: HTML for the notebook, and a short
stable text for the web page, the screen reader and the tests that compare stored outputs.
"""

from __future__ import annotations

import html
import os
import re

MUTED = "var(--jp-ui-font-color2, #616161)"
LINE = "var(--jp-border-color2, #bdbdbd)"
CODE_FONT = (
    "font-family:var(--jp-code-font-family, monospace);font-size:var(--jp-code-font-size, 13px)"
)


class CourseError(ValueError):
    """A mistake in how a helper was called. In a notebook only its message is shown."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Shown:
    """A result that displays as HTML in a notebook and as ``text`` everywhere else."""

    def __init__(self, text: str, html_text: str = "") -> None:
        self.text = text
        self.html = html_text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str | None:
        return self.html or None


def escape(text: object) -> str:
    """Text made safe to stand in HTML."""
    return html.escape(str(text), quote=True)


def static_views() -> bool:
    """True while notebooks are built or tested: views are then shown once, without widgets."""
    return os.environ.get("AGENTLAB_STATIC_VIEWS") == "1"


def without_addresses(text: str) -> str:
    """The text without memory addresses, which differ on every run."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def code_html(text: str) -> str:
    """A Python text as one highlighted ``<pre>`` that follows the notebook's theme."""
    from pygments.lexers import PythonLexer  # type: ignore[import-untyped]
    from pygments.token import (  # type: ignore[import-untyped]
        Comment,
        Keyword,
        Name,
        Number,
        Operator,
        String,
    )

    colours = (
        (Comment, "comment", "#3d7b7b"),
        (String, "string", "#ba2121"),
        (Number, "number", "#3f6f00"),
        (Keyword, "keyword", "#008000"),
        (Operator.Word, "keyword", "#008000"),
        (Name.Function, "def", "#0000d0"),
        (Name.Class, "def", "#0000d0"),
        (Name.Decorator, "meta", "#7a3e9d"),
        (Name.Builtin, "builtin", "#008000"),
    )
    parts = []
    for kind, value in PythonLexer(stripnl=False).get_tokens(text):
        shown = escape(value)
        for token, name, fallback in colours:
            if kind in token and value.strip():
                colour = f"var(--jp-mirror-editor-{name}-color, {fallback})"
                shown = f'<span style="color:{colour}">{shown}</span>'
                break
        parts.append(shown)
    style = f"{CODE_FONT};margin:0;line-height:1.35;white-space:pre;overflow-x:auto"
    return f'<pre style="{style}">{"".join(parts).rstrip()}</pre>'


def framed(caption: str, body_html: str) -> str:
    """A block with a quiet caption above it and a line to its left."""
    return (
        f'<div style="border-left:3px solid {LINE};padding:2px 0 2px 12px">'
        f'<div style="color:{MUTED};margin-bottom:4px">{caption}</div>{body_html}</div>'
    )
