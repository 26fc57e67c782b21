"""What a prompt asks for: a list of small, certain wishes, found by patterns in two languages.

The improviser answers only what this module recognises: arithmetic, reading, listing, searching
and writing files, the time, a shell command. Nothing is guessed. A part of the prompt that looks
like a wish but is none of these comes back as ``unknown``, so that the answer can say so.

File names and quoted texts are set aside first (a full stop in ``a.txt`` ends no sentence), then
what is written and what is calculated, and the rest is cut into clauses.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from agentlab.simulator import vocabulary as v
from agentlab.simulator.arithmetic import find_arithmetic
from agentlab.simulator.language import is_italian

LONGEST_PROMPT = 2_000  # characters looked at; wishes stand near the beginning


@dataclass(frozen=True)
class Intent:
    """One wish. ``kind``: calc, read, list, search, glob, write, time, run or unknown."""

    kind: str
    value: str = ""  # expression, file, folder, pattern, text to write, command
    path: str = ""  # where to search, or the file to write
    want: str = ""  # read: words, lines or characters; write: "result", of what went before


def find_intents(text: str, previous: str = "") -> list[Intent]:
    """The wishes in a prompt, in their order; "times 2" goes on from the number ``previous``."""
    return list(_remembered(text[:LONGEST_PROMPT], previous))


@functools.lru_cache(maxsize=512)  # the same prompt comes back with every request of a conversation
def _remembered(text: str, previous: str) -> tuple[Intent, ...]:
    return tuple(_Reader(previous).read(text))


def files_in(text: str) -> list[str]:
    """The file names in a text, in their order, each once."""
    return list(dict.fromkeys(match[0] for match in v.NAME.finditer(text[:LONGEST_PROMPT])))


@dataclass(frozen=True)
class _Quoted:
    inner: str
    raw: str


Aside = str | _Quoted | Intent | list[Intent]


class _Reader:
    """Reads one prompt. What is set aside stands there as a number between private characters."""

    def __init__(self, previous: str) -> None:
        self.previous = previous
        self.aside: list[Aside] = []
        self.want = ""  # of the clause before: "how many words are in a.txt and b.txt"
        self.verb = ""  # of the clause before: "read a.txt and b.txt"

    def read(self, text: str) -> list[Intent]:
        italian = is_italian(text)
        text = text.replace("\u2019", "'")
        text = v.PRIVATE.sub(" ", text)
        text = v.QUOTED.sub(self._quote, text)
        text = v.NAME.sub(lambda m: self._put(m[0], v.FILE_MARKS), text)
        text = v.WRITE_TO.sub(self._write, text)
        text = v.WRITE_WITH.sub(self._write, text)
        text = find_arithmetic(
            text, self.previous, lambda e: self._put(Intent("calc", e), v.DONE_MARKS), italian
        )
        found: list[Intent] = []
        for clause in v.CLAUSES.split(text):
            if clause and clause.strip():
                found += self._clause(clause.strip())
        return list(dict.fromkeys(found))

    # what is set aside, and what stood there

    def _put(self, thing: Aside, fence: str) -> str:
        self.aside.append(thing)
        return f"{fence[0]}{len(self.aside) - 1}{fence[1]}"

    def _quote(self, match: re.Match[str]) -> str:
        inner = next(group for group in match.groups() if group is not None)
        if v.NAME_IN_QUOTES.search(inner):
            return self._put(inner, v.FILE_MARKS)
        return self._put(_Quoted(inner, match[0]), v.QUOTE_MARKS)

    def _plain(self, text: str) -> str:
        """The text with everything put back; a quotation that is not all of it keeps its marks."""
        whole = re.fullmatch(v.QUOTE, text.strip())

        def back(match: re.Match[str]) -> str:
            thing = self.aside[int(match[1])]
            if isinstance(thing, _Quoted):
                return thing.inner if whole else thing.raw
            return thing if isinstance(thing, str) else getattr(thing, "value", "")

        return v.SET_ASIDE.sub(back, text).strip()

    def _files(self, text: str) -> list[str]:
        return [self._plain(found) for found in re.findall(v.FILE, text)]

    # the kinds of wishes

    def _write(self, match: re.Match[str]) -> str:
        text, file = (match["text"] or "").strip(), self._plain(match["file"])
        if not text and not v.CREATES.match(match[0]):
            return match[0]
        text = v.CALLED_TEXT.sub("", text)
        if v.INVENTED.match(text):
            return self._put(Intent("unknown", self._plain(match[0])), v.DONE_MARKS)
        if v.THE_TIME.fullmatch(text):
            return self._put(
                [Intent("time"), Intent("write", path=file, want="result")], v.DONE_MARKS
            )
        if v.THE_RESULT.fullmatch(text):
            sums: list[str] = []

            def keep(expression: str) -> str:
                sums.append(expression)
                return ""

            find_arithmetic(text, self.previous, keep)
            return self._put(
                [*(Intent("calc", e) for e in sums), Intent("write", path=file, want="result")],
                v.DONE_MARKS,
            )
        return self._put(Intent("write", self._plain(text), file), v.DONE_MARKS)

    def _clause(self, clause: str) -> list[Intent]:
        aside = [self.aside[int(n[1:-1])] for n in re.findall(v.DONE, clause)]
        found = [
            i
            for thing in aside
            for i in (thing if isinstance(thing, list) else [thing])
            if isinstance(i, Intent)
        ]
        rest = re.sub(v.DONE, " ", clause).strip()
        if found and not re.search(f"{v.FILE}|{v.QUOTE}", rest):
            return found
        if v.CANNOT.match(rest):
            return [*found, Intent("unknown", self._plain(rest))]
        for look in (self._time, self._run, self._glob, self._search, self._list, self._read):
            if more := look(rest):
                return [*found, *more]
        if found or all(
            w in v.FILLER
            for w in re.findall(r"[a-zà-ù]+", self._plain(rest).lower().replace("'", ""))
        ):
            return found
        return [Intent("unknown", self._plain(rest))]

    def _time(self, clause: str) -> list[Intent]:
        return [Intent("time")] if v.TIME.search(clause) else []

    def _run(self, clause: str) -> list[Intent]:
        match = v.RUN.match(clause)
        if not match:
            return []
        command = self._plain(match["command"])
        quoted = re.match(v.QUOTE, match["command"])
        return [Intent("run", command)] if quoted or command.split()[0] in v.COMMANDS else []

    def _glob(self, clause: str) -> list[Intent]:
        match = v.GLOB.search(clause)
        if not match:
            return []
        pattern = match["pattern"] or v.KINDS[match["kind"].lower()]
        return [Intent("glob", pattern if "*" in pattern else f"*{pattern}")]

    def _search(self, clause: str) -> list[Intent]:
        match = v.SEARCH_FOR.search(clause) or v.SEARCH.search(clause)
        if not match:
            return []
        what, where = match["what"], match.groupdict().get("where") or ""
        if place := v.WHERE.search(what):
            what, where = what[: place.start()], place["where"] or ""
        if named := re.fullmatch(rf"(?:the |il )?(?:file )?({v.FILE})", what.strip()):
            return [Intent("glob", self._plain(named[1]))]
        quoted = re.search(v.QUOTE, what)
        pattern = self._plain(quoted[0] if quoted else v.SEARCH_FILLER.sub("", what + " "))
        pattern = re.sub(r"^([A-Z]{2,})s$", r"\1", pattern)  # "all TODOs"
        if not pattern or pattern.lower() in ("file", "files"):
            return []
        files = self._files(where)
        place_words = [w for w in self._plain(where).split() if w.lower() not in v.NO_FOLDER]
        self.verb = ""
        return [Intent("search", pattern, files[0] if files else " ".join(place_words))]

    def _list(self, clause: str) -> list[Intent]:
        if not v.LIST.search(clause):
            return []
        match = v.FOLDER.search(clause)
        folder = self._plain(match["after"] or match["inside"]) if match else ""
        if folder.lower() in v.NO_FOLDER:
            folder = ""
        self.verb = ""
        return [Intent("list", folder.rstrip("/") or folder)]

    def _read(self, clause: str) -> list[Intent]:
        files = self._files(clause)
        if not files and (bare := v.BARE_NAME.search(clause)):
            files = [bare["name"]]
        asked = v.READ.search(clause)
        alone = not re.sub(v.FILE, "", clause).strip() or len(clause.split()) <= 3
        if not files or not (asked or alone or self.verb == "read"):
            return []
        count = v.COUNT.search(clause)
        want = v.UNITS.get(count["unit"].lower(), count["unit"].lower()) if count else ""
        self.want = want = want or ("" if asked else self.want)
        if files[0].endswith("/"):
            return [Intent("list", file.rstrip("/")) for file in files]
        self.verb = "read"
        return [Intent("read", file, want=want) for file in files]
