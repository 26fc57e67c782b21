"""The lint: a chapter that keeps the rules passes, and each rule can fail."""

import re

import nbformat
import pytest

from agentlab.course import exercises, lint
from agentlab.course.chapters import chapter, header_markdown
from agentlab.course.leaks import leaks_of
from agentlab.course.lint import HEADINGS, Page


def _markdown(source, *tags):
    return nbformat.v4.new_markdown_cell(source, metadata={"tags": list(tags or ["core"])})


def _code(source, *tags, text="shown"):
    output = nbformat.v4.new_output("stream", name="stdout", text=text)
    return nbformat.v4.new_code_cell(
        source, metadata={"tags": list(tags or ["core"])}, outputs=[output] if text else []
    )


def _good():
    cells = [
        _markdown(header_markdown(2)),
        _markdown("When you are done you can write a loop."),
        _code("lab = 1"),
    ]
    for heading in HEADINGS:
        cells += [_markdown(f"## {heading}\n\nWords."), _code("1 + 1")]
    for number in (1, 2, 3):
        exercise = exercises.find(f"02.{number}")
        cells.append(_code(exercise.stub, "core", f"exercise-02-{number}", text=""))
        cells.append(_code(f'check("02.{number}", {exercise.name})'))
    return cells


def _page(cells, tmp_path):
    for neighbour in (1, 3):  # the header links them
        (tmp_path / f"{chapter(neighbour).stem}.ipynb").write_text("{}")
    count = 0
    for position, cell in enumerate(cells):
        cell.id = f"02-{position:02d}"
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
    notebook = nbformat.v4.new_notebook(cells=cells)
    script = nbformat.v4.new_notebook(cells=[nbformat.from_dict(dict(cell)) for cell in cells])
    return Page(chapter(2), tmp_path, notebook, script)


def test_a_good_chapter_has_no_problem(tmp_path):
    assert lint.lint_page(_page(_good(), tmp_path)) == []


def _replace(position, cell):
    def change(cells):
        cells[position] = cell

    return change


def _append(*new):
    return lambda cells: cells.extend(new)


BREAKING = {
    "no header": (_replace(0, _markdown("# 02")), "is not the chapter's header"),
    "no goals": (_replace(1, _markdown("Hello.")), 'do not say "When you are done'),
    "no heading": (_replace(3, _markdown("Words.")), "'## The failure' is there 0 times"),
    "strange heading": (_replace(3, _markdown("## Failing")), "heading 'Failing' is not one of"),
    "long cell": (_replace(4, _code("x = 1\n" * 26)), "02_loop:4: 26 lines of code, at most 25"),
    "wide line": (_replace(4, _code("x = " + "1" * 90)), "a line of 94 columns, at most 88"),
    "no route": (_replace(4, _code("1", "none")), "exactly one of the tags core and more"),
    "two routes": (_replace(4, _code("1", "core", "more")), "exactly one of the tags"),
    "empty cell": (_replace(4, _code(" ")), "02_loop:4: is empty"),
    "too long": (_append(*[_code("1") for _ in range(20)]), "47 cells, expected 25 to 46"),
    "a magic": (_replace(4, _code("%time 1")), "is not plain Python"),
    "a port": (_replace(4, _code("1", text="at 127.0.0.1:40123")), "shows a port: 127.0.0.1:40123"),
    "dead link": (_replace(3, _markdown("## The failure\n[x](19_harness.ipynb)")), "leads nowhere"),
    "outside": (_replace(3, _markdown("## The failure\n[x](../README.md)")), "leads nowhere"),
    "spelling": (
        _replace(3, _markdown("## The failure\nOpen Jupyterlab.")),
        "is spelled JupyterLab",
    ),
    "silence": (
        _append(*[_code("x", text="") for _ in range(20)]),
        "code cells show nothing",
    ),
    "no stub": (
        _replace(21, _code("pass", "core", "exercise-02-1")),
        "begin with the stub of 02.1",
    ),
    "unknown": (_replace(21, _code("pass", "core", "exercise-02-9")), "there is no exercise 02.9"),
    "untagged": (_replace(21, _code("pass")), "but no cell is tagged exercise-02-1"),
    "unchecked": (_replace(22, _code("pass")), "no cell calls check for 02.1"),
    "tag only": (_replace(4, _code("1", "core", "raises-exception")), "but raises nothing"),
}


@pytest.mark.parametrize(("change", "problem"), BREAKING.values(), ids=list(BREAKING))
def test_each_rule_can_fail(change, problem, tmp_path):
    cells = _good()
    change(cells)
    found = lint.lint_page(_page(cells, tmp_path))
    assert any(problem in line for line in found), found
    assert all(re.match(r"02_loop(:\d+)?: ", line) for line in found)


def test_headings_out_of_order_are_seen(tmp_path):
    cells = _good()
    cells[3], cells[5] = cells[5], cells[3]
    assert any("out of order" in line for line in lint.lint_page(_page(cells, tmp_path)))


def test_an_unexecuted_cell_is_seen(tmp_path):
    page = _page(_good(), tmp_path)
    page.notebook.cells[4].execution_count = None
    assert "02_loop:4: was not executed" in " ".join(lint.lint_page(page))


def test_a_gap_in_the_counts_is_seen(tmp_path):
    page = _page(_good(), tmp_path)
    page.notebook.cells[4].execution_count = 9
    assert "execution count 9, expected 2" in " ".join(lint.lint_page(page))


def test_an_error_without_the_tag_is_seen(tmp_path):
    page = _page(_good(), tmp_path)
    page.notebook.cells[4].outputs = [
        nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])
    ]
    assert "raises, but is not tagged" in " ".join(lint.lint_page(page))


@pytest.mark.parametrize("where", ["source", "tags", "count"])
def test_a_notebook_that_differs_from_its_script_is_seen(tmp_path, where):
    page = _page(_good(), tmp_path)
    if where == "source":
        page.script.cells[4].source = "2 + 2"
    elif where == "tags":
        page.script.cells[4].metadata.tags = ["more"]
    else:
        del page.script.cells[-1]
    assert "build the notebook again" in " ".join(lint.lint_page(page))


def test_files_without_a_chapter_and_chapters_without_files_are_seen(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "99_nothing.py").write_text("")
    found = lint.lint(tmp_path)
    assert any(line.startswith("99_nothing.py: belongs to no chapter") for line in found)
    assert "02_loop: there is no script for chapter 02; there is: 99" in found


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("http://127.0.0.1:43211/v1", "a port"),
        ("http://localhost:8888", "a port"),
        ("/tmp/agentlab-x1/quickstart/a.txt", "a path"),
        ("/home/ada/course", "a path"),
        ("/Users/ada", "a path"),
        ("C:\\Users\\ada", "a path"),
        ("<object object at 0x7f3b2c>", "a memory address"),
        ("2026-12-01T10:00:00.123456", "a time"),
        ("req_01AbCdEfGhIj", "an id"),
        ("1b4e28ba-2fa1-11d2-883f-0016d3cca427", "a uuid"),
        ("d41d8cd98f00b204e9800998ecf8427e", "a long hash"),
        ("/x/ipykernel_4242/12.py", "a kernel's file name"),
    ],
)
def test_what_differs_between_machines_is_a_leak(text, kind):
    outputs = [{"output_type": "display_data", "data": {"text/html": ["<b>", text, "</b>"]}}]
    assert [leak for leak in leaks_of(outputs) if leak.startswith(kind)]


@pytest.mark.parametrize(
    "text",
    [
        "09:17", "2026-11-30T09:17+00:00", "$0.0013", "12\u202f345", "turn 3", "agentlab/loop.py",
        "call_a", "workspace('quickstart') / 'notes/a.md'", "1.2.3.4",
    ],
)  # fmt: skip
def test_what_is_the_same_everywhere_is_none(text):
    assert list(leaks_of([{"text": text}])) == []


def test_a_cell_about_ids_may_show_them_but_no_port():
    outputs = [{"text": "msg_0123456789abcdef at 127.0.0.1:9999"}]
    assert len(list(leaks_of(outputs))) == 2
    assert [leak[:6] for leak in leaks_of(outputs, ids=False)] == ["a port"]
