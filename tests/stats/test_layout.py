"""Singular value decomposition of sparse rows, k-means, and layout in the plane."""

import numpy as np
import pytest

from dissensus.stats.layout import k_means, lay_out_clusters
from dissensus.stats.sparse import SparseRows, normalise_rows, truncated_svd


def sparse(dense: np.ndarray) -> SparseRows:
    rows, columns = np.nonzero(dense)
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(dense)))])
    return SparseRows(dense[rows, columns], columns.astype(np.int32), ends, dense.shape[1])


def blobs(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(4), (80, 60, 40, 20))
    return rng.normal(size=(4, 6))[truth] * 8 + rng.normal(size=(200, 6)), truth


def test_singular_vectors_are_those_of_the_dense_matrix() -> None:
    rng = np.random.default_rng(1)
    dense = rng.normal(size=(60, 25)) * (rng.random((60, 25)) < 0.3)
    coordinates, singular = truncated_svd(sparse(dense), 5, np.random.default_rng(0))
    left, values, _ = np.linalg.svd(dense, full_matrices=False)
    assert singular == pytest.approx(values[:5], rel=1e-4)
    assert np.abs(coordinates) == pytest.approx(np.abs(left[:, :5] * values[:5]), abs=0.02)
    # Signs depend on the matrix, not on the start.
    restarted, _ = truncated_svd(sparse(dense), 5, np.random.default_rng(9))
    assert coordinates == pytest.approx(restarted, abs=0.02)
    assert truncated_svd(sparse(dense[:3]), 50, np.random.default_rng(0))[0].shape == (3, 3)


def test_k_means_finds_the_blobs_the_largest_first() -> None:
    points, truth = blobs()
    clusters = k_means(points, 4, np.random.default_rng(0))
    assert clusters.labels.tolist() == truth.tolist()
    assert clusters.squared_distances == pytest.approx(((points - clusters.centers[clusters.labels]) ** 2).sum(axis=1))
    assert len(k_means(np.ones((9, 2)), 4, np.random.default_rng(0)).centers) == 1


def test_clusters_stay_apart_in_the_plane() -> None:
    points, truth = blobs()
    clusters = k_means(points, 4, np.random.default_rng(0))
    flat, centers, stress = lay_out_clusters(points, clusters.labels, clusters.centers, np.random.default_rng(0))
    nearest = np.linalg.norm(flat[:, None] - centers[None], axis=2).argmin(axis=1)
    assert (nearest == truth).mean() > 0.9
    assert 0 <= stress < 0.5


def test_a_triangle_of_centers_keeps_its_distances_in_the_plane() -> None:
    points, truth = blobs()
    three = truth < 3
    centers = k_means(points, 4, np.random.default_rng(0)).centers[:3]
    _, corners, stress = lay_out_clusters(points[three], truth[three], centers, np.random.default_rng(0))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert np.linalg.norm(corners[i] - corners[j]) == pytest.approx(
            np.linalg.norm(centers[i] - centers[j]), rel=1e-3
        )
    assert stress < 1e-3


@pytest.mark.parametrize("k", [1, 2])
def test_one_or_two_clusters_are_laid_out(k: int) -> None:
    points, _ = blobs()
    clusters = k_means(points, k, np.random.default_rng(0))
    flat, _, _ = lay_out_clusters(points, clusters.labels, clusters.centers, np.random.default_rng(0))
    assert np.isfinite(flat).all()
    assert np.ptp(flat, axis=0).min() > 0


def test_rows_of_length_zero_are_not_normalised() -> None:
    assert normalise_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[0.6, 0.8], [0.0, 0.0]]
