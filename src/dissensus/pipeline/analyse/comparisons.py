"""Comparisons of groups on each axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.ratings.cells import encode_values
from dissensus.schema.ratings.columns import REST
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.result import IndexArray, Int32Array


@dataclass(frozen=True, eq=False)
class AxisComparison:
    """Groups of an axis or of crossed axes, and their comparisons."""

    name: str | None  # Full name, or None for the whole pool as one group
    codes: Int32Array  # Group of each rater, shape (R,); negative if unknown
    groups: tuple[str, ...]  # Names of the groups, in the order of the codes
    # Codes of the two groups of each comparison, shape (C,); a negative outside means the rest
    inside: Int32Array
    outside: Int32Array

    @cached_property
    def sizes(self) -> IndexArray:
        """Number of raters in each group."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.groups))

    @cached_property
    def n_unknown(self) -> int:
        """Number of raters without a group."""
        return int((self.codes < 0).sum())

    def against(self, comparison: int) -> str:
        """Return the name of the reference group of a comparison."""
        outside = self.outside[comparison]
        return REST if outside < 0 else self.groups[outside]


def build_pool_comparison(n_raters: int) -> AxisComparison:
    """Return the whole pool as one group without a reference group."""
    return AxisComparison(
        None, np.zeros(n_raters, np.int32), ("everybody",), np.array([0], np.int32), np.array([-1], np.int32)
    )


def compare_axis(ratings: Ratings, name: str, against: str) -> AxisComparison:
    """Return the comparisons on an axis: each group with the rest, or with the group named `against`."""
    codes, groups = ratings.group_codes(name)
    if len(groups) < 2:
        values = f"only {groups[0]!r}" if groups else "no known value"
        raise InvalidInput(
            f"Axis {name} has {values}, so there is nobody to compare with. Give another axis, or none for the "
            "statistics of the whole pool."
        )
    if against not in (REST, *groups):
        raise InvalidInput(f"Axis {name} has no group {against!r}. Its groups are {', '.join(groups)}; or say {REST}.")
    inside = np.arange(len(groups), dtype=np.int32)
    other = -1 if against == REST else groups.index(against)
    return AxisComparison(name, codes, groups, inside, np.full(len(groups), other, np.int32))


def build_exchangeable_strata(ratings: Ratings, within: str | None, axes: Sequence[AxisComparison]) -> Int32Array:
    """Return the strata within which raters are exchanged.

    Raters with and without a known group on an axis are not exchanged, since the latter are left out of the axis.
    """
    strata = np.zeros(ratings.n_raters, np.int32) if within is None else assign_strata(ratings, within)
    for axis in axes:
        _, finer = np.unique(strata * 2 + (axis.codes < 0), return_inverse=True)
        strata = finer.astype(np.int32)
    return strata


def assign_strata(ratings: Ratings, attributes: str) -> Int32Array:
    """Return the stratum of each rater by one attribute, or by several joined with ``*``.

    An attribute of items, such as phase, can be used if each rater rated items of a single value. Raters of unknown
    stratum form a stratum.
    """
    strata = np.zeros(ratings.n_raters, dtype=np.int64)
    for name in attributes.split("*"):
        column = name.strip()
        codes = (
            _assign_item_strata(ratings, column) if column in ratings.items.columns else ratings.group_codes(column)[0]
        )
        strata = strata * (int(codes.max()) + 2) + codes + 1
    _, stratum = np.unique(strata, return_inverse=True)
    return stratum.astype(np.int32)


def _assign_item_strata(ratings: Ratings, column: str) -> Int32Array:
    values, code = encode_values(ratings.items[column].cast(pl.String))
    of_rating = code[ratings.answers["item"].to_numpy()]
    rater_of_rating = ratings.answers["rater"].to_numpy().astype(np.int64)
    pairs = np.unique(rater_of_rating[of_rating >= 0] * max(1, len(values)) + of_rating[of_rating >= 0])
    rater, value = np.divmod(pairs, max(1, len(values)))
    repeated = np.flatnonzero(rater[1:] == rater[:-1])
    if repeated.size:
        row = int(repeated[0])
        rater_id, first, second = ratings.raters["rater_id"][int(rater[row])], value[row], value[row + 1]
        raise InvalidInput(
            f"Rater {rater_id} rated items whose {column} is {values[int(first)]!r} and items whose {column} is "
            f"{values[int(second)]!r}, so it is not an attribute of raters. Permute within an attribute of raters, or "
            f"analyse one {column} at a time with --where."
        )
    strata = np.full(ratings.n_raters, -1, dtype=np.int32)
    strata[rater] = value
    return strata
