"""Compiled loops of `kernels` for weighted raters and items in fixed groups.

Items are evaluated in blocks, in loops without branches that the compiler can vectorise; each uses few arrays, since it
cannot prove for many that they do not overlap.
"""

import numpy as np

from dissensus.stats.groups.kernels import (
    AGREEMENT,
    BOTH,
    DIFFERENCE,
    DISAGREEMENT,
    DISTANCE,
    DISTINCT,
    DISTINCT_SAME,
    EXCESS,
    EXCESS_OTHER,
    N_ITEM_SUMS,
    N_PAIR_ITEM_SUMS,
    PAIR_BETWEEN,
    PAIR_DISTANCE,
    PAIR_ITEMS,
    PAIRABLE,
    PAIRABLE_RATINGS,
    RATINGS,
    WEIGHT,
    WORTH,
    sum_squares,
)
from dissensus.stats.kernels import FAST, compiled, count_groups, count_marks, count_runs

# Not a power of two: rows of a block at the same item would share few lines of the cache.
BLOCK = 120

# Facts of each group and item: ratings, its inverse, sum of squared weights of raters, pairs of ratings that agree,
# whether there are two distinct raters, and their agreement.
_M, _OVER, _SQUARES, _SAME, _PAIRABLE, _AGREEMENT = 0, 1, 2, 3, 4, 5
_N_FACTS = 6
# Sums of each item in a comparison, then scratch: worth of the answers of the other group, pairs of
# ratings of both groups that agree, agreement of both together.
_WORTH_OTHER, _CROSS, _POOLED = 12, 13, 14
_N_PARTS = 15


@compiled(fastmath=FAST, error_model="numpy")
def fill_resamples(  # type: ignore[no-untyped-def]
    sums, pairs, marks, item_runs, runs, run_group, run_answer, raters, own_runs, own_items, group, rater_weight,
    item_weights, inside, outside, worth, alike
):  # fmt: skip
    """Fill the rows of `kernels.fill_items` for bootstrap weights of raters, with V weightings of the items each.

    sums (B, V, C, N_SUMS); pairs (B, V, P, N_PAIR_SUMS). A run is the raters of an item who are of one group and gave
    one answer: item_runs (I + 1,) is the first run of each item, runs (N + 1,) the first of the raters of each run.
    own_runs (R K + 1,): first of the items on which a rater gave an answer. marks (R, K + 1, I) replace these lists,
    unless they are empty. group (R,). rater_weight (B, R). item_weights (B, V, I). Squared errors are not filled.
    """
    n_items, n_groups, n_categories = item_runs.size - 1, count_groups(group), worth.size
    counts, like, facts, part = _new_block(n_groups, inside.size, n_categories, alike)
    pairable, weights = np.zeros((n_groups, n_items)), np.zeros((n_groups, n_items))
    own = np.zeros((group.size, n_categories))
    # Marks are counted as whole numbers, which are vectors of half the length.
    marked = np.zeros((n_groups, n_categories, marks.shape[2]), dtype=np.int32)
    squares = np.zeros((n_groups, marks.shape[2]), dtype=np.int64)
    for b in range(sums.shape[0]):
        if marks.size > 0:
            marked[:] = 0
            squares[:] = 0
            count_marks(marked, squares, marks, group, rater_weight[b], 0, n_items)
        for low in range(0, n_items, BLOCK):
            size = min(BLOCK, n_items - low)
            counts[:] = 0.0
            facts[:, _SQUARES] = 0.0
            if marks.size > 0:
                counts[:n_groups, :, :size] = marked[:, :, low : low + size]
                facts[:n_groups, _SQUARES, :size] = squares[:, low : low + size]
            else:
                count_runs(
                    counts, facts[:, _SQUARES], item_runs, runs, run_group, run_answer, raters, rater_weight[b], low,
                    size
                )  # fmt: skip
            _describe_block(counts, like, alike, facts, inside, outside, size)
            _add_block(sums[b], pairs[b], part, counts, like, facts, inside, worth, item_weights[b], low, size)
            pairable[:, low : low + size] = facts[:n_groups, _PAIRABLE, :size]
        for v in range(sums.shape[1]):
            for g in range(n_groups):
                for i in range(n_items):
                    weights[g, i] = pairable[g, i] * item_weights[b, v, i]
            _count_own(own, marks, own_runs, own_items, group, rater_weight[b], weights)
            _count_distinct(sums[b, v], own, group, inside)


@compiled(fastmath=FAST, error_model="numpy")
def add_resamples(  # type: ignore[no-untyped-def]
    sums, pairs, own, item_runs, runs, run_group, run_answer, raters, n_groups, rater_weight, item_weights, inside,
    outside, worth, alike
):  # fmt: skip
    """Add the items of a block to the rows of `fill_resamples`, which `finish_resamples` completes after the last.

    own (B, V, R, K): weighted answers of raters to items with two distinct raters of their group.
    """
    n_items = item_runs.size - 1
    counts, like, facts, part = _new_block(n_groups, inside.size, worth.size, alike)
    for b in range(sums.shape[0]):
        weight = rater_weight[b]
        for low in range(0, n_items, BLOCK):
            size = min(BLOCK, n_items - low)
            counts[:] = 0.0
            facts[:, _SQUARES] = 0.0
            count_runs(counts, facts[:, _SQUARES], item_runs, runs, run_group, run_answer, raters, weight, low, size)
            _describe_block(counts, like, alike, facts, inside, outside, size)
            _add_block(sums[b], pairs[b], part, counts, like, facts, inside, worth, item_weights[b], low, size)
            for v in range(sums.shape[1]):
                for i in range(size):
                    once = float(item_weights[b, v, low + i])
                    for u in range(item_runs[low + i], item_runs[low + i + 1]):
                        total = once * facts[run_group[u], _PAIRABLE, i]
                        for t in range(runs[u], runs[u + 1]):
                            own[b, v, raters[t], run_answer[u]] += weight[raters[t]] * total


@compiled()
def finish_resamples(sums, own, group, inside):  # type: ignore[no-untyped-def]
    """Complete the rows of `fill_resamples` by sums over raters, group (R,)."""
    for b in range(sums.shape[0]):
        for v in range(sums.shape[1]):
            _count_distinct(sums[b, v], own[b, v], group, inside)


@compiled()
def _new_block(n_groups, n_comparisons, n_categories, alike):  # type: ignore[no-untyped-def]
    """Return arrays for the items of a block: counts of answers, likeness, facts, and what items add to sums.

    Rows of the first three are the groups, all raters, and the other group of each comparison.
    """
    n_rows = n_groups + 1 + n_comparisons
    counts = np.zeros((n_rows, n_categories, BLOCK))
    # Times that an answer was given, each other answer counting by its likeness.
    like = counts if alike is None else np.zeros((n_rows, n_categories, BLOCK))
    return counts, like, np.zeros((n_rows, _N_FACTS, BLOCK)), np.zeros((_N_PARTS, BLOCK))


@compiled()
def _describe_block(counts, like, alike, facts, inside, outside, size):  # type: ignore[no-untyped-def]
    """Fill the rows of all raters and of the other group of each comparison, and the facts of all rows."""
    pool = counts.shape[0] - 1 - inside.size
    for g in range(pool):
        _combine(counts, facts, pool, pool, g, 1.0, size)
    for c in range(inside.size):
        if outside[c] < 0:
            _combine(counts, facts, pool + 1 + c, pool, inside[c], -1.0, size)
        else:
            _combine(counts, facts, pool + 1 + c, outside[c], pool, 0.0, size)
    for g in range(counts.shape[0]):
        if alike is not None:
            _weigh(like[g], counts[g], alike, size)
        _describe_group(facts[g], counts[g], like[g], size)


@compiled()
def _combine(counts, facts, into, first, second, sign, size):  # type: ignore[no-untyped-def]
    """Set the counts and squares of a row to those of a first one, plus those of a second one times a sign."""
    for k in range(counts.shape[1]):
        total, n, other = counts[into, k], counts[first, k], counts[second, k]
        for i in range(size):
            total[i] = n[i] + sign * other[i]
    total, n, other = facts[into, _SQUARES], facts[first, _SQUARES], facts[second, _SQUARES]
    for i in range(size):
        total[i] = n[i] + sign * other[i]


@compiled(fastmath=FAST)
def _weigh(like, counts, alike, size):  # type: ignore[no-untyped-def]
    """Weigh the counts of all answers by their likeness to each answer."""
    like[:] = 0.0
    for k in range(counts.shape[0]):
        for other in range(counts.shape[0]):
            for i in range(size):
                like[k, i] += alike[k, other] * counts[other, i]


@compiled(fastmath=FAST, error_model="numpy")
def _describe_group(facts, counts, like, size):  # type: ignore[no-untyped-def]
    """Fill the facts of one group, whose sums of squared weights are known."""
    m, over, squares, same = facts[_M], facts[_OVER], facts[_SQUARES], facts[_SAME]
    pairable, agreement = facts[_PAIRABLE], facts[_AGREEMENT]
    m[:] = 0.0
    same[:] = 0.0
    for k in range(counts.shape[0]):
        n, alike = counts[k], like[k]
        for i in range(size):
            m[i] += n[i]
        for i in range(size):
            same[i] += n[i] * alike[i]
    for i in range(size):
        over[i] = (1.0 if m[i] > 0.0 else 0.0) / max(m[i], 1.0)
    for i in range(size):
        pairable[i] = 1.0 if m[i] * m[i] > squares[i] else 0.0
    for i in range(size):
        square = m[i] * m[i]
        agreement[i] = pairable[i] * (1.0 - (square - same[i]) / max(square - squares[i], 1.0))


@compiled()
def _add_block(  # type: ignore[no-untyped-def]
    sums, pairs, part, counts, like, facts, inside, worth, weights, low, size
):
    """Add a block to each comparison and pair of groups with each weighting of the items.

    sums (V, C, N_SUMS); pairs (V, P, N_PAIR_SUMS), in the order of the upper triangle; weights (V, I).
    """
    n_groups = counts.shape[0] - 1 - inside.size
    for c in range(inside.size):
        g, h = inside[c], n_groups + 1 + c
        _compare_items(part, counts[g], counts[h], like[h], facts[g], facts[h], worth, size)
        for v in range(weights.shape[0]):
            _add_weighted(sums[v, c], part, N_ITEM_SUMS, weights[v, low : low + size], size)
    pair = 0
    for g in range(n_groups):
        for h in range(g + 1, n_groups):
            _compare_pair(part, counts[g], like[h], facts[g], facts[h], size)
            for v in range(weights.shape[0]):
                _add_weighted(pairs[v, pair], part, N_PAIR_ITEM_SUMS, weights[v, low : low + size], size)
            pair += 1


@compiled(fastmath=FAST)
def _add_weighted(sums, part, n_sums, weight, size):  # type: ignore[no-untyped-def]
    for s in range(n_sums):
        values, total = part[s], 0.0
        for i in range(size):
            total += weight[i] * values[i]
        sums[s] += total


@compiled(fastmath=FAST, error_model="numpy")
def _compare_items(part, counts, counts_h, like_h, facts, facts_h, worth, size):  # type: ignore[no-untyped-def]
    """Compute what each item adds to the sums of a comparison, part (_N_PARTS, BLOCK)."""
    m, m_h, over, over_h = facts[_M], facts_h[_M], facts[_OVER], facts_h[_OVER]
    pairable, pairable_h = facts[_PAIRABLE], facts_h[_PAIRABLE]
    agreement, agreement_h = facts[_AGREEMENT], facts_h[_AGREEMENT]
    worth_g, worth_h, cross, pooled = part[WORTH], part[_WORTH_OTHER], part[_CROSS], part[_POOLED]
    weight, difference, both = part[WEIGHT], part[DIFFERENCE], part[BOTH]
    distance, excess, excess_h = part[DISTANCE], part[EXCESS], part[EXCESS_OTHER]
    worth_g[:] = 0.0
    worth_h[:] = 0.0
    for k in range(worth.size):
        n, n_h = counts[k], counts_h[k]
        for i in range(size):
            worth_g[i] += worth[k] * n[i]
        for i in range(size):
            worth_h[i] += worth[k] * n_h[i]
    _compute_group_parts(part, facts, size)
    for i in range(size):
        weight[i] = m[i] * m_h[i] / max(m[i] + m_h[i], 1.0)
    for i in range(size):
        difference[i] = weight[i] * (worth_g[i] * over[i] - worth_h[i] * over_h[i])
    _pool_agreement(cross, pooled, counts, like_h, facts, facts_h, size)
    for i in range(size):
        both[i] = pairable[i] * pairable_h[i]
    for i in range(size):
        within = 0.5 * agreement[i] + 0.5 * agreement_h[i]
        distance[i] = both[i] * (within - cross[i] * over[i] * over_h[i])
    for i in range(size):
        excess[i] = both[i] * (agreement[i] - pooled[i])
    for i in range(size):
        excess_h[i] = both[i] * (agreement_h[i] - pooled[i])


@compiled(fastmath=FAST)
def _compute_group_parts(part, facts, size):  # type: ignore[no-untyped-def]
    """Compute what each item adds to the sums of the first group alone."""
    m, pairable, agreement = facts[_M], facts[_PAIRABLE], facts[_AGREEMENT]
    disagreement, pairable_ratings = part[DISAGREEMENT], part[PAIRABLE_RATINGS]
    part[RATINGS] = m
    part[PAIRABLE] = pairable
    part[AGREEMENT] = agreement
    for i in range(size):
        pairable_ratings[i] = pairable[i] * m[i]
    for i in range(size):
        disagreement[i] = pairable_ratings[i] * (1.0 - agreement[i])


@compiled(fastmath=FAST, error_model="numpy")
def _pool_agreement(cross, pooled, counts, like_h, facts, facts_h, size):  # type: ignore[no-untyped-def]
    """Compute the pairs of ratings of two groups that agree, and the agreement of both groups together."""
    m, squares, same = facts[_M], facts[_SQUARES], facts[_SAME]
    m_h, squares_h, same_h = facts_h[_M], facts_h[_SQUARES], facts_h[_SAME]
    cross[:] = 0.0
    for k in range(counts.shape[0]):
        n, alike = counts[k], like_h[k]
        for i in range(size):
            cross[i] += n[i] * alike[i]
    for i in range(size):
        pooled[i] = same[i] + same_h[i] + 2.0 * cross[i]
    for i in range(size):
        square = (m[i] + m_h[i]) * (m[i] + m_h[i])
        pooled[i] = 1.0 - (square - pooled[i]) / max(square - squares[i] - squares_h[i], 1.0)


@compiled(fastmath=FAST)
def _compare_pair(part, counts, like_h, facts, facts_h, size):  # type: ignore[no-untyped-def]
    """Compute what each item adds to the sums of a pair of groups, part (_N_PARTS, BLOCK)."""
    over, over_h, pairable, pairable_h = facts[_OVER], facts_h[_OVER], facts[_PAIRABLE], facts_h[_PAIRABLE]
    agreement, agreement_h = facts[_AGREEMENT], facts_h[_AGREEMENT]
    distance, between, items = part[PAIR_DISTANCE], part[PAIR_BETWEEN], part[PAIR_ITEMS]
    between[:] = 0.0
    for k in range(counts.shape[0]):
        n, alike = counts[k], like_h[k]
        for i in range(size):
            between[i] += n[i] * alike[i]
    for i in range(size):
        items[i] = pairable[i] * pairable_h[i]
    for i in range(size):
        between[i] = items[i] * (1.0 - between[i] * over[i] * over_h[i])
    for i in range(size):
        distance[i] = between[i] - items[i] * (1.0 - 0.5 * agreement[i] - 0.5 * agreement_h[i])


@compiled(fastmath=FAST)
def _count_own(own, marks, own_runs, own_items, group, rater_weight, weights):  # type: ignore[no-untyped-def]
    """Count the answers of each weighted rater on the weighted items, weights (G, I)."""
    n_categories, once = own.shape[1], np.ones(weights.shape[0], dtype=np.bool_)
    for g in range(weights.shape[0]):
        for i in range(weights.shape[1]):
            if weights[g, i] != 1.0:
                once[g] = False
    for r in range(group.size):
        for k in range(n_categories):
            first, last, total = own_runs[r * n_categories + k], own_runs[r * n_categories + k + 1], 0.0
            if group[r] < 0 or rater_weight[r] == 0:
                total = 0.0
            elif once[group[r]]:
                total = float(last - first)
            elif marks.size > 0:
                total = _sum_marked(weights[group[r]], marks[r, k])
            else:
                for t in range(first, last):
                    total += weights[group[r], own_items[t]]
            own[r, k] = rater_weight[r] * total


@compiled(fastmath=FAST)
def _sum_marked(weights, mark):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(weights.size):
        total += weights[i] * mark[i]
    return total


@compiled(fastmath=FAST)
def _count_distinct(sums, own, group, inside):  # type: ignore[no-untyped-def]
    """Set the pairs of ratings of distinct raters of each comparison, and those with the same answer."""
    n_groups, n_categories = count_groups(group), own.shape[1]
    n = np.zeros((n_groups, n_categories))
    ratings, self_same, self_pairs = np.zeros(n_groups), np.zeros(n_groups), np.zeros(n_groups)
    for r in range(group.size):
        q, total = group[r], 0.0
        if q < 0:
            continue
        for k in range(n_categories):
            n[q, k] += own[r, k]
            self_same[q] += own[r, k] ** 2
            total += own[r, k]
        self_pairs[q] += total * total
        ratings[q] += total
    for c in range(inside.size):
        g = inside[c]
        sums[c, DISTINCT] = ratings[g] * ratings[g] - self_pairs[g]
        sums[c, DISTINCT_SAME] = sum_squares(n[g]) - self_same[g]
