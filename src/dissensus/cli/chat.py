"""`dissensus chat`: try a chatbot definition in the terminal."""

import asyncio
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from dissensus.chat import Bot, Response, collect_response, open_chatbot
from dissensus.cli.platform.options import load_settings
from dissensus.cli.preference.serve import SCORE_KEY
from dissensus.errors import DissensusError, InvalidInput
from dissensus.pipeline.tables import escape_unprintable
from dissensus.schema.campaign.chatbot import Chatbot
from dissensus.schema.campaign.chatbot_parser import parse_chatbot
from dissensus.schema.records.conversation import Conversation, Turn
from dissensus.workflows.models.scorers import ModelRegistry, open_chatbot_scorers

SEEDS = 2**31


def chat(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A chatbot as TOML; docs/chatbots.md shows some.")],
    once: Annotated[
        str | None, typer.Option("--once", metavar="TEXT", help="Say this, print the response, and end.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, max=SEEDS - 1, help="Of the first response, from which others count on. Default: drawn."
        ),
    ] = None,
) -> None:
    """Talk with a chatbot: a line is a turn, and the end of the input ends it.

    Responses go to the output, what they took to the error stream. A turn that failed may be said again.

    Ends with 1 if any failed.

    Example: dissensus chat tern.toml --once "May I swim here?" --seed 7
    """
    chatbot = _definition(file)
    first = secrets.randbelow(SEEDS) if seed is None else seed
    about = ", ".join(part for part in (chatbot.model_type, chatbot.num_params, f"version {chatbot.version}") if part)
    _note(f"{chatbot.name}: {about}, digest {chatbot.digest[:12]}, seed {first}.")
    with asyncio.Runner() as runner, _opened(chatbot, runner) as bot:
        failed = _talk(bot, runner, _lines() if once is None else iter([once]), first)
    if failed:
        raise typer.Exit(1)


@contextmanager
def _opened(chatbot: Chatbot, runner: asyncio.Runner) -> Iterator[Bot]:

    stack = AsyncExitStack()
    try:
        scorers = stack.enter_context(open_chatbot_scorers(chatbot, key=os.environ.get(SCORE_KEY, "")))
        ranking = None if chatbot.registered_model is None else ModelRegistry(load_settings(None).model_registry).ranker
        bot = open_chatbot(chatbot, environment=os.environ, scorers=scorers, ranking=ranking)
        yield runner.run(stack.enter_async_context(bot))
    finally:
        runner.run(stack.aclose())


def _talk(bot: Bot, runner: asyncio.Runner, said: Iterator[str], seed: int) -> bool:
    """Send one message after the other; return whether a response failed."""
    turns: tuple[Turn, ...] = ()
    failed = False
    for number, text in enumerate(said):
        try:
            asked = Conversation((*turns, Turn("human", text)))
            response = _response(bot, runner, asked, (seed + number) % SEEDS)
            turns = (*asked.turns, Turn("bot", response.text))
        except DissensusError as error:
            failed = True
            _note(f"Error: {error}")
    return failed


def _response(bot: Bot, runner: asyncio.Runner, conversation: Conversation, seed: int) -> Response:
    """Print a streamed response, then its cost."""
    heard: list[str] = []

    def hear(piece: str) -> None:
        heard.append(piece)
        typer.echo(_plain(piece), nl=False)

    try:
        response = runner.run(collect_response(bot, conversation, seed, hear=hear))
    finally:
        if heard:
            typer.echo()
    _note(_summary(response))
    return response


def _summary(response: Response) -> str:
    cost = response.cost
    said = f" ({response.finish_said})" if response.finish_said not in ("", response.finish) else ""
    parts = [
        f"{response.finish}{said}",
        "nothing was said" if response.first_token_s is None else f"first word after {response.first_token_s:.2f} s",
        f"all after {response.total_s:.2f} s",
    ]
    if cost.samples > 1:
        by = f" by {response.ranked_by}" if response.ranked_by else ""
        failed = f", {cost.failed} failed" if cost.failed else ""
        parts.append(f"best of {cost.samples - cost.failed}{by}{failed}")
    if response.score is not None:
        parts.append(f"score {response.score:.3g}")
    if cost.response_tokens is not None:
        parts.append(f"{cost.response_tokens:,} tokens")
    return f"[{'; '.join([*parts, f'seed {response.seed}'])}]"


def _lines() -> Iterator[str]:
    """Yield typed lines that are not blank."""
    mark = "> " if sys.stdin.isatty() else ""
    while True:
        try:
            line = input(mark)
        except EOFError:
            return
        except UnicodeDecodeError:
            raise InvalidInput("What was typed is not UTF-8. Convert it: iconv -t utf-8.") from None
        if line.strip():
            yield line


def _definition(file: Path) -> Chatbot:

    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        raise InvalidInput(f"There is no file {file}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read as text: {error}.") from None
    return parse_chatbot(text)


def _note(text: str) -> None:
    typer.echo(_plain(text), err=True)


def _plain(text: str) -> str:
    """Escape control characters: chatbot output is untrusted."""
    return "\n".join(map(escape_unprintable, text.split("\n")))
