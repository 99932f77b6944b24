"""Chatbot responses: streamed pieces, then the whole response with times, finish reason and cost."""

import hashlib
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias

from dissensus.errors import InvalidInput, Unavailable
from dissensus.schema.numbers import check_whole
from dissensus.schema.records.conversation import Conversation

Finish: TypeAlias = Literal["stop", "length", "filter", "cut", "other"]
"""Reason of the end: end of the response, token limit, content filter, our limit on characters, or another."""

MAX_SEED: Final = 2**31 - 1
"""Largest seed that every server accepts."""

Clock: TypeAlias = Callable[[], float]
"""Monotonic clock in seconds."""


class ProviderRefusal(InvalidInput):
    """The provider of a chatbot refuses a conversation, possibly by a content filter."""


class ContentRefusal(ProviderRefusal):
    """A provider reports that its content filter refused a conversation or a response, or the model refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Cost of a response: samples and tokens."""

    samples: int = 1  # Responses requested
    failed: int = 0  # Failed ones among them
    prompt_tokens: int | None = None  # Of all responses received, as counted by the server; None if not reported
    response_tokens: int | None = None  # The same


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response of a chatbot to a conversation."""

    text: str  # Empty for an empty response
    finish: Finish
    seed: int
    first_token_s: float | None  # Seconds to the first piece of text, with queueing and retries; None without text
    total_s: float  # Seconds to the end, with queueing and retries
    cost: Cost = Cost()
    finish_reason: str = ""  # Finish reason as reported by the server, if any
    model: str = ""  # Name of the model as reported by the server, if any
    refusal: str = ""  # Refusal sent in its own field instead of text, if any
    score: float | None = None  # Score by a scorer, if any
    ranked_by: str = ""  # Version of the registered model that chose it, such as ``harmless/3``, if any


Stream: TypeAlias = AsyncGenerator[str | Response, None]
"""Pieces of text, then the response with the joined text."""


class Bot(Protocol):
    """A chatbot."""

    def stream(self, conversation: Conversation, seed: int) -> Stream:
        """Respond to a conversation that ends with a message of a person.

        Close the stream to stop early (``contextlib.aclosing``); this releases all its resources.
        """
        ...


async def collect_response(
    bot: Bot, conversation: Conversation, seed: int, *, on_text: Callable[[str], None] | None = None
) -> Response:
    """Return a complete response; `on_text` is called with each piece of text.

    Examples
    --------
    >>> import asyncio
    >>> from dissensus.chat import ScriptedBot
    >>> conversation = Conversation.from_turns([("human", "May I swim here?")])
    >>> asyncio.run(collect_response(ScriptedBot(), conversation, seed=1)).text
    "People see this in many ways, and I wouldn't want to take sides."
    """
    async with aclosing(bot.stream(conversation, seed)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Response):
                return piece
            if on_text is not None:
                on_text(piece)
    raise Unavailable("The chatbot ended without a response: its stream method is faulty.")


def check_seed(seed: int) -> None:
    """Raise `InvalidInput` unless a seed is in the range that every server accepts."""
    check_whole("seed", seed, 0, MAX_SEED)


def derive_seeds(seed: int, count: int) -> tuple[int, ...]:
    """Return distinct seeds determined by a seed; a shorter list is a prefix of a longer one.

    Examples
    --------
    >>> derive_seeds(7, 2) == derive_seeds(7, 3)[:2]
    True
    >>> len(set(derive_seeds(7, 100)))
    100
    """
    check_seed(seed)
    check_whole("count", count, 1, MAX_SEED)
    # Consecutive numbers from a hashed start, as hashes of each could collide.
    first = int.from_bytes(hashlib.sha256(str(seed).encode("ascii")).digest()[:8])
    return tuple((first + offset) % (MAX_SEED + 1) for offset in range(count))


@dataclass(slots=True)
class ResponseBuilder:
    """Builder of a response from pieces, with timing and a length limit."""

    max_length: int  # in characters
    clock: Clock
    seed: int
    started_at: float = field(init=False)  # times of the clock
    first_text_at: float | None = field(init=False, default=None)  # None until there is text
    _parts: list[str] = field(init=False, default_factory=list)
    _length: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.started_at = self.clock()

    @property
    def cut(self) -> bool:
        """True if the response was cut at the length limit."""
        return self._length > self.max_length

    def add(self, text: str) -> str:
        """Add a piece; return the part within the length limit."""
        accepted = text[: max(0, self.max_length - self._length)]
        if accepted and self.first_text_at is None:
            self.first_text_at = self.clock()
        self._parts.append(accepted)
        self._length += len(text)
        return accepted

    def build(
        self, finish: Finish, *, cost: Cost = Cost(), finish_reason: str = "", model: str = "", refusal: str = ""
    ) -> Response:
        """Return the response with the pieces that were added."""
        return Response(
            text="".join(self._parts),
            finish=finish,
            seed=self.seed,
            first_token_s=None if self.first_text_at is None else self.first_text_at - self.started_at,
            total_s=self.clock() - self.started_at,
            cost=cost,
            finish_reason=finish_reason,
            model=model,
            refusal=refusal,
        )
