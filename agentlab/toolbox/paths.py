"""Confinement: a path that a model writes leads into the workspace, or nowhere.

Comparing strings does not do: ``..``, links, ``~``, another spelling of the same name and
``/ws/app-secrets`` beside ``/ws/app`` all get past it. So a path is *resolved* first, and judged by
where it really leads. Between the judgement and the opening something may put a link in the way;
therefore it is resolved again when it is opened, a path that now leads elsewhere is refused, and on
POSIX the file is reached from the workspace's own folder, one name at a time, without following any
link (``O_NOFOLLOW``). A race can then only be lost: there is nothing to win.

What remains: a hard link or a mount inside the workspace is that other file (a hard link is cut,
not written through, when its file is replaced); on Windows, where folders cannot be opened this
way, an instant is left between resolving and opening; and none of it binds ``Bash``, which may do
whatever you may do. It keeps file tools in their folder; it is not a security boundary.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from agentlab.tools import ToolError

WINDOWS = os.name == "nt"
MAX_FILE_BYTES = 10_000_000
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])( *\.| *$)", re.I)
# These flags do not exist everywhere. NONBLOCK: opening a pipe must not wait for its other end.
_FLAGS = {f: getattr(os, f"O_{f}", 0) for f in ("NOFOLLOW", "NONBLOCK", "BINARY", "DIRECTORY")}
_READ = os.O_RDONLY | _FLAGS["NOFOLLOW"] | _FLAGS["NONBLOCK"] | _FLAGS["BINARY"]
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS["NOFOLLOW"] | _FLAGS["BINARY"]
_FOLDER = os.O_RDONLY | _FLAGS["NOFOLLOW"] | _FLAGS["DIRECTORY"]


class Confined:
    """One folder, and the only way in which the file tools touch it.

    ``root`` is its resolved path; ``cwd`` is where the shell stands, if there is one. Raises
    NotADirectoryError if the folder is not there.
    """

    def __init__(self, workspace: str | os.PathLike[str]) -> None:
        self.root = Path(os.path.realpath(workspace))
        if not self.root.is_dir():
            raise NotADirectoryError(f"The workspace {str(workspace)!r} is not a folder")
        self.cwd = self.root
        self._inside = os.path.join(self.root, "")  # what every path in it begins with
        self.ignores_case = _ignores_case(self.root)
        self._judged: dict[str, Path] = {}

    # ------------------------------------------------------------------------------ judging

    def judge(self, path: str, *, write: bool = False) -> Path:
        """Where a path really leads. Raises ToolError if that is not inside the workspace."""
        raw = os.path.expanduser(path) if path.startswith("~") else path
        if "\0" in raw or (WINDOWS and raw[:2].replace("/", "\\") == "\\\\"):
            raise ToolError(f"{path!r} is not a path that can be used here.")
        try:
            target, exists = self._plain(raw), True
            if target is None:
                target = self._as_on_disk(Path(os.path.realpath(os.path.join(self.root, raw))))
                exists = _exists(target)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ToolError(f"{path!r} is not a path that can be used: {reason}.") from None
        if not (f"{target}".startswith(self._inside) or target.is_relative_to(self.root)):
            raise ToolError(f"{path} is outside the workspace. Use a path relative to it.")
        if WINDOWS or not exists:
            _refuse_odd_names(path, raw if WINDOWS else str(target.relative_to(self.root)))
        if write and ".git" in (part.casefold() for part in target.relative_to(self.root).parts):
            raise ToolError(f"{path}: git's own files are not written. Use Checkpoint, Rollback.")
        return target

    def before(self, argument: str, *, write: bool = False) -> Any:
        """A ``validate_input`` that judges an argument before anything runs, and remembers it."""

        def validate(**arguments: Any) -> None:
            path = arguments[argument]
            self._judged[path] = self.judge(path, write=write)

        return validate

    def target(self, path: str, *, write: bool = False) -> Path:
        """Judge again. Raises ToolError if the path leads elsewhere than when it was judged."""
        target = self.judge(path, write=write)
        if self._judged.get(path, target) != target:
            raise _moved(path)
        return target

    def shown(self, target: Path) -> str:
        """A path as a result says it: relative, but absolute while the shell is elsewhere."""
        if self.cwd != self.root:
            return str(target)
        return target.relative_to(self.root).as_posix()

    def _plain(self, path: str) -> Path | None:
        """The path itself, if it is there and none of its names is a link.

        Most are like that, and resolving them is half the work of looking at a file again.
        """
        here, names = self._inside, path.split("/")
        if WINDOWS or self.ignores_case or not {"", ".", ".."}.isdisjoint(names):
            return None
        for name in names:
            here += name
            try:
                if stat.S_ISLNK(os.lstat(here).st_mode):
                    return None
            except OSError:
                return None
            here += "/"
        return Path(here)

    def _as_on_disk(self, target: Path) -> Path:
        """The path as its names are really spelt, where two spellings may name one file."""
        if not self.ignores_case:
            return target
        there = Path(target.anchor)
        for part in target.parts[1:]:
            with suppress(OSError):
                names = os.listdir(there)
                if part not in names:
                    same = (name for name in names if name.casefold() == part.casefold())
                    part = next(same, part)
            there /= part
        return there

    # ------------------------------------------------------------------------------ opening

    @contextmanager
    def folder(self, target: Path, *, create: bool = False) -> Iterator[int | None]:
        """The open folder ``target``, reached from the root without following a link.

        On Windows None, after another look at where the path leads.
        """
        parts = target.relative_to(self.root).parts
        if WINDOWS:
            if create:
                target.mkdir(parents=True, exist_ok=True)
            if Path(os.path.realpath(target)) != target:
                raise _moved(str(target))
            yield None
            return
        here = os.open(self.root, _FOLDER)
        try:
            for part in parts:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=here)
                inner = os.open(part, _FOLDER, dir_fd=here)
                os.close(here)
                here = inner
            yield here
        finally:
            os.close(here)

    def read(self, target: Path) -> bytes:
        """The bytes of a judged file."""
        with told(target.name), self.folder(target.parent) as folder:
            return read_in(folder, target)

    def write(self, target: Path, data: bytes) -> None:
        """Replace a judged file as a whole, or make it with the folders above it.

        The bytes go to a new file in the same folder, which then takes the name, so that nobody
        ever sees half of them. The mode stays, and where the system allows it owner and group.
        """
        with told(target.name), self.folder(target.parent, create=True) as folder:
            name = _name(folder, target)
            about = _about(folder, name)
            if about is not None and not stat.S_ISREG(about.st_mode):
                raise ToolError(f"{target.name} is not an ordinary file, so it was not replaced.")
            if about is not None and not os.access(name, os.W_OK, dir_fd=folder):
                raise ToolError(f"{target.name} is write-protected, so it was not replaced.")
            beside = target.with_name(f".{secrets.token_hex(8)}.tmp")
            temporary = _name(folder, beside)
            try:
                with os.fdopen(os.open(temporary, _CREATE, 0o666, dir_fd=folder), "wb") as file:
                    file.write(data)
                    if about is not None and not WINDOWS:
                        for owner in ((-1, about.st_gid), (about.st_uid, -1)):
                            with suppress(OSError):  # only root may give a file to somebody else
                                os.fchown(file.fileno(), *owner)
                        os.fchmod(file.fileno(), stat.S_IMODE(about.st_mode))
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise

    def entries(self, target: Path) -> list[str]:
        """The names in a judged folder, sorted: folders end with a slash, links with an @."""
        with (
            told(target.name),
            self.folder(target) as folder,
            os.scandir(target if folder is None else folder) as found,
        ):
            return sorted(
                e.name + ("@" if e.is_symlink() else "/" if e.is_dir() else "") for e in found
            )

    def walk(self, target: Path) -> Iterator[tuple[Path, list[str], int | None]]:
        """Each folder from ``target`` down: its path, the names of its files, itself opened.

        Sorted, files before folders. Hidden names are left out and links are not followed.
        """
        with told(target.name), self.folder(target) as folder:
            walks: Iterator[tuple[Any, ...]]
            walks = os.walk(target) if folder is None else os.fwalk(".", dir_fd=folder)
            for here, folders, names, *opened in walks:
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                visible = sorted(name for name in names if not name.startswith("."))
                yield target / here, visible, opened[0] if opened else None

    def files(self, target: Path) -> Iterator[str]:
        """All files from ``target`` down, relative to it, with slashes."""
        for here, names, _ in self.walk(target):
            prefix = here.relative_to(target).as_posix()
            yield from (name if prefix == "." else f"{prefix}/{name}" for name in names)


def read_in(folder: int | None, target: Path) -> bytes:
    """The bytes of a file in an open folder. Raises ToolError for what is not a file of bytes."""
    opened = os.open(_name(folder, target), _READ, dir_fd=folder)
    try:
        about = os.fstat(opened)
        if not stat.S_ISREG(about.st_mode):
            raise ToolError(f"{target.name} is not an ordinary file, so it was not read.")
        data, size = b"", about.st_size
        if size <= MAX_FILE_BYTES:
            data = os.read(opened, size + 1)
            while len(data) != size and (more := os.read(opened, 65_536)):
                data += more
                if len(data) > MAX_FILE_BYTES:  # it grows, perhaps as fast as it is read
                    break
        if max(size, len(data)) > MAX_FILE_BYTES:
            raise ToolError(
                f"{target.name} has {max(size, len(data))} bytes; at most {MAX_FILE_BYTES} are "
                "read. Use a command that looks at a part of it, such as head or tail."
            )
        return data
    finally:
        os.close(opened)


@contextmanager
def told(name: str) -> Iterator[None]:
    """Turn what the system says about a file into words for the model."""
    try:
        yield
    except FileNotFoundError:
        raise ToolError(f"{name} does not exist any more.") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
            raise _moved(name) from None
        raise ToolError(f"{name}: {error.strerror}.") from None


def _moved(path: str) -> ToolError:
    return ToolError(
        f"{path}: a file or a link stands in the way, or it leads elsewhere than when it was "
        "checked. Nothing was opened."
    )


def _name(folder: int | None, target: Path) -> str:
    """What to call a file: its name in an open folder, the whole path where there is none."""
    return str(target) if folder is None else target.name


def _exists(target: Path) -> bool:
    """Whether a resolved path is there. Raises OSError for a circle of links, or a long name."""
    try:
        os.stat(target)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _about(folder: int | None, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _refuse_odd_names(path: str, raw: str) -> None:
    """Refuse names that mean something else on Windows: devices, NUL.txt, ``name.``, streams.

    Elsewhere they are ordinary, so a file of that name is read; but none is made, because a
    workspace is carried from one system to another.
    """
    drive, rest = os.path.splitdrive(raw)
    if "\\" in rest and not WINDOWS:
        raise ToolError(f"{path} does not exist. Write paths with slashes: {rest!r} is one name.")
    for part in re.split(r"[\\/]", rest):
        ends_odd = part not in ("", ".", "..") and part[-1] in " ."
        if _DEVICE.match(part) or ends_odd or (WINDOWS and ":" in part):
            raise ToolError(f"{path}: {part!r} is not a name that every system takes for a file's.")
    if drive and not os.path.isabs(raw):
        raise ToolError(f"{path} depends on the current folder of a drive. Use a relative path.")


def _ignores_case(root: Path) -> bool:
    """Whether another spelling of the folder's path leads to the same folder."""
    other = str(root).swapcase()
    try:
        return other != str(root) and os.path.samefile(other, root)
    except OSError:
        return WINDOWS
