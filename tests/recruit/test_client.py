"""The client against a Prolific on loopback: studies, submissions and subscriptions."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.recruit.fake_prolific import WORKSPACE, Prolific, Trouble
from tests.recruit.studies import CODES, PILOT, arrived, published, statuses, study

from dissensus.errors import InvalidInput, Unavailable
from dissensus.recruit.prolific import (
    ProlificClient,
    ProlificEventKind,
    ProlificSubmission,
    SubmissionStatus,
    parse_entry,
)
from dissensus.recruit.prolific.client import PAGE_SIZE

REASON = "You were asked to choose the answer Yes on two pages and chose No both times. Please write to us about it."
SOMETHING = "5f0" * 8


def test_a_draft_is_made_and_then_shown_to_people(client: ProlificClient, prolific: Prolific) -> None:
    made = client.create(PILOT)
    assert prolific.studies[made]["status"] == "UNPUBLISHED"
    client.publish(made)
    assert prolific.studies[made]["status"] == "ACTIVE"


def test_a_study_that_prolific_would_not_take_is_not_sent(client: ProlificClient, prolific: Prolific) -> None:
    with pytest.raises(InvalidInput, match="places is 0"):
        client.create(study(places=0))
    assert prolific.asked == []


def test_submissions_are_listed_page_by_page(client: ProlificClient, prolific: Prolific) -> None:
    made = published(client)
    arrived_ids = [arrived(prolific, made) for _ in range(2 * PAGE_SIZE + 1)]
    prolific.asked.clear()
    assert [one.id for one in client.submissions(made)] == arrived_ids
    assert len(prolific.asked) == 3


def test_a_study_without_submissions_lists_none(client: ProlificClient) -> None:
    assert list(client.submissions(published(client))) == []


def test_a_list_that_never_ends_is_ended(client: ProlificClient, prolific: Prolific) -> None:
    page = {"results": [{"id": SOMETHING, "status": "PROCESSING", "study_code": None}]}
    prolific.trouble.extend(Trouble(200, body=page) for _ in range(5))
    found = list(client.submissions(SOMETHING))
    assert found == [ProlificSubmission(id=SOMETHING, status=None, code=None, return_asked=False)]
    assert len(prolific.asked) == 2


def test_who_they_are_from_is_not_kept(client: ProlificClient, prolific: Prolific) -> None:
    made = published(client)
    submission = arrived(prolific, made)
    assert prolific.submissions[submission]["participant_id"] not in repr(list(client.submissions(made)))


def test_a_submission_is_approved_and_twice_is_once(client: ProlificClient, prolific: Prolific) -> None:
    made = published(client)
    submission = arrived(prolific, made)
    prolific.complete(submission, CODES["failed_attention"])
    client.approve(submission)
    client.approve(submission)
    assert statuses(client, made) == [SubmissionStatus.APPROVED]


def test_a_submission_is_rejected_with_a_reason(client: ProlificClient, prolific: Prolific) -> None:
    made = published(client)
    submission = arrived(prolific, made)
    prolific.complete(submission, CODES["failed_attention"])
    client.reject(submission, "FAILED_CHECK", REASON)
    assert statuses(client, made) == [SubmissionStatus.REJECTED]


@pytest.mark.parametrize(
    ("category", "reason", "words"),
    [
        ("FAILED_CHECK", "Too bad.", "The reason has 8 characters, and Prolific asks for 100"),
        ("FAILED_CHECK", "x" + " " * 99, "The reason has 1 characters"),
        ("TOO_QUICKLY", REASON, "speed alone is none"),
        ("FAILED_CHECKS", REASON, "Did you mean 'FAILED_CHECK'?"),
    ],
)
def test_an_unfair_rejection_is_not_sent(
    client: ProlificClient, prolific: Prolific, category: Any, reason: str, words: str
) -> None:
    with pytest.raises(InvalidInput) as error:
        client.reject(SOMETHING, category, reason)
    assert words in str(error.value)
    assert prolific.asked == []


def test_a_return_is_asked_for(client: ProlificClient, prolific: Prolific) -> None:
    made = published(client)
    client.ask_return(arrived(prolific, made), ["Did not finish."])
    assert [one.return_asked for one in client.submissions(made)] == [True]
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
    with pytest.raises(InvalidInput, match="is no https address"):
        client.subscribe(ProlificEventKind.STUDY, "http://rate.example/hook", WORKSPACE)


def test_a_subscription_that_cannot_be_confirmed_is_told(client: ProlificClient, prolific: Prolific) -> None:
    wanted = {"event_type": ProlificEventKind.STUDY.value, "target_url": f"{prolific.root}/inbox", "id": SOMETHING}
    prolific.trouble.append(Trouble(201, body=wanted))
    with pytest.raises(Unavailable, match="did not tell how to confirm it"):
        client.subscribe(ProlificEventKind.STUDY, f"{prolific.root}/inbox", WORKSPACE)


ASKING: list[Callable[[ProlificClient], object]] = [
    lambda client: client.publish("../users/me"),
    lambda client: list(client.submissions("")),
    lambda client: client.approve(SOMETHING + "/"),
    lambda client: client.ask_return("?", ["x"]),
    lambda client: client.new_secret("mine"),
    lambda client: client.subscribe(ProlificEventKind.STUDY, "https://rate.example/", "mine"),
]


@pytest.mark.parametrize("ask", ASKING)
def test_what_is_no_id_gets_into_no_address(
    client: ProlificClient, prolific: Prolific, ask: Callable[[ProlificClient], object]
) -> None:
    with pytest.raises(InvalidInput, match="It has 24 hexadecimal digits"):
        ask(client)
    assert prolific.asked == []


def test_the_address_that_somebody_is_sent_to_is_an_entry(client: ProlificClient, prolific: Prolific) -> None:
    made = published(client)
    entry = parse_entry(dict(parse_qsl(urlsplit(prolific.arrive(made)).query)))
    assert entry.study == made
    assert entry.submission in prolific.submissions
