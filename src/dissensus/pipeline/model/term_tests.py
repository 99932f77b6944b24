"""Tests of whole terms of a formula: Wald, likelihood ratio, and predictive density of raters or items left out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dissensus.pipeline.model.contrasts import first_rows
from dissensus.pipeline.model.design import NamedDesign, code_effects
from dissensus.schema.formula import Term
from dissensus.schema.ratings.columns import ITEM_ID, RATER_ID
from dissensus.stats.multilevel.design import Covariates, ModelDesign
from dissensus.stats.multilevel.fit import MaximumFit, OrdinalFit, fit_ordinal
from dissensus.stats.multilevel.hypothesis import chi_square_tail, wald_statistic
from dissensus.stats.multilevel.leave_out import leave_groups_out
from dissensus.stats.result import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class TermTest:
    """Test of one term, all of whose effects are zero under the null hypothesis.

    The model with the term has all terms but those that contain it, as `a:b` contains `a` (type II); the other model
    lacks it. Both have the same random effects.
    """

    term: str
    df: int
    wald: float
    wald_p: float
    likelihood_ratio: float
    likelihood_ratio_p: float
    # Expected log predictive density of raters or items left out, with the term less without; None if undetermined
    loo_difference: float | None
    loo_se: float | None
    loo_group: str | None  # "rater_id" or "item_id"


def test_terms(named: NamedDesign, fit: OrdinalFit) -> Iterator[TermTest]:
    """Yield a test of each fixed term, interactions first; terms that others determine have none."""
    models = _Models(named, fit)
    for term in sorted(named.formula.terms, key=len, reverse=True):
        others = tuple(other for other in named.formula.terms if not set(term) <= set(other))
        # In the order of the formula, so that equal models are fitted once
        larger = tuple(other for other in named.formula.terms if other == term or other in others)
        with_term, without = models.fit(larger), models.fit(others)
        design, nested = with_term.design.fixed, without.design.fixed
        first = first_rows(design.row.astype(np.int32), len(design.values))
        part = slice(len(with_term.fit.thresholds), len(with_term.fit.thresholds) + len(with_term.fit.coefficients))
        wald, df = wald_statistic(
            with_term.fit.coefficients,
            with_term.fit.covariance[part, part],
            design.values,
            nested.values[nested.row[first]],
        )
        if not df:
            continue
        ratio = max(0.0, 2 * (with_term.fit.log_likelihood - without.fit.log_likelihood))
        group = ITEM_ID if all(named.rows.columns[name].owner == "item" for name in term) else RATER_ID
        yield TermTest(
            term=":".join(term),
            df=df,
            wald=wald,
            wald_p=chi_square_tail(wald, df),
            likelihood_ratio=ratio,
            likelihood_ratio_p=chi_square_tail(ratio, df),
            **_compare(models.leave_out(larger, group), models.leave_out(others, group), group),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _FittedTerms:
    design: ModelDesign
    fit: OrdinalFit


class _Models:
    """Models of the same answers with fewer terms, each fitted once."""

    def __init__(self, named: NamedDesign, fit: OrdinalFit) -> None:
        self.named = named
        self.fitted = {named.formula.terms: _FittedTerms(named.design, fit)}
        self.left_out: dict[tuple[tuple[Term, ...], str], FloatArray | None] = {}

    def fit(self, terms: tuple[Term, ...]) -> _FittedTerms:
        """Fit the model with some of the terms."""
        if terms not in self.fitted:
            named, link = self.named, self.fitted[self.named.formula.terms].fit.link
            coding, row, _ = code_effects(named.rows, terms, named.design.answers.astype(np.int8), named.categories)
            design = replace(named.design, fixed=Covariates(values=coding.values, row=row))
            self.fitted[terms] = _FittedTerms(design, fit_ordinal(design, link=link))
        return self.fitted[terms]

    def leave_out(self, terms: tuple[Term, ...], group: str) -> FloatArray | None:
        """Return the predictive densities of raters or items; None unless they have a single effect."""
        number = self._find_effect(group)
        fit = self.fit(terms).fit
        if number is None or any(term.width for term in self.named.design.random):
            return None
        if not isinstance(fit, MaximumFit):
            return None
        if (terms, group) not in self.left_out:
            self.left_out[terms, group] = leave_groups_out(fit.approximation, number)
        return self.left_out[terms, group]

    def _find_effect(self, group: str) -> int | None:
        numbers = [number for number, source in enumerate(self.named.formula.random) if group in source.group]
        if len(numbers) != 1 or self.named.design.random[numbers[0]].size != 1:
            return None
        return numbers[0]


def _compare(model: FloatArray | None, nested: FloatArray | None, group: str) -> dict[str, Any]:
    """Return the difference of predictive densities, with the standard error of a sum over groups."""
    if model is None or nested is None:
        return {"loo_difference": None, "loo_se": None, "loo_group": None}
    difference = model - nested
    return {
        "loo_difference": float(difference.sum()),
        "loo_se": float(np.sqrt(len(difference)) * difference.std(ddof=1)),
        "loo_group": group,
    }
