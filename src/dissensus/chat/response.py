"""What a chatbot says: piece by piece as it comes, then the whole with its times, its end and its cost."""

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
    """What a response took.

    Parameters
    ----------
    samples
        Responses that were asked for.
    failed
        Those of them that did not come.
    prompt_tokens, response_tokens
        Tokens of all of them that came, as the server counts; None where it does not say.
    """

    samples: int = 1
    failed: int = 0
    prompt_tokens: int | None = None
    response_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response of a chatbot to a conversation.

    Parameters
    ----------
    text
        All of it; empty where the chatbot said nothing.
    finish
        Why it ended.
    seed
        The seed that was given for it.
    first_token_s, total_s
        Seconds from the question to the first piece of text, None where there is none, and to the end: what a person
        waited, with every wait for a turn and every try.
    cost
        What it took.
    finish_said
        Why it ended, in the words of the server; empty where it said nothing of it.
    model
        What the server calls the model that it used; empty where it does not say.
    score
        What a scorer gave it, None where none did.
    ranked_by
        The version of a model line that chose it, such as ``harmless/3``; empty where none did.
    """

    text: str
    finish: Finish
    seed: int
    first_token_s: float | None
    total_s: float
    cost: Cost = Cost()
    finish_said: str = ""
    model: str = ""
    score: float | None = None
    ranked_by: str = ""


Stream: TypeAlias = AsyncGenerator[str | Response, None]
"""Pieces of text as they come, and last the response, whose text is all of them joined."""


class Bot(Protocol):
    """Somebody to talk with."""

    def stream(self, conversation: Conversation, seed: int) -> Stream:
        """Respond to a conversation that ends with what a person said.

        Whoever leaves before the end closes the stream (``contextlib.aclosing``), and nothing of it is left.

        Raises
        ------
        InvalidInput
            The conversation or the seed cannot be used, or the server refuses the request.
        NotAllowed, NotFound
            The server does not accept the key, or knows no such model.
        Unavailable
            No response came, or it broke off; pieces that came before are void.
        """
        ...


async def collect_response(
    bot: Bot, conversation: Conversation, seed: int, *, hear: Callable[[str], None] | None = None
) -> Response:
    """Return a response when all of it is there.

    Parameters
    ----------
    bot, conversation, seed
        Who is asked, and as for its stream.
    hear
        Called with each piece as it comes.

    Returns
    -------
    Response
        The last thing in the stream.

    Raises
    ------
    DissensusError
        As the stream does.

    Examples
    --------
    >>> import asyncio
    >>> from dissensus.chat import Scripted
    >>> talk = Conversation.from_turns([("human", "May I swim here?")])
    >>> asyncio.run(whole(Scripted(), talk, seed=1)).text
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
        """Whether there was more than goes in."""
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
