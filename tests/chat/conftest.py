"""A server on loopback, and a chatbot behind it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pytest
from tests.support.chat_completion_server import Loopback, loopback

from dissensus.chat import Bot, Response, open_chatbot
from dissensus.schema.campaign.chatbot import Chatbot, Endpoint, RequestPolicy
from dissensus.schema.records.conversation import Conversation

KEY = "a-key-that-nobody-else-may-see"
TALK = Conversation.from_turns([("human", "May I swim here?")])
Result = TypeVar("Result")


@dataclass
class ManualClock:
    """A clock that tests set; each reading advances it by `step`."""

    now: float = 100.0
    step: float = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@dataclass
class Asker:
    """A chatbot behind the server, with a method to request responses."""

    chatbot: Chatbot
    clock: ManualClock = field(default_factory=ManualClock)
    waits: list[float] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=lambda: {"TERN_KEY": KEY})

    def with_request_policy(self, **request_policy: Any) -> "Asker":
        self.chatbot = replace(self.chatbot, request_policy=replace(self.chatbot.request_policy, **request_policy))
        return self

    def run(self, use: Callable[[Bot], Coroutine[Any, Any, Result]]) -> Result:
        """Open the chatbot in a new event loop; no task may remain there."""

        async def wait(seconds: float) -> None:
            self.waits.append(seconds)
            self.clock.now += seconds

        async def main() -> Result:
            async with open_chatbot(self.chatbot, environment=self.environment, clock=self.clock, sleep=wait) as bot:
                result = await use(bot)
            assert asyncio.all_tasks() == {asyncio.current_task()}
            return result

        return asyncio.run(main())

    def ask(self, conversation: Conversation = TALK, seed: int = 7) -> tuple[list[str], Response]:
        """Return the streamed pieces and the response."""
        return self.run(lambda bot: collect_stream(bot, conversation, seed))


async def collect_stream(bot: Bot, conversation: Conversation = TALK, seed: int = 7) -> tuple[list[str], Response]:
    pieces: list[str] = []
    async with aclosing(bot.stream(conversation, seed)) as stream:
        async for piece in stream:
            if isinstance(piece, Response):
                return pieces, piece
            pieces.append(piece)
    raise AssertionError("no response")


@pytest.fixture(autouse=True)
def no_proxy_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


@pytest.fixture
def asker(server: Loopback) -> Asker:
    endpoint = Endpoint(url=server.url, model="tern-7b", key_variable="TERN_KEY")
    return Asker(Chatbot(name="tern", source=endpoint, model_type="rlhf", version="2", request_policy=RequestPolicy()))
