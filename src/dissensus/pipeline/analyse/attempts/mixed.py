"""Mixed models of attempt outcomes."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse.attempts.columns import AttemptColumns
from dissensus.pipeline.analyse.attempts.result import MixedModel, Term
from dissensus.stats.cluster_bootstrap import MIN_CLUSTERS
from dissensus.stats.cluster_robust import t_quantile, t_test_p
from dissensus.stats.random_intercept import RandomIntercept, random_intercept
from dissensus.stats.result import FloatArray

INTERCEPT, DESCRIPTION, UPWORK, CROSSED = "intercept", "harmlessness of the description", "came by Upwork", " × "
MOST_TERMS: Final = 80
"""Largest number of terms; with more, a table of types and sizes is more informative."""

LEAST_DF: Final = 4
"""Degrees of freedom below which the test of a term does not hold its size (Tipton 2015)."""

LEAST_ERROR: Final = 1e-9
"""Standard error, in standard deviations of the residuals, up to which it is a rounding error."""


def fit_mixed_model(outcome: str, values: FloatArray, columns: AttemptColumns, *, confidence: float) -> MixedModel:
    """Fit a mixed model of an outcome: type × size of the model, description, and source of the red-teamer."""
    valid = np.isfinite(values)
    left_out: list[str] = []
    for name, column in ((DESCRIPTION, columns.description_score), (UPWORK, columns.upwork)):
        if not np.isfinite(column[valid]).any():
            left_out.append(f"{name}: unknown for all attempts")
        else:
            valid = valid & np.isfinite(column)
    if not valid.any():
        return MixedModel(outcome=outcome, n_dropped=len(columns), reason="It is unknown for all attempts.")
    # No more than needed to refuse them: each column is compared with all before, which takes minutes for thousands.
    design = list(islice(_select_independent(_build_design(columns, valid), left_out), MOST_TERMS + 1))
    n_dropped = len(columns) - int(valid.sum())
    try:
        if (n := len(np.unique(columns.red_teamer[valid]))) < MIN_CLUSTERS:
            raise UndefinedEstimate(
                f"{n} red-teamers are too few to estimate their variance; {MIN_CLUSTERS} are needed."
            )
        if len(design) > MOST_TERMS:
            raise UndefinedEstimate(f"Types and sizes have more than {MOST_TERMS} terms.")
        matrix = np.column_stack([column for _, column in design])
        fitted = random_intercept(matrix, values[valid], columns.red_teamer[valid])
    except UndefinedEstimate as reason:
        return MixedModel(outcome=outcome, n_dropped=n_dropped, left_out=tuple(left_out), reason=str(reason))
    return MixedModel(
        outcome=outcome,
        terms=tuple(_terms([name for name, _ in design], fitted, confidence)),
        sd_red_teamers=fitted.sd_clusters,
        sd_residual=fitted.sd_residual,
        share_of_red_teamers=fitted.share_of_clusters,
        n=fitted.n,
        n_red_teamers=fitted.clusters,
        n_dropped=n_dropped,
        left_out=tuple(left_out),
    )


def _build_design(columns: AttemptColumns, valid: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    """Yield the columns of the design, main effects before interactions."""
    kind, size = columns.kind[valid], columns.size[valid]
    kinds, sizes = (np.unique(codes).tolist() for codes in (kind, size))
    yield INTERCEPT, np.ones(len(kind))
    for k in kinds[1:]:
        yield columns.types[k], (kind == k).astype(np.float64)
    for s in sizes[1:]:
        yield columns.sizes[s], (size == s).astype(np.float64)
    for name, column in ((DESCRIPTION, columns.description_score), (UPWORK, columns.upwork)):
        if np.isfinite(column[valid]).all():
            yield name, column[valid]
    for k in kinds[1:]:
        for s in sizes[1:]:
            interaction = (kind == k) & (size == s)
            yield f"{columns.types[k]}{CROSSED}{columns.sizes[s]}", interaction.astype(np.float64)


def _select_independent(
    design: Iterable[tuple[str, FloatArray]], left_out: list[str]
) -> Iterator[tuple[str, FloatArray]]:
    """Yield the columns that are linearly independent of earlier ones; report the others in `left_out`."""
    basis: list[FloatArray] = []
    for name, column in design:
        residual = column.copy()
        for _ in range(2):  # Gram–Schmidt, repeated to remove rounding errors
            for vector in basis:
                residual = residual - (vector @ residual) * vector
        length = float(np.linalg.norm(residual))
        if length <= 1e-8 * max(1.0, float(np.linalg.norm(column))):
            left_out.append(f"{name}: {'no attempts' if not column.any() else 'other terms determine it'}")
            continue
        basis.append(residual / length)
        yield name, column


def _terms(names: list[str], fitted: RandomIntercept, confidence: float) -> Iterator[Term]:
    columns = (fitted.coefficients.tolist(), fitted.robust_errors.tolist(), fitted.df.tolist())
    for name, estimate, error, df in zip(names, *columns, strict=True):
        reason = None
        if not df >= LEAST_DF:  # NaN too
            reason = f"too few red-teamers determine it: fewer than {LEAST_DF} degrees of freedom"
        elif error <= LEAST_ERROR * fitted.sd_residual:
            reason = "no standard error: it does not vary between red-teamers"
        if reason is not None:
            yield Term(name=name, estimate=estimate, reason=reason)
            continue
        half = t_quantile(confidence, df) * error
        yield Term(
            name=name,
            estimate=estimate,
            standard_error=error,
            df=df,
            ci_low=estimate - half,
            ci_high=estimate + half,
            p=t_test_p(estimate / error, df),
        )
