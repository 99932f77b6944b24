"""`dissensus export`: internal data of a campaign as files."""

from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli.options import ForceOption
from dissensus.cli.platform.options import NameArgument, SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.export import ratings
from dissensus.workflows.export.conversations import export_conversations
from dissensus.workflows.export.folder import README
from dissensus.workflows.export.pairs import export_pairs
from dissensus.workflows.export.ratings import ExportOptions


def export(
    name: NameArgument,
    output: Annotated[
        Path,
        typer.Option(
            *("-o", "--output"),
            metavar="FILE",
            help="Ends in .csv, .jsonl (both also .gz) or .parquet. For conversations or pairs: a new folder.",
        ),
    ],
    purpose: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only raters who also consented to this purpose; repeatable. Default: the required ones.",
        ),
    ] = None,
    with_text: Annotated[bool, typer.Option("--with-text", help="Include free-text answers.")] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Do not escape texts that a spreadsheet would read as formulas.")
    ] = False,
    force: ForceOption = False,
    settings: SettingsOption = None,
) -> None:
    """Export the finished ratings or conversations of a campaign, as internal data that is not for publication.

    Previews, dry runs and raters who withdrew or did not consent are left out; FILE.README.txt has their numbers. For a
    campaign in which raters talk with chatbots, a folder is written: preferences, pairs and red-team attempts in the
    format of hh-rlhf, and the conversations as items to be rated. For a campaign in which they compare two responses,
    the folder has the ratings, the preferences, and pairs in the format of hh-rlhf.

    Example: dissensus export pilot -o pilot.csv
    """
    options = ExportOptions(purposes=tuple(purpose or ()), with_text=with_text, raw=raw)
    if not output.suffix:
        _export_folder(name, output, options, settings)
        return
    with open_site_platform(load_settings(settings)) as platform:
        result = ratings.export_ratings(platform, name, output, options=options, overwrite=force, now=utc_now())
    if result.n_guarded:
        texts = f"{result.n_guarded:,} texts that spreadsheets would read as formulas are escaped by an apostrophe"
        typer.echo(f"Note: {texts}; --raw leaves them unchanged.", err=True)
    exported = result.counts.exported
    typer.echo(f"Wrote {output}: {exported.ratings:,} ratings by {exported.raters:,} raters, internal.", err=True)
    typer.echo(f"{result.readme} lists what was left out.", err=True)


def _export_folder(name: str, folder: Path, options: ExportOptions, settings: Path | None) -> None:
    with open_site_platform(load_settings(settings)) as platform:
        campaign = campaigns.load_definition(platform, name, staff_id=overview.find_owner_id(platform, name))
        export_records = export_conversations if campaign.pair is None else export_pairs
        result = export_records(platform, name, folder, options=options, now=utc_now())
    preferences, pairs = f"{result.n_preferences:,} preferences", f"{result.n_pairs:,} pairs"
    if campaign.pair is None:
        exported = f"{result.n_chats:,} conversations of {result.n_raters:,} raters"
        derived = f"{preferences}, {pairs}, {result.n_attempts:,} red-team attempts"
    else:
        exported, derived = f"{preferences} by {result.n_raters:,} raters", pairs
    typer.echo(f"Wrote {folder}: {exported}, internal.", err=True)
    typer.echo(f"They make {derived}. {folder / README} lists what was left out.", err=True)
