"""Study definitions sent to Prolific."""

from typing import Any

import pytest
from tests.support.pilot_study import CODES, PILOT, study

from dissensus.errors import InvalidInput
from dissensus.recruit.prolific import OUTCOMES, ScreenOut, StudyFilter, study_body


def actions_by_code(body: dict[str, Any]) -> dict[str, Any]:
    """Return the actions of each completion code."""
    return {one["code"]: one["actions"] for one in body["completion_codes"]}


def test_each_outcome_has_a_code_with_its_actions() -> None:
    codes = actions_by_code(study_body(PILOT))
    assert codes[CODES["completed"]] == [{"action": "AUTOMATICALLY_APPROVE"}]
    assert codes[CODES["failed_attention"]] == [{"action": "MANUALLY_REVIEW"}]
    assert codes[CODES["no_consent"]][0]["action"] == "REQUEST_RETURN"
    assert codes[CODES["quota_full"]] == [
        {"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": 20, "slots": 10}
    ]
    assert codes[CODES["screened_out"]] == [{"action": "MANUALLY_REVIEW"}]
    assert list(codes) == [CODES[outcome] for outcome in OUTCOMES]


def test_without_a_screen_out_reward_submissions_are_reviewed_manually() -> None:
    codes = actions_by_code(study_body(study(screen_out=None)))
    assert codes[CODES["quota_full"]] == codes[CODES["screened_out"]] == [{"action": "MANUALLY_REVIEW"}]


@pytest.mark.parametrize("outcome", ["quota_full", "screened_out"])
def test_one_code_has_the_fixed_screen_out_payment(outcome: Any) -> None:
    body = study_body(study(screen_out=ScreenOut(reward=20, places=10, outcome=outcome)))
    paid = [one["code"] for one in body["completion_codes"] if one["code_type"] == "FIXED_SCREENOUT"]
    assert paid == [CODES[outcome]]


def test_a_range_may_have_one_bound_and_begin_at_0() -> None:
    filters = (StudyFilter(name="approvals", least=0), StudyFilter(name="rejections", most=0))
    assert [entry["selected_range"] for entry in study_body(study(filters=filters))["filters"]] == [
        {"lower": 0, "upper": None},
        {"lower": None, "upper": 0},
    ]


def test_numbers_and_texts_may_be_at_their_limits() -> None:
    most = study(name="x" * 255, places=1, minutes=1, reward=1_000_000, screen_out=ScreenOut(reward=999_999, places=1))
    assert study_body(most)["reward"] == 1_000_000
    assert study_body(study(reward=2, screen_out=ScreenOut(reward=1, places=1_000_000)))["reward"] == 2


def test_other_fields_are_sent_unchanged() -> None:
    filters = (
        StudyFilter(name="age", least=18, most=40),
        StudyFilter(name="current-country-of-residence", values=("1", "45")),
    )
    body = study_body(study(filters=filters, devices=("desktop",), warning="Some of it is cruel.", project="a1" * 12))
    assert body["external_study_url"].startswith("https://rate.example/c/pilot?PROLIFIC_PID={{%PROLIFIC_PID%}}&")
    assert body["filters"] == [
        {"filter_id": "age", "selected_range": {"lower": 18, "upper": 40}},
        {"filter_id": "current-country-of-residence", "selected_values": ["1", "45"]},
    ]
    assert body["device_compatibility"] == ["desktop"]
    assert body["content_warning_details"] == "Some of it is cruel."
    assert (body["total_available_places"], body["estimated_completion_time"], body["reward"]) == (20, 30, 600)
    assert body["project"] == "a1" * 12


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": " "}, "name: It is blank"),
        ({"name": "x" * 256}, "name: It has 256 characters"),
        ({"description": ""}, "description: It is blank"),
        ({"warning": ""}, "warning: It is blank"),
        ({"address": "http://rate.example/"}, "is not an https address"),
        ({"places": 0}, "places is 0"),
        ({"minutes": 0.5}, "minutes is 0.5"),
        ({"reward": 0}, "reward is 0"),
        ({"reward": 1_000_001}, "reward is 1000001"),
        ({"codes": {**CODES, "completed": "PILOT1"}}, "PILOT1 is the code of another outcome too"),
        ({"screen_out": ScreenOut(reward=600, places=1)}, "screen_out.reward: It is 600. Give less"),
        ({"screen_out": ScreenOut(reward=0, places=1)}, "screen_out.reward is 0"),
        ({"reward": "600", "screen_out": ScreenOut(reward=1, places=1)}, "reward is '600'"),
        ({"screen_out": ScreenOut(reward=1, places=0)}, "screen_out.places is 0"),
        ({"screen_out": ScreenOut(reward=1, places=1, outcome="completed")}, "screen_out.outcome: It is"),  # type: ignore[arg-type]
        ({"filters": (StudyFilter(name="age"),)}, "'age' needs values or a range"),
        ({"filters": (StudyFilter(name="age", values=("1",), least=1),)}, "'age' needs values or a range"),
        ({"devices": ("desktop", "desktop")}, "Name each once"),
        ({"devices": ("watch",)}, "Name each once"),
        ({"project": "mine"}, "'mine' is not an id"),
    ],
)
def test_invalid_studies_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        study_body(study(**changes))
    assert words in str(error.value)


def test_all_faults_are_reported_at_once() -> None:
    with pytest.raises(InvalidInput, match="The study has 3 faults"):
        study_body(study(name="", places=0, devices=("watch",)))
