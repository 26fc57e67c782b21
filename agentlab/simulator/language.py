"""English or Italian? Judged by small words, for a simulated model that answers in both."""

from __future__ import annotations

import functools
import re

_ITALIAN = """
    ciao salve buongiorno buonasera grazie il lo la gli le un una di del della dei delle nel nella
    che chi cosa quanto quanti quante quale quali quando dove come sono è e ed ho puoi per favore
    più meno diviso leggi apri mostra mostrami elenca cerca trova scrivi salva crea ora ore oggi
    giorno questo questa cartella tutti tutte con su dimmi poi anche fa parole scritto dentro
"""
_ENGLISH = """
    hello hi hey the an of and is are what how which where who please read show list find search
    write save create time today day this that to with tell me then also words it its about
"""
_ITALIAN_WORDS = frozenset(_ITALIAN.split())
_ENGLISH_WORDS = frozenset(_ENGLISH.split())


@functools.lru_cache(maxsize=256)
def is_italian(text: str) -> bool:
    """Whether a text is Italian rather than English."""
    words = re.findall(r"[a-zàèéìòù]+", text[:4000].lower())
    return sum(w in _ITALIAN_WORDS for w in words) > sum(w in _ENGLISH_WORDS for w in words)
