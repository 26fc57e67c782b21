"""Every case that was taken from a public bug report has a test that carries its number."""

import json
import re
from pathlib import Path

HERE = Path(__file__).parent


def test_every_case_has_a_test():
    cases = [
        case["id"]
        for file in sorted((HERE / "cases").glob("*.json"))
        for case in json.loads(file.read_text())
    ]
    assert len(set(cases)) == len(cases) > 40
    tests = " ".join(
        name
        for file in HERE.rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", file.read_text("utf-8"))
    )
    missing = [case for case in cases if f"_{case.replace('-', '').lower()}_" not in tests]
    assert not missing
