"""`dissensus campaign add-items`, `remove-items`, `rehearse` and `add-platinum`."""

from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli.platform.options import NameArgument, SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.files.pairs.items import reader_for
from dissensus.files.raw.table_reader import read_frame
from dissensus.workflows.campaign import campaigns, overview, rehearsal
from dissensus.workflows.gold import comparison


def add_items(
    name: NameArgument,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="Conversations: csv, jsonl, json, parquet, or pasted text as txt."),
    ],
    settings: SettingsOption = None,
) -> None:
    """Add items to a draft, after those that it has: those of all files, or none.

    Example: dissensus campaign add-items pilot more.csv pasted.txt
    """
    with open_site_platform(load_settings(settings), old=True) as platform:
        staff_id = overview.owner_id_of(platform, name)
        reader = reader_for(campaigns.load_draft_definition(platform, name, staff_id=staff_id))
        reads = [(file, reader(file)) for file in files]
        items = [item for _, read in reads for item in read.items]
        n = campaigns.add_items(platform, name, items, staff_id=staff_id, now=utc_now())
    for file, read in reads:
        for note in read.notes:
            typer.echo(f"Note: {file}: {note}", err=True)
    typer.echo(f"{len(items):,} items were added; {name} has {n:,}.")


def remove_items(
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    settings: SettingsOption = None,
) -> None:
    """Take all items out of a draft, and with them what was answered in previews and dry runs.

    Example: dissensus campaign remove-items pilot
    """
    with open_site_platform(load_settings(settings), old=True) as platform:
        staff_id = overview.owner_id_of(platform, name)
        campaigns.load_draft_definition(platform, name, staff_id=staff_id)
        n = overview.load_overview(platform, name, staff_id=staff_id).numbers.n_items
        if not yes:
            typer.confirm(f"Take all {n:,} items out of {name}? There is no way back.", abort=True, err=True)
        n = campaigns.remove_items(platform, name, staff_id=staff_id, now=utc_now())
    typer.echo(f"{n:,} items were removed; {name} has none.")


def rehearse(
    name: NameArgument,
    raters: Annotated[int, typer.Option(metavar="N", help="How many raters, each with all items of theirs.")] = 5,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Of what they answer.")] = 0,
    settings: SettingsOption = None,
) -> None:
    """Let simulated raters go the whole way of a campaign; nothing of theirs counts or is exported.

    Example: dissensus campaign rehearse pilot --raters 20 --seed 1
    """
    with open_site_platform(load_settings(settings), old=True) as platform:
        staff_id = overview.owner_id_of(platform, name)
        rated = rehearsal.run_rehearsal(platform, name, raters, staff_id=staff_id, seed=seed, now=utc_now())
    typer.echo(f"{raters:,} simulated raters rated {rated:,} items of {name}. Nothing of theirs counts.")


def add_platinum(
    name: NameArgument,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="One row an item: item_id and label, or the share of each answer.")
    ],
    source: Annotated[str, typer.Option(metavar="TEXT", help="Where the labels come from, such as study and year.")],
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column of the label. Default: safety_platinum, label or answers."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace such labels that items have already.")] = False,
    settings: SettingsOption = None,
) -> None:
    """Bring the labels that an earlier crowd gave to items, all of them or none.

    Example: dissensus campaign add-platinum pilot earlier.csv --source "Study of May 2026"
    """
    frame = read_frame(file)
    with open_site_platform(load_settings(settings), old=True) as platform:
        options = {"source": source, "label": label, "replacing": replace}
        staff_id = overview.owner_id_of(platform, name)
        n = comparison.add_platinum(platform, name, frame, **options, staff_id=staff_id, now=utc_now())  # type: ignore[arg-type]
    typer.echo(f"Labels of {n:,} items of {name} are kept.")
