"""Webhooks: verification of signature and time."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick
from tests.support.prolific_server import NOW, Delivery, Prolific

from dissensus.errors import InvalidInput, NotAllowed
from dissensus.recruit.prolific import ProlificEvent, ProlificEventKind, StudyStatus, SubmissionStatus, verify_event
from dissensus.recruit.prolific.webhooks import MAX_BODY_BYTES, sign_request

SECRET = "cGNqFPb6y0RT3XO9XVSessBDYIbHQ"
ID = "5f0" * 8
RETURNED = {"event_type": "submission.status.change", "resource_id": ID, "participant_id": ID, "status": "RETURNED"}


def sign_payload(payload: object, **options: Any) -> Delivery:
    return Prolific().signed(payload, **{"secret": SECRET, **options})


def verify_delivery(delivery: Delivery, **options: Any) -> ProlificEvent:
    return verify_event(delivery.headers, delivery.body, **{"secret": SECRET, "now": NOW, **options})


def test_a_signed_return_is_read() -> None:
    event = verify_delivery(sign_payload(RETURNED))
    assert (event.kind, event.submission, event.study, event.status) == (
        ProlificEventKind.SUBMISSION,
        ID,
        None,
        SubmissionStatus.RETURNED,
    )
    assert event.at == NOW
    assert event.id


def test_ids_are_lowercased() -> None:
    assert verify_delivery(sign_payload({**RETURNED, "resource_id": ID.upper()})).submission == ID
    assert verify_delivery(sign_payload({"event_type": "study.progress.change", "resource_id": ID.upper()})).study == ID


def test_the_signature_follows_the_documentation_of_prolific() -> None:
    body, time = json.dumps(RETURNED), f"{NOW.timestamp():.0f}"
    digest = hmac.new(SECRET.encode(), (time + body).encode(), hashlib.sha256).digest()
    headers = {
        "X-PROLIFIC-REQUEST-SIGNATURE": base64.b64encode(digest).decode(),
        "x-prolific-request-timestamp": time,
        "X-Event-ID": "e1",
    }
    assert verify_event(headers, body.encode(), secret=SECRET, now=NOW).id == "e1"


def test_events_of_studies_are_read() -> None:
    study = {"event_type": "study.status.change", "resource_id": ID, "metadata": {}, "status": "PAUSED"}
    event = verify_delivery(sign_payload(study))
    assert (event.kind, event.submission, event.study, event.status) == (
        ProlificEventKind.STUDY,
        None,
        ID,
        StudyStatus.PAUSED,
    )
    progress = verify_delivery(sign_payload({"event_type": "study.progress.change", "resource_id": ID}))
    assert (progress.kind, progress.study, progress.status) == (ProlificEventKind.PROGRESS, ID, None)


def test_unknown_events_are_accepted_and_forged_ones_refused() -> None:
    unknown = sign_payload({"event_type": "study.has_high_return_rate", "resource_id": ID, "metadata": {}})
    assert verify_delivery(unknown).kind is None
    assert verify_delivery(sign_payload({"event_type": ["x"]})).kind is None
    assert verify_delivery(sign_payload({**RETURNED, "status": "PROCESSING"})).status is None
    with pytest.raises(NotAllowed):
        verify_delivery(unknown, secret="another")


def test_a_forged_body_is_refused() -> None:
    with pytest.raises(NotAllowed, match="not signed with the secret"):
        verify_delivery(sign_payload(RETURNED).forged())


@pytest.mark.parametrize("header", ["X-Prolific-Request-Signature", "X-Prolific-Request-Timestamp"])
@pytest.mark.parametrize("value", [None, "", "ü", "AAAA", "0", "\udcff"])
def test_a_forged_header_is_refused(header: str, value: str | None) -> None:
    delivery = sign_payload(RETURNED)
    headers = {name: text for name, text in {**delivery.headers, header: value}.items() if text is not None}
    with pytest.raises(NotAllowed) as error:
        verify_event(headers, delivery.body, secret=SECRET, now=NOW)
    assert SECRET not in str(error.value)


@quick
@given(st.binary(max_size=60), st.text(max_size=20), st.text(max_size=60))
def test_random_signatures_are_refused(body: bytes, time: str, signature: str) -> None:
    headers = {"X-Prolific-Request-Timestamp": time, "X-Prolific-Request-Signature": signature}
    with pytest.raises(NotAllowed):
        verify_event(headers, body, secret=SECRET, now=NOW)


@pytest.mark.parametrize(
    ("age", "valid"),
    [
        (timedelta(), True),
        (timedelta(hours=25), True),
        (timedelta(hours=25, seconds=1), False),
        (timedelta(minutes=-5), True),
        (timedelta(minutes=-5, seconds=-1), False),
    ],
)
def test_the_age_of_a_delivery_is_limited(age: timedelta, valid: bool) -> None:
    delivery = sign_payload(RETURNED, at=NOW - age)
    if valid:
        assert verify_delivery(delivery).at == NOW - age
    else:
        with pytest.raises(NotAllowed, match="Check the clock of this machine"):
            verify_delivery(delivery)


def test_the_caller_sets_the_age_limit_and_the_time_zone() -> None:
    delivery = sign_payload(RETURNED, at=NOW - timedelta(minutes=10))
    assert verify_delivery(delivery, now=NOW.astimezone(timezone(timedelta(hours=9)))).at.tzinfo is UTC
    with pytest.raises(NotAllowed, match="too far from now"):
        verify_delivery(delivery, max_age=timedelta(minutes=9))


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (b"\xff", "its body is not JSON"),
        (b"{", "its body is not JSON"),
        (b"[" * 50_000, "its body is not JSON"),
        ([RETURNED], "its body is a list"),
        ({**RETURNED, "resource_id": "../studies"}, "resource_id is '../studies', not an id"),
        ({**RETURNED, "resource_id": 7}, "resource_id is a number"),
        ({"event_type": "submission.status.change"}, "resource_id is nothing"),
    ],
)
def test_signed_bodies_that_cannot_be_read_are_invalid(payload: object, words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        verify_delivery(sign_payload(payload))
    assert words in str(error.value)


@pytest.mark.parametrize("event_id", ["", "e" * 201, "e 1", "é"])
def test_an_event_needs_an_id(event_id: str) -> None:
    delivery = sign_payload(RETURNED)
    with pytest.raises(InvalidInput, match=r"X-Event-Id is '.*', not an id"):
        verify_event({**delivery.headers, "X-Event-Id": event_id}, delivery.body, secret=SECRET, now=NOW)
    longest = {**delivery.headers, "X-Event-Id": "e" * 200}
    assert verify_event(longest, delivery.body, secret=SECRET, now=NOW).id == "e" * 200


def test_a_large_body_is_refused() -> None:
    largest = json.dumps(RETURNED).encode().ljust(MAX_BODY_BYTES)
    assert verify_delivery(sign_payload(largest)).status is SubmissionStatus.RETURNED
    with pytest.raises(InvalidInput, match="65,536 are allowed"):
        verify_event({}, b"x" * (MAX_BODY_BYTES + 1), secret=SECRET, now=NOW)


def test_an_empty_secret_is_refused() -> None:
    delivery = sign_payload(RETURNED)
    with pytest.raises(InvalidInput, match="anybody could sign requests"):
        verify_delivery(delivery, secret="")


def sign_at(time: str) -> dict[str, str]:
    """Return the headers of an empty payload that was signed at a time."""
    signature = sign_request(SECRET, time, b"{}").decode()
    return {"X-Prolific-Request-Timestamp": time, "X-Prolific-Request-Signature": signature, "X-Event-Id": "e1"}


@pytest.mark.parametrize("time", ["soon", "-1", "1e9", "1893585600000", "nan", ""])
def test_a_signed_time_that_is_not_a_number_is_refused(time: str) -> None:
    with pytest.raises(NotAllowed, match="which is not a Unix time"):
        verify_event(sign_at(time), b"{}", secret=SECRET, now=NOW)


def test_a_signed_time_may_have_a_fraction() -> None:
    event = verify_event(sign_at(f"{NOW.timestamp():.0f}.25"), b"{}", secret=SECRET, now=NOW)
    assert event.at == NOW + timedelta(milliseconds=250)


def test_a_time_in_the_far_future_is_refused() -> None:
    state = Prolific()
    far = state.signed(RETURNED, secret=SECRET, at=datetime(4000, 1, 1, tzinfo=UTC))
    with pytest.raises(NotAllowed):
        verify_delivery(far)
