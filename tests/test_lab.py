"""The working copy of the course, the headless check, and JupyterLab started for real."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.error import URLError

import nbformat
import pytest

from agentlab import lab


def write_notebook(path: Path, *cells: str) -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(book, path)


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small course in place of the real one."""
    folder = tmp_path / "shipped"
    write_notebook(folder / "00_start_here.ipynb", "1 + 1")
    write_notebook(folder / "01_messages.ipynb", "2 + 2")
    (folder / "src").mkdir()
    (folder / "src" / "00_start_here.py").write_text("1 + 1")
    (folder / "images").mkdir()
    (folder / "images" / "loop.png").write_bytes(b"png")
    monkeypatch.setattr(lab, "notebooks_path", lambda: folder)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))  # for the signatures
    return folder


def test_the_first_run_copies_the_chapters_and_what_they_show_but_not_their_scripts(
    shipped: Path, tmp_path: Path
) -> None:
    copied = lab.prepare(tmp_path / "course")
    assert copied == lab.Copied(added=["00_start_here.ipynb", "01_messages.ipynb"], kept=[])
    files = {str(p.relative_to(tmp_path / "course")) for p in (tmp_path / "course").rglob("*.*")}
    picture = str(Path("images", "loop.png"))
    assert files == {"00_start_here.ipynb", "01_messages.ipynb", picture}


def test_a_later_run_adds_new_chapters_and_leaves_the_learners_alone(
    shipped: Path, tmp_path: Path
) -> None:
    course = tmp_path / "course"
    lab.prepare(course)
    (course / "00_start_here.ipynb").write_text("mine")
    write_notebook(shipped / "02_loop.ipynb", "3 + 3")
    copied = lab.prepare(course)
    assert copied.added == ["02_loop.ipynb"]
    assert copied.kept == ["00_start_here.ipynb", "01_messages.ipynb"]
    assert (course / "00_start_here.ipynb").read_text() == "mine"


def test_a_copied_chapter_is_trusted_so_that_its_stored_views_show(
    shipped: Path, tmp_path: Path
) -> None:
    from nbformat.sign import NotebookNotary

    lab.prepare(tmp_path / "course")
    book = nbformat.read(tmp_path / "course" / "00_start_here.ipynb", as_version=4)
    assert NotebookNotary().check_signature(book)


@pytest.mark.parametrize("number", ["1", "01"])
def test_reset_restores_one_chapter_and_keeps_the_learners_version(
    shipped: Path, tmp_path: Path, number: str
) -> None:
    course = tmp_path / "course"
    lab.prepare(course)
    for mine in ("first", "second"):
        (course / "00_start_here.ipynb").write_text("untouched")
        (course / "01_messages.ipynb").write_text(mine)
        chapter, backup = lab.reset(course, number)
        assert chapter.read_bytes() == (shipped / "01_messages.ipynb").read_bytes()
        assert backup is not None and backup.read_text() == mine
        assert (course / "00_start_here.ipynb").read_text() == "untouched"
    assert {p.name for p in course.glob("01*")} == {
        "01_messages.ipynb",
        "01_messages.mine-1.ipynb",
        "01_messages.mine-2.ipynb",
    }


def test_reset_of_a_chapter_that_was_not_changed_leaves_no_backup(
    shipped: Path, tmp_path: Path
) -> None:
    lab.prepare(tmp_path)
    assert lab.reset(tmp_path, "01") == (tmp_path / "01_messages.ipynb", None)


@pytest.mark.parametrize("number", ["7", "x", "-1", ""])
def test_reset_of_a_chapter_that_does_not_exist_names_those_that_do(
    shipped: Path, tmp_path: Path, number: str
) -> None:
    lab.prepare(tmp_path / "course")
    with pytest.raises(lab.LabError, match=r"The chapters are 00, 01\."):
        lab.reset(tmp_path / "course", number)


def test_reset_where_there_is_no_course_says_how_to_make_one(shipped: Path, tmp_path: Path) -> None:
    with pytest.raises(lab.LabError, match="agentlab lab "):
        lab.reset(tmp_path / "nowhere", "00")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("place", ["a-file", "a-file/inside"])
def test_a_folder_that_cannot_be_written_is_named_in_one_line(
    shipped: Path, tmp_path: Path, place: str
) -> None:
    (tmp_path / "a-file").write_text("")
    with pytest.raises(lab.LabError, match="Cannot write the course to ") as caught:
        lab.prepare(tmp_path / place)
    assert "\n" not in str(caught.value)


def test_in_place_needs_a_checkout(shipped: Path) -> None:
    with pytest.raises(lab.LabError, match="--in-place"):
        lab.checkout_notebooks()
    (shipped.parent / "pyproject.toml").write_text("")
    assert lab.checkout_notebooks() == shipped


def test_check_runs_every_cell_and_says_what_ran(shipped: Path) -> None:
    write_notebook(shipped / "00_start_here.ipynb", "x = 20", "assert x == 20")
    before = (shipped / "00_start_here.ipynb").read_bytes()
    lines: list[str] = []
    assert lab.check(lines.append)
    assert re.match(r" +2/2 +\d+\.\d s  assert x == 20", lines[2])
    assert re.fullmatch(r"00_start_here.ipynb: all 2 cells ran in \d+\.\d s\.", lines[-1])
    assert (shipped / "00_start_here.ipynb").read_bytes() == before


def test_check_stops_at_a_cell_that_fails_and_says_why(shipped: Path) -> None:
    write_notebook(shipped / "00_start_here.ipynb", "x = 1", "x / 0", "y = 2")
    lines: list[str] = []
    assert not lab.check(lines.append)
    assert lines[-2:] == [
        "  2/3  FAILED  x / 0",
        "The cell raised ZeroDivisionError: division by zero",
    ]


def test_check_gives_up_on_a_cell_that_does_not_end(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab, "CELL_TIMEOUT_S", 1)
    write_notebook(shipped / "00_start_here.ipynb", "while True: pass")
    lines: list[str] = []
    assert not lab.check(lines.append)
    assert lines[-1] == "The cell did not end within 1 s."


def test_check_never_reaches_a_real_model(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTLAB_ENDPOINT", "anthropic")
    write_notebook(
        shipped / "00_start_here.ipynb", "import os", "assert 'AGENTLAB_ENDPOINT' not in os.environ"
    )
    assert lab.check(lambda line: None)


def test_the_kernel_is_this_python_although_the_user_has_another_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jupyter_client.kernelspec import KernelSpecManager

    other = tmp_path / "kernels" / "python3"
    other.mkdir(parents=True)
    (other / "kernel.json").write_text(
        json.dumps({"argv": ["/other/python"], "display_name": "other", "language": "python"})
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    with lab.own_kernel():
        assert KernelSpecManager().get_kernel_spec("python3").argv[0] == sys.executable
    assert KernelSpecManager().get_kernel_spec("python3").argv[0] == "/other/python"


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT, as Ctrl-C does")
def test_jupyterlab_opens_chapter_00_and_ends_on_ctrl_c_without_asking(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "agentlab", "lab", "course", "--no-browser"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "JUPYTER_DATA_DIR": str(tmp_path / "jupyter")},
    ) as process:
        try:
            assert process.stdout is not None
            address = r"(http://127\.0\.0\.1:\d+)(/lab/tree/00_start_here\.ipynb)\?token=(\w+)"
            found = next(filter(None, (re.search(address, line) for line in process.stdout)))
            base, page, token = found.groups()

            def get(path: str) -> str:
                deadline = time.monotonic() + 30  # it prints its address before it listens
                while True:
                    try:
                        with urllib.request.urlopen(
                            f"{base}{path}?token={token}", timeout=30
                        ) as answer:
                            return str(answer.read().decode())
                    except URLError:
                        assert time.monotonic() < deadline
                        time.sleep(0.1)

            assert "jupyter-config-data" in get(page)
            spec = json.loads(get("/api/kernelspecs"))["kernelspecs"]["python3"]["spec"]
            assert spec["argv"][0] == sys.executable
            notice = json.loads(
                get("/lab/api/settings/@jupyterlab/apputils-extension:notification")
            )
            assert notice["schema"]["properties"]["fetchNews"]["default"] == "false"
            process.send_signal(signal.SIGINT)
            rest = process.communicate(timeout=30)[0]
        finally:
            process.kill()
    assert process.returncode == 0
    assert rest.rstrip().endswith("Stopped. Your work is in course")
