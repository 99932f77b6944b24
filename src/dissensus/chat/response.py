"""Chatbot responses: streamed pieces, then the whole response with times, finish reason and cost."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias

from dissensus.errors import Unavailable
from dissensus.schema.numbers import check_whole
from dissensus.schema.records.conversation import Conversation

Finish: TypeAlias = Literal["stop", "length", "filter", "cut", "other"]
"""Why it ended: the model was done, it had no more tokens, its makers' filter, our limit on characters, or else."""

MAX_SEED: Final = 2**31 - 1
"""What every server takes."""

Clock: TypeAlias = Callable[[], float]
"""Tells seconds from any beginning, and never goes back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Cost of a response in tokens and seconds."""

    samples: int = 1  # Responses that were asked for
    failed: int = 0  # Those of them that did not come
    # Tokens of all of them that came, as the server counts; None where it does not say
    prompt_tokens: int | None = None
    response_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response of a chatbot to a conversation."""

    text: str  # All of it; empty where the chatbot said nothing
    finish: Finish
    seed: int  # The seed that was given for it
    # Seconds from the question to the first piece of text, None where there is none, and to the end: what a person
    # waited, with every wait for a turn and every try
    first_token_s: float | None
    total_s: float
    cost: Cost = Cost()
    finish_said: str = ""  # Why it ended, in the words of the server; empty where it said nothing of it
    model: str = ""  # What the server calls the model that it used; empty where it does not say
    score: float | None = None  # What a scorer gave it, None where none did
    ranked_by: str = ""  # The version of a model line that chose it, such as ``harmless/3``; empty where none did


Stream: TypeAlias = AsyncGenerator[str | Response, None]
"""Pieces of text as they come, and last the response, whose text is all of them joined."""


class Bot(Protocol):
    """Somebody to talk with."""

    def stream(self, conversation: Conversation, seed: int) -> Stream:
        """Respond to a conversation that ends with what a person said.

        Whoever leaves before the end closes the stream (``contextlib.aclosing``), and nothing of it is left.
        """
        ...


async def collect_response(
    bot: Bot, conversation: Conversation, seed: int, *, hear: Callable[[str], None] | None = None
) -> Response:
    """Return a response when all of it is there.

    Examples
    --------
    >>> import asyncio
    >>> from dissensus.chat import ScriptedBot
    >>> talk = Conversation.from_turns([("human", "May I swim here?")])
    >>> asyncio.run(collect_response(ScriptedBot(), talk, seed=1)).text
    "People see this in many ways, and I wouldn't want to take sides."
    """
    async with aclosing(bot.stream(conversation, seed)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Response):
                return piece
            if hear is not None:
                hear(piece)
    raise Unavailable("The chatbot ended without a response. That is a fault of whoever wrote its stream.")


def check_seed(seed: int) -> None:
    """Refuse a seed that some server would not take."""
    check_whole("seed", seed, 0, MAX_SEED)


@dataclass(slots=True)
class ResponseBuilder:
    """A response as it comes in: measured, and never longer than it may be."""

    longest: int
    clock: Clock
    seed: int
    started: float = field(init=False)
    first: float | None = field(init=False, default=None)
    _parts: list[str] = field(init=False, default_factory=list)
    _length: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.started = self.clock()

    @property
    def cut(self) -> bool:
        """True if the response was cut at the length limit."""
        return self._length > self.longest

    def add(self, text: str) -> str:
        """Take a piece; return what of it goes in."""
        kept = text[: max(0, self.longest - self._length)]
        if kept and self.first is None:
            self.first = self.clock()
        self._parts.append(kept)
        self._length += len(text)
        return kept

    def done(self, finish: Finish, *, cost: Cost = Cost(), finish_said: str = "", model: str = "") -> Response:
        """Return the response as it is now."""
        return Response(
            text="".join(self._parts),
            finish=finish,
            seed=self.seed,
            first_token_s=None if self.first is None else self.first - self.started,
            total_s=self.clock() - self.started,
            cost=cost,
            finish_said=finish_said,
            model=model,
        )
