"""Where the files that come along are: in a checkout beside the package, in a wheel inside it."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def _folder(name: str) -> Path:
    installed = _PACKAGE / f"_{name}"
    return installed if installed.is_dir() else _PACKAGE.parent / name


def data_path(*parts: str) -> Path:
    """A file or folder of ``data/``: ``data_path("models.json")``."""
    return _folder("data").joinpath(*parts)


def notebooks_path() -> Path:
    """The folder that holds the course's notebooks."""
    return _folder("notebooks")
