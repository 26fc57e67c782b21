"""What a shell command consists of: the values that `shell.parse` gives back.

A line for the shell is a small program. It is taken apart into *simple commands*: a program, its
arguments, assignments before it, redirections after it. Each is a value that can be judged alone.
What bash will only know when it runs (``$x``, ``$(date)``, ``{a,b}``) is said to be unknown, never
guessed. Built in chapter 05.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    """One word: as written, and what bash will make of it.

    ``value`` is the text without its quotes, or None if it is not known before the command runs. An
    unquoted ``~`` at its start is left in it; a quoted one, which names an ordinary file, is
    shown as ``./~``. ``glob``: file names may take its place (an unquoted ``*``, ``?``, ``[``).
    """

    text: str
    value: str | None
    glob: bool = False


@dataclass(frozen=True)
class Redirect:
    """A file that is opened for a command. ``writes``: to write to it, else only to read.

    Left out are copies of file descriptors (``2>&1``), ``/dev/null`` and the like, and text given
    in the command itself (``<<``, ``<<<``).
    """

    operator: str
    target: Word
    writes: bool


@dataclass(frozen=True)
class Command:
    """One simple command, and where it stands.

    ``cwd`` is relative to where the shell starts ("": there), absolute if ``cd`` went to an
    absolute path, None if not known; a command that may run in two places is there twice, since
    a ``cd`` before it may fail. ``inside`` says what it stands in, from the outside: ``$(...)``,
    ``bash -c``, ``function f``. ``wrapped_by`` are programs in front of it that only run it.
    ``fed`` are the texts given to it with ``<<`` and ``<<<``. ``unknown`` says
    why it cannot be known before it runs what this will do; "": it can.
    """

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    text: str = ""
    fed: tuple[Word, ...] = ()
    cwd: str | None = ""
    inside: tuple[str, ...] = ()
    wrapped_by: tuple[str, ...] = ()
    unknown: str = ""

    @property
    def argv(self) -> list[str] | None:
        """Program and arguments; None if one of them is not known before it runs."""
        values = [word.value for word in self.words]
        return None if None in values else [value for value in values if value is not None]

    @property
    def program(self) -> str | None:
        """The program as typed, without quotes; None if not known, or if there is none."""
        return self.words[0].value if self.words else None


@dataclass(frozen=True)
class Parsed:
    """All simple commands of a line, in the order written.

    ``unknown`` says why the whole cannot be read ("": it can); ``commands`` are then those that
    were found, and there may be others. ``cwd`` is where the shell stands afterwards.
    """

    commands: tuple[Command, ...]
    unknown: str = ""
    cwd: str | None = ""
