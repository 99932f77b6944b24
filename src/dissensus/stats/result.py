"""What every estimator returns."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One statistic with what it was made of; unrounded and unclipped.

    Parameters
    ----------
    estimate
        The value.
    method
        Name of the statistic, with the options that change its value.
    n_items
        Items that entered the estimate.
    n_dropped
        Items left out because they have too few ratings for this statistic.
    n_ratings
        Ratings that entered the estimate.
    observed, expected
        The two components of a chance-corrected coefficient; None for others.
    level
        Level of measurement (nominal, ordinal, interval, ratio, custom) where it matters.
    ties
        Items where more than one answer had the most votes; None where ties do not matter.
    """

    estimate: float
    method: str
    n_items: int
    n_dropped: int
    n_ratings: int
    observed: float | None = None
    expected: float | None = None
    level: str | None = None
    ties: int | None = None

    def __float__(self) -> float:
        return self.estimate
