"""Crowd labels of items: safe, unsafe or tied, of the whole pool and of each group."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from dissensus.errors import NotFound
from dissensus.pipeline.aggregate.labels import build_count_matrix, count_item_answers, select_key_columns
from dissensus.schema.hints import format_list, suggest
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.table import Ratings

CROWD = pl.Enum(["safe", "tied", "unsafe"])


def resolve_name(ratings: Ratings, by: str | None) -> str | None:
    """Return the name of an attribute of items, or the full name of an axis."""
    if by is None or by in ratings.items.columns[1:]:
        return by
    try:
        return ratings.axis_name(by)
    except NotFound as error:
        attributes = ratings.items.columns[1:]
        hint = f" Attributes of items are {format_list(attributes)}.{suggest(by, attributes)}" if attributes else ""
        raise NotFound(f"{error}{hint}") from None


def compute_crowd_labels(
    ratings: Ratings, question: str, by: str | None, unsafe: Sequence[str]
) -> tuple[pl.DataFrame, dict[str | None, int | None]]:
    """Return the crowd label of each item, by the whole pool and by each group, and the number of raters of each."""
    pool = _crowd_label(count_item_answers(ratings, question), ratings.scale(question), unsafe)
    pool_rows = pool.with_columns(group=pl.lit(None, dtype=pl.String))
    sizes: dict[str | None, int | None] = {None: ratings.n_raters or None}
    if by is None:
        return pool_rows, sizes
    if by in ratings.items.columns:
        members = ratings.item_members(by)
        kinds = pl.DataFrame({ITEM_ID: ratings.items[ITEM_ID].gather(members["row"]), "group": members["value"]})
        group_rows = pool.join(kinds, on=ITEM_ID, how="inner", maintain_order="left")
        sizes |= _count_raters_by_kind(ratings, members)
    else:
        codes, names = ratings.group_codes(by)
        group_rows = _crowd_label(count_item_answers(ratings, question, by), ratings.scale(question), unsafe)
        sizes |= dict(zip(names, np.bincount(codes[codes >= 0], minlength=len(names)).tolist(), strict=True))
    return pl.concat([pool_rows, group_rows], how="diagonal"), sizes


def _count_raters_by_kind(ratings: Ratings, members: pl.DataFrame) -> dict[str | None, int | None]:
    """Count the raters of items of each kind; None if raters are unknown."""
    kinds = members.select(item="row", kind="value")
    rated = ratings.answers.select("item", "rater").join(kinds, on="item", how="inner")
    counts = rated.group_by("kind").agg(pl.col("rater").n_unique()).sort("kind")
    return {name: n if ratings.has_raters else None for name, n in counts.iter_rows()}


def _crowd_label(counts: pl.DataFrame, scale: Sequence[str], unsafe: Sequence[str]) -> pl.DataFrame:
    """Return the rows of `count_item_answers` with the crowd label."""
    matrix, is_unsafe = build_count_matrix(counts, scale), np.isin(scale, unsafe)
    is_top = matrix == matrix.max(axis=1, keepdims=True)
    some_safe, some_unsafe = is_top[:, ~is_unsafe].any(axis=1), is_top[:, is_unsafe].any(axis=1)
    label = np.where(some_safe & some_unsafe, "tied", np.where(some_unsafe, "unsafe", "safe"))
    keys = select_key_columns(counts, scale).drop("n_ratings")
    return keys.with_columns(pl.Series("crowd", label, dtype=pl.String).cast(CROWD))
