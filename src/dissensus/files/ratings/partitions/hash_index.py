"""Indexes of values by hashes of 64 bits, which are found faster than text among a million others."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import polars as pl

Hashes = npt.NDArray[np.uint64]
_MOST_BITS: Final = 24


@dataclass(frozen=True, slots=True, eq=False)
class HashIndex:
    """Positions of distinct hashes.

    Those with the same leading bits form a bucket, with one hash or none in most of them.
    """

    hashes: Hashes  # Sorted, and the largest possible one after them
    positions: npt.NDArray[np.int32]  # Position of each, -1 for the last
    starts: npt.NDArray[np.int32]  # First hash of each bucket
    shift: np.uint64

    @classmethod
    def build(cls, hashes: Hashes) -> Self:
        """Return the index of distinct hashes."""
        order = np.argsort(hashes)
        n_bits = min(_MOST_BITS, max(1, (2 * hashes.size).bit_length()))
        shift = np.uint64(64 - n_bits)
        in_bucket = np.bincount((hashes >> shift).astype(np.intp), minlength=2**n_bits)
        return cls(
            np.append(hashes[order], np.uint64(2**64 - 1)),
            np.append(order, -1).astype(np.int32),
            (np.cumsum(in_bucket) - in_bucket).astype(np.int32),
            shift,
        )

    def find(self, hashes: Hashes) -> npt.NDArray[np.int32]:
        """Return the position of each hash, -1 for those that are not in the index."""
        place = self.starts[hashes >> self.shift]
        later = np.flatnonzero(self.hashes[place] < hashes)
        while later.size:
            place[later] += 1
            later = later[self.hashes[place[later]] < hashes[later]]
        return np.where(self.hashes[place] == hashes, self.positions[place], np.int32(-1))


@dataclass(frozen=True, slots=True, eq=False)
class IdIndex:
    """Positions of distinct ids."""

    seed: int  # One with which all ids have hashes of their own
    index: HashIndex

    @classmethod
    def build(cls, ids: pl.Series) -> Self:
        """Return the index of distinct ids."""
        seed = 0
        while (hashes := ids.hash(seed)).n_unique() < len(ids):
            seed += 1
        return cls(seed, HashIndex.build(hashes.to_numpy()))

    def hash(self, ids: pl.Expr) -> pl.Expr:
        """Return the hashes of ids."""
        return ids.hash(self.seed)

    def find(self, hashes: pl.Series) -> pl.Series:
        """Return the position of each id by its hash; -1 for another id, unless it shares a hash."""
        return pl.Series(hashes.name, self.index.find(hashes.to_numpy()))
