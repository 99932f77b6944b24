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
from dissensus.cli.preference.options import SCORE_KEY
from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.raw.content import read_text
from dissensus.pipeline.tables import escape_unprintable
from dissensus.schema.campaign.chatbot import Chatbot
from dissensus.schema.campaign.chatbot_parser import parse_chatbot
from dissensus.schema.records.conversation import Conversation, Turn
from dissensus.workflows.models.scorers import RankerCache, open_chatbot_scorers

N_SEEDS = 2**31


def chat(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="TOML file that defines a chatbot: name, kind, model_type, version, and a table named after its kind "
            "(openai_compatible, best_of_n, scripted or local) with its settings.",
        ),
    ],
    once: Annotated[
        str | None, typer.Option("--once", metavar="TEXT", help="Send TEXT, print the response, and exit.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=N_SEEDS - 1,
            help="Seed of the first response; later ones count up from it. Default: random.",
        ),
    ] = None,
) -> None:
    """Talk with a chatbot: each line is a turn; the end of input ends the conversation.

    Responses are written to standard output, their cost to standard error. A failed turn may be repeated.

    Exits with 1 if a turn failed.

    Example: dissensus chat tern.toml --once "May I swim here?" --seed 7
    """
    chatbot = parse_chatbot(read_text(file))
    first_seed = secrets.randbelow(N_SEEDS) if seed is None else seed
    parts = (chatbot.model_type, chatbot.num_params, f"version {chatbot.version}")
    description = ", ".join(part for part in parts if part)
    _note(f"{chatbot.name}: {description}, digest {chatbot.digest[:12]}, seed {first_seed}.")
    with asyncio.Runner() as runner, _open_bot(chatbot, runner) as bot:
        failed = _talk(bot, runner, _read_lines() if once is None else iter([once]), first_seed)
    if failed:
        raise typer.Exit(1)


@contextmanager
def _open_bot(chatbot: Chatbot, runner: asyncio.Runner) -> Iterator[Bot]:
    stack = AsyncExitStack()
    try:
        scorers = stack.enter_context(open_chatbot_scorers(chatbot, key=os.environ.get(SCORE_KEY, "")))
        ranking = None if chatbot.registered_model is None else RankerCache(load_settings(None).model_registry).ranker
        bot = open_chatbot(chatbot, environment=os.environ, scorers=scorers, ranking=ranking)
        yield runner.run(stack.enter_async_context(bot))
    finally:
        runner.run(stack.aclose())


def _talk(bot: Bot, runner: asyncio.Runner, messages: Iterator[str], first_seed: int) -> bool:
    """Send one message after the other; return whether a turn failed."""
    turns: tuple[Turn, ...] = ()
    failed = False
    for number, text in enumerate(messages):
        try:
            conversation = Conversation((*turns, Turn("human", text)))
            response = _print_response(bot, runner, conversation, (first_seed + number) % N_SEEDS)
            turns = (*conversation.turns, Turn("bot", response.text))
        except DissensusError as error:
            failed = True
            _note(f"Error: {error}")
    return failed


def _print_response(bot: Bot, runner: asyncio.Runner, conversation: Conversation, seed: int) -> Response:
    """Print a response as it is streamed, then its cost."""
    pieces: list[str] = []

    def show_piece(piece: str) -> None:
        pieces.append(piece)
        typer.echo(_escape(piece), nl=False)

    try:
        response = runner.run(collect_response(bot, conversation, seed, on_text=show_piece))
    finally:
        if pieces:
            typer.echo()
    _note(_summarise(response))
    return response


def _summarise(response: Response) -> str:
    cost = response.cost
    detail = f" ({response.finish_reason})" if response.finish_reason not in ("", response.finish) else ""
    parts = [
        f"{response.finish}{detail}",
        "empty response" if response.first_token_s is None else f"first word after {response.first_token_s:.2f} s",
        f"all after {response.total_s:.2f} s",
    ]
    if cost.samples > 1:
        ranker = f" by {response.ranked_by}" if response.ranked_by else ""
        failed = f", {cost.failed} failed" if cost.failed else ""
        parts.append(f"best of {cost.samples - cost.failed}{ranker}{failed}")
    if response.score is not None:
        parts.append(f"score {response.score:.3g}")
    if cost.response_tokens is not None:
        parts.append(f"{cost.response_tokens:,} tokens")
    return f"[{'; '.join([*parts, f'seed {response.seed}'])}]"


def _read_lines() -> Iterator[str]:
    """Yield the lines of standard input that are not blank."""
    prompt = "> " if sys.stdin.isatty() else ""
    while True:
        try:
            line = input(prompt)
        except EOFError:
            return
        except UnicodeDecodeError:
            raise InvalidInput("The input is not UTF-8. Convert it: iconv -t utf-8.") from None
        if line.strip():
            yield line


def _note(text: str) -> None:
    typer.echo(_escape(text), err=True)


def _escape(text: str) -> str:
    """Escape control characters: chatbot output is untrusted."""
    return "\n".join(map(escape_unprintable, text.split("\n")))
