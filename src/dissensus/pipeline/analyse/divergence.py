"""Divergence of soft labels between groups, with permutation tests."""

from collections.abc import Sequence
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.pipeline.analyse.comparisons import Codes, assign_strata
from dissensus.pipeline.analyse.divergence_result import Floats, GroupDivergence, PairDivergence
from dissensus.pipeline.analyse.resampling import Progress
from dissensus.schema.axes import require_one_axis
from dissensus.schema.hints import suggest
from dissensus.schema.numbers import check_whole
from dissensus.schema.ratings.table import Ratings
from dissensus.stats import divergence as measures
from dissensus.stats.design import Design, chunks
from dissensus.stats.groups.assignment import (
    MAX_SHIFT,
    SHUFFLES,
    assignment_effect,
    exchange_ratings,
    is_complete,
    null_shift,
)
from dissensus.stats.permutation import shuffles
from dissensus.stats.result import none_if_nan
from dissensus.stats.significance import benjamini_hochberg, permutation_p

WITHHELD = "test withheld: the assignment of items, not the raters, determines how often each group rated an item"
MEASURES: dict[str, measures.Divergence] = {
    "total_variation": measures.total_variation,
    "jensen_shannon": measures.jensen_shannon,
    "kullback_leibler": partial(measures.kullback_leibler, smoothing=0.01),
    "cross_entropy": partial(measures.cross_entropy, smoothing=0.01),
    "wasserstein": measures.wasserstein,
}


def group_divergence(  # noqa: PLR0913 - options are keyword-only
    ratings: Ratings,
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
        The ratings.
    by
        An axis or crossed axes.
    measure
        total_variation, jensen_shannon, kullback_leibler, cross_entropy or wasserstein. Those that can be infinite mix
        1 % of the uniform distribution into both sides, and those that are not symmetric take the first group of each
        pair as the truth.
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
    permuted groups, as under quotas or unequal loads: then the assignment alone moves it.
    `dissensus.stats.groups.statistics.group_statistics` has a distance that can be tested in more assignments.

    Shares of few raters differ by chance, so the estimate is biased upwards. Only its difference from `null_mean`, from
    groups of the same sizes, is due to the groups. Permutations exchange raters over all compared groups, so the null
    hypothesis of a pair is that no group differs from another; give two `groups` to test one pair alone. Total
    variation is compiled, and 20 to 100 times as fast as the others.

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
    if measure not in MEASURES:
        raise InvalidInput(f"measure is {measure!r}; choose one of {', '.join(MEASURES)}.")
    check_whole("permutations", permutations)
    check_whole("seed", seed)
    question = ratings.resolve_question(question)
    ratings = ratings.select_question(question)
    name = ratings.axis_name(require_one_axis(by))
    codes, chosen = _choose_groups(*ratings.group_codes(name), name, groups)
    item, rater, answer = ratings.codes(question)
    design = Design(item, rater, answer, ratings.n_items, ratings.n_raters, len(ratings.scale(question)))
    observed, n_items = (part[0] for part in measures.mean_pairwise(design, codes[None], MEASURES[measure]))
    if not n_items.any():
        raise UndefinedEstimate(f"No item was rated by two groups of {name}.")
    # Raters of other groups are not exchanged, so that the compared groups keep their sizes.
    within = np.where(codes < 0, -1, 0 if permute_within is None else assign_strata(ratings, permute_within))
    is_uneven = permutations > 0 and not is_complete(design, codes)
    # The assignment is compared with enough permutations, however few are asked for; the first ones stay the same.
    seeds = np.random.SeedSequence(seed).spawn(max(permutations, SHUFFLES) if is_uneven else permutations)
    pair_null = _replicates(design, codes, within, seeds, measure=measure, progress=progress)
    withheld = np.zeros(pair_null.shape[1], dtype=np.bool_)
    if is_uneven:
        withheld = _is_withheld(design, codes, within, seeds, pair_null, measure)
    pair_null = pair_null[:permutations]
    pair_null[:, withheld] = np.nan
    estimate, null = float(_mean(observed, axis=0)), _mean(pair_null, axis=1)
    if withheld.any():
        null = np.full(permutations, np.nan)
    return GroupDivergence(
        axis=name,
        question=question,
        measure=measure,
        groups=chosen,
        n_raters=tuple(np.bincount(codes[codes >= 0]).tolist()),
        pairs=_pairs(chosen, observed, n_items, pair_null, withheld),
        estimate=estimate,
        n_items=_count_shared_items(design, codes),
        null=null,
        pair_null=pair_null,
        null_mean=none_if_nan(float(_mean(null, axis=0))),
        p=none_if_nan(float(permutation_p(estimate, null))),
        reason=WITHHELD if withheld.any() else None,
        permute_within=permute_within,
        seed=seed,
    )


def _choose_groups(
    codes: Codes, names: tuple[str, ...], axis: str, groups: Sequence[str] | None
) -> tuple[Codes, tuple[str, ...]]:
    chosen = names if groups is None else tuple(dict.fromkeys(groups))
    for group in chosen:
        if group not in names:
            hint = suggest(group, names)
            raise InvalidInput(f"Axis {axis} has no group {group!r}.{hint} Its groups are {', '.join(names)}.")
    if len(chosen) < 2:
        raise InvalidInput(f"Divergence needs two groups or more; axis {axis} offers {', '.join(names)}.")
    new_code = np.full(len(names) + 1, -1, dtype=np.int32)
    new_code[[names.index(group) for group in chosen]] = np.arange(len(chosen))
    return new_code[codes], chosen


def _replicates(
    design: Design,
    codes: Codes,
    within: Codes,
    seeds: list[np.random.SeedSequence],
    *,
    measure: str,
    progress: Progress | None,
) -> Floats:
    """Return the divergence of each pair in each permutation, shape (B, P)."""
    n_groups = int(codes.max()) + 1
    null = np.empty((len(seeds), n_groups * (n_groups - 1) // 2))
    # The cost in ratings limits the size of chunks too, so that progress is reported every few seconds.
    cost = design.items.size * (1 if measure == "total_variation" else 64)
    for chunk in chunks(len(seeds), max(8 * design.n_raters + 24 * null.shape[1], cost)):
        permutations = shuffles([seeds[b] for b in chunk], design.n_raters, within)
        null[chunk.start : chunk.stop], _ = measures.mean_pairwise(design, codes[permutations], MEASURES[measure])
        if progress is not None:
            progress(chunk.stop / len(seeds))
    return null


def _is_withheld(
    design: Design,
    codes: Codes,
    within: Codes,
    seeds: list[np.random.SeedSequence],
    pair_null: Floats,
    measure: str,
) -> npt.NDArray[np.bool_]:
    """Return for each pair whether the assignment of items, rather than the raters, moves its test, shape (P,)."""
    first, second = np.triu_indices(int(codes.max()) + 1, 1)
    permuted = codes[shuffles(seeds[:SHUFFLES], design.n_raters, within)]
    exchanges = np.random.SeedSequence(int(seeds[0].generate_state(1, np.uint64)[0]))
    effect = assignment_effect(design, codes, permuted, first, second, seed=exchanges)
    exchanged, _ = measures.mean_pairwise(*exchange_ratings(design, codes, seed=exchanges), MEASURES[measure])
    moved = ~(np.abs(null_shift(exchanged, pair_null)) <= MAX_SHIFT)
    return np.asarray(effect.systematic & moved)


def _pairs(
    groups: tuple[str, ...],
    observed: Floats,
    n_items: measures.Int64Array,
    null: Floats,
    withheld: npt.NDArray[np.bool_],
) -> tuple[PairDivergence, ...]:
    p = permutation_p(observed, null)
    columns = zip(observed, n_items, _mean(null, axis=0), p, benjamini_hochberg(p), withheld, strict=True)
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


def _count_shared_items(design: Design, codes: Codes) -> int:
    """Count the items rated by two or more groups."""
    rated = np.zeros((design.n_items, int(codes.max()) + 1), dtype=bool)
    group = codes[design.raters]
    rated[design.items[group >= 0], group[group >= 0]] = True
    return int((rated.sum(axis=1) > 1).sum())


def _mean(values: Floats, *, axis: int) -> Floats:
    """Return the means over an axis, ignoring NaN."""
    defined = ~np.isnan(values)
    n = defined.sum(axis=axis)
    total = np.where(defined, values, 0.0).sum(axis=axis)
    return np.asarray(np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0))
