"""Agreement and differences of groups by the number of raters of each group."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.analyse.table import resolve_answer
from dissensus.schema.axes import require_one_axis
from dissensus.schema.hints import format_value
from dissensus.schema.numbers import check_whole
from dissensus.schema.ratings.columns import REST
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.tabular_result import JsonResult
from dissensus.stats.design import METRICS, Design, statistics
from dissensus.stats.groups.statistics import resample_statistics
from dissensus.stats.result import FloatArray, Int32Array, IntArray, check_confidence, none_if_not_finite

COMPARED = ("mean_difference", "group_distance")
SCHEMA = {
    "raters_per_group": pl.UInt32,
    "metric": pl.String,
    "group": pl.String,
    "against": pl.String,
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "all_raters": pl.Float64,
    "n_draws": pl.UInt32,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RaterCurve(JsonResult):
    """Statistics of groups if fewer raters of each group had rated.

    Parameters
    ----------
    curve
        One row for each number of raters and each statistic: ``raters_per_group``, ``metric``, ``group``, ``against``
        (null for statistics of the pool or the axis), ``estimate``, ``low`` and ``high`` (mean and central range over
        the draws), ``all_raters`` (value for all raters of the groups) and ``n_draws``, the draws in which the
        statistic is defined; null where it is in none.
    question, axis, share_of, draws, confidence, seed
        Question, axis of the groups, answer of `mean_difference`, and options of the draws.
    n_raters
        Number of raters of each group.
    """

    curve: pl.DataFrame
    question: str
    axis: str
    share_of: str
    draws: int
    confidence: float
    seed: int
    n_raters: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"curve": self.curve.to_dicts()}


def rater_curve(
    ratings: Ratings,
    raters_per_group: int | Iterable[int],
    *,
    by: str,
    question: str | None = None,
    share_of: str | None = None,
    draws: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
) -> RaterCurve:
    """Compute agreement, decomposition and differences of groups if only some raters of each group had rated.

    In each draw, as many raters of each group are drawn without replacement, each with all of their ratings.
    Krippendorff's alpha (`irr`) and the share of disagreement between groups (`between_share`) are those of all drawn
    raters; `mean_difference` and `group_distance` compare each group with the rest, or two groups with each other.

    Parameters
    ----------
    ratings
        The ratings.
    raters_per_group
        Number of raters to draw from each group, or several numbers for a curve.
    by
        One axis or crossed axes.
    question
        The question, if more than one was read; ``Q_overall`` by default.
    share_of
        Answer whose share `mean_difference` compares; the last of the scale by default.
    draws
        Number of draws for each number of raters.
    confidence
        Share of the draws between ``low`` and ``high``.
    seed
        Seed of the draws; the result does not depend on the number of threads.

    Returns
    -------
    RaterCurve

    Raises
    ------
    InvalidInput
        A number of raters below 1 or above the raters of a group, fewer than two groups, or ratings without raters.
    NotFound
        An unknown axis or question.

    Notes
    -----
    Raters of unknown group are left out. The range shows how much a statistic depends on which of *these* raters were
    asked; it shrinks to a point at the size of the group. A new sample of as many people varies more, by a factor of
    about the root of n/(n - k) for k of n raters.

    Examples
    --------
    >>> import dissensus as ds
    >>> ratings = ds.simulate_ratings(n_items=40, raters_per_cell=6, seed=1)
    >>> curve = rater_curve(ratings, [3, 9], by="gender", draws=50).curve.filter(metric="irr")
    >>> curve.select("raters_per_group", pl.col("estimate", "low", "high").round(2)).rows()
    [(3, 0.07, -0.02, 0.14), (9, 0.08, 0.05, 0.11)]
    """
    ratings.require_raters("A curve by the number of raters")
    check_whole("draws", draws, 1)
    check_whole("seed", seed)
    check_confidence(confidence)
    question = ratings.resolve_question(question)
    ratings = ratings.select_question(question)
    answer = resolve_answer(ratings, question, share_of)
    axis = ratings.axis_name(require_one_axis(by))
    codes, names = ratings.group_codes(axis)
    n_raters = np.bincount(codes[codes >= 0], minlength=len(names))
    numbers = _check_numbers(raters_per_group, dict(zip(names, n_raters.tolist(), strict=True)), axis)
    design = Design(*ratings.codes(question), ratings.n_items, ratings.n_raters, len(ratings.scale(question)))
    code = ratings.scale(question).index(answer)
    everybody = _compute(design, codes, np.ones((1, codes.size), np.int32), code)[0]
    rows: list[dict[str, Any]] = []
    for n in numbers:
        seeds = np.random.SeedSequence([seed, n]).spawn(draws)
        values = _compute(design, codes, _draw_raters(codes, n, seeds), code)
        rows += (
            {
                "raters_per_group": n,
                **key,
                **_summarise(values[:, c], confidence),
                "all_raters": none_if_not_finite(everybody[c]),
            }
            for c, key in enumerate(_keys(names))
        )
    return RaterCurve(
        curve=pl.DataFrame(rows, schema=SCHEMA),
        question=question,
        axis=axis,
        share_of=answer,
        draws=draws,
        confidence=confidence,
        seed=seed,
        n_raters=dict(zip(names, n_raters.tolist(), strict=True)),
    )


def _check_numbers(raters_per_group: int | Iterable[int], n_raters: dict[str, int], axis: str) -> list[int]:
    """Return the distinct numbers of raters in increasing order."""
    if len(n_raters) < 2:
        raise InvalidInput(f"{axis} has fewer than two groups, so there is nothing to compare. Choose another axis.")
    values = raters_per_group if isinstance(raters_per_group, Iterable) else [raters_per_group]
    numbers = set()
    for number in values:
        try:
            numbers.add(index(number))
        except TypeError:
            raise InvalidInput(f"raters_per_group is {format_value(number)}; give whole numbers of raters.") from None
    if not numbers or min(numbers) < 1:
        raise InvalidInput(f"raters_per_group is {raters_per_group}; give one or more whole numbers, 1 or more each.")
    smallest = min(n_raters, key=lambda name: n_raters[name])
    if max(numbers) > n_raters[smallest]:
        raise InvalidInput(
            f"{max(numbers):,} raters per group cannot be drawn: {smallest} has {n_raters[smallest]:,}. Give a smaller "
            "number, or leave that group out."
        )
    return sorted(numbers)


def _draw_raters(codes: IntArray, n: int, seeds: list[np.random.SeedSequence]) -> Int32Array:
    """Draw n raters of each group, shape (B, R): 1 if the rater is drawn."""
    drawn = np.zeros((len(seeds), codes.size), dtype=np.int32)
    groups = [np.flatnonzero(codes == g) for g in range(codes.max() + 1)]
    for row, seed in zip(drawn, seeds, strict=True):
        rng = np.random.Generator(np.random.PCG64(seed))
        for members in groups:
            row[rng.choice(members, n, replace=False)] = 1
    return drawn


def _comparisons(n_groups: int) -> tuple[IntArray, IntArray]:
    """Return the groups, and those that they are compared with: -1 for the rest, or the second of two."""
    if n_groups == 2:
        return np.array([0]), np.array([1])
    return np.arange(n_groups), np.full(n_groups, -1)


def _keys(names: tuple[str, ...]) -> list[dict[str, str | None]]:
    """Return the metric and the groups of each value, in order."""
    inside, outside = _comparisons(len(names))
    whole: list[dict[str, str | None]] = [
        {"metric": metric, "group": None, "against": None} for metric in ("irr", "between_share")
    ]
    return whole + [
        {"metric": metric, "group": names[g], "against": REST if h < 0 else names[h]}
        for metric in COMPARED
        for g, h in zip(inside.tolist(), outside.tolist(), strict=True)
    ]


def _compute(design: Design, codes: IntArray, weight: Int32Array, answer: int) -> FloatArray:
    """Return the statistics of each draw in the order of `_keys`, shape (B, C)."""
    pool = np.where(codes >= 0, 0, -1)[None]
    alpha = statistics(design, pool, np.array([0]), np.array([-1]), rater_weight=weight)[:, 0, METRICS.index("irr")]
    inside, outside = _comparisons(int(codes.max()) + 1)
    groups = resample_statistics(design, codes, inside, outside, answer=answer, rater_weight=weight)["raters"]
    return np.column_stack([alpha, groups.between_share, *(groups.of(metric) for metric in COMPARED)])


def _summarise(values: FloatArray, confidence: float) -> dict[str, float | int | None]:
    defined = values[np.isfinite(values)]
    if not defined.size:
        return {"estimate": None, "low": None, "high": None, "n_draws": 0}
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    return {"estimate": float(defined.mean()), "low": low, "high": high, "n_draws": defined.size}
