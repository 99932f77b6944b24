"""The whole way of a study: published, entered, told of by webhooks in any order, paid."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import permutations
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.recruit.fake_prolific import NOW, WORKSPACE, Delivery, Prolific
from tests.recruit.studies import CODES, PILOT

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
    """What a site keeps of webhooks: each event once, the status of each submission, who frees a seat."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
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
        if event.id in self.seen or event.submission is None or not isinstance(event.status, SubmissionStatus):
            return
        self.seen.add(event.id)
        if is_later_status(self.statuses.get(event.submission), event.status):
            self.statuses[event.submission] = event.status
            self.freed += [event.submission] * event.status.frees_seat


def opened(client: ProlificClient, prolific: Prolific) -> str:
    """Publish a study whose events come to a site."""
    client.new_secret(WORKSPACE)
    client.subscribe(ProlificEventKind.SUBMISSION, f"{prolific.root}/inbox", WORKSPACE)
    made = client.create(PILOT)
    client.publish(made)
    return made


def enter(prolific: Prolific, made: str) -> ProlificEntry:
    entry = parse_entry(dict(parse_qsl(urlsplit(prolific.arrive(made)).query)))
    prolific.move(entry.submission, "ACTIVE")
    return entry


def site_after(prolific: Prolific, deliveries: Iterable[Delivery]) -> Site:
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
def test_each_end_is_known_to_both_sides(
    client: ProlificClient, prolific: Prolific, outcome: Outcome, status: SubmissionStatus
) -> None:
    made = opened(client, prolific)
    entry = enter(prolific, made)
    prolific.complete(entry.submission, CODES[outcome])
    assert site_after(prolific, prolific.events).statuses == {entry.submission: status}
    listed = list(client.submissions(made))
    assert [(one.id, one.status, one.code) for one in listed] == [(entry.submission, status, CODES[outcome])]
    assert listed[0].return_asked == (outcome == "no_consent")


def test_a_return_frees_the_seat_once_however_its_events_come(client: ProlificClient, prolific: Prolific) -> None:
    entry = enter(prolific, opened(client, prolific))
    prolific.move(entry.submission, "RETURNED")
    told = prolific.events
    assert len(told) == 3
    for order in permutations(told):
        site = site_after(prolific, [*order, *order])
        assert site.statuses == {entry.submission: SubmissionStatus.RETURNED}
        assert site.freed == [entry.submission]


def test_who_hands_in_after_the_time_is_over_is_known_by_the_last_status(
    client: ProlificClient, prolific: Prolific
) -> None:
    made = opened(client, prolific)
    entry = enter(prolific, made)
    prolific.move(entry.submission, "TIMED-OUT")
    prolific.complete(entry.submission, CODES["completed"])
    assert site_after(prolific, reversed(prolific.events)).statuses == {entry.submission: SubmissionStatus.APPROVED}


def test_what_is_forged_or_old_changes_nothing(client: ProlificClient, prolific: Prolific) -> None:
    entry = enter(prolific, opened(client, prolific))
    prolific.move(entry.submission, "RETURNED")
    returned = prolific.events[-1]
    payload = {"event_type": "submission.status.change", "resource_id": entry.submission, "status": "APPROVED"}
    old = prolific.signed(payload, at=NOW - timedelta(days=2))
    ours = prolific.signed(payload, secret="guessed")
    site = site_after(prolific, [returned.forged(), old, ours, returned])
    assert site.refused == 3
    assert site.statuses == {entry.submission: SubmissionStatus.RETURNED}


def test_a_new_secret_makes_the_one_before_void(client: ProlificClient, prolific: Prolific) -> None:
    entry = enter(prolific, opened(client, prolific))
    before = prolific.secret
    assert client.new_secret(WORKSPACE) != before
    prolific.move(entry.submission, "RETURNED")
    site = site_after(prolific, prolific.events)
    assert site.refused == len(prolific.events) - 1
    assert site.statuses == {entry.submission: SubmissionStatus.RETURNED}
