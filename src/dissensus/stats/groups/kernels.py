"""Compiled loops for statistics that are unbiased in the number of ratings, for many replicates of many groups.

`fill_items` walks the ratings of each item, for any design. `fill_complete` needs only the agreement of every two
raters, for designs in which every rater rated every item. `shuffle_within_items` exchanges the groups of the ratings of
each item. Kernels of weighted raters and items are in `resample_kernels`.
"""

import numpy as np

from dissensus.stats.kernels import FAST, compiled, count_groups, prefetch

# Sums over items. Group: worth of the answers, all ratings.
WORTH, RATINGS = 0, 1
# Both groups, weights m_g m_h / m: difference of the mean worth, weight.
DIFFERENCE, WEIGHT = 2, 3
# Group, items with two distinct raters: agreement, their number, m × disagreement, m.
AGREEMENT, PAIRABLE, DISAGREEMENT, PAIRABLE_RATINGS = 4, 5, 6, 7
# Both groups, items with two distinct raters of each: distance, agreement of each group less that of both together,
# number of items.
DISTANCE, EXCESS, EXCESS_OTHER, BOTH = 8, 9, 10, 11
N_ITEM_SUMS = 12
# Sums over raters: squared standard errors of difference, distance and difference of the agreements.
DIFFERENCE_SQUARES, DISTANCE_SQUARES, EXCESS_SQUARES = 12, 13, 14
# Pairs of ratings of distinct raters, items with two distinct raters, and those with the same answer.
DISTINCT, DISTINCT_SAME = 15, 16
N_SUMS = 17
# Of each pair of groups: distance, disagreement between them, items with two distinct raters of each, squared error.
PAIR_DISTANCE, PAIR_BETWEEN, PAIR_ITEMS, PAIR_SQUARES = 0, 1, 2, 3
N_PAIR_ITEM_SUMS = 3
N_PAIR_SUMS = 4

# Scores of a rater in a comparison: x̃ e, x̃², excess agreement with the own group, its weight, excess over that with
# the other group.
_XE, _XX, _OWN, _OWN_WEIGHT, _NEARER = 0, 1, 2, 3, 4
_N_SCORES = 5
# Largest array of scores that the cache of a processor holds. Rows of a larger one are fetched ahead, line by line.
_CACHE_SCORES = 2**15
_LINE_SCORES = 8


@compiled()
def fill_items(  # type: ignore[no-untyped-def]
    sums, pairs, total, starts, raters, answers, group, inside, outside, worth, alike
):
    """Fill one row of sums for each comparison, and for each pair of groups, of each replicate.

    sums (B, C, N_SUMS); pairs (B, P, N_PAIR_SUMS); total (B,): squared error of the sum of all pair distances. group
    (B, R). inside, outside (C,): a negative outside means all other groups. worth (K,): value of each answer, whose
    means are compared; 1 for one answer if its share is. alike (K, K): likeness of answers, or None where only the same
    answer agrees.
    """
    n_raters, n_groups = group.shape[1], count_groups(group)
    scores = np.zeros((n_raters, inside.size * _N_SCORES + n_groups))
    own = np.zeros((n_raters, worth.size))
    for b in range(sums.shape[0]):
        scores[:] = 0.0
        own[:] = 0.0
        _walk(
            sums[b], pairs[b], scores, own, starts, raters, answers, group[b], n_groups, inside, outside, worth, alike
        )
        _finish(sums[b], scores, own, group[b], inside, outside)
        total[b] = _finish_pairs(pairs[b], scores[:, inside.size * _N_SCORES :], group[b])


@compiled()
def add_items(  # type: ignore[no-untyped-def]
    sums, pairs, scores, own, starts, raters, answers, group, n_groups, inside, outside, worth, alike
):
    """Add the items of a block to the rows of `fill_items`, which `finish_items` completes after the last block.

    scores (B, R, W): scores of raters, with W of `score_width`; no raters (R = 0) to leave out squared errors. own
    (B, R, K): answers of raters to items with two distinct raters of their group.
    """
    for b in range(sums.shape[0]):
        _walk(
            sums[b], pairs[b], scores[b], own[b], starts, raters, answers, group[b], n_groups, inside, outside, worth,
            alike
        )  # fmt: skip


@compiled()
def finish_items(sums, pairs, total, scores, own, group, inside, outside):  # type: ignore[no-untyped-def]
    """Complete the rows of `fill_items` by sums over raters."""
    for b in range(sums.shape[0]):
        _finish(sums[b], scores[b], own[b], group[b], inside, outside)
        total[b] = _finish_pairs(pairs[b], scores[b, :, inside.size * _N_SCORES :], group[b])


def score_width(n_comparisons: int, n_groups: int) -> int:
    """Return the number of scores of a rater."""
    return n_comparisons * _N_SCORES + n_groups


@compiled(fastmath=FAST, error_model="numpy")
def _walk(  # type: ignore[no-untyped-def]
    sums, pairs, scores, own, starts, raters, answers, group, n_groups, inside, outside, worth, alike
):
    """Add the items of one replicate to sums, and to scores and answers of raters; see `add_items`."""
    n_categories, n_comparisons = worth.size, inside.size
    counts = np.zeros((n_groups + 1, n_categories))
    # Times that an answer was given, each other answer counting by its likeness.
    like = counts if alike is None else np.zeros((n_groups + 1, n_categories))
    m, over, squares, agreement = np.zeros((4, n_groups + 1))
    rest = np.zeros(n_categories)
    rest_like = rest if alike is None else np.zeros(n_categories)
    # A rating changes the scores of its rater by a row that depends on its item, group and answer alone: scores in each
    # comparison, then the excess of agreement with the own group over that with each group.
    width = n_comparisons * _N_SCORES + n_groups
    row = np.zeros((n_groups, n_categories, width))
    scored = width if scores.shape[0] else 0
    ahead = width if scores.size > _CACHE_SCORES else 0
    for i in range(starts.size - 1):
        low, high = starts[i], starts[i + 1]
        for t in range(low, high):
            for k in range(0, ahead, _LINE_SCORES):
                prefetch(scores, raters[t], k)  # type: ignore[call-arg]
        _count_item(counts, squares, low, high, raters, answers, group)
        if alike is not None:
            _weigh(like, counts, alike)
        _agree(agreement, m, over, counts, like, squares)
        _add_item(sums, row, rest, rest_like, counts, like, alike, m, over, squares, agreement, inside, outside, worth)
        _add_pairs(pairs, row, n_comparisons * _N_SCORES, counts, like, m, over, squares, agreement)
        for t in range(low, high):
            r, y = raters[t], answers[t]
            q = group[r]
            if q >= 0:
                if m[q] * m[q] > squares[q]:
                    own[r, y] += 1.0
                for k in range(scored):
                    scores[r, k] += row[q, y, k]


@compiled(error_model="numpy")
def _count_item(counts, squares, low, high, raters, answers, group):  # type: ignore[no-untyped-def]
    """Count the answers of each group, the last being all groups, and its raters."""
    counts[:] = 0.0
    for t in range(low, high):
        g = group[raters[t]]
        if g >= 0:
            counts[g, answers[t]] += 1.0
    _pool(counts, squares)


@compiled(error_model="numpy")
def _pool(counts, squares):  # type: ignore[no-untyped-def]
    """Add the counts of all groups, and the raters of each, who count once."""
    squares[:] = 0.0
    for g in range(squares.size - 1):
        for k in range(counts.shape[1]):
            counts[-1, k] += counts[g, k]
            squares[g] += counts[g, k]
        squares[-1] += squares[g]


@compiled(error_model="numpy")
def _weigh(like, counts, alike):  # type: ignore[no-untyped-def]
    """Weigh the counts of all answers by their likeness to each answer."""
    for g in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            total = 0.0
            for other in range(counts.shape[1]):
                total += alike[k, other] * counts[g, other]
            like[g, k] = total


@compiled(error_model="numpy")
def _agree(agreement, m, over, counts, like, squares):  # type: ignore[no-untyped-def]
    """Compute the number of ratings, its inverse and the agreement of distinct raters of each group."""
    for g in range(m.size):
        total = same = 0.0
        for k in range(counts.shape[1]):
            total += counts[g, k]
            same += counts[g, k] * like[g, k]
        m[g] = total
        over[g] = 1.0 / total if total > 0.0 else 0.0
        pairs = total * total - squares[g]
        agreement[g] = 1.0 - (total * total - same) / pairs if pairs > 0.0 else 0.0


@compiled(fastmath=FAST, error_model="numpy")
def _add_item(  # type: ignore[no-untyped-def]
    sums, scores, rest, rest_like, counts, like, alike, m, over, squares, agreement, inside, outside, worth
):
    """Add an item to a comparison, and set what it changes in the scores of raters; `rest`, `rest_like` are scratch."""
    n_categories = counts.shape[1]
    for c in range(inside.size):
        g, h, row = inside[c], outside[c], sums[c]
        worth_g, worth_h, m_g, m_h, same, cross, pooled = 0.0, 0.0, m[g], 0.0, 0.0, 0.0, 0.0
        for k in range(n_categories):
            worth_g += worth[k] * counts[g, k]
        row[WORTH] += worth_g
        row[RATINGS] += m_g
        pairable = m_g * m_g > squares[g]
        if pairable:
            row[AGREEMENT] += agreement[g]
            row[PAIRABLE] += 1.0
            row[DISAGREEMENT] += m_g * (1.0 - agreement[g])
            row[PAIRABLE_RATINGS] += m_g
        for k in range(n_categories):
            other = counts[h, k] if h >= 0 else counts[-1, k] - counts[g, k]
            rest[k] = other
            worth_h += worth[k] * other
            m_h += other
            if alike is None:
                same += other * other
                cross += counts[g, k] * other
                pooled += (counts[g, k] + other) ** 2
            else:
                other_like = like[h, k] if h >= 0 else like[-1, k] - like[g, k]
                rest_like[k] = other_like
                same += other * other_like
                cross += counts[g, k] * other_like
                pooled += (counts[g, k] + other) * (like[g, k] + other_like)
        square_h = squares[h] if h >= 0 else squares[-1] - squares[g]
        both, pairs_h = m_g + m_h, m_h * m_h - square_h
        rated, paired = m_g > 0.0 and m_h > 0.0, pairable and pairs_h > 0.0
        x = y = over_g = over_h = 0.0
        if rated:
            over_both, over_g, over_h = 1.0 / both, over[g], over[h] if h >= 0 else 1.0 / m_h
            x = m_g * over_both
            weight = x * m_h
            y = (worth_g + worth_h) * over_both
            row[DIFFERENCE] += weight * (worth_g * over_g - worth_h * over_h)
            row[WEIGHT] += weight
        if paired:
            agreement_h = agreement[h] if h >= 0 else 1.0 - (m_h * m_h - same) / pairs_h
            pooled = 1.0 - (both * both - pooled) / (both * both - squares[g] - square_h)
            row[DISTANCE] += 0.5 * agreement[g] + 0.5 * agreement_h - cross * over_g * over_h
            row[EXCESS] += agreement[g] - pooled
            row[EXCESS_OTHER] += agreement_h - pooled
            row[BOTH] += 1.0
        centre = pooled if paired else 0.0
        near_g, near_h = (1.0 / (m_g - 1.0), 1.0 / (m_h - 1.0)) if paired else (0.0, 0.0)
        low = c * _N_SCORES
        for k in range(n_categories):
            e = worth[k] - y
            mine, others = like[g, k], rest_like[k]
            _set_scores(scores[g, k], low, 1.0 - x, e, mine, others, over_g, over_h, near_g, centre, rated, paired)
            for q in range(m.size - 1):
                if q != g and (q == h or h < 0):
                    _set_scores(scores[q, k], low, -x, e, others, mine, over_h, over_g, near_h, centre, rated, paired)


@compiled(fastmath=FAST, error_model="numpy")
def _set_scores(values, low, z, e, mine, others, over, over_other, near, centre, rated, paired):  # type: ignore[no-untyped-def]
    """Set what a rating changes in the scores of its rater in one comparison."""
    a, b = 1.0 if rated else 0.0, 1.0 if paired else 0.0
    share = (mine - 1.0) * near
    values[low + _XE] = a * z * e
    values[low + _XX] = a * z * z
    values[low + _OWN] = b * 2.0 * over * (share - centre)
    values[low + _OWN_WEIGHT] = b * 2.0 * over
    values[low + _NEARER] = b * (share - others * over_other) * over


@compiled(fastmath=FAST, error_model="numpy")
def _add_pairs(pairs, row, low, counts, like, m, over, squares, agreement):  # type: ignore[no-untyped-def]
    """Add an item to each pair of groups, in the order of the upper triangle."""
    pair = 0
    n_groups, n_categories = m.size - 1, counts.shape[1]
    row[:, :, low:] = 0.0
    for g in range(n_groups):
        if m[g] * m[g] <= squares[g]:
            pair += n_groups - 1 - g
            continue
        over_g = over[g]
        for h in range(g + 1, n_groups):
            if m[h] * m[h] > squares[h]:
                over_h, cross = over[h], 0.0
                for k in range(n_categories):
                    cross += counts[g, k] * like[h, k]
                cross *= over_g * over_h
                pairs[pair, PAIR_DISTANCE] += 0.5 * agreement[g] + 0.5 * agreement[h] - cross
                pairs[pair, PAIR_BETWEEN] += 1.0 - cross
                pairs[pair, PAIR_ITEMS] += 1.0
                near_g, near_h = 1.0 / (m[g] - 1.0), 1.0 / (m[h] - 1.0)
                for k in range(n_categories):
                    a, b = like[g, k], like[h, k]
                    row[g, k, low + h] = ((a - 1.0) * near_g - b * over_h) * over_g
                    row[h, k, low + g] = ((b - 1.0) * near_h - a * over_g) * over_h
            pair += 1


@compiled()
def sum_squares(values):  # type: ignore[no-untyped-def]
    """Return the sum of squares."""
    squares = 0.0
    for value in values:
        squares += value * value
    return squares


@compiled(fastmath=FAST, error_model="numpy")
def _finish(sums, scores, own, group, inside, outside):  # type: ignore[no-untyped-def]
    """Sum squared scores, and the pairs of ratings of one rater, over raters."""
    n = np.zeros(own.shape[1])
    for c in range(inside.size):
        g, h, row = inside[c], outside[c], sums[c]
        estimate = row[DIFFERENCE] / row[WEIGHT] if row[WEIGHT] > 0.0 else 0.0
        excess, excess_h = row[EXCESS] / max(row[BOTH], 1.0), row[EXCESS_OTHER] / max(row[BOTH], 1.0)
        n_g = n_h = 0
        difference = difference_h = agreement = agreement_h = distance = 0.0
        self_same = self_pairs = ratings = 0.0
        n[:] = 0.0
        for r in range(group.size):
            q, score = group[r], scores[r, c * _N_SCORES : (c + 1) * _N_SCORES]
            if q < 0 or (q != g and h >= 0 and q != h):
                continue
            of_difference = (score[_XE] - estimate * score[_XX]) ** 2
            distance += score[_NEARER] ** 2
            if q == g:
                n_g += 1
                total = 0.0
                for k in range(own.shape[1]):
                    count = own[r, k]
                    n[k] += count
                    self_same += count * count
                    total += count
                self_pairs += total * total
                ratings += total
                difference += of_difference
                agreement += (score[_OWN] - excess * score[_OWN_WEIGHT]) ** 2
            else:
                n_h += 1
                difference_h += of_difference
                agreement_h += (score[_OWN] - excess_h * score[_OWN_WEIGHT]) ** 2
        row[DISTINCT] = ratings * ratings - self_pairs
        row[DISTINCT_SAME] = sum_squares(n) - self_same
        f_g, f_h = n_g / max(n_g - 1, 1), n_h / max(n_h - 1, 1)
        row[DIFFERENCE_SQUARES] = f_g * difference + f_h * difference_h
        row[EXCESS_SQUARES] = f_g * agreement + f_h * agreement_h
        row[DISTANCE_SQUARES] = distance


@compiled()
def _finish_pairs(pairs, apart, group):  # type: ignore[no-untyped-def]
    """Sum squared scores of each pair of groups; return the squared error of the sum of their mean distances."""
    n_groups = apart.shape[1]
    total = 0.0
    for r in range(group.size):
        q = group[r]
        if q < 0:
            continue
        score = 0.0
        for h in range(n_groups):
            if h != q:
                low, high = min(q, h), max(q, h)
                pair = low * n_groups - low * (low + 1) // 2 + high - low - 1
                if pairs[pair, PAIR_ITEMS] > 0.0:
                    pairs[pair, PAIR_SQUARES] += apart[r, h] ** 2
                    score += apart[r, h] / pairs[pair, PAIR_ITEMS]
        total += score * score
    return total


@compiled()
def fill_complete(sums, pairs, total, same, by_rater, own, n_items, group, inside, outside):  # type: ignore[no-untyped-def]
    """Fill the rows of `fill_items`, with squared errors, if every rater with a group rated every item.

    same (R, R): likeness of the answers of two raters, summed over items. by_rater (R,): worth of the answers of each
    rater. own (R, K): answers of a rater. n_items: number of items.
    """
    n_groups = count_groups(group)
    n_raters, n_categories = own.shape
    near = np.zeros((n_raters, n_groups))
    apart = np.zeros((n_raters, n_groups))
    n, by_group, block = np.zeros(n_groups), np.zeros(n_groups), np.zeros((n_groups, n_groups))
    answers, self_same = np.zeros((n_groups, n_categories)), np.zeros(n_groups)
    for b in range(sums.shape[0]):
        codes = group[b]
        near[:] = 0.0
        n[:] = 0.0
        by_group[:] = 0.0
        block[:] = 0.0
        answers[:] = 0.0
        self_same[:] = 0.0
        for r in range(n_raters):
            q = codes[r]
            if q < 0:
                continue
            n[q] += 1
            by_group[q] += by_rater[r]
            for k in range(n_categories):
                answers[q, k] += own[r, k]
                self_same[q] += own[r, k] * own[r, k]
            for s in range(n_raters):
                if codes[s] >= 0:
                    near[r, codes[s]] += same[r, s]
            near[r, q] -= n_items
            for g in range(n_groups):
                block[q, g] += near[r, g]
        _add_complete_pairs(pairs[b], apart, near, codes, block, n, n_items)
        total[b] = _finish_pairs(pairs[b], apart, codes)
        for c in range(inside.size):
            g, h, row = inside[c], outside[c], sums[b, c]
            row[WORTH], row[RATINGS] = by_group[g], n[g] * n_items
            if n[g] > 1:
                agreement = block[g, g] / (n[g] * (n[g] - 1))
                row[AGREEMENT], row[PAIRABLE] = agreement, n_items
                row[DISAGREEMENT], row[PAIRABLE_RATINGS] = n[g] * (n_items - agreement), n[g] * n_items
                row[DISTINCT] = n[g] * (n[g] - 1) * float(n_items) ** 2
                row[DISTINCT_SAME] = sum_squares(answers[g]) - self_same[g]
            _compare_complete(row, codes, near, block, by_rater, by_group, n, n_items, g, h)


@compiled()
def _add_complete_pairs(pairs, apart, near, codes, block, n, n_items):  # type: ignore[no-untyped-def]
    pair = 0
    for g in range(n.size):
        for h in range(g + 1, n.size):
            if n[g] > 1 and n[h] > 1:
                cross = block[g, h] / (n[g] * n[h])
                within = block[g, g] / (n[g] * (n[g] - 1)) + block[h, h] / (n[h] * (n[h] - 1))
                pairs[pair, PAIR_DISTANCE] = 0.5 * within - cross
                pairs[pair, PAIR_BETWEEN] = n_items - cross
                pairs[pair, PAIR_ITEMS] = n_items
            pair += 1
    for r in range(codes.size):
        q = codes[r]
        for h in range(n.size):
            if q >= 0 and n[q] > 1 and n[h] > 1:
                apart[r, h] = (near[r, q] / (n[q] - 1) - near[r, h] / n[h]) / n[q]


@compiled()
def _compare_complete(row, codes, near, block, by_rater, by_group, n, n_items, g, h):  # type: ignore[no-untyped-def]
    """Add the sums over both groups of a comparison."""
    m_g, m_h, share_h, within_h, cross = n[g], 0.0, 0.0, 0.0, 0.0
    for q in range(n.size):
        if q != g and (h < 0 or q == h):
            m_h += n[q]
            share_h += by_group[q]
            cross += block[g, q]
            for p in range(n.size):
                if p != g and (h < 0 or p == h):
                    within_h += block[q, p]
    if m_g == 0.0 or m_h == 0.0:
        return
    weight = m_g * m_h / (m_g + m_h)
    row[WEIGHT] = weight * n_items
    row[DIFFERENCE] = weight * (by_group[g] / m_g - share_h / m_h)
    both = m_g > 1.0 and m_h > 1.0
    agreement = block[g, g] / (m_g * (m_g - 1.0)) if both else 0.0
    agreement_h = within_h / (m_h * (m_h - 1.0)) if both else 0.0
    difference = difference_h = excess = excess_h = distance = 0.0
    for r in range(codes.size):
        q = codes[r]
        if q < 0 or (q != g and h >= 0 and q != h):
            continue
        others = 0.0
        for p in range(n.size):
            if p != g and (h < 0 or p == h):
                others += near[r, p]
        if q == g:
            difference += (m_h / (m_g + m_h) * (by_rater[r] - by_group[g] / m_g)) ** 2
            if both:
                excess += (2.0 / m_g * (near[r, g] / (m_g - 1.0) - agreement)) ** 2
                distance += ((near[r, g] / (m_g - 1.0) - others / m_h) / m_g) ** 2
        else:
            difference_h += (m_g / (m_g + m_h) * (by_rater[r] - share_h / m_h)) ** 2
            if both:
                excess_h += (2.0 / m_h * (others / (m_h - 1.0) - agreement_h)) ** 2
                distance += ((others / (m_h - 1.0) - near[r, g] / m_g) / m_h) ** 2
    f_g, f_h = m_g / max(m_g - 1.0, 1.0), m_h / max(m_h - 1.0, 1.0)
    row[DIFFERENCE_SQUARES] = f_g * difference + f_h * difference_h
    if both:
        pooled = (block[g, g] + within_h + 2 * cross) / ((m_g + m_h) * (m_g + m_h - 1.0))
        row[DISTANCE] = 0.5 * (agreement + agreement_h) - cross / (m_g * m_h)
        row[DISTANCE_SQUARES] = distance
        row[BOTH] = n_items
        row[EXCESS], row[EXCESS_OTHER] = agreement - pooled, agreement_h - pooled
        row[EXCESS_SQUARES] = f_g * excess + f_h * excess_h


GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Step of the state of a generator in one draw."""


@compiled()
def shuffle_within_items(group, starts, seeds):  # type: ignore[no-untyped-def]
    """Exchange the groups of the ratings of each item, group (B, N) sorted by item, with one seed per replicate."""
    for b in range(group.shape[0]):
        state = seeds[b]
        for i in range(starts.size - 1):
            low = starts[i]
            for t in range(starts[i + 1] - 1, low, -1):
                # SplitMix64 (Steele, Lea and Flood 2014); the remainder's bias is below 2**-40.
                state += GOLDEN
                z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                s = low + np.int64((z ^ (z >> np.uint64(31))) % np.uint64(t - low + 1))
                group[b, t], group[b, s] = group[b, s], group[b, t]


@compiled()
def describe_assignments(result, starts, raters, group, inside, outside):  # type: ignore[no-untyped-def]
    """Add up ratings per rated item, inverses, squares and rated items of each side, result (B, C, 2, 4).

    A negative group of a comparison is all but the other one.
    """
    counts = np.zeros(count_groups(group))
    for b in range(group.shape[0]):
        for i in range(starts.size - 1):
            counts[:] = 0.0
            total = 0.0
            for t in range(starts[i], starts[i + 1]):
                if group[b, raters[t]] >= 0:
                    counts[group[b, raters[t]]] += 1.0
                    total += 1.0
            for c in range(inside.size):
                for side, g, h in ((0, inside[c], outside[c]), (1, outside[c], inside[c])):
                    m = counts[g] if g >= 0 else total - counts[h]
                    if m > 0.0:
                        row = result[b, c, side]
                        row[0] += m
                        row[1] += 1.0 / m
                        row[2] += m * m
                        row[3] += 1.0
