"""Join of two releases by equal answers, as an outsider would try it who has both."""

from dataclasses import dataclass
from typing import Final

import polars as pl

from dissensus.pipeline.release.cells import mark_small_cells
from dissensus.schema.ratings import columns as names

ANSWERS: Final = "answers"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedRelease:
    """Outcome of the join."""

    n_raters: int
    n_matched: int  # raters with the answers of exactly one rater of the other release
    n_missing: int  # raters of the other release whom nobody matches
    n_small: int  # matched raters in small cells of the attributes of both


def join_releases(table: pl.DataFrame, previous: pl.DataFrame, k: int) -> JoinedRelease:
    """Join two tables by the answers of raters to the items and questions that both have.

    Examples
    --------
    The age is in one release and the sex in the other; joined, the only young man stands alone:

    >>> first = pl.DataFrame({"item_id": ["1"] * 3, "rater_id": ["a", "b", "c"], "rater_age": ["y", "y", "o"],
    ...                       "Q": ["No", "Yes", "Unsure"]})
    >>> second = first.drop("rater_age").with_columns(rater_sex=pl.Series(["M", "W", "W"]))
    >>> join_releases(second, first, 2).n_small
    3
    """
    questions = [name for name in table.columns if names.is_question(name) and name in previous.columns]
    items = set(table[names.ITEM_ID].cast(pl.String)) & set(previous[names.ITEM_ID].cast(pl.String))
    now, before = (_list_raters(each, questions, items) for each in (table, previous))
    pairs = now.join(before, on=ANSWERS, suffix="_before")
    matched = pairs.filter((pl.len().over(names.RATER_ID) == 1) & (pl.len().over(f"{names.RATER_ID}_before") == 1))
    axes = [name for name in matched.columns if names.is_rater_attribute(name) and name != f"{names.RATER_ID}_before"]
    return JoinedRelease(
        n_raters=now.height,
        n_matched=matched.height,
        n_missing=before.join(now, on=ANSWERS, how="anti").height,
        n_small=int(mark_small_cells(matched, axes, k).sum()) if axes else 0,
    )


def _list_raters(table: pl.DataFrame, questions: list[str], items: set[str]) -> pl.DataFrame:
    """Return one row per rater with attributes, and all answers as one text."""
    axes = [name for name in table.columns if names.is_rater_attribute(name)]
    answers = pl.concat_str(
        pl.col(names.ITEM_ID).cast(pl.String),
        *(pl.col(name).cast(pl.String).fill_null("") for name in questions),
        separator="\x1f",
    )
    rows = table.filter(pl.col(names.ITEM_ID).cast(pl.String).is_in(list(items)))
    rows = rows.select(names.RATER_ID, *(pl.col(axis).cast(pl.String) for axis in axes), answers.alias(ANSWERS))
    return (
        rows.sort(names.RATER_ID, ANSWERS)
        .group_by(names.RATER_ID, maintain_order=True)
        .agg(*(pl.col(axis).first() for axis in axes), pl.col(ANSWERS).str.join("\x1e"))
    )
