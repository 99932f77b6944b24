"""Points in groups of near ones: k-means."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.stats.counts import FloatArray

STARTS, STEPS = 4, 100


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """Groups of points, the largest first.

    Parameters
    ----------
    of
        Group of each point, shape (N,).
    centers
        Means of the groups, shape (K, D).
    distance
        Squared distance of each point from the mean of its group.
    """

    of: npt.NDArray[np.intp]
    centers: FloatArray
    distance: FloatArray


def k_means(points: FloatArray, k: int, rng: np.random.Generator) -> Regions:
    """Divide points into k groups such that squared distances from the means of groups are small.

    Lloyd's steps from starts that k-means++ draws (Arthur and Vassilvitskii 2007); of `STARTS` the best is kept.

    Parameters
    ----------
    points
        Shape (N, D).
    k
        How many groups, at most as many as there are different points.
    rng
        Draws the starts.

    Examples
    --------
    >>> found = k_means(np.array([[0.0], [0.1], [0.2], [5.0]]), 2, np.random.default_rng(0))
    >>> found.of.tolist(), found.centers.round(2).tolist()
    ([0, 0, 0, 1], [[0.1], [5.0]])
    """
    tries = [_lloyd(points, _spread(points, k, rng)) for _ in range(STARTS)]
    of, distance, centers = min(tries, key=lambda one: float(one[1].sum()))
    order = np.argsort(-np.bincount(of, minlength=len(centers)), kind="stable")
    order = order[np.bincount(of, minlength=len(centers))[order] > 0]
    rank = np.empty(len(centers), np.intp)
    rank[order] = np.arange(len(order))
    return Regions(rank[of], centers[order], distance)


def _spread(points: FloatArray, k: int, rng: np.random.Generator) -> FloatArray:
    """Draw starts that are far from each other; fewer than k where there are fewer different points."""
    centers = [points[rng.integers(len(points))]]
    nearest = _squared(points, centers[0])
    while len(centers) < k and nearest.max() > 1e-12:
        centers.append(points[rng.choice(len(points), p=nearest / nearest.sum())])
        nearest = np.minimum(nearest, _squared(points, centers[-1]))
    return np.array(centers)


def _squared(points: FloatArray, center: FloatArray) -> FloatArray:
    return np.asarray(((points - center) ** 2).sum(axis=1))


def _lloyd(points: FloatArray, centers: FloatArray) -> tuple[npt.NDArray[np.intp], FloatArray, FloatArray]:
    squares = (points**2).sum(axis=1)
    before = np.full(len(points), -1)
    for _ in range(STEPS):
        # |x - c|² = |x|² - 2 x·c + |c|², which needs no cube of differences
        distances = (centers**2).sum(axis=1) - 2 * points @ centers.T
        of = distances.argmin(axis=1)
        if (of == before).all():
            break
        before = of
        sizes = np.bincount(of, minlength=len(centers))
        totals = np.zeros_like(centers)
        np.add.at(totals, of, points)
        centers = np.where(sizes[:, None] > 0, totals / np.maximum(sizes, 1)[:, None], centers)
    return of, np.maximum(squares + distances[np.arange(len(points)), of], 0), centers
