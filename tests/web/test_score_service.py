"""Scoring service: requests, responses and errors."""

import gc
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pytest
from tests.preference.pairs import simulate_pairs
from tests.preference.people import people
from tests.support.hostile_requests import MIB, costly_bodies, costly_json
from tests.support.live_site import answering
from tests.support.loop_clock import LoopClock
from tests.support.rated_texts import simulate_rated_texts

from dissensus.preference.data.examples import RATER
from dissensus.preference.fit.training import TrainingPlan, train
from dissensus.preference.jury.training import train_jury
from dissensus.preference.models.groups import Groups
from dissensus.preference.models.linear import Linear
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.preference.models.model import ModelIdentity
from dissensus.web.middleware.request_limits import MAX_API_BYTES
from dissensus.web.score_service import MAX_TRANSCRIPTS, ScoreRequest, create_scoring_app

NAME = ModelIdentity("taste", "f" * 64)
ABOUT = {"name": "taste", "sha256": "f" * 64, "purpose": "harmless"}
DESCRIPTION = {**ABOUT, "groups": {}, "quantiles": False}
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
    return train(simulate_pairs(200)[0], purpose="harmless")


@pytest.fixture(scope="module")
def http(model: Linear) -> Iterator[httpx.Client]:
    with answering(create_scoring_app(model, NAME)) as url, httpx.Client(base_url=url, trust_env=False) as client:
        yield client


def test_messages_and_transcripts_have_the_same_scores(http: httpx.Client, model: Linear) -> None:
    body = http.post("/score", json={"transcripts": [MESSAGES, TRANSCRIPT, "sorry", [MESSAGES[1]]]}).json()
    kill, sorry = model.score_answers(["kill", "sorry"]).tolist()
    assert body["model"] == ABOUT
    assert body["scores"] == [[kill, sorry], [kill, sorry], [sorry], []]
    assert body["minimums"] == [kill, kill, sorry, None]


def test_a_jury_model_scores_for_each_group() -> None:
    jury = train_jury(simulate_rated_texts(), by=["gender"])
    blunt = "This is kind blunt talk of tea and rain and maps."
    with answering(create_scoring_app(jury, NAME)) as url, httpx.Client(base_url=url, trust_env=False) as client:
        assert client.get("/score").json()["groups"] == {"rater_gender": ["Man", "Woman"]}
        men, women = (
            client.post("/score", json={"transcripts": [blunt], "as_group": f"rater_gender={group}"}).json()["scores"]
            for group in ("Man", "Woman")
        )
        refused = client.post("/score", json={"transcripts": [blunt], "as_group": "rater_gender=Girl"})
    assert men[0][0] > 0 > women[0][0]
    assert (refused.status_code, "There was no group 'Girl'" in refused.json()["detail"]) == (422, True)


def test_the_service_describes_its_model(http: httpx.Client) -> None:
    assert http.get("/score").json() == DESCRIPTION
    document = http.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == {"/score"}
    assert set(document["paths"]["/score"]) == {"get", "post"}
    properties = document["components"]["schemas"]["ScoreRequest"]["properties"]
    assert "rater_gender=Woman" in properties["as_group"]["description"]
    assert properties["quantile"]["anyOf"][0] == {"type": "number", "exclusiveMinimum": 0.0, "exclusiveMaximum": 1.0}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "transcripts"),
        ({"transcripts": []}, "at least 1"),
        ({"transcripts": ["x"] * (MAX_TRANSCRIPTS + 1)}, f"at most {MAX_TRANSCRIPTS}"),
        ({"transcripts": ["x"], "model": "other"}, "model: Extra inputs"),
        ({"transcripts": [7]}, "transcripts.0"),
        ({"transcripts": ["fine", [{"role": "judge", "content": "x"}]]}, "Transcript 2: "),
        ({"transcripts": [[]]}, "Transcript 1: "),
        ({"transcripts": ["a\x00b"]}, "Transcript 1: "),
        ({"transcripts": ["x"], "as_group": "rater_gender=Woman"}, "has no groups, so it cannot score as one"),
        ({"transcripts": ["x"], "as_group": "x" * 1001}, "as_group"),
        ({"transcripts": ["x"], "quantile": 0.05}, "has no spread, so it has no quantiles"),
        ({"transcripts": ["x"], "quantile": 1}, "quantile: Input should be less than 1"),
    ],
)
def test_invalid_transcripts_are_rejected(http: httpx.Client, body: dict[str, Any], says: str) -> None:
    answer = http.post("/score", json=body)
    assert answer.status_code == 422
    assert says in answer.json()["detail"]
    assert len(answer.text) < 2_000


@pytest.fixture(scope="module")
def groups() -> Groups:
    trained = train(
        people(1.5, seed=3, n_training=120, rater_sd=1.5).votes, purpose="helpful", plan=TrainingPlan(kind="groups")
    )
    assert isinstance(trained, Groups)
    assert set(trained.effects) == {"rater_gender", RATER}
    return trained


@pytest.fixture(scope="module")
def by_group(groups: Groups) -> Iterator[httpx.Client]:
    with answering(create_scoring_app(groups, NAME)) as url, httpx.Client(base_url=url, trust_env=False) as client:
        yield client


def test_a_group_model_scores_for_each_group(by_group: httpx.Client, groups: Groups) -> None:
    body = by_group.get("/score").json()
    assert body["groups"] == {axis: list(names) for axis, names in groups.axes.items() if axis != RATER}
    for name in body["groups"]["rater_gender"]:
        group = f"rater_gender={name}"
        response = by_group.post("/score", json={"transcripts": ["tea"], "as_group": group}).json()
        assert response["scores"] == [groups.score_answers(["tea"], as_group=group).tolist()]
        assert response["model"] == {"name": f"taste as {group}", "sha256": "f" * 64, "purpose": "helpful"}
    ungrouped = by_group.post("/score", json={"transcripts": ["tea"], "as_group": None}).json()
    assert ungrouped["scores"] == [groups.score_answers(["tea"]).tolist()]


def test_raters_are_not_disclosed(by_group: httpx.Client, groups: Groups) -> None:
    for group, says in (
        (f"{RATER}={groups.axes[RATER][0]}", "Scores of single raters are not available over a network"),
        (f"{RATER}=", "Scores of single raters are not available over a network"),
        (RATER, "Scores of single raters are not available over a network"),
        ("", "is not a group. Write axis=group, such as rater_"),
        ("rater_gender=Women", "Did you mean 'Woman'"),
        ("rater_shoes=red", "There was no axis 'rater_shoes'"),
    ):
        answer = by_group.post("/score", json={"transcripts": ["tea"], "as_group": group})
        assert answer.status_code == 422
        assert says in answer.json()["detail"]
        assert not any(rater in answer.text.removeprefix(group) for rater in groups.axes[RATER])
    assert groups.axes[RATER][0] not in by_group.get("/score").text


def test_a_mean_variance_model_scores_quantiles() -> None:
    spread = train(simulate_pairs(100)[0], purpose="harmless", plan=TrainingPlan(kind="mean-variance"))
    assert isinstance(spread, MeanVariance)
    with answering(create_scoring_app(spread, NAME)) as url, httpx.Client(base_url=url, trust_env=False) as http:
        assert http.get("/score").json() == {**ABOUT, "groups": {}, "quantiles": True}
        body = http.post("/score", json={"transcripts": ["sorry"], "quantile": 0.05}).json()
        refused = http.post("/score", json={"transcripts": ["sorry"], "quantile": 0.05, "as_group": "a=b"})
    assert body["scores"] == [spread.score_answers(["sorry"], quantile=0.05).tolist()]
    assert body["model"]["name"] == "taste at 0.05"
    assert refused.status_code == 422


def test_oversized_requests_are_not_read(http: httpx.Client) -> None:
    large = b'{"transcripts": ["' + b"x" * MAX_API_BYTES + b'"]}'
    assert http.post("/score", content=large).status_code == 413
    assert http.post("/score", content=iter([large[:1000], large[1000:]])).status_code == 413
    assert http.post("/score", content=b"{").status_code == 422


def test_a_configured_key_is_required(model: Linear) -> None:
    app = create_scoring_app(model, NAME, key="let-me-in")
    with answering(app) as url, httpx.Client(base_url=url, trust_env=False) as http:
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic let-me-in"}):
            for answer in (http.get("/score", headers=headers), http.post("/score", json={}, headers=headers)):
                assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert http.get("/score", headers={"authorization": "Bearer let-me-in"}).json() == DESCRIPTION


def write_transcripts(n: int, n_turns: int) -> bytes:
    return json.dumps({"transcripts": [[{"role": "assistant", "content": "x" * 40}] * n_turns] * n}).encode()


@pytest.mark.slow
def test_nobody_waits_for_large_requests(model: Linear) -> None:
    bodies = {
        **costly_json(MIB),
        **costly_bodies(ScoreRequest),
        "many messages": write_transcripts(1_000, 22),
        "one transcript": write_transcripts(1, 100_000),
    }
    app, clock = create_scoring_app(model, NAME), LoopClock()
    app.add_api_route("/clock", clock.start)
    faults, statuses = list[str](), dict[str, int]()
    with answering(app) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
        client.get("/clock").raise_for_status()
        # As a worker does after its start.
        gc.collect()
        gc.freeze()

        def send(name: str, body: bytes) -> None:
            response = client.post("/score", content=body, headers={"content-type": "application/json"})
            statuses[name] = response.status_code

        for name, body in bodies.items():
            faults += (f"{name}: {fault}" for fault in clock.measure(partial(send, name, body)))
    assert not faults, "\n".join(faults)
    assert statuses.pop("many messages") == 200
    assert set(statuses.values()) <= {400, 422}
