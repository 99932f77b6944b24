"""Raw and adjusted p-values and directions of all rows."""

from dataclasses import replace

import numpy as np

from dissensus.pipeline.analyse.resampling import Floats, GroupTable
from dissensus.pipeline.analyse.result import Row
from dissensus.pipeline.analyse.settings import AnalysisSettings, Family
from dissensus.stats.design import METRICS
from dissensus.stats.result import none_if_nan
from dissensus.stats.significance import ROUNDING, benjamini_hochberg, max_t, medians, permutation_p


def add_significance(rows: list[Row], tables: list[GroupTable], settings: AnalysisSettings) -> tuple[list[Row], Floats]:
    """Add p-values and directions; return the rows and their permutation replicates."""
    if settings.permutations == 0 or not rows:
        return rows, np.empty((0, len(rows)))
    observed = np.concatenate([_flatten(table.observed) for table in tables[1:]])
    null = np.concatenate([_flatten(table.null) for table in tables[1:]], axis=-1)
    observed = np.where([row.estimate is None for row in rows], np.nan, observed)
    p, null_medians = permutation_p(observed, null, method=settings.method), medians(null)
    adjusted = np.full(len(rows), np.nan)
    for members in _families(rows, settings.family):
        if settings.adjust == "bh":
            adjusted[members] = benjamini_hochberg(p[members])
        else:  # the statistic may be skewed: extreme in standard deviations, but not in ranks
            adjusted[members] = np.maximum(p[members], max_t(observed[members], null[:, members]))
    tested = [
        _clear_test(row)
        if np.isnan(p[r])
        else replace(
            row,
            p=float(p[r]),
            p_adjusted=none_if_nan(adjusted[r]),
            direction=_direction(observed[r], null_medians[r]),
        )
        for r, row in enumerate(rows)
    ]
    return tested, null


def _flatten(values: Floats | None) -> Floats:
    """Return the statistics of an axis in the order of its rows, DSI last: (…, C, M) to (…, C × M + 1)."""
    assert values is not None  # noqa: S101 - tables are tested before they are read
    gais = values[..., METRICS.index("gai")]
    undefined = np.isnan(gais).all(axis=-1)
    top = np.where(undefined, np.nan, np.where(np.isnan(gais), -np.inf, gais).max(axis=-1))
    return np.concatenate([values.reshape(*values.shape[:-2], -1), top[..., None]], axis=-1)


def _families(rows: list[Row], family: Family) -> list[list[int]]:
    """Return the indices of the rows that are adjusted together."""
    members: dict[tuple[str | None, str | None], list[int]] = {}
    for r, row in enumerate(rows):
        key = (row.axis if "axis" in family else None, row.metric if "metric" in family else None)
        members.setdefault(key, []).append(r)
    return list(members.values())


def _clear_test(row: Row) -> Row:
    return row if row.estimate is None else replace(row, reason="every permutation replicate is undefined")


def _direction(observed: float, median: float) -> str | None:
    if abs(observed - median) <= ROUNDING * (1 + abs(observed)):
        return None
    return "above" if observed > median else "below"
