"""How a conversation remembers where a scenario stands: marks in ids and signatures.

The simulator keeps no session, so what it needs to go on must travel with the history. A real
model's tool-call ids and thinking signatures are opaque to a harness, which has to send them back
as they are: a good place for a *mark*. It says which scenario wrote the message, which of its
steps that was, how its decisions fell, and to what beginning of the conversation it belongs:

    toolu_three_files_s2_d10_h5f0c1a9be312_c0

Step 2 of ``three-files``, decisions yes and no, the first twelve hex digits of the hash of all
that stood before (`agentlab.simulator.prefix`), call 0. A signature carries a hash of its thinking
text as well, so that the server sees when either was edited. A history that lost its ids (a
summary, say) keeps its place with one line of text, see `standing_line`.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from hashlib import blake2b

PREFIX_DIGITS = 12

_BODY = r"(?P<scenario>[a-z0-9]+(?:_[a-z0-9]+)*?)_s(?P<step>\d{1,5})(?:_d(?P<decisions>[01]+))?"
_MARK = re.compile(
    rf"(?:toolu|srvtoolu|sig)_{_BODY}_h(?P<prefix>[0-9a-f]{{0,{PREFIX_DIGITS}}})"
    r"_(?:c(?P<call>\d{1,3})|t[0-9a-f]{16})"
)
_SIGNATURE = re.compile(rf"sig_{_BODY}_h[0-9a-f]*_t(?P<text>[0-9a-f]{{16}})")
_LINE = re.compile(
    r"\[scenario (?P<scenario>[a-z0-9]+(?:-[a-z0-9]+)*), step (?P<step>\d{1,5})"
    r"(?:, decisions (?P<decisions>[01]+))?\]"
)


@dataclass(frozen=True)
class Mark:
    """Where a scenario stood when it wrote a message. Steps count from 1; 0 is "just opened"."""

    scenario: str
    step: int
    decisions: str = ""  # one 0 or 1 for each `chat.decide` so far
    prefix: str = ""  # hash of what stood before the message
    call: int = 0  # which of the step's calls the id belongs to


def encode_tool_id(mark: Mark, call: int = 0) -> str:
    """The id of the step's tool call number ``call``. Matches ``^[a-zA-Z0-9_-]+$``."""
    return f"toolu_{_body(mark)}_c{call}"


def encode_server_tool_id(mark: Mark, call: int = 0) -> str:
    """The id of a call that the server runs itself (``srvtoolu_...``)."""
    return f"srvtoolu_{_body(mark)}_c{call}"


def encode_signature(mark: Mark, thinking: str) -> str:
    """The signature of a thinking block with that text."""
    return f"sig_{_body(mark)}_t{_digest(thinking)}"


@functools.lru_cache(maxsize=8192)
def decode(id_or_signature: str) -> Mark | None:
    """The mark in a tool-call id or a signature, or None if it is nobody's.

    What a harness puts before or after it (``_2`` for an id that was there twice) does no harm.
    """
    found = _MARK.search(id_or_signature)
    if found is None:
        return None
    return Mark(
        scenario=found["scenario"].replace("_", "-"),
        step=int(found["step"]),
        decisions=found["decisions"] or "",
        prefix=found["prefix"],
        call=int(found["call"] or 0),
    )


def signs(signature: str, thinking: str) -> bool:
    """Whether a signature was made for exactly this thinking text."""
    found = _SIGNATURE.fullmatch(signature)
    return found is not None and found["text"] == _digest(thinking)


def standing_line(mark: Mark) -> str:
    """A line for a summary: ``[scenario three-files, step 2]``, with decisions if there are any.

    A history that has this line and no later mark resumes after that step.
    """
    decisions = f", decisions {mark.decisions}" if mark.decisions else ""
    return f"[scenario {mark.scenario}, step {mark.step}{decisions}]"


def find_standing_line(text: str) -> Mark | None:
    """The last standing line in a text, as a mark."""
    if "[scenario " not in text:
        return None
    found = list(_LINE.finditer(text))
    if not found:
        return None
    last = found[-1]
    return Mark(last["scenario"], int(last["step"]), last["decisions"] or "")


def _body(mark: Mark) -> str:
    decisions = f"_d{mark.decisions}" if mark.decisions else ""
    name = mark.scenario.replace("-", "_")
    return f"{name}_s{mark.step}{decisions}_h{mark.prefix[:PREFIX_DIGITS]}"


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
