"""Compiled loop for alpha, XRR and superiority of ordered answers, for many replicates of many groups.

The difference function depends on the answers of the compared groups at the ordinal level, so each comparison has the
points of its own answers.
"""

import numpy as np

from dissensus.stats.kernels import compiled, count_groups

# Group, items with two distinct raters: m × disagreement; over ratings, squared numbers of ratings of one rater, and
# their squared differences.
WITHIN, SELF_PAIRS, SELF_SPREAD = 0, 1, 2
# Both groups: (m_g + m_h) × disagreement.
ACROSS = 3
# Both groups, weights m_g m_h / m: difference of the mean ridits, weight, squared standard error.
SUPERIORITY, WEIGHT, SUPERIORITY_SQUARES = 4, 5, 6
N_SUMS = 7


@compiled(error_model="numpy")
def fill_ordered(  # type: ignore[no-untyped-def]
    sums, starts, raters, answers, group, rater_weight, item_weight, inside, outside, own, shared, distinct, errors
):
    """Fill one row of sums for each comparison of each replicate; arguments as in `fill_items`.

    own, shared (B, C, K): points of the answers within the group, and in both groups, whose squared difference is the
    disagreement. distinct: whether to add up ratings of one rater. errors: whether to add up standard errors.
    sums (B, C, N_SUMS).
    """
    n_raters, n_categories, n_comparisons = group.shape[1], own.shape[2], inside.size
    n_groups = count_groups(group)
    # The last row counts all groups.
    counts, squares = np.zeros((n_groups + 1, n_categories)), np.zeros(n_groups + 1)
    mine, others, ridit = np.zeros((3, n_categories))
    n, total, square = np.zeros((3, n_comparisons if distinct else 0, n_raters))
    xe, xx = np.zeros((2, n_comparisons if errors else 0, n_raters))
    for b in range(sums.shape[0]):
        group_b = group[b % group.shape[0]]
        rater_weight_b = rater_weight[b % rater_weight.shape[0]]
        item_weight_b = item_weight[b % item_weight.shape[0]]
        n[:] = 0.0
        total[:] = 0.0
        square[:] = 0.0
        xe[:] = 0.0
        xx[:] = 0.0
        for i in range(starts.size - 1):
            w = item_weight_b[i]
            if w == 0:
                continue
            low, high = starts[i], starts[i + 1]
            _count(counts, squares, low, high, raters, answers, group_b, rater_weight_b)
            for c in range(n_comparisons):
                g, h, row, points = inside[c], outside[c], sums[b, c], own[b, c]
                m_g, squared = _take(mine, counts, squares, g, h)
                m_h, _ = _take(others, counts, squares, h, g) if g != h else _clear(others)
                if m_g * m_g > squared:
                    first, second = _moments(mine, points)
                    row[WITHIN] += w * m_g * 2.0 * (m_g * second - first * first) / (m_g * m_g - squared)
                    for t in range(low, high if distinct else low):
                        r = raters[t]
                        if _side(group_b[r], g, h) == 0:
                            point, copies = points[answers[t]], w * rater_weight_b[r]
                            n[c, r] += copies
                            total[c, r] += copies * point
                            square[c, r] += copies * point * point
                if m_g > 0.0 and m_h > 0.0:
                    _add_both(row, mine, others, ridit, shared[b, c], m_g, m_h, w)
                    if errors:
                        x = m_g / (m_g + m_h)
                        for t in range(low, high):
                            r = raters[t]
                            side = _side(group_b[r], g, h)
                            if side >= 0:
                                z = 1.0 - x if side == 0 else -x
                                xe[c, r] += z * (ridit[answers[t]] - 0.5)
                                xx[c, r] += z * z
        for c in range(n_comparisons):
            row = sums[b, c]
            for r in range(n_raters if distinct else 0):
                row[SELF_PAIRS] += n[c, r] * n[c, r]
                row[SELF_SPREAD] += 2.0 * (n[c, r] * square[c, r] - total[c, r] * total[c, r])
            if errors:
                row[SUPERIORITY_SQUARES] = _squared_error(row, xe[c], xx[c], group_b, inside[c], outside[c])


@compiled()
def _count(counts, squares, low, high, raters, answers, group, rater_weight):  # type: ignore[no-untyped-def]
    """Count the answers of each group, the last being all groups, and the squared weights of its raters."""
    counts[:] = 0.0
    squares[:] = 0.0
    for t in range(low, high):
        q, copies = group[raters[t]], rater_weight[raters[t]]
        if q >= 0:
            counts[q, answers[t]] += copies
            counts[-1, answers[t]] += copies
            squares[q] += copies * copies
            squares[-1] += copies * copies


@compiled()
def _take(side, counts, squares, g, h):  # type: ignore[no-untyped-def]
    """Copy the counts of a group, all but the other one if negative; return its ratings and squared weights."""
    m = 0.0
    for k in range(side.size):
        side[k] = counts[g, k] if g >= 0 else counts[-1, k] - (counts[h, k] if h >= 0 else 0.0)
        m += side[k]
    return m, squares[g] if g >= 0 else squares[-1] - (squares[h] if h >= 0 else 0.0)


@compiled()
def _clear(side):  # type: ignore[no-untyped-def]
    """Set the counts of a group that is compared with itself to zero."""
    side[:] = 0.0
    return 0.0, 0.0


@compiled()
def _side(q, g, h):  # type: ignore[no-untyped-def]
    """Return 0 for the group, 1 for the group compared with, else -1; a negative g or h is all but the other one."""
    if q < 0:
        return -1
    if q == g or (g < 0 and q != h):
        return 0
    return 1 if q == h or h < 0 else -1


@compiled(error_model="numpy")
def _moments(counts, points):  # type: ignore[no-untyped-def]
    first = second = 0.0
    for k in range(counts.size):
        first += counts[k] * points[k]
        second += counts[k] * points[k] * points[k]
    return first, second


@compiled(error_model="numpy")
def _add_both(row, mine, others, ridit, points, m_g, m_h, w):  # type: ignore[no-untyped-def]
    """Add an item that both groups rated, and set the ridits of its answers: shares of both groups below them."""
    first, second = _moments(mine, points)
    first_h, second_h = _moments(others, points)
    both = m_g + m_h
    row[ACROSS] += w * both * (second / m_g + second_h / m_h - 2.0 * first * first_h / (m_g * m_h))
    below = difference = 0.0
    for k in range(mine.size):
        ridit[k] = (below + 0.5 * (mine[k] + others[k])) / both
        below += mine[k] + others[k]
        difference += ridit[k] * (mine[k] / m_g - others[k] / m_h)
    row[SUPERIORITY] += w * m_g * m_h / both * difference
    row[WEIGHT] += w * m_g * m_h / both


@compiled(error_model="numpy")
def _squared_error(row, xe, xx, group, g, h):  # type: ignore[no-untyped-def]
    """Return the sum of squared scores of raters, times n/(n - 1) in each group."""
    estimate = row[SUPERIORITY] / row[WEIGHT] if row[WEIGHT] > 0.0 else 0.0
    n_g = n_h = 0
    inner = outer = 0.0
    for r in range(group.size):
        score = (xe[r] - estimate * xx[r]) ** 2
        side = _side(group[r], g, h)
        if side == 0:
            n_g += 1
            inner += score
        elif side == 1:
            n_h += 1
            outer += score
    return n_g / max(n_g - 1, 1) * inner + n_h / max(n_h - 1, 1) * outer
