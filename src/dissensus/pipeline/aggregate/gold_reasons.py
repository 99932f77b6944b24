"""Reasons of gold labels beside the answers of the crowd to the questions that they name."""

import ast
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.tables import UNKNOWN, Grid, Page, escape_unprintable
from dissensus.schema.campaign.gold import REASON
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.questionnaire.gold_reasons import find_question_of_reason
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.safety import check_unsafe_answers
from dissensus.schema.ratings.table import Ratings

HEADINGS: Final = ("question", "items", "unsafe by crowd (%)", "other items", "unsafe by crowd (%)")
NOTE: Final = (
    "Reasons are paired with questions by what both name. The README of DICES-350 had another table until 25 January "
    "2024, whose rows were shuffled."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GoldReasons:
    """Reasons of experts and answers of raters."""

    rows: pl.DataFrame  # of each reason its question, items, and mean shares of unsafe answers to it
    notes: tuple[str, ...]  # items that are left out, and where pairs come from


def compare_reasons(ratings: Ratings, *, reasons: str = REASON, unsafe: Sequence[str] = ("Yes",)) -> GoldReasons:
    """Compare each reason of gold labels with the answers to the question that it names.

    Cells hold lists, in JSON or as Python writes them in official files; an item with an empty list was labelled
    without a reason. Items without a cell are left out.

    Examples
    --------
    >>> ratings = Ratings.from_frame(pl.DataFrame({
    ...     "item_id": ["1", "1", "2"], "rater_id": ["a", "b", "a"], "Q4_misinformation": ["Yes", "No", "No"],
    ...     "safety_gold_reason": ['["safety_misinformation"]'] * 2 + ["[]"],
    ... }))
    >>> compare_reasons(ratings).rows.row(0)
    ('safety_misinformation', 'Q4_misinformation', 1, 0.5, 1, 0.0)
    """
    if reasons not in ratings.items.columns:
        known = ratings.items.columns[1:]
        raise NotFound(
            f"Items have no attribute {format_value(reasons)} with the reasons of experts.{suggest(reasons, known)} "
            f"They have {format_list(known) or 'none'}."
        )
    item_reasons = _list_reasons(ratings, reasons)
    labelled = ratings.items.select(ITEM_ID, reasons).drop_nulls()[ITEM_ID]
    distinct = item_reasons["reason"].unique().sort().to_list()
    questions = {reason: find_question_of_reason(reason) for reason in distinct}
    rows = [_compare(ratings, reason, questions[reason], item_reasons, labelled, unsafe) for reason in distinct]
    rows.sort(key=lambda row: (row["question"] is None, row["question"] or "", row["reason"]))
    n_dropped = ratings.n_items - len(labelled)
    note = f"{n_dropped:,} of {ratings.n_items:,} items have no {reasons} and are left out."
    return GoldReasons(rows=pl.DataFrame(rows, schema=_SCHEMA), notes=((note,) if n_dropped else ()) + (NOTE,))


_SCHEMA: Final = {
    "reason": pl.String,
    "question": pl.String,
    "n_items": pl.Int64,
    "share": pl.Float64,
    "n_others": pl.Int64,
    "share_others": pl.Float64,
}


def _list_reasons(ratings: Ratings, reasons: str) -> pl.DataFrame:
    """Return one row for each item and reason."""
    rows = [
        (item, reason)
        for item, cell in ratings.items.select(ITEM_ID, reasons).iter_rows()
        if cell is not None
        for reason in dict.fromkeys(_parse_reasons(cell, item, reasons))
    ]
    return pl.DataFrame(rows, schema={ITEM_ID: pl.String, "reason": pl.String}, orient="row")


def _parse_reasons(cell: str, item: str, reasons: str) -> list[str]:
    for parse in (json.loads, ast.literal_eval):
        try:
            values = parse(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(values, list) and all(isinstance(value, str) for value in values):
            return [value.strip() for value in values if value.strip()]
    raise InvalidInput(
        f"{reasons} of item {format_value(item)} is {format_value(cell)}, and not a list of reasons. Write "
        '["safety_misinformation"], or [] for none.'
    )


def _compare(
    ratings: Ratings,
    reason: str,
    question: str | None,
    item_reasons: pl.DataFrame,
    labelled: pl.Series,
    unsafe: Sequence[str],
) -> dict[str, Any]:
    items = item_reasons.filter(pl.col("reason") == reason)[ITEM_ID]
    row: dict[str, Any] = {"reason": reason, "question": None, "n_items": len(items), "share": None}
    row |= {"n_others": len(labelled) - len(items), "share_others": None}
    if question is None or question not in ratings.questions:
        return row
    check_unsafe_answers(ratings, question, unsafe)
    item, _, answer = ratings.codes(question)
    scale = ratings.scale(question)
    shares = (
        pl.DataFrame(
            {ITEM_ID: ratings.items[ITEM_ID].gather(item), "unsafe": [scale[code] in unsafe for code in answer]}
        )
        .group_by(ITEM_ID)
        .agg(pl.col("unsafe").mean())
        .filter(pl.col(ITEM_ID).is_in(labelled.implode()))
        .with_columns(named=pl.col(ITEM_ID).is_in(items.implode()))
    )
    means = {is_named: shares.filter(named=is_named)["unsafe"].mean() for is_named in (True, False)}
    return {**row, "question": question, "share": means[True], "share_others": means[False]}


def reasons_page(result: GoldReasons) -> Page:
    """Return the comparison as a page."""
    lines = tuple(_display(row) for row in result.rows.iter_rows(named=True))
    summary = "Reasons of experts, and the mean share of raters who call the item unsafe for it."
    return Page(summary, (Grid(("reason", *HEADINGS), lines),), tuple(_notes(result)))


def _notes(result: GoldReasons) -> Iterator[str]:
    yield "Other items: labelled items without this reason."
    if result.rows["question"].null_count():
        yield f"{UNKNOWN} No question of these ratings is known for this reason."
    yield from (f"Note: {note}" for note in result.notes)


def _display(row: dict[str, Any]) -> tuple[str, ...]:
    shares = [UNKNOWN if row[name] is None else f"{100 * row[name]:.1f}" for name in ("share", "share_others")]
    question = row["question"] or UNKNOWN
    return (
        escape_unprintable(row["reason"]),
        question,
        f"{row['n_items']:,}",
        shares[0],
        f"{row['n_others']:,}",
        shares[1],
    )
