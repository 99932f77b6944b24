"""Clusters of points by k-means, and their layout in the plane."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.stats.result import FloatArray

KMEANS_STARTS, KMEANS_STEPS = 4, 100
STARTS, STEPS = 8, 300
CLOSE: Final = 1e-9
"""Smallest distance with a direction."""

REACH, SHARE = 0.6, 0.95
"""Radius within which this share of the points lies, relative to the distance of the nearest other centre."""


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Clusters of points, the largest first.

    Parameters
    ----------
    labels
        Cluster of each point, shape (N,).
    centers
        Means of the clusters, shape (K, D).
    squared_distances
        Squared distance of each point from the mean of its cluster, shape (N,).
    """

    labels: npt.NDArray[np.intp]
    centers: FloatArray
    squared_distances: FloatArray


def k_means(points: FloatArray, k: int, rng: np.random.Generator) -> Clusters:
    """Partition points into k clusters by k-means.

    Lloyd's algorithm with k-means++ initialisation (Arthur and Vassilvitskii 2007); the best of `KMEANS_STARTS` starts.

    Parameters
    ----------
    points
        Shape (N, D).
    k
        Number of clusters; fewer are returned if there are fewer distinct points.
    rng
        Generator of the starts.

    Returns
    -------
    Clusters

    Examples
    --------
    >>> clusters = k_means(np.array([[0.0], [0.1], [0.2], [5.0]]), 2, np.random.default_rng(0))
    >>> clusters.labels.tolist(), clusters.centers.round(2).tolist()
    ([0, 0, 0, 1], [[0.1], [5.0]])
    """
    runs = [_lloyd(points, _draw_starts(points, k, rng)) for _ in range(KMEANS_STARTS)]
    labels, distance, centers = min(runs, key=lambda run: float(run[1].sum()))
    sizes = np.bincount(labels, minlength=len(centers))
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    rank = np.empty(len(centers), np.intp)
    rank[order] = np.arange(len(order))
    return Clusters(rank[labels], centers[order], distance)


def _draw_starts(points: FloatArray, k: int, rng: np.random.Generator) -> FloatArray:
    """Draw distant starts by k-means++, at most as many as there are distinct points."""
    centers = [points[rng.integers(len(points))]]
    nearest = _square_distances(points, centers[0])
    while len(centers) < k and nearest.max() > 1e-12:
        centers.append(points[rng.choice(len(points), p=nearest / nearest.sum())])
        nearest = np.minimum(nearest, _square_distances(points, centers[-1]))
    return np.array(centers)


def _square_distances(points: FloatArray, center: FloatArray) -> FloatArray:
    return np.asarray(((points - center) ** 2).sum(axis=1))


def _lloyd(points: FloatArray, centers: FloatArray) -> tuple[npt.NDArray[np.intp], FloatArray, FloatArray]:
    squares = (points**2).sum(axis=1)
    previous = np.full(len(points), -1)
    for _ in range(KMEANS_STEPS):
        # |x - c|² = |x|² - 2 x·c + |c|² avoids an array of shape (N, K, D).
        distances = (centers**2).sum(axis=1) - 2 * points @ centers.T
        labels = distances.argmin(axis=1)
        if (labels == previous).all():
            break
        previous = labels
        sizes = np.bincount(labels, minlength=len(centers))
        totals = np.zeros_like(centers)
        np.add.at(totals, labels, points)
        centers = np.where(sizes[:, None] > 0, totals / np.maximum(sizes, 1)[:, None], centers)
    return labels, np.maximum(squares + distances[np.arange(len(points)), labels], 0), centers


def lay_out_clusters(
    points: FloatArray, labels: npt.NDArray[np.intp], centers: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, float]:
    r"""Lay out clusters of points in the plane.

    The centres are placed by multidimensional scaling, which minimises stress by majorisation (de Leeuw 1977),

    .. math:: \sum_{k < l} \bigl(\lVert c_k - c_l \rVert - \delta_{kl}\bigr)^2

    with the distances δ in all dimensions. Around its centre, each cluster is projected onto its first two principal
    components, all with one scale at which clusters stay apart. In many dimensions points are further from their own
    centre than centres are from each other, so no single plane shows both.

    Parameters
    ----------
    points, labels, centers
        Points, shape (N, D); the cluster of each, numbered from 0; and the means of the clusters, shape (K, D).
    rng
        Generator of the starts.

    Returns
    -------
    flat_points, flat_centers : ndarray, shapes (N, 2) and (K, 2)
    stress : float
        :math:`\sqrt{\sum (d - \delta)^2 / \sum \delta^2}` of the centres; 0 if all distances are preserved.

    Examples
    --------
    >>> corners = np.array([[0.0, 0, 0], [3, 0, 0], [0, 4, 0]])
    >>> flat_points, _, stress = lay_out_clusters(corners, np.arange(3), corners, np.random.default_rng(0))
    >>> float(np.linalg.norm(flat_points[1] - flat_points[2]).round(3)), round(stress, 3)
    (5.0, 0.0)
    """
    target = _distances(centers)
    spread = max(float(target.max()), CLOSE)
    runs = [_minimise_stress(rng.normal(size=(len(centers), 2)) * spread, target) for _ in range(STARTS)]
    stresses = [float(np.square(_distances(flat) - target).sum()) for flat in runs]
    flat_centers = runs[int(np.argmin(stresses))]
    local = np.zeros((len(points), 2))
    for k in range(len(centers)):
        local[labels == k] = _project_to_plane(points[labels == k] - centers[k])
    total = float(np.square(target).sum())
    stress = float(np.sqrt(min(stresses) / total)) if total else 0.0
    return flat_centers[labels] + local * _scale(local, labels, flat_centers), flat_centers, stress


def _minimise_stress(flat: FloatArray, target: FloatArray) -> FloatArray:
    for _ in range(STEPS):
        factor = target / np.maximum(_distances(flat), CLOSE) / len(flat)
        flat = flat.mean(axis=0) + flat * factor.sum(axis=1, keepdims=True) - factor @ flat
    return np.asarray(flat - flat.mean(axis=0))


def _project_to_plane(points: FloatArray) -> FloatArray:
    """Project onto two principal components, with signs such that their largest entries are positive."""
    left, singular, right = np.linalg.svd(points, full_matrices=False)
    largest = np.take_along_axis(right, np.abs(right).argmax(axis=1)[:, None], axis=1)[:, 0]
    plane = (left * singular * np.where(largest < 0, -1.0, 1.0))[:, :2]
    return np.asarray(np.pad(plane, ((0, 0), (0, 2 - plane.shape[1]))))


def _scale(local: FloatArray, labels: npt.NDArray[np.intp], flat_centers: FloatArray) -> float:
    """Return the factor that keeps `SHARE` of the points within `REACH` of the way to the nearest other centre."""
    gaps = _distances(flat_centers) + np.where(np.eye(len(flat_centers)) > 0, np.inf, 0)
    nearest = np.where(np.isfinite(gaps.min(axis=1)), gaps.min(axis=1), 1.0)
    reach = float(np.quantile(np.linalg.norm(local, axis=1) / np.maximum(nearest[labels], CLOSE), SHARE))
    return REACH / reach if reach > CLOSE else 1.0


def _distances(points: FloatArray) -> FloatArray:
    norms = (points**2).sum(axis=1)
    return np.asarray(np.sqrt(np.maximum(norms[:, None] - 2 * points @ points.T + norms, 0)))
