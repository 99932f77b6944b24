"""`dissensus curate`: stratified sample of conversations to rate."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import READING, SeedOption, SetsOption
from dissensus.cli.result_writer import Format
from dissensus.errors import InvalidInput
from dissensus.files.items import read_items
from dissensus.files.raw.atomic_write import check_folder
from dissensus.files.raw.table_reader import name_source, to_plain_frame
from dissensus.pipeline import curate as stage
from dissensus.pipeline.curate import Allocation, Selection, join_attributes
from dissensus.pipeline.curate.manifest import to_json_lines
from dissensus.schema.records.item import Item
from dissensus.text.personal_data import KINDS, Kind

SCREENS, ALL_KINDS = "Screens", "personal-data"


def curate(
    items: Annotated[
        Path, typer.Argument(metavar="ITEMS", help="Conversations: csv, jsonl, json, parquet, or pasted text as txt.")
    ],
    n: Annotated[
        int | None,
        typer.Option("-n", metavar="N", min=1, help="Number of items in the sample. Not needed with STRATUM=N."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Attribute that divides items into strata; repeatable to cross several."),
    ] = None,
    sets: SetsOption = None,
    allocation: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE|STRATUM=N",
            help="proportional, which is the default, equal, or a number for each stratum; repeatable.",
        ),
    ] = None,
    fill: Annotated[bool, typer.Option("--fill", help="Fill the shortfall of a stratum from the others.")] = False,
    drop_duplicates: Annotated[
        float | None,
        typer.Option(
            metavar="SIMILARITY",
            help="Leave out exact and near duplicates of earlier items, from this Jaccard similarity on: .8.",
            rich_help_panel=SCREENS,
        ),
    ] = None,
    screen: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Leave out items with apparent personal-data, or one kind of it, as email_address; repeatable.",
            rich_help_panel=SCREENS,
        ),
    ] = None,
    seed: SeedOption = 0,
    item: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with the item ids, if not item_id.", rich_help_panel=READING),
    ] = None,
    pairs: Annotated[
        Literal["both", "chosen", "rejected"],
        typer.Option(help="Responses of a preference pair that become items.", rich_help_panel=READING),
    ] = "both",
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table of items or ratings with columns of --by that ITEMS lacks.",
            rich_help_panel=READING,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the sample, as .jsonl.")
    ] = None,
    plan_output: Annotated[
        Path | None,
        typer.Option("--plan", metavar="FILE", help="Write the plan and the outcome for every item, as JSON."),
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        Format, typer.Option("--format", help="Output format: table, strata; json, all; csv, a row for each item.")
    ] = Format.TABLE,
) -> None:
    """Draw a stratified sample of conversations, with screens and a reproducible plan.

    Without -o it prints the strata and writes no sample. `dissensus campaign new` accepts the sample.

    Example: dissensus curate corpus.jsonl -n 990 --by degree_of_harm --drop-duplicates .8 -o sample.jsonl
    """
    outputs = [path for path in (output, plan_output) if path]
    for path in outputs:
        check_folder(path)
    if output is not None and output.suffix.lower() != ".jsonl":
        raise InvalidInput(f"{output} cannot be written: the sample is JSON Lines, so name a file that ends in .jsonl.")
    sample_plan = stage.SamplePlan(
        n=_require_size(n, allocation),
        by=by or (),
        sets=sets or (),
        allocation=_parse_allocation(allocation or ["proportional"]),
        fill=fill,
        duplicates=drop_duplicates,
        personal_data=_parse_screens(screen or ()),
        seed=seed,
    )
    pool = _read_items(items, item, pairs, labels, sample_plan.by)
    with result_writer.progress_bar("Screening") as progress:
        selection = stage.curate(pool, sample_plan, progress=progress)
    _print_selection(selection, format)
    if output is None:
        typer.echo("No sample is written. Name a file for it: -o sample.jsonl", err=True)
    else:
        result_writer.write_text(to_json_lines(selection.sample), output)
    if plan_output is not None:
        result_writer.write_text(selection.to_json(), plan_output)


def _require_size(n: int | None, allocation: Sequence[str] | None) -> int:
    """Return -n, or 0 without it if --allocation gives the number of each stratum."""
    if n is None and not any("=" in word for word in allocation or ()):
        raise InvalidInput("The size of the sample is missing. Add -n N, or --allocation STRATUM=N.")
    return n or 0


def _parse_allocation(words: Sequence[str]) -> Allocation:
    """Parse the values of --allocation: one rule, or STRATUM=N for each stratum."""
    if len(words) == 1 and "=" not in words[0]:
        return cast("Allocation", words[0])
    numbers: dict[str, int] = {}
    for word in words:
        name, equals, number = word.rpartition("=")
        if not equals or not (number.isascii() and number.isdigit()):
            raise InvalidInput(f"--allocation {word!r} is not STRATUM=N; give one for each stratum, or one rule.")
        if name in numbers:
            raise InvalidInput(f"--allocation names {name!r} twice. Name it once.")
        numbers[name] = int(number)
    return numbers


def _parse_screens(words: Sequence[str]) -> Sequence[Kind]:
    """Parse the values of --screen: kinds of personal data, which `SamplePlan` checks, or all of them."""
    if ALL_KINDS not in words:
        return cast("Sequence[Kind]", words)
    if len(words) > 1:
        raise InvalidInput(f"--screen {ALL_KINDS} means all kinds. Leave out the others, or leave it out.")
    return KINDS


def _read_items(
    source: Path, item: str | None, pairs: Literal["both", "chosen", "rejected"], labels: Path | None, by: Sequence[str]
) -> tuple[Item, ...]:
    items, notes = read_items(source, item=item, pairs=pairs)
    for note in notes:
        typer.echo(f"Note: {note}", err=True)
    if labels is None:
        return items
    with name_source(labels):
        return join_attributes(items, to_plain_frame(labels), by, item=item or "item_id")


def _print_selection(selection: Selection, kind: Format) -> None:
    if kind is Format.TABLE:
        result_writer.write_pages([selection.page()], None)
        return
    for note in selection.notes:
        typer.echo(f"Note: {note}", err=True)
    if kind is Format.JSON:
        result_writer.write_text(selection.to_json(), None)
    else:
        result_writer.write_text(result_writer.to_csv(result_writer.join_lists(selection.items)), None)
