"""Chat responder: request chatbot responses, stream them to raters and store them."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias, TypeVar
from urllib.parse import urlsplit

import anyio.to_thread

from dissensus.chat import Bot, Response, open_chatbot
from dissensus.errors import DissensusError, NotAllowed, Unavailable
from dissensus.schema.campaign.chatbot import BestOfNSettings, Endpoint, LocalModel
from dissensus.workflows.models.scorers import ModelRegistry
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import chat_responses
from dissensus.workflows.rater.chat_responses import ResponseRequest

if TYPE_CHECKING:
    from dissensus.schema.campaign.chatbot import Chatbot
    from dissensus.store.chats import PendingResponse
    from dissensus.store.raters import RaterRow

HEARTBEAT_S: Final = 5.0
"""Interval at which a process renews its claim to an exchange."""
KEY_VARIABLE_PREFIX: Final = "CHATBOT_"
"""Required prefix of environment variables with chatbot keys; campaigns cannot name others."""
POLL_S: Final = 0.5
"""Interval of polling for responses that another process requested."""
MAX_STREAM_S: Final = 20.0
"""Maximum duration of one event stream; the browser reconnects."""

StreamEvent: TypeAlias = tuple[Literal["begin", "piece", "over"], dict[str, object]]

Result = TypeVar("Result")

log = logging.getLogger("dissensus.chat")


@dataclass(eq=False, slots=True)
class ExchangeStream:
    """Responses of one exchange while they arrive."""

    pieces: list[tuple[int, str]] = field(default_factory=list)  # What came, with the side of each
    failed: bool = False  # True if a response did not come
    settled: bool = False  # True if all of them have come, and are kept
    over: bool = False  # True if nothing more comes
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, place: int, text: str) -> None:
        """Add a piece and wake the listeners."""
        self.pieces.append((place, text))
        self._wake()

    def end(self) -> None:
        """Mark the stream as ended."""
        self.over = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def after(self, n: int, *, until: float) -> list[tuple[int, str]]:
        """Return pieces from index `n`, waiting for one until the deadline."""
        if len(self.pieces) == n and not self.over:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), max(0.0, until - monotonic()))
        return self.pieces[n:]


class ChatResponder:
    """Requests chatbot responses for one process."""

    def __init__(
        self, platform: Platform, *, clock: Callable[[], datetime], hosts: frozenset[str], lines: ModelRegistry
    ) -> None:
        self._platform = platform
        self._clock = clock
        self._hosts = hosts
        self._lines = lines
        # Of a rater and an exchange, so that nobody hears what another waits for.
        self._live: dict[tuple[str, str], ExchangeStream] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._bots: dict[str, Bot] = {}
        self._opening = asyncio.Lock()
        self._open = AsyncExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._open.aclose()

    def ask(self, rater: "RaterRow", exchange_id: str) -> None:
        """Request the responses to an exchange unless that is under way; thread-safe."""
        if self._loop is None:
            raise Unavailable("The site ends. Come again in a moment.")
        self._loop.call_soon_threadsafe(self._begin, rater, exchange_id)

    def _begin(self, rater: "RaterRow", exchange_id: str) -> None:
        key = (rater.id, exchange_id)
        if key in self._live:
            return
        self._live[key] = live = ExchangeStream()
        task = asyncio.create_task(self._answer(live, rater, exchange_id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, live: ExchangeStream, rater: "RaterRow", exchange_id: str) -> None:
        try:
            asked = await _in_thread(
                lambda: chat_responses.claim_responses(self._platform, rater, exchange_id, now=self._clock())
            )
            if asked is not None:
                await self._ask_all(live, rater, asked)
        except DissensusError as error:
            log.warning("What a rater waits for was not asked for: %s", error)
        except Exception:
            log.exception("What a rater waits for could not be asked for.")
        finally:
            self._live.pop((rater.id, exchange_id), None)
            live.end()

    async def _ask_all(self, live: ExchangeStream, rater: "RaterRow", asked: ResponseRequest) -> None:
        sign = asyncio.create_task(self._signs(asked.exchange_id))
        try:
            async with asyncio.TaskGroup() as group:
                for wanted in asked.wanted:
                    group.create_task(self._respond(live, rater, asked, wanted))
            live.settled = not live.failed
        finally:
            sign.cancel()
            if not live.settled:
                await _in_thread(lambda: chat_responses.release_claim(self._platform, asked.exchange_id))

    async def _signs(self, exchange_id: str) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            await _in_thread(lambda: chat_responses.prolong_claim(self._platform, exchange_id, now=self._clock()))

    async def _respond(
        self, live: ExchangeStream, rater: "RaterRow", asked: ResponseRequest, wanted: "PendingResponse"
    ) -> None:
        """Stream one chatbot's response and store it; log why it failed."""
        chatbot = asked.chat.chatbot(wanted.chatbot)
        try:
            if chatbot is None:
                raise Unavailable("The definition of the campaign has no such chatbot any more.")
            bot = await self._bot(chatbot)
            async with aclosing(bot.stream(asked.conversation, wanted.seed)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Response):
                        await _in_thread(partial(self._keep, rater, asked, wanted, piece))
                    else:
                        live.add(wanted.place, piece)
        except DissensusError as error:
            log.warning("The chatbot %s did not respond: %s", wanted.chatbot, error)
            await self._fail(live, asked, wanted)
        except Exception:
            # Kept as a failure too: else whoever waits would have it asked again and again.
            log.exception("The chatbot %s broke.", wanted.chatbot)
            await self._fail(live, asked, wanted)

    async def _fail(self, live: ExchangeStream, asked: ResponseRequest, wanted: "PendingResponse") -> None:
        live.failed = True
        await _in_thread(lambda: chat_responses.mark_response_failed(self._platform, asked.exchange_id, wanted))

    def _keep(self, rater: "RaterRow", asked: ResponseRequest, wanted: "PendingResponse", response: Response) -> None:
        come = chat_responses.to_stored_response(response)
        chat_responses.store_chat_response(self._platform, rater, asked.exchange_id, wanted, come, now=self._clock())

    async def _bot(self, chatbot: "Chatbot") -> Bot:
        """Return the chatbot client that all conversations of this process share."""
        async with self._opening:
            if chatbot.digest not in self._bots:
                check_chatbot_allowed(chatbot, self._hosts)
                entered = open_chatbot(chatbot, environment=os.environ, ranking=self._lines.ranker)
                self._bots[chatbot.digest] = await self._open.enter_async_context(entered)
        return self._bots[chatbot.digest]

    async def follow(self, rater: "RaterRow", exchange_id: str) -> AsyncIterator[StreamEvent]:
        """Yield the events of an exchange from the start, until it ends or the stream reaches its maximum duration."""
        until = monotonic() + MAX_STREAM_S
        yield "begin", {}
        n = 0
        while monotonic() < until:
            live = self._live.get((rater.id, exchange_id))
            if live is not None:
                # What was told of an earlier try is not what this one says.
                for place, text in await live.after(n, until=until):
                    n += 1
                    yield "piece", {"place": place, "text": text}
                if live.settled and n == len(live.pieces):
                    break
                if not live.over or n < len(live.pieces):
                    continue
            standing = await _in_thread(
                lambda: chat_responses.response_state(self._platform, rater, exchange_id, now=self._clock())
            )
            if standing in ("come", "failed"):
                break
            if standing == "free":
                self._begin(rater, exchange_id)
            await asyncio.sleep(POLL_S)
        else:
            return
        yield "over", {}


def parse_hosts(setting: str) -> frozenset[str]:
    """Return the allowed chatbot hosts of a setting, with ports that are not the default.

    Examples
    --------
    >>> sorted(parse_hosts("api.example.com, 127.0.0.1:8080"))
    ['127.0.0.1:8080', 'api.example.com']
    """
    return frozenset(one.strip().lower() for one in setting.split(",") if one.strip())


def check_chatbot_allowed(chatbot: "Chatbot", hosts: frozenset[str]) -> None:
    """Raise `NotAllowed` for a chatbot that would reach other hosts, other secrets or local files."""
    match chatbot.source:
        case Endpoint(url=url, key_variable=variable):
            host = urlsplit(url).netloc.lower()
            if host not in hosts:
                raise NotAllowed(f"{host} is not among the servers of chatbots that this site may ask: chatbot_hosts.")
            if variable and not variable.startswith(KEY_VARIABLE_PREFIX):
                raise NotAllowed(
                    f"Keys of chatbots are in variables that begin with {KEY_VARIABLE_PREFIX}, and {variable} does not."
                )
        case BestOfNSettings(of=of):
            check_chatbot_allowed(of, hosts)
        case LocalModel(file=file) if file:
            raise NotAllowed("A campaign can name no file of this machine. Leave out the file for the one that ships.")


async def _in_thread(work: Callable[[], Result]) -> Result:
    return await anyio.to_thread.run_sync(work)
