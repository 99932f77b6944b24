"""Leaderboard of models for a group: paired differences, and ranks with ties."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.score.estimates import HIGH_IS_GOOD
from dissensus.pipeline.score.groups import RatedGroup
from dissensus.pipeline.score.model_rows import DifferenceRow, RankRow
from dissensus.stats.multiple_testing import holm
from dissensus.stats.score.pseudo_values import Statistic, compare_scores


def compare_models(
    group: RatedGroup, metric: str, models: Mapping[str, Statistic], confidence: float
) -> tuple[DifferenceRow, ...]:
    """Return the paired difference of each two models against the ratings of a group."""
    compared = []
    for first, second in combinations(models, 2):
        try:
            compared.append((first, second, compare_scores(models[first], models[second], confidence=confidence)))
        except UndefinedEstimate:
            continue
    adjusted = holm(np.array([difference.p for _, _, difference in compared]))
    return tuple(
        DifferenceRow(
            axis=group.axis,
            group=group.group,
            metric=metric,
            first=first,
            second=second,
            estimate=difference.estimate,
            ci_low=difference.ci_low,
            ci_high=difference.ci_high,
            p=difference.p,
            p_adjusted=float(p),
        )
        for (first, second, difference), p in zip(compared, adjusted, strict=True)
    )


def rank_models(
    group: RatedGroup,
    metric: str,
    models: Mapping[str, Statistic],
    differences: Sequence[DifferenceRow],
    confidence: float,
) -> Iterator[RankRow]:
    """Yield the rank of each model, the best first; models that do not differ significantly are tied."""
    sign = -1 if metric in HIGH_IS_GOOD else 1
    better: dict[str, int] = dict.fromkeys(models, 0)
    worse: dict[str, int] = dict.fromkeys(models, 0)
    ties = {name: [other for other in models if other != name] for name in models}
    for row in differences:
        if row.p_adjusted < 1 - confidence:
            loser, winner = (row.first, row.second) if sign * row.estimate > 0 else (row.second, row.first)
            better[loser] += 1
            worse[winner] += 1
            ties[row.first].remove(row.second)
            ties[row.second].remove(row.first)
    # Models whose values differ by rounding alone stay in their own order
    for name in sorted(models, key=lambda name: (better[name], round(sign * models[name].estimate, 12))):
        yield RankRow(
            axis=group.axis,
            group=group.group,
            metric=metric,
            model=name,
            estimate=models[name].estimate,
            rank=1 + better[name],
            worst_rank=len(models) - worse[name],
            ties=tuple(ties[name]),
        )
