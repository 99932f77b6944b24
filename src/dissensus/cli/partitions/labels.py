"""Labels of the items of a folder of Parquet files, written block by block."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import typer

from dissensus.cli import result_writer
from dissensus.cli.options import drop_unset
from dissensus.cli.result_writer import Format
from dissensus.errors import InvalidInput
from dissensus.pipeline.aggregate import plurality, soft_labels
from dissensus.pipeline.engine.ratings import IN_MEMORY, PartitionedRatings
from dissensus.pipeline.score import label_by_rule
from dissensus.schema.ratings.table import Ratings

LabelFunction = Callable[[Ratings], pl.DataFrame]
"""Function that returns the labels of the items of a block."""


def choose_label_function(rule: str, by: str | None, **decision: Any) -> LabelFunction:
    """Return the function that labels the items of a block by a rule."""
    if rule == "share":
        return partial(label_by_rule, rule=rule, **drop_unset(**decision))
    functions = {"soft": soft_labels, "plurality": plurality}
    if rule not in functions:
        raise InvalidInput(
            f"--rule {rule} is not computed from a folder of Parquet files; soft, plurality, share and "
            f"poststratified are. {IN_MEMORY}"
        )
    return partial(functions[rule], by=by)


def choose_format(format: Format | None, output: Path | None) -> Format:  # noqa: A002 - the option's name
    """Return the format of labels, csv by default; refuse a table, whose column widths depend on all rows."""
    kind = result_writer.choose_format(format, output)
    if kind is not Format.TABLE:
        return kind
    if format is None and output is None:
        return Format.CSV
    raise InvalidInput(
        "Labels of a folder of Parquet files are not printed as a table, which would hold all items in memory. Use "
        "--format csv or json, or name a .csv or .json file."
    )


def write_labels(
    load: partial[PartitionedRatings], label_items: LabelFunction, kind: Format, output: Path | None
) -> None:
    """Read a folder, and write the labels of its items block by block."""
    ratings = load(with_items=True)
    for note in ratings.pool.notes:
        typer.echo(f"Note: {note}", err=True)
    tables = map(label_items, ratings.tables())
    result_writer.write_chunks(_format_json(tables) if kind is Format.JSON else _format_csv(tables), output)


def _format_csv(tables: Iterable[pl.DataFrame]) -> Iterator[str]:
    for number, table in enumerate(tables):
        yield result_writer.to_csv(result_writer.join_lists(table), header=number == 0)


def _format_json(tables: Iterable[pl.DataFrame]) -> Iterator[str]:
    separator = "["
    for table in tables:
        if table.height:
            yield separator + table.write_json()[1:-1]
            separator = ","
    yield "[]\n" if separator == "[" else "]\n"
