"""The criteria by which a rater is flagged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.vetting import Labels, Times


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Thresholds at or above which a rater is flagged.

    DICES names what it looked at, the shares of conversations that a rater answered in less than a half, a third and a
    quarter of the median time, and raters who gave one label throughout (Aroyo et al. 2023, sections 3.3 and 4), and no
    share from which it removed somebody. The defaults are choices of this package: half of the conversations below
    half the median, a third below a third, a quarter below a quarter; and 99 % rather than all, since of the nineteen
    raters removed one alone is exactly constant.

    Parameters
    ----------
    below_half, below_third, below_quarter
        Share of the rater's timed items answered in less than that part of the pool's median time.
    same_label
        Share of the rater's answers that are his or her most frequent one.
    min_ratings
        A rater with fewer timed items is not flagged for times, nor one with fewer ratings for one label.

    Raises
    ------
    InvalidInput
        A share that is not above 0 and at most 1, a minimum that is not a whole number from 1.
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
        given: object = self.min_ratings
        if not isinstance(given, int) or given < 1:
            raise InvalidInput(f"min_ratings is {given!r}; give a whole number, 1 or more.")


SHARES = tuple(field.name for field in fields(Criteria))[:4]
"""The criteria that are shares, in order."""
PARTS = {"below_half": "half", "below_third": "a third", "below_quarter": "a quarter"}
"""Those about times, with the part of the pool's median that each is about."""


def meets(times: Times, labels: Labels, criteria: Criteria) -> npt.NDArray[np.bool_]:
    """Tell which criteria each rater meets.

    Parameters
    ----------
    times, labels
        The evidence; see `answer_times` and `label_use`.
    criteria
        The thresholds.

    Returns
    -------
    ndarray of bool, shape (4, R)
        In the order of `SHARES`. What is not known meets nothing.
    """
    shares = np.stack([times.below_half, times.below_third, times.below_quarter, labels.same_label])
    enough = np.stack([times.n_timed] * 3 + [labels.n_ratings]) >= criteria.min_ratings
    thresholds = np.array([getattr(criteria, name) for name in SHARES])
    return np.asarray(enough & (shares >= thresholds[:, None]))


def in_words(
    rater: int, times: Times, labels: Labels, scale: Sequence[str], met: npt.NDArray[np.bool_]
) -> Iterator[str]:
    """Yield the criteria that a rater meets, in words.

    Parameters
    ----------
    rater
        The code of the rater.
    times, labels
        The evidence on all raters.
    scale
        The answers in order.
    met
        Which criteria this rater meets, shape (4,); see `meets`.
    """
    for name in np.array(SHARES)[met]:
        if name == "same_label":
            share, n = labels.same_label[rater], labels.n_ratings[rater]
            yield f"one label: {100 * share:.1f} % of {n:,} answers are {scale[labels.top[rater]]}"
        else:
            share, n = getattr(times, name)[rater], times.n_timed[rater]
            yield f"fast: {100 * share:.1f} % of {n:,} items in less than {PARTS[name]} of the pool's median time"
