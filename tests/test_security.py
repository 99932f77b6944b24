"""Every row of the threat model, and of the promises of a release, names an existing test."""

import re

import pytest
from tests.support.paths import ROOT


@pytest.mark.parametrize(("name", "header", "least"), [("security", "Threat", 25), ("release-promises", "Promise", 10)])
def test_every_row_names_an_existing_test(name: str, header: str, least: int) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith(f"| {header}")]
    tests_by_row = {row: re.findall(r"`(test_\w+)`", row.rsplit("|", 2)[1]) for row in rows}
    assert len(rows) > least
    assert [row for row, tests in tests_by_row.items() if not tests] == []
    defined = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text("utf-8"), re.MULTILINE)
    }
    assert sorted({test for tests in tests_by_row.values() for test in tests} - defined) == []
