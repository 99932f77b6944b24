"""Compiled loops over the ratings of a multilevel model of ordered answers.

A rating falls into category k if a latent variable with location η lies between two thresholds:

    P(y = k) = F(b − η) − F(a − η),   a = m + d[k−1] exp(s),   b = m + d[k] exp(s)

where m is the centre of the thresholds, d are their distances from it, and s is the logarithm of a rater's width, zero
unless the model has widths. η and s are the two predictors of a rating. Both are sums of a fixed part and of
coefficients times random effects. Random effects of one grouping factor, the inner one (mostly items), are eliminated
item by item; the others (mostly raters) are the outer ones, and are solved for together.

Ratings are sorted by inner group. Coefficients of random effects are the same for all ratings of a profile.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.stats.kernels import compiled
from dissensus.stats.result import FloatArray

PROBIT, LOGIT = 0, 1
LOCATION, WIDTH = 0, 1

SMALLEST = 1e-300
"""Least probability of an answer."""

DENSITY = 1 / math.sqrt(2 * math.pi)
"""Normal density at 0."""

_SMALLEST_PRODUCT = 1e-8
_ROOT_HALF = math.sqrt(0.5)


class RatingArrays(NamedTuple):
    """Ratings, sorted by inner group, and the coefficients of their random effects.

    Ratings of inner group i are `start[i]` to `start[i + 1]`. A slot is an outer random effect of a rating. Shapes,
    with M profiles, S slots and D inner effects: `places` (N, S), the outer effect in each slot; `kinds` (S,), the
    predictor of each slot; `values` (M, S) and `inner` (M, D), coefficients of the outer and inner effects.
    """

    start: npt.NDArray[np.int64]
    answers: npt.NDArray[np.int8]
    profile: npt.NDArray[np.int32]
    places: npt.NDArray[np.int32]
    kinds: npt.NDArray[np.int64]
    values: FloatArray
    inner: FloatArray


class Predictors(NamedTuple):
    """Predictors and thresholds at which the likelihood is taken.

    `location` (N,) and `width` (N,), the logarithm, empty if the model has no widths; `distances` (thresholds,) of the
    thresholds from their centre.
    """

    location: FloatArray
    width: FloatArray
    centre: float
    distances: FloatArray
    link: int


@compiled()
def _density(link: int, x: float) -> tuple[float, float, float]:
    """Return density of the link's distribution at `x`, and its first two derivatives."""
    if link == 0:
        f = DENSITY * math.exp(-0.5 * x * x)
        return f, -x * f, (x * x - 1) * f
    e = math.exp(-abs(x))
    f = e / (1 + e) ** 2
    odd = (e - 1) / (1 + e) if x > 0 else (1 - e) / (1 + e)
    return f, f * odd, f * (odd * odd - 2 * f)


@compiled()
def normal_upper_tail(x: float) -> float:
    """Return the normal probability above `x`."""
    return 0.5 * math.erfc(x * _ROOT_HALF)


@compiled()
def _upper_tail(link: int, x: float) -> float:
    """Return the probability above `x`."""
    if link == 0:
        return float(normal_upper_tail(x))
    if x > 0:
        e = math.exp(-x)
        return e / (1 + e)
    return 1 / (1 + math.exp(x))


@compiled()
def _probability(link: int, a: float, b: float, has_lower: bool, has_upper: bool) -> float:
    """Return the probability between `a` and `b`, without cancellation in either tail."""
    if has_lower and has_upper:
        p = _upper_tail(link, a) - _upper_tail(link, b) if a > 0 else _upper_tail(link, -b) - _upper_tail(link, -a)
    elif has_upper:
        p = _upper_tail(link, -b)
    else:
        p = _upper_tail(link, a)
    return float(max(p, SMALLEST))


@compiled()
def _boundaries(
    answer: int, location: float, width: float, centre: float, distances: Any
) -> tuple[float, float, float, float, float, bool, bool]:
    """Return a and b of a rating, their distances from the centre, the width, and whether a and b are finite."""
    scale = math.exp(width) if width != 0.0 else 1.0
    has_a, has_b = answer > 0, answer < distances.shape[0]
    da = distances[answer - 1] * scale if has_a else 0.0
    db = distances[answer] * scale if has_b else 0.0
    return centre + da - location, centre + db - location, da, db, scale, has_a, has_b


@compiled()
def _bound_rating(answers: Any, point: Predictors, n: int) -> Any:
    """Return the `_boundaries` of rating n at its predictors."""
    width = point.width[n] if point.width.shape[0] > 0 else 0.0
    return _boundaries(answers[n], point.location[n], width, point.centre, point.distances)


@compiled()
def _append_factor(total: float, product: float, factor: float) -> tuple[float, float]:
    """Return the sum of logarithms of factors and their product since: there is one logarithm for several factors."""
    product *= factor
    if product < _SMALLEST_PRODUCT:
        return total + math.log(product), 1.0
    return total, product


@compiled()
def fill_predictors(ratings: RatingArrays, fixed: Any, u: Any, v: Any, location: Any, width: Any) -> None:
    """Fill location and log width of each rating, given the fixed part by profile and all random effects."""
    start, _, profile, places, kinds, values, inner = ratings
    has_width = width.shape[0] > 0
    for i in range(start.shape[0] - 1):
        for n in range(start[i], start[i + 1]):
            q = profile[n]
            x = fixed[q]
            y = 0.0
            for t in range(v.shape[1]):
                x += inner[q, t] * v[i, t]
            for s in range(kinds.shape[0]):
                if kinds[s] == 0:
                    x += values[q, s] * u[places[n, s]]
                else:
                    y += values[q, s] * u[places[n, s]]
            location[n] = x
            if has_width:
                width[n] = y


@compiled()
def fill_log_likelihoods(start: Any, answers: Any, point: Predictors, by_group: Any) -> None:
    """Fill the log-likelihood of each inner group's answers, given all random effects."""
    for i in range(start.shape[0] - 1):
        total, product = 0.0, 1.0
        for n in range(start[i], start[i + 1]):
            a, b, _, _, _, has_a, has_b = _bound_rating(answers, point, n)
            total, product = _append_factor(total, product, _probability(point.link, a, b, has_a, has_b))
        by_group[i] = total + math.log(product)


@compiled()
def fill_gradients(
    ratings: RatingArrays,
    point: Predictors,
    definite: bool,
    outer_gradient: Any,
    inner_gradient: Any,
    inner_blocks: Any,
    weights: Any,
) -> float:
    """Fill gradients and weights of the log-likelihood by random effect, and return the log-likelihood.

    `weights` has a row for each rating: minus the second derivatives by location, by both predictors and by log width,
    or the first alone if the model has no widths. `definite` makes each of these matrices positive semidefinite.
    """
    start, answers, profile, places, kinds, values, inner = ratings
    total = 0.0
    has_width = point.width.shape[0] > 0
    outer_gradient[:] = 0.0
    inner_gradient[:] = 0.0
    inner_blocks[:] = 0.0
    for i in range(start.shape[0] - 1):
        for n in range(start[i], start[i + 1]):
            a, b, da, db, _, has_a, has_b = _bound_rating(answers, point, n)
            p = _probability(point.link, a, b, has_a, has_b)
            total += math.log(p)
            a1 = a2 = b1 = b2 = 0.0
            if has_a:
                a1, a2, _ = _density(point.link, a)
            if has_b:
                b1, b2, _ = _density(point.link, b)
            a1, a2, b1, b2 = -a1 / p, -a2 / p, b1 / p, b2 / p
            aa, ab, bb = a2 - a1 * a1, -a1 * b1, b2 - b1 * b1
            by_location = -(a1 + b1)
            by_width = 0.0
            w = -(aa + 2 * ab + bb)
            weights[n, 0] = w
            if has_width:
                by_width = da * a1 + db * b1
                cross = da * (aa + ab) + db * (ab + bb)
                square = -(da * da * aa + 2 * da * db * ab + db * db * bb + by_width)
                if definite:
                    square = max(square, cross * cross / max(w, SMALLEST))
                weights[n, 1] = cross
                weights[n, 2] = square
            q = profile[n]
            for t in range(inner.shape[1]):
                x = inner[q, t]
                inner_gradient[i, t] += x * by_location
                for r in range(t + 1):
                    inner_blocks[i, t, r] += w * x * inner[q, r]
            for s in range(kinds.shape[0]):
                outer_gradient[places[n, s]] += values[q, s] * (by_location if kinds[s] == 0 else by_width)
    return total


@compiled()
def factor_inner_blocks(blocks: Any, precision: Any) -> float:
    """Add the precision to each block, replace it by its Cholesky factor, and return the log determinant of all.

    NaN if a block is not positive definite.
    """
    size = blocks.shape[1]
    total = 0.0
    for i in range(blocks.shape[0]):
        for t in range(size):
            for r in range(t + 1):
                x = blocks[i, t, r] + precision[t, r]
                for j in range(r):
                    x -= blocks[i, t, j] * blocks[i, r, j]
                if r < t:
                    blocks[i, t, r] = x / blocks[i, r, r]
                elif x <= 0.0:
                    return math.nan
                else:
                    blocks[i, t, t] = math.sqrt(x)
                    total += math.log(x)
    return total


@compiled()
def fill_cross(ratings: RatingArrays, weights: Any, factors: Any, cross: Any) -> None:
    """Fill the block of the Hessian between outer and inner effects.

    `cross` (N, S, D) has the part of each rating and slot, times the inverse of the inner factor.
    """
    start, _, profile, _, kinds, values, inner = ratings
    size = factors.shape[1]
    for i in range(start.shape[0] - 1):
        for n in range(start[i], start[i + 1]):
            q = profile[n]
            for s in range(kinds.shape[0]):
                w = values[q, s] * weights[n, kinds[s]]
                for t in range(size):
                    x = w * inner[q, t]
                    for j in range(t):
                        x -= factors[i, t, j] * cross[n, s, j]
                    cross[n, s, t] = x / factors[i, t, t]


@compiled()
def fill_outer(ratings: RatingArrays, weights: Any, half: Any) -> None:
    """Add to `half` what makes its sum with its transpose the block of the Hessian of the outer effects."""
    _, _, profile, places, kinds, values, _ = ratings
    for n in range(profile.shape[0]):
        q = profile[n]
        for s in range(kinds.shape[0]):
            for r in range(s + 1):
                x = values[q, s] * values[q, r] * weights[n, kinds[s] + kinds[r]]
                half[places[n, s], places[n, r]] += x if r < s else 0.5 * x


@compiled()
def solve_lower(root: Any, x: Any) -> None:
    """Replace `x` by its product with the inverse of a lower triangular matrix."""
    for i in range(x.shape[0]):
        total = x[i]
        for j in range(i):
            total -= root[i, j] * x[j]
        x[i] = total / root[i, i]


@compiled()
def solve_upper(root: Any, x: Any) -> None:
    """Replace `x` by its product with the inverse of the transpose of a lower triangular matrix."""
    for back in range(x.shape[0]):
        i = x.shape[0] - 1 - back
        x[i] /= root[i, i]
        for j in range(i):
            x[j] -= root[i, j] * x[i]


@compiled()
def fill_blocks(
    ratings: RatingArrays, first: Any, weights: Any, cross: Any, diagonal: Any, squares: Any, coarse: Any
) -> None:
    """Add the parts of the Schur complement within each group of the outer terms, and sums over all groups.

    `first` (S,) is the first slot of each slot's term. `diagonal` and `squares` (outer effects, effects of a group):
    the Hessian, and what elimination of the inner effects takes from it. `coarse` (S, S): sums of the complement over
    the groups of two effects.
    """
    start, _, profile, places, kinds, values, _ = ratings
    n_slots, size = kinds.shape[0], cross.shape[2]
    gathered = np.zeros((diagonal.shape[0], size))
    sums = np.empty((n_slots, size))
    for i in range(start.shape[0] - 1):
        if n_slots == 1 and size == 1:
            total = 0.0
            for n in range(start[i], start[i + 1]):
                x = values[profile[n], 0] ** 2 * weights[n, 2 * kinds[0]]
                coarse[0, 0] += x
                diagonal[places[n, 0], 0] += x
                gathered[places[n, 0], 0] += cross[n, 0, 0]
                total += cross[n, 0, 0]
            coarse[0, 0] -= total * total
            for n in range(start[i], start[i + 1]):
                squares[places[n, 0], 0] += cross[n, 0, 0] * gathered[places[n, 0], 0]
            for n in range(start[i], start[i + 1]):
                gathered[places[n, 0], 0] = 0.0
            continue
        sums[:] = 0.0
        for n in range(start[i], start[i + 1]):
            q = profile[n]
            for s in range(n_slots):
                place = places[n, s]
                for t in range(size):
                    gathered[place, t] += cross[n, s, t]
                    sums[s, t] += cross[n, s, t]
                for r in range(n_slots):
                    x = values[q, s] * values[q, r] * weights[n, kinds[s] + kinds[r]]
                    coarse[s, r] += x
                    if first[s] == first[r]:
                        diagonal[place, r - first[s]] += x
        for n in range(start[i], start[i + 1]):
            for s in range(n_slots):
                place = places[n, s]
                for r in range(n_slots):
                    if first[s] == first[r]:
                        for t in range(size):
                            squares[place, r - first[s]] += cross[n, s, t] * gathered[place - s + r, t]
        for n in range(start[i], start[i + 1]):
            for s in range(n_slots):
                gathered[places[n, s]] = 0.0
        for s in range(n_slots):
            for r in range(n_slots):
                for t in range(size):
                    coarse[s, r] -= sums[s, t] * sums[r, t]


@compiled()
def add_products(ratings: RatingArrays, first: Any, weights: Any, cross: Any, x: Any, product: Any) -> None:
    """Add the product of the Schur complement and `x`, without the Hessian's blocks within groups."""
    start, _, profile, places, kinds, values, _ = ratings
    n_slots, size = kinds.shape[0], cross.shape[2]
    sums = np.empty(size)
    for i in range(start.shape[0] - 1):
        if n_slots == 1 and size == 1:
            total = 0.0
            for n in range(start[i], start[i + 1]):
                total += cross[n, 0, 0] * x[places[n, 0]]
            for n in range(start[i], start[i + 1]):
                product[places[n, 0]] -= cross[n, 0, 0] * total
            continue
        sums[:] = 0.0
        for n in range(start[i], start[i + 1]):
            for s in range(n_slots):
                for t in range(size):
                    sums[t] += cross[n, s, t] * x[places[n, s]]
        for n in range(start[i], start[i + 1]):
            q = profile[n]
            for s in range(n_slots):
                total = 0.0
                for t in range(size):
                    total -= cross[n, s, t] * sums[t]
                for r in range(n_slots):
                    if first[s] != first[r]:
                        w = values[q, s] * values[q, r] * weights[n, kinds[s] + kinds[r]]
                        total += w * x[places[n, r]]
                product[places[n, s]] += total


@compiled()
def fill_block_products(
    ratings: RatingArrays, first: Any, cross: Any, inverse: Any, coarse: Any, products: Any, variances: Any
) -> None:
    """Fill `products` and `variances` with those of a matrix of the outer effects that is a sum of two.

    `inverse` (outer effects, effects of a group) are blocks within groups, and `coarse` (S, S) has an element for two
    effects of any groups.
    """
    start, _, profile, places, kinds, values, _ = ratings
    n_slots, size = kinds.shape[0], cross.shape[2]
    gathered = np.zeros((inverse.shape[0], size))
    sums = np.empty((n_slots, size))
    for i in range(start.shape[0] - 1):
        if n_slots == 1 and size == 1:
            total = 0.0
            for n in range(start[i], start[i + 1]):
                gathered[places[n, 0], 0] += cross[n, 0, 0]
                total += cross[n, 0, 0]
            for n in range(start[i], start[i + 1]):
                x = inverse[places[n, 0], 0]
                products[n, 0, 0] = coarse[0, 0] * total + x * gathered[places[n, 0], 0]
                variances[n, 2 * kinds[0]] = values[profile[n], 0] ** 2 * (coarse[0, 0] + x)
            for n in range(start[i], start[i + 1]):
                gathered[places[n, 0], 0] = 0.0
            continue
        sums[:] = 0.0
        for n in range(start[i], start[i + 1]):
            for s in range(n_slots):
                for t in range(size):
                    gathered[places[n, s], t] += cross[n, s, t]
                    sums[s, t] += cross[n, s, t]
        for n in range(start[i], start[i + 1]):
            q = profile[n]
            variances[n] = 0.0
            for s in range(n_slots):
                place = places[n, s]
                products[n, s] = 0.0
                for r in range(n_slots):
                    variance = coarse[s, r]
                    for t in range(size):
                        products[n, s, t] += coarse[s, r] * sums[r, t]
                    if first[s] == first[r]:
                        x = inverse[place, r - first[s]]
                        variance += x
                        for t in range(size):
                            products[n, s, t] += x * gathered[place - s + r, t]
                    kind = kinds[s] + kinds[r]
                    variances[n, kind] += (0.5 if kind == 1 else 1.0) * values[q, s] * values[q, r] * variance
        for n in range(start[i], start[i + 1]):
            for s in range(n_slots):
                gathered[places[n, s]] = 0.0


@compiled()
def add_probe(ratings: RatingArrays, cross: Any, x: Any, y: Any, products: Any, variances: Any) -> None:
    """Add to `products` and `variances` those of the symmetric part of the matrix of products of `x` and `y`."""
    start, _, profile, places, kinds, values, _ = ratings
    n_slots, size = kinds.shape[0], cross.shape[2]
    x_sums, y_sums = np.empty(size), np.empty(size)
    for i in range(start.shape[0] - 1):
        x_sums[:] = 0.0
        y_sums[:] = 0.0
        for n in range(start[i], start[i + 1]):
            for s in range(n_slots):
                for t in range(size):
                    x_sums[t] += cross[n, s, t] * x[places[n, s]]
                    y_sums[t] += cross[n, s, t] * y[places[n, s]]
        for n in range(start[i], start[i + 1]):
            q = profile[n]
            for s in range(n_slots):
                place = places[n, s]
                for t in range(size):
                    products[n, s, t] += 0.5 * (x[place] * y_sums[t] + y[place] * x_sums[t])
                for r in range(n_slots):
                    kind = kinds[s] + kinds[r]
                    z = 0.5 * (x[place] * y[places[n, r]] + y[place] * x[places[n, r]])
                    variances[n, kind] += (0.5 if kind == 1 else 1.0) * values[q, s] * values[q, r] * z


@compiled()
def spread_cross(start: Any, places: Any, cross: Any, dense: Any) -> None:
    """Add `cross` to a dense matrix, shape (inner groups, D, outer effects)."""
    for i in range(start.shape[0] - 1):
        for n in range(start[i], start[i + 1]):
            for s in range(places.shape[1]):
                for t in range(cross.shape[2]):
                    dense[i, t, places[n, s]] += cross[n, s, t]


@compiled()
def gather_products(start: Any, places: Any, dense: Any, products: Any) -> None:
    """Fill `products` (N, S, D) with the elements of a dense matrix, shape (inner groups, D, outer effects)."""
    for i in range(start.shape[0] - 1):
        for n in range(start[i], start[i + 1]):
            for s in range(places.shape[1]):
                for t in range(products.shape[2]):
                    products[n, s, t] = dense[i, t, places[n, s]]


@compiled()
def subtract_squares(start: Any, places: Any, cross: Any, half: Any) -> None:
    """Subtract from `half` what makes its sum with its transpose the Schur complement of the inner effects."""
    size = cross.shape[2]
    for i in range(start.shape[0] - 1):
        first, end = start[i], start[i + 1]
        for n in range(first, end):
            for s in range(places.shape[1]):
                row = half[places[n, s]]
                if size == 1:
                    x = cross[n, s, 0]
                    for m in range(first, n):
                        for r in range(places.shape[1]):
                            row[places[m, r]] -= x * cross[m, r, 0]
                else:
                    for m in range(first, n):
                        for r in range(places.shape[1]):
                            x = 0.0
                            for t in range(size):
                                x += cross[n, s, t] * cross[m, r, t]
                            row[places[m, r]] -= x
                for r in range(s + 1):
                    x = 0.0
                    for t in range(size):
                        x += cross[n, s, t] * cross[n, r, t]
                    row[places[n, r]] -= x if r < s else 0.5 * x


@compiled()
def fill_products(start: Any, places: Any, cross: Any, inverse: Any, products: Any) -> None:
    """Fill `products` (N, S, D) with those of a matrix of the outer effects and of `cross`, within inner groups."""
    size = cross.shape[2]
    for i in range(start.shape[0] - 1):
        first, end = start[i], start[i + 1]
        for n in range(first, end):
            for s in range(places.shape[1]):
                row = inverse[places[n, s]]
                if size == 1:
                    x = 0.0
                    for m in range(first, end):
                        for r in range(places.shape[1]):
                            x += row[places[m, r]] * cross[m, r, 0]
                    products[n, s, 0] = x
                else:
                    products[n, s] = 0.0
                    for m in range(first, end):
                        for r in range(places.shape[1]):
                            x = row[places[m, r]]
                            for t in range(size):
                                products[n, s, t] += x * cross[m, r, t]


@compiled()
def eliminate_inner(start: Any, places: Any, factors: Any, cross: Any, right: Any, outer: Any) -> None:
    """Replace the inner right side by its product with the inverse factor, and subtract its part from the outer one."""
    size = factors.shape[1]
    for i in range(start.shape[0] - 1):
        for t in range(size):
            x = right[i, t]
            for j in range(t):
                x -= factors[i, t, j] * right[i, j]
            right[i, t] = x / factors[i, t, t]
        for n in range(start[i], start[i + 1]):
            for s in range(places.shape[1]):
                x = 0.0
                for t in range(size):
                    x += cross[n, s, t] * right[i, t]
                outer[places[n, s]] -= x


@compiled()
def substitute_inner(start: Any, places: Any, factors: Any, cross: Any, outer: Any, right: Any) -> None:
    """Solve for the inner effects, given the outer ones and what `eliminate_inner` left."""
    size = factors.shape[1]
    for i in range(start.shape[0] - 1):
        for n in range(start[i], start[i + 1]):
            for s in range(places.shape[1]):
                x = outer[places[n, s]]
                for t in range(size):
                    right[i, t] -= cross[n, s, t] * x
        for back in range(size):
            t = size - 1 - back
            x = right[i, t]
            for j in range(t + 1, size):
                x -= factors[i, j, t] * right[i, j]
            right[i, t] = x / factors[i, t, t]


@compiled()
def fill_outer_variances(ratings: RatingArrays, inverse: Any, variances: Any) -> None:
    """Fill the covariance of the two predictors of each rating from outer effects, given their covariance matrix."""
    _, _, profile, places, kinds, values, _ = ratings
    for n in range(profile.shape[0]):
        q = profile[n]
        variances[n] = 0.0
        for s in range(kinds.shape[0]):
            for r in range(kinds.shape[0]):
                kind = kinds[s] + kinds[r]
                x = values[q, s] * values[q, r] * inverse[places[n, s], places[n, r]]
                variances[n, kind] += 0.5 * x if kind == 1 else x


@compiled()
def add_inner_variances(
    ratings: RatingArrays, factors: Any, cross: Any, products: Any, variances: Any, inner_variances: Any
) -> None:
    """Add to the posterior covariance of each rating's predictors the parts with inner effects.

    `products` (N, S, D) are those of the covariance matrix of the outer effects with `cross`. `inner_variances` is
    filled with the posterior covariance of each group's inner effects.
    """
    start, _, profile, _, kinds, values, inner = ratings
    size = factors.shape[1]
    n_slots = kinds.shape[0]
    # Covariance of a rating's outer effects with the inner ones.
    mixed = np.empty((n_slots, size))
    block = np.empty((size, size))
    for i in range(start.shape[0] - 1):
        first, end = start[i], start[i + 1]
        block[:] = 0.0
        for t in range(size):
            block[t, t] = 1.0
        for n in range(first, end):
            for s in range(n_slots):
                for t in range(size):
                    for r in range(size):
                        block[t, r] += cross[n, s, t] * products[n, s, r]
        # The block becomes L⁻ᵀ block L⁻¹.
        for t in range(size):
            for back in range(size):
                r = size - 1 - back
                x = block[t, r]
                for j in range(r + 1, size):
                    x -= block[t, j] * factors[i, j, r]
                block[t, r] = x / factors[i, r, r]
        for r in range(size):
            for back in range(size):
                t = size - 1 - back
                x = block[t, r]
                for j in range(t + 1, size):
                    x -= factors[i, j, t] * block[j, r]
                block[t, r] = x / factors[i, t, t]
        inner_variances[i] = block
        for n in range(first, end):
            q = profile[n]
            for t in range(size):
                for r in range(size):
                    variances[n, 0] += inner[q, t] * inner[q, r] * block[t, r]
            for s in range(n_slots):
                covariance = 0.0
                for back in range(size):
                    t = size - 1 - back
                    x = products[n, s, t]
                    for j in range(t + 1, size):
                        x -= mixed[s, j] * factors[i, j, t]
                    mixed[s, t] = x / factors[i, t, t]
                    covariance -= mixed[s, t] * inner[q, t]
                variances[n, kinds[s]] += (1.0 if kinds[s] else 2.0) * values[q, s] * covariance


@compiled()
def _third_order(
    link: int, a: float, b: float, has_a: bool, has_b: bool
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Return the derivatives of the log probability by `a` and `b`, up to third order: a, b, aa, ab, bb, aaa … bbb."""
    p = _probability(link, a, b, has_a, has_b)
    a1 = a2 = a3 = b1 = b2 = b3 = 0.0
    if has_a:
        a1, a2, a3 = _density(link, a)
        a1, a2, a3 = -a1 / p, -a2 / p, -a3 / p
    if has_b:
        b1, b2, b3 = _density(link, b)
        b1, b2, b3 = b1 / p, b2 / p, b3 / p
    return (
        a1,
        b1,
        a2 - a1 * a1,
        -a1 * b1,
        b2 - b1 * b1,
        a3 - 3 * a1 * a2 + 2 * a1 * a1 * a1,
        b1 * (2 * a1 * a1 - a2),
        a1 * (2 * b1 * b1 - b2),
        b3 - 3 * b1 * b2 + 2 * b1 * b1 * b1,
    )


@compiled()
def fill_traces(
    ratings: RatingArrays,
    point: Predictors,
    variances: Any,
    outer_traces: Any,
    inner_traces: Any,
) -> None:
    """Fill the derivatives of the log determinant of the Hessian by each random effect."""
    start, answers, profile, places, kinds, values, inner = ratings
    has_width = point.width.shape[0] > 0
    outer_traces[:] = 0.0
    inner_traces[:] = 0.0
    for i in range(start.shape[0] - 1):
        for n in range(start[i], start[i + 1]):
            a, b, da, db, _, has_a, has_b = _bound_rating(answers, point, n)
            a1, b1, aa, ab, bb, aaa, aab, abb, bbb = _third_order(point.link, a, b, has_a, has_b)
            by_location = -variances[n, 0] * (aaa + 3 * aab + 3 * abb + bbb)
            by_width = 0.0
            if has_width:
                es, ss = variances[n, 1], variances[n, 2]
                first = da * a1 + db * b1
                square = da * da * aa + 2 * da * db * ab + db * db * bb
                cross = -(da * (aa + ab) + db * (ab + bb))
                lls = da * (aaa + 2 * aab + abb) + db * (aab + 2 * abb + bbb)
                lss = cross - (da * da * (aaa + aab) + 2 * da * db * (aab + abb) + db * db * (abb + bbb))
                sss = 3 * square + first + da**3 * aaa + 3 * da * da * db * aab + 3 * da * db * db * abb + db**3 * bbb
                by_location += 2 * es * lls + ss * lss
                by_width = variances[n, 0] * lls + 2 * es * lss + ss * sss
            q = profile[n]
            for t in range(inner.shape[1]):
                inner_traces[i, t] -= inner[q, t] * by_location
            for s in range(kinds.shape[0]):
                gradient = by_location if kinds[s] == 0 else by_width
                outer_traces[places[n, s]] -= values[q, s] * gradient


@compiled()
def add_group_variances(ratings: RatingArrays, by_precision: Any, variances: Any) -> None:
    """Add to variances what makes them give the derivative by the precision of each group's single inner effect."""
    start, _, profile, _, _, _, inner = ratings
    for i in range(start.shape[0] - 1):
        for n in range(start[i], start[i + 1]):
            variances[n, 0] -= 2 * by_precision[i] * inner[profile[n], 0] ** 2


@compiled()
def fill_quadrature(
    ratings: RatingArrays,
    point: Predictors,
    v: Any,
    factors: Any,
    prior: float,
    nodes: Any,
    log_weights: Any,
    by_profile: Any,
    by_distance: Any,
    by_u: Any,
    by_v: Any,
    by_precision: Any,
    by_prior: Any,
) -> float:
    """Return the correction by adaptive quadrature over a single effect of each inner group, and fill its derivatives.

    `nodes` are in standard deviations of the normal approximation of the effect, around its mode `v`, and the last of
    them is zero, with no weight. `prior` is the precision of the density of the effects.
    """
    start, answers, profile, places, kinds, values, inner = ratings
    location, width, centre, distances, link = point
    has_width = width.shape[0] > 0
    last = nodes.shape[0] - 1
    most = 0
    for i in range(start.shape[0] - 1):
        most = max(most, start[i + 1] - start[i])
    lower, upper = np.empty((most, last + 1)), np.empty((most, last + 1))
    density, share = np.empty(last + 1), np.empty(last + 1)
    total = 0.0
    for array in (by_profile, by_distance, by_u):
        array[:] = 0.0
    for i in range(start.shape[0] - 1):
        first, end = start[i], start[i + 1]
        scale = 1 / factors[i, 0, 0]
        mode = v[i, 0]
        for j in range(last + 1):
            density[j] = -0.5 * prior * (mode + nodes[j] * scale) ** 2
        for n in range(first, end):
            x = inner[profile[n], 0] * scale
            log_width = width[n] if has_width else 0.0
            for j in range(last + 1):
                a, b, _, _, _, has_a, has_b = _boundaries(
                    answers[n], location[n] + nodes[j] * x, log_width, centre, distances
                )
                p = _probability(link, a, b, has_a, has_b)
                density[j] += math.log(p)
                lower[n - first, j] = -_density(link, a)[0] / p if has_a else 0.0
                upper[n - first, j] = _density(link, b)[0] / p if has_b else 0.0
        largest = -math.inf
        for j in range(last):
            largest = max(largest, density[j] + log_weights[j])
        mass = 0.0
        for j in range(last):
            share[j] = math.exp(density[j] + log_weights[j] - largest)
            mass += share[j]
        total += largest + math.log(mass) - density[last]
        for j in range(last):
            share[j] /= mass
        # Derivatives are means over the nodes, less those at the mode.
        share[last] = -1.0
        by_mode = by_node = squares = 0.0
        for j in range(last + 1):
            x = mode + nodes[j] * scale
            by_mode -= share[j] * prior * x
            by_node -= share[j] * nodes[j] * prior * x
            squares += share[j] * x * x
        for n in range(first, end):
            q = profile[n]
            by_a = by_b = along = 0.0
            for j in range(last + 1):
                a, b = lower[n - first, j], upper[n - first, j]
                by_a += share[j] * a
                by_b += share[j] * b
                along -= share[j] * nodes[j] * (a + b)
            by_location = -(by_a + by_b)
            by_profile[q] += by_location
            by_mode += inner[q, 0] * by_location
            by_node += inner[q, 0] * along
            _, _, da, db, width_scale, has_a, has_b = _bound_rating(answers, point, n)
            if has_a:
                by_distance[answers[n] - 1] += width_scale * by_a
            if has_b:
                by_distance[answers[n]] += width_scale * by_b
            by_width = da * by_a + db * by_b
            for s in range(kinds.shape[0]):
                by_u[places[n, s]] += values[q, s] * (by_location if kinds[s] == 0 else by_width)
        by_v[i, 0] = by_mode
        by_precision[i] = -0.5 * by_node * scale**3
        by_prior[i] = -0.5 * squares
    return total


@compiled()
def fill_scores(
    ratings: RatingArrays,
    point: Predictors,
    variances: Any,
    outer_adjoint: Any,
    inner_adjoint: Any,
    location_scores: Any,
    distance_scores: Any,
) -> None:
    """Fill the derivatives of the Laplace log-likelihood by the location of each profile, and by each distance.

    For one rating this is the derivative of ℓ + V : ∇∇ℓ ⁄ 2 − λ · ∇ℓ ⁄ 2, where ∇ is by the two predictors, V is their
    posterior covariance, and λ is the adjoint: the solution of the Hessian for the traces of `fill_traces`.
    """
    start, answers, profile, places, kinds, values, inner = ratings
    has_width = point.width.shape[0] > 0
    location_scores[:] = 0.0
    distance_scores[:] = 0.0
    for i in range(start.shape[0] - 1):
        for n in range(start[i], start[i + 1]):
            a, b, da, db, scale, has_a, has_b = _bound_rating(answers, point, n)
            a1, b1, aa, ab, bb, aaa, aab, abb, bbb = _third_order(point.link, a, b, has_a, has_b)
            q = profile[n]
            adjoint = width_adjoint = 0.0
            for t in range(inner.shape[1]):
                adjoint += inner[q, t] * inner_adjoint[i, t]
            for s in range(kinds.shape[0]):
                x = values[q, s] * outer_adjoint[places[n, s]]
                if kinds[s] == 0:
                    adjoint += x
                else:
                    width_adjoint += x
            ee = 0.5 * variances[n, 0]
            lower = a1 + ee * (aaa + 2 * aab + abb) + 0.5 * adjoint * (aa + ab)
            upper = b1 + ee * (aab + 2 * abb + bbb) + 0.5 * adjoint * (ab + bb)
            by_location = -(lower + upper)
            if has_width:
                es, ss = variances[n, 1], 0.5 * variances[n, 2]
                along_a, along_b = da * aa + db * ab, da * ab + db * bb
                second_a = da * da * aaa + 2 * da * db * aab + db * db * abb
                second_b = da * da * aab + 2 * da * db * abb + db * db * bbb
                across_a = da * (aaa + aab) + db * (aab + abb)
                across_b = da * (aab + abb) + db * (abb + bbb)
                # of the location: ∂s and ∂s∂s of −(∂a + ∂b), and ∂η∂s of it
                lss = -(along_a + along_b) - (second_a + second_b)
                lls = across_a + across_b
                by_location += es * lls + ss * lss + 0.5 * width_adjoint * (along_a + along_b)
                # of the distances: ∂s, ∂η∂s and ∂s∂s of exp(s) ∂a, divided by exp(s)
                lower += es * -(aa + ab + across_a) + ss * (a1 + 3 * along_a + second_a)
                upper += es * -(ab + bb + across_b) + ss * (b1 + 3 * along_b + second_b)
                lower -= 0.5 * width_adjoint * (a1 + along_a)
                upper -= 0.5 * width_adjoint * (b1 + along_b)
            location_scores[q] += by_location
            k = answers[n]
            if has_a:
                distance_scores[k - 1] += scale * lower
            if has_b:
                distance_scores[k] += scale * upper


@compiled()
def fill_information(
    ratings: RatingArrays,
    point: Predictors,
    covariates: Any,
    outer_cross: Any,
    inner_cross: Any,
    profile_sums: Any,
    information: Any,
) -> None:
    """Fill minus the second derivatives of the log-likelihood by parameters and effects.

    Parameters are thresholds, with the centre of widths held, and the coefficients of `covariates`, a row for each
    profile. Shapes: `outer_cross` (outer effects, parameters), `inner_cross` (inner groups, inner effects, parameters),
    `profile_sums` (profiles, thresholds + 1): by location and threshold, and by location alone; `information`
    (thresholds, thresholds).
    """
    start, answers, profile, places, kinds, values, inner = ratings
    last = point.distances.shape[0]
    n_coefficients = covariates.shape[1]
    for i in range(start.shape[0] - 1):
        for n in range(start[i], start[i + 1]):
            a, b, da, db, scale, has_a, has_b = _bound_rating(answers, point, n)
            a1, b1, aa, ab, bb, _, _, _, _ = _third_order(point.link, a, b, has_a, has_b)
            k = answers[n]
            q = profile[n]
            w = -(aa + 2 * ab + bb)
            cross = da * (aa + ab) + db * (ab + bb)
            profile_sums[q, last] += w
            if has_a and has_b:
                information[k, k - 1] -= scale * scale * ab
                information[k - 1, k] -= scale * scale * ab
            for side in range(2):
                if not (has_b if side else has_a):
                    continue
                place = k if side else k - 1
                information[place, place] -= scale * scale * (bb if side else aa)
                by_location = scale * (ab + bb if side else aa + ab)
                by_width = -scale * (b1 + da * ab + db * bb if side else a1 + da * aa + db * ab)
                profile_sums[q, place] += by_location
                for t in range(inner.shape[1]):
                    inner_cross[i, t, place] += inner[q, t] * by_location
                for s in range(kinds.shape[0]):
                    x = by_location if kinds[s] == 0 else by_width
                    outer_cross[places[n, s], place] += values[q, s] * x
            for j in range(n_coefficients):
                x = covariates[q, j]
                if x == 0.0:
                    continue
                for t in range(inner.shape[1]):
                    inner_cross[i, t, last + j] += inner[q, t] * w * x
                for s in range(kinds.shape[0]):
                    y = values[q, s] * (w if kinds[s] == 0 else cross)
                    outer_cross[places[n, s], last + j] += y * x


@compiled()
def fill_shares(
    location: Any,
    variance: Any,
    thresholds: Any,
    width_sds: Any,
    width_slopes: Any,
    nodes: Any,
    node_weights: Any,
    link: int,
    shares: Any,
) -> None:
    """Fill the probability of each category, by draw and place, averaged over a new rater's effects.

    Shapes: `location` and `variance` (S, Q) of the rater's effect on it, given the width; `thresholds` (S, T);
    `width_sds` and `width_slopes` (S,), the standard deviation of log widths and the regression of the location's
    effect on them, empty without widths; `shares` (S, Q, T + 1). The normal distribution of effects is integrated
    exactly with the probit link, and by the nodes of Gauss–Hermite quadrature otherwise.
    """
    n_thresholds = thresholds.shape[1]
    has_width = width_sds.shape[0] > 0
    for s in range(location.shape[0]):
        centre = 0.5 * (thresholds[s, 0] + thresholds[s, n_thresholds - 1])
        for q in range(location.shape[1]):
            sd = math.sqrt(variance[s, q])
            below = 0.0
            for t in range(n_thresholds):
                total = 0.0
                for w in range(nodes.shape[0] if has_width else 1):
                    edge, share = thresholds[s, t] - location[s, q], 1.0
                    if has_width:
                        width = width_sds[s] * nodes[w]
                        edge = centre + (thresholds[s, t] - centre) * math.exp(width) - location[s, q]
                        edge -= width_slopes[s] * width
                        share = node_weights[w]
                    if link == 0:
                        total += share * _upper_tail(0, -edge / math.sqrt(1 + sd * sd))
                    else:
                        for j in range(nodes.shape[0]):
                            total += share * node_weights[j] * _upper_tail(1, -(edge - sd * nodes[j]))
                shares[s, q, t] = total - below
                below = total
            shares[s, q, n_thresholds] = 1 - below


@compiled()
def fill_effect_likelihoods(
    start: Any, answers: Any, coefficients: Any, candidates: Any, rest: Predictors, likelihoods: Any
) -> None:
    """Fill the log-likelihood of each group's answers at candidate effects of this group, given all other effects.

    Ratings are sorted by group. Shapes: `coefficients` (N, D) of the effects on the location; `candidates` (G, M, D),
    or D + 1 with the effect on the log width last; `likelihoods` (G, M). `rest` are the predictors without these.
    """
    location, width, centre, distances, link = rest
    n_location = coefficients.shape[1]
    has_effect = candidates.shape[2] > n_location
    has_width = width.shape[0] > 0
    for g in range(start.shape[0] - 1):
        for m in range(candidates.shape[1]):
            total, product = 0.0, 1.0
            for n in range(start[g], start[g + 1]):
                x = location[n]
                for d in range(n_location):
                    x += coefficients[n, d] * candidates[g, m, d]
                y = width[n] if has_width else 0.0
                if has_effect:
                    y += candidates[g, m, n_location]
                a, b, _, _, _, has_a, has_b = _boundaries(answers[n], x, y, centre, distances)
                total, product = _append_factor(total, product, _probability(link, a, b, has_a, has_b))
            likelihoods[g, m] = total + math.log(product)


@compiled()
def fill_slopes(answers: Any, point: Predictors, slopes: Any, weights: Any) -> None:
    """Fill the derivative of each rating's log-likelihood by its location, and minus the second derivative."""
    for n in range(answers.shape[0]):
        a, b, _, _, _, has_a, has_b = _bound_rating(answers, point, n)
        a1, b1, aa, ab, bb, _, _, _, _ = _third_order(point.link, a, b, has_a, has_b)
        slopes[n] = -(a1 + b1)
        weights[n] = -(aa + 2 * ab + bb)


@compiled()
def add_repeat_probabilities(low: Any, high: Any, shares: Any, nodes: Any, node_weights: Any, sums: Any) -> None:
    """Add the probability of a second answer given the first, if their residuals have a share in common.

    Shapes: `low` and `high` (N, 2), the bounds of the standard normal residual of both answers; `shares` (C,); `nodes`
    and `node_weights`, values of the common part and their probabilities; `sums` (N, C).
    """
    for n in range(low.shape[0]):
        first = _probability(0, low[n, 0], high[n, 0], True, True)
        for c in range(shares.shape[0]):
            common, rest = math.sqrt(shares[c]), math.sqrt(1 - shares[c])
            both = 0.0
            for j in range(nodes.shape[0]):
                mean = common * nodes[j]
                both += (
                    node_weights[j]
                    * _probability(0, (low[n, 0] - mean) / rest, (high[n, 0] - mean) / rest, True, True)
                    * _probability(0, (low[n, 1] - mean) / rest, (high[n, 1] - mean) / rest, True, True)
                )
            sums[n, c] += both / first
