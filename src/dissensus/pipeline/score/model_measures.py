"""Measures of the scores of models against one group, or against gold, beside human ceilings."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple, Protocol

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.score.decision_rules import count_unsafe
from dissensus.pipeline.score.estimates import build_row, build_value_row
from dissensus.pipeline.score.groups import RatedGroup, ScoredGroup
from dissensus.pipeline.score.leaderboard import compare_models, rank_models
from dissensus.pipeline.score.metrics import RANKED, Computation, list_statistics, manhattan
from dissensus.pipeline.score.model_rows import BinRow, DifferenceRow, RankRow, ThresholdRow
from dissensus.pipeline.score.rows import ScoreRow
from dissensus.pipeline.score.settings import ModelSettings
from dissensus.stats.result import FloatArray
from dissensus.stats.score.calibration import Calibration, estimate_calibration
from dissensus.stats.score.discrimination import rest_auc
from dissensus.stats.score.losses import disagreement, error, false_alarm_rate, miss_rate, rest_brier, unsafe_share
from dissensus.stats.score.pseudo_values import GroupRatings, NotComputed, PseudoValues, Statistic

ScoreColumns = Mapping[str, FloatArray]
"""Score of each item by name of a model or human ceiling, shape (I,)."""
THRESHOLDS: Final = tuple(step / 20 for step in range(1, 20))
"""Thresholds of the curve of errors."""
CEILINGS: Final = ("perfect score", "rest of group", "everybody else", "gold")
PERFECT_SCORE, REST_OF_GROUP, EVERYBODY_ELSE, GOLD = CEILINGS
"""Human ceilings: disagreement alone, the other raters of the group, all other raters, and experts."""


def _without_scores(compute: Callable[[GroupRatings], PseudoValues]) -> Computation:
    def measure(ratings: GroupRatings, _: FloatArray) -> PseudoValues:
        return compute(ratings)

    return measure


OF_RATINGS: Final[Mapping[str | None, Mapping[str, Computation]]] = {
    None: {"unsafe_share": _without_scores(unsafe_share)},
    PERFECT_SCORE: {"brier": _without_scores(disagreement)},
    REST_OF_GROUP: {"brier": _without_scores(rest_brier)},
}
"""Statistics that need no score, by human ceiling; without a name those of the ratings alone."""


class GroupMeasures(NamedTuple):
    """Rows of all models against one group."""

    rows: list[tuple[ScoreRow, Statistic | None]]
    ceilings: list[ScoreRow]
    ranks: list[RankRow]
    differences: list[DifferenceRow]
    thresholds: list[ThresholdRow]
    bins: list[BinRow]


class GroupScores(Protocol):
    """A group with the statistics of all scores against it, wherever the ratings lie."""

    @property
    def group(self) -> RatedGroup:
        """The group."""

    def compute(self, name: str | None, metric: str) -> Statistic:
        """Return a statistic of a model or a human ceiling; without a name the share of unsafe answers."""

    def panel(self, name: str) -> RatedGroup | None:
        """Return the group on the items that other people rated, or that have gold; None without such an item."""

    def rest_auc(self) -> float:
        """Return the area under the curve of the rest of the group."""

    def manhattan(self, model: str) -> float:
        """Return the Manhattan distance of the scores of a model to the soft label."""

    def calibrate(self, model: str) -> Calibration:
        """Return the calibration of a model."""

    def trace(self, model: str) -> Iterator[tuple[float, float, float, float | None, float | None]]:
        """Yield for each threshold the share of items labelled unsafe, the error, the miss and the false alarm rate."""

    def shows_bins(self, model: str, calibration: Calibration, /) -> bool:
        """Return whether enough raters rated each bin of a calibration."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoredRatings:
    """`GroupScores` of ratings in memory."""

    group: ScoredGroup
    columns: ScoreColumns  # Of the models
    panels: ScoreColumns  # Of human ceilings with a label or share for each item: everybody else, and gold
    settings: ModelSettings

    def compute(self, name: str | None, metric: str) -> Statistic:
        """Return a statistic of a model or a human ceiling; without a name the share of unsafe answers."""
        ratings = self.group.ratings
        if name is not None and name in self.panels:
            scores = self.panels[name][ratings.items]
            known = np.isfinite(scores)
            ratings, scores = ratings.select(known), scores[known]
        else:
            scores = np.empty(0) if name is None or name not in self.columns else self._scores(name)
        return list_computations(name, self.settings)[metric](ratings, scores)

    def panel(self, name: str) -> RatedGroup | None:
        """Return the group on the items that other people rated, or that have gold; None without such an item."""
        known = np.isfinite(self.panels[name][self.group.ratings.items]) if name in self.panels else np.zeros(1, bool)
        return replace(self.group, ratings=self.group.ratings.select(known)) if known.any() else None

    def rest_auc(self) -> float:
        """Return the area under the curve of the rest of the group."""
        return rest_auc(self.group.ratings)

    def manhattan(self, model: str) -> float:
        """Return the Manhattan distance of the scores of a model to the soft label."""
        return manhattan(self.group.ratings, self._scores(model))

    def calibrate(self, model: str) -> Calibration:
        """Return the calibration of a model."""
        return estimate_calibration(self.group.ratings, self._scores(model), confidence=self.settings.confidence)

    def trace(self, model: str) -> Iterator[tuple[float, float, float, float | None, float | None]]:
        """Yield the errors at each threshold, without the rates of answers that few raters gave."""
        ratings, scores = self.group.ratings, self._scores(model)
        n_unsafe, n_safe = (ratings.select(mask).n_raters for mask in (ratings.unsafe > 0, ratings.unsafe == 0))
        fewest = max(self.settings.suppress_below if self.group.is_people else 0, 1)
        if 0 < min(n_unsafe, n_safe) < fewest:  # The other rate follows from the error and one rate
            n_unsafe = n_safe = 0
        for threshold in THRESHOLDS:
            labels = scores >= threshold
            yield (
                threshold,
                float(np.average(labels, weights=1 / ratings.count()[0])),
                error(ratings, labels).estimate,
                miss_rate(ratings, labels).estimate if n_unsafe >= fewest else None,
                false_alarm_rate(ratings, labels).estimate if n_safe >= fewest else None,
            )

    def shows_bins(self, model: str, calibration: Calibration) -> bool:
        """Return whether enough raters rated each bin of a calibration."""
        ratings, scores = self.group.ratings, self._scores(model)
        masks = [(scores >= part.low) & (scores <= part.high) for part in calibration.bins]
        fewest = self.settings.suppress_below
        return not (self.group.is_people and any(ratings.select(mask).n_raters < fewest for mask in masks))

    def _scores(self, model: str) -> FloatArray:
        return self.columns[model][self.group.ratings.items]


def list_computations(name: str | None, settings: ModelSettings) -> Mapping[str, Computation]:
    """Return the statistics of a model or of a human ceiling by name; without a name the share of unsafe answers."""
    if name in OF_RATINGS:
        return OF_RATINGS[name]
    return {
        metric: compute
        for metric, compute in list_statistics(settings.threshold)
        if name not in CEILINGS or metric in RANKED
    }


def score_group(
    group: ScoredGroup,
    everybody: GroupRatings,
    columns: ScoreColumns,
    gold: FloatArray | None,
    settings: ModelSettings,
) -> ScoredRatings:
    """Return the scores of all models, of other people and of gold beside the ratings of a group."""
    panels = {} if group.axis is None else {EVERYBODY_ELSE: share_elsewhere(group.ratings, everybody)}
    if gold is not None:
        panels[GOLD] = gold
    return ScoredRatings(group=group, columns=columns, panels=panels, settings=settings)


def measure_group(scores: GroupScores, settings: ModelSettings) -> GroupMeasures:
    """Return the rows of all models against a group, with human ceilings."""
    measures = _measure_models(scores, settings)
    measures.ceilings.extend(_measure_ceilings(scores, settings))
    for name in (EVERYBODY_ELSE, GOLD):
        measures.ceilings.extend(_measure_panel(scores, name, settings))
    return measures


def measure_gold(gold: FloatArray, columns: ScoreColumns, settings: ModelSettings) -> GroupMeasures:
    """Return the rows of all models against the labels of experts, one for each item."""
    items = np.flatnonzero(np.isfinite(gold))
    ratings = GroupRatings(items=items, raters=np.zeros(len(items), np.int64), unsafe=gold[items])
    group = ScoredGroup(axis=GOLD, group=settings.gold, ratings=ratings, is_people=False)
    return _measure_models(ScoredRatings(group=group, columns=columns, panels={}, settings=settings), settings)


def share_elsewhere(ratings: GroupRatings, everybody: GroupRatings) -> FloatArray:
    """Return the share of unsafe answers to each item by all other raters; NaN where there are none."""
    others = everybody.select(~np.isin(everybody.raters, ratings.raters))
    return count_unsafe(others, int(everybody.items.max()) + 1).share


def _measure_models(scores: GroupScores, settings: ModelSettings) -> GroupMeasures:
    measures, group = GroupMeasures([], [], [], [], [], []), scores.group
    ranked: dict[str, Statistic] = {}
    for model in settings.models:
        rows = {
            metric: build_row(group, metric, partial(scores.compute, model, metric), _keys(model, settings), settings)
            for metric in list_computations(model, settings)
        }
        _withhold_complements(rows)
        for metric, (row, values) in rows.items():
            measures.rows.append((row, values))
            if metric == settings.rank_by and values is not None:
                ranked[model] = values
        if not group.suppressed:
            measures.rows.extend((row, None) for row in _measure_calibration(scores, model, measures, settings))
            if model not in settings.label_models:
                measures.thresholds.extend(_trace_thresholds(scores, model))
    if len(ranked) > 1:
        measures.differences.extend(compare_models(group, settings.rank_by, ranked, settings.confidence))
        measures.ranks.extend(rank_models(group, settings.rank_by, ranked, measures.differences, settings.confidence))
    return measures


def _withhold_complements(rows: dict[str, tuple[ScoreRow, Statistic | None]]) -> None:
    """Withhold both parts of the error where one is withheld, since it follows from the error and the other part."""
    for first, second in (("miss_rate", "false_alarm_rate"), ("error_unanimous", "error_split")):
        for metric, complement in ((first, second), (second, first)):
            reason = rows[metric][0].reason or ""
            if reason.startswith("withheld"):
                rows[complement] = (
                    replace(rows[complement][0], estimate=None, ci_low=None, ci_high=None, reason=reason, warning=None),
                    None,
                )


def _measure_calibration(
    scores: GroupScores, model: str, measures: GroupMeasures, settings: ModelSettings
) -> Iterator[ScoreRow]:
    """Yield the rows without an interval: LeWiDi's distance, and the calibration error beside that by chance."""
    calibration = scores.calibrate(model)
    if scores.shows_bins(model, calibration):
        measures.bins.extend(_list_bins(scores.group, model, calibration))
    for metric, value in (
        ("manhattan", scores.manhattan(model)),
        ("calibration_error", calibration.error),
        ("calibration_error_by_chance", calibration.by_chance),
    ):
        yield build_value_row(scores.group, metric, value, _keys(model, settings))


def _measure_ceilings(scores: GroupScores, settings: ModelSettings) -> Iterator[ScoreRow]:
    """Yield the share of unsafe answers, the loss of a perfect score, and the rest of the group as a score."""
    for name, computations in OF_RATINGS.items():
        for metric in computations:
            compute = partial(scores.compute, name, metric)
            yield build_row(scores.group, metric, compute, _keys(name, settings), settings)[0]
    if not scores.group.suppressed:
        try:
            yield build_value_row(scores.group, "auc", scores.rest_auc(), _keys(REST_OF_GROUP, settings))
        except NotComputed as reason:
            yield build_value_row(scores.group, "auc", None, _keys(REST_OF_GROUP, settings), reason=str(reason))
        except UndefinedEstimate:
            return


def _measure_panel(scores: GroupScores, name: str, settings: ModelSettings) -> Iterator[ScoreRow]:
    """Yield the statistics of a panel as a score: the shares of other people, or gold."""
    part = scores.panel(name)
    if part is None:
        return
    for metric in list_computations(name, settings):
        yield build_row(part, metric, partial(scores.compute, name, metric), _keys(name, settings), settings)[0]


def _trace_thresholds(scores: GroupScores, model: str) -> Iterator[ThresholdRow]:
    """Yield the errors at each threshold."""
    for threshold, labelled, wrong, missed, alarmed in scores.trace(model):
        yield ThresholdRow(
            model=model,
            axis=scores.group.axis,
            group=scores.group.group,
            threshold=threshold,
            labelled_unsafe=labelled,
            error=wrong,
            miss_rate=missed,
            false_alarm_rate=alarmed,
        )


def _list_bins(group: RatedGroup, model: str, calibration: Calibration) -> Iterator[BinRow]:
    for part in calibration.bins:
        yield BinRow(
            model=model,
            axis=group.axis,
            group=group.group,
            low=part.low,
            high=part.high,
            score=part.score,
            share=part.share.estimate,
            ci_low=part.share.ci_low,
            ci_high=part.share.ci_high,
            n_items=part.n_items,
        )


def _keys(model: str | None, settings: ModelSettings) -> dict[str, str | None]:
    return {"model": model, "question": settings.questions[0]}
