"""`dissensus export`: internal data of a campaign as files."""

from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli.platform.options import SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.export import ratings
from dissensus.workflows.export.conversations import export_conversations
from dissensus.workflows.export.folder import README
from dissensus.workflows.export.pairs import export_pairs
from dissensus.workflows.export.ratings import ExportOptions
from dissensus.workflows.platform.platform import Platform


def export(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The campaign.")],
    output: Annotated[
        Path,
        typer.Option(
            *("-o", "--output"),
            metavar="FILE",
            help="Ends in .csv, .jsonl (both also .gz) or .parquet. Of conversations, or with the pairs: a new folder.",
        ),
    ],
    purpose: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only raters who agreed to this too; repeatable. Default: what is required."),
    ] = None,
    with_text: Annotated[bool, typer.Option("--with-text", help="With what raters wrote in their own words.")] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Leave texts as they are that a spreadsheet takes for formulas.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it is there already.")] = False,
    settings: SettingsOption = None,
) -> None:
    """Write the finished ratings of a campaign, or its conversations, as internal data that is not for publication.

    Left out are previews, dry runs, whoever withdrew and whoever did not agree. FILE.README.txt says how many. Of a
    campaign in which raters talk with chatbots a folder is written: preferences, pairs and red-team attempts as
    hh-rlhf has them, and the conversations as items to be rated. Of a campaign in which they compare two responses a
    folder holds the ratings, the preferences, and pairs as hh-rlhf has them.

    Example: dissensus export pilot -o pilot.csv
    """
    if not output.suffix:
        _export_folder(
            name, output, ratings.ExportOptions(purposes=tuple(purpose or ()), with_text=with_text), settings
        )
        return
    asked = ratings.ExportOptions(purposes=tuple(purpose or ()), with_text=with_text, raw=raw)
    with open_site_platform(load_settings(settings), old=True) as platform:
        done = ratings.export_ratings(platform, name, output, asked=asked, overwrite=force, now=utc_now())
    if done.guarded:
        texts = f"{done.guarded:,} texts that spreadsheets take for formulas have an apostrophe before them"
        typer.echo(f"Note: {texts}; --raw leaves them as they are.", err=True)
    counted = done.counts.exported
    typer.echo(f"Wrote {output}: {counted.ratings:,} ratings by {counted.raters:,} raters, internal.", err=True)
    typer.echo(f"{done.readme} says what was left out.", err=True)


def _export_folder(name: str, folder: Path, asked: ExportOptions, settings: Path | None) -> None:

    with open_site_platform(load_settings(settings), old=True) as platform:
        campaign = campaigns.load_definition(platform, name, staff_id=overview.owner_id_of(platform, name))
        (_export_chats if campaign.pair is None else _export_pairs)(platform, name, folder, asked)


def _export_pairs(platform: Platform, name: str, folder: Path, asked: ExportOptions) -> None:

    done = export_pairs(platform, name, folder, asked=asked, now=utc_now())
    gave = f"{done.n_preferences:,} preferences by {done.n_raters:,} raters"
    typer.echo(f"Wrote {folder}: {gave}, internal.", err=True)
    typer.echo(f"Of them came {done.n_pairs:,} pairs. {folder / README} says what was left out.", err=True)


def _export_chats(platform: Platform, name: str, folder: Path, asked: ExportOptions) -> None:

    done = export_conversations(platform, name, folder, purposes=asked.purposes, now=utc_now())
    came = f"{done.n_preferences:,} preferences, {done.n_pairs:,} pairs, {done.n_attempts:,} red-team attempts"
    typer.echo(f"Wrote {folder}: {done.n_chats:,} conversations of {done.n_raters:,} raters, internal.", err=True)
    typer.echo(f"Of them came {came}. {folder / README} says what was left out.", err=True)
