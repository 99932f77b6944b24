"""Compiled loop for alpha, XRR and superiority of ordered answers, for many replicates of many groups.

The difference function depends on the answers of the compared groups at the ordinal level, so each comparison has the
points of its own answers. The loop is in this file because numba's cache only notices changes in the file of the kernel
itself.
"""

import numpy as np

from dissensus.stats.kernels import compiled

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
    n_raters, n_categories = group.shape[1], own.shape[2]
    mine, others, ridit = np.zeros(n_categories), np.zeros(n_categories), np.zeros(n_categories)
    n, total, square = np.zeros(n_raters), np.zeros(n_raters), np.zeros(n_raters)
    xe, xx = np.zeros(n_raters), np.zeros(n_raters)
    for b in range(sums.shape[0]):
        group_b = group[b % group.shape[0]]
        rater_weight_b = rater_weight[b % rater_weight.shape[0]]
        item_weight_b = item_weight[b % item_weight.shape[0]]
        for c in range(inside.size):
            g, h, row, points = inside[c], outside[c], sums[b, c], own[b, c]
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
                m_g = m_h = squares = 0.0
                mine[:] = 0.0
                others[:] = 0.0
                for t in range(low, high):
                    side, copies = _side(group_b[raters[t]], g, h), rater_weight_b[raters[t]]
                    if side == 0:
                        mine[answers[t]] += copies
                        m_g += copies
                        squares += copies * copies
                    elif side == 1:
                        others[answers[t]] += copies
                        m_h += copies
                if m_g * m_g > squares:
                    first, second = _moments(mine, points)
                    row[WITHIN] += w * m_g * 2.0 * (m_g * second - first * first) / (m_g * m_g - squares)
                    for t in range(low, high if distinct else low):
                        r = raters[t]
                        if _side(group_b[r], g, h) == 0:
                            point, copies = points[answers[t]], w * rater_weight_b[r]
                            n[r] += copies
                            total[r] += copies * point
                            square[r] += copies * point * point
                if m_g > 0.0 and m_h > 0.0:
                    _add_both(row, mine, others, ridit, shared[b, c], m_g, m_h, w)
                    if errors:
                        x = m_g / (m_g + m_h)
                        for t in range(low, high):
                            r = raters[t]
                            side = _side(group_b[r], g, h)
                            if side >= 0:
                                z = 1.0 - x if side == 0 else -x
                                xe[r] += z * (ridit[answers[t]] - 0.5)
                                xx[r] += z * z
            for r in range(n_raters):
                row[SELF_PAIRS] += n[r] * n[r]
                row[SELF_SPREAD] += 2.0 * (n[r] * square[r] - total[r] * total[r])
            if errors:
                row[SUPERIORITY_SQUARES] = _squared_error(row, xe, xx, group_b, g, h)


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
