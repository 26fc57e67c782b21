"""Where a path leads: the same file has many names, and a rule must know them all.

``src/../secrets/key``, a link, ``~``, another case, ``C:\\x`` and ``c:/x``: comparing texts fails.
So a path is made absolute and plain *as typed*, and once more with all links *resolved*; `patterns`
compares both with the rules. Where that cannot be said (a link to nothing, a circle of links) is
itself an answer. Paths of Windows can be judged anywhere, because the platform is an argument.

A hard link counts as another file, and a link may lead elsewhere by the time the call runs: this
is no sandbox. Built in chapter 05.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from glob import iglob
from itertools import islice
from pathlib import Path
from typing import Any

MAX_NAMES = 1_000  # that a pattern in a command may stand for; more are not looked at
DEVICES = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero"})
# Writing to these changes what is allowed, or what runs later without being asked for.
_PROTECTED = frozenset({".git", ".agentlab", ".claude"})
_START_FILES = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
    ".inputrc", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc",
    ".tcshrc", ".login", ".gitconfig", ".config/git", ".config/fish", ".ssh",
)  # fmt: skip
MAGIC = re.compile(r"[*?\[]")
_DRIVE = re.compile(r"[a-zA-Z]:(?=/|$)")
_ELSEWHERE = re.compile(r"/proc/(self|thread-self|\d+)/(cwd|root|fd|task)\b|/dev/fd/")


@dataclass(frozen=True)
class Place:
    """Where a call is judged: folders as absolute paths, the system, and how it compares names.

    ``readonly_autoallow``: what only reads in the workspace needs no rule. ``spelt`` is the
    workspace as it was given, before its links were resolved.
    """

    workspace: str
    cwd: str
    home: str
    platform: str
    ignores_case: bool
    readonly_autoallow: bool = True
    spelt: str = ""

    @classmethod
    def of(cls, workspace: str | os.PathLike[str], *, home: Any, platform: str) -> Place:
        """For a workspace; ``home`` None: that of this user. ``platform`` as `sys.platform`."""
        spelt, root = os.fspath(workspace), os.fspath(workspace)
        folds = platform in ("win32", "darwin")
        if (platform == "win32") == (os.name == "nt"):
            spelt, root = os.path.abspath(workspace), os.path.realpath(workspace)
            folds = folds or _ignores_case(root)
        return cls(root, root, str(home or Path.home()), platform, folds, spelt=spelt)

    def __hash__(self) -> int:
        return hash(self.workspace)  # it is part of the key of caches that are asked very often

    @property
    def windows(self) -> bool:
        return self.platform == "win32"

    @property
    def native(self) -> bool:
        """Whether the files of this system may be looked at: not when another one is played."""
        return self.windows == (os.name == "nt")


@dataclass(frozen=True)
class Located:
    """A path, absolute and plain, in the form that is compared. ``real`` None: it leads nowhere."""

    typed: str
    real: str | None


# ------------------------------------------------------------------------------ where a path leads


def locate(path: str, place: Place, cwd: str | None = None) -> Located:
    """Where a path leads, from ``cwd`` (None: the workspace)."""
    path = slashes(path, place)
    strange = path.startswith("~") and path[1:2] not in ("", "/")
    if path == "~" or path.startswith("~/"):
        path = slashes(place.home, place) + path[1:]
    if place.windows:
        path, odd = _windows(path, place)
        strange = strange or odd
    absolute = path.startswith("/") or (place.windows and _DRIVE.match(path))
    whole = path if absolute else f"{slashes(cwd or place.workspace, place)}/{path}"
    typed = plain(whole)
    if place.spelt != place.workspace and place.spelt and within(typed, place.spelt):
        typed = place.workspace + typed[len(place.spelt) :]
    if strange or _ELSEWHERE.match(typed):
        return Located(fold(typed, place), None)
    real = resolved(whole) if place.native else typed
    return Located(fold(typed, place), None if real is None else fold(real, place))


def inside(where: Located, place: Place) -> bool:
    """Whether a path is in the workspace, as typed and as resolved."""
    root = _folder(place.workspace, place)
    return where.real is not None and within(where.typed, root) and within(where.real, root)


def protected(where: Located, place: Place) -> bool:
    """Whether writing there changes the rules, git's own files, or what a shell starts with."""
    home = _folder(place.home, place)
    for path in {where.typed, where.real} - {None}:
        assert path is not None
        if not _PROTECTED.isdisjoint(path.casefold().split("/")):
            return True
        below = path[len(home) + 1 :] if path.startswith(f"{home}/") else ""
        if any(below == name or below.startswith(f"{name}/") for name in _START_FILES):
            return True
    return False


def names(word: str, cwd: str, place: Place) -> list[str] | None:
    """The paths that a pattern in a command stands for, as bash would find them.

    None if that cannot be said: another system, too many, or a pattern that would search the disk.
    """
    parts = [part for part in word.split("/") if MAGIC.search(part)]
    if not place.native or len(parts) > 2 or "[:" in word or "**" in word:
        return None
    if word.startswith("~/"):
        word = place.home + word[1:]
    found = list(islice(iglob(word.replace("[^", "[!"), root_dir=cwd), MAX_NAMES + 1))
    return found if len(found) <= MAX_NAMES else None


# ------------------------------------------------------------------------------------------- plain


def resolved(path: str) -> str | None:
    """A path with its links resolved; None if one of them leads nowhere or cannot be followed."""
    try:
        if os.name == "nt":
            return _slash(os.path.realpath(path))
        return _resolved(path.rstrip("/") or "/")
    except (OSError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=8192)
def _resolved(path: str) -> str:
    """The same, folder by folder, each looked at once. Raises OSError."""
    above, _, name = path.rpartition("/")
    if not above and not name:
        return "/"
    folder = _resolved(above) if above else "/"
    if name in ("", "."):
        return folder
    if name == "..":
        return posixpath.dirname(folder)
    whole = posixpath.join(folder, name)
    try:
        if not stat.S_ISLNK(os.lstat(whole).st_mode):
            return whole
    except (FileNotFoundError, NotADirectoryError):
        return whole
    os.stat(whole)  # it leads somewhere, and not in a circle
    return _resolved(posixpath.join(folder, os.readlink(whole)).rstrip("/") or "/")


def forget_links() -> None:
    """Look at links anew."""
    _resolved.cache_clear()


def _windows(path: str, place: Place) -> tuple[str, bool]:
    """A path as Windows reads it, and whether it is one that cannot be compared.

    Dots and blanks at the end of a name are dropped there, and ``name:stream`` is still that file.
    """
    path = path.removeprefix("//?/")
    drive = _DRIVE.match(path)
    rest = path[drive.end() :] if drive else path
    odd = path.startswith("//") or bool(re.match(r"[a-zA-Z]:", rest))
    odd = odd or (not place.native and bool(re.search(r"~\d", rest)))  # a short name, as PROGRA~1
    parts = [p if p in (".", "..") else p.partition(":")[0].rstrip(". ") for p in rest.split("/")]
    root = _DRIVE.match(slashes(place.workspace, place))
    before = drive[0] if drive else (root[0] if root and rest.startswith("/") else "")
    return before + "/".join(parts), odd


@lru_cache(maxsize=64)
def _folder(path: str, place: Place) -> str:
    """A folder of the place in the form that is compared."""
    return fold(plain(slashes(path, place)), place)


def walk(folder: str, hidden: bool) -> Iterator[str]:
    """All paths below a folder, with those whose names begin with a dot or without."""
    for here, folders, files in os.walk(folder):
        if not hidden:
            folders[:] = [name for name in folders if not name.startswith(".")]
        for name in (*folders, *files):
            if hidden or not name.startswith("."):
                yield posixpath.join(_slash(here), name)


def _ignores_case(root: str) -> bool:
    other = root.swapcase()
    try:
        return other != root and os.path.samefile(other, root)
    except OSError:
        return False


def plain(path: str) -> str:
    drive = _DRIVE.match(path)
    start = drive[0] if drive else ""
    return start + re.sub(r"\A//", "/", posixpath.normpath(path[len(start) :] or "/"))


def _slash(path: str) -> str:
    return path.replace("\\", "/") if os.name == "nt" else path


def slashes(path: str, place: Place) -> str:
    return path.replace("\\", "/") if place.windows else path


def fold(path: str, place: Place) -> str:
    return unicodedata.normalize("NFC", path).casefold() if place.ignores_case else path


def within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
