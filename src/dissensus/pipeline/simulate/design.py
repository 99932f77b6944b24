"""Assignment design of a simulation: raters × items, in order."""

import numpy as np

from dissensus.pipeline.simulate.latent import deal_values
from dissensus.stats.result import Int64Array

Pairs = tuple[Int64Array, Int64Array]


def draw_design(
    rng: np.random.Generator, n_items: int, cell: Int64Array, per_item: float | None, dropout: float
) -> Pairs:
    """Draw the rater and the item of every rating, sorted by rater, items in random order."""
    if per_item is None:
        rater = np.repeat(np.arange(cell.size), n_items)
        item = rng.permuted(np.tile(np.arange(n_items), (cell.size, 1)), axis=1).ravel()
    else:
        rater, item = draw_balanced(rng, n_items, cell, round(per_item * n_items))
    return _drop_raters_out(rng, rater, item, dropout) if dropout else (rater, item)


def draw_balanced(rng: np.random.Generator, n_items: int, cell: Int64Array, n_ratings: int) -> Pairs:
    """Spread ratings evenly over items and, within each item, over cells in proportion to their raters.

    The numbers of ratings of two items, and of two raters of one cell, differ by at most one; the number that an item
    gets from a cell differs from the exact share by less than one.
    """
    sizes = deal_values(rng, np.ones(n_items).tolist(), n_ratings)
    replication = np.bincount(sizes, minlength=n_items)
    edges = np.concatenate([[0], np.cumsum(np.bincount(cell))])
    load = np.zeros(cell.size, dtype=np.int64)
    chosen = []
    for n in replication:
        # systematic sampling: whole numbers next to the exact shares of cells, with sum n
        quota = np.diff(np.floor(edges * n / cell.size + rng.random()).astype(np.int64))
        order = np.lexsort((rng.random(cell.size), load, cell))
        rank = np.arange(cell.size) - edges[cell[order]]
        raters = order[rank < quota[cell[order]]]
        load[raters] += 1
        chosen.append(raters)
    rater = np.concatenate(chosen)
    item = np.repeat(np.arange(n_items), replication)
    order = np.lexsort((rng.random(rater.size), rater))
    return rater[order], item[order]


def index_ratings(rater: Int64Array) -> Int64Array:
    """Return the zero-based index of each rating among those of its rater."""
    begins = np.flatnonzero(np.diff(rater, prepend=-1))
    return np.arange(rater.size) - np.repeat(begins, np.diff(begins, append=rater.size))


def _drop_raters_out(rng: np.random.Generator, rater: Int64Array, item: Int64Array, share: float) -> Pairs:
    """Let a share of the raters stop after at least one rating and before the last."""
    starters, n_ratings = np.unique(rater, return_counts=True)
    stops = np.zeros(rater.max() + 1, dtype=np.int64)
    stops[starters] = n_ratings
    quitters = rng.choice(starters, round(share * starters.size), replace=False)
    stops[quitters] = np.ceil(rng.random(quitters.size) * (stops[quitters] - 1)).clip(1)
    remains = index_ratings(rater) < stops[rater]
    return rater[remains], item[remains]
