"""The service that scores: what it takes, what it says, and what it refuses."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.preference.pairs import simulated
from tests.web.live import answering

from dissensus.preference.linear import Linear
from dissensus.preference.model import Identity
from dissensus.preference.training import train
from dissensus.web.guard import MOST_FROM_PROGRAMS
from dissensus.web.scoring import MOST, create_scoring_app

NAME = Identity("taste", "f" * 64)
ABOUT = {"name": "taste", "sha256": "f" * 64, "purpose": "harmless"}
MESSAGES = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "kill"},
    {"role": "user", "content": "What?"},
    {"role": "assistant", "content": "sorry"},
]
TRANSCRIPT = "\n\nHuman: Hi\n\nAssistant: kill\n\nHuman: What?\n\nAssistant: sorry"


@pytest.fixture(scope="module")
def model() -> Linear:
    return train(simulated(200)[0], purpose="harmless")


@pytest.fixture(scope="module")
def http(model: Linear) -> Iterator[httpx.Client]:
    with answering(create_scoring_app(model, NAME)) as url, httpx.Client(base_url=url, trust_env=False) as client:
        yield client


def test_messages_and_transcripts_have_the_same_scores(http: httpx.Client, model: Linear) -> None:
    found = http.post("/score", json={"transcripts": [MESSAGES, TRANSCRIPT, "sorry", [MESSAGES[1]]]}).json()
    kill, sorry = model.score_answers(["kill", "sorry"]).tolist()
    assert found["model"] == ABOUT
    assert found["scores"] == [[kill, sorry], [kill, sorry], [sorry], []]
    assert found["minimums"] == [kill, kill, sorry, None]


def test_it_says_what_it_is_and_describes_itself(http: httpx.Client) -> None:
    assert http.get("/score").json() == ABOUT
    document = http.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == {"/score"}
    assert set(document["paths"]["/score"]) == {"get", "post"}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "transcripts"),
        ({"transcripts": []}, "at least 1"),
        ({"transcripts": ["x"] * (MOST + 1)}, f"at most {MOST}"),
        ({"transcripts": ["x"], "model": "other"}, "model: Extra inputs"),
        ({"transcripts": [7]}, "transcripts.0"),
        ({"transcripts": ["fine", [{"role": "judge", "content": "x"}]]}, "Transcript 2: "),
        ({"transcripts": [[]]}, "Transcript 1: "),
        ({"transcripts": ["a\x00b"]}, "Transcript 1: "),
    ],
)
def test_what_cannot_be_scored_is_told(http: httpx.Client, body: dict[str, Any], says: str) -> None:
    answer = http.post("/score", json=body)
    assert answer.status_code == 422
    assert says in answer.json()["detail"]
    assert len(answer.text) < 2_000


def test_no_more_is_read_than_is_taken(http: httpx.Client) -> None:
    large = b'{"transcripts": ["' + b"x" * MOST_FROM_PROGRAMS + b'"]}'
    assert http.post("/score", content=large).status_code == 413
    assert http.post("/score", content=iter([large[:1000], large[1000:]])).status_code == 413
    assert http.post("/score", content=b"{").status_code == 422


def test_where_there_is_a_key_who_asks_must_send_it(model: Linear) -> None:
    app = create_scoring_app(model, NAME, key="let-me-in")
    with answering(app) as url, httpx.Client(base_url=url, trust_env=False) as http:
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic let-me-in"}):
            for answer in (http.get("/score", headers=headers), http.post("/score", json={}, headers=headers)):
                assert answer.status_code == 401
        assert http.get("/score", headers={"authorization": "Bearer let-me-in"}).json() == ABOUT
