"""Chatbots behind any server that speaks the chat completions of OpenAI."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, NoReturn, TypeAlias, cast

import httpx

from dissensus.chat.breaker import CircuitBreaker
from dissensus.chat.completion import CompletionReader, server_error_detail, to_finish_reason, completion_reader_for, to_storable_text
from dissensus.chat.build_messages import build_messages
from dissensus.chat.response import Clock, ResponseBuilder, Stream, check_seed
from dissensus.errors import DissensusError, InvalidInput, NotAllowed, NotFound, Unavailable
from dissensus.http_client import RETRYABLE_WITH_RETRY_AFTER, MAX_DETAIL_LENGTH, parse_retry_after
from dissensus.schema.campaign.chatbot import Chatbot, Endpoint
from dissensus.schema.records.conversation import Conversation

FIRST_BACKOFF_S: Final = 0.5
MAX_BACKOFF_S: Final = 60.0
DRAIN_TIMEOUT_S: Final = 0.1
MAX_ERROR_BYTES: Final = 2**16
"""Bytes that are read of why something is refused."""
CHAT_ERRORS_BY_STATUS: Final[Mapping[int, type[DissensusError]]] = {401: NotAllowed, 402: NotAllowed, 403: NotAllowed, 404: NotFound}

Sleep: TypeAlias = Callable[[float], Awaitable[None]]


class RetryableError(Exception):
    """What went wrong with one try, where another may help as long as nothing was said."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Deadline:
    """When something is due, by the clock of the event loop, and what to say if it does not come."""

    at: float
    said: str


@dataclass(slots=True)
class CompletionRequest:
    """One response that is asked for: what is sent, and what has come."""

    body: Mapping[str, Any]
    growing: ResponseBuilder
    said: CompletionReader = field(default_factory=CompletionReader)


class OpenAICompatible:
    """A chatbot behind a server; its connections belong to the event loop that it is used in.

    Parameters
    ----------
    chatbot
        Its definition.
    endpoint
        Where it is.
    http
        A client for it alone, as `open_chat_client` makes it.
    key
        What the server wants to see; empty where it wants none.
    clock
        Tells the seconds that are measured, and how long a broken chatbot is left alone.
    sleep
        Waits for some seconds between two tries.
    """

    def __init__(
        self, chatbot: Chatbot, endpoint: Endpoint, http: httpx.AsyncClient, key: str, *, clock: Clock, sleep: Sleep
    ) -> None:
        self._chatbot, self._endpoint, self._http, self._key = chatbot, endpoint, http, key
        self._clock, self._sleep = clock, sleep
        self._patience = chatbot.patience
        self._places = asyncio.Semaphore(chatbot.patience.at_once)
        self._breaker = CircuitBreaker(chatbot.name, chatbot.patience.failures, chatbot.patience.rest_s, clock)

    def __repr__(self) -> str:
        return f"OpenAICompatible({self._chatbot.name!r}, url={self._endpoint.url!r})"

    async def stream(self, conversation: Conversation, seed: int) -> Stream:
        """Respond to a conversation, see `Bot`."""
        check_seed(seed)
        body = self._body(conversation, seed)
        request = CompletionRequest(body, ResponseBuilder(self._chatbot.longest, self._clock, seed))
        async with self._place():
            with self._breaker.passage():
                async with aclosing(self._tries(request)) as pieces:
                    async for piece in pieces:
                        yield piece
        said = request.said
        finish = "cut" if request.growing.cut else to_finish_reason(said.finish)
        yield request.growing.done(finish, cost=said.cost, finish_said=said.finish or "", model=said.model)

    def _body(self, conversation: Conversation, seed: int) -> dict[str, Any]:
        return {
            **self._chatbot.as_mapping().get("parameters", {}),
            "model": self._endpoint.model,
            "messages": build_messages(conversation, self._chatbot.system_prompt),
            "seed": seed,
            "stream": True,
            "stream_options": {"include_usage": True},
        }

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """Wait for a turn, but not for ever."""
        patience = self._patience
        try:
            async with asyncio.timeout(patience.queue_s):
                await self._places.acquire()
        except TimeoutError:
            taken = f"{patience.at_once:,} others" if patience.at_once > 1 else "somebody else"
            self._give_up(f"it was busy with {taken} for {patience.queue_s:g} seconds")
        try:
            yield
        finally:
            self._places.release()

    async def _tries(self, request: CompletionRequest) -> AsyncGenerator[str, None]:
        """Ask, again where that helps and nothing was said yet."""
        total, tries = self._patience.total_s, self._patience.tries
        end = Deadline(_loop_time() + total, f"it was not done after {total:g} seconds")
        for number in count(1):
            try:
                async with aclosing(self._once(request, end)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except RetryableError as hitch:
                wait = max(FIRST_BACKOFF_S * 2.0 ** (number - 1), hitch.wait)
                last = number == tries or request.growing.first is not None
                if last or wait > MAX_BACKOFF_S or _loop_time() + wait > end.at:
                    asks = f" and asks to wait {hitch.wait:,.0f} seconds" if hitch.wait else ""
                    self._give_up(f"{hitch}{asks} (try {number} of {tries})")
            await self._sleep(wait)

    async def _once(self, request: CompletionRequest, end: Deadline) -> AsyncGenerator[str, None]:
        """Ask once; yield the pieces of text."""
        due = self._due(self._patience.first_token_s, "no word came for", end)
        async with self._answered(request.body, due) as answer:
            said = request.said = self._reader(answer)
            async with aclosing(_raw_bytes(answer)) as portions:
                while not (said.done or request.growing.cut):
                    for text in self._read(said, await self._portion(portions, said, due)):
                        if kept := request.growing.add(text):
                            yield kept
                    if said.alive:
                        due = self._due(self._patience.between_tokens_s, "it fell silent for", end)
                if not request.growing.cut:
                    await _drain(portions)

    @staticmethod
    def _due(seconds: float, what: str, end: Deadline) -> Deadline:
        due = Deadline(_loop_time() + seconds, f"{what} {seconds:g} seconds")
        return due if due.at < end.at else end

    @asynccontextmanager
    async def _answered(self, body: Mapping[str, Any], due: Deadline) -> AsyncIterator[httpx.Response]:
        """Send a request; whatever happens, the connection is let go."""
        request = self._http.build_request("POST", f"{self._endpoint.url}/chat/completions", json=body)
        with self._told(due):
            async with asyncio.timeout_at(due.at):
                answer = await self._http.send(request, stream=True)
        try:
            if answer.status_code != 200:
                await self._refuse(answer, due)
            yield answer
        finally:
            await answer.aclose()

    async def _refuse(self, answer: httpx.Response, due: Deadline) -> NoReturn:
        status, words = answer.status_code, await self._words(answer, due)
        says = f"HTTP {status}{f': {words}' if words else ''}"
        if status in (408, 429) or status >= 500 or (status in RETRYABLE_WITH_RETRY_AFTER and "retry-after" in answer.headers):
            raise RetryableError(f"it answers {says}", parse_retry_after(answer.headers))
        if not 400 <= status < 500:
            self._give_up(f"it answers {says}, which is no response; addresses that lead on are not followed")
        error = CHAT_ERRORS_BY_STATUS.get(status, InvalidInput)
        raise error(f"{self._chatbot.name} refuses this with {says}.{self._remedy(status)}")

    def _remedy(self, status: int) -> str:
        if status == 401:
            where = self._endpoint.key_variable
            return f" Is the key in {where} right?" if where else " Name the variable with the key: key_variable."
        return f" Is the url right, and the model {self._endpoint.model} there?" if status == 404 else ""

    async def _words(self, answer: httpx.Response, due: Deadline) -> str:
        """Return why something is refused, in the words of the server."""
        body = bytearray()
        with suppress(TimeoutError, httpx.TransportError):
            async with asyncio.timeout_at(due.at), aclosing(_raw_bytes(answer)) as portions:
                async for portion in portions:
                    body += portion
                    if len(body) > MAX_ERROR_BYTES:
                        break
        with suppress(ValueError, RecursionError):
            return self._plain(server_error_detail(json.loads(body)))
        return ""

    def _reader(self, answer: httpx.Response) -> CompletionReader:
        try:
            return completion_reader_for(answer.headers.get("content-type", ""), answer.headers.get("content-encoding", ""))
        except InvalidInput as error:
            self._unreadable(error)

    async def _portion(self, portions: AsyncIterator[bytes], said: CompletionReader, due: Deadline) -> bytes | None:
        """Return the next bytes, None after the last ones, or where all is said that matters."""
        try:
            with self._told(due):
                async with asyncio.timeout_at(due.at):
                    return await anext(portions, None)
        except (RetryableError, Unavailable):
            if said.finish is None:
                raise
        return None

    def _read(self, said: CompletionReader, portion: bytes | None) -> Iterator[str]:
        """Yield the text that bytes hold; what is wrong after the end of the text does no harm any more."""
        try:
            yield from said.end() if portion is None else said.feed(portion)
        except (InvalidInput, Unavailable) as error:
            if said.finish is not None:
                said.done = True
            elif isinstance(error, InvalidInput):
                self._unreadable(error)
            else:
                raise RetryableError(self._plain(str(error))) from None

    @contextmanager
    def _told(self, due: Deadline) -> Iterator[None]:
        """Say what is the matter with a connection."""
        try:
            yield
        except TimeoutError:
            self._give_up(due.said)
        except httpx.ConnectTimeout:
            raise RetryableError(f"no connection came about in {self._patience.connect_s:g} seconds") from None
        except httpx.TransportError as error:
            raise RetryableError(self._plain(str(error)) or type(error).__name__) from None

    def _unreadable(self, error: InvalidInput) -> NoReturn:
        self._give_up(f"what it sends is no chat completion, since {self._plain(str(error))}; is the url right?", "")

    def _give_up(self, reason: str, remedy: str = " Try later.") -> NoReturn:
        raise Unavailable(f"{self._chatbot.name} does not respond: {reason}{'.' if remedy else ''}{remedy}") from None

    def _plain(self, text: str) -> str:
        """Return what a server said in one line, without the key, which it may repeat."""
        text = text.replace(self._key, "…") if self._key else text
        return " ".join(to_storable_text(text).split())[:MAX_DETAIL_LENGTH].rstrip(" .")


def open_chat_client(chatbot: Chatbot, key: str, *, here: bool = False) -> httpx.AsyncClient:
    """Return a client that follows nothing elsewhere with the key, and that no proxy helps if the server is `here`."""
    headers = {"User-Agent": "dissensus", "Accept": "text/event-stream, application/json"}
    headers |= {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {key}"} if key else {})
    timeout = httpx.Timeout(None, connect=chatbot.patience.connect_s)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=chatbot.patience.at_once)
    try:
        return httpx.AsyncClient(
            headers=headers, timeout=timeout, limits=limits, follow_redirects=False, trust_env=not here
        )
    except (ImportError, OSError, ValueError) as error:
        # Proxies and certificates come from the environment, where anything may stand.
        raise Unavailable(f"No connection can be made: {error}. Look at SSL_CERT_FILE and the *_PROXY.") from None


def _raw_bytes(answer: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Return the bytes as they come: what a server compresses could be far more than it sends."""
    return cast("AsyncGenerator[bytes, None]", answer.aiter_raw())


async def _drain(portions: AsyncIterator[bytes]) -> None:
    """Give what follows the last word a moment, so that the connection can be used again."""
    with suppress(TimeoutError, httpx.TransportError):
        async with asyncio.timeout(DRAIN_TIMEOUT_S):
            await anext(portions, None)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
