"""`dissensus aggregate`: the labels of each item."""

from enum import StrEnum
from typing import Annotated

import typer

from dissensus.cli import reading, writing
from dissensus.cli.writing import Format, FormatOption, OutputOption


class Rule(StrEnum):
    """How the answers of raters become the label of an item."""

    SOFT = "soft"
    PLURALITY = "plurality"


def aggregate(
    ratings: reading.RatingsFile,
    rule: Annotated[
        Rule, typer.Option(help="soft: the share of each answer. plurality: the most frequent, ties reported.")
    ] = Rule.SOFT,
    by: Annotated[str | None, typer.Option(metavar="AXIS", help="Labels of each group of an axis.")] = None,
    items: reading.ItemsFile = None,
    question: reading.Question = None,
    item: reading.Item = "item_id",
    rater: reading.Rater = "rater_id",
    answer: reading.Answer = None,
    rater_attribute: reading.RaterAttributes = None,
    categories: reading.Categories = None,
    where: reading.Where = None,
    exclude_flagged: reading.ExcludeFlagged = False,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Turn the answers of raters into labels of items, of the whole pool or of each group.

    Example: dissensus aggregate ratings.csv --by gender --format csv -o soft-labels.csv
    """
    table = reading.read(
        ratings,
        items=items,
        question=question,
        item=item,
        rater=rater,
        answer=answer,
        rater_attributes=rater_attribute,
        categories=categories,
        where=where,
        exclude_flagged=exclude_flagged,
    )
    import polars as pl

    from dissensus.pipeline.aggregate import plurality, soft_labels

    labels = (soft_labels if rule is Rule.SOFT else plurality)(table, table.questions[0], by=by)
    kind = writing.chosen(format, output)
    if kind is Format.JSON:
        writing.write(labels.write_json(), output)
    elif kind is Format.CSV:
        lists = [name for name, dtype in labels.schema.items() if dtype == pl.List(pl.String)]
        writing.write(labels.with_columns(pl.col(lists).list.join("|")).write_csv(), output)
    else:
        with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
            writing.write(str(labels), output)
