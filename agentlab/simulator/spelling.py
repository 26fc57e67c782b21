"""Finding a slip of the pen in a text, for simulated models that are asked to mend one.

A real model knows every word. This one knows the slips that everybody makes (``teh``), a word
written twice, endings whose letters changed places (``mornign``), and words of its small
vocabulary with two letters swapped or one left out. What it does not know it takes for right.
"""

from __future__ import annotations

import re

from agentlab.simulator.vocabulary import words

SLIPS = {
    "teh": "the", "hte": "the", "adn": "and", "nad": "and", "taht": "that", "thsi": "this",
    "wiht": "with", "fo": "of", "recieve": "receive", "recieved": "received", "occured": "occurred",
    "seperate": "separate", "untill": "until", "wich": "which", "thier": "their",
    "definately": "definitely", "begining": "beginning", "becuase": "because",
    "qeusto": "questo", "perchè": "perché", "poichè": "poiché", "propio": "proprio",
}  # fmt: skip
VOCABULARY = words("""
    always around because before beginning belongs between bought broken calm caretaker
    comes during eleven evening everybody everything forget forgets gauge greeting ground gutter
    harbour instead knock knocked letter measured millimetres minute month morning moves nobody
    north noon notes nothing nowhere number numbers other overflows pencil people perfect person
    question reading readings remember report rounds saturday saturdays school season seven
    sharpener should somebody something station sticks storm summer sunday sundays surely
    temperature thunder thursday tomorrow under until water weather weekdays whatever whenever
    whoever whole window winter without worst writing yesterday
""")
_SWAPPED_ENDING = re.compile(r"([a-z]{2,})ign")
_RIGHT_WITH_IGN = words("""
    align assign benign campaign condign consign deign design feign foreign malign realign redesign
    reign resign sovereign undersign
""")
_WORD = re.compile(r"[^\W\d_]+")
_TWICE = re.compile(r"\b([a-zà-ý]{2,})(?: +|\n)\1\b")
_MEANT_TWICE = words("had that is bla ha no via")


def find_slip(text: str) -> tuple[str, str] | None:
    """The first slip in a text: as it stands there, and as it should be. None if none is known."""
    found = [(m.start(), m[0], right) for m in _WORD.finditer(text) if (right := _mended(m[0]))]
    twice = [
        (m.start(), m[0], m[0].split()[0])
        for m in _TWICE.finditer(text)
        if m[1].lower() not in _MEANT_TWICE
    ]
    return min([*found, *twice])[1:] if found or twice else None


def _mended(word: str) -> str:
    """The word that was meant, "" if this one seems right."""
    lower = word.lower()
    meant = SLIPS.get(lower, "")
    if not meant and lower not in VOCABULARY:
        ending = _SWAPPED_ENDING.fullmatch(lower)
        if ending and lower not in _RIGHT_WITH_IGN:
            meant = f"{ending[1]}ing"
        else:
            meant = _NEAR.get(lower, "")
    return meant.capitalize() if word[0].isupper() else meant


def _near(word: str) -> set[str]:
    """The word with two neighbouring letters swapped, or one inside left out."""
    inside = range(1, len(word) - 1)
    swapped = {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in inside}
    return (swapped | {word[:i] + word[i + 1 :] for i in inside}) - VOCABULARY


_NEAR = {slip: word for word in sorted(VOCABULARY) if len(word) > 5 for slip in _near(word)}
