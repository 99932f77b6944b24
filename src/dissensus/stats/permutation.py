"""Permutation of raters: demographic rows are exchanged between raters, answers stay."""

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.result import IntArray


def shuffles(
    seeds: list[np.random.SeedSequence], n_raters: int, within: IntArray | None = None
) -> npt.NDArray[np.int32]:
    """Draw one permutation of the raters per seed.

    Parameters
    ----------
    seeds
        One seed per replicate, so that a replicate does not depend on the number of replicates.
    n_raters
        Number of raters, R.
    within
        Stratum of each rater, shape (R,): raters are exchanged within strata only.

    Returns
    -------
    ndarray of int32, shape (B, R)
        Entry (b, r) is the rater whose demographic row rater r receives in replicate b.
    """
    if within is not None and len(within) != n_raters:
        raise InvalidInput(f"within has {len(within)} strata for {n_raters} raters; give one per rater.")
    unrestricted = within is None or bool((within == within[:1]).all())
    permutations = np.empty((len(seeds), n_raters), dtype=np.int32)
    for row, seed in zip(permutations, seeds, strict=True):
        rng = np.random.Generator(np.random.PCG64(seed))
        if unrestricted or within is None:
            row[:] = rng.permutation(n_raters)
        else:
            _shuffle_within(row, within, rng)
    return permutations


def _shuffle_within(row: npt.NDArray[np.int32], within: IntArray, rng: np.random.Generator) -> None:
    order = np.argsort(within, kind="stable")
    # Sorting by stratum and then by a random key lists the raters of each stratum in random order.
    row[order] = np.lexsort((rng.random(len(within)), within))
