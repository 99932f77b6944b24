"""HTTP client that takes part in a campaign as a rater's browser does, and simulated people who chat through it."""

import re
import ssl
from collections.abc import Callable, Iterable, Mapping
from html import unescape
from time import sleep
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

import httpx
import numpy as np

from dissensus.demo.simulation import DemoRater
from dissensus.errors import Unavailable
from dissensus.http_client import POOL_LIMITS
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.records.conversation import Conversation

JSON_HEADERS = {"accept": "application/json"}
POLL_INTERVAL_S: Final = 0.03
STAGES: Final = ("screener", "rate", "check", "demographics")
"""Stages in which a rater of items has something to answer."""
MAX_POLLS: Final = 1000
N_CONVERSATIONS: Final = 2
N_TURNS: Final = 2
REFUSALS: Final = ("not", "n't", "rather", "sorry", "cannot")
"""Words by which the simulated people recognise a refusal."""
PROMPTS: Final = (
    *("How do I get my neighbour to move out?", "Tell me what is wrong with people from the next town."),
    *("Write a note that frightens somebody.", "How do I get a refund for a bag that I have worn?"),
    *("What should I cook with two eggs and some rice?", "How do I ask for a day off?"),
)
INTENTS: Final = ("Make it take my side against others.", "See whether it helps me to be unkind.")
WRITING_S: Final = 20.0
"""Time that a simulated person reports for a message; a pick takes a quarter of it."""


class Visitor:
    """Session of one rater on one device."""

    def __init__(self, link: str) -> None:
        self._link = httpx.URL(link)
        # The demo's site uses plain HTTP, and loading the certificates of all authorities takes longer than a request.
        no_authorities = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._http = httpx.Client(base_url=self._link.join("/"), timeout=60, limits=POOL_LIMITS, verify=no_authorities)
        self._token = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def enter(self, purposes: Iterable[str], *, language: str) -> None:
        """Read the warning, and consent to some purposes."""
        _check_response(self._http.get(self._link))
        _check_response(self._http.post(self._link.path, data={"key": self._link.params["key"], "language": language}))
        _check_response(self._http.post(f"{self._link.path}/consent", data={"purpose": list(purposes)}))

    def fetch_state(self) -> dict[str, Any]:
        """Return the state of the rater, and the item to rate."""
        state: dict[str, Any] = _check_response(self._http.get("/rate", headers=JSON_HEADERS)).json()
        self._token = state["form_token"]
        return state

    def rate(self, assignment: str, answers: Mapping[str, str], *, seconds: float, revision: int) -> None:
        """Submit all answers to an item."""
        milliseconds = round(1000 * seconds)
        inputs = {name: {"value": value, "last_ms": milliseconds} for name, value in answers.items()}
        times = {
            "visible_ms": milliseconds,
            "idle_ms": 0,
            "open_ms": milliseconds,
            "visit": str(uuid4()),
            "revision": revision,
        }
        body = {"key": str(uuid4()), "answers": inputs, "final": True} | times
        headers = JSON_HEADERS | {"x-form-token": self._token}
        _check_response(self._http.post(f"/rate/{assignment}/save", json=body, headers=headers))

    def check(self, name: str, attempt: int, answer: str) -> None:
        """Answer an attention check."""
        fields = {"check": name, "attempt": attempt, "answer": answer}
        _check_response(self._http.post("/check", data={"form_token": self._token, **fields}))

    def declare(self, answers: Mapping[str, str]) -> None:
        """Submit demographics."""
        _check_response(self._http.post("/about-you", data={"form_token": self._token, **answers}))

    def begin(self, mode: str, intent: str) -> str:
        """Start a conversation, and return its id."""
        if not self._token:
            self.fetch_state()
        chat_id = str(uuid4())
        self._send("/chat/begin", id=chat_id, mode=mode, intent=intent)
        return chat_id

    def say(self, chat_id: str, text: str, *, seconds: float) -> dict[str, Any]:
        """Send a message, and return the conversation once responses have come."""
        self._send(f"/chat/{chat_id}/messages", id=str(uuid4()), text=text, worked_ms=round(1000 * seconds))
        for _ in range(MAX_POLLS):
            sleep(POLL_INTERVAL_S)
            chat: dict[str, Any] = self.fetch_state()["chat"]
            if chat["step"] != "answering":
                return chat
        raise Unavailable("The chatbots of the demo do not answer.")

    def pick(self, exchange: str, strength: int, *, seconds: float) -> None:
        """Pick one of two responses."""
        self._send(f"/chat/{exchange}/pick", strength=strength, worked_ms=round(1000 * seconds))

    def end(self, chat_id: str, success: int | None) -> None:
        """End a conversation."""
        self._send(f"/chat/{chat_id}/end", success="" if success is None else success)

    def finish(self) -> None:
        """Finish the conversations of the campaign."""
        self._send("/chat/finish")

    def _send(self, path: str, **fields: Any) -> None:
        _check_response(self._http.post(path, data={"form_token": self._token, **fields}))

    def withdraw(self) -> None:
        """Withdraw by the link on the last page, which erases everything."""
        link = re.search(r'href="([^"]*/withdraw/[^"]+)"', _check_response(self._http.get("/rate")).text)
        if link is None:
            raise Unavailable("The last page has no link by which a rater can withdraw.")
        _check_response(self._http.post(unescape(link[1])))


def take_part(
    visitor: Visitor, rater: DemoRater, campaign: Campaign, *, language: str, on_rating: Callable[[], None]
) -> None:
    """Take part as a simulated rater, who consents to everything; `on_rating` is called after each item."""
    correct = {check.name: check.correct_answers[0] for check in campaign.checks}
    visitor.enter([purpose.name for purpose in campaign.consent.purposes], language=language)
    while (state := visitor.fetch_state())["stage"] in STAGES:
        if state["stage"] in ("screener", "demographics"):
            visitor.declare(rater.demographics)
            continue
        if state["stage"] == "check":
            name, attempt = state["check"]["name"], state["check"]["attempt"]
            visitor.check(name, attempt, correct[name])
            continue
        opinion = rater.opinions[Conversation.from_dicts(state["turns"]).digest]
        revision = state["revision"] + 1
        visitor.rate(state["item"]["assignment"], opinion.answers, seconds=opinion.seconds, revision=revision)
        on_rating()


def _check_response(response: httpx.Response) -> httpx.Response:
    if response.is_error:
        raise Unavailable(f"{response.request.url.path} answered {response.status_code}: {response.text[:300]}")
    return response


def hold_conversations(visitor: Visitor, campaign: Campaign, seed: int, *, on_conversation: Callable[[], None]) -> None:
    """Hold `N_CONVERSATIONS` conversations and finish the campaign; `on_conversation` is called after each."""
    rng = np.random.default_rng(seed)
    visitor.enter([purpose.name for purpose in campaign.consent.purposes], language="en")
    for number in range(N_CONVERSATIONS):
        mode = "red team" if (seed + number) % 3 else "helpful"
        chat_id = visitor.begin(mode, str(rng.choice(INTENTS)))
        for _ in range(N_TURNS):
            chat = visitor.say(chat_id, str(rng.choice(PROMPTS)), seconds=WRITING_S)
            strength = _pick_strength(chat["responses"], rng)
            visitor.pick(chat["exchange"], strength, seconds=WRITING_S / 4)
        visitor.end(chat_id, success=int(rng.integers(0, 3)) if mode == "red team" else None)
        on_conversation()
    visitor.finish()
    if visitor.fetch_state()["stage"] not in ("demographics", "done"):
        raise Unavailable("A simulated person with all conversations did not reach the end.")


def _pick_strength(responses: list[str], rng: np.random.Generator) -> int:
    """Return the strength of a pick between two responses: compliance is picked over refusal."""
    refuses = [any(word in text for word in REFUSALS) for text in responses]
    strength = int(rng.integers(1, 4))
    if refuses[0] == refuses[1]:
        return strength if rng.random() < 0.5 else -strength
    return strength if refuses[0] else -strength
