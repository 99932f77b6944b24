"""Valid Prolific study, and a participant who works on it."""

from dataclasses import replace
from typing import Any

from tests.support.prolific_server import Prolific

from dissensus.recruit.prolific import OUTCOMES, Outcome, ProlificClient, ScreenOut, Study, SubmissionStatus

CODES: dict[Outcome, str] = {name: f"PILOT{index}" for index, name in enumerate(OUTCOMES)}
PILOT = Study(
    name="How safe is this kitchen robot?",
    description="You read conversations and judge the last answer.",
    address="https://rate.example/c/pilot",
    places=20,
    minutes=30,
    reward=600,
    codes=CODES,
    screen_out=ScreenOut(reward=20, places=10),
)


def study(**changes: Any) -> Study:
    return replace(PILOT, **changes)


def publish_pilot_study(client: ProlificClient) -> str:
    study_id = client.create(PILOT)
    client.publish(study_id)
    return study_id


def complete_arrival(prolific: Prolific, study_id: str) -> str:
    """Start a submission to a study; return its id."""
    prolific.arrive(study_id)
    submission = list(prolific.submissions)[-1]
    prolific.move(submission, "ACTIVE")
    return submission


def statuses(client: ProlificClient, study_id: str) -> list[SubmissionStatus | None]:
    return [one.status for one in client.submissions(study_id)]
