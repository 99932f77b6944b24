"""A rater's browser without a screen: takes part in a campaign over HTTP, as people do."""

import re
from collections.abc import Callable, Iterable, Mapping
from html import unescape
from time import sleep
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

import httpx

from dissensus.demo.simulated import DrawnRater
from dissensus.errors import Unavailable
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.records.conversation import Conversation

AS_DATA = {"accept": "application/json"}
PAUSE_S: Final = 0.03
TRIES: Final = 1000


class Visitor:
    """One rater on one device."""

    def __init__(self, link: str) -> None:
        self._link = httpx.URL(link)
        self._http = httpx.Client(base_url=self._link.join("/"), timeout=60)
        self._token = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.close()

    def enter(self, purposes: Iterable[str], *, language: str) -> None:
        """Read the warning, and agree to some purposes."""
        _done(self._http.get(self._link))
        _done(self._http.post(self._link.path, data={"key": self._link.params["key"], "language": language}))
        _done(self._http.post(f"{self._link.path}/consent", data={"purpose": list(purposes)}))

    def where(self) -> dict[str, Any]:
        """Return the place where the rater is, and what is to be rated there."""
        found: dict[str, Any] = _done(self._http.get("/rate", headers=AS_DATA)).json()
        self._token = found["form_token"]
        return found

    def rate(self, assignment: str, answers: Mapping[str, str], *, seconds: float, revision: int) -> None:
        """Give all answers to an item, after so many seconds."""
        milliseconds = round(1000 * seconds)
        given = {name: {"value": value, "last_ms": milliseconds} for name, value in answers.items()}
        times = {"visible_ms": milliseconds, "idle_ms": 0, "visit": str(uuid4()), "revision": revision}
        body = {"key": str(uuid4()), "answers": given, "final": True} | times
        headers = AS_DATA | {"x-form-token": self._token}
        _done(self._http.post(f"/rate/{assignment}/save", json=body, headers=headers))

    def check(self, name: str, attempt: int, answer: str) -> None:
        """Answer a check."""
        sent = {"check": name, "attempt": attempt, "answer": answer}
        _done(self._http.post("/check", data={"form_token": self._token, **sent}))

    def declare(self, answers: Mapping[str, str]) -> None:
        """Say who the rater is."""
        _done(self._http.post("/about-you", data={"form_token": self._token, **answers}))

    def begin(self, mode: str, intent: str) -> str:
        """Begin a conversation, and return its id."""
        if not self._token:
            self.where()
        chat_id = str(uuid4())
        self._send("/chat/begin", id=chat_id, mode=mode, intent=intent)
        return chat_id

    def say(self, chat_id: str, text: str, *, seconds: float) -> dict[str, Any]:
        """Say something after so many seconds, and return the conversation once responses have come."""
        self._send(f"/chat/{chat_id}/say", id=str(uuid4()), text=text, worked_ms=round(1000 * seconds))
        for _ in range(TRIES):
            sleep(PAUSE_S)
            found: dict[str, Any] = self.where()["chat"]
            if found["moment"] != "answering":
                return found
        raise Unavailable("The chatbots of the demo do not answer.")

    def pick(self, exchange: str, strength: int, *, seconds: float) -> None:
        """Pick one of two responses."""
        self._send(f"/chat/{exchange}/pick", strength=strength, worked_ms=round(1000 * seconds))

    def end(self, chat_id: str, success: int | None) -> None:
        """End a conversation."""
        self._send(f"/chat/{chat_id}/end", success="" if success is None else success)

    def finish(self) -> None:
        """Have no more conversations."""
        self._send("/chat/finish")

    def _send(self, path: str, **fields: Any) -> None:
        _done(self._http.post(path, data={"form_token": self._token, **fields}))

    def withdraw(self) -> None:
        """Have everything erased, by the link that the last page has."""
        found = re.search(r'href="([^"]*/withdraw/[^"]+)"', _done(self._http.get("/rate")).text)
        if found is None:
            raise Unavailable("The last page has no link by which a rater can withdraw.")
        _done(self._http.post(unescape(found[1])))


def take_part(
    visitor: Visitor, rater: DrawnRater, campaign: Campaign, *, language: str, rated: Callable[[], None]
) -> None:
    """Go the whole way of a drawn rater, who agrees to everything."""
    right = {check.name: check.right[0] for check in campaign.checks}
    visitor.enter([purpose.name for purpose in campaign.consent.purposes], language=language)
    while (found := visitor.where())["place"] in ("rate", "check", "demographics"):
        if found["place"] == "demographics":
            visitor.declare(rater.about)
            continue
        if found["place"] == "check":
            name, attempt = found["check"]["name"], found["check"]["attempt"]
            visitor.check(name, attempt, right[name])
            continue
        opinion = rater.opinions[Conversation.from_dicts(found["turns"]).digest]
        revision = found["revision"] + 1
        visitor.rate(found["item"]["assignment"], opinion.answers, seconds=opinion.seconds, revision=revision)
        rated()


def _done(answer: httpx.Response) -> httpx.Response:
    if answer.is_error:
        raise Unavailable(f"{answer.request.url.path} answered {answer.status_code}: {answer.text[:300]}")
    return answer
