"""Official DICES files, with a flag for raters whom their authors removed."""

import polars as pl

from dissensus.errors import NotFound
from dissensus.schema.hints import format_list
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.ratings import columns as names


def is_official(frame: pl.DataFrame, name: str) -> bool:
    """Return whether a table has exactly the columns of an official file, in their order."""
    return tuple(frame.columns) == load_questionnaire(name).columns


def read(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the long table: all columns, and ``rater_flagged`` if it has raters whom the README lists as removed."""
    flagged = frame[names.RATER_ID].is_in(load_questionnaire(name).flagged_raters).fill_null(value=False)
    return frame.with_columns(flagged.alias(names.FLAG)) if flagged.any() else frame


def write(frame: pl.DataFrame, name: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the table of an official file, with a note on columns that it lacks."""
    columns = load_questionnaire(name).columns
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise NotFound(
            f"The official file has {len(columns)} columns, and the table lacks {len(missing)} of them: "
            f"{format_list(missing)}. Name another kind with --to."
        )
    left_out = [column for column in frame.columns if column not in columns]
    note = f"Left out, because {name} does not have them: {format_list(left_out, 50)}."
    return frame.select(columns), (note,) * bool(left_out)
