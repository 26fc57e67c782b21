"""Each check of the doctor on this machine, and each shown something broken."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import webbrowser
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from agentlab import doctor
from agentlab.doctor import Finding


def only(check: Any) -> Finding:
    """The one finding of a check."""
    [finding] = check()
    return finding


@pytest.mark.parametrize(
    "check",
    [doctor.python, doctor.kernel, doctor.ports, doctor.simulator, doctor.widgets],
    ids=lambda check: check.__name__,
)
def test_what_the_course_needs_is_found_to_work_here(check: Any) -> None:
    finding = only(check)
    assert (finding.status, finding.mend) == ("ok", ""), finding


def test_every_required_package_is_in_its_supported_range() -> None:
    findings = list(doctor.packages())
    assert {f.status for f in findings} == {"ok"}, findings
    assert {"agentlab", "anthropic", "jupyterlab", "typer"} <= {f.subject for f in findings}
    assert not {"mypy", "ruff"} & {f.subject for f in findings}


def test_an_old_package_fails_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version
    monkeypatch.setattr(
        metadata, "version", lambda name: "6.31.0" if name == "ipykernel" else real(name)
    )
    [finding] = [f for f in doctor.packages() if f.status != "ok"]
    assert finding.subject == "ipykernel"
    assert finding.found == "6.31.0 is not in >=7.4,<8"
    assert finding.mend == 'pip install "ipykernel>=7.4,<8"'


def test_a_missing_package_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name == "anywidget":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    [finding] = [f for f in doctor.packages() if f.status != "ok"]
    assert (finding.status, finding.subject, finding.found) == ("fail", "anywidget", "missing")


@pytest.mark.parametrize("program", ["raise SystemExit", "import time; time.sleep(60)"])
def test_a_kernel_that_dies_or_does_not_answer_fails(
    monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    command = [sys.executable, "-c", program]
    monkeypatch.setattr("ipykernel.kernelspec.make_ipkernel_cmd", lambda *_, **__: command)
    monkeypatch.setattr(doctor, "KERNEL_TIMEOUT_S", 2)
    finding = only(doctor.kernel)
    assert finding.status == "fail"
    assert finding.found.startswith("does not answer: Kernel d")


def test_a_blocked_loopback_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> socket.socket:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "create_server", refuse)
    finding = only(doctor.ports)
    assert finding.status == "fail"
    assert "firewall" in finding.mend


def test_missing_front_ends_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("jupyter_core.paths.jupyter_path", lambda *_: [str(tmp_path)])
    (tmp_path / "anywidget" / "static").mkdir(parents=True)
    (tmp_path / "anywidget" / "static" / "remoteEntry.1.js").write_text("")
    finding = only(doctor.widgets)
    assert finding.status == "fail"
    assert finding.found.endswith("will not find @jupyter-widgets/jupyterlab-manager")


def test_what_is_optional_only_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_found(*_: Any) -> None:
        raise webbrowser.Error("none")

    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(webbrowser, "get", none_found)
    findings = [only(check) for check in (doctor.git, doctor.browser, doctor.chromium)]
    assert {f.status for f in findings} == {"warn"}
    assert all(f.mend for f in findings)


def test_a_proxy_is_blamed_where_the_simulator_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unreachable:
        model = "a-model"

        def sync_client(self) -> Any:
            raise ConnectionError("refused")

    monkeypatch.setattr("agentlab.providers.connect", lambda *_, **__: Unreachable())
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    assert "NO_PROXY" not in only(doctor.simulator).mend
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    finding = only(doctor.simulator)
    assert finding.status == "fail"
    assert "NO_PROXY" in finding.mend


def test_a_check_that_breaks_is_a_finding_and_stops_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def breaks() -> Any:
        raise RuntimeError("boom")
        yield

    for name in ("packages", "kernel", "simulator", "browser", "chromium"):
        monkeypatch.setattr(doctor, name, breaks)
    findings = list(doctor.examine())
    assert [f.subject for f in findings if f.status == "ok"] == [
        "Python",
        "ports",
        "widgets",
        "git",
    ]
    assert [f.found for f in findings if f.status == "fail"] == [
        "the check broke: RuntimeError: boom"
    ] * 5
