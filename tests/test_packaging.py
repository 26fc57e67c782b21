"""What is promised to somebody who installs: light imports, pinned versions, lines that exist."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import agentlab

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
BASE = [Requirement(line) for line in PROJECT["dependencies"]]
DEV = [Requirement(line) for line in PROJECT["optional-dependencies"]["dev"]]
README = (ROOT / "README.md").read_text("utf-8")


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    found = [line.partition(";")[0].strip() for line in lines if line and line[0] != "#"]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in found)
    return {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in found}


def test_importing_agentlab_imports_neither_sdk_nor_widgets_nor_server() -> None:
    heavy = {"anthropic", "pydantic", "ipywidgets", "anywidget", "starlette", "uvicorn", "rich"}
    code = "import sys, agentlab; print(*{name.partition('.')[0] for name in sys.modules})"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "agentlab" in out.stdout.split()
    assert heavy & set(out.stdout.split()) == set()


@pytest.mark.parametrize("name", agentlab.__all__)
def test_every_exported_name_is_there(name: str) -> None:
    assert getattr(agentlab, name) is not None
    assert name in dir(agentlab)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'agnet'"):
        agentlab.agnet  # noqa: B018


def test_the_version_is_the_same_everywhere() -> None:
    assert agentlab.__version__ == PROJECT["version"]
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.mark.parametrize("requirement", [*BASE, *DEV], ids=str)
def test_every_requirement_is_capped_and_pinned_to_a_version_that_fits(
    requirement: Requirement,
) -> None:
    assert any(spec.operator in ("<", "==") for spec in requirement.specifier)
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def readme_tool() -> Any:
    spec = importlib.util.spec_from_file_location("readme", ROOT / ".ci" / "readme.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["main-pip", "main-uv", "test-pip", "test-uv"])
def test_the_readme_has_the_lines_that_ci_runs(name: str) -> None:
    line = readme_tool().command(name, README)
    assert "-c constraints.txt" in line
    assert line.endswith("&& agentlab lab" if name.startswith("main") else "&& pytest")


def test_ci_runs_the_lines_as_they_are_but_waits_for_no_learner() -> None:
    tool = readme_tool()
    assert tool.as_run("a && agentlab lab") == "a && agentlab lab --check"
    assert tool.as_run("a && pytest") == "a && pytest"
    with pytest.raises(LookupError, match="other"):
        tool.command("other", README)


def test_the_readme_and_the_command_line_know_the_same_commands() -> None:
    from agentlab.cli import app

    commands = {c.name or c.callback.__name__ for c in app.registered_commands}
    assert set(re.findall(r"^\| `agentlab (\w+)", README, re.MULTILINE)) == commands


def test_the_readmes_chapter_table_comes_from_the_index() -> None:
    from agentlab.course.chapters import table_markdown

    assert table_markdown().strip() in README


def test_what_the_readme_links_to_exists() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_scenario_that_contributing_shows_plays() -> None:
    from agentlab import Agent
    from agentlab.simulator import scenario
    from agentlab.toolbox import calculator

    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    [code] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(code.strip().splitlines()) <= 12
    try:
        exec(compile(code, "CONTRIBUTING.md", "exec"), {"__name__": "contributing"})
        result = asyncio.run(Agent(tools=[calculator]).ask("Add 2 and 3 twice"))
    finally:
        scenario._REGISTRY.pop("two-sums", None)
    assert (result.status, result.text, result.turns) == ("completed", "Twice the sum is 10.", 3)
