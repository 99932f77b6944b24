"""Ranks of true parameters of multilevel models among their posterior draws (Talts et al. 2018, arXiv 1804.06788)."""

from typing import Final, NamedTuple

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.multilevel.design import Covariates, ModelDesign, RandomTerm
from dissensus.stats.multilevel.fit import Integration, Link, fit_ordinal
from dissensus.stats.multilevel.gibbs import sample_posterior
from dissensus.stats.multilevel.posterior import PosteriorDraws
from dissensus.stats.multilevel.priors import ModelPriors, Prior
from dissensus.stats.result import FloatArray

RATERS, ITEMS = 12, 20
BINS: Final = 10
NAMES: Final = (
    "first threshold",
    "last threshold",
    "coefficient",
    "sd of raters",
    "sd of items",
    "effect of a rater",
    "sd of widths",
)


class Engine(NamedTuple):
    """An engine with its link and number of answers.

    `has_widths` gives raters distances between thresholds of their own. For such small tables weights of draws are
    mostly refused then, and such simulations are left out.
    """

    label: str
    link: Link
    categories: int
    is_sampled: bool
    integration: Integration = "laplace"
    has_widths: bool = False


ENGINES: Final = {
    "gibbs-2": Engine("Gibbs sampler, probit, two answers", "probit", 2, is_sampled=True),
    "gibbs-3": Engine("Gibbs sampler, probit, three answers", "probit", 3, is_sampled=True),
    "probit-2": Engine("weighted draws, probit, two answers", "probit", 2, is_sampled=False),
    "probit-3": Engine("weighted draws, probit, three answers", "probit", 3, is_sampled=False),
    "logit-2": Engine("weighted draws, logit, two answers", "logit", 2, is_sampled=False),
    "logit-3": Engine("weighted draws, logit, three answers", "logit", 3, is_sampled=False),
    "quadrature-3": Engine(
        "weighted draws by quadrature, probit, three answers", "probit", 3, is_sampled=False, integration="quadrature"
    ),
    "widths-3": Engine("weighted draws, probit, three answers, widths", "probit", 3, is_sampled=False, has_widths=True),
}


def simulate(engine: Engine, rng: np.random.Generator) -> tuple[ModelDesign, ModelPriors, FloatArray]:
    """Return ratings from the prior, the prior, and the true parameters; again if an answer does not occur."""
    threshold, coefficient = Prior(family="normal"), Prior(family="normal")
    sd = Prior(family="normal", location=0.8, scale=0.25)
    n_effects = 1 + engine.has_widths
    priors = ModelPriors(
        thresholds=(threshold,) * (engine.categories - 1),
        coefficients=(coefficient,),
        sds=((sd,) * n_effects, (sd,)),
    )
    rater, item = (index.ravel() for index in np.indices((RATERS, ITEMS)))
    x = np.asarray(np.arange(RATERS) % 2 - 0.5, float)[rater]
    while True:
        thresholds = rng.normal(size=engine.categories - 1)
        if (np.diff(thresholds) < 0.0).any():
            continue
        b, sds = coefficient.draw(rng), [sd.draw(rng, positive=True) for _ in range(2)]
        u, v = rng.normal(0, sds[0], RATERS), rng.normal(0, sds[1], ITEMS)
        noise = rng.normal(size=x.size) if engine.link == "probit" else rng.logistic(size=x.size)
        latent = b * x + u[rater] + v[item] + noise
        if engine.has_widths:
            width_sd, correlation = sd.draw(rng, positive=True), rng.uniform(-1, 1)
            widths = width_sd * (correlation * u / sds[0] + np.sqrt(1 - correlation**2) * rng.normal(size=RATERS))
            sds.append(width_sd)
            centre = 0.5 * (thresholds[0] + thresholds[-1])
            latent = centre + (latent - centre) * np.exp(-widths[rater])
        answers = np.digitize(latent, thresholds)
        if len(np.unique(answers)) == engine.categories:
            break
    design = ModelDesign(
        answers=answers,
        n_categories=engine.categories,
        fixed=Covariates.from_matrix(x[:, None]),
        random=(
            RandomTerm(name="rater", groups=rater, n_groups=RATERS, width=engine.has_widths),
            RandomTerm(name="item", groups=item, n_groups=ITEMS),
        ),
    )
    return design, priors, np.array([thresholds[0], thresholds[-1], b, *sds[:2], u[0], *sds[2:]])


def draw(engine: Engine, design: ModelDesign, priors: ModelPriors, rng: np.random.Generator) -> PosteriorDraws | None:
    """Return draws of the posterior distribution that count the same; None where their weights are refused."""
    if engine.is_sampled:
        return sample_posterior(design, priors=priors, chains=2, iterations=150, seed=int(rng.integers(2**32))).draws
    fit = fit_ordinal(design, link=engine.link, integration=engine.integration, priors=priors)
    draws = fit.approximation.draw(400, rng)
    return None if engine.has_widths and not draws.importance.is_reliable else draws.resample(rng)


def rank_parameters(name: str, simulations: int, *, seed: int = 1) -> tuple[FloatArray, int]:
    """Return the share of draws below each true parameter of `NAMES`, and the number of simulations left out.

    Shares have the shape (simulations, parameters).
    """
    engine = ENGINES[name]
    rng = np.random.default_rng(seed)
    shares: list[FloatArray] = []
    n_refused = 0
    while len(shares) < simulations:
        design, priors, truth = simulate(engine, rng)
        try:
            draws = draw(engine, design, priors, rng)
        except UndefinedEstimate:
            # It depends on the ratings alone, so that ranks among the others stay uniform.
            continue
        if draws is None:
            n_refused += 1
            continue
        values = np.column_stack(
            [
                draws.thresholds[:, 0],
                draws.thresholds[:, -1],
                draws.coefficients[:, 0],
                draws.factors[0][:, 0, 0],
                draws.factors[1][:, 0, 0],
                draws.effects[0][:, 0, 0],
                *([np.sqrt((draws.factors[0][:, 1] ** 2).sum(1))] if engine.has_widths else []),
            ]
        )
        shares.append((values < truth).mean(0))
    return np.array(shares), n_refused


def rank_statistics(shares: FloatArray) -> tuple[FloatArray, int]:
    """Return the chi-square statistic of the ranks of each parameter in equal bins, and its degrees of freedom."""
    cells = np.minimum((shares * BINS).astype(int), BINS - 1)
    expected = len(shares) / BINS
    counts = (cells[:, :, None] == np.arange(BINS)).sum(0)
    return ((counts - expected) ** 2).sum(1) / expected, BINS - 1
