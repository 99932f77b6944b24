"""Chance level: median of the permutation distribution."""

import numpy as np

from dissensus.stats.counts import FloatArray

LOW, MEDIAN, HIGH = "chance_2.5_%", "chance_median", "chance_97.5_%"


def chance(replicates: FloatArray) -> dict[str, float | None]:
    """Return the median and the ends of the middle 95 % of replicates, as columns of a table; None without any."""
    known = replicates[~np.isnan(replicates)]
    if not known.size:
        return dict.fromkeys((LOW, MEDIAN, HIGH))
    return dict(zip((LOW, MEDIAN, HIGH), np.quantile(known, (0.025, 0.5, 0.975)).tolist(), strict=True))
