"""A study from publication to payment, with webhooks in any order."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import permutations
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.support.pilot_study import CODES, PILOT
from tests.support.prolific_server import NOW, WORKSPACE, Delivery, Prolific

from dissensus.errors import NotAllowed
from dissensus.recruit.prolific import (
    Outcome,
    ProlificClient,
    ProlificEntry,
    ProlificEvent,
    ProlificEventKind,
    SubmissionStatus,
    is_later_status,
    parse_entry,
    verify_event,
)


class Site:
    """A site that stores each event once, the latest status of each submission, and freed seats."""

    def __init__(self) -> None:
        self.event_ids: set[str] = set()
        self.statuses: dict[str, SubmissionStatus] = {}
        self.freed: list[str] = []
        self.refused = 0

    def receive(self, inbox: Iterable[tuple[dict[str, str], bytes]], secret: str) -> None:
        for headers, body in inbox:
            try:
                self._take(verify_event(headers, body, secret=secret, now=NOW + timedelta(hours=1)))
            except NotAllowed:
                self.refused += 1

    def _take(self, event: ProlificEvent) -> None:
        if event.id in self.event_ids or event.submission is None or not isinstance(event.status, SubmissionStatus):
            return
        self.event_ids.add(event.id)
        if is_later_status(self.statuses.get(event.submission), event.status):
            self.statuses[event.submission] = event.status
            self.freed += [event.submission] * event.status.frees_seat


def open_study(client: ProlificClient, prolific: Prolific) -> str:
    """Publish a study whose events are sent to the inbox."""
    client.new_secret(WORKSPACE)
    client.subscribe(ProlificEventKind.SUBMISSION, f"{prolific.root}/inbox", WORKSPACE)
    study_id = client.create(PILOT)
    client.publish(study_id)
    return study_id


def enter(prolific: Prolific, study_id: str) -> ProlificEntry:
    entry = parse_entry(dict(parse_qsl(urlsplit(prolific.arrive(study_id)).query)))
    prolific.move(entry.submission, "ACTIVE")
    return entry


def deliver_to_site(prolific: Prolific, deliveries: Iterable[Delivery]) -> Site:
    prolific.inbox.clear()
    for delivery in deliveries:
        delivery.send()
    site = Site()
    site.receive(prolific.inbox, prolific.secret)
    return site


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        ("completed", SubmissionStatus.APPROVED),
        ("quota_full", SubmissionStatus.SCREENED_OUT),
        ("screened_out", SubmissionStatus.AWAITING_REVIEW),
        ("failed_attention", SubmissionStatus.AWAITING_REVIEW),
        ("no_consent", SubmissionStatus.AWAITING_REVIEW),
    ],
)
def test_each_outcome_has_one_status_on_both_sides(
    client: ProlificClient, prolific: Prolific, outcome: Outcome, status: SubmissionStatus
) -> None:
    study_id = open_study(client, prolific)
    entry = enter(prolific, study_id)
    prolific.complete(entry.submission, CODES[outcome])
    assert deliver_to_site(prolific, prolific.events).statuses == {entry.submission: status}
    listed = list(client.submissions(study_id))
    assert [(one.id, one.status, one.code) for one in listed] == [(entry.submission, status, CODES[outcome])]
    assert listed[0].return_asked == (outcome == "no_consent")


def test_a_return_frees_the_seat_once_in_any_order_of_events(client: ProlificClient, prolific: Prolific) -> None:
    entry = enter(prolific, open_study(client, prolific))
    prolific.move(entry.submission, "RETURNED")
    events = prolific.events
    assert len(events) == 3
    for order in permutations(events):
        site = deliver_to_site(prolific, [*order, *order])
        assert site.statuses == {entry.submission: SubmissionStatus.RETURNED}
        assert site.freed == [entry.submission]


def test_a_late_completion_has_the_last_status(client: ProlificClient, prolific: Prolific) -> None:
    study_id = open_study(client, prolific)
    entry = enter(prolific, study_id)
    prolific.move(entry.submission, "TIMED-OUT")
    prolific.complete(entry.submission, CODES["completed"])
    assert deliver_to_site(prolific, reversed(prolific.events)).statuses == {
        entry.submission: SubmissionStatus.APPROVED
    }


def test_forged_and_expired_events_are_refused(client: ProlificClient, prolific: Prolific) -> None:
    entry = enter(prolific, open_study(client, prolific))
    prolific.move(entry.submission, "RETURNED")
    returned = prolific.events[-1]
    payload = {"event_type": "submission.status.change", "resource_id": entry.submission, "status": "APPROVED"}
    expired = prolific.signed(payload, at=NOW - timedelta(days=2))
    forged = prolific.signed(payload, secret="guessed")
    site = deliver_to_site(prolific, [returned.forged(), expired, forged, returned])
    assert site.refused == 3
    assert site.statuses == {entry.submission: SubmissionStatus.RETURNED}


def test_a_new_secret_replaces_the_previous_one(client: ProlificClient, prolific: Prolific) -> None:
    entry = enter(prolific, open_study(client, prolific))
    before = prolific.secret
    assert client.new_secret(WORKSPACE) != before
    prolific.move(entry.submission, "RETURNED")
    site = deliver_to_site(prolific, prolific.events)
    assert site.refused == len(prolific.events) - 1
    assert site.statuses == {entry.submission: SubmissionStatus.RETURNED}
