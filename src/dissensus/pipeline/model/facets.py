"""Raters and items as the facets of a generalizability study: variances of a model by facet."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dissensus.pipeline.model.columns import Owner
from dissensus.pipeline.model.contrasts import first_rows, fold_codes
from dissensus.pipeline.model.design import IDS, NamedDesign
from dissensus.pipeline.model.prediction import Places, RaterCells, code_fixed, code_random, find_cells
from dissensus.schema.ratings.columns import ITEM_ID, RATER_ID
from dissensus.stats.multilevel.fit import ERROR_SDS, OrdinalFit
from dissensus.stats.multilevel.posterior import PosteriorDraws
from dissensus.stats.multilevel.variance import (
    CrossedVariance,
    mean_over_raters,
    second_moment,
    split_fixed,
    split_random,
)
from dissensus.stats.result import FloatArray, Int64Array

MOST_PLACES: Final = 200_000
"""Most pairs of a crossed group of raters and a profile of items; with more, some profiles stand for all."""


@dataclass(frozen=True, slots=True, eq=False)
class VarianceDraws:
    """Coefficients and covariances of random effects in each draw; the first are the estimates."""

    coefficients: FloatArray
    covariances: tuple[FloatArray, ...]
    residual: float

    @classmethod
    def from_fit(cls, fit: OrdinalFit, draws: PosteriorDraws) -> "VarianceDraws":
        """Return the estimates, then the draws."""
        return cls(
            np.vstack([fit.coefficients, draws.coefficients]),
            tuple(
                np.concatenate([term.covariance[None], np.einsum("sij,skj->sik", factor, factor)])
                for term, factor in zip(fit.random, draws.factors, strict=True)
            ),
            ERROR_SDS[fit.link] ** 2,
        )

    def expect(self, parts: Sequence[CrossedVariance]) -> list[CrossedVariance]:
        """Return the variances of fixed effects and of each random term, given their matrices."""
        fixed = np.einsum("si,sj->sij", self.coefficients, self.coefficients)
        sizes = [len(part.item) for part in parts[1:]]
        random = [matrix[:, :n, :n] for matrix, n in zip(self.covariances, sizes, strict=True)]
        return [part.expect(matrix) for part, matrix in zip(parts, [fixed, *random], strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class ModelFacets:
    """Covariates of a model at crossed raters and items: those of fixed effects, then of each random term.

    `values` have shape (cells of raters, profiles of items, covariates).
    """

    named: NamedDesign
    cells: RaterCells
    values: tuple[FloatArray, ...]
    item_weights: FloatArray

    @classmethod
    def from_design(cls, named: NamedDesign) -> "ModelFacets":
        """Cross all raters with all items, each of the same weight."""
        cells = find_cells(named)
        first, weights = _find_profiles(named, max(1, MOST_PLACES // len(cells)))
        places = Places(cells, first)
        shape = (len(cells), len(first), -1)
        random = [code_random(named, number, places) for number in range(len(named.design.random))]
        return cls(
            named,
            cells,
            tuple(
                np.ascontiguousarray(x).reshape(*shape[:2], x.shape[1]) for x in (code_fixed(named, places), *random)
            ),
            weights,
        )

    def rater_weights(self, axis: str | None = None, level: int = 0) -> FloatArray:
        """Return the weights of cells: of all raters, or of those of one level."""
        counts = self.cells.n_raters if axis is None else self.cells.n_raters * (self.cells.codes[axis] == level)
        return np.asarray(counts / counts.sum(), float)

    def split(self, raters: FloatArray) -> list[CrossedVariance]:
        """Return the matrices of each term's variance among raters with these weights."""
        fixed = split_fixed(self.values[0], raters, self.item_weights)
        random = [
            split_random(
                values,
                raters,
                self.item_weights,
                rater_share=self._rater_share(number, raters),
                item_share=self._item_share(number),
            )
            for number, values in enumerate(self.values[1:])
        ]
        return [fixed, *random]

    def split_difference(self, first: FloatArray, second: FloatArray) -> list[CrossedVariance]:
        """Return the matrices of the variance of a difference of two groups' answers, by one rater of each."""
        parts = [a + b for a, b in zip(self.split(first), self.split(second), strict=True)]
        for number, values in enumerate(self.values):
            if number and self._names(number - 1, "rater"):
                continue
            difference = mean_over_raters(values, first) - mean_over_raters(values, second)
            if not number:
                difference = difference - self.item_weights @ difference
            parts[number] = replace(parts[number], item=second_moment(difference, self.item_weights))
        return parts

    def divided_axes(self) -> tuple[str, ...]:
        """Return the factors of raters whose levels have effects on each item."""
        columns = self.named.rows.columns
        names = [
            name
            for source in self.named.formula.random
            if ITEM_ID in source.group
            for name in dict.fromkeys([*(name for term in source.terms for name in term), *source.group])
        ]
        return tuple(
            dict.fromkeys(
                name
                for name in names
                if columns[name].owner == "rater" and columns[name].is_factor and name != RATER_ID
            )
        )

    def count_ratings(self, axis: str) -> Int64Array:
        """Return the number of ratings of each item by raters of each level."""
        rows, n_levels = self.named.rows, len(self.named.rows.columns[axis].levels)
        place = rows.item.astype(np.int64) * n_levels + rows.codes(axis)
        return np.bincount(place, minlength=(int(rows.item.max()) + 1) * n_levels).reshape(-1, n_levels)

    def _names(self, number: int, owner: Owner) -> list[str]:
        """Return the columns of one owner among the groups of a term; covariates stand for a crossed factor."""
        source, columns = self.named.formula.random[number], self.named.rows.columns
        is_split = not source.terms and self.named.design.random[number].covariates is not None
        group = [name for name in source.group if name in IDS] if is_split else source.group
        return [name for name in group if columns[name].owner == owner]

    def _rater_share(self, number: int, raters: FloatArray) -> float:
        names = self._names(number, "rater")
        if RATER_ID in names:
            return 1.0
        codes = [(self.cells.codes[name], len(self.named.rows.columns[name].levels)) for name in names]
        group, n_groups = fold_codes(codes, len(self.cells))
        return 1.0 - float((np.bincount(group, raters, n_groups) ** 2).sum())

    def _item_share(self, number: int) -> float:
        columns, names = self.named.rows.columns, self._names(number, "item")
        if not names:
            return 0.0
        if ITEM_ID in names or not self._names(number, "rater"):
            return 1.0
        items = np.unique(self.named.rows.item)
        codes = [(columns[name].codes[items], len(columns[name].levels)) for name in names]
        group, n_groups = fold_codes(codes, len(items))
        return 1.0 - float(((np.bincount(group, minlength=n_groups) / len(items)) ** 2).sum())


def _find_profiles(named: NamedDesign, most: int) -> tuple[Int64Array, FloatArray]:
    """Return an item of each profile, a combination of item attributes in the model, and the profiles' shares of items.

    Of more than `most` profiles, as many at equal distances in their order are taken.
    """
    items = np.unique(named.rows.item).astype(np.int64)
    columns = [column for name, column in named.rows.columns.items() if column.owner == "item" and name != ITEM_ID]
    profile, n = fold_codes([(column.codes[items], len(column.levels)) for column in columns], len(items))
    first, counts = first_rows(profile, n), np.bincount(profile, minlength=n)
    if n > most:
        sample = np.linspace(0, n - 1, most).round().astype(np.int64)
        first, counts = first[sample], counts[sample]
    return items[first], counts / counts.sum()


def summarise(values: FloatArray, confidence: float) -> tuple[float, float, float]:
    """Return the estimate, which is the first value, and the central interval of the draws after it."""
    low, high = np.quantile(values[1:], [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    return float(values[0]), low, high
