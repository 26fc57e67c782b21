"""A pytest plugin for CI, where everything is installed: a test that is skipped has failed."""

from collections.abc import Generator
from typing import Any

import pytest


def _failed_if_skipped(report: Any) -> Any:
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.longrepr = f"In CI no test may be skipped. {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    return _failed_if_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    return _failed_if_skipped((yield))
