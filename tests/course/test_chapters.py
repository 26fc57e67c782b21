"""The chapter list, and what is written from it."""

import pytest

from agentlab.course import chapters, index
from agentlab.course.chapters import CHAPTERS, chapter, header_markdown, table_markdown
from agentlab.course.shown import CourseError


def test_chapters_are_numbered_from_zero_without_a_gap():
    assert [c.number for c in CHAPTERS] == list(range(21))


def test_slugs_and_demo_names_are_unique():
    assert len({c.slug for c in CHAPTERS}) == len(CHAPTERS)
    names = [name for c in CHAPTERS for name in c.demos]
    assert len(set(names)) == len(names)


def test_an_unknown_chapter_is_an_error_that_names_the_range():
    with pytest.raises(CourseError, match="from 0 to 20"):
        chapter(21)


def test_the_table_links_available_chapters_and_lists_the_others_as_planned():
    table = table_markdown()
    for c in chapters.available():
        assert f"({'notebooks/' + c.stem}.ipynb)" in table
    planned = table.splitlines()[-1]
    assert planned.startswith("Planned, not written yet:")
    for c in chapters.planned():
        assert c.title in planned
        assert f"{c.stem}.ipynb" not in table


def test_a_header_links_only_chapters_that_exist():
    for c in CHAPTERS:
        header = header_markdown(c.number)
        assert header.startswith(f"# {c.key} · {c.title}\n")
        for other in chapters.planned():
            assert f"{other.stem}.ipynb" not in header
    assert "(00_start_here.ipynb)" in header_markdown(1)


SCRIPT = '# %% [markdown] tags=["core"]\n# Prose.\n\n# %% tags=["core"]\n1 + 1\n'


def test_a_script_gets_a_header_and_a_second_time_changes_nothing():
    once = index.updated_script(SCRIPT, 2)
    assert once.endswith(SCRIPT)
    assert index.updated_script(once, 2) == once


def test_an_outdated_header_is_replaced_not_doubled():
    old = '# %% [markdown] tags=["core"]\n# # 02 · An older title\n\n' + SCRIPT
    assert index.updated_script(old, 2) == index.updated_script(SCRIPT, 2)


def test_the_readme_keeps_what_stands_around_the_table():
    text = "before\n<!-- chapters -->\nold\n<!-- /chapters -->\nafter\n"
    new = index.updated_readme(text)
    assert new is not None
    assert new.startswith("before\n") and new.endswith("<!-- /chapters -->\nafter\n")
    assert "old" not in new
    assert index.updated_readme(new) == new
    assert index.updated_readme("no markers") is None


@pytest.fixture
def checkout(tmp_path):
    source = tmp_path / "notebooks" / "src"
    source.mkdir(parents=True)
    for c in chapters.available():
        (source / f"{c.stem}.py").write_text(SCRIPT)
    (tmp_path / "README.md").write_text("<!-- chapters -->\n<!-- /chapters -->\n")
    return tmp_path


def test_check_reports_until_write_has_mended(checkout, capsys):
    assert index.main(["--check"], checkout) == 1
    assert "README.md: out of date" in capsys.readouterr().out
    assert index.main(["--write"], checkout) == 0
    assert index.main(["--check"], checkout) == 0


def test_a_missing_script_cannot_be_mended(checkout, capsys):
    (checkout / "notebooks" / "src" / "02_loop.py").unlink()
    assert index.main(["--write"], checkout) == 1
    assert "02_loop.py: missing" in capsys.readouterr().out
