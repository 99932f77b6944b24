"""Fit of a multilevel model to a ratings table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Final, Literal

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.model.contrasts import INTERCEPT
from dissensus.pipeline.model.convergence import check_convergence, warn_of_chains
from dissensus.pipeline.model.design import NamedDesign, build_design
from dissensus.pipeline.model.details import describe_model
from dissensus.pipeline.model.draws import FEWEST_DRAWS, ModelDraws, draw_model
from dissensus.pipeline.model.estimates import describe_estimates
from dissensus.pipeline.model.label_changes import read_rated_texts
from dissensus.pipeline.model.prediction import rater_columns
from dissensus.pipeline.model.presets import preset_formula
from dissensus.pipeline.model.priors import COEFFICIENT, choose_priors, parse_priors
from dissensus.pipeline.model.result import ModelCertificate, ModelDeviation, MultilevelModel, NamedFit
from dissensus.pipeline.model.shares import Predictions, predict_populations
from dissensus.schema.formula import Formula, parse_formula
from dissensus.schema.numbers import check_whole
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.multilevel.fit import Link, MaximumFit, OrdinalFit, PosteriorFit, fit_ordinal
from dissensus.stats.multilevel.gibbs import sample_ordinal
from dissensus.stats.multilevel.importance import certify_laplace
from dissensus.stats.multilevel.posterior import NormalApproximation
from dissensus.stats.result import check_confidence

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
    priors: Mapping[str, str] | str | None = None,
    sampler: Literal["gibbs"] | None = None,
    chains: int = 4,
    iterations: int = 1000,
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
    priors
        Prior distributions by class, in the notation of brms: "b" for effects, "sd" for standard deviations of random
        effects, "Intercept" for thresholds at the mean of the covariates, "cor" for correlations, such as {"b":
        "student_t(3, 0, 2.5)", "sd:rater_id": "normal(0, 1)", "cor": "lkj(2)"}; or "published" for those of a preset.
        Without one a parameter has a flat prior.
    sampler
        "gibbs" draws from the posterior distribution instead of maximizing the likelihood: with the probit link,
        without widths.
    chains, iterations
        Chains of the sampler, and draws of each after half as many for warm-up.
    draws
        Number of draws for the certificate of Laplace's approximation and for predicted shares, an even number of at
        least 26; 0 for neither.
    seed
        Seed of these draws, and of the sampler.

    Returns
    -------
    MultilevelModel

    Raises
    ------
    InvalidInput
        The formula, a base, the link, a prior or another option cannot be used.
    NotFound
        A column does not exist.
    UndefinedEstimate
        The ratings do not determine the model: constant answers, separation, an attribute with one value.

    Notes
    -----
    Maximum likelihood, or the posterior mode under priors, by Laplace's approximation, or by adaptive quadrature over
    the effects of items where these have fewer than 20 ratings on average, with normal (Wald) intervals. With a
    sampler, estimates are posterior means, and intervals quantiles. Ratings without a value in a column of the formula
    are left out, and a warning counts them. Columns that others determine are left out, as in R. An attribute whose
    values are all numbers is a number, unless `base` names one of them or it was read with `bins`.

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
    check_whole("seed", seed)
    if draws % 2 or 0 < draws < FEWEST_DRAWS:
        raise InvalidInput(f"draws is {draws}; give an even number of at least {FEWEST_DRAWS}, or 0 for none.")
    if not draws and (populations or details):
        raise InvalidInput("Populations and details need draws, and draws is 0; give an even number, such as 400.")
    _check_sampler(sampler, chains, iterations)
    parsed, lacking = _choose_formula(ratings, formula, preset)
    texts = choose_priors(priors, preset)
    named = build_design(ratings, parsed, base=base, widths=widths, has_prior=COEFFICIENT in texts)
    distributions = parse_priors(texts, named)
    fit: OrdinalFit
    if sampler is None:
        fit = fit_ordinal(named.design, link=link, priors=distributions)
    else:
        fit = sample_ordinal(
            named.design, link=link, priors=distributions, chains=chains, iterations=iterations, seed=seed
        )
    convergence = check_convergence(named, fit.approximation) if isinstance(fit, PosteriorFit) else ()
    effects, thresholds, deviations = describe_estimates(named, fit, confidence)
    certificate = None
    if draws and isinstance(fit, MaximumFit):
        certificate = _certify(fit.approximation, draws, seed)
    rng = np.random.default_rng(seed)
    drawn = draw_model(fit, draws, rng) if draws and (details or populations or rater_columns(named)) else None
    predictions = _predict(named, drawn, populations or {}, link=link, rng=rng, confidence=confidence)
    model_details = None
    if details and drawn is not None:
        model_details = describe_model(named, fit, drawn, priors=texts, rng=rng, confidence=confidence)
    return MultilevelModel(
        effects=effects,
        thresholds=thresholds,
        deviations=deviations,
        estimator=fit.estimator,
        priors=dict(texts),
        log_likelihood=float(fit.log_likelihood),
        integration=fit.integration,
        n_parameters=fit.n_parameters,
        certificate=certificate,
        convergence=convergence,
        predictions=predictions,
        details=model_details,
        formula=str(named.formula),
        link=link,
        base=dict(named.base),
        categories=named.categories,
        confidence=confidence,
        n_raters=named.n_raters,
        n_items=named.n_items,
        n_ratings=fit.n_ratings,
        warnings=(
            *(warn_of_chains(convergence, chains) if convergence else ()),
            *lacking,
            *named.warnings,
            *_warn_of_zeros(deviations),
            *_warn_of_singular(fit),
            *_warn_of_approximation(certificate, is_sampled=link == "probit" and not widths),
            *(predictions.warnings if predictions else ()),
            *(model_details.warnings if model_details else ()),
        ),
        notes=tuple(
            dict.fromkeys(
                (
                    *named.notes,
                    *_describe_solution(fit),
                    *(predictions.notes if predictions else ()),
                    *(model_details.notes if model_details else ()),
                )
            )
        ),
        version=version("dissensus"),
        source=NamedFit(named=named, fit=fit),
    )


def _check_sampler(sampler: object, chains: int, iterations: int) -> None:
    if sampler not in (None, "gibbs"):
        raise InvalidInput(f"sampler is {sampler!r}; 'gibbs', or None for Laplace's approximation, is allowed.")
    check_whole("chains", chains)
    check_whole("iterations", iterations)


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


def _describe_solution(fit: OrdinalFit) -> Iterator[str]:
    """Yield how the random effects of a large model were solved for."""
    if isinstance(fit, MaximumFit) and fit.approximation.likelihood.is_iterative:
        layout = fit.approximation.likelihood.layout
        yield (
            f"The equations of {layout.n_outer:,} random effects, beside those of {layout.n_groups:,} groups, are "
            "solved by conjugate gradients. The log-likelihood is an estimate with a standard error of "
            f"{fit.log_likelihood_error:.2g}."
        )


def _certify(approximation: NormalApproximation, draws: int, seed: int) -> ModelCertificate:
    """Return the certificate of an approximation, with fewer draws for a large table."""
    draws = min(draws, approximation.most_draws)
    result = certify_laplace(
        approximation.likelihood, approximation.mode, n_draws=draws, rng=np.random.default_rng(seed)
    )
    return ModelCertificate(
        n_draws=draws,
        effective_draws=result.importance.effective_draws,
        pareto_k=max(result.importance.pareto_k, SMALLEST_K),
        is_reliable=result.importance.is_reliable,
        correction=result.correction,
        correction_error=result.correction_error,
    )


def _predict(
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
    result = predict_populations(named, drawn, populations, link=link, rng=rng, confidence=confidence)
    texts = read_rated_texts(named.ratings, [item.item_id for item in result.changed])
    return replace(result, changed=tuple(replace(item, text=texts.get(item.item_id)) for item in result.changed))


def _warn_of_approximation(certificate: ModelCertificate | None, *, is_sampled: bool) -> Iterator[str]:
    """Yield a warning if importance sampling refuses the approximation."""
    if certificate is not None and not certificate.is_reliable:
        yield (
            f"The certificate refuses Laplace's approximation: Pareto k is {certificate.pareto_k:.2f} with "
            f"{certificate.n_draws} draws, so standard deviations and the log-likelihood may be off. More draws "
            "(draws=) show whether it is by chance; more ratings of each rater or item make the approximation better."
            + is_sampled
            * ' Exact results: --sampler gibbs (in Python: sampler="gibbs").'
        )
