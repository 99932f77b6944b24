"""Every line of the threat model names a test that is there."""

import ast
import re

from tests.support.paths import ROOT


def test_every_line_of_the_threat_model_has_a_test_that_is_there() -> None:
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| Threat")]
    named = {row: re.findall(r"`(test_\w+)`", row.rsplit("|", 2)[1]) for row in rows}
    assert len(rows) > 25
    assert [row for row, tests in named.items() if not tests] == []
    known = {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert sorted({test for tests in named.values() for test in tests} - known) == []
