"""Answers that a fitted model gives beyond its effects: tests of terms, shares of variance, reliability, divided items.

They take longer than the model itself and are computed on request.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from dissensus.pipeline.model.belief import CONSISTENCY, Belief, split_belief
from dissensus.pipeline.model.design import NamedDesign
from dissensus.pipeline.model.divided_items import DividedItem, rank_items
from dissensus.pipeline.model.draws import ModelDraws
from dissensus.pipeline.model.facets import ModelFacets, VarianceDraws
from dissensus.pipeline.model.predictive_checks import PredictiveCheck, check_predictions, list_axes
from dissensus.pipeline.model.reliability import Reliability, study_reliability
from dissensus.pipeline.model.term_tests import TermTest, test_terms
from dissensus.pipeline.model.variance_shares import VarianceShare, share_variance
from dissensus.schema.hints import format_list
from dissensus.stats.multilevel.fit import OrdinalFit

NO_TESTS: Final = "Tests of terms are those of maximum likelihood, so there are none with priors or a sampler."
MOST_NAMED: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDetails:
    """Details of a model: tests of terms, shares of variance, reliability, divided items, belief, predictive checks."""

    term_tests: tuple[TermTest, ...]
    variance_shares: tuple[VarianceShare, ...]
    reliability: tuple[Reliability, ...]
    divided_items: tuple[DividedItem, ...]
    belief: Belief
    predictive_checks: tuple[PredictiveCheck, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def describe_model(
    named: NamedDesign,
    fit: OrdinalFit,
    drawn: ModelDraws,
    item_ids: Sequence[str],
    *,
    rng: np.random.Generator,
    confidence: float,
) -> ModelDetails:
    """Compute the details of a fitted model from its draws; `item_ids` has the id of each code of an item."""
    facets = ModelFacets.from_design(named)
    variances = VarianceDraws.from_fit(fit, drawn.draws)
    is_likelihood = fit.estimator == "maximum likelihood"
    checks = tuple(check_predictions(named, fit, drawn.draws, rng, confidence))
    return ModelDetails(
        term_tests=tuple(test_terms(named, fit)) if is_likelihood else (),
        variance_shares=tuple(share_variance(facets, variances, fit, confidence)),
        reliability=tuple(study_reliability(facets, variances, confidence)),
        divided_items=rank_items(facets, drawn.draws, item_ids, link=fit.link, confidence=confidence),
        belief=split_belief(facets, variances, confidence),
        predictive_checks=checks,
        warnings=(*_warn_of_checks(checks),),
        notes=(CONSISTENCY, *_note_axes(facets), *(() if is_likelihood else (NO_TESTS,))),
    )


def _warn_of_checks(checks: Sequence[PredictiveCheck]) -> Iterator[str]:
    """Yield a warning that names the predictive checks that fail."""
    failed = [check.check for check in checks if not check.passes]
    if failed:
        yield (
            f"The model fails {len(failed)} of {len(checks)} predictive checks: new answers differ from those "
            f"observed in {format_list(failed, MOST_NAMED)}."
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
        "belief": asdict(details.belief) if details else None,
        "predictive_checks": [asdict(row) for row in details.predictive_checks] if details else [],
    }
