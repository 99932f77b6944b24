"""Divergence of soft labels between groups, with permutation tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.pipeline.analyse.comparisons import assign_strata
from dissensus.pipeline.analyse.divergence_result import GroupDivergence, PairDivergence
from dissensus.pipeline.analyse.permutations import MAX_DISTANCE_LOAD
from dissensus.pipeline.analyse.resampling import Progress
from dissensus.pipeline.engine.ratings import PartitionedRatings, code_answers, select_pool
from dissensus.schema.axes import require_one_axis
from dissensus.schema.hints import suggest
from dissensus.schema.numbers import check_whole
from dissensus.schema.ratings.table import Ratings
from dissensus.stats import divergence as measures
from dissensus.stats.design import Block, BlockedDesign, Design, chunks, pass_over
from dissensus.stats.groups.assignment import (
    EXCHANGES,
    MAX_SHIFT,
    assignment_effect,
    exchanged_divergences,
    is_complete,
    null_shift,
)
from dissensus.stats.groups.statistics import group_statistics
from dissensus.stats.multiple_testing import benjamini_hochberg
from dissensus.stats.permutation import draw_permutations, permutation_p, upper_p
from dissensus.stats.result import BoolArray, FloatArray, Int32Array, Int64Array, nan_mean, none_if_nan

WITHHELD = "test withheld: the assignment of items, not the raters, determines how often each group rated an item"
MEASURES: dict[str, measures.Divergence] = {
    "total_variation": measures.total_variation,
    "jensen_shannon": measures.jensen_shannon,
    "kullback_leibler": partial(measures.kullback_leibler, smoothing=0.01),
    "cross_entropy": partial(measures.cross_entropy, smoothing=0.01),
    "wasserstein": measures.wasserstein,
}
UNBIASED = "group_distance"


@dataclass(frozen=True, eq=False)
class _Replicates:
    """Divergences of P pairs in B replicates, and the statistics by which they are tested."""

    values: FloatArray  # Shape (B, P)
    tested: FloatArray  # Test statistic of each pair, shape (B, P)
    total: FloatArray  # Test statistic of the mean over pairs, shape (B,)


def group_divergence(  # noqa: PLR0913 - options are keyword-only
    ratings: Ratings | PartitionedRatings,
    by: str | Sequence[str],
    *,
    measure: str = "total_variation",
    groups: Sequence[str] | None = None,
    question: str | None = None,
    permutations: int = 0,
    permute_within: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> GroupDivergence:
    r"""Measure the mean divergence between the soft labels of the groups of an axis.

    .. math:: \frac{2}{G(G-1)} \sum_{g<h} \frac{1}{I_{gh}} \sum_i D(p_{ig}, p_{ih})

    over the pairs of groups and the items that both rated; the result also has each pair, and the divergence by chance
    of groups of these sizes.

    Parameters
    ----------
    ratings
        The ratings; see `read_ratings`, and `read_partitions` for folders of Parquet files.
    by
        An axis or crossed axes.
    measure
        total_variation, jensen_shannon, kullback_leibler, cross_entropy or wasserstein, which are biased upwards by
        few ratings, or group_distance, which is not. Those that can be infinite mix 1 % of the uniform distribution
        into both sides, and those that are not symmetric take the first group of each pair as the truth.
    groups
        Groups to compare; all by default.
    question
        The question, if more than one was read.
    permutations
        Number of permutations; 0 for no test. Raters outside `groups` are excluded.
    permute_within
        Attribute within whose values raters are exchanged.
    seed
        Seed of the permutations; the result does not depend on the number of threads.
    progress
        Called with the completed share of the permutations, from 0 to 1.

    Returns
    -------
    GroupDivergence

    Raises
    ------
    InvalidInput
        An unknown measure or group, fewer than two groups.
    UndefinedEstimate
        No pair of groups shares an item.

    Notes
    -----
    A test is withheld, with its reason, if the numbers of ratings that the groups have of each item are not those of
    permuted groups, as under quotas or unequal loads: then the assignment alone moves it. The exception is
    group_distance (`dissensus.stats.groups.estimates.group_distance`), over the items with two ratings of each group:
    its expectation does not depend on the number of ratings and is 0 if groups do not differ, an estimate may be below
    0, and its test, of large values, is studentised and withheld only in very unequal loads.

    Shares of few raters differ by chance, so all other measures are biased upwards. Only their difference from
    `null_mean`, from groups of the same sizes, is due to the groups. Permutations exchange raters over all compared
    groups, so the null hypothesis of a pair is that no group differs from another; give two `groups` to test one pair
    alone. Total variation is compiled, and 20 to 100 times as fast as the others.

    Examples
    --------
    >>> import dissensus as ds
    >>> ratings = ds.simulate_ratings(n_items=40, raters_per_cell=6, seed=1)
    >>> divergence = ds.group_divergence(ratings, "gender", permutations=99)
    >>> round(divergence.estimate, 3), round(divergence.null_mean, 3), divergence.p
    (0.139, 0.144, 0.72)
    >>> print(ds.group_divergence(ratings, "age", permutations=99))
    Q_overall: total variation between the soft labels of 3 groups, .179 on average over 3 pairs (.176 by
    chance, p .760)
    <BLANKLINE>
    rater_age      raters  items  distance  by chance     p  adjusted
    18-29 – 30-49  12, 12     40      .183       .177  .780      .780
    18-29 – 50+    12, 12     40      .144       .174  .100      .240
    30-49 – 50+    12, 12     40      .210       .176  .160      .240
    <BLANKLINE>
    By chance: mean of 99 permutations of the raters, groups of the same sizes, seed 0; p two-sided, adjusted by
    Benjamini–Hochberg over the pairs.
    """
    if measure not in (*MEASURES, UNBIASED):
        raise InvalidInput(f"measure is {measure!r}; choose one of {', '.join((*MEASURES, UNBIASED))}.")
    check_whole("permutations", permutations)
    check_whole("seed", seed)
    question = select_pool(ratings).resolve_question(question)
    ratings = ratings if isinstance(ratings, PartitionedRatings) else ratings.select_question(question)
    pool, design = select_pool(ratings), code_answers(ratings, question)
    name = pool.axis_name(require_one_axis(by))
    codes, group_names = _select_groups(*pool.group_codes(name), name, groups)
    observed, n_items = _measure(design, codes[None], measure), _count_items(design, codes, measure)
    if not n_items.any():
        raise UndefinedEstimate(f"No item was rated {'twice ' if measure == UNBIASED else ''}by two groups of {name}.")
    # Raters of other groups are not exchanged, so that the compared groups keep their sizes.
    within = np.where(codes < 0, -1, 0 if permute_within is None else assign_strata(pool, permute_within))
    is_uneven = permutations > 0 and not is_complete(design, codes)
    # The assignment is compared with enough permutations, however few are asked for; the first ones stay the same.
    seeds = np.random.SeedSequence(seed).spawn(max(permutations, EXCHANGES) if is_uneven else permutations)
    replicates = _replicate(design, codes, within, seeds, measure=measure, progress=progress)
    withheld = np.zeros(replicates.values.shape[1], dtype=np.bool_)
    if is_uneven:
        withheld = _find_withheld(design, codes, within, seeds, replicates.values, measure)
    pair_null, tested, total = (
        part[:permutations] for part in (replicates.values, replicates.tested, replicates.total)
    )
    pair_null[:, withheld] = tested[:, withheld] = np.nan
    estimate, null = float(nan_mean(observed.values[0], axis=0)), nan_mean(pair_null, axis=1)
    if withheld.any():
        null, total = (np.full(permutations, np.nan) for _ in range(2))
    test = _test_large_values if measure == UNBIASED else permutation_p
    return GroupDivergence(
        axis=name,
        question=question,
        measure=measure,
        groups=group_names,
        n_raters=tuple(np.bincount(codes[codes >= 0]).tolist()),
        pairs=_pairs(group_names, observed.values[0], n_items, pair_null, test(observed.tested[0], tested), withheld),
        estimate=estimate,
        n_items=_count_shared_items(design, codes, measure),
        null=null,
        pair_null=pair_null,
        null_mean=none_if_nan(float(nan_mean(null, axis=0))),
        p=none_if_nan(float(test(observed.total[0], total))),
        reason=WITHHELD if withheld.any() else None,
        permute_within=permute_within,
        seed=seed,
    )


def _select_groups(
    codes: Int32Array, names: tuple[str, ...], axis: str, groups: Sequence[str] | None
) -> tuple[Int32Array, tuple[str, ...]]:
    """Return the codes of raters among the groups to compare, -1 for others, and the names of these groups."""
    group_names = names if groups is None else tuple(dict.fromkeys(groups))
    for group in group_names:
        if group not in names:
            hint = suggest(group, names)
            raise InvalidInput(f"Axis {axis} has no group {group!r}.{hint} Its groups are {', '.join(names)}.")
    if len(group_names) < 2:
        raise InvalidInput(f"Divergence needs two groups or more; axis {axis} offers {', '.join(names) or 'none'}.")
    new_code = np.full(len(names) + 1, -1, dtype=np.int32)
    new_code[[names.index(group) for group in group_names]] = np.arange(len(group_names))
    return new_code[codes], group_names


def _measure(design: Design | BlockedDesign, codes: Int32Array, measure: str) -> _Replicates:
    """Return the divergence of the groups in each replicate, codes (B, R)."""
    if measure != UNBIASED:
        values, _ = measures.mean_pairwise(design, codes, MEASURES[measure])
        return _Replicates(values, values, nan_mean(values, axis=1))
    result = group_statistics(design, codes, np.array([0]), np.array([1]), answer=0)
    # In a complete design the distance itself has the same distribution in all permutations.
    if is_complete(design, codes[0]):
        return _Replicates(result.pair_distance, result.pair_distance, nan_mean(result.pair_distance, axis=1))
    return _Replicates(result.pair_distance, result.pair_t, result.between_t)


def _test_large_values(observed: npt.ArrayLike, null: FloatArray) -> FloatArray:
    """Return upper p-values, NaN where no replicate is defined."""
    return np.asarray(np.where(np.isnan(null).all(axis=0), np.nan, upper_p(observed, null)))


def _count_items(design: Design | BlockedDesign, codes: Int32Array, measure: str) -> Int64Array:
    """Count the items on which each pair of groups is compared, shape (P,)."""
    pairs = list(combinations(range(int(codes.max()) + 1), 2))

    def fill(block: Block, total: Int64Array) -> None:
        rated = _find_rated(block, codes, measure)
        total += [np.count_nonzero(rated[g] & rated[h]) for g, h in pairs]

    n_items = np.zeros(len(pairs), np.int64)
    pass_over(design, fill, n_items)
    return n_items


def _replicate(
    design: Design | BlockedDesign,
    codes: Int32Array,
    within: Int32Array,
    seeds: list[np.random.SeedSequence],
    *,
    measure: str,
    progress: Progress | None,
) -> _Replicates:
    """Return the divergence of the groups in each permutation."""
    n_groups = int(codes.max()) + 1
    n_pairs = n_groups * (n_groups - 1) // 2
    null = _Replicates(np.empty((len(seeds), n_pairs)), np.empty((len(seeds), n_pairs)), np.empty(len(seeds)))
    row_bytes = 8 * design.n_raters + 24 * n_pairs
    if isinstance(design, BlockedDesign):
        row_bytes = max(row_bytes, design.row_bytes(1) if measure == UNBIASED else 0)
    else:
        # The cost in ratings limits the size of chunks too, so that progress is reported every few seconds.
        row_bytes = max(row_bytes, design.n_ratings * (1 if measure in ("total_variation", UNBIASED) else 64))
    for chunk in chunks(len(seeds), row_bytes, design.chunk_bytes):
        permutations = draw_permutations([seeds[b] for b in chunk], design.n_raters, within)
        part, rows = _measure(design, codes[permutations], measure), slice(chunk.start, chunk.stop)
        null.values[rows], null.tested[rows], null.total[rows] = part.values, part.tested, part.total
        if progress is not None:
            progress(chunk.stop / len(seeds))
    return null


def _find_withheld(
    design: Design | BlockedDesign,
    codes: Int32Array,
    within: Int32Array,
    seeds: list[np.random.SeedSequence],
    pair_null: FloatArray,
    measure: str,
) -> BoolArray:
    """Return for each pair whether the assignment of items, rather than the raters, moves its test, shape (P,)."""
    first, second = np.triu_indices(int(codes.max()) + 1, 1)
    permuted = codes[draw_permutations(seeds[:EXCHANGES], design.n_raters, within)]
    effect = assignment_effect(design, codes, permuted, first, second)
    if measure == UNBIASED:
        return np.asarray(np.abs(effect.ratings / effect.permuted_ratings - 1).max(axis=1) > MAX_DISTANCE_LOAD)
    exchanges = np.random.SeedSequence(int(seeds[0].generate_state(1, np.uint64)[0]))
    exchanged = exchanged_divergences(design, codes, MEASURES[measure], seed=exchanges)
    moved = ~(np.abs(null_shift(exchanged, pair_null)) <= MAX_SHIFT)
    return np.asarray(effect.systematic & moved)


def _pairs(
    groups: tuple[str, ...],
    observed: FloatArray,
    n_items: Int64Array,
    null: FloatArray,
    p: FloatArray,
    withheld: BoolArray,
) -> tuple[PairDivergence, ...]:
    columns = zip(observed, n_items, nan_mean(null, axis=0), p, benjamini_hochberg(p), withheld, strict=True)
    return tuple(
        PairDivergence(
            groups=pair,
            estimate=none_if_nan(estimate),
            n_items=int(n),
            null_mean=none_if_nan(by_chance),
            p=none_if_nan(raw),
            p_adjusted=none_if_nan(adjusted),
            reason=WITHHELD if is_withheld else None,
        )
        for pair, (estimate, n, by_chance, raw, adjusted, is_withheld) in zip(
            combinations(groups, 2), columns, strict=True
        )
    )


def _find_rated(block: Block, codes: Int32Array, measure: str) -> BoolArray:
    """Return which items each group rated often enough for a measure, shape (G, I)."""
    return np.asarray(block.design.counts(codes).sum(axis=2) >= (2 if measure == UNBIASED else 1))


def _count_shared_items(design: Design | BlockedDesign, codes: Int32Array, measure: str) -> int:
    """Count the items on which some pair of groups is compared."""
    n_items = np.zeros(1, np.int64)

    def fill(block: Block, total: Int64Array) -> None:
        total += np.count_nonzero(_find_rated(block, codes, measure).sum(axis=0) > 1)

    pass_over(design, fill, n_items)
    return int(n_items[0])
