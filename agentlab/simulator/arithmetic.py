"""Finding calculations in a sentence, in figures or in words, English or Italian.

Only finds them and writes them as expressions that a calculator tool takes; the tool does the sum.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from agentlab.simulator.vocabulary import pattern

_UNITS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty
    zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici
    quindici sedici diciassette diciotto diciannove venti
"""
_TENS = """
    thirty forty fifty sixty seventy eighty ninety hundred
    trenta quaranta cinquanta sessanta settanta ottanta novanta cento
"""
_WORDS = {word: number % 21 for number, word in enumerate(_UNITS.split())}
_WORDS |= {word: 10 * (number % 8 + 3) for number, word in enumerate(_TENS.split())}
_WORDS["mille"] = 1000
_N = rf"(?:\d+(?:[.,]\d+)*|\b(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})\b)"
_OPERATORS = {
    r"\+|plus|più|piu'?": "+",
    "-|\u2212|\u2013|minus|meno": "-",
    r"\*\*|\^|to the power of|elevato (?:alla|a)": "**",
    r"\*|\u00d7|\u00b7|x|times|multiplied by|moltiplicato per|per(?! cento)": "*",
    r"//": "//",
    r"/|÷|:|divided by|over|diviso(?: per)?|fratto": "/",
    r"%|mod|modulo": "%",
}
_OP = "|".join(_OPERATORS)
_PAREN = r"[(\s]*"
_EXPRESSION = pattern(
    rf"""(?<![\w.,])-?{_PAREN}{_N}\s*\)*(?:\s*(?:{_OP})\s*-?{_PAREN}{_N}(?:\s*\))*)+
    (?![\w%])(?!\s*(?:%|percent|per cento))"""
)
_PART = re.compile(rf"\(|\)|{_N}|{_OP}", re.I)
_PERCENT = r"\s*(?:%|percent|per cento)"
_DATE = pattern(
    r"""\b\d{4}-\d{1,2}-\d{1,2}\b|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b|\b\d{1,2}:\d{2}\b
    |\bv?\d+\.\d+\.\d+\b"""
)


def _form(text: str) -> re.Pattern[str]:
    """A pattern in which ``<a>`` is a number, ``<list>`` are several, and ``<%>`` says percent."""
    several = rf"(?P<list>{_N}(?:\s*(?:,|and|e|with|con|,\s*and)\s*{_N})+)"
    text = text.replace("<list>", several).replace("<%>", _PERCENT)
    return pattern(re.sub("<([ab])>", lambda m: f"(?P<{m[1]}>{_N})", text))


_FORMS = {
    _form(r"<a><%>\s*(?:of|di|del|sul|su)\s*<b>"): "{a} / 100 * {b}",
    _form(r"<a>\s*(?:\+|plus|più)\s*<b><%>"): "{a} * (1 + {b} / 100)",
    _form(r"<a>\s*(?:-|minus|meno)\s*<b><%>"): "{a} * (1 - {b} / 100)",
    _form(r"(?:square root|sqrt|radice(?: quadrata)?)(?: of| di)?\s*\(?<a>\)?"): "{a} ** 0.5",
    _form("<a> (?:squared|al quadrato)"): "{a} ** 2",
    _form("<a> (?:cubed|al cubo)"): "{a} ** 3",
    _form("(?:half(?: of)?|(?:la )?metà di) <a>"): "{a} / 2",
    _form("(?:double(?: of)?|twice|(?:il )?doppio di) <a>"): "{a} * 2",
    _form("(?:subtract|sottrai) <b> (?:from|da) <a>"): "{a} - {b}",
    _form("(?:divide|dividi) <a> (?:by|per) <b>"): "{a} / {b}",
    _form("(?:multiply|moltiplica) <a> (?:by|per) <b>"): "{a} * {b}",
    _form(r"(?:difference|differenza)(?: \w+)? <a> (?:and|e) <b>"): "{a} - {b}",
}
_LISTS = {
    _form("(?:sum|total|add(?: up)?|somma|totale)(?: of| di| tra| fra)? <list>"): "+",
    _form("(?:product|prodotto)(?: of| di| tra| fra)? <list>"): "*",
    _form("(?:average|mean|media)(?: of| di| tra| fra)? <list>"): "mean",
}
_ASKS = pattern(r"(?:\b(?:is|fa|è|much|calculate|compute|calcola|and|e|me)|[:=,.?\ue005]|'s)$")
_GOES_ON = pattern(
    rf"""^\W*(?:(?:and|e|then|poi|now|ora|ok|what about)\s+)*
    (?:(?P<verb>divide|multiply)\s+(?:it|that)\s+by|(?P<op>{_OP}))\s*(?P<b>{_N})
    (?![\w.,]*\w)(?!\s*(?:%|percent|per cento))"""
)


def find_arithmetic(
    text: str, previous: str, put: Callable[[str], str], italian: bool = False
) -> str:
    """Replace each calculation in ``text`` by what ``put`` makes of its expression.

    ``previous`` is the number that a text like "times 2" goes on from; in ``italian`` a full stop
    before three digits groups thousands.
    """
    held: list[str] = []
    if italian:
        text = re.sub(
            r"(?<![\w.,])\d{1,3}(?:\.\d{3})+(?![\w.])", lambda m: m[0].replace(".", ""), text
        )

    def hold(match: re.Match[str]) -> str:
        held.append(match[0])
        return f"\ue006{len(held) - 1}\ue007"

    text = _DATE.sub(hold, text)
    if previous and len(text) < 60 and (more := _GOES_ON.match(text)):
        operator = {"divide": "/", "multiply": "*"}.get((more["verb"] or "").lower()) or _operator(
            more["op"]
        )
        text = put(f"{previous} {operator} {_number(more['b'])}") + text[more.end() :]
    for form, expression in _FORMS.items():
        text = form.sub(lambda m, e=expression: put(_filled(e, m)), text)  # type: ignore[misc]
    for form, operator in _LISTS.items():
        text = form.sub(lambda m, o=operator: put(_over(m["list"], o)), text)  # type: ignore[misc]
    text = _EXPRESSION.sub(lambda m: m[0] if _is_range(m) else _expression(m[0], put), text)
    return re.sub("\ue006(\\d+)\ue007", lambda m: held[int(m[1])], text)


def _filled(expression: str, match: re.Match[str]) -> str:
    return expression.format(**{key: _number(value) for key, value in match.groupdict().items()})


def _over(numbers: str, operator: str) -> str:
    terms = [_number(found) for found in re.findall(_N, numbers, re.I)]
    if operator == "mean":
        return f"({' + '.join(terms)}) / {len(terms)}"
    return f" {operator} ".join(terms)


def _is_range(match: re.Match[str]) -> bool:
    """Whether ``10-12`` stands where a range or a telephone number would."""
    before = match.string[: match.start()].rstrip()
    return bool(before and re.fullmatch(r"\s*\d+-\d+", match[0]) and not _ASKS.search(before))


def _expression(found: str, put: Callable[[str], str]) -> str:
    parts = [p.strip() for p in _PART.findall(found)]
    if parts.count("(") != parts.count(")"):
        parts = [p for p in parts if p not in "()"]
    written = ""
    previous = "("
    for part in parts:
        if part in "()":
            token = part
        elif re.fullmatch(_N, part, re.I):
            token = _number(part)
        else:
            token = _operator(part)
        unary = token == "-" and previous in ("(", "+", "-", "*", "/", "**", "//", "%")
        glued = token == ")" or previous == "(" or previous == "unary"
        written += token if glued or not written else f" {token}"
        previous = "unary" if unary else token
    lead = found[: len(found) - len(found.lstrip())]
    return lead + put(written)


def _operator(word: str) -> str:
    return next(o for pattern, o in _OPERATORS.items() if re.fullmatch(pattern, word.strip(), re.I))


def _number(text: str) -> str:
    """A number as a calculator takes it: ``1,000`` and ``1.000.000`` are whole, ``3,5`` is 3.5."""
    if text.lower() in _WORDS:
        return str(_WORDS[text.lower()])
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        return text.replace(",", "")
    if re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}\.\d{3},\d+", text):
        return text.replace(".", "").replace(",", ".")
    whole, _, decimals = text.replace(",", ".").partition(".")
    whole = str(int(whole))
    return f"{whole}.{decimals}" if decimals and decimals.isdigit() else whole
