"""Linkage of two releases by rater ids or equal answers, as an attacker who holds both would attempt it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from dissensus.pipeline.release.columns import fold_answers, list_quasi_identifiers
from dissensus.schema.ratings import columns as names

ANSWERS: Final = "answers"
BEFORE: Final = "_before"
ID_BEFORE: Final = names.RATER_ID + BEFORE
EVERYBODY: Final = "everybody"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedRelease:
    """Outcome of the join."""

    by_ids: bool  # else by equal answers
    n_items: int  # in both
    n_raters: int
    n_matched: int  # raters linked to exactly one rater of the other release
    n_missing: int  # raters of the other release without a link
    n_small: int  # linked raters in a cell below k that is smaller than their cell of the other release


def join_releases(table: pl.DataFrame, previous: pl.DataFrame, answers: Collection[str], k: int) -> JoinedRelease:
    """Join two tables by ids of raters if they have some in common, else by answers to the items of both.

    `answers` are the columns with answers. They are compared in whatever notation each release has them.

    The cell of a matched rater has everybody in the new table whose attributes may be those of the rater: those matched
    with the same attributes in both, and those not matched with the same ones in the new table.

    Examples
    --------
    The age is in one release and the sex in the other; joined, two raters who had the same age stand alone:

    >>> first = pl.DataFrame({"item_id": ["1"] * 3, "rater_id": ["a", "b", "c"], "rater_age": ["y", "y", "o"],
    ...                       "Q": ["No", "Yes", "Unsure"]})
    >>> second = first.drop("rater_age").with_columns(rater_sex=pl.Series(["M", "W", "W"]))
    >>> join_releases(second, first, ["Q"], 2).n_small
    2
    """
    match = _match_raters(table, previous, answers)
    return JoinedRelease(
        by_ids=match.key == names.RATER_ID,
        n_items=match.n_items,
        n_raters=match.now.height,
        n_matched=match.matched.height,
        n_missing=match.missing.height,
        n_small=_count_small(match.matched, match.now, match.before, k),
    )


def join_earlier_releases(
    table: pl.DataFrame, earlier: Sequence[pl.DataFrame], answers: Collection[str], k: int
) -> tuple[JoinedRelease, ...]:
    """Join a table with each earlier release, alone and with the attributes learned from the releases joined before.

    Examples
    --------
    Three releases with one attribute each; only all of them together make small cells:

    >>> rows = pl.DataFrame({"item_id": ["1"] * 4, "rater_id": list("abcd"), "Q": ["No", "Yes", "Unsure", "Maybe"]})
    >>> sex, age, race = (pl.Series(name, values) for name, values in (
    ...     ("rater_sex", list("MMWW")), ("rater_age", list("yoyo")), ("rater_race", list("xxxx"))))
    >>> tables = [rows.with_columns(column) for column in (race, sex, age)]
    >>> [joined.n_small for joined in join_earlier_releases(tables[0], tables[1:], ["Q"], 2)]
    [0, 0, 4]
    """
    joined, known = [], table
    for number, previous in enumerate(earlier):
        joined.append(join_releases(table, previous, answers, k))
        if known.width > table.width:
            joined.append(join_releases(known, previous, answers, k))
        known = _add_known_attributes(known, previous, answers, number)
    return tuple(joined)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RaterMatch:
    """Raters of two tables, matched by a key: ids or answers."""

    now: pl.DataFrame
    before: pl.DataFrame
    matched: pl.DataFrame  # pairs of raters whose key no third rater has
    missing: pl.DataFrame  # raters of the table before whose key nobody has now
    key: str
    n_items: int  # in both tables


def _match_raters(table: pl.DataFrame, previous: pl.DataFrame, answers: Collection[str]) -> _RaterMatch:
    questions = [name for name in table.columns if name in answers and name in previous.columns]
    items = set(table[names.ITEM_ID].cast(pl.String)) & set(previous[names.ITEM_ID].cast(pl.String))
    now = _list_raters(table, questions, items)
    before = _list_raters(previous, questions, items).select(pl.all().name.suffix(BEFORE))
    by_ids = bool(set(now[names.RATER_ID]) & set(before[ID_BEFORE]))
    key = names.RATER_ID if by_ids else ANSWERS
    # Raters without an answer to these items have no key. Keys of many raters are left out before the join, whose pairs
    # would otherwise be as many as the product of their numbers.
    known = now if by_ids else now.filter(pl.col(ANSWERS) != "")
    alone, alone_before = (
        raters.filter(pl.len().over(column) == 1) for raters, column in ((known, key), (before, key + BEFORE))
    )
    return _RaterMatch(
        now=now,
        before=before,
        matched=alone.join(alone_before, left_on=key, right_on=key + BEFORE, coalesce=False),
        missing=before.join(known, left_on=key + BEFORE, right_on=key, how="anti"),
        key=key,
        n_items=len(items),
    )


def _add_known_attributes(
    table: pl.DataFrame, previous: pl.DataFrame, answers: Collection[str], number: int
) -> pl.DataFrame:
    """Return a table with the attributes that matched raters had in an earlier one, where these tell more."""
    matched = _match_raters(table, previous, answers).matched
    for axis in list_quasi_identifiers(previous.columns):
        if axis in table.columns and matched[axis].equals(matched[axis + BEFORE].alias(axis), null_equal=True):
            continue
        known = matched.select(names.RATER_ID, pl.col(axis + BEFORE).alias(f"rater_{axis}_{number}"))
        table = table.with_columns(pl.col(names.RATER_ID).cast(pl.String)).join(
            known, on=names.RATER_ID, how="left", maintain_order="left"
        )
    return table


def _count_small(matched: pl.DataFrame, now: pl.DataFrame, before: pl.DataFrame, k: int) -> int:
    """Count the matched raters in cells of fewer than k that are smaller than their cells of the release before."""
    axes, axes_before = _list_axes(now), _list_axes(before)
    others = now.join(matched, on=names.RATER_ID, how="anti").group_by(axes).agg(n_others=pl.len())
    sizes_before = before.select(ID_BEFORE, size_before=pl.len().over(axes_before))
    cells = (
        matched.with_columns(n_matched=pl.len().over(*axes, *axes_before))
        .join(others, on=axes, how="left", nulls_equal=True)
        .join(sizes_before, on=ID_BEFORE)
    )
    size = pl.col("n_matched") + pl.col("n_others").fill_null(0)
    return cells.filter((size < k) & (size < pl.col("size_before"))).height


def _list_axes(raters: pl.DataFrame) -> list[str]:
    """Return the columns with attributes, and the one that is the same for everybody."""
    return [name for name in raters.columns if name.removesuffix(BEFORE) not in (names.RATER_ID, ANSWERS)]


def _list_raters(table: pl.DataFrame, questions: list[str], items: set[str]) -> pl.DataFrame:
    """Return one row per rater with attributes, and all answers to the items as one text."""
    axes = list_quasi_identifiers(table.columns)
    answers = pl.concat_str(
        pl.col(names.ITEM_ID).cast(pl.String),
        *(fold_answers(table[name]).fill_null("") for name in questions),
        separator="\x1f",
    )
    common = pl.col(names.ITEM_ID).cast(pl.String).is_in(list(items))
    rows = table.select(
        *(pl.col(name).cast(pl.String) for name in (names.RATER_ID, *axes)),
        pl.lit("").alias(EVERYBODY),
        pl.when(common).then(answers).alias(ANSWERS),
    )
    return (
        rows.sort(names.RATER_ID, ANSWERS)
        .group_by(names.RATER_ID, maintain_order=True)
        .agg(*(pl.col(axis).first() for axis in (*axes, EVERYBODY)), pl.col(ANSWERS).drop_nulls().str.join("\x1e"))
    )
