"""Shares of answers that a model predicts for cells of a population, on the items of the table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.pipeline.model.contrasts import EffectName, code_terms
from dissensus.pipeline.model.design import IDS, NamedDesign
from dissensus.schema.formula import GroupTerm, Term
from dissensus.schema.ratings.columns import RATER_ID
from dissensus.stats.multilevel.design import RandomTerm
from dissensus.stats.multilevel.fit import LINKS, Link
from dissensus.stats.multilevel.posterior import PosteriorDraws
from dissensus.stats.multilevel.prediction import RaterVariation, predict_shares
from dissensus.stats.result import BoolArray, FloatArray, Int32Array, Int64Array

MOST_AT_ONCE: Final = 2_000_000
"""Largest number of predictions at once: of draws, cells and items."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RaterCells:
    """Crossed groups of raters.

    `codes` has the level of each cell in each column, and `n_raters` the number of raters in it, 0 for cells of a
    population that no rater belongs to.
    """

    codes: Mapping[str, Int32Array]
    n_raters: Int64Array

    def __len__(self) -> int:
        return len(self.n_raters)


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Cells crossed with items, in this order: the place of each in the columns of the model."""

    cells: RaterCells
    items: Int64Array

    def codes(self, named: NamedDesign, name: str) -> Int32Array:
        """Return the code in a column at each place."""
        column = named.rows.columns[name]
        if column.owner == "rater":
            return np.repeat(self.cells.codes[name], len(self.items))
        return np.tile(column.codes[self.items], len(self.cells))

    def __len__(self) -> int:
        return len(self.cells) * len(self.items)


def rater_columns(named: NamedDesign) -> tuple[str, ...]:
    """Return the attributes of raters in a model, in the order of its formula."""
    columns = named.rows.columns
    return tuple(name for name in columns if columns[name].owner == "rater" and name != RATER_ID)


def find_cells(named: NamedDesign) -> RaterCells:
    """Return the crossed groups that the raters of a model belong to."""
    raters = np.unique(named.rows.rater)
    names = rater_columns(named)
    codes = np.array([named.rows.columns[name].codes[raters] for name in names], np.int32).reshape(
        len(names), len(raters)
    )
    cells, counts = np.unique(codes, axis=1, return_counts=True)
    return RaterCells(codes=dict(zip(names, cells, strict=True)), n_raters=counts)


def predict_items(
    named: NamedDesign, draws: PosteriorDraws, cells: RaterCells, items: Int64Array, *, link: Link
) -> Iterator[tuple[Int64Array, FloatArray]]:
    """Yield predicted shares for some items at a time: the items, and shares by draw, cell, item and answer."""
    size = max(1, MOST_AT_ONCE // (len(draws.thresholds) * len(cells)))
    for start in range(0, len(items), size):
        block = items[start : start + size]
        shares = _predict(named, draws, Places(cells, block), link)
        yield block, shares.reshape(len(draws.thresholds), len(cells), len(block), -1)


def _predict(named: NamedDesign, draws: PosteriorDraws, places: Places, link: Link) -> FloatArray:
    """Return the predicted shares by draw, place and answer."""
    location, variation = locate(named, draws, places)
    return predict_shares(location, draws.thresholds, variation, link=LINKS[link])


def locate(named: NamedDesign, draws: PosteriorDraws, places: Places) -> tuple[FloatArray, RaterVariation]:
    """Return the location at each place in each draw, without effects of raters, and the variation of these."""
    location = draws.coefficients @ code_fixed(named, places).T
    variance = np.zeros_like(location)
    width_sds = width_covariances = None
    terms = zip(named.design.random, named.formula.random, draws.factors, draws.effects, strict=True)
    for number, (term, source, factor, effects) in enumerate(terms):
        values = code_random(named, number, places)
        covariance = np.einsum("sij,skj->sik", factor, factor)
        n = term.n_location
        groups = _find_groups(named, term, source, places)
        known, unknown = _select(groups >= 0), _select(groups < 0)
        for effect in range(n):
            location[:, known] += values[known, effect] * effects[:, groups[known], effect]
        variance[:, unknown] += _spread(values[unknown], covariance[:, :n, :n])
        if term.width:
            width_sds, width_covariances = np.sqrt(covariance[:, n, n]), covariance[:, n, 0]
    return location, RaterVariation(variance=variance, width_sds=width_sds, width_covariances=width_covariances)


def code_fixed(named: NamedDesign, places: Places) -> FloatArray:
    """Return the fixed covariates at each place."""
    return _code(named, named.formula.terms, places, named.effects, intercept=True)


def code_random(named: NamedDesign, number: int, places: Places) -> FloatArray:
    """Return the covariates of a random term, by its number, at each place."""
    term, source = named.design.random[number], named.formula.random[number]
    if term.covariates is None:
        return np.ones((len(places), 1))
    if not source.terms:
        code = places.codes(named, crossed_factor(source))
        return np.asarray(code[:, None] == np.arange(term.n_location), np.float64)
    return _code(named, source.terms, places, named.random[number][: term.n_location], intercept=source.intercept)


def _select(mask: BoolArray) -> Int64Array | slice:
    """Return an index of the places in a mask, a slice if it has all, so that no copy is made."""
    return slice(None) if mask.all() else np.flatnonzero(mask)


def _spread(values: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the variance of products of covariates and effects, by draw and place."""
    distinct, row = np.unique(values, axis=0, return_inverse=True)
    return np.asarray(np.einsum("qi,sij,qj->sq", distinct, covariance, distinct)[:, row.ravel()])


def _code(
    named: NamedDesign,
    terms: Sequence[Term],
    places: Places,
    names: Sequence[tuple[str, str | None]],
    *,
    intercept: bool,
) -> FloatArray:
    """Return the columns of a design at each place, those that the model has."""
    columns = {name for term in terms for name in term}
    codes = {name: places.codes(named, name) for name in columns}
    coding = code_terms(terms, named.rows.columns, codes, len(places), intercept=intercept)
    position = {name: index for index, name in enumerate(coding.names)}
    selected = np.array([position[EffectName(*name)] for name in names], np.int64)
    return np.ascontiguousarray(coding.values[:, selected])


def _find_groups(named: NamedDesign, term: RandomTerm, source: GroupTerm, places: Places) -> Int64Array:
    """Return the group of a random term at each place: -1 for new raters, and for groups without ratings."""
    names = [name for name in source.group if term.structure == "full" or name != crossed_factor(source)]
    if RATER_ID in names:
        return np.full(len(places), -1)
    of_ratings = np.zeros(len(named.rows.rater), np.int64)
    of_places = np.zeros(len(places), np.int64)
    for name in names:
        n_levels = len(named.rows.columns[name].levels)
        of_ratings = of_ratings * n_levels + named.rows.codes(name)
        of_places = of_places * n_levels + places.codes(named, name)
    # Most combinations of many levels do not occur, and an entry for each could exceed memory.
    codes, first = np.unique(of_ratings, return_index=True)
    position = np.minimum(np.searchsorted(codes, of_places), len(codes) - 1)
    return np.where(codes[position] == of_places, term.groups[first[position]], -1)


def crossed_factor(source: GroupTerm) -> str:
    """Return the factor of `(1 | factor:ids)`, whose levels have effects of their own on each item or rater."""
    (factor,) = (name for name in source.group if name not in IDS)
    return factor
