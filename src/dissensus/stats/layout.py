"""Regions of near points by k-means, and their layout in a plane."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.stats.result import FloatArray

KMEANS_STARTS, KMEANS_STEPS = 4, 100
STARTS, STEPS = 8, 300
CLOSE: Final = 1e-9
"""Distances below this have no direction."""

REACH, SHARE = 0.6, 0.95
"""So much of the way to the nearest other middle is what this share of the points keeps within."""


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

    Lloyd's steps from starts that k-means++ draws (Arthur and Vassilvitskii 2007); of `KMEANS_STARTS` the best is kept.

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
    tries = [_lloyd(points, _spread(points, k, rng)) for _ in range(KMEANS_STARTS)]
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
    for _ in range(KMEANS_STEPS):
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


def lay_out_groups(
    points: FloatArray, of: npt.NDArray[np.intp], centers: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, float]:
    r"""Lay out groups of points.

    The centres minimise stress by majorisation (de Leeuw 1977),

    .. math:: \sum_{k < l} \bigl(\lVert c_k - c_l \rVert - \delta_{kl}\bigr)^2

    with the distance δ in all dimensions. Around its centre, each group is seen in the plane in which it varies most,
    all of them in one scale, such that groups stay apart: in so many dimensions points differ more from their own
    centre than centres do from each other, and no plane shows both.

    Parameters
    ----------
    points, of, centers
        Shape (N, D), the group of each from 0, and means of the groups, shape (K, D).
    rng
        Draws the starts.

    Returns
    -------
    flat, middles : ndarray, shapes (N, 2) and (K, 2)
    stress : float
        :math:`\sqrt{\sum (d - \delta)^2 / \sum \delta^2}` of the centres: 0 where no distance changes.

    Examples
    --------
    >>> corners = np.array([[0.0, 0, 0], [3, 0, 0], [0, 4, 0]])
    >>> flat, middles, stress = lay_out_groups(corners, np.arange(3), corners, np.random.default_rng(0))
    >>> float(np.linalg.norm(flat[1] - flat[2]).round(3)), round(stress, 3)
    (5.0, 0.0)
    """
    wanted = _distances(centers, centers)
    spread = max(float(wanted.max()), CLOSE)
    tries = [_moved(rng.normal(size=(len(centers), 2)) * spread, wanted) for _ in range(STARTS)]
    stresses = [float(np.square(_distances(flat, flat) - wanted).sum()) for flat in tries]
    middles = tries[int(np.argmin(stresses))]
    local = np.zeros((len(points), 2))
    for group in range(len(centers)):
        local[of == group] = _own_plane(points[of == group] - centers[group])
    every = float(np.square(wanted).sum())
    stress = float(np.sqrt(min(stresses) / every)) if every else 0.0
    return middles[of] + local * _scale(local, of, middles), middles, stress


def _moved(flat: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return centres moved until distances are as near to those wanted as steps bring them."""
    for _ in range(STEPS):
        factor = wanted / np.maximum(_distances(flat, flat), CLOSE) / len(flat)
        flat = flat.mean(axis=0) + flat * factor.sum(axis=1, keepdims=True) - factor @ flat
    return np.asarray(flat - flat.mean(axis=0))


def _own_plane(points: FloatArray) -> FloatArray:
    """Return points in the plane in which they vary most; signs are such that the largest entries are positive."""
    turned, singular, right = np.linalg.svd(points, full_matrices=False)
    largest = np.take_along_axis(right, np.abs(right).argmax(axis=1)[:, None], axis=1)[:, 0]
    plane = (turned * singular * np.where(largest < 0, -1.0, 1.0))[:, :2]
    return np.asarray(np.pad(plane, ((0, 0), (0, 2 - plane.shape[1]))))


def _scale(local: FloatArray, of: npt.NDArray[np.intp], middles: FloatArray) -> float:
    """Return by how much to stretch all groups."""
    apart = _distances(middles, middles) + np.where(np.eye(len(middles)) > 0, np.inf, 0)
    nearest = np.where(np.isfinite(apart.min(axis=1)), apart.min(axis=1), 1.0)
    reach = float(np.quantile(np.linalg.norm(local, axis=1) / np.maximum(nearest[of], CLOSE), SHARE))
    return REACH / reach if reach > CLOSE else 1.0


def _distances(one: FloatArray, other: FloatArray) -> FloatArray:
    squares = (one**2).sum(axis=1)[:, None] - 2 * one @ other.T + (other**2).sum(axis=1)
    return np.asarray(np.sqrt(np.maximum(squares, 0)))
