"""`dissensus campaign add-items`, `add-images`, `remove-items`, `rehearse` and `add-platinum`: items of a campaign."""

from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli.options import RenameOption, SeedOption
from dissensus.cli.platform.options import NameArgument, SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.cli.ratings_options import split_renames
from dissensus.errors import InvalidInput
from dissensus.files.images import read_image_files
from dissensus.files.item_import import read_renamed_items
from dissensus.files.pairs.items import reader_for
from dissensus.files.raw.content import read_bytes
from dissensus.files.raw.table_reader import read_frame
from dissensus.schema.hints import count_noun
from dissensus.workflows.campaign import campaigns, images, overview, rehearsal
from dissensus.workflows.gold import comparison


def add_items(
    name: NameArgument,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="Conversations: csv, jsonl, json, parquet, or pasted text as txt."),
    ],
    rename: RenameOption = None,
    settings: SettingsOption = None,
) -> None:
    """Append items to a draft: those of all files, or none.

    Example: dissensus campaign add-items pilot more.csv --rename prompt=context --rename answer=response
    """
    renames = split_renames(rename)
    with open_site_platform(load_settings(settings)) as platform:
        staff_id = overview.find_owner_id(platform, name)
        reader = reader_for(campaigns.load_draft_definition(platform, name, staff_id=staff_id))
        contents = [(file, read_renamed_items(file, reader, renames)) for file in files]
        items = [item for _, content in contents for item in content.items]
        n = campaigns.add_items(platform, name, items, staff_id=staff_id, now=utc_now())
    for file, content in contents:
        for note in content.notes:
            typer.echo(f"Note: {file}: {note}", err=True)
    typer.echo(f"Added {count_noun(len(items), 'item')}; {name} has {n:,}.")


def add_images(
    name: NameArgument,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="Images: png, jpg or webp, or zip archives of these.")
    ],
    settings: SettingsOption = None,
) -> None:
    """Add images to a draft, which its items name in item_image: those of all files, or none.

    Example: dissensus campaign add-images pilot pictures.zip
    """
    read = read_image_files([(file.name, read_bytes(file)) for file in files])
    if read.refused:
        reasons = " ".join(f"{refused.name}: {refused.reason}" for refused in read.refused)
        more = read.n_refused - len(read.refused)
        raise InvalidInput(f"No image was added. {reasons}" + (f" And {more:,} more." if more else ""))
    with open_site_platform(load_settings(settings)) as platform:
        staff_id = overview.find_owner_id(platform, name)
        n = len(images.add_images(platform, name, read.images, staff_id=staff_id, now=utc_now()))
    typer.echo(f"Added {count_noun(len(read.images), 'image')}; {name} has {n:,}.")


def remove_items(
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    settings: SettingsOption = None,
) -> None:
    """Remove all items of a draft, with the answers of previews and dry runs.

    Example: dissensus campaign remove-items pilot
    """
    with open_site_platform(load_settings(settings)) as platform:
        staff_id = overview.find_owner_id(platform, name)
        campaigns.load_draft_definition(platform, name, staff_id=staff_id)
        n = overview.load_overview(platform, name, staff_id=staff_id).numbers.n_items
        if not yes:
            typer.confirm(f"Remove all {n:,} items of {name}? This cannot be undone.", abort=True, err=True)
        n = campaigns.remove_items(platform, name, staff_id=staff_id, now=utc_now())
    typer.echo(f"Removed {count_noun(n, 'item')}; {name} has none.")


def rehearse(
    name: NameArgument,
    raters: Annotated[
        int, typer.Option(metavar="N", help="Number of simulated raters, each of whom rates all their items.")
    ] = 5,
    seed: SeedOption = 0,
    settings: SettingsOption = None,
) -> None:
    """Let simulated raters complete a campaign; their answers neither count nor are exported.

    Example: dissensus campaign rehearse pilot --raters 20 --seed 1
    """
    with open_site_platform(load_settings(settings)) as platform:
        staff_id = overview.find_owner_id(platform, name)
        n_rated = rehearsal.run_rehearsal(platform, name, raters, staff_id=staff_id, seed=seed, now=utc_now())
    people = count_noun(raters, "simulated rater")
    typer.echo(f"{people} rated {count_noun(n_rated, 'item')} of {name}. Their answers do not count.")


def add_platinum(
    name: NameArgument,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="One row per item: item_id and label, or the share of each answer.")
    ],
    source: Annotated[str, typer.Option(metavar="TEXT", help="Source of the labels, such as study and year.")],
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with the label. Default: safety_platinum, label or answers."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace existing labels.")] = False,
    settings: SettingsOption = None,
) -> None:
    """Import the labels that an earlier crowd gave to items, all of them or none.

    Example: dissensus campaign add-platinum pilot earlier.csv --source "Study of May 2026"
    """
    frame = read_frame(file)
    with open_site_platform(load_settings(settings)) as platform:
        n = comparison.add_platinum(
            platform,
            name,
            frame,
            source=source,
            label=label,
            replace=replace,
            staff_id=overview.find_owner_id(platform, name),
            now=utc_now(),
        )
    typer.echo(f"Stored labels of {count_noun(n, 'item')} of {name}.")
