"""Client of a simulated Prolific on loopback: studies, submissions and subscriptions."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.support.pilot_study import CODES, PILOT, complete_arrival, publish_pilot_study, statuses, study
from tests.support.prolific_server import WORKSPACE, Prolific, Trouble

from dissensus.errors import InvalidInput, Unavailable
from dissensus.recruit.prolific import (
    ProlificClient,
    ProlificEventKind,
    ProlificSubmission,
    SubmissionStatus,
    parse_entry,
)
from dissensus.recruit.prolific.client import PAGE_SIZE

REASON = "You were asked to choose Yes on two pages, and chose No both times. Please write to us about it now."
SOMETHING = "5f0" * 8


def test_a_study_is_created_as_a_draft_and_published(client: ProlificClient, prolific: Prolific) -> None:
    study_id = client.create(PILOT)
    assert prolific.studies[study_id]["status"] == "UNPUBLISHED"
    client.publish(study_id)
    assert prolific.studies[study_id]["status"] == "ACTIVE"


def test_an_invalid_study_is_not_sent(client: ProlificClient, prolific: Prolific) -> None:
    with pytest.raises(InvalidInput, match="places is 0"):
        client.create(study(places=0))
    assert prolific.requests == []


def test_submissions_are_listed_across_pages(client: ProlificClient, prolific: Prolific) -> None:
    study_id = publish_pilot_study(client)
    arrived_ids = [complete_arrival(prolific, study_id) for _ in range(2 * PAGE_SIZE + 1)]
    prolific.requests.clear()
    assert [one.id for one in client.submissions(study_id)] == arrived_ids
    assert len(prolific.requests) == 3


def test_a_study_without_submissions_lists_none(client: ProlificClient) -> None:
    assert list(client.submissions(publish_pilot_study(client))) == []


def test_repeated_pages_end_the_list(client: ProlificClient, prolific: Prolific) -> None:
    page = {"results": [{"id": SOMETHING, "status": "PROCESSING", "study_code": None}]}
    prolific.trouble.extend(Trouble(200, body=page) for _ in range(5))
    submissions = list(client.submissions(SOMETHING))
    assert submissions == [ProlificSubmission(id=SOMETHING, status=None, code=None, return_asked=False)]
    assert len(prolific.requests) == 2


def test_participant_ids_are_not_in_submissions(client: ProlificClient, prolific: Prolific) -> None:
    study_id = publish_pilot_study(client)
    submission = complete_arrival(prolific, study_id)
    assert prolific.submissions[submission]["participant_id"] not in repr(list(client.submissions(study_id)))


def test_a_repeated_approval_is_accepted(client: ProlificClient, prolific: Prolific) -> None:
    study_id = publish_pilot_study(client)
    submission = complete_arrival(prolific, study_id)
    prolific.complete(submission, CODES["failed_attention"])
    client.approve(submission)
    client.approve(submission)
    assert statuses(client, study_id) == [SubmissionStatus.APPROVED]


def test_a_submission_is_rejected_with_a_reason(client: ProlificClient, prolific: Prolific) -> None:
    study_id = publish_pilot_study(client)
    submission = complete_arrival(prolific, study_id)
    prolific.complete(submission, CODES["failed_attention"])
    client.reject(submission, "FAILED_CHECK", REASON)
    assert statuses(client, study_id) == [SubmissionStatus.REJECTED]


@pytest.mark.parametrize(
    ("category", "reason", "words"),
    [
        ("FAILED_CHECK", "Too bad.", "The reason has 8 characters, and Prolific asks for 100"),
        ("FAILED_CHECK", "x" + " " * 99, "The reason has 1 characters"),
        ("FAILED_CHECK", REASON[1:], "The reason has 99 characters"),
        ("TOO_QUICKLY", REASON, "speed alone is not one"),
        ("FAILED_CHECKS", REASON, "Did you mean 'FAILED_CHECK'?"),
    ],
)
def test_an_unfair_rejection_is_not_sent(
    client: ProlificClient, prolific: Prolific, category: Any, reason: str, words: str
) -> None:
    with pytest.raises(InvalidInput) as error:
        client.reject(SOMETHING, category, reason)
    assert words in str(error.value)
    assert prolific.requests == []


def test_a_return_is_requested_with_reasons(client: ProlificClient, prolific: Prolific) -> None:
    study_id = publish_pilot_study(client)
    client.ask_return(complete_arrival(prolific, study_id), ["Did not finish."])
    assert [one.return_asked for one in client.submissions(study_id)] == [True]
    for reasons in ([], [" "], "Did not finish."):
        with pytest.raises(InvalidInput, match="Give a list of reasons"):
            client.ask_return(SOMETHING, reasons)


def test_webhooks_are_subscribed_to_and_confirmed(client: ProlificClient, prolific: Prolific) -> None:
    secret = client.new_secret(WORKSPACE)
    hook = client.subscribe(ProlificEventKind.SUBMISSION, f"{prolific.root}/inbox", WORKSPACE)
    other = client.subscribe(ProlificEventKind.STUDY, f"{prolific.root}/inbox", WORKSPACE)
    assert secret == prolific.secret
    assert hook != other
    assert prolific.hooks[hook]["is_enabled"]
    assert prolific.hooks[other]["event_type"] == "study.status.change"
    with pytest.raises(InvalidInput, match="is not an https address"):
        client.subscribe(ProlificEventKind.STUDY, "http://rate.example/hook", WORKSPACE)


def test_an_unconfirmed_subscription_is_reported(client: ProlificClient, prolific: Prolific) -> None:
    event_type = ProlificEventKind.STUDY.value
    subscription = {"event_type": event_type, "target_url": f"{prolific.root}/inbox", "id": SOMETHING}
    prolific.trouble.append(Trouble(201, body=subscription))
    with pytest.raises(Unavailable, match="without a secret to confirm it"):
        client.subscribe(ProlificEventKind.STUDY, f"{prolific.root}/inbox", WORKSPACE)


CALLS: list[Callable[[ProlificClient], object]] = [
    lambda client: client.publish("../users/me"),
    lambda client: list(client.submissions("")),
    lambda client: client.approve(SOMETHING + "/"),
    lambda client: client.ask_return("?", ["x"]),
    lambda client: client.new_secret("mine"),
    lambda client: client.subscribe(ProlificEventKind.STUDY, "https://rate.example/", "mine"),
]


@pytest.mark.parametrize("call", CALLS)
def test_invalid_ids_are_not_sent(
    client: ProlificClient, prolific: Prolific, call: Callable[[ProlificClient], object]
) -> None:
    with pytest.raises(InvalidInput, match="It has 24 hexadecimal digits"):
        call(client)
    assert prolific.requests == []


def test_the_study_address_parses_as_an_entry(client: ProlificClient, prolific: Prolific) -> None:
    study_id = publish_pilot_study(client)
    entry = parse_entry(dict(parse_qsl(urlsplit(prolific.arrive(study_id)).query)))
    assert entry.study == study_id
    assert entry.submission in prolific.submissions
