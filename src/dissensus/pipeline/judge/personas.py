"""Personas: labels of groups of raters under which a judge answers, never those of one rater."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.schema.axes import format_axis
from dissensus.schema.hints import count_noun, format_list
from dissensus.schema.ratings.columns import CROSS, CROSSED
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.suppression import MIN_CELL

FEWEST: Final = MIN_CELL
"""Smallest number of raters of a group whose label is given to a judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    """Label of a group of raters."""

    axis: str
    group: str

    @property
    def label(self) -> str:
        """The axis with the group: ``rater_gender=Woman``."""
        return f"{self.axis}={self.group}"

    @property
    def instruction(self) -> str:
        """The sentence that gives the label to a judge.

        Examples
        --------
        >>> Persona(axis="rater_race*rater_gender", group="White × Woman").instruction
        'Answer as a person would to whom this applies: race: White; gender: Woman.'
        >>> Persona(axis="rater_race*rater_gender", group="A × B × Woman").instruction
        'Answer as a person would to whom this applies: race × gender: A × B × Woman.'
        """
        names = [format_axis(axis) for axis in self.axis.split(CROSS)]
        values = self.group.split(CROSSED) if len(names) > 1 else [self.group]
        if len(values) != len(names):  # A label has the sign of crossed groups
            names, values = [CROSSED.join(names)], [self.group]
        traits = "; ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))
        return f"Answer as a person would to whom this applies: {traits}."


def choose_personas(
    ratings: Ratings, axes: Sequence[str], *, min_raters: int = FEWEST
) -> tuple[tuple[Persona, ...], tuple[str, ...]]:
    """Return a persona for each group of the axes with enough raters, and notes on those without."""
    if min_raters < FEWEST:
        raise InvalidInput(
            f"min_raters is {min_raters:,}. A persona stands for a group, not for a person: ask for {FEWEST} or more."
        )
    personas, notes = [], []
    for axis in dict.fromkeys(ratings.axis_name(axis) for axis in axes):
        codes, names = ratings.group_codes(axis)
        sizes = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
        few = [f"{name} ({n:,})" for name, n in zip(names, sizes, strict=True) if n < min_raters]
        own = [Persona(axis=axis, group=name) for name, n in zip(names, sizes, strict=True) if n >= min_raters]
        if not own:
            raise InvalidInput(
                f"No group of {axis} has {count_noun(min_raters, 'rater')} or more: {format_list(few)}. Name a "
                "coarser axis, or leave the personas out."
            )
        if few:
            notes.append(f"No persona for groups of {axis} with fewer than {min_raters:,} raters: {format_list(few)}.")
        personas += own
    return tuple(personas), tuple(notes)
