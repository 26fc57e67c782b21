"""What chapters 07 and 08 say about their outputs is what their outputs say."""

import nbformat
import pytest

from agentlab.resources import notebooks_path


@pytest.mark.parametrize(
    ("chapter", "source", "said"),
    [
        ("07_hooks", "plain = await", "imports flat_earth; tests: 1 failed"),
        ("07_hooks", "print(read_instructions(folder)", "imports sphere; tests: 2 failed"),
        ("07_hooks", '"Read test_trip.py"', "imports flat_earth; tests: 1 failed"),  # forgotten
        ("07_hooks", "hooked = await", "imports sphere; tests: 3 passed"),
        ("07_hooks", "await replay", "deprecated_import.py  nothing, others catch the same"),
        ("07_hooks", "await replay", "pytest_after_edit.py  metres, not kilometres"),
        (
            "07_hooks",
            "await replay",
            "no_tabs               nothing, it no longer catches anything",
        ),
        ("07_hooks", "def helpful", "the hooks are still there: True"),
        ("08_retry", "def at_once", "answered:        39% and 20%"),
        ("08_retry", "async def show", "I have said what I hadI have said what I had to say"),
        ("08_retry", "def times", "3 x 3 x 5 = 45 requests"),
        ("08_retry", "async def book", "run again: 10 payments in the ledger"),
    ],
)
def test_an_output_is_as_the_chapter_describes_it(chapter, source, said):
    notebook = nbformat.read(notebooks_path() / f"{chapter}.ipynb", as_version=4)
    [cell] = [c for c in notebook.cells if c.cell_type == "code" and source in c.source]
    texts = [output.get("text") or output.data["text/plain"] for output in cell.outputs]
    assert said in "\n".join(texts)
