"""Settings files: where rules stand between two sessions.

There are six places: for this user, for the project, and for this user in this project, each in our
folder and in that of the tool whose format it is, so that settings that people already have work
here unchanged. All rules count together; where they stand decides nothing:

    ~/.agentlab/settings.json    .agentlab/settings.json    .agentlab/settings.local.json
    ~/.claude/settings.json      .claude/settings.json      .claude/settings.local.json

    {"permissions": {"deny": ["Read(.env)"], "ask": ["Bash(git push:*)"], "allow": ["Bash(ls:*)"],
                     "defaultMode": "default"}, "hooks": {...}}

Everything else in a file is ignored. A file that is there but cannot be read whole is an error with
line and column: a comma too many must not mean "no rules". Saving adds to a file and loses nothing
of it, also while another process does the same. A project's file is the project's word: read it
before you run an agent in a folder that is not yours. Built in chapter 06.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from agentlab.permissions.json_places import Places, places
from agentlab.permissions.rules import Rule, RuleError, Rules

FOLDERS = (".agentlab", ".claude")
MODES = {  # as the files call them, and as `Permissions` does: the next one that allows no more
    "default": "default", "acceptEdits": "accept_edits", "plan": "plan", "auto": "default",
    "bypassPermissions": "bypass", "accept_edits": "accept_edits", "bypass": "bypass",
    "dontAsk": "default",
}  # fmt: skip
_LISTS = ("deny", "ask", "allow")
_ELSEWHERE = {"additionalDirectories", "disableBypassPermissionsMode", "disableAutoMode"}


class SettingsError(ValueError):
    """A settings file that cannot be read whole; the message is ``path:line:column: what``."""

    def __init__(self, path: Path, text: str, at: tuple[int, int] = (1, 1)) -> None:
        self.path, (self.line, self.column) = path, at
        super().__init__(f"{path}:{self.line}:{self.column}: {text}")


def setting_files(
    workspace: str | os.PathLike[str] = ".", *, home: str | os.PathLike[str] | None = None
) -> list[Path]:
    """Where settings may stand, in the order in which they are read; not all need be there."""
    user, project = Path(home or Path.home()), Path(os.path.realpath(workspace))
    return [
        path
        for folder in FOLDERS
        for path in (
            user / folder / "settings.json",
            project / folder / "settings.json",
            project / folder / "settings.local.json",
        )
    ]


def load_rules(
    workspace: str | os.PathLike[str] = ".",
    *,
    home: str | os.PathLike[str] | None = None,
    files: Iterable[str | os.PathLike[str]] = (),
) -> tuple[Rules, Path]:
    """The rules of all settings files, and where new ones are saved: the local file of the project.

    ``files`` are further ones, which must be there. Raises SettingsError.
    """
    root = Path(os.path.realpath(workspace))
    rules = Rules()
    seen: set[Path] = set()
    for path in [*setting_files(workspace, home=home), *map(Path, files)]:
        if path.resolve() not in seen:
            seen.add(path.resolve())
            rules += rules_of(path, shown=_shown(path, root, home))
    for path in map(Path, files):
        if not path.exists():
            raise SettingsError(path, "there is no such file; correct the path")
    return rules, root / ".agentlab" / "settings.local.json"


def default_mode(
    workspace: str | os.PathLike[str] = ".", *, home: str | os.PathLike[str] | None = None
) -> str | None:
    """The mode that the files ask for; the last one counts. A project cannot ask for bypass."""
    mode = None
    for path in setting_files(workspace, home=home):
        data = read_settings(path).get("permissions", {})
        asked = MODES.get(data.get("defaultMode", ""))
        if asked != "bypass" or path.parent.parent == Path(home or Path.home()):
            mode = asked or mode
    return mode


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What stands in a settings file, checked; {} if there is none. Raises SettingsError."""
    return _read(Path(path))[0]


def rules_of(path: str | os.PathLike[str], *, shown: str = "") -> Rules:
    """The rules of one settings file; none if it is not there. Raises SettingsError."""
    path = Path(path)
    data, where = _read(path)
    found: dict[str, tuple[Rule, ...]] = {}
    for name in _LISTS:
        rules = []
        for index, text in enumerate(data.get("permissions", {}).get(name, [])):
            try:
                rules.append(Rule.parse(text, shown or str(path)))
            except RuleError as error:
                raise SettingsError(path, str(error), where["permissions", name, index]) from None
        found[name] = tuple(rules)
    return Rules(**found)


def save_rules(path: str | os.PathLike[str], *, allow: Iterable[str]) -> None:
    """Add rules to the allow list of a settings file, made if need be; none twice.

    Everything else in it stays. Raises RuleError for a rule that makes no sense and SettingsError
    for a file that cannot be read: neither changes the file.
    """
    texts = [str(Rule.parse(text)) for text in allow]
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path):
        data, _ = _read(path)
        listed = data.setdefault("permissions", {}).setdefault("allow", [])
        new = [text for text in dict.fromkeys(texts) if text not in listed]
        if new:
            listed += new
            _replace(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def _read(path: Path) -> tuple[dict[str, Any], Places]:
    """The data of a file, and where in it each value stands."""
    if not os.path.lexists(path):
        return {}, {}
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SettingsError(path, f"it cannot be read ({error.strerror})") from None
    if raw.startswith(b"\xef\xbb\xbf"):
        raise SettingsError(path, "it begins with a byte order mark; save it as UTF-8 without one")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8")
        at = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise SettingsError(path, "it is not UTF-8; save it in that encoding", at) from None
    try:
        data = json.loads(text, parse_constant=_no_constant)
        where, twice = places(text)
    except json.JSONDecodeError as error:
        what = f"it is not JSON ({_wrong(text, error)}); nothing was loaded, correct it"
        raise SettingsError(path, what, (error.lineno, error.colno)) from None
    except RecursionError:
        raise SettingsError(path, "it is nested too deep to be read") from None
    except ValueError as error:
        raise SettingsError(path, f"it is not JSON that can be read ({error})") from None
    if twice:
        at, key = twice
        raise SettingsError(path, f"{key!r} stands here for the second time; keep one of them", at)
    _check(path, data, where)
    return data, where


def _wrong(text: str, error: json.JSONDecodeError) -> str:
    """What is wrong with a text, in words for what people write most often."""
    before, after = text[: error.pos].rstrip(), text[error.pos :]
    if not text.strip():
        return "the file is empty"
    if after.startswith(("//", "/*", "#")):
        return "it has no comments"
    if before.endswith(",") and after[:1] in ("]", "}"):
        return "there is a comma too many"
    return error.msg


def _check(path: Path, data: Any, where: Places) -> None:
    """Raise SettingsError if what is said about permissions has a form that means nothing."""
    if not isinstance(data, dict):
        raise SettingsError(path, 'it must hold an object: {"permissions": {...}}')
    for name in data:
        if name in _LISTS:
            raise SettingsError(path, f'{name!r} belongs in "permissions"', where[name,])
        if name != "permissions" and get_close_matches(name.lower(), ["permissions"], cutoff=0.8):
            raise SettingsError(path, f'{name!r} has to be called "permissions"', where[name,])
    permissions = data.get("permissions", {})
    if not isinstance(permissions, dict):
        raise SettingsError(path, '"permissions" must be an object', where["permissions",])
    for key, value in permissions.items():
        at = where["permissions", key]
        if key in _LISTS:
            if not isinstance(value, list):
                raise SettingsError(path, f"{key!r} must be a list of rules", at)
        elif key == "defaultMode":
            if not isinstance(value, str) or value not in MODES:
                raise SettingsError(path, f"there is no mode {value!r}: {', '.join(MODES)}", at)
        elif key not in _ELSEWHERE:
            known = ", ".join((*_LISTS, "defaultMode"))
            raise SettingsError(path, f"{key!r} is not known here; there are: {known}", at)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _shown(path: Path, root: Path, home: str | os.PathLike[str] | None) -> str:
    """A path as people write it: relative to the workspace, or to the home folder."""
    for folder, prefix in ((root, ""), (Path(home or Path.home()), "~/")):
        if path.is_relative_to(folder):
            return prefix + path.relative_to(folder).as_posix()
    return str(path)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold off everybody else who would change a file, in this process and in others."""
    with open(path.with_name(f".{path.name}.lock"), "a+b") as lock:
        if os.name == "nt":
            import msvcrt

            lock.seek(0)
            msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _replace(path: Path, text: str) -> None:
    """Write a file as a whole: whoever reads it sees the old text or the new one."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
