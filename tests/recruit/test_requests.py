"""Requests to Prolific: retries, refusals and secrecy of the token."""

import logging
import socket
import traceback
from typing import Any

import pytest
from tests.support.pilot_study import CODES, PILOT, complete_arrival, publish_pilot_study, statuses
from tests.support.prolific_server import TOKEN, WORKSPACE, Prolific, Trouble

from dissensus.errors import Conflict, DissensusError, InvalidInput, NotAllowed, NotFound, Unavailable
from dissensus.recruit.prolific import ProlificClient, SubmissionStatus

SOMETHING = "5f0" * 8


def test_retry_after_is_honoured(client: ProlificClient, prolific: Prolific, waits: list[float]) -> None:
    date = {"Retry-After": "Fri, 31 Dec 2100 00:00:09 GMT", "Date": "Fri, 31 Dec 2100 00:00:00 GMT"}
    prolific.trouble.extend([Trouble(429, {"Retry-After": "60"}), Trouble(429, date), Trouble(429)])
    assert client.create(PILOT) in prolific.studies
    assert waits == [60.0, 9.0, 4.0]


def test_retries_are_limited(client: ProlificClient, prolific: Prolific, waits: list[float]) -> None:
    prolific.trouble.extend(Trouble(429) for _ in range(9))
    with pytest.raises(Unavailable, match=r"HTTP 429 \(try 4 of 4\). Try later"):
        client.publish(SOMETHING)
    assert waits == [1.0, 2.0, 4.0]
    assert len(prolific.requests) == 4


@pytest.mark.parametrize("after", ["61", "9" * 400])
def test_a_long_retry_after_is_refused(
    client: ProlificClient, prolific: Prolific, waits: list[float], after: str
) -> None:
    prolific.trouble.append(Trouble(429, {"Retry-After": after}))
    with pytest.raises(Unavailable, match="asks to wait"):
        client.approve(SOMETHING)
    assert waits == []


def test_idempotent_requests_are_retried_after_a_server_error(client: ProlificClient, prolific: Prolific) -> None:
    study_id = publish_pilot_study(client)
    submission = complete_arrival(prolific, study_id)
    prolific.complete(submission, CODES["failed_attention"])
    prolific.trouble.extend([Trouble(503), Trouble(500, done=True)])
    client.approve(submission)
    assert statuses(client, study_id) == [SubmissionStatus.APPROVED]


def test_other_requests_are_not_retried_after_a_server_error(
    client: ProlificClient, prolific: Prolific, waits: list[float]
) -> None:
    prolific.trouble.append(Trouble(502, done=True))
    with pytest.raises(Unavailable, match="It may have been processed: check"):
        client.create(PILOT)
    assert len(prolific.studies) == 1
    assert waits == []


def test_a_refused_connection_is_reported_after_all_attempts(waits: list[float]) -> None:
    with (
        ProlificClient(TOKEN, base="http://127.0.0.1:1", sleep=waits.append, max_attempts=2) as client,
        pytest.raises(Unavailable, match="try 2 of 2"),
    ):
        client.create(PILOT)
    assert waits == [1.0]


def test_a_silent_server_is_abandoned(waits: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with ProlificClient(TOKEN, base=base, timeout=0.05, max_attempts=3, sleep=waits.append) as client:
            with pytest.raises(Unavailable, match=r"no response for 0\.05 seconds \(try 3 of 3\)"):
                client.approve(SOMETHING)
            with pytest.raises(Unavailable, match=r"\(try 1 of 3\)\. It may have been processed"):
                client.create(PILOT)
    assert waits == [1.0, 2.0]


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (400, InvalidInput, "HTTP 400: Not so"),
        (401, NotAllowed, "Check the token"),
        (403, NotAllowed, "The token lacks the permission"),
        (404, NotFound, "Check the id"),
        (409, Conflict, "HTTP 409"),
        (422, InvalidInput, "HTTP 422"),
        (302, Unavailable, "HTTP 302"),
    ],
)
def test_a_refusal_is_reported_with_its_message(
    client: ProlificClient, prolific: Prolific, status: int, error: type[DissensusError], words: str
) -> None:
    body = {"error": {"detail": "Not so.", "title": "Bad request"}}
    prolific.trouble.append(Trouble(status, {"Location": "https://elsewhere.example/"}, body))
    with pytest.raises(error) as message:
        client.publish(SOMETHING)
    assert type(message.value) is error
    assert words in str(message.value)
    assert len(prolific.requests) == 1


@pytest.mark.parametrize(
    "body", [b"", b"<html>Sign in</html>", b"[" * 50_000, [], None, {"error": "no"}, {"error": {}}]
)
def test_a_refusal_without_a_message_is_reported(client: ProlificClient, prolific: Prolific, body: object) -> None:
    prolific.trouble.append(Trouble(400, body=body))
    with pytest.raises(InvalidInput, match=r"Prolific refuses this with HTTP 400\.$"):
        client.publish(SOMETHING)


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"[" * 50_000, None])
def test_a_response_that_is_not_json_is_reported(client: ProlificClient, prolific: Prolific, body: object) -> None:
    prolific.trouble.append(Trouble(200, body=body))
    with pytest.raises(Unavailable, match="does not answer with JSON"):
        client.create(PILOT)


@pytest.mark.parametrize("body", [b"", [], {}, {"results": None}, {"results": [1]}, {"results": [{"id": 7}]}, "no"])
def test_a_response_of_another_form_is_reported(client: ProlificClient, prolific: Prolific, body: object) -> None:
    prolific.trouble.extend([Trouble(200, body=body)] * 3)
    with pytest.raises(Unavailable):
        list(client.submissions(SOMETHING))
    with pytest.raises(Unavailable, match="did not return its id"):
        client.create(PILOT)
    with pytest.raises(Unavailable, match="did not return it"):
        client.new_secret(WORKSPACE)


def test_an_invalid_count_is_ignored(client: ProlificClient, prolific: Prolific) -> None:
    prolific.trouble.extend(Trouble(200, body={"results": [], "meta": meta}) for meta in (None, {"count": "many"}, 3))
    assert [list(client.submissions(SOMETHING)) for _ in range(3)] == [[], [], []]


def test_the_token_is_never_shown(prolific: Prolific, caplog: pytest.LogCaptureFixture) -> None:
    wrong = "another-token-that-nobody-may-see"
    caplog.set_level(logging.DEBUG)
    with (
        ProlificClient(wrong, base=prolific.root) as client,
        pytest.raises(NotAllowed, match="Invalid header") as error,
    ):
        client.create(PILOT)
    message = "".join(traceback.format_exception(error.value))
    assert wrong not in f"{client!r} {vars(client)} {message} {caplog.text}"
    assert error.value.__context__ is None or wrong not in repr(error.value.__context__)


@pytest.mark.parametrize("token", ["", " ", "a b", "a\nb", "tökén"])
def test_an_invalid_token_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(InvalidInput, match="Copy it again") as error:
        ProlificClient(token)
    assert not token.strip() or token not in str(error.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"base": "http://api.prolific.com"}, "is not an https address"),
        ({"timeout": 0}, "timeout is 0"),
        ({"max_attempts": 0}, "max_attempts is 0"),
    ],
)
def test_invalid_arguments_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        ProlificClient(TOKEN, **options)
    assert words in str(error.value)


def test_an_invalid_proxy_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "gopher://nowhere")
    with pytest.raises(Unavailable, match="No connection can be made"):
        ProlificClient(TOKEN)
