"""Details of a fitted model: tests of terms, shares of variance, reliability, divided items, predictive checks.

They take longer than the model itself and are computed on request.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.model.belief import NO_REPEATS, Belief, compare_repeats, split_belief, warn_of_raters
from dissensus.pipeline.model.design import NamedDesign, toggle_widths
from dissensus.pipeline.model.divided_items import DividedItem, rank_items
from dissensus.pipeline.model.draws import ModelDraws, draw_model
from dissensus.pipeline.model.facets import ModelFacets, VarianceDraws
from dissensus.pipeline.model.label_changes import read_rated_texts
from dissensus.pipeline.model.predictive_checks import (
    NOISE,
    AlternativeModel,
    PredictiveCheck,
    check_predictions,
    list_axes,
)
from dissensus.pipeline.model.priors import parse_priors
from dissensus.pipeline.model.reliability import Reliability, study_reliability
from dissensus.pipeline.model.term_tests import TermTest, test_terms
from dissensus.pipeline.model.variance_shares import VarianceShare, share_variance
from dissensus.pipeline.tables import format_interval, format_short
from dissensus.schema.hints import format_list
from dissensus.stats.multilevel.fit import Link, MaximumFit, OrdinalFit, fit_ordinal
from dissensus.stats.multilevel.posterior import PosteriorDraws
from dissensus.stats.multilevel.renewal import renew_widths

NO_TESTS: Final = "Tests of terms are those of maximum likelihood, so there are none with priors or a sampler."
MOST_NAMED: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDetails:
    """Details of a model: tests of terms, shares of variance, reliability, divided items, belief, predictive checks."""

    term_tests: tuple[TermTest, ...]
    variance_shares: tuple[VarianceShare, ...]
    reliability: tuple[Reliability, ...]
    divided_items: tuple[DividedItem, ...]
    divided_texts: Mapping[str, str]  # Rated texts of these items, if the ratings have them
    belief: Belief
    predictive_checks: tuple[PredictiveCheck, ...]
    alternative: AlternativeModel | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def describe_model(
    named: NamedDesign,
    fit: OrdinalFit,
    drawn: ModelDraws,
    *,
    priors: Mapping[str, str],
    rng: np.random.Generator,
    confidence: float,
) -> ModelDetails:
    """Compute the details of a fitted model from its draws; `priors` are texts by class, as for `fit_model`."""
    facets = ModelFacets.from_design(named)
    variances = VarianceDraws.from_fit(fit, drawn.draws)
    is_likelihood = fit.estimator == "maximum likelihood"
    renewed = _renew_draws(fit, drawn, rng)
    checks = tuple(check_predictions(named, fit, renewed, rng, confidence))
    repeated_share = compare_repeats(named, fit, renewed, confidence)
    alternative, refusals = None, []
    try:
        alternative = _check_alternative(named, fit.link, priors, len(drawn), rng, confidence)
    except UndefinedEstimate as reason:
        refusals.append(f"The checks are not compared with those of the same model with widths, or without: {reason}")
    divided = rank_items(facets, drawn.draws, link=fit.link, confidence=confidence)
    return ModelDetails(
        term_tests=tuple(test_terms(named, fit)) if is_likelihood else (),
        variance_shares=tuple(share_variance(facets, variances, fit, confidence)),
        reliability=tuple(study_reliability(facets, variances, confidence)),
        divided_items=divided,
        divided_texts=read_rated_texts(named.ratings, list(dict.fromkeys(row.item_id for row in divided))),
        belief=split_belief(facets, variances, repeated_share, confidence),
        predictive_checks=checks,
        alternative=alternative,
        warnings=(*_warn_of_checks(checks, alternative), *warn_of_raters(repeated_share)),
        notes=(
            *(() if repeated_share else (NO_REPEATS,)),
            *([drawn.describe_order()] if divided else []),
            *_note_axes(facets),
            *(() if is_likelihood else (NO_TESTS,)),
            *refusals,
        ),
    )


def _check_alternative(
    named: NamedDesign, link: Link, priors: Mapping[str, str], n_draws: int, rng: np.random.Generator, confidence: float
) -> AlternativeModel | None:
    """Fit and check the model with widths of raters, or without; None where it can have none."""
    other = toggle_widths(named)
    if other is None:
        return None
    fit = fit_ordinal(other.design, link=link, priors=parse_priors(priors, other))
    drawn = draw_model(fit, n_draws, rng)
    return AlternativeModel(
        widths=any(term.width for term in other.design.random),
        log_likelihood=float(fit.log_likelihood),
        integration=fit.integration,
        n_parameters=fit.n_parameters,
        predictive_checks=tuple(check_predictions(other, fit, _renew_draws(fit, drawn, rng), rng, confidence)),
    )


def _renew_draws(fit: OrdinalFit, drawn: ModelDraws, rng: np.random.Generator) -> PosteriorDraws:
    """Return draws with effects of raters from their exact distribution, where normal ones are too narrow."""
    return renew_widths(fit.approximation, drawn.draws, rng) if isinstance(fit, MaximumFit) else drawn.draws


def _warn_of_checks(checks: Sequence[PredictiveCheck], alternative: AlternativeModel | None) -> Iterator[str]:
    """Yield a warning that names the predictive checks that fail, and counts those that the alternative passes."""
    failed = [check.check for check in checks if not check.passes]
    if failed:
        others = alternative.predictive_checks if alternative else ()
        n_mended = sum(check.passes and check.check in failed for check in others)
        widths = "With widths of raters (--widths)" if alternative and alternative.widths else "Without widths"
        yield (
            f"The model fails {len(failed)} of {len(checks)} predictive checks: new answers differ from those "
            f"observed in {format_list(failed, MOST_NAMED)}."
            + bool(n_mended)
            * f" {widths} it passes {n_mended} of them."
        )
    for check in checks:
        if check.check == NOISE and not check.passes and check.observed > check.replicated:
            yield (
                f"Raters differ more than the model says in how closely they follow the others: correlations with "
                f"them have a standard deviation of {format_short(check.observed)}, where "
                f"{format_interval(check.ci_low, check.ci_high)} are replicated. Either some answer "
                "carelessly or they judge by other standards; the residual, belief and noise are averages of them."
            )


def _note_axes(facets: ModelFacets) -> Iterator[str]:
    """Yield a note on the attributes of raters that have no effects by item."""
    axes = [name for name in list_axes(facets.named) if name not in facets.divided_axes()]
    if axes:
        yield (
            f"The formula has no effects of {format_list(axes)} by item, so neither divided items nor reliability of "
            f"these groups are estimated. Add (1 | {axes[0]}:item_id), or (0 + {axes[0]} | item_id)."
        )


def list_details(details: ModelDetails | None) -> dict[str, Any]:
    """Return details as plain values, empty lists without any."""
    return {
        "term_tests": [asdict(row) for row in details.term_tests] if details else [],
        "variance_shares": [asdict(row) for row in details.variance_shares] if details else [],
        "reliability": [asdict(row) for row in details.reliability] if details else [],
        "divided_items": [asdict(row) for row in details.divided_items] if details else [],
        "divided_texts": dict(details.divided_texts) if details else {},
        "belief": asdict(details.belief) if details else None,
        "predictive_checks": [asdict(row) for row in details.predictive_checks] if details else [],
        "alternative": asdict(details.alternative) if details and details.alternative else None,
    }
