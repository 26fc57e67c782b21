r"""The words and patterns by which `agentlab.simulator.intents` knows what a prompt asks for.

English and Italian side by side. Long patterns are written over several lines: line breaks and the
indentation after them do not count. What was set aside before (see there) stands in the text as a
number between two private characters: ``FILE`` matches a file name, ``QUOTE`` a quoted text,
``DONE`` a wish that is already understood.
"""

from __future__ import annotations

import re

FILE, QUOTE, DONE = "\ue000\\d+\ue001", "\ue002\\d+\ue003", "\ue004\\d+\ue005"
FILE_MARKS, QUOTE_MARKS, DONE_MARKS = "\ue000\ue001", "\ue002\ue003", "\ue004\ue005"
SET_ASIDE = re.compile("[\ue000\ue002\ue004](\\d+)[\ue001\ue003\ue005]")
PRIVATE = re.compile("[\ue000-\ue007]")


def pattern(text: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    """A regular expression from several lines."""
    return re.compile(re.sub(r"\n\s*", "", text), flags)


def words(text: str) -> frozenset[str]:
    """A set of words from several lines."""
    return frozenset(text.split())


# File names and quotations

EXTENSIONS = (
    "txt|md|markdown|rst|py|ipynb|csv|tsv|json|jsonl|toml|ya?ml|ini|cfg|conf|env|log|html?|css"
    "|js|jsx|tsx?|sh|rs|go|java|c|h|cpp|hpp|rb|php|sql|xml|lock|out|dat|tex"
)
NAME = pattern(
    rf"""\b[A-Za-z]:\\[\w\\. -]*\w\.(?:{EXTENSIONS})\b
    |(?<![\w/.~-])(?:(?:~|\.{{1,2}})?/)?(?:[\w.-]+/)*[\w.-]*\w\.(?:{EXTENSIONS})\b
    |(?<![\w/.~-])(?:(?:~|\.{{1,2}})/|/(?=[a-z]))[\w./-]*\w/?
    |(?<![\w/.~-])(?!and/or|e/o|w/o)[a-z_][\w.-]+/(?:[\w.-]+/)*[\w-]*
    |\b(?:README|LICENSE|Makefile|Dockerfile|CHANGELOG)\b""",
    re.NOFLAG,
)
NAME_IN_QUOTES = re.compile(rf"^[^*\n]*\w\.(?:{EXTENSIONS})$|^(?:[\w.-]+/)+[\w.-]*$")
QUOTED = pattern(
    r"""`([^`\n]+)`|"([^"\n]+)"|“([^”\n]+)”|«([^»\n]+)»
    |(?<!\w)'([^'\n]+)'(?!\w)"""
)
BARE_NAME = pattern(r"\b(?:read|open|leggi|apri) (?:the |il )?file (?P<name>[\w.-]+)")

# Where one wish ends and the next begins

CLAUSES = pattern(
    r"""[;?!\n]+|[.,:](?=\s|$)
    |\s+(?:and|then|also|but|e|ed|poi|anche|ma)\s+(?:(?:then|also|poi|anche)\s+)?"""
)
FILLER = words("""
    a am i is it its are be do does you can could would will want like please thanks thank hi hello
    hey ok okay so now just first next what whats how much many tell me the result of to know
    calculate compute answer equals give us my your for also too both in something else no stop
    wait well fine great good another question there this that them these those finally after file
    files use
    ciao salve per favore grazie puoi potresti vorrei sapere dimmi mi quanto fa fanno è il la lo le
    gli di risultato calcola conto fammi ora adesso prima subito anche infine che cosa sono del
    della un una se tutto usa altra domanda aspetta basta bene
""")
CANNOT = pattern(
    r"""^(?:please |per favore |can you |could you |puoi )*
    (?:delete|remove|rename|move|copy|edit|fix|refactor|translate|explain|change|replace|improve
    |rewrite|review|compare|sort|cancella|elimina|rinomina|sposta|copia|modifica|correggi|traduci
    |spiega(?:mi)?|cambia|migliora)\b"""
)

# Writing

_INTO = r"(?:to|into|in|inside|as|on|su|dentro|nel|sul|come|a)"
_NAMED = (
    r"(?:the |a |an |un |il |lo |new |nuovo |empty )*(?:file |text file )?(?:vuoto |di testo )?"
    r"(?:called |named |chiamato |di nome )?"
)
WRITE_TO = pattern(
    rf"""\b(?:write|save|put|store|scrivi|salva|metti|inserisci)\b:?
    \ (?P<text>.+?)\ {_INTO}\ {_NAMED}(?P<file>{FILE})"""
)
WRITE_WITH = pattern(
    rf"""\b(?:create|make|write|save|crea|scrivi|fai|salva)\b\ {_NAMED}(?P<file>{FILE})
    (?:,?\ (?:with|containing|that contains|that says|saying
    |con|contenente|che contiene|che dice)
    (?:\ (?:the|il|la|this|questo))?
    (?:\ (?:text|contents?|words?|line|testo|contenuto|scritto|dentro|parola|riga))?
    :?\ (?P<text>{QUOTE}|[^.;\n]+?)
    (?=$|[.;\n!?]|,?\ (?:and then|then|e poi|poi)\b)
    |(?=\s*(?:$|[.,;!?\n]|(?:and|then|e|poi)\b)))"""
)
CREATES = pattern(r"\b(?:create|make|crea|fai)\b")
CALLED_TEXT = pattern(
    r"^(?:the |la |il )?(?:words?|text|line|string|phrase|parola|testo|frase|riga) (?=.)"
)
THE_RESULT = pattern(
    r"""(?:the |il |that |quel )?(?:result|answer|value|risultato|valore|it|that|lo)
    (?:\ (?:of|di|del calcolo)\b.*)?"""
)
THE_TIME = pattern(
    r"(?:the |current |l'|la |adesso )*(?:time|date|ora|data)(?: corrente| attuale)?"
)
INVENTED = pattern(  # what somebody would have to make up first
    r"""down\b|(?:me |mi )?(?:a|an|the|some|un|una|uno|il|la|il tuo|your|my) ?(?:\w+ ){0,2}
    (?:poem|haiku|story|song|essay|letter|script|program|function|class|module|tests?|code|report
    |summary|documentation|plan|poesia|storia|canzone|lettera|programma|funzione|classe|codice
    |relazione|riassunto|saggio|piano)\b"""
)

# The time, and commands

TIME = pattern(
    r"""\bwhat(?:'s| is)? (?:the |today's )?(?:current )?(?:time|date|day)\b|\bwhat (?:time|day)\b
    |\b(?:the |current )time\b|\btoday's date\b|\bche or[ae] (?:sono|è|e')|\bche (?:giorno|data)\b
    |\bl'ora\b|\bora (?:esatta|corrente|attuale)\b|\bdata di oggi\b|\bquanti ne abbiamo\b"""
)
RUN = pattern(
    rf"""^(?:.*\b)?(?:run|execute|esegui|lancia)\b\ (?:the command |il comando )?
    (?P<command>{QUOTE}|.+)$"""
)
COMMANDS = words("""
    python python3 pip ls cat git pytest echo npm node make bash sh grep wc pwd date find head tail
    touch mkdir uname whoami
""")

# Searching

GLOB = pattern(
    r"""\b(?:find|list|search|trova|cerca|elenca)\b.*?
    (?P<pattern>(?:\*|\.)[\w*.?/-]*\w)(?: files?)?\s*$
    |\b(?:find|list|trova|cerca|elenca)\b (?:all |every |tutti )?(?:the |i )?(?:file )?
    (?P<kind>python|markdown|csv|text|json)(?: files?)?\s*$"""
)
KINDS = {"python": "*.py", "markdown": "*.md", "csv": "*.csv", "text": "*.txt", "json": "*.json"}
SEARCH = pattern(
    r"""\b(?:find|search(?: for)?|grep(?: for)?|look for|locate|where (?:is|are|do|does)
    |which \w+ (?:contains?|mentions?|uses?)|cerca(?:mi)?|trova(?:mi)?
    |dove (?:compare|si trova|è|sono)|(?:quali|quale) file (?:contengono|contiene|citano|cita))\b
    \ (?P<what>.+)$"""
)
SEARCH_FOR = pattern(r"\bsearch (?P<where>.+?) for (?P<what>.+)$")
SEARCH_FILLER = pattern(
    r"""^(?:(?:for|me|mi|all|every|each|any|the|a|an|tutti|tutte|ogni|gli|i|le|la|il|lo|un|una
    |words?|text|string|lines?|occurrences?|mentions?|parol[ae]|testo|righ?[ae]|occorrenz[ae]
    |of|with|that|say|contain(?:ing)?|di|con|che|contengono)\ )+"""
)
WHERE = pattern(
    r"""\s+(?:in|inside|within|under|across|nel|nella|nei|nelle|negli|dentro|sotto|tra|fra)
    \s+(?P<where>.+)$
    |\s+(?:mentioned|used|defined|appear|occur|citat[oa]|usat[oa]|definit[oa])$"""
)

# Listing

LIST = pattern(
    r"""\bls\b|\b(?:list|elenca(?:mi)?|elenco|lista)\b|\b(?:what|which|quali|che) files?\b
    |\bshow (?:me )?(?:the |all |all the )?files\b|\bfiles? (?:are )?(?:there )?in\b
    |\b(?:mostra(?:mi)?|fammi vedere) (?:i |tutti i )?file\b
    |\b(?:what(?:'s| is)|(?:che )?cosa c'è) (?:in|nella|nel|dentro)
    \ (?:the |this |questa |questo |la )?
    (?:[\w.-]+ )?(?:folder|directory|workspace|project|cartella|progetto)\b"""
)
FOLDER = pattern(
    rf"""\b(?:folder|directory|cartella|dir)\s+(?!in\b|of\b|di\b|and\b|is\b)
    (?P<after>{FILE}|{QUOTE}|[\w.-]+)
    |\b(?:in|inside|of|under|nella|nel|della|di|dentro|ls|list)\s+(?:the\s+|la\s+)?
    (?P<inside>{FILE}|{QUOTE}|[\w.-]+)(?:\s+(?:folder|directory))?\s*$"""
)
NO_FOLDER = words("""
    files file here this the all folder directory workspace project repo repository everything
    everywhere there code any please
    qui tutti tutto tutta cartella progetto questa questo i la il le codice ovunque
""")

# Reading

READ = pattern(
    r"""\b(?:read|open|show|print|cat|display|view|look at|see|check|quote|summari[sz]e
    |what(?:'s| is| does| do)|contents? of|tell me|how many (?:words|lines|characters)|count|conta
    |leggi(?:mi)?|apri|mostra(?:mi)?|stampa|fammi vedere|vedi|guarda|riassumi
    |cosa (?:c'è|contiene|dice)|contenuto|dimmi|quante (?:parole|righe)|quanti caratteri)\b"""
)
COUNT = pattern(
    r"""\b(?:how many|count(?: the)?|quante|quanti|conta(?: le| i)?)
    \ (?P<unit>words|lines|characters|parole|righe|caratteri)\b"""
)
UNITS = {"parole": "words", "righe": "lines", "caratteri": "characters"}
