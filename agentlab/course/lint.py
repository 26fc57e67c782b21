"""What must hold of every chapter: ``python -m agentlab.course.lint``.

A stored notebook is read by people on the web and compared by the tests, so it has to be complete
(a cell without an execution count is silently not compared) and the same on every machine (no
port, path, address, time or id in an output). And all chapters share one rhythm, so that a learner
always knows where they are. One line a problem: ``02_loop:14: 31 lines of code, at most 25``.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentlab.course import chapter_files as files
from agentlab.course import exercises
from agentlab.course.chapters import Chapter, available, header_markdown
from agentlab.course.leaks import leaks_of
from agentlab.course.shown import CourseError
from agentlab.resources import notebooks_path

HEADINGS = (
    "The failure", "Predict", "Build it", "Read it", "See it", "Break it",
    "Exercises", "Keep it", "In the wild",
)  # fmt: skip
MOST_LINES, USUAL_LINES, MOST_COLUMNS = 25, 15, 88
USUAL_SHARE = 0.7  # of the code cells have at most USUAL_LINES
MOST_SILENT = 0.6  # of the code cells may have no output
CELLS = range(25, 47)
EXERCISES = range(2, 4)
# How names are often miswritten, and how their owners write them.
SPELLING = {
    r"\bJupyter Lab\b|\b[Jj]upyterlab\b": "JupyterLab",
    r"\bGit[- ]?hub\b|\bgithub\b(?!\.)": "GitHub",
    r"\bAgent[Ll]ab\b": "agentlab",
    r"\bI[pP]ython\b(?<!IPython)|\biPython\b": "IPython",
    r"\b[Jj]avascript\b": "JavaScript",
    r"\bJson\b": "JSON",
    r"\b[Ss]ubagents?\b": "sub-agent",
    r"\bAntropic\b|\bAnthropics\b": "Anthropic",
    r"\bOLLAMA\b|\bOllamma\b": "Ollama",
}

Problem = tuple[int | None, str]  # cell position (None: the whole chapter), what is wrong


@dataclass(frozen=True)
class Page:
    """A chapter as it is stored: the notebook, and its script as a notebook."""

    chapter: Chapter
    folder: Path
    notebook: Any
    script: Any

    @property
    def code(self) -> list[tuple[int, Any]]:
        """Positions and cells of code."""
        return [(i, c) for i, c in enumerate(self.notebook.cells) if c.cell_type == "code"]

    @property
    def prose(self) -> list[tuple[int, Any]]:
        """Positions and cells of markdown."""
        return [(i, c) for i, c in enumerate(self.notebook.cells) if c.cell_type == "markdown"]

    @property
    def first(self) -> bool:
        """Chapter 00 is a tour and has a rhythm of its own."""
        return self.chapter.number == 0


def corresponds(page: Page) -> Iterator[Problem]:
    """Script and notebook have the same cells, in the same order, with the same tags."""
    written, stored = files.cells(page.script), files.cells(page.notebook)
    for position, (left, right) in enumerate(zip(written, stored, strict=False)):
        if left != right:
            yield position, "differs from the script; build the notebook again"
            return
    if len(written) != len(stored):
        yield None, f"{len(stored)} cells, the script has {len(written)}; build the notebook again"


def executed(page: Page) -> Iterator[Problem]:
    """Every code cell has a count, one after the other: without one it would not be compared."""
    for count, (position, cell) in enumerate(page.code, 1):
        if cell.execution_count is None:
            yield position, "was not executed, so it would not be tested; build the notebook again"
        elif cell.execution_count != count:
            yield position, f"execution count {cell.execution_count}, expected {count}"
    for position, cell in enumerate(page.notebook.cells):
        if cell.id != f"{page.chapter.key}-{position:02d}":
            yield position, f"cell id {cell.id!r}; build the notebook again"


def speaks(page: Page) -> Iterator[Problem]:
    """Outputs are there: not too many cells run in silence, and none fails unasked."""
    silent = [position for position, cell in page.code if not cell.outputs]
    if page.code and len(silent) > MOST_SILENT * len(page.code):
        share = f"{len(silent)} of {len(page.code)}"
        yield None, f"{share} code cells show nothing, at most {MOST_SILENT:.0%}"
    for position, cell in page.code:
        raised = any(output.output_type == "error" for output in cell.outputs)
        tagged = "raises-exception" in cell.metadata.get("tags", ())
        if raised and not tagged:
            yield position, "raises, but is not tagged raises-exception"
        elif tagged and not raised:
            yield position, "is tagged raises-exception, but raises nothing"


def stable(page: Page) -> Iterator[Problem]:
    """Nothing in an output differs from machine to machine or from run to run."""
    for position, cell in page.code:
        shows_ids = "shows-ids" in cell.metadata.get("tags", ())
        for leak in leaks_of(cell.outputs, ids=not shows_ids):
            yield position, f"output shows {leak}"


def short(page: Page) -> Iterator[Problem]:
    """Code fits on a projector."""
    lengths = {position: len(cell.source.splitlines()) for position, cell in page.code}
    for position, length in lengths.items():
        if length > MOST_LINES:
            yield position, f"{length} lines of code, at most {MOST_LINES}"
    usual = sum(length <= USUAL_LINES for length in lengths.values())
    if lengths and usual < USUAL_SHARE * len(lengths):
        yield None, f"{len(lengths) - usual} code cells have more than {USUAL_LINES} lines"
    for position, cell in page.code:
        widest = max(map(len, cell.source.splitlines()), default=0)
        if widest > MOST_COLUMNS:
            yield position, f"a line of {widest} columns, at most {MOST_COLUMNS}"


def sized(page: Page) -> Iterator[Problem]:
    """Not too little and not too much, and every cell belongs to one of the two routes."""
    total = len(page.notebook.cells)
    if total not in CELLS and not page.first:
        yield None, f"{total} cells, expected {CELLS.start} to {CELLS.stop - 1}"
    for position, cell in enumerate(page.notebook.cells):
        routes = [tag for tag in cell.metadata.get("tags", ()) if tag in files.CELL_TAGS]
        if len(routes) != 1:
            yield position, "needs exactly one of the tags core and more"
        if not cell.source.strip():
            yield position, "is empty"


def begins(page: Page) -> Iterator[Problem]:
    """The first cells: the header, what the reader will be able to do, the one setup call."""
    cells = page.notebook.cells
    if not cells or cells[0].source.strip() != header_markdown(page.chapter.number):
        yield 0, "is not the chapter's header; python -m agentlab.course.index --write"
    opening = " ".join(cell.source for cell in cells[:3] if cell.cell_type == "markdown")
    if "when you are done you" not in " ".join(opening.lower().split()):
        yield 1, 'the first cells do not say "When you are done you can ..."'
    if not page.code or page.code[0][0] > 4:
        yield None, "no setup call among the first five cells"


def in_rhythm(page: Page) -> Iterator[Problem]:
    """The nine headings, each once, in order."""
    if page.first:
        return
    found = []
    for position, cell in page.prose:
        for heading in re.findall(r"^## +(.+)$", cell.source, re.MULTILINE):
            name = next((h for h in HEADINGS if re.match(rf"{h}\b", heading)), None)
            if name is None:
                yield position, f"heading {heading!r} is not one of: {', '.join(HEADINGS)}"
            else:
                found.append(name)
    for heading in HEADINGS:
        if found.count(heading) != 1:
            yield None, f"'## {heading}' is there {found.count(heading)} times, expected once"
    if sorted(found, key=HEADINGS.index) != found:
        yield None, f"the headings are out of order: {', '.join(found)}"


def exercised(page: Page) -> Iterator[Problem]:
    """Two or three exercises: a tagged cell with the current stub, and a check for it."""
    known = {e.id: e for e in exercises.load_all().values() if e.id.startswith(page.chapter.key)}
    tagged = {}
    for position, cell in page.code:
        for tag in cell.metadata.get("tags", ()):
            if tag.startswith("exercise-"):
                tagged[tag.removeprefix("exercise-").replace("-", ".", 1)] = (position, cell)
    if len(tagged) not in EXERCISES and not page.first:
        yield None, f"{len(tagged)} exercises, expected {EXERCISES.start} or {EXERCISES.stop - 1}"
    for missing in sorted(known.keys() - tagged.keys()):
        tag = f"exercise-{missing.replace('.', '-')}"
        yield None, f"exercise {missing} exists, but no cell is tagged {tag}"
    code = "\n".join(cell.source for _, cell in page.code)
    for exercise_id, (position, cell) in tagged.items():
        if exercise_id not in known:
            yield position, f"there is no exercise {exercise_id}"
        elif not cell.source.startswith(known[exercise_id].stub.rstrip()):
            yield position, f"does not begin with the stub of {exercise_id}"
        if not re.search(rf"^check\(\s*[\"']{re.escape(exercise_id)}[\"']", code, re.MULTILINE):
            yield position, f"no cell calls check for {exercise_id}"


def linked(page: Page) -> Iterator[Problem]:
    """Links to other files lead somewhere, and stay inside the folder that learners get."""
    for position, cell in page.prose:
        for target in re.findall(r"\]\(([^)\s]+)\)", cell.source):
            name = target.partition("#")[0]
            if re.match(r"[a-z]+:", name) or not name:
                continue
            path = (page.folder / name).resolve()
            if not path.is_relative_to(page.folder.resolve()) or not path.exists():
                yield position, f"the link to {target} leads nowhere (relative to notebooks/)"


def spelled(page: Page) -> Iterator[Problem]:
    """Names are spelled as their owners spell them."""
    for position, cell in page.prose:
        text = re.sub(r"`[^`]*`|\]\([^)]*\)|```.*?```", "", cell.source, flags=re.DOTALL)
        for wrong, right in SPELLING.items():
            if found := re.search(wrong, text):
                yield position, f"{found[0]!r} is spelled {right}"


def parses(page: Page) -> Iterator[Problem]:
    """Code cells are plain Python (await is fine): magics would not run elsewhere."""
    for position, cell in page.code:
        try:
            ast.parse(cell.source)
        except SyntaxError as error:
            yield position, f"is not plain Python: {error.msg}"


RULES: tuple[Callable[[Page], Iterator[Problem]], ...] = (
    corresponds, executed, speaks, stable, short, sized, begins, in_rhythm, exercised, linked,
    spelled, parses,
)  # fmt: skip


def lint_page(page: Page) -> list[str]:
    """All problems of one chapter, a line each."""
    found = []
    for rule in RULES:
        for position, problem in rule(page):
            where = page.chapter.stem + (f":{position}" if position is not None else "")
            found.append(f"{where}: {problem}")
    return found


def lint(folder: Path | None = None) -> list[str]:
    """All problems of all available chapters, and files that belong to none."""
    folder = folder or notebooks_path()
    found = []
    stems = {chapter.stem for chapter in available()}
    for path in [*sorted(folder.glob("*.ipynb")), *sorted((folder / "src").glob("*.py"))]:
        if path.stem not in stems:
            found.append(f"{path.name}: belongs to no chapter marked available in chapters.py")
    for chapter in available():
        try:
            script = files.read_script(files.script(chapter.key, folder))
            notebook = files.read_notebook(folder / f"{chapter.stem}.ipynb")
        except CourseError as error:
            found.append(f"{chapter.stem}: {error}")
            continue
        found += lint_page(Page(chapter, folder, notebook, script))
    return found


def main() -> int:
    """The command; returns its exit code."""
    problems = lint()
    print("\n".join(problems) or f"{len(available())} chapters, no problem")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
