"""Every row of the threat model names an existing test."""

import ast
import re

from tests.support.paths import ROOT


def test_every_row_of_the_threat_model_names_an_existing_test() -> None:
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| Threat")]
    tests_by_row = {row: re.findall(r"`(test_\w+)`", row.rsplit("|", 2)[1]) for row in rows}
    assert len(rows) > 25
    assert [row for row, tests in tests_by_row.items() if not tests] == []
    defined = {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert sorted({test for tests in tests_by_row.values() for test in tests} - defined) == []
