"""A study that Prolific would take, and somebody who works on it."""

from dataclasses import replace
from typing import Any

from tests.recruit.fake_prolific import Prolific

from dissensus.recruit.prolific import OUTCOMES, Outcome, ProlificClient, ScreenOut, Study, SubmissionStatus

CODES: dict[Outcome, str] = {name: f"PILOT{place}" for place, name in enumerate(OUTCOMES)}
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


def published(client: ProlificClient) -> str:
    made = client.create(PILOT)
    client.publish(made)
    return made


def arrived(prolific: Prolific, made: str) -> str:
    """Somebody who works on a study; return the submission."""
    prolific.arrive(made)
    submission = list(prolific.submissions)[-1]
    prolific.move(submission, "ACTIVE")
    return submission


def statuses(client: ProlificClient, made: str) -> list[SubmissionStatus | None]:
    return [one.status for one in client.submissions(made)]
