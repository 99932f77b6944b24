"""Consistency checks of readable ratings: contradictions and gaps."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.schema.hints import format_value
from dissensus.schema.questionnaire.scale import take_worst
from dissensus.schema.questionnaire.shipped import load_questionnaire, published_questionnaires
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.encoding import EncodedRatings
from dissensus.schema.ratings.findings import FailedCheck, to_row_indices


def find_contradictory_overalls(encoded: EncodedRatings) -> Iterator[FailedCheck]:
    """Yield the overall answers that are not the worst answer to their questions."""
    answers = {column.name: column for column in encoded.answers}
    done = set()
    for name in published_questionnaires():
        for overall, parts in load_questionnaire(name).overalls.items():
            if overall in done or not {overall, *parts} <= set(answers):
                continue
            done.add(overall)
            expected = take_worst(pl.DataFrame([answers[part] for part in parts]))
            wrong = (answers[overall] != expected).fill_null(value=False).arg_true()
            if len(wrong):
                yield _contradiction(answers[overall], expected, len(parts), wrong)


def _contradiction(overall: pl.Series, expected: pl.Series, n_parts: int, wrong: pl.Series) -> FailedCheck:
    return FailedCheck(
        check="contradictory overall",
        column=overall.name,
        rows=to_row_indices(wrong),
        value=overall.__getitem__,
        message=lambda row: (
            f"Row {row + 1:,}: {overall.name} is {format_value(overall[row])}, but the {n_parts} questions it is made "
            f"from make it {format_value(expected[row])}."
        ),
        allowed="Any Yes is Yes, else any Unsure is Unsure, else No.",
        remedy="Correct the overall or the questions, or recompute it: dissensus aggregate --rule dices.",
    )


def find_missing_demographics(encoded: EncodedRatings) -> Iterator[FailedCheck]:
    """Yield the raters without a value on an axis; people have none of those that describe models."""
    if encoded.rater is None:
        return
    for name in encoded.raters.columns[1:]:
        if name not in (names.FLAG, *names.OF_MODELS) and encoded.raters[name].null_count():
            yield _missing_attribute(encoded.raters, name, encoded.rater)


def find_blank_rows(encoded: EncodedRatings) -> Iterator[FailedCheck]:
    """Yield the rows that answer none of the questions that were read."""
    blank = encoded.blank.arg_true()
    if len(blank):
        yield FailedCheck(
            check="no answer",
            column=None,
            rows=to_row_indices(blank),
            value=lambda _: None,
            message=lambda row: f"Row {row + 1:,} answers nothing.",
            allowed="It counts as not rated.",
            remedy="Drop the row, or fill in what was answered.",
            severity="warning",
        )


def _missing_attribute(raters: pl.DataFrame, name: str, rater: NDArray[np.int64]) -> FailedCheck:
    without = raters[name].is_null().arg_true().to_numpy()
    codes, first = np.unique(rater, return_index=True)
    rows = np.sort(first[np.isin(codes, without)]).astype(np.int64)
    return FailedCheck(
        check="missing demographics",
        column=name,
        rows=rows if len(without) < raters.height else np.array([], np.int64),
        value=lambda _: None,
        message=lambda row: (
            f"Rater {format_value(raters[names.RATER_ID][int(rater[row])])} has no {name}."
            if len(without) < raters.height
            else f"No rater has a {name}."
        ),
        allowed="Raters without a value take no part in comparisons on that axis.",
        remedy="Fill it in where it is known; an answer like 'Prefer not to answer' is a value.",
        severity="warning",
    )


def find_repeated_conversations(encoded: EncodedRatings) -> Iterator[FailedCheck]:
    """Yield items with the context and response of an earlier item."""
    texts = [name for name in ("context", "response") if name in encoded.items.columns]
    if len(texts) < 2:
        return
    complete = encoded.items.select(*texts, pl.int_range(pl.len()).alias("item")).drop_nulls()
    repeated = complete.select("item", pl.col("item").first().over(texts).alias("first"))
    repeated = repeated.filter(pl.col("item") != pl.col("first"))
    if repeated.is_empty():
        return
    ids, earlier = encoded.items[names.ITEM_ID], dict(repeated.iter_rows())
    codes, first = np.unique(encoded.item, return_index=True)
    rows = np.sort(first[np.isin(codes, repeated["item"].to_numpy())]).astype(np.int64)
    yield FailedCheck(
        check="same conversation twice",
        column="response",
        rows=rows,
        value=lambda row: ids[int(encoded.item[row])],
        message=lambda row: (
            f"Item {format_value(ids[int(encoded.item[row])])} has the context and the response of item "
            f"{format_value(ids[earlier[int(encoded.item[row])]])}."
        ),
        allowed="Ratings of one conversation under two ids count as those of two items.",
        remedy="Give them one id, if they are meant to be one.",
        severity="warning",
    )
