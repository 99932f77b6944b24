"""Coverage of the intervals of gold against crowd, by simulation."""

from collections.abc import Iterator
from itertools import count

import numpy as np
from numpy.typing import NDArray

from dissensus.pipeline.aggregate.gold_intervals import TIED, LabelledAnswers, compute_gold_intervals

Floats = NDArray[np.float64]


def draw_labelled_answers(
    rng: np.random.Generator, n_raters: int, n_items: int, *, rated: float = 1.0, cut: float = 0.3
) -> LabelledAnswers:
    """Draw binary answers of raters and experts with normal effects of items and raters."""
    latent = 1.2 * rng.normal(size=n_items)
    own = latent + 0.6 * rng.normal(size=(n_raters, 1)) + rng.normal(size=(n_raters, n_items))
    raters, items = np.nonzero(rng.random(own.shape) < rated)
    return LabelledAnswers(
        items=items.astype(np.int32),
        raters=raters.astype(np.int32),
        answers=(own[raters, items] > cut).astype(np.int32),
        n_items=n_items,
        n_raters=n_raters,
        n_categories=2,
        unsafe=np.array([False, True]),
        gold=latent + 0.5 * rng.normal(size=n_items) > 0,
        tie=TIED,
    )


def simulate_gold_misses(
    n_raters: int, n_items: int, *, rated: float = 1.0, replicates: int = 199, seed: int = 1
) -> Iterator[Floats]:
    """Yield how many intervals of disagreement and alpha missed so far, in ever more pools.

    The estimands are the means of 1,500 pools. Ten sets of resamples, which analyses keep, serve the pools in turn.
    """
    everybody, every_item = np.zeros(n_raters, np.int32), np.ones(n_items, dtype=np.bool_)
    truth_rng, rng = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])

    def estimate(data: LabelledAnswers) -> Floats:
        values: Floats = data.compare(data.label(0, everybody), every_item[None])[0]
        return values

    truth = np.nanmean(
        [estimate(draw_labelled_answers(truth_rng, n_raters, n_items, rated=rated)) for _ in range(1_500)], 0
    )
    misses = np.zeros(2)
    for simulation in count():
        data = draw_labelled_answers(rng, n_raters, n_items, rated=rated)
        (ends,) = compute_gold_intervals(
            data, everybody, [(0, every_item)], replicates=replicates, confidence=0.95, seed=simulation % 10
        )
        misses += ~((ends[0] <= truth) & (truth <= ends[1]))
        yield misses.copy()
