"""What a map is made of: singular vectors of sparse rows, regions, and a plane."""

import numpy as np
import pytest

from dissensus.stats.layout import k_means, lay_out_groups
from dissensus.stats.sparse import SparseRows, scaled, truncated_svd


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
    found, singular = truncated_svd(sparse(dense), 5, np.random.default_rng(0))
    left, values, _ = np.linalg.svd(dense, full_matrices=False)
    assert singular == pytest.approx(values[:5], rel=1e-4)
    assert np.abs(found) == pytest.approx(np.abs(left[:, :5] * values[:5]), abs=0.02)
    # signs are told by the matrix, not by the start
    other, _ = truncated_svd(sparse(dense), 5, np.random.default_rng(9))
    assert found == pytest.approx(other, abs=0.02)
    assert truncated_svd(sparse(dense[:3]), 50, np.random.default_rng(0))[0].shape == (3, 3)


def test_regions_are_the_groups_that_are_there_the_largest_first() -> None:
    points, truth = blobs()
    found = k_means(points, 4, np.random.default_rng(0))
    assert found.of.tolist() == truth.tolist()
    assert found.distance == pytest.approx(((points - found.centers[found.of]) ** 2).sum(axis=1))
    assert len(k_means(np.ones((9, 2)), 4, np.random.default_rng(0)).centers) == 1


def test_regions_stay_apart_in_the_plane() -> None:
    points, truth = blobs()
    found = k_means(points, 4, np.random.default_rng(0))
    flat, middles, stress = lay_out_groups(points, found.of, found.centers, np.random.default_rng(0))
    nearest = np.linalg.norm(flat[:, None] - middles[None], axis=2).argmin(axis=1)
    assert (nearest == truth).mean() > 0.9
    assert 0 <= stress < 0.5
    # a triangle fits a plane
    _, corners, exact = lay_out_groups(points[truth < 3], truth[truth < 3], found.centers[:3], np.random.default_rng(0))
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert np.linalg.norm(corners[one] - corners[other]) == pytest.approx(
            np.linalg.norm(found.centers[one] - found.centers[other]), rel=1e-3
        )
    assert exact < 1e-3


@pytest.mark.parametrize("k", [1, 2])
def test_one_or_two_regions_have_a_place(k: int) -> None:
    points, _ = blobs()
    found = k_means(points, k, np.random.default_rng(0))
    flat, _, _ = lay_out_groups(points, found.of, found.centers, np.random.default_rng(0))
    assert np.isfinite(flat).all()
    assert np.ptp(flat, axis=0).min() > 0


def test_rows_of_length_zero_stay() -> None:
    assert scaled(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[0.6, 0.8], [0.0, 0.0]]
