"""Effects of the groups of one axis."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.preference.data.examples import Labels
from dissensus.preference.data.sparse import FeatureRows, Floats, Integers


@dataclass(frozen=True, slots=True, eq=False)
class GroupEffectTable:
    """Effects of the groups of one axis on the weights of features, before the temperature."""

    names: tuple[str, ...]  # Of the groups, in order
    # Of each group on each feature, length the last, shape (groups, features); with directions on each of these, shape
    # (groups, directions)
    values: npt.NDArray[np.float32]
    # Few combinations of features that effects are made of, shape (features, directions); None for all features
    directions: npt.NDArray[np.float32] | None = None

    def along(self, rows: FeatureRows) -> Floats:
        """Return features along the directions."""
        if self.directions is None:
            raise ValueError("there are no directions")
        return rows.times_all(self.directions.astype(np.float64))

    def of_each(self, rows: FeatureRows) -> Floats:
        """Return what each group adds to the score of each row, shape (rows, groups)."""
        values = self.values.T.astype(np.float64)
        return rows.times_all(values) if self.directions is None else self.along(rows) @ values

    def of_group(self, rows: FeatureRows, name: str) -> Floats:
        """Return what a group adds to the score of each row."""
        values = self.values[self.names.index(name)].astype(np.float64)
        return np.asarray(rows @ values if self.directions is None else self.along(rows) @ values)

    def departures(self, rows: FeatureRows, labels: Labels) -> Floats:
        """Return what the group of each row adds to its score; 0 where that is none, or not known here."""
        places = group_indices(self.names, labels)
        if self.directions is None:
            added = self.of_each(rows)[np.arange(len(rows)), places]
        else:
            added = np.einsum("pk,pk->p", self.along(rows), self.values[places].astype(np.float64))
        return np.where(places >= 0, added, 0.0)


def group_indices(names: Sequence[str], labels: Labels) -> Integers:
    """Return the place of each label among names; -1 where it is none of them."""
    place = {name: number for number, name in enumerate(names)}
    return np.array([place.get(label, -1) for label in labels], dtype=np.int64)
