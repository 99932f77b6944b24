"""Simulated ratings of a small balanced pool."""

from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.pipeline.simulate.latent import SCALE, code_answers, compute_latent
from dissensus.schema.numbers import check_number, check_share, check_whole
from dissensus.schema.ratings.table import Ratings

AXES = {
    "rater_gender": ("Man", "Woman"),
    "rater_age": ("18-29", "30-49", "50+"),
}
# Cut points that give about the shares of answers in DICES-350: .61 No, .06 Unsure, .33 Yes.
CUTS = np.array([0.28, 0.44])


def simulate_ratings(
    *,
    n_items: int = 350,
    raters_per_cell: int = 17,
    item_sd: float = 0.75,
    rater_sd: float = 0.65,
    group_sd: float = 0.0,
    share_rated: float = 1.0,
    seed: int = 0,
) -> Ratings:
    r"""Draw ratings of a pool that is balanced over gender and age.

    A cumulative probit with crossed effects:

    .. math:: y_{ri} = \#\{c : \eta_{ri} > c\,\sigma\}, \qquad
              \eta_{ri} = u_r + v_i + w_{g(r) i} + \varepsilon_{ri}

    with normal rater effects u, item effects v, group by item effects w and noise, and :math:`\sigma` the standard
    deviation of :math:`\eta`.

    Parameters
    ----------
    n_items
        I.
    raters_per_cell
        Raters in each of the six cells of gender × age.
    item_sd, rater_sd
        Standard deviations of item and rater effects; the noise has 1.
    group_sd
        Standard deviation of the age group by item effects; 0 for no difference.
    share_rated
        Probability that a rater rates an item.
    seed
        The same seed gives the same ratings.

    Returns
    -------
    Ratings
        Answers to `Q_overall` on No, Unsure, Yes; axes `rater_gender` and `rater_age`.

    Raises
    ------
    InvalidInput
        A size below 1, a seed or standard deviation below 0, or a share outside 0 to 1 or without a rating.

    Examples
    --------
    >>> simulate_ratings(n_items=40, raters_per_cell=6, seed=1)
    Ratings(1,440 ratings of 40 items by 36 raters; questions: Q_overall; axes: rater_gender, rater_age)
    """
    check_whole("n_items", n_items, 1)
    check_whole("raters_per_cell", raters_per_cell, 1)
    check_whole("seed", seed)
    for name, sd in (("item_sd", item_sd), ("rater_sd", rater_sd), ("group_sd", group_sd)):
        check_number(name, sd, 0)
    check_share("share_rated", share_rated)
    rng = np.random.default_rng(seed)
    cells = [cell for cell in product(*AXES.values()) for _ in range(raters_per_cell)]
    age = np.array([AXES["rater_age"].index(cell[1]) for cell in cells])
    answers = draw_answers(rng, age, n_items, item_sd=item_sd, rater_sd=rater_sd, group_sd=group_sd)
    rater, item = np.nonzero(rng.random(answers.shape) < share_rated)
    if rater.size == 0:
        raise InvalidInput(f"With share_rated {share_rated} there are no ratings; raise it.")
    width = len(str(max(n_items, len(cells))))
    frame = pl.DataFrame(
        {
            "item_id": [f"item-{i + 1:0{width}}" for i in item],
            "rater_id": [f"rater-{r + 1:0{width}}" for r in rater],
            **{axis: [cells[r][a] for r in rater] for a, axis in enumerate(AXES)},
            "Q_overall": [SCALE[k] for k in answers[rater, item]],
        }
    )
    return Ratings.from_frame(frame)


def draw_answers(
    rng: np.random.Generator,
    group: NDArray[np.integer],
    n_items: int,
    *,
    item_sd: float = 0.75,
    rater_sd: float = 0.65,
    group_sd: float = 0.0,
    cuts: NDArray[np.float64] = CUTS,
) -> NDArray[np.int16]:
    """Return answer codes, shape (R, I), for raters of the given groups; see `simulate_ratings`."""
    of_rater = rng.normal(0, rater_sd, group.size)
    of_item = rng.normal(0, item_sd, n_items)
    of_group = rng.normal(0, group_sd, (int(group.max()) + 1, n_items))
    rater, item = np.arange(group.size)[:, None], np.arange(n_items)
    latent = compute_latent(of_rater, of_item, [(group, of_group)], rater, item) + rng.normal(
        size=(group.size, n_items)
    )
    sigma = np.sqrt(1 + item_sd**2 + rater_sd**2 + group_sd**2)
    return code_answers(latent, cuts * sigma)
