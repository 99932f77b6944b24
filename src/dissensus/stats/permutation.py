"""Shuffling raters: whole demographic rows move from rater to rater, answers stay with who gave them."""

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
        One child per replicate, so that a replicate is the same whatever is drawn beside it.
    n_raters
        R.
    within
        Stratum of each rater, shape (R,): raters change places only with raters of their stratum.

    Returns
    -------
    ndarray of int32, shape (B, R)
        Row b gives for each rater whose demographic row he or she takes.
    """
    if within is not None and len(within) != n_raters:
        raise InvalidInput(f"within has {len(within)} strata for {n_raters} raters; give one a rater.")
    free = within is None or bool((within == within[:1]).all())
    drawn = np.empty((len(seeds), n_raters), dtype=np.int32)
    for row, seed in zip(drawn, seeds, strict=True):
        rng = np.random.Generator(np.random.PCG64(seed))
        if free or within is None:
            row[:] = rng.permutation(n_raters)
        else:
            _shuffle_within(row, within, rng)
    return drawn


def _shuffle_within(row: npt.NDArray[np.int32], within: IntArray, rng: np.random.Generator) -> None:
    order = np.argsort(within, kind="stable")
    # Sorting by stratum, then by chance, lists each stratum's raters in random order on its own places.
    row[order] = np.lexsort((rng.random(len(within)), within))
