"""Mixed models of attempt outcomes."""

from collections.abc import Iterator
from statistics import NormalDist
from typing import Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse.attempts.columns import AttemptColumns
from dissensus.pipeline.analyse.attempts.result import MixedModel, Term
from dissensus.stats.clustered import LEAST
from dissensus.stats.random_intercept import RandomIntercept, random_intercept
from dissensus.stats.result import FloatArray

INTERCEPT, DESCRIPTION, UPWORK, CROSSED = "intercept", "harmlessness of the description", "came by Upwork", " × "
MOST_TERMS: Final = 80
"""With more a model of types and sizes says nothing that a table would not say better."""


def fit_mixed_model(outcome: str, values: FloatArray, columns: AttemptColumns, *, level: float = 0.95) -> MixedModel:
    """Fit a mixed model of an outcome: type × size of the model, description, source of the red-teamer."""
    known = np.isfinite(values)
    left_out: list[str] = []
    for name, column in ((DESCRIPTION, columns.description_score), (UPWORK, columns.upwork)):
        if not np.isfinite(column[known]).any():
            left_out.append(f"{name}: not known of any attempt")
        else:
            known = known & np.isfinite(column)
    if not known.any():
        return MixedModel(outcome=outcome, n_dropped=len(columns), reason="It is not known of any attempt.")
    design = dict(_independent(dict(_design(columns, known)), left_out))
    n_dropped = len(columns) - int(known.sum())
    try:
        if (n := len(np.unique(columns.red_teamer[known]))) < LEAST:
            raise UndefinedEstimate(f"{n} red-teamers are too few to tell what lies between them; {LEAST} are needed.")
        if len(design) > MOST_TERMS:
            raise UndefinedEstimate(f"{len(design)} terms of types and sizes are more than {MOST_TERMS}.")
        fitted = random_intercept(np.column_stack([*design.values()]), values[known], columns.red_teamer[known])
    except UndefinedEstimate as reason:
        return MixedModel(outcome=outcome, n_dropped=n_dropped, left_out=tuple(left_out), reason=str(reason))
    return MixedModel(
        outcome=outcome,
        terms=tuple(_terms(list(design), fitted, level)),
        sd_red_teamers=fitted.sd_clusters,
        sd_residual=fitted.sd_residual,
        share_of_red_teamers=fitted.share_of_clusters,
        n=fitted.n,
        n_red_teamers=fitted.clusters,
        n_dropped=n_dropped,
        left_out=tuple(left_out),
    )


def _design(columns: AttemptColumns, known: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    """Yield the columns of the model, those of which others are made first."""
    kind, size = columns.kind[known], columns.size[known]
    kinds, sizes = (np.unique(codes).tolist() for codes in (kind, size))
    yield INTERCEPT, np.ones(len(kind))
    for one in kinds[1:]:
        yield columns.types[one], (kind == one).astype(np.float64)
    for one in sizes[1:]:
        yield columns.sizes[one], (size == one).astype(np.float64)
    for name, column in ((DESCRIPTION, columns.description_score), (UPWORK, columns.upwork)):
        if np.isfinite(column[known]).all():
            yield name, column[known]
    for one in kinds[1:]:
        for other in sizes[1:]:
            both = (kind == one) & (size == other)
            yield f"{columns.types[one]}{CROSSED}{columns.sizes[other]}", both.astype(np.float64)


def _independent(design: dict[str, FloatArray], left_out: list[str]) -> Iterator[tuple[str, FloatArray]]:
    """Yield the columns that those before them do not determine; note the others."""
    basis: list[FloatArray] = []
    for name, column in design.items():
        left = column.copy()
        for _ in range(2):  # a second time, for what rounding left
            for one in basis:
                left = left - (one @ left) * one
        length = float(np.linalg.norm(left))
        if length <= 1e-8 * max(1.0, float(np.linalg.norm(column))):
            left_out.append(f"{name}: {'no attempt' if not column.any() else 'other terms determine it'}")
            continue
        basis.append(left / length)
        yield name, column


def _terms(names: list[str], fitted: RandomIntercept, level: float) -> Iterator[Term]:
    normal = NormalDist()
    z = normal.inv_cdf((1 + level) / 2)
    for name, estimate, error in zip(names, fitted.coefficients.tolist(), fitted.standard_errors.tolist(), strict=True):
        yield Term(
            name=name,
            estimate=estimate,
            standard_error=error,
            ci_low=estimate - z * error,
            ci_high=estimate + z * error,
            p=2 * normal.cdf(-abs(estimate / error)),
        )
