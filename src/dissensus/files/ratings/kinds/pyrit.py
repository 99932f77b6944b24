"""Human-labelled data sets of PyRIT with the scores of several raters, one column each."""

from typing import Final

import polars as pl

from dissensus.schema.ratings.columns import ITEM_ID

RATER_COLUMNS: Final = "human_score_{rater_id}"
RESPONSE: Final = "assistant_response"
_SCORE, _DATA_TYPE = "human_score_", "data_type"
_ITEM_NAMES: Final = {
    RESPONSE: "response",
    "objective": "item_objective",
    "harm_category": "item_harm_category",
}


def is_multi_score(frame: pl.DataFrame) -> bool:
    """Return whether a table has responses and the scores of several raters, and no ids of items."""
    scores = [name for name in frame.columns if name.startswith(_SCORE)]
    return RESPONSE in frame.columns and len(scores) > 1 and ITEM_ID not in frame.columns


def number_items(frame: pl.DataFrame) -> pl.DataFrame:
    """Give each row its number as the id of an item, and columns of attributes their names in long tables."""
    ids = pl.int_range(1, frame.height + 1, eager=True).cast(pl.String).alias(ITEM_ID)
    named = frame.rename({old: new for old, new in _ITEM_NAMES.items() if old in frame.columns})
    scores = (_write_alike(named[name]) for name in named.columns if name.startswith(_SCORE))
    return named.with_columns(*scores).select(ids, pl.all().exclude(_DATA_TYPE))


def _write_alike(scores: pl.Series) -> pl.Series:
    """Write equal numbers as one text, so that 1 and 1.0 are one answer; leave other texts as they are."""
    numbers = scores.cast(pl.Float64, strict=False)
    texts = pl.Series([None if number is None else f"{number:.15g}" for number in numbers], dtype=pl.String)
    return texts.fill_null(scores.cast(pl.String)).alias(scores.name)
