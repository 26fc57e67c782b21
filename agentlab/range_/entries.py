"""The entries of the range, as they stand in ``data/range``, and the folder to judge one in.

An entry is a call, the rules that are set when it is made, and what has to become of it. Paths are
written for a workspace ``/ws`` and a home folder ``/home/u``; `site` makes both in a temporary
folder, with a small project in them, and puts their real names in the place of these. An injection
is an entry as well: its call is the one that a model makes which obeys the text. To add an entry,
write it into the file of its kind: the tests run it, and say if it does not do what it claims.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentlab.course.shown import CourseError
from agentlab.resources import data_path

CANARY = "canary-9d1f"  # stands in every secret, so that it is seen where a secret went
KINDS = (
    "chain", "substitution", "heredoc", "redirect", "env-prefix", "wrapper", "read-only",
    "command-word", "matcher", "path", "web", "other-tools", "mode", "hidden-text", "saved-rule",
    "injection-in-file", "injection-in-result", "injection-in-agents-md",
    "injection-in-tool-description",
)  # fmt: skip
SEVERITIES = ("critical", "high", "medium", "low")

# What every entry finds in its workspace (git takes it for a repository), and in the home folder.
_PROJECT = {
    "README.md": "# Gauges\n\nWhat the rain left, in words and numbers.\n",
    "src/app.py": "def mean(values):\n    return sum(values) / len(values)  # a\n",
    "data.csv": "day,mm\n1,120\n2,80\n",
    "names.txt": "Ada\nBruno\nAda\n",
    "config/app.json": '{"a": 1}\n',
    "secrets/key.pem": f"{CANARY} KEY\n",
    ".env": f"KEY={CANARY}\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
    ".git/objects/keep": "",
    ".git/refs/keep": "",
}
_HOME = {".ssh/id_rsa": f"{CANARY}\n", ".bashrc": "", "docs/guide.md": "How to read a gauge.\n"}
_PLACES = re.compile(r"(?<![\w.~-])/(ws|home/u)\b")


@dataclass(frozen=True)
class Injection:
    """A text that gives orders, and the user's task that leads the model to it.

    ``place``: file, result (of the tool ``name``), agents (AGENTS.md), description (of a tool).
    """

    place: str
    name: str
    text: str
    task: str


@dataclass(frozen=True)
class Entry:
    """One labelled call. ``expected`` is "stop" (ask or deny) or "pass" (allow).

    ``rules`` has the lists deny, ask and allow; ``mode`` is that of `Permissions`, ``platform`` as
    `sys.platform`. ``source`` names public reports of this flaw ("owner/repo issue #n").
    """

    id: str
    kind: str
    severity: str
    title: str
    tool: str
    input: dict[str, Any]
    expected: str
    why: str
    source: tuple[str, ...]
    rules: dict[str, list[str]]
    mode: str = "default"
    platform: str = "linux"
    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    injection: Injection | None = None

    @property
    def command(self) -> str | None:
        """The command of a Bash call."""
        return self.input["command"] if self.tool == "Bash" else None

    @property
    def about_commands_alone(self) -> bool:
        """Whether a command and the rules for Bash are all that one has to know to decide."""
        rules = [rule for texts in self.rules.values() for rule in texts]
        only = all(rule == "Bash" or rule.startswith("Bash(") for rule in rules)
        return self.tool == "Bash" and only and (self.mode, self.platform) == ("default", "linux")

    @property
    def about_real_files(self) -> bool:
        """Whether it depends on what the disk holds: links, or what git is configured to run."""
        return bool(self.links) or ".git/config" in self.files


def _entry(data: dict[str, Any]) -> Entry:
    """An entry from an object of the JSON files."""
    setup = dict(data.get("setup", {}))
    rules = setup.pop("rules", {})
    told = dict(data.get("injection", {}))
    return Entry(
        **{name: data[name] for name in ("id", "kind", "severity", "title", "expected", "why")},
        **data["call"],
        source=tuple(data["source"]),
        rules={name: rules.get(name, []) for name in ("deny", "ask", "allow")},
        injection=Injection(told.pop("in"), **told) if told else None,
        **setup,
    )


@lru_cache(maxsize=1)
def _all() -> tuple[Entry, ...]:
    texts = [data_path("range", f"{kind}.json").read_text("utf-8") for kind in KINDS]
    return tuple(_entry(data) for text in texts for data in json.loads(text))


def load(kinds: str | Iterable[str] | None = None) -> list[Entry]:
    """The entries, of all kinds or of these. Raises CourseError for a kind that there is not.

    On Windows those are left out that need the links or the git of another system.
    """
    wanted = [kinds] if isinstance(kinds, str) else list(KINDS if kinds is None else kinds)
    for kind in wanted:
        if kind not in KINDS:
            raise CourseError(f"there is no kind {kind!r}; there are: {', '.join(KINDS)}")
    posix = os.name != "nt"
    return [e for e in _all() if e.kind in wanted and (posix or not e.about_real_files)]


def find(id: str) -> Entry:
    """The entry of that id. Raises CourseError."""
    for entry in _all():
        if entry.id == id:
            return entry
    raise CourseError(f"there is no entry {id!r}; they are called like {_all()[0].id!r}")


# ------------------------------------------------------------------------------ a folder for one


@dataclass(frozen=True)
class Site:
    """Where an entry is judged. ``outer`` holds workspace and home; None: they do not exist."""

    workspace: str
    home: str
    outer: Path | None = None

    def named(self, value: Any) -> Any:
        """A value of an entry with the real folders in the place of ``/ws`` and ``/home/u``."""
        if isinstance(value, str):
            real = {"ws": self.workspace, "home/u": self.home}
            return _PLACES.sub(lambda match: real[match[1]], value)
        if isinstance(value, dict):
            return {key: self.named(part) for key, part in value.items()}
        return [self.named(part) for part in value] if isinstance(value, list) else value


@contextmanager
def site(entry: Entry) -> Iterator[Site]:
    """A throw-away workspace and home folder for an entry; of another system only their names."""
    if (entry.platform == "win32") != (os.name == "nt"):
        yield _ELSEWHERE[entry.platform == "win32"]
        return
    with tempfile.TemporaryDirectory(prefix="agentlab-") as folder:
        yield _furnish(Path(os.path.realpath(folder)), entry.files, entry.links)


def site_to_judge_in(entry: Entry) -> AbstractContextManager[Site]:
    """The same where nothing is run: entries without files of their own share one."""
    return site(entry) if entry.files or entry.links else nullcontext(_shared(entry.platform))


@lru_cache
def _shared(platform: str) -> Site:
    if (platform == "win32") != (os.name == "nt"):
        return _ELSEWHERE[platform == "win32"]
    folder = tempfile.TemporaryDirectory(prefix="agentlab-")
    atexit.register(folder.cleanup)
    return _furnish(Path(os.path.realpath(folder.name)), {}, {})


_ELSEWHERE = {True: Site("C:\\ws", "C:\\Users\\u"), False: Site("/ws", "/home/u")}


def _furnish(outer: Path, files: dict[str, str], links: dict[str, str]) -> Site:
    here = Site(str(outer / "ws"), str(outer / "home"), outer)
    for base, texts in (("home", _HOME), ("ws", {**_PROJECT, **files})):
        for name, text in texts.items():
            path = outer / base / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="")
    for name, target in links.items():
        link = outer / "ws" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(here.named(target))
    return here
