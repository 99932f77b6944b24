"""Groups of points of many dimensions in a plane: groups by their distances, the points of each in its own plane."""

from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.stats.counts import FloatArray

STARTS, STEPS = 8, 300
CLOSE: Final = 1e-9
"""Distances below this have no direction."""

REACH, SHARE = 0.6, 0.95
"""So much of the way to the nearest other middle is what this share of the points keeps within."""


def laid_out(
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
    >>> flat, middles, stress = laid_out(corners, np.arange(3), corners, np.random.default_rng(0))
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
