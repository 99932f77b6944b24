"""Chatbots of one process: asked for what raters wait for, heard by whoever looks, and kept when they have come."""

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
from dissensus.schema.campaign.chatbot import Endpoint, Samples, Weights
from dissensus.workflows.models.scorers import ModelRegistry
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import chat_responses
from dissensus.workflows.rater.chat_responses import Asked

if TYPE_CHECKING:
    from dissensus.schema.campaign.chatbot import Chatbot
    from dissensus.store.chats import Wanted
    from dissensus.store.raters import Rater

SIGN_S: Final = 5.0
"""How often a process says that it still asks."""
KEYS: Final = "CHATBOT_"
"""How variables begin that hold keys of chatbots: no campaign may name others, such as the key of the site."""
LOOK_S: Final = 0.5
"""How often one looks what another process has got."""
LONGEST_S: Final = 20.0
"""How long somebody is told at once; they come again, and no process waits for them when it ends."""

Told: TypeAlias = tuple[Literal["begin", "piece", "over"], dict[str, object]]

Got = TypeVar("Got")

log = logging.getLogger("dissensus.chat")


@dataclass(eq=False, slots=True)
class Live:
    """Responses of one exchange as they come."""

    pieces: list[tuple[int, str]] = field(default_factory=list)  # What came, with the side of each
    failed: bool = False  # Whether a response did not come
    settled: bool = False  # Whether all of them have come, and are kept
    over: bool = False  # Whether nothing more comes
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, place: int, text: str) -> None:
        """Take a piece, and wake who listens."""
        self.pieces.append((place, text))
        self._wake()

    def end(self) -> None:
        """Say that nothing more comes."""
        self.over = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def after(self, n: int, *, until: float) -> list[tuple[int, str]]:
        """Return what came after so many pieces, as soon as there is any or a time is over."""
        if len(self.pieces) == n and not self.over:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), max(0.0, until - monotonic()))
        return self.pieces[n:]


class Answering:
    """All that one process asks of chatbots."""

    def __init__(
        self, platform: Platform, *, clock: Callable[[], datetime], hosts: frozenset[str], lines: ModelRegistry
    ) -> None:
        self._platform = platform
        self._clock = clock
        self._hosts = hosts
        self._lines = lines
        # Of a rater and an exchange, so that nobody hears what another waits for.
        self._live: dict[tuple[str, str], Live] = {}
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

    def ask(self, rater: "Rater", exchange_id: str) -> None:
        """Ask for the responses to an exchange, unless somebody does; from any thread."""
        if self._loop is None:
            raise Unavailable("The site ends. Come again in a moment.")
        self._loop.call_soon_threadsafe(self._begin, rater, exchange_id)

    def _begin(self, rater: "Rater", exchange_id: str) -> None:
        key = (rater.id, exchange_id)
        if key in self._live:
            return
        self._live[key] = live = Live()
        task = asyncio.create_task(self._answer(live, rater, exchange_id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, live: Live, rater: "Rater", exchange_id: str) -> None:
        try:
            asked = await _in_thread(
                lambda: chat_responses.claim(self._platform, rater, exchange_id, now=self._clock())
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

    async def _ask_all(self, live: Live, rater: "Rater", asked: Asked) -> None:
        sign = asyncio.create_task(self._signs(asked.exchange_id))
        try:
            async with asyncio.TaskGroup() as group:
                for wanted in asked.wanted:
                    group.create_task(self._respond(live, rater, asked, wanted))
            live.settled = not live.failed
        finally:
            sign.cancel()
            if not live.settled:
                await _in_thread(lambda: chat_responses.let_go(self._platform, asked.exchange_id))

    async def _signs(self, exchange_id: str) -> None:
        while True:
            await asyncio.sleep(SIGN_S)
            await _in_thread(lambda: chat_responses.prolong(self._platform, exchange_id, now=self._clock()))

    async def _respond(self, live: Live, rater: "Rater", asked: Asked, wanted: "Wanted") -> None:
        """Hear one chatbot to its end, and keep what it said; why it said nothing is for who runs the site."""
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

    async def _fail(self, live: Live, asked: Asked, wanted: "Wanted") -> None:
        live.failed = True
        await _in_thread(lambda: chat_responses.fail(self._platform, asked.exchange_id, wanted))

    def _keep(self, rater: "Rater", asked: Asked, wanted: "Wanted", response: Response) -> None:
        come = chat_responses.come_from(response)
        chat_responses.respond(self._platform, rater, asked.exchange_id, wanted, come, now=self._clock())

    async def _bot(self, chatbot: "Chatbot") -> Bot:
        """Return a chatbot that all conversations of this process share, with its limits."""
        async with self._opening:
            if chatbot.digest not in self._bots:
                check_allowed(chatbot, self._hosts)
                entered = open_chatbot(chatbot, environment=os.environ, ranking=self._lines.ranker)
                self._bots[chatbot.digest] = await self._open.enter_async_context(entered)
        return self._bots[chatbot.digest]

    async def follow(self, rater: "Rater", exchange_id: str) -> AsyncIterator[Told]:
        """Yield what comes, from the beginning, until all of it has come, none does or it is time to come again."""
        until = monotonic() + LONGEST_S
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
                lambda: chat_responses.standing(self._platform, rater, exchange_id, now=self._clock())
            )
            if standing in ("come", "failed"):
                break
            if standing == "free":
                self._begin(rater, exchange_id)
            await asyncio.sleep(LOOK_S)
        else:
            return
        yield "over", {}


def hosts_of(setting: str) -> frozenset[str]:
    """Return the servers that a setting names, with the port of each where it is another one.

    Examples
    --------
    >>> sorted(hosts_of("api.example.com, 127.0.0.1:8080"))
    ['127.0.0.1:8080', 'api.example.com']
    """
    return frozenset(one.strip().lower() for one in setting.split(",") if one.strip())


def check_allowed(chatbot: "Chatbot", hosts: frozenset[str]) -> None:
    """Refuse a chatbot by which who makes a campaign would reach what is theirs who run the site."""
    match chatbot.source:
        case Endpoint(url=url, key_variable=variable):
            host = urlsplit(url).netloc.lower()
            if host not in hosts:
                raise NotAllowed(f"{host} is not among the servers of chatbots that this site may ask: chatbot_hosts.")
            if variable and not variable.startswith(KEYS):
                raise NotAllowed(f"Keys of chatbots are in variables that begin with {KEYS}, and {variable} does not.")
        case Samples(of=of):
            check_allowed(of, hosts)
        case Weights(file=file) if file:
            raise NotAllowed("A campaign can name no file of this machine. Leave out the file for the one that ships.")


async def _in_thread(work: Callable[[], Got]) -> Got:
    return await anyio.to_thread.run_sync(work)
