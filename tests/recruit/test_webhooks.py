"""Webhooks: only what Prolific signed, not long ago, is read."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recruit.fake_prolific import NOW, Delivery, Prolific
from tests.strategies import quick

from dissensus.errors import InvalidInput, NotAllowed
from dissensus.recruit.prolific import ProlificEvent, ProlificEventKind, StudyStatus, SubmissionStatus, verify_event
from dissensus.recruit.prolific.webhooks import MAX_BODY_BYTES, sign_request

SECRET = "cGNqFPb6y0RT3XO9XVSessBDYIbHQ"
ID = "5f0" * 8
RETURNED = {"event_type": "submission.status.change", "resource_id": ID, "participant_id": ID, "status": "RETURNED"}


def signed(payload: object, **how: Any) -> Delivery:
    return Prolific().signed(payload, **{"secret": SECRET, **how})


def read(given: Delivery, **how: Any) -> ProlificEvent:
    return verify_event(given.headers, given.body, **{"secret": SECRET, "now": NOW, **how})


def test_a_return_is_read() -> None:
    found = read(signed(RETURNED))
    assert (found.kind, found.submission, found.study, found.status) == (
        ProlificEventKind.SUBMISSION,
        ID,
        None,
        SubmissionStatus.RETURNED,
    )
    assert found.at == NOW
    assert found.id


def test_ids_are_in_small_letters_as_those_of_who_enters() -> None:
    assert read(signed({**RETURNED, "resource_id": ID.upper()})).submission == ID
    assert read(signed({"event_type": "study.progress.change", "resource_id": ID.upper()})).study == ID


def test_it_is_signed_as_prolific_documents_it() -> None:
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
    found = read(signed(study))
    assert (found.kind, found.submission, found.study, found.status) == (
        ProlificEventKind.STUDY,
        None,
        ID,
        StudyStatus.PAUSED,
    )
    progress = read(signed({"event_type": "study.progress.change", "resource_id": ID}))
    assert (progress.kind, progress.study, progress.status) == (ProlificEventKind.PROGRESS, ID, None)


def test_what_nobody_knows_is_told_apart_from_what_is_forged() -> None:
    unknown = signed({"event_type": "study.has_high_return_rate", "resource_id": ID, "metadata": {}})
    assert read(unknown).kind is None
    assert read(signed({"event_type": ["x"]})).kind is None
    assert read(signed({**RETURNED, "status": "PROCESSING"})).status is None
    with pytest.raises(NotAllowed):
        read(unknown, secret="another")


def test_a_forged_body_is_refused() -> None:
    with pytest.raises(NotAllowed, match="not signed with the secret"):
        read(signed(RETURNED).forged())


@pytest.mark.parametrize("header", ["X-Prolific-Request-Signature", "X-Prolific-Request-Timestamp"])
@pytest.mark.parametrize("value", [None, "", "ü", "AAAA", "0", "\udcff"])
def test_a_forged_header_is_refused(header: str, value: str | None) -> None:
    given = signed(RETURNED)
    headers = {name: text for name, text in {**given.headers, header: value}.items() if text is not None}
    with pytest.raises(NotAllowed) as error:
        verify_event(headers, given.body, secret=SECRET, now=NOW)
    assert SECRET not in str(error.value)


@quick
@given(st.binary(max_size=60), st.text(max_size=20), st.text(max_size=60))
def test_nobody_signs_by_luck(body: bytes, time: str, signature: str) -> None:
    headers = {"X-Prolific-Request-Timestamp": time, "X-Prolific-Request-Signature": signature}
    with pytest.raises(NotAllowed):
        verify_event(headers, body, secret=SECRET, now=NOW)


@pytest.mark.parametrize(
    ("ago", "fine"),
    [
        (timedelta(), True),
        (timedelta(hours=25), True),
        (timedelta(hours=25, seconds=1), False),
        (timedelta(minutes=-5), True),
        (timedelta(minutes=-5, seconds=-1), False),
    ],
)
def test_it_is_of_about_now(ago: timedelta, fine: bool) -> None:
    given = signed(RETURNED, at=NOW - ago)
    if fine:
        assert read(given).at == NOW - ago
    else:
        with pytest.raises(NotAllowed, match="Is the clock of this machine right"):
            read(given)


def test_limits_and_zones_are_the_callers() -> None:
    given = signed(RETURNED, at=NOW - timedelta(minutes=10))
    assert read(given, now=NOW.astimezone(timezone(timedelta(hours=9)))).at.tzinfo is UTC
    with pytest.raises(NotAllowed, match="too far from now"):
        read(given, oldest=timedelta(minutes=9))


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (b"\xff", "its body is no JSON"),
        (b"{", "its body is no JSON"),
        (b"[" * 50_000, "its body is no JSON"),
        ([RETURNED], "its body is a list"),
        ({**RETURNED, "resource_id": "../studies"}, "resource_id is '../studies', no id"),
        ({**RETURNED, "resource_id": 7}, "resource_id is a number"),
        ({"event_type": "submission.status.change"}, "resource_id is nothing"),
    ],
)
def test_what_is_signed_and_cannot_be_read_is_refused_otherwise(payload: object, words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        read(signed(payload))
    assert words in str(error.value)


def test_an_event_needs_an_id() -> None:
    given = signed(RETURNED)
    with pytest.raises(InvalidInput, match="X-Event-Id is ''"):
        verify_event({**given.headers, "X-Event-Id": ""}, given.body, secret=SECRET, now=NOW)


def test_a_huge_body_is_not_even_looked_at() -> None:
    with pytest.raises(InvalidInput, match="65,536 are allowed"):
        verify_event({}, b"x" * (MAX_BODY_BYTES + 1), secret=SECRET, now=NOW)


def test_an_empty_secret_lets_nobody_in() -> None:
    given = signed(RETURNED)
    with pytest.raises(InvalidInput, match="anybody could sign with that"):
        read(given, secret="")


@pytest.mark.parametrize("time", ["soon", "-1", "1e9", "1893585600000", "nan", ""])
def test_a_time_that_is_signed_and_is_none_is_refused(time: str) -> None:
    headers = {
        "X-Prolific-Request-Timestamp": time,
        "X-Prolific-Request-Signature": sign_request(SECRET, time, b"{}").decode(),
        "X-Event-Id": "e1",
    }
    with pytest.raises(NotAllowed, match="which is no Unix time"):
        verify_event(headers, b"{}", secret=SECRET, now=NOW)


def test_a_time_far_beyond_any_clock_is_refused() -> None:
    state = Prolific()
    far = state.signed(RETURNED, secret=SECRET, at=datetime(4000, 1, 1, tzinfo=UTC))
    with pytest.raises(NotAllowed):
        read(far)
