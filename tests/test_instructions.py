"""AGENTS.md: the nearest one, whole up to a bound, and never from outside the project."""

import pytest

from agentlab.instructions import MOST_CHARS, find_instructions, read_instructions


def test_a_folder_without_instructions_has_none(tmp_path):
    assert read_instructions(tmp_path) == ""
    (tmp_path / "AGENTS.md").write_text("  \n")
    assert read_instructions(tmp_path) == ""


def test_the_text_stands_under_a_heading_that_names_the_file(tmp_path):
    (tmp_path / "AGENTS.md").write_text("# Rules\n- Use sphere.\n")
    text = read_instructions(tmp_path)
    assert text == "What this project asks of you (AGENTS.md):\n\n# Rules\n- Use sphere."


def test_agents_md_comes_before_claude_md(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("second")
    assert "second" in read_instructions(tmp_path)
    (tmp_path / "AGENTS.md").write_text("first")
    assert "first" in read_instructions(tmp_path) and "second" not in read_instructions(tmp_path)


def test_the_nearest_one_counts_up_to_the_top_of_the_repository(tmp_path):
    inner = tmp_path / "repo" / "package" / "module"
    inner.mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text("outside")
    assert find_instructions(inner) is None  # no repository: the folder alone
    (tmp_path / "repo" / ".git").mkdir()
    assert find_instructions(inner) is None
    (tmp_path / "repo" / "AGENTS.md").write_text("top")
    assert "top" in read_instructions(inner)
    (inner / "CLAUDE.md").write_text("near")
    assert "near" in read_instructions(inner)


def test_a_link_that_leads_out_of_the_project_is_not_read(tmp_path):
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "ws"
    folder.mkdir()
    try:
        (folder / "AGENTS.md").symlink_to(tmp_path / "secret")
    except OSError:
        pytest.skip("no symbolic links here")
    assert read_instructions(folder) == ""
    (folder / "CLAUDE.md").write_text("inside")
    assert "inside" in read_instructions(folder)


def test_a_long_file_is_cut_and_says_so(tmp_path):
    (tmp_path / "AGENTS.md").write_text("x" * (MOST_CHARS + 1))
    text = read_instructions(tmp_path)
    assert text.endswith(f"[AGENTS.md is cut here, at {MOST_CHARS} characters]")
    assert len(text) < MOST_CHARS + 200


def test_bytes_that_are_no_text_do_no_harm(tmp_path):
    (tmp_path / "AGENTS.md").write_bytes(b"\xef\xbb\xbfone\0 \xff two")
    assert read_instructions(tmp_path).endswith("\n\none \ufffd two")
