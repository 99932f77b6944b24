"""How a client asks: again where that helps and harms nothing, and never showing the token."""

import logging
import socket
import traceback
from typing import Any

import pytest
from tests.recruit.fake_prolific import TOKEN, WORKSPACE, Prolific, Trouble
from tests.recruit.studies import CODES, PILOT, arrived, published, statuses

from dissensus.errors import Conflict, DissensusError, InvalidInput, NotAllowed, NotFound, Unavailable
from dissensus.recruit.prolific import ProlificClient, SubmissionStatus

SOMETHING = "5f0" * 8


def test_a_busy_prolific_is_asked_again_when_it_says(
    client: ProlificClient, prolific: Prolific, waits: list[float]
) -> None:
    date = {"Retry-After": "Fri, 31 Dec 2100 00:00:09 GMT", "Date": "Fri, 31 Dec 2100 00:00:00 GMT"}
    prolific.trouble.extend([Trouble(429, {"Retry-After": "7"}), Trouble(429, date), Trouble(429)])
    assert client.create(PILOT) in prolific.studies
    assert waits == [7.0, 9.0, 4.0]


def test_a_busy_prolific_is_not_asked_for_ever(client: ProlificClient, prolific: Prolific, waits: list[float]) -> None:
    prolific.trouble.extend(Trouble(429) for _ in range(9))
    with pytest.raises(Unavailable, match=r"HTTP 429 \(try 4 of 4\). Try later"):
        client.publish(SOMETHING)
    assert waits == [1.0, 2.0, 4.0]
    assert len(prolific.asked) == 4


@pytest.mark.parametrize("after", ["3600", "9" * 400])
def test_nobody_waits_for_long(client: ProlificClient, prolific: Prolific, waits: list[float], after: str) -> None:
    prolific.trouble.append(Trouble(429, {"Retry-After": after}))
    with pytest.raises(Unavailable, match="asks to wait"):
        client.approve(SOMETHING)
    assert waits == []


def test_what_may_be_done_twice_is_asked_again_after_a_fault(client: ProlificClient, prolific: Prolific) -> None:
    made = published(client)
    submission = arrived(prolific, made)
    prolific.complete(submission, CODES["failed_attention"])
    prolific.trouble.extend([Trouble(503), Trouble(500, done=True)])
    client.approve(submission)
    assert statuses(client, made) == [SubmissionStatus.APPROVED]


def test_what_must_not_be_done_twice_is_told_instead(
    client: ProlificClient, prolific: Prolific, waits: list[float]
) -> None:
    prolific.trouble.append(Trouble(502, done=True))
    with pytest.raises(Unavailable, match="It may be done nevertheless: look on"):
        client.create(PILOT)
    assert len(prolific.studies) == 1
    assert waits == []


def test_nobody_there_is_told_after_all_tries(waits: list[float]) -> None:
    with (
        ProlificClient(TOKEN, base="http://127.0.0.1:1", sleep=waits.append, max_attempts=2) as client,
        pytest.raises(Unavailable, match="try 2 of 2"),
    ):
        client.create(PILOT)
    assert waits == [1.0]


def test_who_never_answers_is_given_up_on(waits: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with ProlificClient(TOKEN, base=base, timeout=0.05, max_attempts=3, sleep=waits.append) as client:
            with pytest.raises(Unavailable, match=r"nothing came for 0\.05 seconds \(try 3 of 3\)"):
                client.approve(SOMETHING)
            with pytest.raises(Unavailable, match=r"\(try 1 of 3\)\. It may be done nevertheless"):
                client.create(PILOT)
    assert waits == [1.0, 2.0]


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (400, InvalidInput, "HTTP 400: Not so"),
        (401, NotAllowed, "Is the token right"),
        (403, NotAllowed, "The token may not do this"),
        (404, NotFound, "Is the id right"),
        (409, Conflict, "HTTP 409"),
        (422, InvalidInput, "HTTP 422"),
        (302, Unavailable, "HTTP 302"),
    ],
)
def test_a_refusal_is_told_in_the_words_of_prolific(
    client: ProlificClient, prolific: Prolific, status: int, error: type[DissensusError], words: str
) -> None:
    body = {"error": {"detail": "Not so.", "title": "Bad request"}}
    prolific.trouble.append(Trouble(status, {"Location": "https://elsewhere.example/"}, body))
    with pytest.raises(error) as told:
        client.publish(SOMETHING)
    assert type(told.value) is error
    assert words in str(told.value)
    assert len(prolific.asked) == 1


@pytest.mark.parametrize(
    "body", [b"", b"<html>Sign in</html>", b"[" * 50_000, [], None, {"error": "no"}, {"error": {}}]
)
def test_a_refusal_without_words_is_told_too(client: ProlificClient, prolific: Prolific, body: object) -> None:
    prolific.trouble.append(Trouble(400, body=body))
    with pytest.raises(InvalidInput, match=r"Prolific refuses this with HTTP 400\.$"):
        client.publish(SOMETHING)


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"[" * 50_000, None])
def test_a_page_in_place_of_an_answer_is_told(client: ProlificClient, prolific: Prolific, body: object) -> None:
    prolific.trouble.append(Trouble(200, body=body))
    with pytest.raises(Unavailable, match="something else than JSON"):
        client.create(PILOT)


@pytest.mark.parametrize("body", [b"", [], {}, {"results": None}, {"results": [1]}, {"results": [{"id": 7}]}, "no"])
def test_an_answer_of_another_form_is_told(client: ProlificClient, prolific: Prolific, body: object) -> None:
    prolific.trouble.extend([Trouble(200, body=body)] * 3)
    with pytest.raises(Unavailable):
        list(client.submissions(SOMETHING))
    with pytest.raises(Unavailable, match="did not tell its id"):
        client.create(PILOT)
    with pytest.raises(Unavailable, match="did not tell it"):
        client.new_secret(WORKSPACE)


def test_a_count_that_is_none_is_no_fault(client: ProlificClient, prolific: Prolific) -> None:
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
    told = "".join(traceback.format_exception(error.value))
    assert wrong not in f"{client!r} {vars(client)} {told} {caplog.text}"
    assert error.value.__context__ is None or wrong not in repr(error.value.__context__)


@pytest.mark.parametrize("token", ["", " ", "a b", "a\nb", "tökén"])
def test_a_token_that_cannot_be_one_is_refused_unseen(token: str) -> None:
    with pytest.raises(InvalidInput, match="Copy it again") as error:
        ProlificClient(token)
    assert not token.strip() or token not in str(error.value)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"base": "http://api.prolific.com"}, "is no https address"),
        ({"timeout": 0}, "timeout is 0"),
        ({"max_attempts": 0}, "max_attempts is 0"),
    ],
)
def test_a_client_that_could_not_work_is_refused(how: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        ProlificClient(TOKEN, **how)
    assert words in str(error.value)


def test_proxies_that_are_none_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "gopher://nowhere")
    with pytest.raises(Unavailable, match="No connection can be made"):
        ProlificClient(TOKEN)
