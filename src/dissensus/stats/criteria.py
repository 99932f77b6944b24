"""Criteria that flag raters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.vetting import Labels, Times


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Thresholds at or above which a rater is flagged.

    DICES names its measures, but no thresholds: the shares of conversations that a rater answered in less than a half,
    a third and a quarter of the median time, and raters who gave one label throughout (Aroyo et al. 2023, sections 3.3
    and 4). The defaults are choices of this package: half of the conversations below half the median, a third below a
    third, a quarter below a quarter; and 99 % instead of all answers, since only one of the nineteen raters removed
    from DICES-350 is exactly constant.

    Parameters
    ----------
    below_half, below_third, below_quarter
        Share of the rater's timed items answered in less than that fraction of the pool's median time.
    same_label
        Share of the rater's most frequent answer.
    min_ratings
        Fewest timed items for the time criteria, and fewest ratings for `same_label`.

    Raises
    ------
    InvalidInput
        A share outside (0, 1], or a minimum that is not a whole number of 1 or more.
    """

    below_half: float = 1 / 2
    below_third: float = 1 / 3
    below_quarter: float = 1 / 4
    same_label: float = 0.99
    min_ratings: int = 20

    def __post_init__(self) -> None:
        for name in SHARES:
            share = getattr(self, name)
            if not 0 < share <= 1:
                raise InvalidInput(f"{name} is {share}; give a share above 0, up to 1, such as 0.5.")
        min_ratings: object = self.min_ratings
        if not isinstance(min_ratings, int) or min_ratings < 1:
            raise InvalidInput(f"min_ratings is {min_ratings!r}; give a whole number, 1 or more.")


SHARES = tuple(field.name for field in fields(Criteria))[:4]
"""Names of the criteria that are shares, in order."""
PARTS = {"below_half": "half", "below_third": "a third", "below_quarter": "a quarter"}
"""Time criteria, with their fraction of the pool's median."""


def meets_criteria(times: Times, labels: Labels, criteria: Criteria) -> npt.NDArray[np.bool_]:
    """Evaluate the criteria for each rater.

    Parameters
    ----------
    times, labels
        Results of `answer_times` and `label_use`.
    criteria
        The thresholds.

    Returns
    -------
    ndarray of bool, shape (4, R)
        In the order of `SHARES`. A missing value meets no criterion.
    """
    shares = np.stack([times.below_half, times.below_third, times.below_quarter, labels.same_label])
    enough = np.stack([times.n_timed] * 3 + [labels.n_ratings]) >= criteria.min_ratings
    thresholds = np.array([getattr(criteria, name) for name in SHARES])
    return np.asarray(enough & (shares >= thresholds[:, None]))


def describe_criteria(
    rater: int, times: Times, labels: Labels, scale: Sequence[str], met: npt.NDArray[np.bool_]
) -> Iterator[str]:
    """Yield a phrase for each criterion that a rater meets.

    Parameters
    ----------
    rater
        Code of the rater.
    times, labels
        Results of `answer_times` and `label_use`.
    scale
        The answers in order.
    met
        Criteria that this rater meets, shape (4,); see `meets_criteria`.
    """
    for name in np.array(SHARES)[met]:
        if name == "same_label":
            share, n = labels.same_label[rater], labels.n_ratings[rater]
            yield f"one label: {100 * share:.1f} % of {n:,} answers are {scale[labels.top[rater]]}"
        else:
            share, n = getattr(times, name)[rater], times.n_timed[rater]
            yield f"fast: {100 * share:.1f} % of {n:,} items in less than {PARTS[name]} of the pool's median time"
