"""Compiled loops of the Gibbs sampler over the ratings of a cumulative probit model.

Ratings are sorted by inner group (`kernels.RatingArrays`). The location of a rating is a sum of a fixed part, and of a
column for each standard deviation of random effects.
"""

import math
from typing import Any

from dissensus.stats.kernels import compiled
from dissensus.stats.multilevel.kernels import DENSITY, SMALLEST, normal_upper_tail


@compiled()
def _probability(a: float, b: float) -> float:
    """Return the normal probability between `a` and `b`, without cancellation in either tail."""
    p = normal_upper_tail(a) - normal_upper_tail(b) if a > -b else normal_upper_tail(-b) - normal_upper_tail(-a)
    return float(max(p, SMALLEST))


@compiled()
def _locate(ratings: Any, fixed: Any, u: Any, v: Any, i: int, n: int) -> float:
    """Return the location of rating n, of inner group i."""
    _, _, profile, places, _, values, inner = ratings
    q = profile[n]
    x = fixed[q]
    for t in range(v.shape[1]):
        x += inner[q, t] * v[i, t]
    for s in range(places.shape[1]):
        x += values[q, s] * u[places[n, s]]
    return float(x)


@compiled()
def _bound(thresholds: Any, answer: int, location: float) -> tuple[float, float]:
    """Return the thresholds beside an answer, less a location."""
    a = thresholds[answer - 1] - location if answer > 0 else -math.inf
    b = thresholds[answer] - location if answer < thresholds.shape[0] else math.inf
    return a, b


# Coefficients of Wichura's algorithm, the highest power first: around the median, further out, and in the tail.
_CENTRE_TOP = (
    2509.0809287301226727,
    33430.575583588128105,
    67265.770927008700853,
    45921.953931549871457,
    13731.693765509461125,
    1971.5909503065514427,
    133.14166789178437745,
    3.387132872796366608,
)
_CENTRE_BOTTOM = (
    5226.495278852545925,
    28729.085735721942674,
    39307.89580009271061,
    21213.794301586595867,
    5394.1960214247511077,
    687.1870074920579083,
    42.313330701600911252,
    1.0,
)
_SHOULDER_TOP = (
    7.7454501427834140764e-4,
    0.0227238449892691845833,
    0.24178072517745061177,
    1.27045825245236838258,
    3.64784832476320460504,
    5.7694972214606914055,
    4.6303378461565452959,
    1.42343711074968357734,
)
_SHOULDER_BOTTOM = (
    1.05075007164441684324e-9,
    5.475938084995344946e-4,
    0.0151986665636164571966,
    0.14810397642748007459,
    0.68976733498510000455,
    1.6763848301838038494,
    2.05319162663775882187,
    1.0,
)
_TAIL_TOP = (
    2.01033439929228813265e-7,
    2.71155556874348757815e-5,
    0.0012426609473880784386,
    0.026532189526576123093,
    0.29656057182850489123,
    1.7848265399172913358,
    5.4637849111641143699,
    6.6579046435011037772,
)
_TAIL_BOTTOM = (
    2.04426310338993978564e-15,
    1.4215117583164458887e-7,
    1.8463183175100546818e-5,
    7.868691311456132591e-4,
    0.0148753612908506148525,
    0.13692988092273580531,
    0.59983220655588793769,
    1.0,
)


@compiled()
def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    """Return a polynomial at a point, by Horner's method; the coefficient of the highest power is the first."""
    value = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


@compiled()
def _lower_quantile(p: float) -> float:
    """Return the normal quantile of a probability of at most a half: Wichura's algorithm AS 241 (1988)."""
    q = p - 0.5
    if q > -0.425:
        r = 0.180625 - q * q
        return float(q * _polynomial(_CENTRE_TOP, r) / _polynomial(_CENTRE_BOTTOM, r))
    r = math.sqrt(-math.log(p))
    if r <= 5.0:
        r -= 1.6
        return float(-_polynomial(_SHOULDER_TOP, r) / _polynomial(_SHOULDER_BOTTOM, r))
    r -= 5.0
    return float(-_polynomial(_TAIL_TOP, r) / _polynomial(_TAIL_BOTTOM, r))


@compiled()
def draw_truncated(a: float, b: float, share: float) -> float:
    """Return the point of the normal distribution between `a` and `b` that has a share of it above, without overflow.

    `a` may be minus and `b` plus infinity.
    """
    if b < -a:
        # The interval lies rather below zero: take its mirror image.
        return -float(draw_above(-b, -a, share))
    return float(draw_above(a, b, share))


@compiled()
def draw_above(a: float, b: float, share: float) -> float:
    """Return a point between `a` and `b`, which is at least -a, with a share of the probability above."""
    top = normal_upper_tail(b)
    bottom = normal_upper_tail(a)
    p = top + share * (bottom - top)
    if p < SMALLEST:
        # Beyond the range of numbers the tail is exponential.
        return min(a - math.log(max(share, SMALLEST)) / a, b)
    x = -_lower_quantile(p) if p <= 0.5 else _lower_quantile(1 - p)
    return float(min(max(x, a), b))


@compiled()
def fill_latent_sums(
    ratings: Any,
    fixed: Any,
    u: Any,
    v: Any,
    thresholds: Any,
    shares: Any,
    by_profile: Any,
    by_outer: Any,
    by_inner: Any,
) -> None:
    """Draw the latent value of each rating between its thresholds, and fill the sums of these by covariate.

    `shares` (N,) are uniform numbers. Sums are by profile, outer effect and inner effect, shapes (M,), (outer effects,)
    and (inner groups, D).
    """
    start, answers, profile, places, _, values, inner = ratings
    by_profile[:] = 0.0
    by_outer[:] = 0.0
    by_inner[:] = 0.0
    for i in range(start.shape[0] - 1):
        for n in range(start[i], start[i + 1]):
            q = profile[n]
            x = _locate(ratings, fixed, u, v, i, n)
            a, b = _bound(thresholds, answers[n], x)
            x += draw_truncated(a, b, shares[n])
            by_profile[q] += x
            for t in range(v.shape[1]):
                by_inner[i, t] += inner[q, t] * x
            for s in range(places.shape[1]):
                by_outer[places[n, s]] += values[q, s] * x


@compiled()
def fill_scale_derivatives(
    ratings: Any,
    fixed: Any,
    u: Any,
    v: Any,
    slot_columns: Any,
    inner_columns: Any,
    thresholds: Any,
    scales: Any,
    columns: Any,
    gradient: Any,
    information: Any,
) -> float:
    """Fill gradient and information by thresholds and by the scales of the columns; return the log-likelihood.

    The location of a rating is its fixed part plus the sum of its columns times `scales` (C,); an effect belongs to the
    column of its slot. `columns` (C,) is room for those of one rating. Shapes: `gradient` (T + C,), `information`
    (T + C, T + C), the lower triangle.
    """
    start, answers, profile, places, _, values, inner = ratings
    gradient[:] = 0.0
    information[:] = 0.0
    last = thresholds.shape[0]
    total = 0.0
    for i in range(start.shape[0] - 1):
        for n in range(start[i], start[i + 1]):
            q = profile[n]
            columns[:] = 0.0
            for t in range(v.shape[1]):
                columns[inner_columns[t]] += inner[q, t] * v[i, t]
            for s in range(places.shape[1]):
                columns[slot_columns[s]] += values[q, s] * u[places[n, s]]
            x = fixed[q]
            for c in range(columns.shape[0]):
                x += scales[c] * columns[c]
            k = answers[n]
            a, b = _bound(thresholds, k, x)
            p = _probability(a, b)
            total += math.log(p)
            a1 = a2 = b1 = b2 = 0.0
            if k > 0:
                a1 = -DENSITY * math.exp(-0.5 * a * a) / p
                a2 = -a * a1 - a1 * a1
            if k < last:
                b1 = DENSITY * math.exp(-0.5 * b * b) / p
                b2 = -b * b1 - b1 * b1
            cross = -a1 * b1
            slope = -(a1 + b1)
            weight = -(a2 + 2 * cross + b2)
            if k > 0:
                gradient[k - 1] += a1
                information[k - 1, k - 1] -= a2
            if k < last:
                gradient[k] += b1
                information[k, k] -= b2
            if 0 < k < last:
                information[k, k - 1] -= cross
            for c in range(columns.shape[0]):
                y = columns[c]
                row = last + c
                gradient[row] += slope * y
                if k > 0:
                    information[row, k - 1] += (a2 + cross) * y
                if k < last:
                    information[row, k] += (cross + b2) * y
                for d in range(c + 1):
                    information[row, last + d] += weight * y * columns[d]
    return total


@compiled()
def fill_products(ratings: Any, covariates: Any, outer: Any, cross: Any, inner_blocks: Any) -> None:
    """Fill the sums of products of covariates: of outer effects and `covariates`, with inner effects, and of these.

    Shapes, with O outer effects and P covariates by profile: `outer` (O + P, O + P), the lower triangle; `cross` (inner
    groups, D, O + P); `inner_blocks` (inner groups, D, D).
    """
    start, _, profile, places, _, values, inner = ratings
    n_covariates = covariates.shape[1]
    n_outer = outer.shape[0] - n_covariates
    for i in range(start.shape[0] - 1):
        for n in range(start[i], start[i + 1]):
            q = profile[n]
            for t in range(inner.shape[1]):
                x = inner[q, t]
                for r in range(inner.shape[1]):
                    inner_blocks[i, t, r] += x * inner[q, r]
                for s in range(places.shape[1]):
                    cross[i, t, places[n, s]] += x * values[q, s]
                for j in range(n_covariates):
                    cross[i, t, n_outer + j] += x * covariates[q, j]
            for s in range(places.shape[1]):
                x = values[q, s]
                place = places[n, s]
                for r in range(places.shape[1]):
                    if places[n, r] <= place:
                        outer[place, places[n, r]] += x * values[q, r]
                for j in range(n_covariates):
                    outer[n_outer + j, place] += x * covariates[q, j]
            for j in range(n_covariates):
                x = covariates[q, j]
                for r in range(j + 1):
                    outer[n_outer + j, n_outer + r] += x * covariates[q, r]


@compiled()
def fill_group_derivatives(
    ratings: Any,
    fixed: Any,
    u: Any,
    v: Any,
    thresholds: Any,
    first: int,
    offset: int,
    log_likelihood: Any,
    gradient: Any,
    information: Any,
) -> None:
    """Fill log-likelihood, gradient and information by the effects of each group, all others given.

    Groups are those of an outer term, whose first slot is `first` and whose first effect is `offset`, or the inner ones
    if `first` is negative. Shapes: (groups,), (groups, D) and (groups, D, D), the last symmetric.
    """
    start, answers, profile, places, _, values, inner = ratings
    log_likelihood[:] = 0.0
    gradient[:] = 0.0
    information[:] = 0.0
    last = thresholds.shape[0]
    size = gradient.shape[1]
    for i in range(start.shape[0] - 1):
        for n in range(start[i], start[i + 1]):
            q = profile[n]
            x = _locate(ratings, fixed, u, v, i, n)
            k = answers[n]
            a, b = _bound(thresholds, k, x)
            p = _probability(a, b)
            slope = weight = 0.0
            if k > 0:
                f = DENSITY * math.exp(-0.5 * a * a) / p
                slope += f
                weight -= a * f
            if k < last:
                f = DENSITY * math.exp(-0.5 * b * b) / p
                slope -= f
                weight += b * f
            weight += slope * slope
            group = i if first < 0 else (places[n, first] - offset) // size
            log_likelihood[group] += math.log(p)
            for t in range(size):
                y = inner[q, t] if first < 0 else values[q, first + t]
                gradient[group, t] += slope * y
                for r in range(size):
                    information[group, t, r] += weight * y * (inner[q, r] if first < 0 else values[q, first + r])
