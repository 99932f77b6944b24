"""Composition of juries: seats by group, by a census, or by a named mix."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.preference.jury.model import JuryModel
from dissensus.preference.models.groups import groups_of_axis
from dissensus.schema.hints import format_list
from dissensus.schema.jury import N_SEATS, check_jury_size, check_seats, describe_seats
from dissensus.schema.population import RaterPopulation, read_population
from dissensus.schema.ratings.columns import CROSS, RATER_PREFIX
from dissensus.stats.result import BoolArray, FloatArray

RATERS: Final = "raters"
"""Mix of the raters in training."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Jury:
    """Seats of a jury.

    Parameters
    ----------
    name
        Description, such as ``6 × rater_gender=Woman, 6 × rater_gender=Man``.
    cells
        Crossed groups of people, those of the raters first, shape (M, G).
    seats
        Probability that the juror of each seat belongs to each crossed group, shape (S, M).
    """

    name: str
    cells: BoolArray
    seats: FloatArray


def seat_groups(model: JuryModel, seats: Mapping[str, int]) -> Jury:
    """Return a jury with a number of seats for each group, such as ``{"rater_gender=Woman": 6}``.

    A juror of a group is drawn from the raters of the group in training.

    Raises
    ------
    InvalidInput
        No seats, or too many.
    NotFound
        The model does not know a group.
    """
    check_seats(seats)
    people = {group: model.people(group).weights for group in seats}
    rows = [people[group] for group, n in seats.items() for _ in range(n)]
    return Jury(name=describe_seats(seats), cells=model.cells, seats=np.array(rows))


def seat_mix(model: JuryModel, mix: str = RATERS, n_seats: int = N_SEATS) -> Jury:
    """Return a jury of a named mix: ``raters`` as in training, or an axis with the same probability for each group.

    Raises
    ------
    NotFound
        The model does not know the axis.
    InvalidInput
        No seats, or too many.
    """
    check_jury_size(n_seats)
    if mix == RATERS:
        weights = model.people().weights
    else:
        prefixed = RATER_PREFIX + mix
        axis = prefixed if prefixed in model.axes else mix
        names = groups_of_axis(model.axes, axis)
        weights = np.mean([model.people(f"{axis}={name}").weights for name in names], axis=0)
    return Jury(name=f"{n_seats} × {mix}", cells=model.cells, seats=np.repeat(weights[None], n_seats, axis=0))


def seat_census(model: JuryModel, census: pl.DataFrame, label: str = "census", n_seats: int = N_SEATS) -> Jury:
    """Return a jury drawn from a population: counts of each crossed group, or margins of each attribute.

    Raises
    ------
    InvalidInput
        A table that does not match the groups of the model.
    """
    check_jury_size(n_seats)
    if not model.axes:
        raise InvalidInput("The model has no groups, so that a census changes nothing. Train one with --by AXIS.")
    if crossed := [axis for axis in model.axes if CROSS in axis]:
        raise InvalidInput(
            f"The model has the crossed axes {format_list(crossed)}, and a census has one column for each attribute. "
            "Train the model with --by for each attribute instead."
        )
    known = _find_known(model)
    if not known.any():
        raise InvalidInput("No rater in training belongs to a known group of every axis. Train with fewer axes.")
    counts = read_population(label, census, _rater_population(model, known))
    names = list(model.axes.values())
    rows = [
        np.concatenate([np.arange(len(groups)) == code for groups, code in zip(names, key, strict=True)])
        for key in counts
    ]
    total = np.array(list(counts.values()))
    weights = np.concatenate([np.zeros(len(model.cells)), total / total.sum()])
    return Jury(
        name=f"{n_seats} × {label}",
        cells=np.concatenate([model.cells, np.array(rows, np.bool_)]),
        seats=np.repeat(weights[None], n_seats, axis=0),
    )


def _find_known(model: JuryModel) -> BoolArray:
    """Return a mask of the crossed groups of raters with a known group on every axis."""
    return np.asarray(model.cells.sum(axis=1) == len(model.axes))


def _rater_population(model: JuryModel, known: BoolArray) -> RaterPopulation:
    codes, begin = {}, 0
    for axis, names in model.axes.items():
        codes[axis] = model.cells[known, begin : begin + len(names)].argmax(axis=1).astype(np.int32)
        begin += len(names)
    return RaterPopulation(levels=model.axes, codes=codes, n_raters=model.n_raters[known])
