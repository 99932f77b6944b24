"""Statistics of the scores of a model against a group, by name."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.result import BoolArray, FloatArray
from dissensus.stats.score.discrimination import auc
from dissensus.stats.score.losses import (
    bias,
    brier,
    cross_entropy,
    error,
    false_alarm_rate,
    miss_rate,
    squared_distance,
)
from dissensus.stats.score.pseudo_values import GroupRatings, PseudoValues

Computation = Callable[[GroupRatings, FloatArray], PseudoValues]
"""Statistic of ratings and the score of each rating's item."""

LabelComputation = Callable[[GroupRatings, BoolArray], PseudoValues]
"""Statistic of ratings and the label of each rating's item, True for unsafe."""

COMPARED: Final = ("squared_distance", "auc", "error", "miss_rate", "false_alarm_rate")
"""Statistics whose gaps between groups are tested."""
RANKED: Final = ("brier", "squared_distance", "auc", "error")
"""Statistics by which models may be ranked."""


def _error_of_kind(ratings: GroupRatings, labels: BoolArray, *, unanimous: bool) -> PseudoValues:
    """Return the error on items with several ratings of the group: unanimous ones, or split ones."""
    m, c = ratings.count()
    mask = (m > 1) & (((c == 0) | (c == m)) == unanimous)
    if not mask.any():
        raise UndefinedEstimate(f"The group is {'unanimous' if unanimous else 'split'} on no item.")
    return error(ratings.select(mask), labels[mask])


OF_SCORES: Final[Mapping[str, Computation]] = {
    "brier": brier,
    "squared_distance": squared_distance,
    "cross_entropy": cross_entropy,
    "auc": auc,
    "bias": bias,
}
OF_LABELS: Final[Mapping[str, LabelComputation]] = {
    "error": error,
    "miss_rate": miss_rate,
    "false_alarm_rate": false_alarm_rate,
    "error_unanimous": partial(_error_of_kind, unanimous=True),
    "error_split": partial(_error_of_kind, unanimous=False),
}


def list_statistics(threshold: float) -> Iterator[tuple[str, Computation]]:
    """Yield the statistics of scores, then those of labels: unsafe if the score reaches the threshold."""
    yield from OF_SCORES.items()
    for name, compute in OF_LABELS.items():
        yield name, partial(_measure_labels, compute, threshold)


def _measure_labels(
    compute: LabelComputation, threshold: float, ratings: GroupRatings, scores: FloatArray
) -> PseudoValues:
    return compute(ratings, scores >= threshold)


def manhattan(ratings: GroupRatings, scores: FloatArray) -> float:
    """Return LeWiDi's Manhattan distance to the soft label over the answers unsafe and safe, 2 |s - p|."""
    m, c = ratings.count()
    return float(np.average(2 * np.abs(scores - c / m), weights=1 / m))
