"""Verdicts of juries: how often they block, how often two of them differ, and whom they overrule."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.stats.result import FloatArray

_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Verdicts:
    """Verdicts of juries on I texts.

    Parameters
    ----------
    unsafe
        Probability that a jury calls the text unsafe, shape (I,).
    differ
        Probability that two juries with the same seats, of other people, differ, shape (I,).
    overruled
        Probability that the opinion of each group differs from the verdict, shape (I, G).
    """

    unsafe: FloatArray
    differ: FloatArray
    overruled: FloatArray


def decide_verdicts(seats: FloatArray, groups: FloatArray, *, at_least: float = 0.5) -> Verdicts:
    """Decide how juries judge, from draws of the share of people who would call a text unsafe.

    Given a draw, jurors answer independently, so that the number of unsafe votes has a Poisson binomial distribution.
    A jury calls a text unsafe if the share of unsafe votes reaches a threshold. The opinion of a group is that the text
    is unsafe if the share of its members who call it unsafe reaches the same threshold.

    Parameters
    ----------
    seats
        Probability of an unsafe vote in each seat, shape (draws, I, S).
    groups
        Share of each group that calls the text unsafe, shape (draws, I, G).
    at_least
        Minimum share of unsafe votes for an unsafe verdict, above 0 and up to 1.

    Returns
    -------
    Verdicts

    Raises
    ------
    InvalidInput
        A jury without seats, or a threshold that is not a share.

    Examples
    --------
    Three jurors of a group of which 60 percent call the text unsafe:

    >>> verdicts = decide_verdicts(np.full((1, 1, 3), 0.6), np.array([[[0.6, 0.2]]]))
    >>> verdicts.unsafe.round(3).tolist(), verdicts.differ.round(3).tolist(), verdicts.overruled.round(3).tolist()
    ([0.648], [0.456], [[0.352, 0.648]])
    """
    n_seats = seats.shape[2]
    if not n_seats:
        raise InvalidInput("The jury has no seats. Give one or more, such as 12.")
    if not 0 < at_least <= 1:
        raise InvalidInput(f"at_least is {at_least!r}; give a share above 0 and up to 1, such as 0.5.")
    votes = count_votes(seats)
    blocks = np.arange(n_seats + 1) >= at_least * n_seats - _ROUNDING
    unsafe = votes[..., blocks].sum(axis=-1)
    opinion = groups >= at_least - _ROUNDING
    return Verdicts(
        unsafe=unsafe.mean(axis=0),
        differ=(2 * unsafe * (1 - unsafe)).mean(axis=0),
        overruled=np.where(opinion, 1 - unsafe[..., None], unsafe[..., None]).mean(axis=0),
    )


def count_votes(seats: FloatArray) -> FloatArray:
    """Return the probability of each number of unsafe votes, shape (…, S + 1), from that of each seat, shape (…, S).

    Examples
    --------
    >>> count_votes(np.array([0.5, 0.5, 1.0])).tolist()
    [0.0, 0.25, 0.5, 0.25]
    """
    votes = np.zeros((*seats.shape[:-1], seats.shape[-1] + 1))
    votes[..., 0] = 1.0
    for number in range(seats.shape[-1]):
        p = seats[..., number, None]
        votes[..., 1 : number + 2] = votes[..., 1 : number + 2] * (1 - p) + votes[..., : number + 1] * p
        votes[..., 0] *= 1 - p[..., 0]
    return votes
