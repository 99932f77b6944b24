"""Paying campaigns, and raters from Prolific."""

from typing import Any

from sqlalchemy import insert
from tests.support.campaigns import NOW
from tests.support.prolific_server import Prolific

from dissensus.schema.campaign.completion_codes import OUTCOMES
from dissensus.store import recruits
from dissensus.store.check_answers import CheckAnswerTable
from dissensus.store.recruits import RecruitTable
from dissensus.workflows.platform.platform import Platform

PAY = {"currency": "GBP", "hourly_rate": 1200, "finished": 600, "screened_out": 50}
CODES = {"kind": "prolific", "codes": {name: f"CODE0{place}" for place, name in enumerate(OUTCOMES)}}
CHECKS = [
    {
        "name": name,
        "kind": "instruction",
        "text": "Please choose B.",
        "scale": ["A", "B"],
        "correct_answers": ["B"],
        "after": 1,
    }
    for name in ("first", "second")
]
PAYING: dict[str, Any] = {"pay": PAY, "recruit": CODES}
CHECKING: dict[str, Any] = {**PAYING, "checks": CHECKS, "estimated_minutes": 20}


def add_submission(
    platform: Platform,
    prolific: Prolific,
    campaign_id: str,
    rater_id: str | None,
    status: str | None = "AWAITING REVIEW",
) -> str:
    """Add a submission to Prolific and to the database, with or without a rater; return its id."""
    submission, person = prolific.new_id(), prolific.new_id()
    ids = {"id": submission, "study": "5" * 24, "participant_id": person, "study_code": None}
    prolific.submissions[submission] = {**ids, "status": status, "return_requested": None}
    with platform.database.writing() as tx:
        row = {"submission": submission, "campaign_id": campaign_id, "person": person, "entered_at": NOW}
        tx.execute(insert(RecruitTable).values(**row, rater_id=rater_id, status=status, n_repeat_visits=0))
    return submission


def status_of(platform: Platform, submission: str) -> str | None:
    with platform.database.reading() as tx:
        recruit = recruits.find_recruit_by_submission(tx, submission)
    assert recruit is not None
    return recruit.status


def answer_checks(platform: Platform, rater_id: str, **answers: str) -> None:
    """Store one answer of a rater to each of these checks."""
    rows = [{"rater_id": rater_id, "name": name, "attempt": 1, "answer": answer} for name, answer in answers.items()]
    with platform.database.writing() as tx:
        tx.execute(insert(CheckAnswerTable), [{**row, "at": NOW} for row in rows])


RETURN_REASON = (
    "You were asked to choose B on two pages, and chose A on both of them. Write to us on Prolific if that is wrong."
)
