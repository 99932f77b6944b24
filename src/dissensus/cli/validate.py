"""`dissensus validate`: all errors and warnings of a file."""

import json
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from dissensus.cli import result_writer
from dissensus.cli.options import (
    READING,
    AnnotatorsOption,
    AnswerColumnOption,
    BinsOption,
    CategoriesOption,
    DuplicatesOption,
    HasLabelOption,
    ItemColumnOption,
    ItemColumnsOption,
    ItemsOption,
    KindOption,
    MissingOption,
    NoRatersOption,
    NormaliseOption,
    RaterAttributeOption,
    RaterColumnOption,
    RaterColumnsOption,
    RatersOption,
    RenameOption,
    SetsOption,
    TextColumnOption,
)
from dissensus.cli.ratings_options import split_bins, split_categories, split_renames
from dissensus.cli.remedy import print_remedy
from dissensus.cli.result_writer import Format, FormatOption, OutputOption
from dissensus.cli.standard_input import spool
from dissensus.files.ratings.reader import validate as run
from dissensus.files.raw.atomic_write import check_distinct
from dissensus.files.record_validation import holds_records, validate_records


def validate(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Tables of ratings, preference pairs, or red-team attempts.")
    ],
    items: ItemsOption = None,
    raters: RatersOption = None,
    question: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Question to check; repeatable. Default: all.", rich_help_panel=READING),
    ] = None,
    answer: AnswerColumnOption = None,
    item: ItemColumnOption = "item_id",
    rater: RaterColumnOption = "rater_id",
    no_raters: NoRatersOption = False,
    rater_attribute: RaterAttributeOption = None,
    categories: CategoriesOption = None,
    has_label: HasLabelOption = None,
    missing: MissingOption = None,
    normalise: NormaliseOption = False,
    duplicates: DuplicatesOption = "refuse",
    bins: BinsOption = None,
    sets: SetsOption = None,
    rename: RenameOption = None,
    text_column: TextColumnOption = None,
    kind: KindOption = None,
    rater_columns: RaterColumnsOption = None,
    item_columns: ItemColumnsOption = None,
    annotators: AnnotatorsOption = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Check files, and list all faults: location, value, allowed values, remedy.

    Preference pairs and red-team attempts are recognised by their columns; the options apply to tables of ratings.

    Exits with 1 if a file has errors; warnings do not count.

    Example: dissensus validate ratings.csv --format csv -o problems.csv
    """
    check_distinct(files, [] if output is None else [output])
    files = [spool(path) for path in files]
    results = [
        validate_records(path)
        if holds_records(path)
        else run(
            path,
            answer=answer,
            questions=question or "all",
            item=item,
            rater=None if no_raters else rater,
            rater_attributes=rater_attribute or (),
            categories=split_categories(categories),
            missing=split_categories(missing) or (),
            normalise=normalise,
            has_label=has_label,
            duplicates=duplicates,
            bins=split_bins(bins),
            sets=sets or (),
            rename=split_renames(rename),
            items=items,
            raters=raters,
            text=text_column,
            kind=kind,
            rater_columns=rater_columns,
            item_columns=item_columns,
            annotators=annotators,
        )
        for path in files
    ]
    output_format = result_writer.choose_format(format, output)
    if output_format is Format.TABLE:
        text = "\n\n".join(map(str, results))
    elif output_format is Format.JSON:
        document = {"schema_version": 1, "files": [result.to_dict() for result in results]}
        text = json.dumps(document, ensure_ascii=False, indent=2)
    else:
        text = result_writer.to_csv(pl.concat([result.to_polars() for result in results]))
    result_writer.write_text(text, output)
    for result in results:
        print_remedy(result.options, only=result.source if len(results) > 1 else None)
    if not all(result.ok for result in results):
        raise typer.Exit(1)
