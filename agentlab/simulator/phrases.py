"""What the improviser says, in English and in Italian: nothing but sentences with gaps."""

from __future__ import annotations

TOOLS = {
    "calc": "Calculator",
    "read": "Read",
    "list": "LS",
    "search": "Grep",
    "glob": "Glob",
    "write": "Write",
    "time": "Clock",
    "run": "Bash",
}

ENGLISH = {
    "intro": "I'll {}.",
    "welcome": "You are welcome.",
    "and": " and ",
    "do calc": "calculate {value}",
    "do read": "read {value}",
    "do list": "list the files in {value}",
    "do search": "search for {value}",
    "do glob": "look for files named {value}",
    "do write": "write to {path}",
    "do time": "look at the clock",
    "do run": "run `{value}`",
    "found read": "{value} (words: {words}, lines: {lines}) reads:\n{text}",
    "found list": "In {value} there is:\n{text}",
    "found search": "Searching for {value} found:\n{text}",
    "no match": "Nothing matches {value}.",
    "count words": "{value} has {count} words.",
    "count lines": "{value} has {count} lines.",
    "count characters": "{value} has {count} characters.",
    "wrote": "I wrote {content} to {path}. The tool says:\n{text}",
    "that result": "that result",
    "time": "The clock says {text}",
    "so it is": ", so it is {}.",
    "called": "I called {what} and got:\n{text}",
    "raw": "I asked to {what} and got:\n{text}",
    "failed": "I tried to {what}, and it failed:\n{text}",
    "lost": "I did {what}, but the result is no longer in this conversation.",
    "no tool": "To {what} I would need a tool such as {tool}. This request offers: {offered}.",
    "nothing to write": "I wrote nothing to {path}, because there is no result to write.",
    "not this": 'I cannot do this part: "{what}". A simulated model only does what it knows.',
    "cannot complete": "I have nothing more to do, and am offered no TaskComplete to say so.",
    "nothing done": "Nothing was left to do.",
    "menu": """\
I am a simulated model and cannot answer "{prompt}". Given a tool for it, I calculate, read, list, \
search and write files, tell the time and run a command, for instance: "read a.txt and tell me \
what 3 * 4 is". (Tools offered now: {offered}.)

I also play these scenarios:
{plays}

For a real model use connect("anthropic") with an API key, or connect("http://...", model="...") \
for a local server such as Ollama.""",
}

ITALIAN = {
    "intro": "Ora provo a {}.",
    "welcome": "Prego.",
    "and": " e ",
    "do calc": "calcolare {value}",
    "do read": "leggere {value}",
    "do list": "elencare i file in {value}",
    "do search": "cercare {value}",
    "do glob": "cercare i file di nome {value}",
    "do write": "scrivere in {path}",
    "do time": "guardare l'orologio",
    "do run": "eseguire `{value}`",
    "found read": "{value} (parole: {words}, righe: {lines}) dice:\n{text}",
    "found list": "In {value} c'è:\n{text}",
    "found search": "Cercando {value} ho trovato:\n{text}",
    "no match": "Non ho trovato nulla per {value}.",
    "count words": "{value} ha {count} parole.",
    "count lines": "{value} ha {count} righe.",
    "count characters": "{value} ha {count} caratteri.",
    "wrote": "Ho scritto {content} in {path}. Lo strumento dice:\n{text}",
    "that result": "quel risultato",
    "time": "L'orologio dice {text}",
    "so it is": ", quindi sono le {}.",
    "called": "Ho chiamato {what} e ho ottenuto:\n{text}",
    "raw": "Ho chiesto di {what} e ho ottenuto:\n{text}",
    "failed": "Ho provato a {what}, ma non è riuscito:\n{text}",
    "lost": "Ho provato a {what}, ma il risultato non è più in questa conversazione.",
    "no tool": "Per {what} mi servirebbe uno strumento come {tool}. Qui ci sono: {offered}.",
    "nothing to write": "Non ho scritto nulla in {path}, perché non c'è un risultato da scrivere.",
    "not this": 'Questa parte non la so fare: "{what}". Un modello simulato fa solo ciò che sa.',
    "cannot complete": "Non ho altro da fare, ma non mi è offerto TaskComplete per dirlo.",
    "nothing done": "Non c'era altro da fare.",
    "menu": """\
Sono un modello simulato e non so rispondere a "{prompt}". Con uno strumento adatto so calcolare, \
leggere, elencare, cercare e scrivere file, dire l'ora ed eseguire un comando, per esempio: "leggi \
a.txt e dimmi quanto fa 3 * 4". (Strumenti offerti ora: {offered}.)

Recito anche questi scenari:
{plays}

Per un modello vero usa connect("anthropic") con una chiave API, oppure \
connect("http://...", model="...") per un server locale come Ollama.""",
}
