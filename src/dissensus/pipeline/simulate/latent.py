"""Latent model of all simulations: cumulative probit with crossed rater, item and group effects."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

SCALE = ("No", "Unsure", "Yes")
# Cut points that give about the shares of answers in DICES-350: .61 No, .06 Unsure, .33 Yes.
CUTS = np.array([0.28, 0.44])


def draw_answers(
    rng: np.random.Generator,
    group: NDArray[np.integer],
    n_items: int,
    *,
    item_sd: float = 0.75,
    rater_sd: float = 0.65,
    group_sd: float = 0.0,
) -> NDArray[np.int16]:
    """Return answer codes, shape (R, I), for raters of the given groups; see `simulate_ratings`."""
    of_rater = rng.normal(0, rater_sd, group.size)
    of_item = rng.normal(0, item_sd, n_items)
    of_group = rng.normal(0, group_sd, (int(group.max()) + 1, n_items))
    rater, item = np.arange(group.size)[:, None], np.arange(n_items)
    seen = compute_latent(of_rater, of_item, [(group, of_group)], rater, item) + rng.normal(size=(group.size, n_items))
    sigma = np.sqrt(1 + item_sd**2 + rater_sd**2 + group_sd**2)
    return code_answers(seen, CUTS * sigma)


def compute_latent(
    of_rater: Floats,
    of_item: Floats,
    of_groups: Iterable[tuple[NDArray[np.integer], Floats]],
    rater: NDArray[np.integer],
    item: NDArray[np.integer],
) -> Floats:
    """Return how unsafe raters find items before any noise, in the shape of `rater` and `item` together.

    Each of `of_groups` is the group of every rater on one axis, shape (R,), and what its groups see in items, (G, I).
    """
    total: Floats = of_rater[rater] + of_item[item]
    for group, effect in of_groups:
        total = total + effect[group[rater], item]
    return total


def code_answers(seen: Floats, cuts: Floats) -> NDArray[np.int16]:
    """Return how many cuts, on the last axis, lie below what was seen."""
    return np.asarray((seen[..., None] > cuts).sum(axis=-1), dtype=np.int16)


def find_cuts(seen: Floats, width: Floats, unsure: float, yes: float) -> tuple[float, float]:
    """Return a cut and a width that give the shares of Unsure and Yes that are asked for.

    Yes lies above the cut, and Unsure below it by up to the width, which each rating stretches by its own factor.
    """
    cut = float(np.quantile(seen, 1 - yes))
    below = seen <= cut
    distance = (cut - seen[below]) / width[below]
    return cut, float(np.quantile(distance, unsure / (1 - yes)))
