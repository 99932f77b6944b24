"""Requests of chatbot responses hold their claim, and end with the site."""

import asyncio
import time
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dissensus.errors import NoDatabase, Unavailable
from dissensus.web.core import chat_responder
from dissensus.web.core.chat_responder import ChatResponder, ExchangeStream
from dissensus.workflows.rater import chat_responses

RATER = cast("Any", SimpleNamespace(id="rater"))
REQUEST = SimpleNamespace(exchange_id="one", pending=("bot",))


@pytest.fixture
def responder(monkeypatch: pytest.MonkeyPatch) -> ChatResponder:
    monkeypatch.setattr(chat_responder, "HEARTBEAT_S", 0.01)
    monkeypatch.setattr(chat_responses, "claim_responses", lambda *_, **__: REQUEST)
    none = cast("Any", None)
    return ChatResponder(none, clock=lambda: datetime.now(UTC), hosts=frozenset(), registry=none)


async def request(responder: ChatResponder, done: list[str]) -> None:
    """Request responses until the claim is released."""
    async with responder, asyncio.timeout(20):
        responder.request_responses(RATER, "one")
        while "released" not in done:
            await asyncio.sleep(0.01)


def test_a_claim_is_renewed_although_the_database_was_busy(
    responder: ChatResponder, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def prolong(*_: object, **__: object) -> None:
        done.append("renewed")
        raise NoDatabase("busy")

    async def respond(_self: ChatResponder, stream: ExchangeStream, *_: object) -> None:
        stream.failed = True
        while len(done) < 3:
            await asyncio.sleep(0.01)

    monkeypatch.setattr(chat_responses, "prolong_claim", prolong)
    monkeypatch.setattr(chat_responses, "release_claim", lambda *_: done.append("released"))
    monkeypatch.setattr(ChatResponder, "_respond", respond)
    asyncio.run(request(responder, done))
    assert done.count("renewed") >= 3


def test_no_renewal_follows_the_release_of_a_claim(responder: ChatResponder, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def prolong(*_: object, **__: object) -> None:
        done.append("begun")
        time.sleep(0.2)
        done.append("renewed")

    async def respond(_self: ChatResponder, stream: ExchangeStream, *_: object) -> None:
        stream.failed = True
        while not done:
            await asyncio.sleep(0.01)

    monkeypatch.setattr(chat_responses, "prolong_claim", prolong)
    monkeypatch.setattr(chat_responses, "release_claim", lambda *_: done.append("released"))
    monkeypatch.setattr(ChatResponder, "_respond", respond)
    asyncio.run(request(responder, done))
    assert done == ["begun", "renewed", "released"]


def test_nothing_is_requested_after_the_end(responder: ChatResponder) -> None:
    async def end() -> None:
        async with responder:
            pass

    asyncio.run(end())
    with pytest.raises(Unavailable, match="shutting down"):
        responder.request_responses(RATER, "one")
