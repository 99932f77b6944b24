"""Design of a multilevel model: answers, covariates, and random effects."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.stats.multilevel.kernels import LOCATION, WIDTH, RatingArrays
from dissensus.stats.result import FloatArray, IntArray

Structure = Literal["full", "identity"]
MOST_CATEGORIES: Final = 127
"""Largest number of categories, which kernels hold in 8 bits."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Covariates:
    """Covariates of ratings, with equal rows stored once.

    Parameters
    ----------
    values
        Distinct rows of covariates, shape (M, P).
    row
        Row of each rating, shape (N,).

    Examples
    --------
    >>> import numpy as np
    >>> Covariates.from_matrix(np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 1.0]])).row
    array([0, 1, 0], dtype=int32)
    """

    values: FloatArray
    row: IntArray

    @classmethod
    def from_matrix(cls, matrix: FloatArray) -> "Covariates":
        """Find the distinct rows of a matrix with a row for each rating, shape (N, P)."""
        values, row = np.unique(np.asarray(matrix, float), axis=0, return_inverse=True)
        return cls(values=values, row=row.ravel().astype(np.int32))

    @classmethod
    def intercept(cls, n: int) -> "Covariates":
        """Return a column of ones for `n` ratings."""
        return cls(values=np.ones((1, 1)), row=np.zeros(n, np.int32))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RandomTerm:
    """Random effects of one grouping factor, normal with mean zero.

    Parameters
    ----------
    name
        Name of the term, for messages and results.
    groups
        Group of each rating, numbers from 0 to `n_groups` - 1, shape (N,).
    n_groups
        Number of groups.
    covariates
        Covariates that multiply the effects, D columns; None for a single intercept.
    width
        Add to each group an effect on the logarithm of the width: the distances between thresholds of this group's
        ratings. It is the last effect of the group.
    structure
        Covariance of the effects of a group: "full", or "identity" for independent effects with equal variance.
    """

    name: str
    groups: IntArray
    n_groups: int
    covariates: Covariates | None = None
    width: bool = False
    structure: Structure = "full"

    @property
    def n_location(self) -> int:
        """Number of effects of a group on the location."""
        return 1 if self.covariates is None else self.covariates.values.shape[1]

    @property
    def size(self) -> int:
        """Number of effects of a group."""
        return self.n_location + self.width


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelDesign:
    """Ordered answers with the covariates and random effects that explain them.

    Parameters
    ----------
    answers
        Category of each rating, numbers from 0 to `n_categories` - 1 in ascending order, shape (N,).
    n_categories
        Number of categories, from two to `MOST_CATEGORIES`.
    fixed
        Covariates with fixed effects, without an intercept, which the thresholds take.
    random
        Random terms, at least one.
    """

    answers: IntArray
    n_categories: int
    fixed: Covariates
    random: tuple[RandomTerm, ...]

    def __post_init__(self) -> None:
        """Validate shapes and ranges."""
        n = len(self.answers)
        if self.n_categories < 2:
            raise InvalidInput(f"{self.n_categories} categories of answers; a model needs at least two.")
        if self.n_categories > MOST_CATEGORIES:
            raise InvalidInput(
                f"{self.n_categories:,} categories of answers; a model takes at most {MOST_CATEGORIES}. Join some."
            )
        if not self.random:
            raise InvalidInput("The model has no random effects; give at least one, such as those of raters.")
        if n == 0:
            raise InvalidInput("There are no ratings; give at least two.")
        _check_numbers("answers", self.answers, self.n_categories, n)
        _check_numbers("rows of covariates", self.fixed.row, len(self.fixed.values), n)
        for term in self.random:
            _check_numbers(f"groups of {term.name}", term.groups, term.n_groups, n)
            if term.covariates is not None:
                _check_numbers(
                    f"rows of covariates of {term.name}", term.covariates.row, len(term.covariates.values), n
                )
        unused = np.flatnonzero(np.bincount(self.answers, minlength=self.n_categories) == 0)
        if unused.size:
            raise InvalidInput(
                f"No rating has the answer number {unused[0]}, so its threshold is not determined; "
                "leave out categories without answers."
            )
        if self.n_categories == 2 and any(term.width for term in self.random):
            raise InvalidInput("Widths need three or more categories; with two there is one threshold and no width.")


def _check_numbers(name: str, numbers: IntArray, end: int, n: int) -> None:
    if numbers.shape != (n,):
        raise InvalidInput(f"The {name} have shape {numbers.shape}; give one number for each of the {n} ratings.")
    if numbers.min() < 0 or numbers.max() >= end:
        raise InvalidInput(
            f"The {name} have values from {numbers.min()} to {numbers.max()}; numbers from 0 to {end - 1} are allowed."
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelLayout:
    """Arrays of a design as the kernels take them.

    `inner` are the terms of the grouping factor with the most groups, which are eliminated group by group, `outer` the
    others; both are places in the design's tuple of terms. `outer_parts` has the outer effects of each outer term and
    the number of effects of a group, `first_slots` the first slot of each slot's term. `covariates` has the fixed
    covariates of each profile.
    """

    ratings: RatingArrays
    covariates: FloatArray
    inner: tuple[int, ...]
    outer: tuple[int, ...]
    outer_parts: tuple[tuple[slice, int], ...]
    first_slots: IntArray
    n_outer: int
    has_width: bool

    @property
    def n_groups(self) -> int:
        """Number of inner groups."""
        return len(self.ratings.start) - 1

    @classmethod
    def from_design(cls, design: ModelDesign) -> "ModelLayout":
        """Sort the ratings by inner group, and number their profiles and outer effects."""
        terms = design.random
        inner = _choose_inner(terms)
        outer = tuple(j for j in range(len(terms)) if j not in inner)
        groups = terms[inner[0]].groups
        order = np.argsort(groups, kind="stable")
        start = np.zeros(terms[inner[0]].n_groups + 1, np.int64)
        np.cumsum(np.bincount(groups, minlength=len(start) - 1), out=start[1:])
        profile, first = _number_profiles(design)
        sizes = [terms[j].size * terms[j].n_groups for j in outer]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        places = np.empty((len(order), sum(terms[j].size for j in outer)), np.int32)
        slot = 0
        for offset, term in zip(offsets[:-1], (terms[j] for j in outer), strict=True):
            first_effect = offset + term.size * term.groups[order].astype(np.int64)
            for effect in range(term.size):
                places[:, slot] = first_effect + effect
                slot += 1
        effects = [effect for j in outer for effect in range(terms[j].size)]
        kinds = [kind for j in outer for kind in [LOCATION] * terms[j].n_location + [WIDTH] * terms[j].width]
        return cls(
            ratings=RatingArrays(
                start=start,
                answers=np.ascontiguousarray(design.answers[order], np.int8),
                profile=np.ascontiguousarray(profile[order], np.int32),
                places=places,
                kinds=np.array(kinds, np.int64),
                values=_coefficients([terms[j] for j in outer], first),
                inner=_coefficients([terms[j] for j in inner], first),
            ),
            covariates=np.ascontiguousarray(design.fixed.values[design.fixed.row[first]], float),
            inner=inner,
            outer=outer,
            outer_parts=tuple(
                (slice(int(a), int(b)), terms[j].size) for j, (a, b) in zip(outer, pairwise(offsets), strict=True)
            ),
            first_slots=np.array([slot - effect for slot, effect in enumerate(effects)], np.int64),
            n_outer=int(offsets[-1]),
            has_width=any(term.width for term in terms),
        )


def _choose_inner(terms: Sequence[RandomTerm]) -> tuple[int, ...]:
    """Choose the terms of the factor with the most groups; terms with widths are always outer."""
    allowed = [j for j, term in enumerate(terms) if not any(t.width for t in terms if _same_factor(t, term))]
    if not allowed:
        raise InvalidInput("All random effects are of a factor with widths; add those of another, such as items.")
    best = max(allowed, key=lambda j: (terms[j].n_groups, -j))
    return tuple(j for j in allowed if _same_factor(terms[j], terms[best]))


def _same_factor(term: RandomTerm, other: RandomTerm) -> bool:
    return term.n_groups == other.n_groups and np.array_equal(term.groups, other.groups)


def _number_profiles(design: ModelDesign) -> tuple[IntArray, IntArray]:
    """Return the number of the combination of covariates of each rating, and a rating of each combination."""
    number, first = _compress(design.fixed.row)
    for term in design.random:
        if term.covariates is not None:
            number, first = _compress(number.astype(np.int64) * len(term.covariates.values) + term.covariates.row)
    return number, first


def _compress(numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Return numbers of the values that occur, in their order, and a place of each."""
    end = int(numbers.max()) + 1
    if end > max(1_000_000, 4 * numbers.size):
        _, first, compressed = np.unique(numbers, return_index=True, return_inverse=True)
        return compressed.ravel(), first
    place = np.full(end, -1, np.int64)
    place[numbers] = np.arange(numbers.size)
    occurs = place >= 0
    return (np.cumsum(occurs) - 1).astype(np.int32)[numbers], place[occurs]


def _coefficients(terms: Sequence[RandomTerm], ratings: IntArray) -> FloatArray:
    """Return the coefficients of the effects of `terms` for some ratings, side by side."""
    columns = []
    for term in terms:
        if term.covariates is None:
            columns.append(np.ones((len(ratings), 1)))
        else:
            columns.append(term.covariates.values[term.covariates.row[ratings]])
        if term.width:
            columns.append(np.ones((len(ratings), 1)))
    return np.ascontiguousarray(np.column_stack(columns) if columns else np.empty((len(ratings), 0)), float)
