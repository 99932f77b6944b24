"""Answers that a fitted model gives beyond its effects: tests of terms, shares of variance, reliability, divided items.

They take longer than the model itself and are computed on request.
"""

from dataclasses import asdict, dataclass
from typing import Any

from dissensus.pipeline.model.belief import Belief
from dissensus.pipeline.model.divided_items import DividedItem
from dissensus.pipeline.model.predictive_checks import PredictiveCheck
from dissensus.pipeline.model.reliability import Reliability
from dissensus.pipeline.model.term_tests import TermTest
from dissensus.pipeline.model.variance_shares import VarianceShare


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDetails:
    """Details of a model.

    Parameters
    ----------
    term_tests
        Tests of the fixed terms, interactions first.
    variance_shares
        Shares of the latent variance, with sum one.
    reliability
        Reliability of means of raters, groups, and differences of groups.
    divided_items
        Items that divide groups, those with the most certain sign first; empty without effects of groups by item.
    belief
        Stable differences between raters against the residual.
    predictive_checks
        Posterior predictive checks.
    warnings, notes
        Limits of these answers, and remarks.
    """

    term_tests: tuple[TermTest, ...]
    variance_shares: tuple[VarianceShare, ...]
    reliability: tuple[Reliability, ...]
    divided_items: tuple[DividedItem, ...]
    belief: Belief
    predictive_checks: tuple[PredictiveCheck, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


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
