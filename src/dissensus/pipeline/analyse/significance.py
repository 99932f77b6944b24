"""Raw and adjusted p-values and directions of all rows."""

from dataclasses import replace

import numpy as np

from dissensus.pipeline.analyse.columns import CORRECTED, DIFFERENCES, PUBLISHED, UPPER
from dissensus.pipeline.analyse.resampling import GroupTable
from dissensus.pipeline.analyse.result import Row
from dissensus.pipeline.analyse.settings import AnalysisSettings, Family
from dissensus.stats.bootstrap import NO_SPREAD
from dissensus.stats.multiple_testing import benjamini_hochberg
from dissensus.stats.permutation import ROUNDING, max_t, medians, permutation_p, upper_p
from dissensus.stats.result import FloatArray, nan_mean, none_if_nan


def add_significance(
    rows: list[Row], tables: list[GroupTable], settings: AnalysisSettings
) -> tuple[list[Row], FloatArray]:
    """Add p-values and directions; return the rows and the permutation replicates of their values."""
    tests = [table.tests for table in tables[1:] if table.tests is not None]
    if not tests:
        return rows, np.empty((0, len(rows)))
    null_values = np.concatenate([part.null_values for part in tests], axis=-1)
    null = np.concatenate([part.null_tested for part in tests], axis=-1)
    observed = np.concatenate([part.tested for part in tests])
    reasons = [reason for part in tests for reason in part.reasons]
    untested = [row.estimate is None or reason is not None for row, reason in zip(rows, reasons, strict=True)]
    observed = np.where(untested, np.nan, observed)
    p, null_medians = _p_values(rows, observed, null, settings), medians(null)
    adjusted = np.full(len(rows), np.nan)
    for members in _families(rows, settings.family):
        if settings.adjust == "bh":
            adjusted[members] = benjamini_hochberg(p[members])
        else:  # the statistic may be skewed: extreme in standard deviations, but not in ranks
            adjusted[members] = np.maximum(p[members], max_t(observed[members], null[:, members]))
    means = nan_mean(null_values, axis=0)
    tested = [
        _clear_test(row, reasons[r])
        if np.isnan(p[r])
        else replace(
            row,
            p=float(p[r]),
            p_adjusted=none_if_nan(adjusted[r]),
            direction=_direction(observed[r], null_medians[r]),
            null_mean=none_if_nan(means[r]),
        )
        for r, row in enumerate(rows)
    ]
    return tested, null_values


def _p_values(rows: list[Row], observed: FloatArray, null: FloatArray, settings: AnalysisSettings) -> FloatArray:
    """Return two-sided p-values, by the method of the settings for published statistics, and upper ones for `UPPER`."""
    p = permutation_p(observed, null)
    published = [row.metric in PUBLISHED for row in rows]
    if settings.method != "two-sided":
        p = np.where(published, permutation_p(observed, null, method=settings.method), p)
    undefined = np.isnan(null).all(axis=0)
    return np.where([row.metric in UPPER for row in rows], np.where(undefined, np.nan, upper_p(observed, null)), p)


def _families(rows: list[Row], family: Family) -> list[list[int]]:
    """Return the indices of the rows that are adjusted together; published statistics and differences apart."""
    members: dict[tuple[bool, bool, str | None, str | None], list[int]] = {}
    for r, row in enumerate(rows):
        published = row.metric in PUBLISHED and row.metric != CORRECTED
        key = (
            published,
            row.metric in DIFFERENCES,
            row.axis if "axis" in family else None,
            row.metric if "metric" in family else None,
        )
        members.setdefault(key, []).append(r)
    return list(members.values())


def _clear_test(row: Row, reason: str | None) -> Row:
    if row.estimate is None:
        return row
    if row.metric in ("answer_share", "answer_mean"):
        reason = "tested as mean_difference"
    reasons = (reason or "every permutation replicate is undefined", row.reason if row.reason == NO_SPREAD else None)
    return replace(row, reason="; ".join(filter(None, reasons)))


def _direction(observed: float, median: float) -> str | None:
    if abs(observed - median) <= ROUNDING * (1 + abs(observed)):
        return None
    return "above" if observed > median else "below"
