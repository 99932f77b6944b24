"""Remote scorers on loopback: valid and invalid responses, time limits and unreachable servers."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from tests.support.loopback_server import serve_requests

from dissensus.chat.remote_scorer import BATCH_SIZE, RemoteModel, open_remote_model
from dissensus.errors import DissensusError, InvalidInput, NotAllowed, NotFound, Unavailable
from dissensus.preference.jury.group_scorer import GroupScorer
from dissensus.schema.records.conversation import Conversation

ABOUT = {"name": "far", "sha256": "a" * 64, "purpose": "harmless"}
TALK = Conversation.from_turns([("human", "Hi"), ("bot", "Hello"), ("human", "And?"), ("bot", "No.")])
MUTE = Conversation.from_turns([("human", "Hi")])


class Server:
    """A configurable server that records its requests."""

    def __init__(self) -> None:
        self.about: tuple[int, Any] = (200, ABOUT)
        self.answer: Callable[[dict[str, Any]], tuple[int, Any]] = self.lengths
        self.bodies: list[dict[str, Any]] = []
        self.tokens: list[str | None] = []
        self.over = threading.Event()

    @staticmethod
    def lengths(body: dict[str, Any]) -> tuple[int, Any]:
        """Score a turn of the bot by its length."""
        scores = [
            [float(len(one["content"])) for one in talk if one["role"] == "assistant"] for talk in body["transcripts"]
        ]
        return 200, {"model": ABOUT, "scores": scores}


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.say(*state.about)

        def do_POST(self) -> None:
            state.tokens.append(self.headers["authorization"])
            state.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.say(*state.answer(state.bodies[-1]))

        def say(self, status: int, body: Any) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with serve_requests(Handler) as state.url:  # type: ignore[attr-defined]
        yield state
        state.over.set()


def open_model(server: Server, **options: Any) -> Any:
    """Open the model without waiting between attempts."""
    return open_remote_model(server.url, sleep=lambda _: None, **options)  # type: ignore[attr-defined]


def score(server: Server, *talks: Conversation, **options: Any) -> list[list[float]]:
    with open_model(server, **options) as model:
        scores: list[list[float]] = model.score(talks or [TALK])
        return scores


def test_every_turn_of_the_bot_has_a_score(server: Server) -> None:
    assert score(server, TALK, MUTE) == [[5.0, 3.0], []]
    assert server.bodies[0]["transcripts"][1] == [{"role": "user", "content": "Hi"}]


def test_the_server_reports_its_purpose_and_identity(server: Server) -> None:
    with open_model(server) as model:
        assert isinstance(model, RemoteModel)
        assert (model.purpose, model.identity) == ("harmless", ("far", "a" * 64))


def test_many_conversations_are_scored_in_batches(server: Server) -> None:
    assert score(server, *[TALK] * (2 * BATCH_SIZE + 1)) == [[5.0, 3.0]] * (2 * BATCH_SIZE + 1)
    assert [len(body["transcripts"]) for body in server.bodies] == [BATCH_SIZE, BATCH_SIZE, 1]


def test_a_server_without_a_purpose_needs_one_from_the_caller(server: Server) -> None:
    for about in ((404, {}), (405, b"no"), (200, b"<html>"), (200, b""), (200, ["?"]), (200, {"purpose": "mischief"})):
        server.about = about
        with pytest.raises(InvalidInput, match="does not report the purpose of its model"):
            score(server)
        assert score(server, purpose="helpful") == [[5.0, 3.0]]


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (200, {"scores": [[float("nan"), 1.0]]}, "gives nan for conversation 1, which is not a finite number"),
        (200, b'{"scores": [[1e999, 1.0]]}', "which is not a finite number"),
        (200, {"scores": [[10**400, 1]]}, "for conversation 1, which is not a finite number"),
        (200, {"scores": [["1", "2"]]}, "gives '1' for conversation 1"),
        (200, {"scores": [[True, 1]]}, "gives True for conversation 1"),
        (200, {"scores": [[1.0]]}, "for conversation 1, which has 2 turns of the bot"),
        (200, {"scores": [[1.0, 2.0], []]}, r"2 lists of scores for 1 conversation\."),
        (200, {"scores": [None]}, "None for conversation 1"),
        (200, {"score": 1}, "no list of scores"),
        (200, [], "no list of scores"),
        (200, b"", "no list of scores"),
        (200, b"<html>", "does not answer with JSON"),
        (200, b"[" * 100_000, "does not answer with JSON"),
        (500, b"oh no", r"it answers HTTP 500 \(try 3 of 3\)"),
        (429, {}, r"it answers HTTP 429 \(try 3 of 3\)"),
        (302, {}, "refuses this with HTTP 302"),
        (413, {"detail": "too much"}, "refuses this with HTTP 413: too much"),
    ],
)
def test_invalid_responses_are_refused(server: Server, status: int, body: Any, says: str) -> None:
    server.answer = lambda _: (status, body)
    with pytest.raises(InvalidInput if status == 413 else Unavailable, match=says):
        score(server)


def test_a_late_response_is_refused(server: Server) -> None:
    def late(_: dict[str, Any]) -> tuple[int, Any]:
        server.over.wait()
        return 200, {}

    server.answer = late
    with pytest.raises(Unavailable, match=r"no response for 0\.1 seconds"):
        score(server, timeout=0.1, max_attempts=1)


def test_a_changed_model_is_refused(server: Server) -> None:
    server.answer = lambda _: (200, {"model": {**ABOUT, "sha256": "b" * 64}, "scores": [[1.0, 2.0]]})
    with pytest.raises(Unavailable, match="another model than before"):
        score(server)


AS_WOMAN, GENDERS = "rater_gender=Woman", {"rater_gender": ["Man", "Woman"]}


def test_the_view_is_sent_with_every_batch(server: Server) -> None:
    server.about = (200, {**ABOUT, "groups": {**GENDERS, "odd": 3}, "quantiles": True})
    with open_model(server) as model:
        assert GroupScorer(model=model, as_group=AS_WOMAN).score([TALK] * (BATCH_SIZE + 1)) == [[5.0, 3.0]] * (
            BATCH_SIZE + 1
        )
        assert (
            GroupScorer(model=model, quantile=0.05).score([TALK])
            == GroupScorer(model=model).score([TALK])
            == [[5.0, 3.0]]
        )
        assert model.groups == {"rater_gender": ("Man", "Woman")}
    views = [{name: value for name, value in body.items() if name != "transcripts"} for body in server.bodies]
    assert views == [{"as_group": AS_WOMAN}, {"as_group": AS_WOMAN}, {"quantile": 0.05}, {}]


@pytest.mark.parametrize(
    ("about", "view", "error", "message"),
    [
        ({"groups": GENDERS}, {"as_group": "rater_gender=Women"}, NotFound, "Did you mean 'Woman'"),
        ({"groups": GENDERS}, {"quantile": 0.05}, InvalidInput, "does not report that its model has spreads"),
        ({"groups": ["Woman"]}, {"as_group": AS_WOMAN}, InvalidInput, "does not report that its model has groups"),
        ({}, {"as_group": AS_WOMAN}, InvalidInput, "does not report that its model has groups"),
        ({"quantiles": True}, {"quantile": 2.0}, InvalidInput, "The quantile is 2; give a share between 0 and 1"),
        ({"quantiles": "yes"}, {"quantile": 0.05}, InvalidInput, "does not report that its model has spreads"),
    ],
)
def test_unsupported_views_are_refused_before_a_request(
    server: Server, about: dict[str, Any], view: dict[str, Any], error: type[DissensusError], message: str
) -> None:
    server.about = (200, {**ABOUT, **about})
    with open_model(server) as model, pytest.raises(error, match=message):
        GroupScorer(model=model, **view)
    assert not server.bodies


def test_the_key_is_sent_and_not_shown(server: Server) -> None:
    server.answer = lambda _: (403, {"detail": "no secret-key please"})
    with pytest.raises(NotAllowed, match="no … please"):
        score(server, key="secret-key")
    assert server.tokens == ["Bearer secret-key"]


@pytest.mark.parametrize("url", ["http://scores.example/score", "ftp://127.0.0.1", "https://a:b@x.example", "score"])
def test_invalid_addresses_are_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="is not an https address"), open_remote_model(url):
        pass


def test_a_refused_connection_is_reported() -> None:
    with pytest.raises(Unavailable, match="is not available"), open_remote_model("http://127.0.0.1:9", max_attempts=1):
        pass


def test_an_unusable_environment_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/none/such.pem")
    with pytest.raises(Unavailable, match="SSL_CERT_FILE"), open_remote_model("https://scores.example/score"):
        pass
