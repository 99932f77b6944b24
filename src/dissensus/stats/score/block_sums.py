"""Statistics of scores against groups of raters from two passes over blocks of items."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations, product
from typing import Final, NamedTuple

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.cluster_robust import (
    ClusteredVariance,
    cross_clusterings,
    estimate_variance_of_totals,
    sum_clusters,
    variance_of_sums,
    weigh_clusters,
)
from dissensus.stats.design import Block, BlockedDesign, chunks, pass_over
from dissensus.stats.result import BoolArray, FloatArray, Int32Array, Int64Array
from dissensus.stats.score.discrimination import add_masses, auc_by_masses
from dissensus.stats.score.losses import count_contradicted
from dissensus.stats.score.pseudo_values import (
    GroupRatings,
    ItemDifferences,
    PseudoValues,
    RaterVariance,
    measure_raters,
)

GroupParts = Mapping[str | None, tuple[GroupRatings, FloatArray]]
"""The rated part of a group and the scores of its items, by score."""
Key = tuple[str | None, str]
"""Name of a score, and of a statistic."""
Compute = Callable[[GroupRatings, FloatArray], PseudoValues]
AUC: Final = "auc"
CONTRADICTED: Final = "cross_entropy"
ELSE: Final = "everybody else"
"""The score that is the share of unsafe answers of all raters outside of the group."""
MOST_FRACTIONS: Final = 1000
"""Most ratings of an item at which the shares of its answers, as scores, are listed."""
MOST_COUNTS: Final = 1 << 25
"""Most possible counts of answers to an item, of all groups together, that are counted; the same for each engine."""


class BlockScores(NamedTuple):
    """Unsafe answers, groups of raters, and scores of items.

    Parameters
    ----------
    unsafe
        1 for an answer that calls an item unsafe, 0 for others, shape (K,).
    group
        Group of each rater, shape (R,), negative for none.
    n_groups
        G.
    scores
        Score of each item by each model, shape (M, I), NaN for items that are left out; None without models.
    models
        Names of the models.
    """

    unsafe: FloatArray
    group: Int32Array
    n_groups: int
    scores: FloatArray | None = None
    models: tuple[str, ...] = ()

    def read(self, block: Block) -> tuple[GroupRatings, list[FloatArray]]:
        """Return the ratings of the items of a block that count, and the scores of its items by each model."""
        codes, scores = block.design, [] if self.scores is None else list(self.scores[:, block.items])
        known = np.isfinite(scores[0]) if scores else np.ones(codes.n_items, np.bool_)
        mask = known[codes.items]
        ratings = GroupRatings(
            items=codes.items[mask].astype(np.int64),
            raters=codes.raters[mask].astype(np.int64),
            unsafe=self.unsafe[codes.answers[mask]],
        )
        return ratings, scores

    def split(self, block: Block) -> Iterator[tuple[int, GroupRatings, GroupParts]]:
        """Yield each group with ratings in a block, its ratings, and the rated part and scores of each score."""
        ratings, scores = self.read(block)
        group = self.group[ratings.raters]
        n, unsafe = _count(ratings, block.design.n_items)
        for g in range(self.n_groups):
            own = ratings.select(group == g)
            if not own.n_ratings:
                continue
            n_own, unsafe_own = _count(own, block.design.n_items)
            with np.errstate(invalid="ignore"):
                others = ((unsafe - unsafe_own) / (n - n_own))[own.items]
            known = np.isfinite(others)
            parts: dict[str | None, tuple[GroupRatings, FloatArray]] = {None: (own, others)}
            parts |= {name: (own, column[own.items]) for name, column in zip(self.models, scores, strict=True)}
            if known.any():
                parts[ELSE] = own.select(known), others[known]
            yield g, own, parts


def _find_part(parts: GroupParts, name: str | None, models: tuple[str, ...]) -> tuple[GroupRatings, FloatArray] | None:
    """Return the rated part and the scores of a score; all ratings for statistics without scores."""
    return parts.get(name) if name == ELSE or name in models else parts[None]


def _count(ratings: GroupRatings, n_items: int) -> tuple[FloatArray, FloatArray]:
    n = np.bincount(ratings.items, minlength=n_items).astype(np.float64)
    return n, np.bincount(ratings.items, weights=ratings.unsafe, minlength=n_items).astype(np.float64)


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Sums of one pass over the blocks, by group.

    Parameters
    ----------
    sums
        Of each statistic and group: weights, their squares, weighted values, ratings, items, and blocks in
        which it is a share, shape (S, G, 6).
    reached
        Ratings and unsafe ratings of each rater, of all items and of those that others rated too, shape (2, 2, R).
    levels, masses, mass_sums
        Of each score whose area under the curve is measured: its values, and what `add_masses` adds, by group.
    counts
        Of each group ratings, unsafe ratings, and items with these counts, shape (3, different counts); None without
        scores, for items with many ratings, and for very many groups.
    contradicted
        Items on which a score of 0 or 1 is contradicted, shape (S, G).
    """

    sums: FloatArray
    reached: Int64Array
    levels: Mapping[str | None, FloatArray]
    masses: Mapping[str | None, FloatArray]
    mass_sums: Mapping[str | None, FloatArray]
    counts: Sequence[Int64Array] | None
    contradicted: Int64Array


def list_fractions(most: int) -> FloatArray:
    """Return all shares of answers among at most so many, sorted."""
    return np.unique(np.concatenate([np.arange(n + 1) / n for n in range(1, most + 1)]))


def count_groups(design: BlockedDesign, source: BlockScores, statistics: Mapping[Key, Compute]) -> GroupCounts:
    """Return the sums of the first pass."""
    keys, n_groups, most = list(statistics), source.n_groups, design.most_ratings
    n_counts = (most + 1) * (most + 2) // 2
    few = most <= MOST_FRACTIONS and n_groups * n_counts <= MOST_COUNTS
    levels: dict[str | None, FloatArray] = {}
    for name, metric in keys:
        if metric == AUC and name == ELSE and few:
            levels[name] = list_fractions(most)
        elif metric == AUC and name != ELSE and source.scores is not None:
            column = source.scores[source.models.index(str(name))]
            levels[name] = np.unique(column[np.isfinite(column)])
    sums, contradicted = np.zeros((len(keys), n_groups, 6)), np.zeros((len(keys), n_groups), np.int64)
    reached = np.zeros((2, 2, design.n_raters), np.int64)
    counts = np.zeros((n_groups, n_counts if few and source.models else 0), np.int64)
    masses = {name: np.zeros((n_groups, 2, len(values))) for name, values in levels.items()}
    mass_sums = {name: np.zeros((n_groups, 4)) for name in levels}
    fill = partial(_count_block, source, statistics, levels)
    pass_over(design, fill, sums, reached, counts, contradicted, *masses.values(), *mass_sums.values())
    pairs = [_list_counts(row, most) for row in counts] if counts.size else None
    return GroupCounts(sums, reached, levels, masses, mass_sums, pairs, contradicted)


def _list_counts(n_items: Int64Array, most: int) -> Int64Array:
    """Return ratings, unsafe ratings and items of the counts that occur, of a triangle of at most so many ratings."""
    place = np.flatnonzero(n_items)
    start = np.arange(most + 1) * np.arange(1, most + 2) // 2
    n = np.searchsorted(start, place, "right") - 1
    return np.stack([n, place - start[n], n_items[place]])


def _count_block(
    source: BlockScores,
    statistics: Mapping[Key, Compute],
    levels: Mapping[str | None, FloatArray],
    block: Block,
    sums: FloatArray,
    reached: Int64Array,
    counts: Int64Array,
    contradicted: Int64Array,
    *masses: FloatArray,
) -> None:
    for g, own, parts in source.split(block):
        for row, name in enumerate((None, ELSE)):
            if name in parts:
                raters, is_unsafe = parts[name][0].raters, parts[name][0].unsafe > 0
                reached[row, 0] += np.bincount(raters, minlength=reached.shape[2])
                reached[row, 1] += np.bincount(raters[is_unsafe], minlength=reached.shape[2])
        if counts.size:
            n, unsafe = (part.astype(np.int64) for part in _count(own, block.design.n_items))
            np.add.at(counts[g], (n * (n + 1) // 2 + unsafe)[n > 0], 1)
        for position, (name, values) in enumerate(levels.items()):
            if name in parts:
                add_masses(*parts[name], values, masses[position][g], masses[len(levels) + position][g])
        for s, ((name, metric), compute) in enumerate(statistics.items()):
            part = _find_part(parts, name, source.models)
            if metric != AUC and part is not None:
                contradicted[s, g] += count_contradicted(*part) if metric == CONTRADICTED else 0
                sums[s, g] += _sum_values(compute, *part)


def _sum_values(compute: Compute, ratings: GroupRatings, scores: FloatArray) -> FloatArray:
    """Return weights, squared weights, weighted values, ratings, items, and 1 for a share, all 0 if undefined."""
    try:
        values = compute(ratings, scores)
    except UndefinedEstimate:
        return np.zeros(6)
    w = values.weights
    return np.array([w.sum(), w @ w, w @ values.values, values.n_ratings, values.n_items, values.is_share])


@dataclass(frozen=True, eq=False)
class GroupSums:
    """A `Statistic` of a group from sums over blocks.

    Parameters
    ----------
    spread, of_raters
        Variance over items and raters, and over raters.
    of_ratings
        Sum of the squared influences of single ratings.
    number, name
        Number of the group, and name of the score.
    between
        Differences of item totals from other groups, by both numbers.
    paired
        Variance of the difference from the same statistic of other scores, by their names.
    """

    estimate: float
    n_ratings: int
    n_items: int
    n_raters: int
    spread: ClusteredVariance | None
    of_raters: RaterVariance
    of_ratings: float
    number: int
    between: FloatArray
    name: str | None
    is_share: bool
    is_concentrated: bool
    paired: Mapping[str | None, ClusteredVariance | None] = field(default_factory=dict)

    def subtract_items(self, other: "GroupSums") -> ItemDifferences:
        """Return the differences of item totals from those of another group."""
        squares, fourths, n_items = self.between[min(self.number, other.number), max(self.number, other.number)]
        return ItemDifferences(float(squares), float(fourths), int(n_items))

    def spread_of_difference(self, other: "GroupSums") -> ClusteredVariance | None:
        """Return the variance of the difference from a statistic of the same ratings."""
        return self.paired[other.name]


def sum_statistics(
    design: BlockedDesign,
    source: BlockScores,
    statistics: Mapping[Key, Compute],
    counts: GroupCounts,
    compared: str | None = None,
) -> dict[tuple[Key, int], GroupSums]:
    """Return each statistic of each group that is defined, and pairs of scores by the metric `compared`."""
    keys = list(statistics)
    names = [name for name, metric in keys if metric == compared and name in source.models]
    pairs = list(combinations(names, 2))
    paired = np.zeros((source.n_groups, len(pairs), 2))
    bound = _BoundStatistics(source, statistics, counts)
    if pairs:
        pass_over(design, partial(_pair_block, bound, [(str(compared), pair) for pair in pairs]), paired)
    result: dict[tuple[Key, int], GroupSums] = {}
    # Sums by rater outlast their range for pairs alone.
    pair_sums: dict[tuple[Key, int], tuple[FloatArray, FloatArray]] = {}
    row_bytes = 2 * 8 * (4 * design.n_raters + 3 * source.n_groups**2)  # A run of blocks has totals of its own
    for part in chunks(len(keys), row_bytes, design.chunk_bytes):
        part_keys = [keys[s] for s in part]
        totals = (
            np.zeros((len(part_keys), source.n_groups, 8)),
            np.zeros((len(part_keys), 4, design.n_raters)),
            np.zeros((len(part_keys), source.n_groups, source.n_groups, 3)),
        )
        pass_over(design, partial(_sum_block, bound, part_keys), *totals)
        for row, key in enumerate(part_keys):
            for g in range(source.n_groups):
                if not bound.is_defined(key, g):
                    continue
                of_items, of_raters = totals[0][row, g], totals[1][row]
                of_raters = of_raters[:3, (source.group == g) & (of_raters[3] > 0)]
                result[key, g] = bound.finish(key, g, of_items, of_raters, totals[2][row])
                if pairs and key[1] == compared and key[0] in names:
                    pair_sums[key, g] = of_items, of_raters
    for g, (p, pair) in product(range(source.n_groups), enumerate(pairs)):
        first, second = (((name, str(compared)), g) for name in pair)
        if first not in pair_sums or second not in pair_sums:
            continue
        of_items, (totals_of_first, *weights) = pair_sums[first]
        sums = np.array([paired[g, p, 0], *of_items[1:6]])
        of_raters = np.stack([totals_of_first - pair_sums[second][1][0], *weights])
        spread = bound.cross(first[0], g, sums, float(paired[g, p, 1]), of_raters)
        for own, other in ((first, pair[1]), (second, pair[0])):
            result[own] = replace(result[own], paired={**result[own].paired, other: spread})
    return result


@dataclass(frozen=True, eq=False)
class _BoundStatistics:
    """Statistics with what is known of all items."""

    source: BlockScores
    statistics: Mapping[Key, Compute]
    counts: GroupCounts

    @cached_property
    def positions(self) -> dict[Key, int]:
        """Position of each statistic."""
        return {key: s for s, key in enumerate(self.statistics)}

    @cached_property
    def n_group(self) -> Int64Array:
        """Raters of each group with ratings, and with ratings of items that others rated too, shape (2, G)."""
        group, n_groups = self.source.group, self.source.n_groups
        rows = (group[(group >= 0) & (part > 0)] for part in self.counts.reached[:, 0])
        return np.stack([np.bincount(row, minlength=n_groups) for row in rows])

    @cached_property
    def areas(self) -> dict[tuple[str | None, int], float]:
        """Area under the curve of each score and group, where it is defined."""
        return {
            (name, g): _auc_of_masses(masses[g], self.counts.mass_sums[name][g])
            for name, masses in self.counts.masses.items()
            for g in range(self.source.n_groups)
            if _has_pairs(self.counts.mass_sums[name][g])
        }

    def all_sums(self, key: Key, g: int) -> FloatArray:
        """Return the sums of the first pass of a statistic of a group."""
        name, metric = key
        if metric != AUC:
            return np.asarray(self.counts.sums[self.positions[key], g])
        # All ratings count, as in a share.
        sums = self.counts.sums[self.positions[name, "brier"], g].copy()
        sums[2], sums[5] = self.areas[name, g] * sums[0], 0
        return np.asarray(sums)

    def is_defined(self, key: Key, g: int) -> bool:
        """Return whether a statistic of a group is defined."""
        name, metric = key
        if metric == AUC:
            return name in self.counts.levels and _has_pairs(self.counts.mass_sums[name][g])
        s = self.positions[key]
        return bool(self.counts.sums[s, g, 3] > 0 and not self.counts.contradicted[s, g])

    def measure(self, key: Key, g: int, parts: GroupParts) -> PseudoValues | None:
        """Return the values of the ratings of a block; None if it has none."""
        name, metric = key
        part = _find_part(parts, name, self.source.models)
        if part is None or not self.is_defined(key, g):
            return None
        ratings, scores = part
        if metric == AUC:
            of_score = self.counts.masses[name][g], self.counts.mass_sums[name][g]
            return auc_by_masses(ratings, scores, self.counts.levels[name], *of_score)
        n_group = int(self.n_group[int(name == ELSE), g])
        whole = GroupRatings(items=ratings.items, raters=ratings.raters, unsafe=ratings.unsafe, n_group=n_group)
        try:
            return self.statistics[key](whole, scores)
        except UndefinedEstimate:
            return None

    def finish(self, key: Key, g: int, of_items: FloatArray, of_raters: FloatArray, between: FloatArray) -> GroupSums:
        """Return a statistic of a group, from its sums over items, by rater, and over items with other groups."""
        weight, _, total, n_ratings, n_items, is_share = self.all_sums(key, g).tolist()
        is_concentrated = key[1] == AUC
        return GroupSums(
            estimate=total / weight,
            n_ratings=int(n_ratings),
            n_items=int(n_items),
            n_raters=of_raters.shape[1],
            spread=self.cross(key, g, of_items[:6], float(of_items[6]), of_raters),
            of_raters=measure_raters(*of_raters, is_concentrated=is_concentrated),
            of_ratings=float(of_items[7]),
            number=g,
            between=between,
            name=key[0],
            is_share=is_share > 0,
            is_concentrated=is_concentrated,
        )

    def cross(
        self, key: Key, g: int, of_items: FloatArray, of_ratings: float, of_raters: FloatArray
    ) -> ClusteredVariance | None:
        """Return the variance over items and raters.

        It comes from `sum_clusters` of the items, the same sum of squares of single ratings, and totals, weights and
        squared weights of the raters, shape (3, R).
        """
        weight, squares, _, _, n_items, _ = self.all_sums(key, g).tolist()
        ways = []
        if n_items > 1:
            ways.append(variance_of_sums(of_items, weight, squares))
        if of_raters.shape[1] > 1:
            ways.append(estimate_variance_of_totals(*of_raters))
        return cross_clusterings(ways, of_ratings / weight**2) if ways else None


def _has_pairs(sums: FloatArray) -> bool:
    return bool(sums[0] * sums[1] - sums[2] > 1e-12)


def _auc_of_masses(masses: FloatArray, sums: FloatArray) -> float:
    safe_below = np.cumsum(masses[1]) - masses[1] / 2
    return (float(masses[0] @ safe_below) - float(sums[2]) / 2) / float(sums[0] * sums[1] - sums[2])


def _sum_block(
    bound: _BoundStatistics,
    keys: Sequence[Key],
    block: Block,
    sums: FloatArray,
    raters: FloatArray,
    between: FloatArray,
) -> None:
    groups, shape = list(bound.source.split(block)), (bound.source.n_groups, block.design.n_items)
    for row, key in enumerate(keys):
        influences, rated = np.zeros(shape), np.zeros(shape, np.bool_)
        for g, _, parts in groups:
            values = bound.measure(key, g, parts)
            if values is None:
                continue
            weight, squares, total = bound.all_sums(key, g)[:3].tolist()
            of_ratings = values.weights * (values.values - total / weight)
            of_items, size, square, rated[g] = _add_items(values, of_ratings, block.design.n_items)
            influences[g] = of_items / weight
            mask = rated[g]
            sums[row, g, :6] += _sum_clusters(of_items[mask], size[mask], square[mask], weight, squares)
            single = _sum_ratings(of_ratings, values.weights, weight, squares)
            sums[row, g, 6:] += np.array([single, of_ratings @ of_ratings / weight**2])
            for position, part in enumerate((of_ratings, values.weights, values.weights**2, np.ones(len(of_ratings)))):
                raters[row, position] += np.bincount(values.raters, weights=part, minlength=raters.shape[2])
        for g, h in combinations(range(bound.source.n_groups), 2):
            d = influences[g] - influences[h]
            between[row, g, h] += np.array([d @ d, (d**4).sum(), np.count_nonzero(rated[g] | rated[h])])


def _pair_block(
    bound: _BoundStatistics,
    pairs: Sequence[tuple[str, tuple[str | None, str | None]]],
    block: Block,
    paired: FloatArray,
) -> None:
    for g, _, parts in bound.source.split(block):
        for p, (metric, pair) in enumerate(pairs):
            keys = [(name, metric) for name in pair]
            both = [bound.measure(key, g, parts) for key in keys]
            if both[0] is None or both[1] is None:
                continue
            means = [sums[2] / sums[0] for sums in (bound.all_sums(key, g) for key in keys)]
            weight, squares = bound.all_sums(keys[0], g)[:2].tolist()
            w = both[0].weights
            of_ratings = w * ((both[0].values - means[0]) - (both[1].values - means[1]))
            of_items, size, square, rated = _add_items(both[0], of_ratings, block.design.n_items)
            paired[g, p] += np.array(
                [
                    _sum_clusters(of_items[rated], size[rated], square[rated], weight, squares)[0],
                    _sum_ratings(of_ratings, w, weight, squares),
                ]
            )


def _add_items(
    values: PseudoValues, of_ratings: FloatArray, n_items: int
) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
    """Return totals, weights and squared weights of the items of a block, and which are rated."""
    totals, size, square = (
        np.bincount(values.items, weights=part, minlength=n_items).astype(np.float64)
        for part in (of_ratings, values.weights, values.weights**2)
    )
    return totals, size, square, np.bincount(values.items, minlength=n_items) > 0


def _sum_clusters(
    totals: FloatArray, size: FloatArray, square: FloatArray, weight: float, squares: float
) -> FloatArray:
    """Return `sum_clusters`, undefined for the only item of a group, which is not used."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return sum_clusters(totals, size, square, weight, squares)


def _sum_ratings(totals: FloatArray, w: FloatArray, weight: float, squares: float) -> float:
    """Return the sum of the squared totals of single ratings, undefined for the only one, which is not used."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(weigh_clusters(w, w**2, weight, squares)[1] @ totals**2)
