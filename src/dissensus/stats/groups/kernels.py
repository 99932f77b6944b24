"""Compiled loops for statistics that are unbiased in the number of ratings, for many replicates of many groups.

`fill_items` walks the ratings of each item, for any design and for weighted raters and items. `fill_complete` needs
only the agreement of every two raters, for designs in which every rater rated every item. `shuffle_within_items`
exchanges the groups of the ratings of each item. All are in this file because numba's cache only notices changes in the
file of the kernel itself.
"""

import numpy as np

from dissensus.stats.kernels import compiled

# Group: ratings with the answer, all ratings.
GIVEN, RATINGS = 0, 1
# Both groups, weights m_g m_h / m: difference of the shares of the answer, weight, squared standard error.
DIFFERENCE, WEIGHT, DIFFERENCE_SQUARES = 2, 3, 4
# Group, items with two distinct raters: agreement, their number.
AGREEMENT, PAIRABLE = 5, 6
# Group: m × disagreement, m, pairs of ratings of distinct raters, and those with the same answer.
DISAGREEMENT, PAIRABLE_RATINGS, DISTINCT, DISTINCT_SAME = 7, 8, 9, 10
# Both groups, items with two distinct raters of each: distance, its squared standard error, number of items.
DISTANCE, DISTANCE_SQUARES, BOTH = 11, 12, 13
# The same items: agreement of each group less that of both together, and squared standard error of the difference.
EXCESS, EXCESS_OTHER, EXCESS_SQUARES = 14, 15, 16
N_SUMS = 17
# Of each pair of groups: distance, disagreement between them, items with two distinct raters of each, squared error.
PAIR_DISTANCE, PAIR_BETWEEN, PAIR_ITEMS, PAIR_SQUARES = 0, 1, 2, 3
N_PAIR_SUMS = 4

# Of an item, for the scores of its raters: share of the group, share of the answer, rated by both; two raters of each,
# ratings of each group, agreement of both together.
_X, _Y, _RATED, _PAIRED, _M, _M_OTHER, _POOLED = 0, 1, 2, 3, 4, 5, 6
# Scores of a rater: x̃ e, x̃², excess agreement with the own group, its weight, excess over that with the other group.
_XE, _XX, _OWN, _OWN_WEIGHT, _NEARER = 0, 1, 2, 3, 4


@compiled()
def fill_items(  # type: ignore[no-untyped-def]
    sums, pairs, total, starts, raters, answers, group, rater_weight, item_weight, inside, outside, answer, errors
):
    """Fill one row of sums for each comparison, and for each pair of groups, of each replicate.

    sums (B, C, N_SUMS); pairs (B, P, N_PAIR_SUMS); total (B,): squared error of the sum of all pair distances. group (B
    or 1, R), rater_weight (B or 1, R) and item_weight (B or 1, I): an array of one row is used for all replicates.
    inside, outside (C,): a negative outside means all other groups. answer: the answer whose share is compared. errors:
    whether to sum squared errors, for weights of one.
    """
    n_groups = group.max() + 1
    n_categories = answers.max() + 1 if answers.size else 1
    n_raters, n_comparisons = group.shape[1], inside.size
    counts = np.zeros((n_groups + 1, n_categories))
    m, squares, agreement = np.zeros(n_groups + 1), np.zeros(n_groups + 1), np.zeros(n_groups + 1)
    rest, item = np.zeros(n_categories), np.zeros((n_comparisons, 7))
    scores, own = np.zeros((n_raters, n_comparisons, 5)), np.zeros((n_raters, n_categories))
    apart = np.zeros((n_raters, n_groups))
    for b in range(sums.shape[0]):
        group_b = group[b % group.shape[0]]
        rater_weight_b = rater_weight[b % rater_weight.shape[0]]
        item_weight_b = item_weight[b % item_weight.shape[0]]
        scores[:] = 0.0
        own[:] = 0.0
        apart[:] = 0.0
        for i in range(starts.size - 1):
            w = item_weight_b[i]
            if w == 0:
                continue
            _count_item(counts, squares, starts[i], starts[i + 1], raters, answers, group_b, rater_weight_b)
            _agree(agreement, m, counts, squares)
            for c in range(n_comparisons):
                _add_item(sums[b, c], item[c], rest, counts, m, squares, agreement, inside[c], outside[c], answer, w)
            _add_pairs(pairs[b], counts, m, squares, agreement, w)
            for t in range(starts[i], starts[i + 1]):
                r, y = raters[t], answers[t]
                q = group_b[r]
                if q < 0:
                    continue
                pairable = m[q] * m[q] > squares[q]
                if pairable:
                    own[r, y] += w
                if errors:
                    _score(scores[r], item, counts, q, y, inside, outside, answer)
                    if pairable:
                        _score_pairs(apart[r], counts, m, q, y)
        _finish(sums[b], scores, own, group_b, rater_weight_b, inside, outside)
        total[b] = _finish_pairs(pairs[b], apart, group_b)


@compiled()
def _count_item(counts, squares, low, high, raters, answers, group, rater_weight):  # type: ignore[no-untyped-def]
    """Count the answers of each group, the last being all groups, and the squared weights of its raters."""
    counts[:] = 0.0
    squares[:] = 0.0
    for t in range(low, high):
        g = group[raters[t]]
        if g >= 0:
            w = rater_weight[raters[t]]
            counts[g, answers[t]] += w
            squares[g] += w * w
            counts[-1, answers[t]] += w
            squares[-1] += w * w


@compiled()
def _agree(agreement, m, counts, squares):  # type: ignore[no-untyped-def]
    """Compute the number of ratings and the agreement of distinct raters of each group."""
    for g in range(m.size):
        total = same = 0.0
        for k in range(counts.shape[1]):
            total += counts[g, k]
            same += counts[g, k] * counts[g, k]
        m[g] = total
        pairs = total * total - squares[g]
        agreement[g] = 1.0 - (total * total - same) / pairs if pairs > 0.0 else 0.0


@compiled()
def _add_item(row, item, rest, counts, m, squares, agreement, g, h, answer, w):  # type: ignore[no-untyped-def]
    """Add an item to a comparison, and store what the scores of its raters need; `rest` is scratch."""
    given = counts[g, answer] if answer < counts.shape[1] else 0.0
    m_g, m_h, square_h, same, cross, pooled = m[g], 0.0, 0.0, 0.0, 0.0, 0.0
    row[GIVEN] += w * given
    row[RATINGS] += w * m_g
    pairable = m_g * m_g > squares[g]
    if pairable:
        row[AGREEMENT] += w * agreement[g]
        row[PAIRABLE] += w
        row[DISAGREEMENT] += w * m_g * (1.0 - agreement[g])
        row[PAIRABLE_RATINGS] += w * m_g
    for k in range(counts.shape[1]):
        other = counts[h, k] if h >= 0 else counts[-1, k] - counts[g, k]
        rest[k] = other
        m_h += other
        same += other * other
        cross += counts[g, k] * other
        pooled += (counts[g, k] + other) ** 2
    square_h = squares[h] if h >= 0 else squares[-1] - squares[g]
    pairs_h, both = m_h * m_h - square_h, m_g + m_h
    item[:] = 0.0
    if m_g > 0.0 and m_h > 0.0:
        given_h = rest[answer] if answer < counts.shape[1] else 0.0
        weight = m_g * m_h / both
        row[DIFFERENCE] += w * weight * (given / m_g - given_h / m_h)
        row[WEIGHT] += w * weight
        item[_X], item[_Y], item[_RATED] = m_g / both, (given + given_h) / both, 1.0
    if pairable and pairs_h > 0.0:
        agreement_h = 1.0 - (m_h * m_h - same) / pairs_h
        pooled = 1.0 - (both * both - pooled) / (both * both - squares[g] - square_h)
        row[DISTANCE] += w * (0.5 * agreement[g] + 0.5 * agreement_h - cross / (m_g * m_h))
        row[EXCESS] += w * (agreement[g] - pooled)
        row[EXCESS_OTHER] += w * (agreement_h - pooled)
        row[BOTH] += w
        item[_PAIRED], item[_M], item[_M_OTHER], item[_POOLED] = 1.0, m_g, m_h, pooled


@compiled()
def _add_pairs(pairs, counts, m, squares, agreement, w):  # type: ignore[no-untyped-def]
    """Add an item to each pair of groups, in the order of the upper triangle."""
    pair = 0
    n_groups = m.size - 1
    for g in range(n_groups):
        if m[g] * m[g] <= squares[g]:
            pair += n_groups - 1 - g
            continue
        for h in range(g + 1, n_groups):
            if m[h] * m[h] > squares[h]:
                cross = 0.0
                for k in range(counts.shape[1]):
                    cross += counts[g, k] * counts[h, k]
                cross /= m[g] * m[h]
                pairs[pair, PAIR_DISTANCE] += w * (0.5 * agreement[g] + 0.5 * agreement[h] - cross)
                pairs[pair, PAIR_BETWEEN] += w * (1.0 - cross)
                pairs[pair, PAIR_ITEMS] += w
            pair += 1


@compiled()
def _score(scores, item, counts, q, y, inside, outside, answer):  # type: ignore[no-untyped-def]
    """Add a rating to the scores of its rater."""
    for c in range(inside.size):
        g, h = inside[c], outside[c]
        if q != g and h >= 0 and q != h:
            continue
        if item[c, _RATED] > 0.0:
            x = (1.0 if q == g else 0.0) - item[c, _X]
            scores[c, _XE] += x * ((1.0 if y == answer else 0.0) - item[c, _Y])
            scores[c, _XX] += x * x
        if item[c, _PAIRED] > 0.0:
            same = counts[g, y]
            other = counts[h, y] if h >= 0 else counts[-1, y] - same
            m, m_other = item[c, _M], item[c, _M_OTHER]
            if q != g:
                same, other, m, m_other = other, same, m_other, m
            near = (same - 1.0) / (m - 1.0)
            scores[c, _OWN] += 2.0 / m * (near - item[c, _POOLED])
            scores[c, _OWN_WEIGHT] += 2.0 / m
            scores[c, _NEARER] += (near - other / m_other) / m


@compiled()
def _score_pairs(apart, counts, m, q, y):  # type: ignore[no-untyped-def]
    """Add a rating to the excess of agreement with the own group over that with each other group."""
    near = (counts[q, y] - 1.0) / (m[q] - 1.0)
    for h in range(apart.size):
        if h != q and m[h] > 1.0:
            apart[h] += (near - counts[h, y] / m[h]) / m[q]


@compiled()
def _finish(sums, scores, own, group, rater_weight, inside, outside):  # type: ignore[no-untyped-def]
    """Sum squared scores, and the pairs of ratings of one rater, over raters."""
    n = np.zeros(own.shape[1])
    for c in range(inside.size):
        g, h, row = inside[c], outside[c], sums[c]
        estimate = row[DIFFERENCE] / row[WEIGHT] if row[WEIGHT] > 0.0 else 0.0
        excess, excess_h = row[EXCESS] / max(row[BOTH], 1.0), row[EXCESS_OTHER] / max(row[BOTH], 1.0)
        n_g = n_h = 0
        difference = difference_h = agreement = agreement_h = distance = 0.0
        self_same = self_pairs = 0.0
        n[:] = 0.0
        for r in range(group.size):
            q, score = group[r], scores[r, c]
            if q < 0 or (q != g and h >= 0 and q != h):
                continue
            of_difference = (score[_XE] - estimate * score[_XX]) ** 2
            distance += score[_NEARER] ** 2
            if q == g:
                n_g += 1
                total = 0.0
                for k in range(own.shape[1]):
                    count = rater_weight[r] * own[r, k]
                    n[k] += count
                    self_same += count * count
                    total += count
                self_pairs += total * total
                difference += of_difference
                agreement += (score[_OWN] - excess * score[_OWN_WEIGHT]) ** 2
            else:
                n_h += 1
                difference_h += of_difference
                agreement_h += (score[_OWN] - excess_h * score[_OWN_WEIGHT]) ** 2
        row[DISTINCT] = n.sum() ** 2 - self_pairs
        row[DISTINCT_SAME] = (n * n).sum() - self_same
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
def fill_complete(sums, pairs, total, same, given, own, n_items, group, inside, outside):  # type: ignore[no-untyped-def]
    """Fill the rows of `fill_items`, with squared errors, if every rater with a group rated every item.

    same (R, R): number of items on which two raters gave the same answer. given (R,): times that a rater gave the
    compared answer. own (R, K): answers of a rater. n_items: number of items.
    """
    n_groups = group.max() + 1
    n_raters, n_categories = own.shape
    near = np.zeros((n_raters, n_groups))
    apart = np.zeros((n_raters, n_groups))
    n, given_by, block = np.zeros(n_groups), np.zeros(n_groups), np.zeros((n_groups, n_groups))
    answers, self_same = np.zeros((n_groups, n_categories)), np.zeros(n_groups)
    for b in range(sums.shape[0]):
        codes = group[b]
        near[:] = 0.0
        n[:] = 0.0
        given_by[:] = 0.0
        block[:] = 0.0
        answers[:] = 0.0
        self_same[:] = 0.0
        for r in range(n_raters):
            q = codes[r]
            if q < 0:
                continue
            n[q] += 1
            given_by[q] += given[r]
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
            row[GIVEN], row[RATINGS] = given_by[g], n[g] * n_items
            if n[g] > 1:
                agreement = block[g, g] / (n[g] * (n[g] - 1))
                row[AGREEMENT], row[PAIRABLE] = agreement, n_items
                row[DISAGREEMENT], row[PAIRABLE_RATINGS] = n[g] * (n_items - agreement), n[g] * n_items
                row[DISTINCT] = n[g] * (n[g] - 1) * float(n_items) ** 2
                row[DISTINCT_SAME] = (answers[g] * answers[g]).sum() - self_same[g]
            _compare_complete(row, codes, near, block, given, given_by, n, n_items, g, h)


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
def _compare_complete(row, codes, near, block, given, given_by, n, n_items, g, h):  # type: ignore[no-untyped-def]
    """Add the sums over both groups of a comparison."""
    m_g, m_h, given_h, within_h, cross = n[g], 0.0, 0.0, 0.0, 0.0
    for q in range(n.size):
        if q != g and (h < 0 or q == h):
            m_h += n[q]
            given_h += given_by[q]
            cross += block[g, q]
            for p in range(n.size):
                if p != g and (h < 0 or p == h):
                    within_h += block[q, p]
    if m_g == 0.0 or m_h == 0.0:
        return
    weight = m_g * m_h / (m_g + m_h)
    row[WEIGHT] = weight * n_items
    row[DIFFERENCE] = weight * (given_by[g] / m_g - given_h / m_h)
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
            difference += (m_h / (m_g + m_h) * (given[r] - given_by[g] / m_g)) ** 2
            if both:
                excess += (2.0 / m_g * (near[r, g] / (m_g - 1.0) - agreement)) ** 2
                distance += ((near[r, g] / (m_g - 1.0) - others / m_h) / m_g) ** 2
        else:
            difference_h += (m_g / (m_g + m_h) * (given[r] - given_h / m_h)) ** 2
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


@compiled()
def shuffle_within_items(group, starts, seeds):  # type: ignore[no-untyped-def]
    """Exchange the groups of the ratings of each item, group (B, N) sorted by item, with one seed per replicate."""
    for b in range(group.shape[0]):
        state = seeds[b]
        for i in range(starts.size - 1):
            low = starts[i]
            for t in range(starts[i + 1] - 1, low, -1):
                # SplitMix64 (Steele, Lea and Flood 2014); the remainder's bias is below 2**-40.
                state += np.uint64(0x9E3779B97F4A7C15)
                z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                s = low + np.int64((z ^ (z >> np.uint64(31))) % np.uint64(t - low + 1))
                group[b, t], group[b, s] = group[b, s], group[b, t]
