"""Plans of releases: each fault is listed once, with its cause."""

import pytest

from dissensus.errors import InvalidInput
from dissensus.schema.definition_errors import InvalidDefinition
from dissensus.schema.release.parser import parse_plan

PLAN = {"name": "a", "version": "1.0", "creators": ["Ada"], "contact": "c", "licence": "l", "ratings": "x.csv"}


def test_texts_of_a_plan_of_files_have_one_fault_each() -> None:
    with pytest.raises(InvalidDefinition) as error:
        parse_plan({**PLAN, "title": "", "warning": " "})
    assert [fault.text.partition(" ")[0] for fault in error.value.faults] == ["released:", "title:", "warning:"]
    assert error.value.faults[0].message.startswith("It is missing. Write a day without quotes")


def test_versions_have_the_digits_of_file_names() -> None:
    with pytest.raises(InvalidInput, match="version: Write numbers with points"):
        parse_plan({**PLAN, "version": "\u0661.0"})
