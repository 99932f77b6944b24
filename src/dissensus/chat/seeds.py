"""Derived random seeds."""

import hashlib

from dissensus.chat.response import MAX_SEED, check_seed
from dissensus.schema.numbers import check_whole


def derive_seeds(seed: int, count: int) -> tuple[int, ...]:
    """Return different seeds, the same ones for the same seed; fewer are the first of more.

    Examples
    --------
    >>> derive_seeds(7, 2) == derive_seeds(7, 3)[:2]
    True
    >>> len(set(derive_seeds(7, 100)))
    100
    """
    check_seed(seed)
    check_whole("count", count, 1, MAX_SEED)
    # One after the other from a place that the seed decides: hashes of each would sometimes be alike.
    first = int.from_bytes(hashlib.sha256(str(seed).encode("ascii")).digest()[:8])
    return tuple((first + place) % (MAX_SEED + 1) for place in range(count))
