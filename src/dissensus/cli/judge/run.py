"""`dissensus judge run`: a language model answers a questionnaire about items."""

import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import RenameOption
from dissensus.cli.platform.options import SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.cli.ratings_options import split_renames
from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.item_import import read_renamed_items
from dissensus.files.items import read_items
from dissensus.files.judge.folder import FILES
from dissensus.files.ratings.reader import read_ratings
from dissensus.files.raw.atomic_write import check_distinct
from dissensus.files.raw.content import read_text
from dissensus.pipeline.judge.estimate import Prices
from dissensus.pipeline.judge.pairs import questionnaire_for_judge
from dissensus.pipeline.judge.personas import FEWEST, Persona, choose_personas
from dissensus.pipeline.judge.presentation import check_probes
from dissensus.pipeline.judge.request_plan import JudgeSettings, ResponseFormat
from dissensus.schema.campaign.chatbot import Chatbot
from dissensus.schema.campaign.chatbot_parser import parse_chatbot
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.hints import count_noun
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.parser import parse_questionnaire
from dissensus.schema.questionnaire.shipped import load_questionnaire, questionnaires
from dissensus.schema.records.item import Item
from dissensus.workflows.campaign import overview
from dissensus.workflows.judge.permission import load_judged_campaign, record_judging
from dissensus.workflows.judge.run import JudgeRun, estimate_run, run_judge
from dissensus.workflows.platform.platform import Platform

PERSONAS, REQUESTS = "Personas", "Requests"


def run(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]…", help="Conversations: csv, jsonl, json, parquet, or pasted text."),
    ] = None,
    *,
    judge: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="TOML file that defines the model, of kind openai_compatible or local; see dissensus chat --help.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", help="Folder of the answers; an interrupted run is resumed."),
    ],
    questionnaire: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE", help="Name of a built-in questionnaire, or file of a questionnaire or of a campaign."
        ),
    ] = None,
    campaign: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Campaign of the site, in place of files: its items and its questions."),
    ] = None,
    seeds: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of answers to each item, each with its own seed.")
    ] = 3,
    probe: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Ask again with one thing changed: repeat, options, questions, wording, length, responses (of pairs), "
            "or all; repeatable.",
        ),
    ] = None,
    persona_by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS",
            help="Ask also as a person of each group, such as race; repeatable.",
            rich_help_panel=PERSONAS,
        ),
    ] = None,
    ratings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Ratings of people, whose groups are the personas.", rich_help_panel=PERSONAS
        ),
    ] = None,
    min_raters: Annotated[
        int, typer.Option(metavar="K", help="Personas of groups with K raters or more.", rich_help_panel=PERSONAS)
    ] = FEWEST,
    response_format: Annotated[
        ResponseFormat,
        typer.Option(
            help="Structured output requested from the server; text for servers without it.", rich_help_panel=REQUESTS
        ),
    ] = "json_schema",
    per_minute: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Maximum requests per minute.", rich_help_panel=REQUESTS)
    ] = None,
    prices: Annotated[
        str | None,
        typer.Option(
            metavar="IN:OUT",
            help="Prices of a million tokens of prompts and of responses, for the estimate.",
            rich_help_panel=REQUESTS,
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Estimate requests, tokens and cost; send nothing.", rich_help_panel=REQUESTS),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Send without asking; needed without a terminal.", rich_help_panel=REQUESTS)
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of orders, and of the seeds of requests.")] = 0,
    rename: RenameOption = None,
    site: SettingsOption = None,
) -> None:
    """Let a language model answer the questionnaire of a campaign about items.

    The order of questions and answers is drawn anew for each seed of an item. Responses that cannot be parsed are
    counted and kept. The folder has ratings.csv, whose raters are of the kind model: no analysis reads them unless it
    is asked to. Estimate the cost first.

    Texts of a campaign of the site leave this machine with the permission of its owner alone: dissensus judge permit.

    Example: dissensus judge run items.csv --judge tern.toml --questionnaire dices-350 -o judged --dry-run
    """
    check_distinct([*(files or ()), *([] if ratings is None else [ratings])], [output / name for name in FILES])
    chatbot = _read_judge(judge)
    personas = _choose_personas(persona_by, ratings, min_raters)
    settings = JudgeSettings(
        n_seeds=seeds,
        seed=seed,
        probes=check_probes(probe or ()),
        personas=personas,
        response_format=response_format,
        system_prompt=chatbot.system_prompt,
    )
    options: dict[str, Any] = {"judge": chatbot, "settings": settings, "folder": output, "per_minute": per_minute}
    sending = SendingOptions(prices=_split_prices(prices), dry_run=dry_run, ask=not yes)
    if campaign is not None:
        if files or questionnaire or rename:
            raise InvalidInput(
                "--campaign brings its items and questions. Leave out FILE, --questionnaire and --rename."
            )
        with open_site_platform(load_settings(site)) as platform:
            _send_campaign(platform, campaign, options, sending)
        return
    if not files or questionnaire is None:
        raise InvalidInput(
            "Give files of conversations and --questionnaire, or a campaign of the site: --campaign NAME"
        )
    items = tuple(_read_items(files, split_renames(rename)))
    send(JudgeRun(items=items, questionnaire=_read_questionnaire(questionnaire), **options), sending)


def _send_campaign(platform: Platform, name: str, options: dict[str, Any], sending: "SendingOptions") -> None:
    """Let a judge answer the questions of a campaign about its items, as its owner."""
    staff_id = overview.find_owner_id(platform, name)
    questionnaire, items = load_judged_campaign(platform, name, staff_id=staff_id)
    run = JudgeRun(items=items, questionnaire=questionnaire, campaign=name, **options)

    def record(n_requests: int) -> None:
        record_judging(platform, name, run, n_requests, staff_id=staff_id, now=utc_now())

    send(run, sending, record)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingOptions:
    """Options of sending requests: prices of the estimate, whether to send, and whether to ask before."""

    prices: Prices | None
    dry_run: bool
    ask: bool


def send(judge_run: JudgeRun, sending: SendingOptions, record: Callable[[int], None] | None = None) -> None:
    """Print the estimate, ask, record the number of requests, send them, and print the outcomes."""
    estimate = estimate_run(judge_run, prices=sending.prices)
    target = "to this machine" if judge_run.url is None else f"to {judge_run.url}"
    typer.echo(f"{judge_run.judge.name}: {estimate}, {target}.", err=not sending.dry_run)
    if sending.dry_run:
        return
    if sending.ask and estimate.n_requests:
        if not sys.stdin.isatty():
            raise InvalidInput(f"{count_noun(estimate.n_requests, 'request')} would be sent {target}. Add --yes.")
        typer.confirm(f"Send {estimate.n_requests:,} requests with the texts of items {target}?", abort=True, err=True)
    if record is not None:
        record(estimate.n_requests)
    with result_writer.progress_bar("Judging") as show:
        progress = None if show is None else lambda n, total: show(n / total)
        result = run_judge(judge_run, environment=os.environ, progress=progress)
    n_answered = result.outcomes.get("answered", 0)
    others = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in result.outcomes.items() if name != "answered")
    typer.echo(f"{n_answered:,} of {result.n_requests:,} requests answered{f'; {others}' if others else ''}.")
    if result.prompt_tokens is not None and result.response_tokens is not None:
        typer.echo(f"Tokens: {result.prompt_tokens:,} of prompts, {result.response_tokens:,} of responses.", err=True)
    typer.echo(f"Wrote {judge_run.folder}: {result.n_ratings:,} ratings by a model.", err=True)


def _read_judge(path: Path) -> Chatbot:
    return parse_chatbot(read_text(path))


def _read_questionnaire(source: str) -> Questionnaire:
    """Read a questionnaire by name, or from a file of its own or of a campaign."""
    if source in questionnaires():
        return load_questionnaire(source)
    if not Path(source).exists():
        return load_questionnaire(source)  # The error lists the built-in ones
    text = read_text(Path(source))
    try:
        is_campaign = not {"questionnaire", "pair"}.isdisjoint(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        is_campaign = False
    return questionnaire_for_judge(parse_campaign(text)) if is_campaign else parse_questionnaire(text)


def _read_items(files: list[Path], renames: dict[str, str | dict[str, str]]) -> Iterator[Item]:
    for file in files:
        read = read_renamed_items(file, read_items, renames)
        for note in read.notes:
            typer.echo(f"Note: {file}: {note}", err=True)
        yield from read.items


def _choose_personas(axes: list[str] | None, ratings: Path | None, min_raters: int) -> tuple[Persona, ...]:
    if axes is None:
        if ratings is not None:
            raise InvalidInput(
                "--ratings gives the groups of personas. Name their axis, --persona-by, or leave it out."
            )
        return ()
    if ratings is None:
        raise InvalidInput("Personas are groups of raters. Give ratings of people that have them: --ratings FILE")
    personas, notes = choose_personas(read_ratings(ratings), axes, min_raters=min_raters)
    for note in notes:
        typer.echo(f"Note: {note}", err=True)
    return personas


def _split_prices(text: str | None) -> Prices | None:
    """Parse the value of --prices, such as 0.15:0.6."""
    if text is None:
        return None
    prompt, _, response = text.partition(":")
    try:
        return Prices(prompt=float(prompt), response=float(response))
    except DissensusError:
        raise
    except ValueError:
        raise InvalidInput(f"--prices {text!r} is not like 0.15:0.6.") from None
