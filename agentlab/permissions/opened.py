"""Which files a simple command opens, as far as that can be known before it runs.

The shell itself opens the targets of redirections. What a program does with its arguments is known
for some (`shell_files`): cat reads them, tee writes them, cp does both. Of other programs it is
only known what they *name*; that is noted too, since a rule may be about it. Patterns are replaced
by the names that are there, as bash will do it, and paths count from where ``cd`` went before. A
word that is not known before it runs leaves the file unknown. Built in chapter 05.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from agentlab.permissions.commands import Forms, forms, harmless
from agentlab.permissions.comparing import without_globals
from agentlab.permissions.judge_files import Access, Below
from agentlab.permissions.paths import DEVICES, Located, Place, locate, names
from agentlab.permissions.patterns import has_links
from agentlab.permissions.readonly import follows_links, reads_only
from agentlab.permissions.shell import Command, Word, parse
from agentlab.permissions.shell_files import reads, writes

UNKNOWN = "\0"  # stands for a word that is not known, where one must be handed on
TEXT_ONLY = frozenset({"echo", "printf", "true", "false", ":", "exit", "return", "sleep", "wait"})
_NAMES_ONLY = frozenset(
    {"ls", "cd", "find", "du", "tree", "stat", "file", "pushd", "test", "[", "realpath", "readlink"}
)
_DEEP = frozenset({"rm", "mv", "chmod", "chown", "chgrp", "rsync"})  # what they do, they do below
_INTO = frozenset({"cp", "mv", "ln", "install", "rsync"})

_OPTION = re.compile(r"--(?!ex|in|glob|ignore)[\w-]+=")  # not one that leaves files out

parsed = lru_cache(maxsize=128)(parse)


@dataclass(frozen=True)
class Use:
    """A file that a command opens. ``where`` None: it is not known which.

    ``opened``: by the shell itself, for a redirection. ``below``: what in it, if it is a folder.
    """

    access: Access
    where: Located | None
    text: str
    opened: bool = False
    below: Below = "nothing"


@dataclass
class Part:
    """One simple command, with everything that is asked about it more than once."""

    command: Command
    place: Place

    @cached_property
    def folder(self) -> str | None:
        """Where it runs, as an absolute path; None if that is not known."""
        cwd = self.command.cwd
        return None if cwd is None else posixpath.join(self.place.cwd, cwd)

    @cached_property
    def words(self) -> list[str | None]:
        """Program and arguments, with the names of files in the place of patterns."""
        found: list[str | None] = []
        for word in self.command.words:
            expanded = self._names(word) if word.glob else None
            if word.glob and expanded is None:
                found.append(None)
            else:
                found += expanded or [word.value]
        return found

    @cached_property
    def argv(self) -> list[str] | None:
        """The same, if all of it is known."""
        known = [word for word in self.words if word is not None]
        return known if len(known) == len(self.words) and known else None

    @cached_property
    def forms(self) -> Forms:
        """What it may be called."""
        return forms(self.command, self._may_be_option)

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """The files that it opens."""
        operands = _operands(self) if len(self.words) > 1 else ()
        return (*_redirected(self), *operands)

    @cached_property
    def named(self) -> tuple[Located, ...]:
        """What may be a path among its arguments, if it is not known what its program opens."""
        return tuple(_named(self))

    @property
    def unknown(self) -> str:
        """Why it cannot be known before it runs what this is; empty if it can."""
        first = self.command.words[0] if self.command.words else None
        if not self.command.unknown and first and (first.value is None or first.glob):
            return "its program is not known before it runs"
        return self.command.unknown

    @property
    def plain(self) -> bool:
        """Whether only harmless variables are set for it."""
        return all(harmless(name, word.value) for name, word in self.command.assignments)

    def locate(self, path: str) -> Located | None:
        if UNKNOWN in path or (self.folder is None and not re.match(r"[/~]|[a-zA-Z]:", path)):
            return None
        return locate(path, self.place, self.folder)

    def is_loose(self, word: Word) -> bool:
        """Whether any file may take the place of a word: it is unknown, or fits nothing yet."""
        if word.value is None:
            return word.text[:1] not in ("'", '"')
        return word.glob and not self._names(word)

    def _names(self, word: Word) -> list[str] | None:
        if word.value is None or self.folder is None:
            return None
        return names(word.value, self.folder, self.place)

    def _may_be_option(self, pattern: str) -> bool:
        if pattern[:1] not in "*?[-" or self.folder is None:
            return pattern[:1] in "*?[-"
        found = names(pattern, self.folder, self.place)
        return found is None or any(name.startswith("-") for name in found)


def _redirected(part: Part) -> Iterator[Use]:
    for redirect in part.command.redirects:
        target, text = redirect.target, f"{redirect.operator} {redirect.target.text}"
        access: Access = "write" if redirect.writes else "read"
        if target.value is None or target.glob:
            yield Use(access, None, text, opened=True)
        elif target.value not in DEVICES:
            network = target.value.startswith(("/dev/tcp/", "/dev/udp/"))  # opens a connection
            where = None if network else part.locate(target.value)
            yield Use("write" if network else access, where, text, opened=True)


def _operands(part: Part) -> Iterator[Use]:
    program, text = part.command.program or "", part.command.text
    argv = [UNKNOWN if word is None else word for word in part.words]
    if program == "git" and without_globals(tuple(argv[1:]))[:1] == ("config",):
        if not reads_only(argv):
            yield Use("write", part.locate(".git/config"), text)
        return
    loose = any(part.is_loose(word) for word in part.command.words)
    follows = bool(argv) and follows_links(argv)
    accesses: tuple[tuple[Access, list[str] | None], ...]
    accesses = (("read", reads(argv)), ("write", writes(argv)))
    for access, paths in accesses:
        targets = list(paths or ())
        if access == "write" and program in _INTO:
            sources = dict.fromkeys(posixpath.basename(path.rstrip("/")) for path in argv[1:])
            targets += [f"{path}/{name}" for path in targets for name in sources if name]
        deep = program in _DEEP if access == "write" else program not in _NAMES_ONLY
        below: Below = "all" if deep else "nothing"
        if program == "rg" and not any(
            re.match(r"-[^-]*[.u]|--(hid|unr)", arg) for arg in argv[1:]
        ):
            below = "visible"
        for path in targets:
            if path not in DEVICES:
                where = part.locate(path)
                yield Use(access, where, text, below=below)
                loose = loose or (follows and where is not None and has_links(where, part.place))
        if loose and paths is not None:
            yield Use(access, None, text)


def _named(part: Part) -> Iterator[Located]:
    argv = [UNKNOWN if word is None else word for word in part.words]
    program = part.command.program
    if program in TEXT_ONLY:
        return
    texts = [word.text.strip("'\"") for word in part.command.words if word.value is None]
    written = [*argv[1:], *texts]
    if reads(argv) is not None or writes(argv) is not None:  # then only: --option=path
        written = [word for word in written if _OPTION.match(word)]
    for word in written:
        for piece in dict.fromkeys((word, *re.split("[=:,@]", word))):
            if not piece or len(piece) >= 500 or UNKNOWN in piece:
                continue
            # Where it runs may not be known (in a function): then as if it were the workspace.
            yield part.locate(piece) or locate(piece, part.place)
