"""Rows of the estimates of a multilevel model: effects, thresholds and standard deviations."""

import math
from collections.abc import Iterator
from dataclasses import replace
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np

from dissensus.pipeline.model.convergence import describe_effect
from dissensus.pipeline.model.design import NamedDesign
from dissensus.pipeline.model.result import (
    LARGE_EFFECT,
    SMALL_EFFECT,
    ModelDeviation,
    ModelEffect,
    ModelThreshold,
)
from dissensus.pipeline.model.variance_shares import LARGEST_ERROR
from dissensus.stats.multilevel.fit import OrdinalFit, PosteriorFit
from dissensus.stats.multilevel.posterior import PosteriorDraws

NORMAL: Final = NormalDist()


class ModelEstimates(NamedTuple):
    """Fixed effects, thresholds and standard deviations, in the order of the formula."""

    effects: tuple[ModelEffect, ...]
    thresholds: tuple[ModelThreshold, ...]
    deviations: tuple[ModelDeviation, ...]


def describe_estimates(named: NamedDesign, fit: OrdinalFit, confidence: float) -> ModelEstimates:
    """Return the estimates with their names: with normal intervals, or with quantiles of a sampler's draws."""
    z = NORMAL.inv_cdf(0.5 + confidence / 2)
    estimates = ModelEstimates(
        tuple(_effects(named, fit, z)), tuple(_thresholds(named, fit, z)), tuple(_deviations(named, fit, z))
    )
    if isinstance(fit, PosteriorFit):
        return _summarise_draws(fit.approximation.draws, estimates, named, confidence)
    return estimates


def _effects(named: NamedDesign, fit: OrdinalFit, z: float) -> Iterator[ModelEffect]:
    rows = zip(named.effects, fit.coefficients.tolist(), fit.coefficient_errors.tolist(), strict=True)
    for (term, level), estimate, se in rows:
        normal = NormalDist(estimate, se)
        yield ModelEffect(
            term=term,
            level=level,
            estimate=estimate,
            se=se,
            ci_low=estimate - z * se,
            ci_high=estimate + z * se,
            probability_of_direction=NORMAL.cdf(abs(estimate) / se),
            probability_beyond_small=_probability_beyond(normal, SMALL_EFFECT),
            probability_beyond_large=_probability_beyond(normal, LARGE_EFFECT),
        )


def _probability_beyond(normal: NormalDist, size: float) -> float:
    """Return the probability of an absolute value above a size."""
    return normal.cdf(-size) + 1 - normal.cdf(size)


def _thresholds(named: NamedDesign, fit: OrdinalFit, z: float) -> Iterator[ModelThreshold]:
    for index, (estimate, se) in enumerate(zip(fit.thresholds.tolist(), fit.threshold_errors.tolist(), strict=True)):
        yield ModelThreshold(
            between="|".join(named.categories[index : index + 2]),
            estimate=estimate,
            se=se,
            ci_low=estimate - z * se,
            ci_high=estimate + z * se,
        )


def _deviations(named: NamedDesign, fit: OrdinalFit, z: float) -> Iterator[ModelDeviation]:
    for term, names, random in zip(named.design.random, named.random, fit.random, strict=True):
        for index, name in enumerate(names):
            sd, error = float(random.sds[index]), float(random.sd_errors[index])
            is_open = not error <= LARGEST_ERROR  # NaN where the effects have vanished
            yield ModelDeviation(
                group=term.name,
                effect=describe_effect(name),
                n_groups=term.n_groups * (random.sds.size // len(names)),
                sd=sd,
                ci_low=None if is_open else sd * math.exp(-z * error),
                ci_high=None if is_open else sd * math.exp(z * error),
                correlations=tuple(random.correlations[index].tolist()) if len(names) > 1 else (),
            )


def _summarise_draws(
    draws: PosteriorDraws, estimates: ModelEstimates, named: NamedDesign, confidence: float
) -> ModelEstimates:
    """Return rows with intervals and probabilities of draws in place of normal ones."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(draws.coefficients, [tail, 1 - tail], axis=0)
    size = np.abs(draws.coefficients)
    beyond = [(size > limit).mean(0) for limit in (SMALL_EFFECT, LARGE_EFFECT)]
    above = (draws.coefficients > 0).mean(0)
    edges = np.quantile(draws.thresholds, [tail, 1 - tail], axis=0)
    sds = [
        sd
        for factors, names in zip(draws.factors, named.random, strict=True)
        for sd in np.sqrt((factors**2).sum(2)).T[: len(names)]
    ]
    intervals = np.quantile(sds, [tail, 1 - tail], axis=1)
    return ModelEstimates(
        tuple(
            replace(
                row,
                ci_low=float(low[j]),
                ci_high=float(high[j]),
                probability_of_direction=float(max(above[j], 1 - above[j])),
                probability_beyond_small=float(beyond[0][j]),
                probability_beyond_large=float(beyond[1][j]),
            )
            for j, row in enumerate(estimates.effects)
        ),
        tuple(
            replace(row, ci_low=float(edges[0, j]), ci_high=float(edges[1, j]))
            for j, row in enumerate(estimates.thresholds)
        ),
        tuple(
            replace(row, ci_low=float(intervals[0, j]), ci_high=float(intervals[1, j]))
            for j, row in enumerate(estimates.deviations)
        ),
    )
