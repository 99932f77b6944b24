"""Fit of a multilevel model to a ratings table."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from statistics import NormalDist
from typing import Final

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.model.contrasts import INTERCEPT, EffectName
from dissensus.pipeline.model.design import NamedDesign, build_design
from dissensus.pipeline.model.details import describe_model
from dissensus.pipeline.model.draws import FEWEST_DRAWS, ModelDraws, draw_model
from dissensus.pipeline.model.label_changes import read_rated_texts
from dissensus.pipeline.model.prediction import rater_columns
from dissensus.pipeline.model.presets import preset_formula
from dissensus.pipeline.model.result import (
    LARGE_EFFECT,
    SMALL_EFFECT,
    ModelCertificate,
    ModelDeviation,
    ModelEffect,
    ModelThreshold,
    MultilevelModel,
)
from dissensus.pipeline.model.shares import Predictions, predict_populations
from dissensus.pipeline.model.variance_shares import LARGEST_ERROR
from dissensus.schema.formula import Formula, parse_formula
from dissensus.schema.numbers import check_whole
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.multilevel.fit import Link, OrdinalFit, fit_ordinal
from dissensus.stats.multilevel.importance import certify_laplace
from dissensus.stats.result import check_confidence

NORMAL: Final = NormalDist()
SMALLEST_K: Final = -10.0
"""Pareto k in place of minus infinity, that of equal weights, which JSON has no number for."""


def fit_model(  # noqa: PLR0913 - options are keyword-only
    ratings: Ratings,
    formula: str | Formula | None = None,
    *,
    preset: str | None = None,
    base: Mapping[str, str] | None = None,
    link: Link = "probit",
    widths: bool = False,
    confidence: float = 0.95,
    populations: Mapping[str, pl.DataFrame] | None = None,
    details: bool = False,
    draws: int = 400,
    seed: int = 0,
) -> MultilevelModel:
    r"""Fit a multilevel model of ordered answers: fixed effects, and effects of raters and items that are random.

    .. math:: P(y_n \le k) = F(\tau_k - \eta_n), \qquad \eta_n = x_n \beta + z_n b, \qquad b \sim N(0, \Sigma)

    with thresholds :math:`\tau`, effects :math:`\beta` of attributes of raters and items, and the normal or logistic
    distribution F. With two answers it is a binary model.

    Parameters
    ----------
    ratings
        The ratings; see `read_ratings`.
    formula
        Such as "Q_overall ~ rater_race * rater_gender + (1 | rater_id) + (1 | item_id)". `a:b` is an interaction,
        `a * b` is `a + b + a:b`; `(1 | g)` is a random intercept for each g, `(x | g)` adds slopes, `(0 + x | g)` are
        slopes alone. Odd names stand in backquotes.
    preset
        A published model of DICES in place of a formula: "AD-null", "AD-linear", "AD-intersectional", "QS-linear",
        "QS-intersectional", "GE-linear" or "GE-intersectional". Columns that the ratings lack are left out, with a
        warning.
    base
        First level of a factor, with which the others are compared, such as {"rater_race": "White"}. By default the
        first in the declared order, else of the alphabet.
    link
        "probit" for normal errors on the latent scale, "logit" for logistic ones.
    widths
        Give each rater a width: a random effect on the logarithm of the distances between thresholds, correlated with
        the rater's other effects.
    confidence
        Confidence level of the intervals.
    populations
        Tables of populations by name, for which answers are predicted: counts of crossed groups (a column for each
        attribute of raters in the formula, and `count`), or margins (columns `column`, `level`, `count`), which are
        raked.
    details
        Add tests of whole terms, shares of the variance, reliability, items that divide groups, and posterior
        predictive checks, which take longer than the model itself.
    draws
        Number of draws for the certificate of Laplace's approximation and for predicted shares, an even number of at
        least 26; 0 for neither.
    seed
        Seed of these draws.

    Returns
    -------
    MultilevelModel

    Raises
    ------
    InvalidInput
        The formula, a base or the link cannot be used.
    NotFound
        A column does not exist.
    UndefinedEstimate
        The ratings do not determine the model: constant answers, separation, an attribute with one value.

    Notes
    -----
    Maximum likelihood by Laplace's approximation, or by adaptive quadrature over the effects of items where there are
    fewer than 20 ratings of each, with normal (Wald) intervals. Ratings without a value in a column of
    the formula are left out, and a warning counts them. Columns that others determine are left out, as in R. An
    attribute whose values are all numbers is a number, unless `base` names one of them or it was read with `bins`.

    Examples
    --------
    >>> import dissensus as ds
    >>> ratings = ds.simulate_ratings(n_items=40, raters_per_cell=6, seed=1)
    >>> model = ds.fit_model(ratings, "Q_overall ~ gender + (1 | rater_id) + (1 | item_id)", base={"gender": "Woman"})
    >>> effect = model.effects[0]
    >>> effect.term, effect.level, round(effect.estimate, 2), model.base
    ('rater_gender', 'Man', -0.04, {'rater_gender': 'Woman'})
    """
    check_confidence(confidence)
    check_whole("draws", draws)
    if draws % 2 or 0 < draws < FEWEST_DRAWS:
        raise InvalidInput(f"draws is {draws}; give an even number of at least {FEWEST_DRAWS}, or 0 for none.")
    if not draws and (populations or details):
        raise InvalidInput("Populations and details need draws, and draws is 0; give an even number, such as 400.")
    parsed, lacking = _choose_formula(ratings, formula, preset)
    named = build_design(ratings, parsed, base=base, widths=widths)
    fit = fit_ordinal(named.design, link=link)
    z = NORMAL.inv_cdf(0.5 + confidence / 2)
    deviations = tuple(_deviations(named, fit, z))
    certificate = _certify(fit, draws, seed) if draws else None
    rng = np.random.default_rng(seed)
    drawn = draw_model(fit, draws, rng) if draws and (details or populations or rater_columns(named)) else None
    predictions = _predict(ratings, named, drawn, populations or {}, link=link, rng=rng, confidence=confidence)
    described = None
    if details and drawn is not None:
        item_ids = ratings.items[ITEM_ID].to_list()
        described = describe_model(named, fit, drawn, item_ids, rng=rng, confidence=confidence)
    return MultilevelModel(
        effects=tuple(_effects(named, fit, z)),
        thresholds=tuple(_thresholds(named, fit, z)),
        deviations=deviations,
        log_likelihood=float(fit.log_likelihood),
        integration=fit.integration,
        n_parameters=fit.n_parameters,
        certificate=certificate,
        predictions=predictions,
        details=described,
        formula=str(named.formula),
        link=link,
        base=dict(named.base),
        categories=named.categories,
        confidence=confidence,
        n_raters=named.n_raters,
        n_items=named.n_items,
        n_ratings=fit.n_ratings,
        warnings=(
            *lacking,
            *named.warnings,
            *_warn_of_zeros(deviations),
            *_warn_of_singular(fit),
            *_warn_of_approximation(certificate),
            *(predictions.warnings if predictions else ()),
            *(described.warnings if described else ()),
        ),
        notes=(*named.notes, *(predictions.notes if predictions else ()), *(described.notes if described else ())),
        version=version("dissensus"),
    )


def _choose_formula(
    ratings: Ratings, formula: str | Formula | None, preset: str | None
) -> tuple[Formula, tuple[str, ...]]:
    """Return the formula, or that of a preset with warnings of columns that the ratings lack."""
    if formula is not None and preset is None:
        return (parse_formula(formula) if isinstance(formula, str) else formula), ()
    if formula is None and preset is not None:
        return preset_formula(ratings, preset)
    raise InvalidInput(
        "A model is either a formula, such as Q_overall ~ rater_race + (1 | rater_id) + (1 | item_id), or a preset, "
        "such as AD-intersectional. Name one of the two."
    )


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
                effect=_describe(name),
                n_groups=term.n_groups * (random.sds.size // len(names)),
                sd=sd,
                ci_low=None if is_open else sd * math.exp(-z * error),
                ci_high=None if is_open else sd * math.exp(z * error),
                correlations=tuple(random.correlations[index].tolist()) if len(names) > 1 else (),
            )


def _warn_of_zeros(deviations: Sequence[ModelDeviation]) -> Iterator[str]:
    """Yield a warning for each standard deviation that may be 0."""
    for row in deviations:
        if row.ci_low is None:
            effect = "" if row.effect == INTERCEPT else f" of {row.effect}"
            yield (
                f"The standard deviation{effect} by {row.group} is {row.sd:.2g} and may be 0, so it has no interval: "
                f"beyond chance no difference between groups of {row.group} is seen. Without this term the model fits "
                "about as well."
            )


def _warn_of_singular(fit: OrdinalFit) -> Iterator[str]:
    """Yield a warning for each term whose effects determine each other."""
    for term in fit.random:
        if term.is_singular and not term.has_vanished:
            yield (
                f"The {len(term.sds)} effects of each {term.name} determine each other: a correlation, or a "
                "combination of correlations, is estimated as 1. Fewer slopes describe the ratings as well."
            )


def _certify(fit: OrdinalFit, draws: int, seed: int) -> ModelCertificate:
    """Return the certificate of the fit's approximation."""
    at = fit.approximation
    result = certify_laplace(at.likelihood, at.mode, n_draws=draws, rng=np.random.default_rng(seed))
    return ModelCertificate(
        n_draws=draws,
        effective_draws=result.importance.effective_draws,
        pareto_k=max(result.importance.pareto_k, SMALLEST_K),
        is_reliable=result.importance.is_reliable,
        correction=result.correction,
        correction_error=result.correction_error,
    )


def _predict(
    ratings: Ratings,
    named: NamedDesign,
    drawn: ModelDraws | None,
    populations: Mapping[str, pl.DataFrame],
    *,
    link: Link,
    rng: np.random.Generator,
    confidence: float,
) -> Predictions | None:
    """Return the predicted shares of groups and populations; None without draws or attributes of raters."""
    if drawn is None or not (populations or rater_columns(named)):
        return None
    item_ids = ratings.items[ITEM_ID].to_list()
    result = predict_populations(named, drawn, item_ids, populations, link=link, rng=rng, confidence=confidence)
    texts = read_rated_texts(ratings, [item.item_id for item in result.changed])
    return replace(result, changed=tuple(replace(item, text=texts.get(item.item_id)) for item in result.changed))


def _warn_of_approximation(certificate: ModelCertificate | None) -> Iterator[str]:
    """Yield a warning if importance sampling refuses the approximation."""
    if certificate is not None and not certificate.is_reliable:
        yield (
            f"The certificate refuses Laplace's approximation: Pareto k is {certificate.pareto_k:.2f} with "
            f"{certificate.n_draws} draws, so standard deviations and the log-likelihood may be off. More draws "
            "(draws=) show whether it is by chance; more ratings of each rater or item make the approximation better."
        )


def _describe(name: EffectName) -> str:
    return name.term if name.level is None else f"{name.term} = {name.level}"
