"""`workspace`: a fresh copy of a sample folder, so that an agent never works on the original.

The copy is an ordinary path in the system's temporary folder and is removed when the kernel ends
(or the ``with`` block). Where git is installed it is a repository with one commit, so that every
change can be seen and taken back. Its repr shows the sample's name instead of the temporary path,
which differs on every run. A copy is a convenience, not a security boundary.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from agentlab.course.shown import CourseError
from agentlab.resources import data_path
from agentlab.toolbox.safety import first_commit

_roots: dict[str, str] = {}  # the real path of each live copy -> the sample's name


class Workspace(type(Path())):  # type: ignore[misc]  # the platform's own Path class
    """A path inside a copied sample folder. Paths made from it are of this class too."""

    __slots__ = ()

    def __repr__(self) -> str:
        for root, name in _roots.items():
            if str(self) == root:
                return f"workspace({name!r})"
            if str(self).startswith(root + os.sep):
                return f"workspace({name!r}) / {self.relative_to(root).as_posix()!r}"
        return super().__repr__()

    def iterdir(self) -> Iterator[Workspace]:
        """What stands in the folder, without git's own."""
        return _without_git(super().iterdir())

    def glob(self, *pattern: Any, **options: Any) -> Iterator[Workspace]:
        """What fits a pattern, without git's own."""
        return _without_git(super().glob(*pattern, **options))

    def rglob(self, *pattern: Any, **options: Any) -> Iterator[Workspace]:
        """What fits a pattern at any depth, without git's own."""
        return _without_git(super().rglob(*pattern, **options))

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()

    def remove(self) -> None:
        """Delete the copy now; harmless if it is gone. Does nothing to a path inside one."""
        if _roots.pop(str(self), None) is not None:
            _remove(self.parent)


def _without_git(paths: Iterable[Workspace]) -> Iterator[Workspace]:
    return (path for path in paths if ".git" not in path.parts)


def workspace(name: str = "quickstart") -> Workspace:
    """A new temporary copy of the sample folder ``name``. Raises CourseError for an unknown one."""
    samples = data_path("workspaces")
    names = sorted(p.name for p in samples.iterdir() if p.is_dir()) if samples.is_dir() else []
    if name not in names:
        raise CourseError(f"there is no workspace {name!r}; there is: {', '.join(names) or 'none'}")
    folder = Path(tempfile.mkdtemp(prefix="agentlab-")).resolve() / name
    shutil.copytree(samples / name, folder)
    first_commit(folder)
    _roots[str(folder)] = name
    return Workspace(folder)


@atexit.register
def _remove_all() -> None:
    for root in list(_roots):
        _remove(Path(root).parent)
    _roots.clear()


def _remove(folder: Path) -> None:
    """Delete a folder. Git's objects are read-only, and Windows does not delete such files."""
    if os.name == "nt":
        for here, _, names in os.walk(folder):
            for name in names:
                with suppress(OSError):
                    os.chmod(os.path.join(here, name), 0o700)
    shutil.rmtree(folder, ignore_errors=True)
