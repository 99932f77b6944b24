"""Balanced assignment of items to raters, and answers drawn from the multilevel model."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dissensus.stats.planning.contrast_power import ContrastDesign
from dissensus.stats.planning.rating_model import RatingModel
from dissensus.stats.result import BoolArray, Int64Array

_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, eq=False)
class BalancedAssignment:
    """Item and rater of each rating, shape (N,); raters are numbered by cell.

    Parameters
    ----------
    item, rater
        Codes of the rating's item and rater.
    cell
        Cell of each rater, shape (R,).
    """

    item: Int64Array
    rater: Int64Array
    cell: Int64Array


def draw_assignment(rng: np.random.Generator, design: ContrastDesign) -> BalancedAssignment:
    """Draw raters for each item: of every cell those with the fewest items so far, ties at random.

    Examples
    --------
    >>> from dissensus.stats.planning.contrast_power import DesignCell
    >>> cells = (DesignCell(share=0.5, n_raters=4, per_item=2, weight=1), )
    >>> drawn = draw_assignment(np.random.default_rng(0), ContrastDesign(cells, 6))
    >>> np.bincount(drawn.rater).tolist(), np.bincount(drawn.item).tolist()
    ([3, 3, 3, 3], [2, 2, 2, 2, 2, 2])
    """
    items, raters, first = [], [], 0
    for cell in design.cells:
        if cell.per_item == cell.n_raters:
            codes = np.tile(np.arange(cell.n_raters), (design.n_items, 1))
        else:
            codes = _draw_least_loaded(rng, design.n_items, cell.n_raters, cell.per_item)
        items.append(np.repeat(np.arange(design.n_items), cell.per_item))
        raters.append(first + codes.ravel())
        first += cell.n_raters
    cell_codes = np.repeat(np.arange(len(design.cells)), [cell.n_raters for cell in design.cells])
    return BalancedAssignment(np.concatenate(items), np.concatenate(raters), cell_codes)


def _draw_least_loaded(rng: np.random.Generator, n_items: int, n_raters: int, per_item: int) -> Int64Array:
    load = np.zeros(n_raters)
    codes = np.empty((n_items, per_item), np.int64)
    for row, tie in zip(codes, rng.random((n_items, n_raters)), strict=True):
        row[:] = np.argpartition(load + tie, per_item - 1)[:per_item]
        load[row] += 1
    return codes


def draw_model_answers(
    rng: np.random.Generator, model: RatingModel, design: ContrastDesign, assignment: BalancedAssignment
) -> BoolArray:
    """Draw raters and items of a population, and their answers, shape (N,): True for the answer of the model."""
    cells, n_items = design.cells, design.n_items
    centre = np.array([_NORMAL.inv_cdf(cell.share) * model.total_sd(cell.loading) for cell in cells])
    of_item = model.item_sd * rng.standard_normal(n_items)
    of_cell = centre[:, None] + np.outer([cell.loading for cell in cells], of_item)
    if model.group_item_sd:
        of_cell = of_cell + model.group_item_sd * rng.standard_normal(of_cell.shape)
    of_rater = model.rater_sd * rng.standard_normal(assignment.cell.size)
    latent = of_cell[assignment.cell[assignment.rater], assignment.item] + of_rater[assignment.rater]
    return np.asarray(rng.standard_normal(latent.size) < latent)
