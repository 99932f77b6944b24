"""Scores of models against groups of raters, from sums over blocks of items."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.engine.ratings import PartitionedRatings
from dissensus.pipeline.score.groups import RatedGroup, build_group_membership
from dissensus.pipeline.score.metrics import Computation
from dissensus.pipeline.score.model_measures import (
    EVERYBODY_ELSE,
    OF_RATINGS,
    THRESHOLDS,
    list_computations,
)
from dissensus.pipeline.score.settings import ModelSettings, ScoreSettings
from dissensus.schema.item_scores import ItemScores, describe_unrated, describe_unscored, refuse_unscored
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.stats.design import Block, BlockedDesign, pass_over
from dissensus.stats.result import FloatArray, Int64Array
from dissensus.stats.score.block_sums import (
    MOST_FRACTIONS,
    BlockScores,
    GroupCounts,
    GroupSums,
    Key,
    count_groups,
    sum_statistics,
)
from dissensus.stats.score.calibration import BINS, Calibration, calibrate, gap_in_bin, number_bins, share_in_bin
from dissensus.stats.score.discrimination import rest_auc_of_counts
from dissensus.stats.score.losses import describe_infinite
from dissensus.stats.score.pseudo_values import GroupRatings, NotComputed, Statistic

NOT_DEFINED: Final = "There are no ratings."
TOO_MANY_RATINGS: Final = (
    f"not computed from a folder: an item has more than {MOST_FRACTIONS:,} ratings, or fewer in dozens of groups"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockGroup:
    """A group in blocks of items, by its counts."""

    axis: str | None
    group: str | None
    n_raters: int
    n_items: int
    n_ratings: int
    unsafe_share: float
    suppressed: bool = False
    is_people: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoredBlocks:
    """`GroupScores` of ratings in blocks of items."""

    group: BlockGroup
    others: BlockGroup | None  # On the items that others rated too
    index: int  # Of the group on its axis
    sums: Mapping[tuple[Key, int], GroupSums]
    counts: Int64Array | None  # Ratings, unsafe ratings, and items with these counts; None if there are too many
    contradicted: Int64Array  # Of each statistic: items on which ratings contradict a score of 0 or 1
    statistics: Mapping[Key, Computation]
    items: FloatArray  # Of each model and bin of the scores: sum of the scores, items, and Manhattan distances
    thresholds: FloatArray  # Of each model and number of thresholds passed: items, shares of unsafe and of safe answers
    settings: ScoreSettings

    def compute(self, name: str | None, metric: str) -> Statistic:
        """Return a statistic of a model or a human ceiling; without a name the share of unsafe answers."""
        if (statistic := self.sums.get(((name, metric), self.index))) is not None:
            return statistic
        if name == EVERYBODY_ELSE and metric == "auc" and self.counts is None:
            raise NotComputed(TOO_MANY_RATINGS)
        raise UndefinedEstimate(self._explain(name, metric))

    def _explain(self, name: str | None, metric: str) -> str:
        """Return why a statistic is undefined, as its function says of a single rating that leaves it undefined."""
        key = (name, metric)
        if metric == "cross_entropy":
            return describe_infinite(int(self.contradicted[list(self.statistics).index(key)]))
        unsafe = np.array([0.0 if metric == "miss_rate" else 1.0])  # An answer that does not count in a rate
        rating = GroupRatings(items=np.zeros(1, np.int64), raters=np.zeros(1, np.int64), unsafe=unsafe)
        try:
            self.statistics[key](rating, np.ones(1))
        except UndefinedEstimate as reason:
            return str(reason)
        return NOT_DEFINED

    def panel(self, name: str) -> RatedGroup | None:
        """Return the group on the items that others rated too; None without such an item, and for gold."""
        return self.others if name == EVERYBODY_ELSE else None

    def rest_auc(self) -> float:
        """Return the area under the curve of the rest of the group."""
        if self.counts is None:
            raise NotComputed(TOO_MANY_RATINGS)
        return rest_auc_of_counts(*self.counts.astype(np.float64))

    def manhattan(self, model: str) -> float:
        """Return the Manhattan distance of the scores of a model to the soft label."""
        of_model = self.items[_list_models(self.settings).index(model)]
        return float(of_model[:, 2].sum() / of_model[:, 1].sum())

    def calibrate(self, model: str) -> Calibration:
        """Return the calibration of a model."""
        of_model = self.items[_list_models(self.settings).index(model)]
        parts = [
            (k, total / n, self.compute(model, f"gap_in_bin_{k}"), self.compute(model, f"share_in_bin_{k}"))
            for k, (total, n, _) in enumerate(of_model.tolist())
            if n
        ]
        return calibrate(parts, self.settings.confidence)

    def trace(self, model: str) -> Iterator[tuple[float, float, float, float | None, float | None]]:
        """Yield for each threshold the share of items labelled unsafe, the error, the miss and the false alarm rate."""
        n, unsafe, safe = self.thresholds[_list_models(self.settings).index(model)].T
        has_rates = [((model, name), self.index) in self.sums for name in ("miss_rate", "false_alarm_rate")]
        for passed, threshold in enumerate(THRESHOLDS, 1):
            missed, alarmed = unsafe[:passed].sum(), safe[passed:].sum()
            yield (
                threshold,
                float(n[passed:].sum() / n.sum()),
                float((missed + alarmed) / n.sum()),
                float(missed / unsafe.sum()) if has_rates[0] else None,
                float(alarmed / safe.sum()) if has_rates[1] else None,
            )

    def shows_bins(self, _model: str, _calibration: Calibration, /) -> bool:
        """Return True, since blocks do not withhold groups."""
        return True


class BlockCounts(NamedTuple):
    """Raters, items and ratings that count."""

    n_raters: int
    n_items: int
    n_ratings: int


def score_blocks(
    ratings: PartitionedRatings, settings: ScoreSettings, scores: FloatArray | None = None
) -> tuple[list[ScoredBlocks], BlockCounts]:
    """Return the pool and the groups of each axis with the scores of items, shape (M, I), and the counts of the pool.

    Without scores only the share of unsafe answers is computed.
    """
    pool, design = ratings.pool, ratings.design
    unsafe = np.isin(pool.scale(settings.questions[0]), settings.unsafe).astype(np.float64)
    everybody = BlockScores(unsafe, np.zeros(design.n_raters, np.int32), 1, scores, _list_models(settings))
    membership = build_group_membership(pool, settings)
    result, reached = _score_axis(design, everybody, None, (None,), settings)
    is_published, published = membership.select_published(reached)
    result = [replace(each, group=replace(each.group, suppressed=not is_published)) for each in result]
    for row, (axis, names) in enumerate(zip(membership.axes, membership.names, strict=True)):
        source = everybody._replace(group=membership.codes[row], n_groups=len(names))
        for scored_group in _score_axis(design, source, axis, names, settings)[0]:
            is_hidden = not bool(published[row, scored_group.index])
            result.append(replace(scored_group, group=replace(scored_group.group, suppressed=is_hidden)))
    return result, BlockCounts(len(reached), result[0].group.n_items, result[0].group.n_ratings)


def _list_models(settings: ScoreSettings) -> tuple[str, ...]:
    return settings.models if isinstance(settings, ModelSettings) else ()


def _list_statistics(settings: ScoreSettings, axis: str | None) -> dict[Key, Computation]:
    """Return all statistics of the scores and of human ceilings."""
    if not isinstance(settings, ModelSettings):
        return {(None, name): compute for name, compute in OF_RATINGS[None].items()}
    names = (*settings.models, *OF_RATINGS, *([] if axis is None else [EVERYBODY_ELSE]))
    statistics = {
        (name, metric): compute for name in names for metric, compute in list_computations(name, settings).items()
    }
    for model in settings.models:
        for k in range(BINS):
            statistics[model, f"gap_in_bin_{k}"] = partial(gap_in_bin, k=k)
            statistics[model, f"share_in_bin_{k}"] = partial(share_in_bin, k=k)
    return statistics


def _score_axis(
    design: BlockedDesign, source: BlockScores, axis: str | None, names: Sequence[str | None], settings: ScoreSettings
) -> tuple[list[ScoredBlocks], Int64Array]:
    """Return the groups of an axis that rated items, and the raters with ratings."""
    statistics = _list_statistics(settings, axis)
    counts = count_groups(design, source, statistics)
    compared = settings.rank_by if isinstance(settings, ModelSettings) else None
    sums = sum_statistics(design, source, statistics, counts, compared)
    n_models = len(source.models)
    items, thresholds = (np.zeros((source.n_groups, n_models, size, 3)) for size in (BINS, len(THRESHOLDS) + 1))
    if n_models:
        pass_over(design, partial(_add_scores, source), items, thresholds)
    keys, result = list(statistics), []
    whole = keys.index((None, "unsafe_share"))
    for g, name in enumerate(names):
        if not counts.sums[whole, g, 3]:
            continue
        others = None
        if (EVERYBODY_ELSE, "brier") in statistics and counts.sums[keys.index((EVERYBODY_ELSE, "brier")), g, 3]:
            others = _group(source, counts, 1, keys.index((EVERYBODY_ELSE, "brier")), g, axis, name)
        result.append(
            ScoredBlocks(
                group=_group(source, counts, 0, whole, g, axis, name),
                others=others,
                index=g,
                sums=sums,
                counts=None if counts.counts is None else counts.counts[g],
                contradicted=counts.contradicted[:, g],
                statistics=statistics,
                items=items[g],
                thresholds=thresholds[g],
                settings=settings,
            )
        )
    return result, np.flatnonzero(counts.reached[0, 0])


def _group(
    source: BlockScores, counts: GroupCounts, row: int, s: int, g: int, axis: str | None, name: str | None
) -> BlockGroup:
    """Return a group with its counts: those of all its ratings, or of items that others rated too."""
    n_ratings, n_items = counts.sums[s, g, 3:5].astype(int).tolist()
    of_raters, n_unsafe = counts.reached[row][:, source.group == g]
    n_raters = int(np.count_nonzero(of_raters))
    return BlockGroup(
        axis=axis,
        group=name,
        n_raters=n_raters,
        n_items=n_items,
        n_ratings=n_ratings,
        unsafe_share=int(n_unsafe.sum()) / n_ratings,
    )


def _add_scores(source: BlockScores, block: Block, items: FloatArray, thresholds: FloatArray) -> None:
    """Add the items of a block by the bin of their score, and by the number of thresholds that it reaches."""
    for g, own, parts in source.split(block):
        rated, first, row = np.unique(own.items, return_index=True, return_inverse=True)
        share = np.bincount(row, weights=own.unsafe) / np.bincount(row)
        for m, model in enumerate(source.models):
            scores = parts[model][1][first]
            for place, total, columns in (
                (number_bins(scores), items, (scores, np.ones(len(rated)), 2 * np.abs(scores - share))),
                (np.searchsorted(THRESHOLDS, scores, "right"), thresholds, (np.ones(len(rated)), share, 1 - share)),
            ):
                for position, column in enumerate(columns):
                    total[g, m, :, position] += np.bincount(place, weights=column, minlength=total.shape[2])


def align_scores(ratings: PartitionedRatings, scores: ItemScores) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the scores of the items by each model, NaN for items that a model did not score, and warnings."""
    assert ratings.read_items is not None  # noqa: S101 - contract of those who score items
    table, n_items, n_matched = scores.table.sort(ITEM_ID), 0, 0
    columns = table.drop(ITEM_ID).fill_null(float("nan")).to_numpy().T
    aligned = np.full((len(scores.models), ratings.design.n_items), np.nan)
    first_ids: list[str] = []
    for block, ids in ratings.read_items():
        place = np.minimum(table[ITEM_ID].search_sorted(ids).to_numpy(), table.height - 1)
        is_scored = (table[ITEM_ID].gather(place) == ids).to_numpy()
        aligned[:, block.items][:, is_scored] = columns[:, place[is_scored]]
        n_matched += int(is_scored.sum())
        n_items += len(ids)
        first_ids += ids.head(max(0, 3 - len(first_ids))).to_list()
    missing = np.isnan(aligned)
    if missing.any(axis=0).all():
        refuse_unscored(scores, first_ids)
    warnings = [
        describe_unscored(name, int(n), n_items)
        for name, n in zip(scores.models, missing.sum(axis=1), strict=True)
        if n
    ]
    if n_matched < table.height:
        warnings.append(describe_unrated(table.height - n_matched, table.height))
    aligned[:, missing.any(axis=0)] = np.nan
    return aligned, tuple(warnings)
