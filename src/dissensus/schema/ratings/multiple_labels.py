"""Multi-label answers: reduction to Yes or No for one label."""

import re

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.item_sets import keep_distinct, parse_json_values
from dissensus.schema.ratings import cells
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.cleaning import fold

NO, YES = "No", "Yes"
_SEPARATORS = re.compile(r"[|;]")


def select_label(
    frame: pl.DataFrame, item: str, rater: str | None, question: str, label: str
) -> tuple[pl.DataFrame, pl.Series | None]:
    """Reduce a multi-label question to Yes or No: whether a rater gave an item one of its labels.

    Labels stand in several rows, or in one cell, separated by | or ; or as a JSON list. The table keeps all its rows,
    with the rows that repeat the answer of an earlier one; None without a rater column.
    """
    texts = cells.to_text(frame[question])
    labels = {text: split_labels(text) for text in texts.drop_nulls().unique()}
    known = {fold(name): name for members in labels.values() for name in members}
    if fold(label) not in known:
        listed = sorted(known.values())
        raise InvalidInput(
            f"No rater gave the label {format_value(label)}. The labels of {question} are "
            f"{format_list(listed, 30)}.{suggest(label, listed[:1000])}"
        )
    answer_of = {text: fold(label) in map(fold, members) if members else None for text, members in labels.items()}
    has_label = texts.replace_strict(list(answer_of), list(answer_of.values()), default=None, return_dtype=pl.Boolean)
    pair = [item] if rater is None else [item, rater, *(name for name in (names.REPEAT,) if name in frame.columns)]
    keys = frame.select(pl.col(pair).cast(pl.String).str.strip_chars()).with_columns(has_label=has_label)
    keys = keys.with_columns(pl.col("has_label").max().over(pair) if rater is not None else pl.col("has_label"))
    answers = pl.select(
        pl.when(keys["has_label"]).then(pl.lit(YES)).when(~keys["has_label"]).then(pl.lit(NO))
    ).to_series()
    labelled = frame.with_columns(answers.alias(question))
    return labelled, None if rater is None else keys.select(~pl.struct(pair).is_first_distinct()).to_series()


def split_labels(text: str) -> tuple[str, ...]:
    """Return the distinct labels in a cell.

    Examples
    --------
    >>> split_labels("rude | false"), split_labels('["rude", "false"]'), split_labels("rude")
    (('rude', 'false'), ('rude', 'false'), ('rude',))
    """
    values = parse_json_values(text) if text.lstrip().startswith("[") else None
    return keep_distinct(_SEPARATORS.split(text) if values is None else values)
