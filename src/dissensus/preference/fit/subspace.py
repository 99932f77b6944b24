"""Principal directions of pair features."""

from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.preference.data.sparse import FeatureRows

RANK: Final = 16
"""How many directions effects of groups and raters have."""

_MORE, _ROUNDS, _SEED = 8, 4, 0


def principal_directions(rows: FeatureRows, rank: int = RANK) -> npt.NDArray[np.float32]:
    """Return the leading right singular vectors of sparse rows, shape (columns, rank), found by random projection.

    Neither the order of the rows nor the sign of one makes a difference. Where there are fewer rows or columns than
    the rank, there are as many directions.

    Examples
    --------
    >>> column = FeatureRows.one_column(np.array([1.0, -2.0, 2.0]))
    >>> np.abs(principal_directions(column, 4)).tolist()
    [[1.0]]
    """
    most = min(rank, len(rows), rows.width)
    wide = min(most + _MORE, len(rows), rows.width)
    found = np.random.default_rng(_SEED).normal(size=(rows.width, wide))
    for _ in range(_ROUNDS):
        found = np.linalg.qr(rows.transposed_times_all(rows.times_all(found)))[0]
    values, turned = np.linalg.eigh(_square(rows.times_all(found)))
    return np.asarray(found @ turned[:, np.argsort(-values)[:most]], dtype=np.float32)


def _square(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(matrix.T @ matrix)
