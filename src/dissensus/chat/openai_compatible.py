"""Chatbots behind a server with an OpenAI-compatible chat completions API."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, NoReturn, TypeAlias, cast

import httpx

from dissensus.chat.breaker import CircuitBreaker
from dissensus.chat.completion import (
    CompletionReader,
    StreamedCompletionReader,
    completion_reader_for,
    is_content_filter,
    server_error_detail,
    to_finish,
    to_storable_text,
)
from dissensus.chat.prompt import build_messages
from dissensus.chat.response import (
    Clock,
    ContentRefusal,
    ProviderRefusal,
    Response,
    ResponseBuilder,
    Stream,
    check_seed,
)
from dissensus.errors import DissensusError, InvalidInput, NotAllowed, NotFound, Unavailable
from dissensus.http_client import (
    MAX_BACKOFF_S,
    MAX_DETAIL_LENGTH,
    check_environment,
    compute_backoff,
    is_retryable,
    parse_retry_after,
)
from dissensus.schema.campaign.chatbot import Chatbot, Endpoint
from dissensus.schema.records.conversation import Conversation

FIRST_BACKOFF_S: Final = 0.5
DRAIN_TIMEOUT_S: Final = 0.1
MAX_ERROR_BYTES: Final = 2**16
"""Size limit of the body of an error."""
CHAT_ERRORS_BY_STATUS: Final[Mapping[int, type[DissensusError]]] = {
    400: ProviderRefusal,
    401: NotAllowed,
    402: NotAllowed,
    403: ProviderRefusal,
    404: NotFound,
}

Messages: TypeAlias = list[dict[str, str]]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]


class RetryableError(Exception):
    """A failed attempt that may be retried, as long as no text was received."""

    def __init__(self, reason: str, retry_after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time on the clock of the event loop, and the error message if it passes."""

    at: float
    message: str


@dataclass(slots=True)
class CompletionRequest:
    """A request body, and the response received so far."""

    body: Mapping[str, Any]
    builder: ResponseBuilder
    reader: CompletionReader = field(default_factory=StreamedCompletionReader)  # Replaced by that of the answer


class OpenAICompatible:
    """A chatbot behind a server; its connections belong to the event loop that it is used in."""

    def __init__(
        self, chatbot: Chatbot, endpoint: Endpoint, http: httpx.AsyncClient, key: str, *, clock: Clock, sleep: Sleep
    ) -> None:
        self._chatbot, self._endpoint, self._http, self._key = chatbot, endpoint, http, key
        self._clock, self._sleep = clock, sleep
        self._request_policy = chatbot.request_policy
        self._slots = asyncio.Semaphore(chatbot.request_policy.max_concurrent)
        self._breaker = CircuitBreaker(
            chatbot.name, chatbot.request_policy.failure_threshold, chatbot.request_policy.recovery_s, clock
        )

    def __repr__(self) -> str:
        return f"OpenAICompatible({self._chatbot.name!r}, url={self._endpoint.url!r})"

    async def stream(self, conversation: Conversation, seed: int) -> Stream:
        """Respond to a conversation, see `Bot`."""
        messages = build_messages(conversation, self._chatbot.system_prompt)
        async with aclosing(self.stream_messages(messages, seed)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Response) and piece.refusal and not piece.text.strip():
                    raise ContentRefusal(f"{self._chatbot.name} refuses this: {self._redact(piece.refusal)}.")
                yield piece

    async def stream_messages(self, messages: Messages, seed: int, **parameters: Any) -> Stream:
        """Respond to messages, with parameters besides those of the definition."""
        check_seed(seed)
        body = self._body(messages, seed, parameters)
        request = CompletionRequest(body, ResponseBuilder(self._chatbot.max_length, self._clock, seed))
        async with self._slot():
            with self._breaker.guard():
                async with aclosing(self._with_retries(request)) as pieces:
                    async for piece in pieces:
                        yield piece
        reader = request.reader
        finish = "cut" if request.builder.cut else to_finish(reader.finish)
        response = request.builder.build(
            finish,
            cost=reader.cost,
            finish_reason=reader.finish or "",
            model=reader.model,
            refusal=reader.refusal,
        )
        if finish == "filter" and not (response.text.strip() or response.refusal):
            raise ContentRefusal(f"{self._chatbot.name} filters the whole response: {reader.finish}.")
        yield response

    def _body(self, messages: Messages, seed: int, parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **self._chatbot.as_mapping().get("parameters", {}),
            **parameters,
            "model": self._endpoint.model,
            "messages": messages,
            "seed": seed,
            "stream": True,
            "stream_options": {"include_usage": True},
        }

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        """Wait for a free slot of the concurrency limit, within a timeout."""
        policy = self._request_policy
        try:
            async with asyncio.timeout(policy.queue_s):
                await self._slots.acquire()
        except TimeoutError:
            requests = f"{policy.max_concurrent:,} other requests" if policy.max_concurrent > 1 else "another request"
            self._give_up(f"it was busy with {requests} for {policy.queue_s:g} seconds")
        try:
            yield
        finally:
            self._slots.release()

    async def _with_retries(self, request: CompletionRequest) -> AsyncGenerator[str, None]:
        """Send a request, with retries and backoff as long as no text has arrived."""
        total, max_attempts = self._request_policy.total_s, self._request_policy.max_attempts
        end = Deadline(_loop_time() + total, f"it was not done after {total:g} seconds")
        for number in count(1):
            try:
                async with aclosing(self._attempt(request, end)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except RetryableError as failure:
                backoff_s = compute_backoff(number, failure.retry_after_s, first_s=FIRST_BACKOFF_S)
                last = number == max_attempts or request.builder.first_text_at is not None
                if last or backoff_s > MAX_BACKOFF_S or _loop_time() + backoff_s > end.at:
                    hint = f" and asks to wait {failure.retry_after_s:,.0f} seconds" if failure.retry_after_s else ""
                    self._give_up(f"{failure}{hint} (try {number} of {max_attempts})")
            await self._sleep(backoff_s)

    async def _attempt(self, request: CompletionRequest, end: Deadline) -> AsyncGenerator[str, None]:
        """Send a request once, and yield pieces of text."""
        due = self._due(self._request_policy.first_token_s, "no text arrived for", end)
        async with self._open_response(request.body, due) as answer:
            reader = request.reader = self._reader(answer)
            async with aclosing(_raw_bytes(answer)) as portions:
                while not (reader.done or request.builder.cut):
                    for text in self._read(reader, await self._portion(portions, reader, due)):
                        if accepted := request.builder.add(text):
                            yield accepted
                    if reader.alive:
                        due = self._due(self._request_policy.between_tokens_s, "no further text arrived for", end)
                if not request.builder.cut:
                    await _drain(portions)

    @staticmethod
    def _due(seconds: float, message: str, end: Deadline) -> Deadline:
        due = Deadline(_loop_time() + seconds, f"{message} {seconds:g} seconds")
        return due if due.at < end.at else end

    @asynccontextmanager
    async def _open_response(self, body: Mapping[str, Any], due: Deadline) -> AsyncIterator[httpx.Response]:
        """Send a request, and always release the connection."""
        request = self._http.build_request("POST", f"{self._endpoint.url}/chat/completions", json=body)
        with self._map_errors(due):
            async with asyncio.timeout_at(due.at):
                answer = await self._http.send(request, stream=True)
        try:
            if answer.status_code != 200:
                await self._refuse(answer, due)
            yield answer
        finally:
            await answer.aclose()

    async def _refuse(self, answer: httpx.Response, due: Deadline) -> NoReturn:
        status, body = answer.status_code, await self._read_error(answer, due)
        detail = self._redact(server_error_detail(body))
        summary = f"HTTP {status}{f': {detail}' if detail else ''}"
        if is_retryable(answer):
            raise RetryableError(f"it answers {summary}", parse_retry_after(answer.headers))
        if not 400 <= status < 500:
            self._give_up(f"it answers {summary}, which is not a response; redirects are not followed")
        error = ContentRefusal if is_content_filter(body) else CHAT_ERRORS_BY_STATUS.get(status, InvalidInput)
        raise error(f"{self._chatbot.name} refuses this with {summary}.{self._remedy(status)}")

    def _remedy(self, status: int) -> str:
        if status == 401:
            variable = self._endpoint.key_variable
            return f" Check the key in {variable}." if variable else " Name the variable with the key: key_variable."
        return f" Check the url, and the model {self._endpoint.model}." if status == 404 else ""

    @staticmethod
    async def _read_error(answer: httpx.Response, due: Deadline) -> object:
        """Return the body of an error parsed as JSON, None if it is not JSON."""
        body = bytearray()
        with suppress(TimeoutError, httpx.TransportError):
            async with asyncio.timeout_at(due.at), aclosing(_raw_bytes(answer)) as portions:
                async for portion in portions:
                    body += portion
                    if len(body) > MAX_ERROR_BYTES:
                        break
        with suppress(ValueError, RecursionError):
            return cast("object", json.loads(body))
        return None

    def _reader(self, answer: httpx.Response) -> CompletionReader:
        try:
            return completion_reader_for(
                answer.headers.get("content-type", ""), answer.headers.get("content-encoding", "")
            )
        except InvalidInput as error:
            self._unreadable(error)

    async def _portion(self, portions: AsyncIterator[bytes], reader: CompletionReader, due: Deadline) -> bytes | None:
        """Return the next bytes; None at the end, or after an error if the text is complete."""
        try:
            with self._map_errors(due):
                async with asyncio.timeout_at(due.at):
                    return await anext(portions, None)
        except (RetryableError, Unavailable):
            if reader.finish is None:
                raise
        return None

    def _read(self, reader: CompletionReader, portion: bytes | None) -> Iterator[str]:
        """Yield the text in some bytes, ignoring errors after the text is complete."""
        try:
            yield from reader.end() if portion is None else reader.feed(portion)
        except (InvalidInput, Unavailable) as error:
            if reader.finish is not None:
                reader.done = True
            elif isinstance(error, InvalidInput):
                self._unreadable(error)
            else:
                raise RetryableError(self._redact(str(error))) from None

    @contextmanager
    def _map_errors(self, due: Deadline) -> Iterator[None]:
        """Map connection errors to errors of the package."""
        try:
            yield
        except TimeoutError:
            self._give_up(due.message)
        except httpx.ConnectTimeout:
            raise RetryableError(f"no connection within {self._request_policy.connect_s:g} seconds") from None
        except httpx.TransportError as error:
            raise RetryableError(self._redact(str(error)) or type(error).__name__) from None

    def _unreadable(self, error: InvalidInput) -> NoReturn:
        self._give_up(f"it does not send a chat completion: {self._redact(str(error))}", "Check the url.")

    def _give_up(self, reason: str, remedy: str = "Try later.") -> NoReturn:
        raise Unavailable(f"{self._chatbot.name} does not respond: {reason}. {remedy}") from None

    def _redact(self, text: str) -> str:
        """Return a server message in one line, shortened, and without the key, which it may repeat."""
        text = text.replace(self._key, "…") if self._key else text
        return " ".join(to_storable_text(text).split())[:MAX_DETAIL_LENGTH].rstrip(" .")


def open_chat_client(chatbot: Chatbot, key: str, *, loopback: bool = False) -> httpx.AsyncClient:
    """Open an HTTP client that follows no redirects with the key, and uses no proxy on loopback."""
    headers = {"User-Agent": "dissensus", "Accept": "text/event-stream, application/json"}
    headers |= {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {key}"} if key else {})
    timeout = httpx.Timeout(None, connect=chatbot.request_policy.connect_s)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=chatbot.request_policy.max_concurrent)
    with check_environment():
        return httpx.AsyncClient(
            headers=headers, timeout=timeout, limits=limits, follow_redirects=False, trust_env=not loopback
        )


def _raw_bytes(answer: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Iterate over the undecoded bytes, since a compressed body could expand without limit."""
    return cast("AsyncGenerator[bytes, None]", answer.aiter_raw())


async def _drain(portions: AsyncIterator[bytes]) -> None:
    """Read the end of the body, if it comes soon, so that the connection can be reused."""
    with suppress(TimeoutError, httpx.TransportError):
        async with asyncio.timeout(DRAIN_TIMEOUT_S):
            await anext(portions, None)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
