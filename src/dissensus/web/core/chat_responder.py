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
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias

from anyio import to_thread

from dissensus.campaign.chatbot_access import check_chatbot_allowed
from dissensus.chat import Bot, ProviderRefusal, Response, open_chatbot
from dissensus.errors import DissensusError, Unavailable
from dissensus.workflows.models.scorers import RankerCache
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import chat_responses
from dissensus.workflows.rater.chat_responses import ResponseRequest

if TYPE_CHECKING:
    from dissensus.pipeline.collect.chat import ResponseFailure
    from dissensus.schema.campaign.chatbot import Chatbot
    from dissensus.store.chats import PendingResponse
    from dissensus.store.raters import RaterRow

HEARTBEAT_S: Final = 5.0
"""Interval at which a process renews its claim to an exchange."""
POLL_S: Final = 0.5
"""Interval of polling for responses that another process requested."""
MAX_STREAM_S: Final = 20.0
"""Maximum duration of one event stream; the browser reconnects."""

StreamEvent: TypeAlias = tuple[Literal["start", "chunk", "end"], dict[str, object]]

log = logging.getLogger("dissensus.chat")


@dataclass(eq=False, slots=True)
class ExchangeStream:
    """Responses of one exchange while they arrive."""

    chunks: list[tuple[int, str]] = field(default_factory=list)  # Texts in order of arrival, each after its position
    failed: bool = False  # True if a response failed
    complete: bool = False  # True if all responses are stored
    ended: bool = False  # True if nothing more will arrive
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, position: int, text: str) -> None:
        """Add a chunk and wake the listeners."""
        self.chunks.append((position, text))
        self._wake()

    def end(self) -> None:
        """Mark the stream as ended."""
        self.ended = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def chunks_from(self, n: int, *, deadline: float) -> list[tuple[int, str]]:
        """Return chunks from index `n`, waiting for one until the deadline."""
        if len(self.chunks) == n and not self.ended:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), max(0.0, deadline - monotonic()))
        return self.chunks[n:]


class ChatResponder:
    """Requests chatbot responses for one process."""

    def __init__(
        self, platform: Platform, *, clock: Callable[[], datetime], hosts: frozenset[str], registry: RankerCache
    ) -> None:
        self._platform = platform
        self._clock = clock
        self._hosts = hosts
        self._registry = registry
        # By rater and exchange, so that raters receive their own responses only.
        self._streams: dict[tuple[str, str], ExchangeStream] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._bots: dict[str, Bot] = {}
        self._bots_lock = asyncio.Lock()
        self._clients = AsyncExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._loop = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._clients.aclose()

    def request_responses(self, rater: "RaterRow", exchange_id: str) -> None:
        """Request the responses to an exchange unless that is under way; thread-safe."""
        if self._loop is None:
            raise Unavailable("The site is shutting down. Try again in a moment.")
        self._loop.call_soon_threadsafe(self._begin, rater, exchange_id)

    def _begin(self, rater: "RaterRow", exchange_id: str) -> None:
        key = (rater.id, exchange_id)
        if key in self._streams:
            return
        self._streams[key] = stream = ExchangeStream()
        task = asyncio.create_task(self._run(stream, rater, exchange_id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, stream: ExchangeStream, rater: "RaterRow", exchange_id: str) -> None:
        try:
            request = await to_thread.run_sync(
                lambda: chat_responses.claim_responses(self._platform, rater, exchange_id, now=self._clock())
            )
            if request is not None:
                await self._request_all(stream, rater, request)
        except DissensusError as error:
            log.warning("The responses to exchange %s were not requested: %s", exchange_id, error)
        except Exception:
            log.exception("The responses to exchange %s could not be requested.", exchange_id)
        finally:
            self._streams.pop((rater.id, exchange_id), None)
            stream.end()

    async def _request_all(self, stream: ExchangeStream, rater: "RaterRow", request: ResponseRequest) -> None:
        stopped = asyncio.Event()
        heartbeat = asyncio.create_task(self._renew_claim(request.exchange_id, stopped))
        try:
            async with asyncio.TaskGroup() as group:
                for pending in request.pending:
                    group.create_task(self._respond(stream, rater, request, pending))
            stream.complete = not stream.failed
        finally:
            # A renewal in its thread cannot be cancelled, and must not follow the release.
            stopped.set()
            await heartbeat
            if not stream.complete:
                await to_thread.run_sync(lambda: chat_responses.release_claim(self._platform, request.exchange_id))

    async def _renew_claim(self, exchange_id: str, stopped: asyncio.Event) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), HEARTBEAT_S)
            if stopped.is_set():
                return
            try:
                await to_thread.run_sync(
                    lambda: chat_responses.prolong_claim(self._platform, exchange_id, now=self._clock())
                )
            except DissensusError as error:
                log.warning("The claim to exchange %s was not renewed: %s", exchange_id, error)
            except Exception:
                # The responses still arrive, so the next renewal is tried.
                log.exception("The claim to exchange %s was not renewed.", exchange_id)

    async def _respond(
        self, stream: ExchangeStream, rater: "RaterRow", request: ResponseRequest, pending: "PendingResponse"
    ) -> None:
        """Stream one chatbot's response and store it; log why it failed."""
        chatbot = request.chat.chatbot(pending.chatbot)
        try:
            if chatbot is None:
                raise Unavailable("The definition of the campaign does not have this chatbot any more.")
            bot = await self._bot(chatbot)
            async with aclosing(bot.stream(request.conversation, pending.seed)) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, Response):
                        await to_thread.run_sync(partial(self._store, rater, request, pending, chunk))
                    else:
                        stream.add(pending.position, chunk)
        except DissensusError as error:
            log.warning(
                "The chatbot %s did not respond in exchange %s: %s", pending.chatbot, request.exchange_id, error
            )
            refused = isinstance(error, ProviderRefusal)
            await self._fail(stream, request, pending, "refused by provider" if refused else "failed")
        except Exception:
            # Store the failure; otherwise the waiting page would request the response again and again.
            log.exception("The chatbot %s failed unexpectedly at exchange %s.", pending.chatbot, request.exchange_id)
            await self._fail(stream, request, pending, "failed")

    async def _fail(
        self, stream: ExchangeStream, request: ResponseRequest, pending: "PendingResponse", failure: "ResponseFailure"
    ) -> None:
        stream.failed = True
        await to_thread.run_sync(
            lambda: chat_responses.mark_response_failed(self._platform, request.exchange_id, pending, failure)
        )

    def _store(
        self, rater: "RaterRow", request: ResponseRequest, pending: "PendingResponse", response: Response
    ) -> None:
        stored = chat_responses.to_stored_response(response)
        chat_responses.store_chat_response(
            self._platform, rater, request.exchange_id, pending, stored, now=self._clock()
        )

    async def _bot(self, chatbot: "Chatbot") -> Bot:
        """Return the chatbot client that all conversations of this process share."""
        async with self._bots_lock:
            if chatbot.digest not in self._bots:
                check_chatbot_allowed(chatbot, self._hosts)
                client = open_chatbot(chatbot, environment=os.environ, ranking=self._registry.ranker)
                self._bots[chatbot.digest] = await self._clients.enter_async_context(client)
        return self._bots[chatbot.digest]

    async def follow(self, rater: "RaterRow", exchange_id: str) -> AsyncIterator[StreamEvent]:
        """Yield the events of an exchange from the start, until it ends or the stream reaches its maximum duration."""
        deadline = monotonic() + MAX_STREAM_S
        yield "start", {}
        n = 0
        while monotonic() < deadline:
            stream = self._streams.get((rater.id, exchange_id))
            if stream is not None:
                for position, text in await stream.chunks_from(n, deadline=deadline):
                    n += 1
                    yield "chunk", {"position": position, "text": text}
                if stream.complete and n == len(stream.chunks):
                    break
                if not stream.ended or n < len(stream.chunks):
                    continue
            state = await to_thread.run_sync(
                lambda: chat_responses.response_state(self._platform, rater, exchange_id, now=self._clock())
            )
            if state in ("complete", "failed"):
                break
            if state == "unclaimed":
                self._begin(rater, exchange_id)
            await asyncio.sleep(POLL_S)
        else:
            return
        yield "end", {}
