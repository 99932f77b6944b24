"""Which groups are compared with whom on each axis."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.pipeline.analyse.settings import REST
from dissensus.schema.ratings import Ratings

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Axis:
    """The groups of one axis, or of crossed axes, and the comparisons asked for.

    Parameters
    ----------
    name
        Full name, or None for the whole pool as one group.
    codes
        Group of each rater, shape (R,); negative where unknown.
    groups
        Names of the groups, in the order of the codes.
    inside, outside
        Codes of the group of each comparison and of what it is compared with, shape (C,); negative for the rest.
    """

    name: str | None
    codes: Codes
    groups: tuple[str, ...]
    inside: Codes
    outside: Codes

    @cached_property
    def sizes(self) -> npt.NDArray[np.intp]:
        """Raters in each group."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.groups))

    @cached_property
    def n_unknown(self) -> int:
        """Raters without a group."""
        return int((self.codes < 0).sum())

    def against(self, comparison: int) -> str:
        """Return the name of what a comparison is with."""
        outside = self.outside[comparison]
        return REST if outside < 0 else self.groups[outside]


def whole_pool(n_raters: int) -> Axis:
    """Return everybody as one group, compared with nobody."""
    return Axis(None, np.zeros(n_raters, np.int32), ("everybody",), np.array([0], np.int32), np.array([-1], np.int32))


def axis_of(ratings: Ratings, name: str, against: str) -> Axis:
    """Return the comparisons on an axis: each group with the rest, or with the group named `against`."""
    codes, groups = ratings.group_codes(name)
    if len(groups) < 2:
        found = f"only {groups[0]!r}" if groups else "no known value"
        raise InvalidInput(
            f"Axis {name} has {found}, so there is nobody to compare with. Name another axis, or none to "
            "get the statistics of the whole pool."
        )
    if against == REST:
        inside = np.arange(len(groups), dtype=np.int32)
        return Axis(name, codes, groups, inside, np.full(len(groups), -1, np.int32))
    if against not in groups:
        raise InvalidInput(f"Axis {name} has no group {against!r}. Its groups are {', '.join(groups)}; or say {REST}.")
    other = groups.index(against)
    inside = np.array([g for g in range(len(groups)) if g != other], dtype=np.int32)
    return Axis(name, codes, groups, inside, np.full(len(inside), other, np.int32))
