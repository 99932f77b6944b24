"""`dissensus aggregate`: the labels of each item."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from dissensus.cli import writing
from dissensus.cli.reading import reads_ratings
from dissensus.cli.writing import Format, FormatOption, OutputOption

if TYPE_CHECKING:
    from dissensus.schema.ratings import Ratings


class Rule(StrEnum):
    """How the answers of raters become the label of an item."""

    SOFT = "soft"
    PLURALITY = "plurality"


@reads_ratings
def aggregate(
    ratings: "Ratings",
    rule: Annotated[
        Rule, typer.Option(help="soft: the share of each answer. plurality: the most frequent, ties reported.")
    ] = Rule.SOFT,
    by: Annotated[str | None, typer.Option(metavar="AXIS", help="Labels of each group of an axis.")] = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Turn the answers of raters into labels of items, of the whole pool or of each group.

    Example: dissensus aggregate ratings.csv --by gender --format csv -o soft-labels.csv
    """
    import polars as pl

    from dissensus.pipeline.aggregate import plurality, soft_labels

    labels = (soft_labels if rule is Rule.SOFT else plurality)(ratings, ratings.questions[0], by=by)
    kind = writing.chosen(format, output)
    for note in ratings.notes:
        typer.echo(f"Note: {note}", err=True)
    if kind is Format.JSON:
        writing.write(labels.write_json(), output)
        return
    lists = [name for name, dtype in labels.schema.items() if dtype == pl.List(pl.String)]
    labels = labels.with_columns(pl.col(lists).list.join("|"))
    if kind is Format.CSV:
        writing.write(labels.write_csv(), output)
        return
    with pl.Config(
        fmt_str_lengths=10_000,
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=10_000,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
    ):
        writing.write(str(labels), output)
