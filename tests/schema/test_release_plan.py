"""Plans of releases: each fault is listed once, with its cause."""

from datetime import date, datetime
from typing import Any

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


CAMPAIGN = {
    **{key: value for key, value in PLAN.items() if key != "ratings"},
    "campaign": "pilot",
    "released": date(2026, 11, 25),
}


def test_the_strictest_and_the_widest_numbers_are_accepted() -> None:
    plan = parse_plan({**CAMPAIGN, "people": 10, "round_times_ms": 1000, "anonymity": {"k": 2, "l": 1000}})
    assert (plan.people, plan.round_times_ms, plan.anonymity.k, plan.anonymity.l) == (10, 1000, 2, 1000)
    assert parse_plan({**CAMPAIGN, "anonymity": {"k": 1_000_000}}).anonymity.k == 1_000_000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"older": ["a"]}, "older: Name the latest release as previous, and only those before it here"),
        ({"items": "items.csv"}, "items: The campaign has it. Remove it"),
        ({"consents": "consents.csv"}, "consents: The campaign has it. Remove it"),
        ({"contact": " "}, "contact: "),
        ({"released": datetime(2026, 11, 25)}, "released: It is a datetime. Write a day without quotes"),
        ({"released": "2026-11-25"}, "released: It is text. Write a day without quotes"),
        ({"people": 11}, "people: It is 11. Write a whole number from 1 to 10"),
        ({"anonymity": {"k": 1_000_001}}, "anonymity.k: It is 1,000,001. Write a whole number from 2 to 1,000,000"),
        (
            {"anonymity": {"groups": {"rater_age": {"a": ["x", "y"], "b": ["y"]}}}},
            "A value is in two groups",
        ),
        ({"anonymity": {"groups": {"rater_id": {"a": ["x"]}}}}, "rater_id: It is the id of a rater"),
        ({"answers": {"motivation": " "}}, "answers.motivation: It is text. Write a text in quotes"),
    ],
)
def test_an_invalid_plan_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidDefinition, match=message):
        parse_plan({**CAMPAIGN, **changes})
