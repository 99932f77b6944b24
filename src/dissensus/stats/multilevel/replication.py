"""New answers of the same raters to the same items, from draws of a multilevel model."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dissensus.stats.multilevel import kernels
from dissensus.stats.multilevel.kernels import PROBIT
from dissensus.stats.multilevel.laplace import LaplaceLikelihood
from dissensus.stats.multilevel.posterior import PosteriorDraws
from dissensus.stats.result import FloatArray


def replicate_answers(
    likelihood: LaplaceLikelihood, draws: PosteriorDraws, n_draws: int, rng: np.random.Generator
) -> Iterator[npt.NDArray[np.int8]]:
    """Draw new answers of all ratings, once for each of the first draws, in the order of the design.

    Posterior predictive replications of the same raters and items (Gelman, Meng & Stern 1996,
    https://www3.stat.sinica.edu.tw/statistica/j6n4/j6n41/j6n41.htm): the latent value of a rating is its location in
    the draw and a new error, and the answer is the interval between thresholds in which it lies.

    Parameters
    ----------
    likelihood
        Likelihood of the fitted model.
    draws
        Draws of its parameters and effects.
    n_draws
        Number of replications, at most that of draws.
    rng
        Source of the errors.

    Yields
    ------
    NDArray
        Category of each rating, numbers from 0, shape (N,).
    """
    place = rating_order(likelihood)
    n = len(place)
    for s in range(n_draws):
        location, width = locate_ratings(likelihood, draws, s)
        latent = location + (rng.standard_normal(n) if likelihood.link == PROBIT else rng.logistic(size=n))
        answers = np.empty(n, np.int8)
        answers[place] = _categorize(latent, width, draws.thresholds[s])
        yield answers


def rating_order(likelihood: LaplaceLikelihood) -> npt.NDArray[np.int64]:
    """Return the rating of the design that stands at each place of the layout."""
    term = likelihood.design.random[likelihood.layout.inner[0]]
    return np.argsort(term.groups, kind="stable")


def locate_ratings(likelihood: LaplaceLikelihood, draws: PosteriorDraws, number: int) -> tuple[FloatArray, FloatArray]:
    """Return location and log width of each rating in one draw, in the order of the layout; no width without widths."""
    layout = likelihood.layout
    u = np.concatenate([np.empty(0), *(draws.effects[j][number].ravel() for j in layout.outer)])
    v = np.column_stack([draws.effects[j][number] for j in layout.inner])
    n = len(layout.ratings.answers)
    location, width = np.empty(n), np.empty(n if layout.has_width else 0)
    fixed = layout.covariates @ draws.coefficients[number]
    kernels.fill_predictors(layout.ratings, fixed, u, v, location, width)
    return location, width


def _categorize(latent: FloatArray, width: FloatArray, thresholds: FloatArray) -> npt.NDArray[np.int8]:
    """Return the number of thresholds below each latent value; widths multiply distances from their centre."""
    if not len(width):
        return np.asarray(np.searchsorted(thresholds, latent), np.int8)
    centre = 0.5 * (thresholds[0] + thresholds[-1])
    # Draws of widths that hardly depend on the ratings may be so small that nothing lies between the thresholds.
    with np.errstate(over="ignore"):
        return np.asarray(np.searchsorted(thresholds - centre, (latent - centre) * np.exp(-width)), np.int8)
