"""Soft labels and plurality labels of items."""

from collections.abc import Callable, Collection, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.counts import count_answers


def soft_labels(
    ratings: Ratings, question: str | None = None, *, by: str | Sequence[str] | None = None
) -> pl.DataFrame:
    """Return the shares of answers to each item, of the whole pool or of each group.

    Parameters
    ----------
    ratings
        The ratings.
    question
        The question, if more than one was read; ``Q_overall`` by default.
    by
        An axis or crossed axes, or several, as for `analyse`; None for the whole pool.

    Returns
    -------
    DataFrame
        ``axis`` (with several axes), ``item_id``, ``group`` (with `by`), ``n_ratings`` and one share per category, in
        the order of the scale. A group has no rows for items that it did not rate. Raters without a known group are
        left out.

    Raises
    ------
    InvalidInput
        The question is ambiguous, no rater has a known group, or an answer has the name of a column of the result.
    NotFound
        An unknown question or axis.

    Examples
    --------
    >>> ratings = Ratings.from_frame(pl.DataFrame({
    ...     "item_id": ["1"] * 4, "rater_id": ["a", "b", "c", "d"], "Q_overall": ["No", "No", "Unsure", "No"],
    ... }))
    >>> soft_labels(ratings, "Q_overall").row(0, named=True)
    {'item_id': '1', 'n_ratings': 4, 'No': 0.75, 'Unsure': 0.25, 'Yes': 0.0}
    """
    if by is not None and not isinstance(by, str):
        return _each_axis(soft_labels, ratings, question, by)
    question = ratings.resolve_question(question)
    counts = count_item_answers(ratings, question, by)
    return counts.with_columns(counts[answer] / counts["n_ratings"] for answer in ratings.scale(question))


def plurality(ratings: Ratings, question: str | None = None, *, by: str | Sequence[str] | None = None) -> pl.DataFrame:
    """Return the most frequent answers to each item, of the whole pool or of each group.

    Parameters
    ----------
    ratings, question, by
        As for `soft_labels`.

    Returns
    -------
    DataFrame
        ``axis`` (with several axes), ``item_id``, ``group`` (with `by`), ``n_ratings``, ``answers`` (list, in the order
        of the scale; more than one if tied), ``share`` of each of them, and ``tied``.

    Notes
    -----
    Ties are reported, not broken. If you need a single label, choose a rule and report it.

    Examples
    --------
    >>> ratings = Ratings.from_frame(pl.DataFrame({
    ...     "item_id": ["1", "1"], "rater_id": ["a", "b"], "Q_overall": ["Yes", "No"],
    ... }))
    >>> plurality(ratings, "Q_overall").row(0)
    ('1', 2, ['No', 'Yes'], 0.5, True)
    """
    if by is not None and not isinstance(by, str):
        return _each_axis(plurality, ratings, question, by)
    question = ratings.resolve_question(question)
    counts, scale = count_item_answers(ratings, question, by), ratings.scale(question)
    matrix = build_count_matrix(counts, scale)
    top = matrix.max(axis=1)
    is_top = matrix == top[:, None]
    winners = [[answer for answer, wins in zip(scale, row, strict=True) if wins] for row in is_top.tolist()]
    return select_key_columns(counts, scale).with_columns(
        pl.Series("answers", winners, dtype=pl.List(pl.String)),
        pl.Series("share", top / matrix.sum(axis=1)),
        pl.Series("tied", is_top.sum(axis=1) > 1),
    )


def _each_axis(
    compute: Callable[..., pl.DataFrame], ratings: Ratings, question: str | None, axes: Sequence[str]
) -> pl.DataFrame:
    """Return the labels of each axis below each other; those of one axis without its name."""
    names = list(dict.fromkeys(ratings.axis_name(axis) for axis in axes))
    tables = [compute(ratings, question, by=name) for name in names] or [compute(ratings, question)]
    if len(tables) == 1:
        return tables[0]
    for table in tables:
        check_name_clashes(table.columns, ["axis"])
    return pl.concat(
        table.select(pl.lit(name).alias("axis"), pl.all()) for name, table in zip(names, tables, strict=True)
    )


def count_item_answers(ratings: Ratings, question: str, by: str | None = None) -> pl.DataFrame:
    """Count the answers to each item, by group: item_id, group, n_ratings, and one column per answer."""
    scale = ratings.scale(question)
    check_name_clashes(scale, ["item_id", "n_ratings"] if by is None else ["item_id", "group", "n_ratings"])
    item, rater, answer = ratings.codes(question)
    groups: tuple[str, ...] = ("",)
    group = np.zeros(item.size, dtype=np.int32)
    if by is not None:
        codes, groups = ratings.group_codes(by)
        if not groups:
            raise InvalidInput(f"No rater has a known {ratings.axis_name(by)}, so there are no groups.")
        group = codes[rater]
    cell = group.astype(np.int64) + item.astype(np.int64) * len(groups)
    used, row = np.unique(cell[group >= 0], return_inverse=True)
    counts = count_answers(row, answer[group >= 0], n_items=len(used), n_categories=len(scale))
    columns = [ratings.items["item_id"].gather(used // len(groups))]
    if by is not None:
        columns.append(pl.Series("group", groups).gather(used % len(groups)))
    columns.append(pl.Series("n_ratings", counts.sum(axis=1), dtype=pl.UInt32))
    return pl.DataFrame([*columns, *(pl.Series(name, counts[:, k]) for k, name in enumerate(scale))])


def build_count_matrix(counts: pl.DataFrame, scale: Sequence[str]) -> NDArray[np.int64]:
    """Return the columns of `count_item_answers` that count answers as a matrix."""
    return np.column_stack([counts[answer].to_numpy().astype(np.int64) for answer in scale])


def select_key_columns(counts: pl.DataFrame, scale: Sequence[str]) -> pl.DataFrame:
    """Return the other columns of `count_item_answers`."""
    return counts[[name for name in counts.columns if name not in scale]]


def check_name_clashes(scale: Collection[str], columns: Collection[str]) -> None:
    """Refuse answers with the name of a column of the result."""
    if clash := set(scale) & set(columns):
        raise InvalidInput(f"The answer {min(clash)!r} is also the name of a column of the result; rename the answer.")
